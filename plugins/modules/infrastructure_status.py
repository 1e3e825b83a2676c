#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: infrastructure_status
short_description: Record what an infrastructure provider made
version_added: 0.1.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Merges spec and status into one of the provider's own objects in the store, and passes on what the Cluster or the Machine takes over from it (endpoint,
    failure domains, provider ID, addresses, machine-id), as Cluster API's core controllers do.
options:
  kind:
    description: Kind of the provider's object.
    type: str
    required: true
  name:
    description: Name of the provider's object.
    type: str
    required: true
  spec:
    description: Fields of C(spec) to set, such as V(providerID) or V(controlPlaneEndpoint).
    type: dict
    default: {}
  status:
    description:
      - Fields of C(status) to set, such as V(initialization), V(addresses), V(connection), V(machineID) or V(instanceData).
      - The values of V(instanceData) become parts of files, commands and flags of the machine. Each is a word of at most 512 letters, digits and
        C(._:/@+-), or empty where it is not known; anything else is refused, and nothing is recorded then.
    type: dict
    default: {}
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
- name: Record the machine
  kubeadm.control_plane.infrastructure_status:
    cluster: prod
    store:
      path: /srv/clusters/store
    kind: NspawnMachine
    name: prod-control-plane-x7k2p
    spec:
      providerID: nspawn:///prod/prod-control-plane-x7k2p
    status:
      initialization:
        provisioned: true
      addresses:
        - type: InternalIP
          address: 10.88.0.11
      instanceData:
        instanceID: 7a0a91c05b6a4c66b1d95b9f6e1a3d10
        region: eu-central
        zone: eu-central-1
"""

RETURN = r"""
"""
