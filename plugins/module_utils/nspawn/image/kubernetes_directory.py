# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A folder of Kubernetes programs and image archives, of any origin.

An archive's images are those that its contents name, whatever the file is called; a program is one of Linux for this machine.
"""

from __future__ import annotations

import json
import os
import re
import tarfile
import typing as t

from ...common.guard import sha256_of
from ..errors import NspawnError
from ..programs import run
from .container_images import short_name
from .kubernetes_source import IMAGE_BINARIES, NODE_BINARIES

# ELF's numbers of machines, by Debian's and Go's name.
MACHINES = {"amd64": 62, "arm64": 183}
# Made here where the folder has neither archive nor program: pause is compiled, etcd is Debian's. kubeadm can do without CoreDNS.
NOT_NEEDED = ("pause", "etcd", "coredns")
REPORTED = re.compile(r"v\d+\.\d+\.\d+[-+.0-9A-Za-z]*")


class Found(t.NamedTuple):
    """Archives by the image's full name, and images that kubeadm asks for."""

    archives: dict[str, str]
    wanted: list[str]


def digests(folder: str) -> list[tuple[str, str]]:
    """Return the paths in a folder, each with its file's SHA-256.

    Raises:
        NspawnError: there is no such folder.
    """
    return [(os.path.relpath(path, folder), sha256_of(path)) for path in _files(folder)]


def examine(folder: str, version: str, architecture: str) -> Found:
    """Return the contents of a folder; refuse one that isn't complete.

    The error names everything that is wrong.

    Args:
        folder: the folder; archives may be anywhere in it.
        version: the Kubernetes version that kubeadm and the kubelet have to report.
        architecture: Debian's and Go's name of this machine (amd64).
    """
    paths = _files(folder)
    programs = {
        name: os.path.join(folder, name) for name in (*NODE_BINARIES, *IMAGE_BINARIES, "etcd", "etcdctl", "pause")
    }
    there = {name: path for name, path in programs.items() if path in paths}
    wrong = [f"{name} is missing" for name in NODE_BINARIES if name not in there]
    foreign = [name for name, path in there.items() if not is_program(path, architecture)]
    wrong += [f"{name} is no executable program of Linux for {architecture}" for name in foreign]
    for name in ("kubeadm", "kubelet"):
        if name in there and name not in foreign:
            reported = _version(there[name])
            if reported != version:
                wrong.append(
                    f"{name} reports the version {reported or 'of nothing that is known'}, and {version} is wanted"
                )
    archives = {image: path for path in paths for image in images_of(path)}
    wanted: list[str] = []
    if "kubeadm" in there and "kubeadm" not in foreign:
        command = [there["kubeadm"], "config", "images", "list", "--kubernetes-version", version]
        wanted = run(command).stdout.split()
        wrong += [
            f"there is neither an archive of the image {image} nor the program {short_name(image)}"
            for image in wanted
            if image not in archives and short_name(image) not in (*there, *NOT_NEEDED)
        ]
    if wrong:
        kept = ", ".join(sorted(archives)) or "none"
        raise NspawnError(
            f"source directory: {folder} is not complete: {'; '.join(wrong)}. Its archives have the images: {kept}. Nothing was built. "
            "Put in what is missing: programs beside each other, archives (docker save, ctr images export) anywhere below."
        )
    return Found(archives, wanted)


def is_program(path: str, architecture: str) -> bool:
    """Return whether a file is an executable ELF program for an architecture."""
    with open(path, "rb") as file:
        header = file.read(20)
    ours = int.from_bytes(header[18:20], "little") == MACHINES.get(architecture)
    return ours and header[:4] == b"\x7fELF" and os.access(path, os.X_OK)


def images_of(path: str) -> list[str]:
    """Return the full names of the images in an archive.

    It is one of Docker's or OCI's form; any other file has none.
    """
    try:
        with tarfile.open(path, "r:") as archive:
            for name in ("manifest.json", "index.json"):
                try:
                    member = archive.extractfile(name)
                except KeyError:
                    continue
                if member is not None:
                    return _names(json.loads(member.read(1 << 20)))
    except (tarfile.TarError, OSError, ValueError):
        pass
    return []


def _names(manifest: t.Any) -> list[str]:
    if isinstance(manifest, list):
        tags = [each.get("RepoTags") or [] for each in manifest if isinstance(each, dict)]
        return [str(tag) for each in tags for tag in each]
    listed = manifest.get("manifests") or [] if isinstance(manifest, dict) else []
    notes = [each.get("annotations") or {} for each in listed if isinstance(each, dict)]
    return [str(each["io.containerd.image.name"]) for each in notes if "io.containerd.image.name" in each]


def _files(folder: str) -> list[str]:
    if not os.path.isdir(folder):
        raise NspawnError(
            f"source directory: there is no folder {folder!r}. Set machine_nspawn_binaries to the folder with the binaries."
        )
    return sorted(os.path.join(path, name) for path, _folders, files in os.walk(folder) for name in files)


def _version(program: str) -> str:
    arguments = ["version", "--output", "short"] if os.path.basename(program) == "kubeadm" else ["--version"]
    found = REPORTED.search(run([program, *arguments], check=False).stdout)
    return found[0] if found else ""
