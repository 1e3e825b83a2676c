# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ownership of objects by their controller reference.

The page: docs/reference/decision.md, "Whose machines they are".

Labels name the cluster to which an object belongs; only its controller may change or delete it. One control plane of a
namespace has a name, so a controller is recognised by kind and name: its uid changes when a store is restored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Optional, TypeVar

from ...module_utils.common.values import clip, controller_of, shortened
from ..objects import kinds

Object = Mapping[str, Any]
T = TypeVar("T")
_EMPTY: Object = {}
_SHOWN = 7


def title(owner: Object) -> str:
    """Return the name of an owner for messages.

    As "KubeadmControlPlane prod".
    """
    return f"{clip(str(owner.get('kind')), 80)} {clip(str(owner.get('name')), 80)}"


def controlled(machines: Iterable[Object]) -> str:
    """Return the controllers of Machine objects, for messages.

    As "machines m1, m2 are controlled by KubeadmControlPlane prod".
    """
    by_owner: dict[str, list[str]] = {}
    for each in machines:
        owner = controller_of(each)
        by = f"controlled by {title(owner)}" if owner is not None else "without a controller"
        by_owner.setdefault(by, []).append(str(each["metadata"]["name"]))
    said = [f"{_plural(found)} {by}" for by, found in by_owner.items()]
    return ", ".join(said)


def _plural(found: Sequence[str]) -> str:
    return f"machine {found[0]} is" if len(found) == 1 else f"machines {shortened(found, _SHOWN)} are"


def control_plane_name(cluster: Object, control_plane: Optional[Object]) -> str:
    """Return the name of the KubeadmControlPlane that a Cluster names.

    Also where that object is gone; "" where the Cluster names none.
    """
    if control_plane:
        return str((control_plane.get("metadata") or _EMPTY).get("name") or "")
    return str(((cluster.get("spec") or _EMPTY).get("controlPlaneRef") or _EMPTY).get("name") or "")


def is_own(owner: Object, name: str) -> bool:
    """Return whether a controller reference names this KubeadmControlPlane.

    `name` is the name of the KubeadmControlPlane.
    """
    group = str(owner.get("apiVersion") or kinds.API_CONTROL_PLANE).partition("/")[0]
    ours = owner.get("kind") == kinds.KUBEADM_CONTROL_PLANE and group == kinds.GROUP_CONTROL_PLANE
    return ours and owner.get("name") == name


def deleted_alone(cluster: Object, control_plane: Optional[Object]) -> bool:
    """Return whether only the KubeadmControlPlane is marked for deletion.

    That is: its Cluster is not.
    """

    def marked(obj: Object) -> bool:
        return bool((obj.get("metadata") or _EMPTY).get("deletionTimestamp"))

    return control_plane is not None and marked(control_plane) and not marked(cluster)


def part(
    found: Sequence[T], document: Callable[[T], Object], cluster: Object, control_plane: Optional[Object]
) -> tuple[list[T], list[T]]:
    """Split a cluster's machines into its control plane's and the others.

    A machine without a controller is the control plane's to adopt, and is deleted with its Cluster; a
    KubeadmControlPlane that is deleted alone leaves it. A machine with another controller is never changed here.

    Args:
        found: the machines, in any form.
        document: returns the Machine object of one of them.
        cluster: the Cluster.
        control_plane: the KubeadmControlPlane that it names; None or empty where that is gone.

    Returns:
        Those of the control plane and the others, each in the order of ``found``.
    """
    name, alone = control_plane_name(cluster, control_plane), deleted_alone(cluster, control_plane)
    own: list[T] = []
    others: list[T] = []
    for each in found:
        owner = controller_of(document(each))
        mine = not alone if owner is None else is_own(owner, name)
        (own if mine else others).append(each)
    return own, others
