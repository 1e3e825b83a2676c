#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: management_cluster
short_description: Install what makes a Kubernetes API server a store for clusters
version_added: 0.7.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Installs what a store of type C(kubernetes) needs in an API server. These are the CustomResourceDefinitions of all kinds, the ClusterRoles that add them to
    Kubernetes' roles C(view), C(edit) and C(admin) and to Cluster API's manager, and, in each namespace with clusters, a Role with what a run needs
    and nothing else.
  - Checks everything before it writes anything. An API server in which Cluster API's own controllers manage these kinds is recognised and refused, and so
    are definitions of a newer release of this collection, definitions of other software, and objects kept in a version that this release doesn't serve.
  - Needs credentials that may write these objects, a cluster's administrator's as a rule. Runs themselves need the Role only.
  - The store's type has to be C(kubernetes); its path plays no part here.
  - Removes nothing. Deleting a definition would delete every object of its kind.
options:
  namespaces:
    description: The namespaces with clusters. They are made where they are missing, and each gets the Role C(kubeadm-control-plane-runner).
    type: list
    elements: str
    default: [default]
  runners:
    description:
      - Who gets the Role in each of O(namespaces), by a RoleBinding of the same name, whose subjects are then these and no others.
      - Without any, no RoleBinding is made or changed.
    type: list
    elements: dict
    default: []
    suboptions:
      kind:
        description: What the runner is to the API server.
        type: str
        choices: [User, Group, ServiceAccount]
        required: true
      name:
        description: Its name.
        type: str
        required: true
      namespace:
        description: A ServiceAccount's namespace; the Role's own where it is left out.
        type: str
  providers:
    description:
      - Infrastructure providers' roles of your own, by the kind of template or cluster that each serves, as C(control_plane_more_providers) has them.
      - For C(AcmeMachineTemplate) the kinds C(AcmeCluster), C(AcmeMachine) and C(AcmeMachineTemplate) are defined.
      - A provider that has brought definitions of its own of one of them, in whatever group and versions, keeps these, and none is made. The Role then has its
        kinds as they are defined there. Install the provider's definitions first, and run this again when it brings more.
      - In another group than C(infrastructure.cluster.x-k8s.io) a definition is taken for the provider's where it has a label of Cluster API's contract.
        There is a warning about others of the same kind.
      - Kinds that were made before stay in the Role, also of a provider that is not named any more.
    type: dict
    default: {}
extends_documentation_fragment:
  - kubeadm.control_plane._store
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.action_group
  - kubeadm.control_plane._attributes.action
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
"""

EXAMPLES = r"""
- name: Make an API server a store
  kubeadm.control_plane.management_cluster:
    store:
      type: kubernetes
      kubeconfig: ~/.kube/management
    namespaces: [team-a, team-b]
    runners:
      - kind: ServiceAccount
        name: awx
        namespace: awx
"""

RETURN = r"""
host:
  description: The API server.
  returned: success
  type: str
changes:
  description: What was made or changed, or would be in check mode.
  returned: success
  type: list
  elements: str
"""
