# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Contents of a machine image's container images, made of single programs."""

from __future__ import annotations

import os
import re
import struct
import typing as t

from ..errors import NspawnError
from ..programs import run
from . import docker_archive
from .debian import Apt
from .kubernetes_source import IMAGE_BINARIES

# kube-proxy's image needs iptables; the same flavour as the machine's own, since both write the machine's tables.
IPTABLES_PROGRAM = "usr/sbin/xtables-nft-multi"
IPTABLES_NAMES = ("iptables", "iptables-save", "iptables-restore", "ip6tables", "ip6tables-save", "ip6tables-restore")
# The entry of a program's header that names the dynamic loader.
PT_INTERP = 3
ETCD_PROGRAMS = ("etcd", "etcdctl")
TRIPLETS = {"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}


class Contents(t.NamedTuple):
    """Contents of a container image: files, links and entrypoint.

    Files and links are by their path in the image.
    """

    files: dict[str, str]
    links: dict[str, str]
    entrypoint: list[str]


def short_name(image: str) -> str:
    """Return the last part of an image's name: ``k8s.gcr.io/coredns/coredns:v1.8.0`` is ``coredns``."""
    return re.sub(r"[:@].*$", "", image.rsplit("/", 1)[-1])


def shared_libraries(listing: str) -> list[str]:
    """Return the files in the output of the dynamic loader's ``--list``.

    The loader itself is among them.
    """
    return re.findall(r"(?:=> |^\s*)(/\S+) \(0x", listing, flags=re.MULTILINE)


def _libraries(base: str, program: str, triplet: str) -> dict[str, str]:
    """Return the libraries that a program needs, by path in the image.

    Each has its file in the base.
    """
    loader = next(
        (
            os.path.join(base, each)
            for each in ("lib64/ld-linux-x86-64.so.2", "lib/ld-linux-aarch64.so.1")
            if os.path.exists(os.path.join(base, each))
        ),
        "",
    )
    if not loader:
        raise NspawnError(
            f"the base root file system {base} has no dynamic loader: it is damaged. Remove it and run again."
        )
    folders = [os.path.join(base, prefix, triplet) for prefix in ("lib", "usr/lib")]
    listing = run([loader, "--library-path", ":".join(folders), "--list", program]).stdout
    found = {
        f"lib/{triplet}/{os.path.basename(path)}": path
        for path in shared_libraries(listing)
        if os.path.basename(path) != os.path.basename(loader)
    }
    found[os.path.relpath(loader, base)] = os.path.realpath(loader)
    return found


def _under(base: str, path: str) -> str:
    """Return the file of a path in the base (absolute links are the base's, not this host's)."""
    real = os.path.realpath(os.path.join(base, path))
    return real if real.startswith(os.path.realpath(base)) else os.path.join(base, real.lstrip("/"))


def kube_proxy(base: str, binary: str, triplet: str) -> Contents:
    """Return kube-proxy's image: the binary, iptables with its extensions, conntrack."""
    program = os.path.join(base, IPTABLES_PROGRAM)
    conntrack = os.path.join(base, "usr/sbin/conntrack")
    files = {"usr/local/bin/kube-proxy": binary, IPTABLES_PROGRAM: program, "usr/sbin/conntrack": conntrack}
    extensions = os.path.join("usr/lib", triplet, "xtables")
    for name in sorted(os.listdir(os.path.join(base, extensions))):
        files[f"{extensions}/{name}"] = _under(base, os.path.join(extensions, name))
    for each in list(files.values()):
        if each != binary:
            files.update(_libraries(base, each, triplet))
    return Contents(
        files,
        {f"usr/sbin/{name}": os.path.basename(IPTABLES_PROGRAM) for name in IPTABLES_NAMES},
        ["/usr/local/bin/kube-proxy"],
    )


def debian_etcd(apt: Apt, scratch: str) -> list[str]:
    """Return etcd's programs from Debian's packages: server and client."""
    packages = ("etcd-server", "etcd-client")
    return [os.path.join(apt.unpack(each, scratch), "usr/bin", name) for each, name in zip(packages, ETCD_PROGRAMS)]


def etcd(base: str, programs: t.Iterable[str], triplet: str) -> Contents:
    """Return etcd's image of these programs, each under its own name."""
    files: dict[str, str] = {}
    for program in programs:
        files[f"usr/local/bin/{os.path.basename(program)}"] = program
        if has_loader(program):
            files.update(_libraries(base, program, triplet))
    return Contents(files, {}, ["/usr/local/bin/etcd"])


def has_loader(program: str) -> bool:
    """Return whether a 64-bit ELF program asks for the dynamic loader.

    One that doesn't needs no libraries.
    """
    with open(program, "rb") as file:
        header = file.read(64)
        start, size, count = struct.unpack_from("<Q", header, 32)[0], *struct.unpack_from("<HH", header, 54)
        file.seek(start)
        table = file.read(size * count)
    return any(struct.unpack_from("<I", table, at)[0] == PT_INTERP for at in range(0, len(table), size))


def make_archives(
    images: t.Iterable[str], binaries: str, base: str, apt: t.Callable[[], Apt], scratch: str, architecture: str
) -> None:
    """Write a docker-archive for every image that can be made.

    What can't (CoreDNS isn't in Debian 12) is left out.

    Args:
        images: what kubeadm asks for, full names.
        binaries: the folder with kube-apiserver and the others, and pause; etcd's own programs where it has them.
        base: the base root file system.
        apt: gives our own apt, asked only when etcd is wanted.
        scratch: an existing empty folder for the archives.
        architecture: Debian's and Go's name.
    """
    triplet = TRIPLETS.get(architecture)
    if triplet is None:
        raise NspawnError(
            f"architecture {architecture}: container images are made for {', '.join(sorted(TRIPLETS))} only. Use the source release."
        )
    for image in images:
        name = short_name(image)
        binary = os.path.join(binaries, name)
        if name == "etcd":
            own = [path for path in (os.path.join(binaries, each) for each in ETCD_PROGRAMS) if os.path.exists(path)]
            contents = etcd(base, own if os.path.exists(binary) else debian_etcd(apt(), scratch), triplet)
        elif name == "kube-proxy" and os.path.exists(binary):
            contents = kube_proxy(base, binary, triplet)
        elif name in (*IMAGE_BINARIES, "pause") and os.path.exists(binary):
            path = "pause" if name == "pause" else f"usr/local/bin/{name}"
            contents = Contents({path: binary}, {}, [f"/{path}"])
        else:
            continue
        docker_archive.write(
            os.path.join(scratch, f"{name}.tar"),
            image,
            contents.files,
            contents.entrypoint,
            architecture,
            contents.links,
        )
