#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: host_firewall
short_description: Find what a host's firewall keeps out, and open nftables for it
version_added: 0.10.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Finds which firewall a host has, and which of the ports that a control plane needs it doesn't open.
  - Opens them in nftables, by rules at the head of one chain, now and at boot. The host's other rules are not loaded again, and stay as they are.
  - firewalld, ufw, rules of iptables, and several chains that filter are not opened. The error has the commands for it. Where another chain of nftables
    is the only one that filters, it names that for O(chain).
options:
  state:
    description: With V(open) it is opened, with V(asked) nothing is changed.
    type: str
    choices: [open, asked]
    default: open
  openings:
    description: What is opened. A rule of an earlier call that is not here any more is removed.
    type: list
    elements: dict
    required: true
    suboptions:
      what:
        description: A TCP port, a range of them such as V(2379-2380), or V(vrrp).
        type: str
        required: true
      sources:
        description: The networks that may come in there. All may, where none is named.
        type: list
        elements: str
        default: []
  chain:
    description: The chain of nftables that filters what comes in - its family, table and name, as C(/etc/nftables.conf) has them.
    type: str
    default: inet filter input
extends_documentation_fragment:
  - kubeadm.control_plane._node
  - kubeadm.control_plane._attributes
attributes:
  check_mode:
    support: full
    details:
      - Every refusal is the same as without check mode.
  diff_mode:
    support: full
  idempotent:
    support: full
seealso:
  - module: kubeadm.control_plane.host_packages
  - module: kubeadm.control_plane.host_endpoint
"""

EXAMPLES = r"""
- name: Open the API server to everybody, etcd and the kubelet to the hosts
  kubeadm.control_plane.host_firewall:
    openings:
      - what: "6443"
      - what: 2379-2380
        sources: [192.0.2.0/24]
      - what: "10250"
        sources: [192.0.2.0/24]
  become: true
"""

RETURN = r"""
firewall:
  description: nftables, firewalld, ufw, or the other chains that filter; empty where nothing is kept out.
  returned: success
  type: str
  sample: nftables
closed:
  description: What was not open before. Of other firewalls than nftables it is not known, and all of it is here.
  returned: success
  type: list
  elements: str
  sample: ["tcp 2379-2380 from 192.0.2.0/24"]
"""

from ..module_utils.common.guard import NodeError
from ..module_utils.node.host import firewall
from ..module_utils.node.machine_module import MachineModule

OPENING = {
    "what": {"type": "str", "required": True},
    "sources": {"type": "list", "elements": "str", "default": []},
}


def main() -> None:
    """Run the module."""
    module = MachineModule(
        {
            "state": {"type": "str", "choices": ["open", "asked"], "default": "open"},
            "openings": {"type": "list", "elements": "dict", "required": True, "options": OPENING},
            "chain": {"type": "str", "default": "inet filter input"},
        },
        fencing=False,
    )
    params = module.params
    with module.failing(NodeError):
        module.check()
        openings = list(
            dict.fromkeys(
                firewall.Opening.read(each["what"], source)
                for each in params["openings"]
                for source in each["sources"] or [""]
            )
        )
        found = firewall.Firewall(params["chain"])
        if params["state"] == "asked":
            before = after = found.find(openings)
        else:
            before, after = found.open(openings, check=module.check_mode)
    module.exit_json(
        changed=before != after,
        firewall=before.kind,
        closed=[str(each) for each in before.closed],
        diff={
            "before": before.text,
            "after": after.text,
            "before_header": f"/{firewall.OWN}",
            "after_header": f"/{firewall.OWN}",
        }
        if before != after
        else {},
    )


if __name__ == "__main__":
    main()
