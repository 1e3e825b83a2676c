# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Taking one machine out of a control plane: mark, leave etcd, then the objects."""

from __future__ import annotations

import typing as t

from ansible_collections.kubeadm.control_plane.plugins.module_utils.store.base import kind_ref_of
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.cluster_objects import (
    KUBEADM_CONFIG,
    MACHINE,
    ClusterObjects,
    Object,
    delete_finally,
)

if t.TYPE_CHECKING:
    from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.action_base import ControlPlaneAction


def begin(action: ControlPlaneAction, objects: ClusterObjects, arguments: dict[str, t.Any]) -> tuple[bool, str]:
    """Mark a machine as deleting and take its etcd member and its Node out of a control plane that goes on living.

    Where the whole control plane is deleted nothing is done to etcd (kcp-behaviour.md §1.16).

    Returns:
        whether anything changed, and what was done in words.
    """
    name = arguments["name"]
    machine = objects.machine(name)
    changed = False
    if machine is not None and not machine["metadata"].get("deletionTimestamp"):
        changed = True
        objects.store.delete(MACHINE, objects.namespace, name)
    if objects.cluster["metadata"].get("deletionTimestamp"):
        return changed, f"machine {name} is marked for deletion"
    others = [each for each in objects.bootstrapped_machines() if each["metadata"]["name"] != name]
    if not others:
        return changed, f"machine {name} is marked for deletion; no other machine carries a control plane, so there is no membership to leave"
    said = _leave(action, objects, arguments, name, others)
    return True, said


def _leave(
    action: ControlPlaneAction, objects: ClusterObjects, arguments: dict[str, t.Any], name: str, others: list[Object]
) -> str:
    from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.action_base import ControlPlaneFailure

    caller = action.machine_caller(arguments, objects)
    failures = []
    node = (objects.machine(name) or {}).get("status", {}).get("nodeRef", {}).get("name", name)
    for each in others:
        answer = caller.call(objects.reach(each["metadata"]["name"]), "etcd_member", {"name": node, "state": "absent"})
        if not answer.failed:
            caller.call(objects.reach(each["metadata"]["name"]), "workload_node", {"name": node, "state": "absent"})
            return f"machine {name} is marked for deletion; {answer.result.get('msg', 'its etcd member is gone')}"
        failures.append(f"{each['metadata']['name']}: {answer.message}")
        if answer.reached:
            break
    raise ControlPlaneFailure(
        f"the etcd member of machine {name} was not removed, and the machine was left as it is: {'; '.join(failures)}. "
        "Removing a machine whose member still votes could cost the quorum."
    )


def delete_objects(objects: ClusterObjects, name: str) -> bool:
    """Delete Machine, KubeadmConfig and InfraMachine of a machine whose infrastructure is gone; the InfraMachine last."""
    references = [MACHINE, KUBEADM_CONFIG]
    infrastructure = objects.infrastructure_machines.get(name)
    if infrastructure is not None:
        references.append(kind_ref_of(infrastructure))
    return any([delete_finally(objects.store, reference, objects.namespace, name) for reference in references])
