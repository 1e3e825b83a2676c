#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_report
short_description: Write a report of clusters' runs, from their journals
version_added: 0.10.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Reads the journals of clusters and writes what their runs did as one HTML page, as Markdown for a ticket, and as pictures.
  - Asks no machine and no API server, takes no lock and changes nothing but its own files. So it also tells of a run that was killed, and of a cluster that
    is gone.
  - The same journals give the same bytes. Files are readable for their owner alone. They hold no secrets.
options:
  hosts:
    description: The clusters' hosts in the inventory. Their variables C(control_plane_cluster), C(control_plane_namespace) and C(control_plane_store) are read.
    type: list
    elements: str
    required: true
  directory:
    description: The folder for the files. It is made where it isn't there.
    type: path
    required: true
  formats:
    description:
      - What is written. V(html) is C(report.html), one page for all clusters without a script or an address outside itself. V(markdown) is C(report.md).
        V(svg) is C(NAMESPACE.CLUSTER.svg), a picture of each cluster's newest run.
    type: list
    elements: str
    choices: [html, markdown, svg]
    default: [html]
  run:
    description: The id of the only run that is shown. Without it the newest are.
    type: str
    default: ""
  since:
    description: A time in RFC 3339. Runs that ended before it are left out.
    type: str
    default: ""
  runs:
    description: How many of each cluster's newest runs are shown, 1 to 50. The others are counted.
    type: int
    default: 10
  watch:
    description:
      - A record of who asked the control plane endpoint all the time, one JSON object a line as C({"t":1767323041.2,"what":"endpoint","ok":true}), with
        seconds since the epoch. Its gaps are shown in place of those between observations. For one cluster.
    type: path
    default: ""
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
seealso:
  - module: kubeadm.control_plane.cluster_status
"""

EXAMPLES = r"""
# In a play for control_planes
- name: Report the last runs of all clusters
  kubeadm.control_plane.cluster_report:
    hosts: "{{ ansible_play_hosts_all }}"
    directory: reports
    formats: [html, markdown]
  run_once: true
"""

RETURN = r"""
files:
  description: The paths of the report's files.
  returned: success
  type: list
  elements: str
  sample: [/srv/clusters/reports/report.html]
"""
