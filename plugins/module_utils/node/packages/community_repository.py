# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Repositories of the community, with a folder for each minor version.

Source: https://kubernetes.io/docs/tasks/administer-cluster/kubeadm/change-package-repository/.
"""

from __future__ import annotations

import glob
import os
import re
import typing as t

from ...common.guard import write_atomically
from .apt_sources import entries, is_off

_REPOSITORY = re.compile(r"([^\s,]*/core:/stable:/v)(\d+\.\d+)(/[^\s,]*)")


def point_to(root: str, files: t.Sequence[str], version: str) -> None:
    """Switch the community's repository to this version's minor.

    A person edits the same line by hand for each minor version. Other repositories are left alone. Where apt has several of one place
    that are not off, that of the newest minor is switched: it refuses all sources where two entries of one URL name different keys. dnf and
    zypper take both.

    Args:
        root: where the files are below.
        files: the package manager's files of repositories, as patterns.
        version: of Kubernetes.
    """
    minor = ".".join(version.lstrip("v").split(".")[:2])
    texts: dict[str, str] = {}
    for path in [each for pattern in files for each in sorted(glob.glob(os.path.join(root, pattern)))]:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            texts[path] = file.read()
    newest: dict[str, str] = {}
    apts = [entry for path, text in texts.items() if not path.endswith(".repo") for entry in entries(path, text)]
    used = [line for entry in apts if not is_off(entry) for line in entry.splitlines()]
    for found in [each for line in used for each in _found(line)]:
        newest[_place(found)] = max(newest.get(_place(found), found[2]), found[2], key=_number)

    def switched(found: re.Match[str]) -> str:
        return f"{found[1]}{minor}{found[3]}" if newest.get(_place(found), found[2]) == found[2] else found[0]

    for path, text in texts.items():
        lines = [_REPOSITORY.sub(switched, line) if _found(line) else line for line in text.splitlines(keepends=True)]
        if "".join(lines) != text:
            mode = os.stat(path).st_mode & 0o777
            write_atomically(path, "".join(lines).encode(errors="surrogateescape"), mode)


def _found(line: str) -> list[re.Match[str]]:
    """Return the addresses of the community's repositories in a line that counts."""
    return [] if line.lstrip().startswith("#") else list(_REPOSITORY.finditer(line))


def _place(found: re.Match[str]) -> str:
    """Return an address without its minor version, however it is written."""
    return f"{found[1].rpartition('://')[2]} {found[3].rstrip('/')}"


def _number(minor: str) -> tuple[int, ...]:
    return tuple(map(int, minor.split(".")))
