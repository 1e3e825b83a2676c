#!/usr/bin/python

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: machine_removal
short_description: Remove a machine, or its remains, from a control plane
version_added: 0.3.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - What the playbooks do between marking a machine for deletion and deleting its infrastructure, in the order of Cluster API's
    Machine controller. Each part can be run again; one that was done is not done twice.
  - First hooks that begin with C(pre-drain.delete.hook.machine.cluster.x-k8s.io) must be gone. Then etcd's leadership moves
    away, the Node is cordoned and drained and its volumes are detached, hooks that begin with
    C(pre-terminate.delete.hook.machine.cluster.x-k8s.io) must be gone, an etcd snapshot is taken and verified on a machine that
    stays, and the member is removed by its ID, with the quorum check in the same call.
  - Where the drain took a minute or more the call ends before the snapshot, with RV(ready=false), as the other machines may be others
    than those that were decided on. Decide again and call it again; the Node is not drained again. Where the cluster was marked for
    deletion since the decision, the call does nothing and ends with RV(ready=false).
  - With O(infrastructure_deleted=true), deletes the Node and then the machine's objects.
  - Everything is done through other machines of the control plane, never through the one that goes. Where the machine
    never carried the control plane and no other does, only the objects are deleted. The only machine
    in the store that carries it is refused.
  - It must only be called with a decision of M(kubeadm.control_plane.decide) in hand, which has checked that the machine may go.
options:
  name:
    description: The machine's name.
    type: str
  member_id:
    description:
      - The ID of the machine's etcd member, as the decision names it. Nothing is done to etcd when it is left out.
      - Without O(name), the member of no machine, which is removed alone.
    type: str
  node:
    description: The name of a Node that belongs to no machine. The Node object alone is deleted.
    type: str
  leadership:
    description: The machines that may take etcd's leadership over, the best first, where this machine's member leads.
    type: list
    elements: str
    default: []
  infrastructure_deleted:
    description: That the machine's infrastructure is gone, and its Node and objects are to be deleted.
    type: bool
    default: false
  timeout:
    description: Seconds for which a part that the Machine sets no bound for is waited for.
    type: int
    default: 600
extends_documentation_fragment:
  - kubeadm.control_plane._cluster
  - kubeadm.control_plane._store
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.step
  - kubeadm.control_plane._attributes.action_group
  - kubeadm.control_plane._attributes.action
seealso:
  - module: kubeadm.control_plane.machine
  - module: kubeadm.control_plane.etcd_member
"""

EXAMPLES = r"""
- name: Take a machine that is marked for deletion out of its control plane
  kubeadm.control_plane.machine_removal:
    cluster: prod
    store:
      path: /srv/clusters/store
    name: prod-control-plane-x7k2p
    member_id: 8e9e05c52164694d
"""

RETURN = r"""
ready:
  description: Whether the provider may delete the machine now; not while a hook holds it, nor where it is to be decided again.
  returned: success
  type: bool
node:
  description: The name of the machine's Node; empty where it had none, or where no other machine carries the control plane.
  returned: with O(name), without O(infrastructure_deleted)
  type: str
msg:
  description: What was done, or what holds it.
  returned: success
  type: str
"""
