# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node of a machine that is removed: name and identity."""

from __future__ import annotations

from ...decision import terms
from ...objects import kinds
from ...records.cluster_objects import ClusterObjects, Object
from ...records.machine_objects import node_name

# Written on a Machine while its Node is drained: after its infrastructure is gone its host may join again, as a new Node of the old name.
NODE_UID_ANNOTATION = kinds.ANNOTATION_PREFIX + "node-uid"


def recorded_name(machine: Object) -> str:
    """Return the name of a Machine's Node, "" where none was seen."""
    return str((machine.get("status") or {}).get("nodeRef", {}).get("name") or "")


def possible_name(objects: ClusterObjects, machine: Object, worker: bool) -> str:
    """Return a Machine's Node name, seen or not, "" without one.

    Between an observation and a removal a kubelet may have registered its Node, which has the expected name where nothing else was seen. A control
    plane machine that has joined is in etcd as well: it was seen.
    """
    state = ((machine.get("status") or {}).get("bootstrap") or {}).get("state")
    if recorded_name(machine) or not (state in (terms.RUNNING, terms.FAILED) or (worker and state == terms.SUCCEEDED)):
        return recorded_name(machine)
    return node_name(objects, machine)


def identity(objects: ClusterObjects, machine: Object, worker: bool, with_uid: bool) -> Object:
    """Return the option ``identity`` of modules, for a Machine's Node.

    Args:
        objects: the cluster's.
        machine: the Machine.
        worker: whether it is a worker.
        with_uid: that only the Node that was drained is meant. Its kubelet may register another one while it is drained.
    """
    name, annotations = str(machine["metadata"]["name"]), machine["metadata"].get("annotations") or {}
    known = ((objects.infrastructure_machines.get(name) or {}).get("status") or {}).get("machineID")
    return {
        "machine_id": str((machine.get("status") or {}).get("machineID") or known or ""),
        # As decisions match them: a control plane's Node may have a providerID of a cloud's controller, in a form of its own.
        "provider_id": str(machine["spec"].get("providerID") or "") if worker else "",
        "uid": str(annotations.get(NODE_UID_ANNOTATION) or "") if with_uid else "",
    }
