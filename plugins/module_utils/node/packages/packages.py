# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages of kubeadm, kubelet and kubectl at an exact version.

They come from this machine's own package manager.

Source: docs/reference/kubeadm.md, "Upgrading".
"""

from __future__ import annotations

import configparser
import contextlib
import fnmatch
import glob
import os
import re
import subprocess
import typing as t
from dataclasses import dataclass

from ...common import kubernetes_versions, settings, timed_command
from ...common.guard import NodeError
from ...common.redact import redact
from . import apt_sources, community_repository, package_locks

PROGRAMS = ("kubeadm", "kubelet", "kubectl")
# Comes with Kubernetes, in versions of its own.
COMPANIONS = ("cri-tools",)

_LAST_WORDS = 600

Runner = t.Callable[[t.Sequence[str]], "subprocess.CompletedProcess[str]"]


def run(words: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a package manager without questions, with English output."""
    plain = ["env", "DEBIAN_FRONTEND=noninteractive", "NEEDRESTART_SUSPEND=1", "LC_ALL=C.UTF-8"]
    return timed_command.run([*plain, *words], seconds=settings.PACKAGES_SECONDS)


@dataclass(frozen=True)
class PackageManager:
    """Package manager of one family of operating systems.

    ``root`` is where its configuration is; tests use another one. ``downgrades``: a newer package may be replaced by an older one.

    A family gives the words of its commands; what is done with them is the same for all.
    """

    runner: Runner = run
    root: str = "/"
    downgrades: bool = False

    NAME: t.ClassVar[str]
    REPOSITORIES: t.ClassVar[tuple[str, ...]]
    # Where the files of repositories are, how they end, and where their keys are.
    SOURCES: t.ClassVar[str]
    SOURCE_ENDING: t.ClassVar[str]
    KEY: t.ClassVar[str]
    # Whether a repository has suites and components; and where its credentials belong.
    SUITES: t.ClassVar[bool] = True
    CREDENTIALS: t.ClassVar[str]
    # How a person lets go of a held package; and whether `put` holds packages, or a repository's file does.
    RELEASE: t.ClassVar[str]
    HOLDS: t.ClassVar[bool] = True

    def has(self, name: str) -> bool:
        """Return whether a program is installed as a package of that name."""
        raise NotImplementedError

    def installed(self, names: t.Iterable[str]) -> dict[str, str]:
        """Return the versions of those packages that are installed."""
        raise NotImplementedError

    def held(self, names: t.Iterable[str]) -> set[str]:
        """Return those packages that nothing else upgrades."""
        raise NotImplementedError

    def found(self, names: t.Sequence[str]) -> tuple[dict[str, str], set[str]]:
        """Return what :meth:`installed` and :meth:`held` return."""
        return self.installed(names), self.held(names)

    def apart(self, folder: str, *, recorded: bool = False) -> PackageManager:
        """Return it with the repositories that a folder's files describe.

        Its lists and cache are in that folder, too: this machine's own stay as they are. What is in them is not asked for again.
        This machine's own log and history stay as well, unless ``recorded``.
        """
        raise NotImplementedError

    def refresh(self) -> None:
        """Refresh the lists of packages from the repositories."""
        raise NotImplementedError

    def versions(self, name: str) -> list[str]:
        """Return a package's installable versions, the newest first."""
        raise NotImplementedError

    def at(self, name: str, version: str) -> str:
        """Return a package at a version, as :meth:`add` takes it."""
        raise NotImplementedError

    def add(self, wanted: t.Sequence[str], *, simulate: bool = False, download: bool = False) -> None:
        """Install packages.

        ``simulate`` only finds out whether they can be, with no other package removed for them; ``download`` only downloads them.
        """
        raise NotImplementedError

    def put(self, wanted: t.Mapping[str, str]) -> None:
        """Install packages at these versions, and hold them.

        Nothing else upgrades a held package.
        """
        raise NotImplementedError

    def unheld(self) -> list[str]:
        """Return Kubernetes' installed packages that :meth:`put` would have held."""
        return []

    def hold(self, names: t.Iterable[str]) -> None:
        """Hold packages. Raises NodeError."""
        raise NotImplementedError

    def install(self, names: t.Sequence[str], version: str, pattern: str) -> dict[str, str]:
        """Install packages at a Kubernetes version and return their own versions.

        Args:
            names: the packages.
            version: of Kubernetes, such as v1.30.2.
            pattern: the packages' version, with ``*`` and ``?``; "" for any build of the Kubernetes version.

        Raises:
            NodeError: the version can't be had, or the package manager failed.
        """
        wanted = pattern or kubernetes_versions.package_pattern(version)
        community_repository.point_to(self.root, self.REPOSITORIES, version)
        found = {name: self._candidate(name, wanted) for name in names}
        # Only then: it reads every repository of the host, also one that is down and that nothing here comes from.
        if not all(found.values()):
            self.refresh()
            found = {name: self._candidate(name, wanted) for name in names}
        for name, each in found.items():
            if not each:
                there = ", ".join(self.versions(name)[:8]) or "none at all"
                raise NodeError(
                    f"No package {name} {wanted} can be installed here; {self.NAME} knows of {there}.",
                    f"Nothing was installed. Give this machine a repository of v{'.'.join(version.lstrip('v').split('.')[:2])}, "
                    "or another packageVersion, or use binaries from files.",
                )
        self.put(found)
        return found

    def _candidate(self, name: str, wanted: str) -> str:
        return next((each for each in self.versions(name) if fnmatch.fnmatchcase(each, wanted)), "")

    def _checked(self, words: t.Sequence[str], what: str) -> str:
        return self._judged(self.runner(words), what)

    def _judged(self, done: subprocess.CompletedProcess[str], what: str) -> str:
        if done.returncode != 0:
            said = redact(done.stderr.strip() or done.stdout.strip())[-_LAST_WORDS:]
            raise NodeError(f"{what} failed ({self.NAME}, exit status {done.returncode}): {said}", "Run it by hand.")
        return done.stdout


class Apt(PackageManager):
    """Package manager of Debian and Ubuntu."""

    NAME = "apt"
    REPOSITORIES = (
        "etc/apt/sources.list",
        "etc/apt/sources.list.d/*.list",
        "etc/apt/sources.list.d/*.sources",
    )
    SOURCES = "etc/apt/sources.list.d"
    SOURCE_LIST = "etc/apt/sources.list"
    SOURCE_ENDING = apt_sources.ENDING
    KEY = "etc/apt/keyrings/{name}.asc"
    CREDENTIALS = "the credentials into a file below /etc/apt/auth.conf.d on the host (apt_auth.conf(5))"
    RELEASE = "apt-mark unhold {name}"
    _LOCK = ("-o", f"DPkg::Lock::Timeout={settings.PACKAGES_LOCK_SECONDS}")
    _CHANGE_HELD = "--allow-change-held-packages"  # Of the named ones; apt changes no other.

    def has(self, name: str) -> bool:
        """See the base class."""
        done = self.runner(["dpkg-query", "--show", "--showformat=${db:Status-Status}", name])
        return done.returncode == 0 and done.stdout.strip() == "installed"

    def found(self, names: t.Iterable[str]) -> tuple[dict[str, str], set[str]]:
        """See the base class."""
        # apt-mark would show what is held, too, and write apt's caches.
        fields = "${Package} ${Version} ${db:Status-Status} ${db:Status-Want}\\n"
        shown = self.runner(["dpkg-query", "--show", f"--showformat={fields}", *dict.fromkeys(names)])
        rows = [line.split() for line in shown.stdout.splitlines()]
        return {row[0]: row[1] for row in rows if row[2:3] == ["installed"]}, {
            row[0] for row in rows if row[-1] == "hold"
        }

    def installed(self, names: t.Iterable[str]) -> dict[str, str]:
        """See the base class."""
        return self.found(names)[0]

    def held(self, names: t.Iterable[str]) -> set[str]:
        """See the base class."""
        return self.found(names)[1]

    def apart(self, folder: str, *, recorded: bool = False) -> PackageManager:
        """See the base class."""
        lists, log = os.path.join(folder, "lists"), os.path.join(folder, "log")
        for path in (log, os.path.join(lists, "partial"), os.path.join(folder, "cache/archives/partial")):
            os.makedirs(path, exist_ok=True)
        options = [
            *("-o", f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={os.path.join(folder, 'cache')}"),
            *("-o", f"Dir::Etc::SourceParts={os.path.join(folder, self.SOURCES)}", "-o", "APT::Update::Error-Mode=any"),
            *("-o", f"Dir::Etc::SourceList={os.path.join(folder, self.SOURCE_LIST)}"),
            *(() if recorded else ("-o", f"Dir::Log={log}")),
        ]

        def run_apart(words: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
            return self.runner([words[0], *(options if words[0] != "dpkg-query" else ()), *words[1:]])

        return Apt(run_apart, folder, self.downgrades)

    def refresh(self) -> None:
        """See the base class."""
        self._checked(["apt-get", *self._LOCK, "update"], "Reading the package lists")

    def versions(self, name: str) -> list[str]:
        """See the base class; `apt-cache madison` lists the newest first."""
        lines = self.runner(["apt-cache", "madison", name]).stdout.splitlines()
        fields = [line.split("|") for line in lines]
        return list(dict.fromkeys(each[1].strip() for each in fields if len(each) > 1))

    def put(self, wanted: t.Mapping[str, str]) -> None:
        """See the base class; what a killed call let go is held."""
        try:
            self._install(self._with_companions([self.at(*each) for each in wanted.items()]), [self._CHANGE_HELD])
        except NodeError as error:
            try:
                self.hold([*wanted, *self.unheld()])
            except NodeError as other:
                raise NodeError(f"{error.what} {other.what}", error.fix) from error
            raise
        self.hold([*wanted, *self.unheld()])

    def unheld(self) -> list[str]:
        """See the base class."""
        there, held = self.found((*PROGRAMS, *COMPANIONS))
        return sorted(set(there) - held)

    def hold(self, names: t.Iterable[str]) -> None:
        """See the base class."""
        self._checked(["apt-mark", "hold", *dict.fromkeys(names)], "Holding the packages")

    def at(self, name: str, version: str) -> str:
        """See the base class."""
        return f"{name}={version}"

    def add(self, wanted: t.Sequence[str], *, simulate: bool = False, download: bool = False) -> None:
        """See the base class."""
        how = ["--simulate"] if simulate else ["--download-only"] if download else []
        if how:
            wanted, how = self._with_companions(wanted), [*how, "--no-remove", self._CHANGE_HELD]
        self._install(wanted, how)

    def _checked(self, words: t.Sequence[str], what: str) -> str:
        return self._judged(package_locks.run_when_free(lambda: self.runner(words)), what)

    def _with_companions(self, wanted: t.Sequence[str]) -> list[str]:
        """Add held companions where newer ones are needed."""
        companions = sorted(self.held(COMPANIONS) - {each.partition("=")[0] for each in wanted})
        if companions:
            try:
                self._install(wanted, ["--simulate", "--no-remove", self._CHANGE_HELD])
            except NodeError:
                return [*wanted, *companions]
        return list(wanted)

    def _install(self, wanted: t.Sequence[str], how: t.Sequence[str]) -> None:
        keep = ["-o", "Dpkg::Options::=--force-confold"]
        how = [*how, *(["--allow-downgrades"] if self.downgrades else [])]  # dnf needs no such word.
        words = ["apt-get", *self._LOCK, *keep, "install", "--yes", "--no-install-recommends", *how, *wanted]
        self._checked(words, f"Installing {' '.join(wanted)}")


class Dnf(PackageManager):
    """Package manager of Fedora and Red Hat; ``yum`` takes the same words."""

    NAME = "dnf"
    REPOSITORIES = ("etc/yum.repos.d/*.repo",)
    SOURCES = "etc/yum.repos.d"
    SOURCE_ENDING = "repo"
    KEY = "etc/pki/rpm-gpg/RPM-GPG-KEY-{name}"
    SUITES = False
    CREDENTIALS = "take a mirror of your own that needs none (dnf.conf(5) has username and password in that same file)"
    RELEASE = "take it out of exclude= in its repository's file"
    HOLDS = False
    # The repository's own file keeps these packages from being upgraded by accident.
    _ALL = "--disableexcludes=all"

    def has(self, name: str) -> bool:
        """See the base class."""
        return self.runner(["rpm", "--query", name]).returncode == 0

    def installed(self, names: t.Iterable[str]) -> dict[str, str]:
        """See the base class."""
        wanted = dict.fromkeys(names)
        shown = self.runner(["rpm", "--query", "--queryformat=%{NAME} %{VERSION}-%{RELEASE}\\n", *wanted])
        rows = [line.split() for line in shown.stdout.splitlines()]
        found = {row[0]: row[1] for row in rows if len(row) == 2}
        # What dnf installs for a name may be called otherwise: iptables is iptables-nft from RHEL 9 on.
        for name in [each for each in wanted if each not in found]:
            words = ["rpm", "--query", "--whatprovides", "--queryformat=%{VERSION}-%{RELEASE}\\n", name]
            done = self.runner(words)
            if done.returncode == 0 and done.stdout.strip():
                found[name] = done.stdout.split()[0]
        return found

    def held(self, names: t.Iterable[str]) -> set[str]:
        """Return those that a repository's file, or dnf's own, excludes."""
        patterns: list[str] = []
        for each in ("etc/dnf/dnf.conf", *self.REPOSITORIES):
            for path in glob.glob(os.path.join(self.root, each)):
                read = configparser.ConfigParser(interpolation=None, strict=False)
                with contextlib.suppress(configparser.Error, UnicodeDecodeError):
                    read.read(path, encoding="utf-8")
                for section in read.sections():
                    # dnf reads nothing of a repository that is off.
                    if read.get(section, "enabled", fallback="1").strip().lower() in ("0", "false", "no", "off"):
                        continue
                    for key in ("exclude", "excludepkgs"):
                        patterns += re.split(r"[\s,]+", read.get(section, key, fallback=""))
        return {name for name in names if any(fnmatch.fnmatchcase(name, each) for each in patterns)}

    def apart(self, folder: str, *, recorded: bool = False) -> PackageManager:
        """See the base class."""
        own = ("cachedir", *(() if recorded else ("persistdir", "logdir")))
        options = [
            f"--setopt=reposdir={os.path.join(folder, self.SOURCES)}",
            # Some distributions go on without a repository whose signature is wrong.
            "--setopt=*.skip_if_unavailable=0",
            *("--setopt=*.metadata_expire=-1", "--setopt=keepcache=1"),
            *(f"--setopt={each}={os.path.join(folder, each)}" for each in own),
        ]

        def run_apart(words: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
            return self.runner([words[0], *(options if words[0] != "rpm" else ()), *words[1:]])

        return Dnf(run_apart, folder)

    def refresh(self) -> None:
        """See the base class; keys are those that repositories' files name."""
        program = self._program()
        # Lists that have not expired are not read again without it. yum 3 does not know the word, and reads them.
        self._checked(
            [program, *(["--refresh"] if program == "dnf" else []), "--assumeyes", "makecache"],
            "Reading the package lists",
        )

    def versions(self, name: str) -> list[str]:
        """See the base class; what is installed is listed as well."""
        words = [self._program(), "--quiet", "list", "--showduplicates", self._ALL, name]
        fields = [line.split() for line in self.runner(words).stdout.splitlines()]
        found = [each[1] for each in fields if len(each) >= 2 and each[0].partition(".")[0] == name]
        return list(dict.fromkeys(each.partition(":")[2] or each for each in reversed(found)))

    def put(self, wanted: t.Mapping[str, str]) -> None:
        """See the base class."""
        self.add([self.at(name, version) for name, version in wanted.items()])

    def at(self, name: str, version: str) -> str:
        """See the base class."""
        return f"{name}-{version}"

    def add(self, wanted: t.Sequence[str], *, simulate: bool = False, download: bool = False) -> None:
        """See the base class; dnf itself removes nothing for a package."""
        how = ["--assumeno" if simulate else "--assumeyes", *(["--downloadonly"] if download else [])]
        words = [self._program(), "install", *how, self._ALL, *wanted]
        done = self.runner(words)
        # To be told not to go on is a failure to dnf.
        if not (simulate and "Operation aborted." in done.stdout + done.stderr):
            self._judged(done, f"Installing {' '.join(wanted)}")

    def _program(self) -> str:
        for name in ("dnf", "yum"):
            try:
                if self.runner([name, "--version"]).returncode == 0:
                    return name
            except NodeError:
                continue
        raise NodeError("Neither dnf nor yum is on this machine.", "Use binaries from files.")
