#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_adoption
short_description: Adopt a cluster that was made by hand with kubeadm
version_added: 0.4.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Reads the hosts of a control plane that plain C(kubeadm) made, writes a manifest that says what runs, and the objects that
    describe it - the cluster, its machines, its certificate authorities and keys. The plan that follows is empty.
  - The hosts are inventory hosts, and are reached by their names from then on, with whatever variables they have there. They become
    machines of the provider C(machine_inventory).
  - Nothing on the hosts is changed but for one small file that says whose they are now.
  - All reasons to refuse it are reported at once, each with a stable name, and nothing is written then - a host that can't
    be reached or answers as another machine, hosts of different clusters, control plane Nodes that are none of the hosts, versions more
    than one minor version apart, Machine objects of Cluster API, a missing control plane endpoint, a manifest that contradicts what runs.
  - Private keys go from the hosts to the store (files of mode 0600, encrypted where the store is) and nowhere else. They travel
    sealed, so that not even C(-vvv) shows them.
  - Workers become machines of the MachineDeployments that O(workers) names; others stay as they are.
  - A run that was killed is completed by the next. Until then the KubeadmControlPlane, or a MachineDeployment, whose machines are not all there is paused.
    Adopting a cluster again changes nothing.
options:
  group:
    description:
      - The inventory group that holds the control plane hosts. Machines that are made later are made of hosts of this group.
      - Hosts of the group that carry no control plane are left as they are.
    type: str
    required: true
  hosts:
    description: The control plane hosts, where the group is not to be searched.
    type: list
    elements: str
    default: []
  manifest:
    description:
      - The file that the manifest is written to.
      - Where it is there already, or the inventory has manifests of this cluster, that manifest is taken as it is, and refused where it
        contradicts what runs.
    type: path
    required: true
  template:
    description: Further fields of the InventoryMachineTemplate's C(spec.template.spec), such as C(failureDomainVariable) or C(selector).
    type: dict
    default: {}
  replicas:
    description: What the manifest says of C(spec.replicas). By default as many as there are hosts.
    type: int
  workers:
    description:
      - By the name of a MachineDeployment, the inventory group of the hosts whose workers become its machines. In place of the group's name, the fields
        of the InventoryMachineTemplate's C(spec.template.spec) may be given, among which C(group) is.
      - A manifest that is written gets these MachineDeployments, as their workers run. One that is there has them already.
      - Hosts of the group that carry nothing are left as they are. Every other one must carry a worker of this cluster.
    type: dict
    default: {}
    version_added: 0.10.0
  providers:
    description: Infrastructure kinds and the roles that serve them.
    type: dict
    default: {}
  unknown_documents:
    description: See O(kubeadm.control_plane.cluster#module:unknown_documents).
    type: str
    choices: [report, refuse]
    default: report
    version_added: 0.10.0
requirements:
  - cryptography (on the controller)
extends_documentation_fragment:
  - kubeadm.control_plane._cluster
  - kubeadm.control_plane._store
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.action_group
  - kubeadm.control_plane._attributes.action
attributes:
  check_mode:
    support: full
    details:
      - Reads the hosts and shows what would be written, the manifest included.
  diff_mode:
    support: none
  idempotent:
    support: full
seealso:
  - module: kubeadm.control_plane.node_adoption_info
  - module: kubeadm.control_plane.machine_adoption
"""

EXAMPLES = r"""
- name: Adopt a control plane and its workers
  kubeadm.control_plane.cluster_adoption:
    cluster: prod
    store:
      path: /srv/clusters/store
    group: prod_control_plane
    manifest: /srv/clusters/manifests/prod.yaml
    workers:
      prod-workers: prod_worker_hosts
"""

RETURN = r"""
changes:
  description: What was written, in words; in check mode, what would be.
  returned: success
  type: list
  elements: str
notes:
  description: What a user should know - flags edited by hand, hosts that were left out, what new machines would not have.
  returned: success
  type: list
  elements: str
manifest:
  description: The manifest's file.
  returned: success
  type: str
machines:
  description: The Machine's name for each host, workers included.
  returned: success
  type: dict
reasons:
  description: The stable names of what speaks against it.
  returned: when it was refused
  type: list
  elements: str
  sample: [HostUnreachable, MixedClusters]
"""
