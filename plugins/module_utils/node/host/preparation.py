# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages of a bare Debian or Ubuntu host, at exact versions.

They come from signed repositories. What can't be had is found beforehand, in folders of its own that apt is pointed to:
the host's own lists and sources stay as they are.

Source: apt.conf(5), sources.list(5).
"""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
import subprocess
import tempfile
import typing as t
from dataclasses import dataclass

from ...common.guard import NodeError
from ...common.redact import redact
from . import packages, plain_file
from .binaries import PROGRAMS

# Comes with Kubernetes, in versions of its own.
COMPANIONS = ("cri-tools",)
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*\Z")
_URL = re.compile(r"(https?|file)://\S+\Z")
_WORDS = re.compile(r"[^\s\[\]]+\Z")
_KEY = "-----BEGIN PGP PUBLIC KEY BLOCK-----"
_SOURCES = "etc/apt/sources.list.d"


class Refused(Exception):
    """Refusal before anything was changed.

    ``problems`` has all of it, each a sentence.
    """

    def __init__(self, problems: t.Sequence[str]) -> None:
        super().__init__(" ".join(problems))
        self.problems = list(problems)


@dataclass(frozen=True)
class Repository:
    """Signed repository of packages; ``key`` is the text of its OpenPGP key."""

    name: str
    url: str
    key: str
    suite: str = "/"
    components: tuple[str, ...] = ()

    def problems(self) -> list[str]:
        """Return what is wrong with how it is described.

        An address with credentials is not shown.
        """
        if "@" in self.url:
            # Everybody on the host reads that file, and --diff shows it.
            return [
                f"The repository {self.name} has credentials in its address. Write the address without them, and the credentials into a "
                "file below /etc/apt/auth.conf.d on the host (apt_auth.conf(5))."
            ]
        found = []
        if not _NAME.match(self.name):
            found.append(f"The repository's name {self.name!r} is to be of lower case letters, digits, '.' and '-'.")
        if not _URL.match(self.url):
            found.append(f"The repository {self.name} has the address {self.url!r}, which is no URL of http or https.")
        if not all(_WORDS.match(each) for each in (self.suite, *self.components)):
            found.append(f"The repository {self.name} has a suite or component with blanks or brackets.")
        if not self.key.lstrip().startswith(_KEY):
            found.append(
                f"The repository {self.name} has no key that begins with {_KEY}: an unsigned repository is not used. "
                "Give the file with its key, as text (gpg --armor --export)."
            )
        return found

    def key_path(self) -> str:
        """Return the path of its key on the host, from the root."""
        return f"etc/apt/keyrings/{self.name}.asc"

    def source(self, root: str) -> str:
        """Return apt's file about it, with its key below a root."""
        lines = ["Types: deb", f"URIs: {self.url}", f"Suites: {self.suite}"]
        lines += [f"Components: {' '.join(self.components)}"] if self.components else []
        return "\n".join([*lines, f"Signed-By: {os.path.join(root, self.key_path())}", ""])


@dataclass(frozen=True)
class Wanted:
    """Packages to have.

    ``version`` is of Kubernetes, ``package_version`` the packages' own with wildcards ("" for any build); ``others`` are in any version;
    ``change_held``: packages that are held at another version may be changed.
    """

    version: str
    repositories: tuple[Repository, ...]
    package_version: str = ""
    others: tuple[str, ...] = ()
    change_held: bool = False

    def patterns(self) -> dict[str, str]:
        """Return the versions to have of the packages that are held."""
        exact = self.package_version or f"{self.version.lstrip('v')}-*"
        return {**dict.fromkeys(PROGRAMS, exact), **dict.fromkeys(COMPANIONS, "*")}


@dataclass(frozen=True)
class State:
    """Installed packages by version, held ones, and the repositories' files."""

    versions: t.Mapping[str, str]
    held: t.AbstractSet[str]
    files: t.Mapping[str, str]

    def document(self) -> dict[str, t.Any]:
        """Return it as the module shows it.

        A repository's file that was there before may have a password.
        """
        files = {path: redact(text) for path, text in self.files.items()}
        return {"packages": dict(self.versions), "held": sorted(self.held), "repositories": files}


@dataclass(frozen=True)
class Preparation:
    """Brings packages to this host; ``runner`` and ``root`` are others in tests."""

    runner: packages.Runner = packages.run
    root: str = "/"

    def ensure(self, wanted: Wanted, *, check: bool = False) -> tuple[State, State]:
        """Have the packages, held; return the state before and after.

        Args:
            wanted: the packages.
            check: only find out whether they can be had.

        Raises:
            Refused: something of it can't be had. Nothing was changed.
            NodeError: apt failed in the midst of it; the same call continues.
        """
        problems = [each for repository in wanted.repositories for each in repository.problems()]
        if problems:
            raise Refused(problems)
        names = (*wanted.patterns(), *wanted.others)
        before = self._state(wanted, names)
        files = {f"/{path}": text for path, text in self._files(wanted, self.root).items()}
        patterns = wanted.patterns()
        kept = {
            name: version
            for name, version in before.versions.items()
            if fnmatch.fnmatchcase(version, patterns.get(name, "*"))
        }
        if len(kept) == len(set(names)) and set(patterns) <= before.held and files == before.files:
            return before, before
        exact = self._found_beforehand(wanted, before, kept)
        after = State({**dict.fromkeys(wanted.others, "any"), **kept, **exact}, before.held | set(patterns), files)
        if check:
            return before, after
        for path, text in self._files(wanted, self.root).items():
            whole = os.path.join(self.root, path)
            os.makedirs(os.path.dirname(whole), mode=0o755, exist_ok=True)
            plain_file.bring(plain_file.Wanted(whole, text.encode(), 0o644))
        apt = packages.Apt(self.runner, self.root)
        apt.refresh()
        missing = [name for name in wanted.others if name not in kept]
        if missing:
            apt.add(missing)
        apt.put({name: exact.get(name) or kept[name] for name in patterns})
        return before, self._state(wanted, names)

    def _files(self, wanted: Wanted, root: str) -> dict[str, str]:
        found = {}
        for each in wanted.repositories:
            found[each.key_path()] = each.key.strip() + "\n"
            found[f"{_SOURCES}/{each.name}.sources"] = each.source(root)
        return found

    def _state(self, wanted: Wanted, names: t.Sequence[str]) -> State:
        # apt-mark would show what is held, too, and write apt's caches.
        fields = "${Package} ${Version} ${db:Status-Status} ${db:Status-Want}\\n"
        shown = self.runner(["dpkg-query", "--show", f"--showformat={fields}", *dict.fromkeys(names)])
        rows = [line.split() for line in shown.stdout.splitlines()]
        versions = {row[0]: row[1] for row in rows if row[2:3] == ["installed"]}
        held = {row[0] for row in rows if row[-1] == "hold"}
        files = {}
        for path in self._files(wanted, self.root):
            whole = os.path.join(self.root, path)
            if os.path.isfile(whole):
                with open(whole, encoding="utf-8", errors="replace") as file:
                    files[f"/{path}"] = file.read()
        return State(versions, held, files)

    def _found_beforehand(self, wanted: Wanted, before: State, kept: t.Mapping[str, str]) -> dict[str, str]:
        """Return the exact versions of what is to be held. Raises Refused."""
        patterns = wanted.patterns()
        problems = [
            f"{name} {before.versions[name]} is held on this host, and {patterns[name]} is wanted. "
            f"Let it go (apt-mark unhold {name}), or set change_held."
            for name in patterns
            if name in before.held and name in before.versions and name not in kept and not wanted.change_held
        ]
        # apt's own user has to reach it.
        with tempfile.TemporaryDirectory(prefix="kubeadm-control-plane-", dir="/var/tmp") as folder:
            os.chmod(folder, 0o755)
            try:
                apt = packages.Apt(self._apart(wanted, folder), folder)
                apt.refresh()
                exact = {}
                for name in [each for each in patterns if each not in kept]:
                    there = apt.versions(name)
                    found = next((each for each in there if fnmatch.fnmatchcase(each, patterns[name])), "")
                    if found:
                        exact[name] = found
                    else:
                        problems.append(
                            f"No repository of this host has {name} {patterns[name]}; "
                            f"they have {', '.join(there[:8]) or 'none at all'}. Correct the repository's address, or the version."
                        )
                if not problems:
                    apt.add(
                        [
                            *(each for each in wanted.others if each not in kept),
                            *(f"{name}={version}" for name, version in exact.items()),
                        ],
                        simulate=True,
                    )
            except NodeError as error:
                problems.append(str(error))
        if problems:
            raise Refused(problems)
        return exact

    def _apart(self, wanted: Wanted, folder: str) -> packages.Runner:
        """Return apt with the repositories, its lists below a folder."""
        sources, lists = os.path.join(folder, _SOURCES), os.path.join(folder, "lists")
        log = os.path.join(folder, "log")
        for path in (sources, log, os.path.join(lists, "partial"), os.path.join(folder, "cache/archives/partial")):
            os.makedirs(path)
        theirs = os.path.join(self.root, _SOURCES)
        for name in sorted(os.listdir(theirs)) if os.path.isdir(theirs) else []:
            if os.path.isfile(os.path.join(theirs, name)):
                shutil.copy(os.path.join(theirs, name), os.path.join(sources, name))
        for path, text in self._files(wanted, folder).items():
            whole = os.path.join(folder, path)
            os.makedirs(os.path.dirname(whole), exist_ok=True)
            with open(whole, "w", encoding="utf-8") as file:
                file.write(text)
        options = [
            *("-o", f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={os.path.join(folder, 'cache')}"),
            *("-o", f"Dir::Etc::SourceParts={sources}", "-o", f"Dir::Log={log}", "-o", "APT::Update::Error-Mode=any"),
        ]

        def run(words: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
            return self.runner([words[0], *options, *words[1:]])

        return run
