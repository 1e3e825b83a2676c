#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster
short_description: Apply a cluster's manifest to the store, or mark it for deletion
version_added: 0.1.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - With O(state=present), reads the cluster's manifest (Cluster, KubeadmControlPlane, machine template, infrastructure cluster and the user's own Secrets, in
    any Cluster API version from v1alpha3 to v1beta2), defaults and validates it, and stores it. Every violation is reported at once, and then nothing is
    stored.
  - What is stored already can't be changed in every respect. A manifest that changes, for example, the certificates' directory, swaps local and external
    etcd, or goes more than one minor version up is refused as a whole, with every path, its old and its new value. Another Cluster API version of
    the same content, or defaults written out, are no change.
  - With O(state=absent), sets the deletion timestamp; M(kubeadm.control_plane.decide) then decides the steps of the deletion.
  - Nothing in a manifest is ever templated.
options:
  state:
    description: Whether the cluster is to exist.
    type: str
    choices: [present, absent]
    default: present
  manifests:
    description: The files in which the cluster's documents are; needed for O(state=present).
    type: list
    elements: path
    default: []
  ignore_worker_nodes:
    description: With O(state=absent), whether the control plane is deleted although worker Nodes are still registered with it.
    type: bool
    default: false
  infrastructure_deleted:
    description: With O(state=absent), that machines and infrastructure are gone and the stored objects are to be deleted.
    type: bool
    default: false
  plan_file:
    description: With O(state=present), a plan that M(kubeadm.control_plane.plan) kept; where it was made for another manifest nothing is stored.
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
    support: full
seealso:
  - module: kubeadm.control_plane.decide
"""

EXAMPLES = r"""
- name: Store the manifest
  kubeadm.control_plane.cluster:
    cluster: prod
    store:
      path: /srv/clusters/store
    manifests:
      - /srv/clusters/prod.yaml

- name: Mark the cluster for deletion
  kubeadm.control_plane.cluster:
    cluster: prod
    store:
      path: /srv/clusters/store
    state: absent
"""

RETURN = r"""
exists:
  description: Whether the store has the cluster, or would have it outside check mode.
  returned: success
  type: bool
checked_beforehand:
  description: Whether it was checked what the machines are made of, as it is of a cluster that is new to the store, before anything was stored.
  returned: with a manifest
  type: bool
  version_added: 0.10.0
unmanaged:
  description: What the manifest has beside and is left alone, by kind.
  returned: with a manifest
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
  returned: success
  type: list
  elements: str
  sample:
    - "change KubeadmControlPlane default/prod: spec.replicas"
"""
