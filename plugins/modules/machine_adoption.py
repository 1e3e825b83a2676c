#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: machine_adoption
short_description: Adopt machines without a controller into a control plane
version_added: 0.4.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Takes over Machine objects that carry the labels of a cluster's control plane and have no controller, such as those of a
    control plane that Cluster API managed machine by machine.
  - All machines are taken over, or none. Each must have a KubeadmConfig and a version at most one minor version away from the
    KubeadmControlPlane's; whether that is so is checked before anything is written. A run that was killed continues where it stopped.
  - Where the KubeadmControlPlane gives no C(spec.kubeadmConfigSpec), it is made from the machines' KubeadmConfigs; only its
    C(joinConfiguration), where none of them has more. It holds for as long as the manifest gives none.
  - Secrets that the machines' KubeadmConfigs own, certificates and kubeconfig, are owned by the KubeadmControlPlane afterwards.
  - It works on objects in the store. A cluster that was made by hand has none yet - use the playbook C(adopt) for that.
options:
  machines:
    description: Names of the Machines, as the decision names them.
    type: list
    elements: str
    required: true
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
    support: none
  idempotent:
    support: full
"""

EXAMPLES = r"""
- name: Adopt two machines
  kubeadm.control_plane.machine_adoption:
    cluster: prod
    store:
      path: /srv/clusters/store
    machines:
      - prod-controlplane-0
      - prod-controlplane-1
"""

RETURN = r"""
changes:
  description: What was done, in words; in check mode, what would be.
  returned: success
  type: list
  elements: str
  sample:
    - own Secret prod-ca
    - adopt Machine prod-controlplane-0
"""
