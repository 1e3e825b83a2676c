#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: node_file
short_description: Write a whole file on a node, or delete it
version_added: 0.6.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Writes a file so that it is there whole or not at all, even after a power cut, and is never readable for more than its mode allows.
  - Made for the command C(file) of the Tasks of a custom Action.
options:
  path:
    description: The file's absolute path. Its folder exists.
    type: path
    required: true
  content:
    description: The file's content. Never shown.
    type: str
  encoding:
    description: How O(content) is written, so that it may be any bytes.
    type: str
    choices: [text, base64]
    default: text
  mode:
    description: The file's mode, octal.
    type: str
    default: "0600"
  owner:
    description: The user that owns it.
    type: str
    default: root
  group:
    description: The group that owns it.
    type: str
    default: root
  state:
    description: Whether the file is to be there.
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
  diff_mode:
    support: none
    details:
      - A file may hold secrets, and only the user who writes one knows.
  idempotent:
    support: full
"""

EXAMPLES = r"""
- name: An audit policy for the API servers
  kubeadm.control_plane.node_file:
    path: /etc/kubernetes/audit-policy.yaml
    content: "{{ lookup('ansible.builtin.file', 'audit-policy.yaml') }}"
    mode: "0600"
  become: true
"""

RETURN = r"""
sha256:
  description: The SHA-256 of the content; empty where the file is absent.
  returned: success
  type: str
msg:
  description: Why it was not written.
  returned: failure
  type: str
"""

import base64
import binascii

from ..module_utils.common.guard import NodeError
from ..module_utils.node.host.plain_file import Wanted, bring
from ..module_utils.node.machine_module import MachineModule


def main() -> None:
    """Run the module."""
    module = MachineModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "content": {"type": "str", "no_log": True},
            "encoding": {"type": "str", "choices": ["text", "base64"], "default": "text"},
            "mode": {"type": "str", "default": "0600"},
            "owner": {"type": "str", "default": "root"},
            "group": {"type": "str", "default": "root"},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        },
        required_if=[("state", "present", ["content"])],
    )
    params = module.params
    try:
        with module.failing(NodeError):
            module.check()
            content = None
            if params["state"] == "present":
                raw = params["content"].encode()
                content = base64.b64decode(raw, validate=True) if params["encoding"] == "base64" else raw
            wanted = Wanted(params["path"], content, int(params["mode"], 8), params["owner"], params["group"])
            changed, digest = bring(wanted, check=module.check_mode)
    except (binascii.Error, ValueError):
        module.fail_json(msg=f"{params['path']}: content or mode can't be read. Nothing was written.")
    module.exit_json(changed=changed, sha256=digest)


if __name__ == "__main__":
    main()
