#!/usr/bin/python

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_bootstrap
short_description: Bootstrap a machine as control plane node with kubeadm
version_added: 0.1.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - With O(state=present) and O(data), writes the users, the files and kubeadm's configuration, and runs the
    commands before kubeadm, C(kubeadm init) or C(kubeadm join), and the commands after
    it, as one transient systemd unit C(kubeadm-control-plane-<step>), which outlives this call and its caller.
  - A later call with the same O(step) finds that unit, waits for it and takes its result. A second one is never
    started, whatever O(data) says.
  - A machine that carries another cluster or another bootstrap is refused and left as it is, and so is one whose
    kubeadm is of another version than the data is for.
  - Right before kubeadm is run, after the commands before it, the disks are checked, and again once the images of O(data.images) are there.
    With less than 256 MiB free for etcd's data, C(/var/lib/kubelet) or the container runtime's images, kubeadm is not run.
    It would add the machine's etcd member first, and an etcd without room never starts.
  - Where it fails, the machine is left for diagnosis - the output is in
    C(/var/lib/kubeadm-control-plane/bootstrap/output). Where it succeeds, kubeadm's configuration with its token, the commands and the output are deleted.
  - With O(state=absent), takes the machine back with C(kubeadm reset) - static pods, certificates, kubeconfigs, etcd's data, and what this module, a
    restore and a recovery of etcd keep. The machine's etcd member must have been removed before, see M(kubeadm.control_plane.etcd_member). Users, and
    files outside kubeadm's folders, are left.
options:
  state:
    description: Whether the machine is to be a control plane node.
    type: str
    choices: [present, absent]
    default: present
  step:
    description:
      - A name for this attempt, part of the unit's name. Lower-case letters, digits, C(-) and C(.).
      - Needed for O(state=present).
    type: str
  data:
    description:
      - What to do. Without it, only the attempt named by O(step) is searched for, and RV(state) is V(Absent) where
        there is none.
      - Nothing of it is logged.
    type: dict
    suboptions:
      kind:
        description: Whether kubeadm is to make a new cluster or to join one.
        type: str
        choices: [init, join]
        required: true
      kubeadmVersion:
        description: The version that C(kubeadm version -o short) must give.
        type: str
        required: true
      config:
        description:
          - Kubeadm's configuration, YAML text. It is written to the file that O(data.kubeadmArgs) names with
            C(--config).
        type: str
        required: true
      kubeadmArgs:
        description:
          - Arguments of kubeadm, beginning with the kind. C(--config) must name a file in C(/run/kubeadm). Nothing
            secret belongs here.
        type: list
        elements: str
        required: true
      files:
        description:
          - Files to write, each with C(path), C(content) (base64), C(owner), C(permissions) and C(append), as in a
            KubeadmConfigSpec.
        type: list
        elements: dict
        default: []
      users:
        description: Users to create, as in a KubeadmConfigSpec.
        type: list
        elements: dict
        default: []
      preKubeadmCommands:
        description: Shell commands to run before kubeadm, in one shell. The first that fails ends the bootstrap.
        type: list
        elements: str
        default: []
      postKubeadmCommands:
        description: Shell commands to run after kubeadm, in the same shell.
        type: list
        elements: str
        default: []
      images:
        description:
          - What the static pods' images are. They are checked before kubeadm is started, and pulled where they are missing; where that can't be done
            the bootstrap ends with their names, before a join has added anything to etcd. That holds also where kubeadm has to ignore C(ImagePull).
          - Without it, that is left to kubeadm.
        version_added: 0.5.0
        type: dict
        suboptions:
          repository:
            description: The registry that kubeadm takes its images from. Without it, kubeadm's default.
            type: str
            default: ""
          etcdRepository:
            description: The registry of etcd's image, where it is another one.
            type: str
            default: ""
          etcdTag:
            description: The tag of etcd's image, where it is another one than kubeadm's.
            type: str
            default: ""
          dnsRepository:
            description: The registry of CoreDNS's image, where it is another one.
            version_added: 0.10.0
            type: str
            default: ""
          dnsTag:
            description: The tag of CoreDNS's image, where it is another one than kubeadm's.
            version_added: 0.10.0
            type: str
            default: ""
          externalEtcd:
            description: Whether no etcd runs on the machine.
            type: bool
            default: false
          pull:
            description: Whether what is missing may be pulled.
            type: bool
            default: true
          criSocket:
            description: The container runtime's socket. Without it, the only one that is there.
            type: str
            default: ""
      etcdDataDir:
        description: The folder of etcd's data (C(etcd.local.dataDir)), whose disk is checked. Without it, C(/var/lib/etcd).
        version_added: 0.10.0
        type: str
      certificatesDir:
        description: The folder of kubeadm's certificates, which is noted for O(state=absent). Without it, C(/etc/kubernetes/pki).
        version_added: 0.10.0
        type: str
      caCertPath:
        description: The file of the CA's certificate that C(kubeadm join) writes, which is noted for O(state=absent). Without it, kubeadm's own.
        version_added: 0.10.0
        type: str
  lease_access:
    description:
      - How a machine that is to join asks the cluster whether the run of O(fencing) still holds its lock, having no credentials of its own yet.
      - Nothing is started where the cluster has seen a run with a greater number. Where the API does not answer, or does not let the token read, nothing is
        compared.
    version_added: 0.10.0
    type: dict
    suboptions:
      server:
        description: Host and port of the control plane endpoint.
        type: str
        required: true
      token:
        description: The bootstrap token that the machine joins with.
        type: str
        required: true
      ca_cert:
        description: The certificate of the cluster's CA, PEM.
        type: str
        required: true
  wait:
    description:
      - Seconds to wait for the end within this call. When they are over and it continues, RV(state) is V(Running),
        which is no failure.
    type: int
    default: 900
  limit:
    description:
      - Seconds after which the machine itself ends what was started, whoever waits for it; it has failed then. V(0) is for no limit.
      - It counts for the call that starts it.
    type: int
    default: 0
    version_added: 0.10.0
  discard_etcd_data:
    description:
      - With O(state=absent), consent to delete etcd's data on this machine. If it is the last member, the cluster's
        data is lost.
      - Even then, a machine whose etcd still runs as a member beside others is refused, and one with an etcd that kubeadm did not make, while that runs, or
        has its data in C(/var/lib/etcd) beside an API server.
    type: bool
    default: false
extends_documentation_fragment:
  - kubeadm.control_plane._node
  - kubeadm.control_plane._node.fencing
  - kubeadm.control_plane._attributes
attributes:
  check_mode:
    support: full
    details:
      - Every refusal is the same as without check mode.
  diff_mode:
    support: none
  idempotent:
    support: full
seealso:
  - module: kubeadm.control_plane.bootstrap_token
  - module: kubeadm.control_plane.etcd_member
"""

EXAMPLES = r"""
- name: Make the first control plane node
  kubeadm.control_plane.node_bootstrap:
    step: bootstrap-prod-1
    data:
      kind: init
      kubeadmVersion: v1.20.2
      kubeadmArgs: [init, --config, /run/kubeadm/kubeadm.yaml]
      config: "{{ lookup('ansible.builtin.file', 'kubeadm.yaml') }}"
  become: true

- name: Ask how far it is
  kubeadm.control_plane.node_bootstrap:
    step: bootstrap-prod-1
    wait: 0
  become: true
  register: bootstrap
"""

RETURN = r"""
reason:
  description: V(CarriesAnother) where the machine carries a cluster, or a bootstrap, that is not this attempt's.
  returned: when refused for that
  type: str
  version_added: 0.10.0
state:
  description: V(Absent), V(Running), V(Succeeded) or V(Failed). The module fails where it is V(Failed).
  returned: O(state=present), unless refused
  type: str
step:
  description: The attempt.
  returned: O(state=present), unless refused
  type: str
kind:
  description: Whether it is an C(init) or a C(join).
  returned: O(state=present), unless refused
  type: str
stage:
  description: Where it is, or where it failed.
  returned: O(state=present), unless refused
  type: str
  sample: kubeadm [wait-control-plane]
startedAt:
  description: When it was started, by the machine's clock.
  returned: O(state=present), unless refused
  type: str
finishedAt:
  description: When its end was found, by the machine's clock.
  returned: O(state=present), unless refused
  type: str
command:
  description: What failed, kubeadm or a command by its place in the specification.
  returned: O(state=present), unless refused
  type: str
  sample: preKubeadmCommands[0]
rc:
  description: The exit status of what failed.
  returned: O(state=present), unless refused
  type: int
message:
  description: What happened, in words.
  returned: O(state=present), unless refused
  type: str
output:
  description: The end of the output of the commands and of kubeadm, at most 16 KiB, without secrets.
  returned: O(state=present), unless refused
  type: str
phases:
  description:
    - The phases that kubeadm has named in its output so far, in their order, as this call saw them. One that was there at the call's begin may be older.
  returned: O(state=present), unless refused
  type: list
  elements: dict
  version_added: 0.10.0
  contains:
    name:
      description: The phase, as kubeadm names it in brackets.
      type: str
      sample: wait-control-plane
    secondsAgo:
      description: How many seconds before the call's end it was first seen.
      type: float
dataMatches:
  description: Whether an attempt that was found had been started with the same data; null where no data was given.
  returned: O(state=present), unless refused
  type: bool
"""

import typing as t

from ..module_utils.common import settings
from ..module_utils.common.guard import NodeError
from ..module_utils.node import arguments
from ..module_utils.node.bootstrap.bootstrap_unit import ABSENT, FAILED, RUNNING, Bootstrap
from ..module_utils.node.machine_module import MachineModule
from ..module_utils.workload_api import fencing_lease

# A shorter text would be taken out of words that happen to hold it.
SHORTEST_SECRET = 12

DATA_OPTIONS = {
    "kind": {"type": "str", "choices": ["init", "join"], "required": True},
    "kubeadmVersion": {"type": "str", "required": True},
    "config": {"type": "str", "required": True},
    "kubeadmArgs": {"type": "list", "elements": "str", "required": True},
    "files": {"type": "list", "elements": "dict", "default": []},
    "users": {"type": "list", "elements": "dict", "default": []},
    "preKubeadmCommands": {"type": "list", "elements": "str", "default": []},
    "postKubeadmCommands": {"type": "list", "elements": "str", "default": []},
    "images": arguments.IMAGES,
    "etcdDataDir": {"type": "str"},
    "certificatesDir": {"type": "str"},
    "caCertPath": {"type": "str"},
}

LEASE_OPTIONS = {
    "server": {"type": "str", "required": True},
    "token": {"type": "str", "required": True, "no_log": True},
    "ca_cert": {"type": "str", "required": True},
}


def main() -> None:
    """Run the module."""
    module = MachineModule(
        argument_spec={
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "step": {"type": "str"},
            "data": {"type": "dict", "options": DATA_OPTIONS, "no_log": True},
            "lease_access": {"type": "dict", "options": LEASE_OPTIONS},
            "wait": {"type": "int", "default": settings.BOOTSTRAP_SECONDS},
            "limit": {"type": "int", "default": 0},
            "discard_etcd_data": {"type": "bool", "default": False},
        },
        required_if=[("state", "present", ["step"])],
    )
    with module.failing(NodeError):
        module.check()
        if module.params["state"] == "absent":
            # Imported here: it is half of all that a machine would load to start kubeadm, and to wait for it.
            from ..module_utils.node.bootstrap import reset

            changed = reset.reset(discard_etcd_data=module.params["discard_etcd_data"], check=module.check_mode)
            module.exit_json(changed=changed)
        present(module)


def mask_secrets_only(module: MachineModule, data: dict[str, t.Any], access: t.Optional[dict[str, str]] = None) -> None:
    """Mask only what may be secret in the module's output.

    Else every word of the data would be masked wherever it occurs ("init", "0600").
    """
    secrets = [data["config"], *data["preKubeadmCommands"], *data["postKubeadmCommands"]]
    secrets.append((access or {}).get("token"))
    secrets += [entry.get("content") for entry in data["files"]] + [entry.get("passwd") for entry in data["users"]]
    module.no_log_values = {str(secret) for secret in secrets if secret and len(str(secret)) >= SHORTEST_SECRET}


def present(module: MachineModule) -> None:
    """Start, find or wait for the bootstrap, and end the module."""
    params = module.params
    known = {name: value for name, value in params.items() if name not in ("data", "lease_access")}
    if params["data"] is not None:
        mask_secrets_only(module, params["data"], params["lease_access"])
        if params["lease_access"] is not None and params["fencing"] is not None:
            access = params["lease_access"]
            with arguments.remembering(check_mode=module.check_mode):
                fencing_lease.require_as_joining(
                    params["fencing"], access["server"], access["token"], access["ca_cert"]
                )
    bootstrap = Bootstrap()
    started = False
    matches = None
    if params["data"] is not None:
        report, started = bootstrap.start(
            params["step"], params["data"], check=module.check_mode, limit=max(0, params["limit"])
        )
        matches = report.data_matches
    else:
        report = bootstrap.find(params["step"])
    if report.state != ABSENT and not module.check_mode:
        report = bootstrap.wait(params["wait"]) if report.state == RUNNING else bootstrap.settle(report)
    result = dict(report.document(), dataMatches=matches, changed=started, invocation={"module_args": known})
    if matches is False:
        module.warn(f"The bootstrap {report.step} was started before with other data; it was not started again.")
    if report.state == FAILED:
        module.fail_json(
            msg=f"bootstrap {report.step} failed: {report.message}. The machine was left as it is, for diagnosis.",
            **result,
        )
    module.exit_json(**result)


if __name__ == "__main__":
    main()
