# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Base root file system, source packages and packages from Debian's mirrors.

The host's apt state stays unchanged.
"""

from __future__ import annotations

import glob
import hashlib
import json
import os
import tempfile
import typing as t

from ...common import settings
from ..errors import NspawnError
from ..file_operations import locked, remove_tree
from ..layout import Cache
from ..programs import Progress, run

# Releases of Debian that a machine can have. Kubernetes' source package is always of the first: later ones have kubectl alone.
RELEASES = ("bookworm", "trixie")
SUITE = RELEASES[0]
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
# docs/machine_nspawn.md, "The base system".
BASE_PACKAGES = (
    *("systemd", "systemd-sysv", "dbus", "openssh-server", "python3", "procps", "ca-certificates", "curl", "openssl"),
    *("containerd", "runc", "containernetworking-plugins"),
    *("iptables", "conntrack", "ethtool", "socat", "ebtables", "kmod", "iproute2"),
)
# Raise it when ensure_base does something else with the same packages.
BASE_REVISION = "1"


def mirror_in(targets: str) -> t.Optional[str]:
    """Return the Debian mirror among apt's index targets, or None.

    Args:
        targets: lines of ``$(ORIGIN)|$(LABEL)|$(CODENAME)|$(REPO_URI)`` from ``apt-get indextargets``.
    """
    found = None
    for line in targets.splitlines():
        origin, label, codename, uri = [*line.strip().split("|"), "", "", ""][:4]
        if origin == "Debian" and label == "Debian" and uri:
            if codename == SUITE:
                return uri.rstrip("/")
            found = found or uri.rstrip("/")
    return found


def find_mirror(wanted: t.Optional[str] = None) -> str:
    """Return the requested mirror, else the one of this host's apt.

    Raises:
        NspawnError: this host has no Debian mirror in its apt sources.
    """
    if wanted:
        return wanted.rstrip("/")
    line = "$(ORIGIN)|$(LABEL)|$(CODENAME)|$(REPO_URI)"
    for attempt in range(2):
        done = run(["apt-get", "indextargets", "--format", line, "Created-By: Packages"], check=False)
        mirror = mirror_in(done.stdout)
        if mirror:
            return mirror
        if attempt == 0:
            # A host whose lists were cleaned away (a container image) knows its mirror only after an update.
            run(["apt-get", "update"], check=False, timeout=300)
    raise NspawnError(
        "this host's apt sources name no Debian mirror, from which a machine's base system comes. "
        "Set machine_nspawn_mirror (the module's option mirror) to one that this host reaches."
    )


def base_key(machine: str, release: str) -> str:
    """Return the name of a base root file system.

    The same packages, release and steps give the same name.
    """
    what = json.dumps([release, machine, sorted(BASE_PACKAGES), BASE_REVISION])
    return f"{release}-{hashlib.sha256(what.encode()).hexdigest()[:12]}"


def release_of(base: str) -> str:
    """Return the Debian release in a base's name."""
    return base.partition("-")[0]


def architecture() -> str:
    """Return this host's architecture by its Debian and Go name (amd64)."""
    return run(["dpkg", "--print-architecture"]).stdout.strip()


def proxy_environment() -> dict[str, str]:
    """Return apt's own proxy setting for programs that don't read apt's configuration (debootstrap)."""
    proxy = run(["apt-config", "dump", "--format", "%v%n", "Acquire::http::Proxy"], check=False).stdout.strip()
    return {"http_proxy": proxy} if proxy and proxy != "DIRECT" else {}


def ensure_base(cache: Cache, mirror: t.Optional[str], release: str, progress: Progress) -> str:
    """Return the base root file system's folder; make it if missing (about a minute, 320 MB)."""
    key = base_key(architecture(), release)
    target = os.path.join(cache.bases, key)
    if os.path.isdir(target):
        return target
    with locked(cache.lock(f"base-{key}"), settings.IMAGE_LOCK_SECONDS, progress.say):
        if os.path.isdir(target):
            return target
        os.makedirs(cache.bases, mode=0o755, exist_ok=True)
        # What a killed build left behind; the lock says that nobody is at it.
        for leftover in glob.glob(os.path.join(cache.bases, f".{key}.*")):
            remove_tree(leftover)
        scratch = tempfile.mkdtemp(dir=cache.bases, prefix=f".{key}.")
        source = find_mirror(mirror)
        progress.say(
            f"making the base root file system with debootstrap from this host's mirror of Debian {release} (about a minute)"
        )
        os.chmod(scratch, 0o755)
        progress.run(
            [
                "debootstrap",
                "--variant=minbase",
                f"--keyring={KEYRING}",
                f"--include={','.join(BASE_PACKAGES)}",
                release,
                scratch,
                source,
            ],
            env=proxy_environment(),
        )
        _trim(scratch)
        os.rename(scratch, target)
        progress.say(f"base root file system ready: {target}")
    return target


def _trim(root: str) -> None:
    for pattern in (
        "var/cache/apt/archives/*.deb",
        "var/lib/apt/lists/*",
        "usr/share/doc/*",
        "usr/share/man/*",
        "usr/share/locale/*",
    ):
        for path in glob.glob(os.path.join(root, pattern)):
            if os.path.isdir(path) and not os.path.islink(path):
                remove_tree(path)
            else:
                os.unlink(path)
    # Every machine gets its own.
    for pattern in (
        "etc/ssh/ssh_host_*",
        "etc/machine-id",
        "var/lib/dbus/machine-id",
        "etc/hostname",
        "etc/resolv.conf",
    ):
        for path in glob.glob(os.path.join(root, pattern)):
            os.unlink(path)
    for folder in ("var/lib/containerd", "var/lib/kubelet", "var/lib/etcd"):
        os.makedirs(os.path.join(root, folder), exist_ok=True)


class Apt:
    """Client of apt with its own sources list and state.

    They are in the cache.
    """

    def __init__(self, cache: Cache, mirror: str, progress: Progress, release: str = SUITE) -> None:
        """Write the sources list; call ``update`` before anything else."""
        self._release = release
        self._folder = cache.apt if release == SUITE else os.path.join(cache.apt, release)
        self._progress = progress
        for folder in ("lists/partial", "archives/partial", "etc"):
            os.makedirs(os.path.join(self._folder, folder), exist_ok=True)
        sources = os.path.join(self._folder, "etc", "sources.list")
        with open(sources, "w", encoding="utf-8") as file:
            for kind in ("deb", "deb-src"):
                file.write(f"{kind} [signed-by={KEYRING}] {mirror} {release} main\n")
        self._options = [
            f"-oDir::Etc::SourceList={sources}",
            "-oDir::Etc::SourceParts=/dev/null",
            "-oDir::Etc::PreferencesParts=/dev/null",
            f"-oDir::State::Lists={os.path.join(self._folder, 'lists')}",
            f"-oDir::Cache={self._folder}",
            "-oAPT::Sandbox::User=root",
            "-qq",
        ]

    def update(self) -> None:
        """Fetch the package lists."""
        self._progress.run(["apt-get", *self._options, "update"])

    def source(self, package: str, folder: str) -> str:
        """Download a source package; return the path of its .dsc file.

        The folder is empty, or has the package already.
        """
        found = glob.glob(os.path.join(folder, f"{package}_*.dsc"))
        if not found:
            self._progress.run(["apt-get", *self._options, "source", "--download-only", package], cwd=folder)
            found = glob.glob(os.path.join(folder, f"{package}_*.dsc"))
        if len(found) != 1:
            raise NspawnError(
                f"apt-get source {package} left {len(found)} .dsc files in {folder}, expected one. Remove the folder and run again."
            )
        return found[0]

    def source_version(self, package: str) -> str:
        """Return the version of a source package that the mirror has."""
        done = run(["apt-cache", *self._options, "showsrc", "--only-source", package], check=False)
        for line in done.stdout.splitlines():
            if line.startswith("Version:"):
                return line.split(":", 1)[1].strip()
        raise NspawnError(
            f"the mirror has no source package {package} in {self._release} (deb-src). Use another mirror or another source."
        )

    def unpack(self, package: str, folder: str) -> str:
        """Download and unpack a binary package; return the new folder."""
        target = os.path.join(folder, package)
        os.makedirs(target)
        self._progress.run(["apt-get", *self._options, "download", package], cwd=target)
        archives = glob.glob(os.path.join(target, "*.deb"))
        if len(archives) != 1:
            raise NspawnError(
                f"apt-get download {package} left {len(archives)} packages in {target}, not one. Try the command by hand."
            )
        run(["dpkg-deb", "--extract", archives[0], target])
        return target
