# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folder of the user's patches for kubeadm on a machine (docs/reference/kubeadm.md, "Patches")."""

from __future__ import annotations

from ...records.cluster_objects import ClusterObjects


def directory(objects: ClusterObjects, machine: str) -> str:
    """Return the folder of patches that a machine was made with.

    It is "" where there is none, and where the store has no KubeadmConfig of the machine.
    """
    spec = (objects.kubeadm_configs.get(machine) or {}).get("spec") or {}
    for section in ("joinConfiguration", "initConfiguration"):
        found = ((spec.get(section) or {}).get("patches") or {}).get("directory")
        if found:
            return str(found)
    return ""
