#!/usr/bin/python

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: workload_objects
short_description: Read and change a workload cluster's objects by compare-and-swap
version_added: 0.2.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Runs on a control plane node and asks that node's own API server, with the node's admin credentials. It needs nothing
    but Python and C(kubectl) there.
  - Returns fields of objects, and makes changes that were worked out from them. A patch is made only if the object still
    has the resourceVersion that it was worked out from; the API server itself compares. A change that comes too late is
    no failure. It is returned in RV(conflict), for the caller to read and work it out again.
  - The modules that edit objects of the workload cluster are built on it. Secrets are neither read nor written.
options:
  read:
    description: The objects to read, before anything is written.
    type: list
    elements: dict
    default: []
    suboptions:
      path:
        description: The object's path in the API.
        type: str
        required: true
      keep:
        description:
          - The fields to return, besides identity and resourceVersion, with C([]) after the name of a list.
          - A key with dots is in brackets.
        type: list
        elements: str
        default: []
  write:
    description: The changes to make, in this order. The first that is not confirmed ends them.
    type: list
    elements: dict
    default: []
    suboptions:
      path:
        description: The object's path in the API; that of the list for O(write[].method=create).
        type: str
        required: true
      method:
        description: V(create) an object, or patch one by a V(merge) patch or a V(strategic) merge patch.
        type: str
        choices: [create, merge, strategic]
        required: true
      document:
        description: The object, or the patch.
        type: json
        required: true
      resource_version:
        description:
          - The resourceVersion that a patch was worked out from.
          - Patches of one object in one call follow each other. The later ones are compared with what the earlier left.
        type: str
        default: ""
extends_documentation_fragment:
  - kubeadm.control_plane._workload.kubeconfig
  - kubeadm.control_plane._node
  - kubeadm.control_plane._node.fencing
  - kubeadm.control_plane._attributes
attributes:
  check_mode:
    support: full
    details:
      - In check mode everything in O(write) counts as a change and nothing is sent.
  diff_mode:
    support: none
  idempotent:
    support: none
    details:
      - A second patch from the same resourceVersion is a conflict.
seealso:
  - module: kubeadm.control_plane.kubeadm_config_map
"""

EXAMPLES = r"""
- name: Read which image kube-proxy runs
  kubeadm.control_plane.workload_objects:
    read:
      - path: /apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy
        keep:
          - spec.template.spec.containers[].name
          - spec.template.spec.containers[].image
          - metadata.annotations[deprecated.daemonset.template.generation]
  become: true
  register: kube_proxy

- name: Annotate it, unless it was changed meanwhile
  kubeadm.control_plane.workload_objects:
    write:
      - path: /apis/apps/v1/namespaces/kube-system/daemonsets/kube-proxy
        method: merge
        resource_version: "{{ kube_proxy.objects.values() | map(attribute='metadata.resourceVersion') | first }}"
        document:
          metadata:
            annotations:
              example.org/checked: "yes"
  become: true
"""

RETURN = r"""
objects:
  description: The objects of O(read) by their paths, cut down to what was asked for; null where there is none.
  returned: success
  type: dict
written:
  description: How many of the changes in O(write) were made.
  returned: success, and when the API refused one
  type: int
conflict:
  description: Why the next one came too late, as its object was changed or deleted; empty otherwise.
  returned: success
  type: str
unconfirmed:
  description:
    - Why the API server could not take the next one (HTTP 429 or 5xx), or may have taken it (5xx or no answer); empty otherwise.
    - Read the object again, best through another control plane node.
  returned: success
  type: str
  version_added: 0.10.0
"""

import json

from ..module_utils.common import settings
from ..module_utils.common.guard import NodeError
from ..module_utils.common.https import Unreachable
from ..module_utils.node import arguments
from ..module_utils.node.machine_module import MachineModule
from ..module_utils.workload_api import compare_and_swap
from ..module_utils.workload_api.api import ADMIN_KUBECONFIG, ApiError, own_client


def main() -> None:
    """Run the module."""
    reads = {"path": {"type": "str", "required": True}, "keep": {"type": "list", "elements": "str", "default": []}}
    writes = {
        "path": {"type": "str", "required": True},
        "method": {"type": "str", "choices": ["create", "merge", "strategic"], "required": True},
        # As one text, so that only the whole of it would be masked: it may hold what a user put into a configuration.
        "document": {"type": "json", "required": True, "no_log": True},
        "resource_version": {"type": "str", "default": ""},
    }
    module = MachineModule(
        argument_spec={
            "read": {"type": "list", "elements": "dict", "default": [], "options": reads},
            "write": {"type": "list", "elements": "dict", "default": [], "options": writes},
            "kubeconfig": {"type": "path", "default": ADMIN_KUBECONFIG},
        },
    )
    with module.failing(NodeError, ApiError, Unreachable):
        module.exit_json(**work(module))


def work(module: MachineModule) -> dict[str, object]:
    """Read objects, then write changes."""
    params = module.params
    # Only read, it is enough that the cluster's Lease has the number, which is held below.
    arguments.check(params, check_mode=module.check_mode, ask_cluster=False, must_keep=bool(params["write"]))
    changes = [
        compare_and_swap.Write(each["path"], each["method"], json.loads(each["document"]), each["resource_version"])
        for each in params["write"]
    ]
    with own_client(params["kubeconfig"], settings.OBJECTS_ANSWER_SECONDS) as client:
        wanted = [compare_and_swap.Read(each["path"], tuple(each["keep"])) for each in params["read"]]
        arguments.hold(client, params, check_mode=module.check_mode)
        objects = compare_and_swap.read(client, wanted)
        if module.check_mode:
            return {"changed": bool(changes), "objects": objects, "written": 0, "conflict": "", "unconfirmed": ""}
        done = compare_and_swap.write(client, changes)
    if done.refused:
        module.fail_json(msg=done.refused, changed=done.count > 0, written=done.count)
    ended = {"written": done.count, "conflict": done.conflict, "unconfirmed": done.unconfirmed}
    return {"changed": done.count > 0, "objects": objects, **ended}


if __name__ == "__main__":
    main()
