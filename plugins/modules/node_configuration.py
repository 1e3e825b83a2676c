#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_configuration
short_description: Apply a changed cluster configuration to one node, or roll back
version_added: 0.6.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - With O(work=control_plane), has kubeadm make the static pod manifests and certificates of a ClusterConfiguration, puts those that differ from
    what is in use in their places, one component after the other (etcd, API server, controller manager, scheduler), and waits for each until its new
    process runs and is healthy.
  - With O(work=kubelet), has kubeadm write the kubelet's configuration from its ConfigMap, restarts the kubelet, and waits until it is healthy and
    its Node is Ready.
  - Where something does not become healthy, everything that was changed on this node is put back, and the module fails with the reason in the
    component's own words. What was in use before is kept below C(/var/lib/kubeadm-control-plane/configuration), readable by root alone.
  - Before anything is changed, it is refused where the manifests in use have been changed by hand in a way that would be lost, where the new ones need
    a file or folder that this node does not have, and where kubeadm refuses the configuration.
  - The work runs as a transient systemd unit C(kubeadm-control-plane-configuration-<step>), which outlives this call and its caller. A later call with
    the same O(step) finds it, waits for it and takes its result.
options:
  step:
    description:
      - Names the work. What has succeeded under this name is not done again; what was rolled back, and reported to a caller, is tried again.
    type: str
    required: true
  work:
    description: What of the node changes.
    type: str
    required: true
    choices: [control_plane, kubelet]
  node:
    description: The name of this machine's Node.
    type: str
    required: true
  configuration:
    description: The new ClusterConfiguration, a document in an API version that this node's kubeadm reads. Needed with O(work=control_plane).
    type: json
  previous:
    description: The ClusterConfiguration until now, by which changes by hand are recognised. Needed with O(work=control_plane).
    type: json
  components:
    description: The static pods that may change; those that don't differ are left alone.
    type: list
    elements: str
    choices: [etcd, kube-apiserver, kube-controller-manager, kube-scheduler]
    default: []
  certificates:
    description: The certificates that may change, by kubeadm's names; those that are for the right names are left alone.
    type: list
    elements: str
    choices: [apiserver, etcd-server, etcd-peer]
    default: []
  manual_changes:
    description:
      - Whether to refuse, or to overwrite, what differs from O(previous) in the manifests in use.
      - With O(work=kubelet), whether to refuse, or only to tell in RV(changes), that flags of this node's kubelet outweigh O(fields).
    type: str
    choices: [Refuse, Overwrite]
    default: Refuse
  fields:
    description:
      - With O(work=kubelet), the paths of the fields that are to change in the kubelets' configuration, such as C(evictionHard.memory.available).
      - A kubelet takes the value of its own flag, such as one of C(nodeRegistration.kubeletExtraArgs), over that of its configuration.
    type: list
    elements: str
    default: []
  patches:
    description: The folder on this node with the user's patches for kubeadm, as given at init or join.
    type: path
  kubeconfig:
    description: The credentials with which the kubelet's ConfigMap and its Node are read, with O(work=kubelet).
    type: path
    default: /etc/kubernetes/kubelet.conf
  timeout:
    description: How many seconds a component may take until it is healthy.
    type: int
    default: 300
  only_compare:
    description: Only tell what would change, and refuse what can't go well, as check mode does.
    type: bool
    default: false
  fail_after_rollback:
    description: Whether this module fails where the node was put back, or could not be. Else RV(state) has it.
    type: bool
    default: true
  wait:
    description: Seconds to wait for the end within this call. When they are over and it continues, RV(state) is V(Running), which is no failure.
    type: int
    default: 60
extends_documentation_fragment:
  - kubeadm.control_plane._node
  - kubeadm.control_plane._node.fencing
  - kubeadm.control_plane._attributes
attributes:
  check_mode:
    support: full
    details:
      - Every refusal is the same as without check mode. With O(work=kubelet), only C(kubeadm upgrade node phase kubelet-config --dry-run) is run.
  diff_mode:
    support: full
  idempotent:
    support: full
seealso:
  - module: kubeadm.control_plane.kubeadm_config_map
"""

EXAMPLES = r"""
- name: What would another argument of the API server change on this machine?
  kubeadm.control_plane.node_configuration:
    step: audit-log
    work: control_plane
    node: prod-control-plane-x7k2p
    configuration: "{{ wanted }}"
    previous: "{{ stored }}"
    components: [kube-apiserver]
  become: true
  check_mode: true
  diff: true
"""

RETURN = r"""
state:
  description:
    - V(Running), V(Succeeded), V(RolledBack) where everything was put back, or V(Failed) where that did not become healthy either.
    - V(Absent) in check mode where it would be begun.
  returned: always, unless refused
  type: str
stage:
  description: Where it is, or what it ended with.
  returned: always, unless refused
  type: str
message:
  description: Why it was rolled back, in the component's own words.
  returned: always, unless refused
  type: str
changes:
  description: What differs from before, in words without secrets.
  returned: always, unless refused
  type: list
  elements: str
  sample: ["kube-apiserver --audit-log-maxage: not set -> '30'", "certificate apiserver: a new one with api.example.com"]
folder:
  description: Where this node keeps what was in use before.
  returned: always, unless refused
  type: str
startedAt:
  description: When it was begun, by the machine's clock.
  returned: always, unless refused
  type: str
finishedAt:
  description: When it ended, by the machine's clock.
  returned: always, unless refused
  type: str
"""

import json
import os
import shutil
import tempfile
import typing as t

from ..module_utils.common import settings, systemd_units
from ..module_utils.common.guard import NodeError
from ..module_utils.node.components import kubelet_flags
from ..module_utils.node.components.configuration_change import (
    ABSENT,
    FAILED,
    ROLLED_BACK,
    RUNNING,
    SUCCEEDED,
    Places,
    Report,
    Works,
)
from ..module_utils.node.components.control_plane_change import OVERWRITE, REFUSE, ControlPlaneChange, compare
from ..module_utils.node.components.kubelet_change import KubeletChange, rehearse
from ..module_utils.node.machine_module import MachineModule

CONTROL_PLANE = "control_plane"
KUBELET = "kubelet"


def request_of(params: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return the request of the operation. Raises NodeError."""
    request: dict[str, t.Any] = {
        "node": params["node"],
        "patches": params["patches"] or "",
        "timeout": params["timeout"],
        "kubeconfig": params["kubeconfig"],
    }
    if params["work"] == KUBELET:
        return request
    for name in ("configuration", "previous"):
        try:
            request[name] = json.loads(params[name] or "null")
        except ValueError as error:
            raise NodeError(f"{name} is no JSON: {error}.", "Nothing was changed. Correct it.") from error
        if not isinstance(request[name], dict) or not request[name].get("apiVersion"):
            raise NodeError(f"{name} must be a ClusterConfiguration.", "Nothing was changed. Give one.")
    return {**request, "components": params["components"], "certificates": params["certificates"]}


def preview(params: t.Mapping[str, t.Any], request: dict[str, t.Any], places: Places) -> list[str]:
    """Return the changes that this node would get, in words.

    The request is narrowed down to them. Raises NodeError where that is refused.
    """
    if params["work"] == KUBELET:
        rehearse(places, str(request["kubeconfig"]))
        words = kubelet_flags.flags_of_kubelet(places.unit_of_kubelet, places.proc, systemd_units.run)
        outweighed = kubelet_flags.outweighed(words, params["fields"])
        if outweighed and params["manual_changes"] == REFUSE:
            raise NodeError(
                f"the kubelet of this node has flags of its own, which outweigh its configuration: {', '.join(outweighed)}. "
                "It would continue as before.",
                "Nothing was changed. Take the flag out of /var/lib/kubelet/kubeadm-flags.env or /etc/default/kubelet here, and out of "
                "nodeRegistration.kubeletExtraArgs in the manifest; or leave the field out of the change; or set manualChanges: Overwrite "
                "for this node to keep its flag.",
            )
        return [
            "the kubelet's configuration is written from its ConfigMap, and the kubelet restarted",
            *(f"without effect here: {each}" for each in outweighed),
        ]
    os.makedirs(places.state, mode=0o700, exist_ok=True)
    folder = tempfile.mkdtemp(prefix=".compare-", dir=places.state)
    try:
        found = compare(request, places, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    found.require(params["manual_changes"])
    request.update(components=found.components, certificates=found.certificates)
    return found.lines


def document(report: Report, changes: t.Sequence[str]) -> dict[str, t.Any]:
    """Return a report under the names of the module's result."""
    return {
        "state": report.state,
        "stage": report.stage,
        "message": report.message,
        "startedAt": report.started_at,
        "finishedAt": report.finished_at,
        "folder": report.folder,
        "changes": list(report.changed or changes),
    }


def work(module: MachineModule, places: Places) -> dict[str, t.Any]:
    """Start or find the operation and wait for it. Raises NodeError."""
    params = module.params
    check = module.check_mode or params["only_compare"]
    works = Works({CONTROL_PLANE: ControlPlaneChange, KUBELET: KubeletChange}, places)
    step = params["step"]
    report = works.look(step)
    changes: list[str] = []
    begun = False
    if report.state == ABSENT or works.may_begin_again(step):
        request = request_of(params)
        changes = preview(params, request, places)
        if not changes:
            done = Report(SUCCEEDED, "done", "this node has it already")
            return dict(document(done, []), changed=False)
        if check:
            return dict(document(Report(ABSENT), changes), changed=not params["only_compare"])
        report = works.start(step, params["work"], request, changes)
        begun = True
    elif report.state == RUNNING and not check:
        report = works.start(step, params["work"], {}, [])
    if report.state == RUNNING and not check:
        report = works.wait(step, params["wait"])
    if report.state in (SUCCEEDED, ROLLED_BACK, FAILED) and not check:
        works.tell(step)
    return dict(document(report, changes), changed=begun)


def main() -> None:
    """Run the module."""
    module = MachineModule(
        argument_spec={
            "step": {"type": "str", "required": True},
            "work": {"type": "str", "required": True, "choices": [CONTROL_PLANE, KUBELET]},
            "node": {"type": "str", "required": True},
            "configuration": {"type": "json", "no_log": True},
            "previous": {"type": "json", "no_log": True},
            "components": {
                "type": "list",
                "elements": "str",
                "choices": ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"],
                "default": [],
            },
            "certificates": {
                "type": "list",
                "elements": "str",
                "choices": ["apiserver", "etcd-server", "etcd-peer"],
                "default": [],
            },
            "manual_changes": {"type": "str", "choices": [REFUSE, OVERWRITE], "default": REFUSE},
            "fields": {"type": "list", "elements": "str", "default": []},
            "patches": {"type": "path"},
            "kubeconfig": {"type": "path", "default": "/etc/kubernetes/kubelet.conf"},
            "timeout": {"type": "int", "default": settings.CONFIGURATION_SECONDS},
            "only_compare": {"type": "bool", "default": False},
            "fail_after_rollback": {"type": "bool", "default": True},
            "wait": {"type": "int", "default": 60},
        },
        required_if=[("work", CONTROL_PLANE, ("configuration", "previous"))],
    )
    with module.failing(NodeError):
        module.check()
        result = work(module, Places())
    if result["changes"]:
        result["diff"] = {"prepared": "".join(f"{line}\n" for line in result["changes"])}
    if result["state"] in (ROLLED_BACK, FAILED) and module.params["fail_after_rollback"]:
        after = (
            "Everything was put back as it was, and is healthy."
            if result["state"] == ROLLED_BACK
            else f"Look at this machine now; what was in use before is in {result['folder']}/backup."
        )
        module.fail_json(
            msg=f"the changed configuration did not work on {module.params['node']}: {result['message']} {after}",
            **result,
        )
    module.exit_json(**result)


if __name__ == "__main__":
    main()
