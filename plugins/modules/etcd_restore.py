#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: etcd_restore
short_description: Restore etcd on a control plane node, or stop it for good
version_added: 0.4.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - For an etcd that lost its quorum for ever. The playbook C(kubeadm.control_plane.restore) calls it; so can yours.
  - With O(state=restored), the control plane of this machine is stopped, the snapshot is restored with etcd's own tool from the
    image that etcd runs from, the result takes the place of the data, which is moved aside beside it and never deleted, and etcd and then the rest are started
    again. etcd has this machine as its only member then, in a new etcd cluster, so that no member of before can ever take it for one of theirs.
  - Before anything is stopped, the snapshot is verified - it is whole, it carries this cluster's certificate authority, and it is of exactly the
    O(revision) that is meant. This machine's own data is verified in the same way; it has no hash.
  - It is refused, with the figures, where etcd has its quorum, or where another member listens.
  - The work is done by a systemd unit that outlives the call; called again, the module finds it and waits for it. If it fails before etcd serves what was
    restored, everything is put back as it was.
  - With O(state=stopped), the control plane of this machine is stopped and its etcd data moved aside, so that it can't come back beside what is restored on
    another machine. A bootstrap of kubeadm that is at work there is ended first.
options:
  state:
    description: Whether etcd is restored here, or stopped.
    type: str
    choices: [restored, stopped]
    default: restored
  snapshot:
    description:
      - The snapshot's file on this machine. Without it, the data that this machine's etcd has is taken, which is what a member that survived knows.
    type: path
    default: ""
  revision:
    description: The revision of the snapshot, or of the data. Everything after it is lost. Needed with O(state=restored); another one is refused.
    type: int
  replace_working:
    description: Whether it is done although etcd has its quorum, for going back in time.
    type: bool
    default: false
  wait:
    description: For how many seconds at most the end is waited for.
    type: int
    default: 900
  settle:
    description: Whether a success is taken note of, after which a call with the same snapshot starts again.
    type: bool
    default: true
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
    support: full
  idempotent:
    support: partial
    details:
      - O(state=stopped) is. O(state=restored) with O(settle=false) is, until a success is taken note of.
seealso:
  - module: kubeadm.control_plane.etcd_restore_info
  - module: kubeadm.control_plane.etcd_snapshot
"""

EXAMPLES = r"""
- name: Would it be refused?
  kubeadm.control_plane.etcd_restore:
    snapshot: /var/lib/kubeadm-control-plane/etcd-snapshots/prod-20260703T141502Z.db
    revision: 48213
  become: true
  check_mode: true

- name: Continue with what this machine's etcd has, after the others were lost
  kubeadm.control_plane.etcd_restore:
    revision: 48790
  become: true
"""

RETURN = r"""
msg:
  description: What was done, or why it was refused.
  returned: always
  type: str
reason:
  description: A stable name of the refusal.
  returned: when refused
  type: str
  sample: QuorumWorks
state:
  description: V(Running), V(Succeeded) or V(Stopped); in check mode V(Absent) where it would be begun.
  returned: success
  type: str
stage:
  description: Where it is, or where it failed - C(stop), C(restore), C(swap), C(start), C(api), C(done).
  returned: with O(state=restored), unless refused
  type: str
message:
  description: Why it failed.
  returned: with O(state=restored), unless refused
  type: str
revision:
  description: The revision that etcd was restored to.
  returned: with O(state=restored), unless refused
  type: int
snapshot:
  description: The file that it was restored from; empty for the machine's own data.
  returned: with O(state=restored), unless refused
  type: str
dataBefore:
  description: The folder where the data of before is kept; empty where there was none.
  returned: unless refused
  type: str
restoredBy:
  description: The tool that did it.
  returned: with O(state=restored), unless refused
  type: str
startedAt:
  description: When it was begun, by the machine's clock.
  returned: with O(state=restored), unless refused
  type: str
finishedAt:
  description: When it ended, by the machine's clock.
  returned: with O(state=restored), unless refused
  type: str
"""

import typing as t

from ..module_utils.common import settings
from ..module_utils.common.guard import NodeError
from ..module_utils.etcd.restore.restore_unit import (
    ABSENT,
    FAILED,
    INTERRUPTED,
    RUNNING,
    SUCCEEDED,
    Unit,
    Wanted,
    fence,
)
from ..module_utils.node.bootstrap.bootstrap_unit import Bootstrap
from ..module_utils.node.bootstrap.reset import end_unit
from ..module_utils.node.machine_module import MachineModule


def main() -> None:
    """Run the module."""
    module = MachineModule(
        argument_spec={
            "state": {"type": "str", "choices": ["restored", "stopped"], "default": "restored"},
            "snapshot": {"type": "path", "default": ""},
            "revision": {"type": "int"},
            "replace_working": {"type": "bool", "default": False},
            "wait": {"type": "int", "default": settings.RESTORE_SECONDS},
            "settle": {"type": "bool", "default": True},
        },
        required_if=[("state", "restored", ["revision"])],
    )
    with module.failing(NodeError):
        module.check()
        done = stopped(module) if module.params["state"] == "stopped" else restored(module)
    if done.pop("failed", False):
        module.fail_json(**done)
    module.exit_json(**done)


def stopped(module: MachineModule) -> dict[str, t.Any]:
    """Stop this machine's control plane for good."""
    replace = module.params["replace_working"]
    changed, kept = fence(
        Unit().restore,
        replace_working=replace,
        check=module.check_mode,
        end_bootstrap=lambda check: end_unit(Bootstrap(), check=check),
    )
    done = "would be" if module.check_mode else "was"
    text = (
        f"the control plane {done} stopped, its etcd data {done} moved to {kept}"
        if kept
        else f"kubeadm, which had made no etcd here yet, {done} stopped"
    )
    shown = {"before": {"control plane": "running"}, "after": {"control plane": "stopped"}} if changed else {}
    return {
        "changed": changed,
        "msg": text if changed else "the control plane is stopped already",
        "state": "Stopped",
        "dataBefore": kept,
        "diff": shown,
    }


def restored(module: MachineModule) -> dict[str, t.Any]:
    """Start or find the restore, wait for it, and return its result."""
    params = module.params
    unit = Unit()
    wanted = Wanted(params["snapshot"], params["revision"], params["replace_working"])
    report, started = unit.start(wanted, check=module.check_mode)
    source = params["snapshot"] or "this machine's own data"
    told = {"before": {"etcd": "as it is"}, "after": {"etcd": f"revision {wanted.revision}, from {source}"}}
    shown = told if started else {}
    if module.check_mode:
        said = f"etcd would be restored to revision {wanted.revision} from {source}"
        state = ABSENT if started else report.state
        return dict(unit.document(report), changed=started, msg=said, state=state, diff=shown)
    if report.state == RUNNING:
        report = unit.wait(params["wait"])
    if report.state == SUCCEEDED and params["settle"]:
        unit.settle()
    result = dict(unit.document(report), changed=started, diff=shown)
    if report.state == FAILED:
        said = f"the restore of etcd failed, and everything is as it was before: {report.record.get('message')}"
        return dict(result, failed=True, msg=said)
    if report.state == INTERRUPTED:
        said = report.record.get("message") or "its unit is gone, by a boot of the machine or by hand"
        return dict(
            result, failed=True, msg=f"the restore of etcd stopped: {said} Call this again: it continues from there."
        )
    what = "is being restored" if report.state == RUNNING else "was restored"
    return dict(result, msg=f"etcd {what} to revision {wanted.revision} from {source}")


if __name__ == "__main__":
    main()
