#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: failure_report
short_description: Report a failed run, its open step, its safety and the remedy
version_added: 0.1.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Closes the step that the journal shows as under way and tells the error and what a person needs then - what was under way, what this run has changed
    before (objects, keys, the endpoint, claims of hosts, steps that it completed), whether it is safe now, and what to do.
  - Secrets in the error and in the output are removed.
options:
  error:
    description: What failed.
    type: str
    required: true
  output:
    description: The last output of the command that failed.
    type: str
    default: ""
  task:
    description: The task that failed.
    type: str
    default: ""
  run:
    description: The run's name in the journal, as M(kubeadm.control_plane.run) returns it; a run without the lock has nothing under way.
    type: str
    default: ""
  playbook:
    description: The playbook to run again.
    type: str
    default: reconcile
  hidden:
    description: Whether the failed task has C(no_log), so that neither its error nor its output is shown.
    type: bool
    default: false
    version_added: 0.10.0
  fail:
    description:
      - Whether the task fails with the report. Otherwise it shows the report as lines and succeeds, so that Ansible prints no JSON of the same text; another
        task must fail then, with RV(headline).
    type: bool
    default: true
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
  diff_mode:
    support: N/A
  idempotent:
    support: N/A
    details:
      - It tells of one failure.
"""

EXAMPLES = r"""
- name: Report what was under way
  kubeadm.control_plane.failure_report:
    cluster: prod
    store:
      path: /srv/clusters/store
    error: "{{ ansible_failed_result.msg }}"
    task: "{{ ansible_failed_task.name }}"
"""

RETURN = r"""
msg:
  description: The error, what was under way, what the run has changed, whether it is safe now, and what to do.
  returned: always
  type: str
headline:
  description: The first sentence of the error, for a task that fails after this one.
  returned: always
  type: str
  version_added: 0.10.0
"""
