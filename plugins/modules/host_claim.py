#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: host_claim
short_description: Claim an existing host for one machine of a cluster, or release it
version_added: 0.4.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - With O(state=present), checks that the host has everything that a control plane machine needs and carries nothing of another
    cluster, and then writes whose it is to C(/var/lib/kubeadm-control-plane/claim.json), under the host's own lock, so that no two
    clusters, in whatever stores, ever take the same host.
  - Checked are root, the machine-id, the versions of kubeadm and kubelet, kubectl, the programs and kernel settings that kubeadm insists on, the container
    runtime's socket, swap, the ports, the clock, an address, the cluster's networks, another cluster's claim, and what any cluster left. Everything that is
    missing is said at once.
  - With O(state=absent), undoes what kubeadm made, as M(kubeadm.control_plane.node_bootstrap) with C(state=absent) does, and
    gives the claim up, in one call. A host that carries something else than what was claimed is refused.
  - A claim of the same O(id) that is already there, and a host that was released already, are left as they are.
options:
  state:
    description: Whether the host is claimed.
    type: str
    choices: [present, absent]
    default: present
  id:
    description: The claim's own identity, any text that no other claim has. With O(state=absent), left out for a host that was never claimed.
    type: str
    default: ""
  cluster:
    description: Name of the cluster that claims the host. Required with O(state=present).
    type: str
  namespace:
    description: Namespace of the cluster.
    type: str
    default: default
  cluster_id:
    description:
      - The identity that the cluster has for life, whatever store it is in. For each that it served, the host keeps the greatest O(fencing) that it has seen,
        also after it was released, and refuses a smaller one.
    version_added: 0.10.0
    type: str
    default: ""
  machine:
    description: Name of the machine that the host becomes or was.
    type: str
    required: true
  kubernetes_version:
    description: The version that kubeadm and kubelet must have, such as V(v1.20.2). Required with O(state=present).
    type: str
  ports:
    description: TCP ports that must be free.
    type: list
    elements: int
    default: [6443, 10250, 10257, 10259, 2379, 2380]
  cri_socket:
    description: The container runtime's socket. Left out, one of those that kubeadm knows must answer, and no second one.
    type: str
    default: ""
  address:
    description: The host's address in the cluster, which must be its own. Left out, the one that it reaches O(endpoint) from.
    type: str
    default: ""
  endpoint:
    description: The host of the cluster's control plane endpoint.
    type: str
    default: ""
  controller_time:
    description: The controller's time in seconds since the epoch; a clock that is more than 30 seconds off is refused.
    type: float
  known_machine_ids:
    description: The machine-ids of other hosts, each with that host's name, which this host must not have.
    type: dict
    default: {}
  ignore_checks:
    description:
      - Checks not to insist on, by the names that kubeadm gives them - V(Swap), V(CRI), V(Port-6443), V(FileExisting-conntrack),
        V(FileContent--proc-sys-net-ipv4-ip_forward) - and V(ClusterNetwork), or V(all) of these.
      - What concerns another cluster, the identity or the versions is never waived.
    type: list
    elements: str
    default: []
  images:
    description:
      - What the images of the static pods are. With O(state=present), a host is refused that has one of kubeadm's images not and can't pull it, by the
        check V(ImagePull). Where O(ignore_checks) has V(ImagePull), that holds for the static pods' images alone.
      - Without it, images are not checked.
    version_added: 0.5.0
  cluster_network:
    description:
      - The cluster's networks, as C(spec.clusterNetwork) of the Cluster has them. A host that has an address in one of them, on a real interface or on the
        one of a default route, is refused by the check V(ClusterNetwork). Where one of them is IPv6, the host has to forward IPv6.
      - A host that carries the cluster already is not asked.
    version_added: 0.10.0
    type: dict
    default: {}
    suboptions:
      pods:
        description: The pods' CIDR blocks.
        type: list
        elements: str
        default: []
      services:
        description: The services' CIDR blocks.
        type: list
        elements: str
        default: []
      in_use:
        description: The cluster runs with them, and they can't be changed any more; addresses of the host are not compared with them.
        type: bool
        default: false
  ca_cert_hash:
    description:
      - The hash of the cluster's CA, as C(kubeadm join --discovery-token-ca-cert-hash) takes it.
      - With O(state=present), a host that carries that very cluster already may be claimed (adoption).
      - With O(state=absent), a host that carries a cluster with another CA is refused, unless O(consent_wipe) is true.
    type: str
    default: ""
  released_before:
    description: With O(state=absent), an earlier call began this release; a host that another cluster has claimed since is none of ours any more.
    type: bool
    default: false
  whole_cluster:
    description:
      - With O(state=absent), every machine of the cluster goes, so that it doesn't matter that this host's etcd is a member beside others.
      - It has no effect on a host that carries something else than what was claimed.
      - With neither O(id), O(ca_cert_hash) nor O(cluster_id), the cluster on this host is meant.
    type: bool
    default: false
  consent_wipe:
    description:
      - With O(state=absent), consent to wipe the host whatever it carries. What it carries is lost.
      - A host whose etcd answers and is a member beside others is refused all the same. Where its etcd gives no list of its members,
        RV(message) says so.
      - So is a host with an etcd that kubeadm did not make, such as an external one, while it runs, or has its data in C(/var/lib/etcd) beside an API server.
    type: bool
    default: false
  consent_claim:
    description:
      - With O(consent_wipe), the C(id) of the claim that the host had when the consent was given, V("") for none. A host with another one than that and O(id)
        is left as it is.
      - Left out, the consent is for whatever is there, unless O(released_before) is true.
    version_added: 0.10.0
    type: str
extends_documentation_fragment:
  - kubeadm.control_plane._node
  - kubeadm.control_plane._node.fencing
  - kubeadm.control_plane._node.images
  - kubeadm.control_plane._attributes
attributes:
  check_mode:
    support: full
    details:
      - Every refusal is the same as without check mode.
  diff_mode:
    support: none
  idempotent:
    support: full
seealso:
  - module: kubeadm.control_plane.host_claim_info
  - module: kubeadm.control_plane.inventory_machine
  - module: kubeadm.control_plane.node_bootstrap
"""

EXAMPLES = r"""
- name: Ask what keeps each host of the pool from being used
  kubeadm.control_plane.host_claim:
    id: none
    cluster: prod
    machine: any
    kubernetes_version: v1.20.2
  become: true
  check_mode: true

- name: Take a host back by hand whose store is lost
  kubeadm.control_plane.host_claim:
    state: absent
    machine: prod-control-plane-x7k2p
    consent_wipe: true
  become: true
"""

RETURN = r"""
claim:
  description: Whose the host is - C(id), C(cluster), C(namespace), C(machine), C(machineID) and C(claimedAt).
  returned: O(state=present) and success
  type: dict
address:
  description: The host's address in the cluster.
  returned: O(state=present) and success
  type: str
hostname:
  description: The host's own name.
  returned: O(state=present) and success
  type: str
missing:
  description: Everything that keeps the host from being claimed, each with C(check), C(message) and C(fix).
  returned: O(state=present), where the host can't be claimed
  type: list
  elements: dict
machineID:
  description: The host's machine-id, "" where it has none.
  returned: O(state=present), where the host can't be claimed
  type: str
message:
  description: What was done, in words.
  returned: O(state=absent) and success
  type: str
"""

import socket

from ..module_utils.common.guard import NodeError
from ..module_utils.node import arguments
from ..module_utils.node.bootstrap.image_check import Images
from ..module_utils.node.host import claim, fitness, host_facts
from ..module_utils.node.machine_module import MachineModule

BLOCKS = {"type": "list", "elements": "str", "default": []}
NETWORKS = {"pods": BLOCKS, "services": BLOCKS, "in_use": {"type": "bool", "default": False}}
OPTIONS = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "id": {"type": "str", "default": ""},
    "cluster": {"type": "str"},
    "namespace": {"type": "str", "default": "default"},
    "cluster_id": {"type": "str", "default": ""},
    "machine": {"type": "str", "required": True},
    "kubernetes_version": {"type": "str"},
    "images": arguments.IMAGES,
    "ports": {"type": "list", "elements": "int", "default": list(fitness.DEFAULT_PORTS)},
    "cri_socket": {"type": "str", "default": ""},
    "address": {"type": "str", "default": ""},
    "endpoint": {"type": "str", "default": ""},
    "controller_time": {"type": "float"},
    "known_machine_ids": {"type": "dict", "default": {}},
    "ignore_checks": {"type": "list", "elements": "str", "default": []},
    "cluster_network": {"type": "dict", "default": {}, "options": NETWORKS},
    "ca_cert_hash": {"type": "str", "default": ""},
    "released_before": {"type": "bool", "default": False},
    "whole_cluster": {"type": "bool", "default": False},
    "consent_wipe": {"type": "bool", "default": False},
    "consent_claim": {"type": "str"},
}


def main() -> None:
    """Run the module."""
    module = MachineModule(OPTIONS, required_if=[("state", "present", ["id", "cluster", "kubernetes_version"])])
    with module.failing(NodeError):
        if module.params["state"] == "absent":
            absent(module)
        else:
            present(module)


def present(module: MachineModule) -> None:
    """Check and claim the host, and end the module."""
    params = module.params
    # A number that the host kept for a cluster before this one must not count: the claim itself keeps others out.
    arguments.check({"machine_id": params["machine_id"]}, check_mode=module.check_mode)
    run = claim.Run(params["cluster_id"], params["fencing"])
    mine = claim.Claim(params["id"], params["cluster"], params["namespace"], params["machine"])
    wanted = fitness.Wanted(
        version=params["kubernetes_version"],
        ports=params["ports"],
        cri_socket=params["cri_socket"],
        address=params["address"],
        towards=params["endpoint"],
        now=params["controller_time"],
        known_machine_ids=params["known_machine_ids"],
        ca_cert_hash=params["ca_cert_hash"],
        ignore=params["ignore_checks"],
        pods=params["cluster_network"].get("pods", ()),
        services=params["cluster_network"].get("services", ()),
        networks_in_use=params["cluster_network"].get("in_use", False),
        images=Images.read(params["kubernetes_version"], params["images"]) if params["images"] is not None else None,
    )
    made, changed = claim.claim(mine, wanted, run=run, check=module.check_mode)
    module.exit_json(
        changed=changed,
        claim=made.document(),
        address=host_facts.own_address(params["address"], params["endpoint"])[0],
        hostname=socket.gethostname(),
    )


def absent(module: MachineModule) -> None:
    """Reset and release the host, and end the module."""
    params = module.params
    checked = dict(params)
    if params["consent_wipe"] or claim.is_of_another(params["id"]):
        # Another cluster's number says nothing of this run's lock, nor this run's there. The release compares those of its own cluster.
        del checked["fencing"]
    # A full disk must not keep its host from being reset, which makes room; the release sees to the number.
    arguments.check(checked, check_mode=module.check_mode, must_keep=False)
    wanted = claim.Release(
        id=params["id"],
        machine=params["machine"],
        ca_cert_hash=params["ca_cert_hash"],
        released_before=params["released_before"],
        whole_cluster=params["whole_cluster"],
        consent=params["consent_wipe"],
        consented=params["consent_claim"],
    )
    run = claim.Run(params["cluster_id"], params["fencing"])
    changed, message = claim.release(wanted, run=run, check=module.check_mode)
    module.exit_json(changed=changed, message=message)


if __name__ == "__main__":
    main()
