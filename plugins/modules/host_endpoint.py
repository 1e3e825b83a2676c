#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: host_endpoint
short_description: Put a host behind a virtual address with keepalived and haproxy, or kube-vip
version_added: 0.10.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Installs keepalived and haproxy of the distribution where they are missing (Debian and Ubuntu), and configures both. keepalived has the address on one of
    the hosts, and haproxy on each of them leads to the API servers that answer C(/readyz).
  - With O(kube_vip_image), kube-vip has the address instead, a static pod on each of the hosts. Nothing is installed then, and the host that has the address
    answers with its own API server.
  - Refused beforehand are an interface that isn't there, an address of another network, an address that the host or another one on the network has, a port
    that is taken, a host with a keepalived, haproxy or kube-vip of its own, and an image that the host can't have.
  - With O(state=absent), what holds the address is stopped first, so that another host takes it at once. The packages stay.
  - With O(state=reread), a kube-vip that this module has put there is ended where it runs since before its kubeconfig was written, as by
    C(kubeadm certs renew). It reads the file only when it starts. The kubelet starts it again; no API is asked.
options:
  state:
    description: Whether the host is behind the address, or has its kube-vip read its kubeconfig again.
    type: str
    choices: [present, absent, reread]
    default: present
  address:
    description: The virtual address. Required with O(state=present).
    type: str
  port:
    description:
      - The port on it. haproxy listens there on all of the host's addresses, so it is another one than the API server's.
      - With O(kube_vip_image) it is the API server's.
    type: int
    default: 8443
  interface:
    description: The interface that gets the address, by default the one whose network has it.
    type: str
    default: ""
  router_id:
    description: The virtual router's ID (VRRP), which nothing else on the network may have. V(0) is the last byte of the address.
    type: int
    default: 0
  servers:
    description: The API servers.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: The machine's name.
        type: str
        required: true
      address:
        description: Its IP address.
        type: str
        required: true
      port:
        description: Its API server's port.
        type: int
        default: 6443
  kube_vip_image:
    description: kube-vip's image with its tag, to have kube-vip hold the address.
    type: str
    default: ""
  super_admin:
    description:
      - Whether kube-vip reads C(super-admin.conf) until C(kubeadm init) has ended well on this host. From Kubernetes 1.29 on C(admin.conf) has no rights until
        then.
    type: bool
    default: false
  alone:
    description:
      - Whether no other host is to have the address yet, and without O(servers) not even this one. The network is asked then, and the host is refused if
        one answers; afterwards it waits until the host has the address. kube-vip can't have it before kubeadm has started the kubelet, so only one that is
        restarted is waited for.
    type: bool
    default: false
extends_documentation_fragment:
  - kubeadm.control_plane._node
  - kubeadm.control_plane._node.fencing
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
  - module: kubeadm.control_plane.host_claim
"""

EXAMPLES = r"""
- name: Put a host behind the endpoint
  kubeadm.control_plane.host_endpoint:
    address: 192.0.2.10
    servers:
      - name: prod-control-plane-x7k2p
        address: 192.0.2.11
  become: true
"""

RETURN = r"""
interface:
  description: The interface of the address.
  returned: O(state=present) and success
  type: str
holds:
  description: Whether this host has the address now. Where two have it, they don't hear one another.
  returned: O(state=present) and success
  type: bool
"""

from ..module_utils.common.guard import NodeError
from ..module_utils.node.endpoint import balancer, departure, kube_vip, virtual_address
from ..module_utils.node.machine_module import MachineModule

SERVER = {
    "name": {"type": "str", "required": True},
    "address": {"type": "str", "required": True},
    "port": {"type": "int", "default": 6443},
}


def _balancer(module: MachineModule) -> tuple[dict[str, str], dict[str, str], str]:
    params = module.params
    if not 0 <= params["router_id"] <= 255:
        module.fail_json(msg=f"router_id {params['router_id']} is no number between 0 and 255. Nothing was changed.")
    wanted = balancer.Wanted(
        address=params["address"],
        port=params["port"],
        servers=tuple((each["name"], each["address"], each["port"]) for each in params["servers"]),
        interface=params["interface"],
        router_id=params["router_id"],
        alone=params["alone"],
    )
    return balancer.present(wanted, check=module.check_mode)


def _kube_vip(module: MachineModule) -> tuple[dict[str, str], dict[str, str], str]:
    params = module.params
    wanted = kube_vip.Wanted(
        address=params["address"],
        port=params["port"],
        image=params["kube_vip_image"],
        interface=params["interface"],
        super_admin=params["super_admin"],
        alone=params["alone"],
        unused=not params["servers"],
    )
    return kube_vip.present(wanted, check=module.check_mode)


def main() -> None:
    """Run the module."""
    module = MachineModule(
        {
            "state": {"type": "str", "choices": ["present", "absent", "reread"], "default": "present"},
            "address": {"type": "str"},
            "port": {"type": "int", "default": 8443},
            "interface": {"type": "str", "default": ""},
            "router_id": {"type": "int", "default": 0},
            "servers": {"type": "list", "elements": "dict", "default": [], "options": SERVER},
            "kube_vip_image": {"type": "str", "default": ""},
            "super_admin": {"type": "bool", "default": False},
            "alone": {"type": "bool", "default": False},
        },
        required_if=[("state", "present", ["address"])],
    )
    params = module.params
    with module.failing(NodeError):
        # Nothing is lost by it: an API server need not be asked whose turn it is.
        module.check(ask_cluster=False)
        if params["state"] == "absent":
            module.exit_json(changed=departure.leave(check=module.check_mode))
        if params["state"] == "reread":
            module.exit_json(changed=kube_vip.reread(check=module.check_mode))
        before, after, interface = _kube_vip(module) if params["kube_vip_image"] else _balancer(module)
    changed = before != after
    module.exit_json(
        changed=changed,
        interface=interface,
        holds=virtual_address.is_here(params["address"]),
        diff=[
            {"before": before[name], "after": after[name], "before_header": name, "after_header": name}
            for name in after
        ]
        if changed
        else [],
    )


if __name__ == "__main__":
    main()
