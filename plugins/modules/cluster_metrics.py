#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_metrics
short_description: Write a cluster's metrics to a file for Prometheus
version_added: 0.10.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Observes the cluster as M(kubeadm.control_plane.cluster_status) does and writes what it shows as metrics, for the textfile collector of Prometheus'
    node_exporter. The page C(docs/metrics.md) has a table of them.
  - Changes nothing in the cluster, takes no lock and can run beside a reconcile.
  - Each cluster of each store has a file of its own, which is replaced as a whole. Files of a cluster that the store doesn't have are removed, but see
    O(manifests).
options:
  directory:
    description: The folder that node_exporter is given with C(--collector.textfile.directory). It must be there.
    type: path
    required: true
  backup_directory:
    description: The folder of the backups, as of O(kubeadm.control_plane.cluster_backup#module:directory). Without it there are no metrics of backups.
    type: path
    default: ""
  manifests:
    description:
      - See O(kubeadm.control_plane.cluster#module:manifests). They are not read. Where there are any, a cluster that the store doesn't have isn't gone, and the
        files of its last run and last health check stay.
    type: list
    elements: path
    default: []
extends_documentation_fragment:
  - kubeadm.control_plane._cluster
  - kubeadm.control_plane._store
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.action_group
  - kubeadm.control_plane._attributes.action
attributes:
  check_mode:
    support: partial
    details:
      - In check mode nothing is observed or written.
  diff_mode:
    support: none
  idempotent:
    support: none
    details:
      - Each call observes the cluster again, and the file has the time of it.
seealso:
  - module: kubeadm.control_plane.cluster_status
"""

EXAMPLES = r"""
- name: Write the metrics of a cluster
  kubeadm.control_plane.cluster_metrics:
    cluster: prod
    store:
      path: /srv/clusters/store
    directory: /var/lib/prometheus/node-exporter
    backup_directory: /srv/clusters/backups
"""

RETURN = r"""
file:
  description: The path of the file; empty where the store has no such cluster.
  returned: success
  type: str
  sample: /var/lib/prometheus/node-exporter/kubeadm-control-plane-default.prod-1f0c9b52aa31.prom
"""
