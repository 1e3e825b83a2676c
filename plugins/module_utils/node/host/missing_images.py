# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images of kubeadm's that a host lacks, and their registries' reachability.

That is asked before anything is changed.

The fault: docs/faults.md, "images are missing where none can be pulled".
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import typing as t
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from ...common import guard, timed_command
from ...common.guard import NodeError
from ..bootstrap.image_check import DOCKER, SOCKETS, Images

STATIC_PODS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd", "pause")
# What a runtime may be told of other ways to an image: then nobody but the runtime knows whether it can be pulled.
DETOURS = (
    "/etc/containerd/certs.d",
    "/etc/systemd/system/containerd.service.d",
    "/etc/systemd/system/crio.service.d",
    "/etc/containers/registries.conf",
    "/etc/containers/registries.conf.d",
)
CONTAINERD_CONFIG = "/etc/containerd/config.toml"
_DETOUR = re.compile(r"^\s*\[.*registry.*(mirrors|configs)|^\s*config_path\s*=\s*[\"'][^\"']", re.MULTILINE)
_DEFAULT_REGISTRY = "registry-1.docker.io"
REACH_SECONDS = 3.0


@dataclass(frozen=True)
class ImagePlaces:
    """Paths and programs on a host; tests use other ones."""

    kubeadm: str = "kubeadm"
    sockets: tuple[str, ...] = SOCKETS
    docker: str = DOCKER
    detours: tuple[str, ...] = DETOURS
    containerd: str = CONTAINERD_CONFIG


def missing(images: Images, only_static_pods: bool = False, places: t.Optional[ImagePlaces] = None) -> list[str]:
    """Return the images that kubeadm would have to pull on this host.

    [] where there are none, or where that is unknown.

    Args:
        images: what the spec says of them.
        only_static_pods: leave out those of kube-proxy and CoreDNS, without which a control plane can be made.
    """
    where = places or ImagePlaces()
    words = [where.kubeadm, "config", "images", "list", *images.asked]
    try:
        listed = timed_command.run(words, seconds=10)
        has = _present(images.socket, where)
    except NodeError:
        return []
    if listed.returncode != 0 or has is None:
        return []
    found = []
    for image in listed.stdout.split():
        repository, _slash, rest = image.rpartition("/")
        name, _colon, tag = rest.partition(":")
        if (
            not repository
            or (only_static_pods and name not in STATIC_PODS)
            or (name == "etcd" and images.external_etcd)
        ):
            continue
        if name == "etcd":
            image = f"{images.etcd_repository or repository}/etcd:{images.etcd_tag or tag}"
        if image not in has:
            found.append(image)
    return found


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
    if any(os.path.isfile(path) or (os.path.isdir(path) and os.listdir(path)) for path in where.detours):
        return ""
    if _DETOUR.search(guard.read_text(where.containerd)):
        return ""
    registries = sorted({_registry(name) for name in names})
    with ThreadPoolExecutor(max_workers=len(registries)) as pool:
        silent = [each for each, why in zip(registries, pool.map(_unreachable, registries)) if why]
    return f"{', '.join(silent)} can't be reached from here" if silent else ""


def _registry(image: str) -> str:
    first, slash, _rest = image.partition("/")
    return first if slash and (re.search(r"[.:]", first) or first == "localhost") else _DEFAULT_REGISTRY


def _unreachable(registry: str) -> bool:
    found = re.fullmatch(r"(.+?)(?::(\d+))?", registry)
    host, port = (found.group(1).strip("[]"), int(found.group(2) or 443)) if found else (registry, 443)
    # Resolving a name has no bound of its own; a resolver that is not answered is no way to a registry.
    with_bound = ThreadPoolExecutor(max_workers=1)
    try:
        with_bound.submit(_connect, host, port).result(timeout=2 * REACH_SECONDS)
        return False
    except Exception:
        return True
    finally:
        with_bound.shutdown(wait=False)


def _connect(host: str, port: int) -> None:
    with socket.create_connection((host, port), REACH_SECONDS):
        pass


def _present(asked: str, where: ImagePlaces) -> t.Optional[set[str]]:
    """Return the container runtime's images, None if they are unknown."""
    there = [path for path in where.sockets if os.path.exists(path)]
    path = asked.partition("://")[2] or asked or (there[0] if len(there) == 1 else "")
    if not path or (not asked and os.path.exists(where.docker)):
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
