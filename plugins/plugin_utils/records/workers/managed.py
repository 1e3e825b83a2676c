# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MachineDeployments that are managed here, and workers that are not."""

from __future__ import annotations

import typing as t

from ....module_utils.common.values import controller_of
from ...objects import kinds
from ...objects.user_annotations import FROM_MANIFEST
from ...store.base import Store

Object = dict[str, t.Any]
_DEPLOYMENT = (kinds.GROUP_CLUSTER, kinds.MACHINE_DEPLOYMENT)
_SET = (kinds.GROUP_CLUSTER, kinds.MACHINE_SET)


def is_given(deployment: Object) -> bool:
    """Return whether a manifest had a MachineDeployment."""
    return FROM_MANIFEST in (deployment["metadata"].get("annotations") or {})


def without_others(
    store: Store, namespace: str, cluster: str, workers: list[Object], own: t.Container[tuple[str, str]]
) -> list[Object]:
    """Return the workers whose infrastructure may be a provider's here.

    Those of another kind than the control plane's machines are another software's, of which nothing is read: a run may not even be allowed to. They stay
    where a manifest had their MachineDeployment, as when the whole cluster is on its way to machines of another kind.

    Args:
        own: the (apiGroup, kind) of the control plane's infrastructure machines.
    """
    strange = [each for each in workers if _kind(each) not in own]
    if not strange:
        return workers
    labels = {kinds.LABEL_CLUSTER_NAME: cluster}
    given = {str(each["metadata"]["name"]) for each in store.list(_DEPLOYMENT, namespace, labels) if is_given(each)}
    sets = {str(each["metadata"]["name"]) for each in store.list(_SET, namespace, labels) if _owner(each) in given}
    return [each for each in workers if each not in strange or _owner(each) in sets]


def _kind(machine: Object) -> tuple[str, str]:
    reference = machine["spec"]["infrastructureRef"]
    return str(reference["apiGroup"]), str(reference["kind"])


def _owner(obj: Object) -> str:
    return str((controller_of(obj) or {}).get("name"))
