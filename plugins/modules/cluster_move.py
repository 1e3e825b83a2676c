#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: cluster_move
short_description: Move a cluster's objects from one store to another
version_added: 0.7.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Carries everything that a store has of a cluster to another store, its Secrets and its Actions too - from files to a Kubernetes API, from there to another
    one or to the cluster's own, and back to files. The machines are not touched.
  - Both stores' locks are held. The Cluster is paused meanwhile, and no run works on it from either store until the move has ended.
  - Everything is read back from O(to) and compared before that becomes the cluster's store. Then the objects are deleted in O(store). A call that was killed
    is completed by the same call.
  - Its lock has a number in O(to) that is above every one that O(store) ever gave.
options:
  to:
    description:
      - The store that the cluster is moved to, with the same options as O(store). A Kubernetes API must have been made a store before
        (M(kubeadm.control_plane.management_cluster)).
    type: dict
    required: true
    suboptions:
      type:
        description: See O(store.type).
        type: str
        choices: [file, kubernetes]
        default: file
      path:
        description: See O(store.path).
        type: path
      encrypt_secrets:
        description: See O(store.encrypt_secrets).
        type: bool
        default: false
      export:
        description: See O(store.export).
        type: path
      kubeconfig:
        description: See O(store.kubeconfig).
        type: path
      context:
        description: See O(store.context).
        type: str
      host:
        description: See O(store.host).
        type: str
      api_key:
        description: See O(store.api_key).
        type: str
      username:
        description: See O(store.username).
        type: str
      password:
        description: See O(store.password).
        type: str
      client_cert:
        description: See O(store.client_cert).
        type: path
        aliases: [cert_file]
      client_key:
        description: See O(store.client_key).
        type: path
        aliases: [key_file]
      ca_cert:
        description: See O(store.ca_cert).
        type: path
        aliases: [ssl_ca_cert]
      validate_certs:
        description: See O(store.validate_certs).
        type: bool
        aliases: [verify_ssl]
      proxy:
        description: See O(store.proxy).
        type: str
      no_proxy:
        description: See O(store.no_proxy).
        type: str
      proxy_headers:
        description: See O(store.proxy_headers).
        type: dict
        version_added: 0.9.0
        suboptions:
          proxy_basic_auth:
            description: See O(store.proxy_headers.proxy_basic_auth).
            type: str
          basic_auth:
            description: See O(store.proxy_headers.basic_auth).
            type: str
          user_agent:
            description: See O(store.proxy_headers.user_agent).
            type: str
      impersonate_user:
        description: See O(store.impersonate_user).
        type: str
      impersonate_groups:
        description: See O(store.impersonate_groups).
        type: list
        elements: str
      persist_config:
        description: See O(store.persist_config).
        type: bool
      in_cluster:
        description: See O(store.in_cluster).
        type: bool
        default: false
  undo:
    description: Take back a move to O(to) that has begun and not ended. The cluster stays in O(store), as it was.
    type: bool
    default: false
  use_export:
    description: Whether O(store) may be the copy that a store's O(store.export) left, which then counts as newer than what the API has.
    type: bool
    default: false
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
seealso:
  - module: kubeadm.control_plane.management_cluster
  - module: kubeadm.control_plane.cluster_export
"""

EXAMPLES = r"""
- name: Move a cluster into a management cluster
  kubeadm.control_plane.cluster_move:
    cluster: prod
    store:
      path: /srv/clusters/store
    to:
      type: kubernetes
      kubeconfig: /srv/clusters/management.kubeconfig
      path: /srv/clusters/journal
"""

RETURN = r"""
msg:
  description: Where the cluster is kept now.
  returned: success
  type: str
changes:
  description: What was done, or in check mode would be done, in words.
  returned: success
  type: list
  elements: str
  sample: ["create Cluster prod", "from now on the cluster is kept in the Kubernetes API https://192.0.2.10:6443", "delete Machine prod-x7k2p"]
"""
