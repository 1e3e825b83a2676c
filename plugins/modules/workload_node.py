#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: workload_node
short_description: Remove a Node object from the cluster of a control plane node
version_added: 0.1.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Runs on a control plane node and asks that node's own API server, with the node's admin credentials.
  - Deletes the Node object alone. The machine behind it is not touched, and a kubelet that still runs there registers it again.
  - With O(machine_gone=true), also takes from its controller manager and its scheduler the Leases by which they were elected.
options:
  name:
    description: Name of the Node.
    type: str
    required: true
  state:
    description: The Node is to be gone.
    type: str
    choices: [absent]
    default: absent
  machine_gone:
    description:
      - The machine does not exist any more, and nothing runs on it.
      - Neither a controller manager nor a scheduler gives its Lease up when it ends, so that without this the others wait for 15 seconds
        before one of them continues, in which no machine can join.
      - A Lease that is still renewed is left alone, which is watched for 2.5 seconds.
    type: bool
    default: false
    version_added: 0.5.0
extends_documentation_fragment:
  - kubeadm.control_plane._node
  - kubeadm.control_plane._node.fencing
  - kubeadm.control_plane._node.identity
  - kubeadm.control_plane._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: full
seealso:
  - module: kubeadm.control_plane.etcd_member
"""

EXAMPLES = r"""
- name: Remove the Node of a machine that is gone
  kubeadm.control_plane.workload_node:
    name: prod-control-plane-x7k2p
    machine_gone: true
  become: true
"""

RETURN = r"""
msg:
  description: What was done.
  returned: success
  type: str
leases:
  description: The components whose Lease was taken from the machine that is gone.
  returned: success
  type: list
  elements: str
  sample: [kube-controller-manager]
"""

import typing as t
from urllib.parse import quote

from ..module_utils.common.guard import NodeError
from ..module_utils.common.https import Unreachable
from ..module_utils.node import arguments
from ..module_utils.node.machine_module import MachineModule
from ..module_utils.workload_api import node_identity
from ..module_utils.workload_api.api import ApiClient, ApiError, own_client
from ..module_utils.workload_api.component_leases import held_by, hosts_of, take


def main() -> None:
    """Run the module."""
    module = MachineModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["absent"], "default": "absent"},
            "machine_gone": {"type": "bool", "default": False},
            **node_identity.ARGUMENT,
        },
    )
    name = module.params["name"]
    leases: list[str] = []
    with module.failing(NodeError, ApiError, Unreachable, before=f"Node {name} was not deleted: "):
        module.check(ask_cluster=False)
        with own_client() as api:
            arguments.hold(api, module.params, check_mode=module.check_mode)
            node = api.get(_path(name))
            kept = node_identity.foreign(node, module.params["identity"]) if node is not None else ""
            hosts = hosts_of(api, name) if module.params["machine_gone"] and not kept else set()
            changed = not kept and delete_node(api, name, node, check=module.check_mode)
            if hosts:
                leases = take_leases(api, hosts, check=module.check_mode)
    words = f"Node {name} is deleted" if changed else f"{kept} and stays" if kept else f"Node {name} does not exist"
    more = f"; the Lease of its {' and its '.join(leases)} was free to take" if leases else ""
    module.exit_json(changed=changed or bool(leases), msg=f"{words}{more}", leases=leases)


def _path(name: str) -> str:
    return f"/api/v1/nodes/{quote(name, safe='')}"


def delete_node(api: ApiClient, name: str, node: t.Optional[t.Mapping[str, t.Any]], *, check: bool) -> bool:
    """Delete the Node object that was read; return whether there was one.

    Raises:
        ApiError: the API refused, also because it is another one by now. Unreachable: it did not answer.
    """
    if node is None or check:
        return node is not None
    path = _path(name)
    answer = api.send("DELETE", path, {"preconditions": {"uid": node["metadata"]["uid"]}})
    if answer.status != 404:
        api.checked(answer, path)
    return True


def take_leases(api: ApiClient, hosts: set[str], *, check: bool) -> list[str]:
    """Take the Leases of components on lost hosts; return their names.

    In check mode, return those that would be watched.
    """
    try:
        return sorted(held_by(api, hosts)) if check else take(api, hosts)
    except (ApiError, Unreachable):
        # The Node is gone, which was asked for; a Lease that nobody renews ends by itself.
        return []


if __name__ == "__main__":
    main()
