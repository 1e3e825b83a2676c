#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: decide
short_description: Observe a cluster, and decide and record its next step
version_added: 0.1.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Reads the cluster's objects, asks one healthy control plane machine for nodes, static pods and etcd in one call, and decides the one next step, with its
    reasons, the result of every preflight check and etcd's quorum before and after. Writes status and conditions to the stored objects.
  - What changes by itself is waited for with a line of progress every 15 seconds; what a person must change is a failure that says what and how.
  - Where a deletion is complete, it deletes the objects that are left of the cluster.
  - In check mode the steps until the manifest is reached are shown as M(kubeadm.control_plane.plan) shows them, and returned, and nothing is written anywhere.
options:
  wait_timeout:
    description: For how many seconds at most something that changes by itself is waited for.
    type: int
    default: 600
  infrastructure_observed:
    description:
      - Whether the provider has observed the machines' infrastructure in this run. Where it has not, and not everything is as it should be, nothing is decided
        and RV(next) names the tasks that observe it; a cluster whose machines are all well needs no such observation.
    type: bool
    default: true
    version_added: 0.10.0
  checked_beforehand:
    description:
      - Whether the run has checked what machines are made of, as M(kubeadm.control_plane.run) returns it. Where it has not, that is checked before its first
        step.
    type: bool
    default: false
    version_added: 0.10.0
  step_limit:
    description: After how many steps a run stops although it is not done, so that a fault can't make it run for ever.
    type: int
    default: 60
  failed_workers:
    description:
      - Workers that this run could not make or remove, each with C(name), C(message), the RV(step) that failed with it as C(step) and, where it is about
        a removal, C(removal=true). They are not tried again in this run, which does everything else and then fails with them.
    type: list
    elements: dict
    default: []
    version_added: 0.10.0
  manifests:
    description: In check mode, the manifest files that are taken as if they were in the store already.
    type: list
    elements: path
    default: []
  providers:
    description: In check mode with O(manifests), the infrastructure providers' roles by kind.
    type: dict
    default: {}
  unknown_documents:
    description: See O(kubeadm.control_plane.cluster#module:unknown_documents).
    type: str
    choices: [report, refuse]
    default: report
    version_added: 0.10.0
  delete:
    description: In check mode, show the steps of deleting the cluster.
    type: bool
    default: false
  deployment:
    description: With O(delete), the MachineDeployment whose deletion is meant instead of the cluster's.
    type: str
    default: ""
    version_added: 0.10.0
  ignore_worker_nodes:
    description: With O(delete), see O(kubeadm.control_plane.cluster#module:ignore_worker_nodes).
    type: bool
    default: false
    version_added: 0.10.0
  remediate:
    description: In check mode, names of machines that are taken as if they were marked for remediation.
    type: list
    elements: str
    default: []
    version_added: 0.3.0
  check_health:
    description: In check mode, whether the marks that M(kubeadm.control_plane.machine_health_check) would set now are taken as if they were set.
    type: bool
    default: false
    version_added: 0.3.0
  replace:
    description:
      - Whether machines may be replaced. With V(ask) replacements are postponed, which is no failure, unless O(plan_file) is given; with V(never) they fail.
    type: str
    choices: [allow, ask, never]
    default: allow
    version_added: 0.2.0
  consent:
    description:
      - What the user consents to losing, each as C(action:what is lost). C(recoverSingleVoter:MACHINE) lets etcd continue alone where the second of two
        voters was lost with that machine. C(initialize:NAMESPACE/CLUSTER:afterDeletionOf:UID) has a new control plane made where the KubeadmControlPlane was
        deleted and the Cluster stays. C(giveUpBootstrap:MACHINE) says that a machine is off on which kubeadm was started and whose end was not observed. A
        run that is blocked for want of one says which.
    type: list
    elements: str
    default: []
    version_added: 0.3.0
  plan_file:
    description:
      - A plan that M(kubeadm.control_plane.plan) kept. Only its steps are taken, each only while what is observed is what the plan expects before it, or
        while a run that was killed left that very step half done. Otherwise the module fails and shows what differs.
      - Before the first step of a run the plan is made again, and has to be what is left of this one.
    type: path
    version_added: 0.2.0
  plan:
    description:
      - The digest of a plan that M(kubeadm.control_plane.plan) kept in the store (its option O(kubeadm.control_plane.plan#module:keep)), in place of
        O(plan_file), or the digests of several clusters' plans by the clusters' inventory names. An empty text is refused.
    type: raw
    version_added: 0.10.0
extends_documentation_fragment:
  - kubeadm.control_plane._cluster
  - kubeadm.control_plane._cluster.run
  - kubeadm.control_plane._store
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.action_group
  - kubeadm.control_plane._attributes.action
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: full
    details:
      - Status and conditions follow the cluster; that is not reported as a change.
seealso:
  - module: kubeadm.control_plane.plan
  - module: kubeadm.control_plane.cluster_status
"""

EXAMPLES = r"""
- name: What is next?
  kubeadm.control_plane.decide:
    cluster: prod
    store:
      path: /srv/clusters/store
  register: next_step

- name: Say it
  ansible.builtin.debug:
    var: next_step.msg
"""

RETURN = r"""
act:
  description: Whether there is something to do now.
  returned: success
  type: bool
next:
  description: The file of tasks that the role runs now, before it asks again; empty where nothing is to be done.
  returned: success
  type: str
  sample: act/join.yml
  version_added: 0.10.0
decision:
  description: The decision document without conditions and status, which are in the store.
  returned: success
  type: dict
difference:
  description: What differs from what the plan expects.
  returned: when the cluster is not as O(plan_file) expects
  type: list
  elements: dict
  contains:
    path:
      description: The path of the field in the state that the plan expects.
      type: str
    expected:
      description: What the plan expects.
      type: str
    observed:
      description: What is observed.
      type: str
plan:
  description: The steps until the manifest is reached or something blocks, and, as the last, what it ends with; the form is that of a plan file.
  returned: in check mode
  type: list
  elements: dict
prepare:
  description: The failure domains of the machines whose infrastructure may be made ahead of their turn.
  returned: success
  type: list
  elements: str
prepare_names:
  description: The names that O(plan_file) fixed for these machines; empty without a plan.
  returned: success
  type: list
  elements: str
snapshot_first:
  description: Whether a verified etcd snapshot is kept before the new machine joins, which is where it becomes the second voter.
  returned: success
  type: bool
  version_added: 0.10.0
step:
  description: The number of this step in its run, from 1.
  returned: when RV(act)
  type: int
  version_added: 0.10.0
run:
  description: The run that decided, O(run).
  returned: success
  type: str
  version_added: 0.10.0
msg:
  description: The decision in one line.
  returned: success
  type: str
  sample: "join a new machine: 2 of 3 replicas"
"""
