#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_drain
short_description: Drain a Node and wait until its volumes are detached
version_added: 0.3.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Runs on a control plane node other than the one that is drained, and asks that node's own API server, with the node's
    admin credentials.
  - Cordons the Node, evicts its pods with C(kubectl drain), and waits until no VolumeAttachment of the Node is attached.
    Static pods and those of DaemonSets stay, and their volumes are not waited for. Pods without a controller and emptyDir volumes are lost.
  - C(kubectl drain) runs as a transient systemd unit C(kubeadm-control-plane-drain-<Node>), which outlives this call. A
    later call finds it, and never starts a second one. What a PodDisruptionBudget refuses is tried again until
    O(timeout). When the Node is uncordoned and no call follows, the unit ends within two minutes.
  - O(timeout) and O(volumes_timeout) are counted by this node's clock from the first call on, also over many calls. A
    call that waits in vain for O(wait) seconds is no failure, and neither is a bound that has passed - see RV(state).
  - With O(state=absent), ends the unit and makes the Node schedulable again.
options:
  name:
    description: Name of the Node.
    type: str
    required: true
  state:
    description: Whether the Node is to be drained, or schedulable again.
    type: str
    choices: [present, absent]
    default: present
  timeout:
    description: How many seconds the pods may take altogether; V(0) for no bound.
    type: int
    default: 0
  wait:
    description: How many seconds this call waits for the Node to be empty.
    type: int
    default: 60
  started_at:
    description:
      - When the drain was begun, such as by a call on another node, in UTC. O(timeout) is counted from then if that is
        earlier than the first call on this node.
    type: str
  volumes_started_at:
    description:
      - When the volumes were first waited for, such as by a call on another node, in UTC. O(volumes_timeout) is counted from then
        if that is earlier than this node's own wait.
    type: str
    version_added: 0.10.0
  unreachable:
    description:
      - The Node's kubelet does not answer. Its pods get a second to end, and those that were asked to end are not waited for, nor are its volumes.
      - Without it, the Node shows it, by a condition Ready that is Unknown or by its taint C(node.kubernetes.io/unreachable).
      - The unit repeats this only while the Node shows it. Once it does not, the next call starts the unit again as it is called then.
    type: bool
  skip_drain:
    description: Neither cordon the Node nor evict pods, wait for its volumes alone.
    type: bool
    default: false
  wait_for_volumes:
    description: Whether to wait until the Node's volumes are detached.
    type: bool
    default: true
  volumes_timeout:
    description: How many seconds the volumes may take, counted from the end of the drain; V(0) for no bound.
    type: int
    default: 0
extends_documentation_fragment:
  - kubeadm.control_plane._node
  - kubeadm.control_plane._node.fencing
  - kubeadm.control_plane._node.identity
  - kubeadm.control_plane._attributes
attributes:
  check_mode:
    support: full
    details:
      - RV(pods) lists the pods that would go, and RV(message) says which of them could not be evicted now.
  diff_mode:
    support: full
  idempotent:
    support: full
seealso:
  - module: kubeadm.control_plane.workload_node
"""

EXAMPLES = r"""
- name: Drain a Node, from another control plane node
  kubeadm.control_plane.node_drain:
    name: prod-control-plane-x7k2p
    timeout: 600
    wait: 60
  become: true
  register: drain
  until: drain.state != 'Running'
  retries: 20
  delay: 0

- name: Take it back
  kubeadm.control_plane.node_drain:
    name: prod-control-plane-x7k2p
    state: absent
  become: true
"""

RETURN = r"""
state:
  description:
    - V(Running) while pods or volumes are waited for, V(Drained) when none is left, V(TimedOut) when a bound has passed and
      some are left.
    - V(Absent) where the Node does not exist or is not O(identity)'s, and with O(state=absent).
  returned: success
  type: str
message:
  description: Which pods, PodDisruptionBudgets and volumes it waits for, in words.
  returned: success
  type: str
  sample: >-
    Node prod-control-plane-x7k2p waits for pods shop/web-0 (Cannot evict pod as it would violate the pod's disruption budget.
    The disruption budget web needs 2 healthy pods and has 2 currently)
pods:
  description: The pods that are still there, or would go in check mode, each as C(namespace/name).
  returned: success
  type: list
  elements: str
volumes:
  description: The PersistentVolumes that are still attached.
  returned: success
  type: list
  elements: str
started_at:
  description: When the drain was begun, by this node's clock; empty in check mode and where there is none.
  returned: success
  type: str
volumes_started_at:
  description: When the volumes were first waited for, by this node's clock; empty until then.
  returned: success
  type: str
  version_added: 0.10.0
uid:
  description: The Node's UID; empty where it does not exist, and in check mode.
  returned: success
  type: str
  version_added: 0.10.0
msg:
  description: Why the Node could not be read, or the drain not be started.
  returned: failure
  type: str
"""

import typing as t

from ..module_utils.common.guard import NodeError
from ..module_utils.common.https import Unreachable
from ..module_utils.node import arguments
from ..module_utils.node.machine_module import MachineModule
from ..module_utils.workload_api import node_identity
from ..module_utils.workload_api.api import ADMIN_KUBECONFIG, ApiClient, ApiError, own_server, read_access
from ..module_utils.workload_api.drain import DIRECTORY, Drain, Report, Wanted
from ..module_utils.workload_api.drain_unit import DrainUnit


def main() -> None:
    """Run the module."""
    module = MachineModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "timeout": {"type": "int", "default": 0},
            "wait": {"type": "int", "default": 60},
            "started_at": {"type": "str"},
            "volumes_started_at": {"type": "str"},
            "unreachable": {"type": "bool"},
            "skip_drain": {"type": "bool", "default": False},
            "wait_for_volumes": {"type": "bool", "default": True},
            "volumes_timeout": {"type": "int", "default": 0},
            **node_identity.ARGUMENT,
        },
    )
    name = module.params["name"]
    with module.failing(NodeError, ApiError, Unreachable, before=f"Node {name}: "):
        module.check()
        report = drain(module.params, check=module.check_mode)
    module.exit_json(
        changed=report.changed,
        state=report.state,
        message=report.message,
        pods=list(report.pods),
        volumes=list(report.volumes),
        started_at=report.started_at,
        volumes_started_at=report.volumes_started_at,
        uid=report.uid,
        diff=diff(module.params, report),
    )


def diff(params: t.Mapping[str, t.Any], report: Report) -> dict[str, t.Any]:
    """Return the Node's changes, or those of check mode."""
    if not report.changed:
        return {}
    drained = {"schedulable": False, "pods that go": list(report.pods)}
    states = ({"schedulable": True}, drained)
    before, after = states if params["state"] == "present" else states[::-1]
    return {"before": before, "after": after, "before_header": params["name"], "after_header": params["name"]}


def drain(params: t.Mapping[str, t.Any], *, check: bool) -> Report:
    """Drain or release the Node through the machine's own API server."""

    def still_allowed() -> None:
        arguments.check(params, check_mode=check)

    wanted = Wanted(
        timeout=max(0, params["timeout"]),
        volumes_timeout=max(0, params["volumes_timeout"]),
        started_at=params["started_at"] or "",
        volumes_started_at=params["volumes_started_at"] or "",
        unreachable=params["unreachable"],
        skip_drain=params["skip_drain"],
        wait_for_volumes=params["wait_for_volumes"],
    )
    access = read_access()
    server = own_server() or access.server
    kubectl = ("kubectl", "--kubeconfig", ADMIN_KUBECONFIG, "--server", server)
    with ApiClient(access, server) as api:
        unit = DrainUnit(params["name"], DIRECTORY, kubectl)
        node = Drain(params["name"], api, unit, identity=params["identity"])
        if params["state"] == "absent":
            return node.cancel(check=check, before_change=still_allowed)
        if check:
            return node.look(wanted)
        return node.run(wanted, max(0, params["wait"]), still_allowed)


if __name__ == "__main__":
    main()
