# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages for an upgrade, downloaded ahead.

They lie in a folder with lists and a cache of its own, which nothing else of the package manager's cleans. There an upgrade takes them from,
without a repository. The package manager verifies them by its signed lists, as always.

Source: apt-get(8), "--download-only"; dnf(8), "--downloadonly"; dnf.conf(5), "keepcache" and "metadata_expire".
"""

from __future__ import annotations

import contextlib
import fnmatch
import glob
import hashlib
import json
import os
import shutil
import tempfile
import typing as t

from ...common import kubernetes_versions
from ...common.guard import NodeError, read_text, remedy, sha256_of, write_atomically
from . import community_repository, package_archives
from .packages import PackageManager

FOLDER: t.Final = "var/cache/kubeadm-control-plane/packages"
# Written when all the others are there. It names the folder beside it that they are in, their versions, and the digest of all archives.
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
        if not found(manager) or _digest(_place(manager)) != _record(manager).get("sha256"):
            return False
        apart = manager.apart(_place(manager))
        apart.add([apart.at(name, version) for name, version in found(manager).items()], simulate=True)
    except (NodeError, OSError):
        return False
    return True


def stage(manager: PackageManager, wanted: t.Mapping[str, str], describe: t.Callable[[str], object]) -> None:
    """Download packages at these versions, in place of what was staged.

    What they need and this host lacks comes, too. ``describe`` writes the repositories' files below a folder.

    Raises:
        NodeError: one can't be had. What was staged before is as it was.
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
            record = {"folder": os.path.basename(made), "packages": dict(wanted), "sha256": _digest(made)}
            write_atomically(os.path.join(folder(manager), _RECORD), json.dumps(record).encode(), 0o644)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
        _remove_all_but(manager, made)
    except OSError as error:
        what = f"Packages can't be staged in {folder(manager)}: {error.strerror}. What was staged before is as it was."
        raise NodeError(what, remedy(folder(manager), error)) from error
    except NodeError as error:
        what = f"Packages can't be staged in {folder(manager)}: {error.what} What was staged before is as it was."
        raise NodeError(what, "Mend what the message names, and run again.") from error


def install(manager: PackageManager, names: t.Sequence[str], version: str, pattern: str) -> bool:
    """Install packages from what is staged; return whether they were.

    They are held afterwards. What was staged is removed once all of it is installed.

    Args:
        manager: of this host.
        names: the packages.
        version: of Kubernetes.
        pattern: as :meth:`PackageManager.install` takes it.

    Raises:
        NodeError: the package manager failed.
    """
    staged, wanted = found(manager), pattern or kubernetes_versions.package_pattern(version)
    if not all(fnmatch.fnmatchcase(staged.get(name, ""), wanted) for name in names):
        return False
    # The next patch level is looked for there, as after any upgrade.
    community_repository.point_to(manager.root, manager.REPOSITORIES, version)
    try:
        manager.apart(_place(manager), recorded=True).put({name: staged[name] for name in names})
    except NodeError as error:
        fix = f"They were staged in {folder(manager)}. Stage them again, or remove that folder: a repository is asked then."
        raise NodeError(error.what, fix) from error
    if manager.installed(staged) == staged:
        remove(manager)
    return True


def remove(manager: PackageManager) -> None:
    """Remove what is staged."""
    # The record first: a run that is killed leaves none without its packages.
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(folder(manager), _RECORD))
    if os.path.isdir(folder(manager)):
        shutil.rmtree(folder(manager))


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


def _digest(place: str) -> str:
    """Return the SHA-256 of all archives' names and contents."""
    whole = hashlib.sha256()
    for path in sorted(glob.glob(os.path.join(glob.escape(place), "**"), recursive=True)):
        if path.endswith(_ARCHIVES):
            whole.update(f"{os.path.relpath(path, place)} {sha256_of(path)}\n".encode())
    return whole.hexdigest()
