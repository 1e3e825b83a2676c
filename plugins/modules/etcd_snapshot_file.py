#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: etcd_snapshot_file
short_description: Copy an etcd snapshot from or to a control plane node
version_added: 0.4.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Reads or writes a piece of a snapshot in C(/var/lib/kubeadm-control-plane/etcd-snapshots), and of nothing else. Pieces are compressed and sealed with
    O(transport_key), so that Ansible's output shows nothing of the Secrets in them, not even with C(-vvv).
  - The action plugins M(kubeadm.control_plane.cluster_backup) and M(kubeadm.control_plane.cluster_restore) use it. In a playbook of your own,
    the modules C(fetch) and C(copy) are simpler.
options:
  state:
    description: Whether a piece is read or written.
    type: str
    choices: [read, written]
    default: read
  name:
    description: The file's name in the folder.
    type: str
    required: true
  offset:
    description: Where the piece begins, in bytes.
    type: int
    default: 0
  content:
    description: With O(state=written), the sealed piece.
    type: str
  sha256:
    description: With O(state=written), the SHA-256 of the whole file, given with the last piece. Only then the file gets its name.
    type: str
    default: ""
  transport_key:
    description: The key that pieces are sealed with, 64 hexadecimal digits, made by the caller for each transfer.
    type: str
    required: true
extends_documentation_fragment:
  - kubeadm.control_plane._node
  - kubeadm.control_plane._attributes
attributes:
  check_mode:
    support: full
    details:
      - In check mode nothing is written.
  diff_mode:
    support: none
  idempotent:
    support: none
    details:
      - Each call reads or writes a piece.
seealso:
  - module: kubeadm.control_plane.etcd_snapshot
"""

EXAMPLES = r"""
- name: Read the first piece of a snapshot
  kubeadm.control_plane.etcd_snapshot_file:
    name: prod-20260703T141502Z.db
    transport_key: "{{ lookup('ansible.builtin.password', '/dev/null', length=64, chars='0123456789abcdef') }}"
  become: true
  register: piece
  no_log: true
"""

RETURN = r"""
content:
  description: The sealed piece.
  returned: with O(state=read)
  type: str
bytes:
  description: The size of the whole file.
  returned: with O(state=read)
  type: int
next:
  description: Where the next piece begins.
  returned: with O(state=read)
  type: int
path:
  description: The file on the machine.
  returned: success
  type: str
"""

from ..module_utils.common.guard import NodeError
from ..module_utils.etcd.snapshot.transfer import path_of, read_piece, write_piece
from ..module_utils.node.machine_module import MachineModule


def main() -> None:
    """Run the module."""
    module = MachineModule(
        argument_spec={
            "state": {"type": "str", "choices": ["read", "written"], "default": "read"},
            "name": {"type": "str", "required": True},
            "offset": {"type": "int", "default": 0},
            # Sealed: masking megabytes in every result would only take time.
            "content": {"type": "str", "no_log": False},
            "sha256": {"type": "str", "default": ""},
            "transport_key": {"type": "str", "required": True, "no_log": True},
        },
        fencing=False,
        required_if=[("state", "written", ["content"])],
    )
    params = module.params
    with module.failing(NodeError):
        module.check()
        path = path_of(params["name"])
        if params["state"] == "read":
            piece = read_piece(params["name"], params["offset"], params["transport_key"])
            module.exit_json(changed=False, path=path, **piece)
        if not module.check_mode:
            write_piece(params["name"], params["offset"], params["content"], params["transport_key"], params["sha256"])
    module.exit_json(changed=True, path=path)


if __name__ == "__main__":
    main()
