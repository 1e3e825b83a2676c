#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_command
short_description: Run a program on a node once, independently of the run
version_added: 0.6.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Runs a program without a shell, as a transient systemd unit that is named after O(name). The unit outlives this call.
    A later call with the same name finds it, waits for its end and returns its result, and never starts it twice.
  - Its output is kept in a file that only root can read, RV(log_path). Its first and last 16 KiB are returned without secrets.
options:
  name:
    description:
      - What the program's run is named on this machine. A name is used up once its program has been started; another run
        of the same program needs another name.
    type: str
    required: true
  argv:
    description:
      - The program and its arguments. They must hold nothing secret, for the process list shows them.
      - Without it, only returns how far the program of that name is.
    type: list
    elements: str
    default: []
  timeout:
    description: After how many seconds the program is ended.
    type: int
    default: 600
  wait:
    description: For how many seconds at most this call waits for the program's end.
    type: int
    default: 30
  alone:
    description:
      - Whether the program is refused while another one runs on this machine that this module started. Only a start is
        refused; a program of this O(name) that has started is found again.
    type: bool
    default: false
    version_added: 0.10.0
  state:
    description: With V(absent), ends the program where it runs, and removes what it left.
    type: str
    choices: [present, absent]
    default: present
extends_documentation_fragment:
  - kubeadm.control_plane._node
  - kubeadm.control_plane._node.fencing
  - kubeadm.control_plane._attributes
attributes:
  check_mode:
    support: full
    details:
      - In check mode nothing is started. A program that was not started yet counts as a change.
  diff_mode:
    support: none
  idempotent:
    support: full
seealso:
  - module: kubeadm.control_plane.operator_task
"""

EXAMPLES = r"""
- name: Upgrade the first control plane node
  kubeadm.control_plane.node_command:
    name: upgrade-v1.21.0-apply
    argv: [kubeadm, upgrade, apply, v1.21.0, --yes]
    timeout: 1200
  become: true
  register: upgrade
  until: upgrade.state != 'Running'
  retries: 40
  delay: 0
  failed_when: upgrade.exit_status | default(1, true) != 0
"""

RETURN = r"""
state:
  description:
    - V(Running), V(Ended) with RV(exit_status), or V(Absent) where no program of that name was started.
    - V(Interrupted) where it was started, runs no more and has no exit status, as after a power cut.
  returned: success
  type: str
exit_status:
  description:
    - Its exit status; null until it ended. 124 says that it was ended after O(timeout).
    - It is not called rc, for which Ansible would take the module for failed.
  returned: success
  type: int
started_at:
  description: When it was started, by this machine's clock in UTC.
  returned: success
  type: str
ended_at:
  description: When it ended; empty until then.
  returned: success
  type: str
head:
  description: The first 16 KiB of its output, without secrets; empty until it ended.
  returned: success
  type: str
tail:
  description: The last 16 KiB of the rest of its output, without secrets.
  returned: success
  type: str
size:
  description: How many bytes its output has.
  returned: success
  type: int
sha256:
  description: The SHA-256 of its whole output.
  returned: success
  type: str
log_path:
  description: Where the whole output lies.
  returned: success
  type: str
said:
  description: What systemd says of a program that was interrupted; empty otherwise.
  returned: success
  type: str
actual_machine_id:
  description: This machine's machine-id.
  returned: success
  type: str
msg:
  description: Why it was not started.
  returned: failure
  type: str
"""

from ..module_utils.common import settings
from ..module_utils.common.guard import MACHINE_ID_FILE, NodeError, read_text
from ..module_utils.node.machine_module import MachineModule
from ..module_utils.node.task_unit import ABSENT, TaskUnit


def main() -> None:
    """Run the module."""
    module = MachineModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "argv": {"type": "list", "elements": "str", "default": []},
            "timeout": {"type": "int", "default": settings.COMMAND_SECONDS},
            "wait": {"type": "int", "default": 30},
            "alone": {"type": "bool", "default": False},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
    )
    with module.failing(NodeError, before=f"{module.params['name']}: "):
        module.check()
        unit = TaskUnit(module.params["name"])
        report = unit.look()
        changed = False
        if module.params["state"] == "absent":
            changed = report.state != ABSENT
            if changed and not module.check_mode:
                unit.forget()
        elif module.params["argv"]:
            changed = report.state == ABSENT
            if not module.check_mode:
                bounds = {name: module.params[name] for name in ("timeout", "wait", "alone")}
                report = unit.run(module.params["argv"], **bounds)
                changed = report.changed
    module.exit_json(**{**report.__dict__, "changed": changed, "actual_machine_id": read_text(MACHINE_ID_FILE)})


if __name__ == "__main__":
    main()
