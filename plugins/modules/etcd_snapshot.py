#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: etcd_snapshot
short_description: Take and verify an etcd snapshot on a control plane node
version_added: 0.3.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Takes a snapshot of the etcd member on this node and keeps it on this node, readable by root alone. It needs no quorum, but
    a member that answers, and one that was started again without a quorum answers nothing.
  - A snapshot gets its name only after it was verified, first by the hash that etcd puts behind the database, then by a
    restore into a scratch folder with etcd's own tool, from the image that the node's etcd runs from. Where that image
    has no tool that runs, or the runtime is not containerd, the hash must do, and RV(verified_by) says so.
  - Nothing is left of a snapshot that could not be verified, and old ones are removed only after a new one was.
  - It is refused, before anything is written, where the disk has not room for twice the database and 256 MiB more.
  - A snapshot holds every Secret of the cluster.
options:
  name:
    description:
      - What the file's name begins with, such as the name of the cluster. The time follows it.
    type: str
    required: true
  directory:
    description: The folder on the node. It is made, for root alone, when it doesn't exist.
    type: path
    default: /var/lib/kubeadm-control-plane/etcd-snapshots
  keep:
    description: How many snapshots of this O(name) to keep in O(directory), the new one included. Older ones are removed.
    type: int
    default: 5
  verify:
    description:
      - V(restore) verifies with etcd's own tool where the node has it. V(hash) verifies the hash alone, which takes less
        time and space.
    type: str
    choices: [restore, hash]
    default: restore
  max_age:
    description:
      - A snapshot of the same O(name) and the same etcd cluster that is not older than this number of seconds is taken instead of
        a new one, after its hash was checked again. With V(0), a new one is always taken.
    type: int
    default: 0
  purpose:
    description:
      - What it is taken for, in words; kept with its facts. With O(max_age), only a snapshot that was taken for the same
        O(purpose) will do. Where it is left out, one that was taken for anything will.
    type: str
    default: ""
  cluster_id:
    description: The ID of the etcd cluster that is meant. Another cluster is refused.
    type: str
  require_leader:
    description:
      - Whether a member that knows of no leader is refused (RV(reason=NoLeader)). Otherwise its snapshot is kept with a warning, as it may lack what the
        others have written.
    type: bool
    default: false
    version_added: 0.10.0
  endpoint:
    description: The client URL of the member on this node.
    type: str
    default: https://127.0.0.1:2379
extends_documentation_fragment:
  - kubeadm.control_plane._node
  - kubeadm.control_plane._etcd.credentials
  - kubeadm.control_plane._node.fencing
  - kubeadm.control_plane._attributes
attributes:
  check_mode:
    support: full
    details:
      - Every refusal is the same as without check mode. A snapshot that would do (O(max_age)) is not searched for.
  diff_mode:
    support: full
  idempotent:
    support: partial
    details:
      - A second run within O(max_age) changes nothing.
seealso:
  - module: kubeadm.control_plane.etcd_member
"""

EXAMPLES = r"""
- name: Keep a verified snapshot before anything irreversible
  kubeadm.control_plane.etcd_snapshot:
    name: prod
  become: true
  register: snapshot

- name: One an hour will do
  kubeadm.control_plane.etcd_snapshot:
    name: prod-hourly
    keep: 24
    max_age: 3600
  become: true
"""

RETURN = r"""
msg:
  description: What was done, or why nothing was kept.
  returned: always
  type: str
reason:
  description: A stable name of the refusal.
  returned: when refused
  type: str
  sample: NoSpace
path:
  description: The snapshot's file on the node. Its facts are in a C(.json) file of the same name beside it.
  returned: success
  type: str
  sample: /var/lib/kubeadm-control-plane/etcd-snapshots/prod-20260703T141502Z.db
taken_at:
  description: When it was taken, by the node's clock.
  returned: success, not in check mode
  type: str
bytes:
  description: The size of the file.
  returned: success, not in check mode
  type: int
sha256:
  description: The SHA-256 of the file, as C(sha256sum) prints it.
  returned: success, not in check mode
  type: str
verified_by:
  description: V(etcdutl) or V(etcdctl) where that tool restored it, V(hash) where the hash alone was verified.
  returned: success, not in check mode
  type: str
verify_note:
  description: Why no tool verified it; empty where one did.
  returned: success, not in check mode
  type: str
revision:
  description: The revision of the snapshot; null where no tool read it.
  returned: success, not in check mode
  type: int
cluster_id:
  description: The ID of the etcd cluster.
  returned: success, not in check mode
  type: str
member_id:
  description: The ID of the member that it was taken of.
  returned: success, not in check mode
  type: str
etcd_version:
  description: The version of that member.
  returned: success, not in check mode
  type: str
purpose:
  description: What it was taken for.
  returned: success, not in check mode
  type: str
removed:
  description: Older snapshots that were removed.
  returned: success
  type: list
  elements: str
"""

from ..module_utils.common import settings
from ..module_utils.common.guard import NodeError
from ..module_utils.common.https import Unreachable
from ..module_utils.etcd import arguments
from ..module_utils.etcd.gateway import Gateway
from ..module_utils.etcd.snapshot.take import DIRECTORY, HASH, RESTORE, SnapshotError, Taken, Wanted, take
from ..module_utils.etcd.snapshot.tool import image_tool
from ..module_utils.etcd.types import LOCAL_MEMBER, from_hex
from ..module_utils.node.machine_module import MachineModule


def main() -> None:
    """Run the module."""
    module = MachineModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "directory": {"type": "path", "default": DIRECTORY},
            "keep": {"type": "int", "default": settings.SNAPSHOTS_KEPT},
            "verify": {"type": "str", "choices": [RESTORE, HASH], "default": RESTORE},
            "max_age": {"type": "int", "default": 0},
            "purpose": {"type": "str", "default": ""},
            "cluster_id": {"type": "str"},
            "require_leader": {"type": "bool", "default": False},
            "endpoint": {"type": "str", "default": LOCAL_MEMBER},
            **arguments.CREDENTIALS,
        },
    )
    params = module.params
    with module.failing(SnapshotError, NodeError, ValueError):
        module.check()
        if params["keep"] < 1:
            raise NodeError(f"keep is {params['keep']}: the new snapshot at least has to be kept. Give 1 or more.")
        credentials = arguments.credentials(params)
        wanted = Wanted(
            params["name"],
            params["directory"],
            params["keep"],
            params["verify"],
            params["max_age"],
            from_hex(params["cluster_id"]) if params["cluster_id"] else None,
            params["purpose"],
            params["require_leader"],
        )
        try:
            with Gateway(params["endpoint"], credentials) as gateway:
                taken = take(gateway, wanted, image_tool, check=module.check_mode, before_change=module.check)
        except Unreachable as error:
            module.fail_json(msg=f"No snapshot was taken: {error}", reason="NotReachable")
        except OSError as error:
            module.fail_json(msg=f"No snapshot was kept in {params['directory']}: {error}")
    for warning in taken.warnings:
        module.warn(warning)
    known = taken.kept.document() if taken.kept else {"path": taken.path}
    diff = {"before": {"snapshots": taken.removed}, "after": {"snapshots": [taken.path]}} if taken.changed else {}
    module.exit_json(changed=taken.changed, msg=message(taken), removed=taken.removed, diff=diff, **known)


def message(taken: Taken) -> str:
    """Return the result's message about a snapshot."""
    kept = taken.kept
    if kept is None:
        return f"a snapshot of etcd would be kept in {taken.path}"
    how = f"verified by {kept.verified_by}" if not kept.note else f"verified by its hash alone ({kept.note})"
    size = f"{kept.size / 1024 / 1024:.1f} MiB"
    if not taken.changed:
        return f"the snapshot {kept.path} of {kept.taken_at} will do: {size}, {how}"
    return f"etcd's snapshot is kept in {kept.path}: {size}, {how}"


if __name__ == "__main__":
    main()
