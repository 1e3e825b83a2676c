# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images of kubeadm's that a host lacks, and their registries' reachability.

That is asked before anything is changed.

The fault: docs/faults.md, "images are missing where none can be pulled".
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import threading
import typing as t
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from ...common import guard, settings, timed_command
from ...common.guard import NodeError
from ..bootstrap.image_check import DOCKER, SOCKETS, Images
from .cgroup_drivers import CONTAINERD_CONFIG

# What runs on a worker, too: CoreDNS is a deployment that may come there.
OF_WORKERS = ("kube-proxy", "pause", "coredns")
STATIC_PODS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd", "pause")
# What a runtime may be told of other ways to an image: then nobody but the runtime knows whether it can be pulled.
DETOURS = (
    "/etc/containerd/certs.d",
    "/etc/systemd/system/containerd.service.d",
    "/etc/systemd/system/crio.service.d",
    "/etc/containers/registries.conf",
    "/etc/containers/registries.conf.d",
)
_DETOUR = re.compile(r"^[^#\n]*\bregistry\b.*\b(mirrors|configs)\b", re.MULTILINE)
# A folder, or several, that may be empty.
_CONFIG_PATH = re.compile(r"^[^#\n]*\bconfig_path[\"']?\s*=\s*[\"']([^\"']+)", re.MULTILINE)
_DEFAULT_REGISTRY = "registry-1.docker.io"


@dataclass(frozen=True)
class ImagePlaces:
    """Paths and programs on a host; tests use other ones."""

    kubeadm: str = "kubeadm"
    sockets: tuple[str, ...] = SOCKETS
    docker: str = DOCKER
    detours: tuple[str, ...] = DETOURS
    containerd: str = CONTAINERD_CONFIG


def needed(images: Images, places: t.Optional[ImagePlaces] = None) -> list[str]:
    """Return the images that this host's kubeadm takes.

    By its own list. The registries and tags of etcd and CoreDNS are those that the spec names.

    Raises:
        NodeError: this host's kubeadm doesn't list them.
    """
    where = places or ImagePlaces()
    found = _listed(images.asked, where)
    others = (("etcd", images.etcd_repository, images.etcd_tag), ("coredns", images.dns_repository, images.dns_tag))
    for name, repository, tag in others:
        if repository:
            # kubeadm's own default registry has CoreDNS at another path than any other registry.
            found[name] = _listed(replace(images, repository=repository).asked, where).get(name, f"{repository}/{name}")
        if tag:
            found[name] = f"{found[name].rpartition(':')[0]}:{tag}"
    if images.external_etcd:
        found.pop("etcd", None)
    return list(found.values())


def _listed(asked: t.Sequence[str], where: ImagePlaces) -> dict[str, str]:
    """Return kubeadm's images by their names without registry and tag."""
    done = timed_command.run([where.kubeadm, "config", "images", "list", *asked], seconds=10)
    if done.returncode != 0:
        raise NodeError(
            f"{where.kubeadm} config images list failed: {done.stderr.strip()[-500:]}.",
            "Run that command on the host, and mend what it names.",
        )
    return {name_of(image): image for image in done.stdout.split() if "/" in image}


def missing(images: Images, only_static_pods: bool = False, places: t.Optional[ImagePlaces] = None) -> list[str]:
    """Return the images that kubeadm would have to pull on this host.

    [] where there are none, or where that is unknown.

    Args:
        images: what the spec says of them.
        only_static_pods: leave out those of kube-proxy and CoreDNS, without which a control plane can be made.
    """
    where = places or ImagePlaces()
    try:
        names, has = needed(images, where), present(images.socket, where)
    except NodeError:
        return []
    if has is None:
        return []
    return [each for each in names if each not in has and not (only_static_pods and name_of(each) not in STATIC_PODS)]


def name_of(image: str) -> str:
    """Return an image's name without registry and tag."""
    return image.rpartition("/")[2].partition(":")[0]


def out_of_reach(names: t.Sequence[str], pull: bool = True, places: t.Optional[ImagePlaces] = None) -> str:
    """Return the reason why images can't be pulled from here.

    "" where they can, or where only the runtime knows.

    Args:
        names: the images.
        pull: whether the spec allows to pull at all.
    """
    where = places or ImagePlaces()
    if not names:
        return ""
    if not pull:
        return "nodeRegistration.imagePullPolicy is Never"
    configured = guard.read_text(where.containerd)
    if _DETOUR.search(configured) or any(map(_says_something, [*where.detours, *_CONFIG_PATH.findall(configured)])):
        return ""
    registries = sorted({_registry(name) for name in names})
    with ThreadPoolExecutor(max_workers=len(registries)) as pool:
        silent = [each for each, why in zip(registries, pool.map(_unreachable, registries)) if why]
    return f"{', '.join(silent)} can't be reached from here" if silent else ""


def _says_something(paths: str) -> bool:
    return any(
        os.path.isfile(path) or any(files for _folder, _folders, files in os.walk(path)) for path in paths.split(":")
    )


def _registry(image: str) -> str:
    first, slash, _rest = image.partition("/")
    return first if slash and (re.search(r"[.:]", first) or first == "localhost") else _DEFAULT_REGISTRY


def _unreachable(registry: str) -> bool:
    found = re.fullmatch(r"(.+?)(?::(\d+))?", registry)
    host, port = (found.group(1).strip("[]"), int(found.group(2) or 443)) if found else (registry, 443)
    reached: list[bool] = []

    def connect() -> None:
        with contextlib.suppress(OSError, ValueError), socket.create_connection((host, port), settings.CONNECT_SECONDS):
            reached.append(True)

    # Resolving a name has no bound of its own; a resolver that is not answered is no way to a registry. Python's end doesn't wait for a
    # daemon thread, as it does for a pool's.
    attempt = threading.Thread(target=connect, daemon=True)
    attempt.start()
    attempt.join(2 * settings.CONNECT_SECONDS)
    return not reached


def socket_path(asked: str = "", places: t.Optional[ImagePlaces] = None) -> str:
    """Return the container runtime's socket's path, "" if unknown.

    ``asked``: the socket that the spec names; "" for the only one that is there.
    """
    where = places or ImagePlaces()
    there = [path for path in where.sockets if os.path.exists(path)]
    if not asked and (len(there) != 1 or os.path.exists(where.docker)):
        return ""
    return asked.partition("://")[2] or asked or there[0]


def present(asked: str = "", places: t.Optional[ImagePlaces] = None) -> t.Optional[set[str]]:
    """Return the container runtime's images, None if they are unknown.

    ``asked``: its socket; "" for the only one that is there.
    """
    path = socket_path(asked, places)
    if not path:
        return None
    if "containerd" in path and shutil.which("ctr"):
        done = timed_command.run(["ctr", "--namespace", "k8s.io", "images", "list", "--quiet"], seconds=10)
        return set(done.stdout.split()) if done.returncode == 0 else None
    if not shutil.which("crictl"):
        return None
    done = timed_command.run(["crictl", "--runtime-endpoint", f"unix://{path}", "images"], seconds=10)
    if done.returncode != 0:
        return None
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    return {f"{row[0]}:{row[1]}" for row in rows if len(row) > 1}
