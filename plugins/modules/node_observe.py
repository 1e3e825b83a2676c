#!/usr/bin/python

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_observe
short_description: Observe a control plane from one of its machines
version_added: 0.1.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Gives, in one call, what one machine can tell of its control plane - its own facts, the control plane Nodes and static
    pods, kubeadm's configuration, kube-proxy, CoreDNS, what new Nodes need to register, the whole etcd cluster, and
    whether the control plane endpoint answers as this cluster.
  - The API server is asked at the machine's own address, never through the endpoint. Every etcd member is asked itself.
  - What answers is returned at once. What seems dead is observed again before it is called dead.
  - It reads no Secret. Nothing that it returns is secret, unless it is in an object that O(objects) asks for.
options:
  endpoint:
    description:
      - The control plane endpoint as C(host:port). By default the server in C(/etc/kubernetes/admin.conf).
    type: str
  look_again:
    description: Whether to observe again what does not answer, O(looks) times in all.
    type: bool
    default: true
  looks:
    description: How often to look, at most, at what does not answer.
    type: int
    default: 3
  interval:
    description: Seconds from the start of one observation to that of the next.
    type: float
    default: 2.5
  timeout:
    description: Seconds for each request.
    type: float
    default: 3.0
  settle:
    description:
      - Seconds to wait, at most, until this machine's own API server is ready and its other components say that they are
        healthy, before anything is observed. For a machine that has just joined.
      - Nothing is waited for where there is no control plane.
    type: float
    default: 0.0
    version_added: 0.5.0
  workers:
    description:
      - Whether the Nodes of workers are returned as those of the control plane are. Without it they are named and counted.
    type: bool
    default: false
  objects:
    description:
      - Further objects to read through the API, whatever their kinds; the API is asked what it calls them.
      - Secrets are refused. An object of more than 256 KiB is not returned, and of all together no more than 1 MiB.
      - No more than 20.
    type: list
    elements: dict
    default: []
    suboptions:
      apiVersion:
        description: The object's C(apiVersion).
        type: str
        required: true
      kind:
        description: The object's kind.
        type: str
        required: true
      namespace:
        description: The object's namespace, C(default) by default; none for kinds that have none.
        type: str
      name:
        description: The object's name.
        type: str
        required: true
  run:
    description:
      - The name of the run that has the lock, as M(kubeadm.control_plane.run) returns it, with O(fencing). The same number of another run, which has a
        copy of the store, is refused as well.
    type: str
    default: ""
extends_documentation_fragment:
  - kubeadm.control_plane._node
  - kubeadm.control_plane._node.fencing
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.info_module
"""

EXAMPLES = r"""
- name: Observe the control plane of a machine
  kubeadm.control_plane.node_observe:
  become: true
  register: observed

- name: Read a Deployment with it
  kubeadm.control_plane.node_observe:
    objects:
      - apiVersion: apps/v1
        kind: Deployment
        namespace: shop
        name: web
  become: true
  register: observed

- name: Show whether the API server and etcd answer there
  ansible.builtin.debug:
    msg: "{{ observed.observation.api.answers }}, {{ observed.observation.etcd.reachable }}"
"""

RETURN = r"""
observation:
  description:
    - What was seen. Texts are as the machine, the API and etcd gave them.
  returned: success
  type: dict
  contains:
    observationVersion:
      description: The form of the observation.
      type: str
      returned: success
      sample: v1
    machine:
      description:
        - The machine's own facts - machine-id, boot ID, clock, versions, ends of its certificates, free disk space,
          state of its bootstrap.
      type: dict
      returned: success
    api:
      description: Whether the machine's own API server answered, its Date header, and why not.
      type: dict
      returned: success
    endpoint:
      description: Whether the control plane endpoint answered with a certificate of this cluster's CA, and why not.
      type: dict
      returned: success
    etcd:
      description: Members, statuses, leader and alarms of etcd; null where the API server uses an external etcd.
      type: dict
      returned: success
    objects:
      description:
        - Nodes, pods and other Kubernetes objects, cut down to what is needed; null where the API server did not
          answer.
      type: dict
      returned: success
    wanted:
      description:
        - For each of O(objects), in the same order, C(found), C(object) and C(message). C(found) is false where the API
          says that there is no such object, and null where it could not be asked or the object may not be returned.
        - Null where the API server did not answer.
      type: list
      elements: dict
      returned: success
"""

from ..module_utils.common import settings
from ..module_utils.common.guard import NodeError
from ..module_utils.node import arguments
from ..module_utils.node.machine_module import MachineModule
from ..module_utils.observe.collect import Looks, collect
from ..module_utils.observe.settling import wait_until_up


def main() -> None:
    """Run the module."""
    module = MachineModule(
        argument_spec={
            "endpoint": {"type": "str"},
            "look_again": {"type": "bool", "default": True},
            "looks": {"type": "int", "default": settings.LOOKS},
            "interval": {"type": "float", "default": settings.LOOK_INTERVAL_SECONDS},
            "timeout": {"type": "float", "default": settings.ANSWER_SECONDS},
            "settle": {"type": "float", "default": 0.0},
            "objects": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {
                    "apiVersion": {"type": "str", "required": True},
                    "kind": {"type": "str", "required": True},
                    "namespace": {"type": "str"},
                    "name": {"type": "str", "required": True},
                },
            },
            "run": {"type": "str", "default": ""},
            "workers": {"type": "bool", "default": False},
        },
    )
    params = module.params
    with module.failing(NodeError):
        # The Lease is raised by the observation itself, which asks the same API server.
        unkept = arguments.check(params, check_mode=module.check_mode, ask_cluster=False, must_keep=False)
        count = max(1, params["looks"]) if params["look_again"] else 1
        looks = Looks(count, max(0.0, params["interval"]), max(0.1, params["timeout"]))
        if params["settle"] > 0:
            wait_until_up(params["settle"])
        number = None if module.check_mode else params["fencing"]
        with arguments.remembering(check_mode=module.check_mode):
            observation = collect(
                looks,
                params["endpoint"],
                wanted=params["objects"],
                number=number,
                run=params["run"],
                workers=params["workers"],
            )
        if unkept is not None and not observation["api"]["answers"]:
            # Neither the machine nor the cluster's Lease has the number: an older run would be refused by nothing.
            raise unkept
    module.exit_json(changed=False, observation=observation)


if __name__ == "__main__":
    main()
