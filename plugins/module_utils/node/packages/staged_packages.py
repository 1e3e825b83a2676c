# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages for an upgrade, downloaded ahead.

They lie in a folder with lists and a cache of its own, which nothing else of the package manager's cleans. There an upgrade takes them from,
without a repository. The package manager verifies them by its signed lists, as always.

Source: apt-get(8), "--download-only"; dnf(8), "--downloadonly"; dnf.conf(5), "keepcache" and "metadata_expire".
"""

from __future__ import annotations

import fnmatch
import json
import os
import shutil
import typing as t

from ...common import kubernetes_versions
from ...common.guard import NodeError, read_text, write_atomically
from . import community_repository
from .packages import PackageManager

FOLDER: t.Final = "var/cache/kubeadm-control-plane/packages"
# Written when all the others are there.
_RECORD = "staged.json"


def folder(manager: PackageManager) -> str:
    """Return where they lie."""
    return os.path.join(manager.root, FOLDER)


def found(manager: PackageManager) -> dict[str, str]:
    """Return the versions of what is staged."""
    try:
        record = json.loads(read_text(os.path.join(folder(manager), _RECORD)))
    except ValueError:
        return {}
    return {str(name): str(version) for name, version in record.items()} if isinstance(record, dict) else {}


def stage(manager: PackageManager, wanted: t.Mapping[str, str], describe: t.Callable[[str], object]) -> None:
    """Download packages at these versions, in place of what was staged.

    What they need and this host lacks comes, too. ``describe`` writes the repositories' files below a folder.

    Raises:
        NodeError: one can't be had. Nothing is staged then.
    """
    remove(manager)
    os.makedirs(folder(manager))
    describe(folder(manager))
    apart = manager.apart(folder(manager))
    apart.refresh()
    apart.add([apart.at(name, version) for name, version in wanted.items()], download=True)
    write_atomically(os.path.join(folder(manager), _RECORD), json.dumps(dict(wanted)).encode(), 0o644)


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
        manager.apart(folder(manager)).put({name: staged[name] for name in names})
    except NodeError as error:
        fix = f"They were staged in {folder(manager)}. Stage them again, or remove that folder: a repository is asked then."
        raise NodeError(error.what, fix) from error
    if manager.installed(staged) == staged:
        remove(manager)
    return True


def remove(manager: PackageManager) -> None:
    """Remove what is staged."""
    if os.path.isdir(folder(manager)):
        shutil.rmtree(folder(manager))
