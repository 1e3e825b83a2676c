# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions of kubeadm, kubelet and kubectl, from packages or from files.

The programs are brought to a version, and the kubelet is restarted where its program changed.
"""

from __future__ import annotations

import os
import shutil
import stat
import typing as t
from dataclasses import dataclass, field

from ...common import systemd_units
from ...common.guard import NodeError, remedy, sha256_of, sync_directory
from ..components import kubelet
from ..packages import packages, select_manager, staged_packages
from . import host_facts

PACKAGES, FILES = "packages", "files"
_VERSION_WORDS: t.Mapping[str, tuple[str, ...]] = {
    "kubeadm": ("version", "--output=short"),
    "kubelet": ("--version",),
    "kubectl": ("version", "--client", "--output=json"),
}
_FOLDER = "/usr/bin"
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Wanted:
    """Programs to install, with their version and source.

    ``path`` is the folder with the programs (FILES), in which ``{version}`` is replaced by the version; ``checksums`` are
    "sha256:…" by program; ``package_version`` is the packages' own version, with wildcards, "" for any build.
    """

    names: tuple[str, ...]
    version: str
    source: str = PACKAGES
    path: str = ""
    package_version: str = ""
    checksums: t.Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Done:
    """Result of an installation: versions, message and the kubelet's restart.

    ``before`` and ``after`` are versions by program, "" where it is not installed.
    """

    before: t.Mapping[str, str]
    after: t.Mapping[str, str]
    changed: bool
    restarted: bool
    message: str


@dataclass(frozen=True)
class Binaries:
    """Programs of this machine: kubeadm, kubelet and kubectl.

    ``folders`` is where they are searched for; ``kubelet_config`` has the address of the kubelet's health check, "" for nowhere. The
    tests give others.
    """

    folders: tuple[str, ...] = host_facts.PATH
    runner: systemd_units.Runner = systemd_units.run
    package_runner: packages.Runner = packages.run
    root: str = "/"
    proc: str = "/proc"
    kubelet_config: str = kubelet.CONFIG

    def ensure(
        self,
        wanted: Wanted,
        *,
        restart_kubelet: bool = True,
        check: bool = False,
        before_change: t.Callable[[], None] = lambda: None,
    ) -> Done:
        """Install the programs of a version that are missing or have another.

        The kubelet is restarted where it is among them and runs another program than the one on the disk, also where an
        earlier call was killed before it did so.

        Raises:
            NodeError: the version can't be had, a file is not what it should be, or the kubelet did not start.
        """
        before = {name: self.version_of(name) for name in wanted.names}
        old = [name for name in wanted.names if before[name] != wanted.version]
        origins = {name: self._origin(name, wanted) for name in old} if wanted.source == FILES else {}
        unheld = self._unheld(wanted) if wanted.source == PACKAGES and wanted.names and not old else []
        stale = restart_kubelet and "kubelet" in wanted.names and (("kubelet" in old) or self._kubelet_is_stale())
        if check:
            after = {**before, **dict.fromkeys(old, wanted.version)}
            return Done(
                before, after, bool(old or unheld) or stale, stale, _message(wanted, before, after, stale, unheld)
            )
        if old or stale or unheld:
            before_change()
        for name, origin in origins.items():
            self._put(origin, name)
        if old and not origins:
            manager = select_manager.manager_of(old[0], self.package_runner, self.root)
            staged_packages.install(manager, old, wanted.version, wanted.package_version)
        if unheld:
            select_manager.manager_of(wanted.names[0], self.package_runner, self.root).hold(unheld)
        after = {name: self.version_of(name) for name in wanted.names}
        for name in old:
            if after[name] != wanted.version:
                raise NodeError(
                    f"{name} is {after[name] or 'not there'} after it was installed, {wanted.version} is wanted.",
                    f"Look which {name} comes first on PATH ({', '.join(self.folders)}).",
                )
        restarted = restart_kubelet and "kubelet" in wanted.names and (bool(stale) or self._kubelet_is_stale())
        if restarted:
            kubelet.restart(self.runner)
            if self.kubelet_config:
                kubelet.wait_until_well(config=self.kubelet_config)
        message = _message(wanted, before, after, restarted, unheld)
        return Done(before, after, bool(old or unheld) or restarted, restarted, message)

    def version_of(self, name: str) -> str:
        """Return the version that a program reports, "" if it is missing."""
        path = self.path_of(name)
        return host_facts.version_of([path, *_VERSION_WORDS[name]]) if path else ""

    def path_of(self, name: str) -> str:
        """Return the path of a program, "" if it is missing."""
        return shutil.which(name, path=os.pathsep.join(self.folders)) or ""

    def _unheld(self, wanted: Wanted) -> list[str]:
        """Return the packages that a killed call left unheld."""
        try:
            return select_manager.manager_of(wanted.names[0], self.package_runner, self.root).unheld()
        except NodeError:
            # They are of no package.
            return []

    def _origin(self, name: str, wanted: Wanted) -> str:
        path = os.path.join(wanted.path.replace("{version}", wanted.version), name)
        fix = "Nothing was changed. Put the right file there on every node first."
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):
                raise NodeError(f"{path} is no file.", fix)
            expected = wanted.checksums.get(name, "")
            if expected and (found := f"sha256:{sha256_of(path)}") != expected:
                raise NodeError(f"{path} has the checksum {found}, {expected} is wanted.", fix)
        except OSError as error:
            raise NodeError(f"{path} can't be read: {error.strerror or error}.", fix) from error
        version = host_facts.version_of([path, *_VERSION_WORDS[name]]) if os.access(path, os.X_OK) else ""
        if not version:
            # Unpacked without its mode, or on a file system without executables: judged where it is going to be.
            return path
        if version != wanted.version:
            raise NodeError(f"{path} is {version}, {wanted.version} is wanted.", fix)
        return path

    def _put(self, origin: str, name: str) -> None:
        """Replace a program by a file atomically.

        What runs keeps the old one.
        """
        target = self.path_of(name) or os.path.join(_FOLDER, name)
        partial = os.path.join(os.path.dirname(target), f".{name}.kubeadm-control-plane")
        try:
            with open(origin, "rb") as source, open(partial, "wb") as copy:
                shutil.copyfileobj(source, copy, _CHUNK)
                copy.flush()
                os.fchmod(copy.fileno(), 0o755)
                os.fsync(copy.fileno())
            os.rename(partial, target)
        except OSError as error:
            raise NodeError(
                f"{origin} could not be put to {target}: {error.strerror or error}.",
                remedy(os.path.dirname(target), error),
            ) from error
        finally:
            if os.path.exists(partial):
                os.unlink(partial)
        sync_directory(os.path.dirname(target))

    def _kubelet_is_stale(self) -> bool:
        """Return whether the kubelet runs a replaced program, or does not run."""
        done = self.runner(["systemctl", "show", "kubelet.service", "--property=MainPID"])
        pid = done.stdout.strip().rpartition("=")[2]
        if not pid.isdigit() or pid == "0":
            return True
        try:
            return os.readlink(os.path.join(self.proc, pid, "exe")).endswith(" (deleted)")
        except OSError:
            return True


def _message(
    wanted: Wanted,
    before: t.Mapping[str, str],
    after: t.Mapping[str, str],
    restarted: bool,
    held: t.Sequence[str],
) -> str:
    changes = [
        f"{name} {before[name] or 'none'} → {after[name]}" for name in wanted.names if before[name] != after[name]
    ]
    if restarted:
        changes.append("kubelet restarted")
    if held:
        changes.append(f"{', '.join(held)} held")
    return (
        ", ".join(changes)
        or f"{', '.join(wanted.names)} already {'is' if len(wanted.names) == 1 else 'are'} {wanted.version}"
    )
