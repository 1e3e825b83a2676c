# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages for an upgrade, downloaded ahead.

They lie in a folder with lists and a cache of its own, which nothing else of the package manager's cleans. There an upgrade takes them from,
without a repository. The package manager verifies them by its signed lists when they are downloaded. It takes what is in its cache
later on without that: apt compares no more than a file's size. So their digests are recorded, and compared before they are installed.

Source: apt-get(8), "--download-only"; dnf(8), "--downloadonly"; dnf.conf(5), "keepcache" and "metadata_expire".
"""

from __future__ import annotations

import contextlib
import fnmatch
import glob
import json
import os
import re
import shutil
import tempfile
import typing as t

from ...common import kubernetes_versions
from ...common.guard import NodeError, read_text, remedy, sha256_of, write_atomically
from . import community_repository, package_archives
from .packages import PackageManager

FOLDER: t.Final = "var/cache/kubeadm-control-plane/packages"
# Written when all the others are there. It names the folder beside it that they are in, their versions, and each archive's digest.
_RECORD = "staged.json"
_ARCHIVES = (package_archives.ENDING, ".rpm")


def folder(manager: PackageManager) -> str:
    """Return where they lie."""
    return os.path.join(manager.root, FOLDER)


def found(manager: PackageManager) -> dict[str, str]:
    """Return the versions of what is staged, as they were recorded."""
    versions = _record(manager).get("packages")
    return {str(name): str(version) for name, version in versions.items()} if isinstance(versions, dict) else {}


def usable(manager: PackageManager) -> bool:
    """Return whether all of it is there, and can be installed."""
    try:
        if not found(manager) or any(_damaged(manager)):
            return False
        apart = manager.apart(_place(manager))
        apart.add([apart.at(name, version) for name, version in found(manager).items()], simulate=True)
    except (NodeError, OSError):
        return False
    return True


def archive_of(manager: PackageManager, name: str) -> str:
    """Return the path of a staged package's archive.

    "" where it isn't staged, or something of what is staged isn't as it was.
    """
    version = found(manager).get(name)
    if not version or any(_damaged(manager)):
        return ""
    beginning = re.compile(f"{re.escape(name)}[_-]{re.escape(version)}[._]")
    names = [each for each in _record(manager)["archives"] if beginning.match(os.path.basename(each))]
    return os.path.join(_place(manager), names[0]) if names else ""


def stage(manager: PackageManager, wanted: t.Mapping[str, str], describe: t.Callable[[str], object]) -> None:
    """Download packages at these versions, in place of what was staged.

    What they need and this host lacks comes, too. ``describe`` writes the repositories' files below a folder.

    Raises:
        NodeError: one can't be had, and what was staged before is as it was; or that can't be removed, and the packages are staged.
    """
    try:
        os.makedirs(folder(manager), exist_ok=True)
        # What a run left that was killed.
        _remove_all_but(manager, _place(manager))
        made = tempfile.mkdtemp(prefix="staged-", dir=folder(manager))
        try:
            describe(made)
            # apt's own user has to reach it. By now a copied file with a password has its mode.
            os.chmod(made, 0o755)
            apart = manager.apart(made)
            apart.refresh()
            apart.add([apart.at(name, version) for name, version in wanted.items()], download=True)
            record = {"folder": os.path.basename(made), "packages": dict(wanted), "archives": _digests(made)}
            write_atomically(os.path.join(folder(manager), _RECORD), json.dumps(record).encode(), 0o644)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
    except OSError as error:
        what = f"Packages can't be staged in {folder(manager)}: {error.strerror}. What was staged before is as it was."
        raise NodeError(what, remedy(folder(manager), error)) from error
    except NodeError as error:
        what = f"Packages can't be staged in {folder(manager)}: {error.what} What was staged before is as it was."
        raise NodeError(what, "Mend what the message names, and run again.") from error
    try:
        _remove_all_but(manager, made)
    except OSError as error:
        what = f"The packages are staged in {made}, and what was staged before can't be removed from {folder(manager)}: {error.strerror}."
        fix = f"{remedy(folder(manager), error)} It is of no use any more: remove it by hand, or the upgrade and the next staging do."
        raise NodeError(what, fix) from error


def install(manager: PackageManager, names: t.Sequence[str], version: str, pattern: str) -> None:
    """Install packages, from what is staged where all of it is there.

    Otherwise a repository is asked. They are held afterwards. What was staged is removed once all of it is installed.

    Args:
        manager: of this host.
        names: the packages.
        version: of Kubernetes.
        pattern: as :meth:`PackageManager.install` takes it.

    Raises:
        NodeError: an archive was changed or added, and nothing was installed; or the version can't be had; or the package manager failed; or
            what was staged can't be removed, and the packages are installed.
    """
    staged, wanted = found(manager), pattern or kubernetes_versions.package_pattern(version)
    if not all(fnmatch.fnmatchcase(staged.get(name, ""), wanted) for name in names):
        manager.install(names, version, pattern)
        return
    again = (
        f"They were staged in {folder(manager)}. Stage them again, or remove that folder: a repository is asked then."
    )
    try:
        changed, lacking = _damaged(manager)
    except OSError as error:
        what = f"The staged packages in {_place(manager)} can't be read: {error.strerror}. Nothing was installed."
        raise NodeError(what, again) from error
    if changed:
        what = f"These packages aren't as they were staged in {_place(manager)}: {'; '.join(changed)}. Nothing was installed."
        raise NodeError(f"{what} What they have in them by now was verified by no signature.", again)
    if lacking:
        try:
            manager.install(names, version, pattern)
        except NodeError as error:
            what = f"What is staged in {folder(manager)} is incomplete ({'; '.join(lacking)}), and a repository was asked. {error.what}"
            raise NodeError(what, f"{error.fix} Or run prepare again, to stage the packages.") from error
    else:
        # The next patch level is looked for there, as after any upgrade.
        community_repository.point_to(manager.root, manager.REPOSITORIES, version)
        try:
            manager.apart(_place(manager), recorded=True).put({name: staged[name] for name in names})
        except NodeError as error:
            raise NodeError(error.what, again) from error
    installed = manager.installed(staged)
    # A repository may have another build.
    if all(fnmatch.fnmatchcase(installed.get(name, ""), wanted) for name in staged):
        remove(manager)


def remove(manager: PackageManager) -> None:
    """Remove what is staged, once it is installed. Raises NodeError."""
    try:
        # The record first: a run that is killed leaves none without its packages.
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(folder(manager), _RECORD))
        if os.path.isdir(folder(manager)):
            shutil.rmtree(folder(manager))
    except OSError as error:
        what = f"The packages are installed, and what was staged of them in {folder(manager)} can't be removed: {error.strerror}."
        fix = f"{remedy(folder(manager), error)} It is of no use any more: remove it by hand, or the next staging does."
        raise NodeError(what, fix) from error


def _record(manager: PackageManager) -> dict[str, t.Any]:
    try:
        record = json.loads(read_text(os.path.join(folder(manager), _RECORD)))
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


def _place(manager: PackageManager) -> str:
    """Return the folder that the record names."""
    return os.path.join(folder(manager), os.path.basename(str(_record(manager).get("folder"))))


def _remove_all_but(manager: PackageManager, place: str) -> None:
    """Remove what lies beside the record and one folder."""
    for entry in os.scandir(folder(manager)):
        if entry.is_dir(follow_symlinks=False) and entry.path != place:
            shutil.rmtree(entry.path)


def _damaged(manager: PackageManager) -> tuple[list[str], list[str]]:
    """Return the archives that were changed or added, and what is missing."""
    recorded = _record(manager).get("archives")
    # An earlier version of this collection recorded none.
    if not isinstance(recorded, dict) or not recorded:
        return [], [f"{_RECORD} has no digests"]
    there = _digests(_place(manager))
    changed = [
        f"{name} ({'it was changed' if name in recorded else 'it was added'})"
        for name, digest in there.items()
        if recorded.get(name) != digest
    ]
    return changed, [f"{name} is missing" for name in sorted(recorded) if name not in there]


def _digests(place: str) -> dict[str, str]:
    """Return the SHA-256 of all archives, by their paths below a folder."""
    found = sorted(glob.glob(os.path.join(glob.escape(place), "**"), recursive=True))
    return {os.path.relpath(path, place): sha256_of(path) for path in found if path.endswith(_ARCHIVES)}
