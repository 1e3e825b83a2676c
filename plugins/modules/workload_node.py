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
extends_documentation_fragment:
  - kubeadm.control_plane._node
  - kubeadm.control_plane._node.fencing
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
  become: true
"""

RETURN = r"""
msg:
  description: What was done.
  returned: success
  type: str
"""

from urllib.parse import quote

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node import arguments
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.https import Unreachable
from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload.api import (
    ApiClient,
    ApiError,
    own_server,
    read_access,
)


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["absent"], "default": "absent"},
            **arguments.MACHINE,
            **arguments.FENCING,
        },
        supports_check_mode=True,
    )
    try:
        arguments.check(module.params, check_mode=module.check_mode)
        changed = delete_node(module.params["name"], check=module.check_mode)
    except (NodeError, ApiError, Unreachable) as error:
        module.fail_json(msg=f"Node {module.params['name']} was not deleted: {error}")
    words = "is deleted" if changed else "does not exist"
    module.exit_json(changed=changed, msg=f"Node {module.params['name']} {words}")


def delete_node(name: str, *, check: bool) -> bool:
    """Delete a Node object through the machine's own API server; returns whether there was one."""
    access = read_access()
    path = f"/api/v1/nodes/{quote(name, safe='')}"
    with ApiClient(access, own_server() or access.server) as api:
        if api.get(path) is None:
            return False
        if check:
            return True
        answer = api.send("DELETE", path)
        if answer.status != 404:
            api.checked(answer, path)
    return True


if __name__ == "__main__":
    main()
