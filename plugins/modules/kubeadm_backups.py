#!/usr/bin/python

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kubeadm_backups
short_description: Remove old files that kubeadm's upgrades leave on a node
version_added: 0.10.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Each C(kubeadm upgrade) leaves copies in C(/etc/kubernetes/tmp), of the whole of etcd's data among them, and deletes none.
    This deletes all but the newest of each kind, C(kubeadm-backup-etcd-*), C(kubeadm-backup-manifests-*),
    C(kubeadm-upgraded-manifests*) and C(kubeadm-kubelet-config*).
  - Whatever else is in that folder stays.
options:
  keep:
    description: How many of each kind stay, at least 1.
    type: int
    default: 3
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
    support: full
seealso:
  - module: kubeadm.control_plane.kubernetes_binaries
"""

EXAMPLES = r"""
- name: Only the copies of the last upgrade
  kubeadm.control_plane.kubeadm_backups:
    keep: 1
  become: true
"""

RETURN = r"""
deleted:
  description: The folders that were deleted, or would be in check mode.
  returned: success
  type: list
  elements: str
  sample: [/etc/kubernetes/tmp/kubeadm-backup-etcd-2024-03-11-21-00-07]
msg:
  description: What was done, or why it was not.
  returned: always
  type: str
"""

from ..module_utils.common import settings
from ..module_utils.common.guard import NodeError
from ..module_utils.node.host.kubeadm_backups import FOLDER, prune
from ..module_utils.node.machine_module import MachineModule


def main() -> None:
    """Run the module."""
    module = MachineModule(
        argument_spec={
            "keep": {"type": "int", "default": settings.KUBEADM_BACKUPS_KEPT},
        },
    )
    params = module.params
    if params["keep"] < 1:
        module.fail_json(msg=f"keep: must be at least 1, found {params['keep']}. Nothing was deleted.")
    with module.failing(NodeError):
        module.check()
        deleted = prune(params["keep"], check=module.check_mode)
    said = f"{len(deleted)} older copies that kubeadm's upgrades left in {FOLDER} were deleted"
    module.exit_json(changed=bool(deleted), deleted=deleted, msg=said if deleted else "nothing is to be deleted")


if __name__ == "__main__":
    main()
