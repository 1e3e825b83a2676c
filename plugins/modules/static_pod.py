#!/usr/bin/python

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: static_pod
short_description: Restart one of kubeadm's static pods, with or without an API
version_added: 0.6.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Moves the component's manifest out of C(/etc/kubernetes/manifests), waits until its process has ended, moves it back, and
    waits until the new process reports that it is healthy. So the component reads its certificates and kubeconfig files again.
  - Waits for what happens, never for a fixed time. It asks the kernel and the component itself, so that it also works where no API
    server answers.
  - Before etcd is restarted, its members are asked. Where those on other machines would be no quorum, it is refused. With one or
    two voters there is none in any case; then the other one has to be healthy. They are asked again for up to 30 seconds.
  - A call that was killed leaves the manifest moved out at worst, and the next call completes it.
  - A process that still runs after the time that its pod has for ending is sent SIGTERM. A kubelet 1.22 that has not heard from an API server since
    it was started ends nothing when a manifest goes.
  - A kubelet that waits before it starts a container that failed often is restarted, which disturbs no running container.
options:
  component:
    description: Which static pod.
    type: str
    choices: [etcd, kube-apiserver, kube-controller-manager, kube-scheduler]
    required: true
  state:
    description: V(restarted) is the only one.
    type: str
    choices: [restarted]
    default: restarted
  once:
    description:
      - A name for this restart. One that was carried out under this name is not carried out again; without a name, each call
        restarts.
    type: str
    default: ""
  timeout:
    description: How many seconds all of it may take. A manifest that was moved out is put back when they are over.
    type: int
    default: 300
  healthy:
    description: Whether to wait until the component reports that it is healthy. Without it, its process is enough.
    type: bool
    default: true
  force:
    description: Restart etcd also where it may lose its quorum by it, such as where its certificates have expired everywhere.
    type: bool
    default: false
extends_documentation_fragment:
  - kubeadm.control_plane._node
  - kubeadm.control_plane._node.fencing
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.action_group
attributes:
  check_mode:
    support: full
  diff_mode:
    support: none
  idempotent:
    support: partial
    details:
      - With O(once).
seealso:
  - module: kubeadm.control_plane.kubeadm_certificates
"""

EXAMPLES = r"""
- name: Let the API server read its new certificates
  kubeadm.control_plane.static_pod:
    component: kube-apiserver
  become: true

- name: Restart etcd on each control plane node in turn, once for this renewal
  kubeadm.control_plane.static_pod:
    component: etcd
    once: renewal-2026-11
  become: true
  throttle: 1
"""

RETURN = r"""
msg:
  description: What was done, or why it was not.
  returned: always
  type: str
  sample: kube-apiserver was restarted, healthy after 3.2 s
"""

from ..module_utils.common import settings
from ..module_utils.common.guard import NodeError
from ..module_utils.node.components.static_pod import COMPONENTS, StaticPod
from ..module_utils.node.machine_module import MachineModule


def main() -> None:
    """Run the module."""
    module = MachineModule(
        argument_spec={
            "component": {"type": "str", "required": True, "choices": list(COMPONENTS)},
            "state": {"type": "str", "choices": ["restarted"], "default": "restarted"},
            "once": {"type": "str", "default": ""},
            "timeout": {"type": "int", "default": settings.RESTART_SECONDS},
            "healthy": {"type": "bool", "default": True},
            "force": {"type": "bool", "default": False},
        },
    )
    params = module.params
    with module.failing(NodeError):
        module.check()
        done = StaticPod(params["component"]).restart(
            once=params["once"],
            seconds=max(1, params["timeout"]),
            force=params["force"],
            healthy=params["healthy"],
            check=module.check_mode,
            before_change=module.check,
        )
    module.exit_json(changed=done.changed, msg=done.message)


if __name__ == "__main__":
    main()
