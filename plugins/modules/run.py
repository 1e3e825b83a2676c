#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: run
short_description: Start a run on a cluster, or end it
version_added: 0.1.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - With O(state=present), starts a run. It takes the lock that lets one run at a time change a cluster, and with O(cluster_state) brings the manifest, or the
    request to delete the cluster, into the store, as M(kubeadm.control_plane.cluster) does.
  - With O(state=absent), ends it. It updates the copy that the store's option O(store.export) asks for, releases the lock, and with several O(hosts) notes
    what came of this cluster. When all clusters of the play have been noted, it shows how many failed, changed, wait or had nothing to do, with a line
    for each of which there is something to say.
  - The lock names its holder (user, host, process, AWX job). A helper process renews it and ends with the run, so a killed run's lock is free at once on the
    same host, and after it made no progress as seen by the waiter elsewhere; clocks are never compared.
  - A lock that another run holds is a failure that names the holder; nothing waits for it. With O(skip_if_held) it is no failure.
  - Before release 0.10.0 this was C(cluster_lock), whose tasks still work, and C(run_summary).
options:
  state:
    description: Whether this run is to hold the lock.
    type: str
    choices: [present, absent]
    default: present
  playbook:
    description: What is run.
    type: str
    default: reconcile
    version_added: 0.10.0
  entry_point:
    description:
      - With O(state=present), the entry point of the role C(kubeadm.control_plane.control_plane) whose arguments are checked before anything else. None are
        when it is empty.
    type: str
    default: ""
    version_added: 0.10.0
  skip_if_held:
    description: Whether a lock that another run holds is no failure; RV(held_by) then names the holder, and the caller does nothing under the lock.
    type: bool
    default: false
    version_added: 0.3.0
  use_export:
    description:
      - Whether the copy that O(store.export) of another store left may be worked with, because the cluster's own API doesn't answer. It counts as newer than
        what the API has from then on. See M(kubeadm.control_plane.cluster_export).
    type: bool
    default: false
    version_added: 0.7.0
  batch:
    description:
      - The hosts of the clusters that are worked on beside each other, this one among them, where clusters are taken in turns and none is started after one
        that failed. Empty where all are worked on beside each other.
    type: list
    elements: str
    default: []
    version_added: 0.10.0
  failed_hosts:
    description: With O(batch), the hosts that have failed so far. Where one of them is of an earlier batch, the run is not started, which is no failure.
    type: list
    elements: str
    default: []
    version_added: 0.10.0
  cluster_state:
    description: Whether the cluster is to exist; see O(kubeadm.control_plane.cluster#module:state). Nothing is applied where it is not given.
    type: str
    choices: [present, absent]
    version_added: 0.10.0
  deployment:
    description: With O(cluster_state=absent), the MachineDeployment that is deleted instead of the cluster.
    type: str
    default: ""
    version_added: 0.10.0
  manifests:
    description: See O(kubeadm.control_plane.cluster#module:manifests).
    type: list
    elements: path
    default: []
    version_added: 0.10.0
  providers:
    description: See O(kubeadm.control_plane.cluster#module:providers).
    type: dict
    default: {}
    version_added: 0.10.0
  unknown_documents:
    description: See O(kubeadm.control_plane.cluster#module:unknown_documents).
    type: str
    choices: [report, refuse]
    default: report
    version_added: 0.10.0
  ignore_worker_nodes:
    description: See O(kubeadm.control_plane.cluster#module:ignore_worker_nodes).
    type: bool
    default: false
    version_added: 0.10.0
  plan_file:
    description: See O(kubeadm.control_plane.cluster#module:plan_file).
    type: path
    version_added: 0.10.0
  plan:
    description:
      - See O(kubeadm.control_plane.cluster#module:plan). What is no plan of this cluster is refused before the lock is taken.
    type: raw
    version_added: 0.10.0
  started:
    description: With O(state=absent), what the start of the run returned; empty where it failed.
    type: dict
    default: {}
    version_added: 0.10.0
  error:
    description:
      - With O(state=absent), why the cluster failed; the summary shows its first line. Empty where it did not. This task succeeds all the same, since Ansible
        drops the statistics of one that fails; see RV(kubeadm.control_plane.failure_report#module:headline).
    type: str
    default: ""
    version_added: 0.10.0
  decision:
    description: With O(state=absent), what M(kubeadm.control_plane.decide) returned last. That of another run counts for nothing.
    type: dict
    default: {}
    version_added: 0.10.0
  action_step:
    description: With O(state=absent), what M(kubeadm.control_plane.operator_next) returned last, where the run was of an Action.
    type: dict
    version_added: 0.10.0
  hosts:
    description: With O(state=absent), the hosts of all clusters of the play, for example C(ansible_play_hosts_all).
    type: list
    elements: str
    default: []
    version_added: 0.10.0
  settled:
    description: With O(state=absent), how many more clusters M(kubeadm.control_plane.fleet_info) has found with nothing to do; the summary counts them.
    type: int
    default: 0
    version_added: 0.10.0
  metrics_directory:
    description:
      - With O(state=absent), the folder to which the cluster's metrics are written, as M(kubeadm.control_plane.cluster_metrics) does, and how this run
        ended. None are where it is empty. That they can't be written is a warning.
    type: path
    default: ""
    version_added: 0.10.0
  backup_directory:
    description: See O(kubeadm.control_plane.cluster_metrics#module:backup_directory).
    type: path
    default: ""
    version_added: 0.10.0
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
      - In check mode the lock is not taken, as nothing will be changed under it.
  diff_mode:
    support: full
    details:
      - What the manifest changes of the stored objects. Contents of Secrets and files, passwords, tokens and keys are hidden.
  idempotent:
    support: full
seealso:
  - module: kubeadm.control_plane.decide
  - module: kubeadm.control_plane.failure_report
"""

EXAMPLES = r"""
- name: Start a run
  kubeadm.control_plane.run:
    cluster: prod
    store:
      path: /srv/clusters/store
  register: started

- name: End it
  kubeadm.control_plane.run:
    cluster: prod
    store:
      path: /srv/clusters/store
    state: absent
    started: "{{ started }}"
"""

RETURN = r"""
begun:
  description: Whether the run was started; not where another one holds the lock or a cluster of an earlier batch failed.
  returned: O(state=present)
  type: bool
  version_added: 0.10.0
fencing:
  description: The number of this holding; it grows with every holder and travels with every irreversible call. 0 in check mode.
  returned: O(state=present)
  type: int
  sample: 7
run:
  description: The run's name in the journal. Empty in check mode.
  returned: O(state=present)
  type: str
  sample: 3f9a1c2b
held_by:
  description: Who holds the lock, where that is another run; empty where this run holds it.
  returned: O(state=present)
  type: str
  version_added: 0.3.0
batch:
  description: O(batch), for the end of the run.
  returned: O(state=present)
  type: list
  elements: str
  version_added: 0.10.0
exists:
  description: Whether the store has the cluster, or would have it outside check mode.
  returned: with O(cluster_state)
  type: bool
  version_added: 0.10.0
unmanaged:
  description: What the manifest has beside and is left alone, by kind.
  returned: with O(cluster_state=present) and a manifest
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
changes:
  description: What was changed in the store, or would be in check mode; fields by their paths, without values.
  returned: with O(cluster_state)
  type: list
  elements: str
  version_added: 0.10.0
checked_beforehand:
  description: Whether it was checked what the machines are made of, as it is of a cluster that is new to the store, before anything was stored.
  returned: with O(cluster_state=present) and a manifest
  type: bool
  version_added: 0.10.0
released:
  description: Whether a lock of this run was released.
  returned: O(state=absent)
  type: bool
result:
  description: What came of this cluster.
  returned: O(state=absent), with several O(hosts)
  type: str
  sample: changed
  version_added: 0.10.0
summary:
  description: How many clusters had which result.
  returned: with the last cluster of the play
  type: dict
  sample:
    failed: 1
    nothing: 98
    changed: 1
  version_added: 0.10.0
ansible_stats:
  description:
    - What C(ansible.builtin.set_stats) would set. Ansible merges what several clusters have and adds their numbers; in a workflow of AWX the next jobs get
      it as extra variables.
  returned: O(state=absent), where the run was started or could not be
  type: dict
  contains:
    data:
      description:
        - C(control_plane_run_clusters) has C(result), C(steps) and C(message) by the cluster's inventory name; the message is cut, and what would begin a
          template is broken up. C(control_plane_run_steps) is the number of steps that were begun.
        - C(control_plane_run_changed), C(control_plane_run_would_change), C(control_plane_run_nothing), C(control_plane_run_waits),
          C(control_plane_run_held), C(control_plane_run_failed) and C(control_plane_run_not_reached) are the numbers of clusters with that result.
      type: dict
    per_host:
      description: Always V(false).
      type: bool
    aggregate:
      description: Always V(true).
      type: bool
  version_added: 0.10.0
"""
