# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Selection of the package manager of a machine, or of a program."""

from __future__ import annotations

import re

from ...common.guard import NodeError, read_text
from . import packages

_OS_FAMILY = re.compile(r"^ID(?:_LIKE)?=(.*)$", re.MULTILINE)


def manager_of_system() -> packages.PackageManager:
    """Return the package manager of this machine's family of systems.

    Source: os-release(5).

    Raises:
        NodeError: it is of another family.
    """
    families = set(re.findall(r"[a-z]+", " ".join(_OS_FAMILY.findall(read_text("/etc/os-release")))))
    if families & {"debian", "ubuntu"}:
        return packages.Apt()
    if families & {"rhel", "fedora", "centos"}:
        return packages.Dnf()
    raise NodeError(
        "This host is of neither Debian's nor Red Hat's family (ID and ID_LIKE in /etc/os-release).",
        "Nothing was changed. Prepare it by hand.",
    )


def manager_of(name: str, runner: packages.Runner = packages.run, root: str = "/") -> packages.PackageManager:
    """Return the package manager that installed a program. Raises NodeError.

    It is raised where none did.
    """
    for manager in (packages.Apt(runner, root), packages.Dnf(runner, root)):
        try:
            if manager.has(name):
                return manager
        except NodeError:
            continue
    raise NodeError(
        f"{name} on this machine is of no package that apt or dnf installed.",
        "Nothing was changed. Give binaries from files: {source: files, path: a folder on the nodes}.",
    )
