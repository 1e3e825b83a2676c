#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: fleet_status
short_description: Show the status of all selected clusters, worst first
version_added: 0.10.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Observes the selected clusters, the play's hosts of the group C(control_planes), in as many processes as Ansible has C(forks), as
    M(kubeadm.control_plane.cluster_status) observes one.
  - Of one cluster it prints the status, of several a table sorted by trouble and then the status of those with trouble, or all as one JSON document.
  - Changes nothing, takes no lock and can run beside a reconcile. A cluster that can't be observed keeps no other from being shown; the task fails in the end.
options:
  output:
    description:
      - What is printed. V(json) is one document, whose schema is C(docs/reference/status.schema.json).
    type: str
    choices: [table, json]
    default: table
  output_file:
    description:
      - A file to which the JSON document is written, readable for everyone, whatever is printed. A file that is there is replaced as a whole.
      - Check mode writes none.
    type: path
    default: ""
  fail_when:
    description:
      - Fail, after everything was shown, where a cluster is one of these. Without it the variable C(control_plane_fail_when) of a cluster counts
        for it.
      - V(unhealthy) where something does not work or nothing is known of it, V(blocked) where no step is taken until a person acts, V(outdated) where the
        cluster is not as the stored manifest says.
    type: list
    elements: str
    choices: [unhealthy, blocked, outdated]
  watch_seconds:
    description:
      - Observe again after so many seconds, and so on, until O(watch_until) or O(watch_timeout). V(0) observes once.
      - A terminal shows the newest status in place of the one before. Elsewhere a cluster has a line only when its verdict, or what comes next, has changed.
        O(output) and O(fail_when) are left out then.
    type: int
    default: 0
  watch_until:
    description:
      - What is watched for. V(healthy) until no cluster is unhealthy, V(settled) until none is unhealthy, blocked or outdated. Without it O(watch_timeout)
        alone ends the watch, well.
    type: str
    choices: ["", healthy, settled]
    default: ""
  watch_timeout:
    description: After so many seconds a watch ends; it fails where O(watch_until) did not come.
    type: int
    default: 3600
extends_documentation_fragment:
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
notes:
  - It reads the variables of the clusters' hosts, such as C(control_plane_store) and C(control_plane_kubeconfig), and those that the role C(control_plane)
    has by default. It is meant to be run once for a play.
  - The task fails where the selected clusters have different values of the playbooks' variables that a run has one of, such as C(control_plane_output).
seealso:
  - module: kubeadm.control_plane.cluster_status
"""

EXAMPLES = r"""
# In a play for control_planes
- name: Fail where a cluster does not work, and keep the statuses
  kubeadm.control_plane.fleet_status:
    output_file: /srv/clusters/status.json
    fail_when: [unhealthy, blocked]
  run_once: true

- name: Wait until the clusters are as their manifests say
  kubeadm.control_plane.fleet_status:
    watch_seconds: 10
    watch_until: settled
    watch_timeout: 900
  run_once: true
"""

RETURN = r"""
msg:
  description: How a watch ended, or why the task failed.
  returned: when the clusters were watched, or failure
  type: str
"""
