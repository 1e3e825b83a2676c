# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How CustomResourceDefinitions are named (seed 003, "ControlPlane, ControlPlaneList resource definition")."""

from __future__ import annotations

_ES = ("s", "x", "z", "ch", "sh")


def plural(kind: str) -> str:
    """Return a kind's name in paths: Machine -> machines. English as Cluster API's CalculateCRDName forms it for kinds in use."""
    name = kind.lower()
    if name.endswith(_ES):
        return name + "es"
    if name.endswith("y") and name[-2:-1] not in "aeiou":
        return name[:-1] + "ies"
    return name + "s"


def crd_name(group: str, kind: str) -> str:
    """Return what Cluster API computes for a group and kind, so that no lookup is needed: machines.cluster.x-k8s.io."""
    return f"{plural(kind)}.{group}"
