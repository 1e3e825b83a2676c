#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: control_plane_spec
short_description: Set the replicas or the time of the rollout of a control plane or of workers
version_added: 0.3.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Sets one field of the spec of a KubeadmControlPlane, or of a MachineDeployment, where that field is kept, and touches no machine. What follows from it,
    C(plan) shows and C(reconcile) carries out.
  - Where the cluster's manifest states the field, the manifest is edited. Only the characters of the value change; comments, order, quotes, line
    breaks and the file's other documents stay as they are.
  - Where that file lies in a work tree of a version control system (git, Mercurial, Subversion, Bazaar, Jujutsu) nothing is written. The change is printed as
    a unified diff and returned as RV(patch), for whoever reviews it.
  - Where the manifest leaves the field out, or where there is no manifest, the stored object is written. A manifest that leaves the field out never reverts
    it.
  - The same rules as for a manifest hold. An edit that they refuse, or that would change anything else, is not made.
  - A value that comes from an anchor, an alias, a tag or a template is refused with its line and with what to type there.
options:
  replicas:
    description:
      - The number of machines wanted; that of control plane machines is odd unless etcd is external.
      - Exactly one of O(replicas) and O(rollout_after) is needed.
    type: int
  rollout_after:
    description:
      - Machines made before this time are replaced, once it has come. V(now), or a time in RFC 3339 such as V(2026-01-31T10:00:00Z).
      - The field is C(spec.rollout.after), and in manifests before v1beta2 C(spec.rolloutAfter) or C(spec.upgradeAfter).
    type: str
  deployment:
    description:
      - The name of a MachineDeployment of the cluster, whose field is set. Without it the control plane's is.
    type: str
    default: ""
    version_added: 0.10.0
  manifests:
    description: The files in which the cluster's documents are. Without them the stored object is written.
    type: list
    elements: path
    default: []
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
      - The diff has no context lines, as file contents and Secrets may be beside the field.
  idempotent:
    support: partial
    details:
      - With O(rollout_after=now) each run sets another time.
seealso:
  - module: kubeadm.control_plane.plan
"""

EXAMPLES = r"""
- name: Scale to five machines
  kubeadm.control_plane.control_plane_spec:
    cluster: prod
    store:
      path: /srv/clusters/store
    manifests:
      - /srv/clusters/prod.yaml
    replicas: 5

- name: Replace every machine that exists now
  kubeadm.control_plane.control_plane_spec:
    cluster: prod
    store:
      path: /srv/clusters/store
    manifests:
      - /srv/clusters/prod.yaml
    rollout_after: now
"""

RETURN = r"""
where:
  description: Where the field is kept.
  returned: success
  type: str
  choices: [manifest, store]
written:
  description: Whether the manifest or the stored object was written. It is not in check mode, in a work tree, and where the value is there already.
  returned: success
  type: bool
field:
  description: The field's path, as it is written there.
  returned: success
  type: str
  sample: spec.replicas
file:
  description: The manifest's file.
  returned: when the manifest states the field
  type: str
line:
  description: The line of the value in that file.
  returned: when the manifest states the field
  type: int
before:
  description: The value until now.
  returned: success
  type: raw
  sample: 3
after:
  description: The value wanted.
  returned: success
  type: raw
  sample: 5
patch:
  description: The change as a unified diff without context, relative to the work tree's root. Where other fields stand on the same line they are not shown.
  returned: when the manifest lies in a work tree and does not have the value yet
  type: str
msg:
  description: What was done, and what to type next.
  returned: success
  type: str
"""
