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

_REPOSITORY = re.compile(r"(/core:/stable:/v)(\d+\.\d+)(/)")


def point_to(root: str, files: t.Sequence[str], version: str) -> bool:
    """Switch the community's repository to this version's minor; return whether changed.

    A person edits the same line by hand for each minor version. Other repositories are left alone.

    Args:
        root: where the files are below.
        files: the package manager's files of repositories, as patterns.
        version: of Kubernetes.
    """
    minor = ".".join(version.lstrip("v").split(".")[:2])
    changed = False
    for pattern in files:
        for path in sorted(glob.glob(os.path.join(root, pattern))):
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                text = file.read()
            lines = [
                line if line.lstrip().startswith("#") else _REPOSITORY.sub(rf"\g<1>{minor}\g<3>", line)
                for line in text.splitlines(keepends=True)
            ]
            if "".join(lines) != text:
                mode = os.stat(path).st_mode & 0o777
                write_atomically(path, "".join(lines).encode(errors="surrogateescape"), mode)
                changed = True
    return changed
