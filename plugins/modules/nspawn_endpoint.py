#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: nspawn_endpoint
short_description: Run a load balancer in front of a cluster's local machines
version_added: 0.1.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - One haproxy for each cluster, on an address of its own on the machines' bridge. It passes TCP on and checks every API server's C(/readyz).
  - Servers come and go without a reload, and without cutting the connections of others. A server takes traffic when its first check has passed.
  - An haproxy that died is started again.
options:
  state:
    description: Whether the endpoint is there. V(absent) leaves no process, address or file.
    type: str
    choices: [present, absent]
    default: present
  cluster:
    description: Name of the cluster.
    type: str
    required: true
  namespace:
    description: Namespace of the cluster.
    type: str
    default: default
  host:
    description: The endpoint's address, one of O(subnet) or of this host. Left out, it is the one that the endpoint has, or a free one of O(subnet).
    type: str
  port:
    description: The endpoint's port.
    type: int
    default: 6443
  servers:
    description: Exactly the servers that belong behind the endpoint. Left out, those that are there stay.
    type: list
    elements: dict
    suboptions:
      name:
        description: The server's name, such as its machine's.
        type: str
        required: true
      address:
        description: Its IPv4 address.
        type: str
        required: true
      port:
        description: Its port.
        type: int
        default: 6443
extends_documentation_fragment:
  - kubeadm.control_plane._nspawn
  - kubeadm.control_plane._nspawn.network
  - kubeadm.control_plane._attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: full
"""

EXAMPLES = r"""
- name: An endpoint for two machines
  kubeadm.control_plane.nspawn_endpoint:
    cluster: demo
    servers:
      - name: demo-1
        address: 10.222.0.10
      - name: demo-2
        address: 10.222.0.11
"""

RETURN = r"""
endpoint:
  description: The endpoint.
  returned: O(state=present); in check mode only when it exists
  type: dict
  contains:
    host:
      description: Its address.
      type: str
    port:
      description: Its port.
      type: int
    pids:
      description: Its haproxy processes; an old one can be there for half a minute after a reload.
      type: list
      elements: int
    servers:
      description: The servers with their V(state), V(up), V(down) or V(maint) as haproxy sees them, V(unknown) when it doesn't run.
      type: list
      elements: dict
    directory:
      description: Its folder.
      type: str
"""

import os
import typing as t

from ..module_utils.node.module import NodeModule
from ..module_utils.nspawn import host
from ..module_utils.nspawn.arguments import DIRECTORY_ARGUMENTS, NETWORK_ARGUMENTS, layout_of, network_from
from ..module_utils.nspawn.endpoint import haproxy, lifecycle
from ..module_utils.nspawn.errors import NspawnError


def execute(params: t.Mapping[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    """Create or remove the endpoint; return the module's result."""
    host.require_root()
    layout = layout_of(params)
    known = lifecycle.look(layout, params["namespace"], params["cluster"])
    if params["state"] == "absent":
        return {
            "changed": known is not None
            if check_mode
            else lifecycle.remove(layout, params["namespace"], params["cluster"])
        }
    servers = None if params["servers"] is None else haproxy.servers_of(params["servers"])
    if check_mode:
        stored = None if known is None else haproxy.servers_of(known["servers"])
        fine = known is not None and bool(known["pids"]) and (servers is None or servers == stored)
        return {"changed": not fine, "endpoint": known or {}}
    wanted = lifecycle.Wanted(params["namespace"], params["cluster"], params["host"], params["port"], servers)
    made, changed = lifecycle.ensure(layout, network_from(params), wanted)
    return {"changed": changed, "endpoint": made}


def main() -> None:
    """Run the module."""
    server = {
        "name": {"type": "str", "required": True},
        "address": {"type": "str", "required": True},
        "port": {"type": "int", "default": 6443},
    }
    arguments = {
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "cluster": {"type": "str", "required": True},
        "namespace": {"type": "str", "default": "default"},
        "host": {"type": "str"},
        "port": {"type": "int", "default": 6443},
        "servers": {"type": "list", "elements": "dict", "options": server},
    }
    module = NodeModule(argument_spec={**DIRECTORY_ARGUMENTS, **NETWORK_ARGUMENTS, **arguments})
    os.umask(0o022)
    with module.failing(NspawnError, OSError):
        module.exit_json(**execute(module.params, module.check_mode))


if __name__ == "__main__":
    main()
