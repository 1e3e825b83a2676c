# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MachineDeployments of a cluster that are managed here, and their workers."""

from __future__ import annotations

import typing as t

from ....module_utils.common.values import controller_of
from ...documents.names import label_value
from ...objects import kinds
from ...objects.user_annotations import FROM_MANIFEST
from ...store.base import Store

Object = dict[str, t.Any]
_DEPLOYMENT = (kinds.GROUP_CLUSTER, kinds.MACHINE_DEPLOYMENT)
_SET = (kinds.GROUP_CLUSTER, kinds.MACHINE_SET)


def is_given(deployment: Object) -> bool:
    """Return whether a manifest had a MachineDeployment."""
    return FROM_MANIFEST in (deployment["metadata"].get("annotations") or {})


def config_reference(owner: Object) -> Object:
    """Return the reference to the KubeadmConfigTemplate of a deployment or set."""
    spec = (owner["spec"].get("template") or {}).get("spec") or {}
    reference: Object = (spec.get("bootstrap") or {}).get("configRef") or {}
    return reference


def machine_reference(owner: Object) -> Object:
    """Return the reference to the machine template of a deployment or set."""
    reference: Object = ((owner["spec"].get("template") or {}).get("spec") or {}).get("infrastructureRef") or {}
    return reference


def is_managed(deployment: Object, template: t.Mapping[str, t.Any]) -> bool:
    """Return whether a MachineDeployment is managed here.

    Those of another bootstrap provider than kubeadm's are left alone, and so are those that no manifest had with machines of another kind than the
    control plane's: another software makes them. What its machines are of meanwhile says nothing: a cluster may be on its way to another kind.

    Args:
        template: the control plane's reference to its machine template, {} where there is no control plane.
    """
    if config_reference(deployment).get("kind") != kinds.KUBEADM_CONFIG_TEMPLATE:
        return False
    return is_given(deployment) or not template or machine_reference(deployment).get("kind") == template.get("kind")


def deployments(store: Store, namespace: str, cluster: str, template: t.Mapping[str, t.Any]) -> list[Object]:
    """Return a cluster's MachineDeployments that are managed here, by name.

    `template` as in :func:`is_managed`.
    """
    found = store.list(_DEPLOYMENT, namespace, {kinds.LABEL_CLUSTER_NAME: cluster})
    return sorted(
        (each for each in found if is_managed(each, template)), key=lambda each: str(each["metadata"]["name"])
    )


def workers_of(
    store: Store,
    namespace: str,
    cluster: str,
    workers: list[Object],
    template: t.Mapping[str, t.Any],
    known: t.Container[tuple[str, str]],
) -> list[Object]:
    """Return the workers whose infrastructure is read: those of MachineDeployments managed here.

    Of others nothing is read: a run may not even be allowed to. One whose MachineSet was deleted from the store goes by its label.

    Args:
        template: as in :func:`is_managed`.
        known: the (apiGroup, kind) of infrastructure machines that are read in any case, for which nothing needs to be asked.
    """
    if all(_kind(each) in known for each in workers):
        return workers
    managed = {str(each["metadata"]["name"]) for each in deployments(store, namespace, cluster, template)}
    listed = store.list(_SET, namespace, {kinds.LABEL_CLUSTER_NAME: cluster})
    owners = {str(each["metadata"]["name"]): _owner(each) for each in listed}
    labels = {label_value(each): each for each in managed}
    return [
        each
        for each in workers
        if _kind(each) in known or owners.get(_owner(each), labels.get(deployment_label(each))) in managed
    ]


def _kind(machine: Object) -> tuple[str, str]:
    reference = machine["spec"]["infrastructureRef"]
    return str(reference["apiGroup"]), str(reference["kind"])


def deployment_label(machine: Object) -> str:
    """Return the label of a worker's MachineDeployment."""
    return str((machine["metadata"].get("labels") or {}).get(kinds.LABEL_DEPLOYMENT_NAME))


def _owner(obj: Object) -> str:
    return str((controller_of(obj) or {}).get("name"))
