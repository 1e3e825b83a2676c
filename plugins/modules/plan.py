#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: plan
short_description: Show the steps to a cluster's desired state, and their safety
version_added: 0.2.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Shows the ordered steps until the manifest is reached, each with its target, failure domain, reasons, etcd's quorum before and after, the leader and why
    this order; then that nothing is left to do, or what blocks it and what a person can do.
  - It is the function that M(kubeadm.control_plane.decide) takes its next step from, run forward. The steps that follow are
    these, or the run says what changed.
  - Changes neither the cluster nor its objects, in check mode or not, and takes no lock; it can run beside a reconcile. With O(keep) the plan itself is put
    into the store.
  - Plans on the live cluster with O(store), or on a saved O(snapshot), for which neither the cluster nor the store is needed.
options:
  store:
    description: Where the clusters' objects are kept. Needed unless O(snapshot) is given; not read then.
    type: dict
    required: false
  manifests:
    description: The files in which the cluster's documents are. They are planned on as if they were in the store, or in the snapshot, already.
    type: list
    elements: path
    default: []
  replace:
    description:
      - Whether machines may be replaced. With V(ask) the plan has the steps that follow the consent, and says at which step reconcile stops without it; with
        V(never) it ends before the first replacement.
    type: str
    choices: [allow, ask, never]
    default: allow
  consent:
    description:
      - What a person consents to losing, as for M(kubeadm.control_plane.decide).
    type: list
    elements: str
    default: []
    version_added: 0.3.0
  snapshot:
    description: A file with a saved snapshot that is planned on in place of the live cluster.
    type: path
  plan_file:
    description:
      - A file to which the plan is written as JSON, readable for its owner alone. The names of new machines are fixed then, and reconcile can carry out this
        plan and no other. An earlier plan of the same cluster is replaced; any other file that exists is left alone, and the module fails.
      - Not written in check mode.
    type: path
  snapshot_file:
    description:
      - A file to which the snapshot that was planned on is written as JSON, readable for its owner alone. It holds no secrets.
      - Not written in check mode.
    type: path
  keep:
    description:
      - Whether the plan is kept in the store, as a ConfigMap, by its digest, which M(kubeadm.control_plane.decide) takes. The last ten of a cluster are kept.
      - In an AWX job the default is V(true), since nothing else reaches the next job; where the plan can't be kept that is a warning then. Elsewhere it is
        V(false).
      - Not in check mode, and not with O(snapshot).
    type: bool
    version_added: 0.10.0
  show:
    description: Whether the plan is printed.
    type: bool
    default: true
extends_documentation_fragment:
  - kubeadm.control_plane._cluster
  - kubeadm.control_plane._cluster.providers
  - kubeadm.control_plane._store
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.action_group
  - kubeadm.control_plane._attributes.action
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
    details:
      - What the manifest changes of the stored objects. Contents of Secrets and files, passwords, tokens and keys are hidden.
  idempotent:
    support: partial
    details:
      - With O(plan_file) or O(snapshot_file) each run writes the file again, with its own time and names, and is reported as changed.
seealso:
  - module: kubeadm.control_plane.decide
  - module: kubeadm.control_plane.cluster_status
"""

EXAMPLES = r"""
- name: What would happen?
  kubeadm.control_plane.plan:
    cluster: prod
    store:
      path: /srv/clusters/store
    manifests:
      - /srv/clusters/prod.yaml
  register: prod

- name: Keep the plan for reconcile, and the snapshot for questions later
  kubeadm.control_plane.plan:
    cluster: prod
    store:
      path: /srv/clusters/store
    manifests:
      - /srv/clusters/prod.yaml
    plan_file: /srv/clusters/prod.plan.json
    snapshot_file: /srv/clusters/prod.snapshot.json

- name: Keep the plan in the store
  kubeadm.control_plane.plan:
    cluster: prod
    store:
      path: /srv/clusters/store
    manifests:
      - /srv/clusters/prod.yaml
    keep: true
  register: prod

- name: Carry out the step that the plan is at
  kubeadm.control_plane.decide:
    cluster: prod
    store:
      path: /srv/clusters/store
    plan: "{{ prod.digest }}"

- name: What would a changed manifest do? (no cluster is asked, no store is read)
  kubeadm.control_plane.plan:
    cluster: prod
    snapshot: /srv/clusters/prod.snapshot.json
    manifests:
      - /srv/clusters/draft/prod.yaml
"""

RETURN = r"""
unmanaged:
  description: What the manifest has beside and is left alone, by kind; empty without a manifest.
  returned: success
  type: list
  elements: dict
  contains:
    group:
      description: The API group, empty for the core group.
      type: str
    kind:
      description: The kind.
      type: str
    count:
      description: How many documents there are.
      type: int
    names:
      description: The names of the first ten.
      type: list
      elements: str
  sample:
    - {group: cluster.x-k8s.io, kind: MachineDeployment, count: 1, names: [prod-md-0]}
  version_added: 0.10.0
steps:
  description: The steps in order, in the form of docs/reference/plan.md, with C(expects) as the hash alone.
  returned: success
  type: list
  elements: dict
end:
  description: What the plan ends with; nothing left to do, or what blocks it, postpones it or is waited for, with the remedy.
  returned: success
  type: dict
acting:
  description: How many steps reconcile would carry out now; it stops before one that this release doesn't carry out or that wants consent.
  returned: success
  type: int
blocked:
  description: Whether the plan ends with something that a person must change.
  returned: success
  type: bool
digest:
  description: What a person approves the plan by, the same for the same steps (docs/reference/plan.md, "The digest").
  returned: success
  type: str
  sample: "sha256:0d4f4ff4c6e1c0d4b1a4d0d3a0d6c5f0a9c2b7d5a1a2b3c4d5e6f708192a3b4c"
  version_added: 0.10.0
kept:
  description: Whether the plan is in the store now, so that reconcile can be given its digest.
  returned: success
  type: bool
  version_added: 0.10.0
ansible_stats:
  description:
    - What C(ansible.builtin.set_stats) would set. Ansible merges what several clusters have and adds their numbers; in a workflow of AWX the next jobs get
      it as extra variables.
  returned: success
  type: dict
  contains:
    data:
      description:
        - C(control_plane_plan) has the digest by the cluster's inventory name, as reconcile takes it.
        - C(control_plane_plan_clusters) has C(digest), C(steps), C(risks) and C(blocked) by that name; C(control_plane_plan_steps),
          C(control_plane_plan_risks) and C(control_plane_plan_blocked) are how many steps and risks there are, and how many clusters end blocked.
      type: dict
    per_host:
      description: V(false), they are the run's.
      type: bool
    aggregate:
      description: V(true), those of several clusters are put together.
      type: bool
  version_added: 0.10.0
specHash:
  description: The hash of what the manifest wants.
  returned: success
  type: str
observedHash:
  description: The hash of the state that was planned on.
  returned: success
  type: str
plan_file:
  description: The absolute path of the plan's file.
  returned: when O(plan_file) is given
  type: str
snapshot_file:
  description: The absolute path of the snapshot's file.
  returned: when O(snapshot_file) is given
  type: str
msg:
  description: The plan in one line.
  returned: success
  type: str
  sample: "5 steps, then none: 3 of 3 replicas, all up to date"
"""
