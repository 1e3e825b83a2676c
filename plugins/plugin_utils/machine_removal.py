# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Taking one machine out of a control plane: mark, leave etcd, then the objects."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.kubeadm.control_plane.plugins.module_utils.objects import kinds
from ansible_collections.kubeadm.control_plane.plugins.module_utils.store.base import kind_ref_of
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.action_base import (
    ControlPlaneAction,
    ControlPlaneFailure,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.cluster_objects import (
    CONTROL_PLANE,
    KUBEADM_CONFIG,
    MACHINE,
    ClusterObjects,
    delete_finally,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.status_writer import annotate


def begin(action: ControlPlaneAction, objects: ClusterObjects, arguments: dict[str, t.Any]) -> tuple[bool, str]:
    """Mark a machine as deleting and take its etcd member and its Node out of a control plane that goes on living.

    Where the whole control plane is deleted nothing is done to etcd (kcp-behaviour.md §1.16). A remediation is recorded before
    the machine is marked, so that a run that ends in between neither forgets the try nor counts it twice (§1.9).

    Returns:
        whether anything changed, and what was done in words.
    """
    name = arguments["name"]
    machine = objects.machine(name)
    changed = False
    if machine is not None and not machine["metadata"].get("deletionTimestamp"):
        changed = True
        if arguments.get("remediation"):
            _record_remediation(objects, arguments["remediation"])
        objects.store.delete(MACHINE, objects.namespace, name)
    if objects.cluster["metadata"].get("deletionTimestamp"):
        return changed, f"machine {name} is marked for deletion"
    node = (machine or {}).get("status", {}).get("nodeRef", {}).get("name")
    calls: list[tuple[str, dict[str, t.Any]]] = []
    if arguments["member_id"]:
        calls.append(("etcd_member", {"member_id": arguments["member_id"], "state": "absent"}))
    if node:
        calls.append(("workload_node", {"name": node, "state": "absent"}))
    done = [f"machine {name} is marked for deletion"]
    others = [each["metadata"]["name"] for each in objects.bootstrapped_machines() if each["metadata"]["name"] != name]
    for module, call in calls:
        done.append(_through_one_of(action, objects, arguments, others, module, call))
    return changed or bool(calls), "; ".join(done)


def _record_remediation(objects: ClusterObjects, remediation: dict[str, t.Any]) -> None:
    if objects.control_plane is None:
        return
    record = {key: remediation[key] for key in ("machine", "timestamp", "retryCount")}
    text = json.dumps({**record, "retryCount": int(record["retryCount"])})
    objects.control_plane = objects.store.modify(
        CONTROL_PLANE,
        objects.namespace,
        str(objects.control_plane["metadata"]["name"]),
        lambda stored: annotate(stored, {kinds.ANNOTATION_REMEDIATION_IN_PROGRESS: text}),
    )


def _through_one_of(
    action: ControlPlaneAction,
    objects: ClusterObjects,
    arguments: dict[str, t.Any],
    others: list[str],
    module: str,
    call: dict[str, t.Any],
) -> str:
    caller = action.machine_caller(arguments, objects)
    if arguments["fencing"] is not None:
        call = dict(call, fencing=arguments["fencing"])
    failures = []
    for other in others:
        answer = caller.call(objects.reach(other), module, call)
        if not answer.failed:
            return str(answer.result.get("msg", module))
        failures.append(f"{other}: {answer.message}")
        if answer.reached:
            # A refusal is an answer: asking the next machine until one agrees would make the check worthless.
            break
    raise ControlPlaneFailure(
        f"machine {arguments['name']} was not taken out of the control plane ({module}): {'; '.join(failures) or 'no other machine carries one'}. "
        "Its infrastructure was left as it is."
    )


def delete_objects(objects: ClusterObjects, name: str) -> bool:
    """Delete Machine, KubeadmConfig and InfraMachine of a machine whose infrastructure is gone; the InfraMachine last."""
    references = [MACHINE, KUBEADM_CONFIG]
    infrastructure = objects.infrastructure_machines.get(name)
    if infrastructure is not None:
        references.append(kind_ref_of(infrastructure))
    gone = [reference for reference in references if delete_finally(objects.store, reference, objects.namespace, name)]
    return bool(gone)
