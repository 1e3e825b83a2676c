# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of CustomResourceDefinitions.

Source: the control plane contract, "ControlPlane, ControlPlaneList resource definition".
"""

from __future__ import annotations

_ES = ("s", "x", "z", "ch", "sh")


def plural(kind: str) -> str:
    """Return a kind's name in paths: Machine -> machines.

    It is formed as Cluster API's CalculateCRDName forms it for the kinds in use.
    """
    name = kind.lower()
    if name.endswith(_ES):
        return name + "es"
    if name.endswith("y") and name[-2:-1] not in "aeiou":
        return name[:-1] + "ies"
    return name + "s"


def crd_name(group: str, kind: str) -> str:
    """Return the CRD name of a group and kind: machines.cluster.x-k8s.io.

    Cluster API computes the same, so that no lookup is needed.
    """
    return f"{plural(kind)}.{group}"
