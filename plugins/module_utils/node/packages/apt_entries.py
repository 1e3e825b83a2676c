# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Entries of apt's source files for a repository to set up.

apt refuses all sources where two entries of one URL and suite name different keys.

Source: sources.list(5).
"""

from __future__ import annotations

import glob
import os
import re
import typing as t

from ...common.guard import read_text
from .apt_sources import entries, is_off
from .packages import Apt, PackageManager
from .repositories import Repository


def without(name: str, text: str, repositories: t.Sequence[Repository]) -> str:
    """Return a source file's text without the entries of repositories.

    Args:
        name: of the file; its ending decides how an entry is written.
        text: what is in it.
        repositories: those whose URL and suite count.
    """
    return "".join(each for each in entries(name, text) if not any(_has(each, one) for one in repositories))


def problems(manager: PackageManager, repositories: t.Sequence[Repository]) -> list[str]:
    """Return the files that have a repository with another key.

    A file that is written here itself is none of them.
    """
    if not isinstance(manager, Apt):
        return []
    found = []
    for repository in repositories:
        key, ours = (os.path.join(manager.root, each) for each in repository.files(manager, manager.root))
        for pattern in manager.REPOSITORIES:
            for path in sorted(glob.glob(os.path.join(glob.escape(manager.root), pattern))):
                same = [each for each in entries(path, read_text(path)) if _has(each, repository)]
                if path != ours and any(_key_differs(each, key) for each in same):
                    found.append(
                        f"{path} has the repository {repository.url} {repository.suite} with another key than the one to set up, "
                        f"and apt would refuse all sources. Remove that entry: {ours} takes its place."
                    )
    return found


def _has(entry: str, repository: Repository) -> bool:
    words = [word for line in entry.splitlines() if not line.lstrip().startswith("#") for word in line.split()]
    return repository.suite in words and repository.url.rstrip("/") in [word.rstrip("/") for word in words]


def _key_differs(entry: str, key: str) -> bool:
    # One without Signed-By counts, too: apt takes none of the two where it reads that one last.
    return key not in re.split(r"[\s=,\]]+", entry) and not is_off(entry)
