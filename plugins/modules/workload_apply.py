#!/usr/bin/python

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: workload_apply
short_description: Apply documents to a workload cluster, server-side
version_added: 0.10.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Runs on a control plane node and asks that node's own API server, with the node's admin credentials. It needs nothing
    but Python and C(kubectl) there.
  - Each document is applied by server-side apply, in the order of O(documents), with the field manager
    C(kubeadm-control-plane-resource-set). A field that another manager has becomes this one's. Each is tried, whatever became of
    those before it. A kind that a document before it defines is waited for.
  - What is in no document is left alone, and nothing is deleted.
  - The steps that apply ClusterResourceSets use it.
options:
  documents:
    description:
      - A list of objects as a text in JSON, each with C(apiVersion), C(kind) and C(metadata.name).
      - Make the text with C(to_json). Of a list that is given as such, Ansible masks every single value wherever it occurs, in the
        results, too.
      - Without C(metadata.namespace) an object of a kind that has namespaces goes to C(default).
    type: json
    required: true
  create_only:
    description: Whether an object that is there already is left as it is.
    type: bool
    default: false
  private:
    description:
      - Whether texts of the API server are kept back, since they may quote what a document holds. Its reason and the fields remain.
      - For a Secret it is always so.
    type: bool
    default: false
extends_documentation_fragment:
  - kubeadm.control_plane._workload.kubeconfig
  - kubeadm.control_plane._node
  - kubeadm.control_plane._node.fencing
  - kubeadm.control_plane._attributes
attributes:
  check_mode:
    support: partial
    details:
      - In check mode nothing is sent, and everything in O(documents) counts as a change.
  diff_mode:
    support: none
  idempotent:
    support: full
seealso:
  - module: kubeadm.control_plane.resource_sets
  - module: kubeadm.control_plane.workload_objects
"""

EXAMPLES = r"""
- name: Have a namespace and its quota
  kubeadm.control_plane.workload_apply:
    documents: "{{ documents | to_json }}"
  vars:
    documents:
      - apiVersion: v1
        kind: Namespace
        metadata:
          name: shop
      - apiVersion: v1
        kind: ResourceQuota
        metadata:
          name: pods
          namespace: shop
        spec:
          hard:
            pods: "20"
  become: true
  register: applied
  failed_when: applied.documents | selectattr('done', 'equalto', 'refused') | list | length > 0
"""

RETURN = r"""
documents:
  description: What became of each document, in their order.
  returned: success, not in check mode
  type: list
  elements: dict
  contains:
    title:
      description: Its kind, namespace and name.
      type: str
    done:
      description: >-
        V(created), V(changed), V(unchanged), V(kept) (it was there, O(create_only)), or V(refused).
      type: str
    message:
      description: Why it was refused, in the API server's words.
      type: str
"""

import json

from ..module_utils.common import settings
from ..module_utils.common.guard import NodeError
from ..module_utils.common.https import Unreachable
from ..module_utils.node import arguments
from ..module_utils.node.machine_module import MachineModule
from ..module_utils.workload_api import apply
from ..module_utils.workload_api.api import ADMIN_KUBECONFIG, ApiError, own_client


def main() -> None:
    """Run the module."""
    module = MachineModule(
        argument_spec={
            # As one text, so that only the whole of it would be masked.
            "documents": {"type": "json", "required": True, "no_log": True},
            "create_only": {"type": "bool", "default": False},
            "private": {"type": "bool", "default": False},
            "kubeconfig": {"type": "path", "default": ADMIN_KUBECONFIG},
        },
    )
    with module.failing(NodeError, ApiError, Unreachable):
        module.exit_json(**work(module))


def work(module: MachineModule) -> dict[str, object]:
    """Apply the documents."""
    params = module.params
    module.check(ask_cluster=False)
    try:
        documents = json.loads(params["documents"])
    except (ValueError, RecursionError):
        documents = None
    if not isinstance(documents, list) or not all(isinstance(each, dict) for each in documents):
        raise NodeError(
            "documents is no list of objects in JSON; nothing was applied.", "Give each object as an entry of the list."
        )
    with own_client(params["kubeconfig"], settings.APPLY_ANSWER_SECONDS) as client:
        arguments.hold(client, params, check_mode=module.check_mode)
        if module.check_mode:
            return {"changed": bool(documents)}
        done = apply.apply(client, documents, params["create_only"], params["private"])
    changed = any(each.done in (apply.CREATED, apply.CHANGED) for each in done)
    return {"changed": changed, "documents": [each.as_data() for each in done]}


if __name__ == "__main__":
    main()
