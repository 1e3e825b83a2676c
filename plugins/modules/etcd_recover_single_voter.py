#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: etcd_recover_single_voter
short_description: Recover etcd on this node as the only voter
version_added: 0.3.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - With two voters etcd needs both for every write. Where one of them is lost for good, it can't even be removed. This makes the member on this
    node the only one, with its data, by starting it once with C(--force-new-cluster).
  - It is refused unless, in the same call, the member on this node lists itself and the voter O(member_id) and no other member, knows no leader, and
    nothing listens at the addresses of the other, each of O(looks) times. It never does anything to a cluster of three.
  - etcd is stopped first. Then its data is copied, and a snapshot is made of that copy, before anything of the data is changed. Both are kept below
    C(/var/lib/kubeadm-control-plane/recover-single-voter), readable by root alone. It is refused where the disk has no room for them.
  - etcd's static pod manifest is taken away, put there with the flag until etcd is its only member, and put back as it was. Whatever fails on the
    way, it is put back. Then etcd must work without the flag, and the API server is waited for; the kubelet may be restarted, so that it starts them
    without delay.
  - This runs as one transient systemd unit C(kubeadm-control-plane-recover-<member>), which outlives this call and its caller. A later call finds it, waits for
    it and takes its result; one that was interrupted, by a boot of the machine say, is resumed.
  - What is lost is the other machine, and nothing that was committed, as long as this member held everything. That is so for the first member of a
    cluster whose second one was just added. Where both worked for a while and the other led etcd, writes of its last moment (one heartbeat, 100 ms by default)
    may be lost.
options:
  member_id:
    description: The ID of the member that is lost, up to 16 hexadecimal digits.
    type: str
    required: true
  lost:
    description: The name of the machine that is lost, for the record alone.
    type: str
    default: ""
  wait:
    description:
      - Seconds to wait for the end within this call. When they are over and it continues, RV(state) is V(Running), which is no failure.
    type: int
    default: 600
  settle:
    description: Take note of a success, after which M(kubeadm.control_plane.node_observe) reports no recovery any more.
    type: bool
    default: true
  looks:
    description: How often to look whether the other member is dead.
    type: int
    default: 3
  interval:
    description: Seconds from the start of one observation to that of the next.
    type: float
    default: 2.5
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
    details:
      - An etcd that is its only member already is left as it is.
seealso:
  - module: kubeadm.control_plane.recover_single_voter
  - module: kubeadm.control_plane.etcd_member
"""

EXAMPLES = r"""
- name: Would it be refused?
  kubeadm.control_plane.etcd_recover_single_voter:
    member_id: 8e9e05c52164694d
  become: true
  check_mode: true

- name: Continue without the machine that was lost while it joined
  kubeadm.control_plane.etcd_recover_single_voter:
    member_id: 8e9e05c52164694d
  become: true
"""

RETURN = r"""
state:
  description: V(Running) or V(Succeeded); in check mode V(Absent) where it would be begun.
  returned: success
  type: str
stage:
  description: Where it is, or where it failed - C(start), C(stop), C(copy), C(force), C(restore), C(api), C(done).
  returned: always, unless refused
  type: str
message:
  description: Why it failed, or what is unhealthy although it succeeded.
  returned: always, unless refused
  type: str
memberID:
  description: The ID of the member that was lost.
  returned: always, unless refused
  type: str
snapshot:
  description: The snapshot that was made of the copy of the stopped member's data, before that data was changed.
  returned: always, unless refused
  type: dict
  contains:
    path:
      description: The file, on this node.
      type: str
      returned: success
    bytes:
      description: Its size.
      type: int
      returned: success
    sha256:
      description: The hash of the database in it.
      type: str
      returned: success
dataCopy:
  description: The folder, on this node, with the copy of the stopped member's data.
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

from ..module_utils.common import settings
from ..module_utils.common.guard import NodeError
from ..module_utils.etcd.restore.single_voter_unit import ABSENT, FAILED, INTERRUPTED, RUNNING, SUCCEEDED, Looks, Unit
from ..module_utils.etcd.types import from_hex, to_hex
from ..module_utils.node.machine_module import MachineModule


def main() -> None:
    """Run the module."""
    module = MachineModule(
        argument_spec={
            "member_id": {"type": "str", "required": True},
            "lost": {"type": "str", "default": ""},
            "wait": {"type": "int", "default": settings.SINGLE_VOTER_SECONDS},
            "settle": {"type": "bool", "default": True},
            "looks": {"type": "int", "default": settings.LOOKS},
            "interval": {"type": "float", "default": settings.LOOK_INTERVAL_SECONDS},
        },
    )
    params = module.params
    with module.failing(NodeError, ValueError):
        module.check()
        unit = Unit(looks=Looks(params["looks"], max(0.0, params["interval"])))
        report, started = unit.start(to_hex(from_hex(params["member_id"])), params["lost"], check=module.check_mode)
        if module.check_mode:
            result = unit.document(report)
            module.exit_json(**dict(result, state=ABSENT if started else report.state, changed=started))
        if report.state == RUNNING:
            report = unit.wait(params["wait"])
        if report.state == SUCCEEDED and params["settle"]:
            unit.settle()
    result = dict(unit.document(report), changed=started)
    if report.state in (FAILED, INTERRUPTED):
        said = report.record.get("message") or "its unit is gone, by a boot of the machine or by hand"
        kept = f" What was kept: {report.record['folder']}." if report.record.get("folder") else ""
        after = (
            "etcd's manifest is as it was before."
            if report.state == FAILED
            else "Call this again: it continues where it stopped."
        )
        module.fail_json(
            msg=f"the recovery of etcd as the only voter ended {report.state}: {said} {after}{kept}", **result
        )
    module.exit_json(**result)


if __name__ == "__main__":
    main()
