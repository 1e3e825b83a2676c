# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages of a bare host, at exact versions.

They come from signed repositories. What can't be had is found beforehand, in folders of its own that the package manager is pointed to:
the host's own lists and sources stay as they are.

Source: apt.conf(5), dnf.conf(5).
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
import shutil
import tempfile
import typing as t
from dataclasses import dataclass, replace

from ...common import kubernetes_versions
from ...common.guard import NodeError, remedy
from ...common.redact import redact
from ..host import plain_file
from . import apt_entries, package_archives, packages, staged_packages
from .packages import COMPANIONS, PROGRAMS
from .repositories import Repository


class Refused(Exception):
    """Refusal before anything was changed.

    ``problems`` has all of it, each a sentence; ``fields`` is the part of a module's result.
    """

    def __init__(self, problems: t.Sequence[str]) -> None:
        super().__init__(" ".join([*problems, "Nothing was changed."]))
        self.problems = list(problems)
        self.fields = {"problems": self.problems}


@dataclass(frozen=True)
class Wanted:
    """Packages to have.

    ``version`` is of Kubernetes, ``package_version`` the packages' own with wildcards ("" for any build); ``others`` are in any version;
    ``change_held``: packages that are held at another version may be changed, also to an older one; ``archives``: a folder with packages, in
    place of repositories.
    """

    version: str
    repositories: tuple[Repository, ...]
    package_version: str = ""
    others: tuple[str, ...] = ()
    change_held: bool = False
    archives: str = ""

    def patterns(self) -> dict[str, str]:
        """Return the versions to have of the packages that are held."""
        exact = self.package_version or kubernetes_versions.package_pattern(self.version)
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
    """Brings packages to this host, by its package manager."""

    manager: packages.PackageManager

    def ensure(self, wanted: Wanted, *, check: bool = False) -> tuple[State, State]:
        """Have the packages, held; return the state before and after.

        Args:
            wanted: the packages.
            check: only find out whether they can be had.

        Raises:
            Refused: something of it can't be had. Nothing was changed.
            NodeError: the package manager failed in the midst of it; the same call continues.
        """
        if wanted.change_held and not self.manager.downgrades:
            return Preparation(replace(self.manager, downgrades=True)).ensure(wanted, check=check)
        problems = [each for repository in wanted.repositories for each in repository.problems(self.manager)]
        if problems:
            raise Refused(problems)
        names = (*wanted.patterns(), *wanted.others)
        before = self._state(wanted, names)
        files = {f"/{path}": text for path, text in self._files(wanted, self.manager.root).items()}
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
        for path, text in self._files(wanted, self.manager.root).items():
            whole = os.path.join(self.manager.root, path)
            os.makedirs(os.path.dirname(whole), mode=0o755, exist_ok=True)
            plain_file.bring(plain_file.Wanted(whole, text.encode(), 0o644))
        with self._apart(wanted, recorded=True) if wanted.archives else contextlib.nullcontext(self.manager) as manager:
            manager.refresh()
            missing = [name for name in wanted.others if name not in kept]
            if missing:
                manager.add(missing)
            # A held companion may have to be newer.
            pinned = [name for name in patterns if name in (*PROGRAMS, *exact) or name not in before.held]
            manager.put({name: exact.get(name) or kept[name] for name in pinned})
        return before, self._state(wanted, names)

    def stage(self, wanted: Wanted, *, check: bool = False) -> tuple[dict[str, str], dict[str, str]]:
        """Stage what an upgrade needs; return the staged versions before and after.

        kubeadm, kubelet and kubectl are downloaded. Nothing is installed, and the host's repositories stay as they are. Where that version or
        a newer one is installed already, nothing is staged.

        Args:
            wanted: the packages; of them ``others`` are none of an upgrade's.
            check: only find out whether they can be had.

        Raises:
            Refused: something of it can't be had. Nothing was changed.
            NodeError: the download failed, and what was staged before is as it was; or that can't be removed, and the packages are staged.
        """
        problems = [each for repository in wanted.repositories for each in repository.problems(self.manager)]
        if problems:
            raise Refused(problems)
        pattern = wanted.patterns()[PROGRAMS[0]]
        before, installed = staged_packages.found(self.manager), self.manager.installed(PROGRAMS)
        if all(
            fnmatch.fnmatchcase(installed.get(name, ""), pattern) or _is_newer(installed.get(name, ""), wanted.version)
            for name in PROGRAMS
        ):
            return before, before
        before = before if staged_packages.usable(self.manager) else {}
        if all(fnmatch.fnmatchcase(before.get(name, ""), pattern) for name in PROGRAMS):
            return before, before
        try:
            with self._apart(wanted) as manager:
                manager.refresh()
                exact, problems = _candidates(manager, wanted, PROGRAMS)
                if not problems:
                    manager.add([manager.at(name, version) for name, version in exact.items()], simulate=True)
        except NodeError as error:
            problems = [str(error)]
        if problems:
            raise Refused(problems)
        if not check:
            staged_packages.stage(self.manager, exact, lambda folder: self._describe(wanted, folder))
        return before, exact

    def save(self, names: t.Sequence[str], folder: str) -> list[str]:
        """Write archives of packages, by lists that are read for it.

        See :func:`package_archives.save`, whose errors it raises. This host's own lists stay as they are.
        """
        with self._apart(Wanted("", ())) as manager:
            manager.refresh()
            return package_archives.save(manager, names, folder)

    def _files(self, wanted: Wanted, root: str) -> dict[str, str]:
        return {path: text for each in wanted.repositories for path, text in each.files(self.manager, root).items()}

    def _state(self, wanted: Wanted, names: t.Sequence[str]) -> State:
        files = {}
        for path in self._files(wanted, self.manager.root):
            whole = os.path.join(self.manager.root, path)
            if os.path.isfile(whole):
                with open(whole, encoding="utf-8", errors="replace") as file:
                    files[f"/{path}"] = file.read()
        return State(*self.manager.found(names), files)

    def _found_beforehand(self, wanted: Wanted, before: State, kept: t.Mapping[str, str]) -> dict[str, str]:
        """Return the exact versions of what is to be held. Raises Refused."""
        patterns = wanted.patterns()
        problems = [
            f"{name} {before.versions[name]} is held on this host, and {patterns[name]} is wanted. "
            f"Let it go ({self.manager.RELEASE.format(name=name)}), or set change_held."
            for name in patterns
            if name in before.held and name in before.versions and name not in kept and not wanted.change_held
        ] + apt_entries.problems(self.manager, wanted.repositories)
        try:
            with self._apart(wanted) as manager:
                unheld = set() if manager.HOLDS else set(patterns) - before.held - manager.held(patterns)
                if unheld:
                    problems.append(
                        f"Nothing would keep {', '.join(sorted(unheld))} from being upgraded: no repository's file excludes them. "
                        "Have the repository set up here (repositories), or write exclude= with these names into its file."
                    )
                manager.refresh()
                exact, missing = _candidates(manager, wanted, [each for each in patterns if each not in kept])
                problems += missing
                if not problems:
                    others = [each for each in wanted.others if each not in kept]
                    manager.add(
                        [*others, *(manager.at(name, version) for name, version in exact.items())], simulate=True
                    )
        except NodeError as error:
            problems.append(str(error))
        if problems:
            raise Refused(problems)
        return exact

    @contextlib.contextmanager
    def _apart(self, wanted: Wanted, *, recorded: bool = False) -> t.Iterator[packages.PackageManager]:
        """Yield the package manager with folders of its own.

        It has the host's repositories and those to come, or the archives alone.
        """
        with contextlib.ExitStack() as stack:
            try:
                made = tempfile.TemporaryDirectory(prefix="kubeadm-control-plane-", dir="/var/tmp")
                folder = stack.enter_context(made)
                self._describe(wanted, folder)
                # apt's own user has to reach it. By now a copied file with a password has its mode.
                os.chmod(folder, 0o755)
            except OSError as error:
                what = f"Lists of packages can't be written below /var/tmp: {error.strerror}."
                raise NodeError(what, remedy("/var/tmp", error)) from error
            yield self.manager.apart(folder, recorded=recorded)

    def _describe(self, wanted: Wanted, folder: str) -> None:
        """Write repositories' files below a folder.

        They are the host's own and those to come, or that of the archives alone.
        """
        sources = os.path.join(folder, self.manager.SOURCES)
        os.makedirs(sources)
        if wanted.archives:
            package_archives.describe(self.manager, wanted.archives, folder)
            return
        theirs = os.path.join(self.manager.root, self.manager.SOURCES)
        for name in sorted(os.listdir(theirs)) if os.path.isdir(theirs) else []:
            self._copy(os.path.join(self.manager.SOURCES, name), folder, wanted)
        os.makedirs(os.path.join(folder, os.path.dirname(packages.Apt.SOURCE_LIST)), exist_ok=True)
        self._copy(packages.Apt.SOURCE_LIST, folder, wanted)
        for path, text in self._files(wanted, folder).items():
            whole = os.path.join(folder, path)
            os.makedirs(os.path.dirname(whole), exist_ok=True)
            with open(whole, "w", encoding="utf-8") as file:
                file.write(text)

    def _copy(self, path: str, folder: str, wanted: Wanted) -> None:
        """Copy a file of the host's repositories without those to come.

        A node of an adopted cluster may have Kubernetes' own, with another key.
        """
        own, copy = os.path.join(self.manager.root, path), os.path.join(folder, path)
        if not os.path.isfile(own):
            return
        shutil.copy(own, copy)
        if isinstance(self.manager, packages.Apt):
            with open(own, encoding="utf-8", errors="surrogateescape") as file:
                text = apt_entries.without(path, file.read(), wanted.repositories)
            with open(copy, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(text)


def _is_newer(package_version: str, version: str) -> bool:
    """Return whether a package's version is of a newer Kubernetes."""
    there = kubernetes_versions.read_version(f"v{package_version.partition('-')[0].replace('~', '-')}")
    wanted = kubernetes_versions.read_version(version)
    return there is not None and wanted is not None and there > wanted


def _candidates(
    manager: packages.PackageManager, wanted: Wanted, names: t.Sequence[str]
) -> tuple[dict[str, str], list[str]]:
    """Return the newest fitting versions of packages, and what is missing."""
    patterns = wanted.patterns()
    exact, problems = {}, []
    for name in names:
        there = manager.versions(name)
        found = next((each for each in there if fnmatch.fnmatchcase(each, patterns[name])), "")
        if found:
            exact[name] = found
            continue
        where = f"archive in {wanted.archives}" if wanted.archives else "repository of this host"
        problems.append(
            f"No {where} has {name} {patterns[name]}; they have {', '.join(there[:8]) or 'none at all'}. "
            "Correct the repository's address, or the version, or write other archives."
        )
    left = package_archives.unlisted(wanted.archives) if problems and wanted.archives else ""
    return exact, [*problems, left] if left else problems
