#!/usr/bin/python

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: kubernetes_binaries
short_description: Install a version of kubeadm, kubelet and kubectl on a node
version_added: 0.6.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Installs the programs from the machine's own package manager (apt, dnf, yum) or from files that are on the machine already. The
    container runtime is not touched.
  - Packages are held, or excluded, afterwards as before, so that nothing else upgrades them. Those of apt that an interrupted call left
    unheld are held, too. Where the community's repository
    (C(core:/stable:/v1.30/)) is set up, it is pointed to the version's minor, as a person does by hand; other repositories stay.
  - Files are put in place whole or not at all; what runs keeps the old program until it is restarted.
  - The kubelet is restarted where it runs another program than the one on the disk. Nothing here checks whether the API servers are
    new enough for it; the operator's Action C(upgrade) does.
options:
  version:
    description: The Kubernetes version, such as V(v1.30.2).
    type: str
    required: true
  names:
    description: Which programs.
    type: list
    elements: str
    choices: [kubeadm, kubelet, kubectl]
    default: [kubeadm, kubelet, kubectl]
  source:
    description: Where they come from.
    type: str
    choices: [packages, files]
    default: packages
  package_version:
    description: The packages' own version, in which V(*) and V(?) are wildcards. Without it, any build of O(version).
    type: str
    default: ""
  path:
    description: With O(source=files), the folder on the machine that has the programs; C({version}) in it is replaced by O(version).
    type: str
    default: ""
  checksums:
    description: With O(source=files), the SHA-256 of the programs by their names, as V(sha256:…).
    type: dict
    default: {}
  restart_kubelet:
    description: Whether the kubelet is restarted where its program changed.
    type: bool
    default: true
extends_documentation_fragment:
  - kubeadm.control_plane._node
  - kubeadm.control_plane._node.fencing
  - kubeadm.control_plane._attributes
  - kubeadm.control_plane._attributes.action_group
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
"""

EXAMPLES = r"""
- name: The new kubeadm, for kubeadm upgrade
  kubeadm.control_plane.kubernetes_binaries:
    version: v1.30.2
    names: [kubeadm]
  become: true

- name: kubelet and kubectl from a folder that an image brought
  kubeadm.control_plane.kubernetes_binaries:
    version: v1.30.2
    names: [kubelet, kubectl]
    source: files
    path: /opt/kubernetes/{version}
  become: true
"""

RETURN = r"""
msg:
  description: What was done, or why it was not.
  returned: always
  type: str
  sample: kubelet v1.29.6 → v1.30.2, kubelet restarted
versions:
  description: The programs' versions now, by name.
  returned: success
  type: dict
  sample: {"kubeadm": "v1.30.2"}
restarted:
  description: Whether the kubelet was restarted.
  returned: success
  type: bool
"""

from ..module_utils.common.guard import NodeError
from ..module_utils.node.host.binaries import Binaries, Wanted
from ..module_utils.node.machine_module import MachineModule
from ..module_utils.node.packages.packages import PROGRAMS


def main() -> None:
    """Run the module."""
    module = MachineModule(
        argument_spec={
            "version": {"type": "str", "required": True},
            "names": {"type": "list", "elements": "str", "choices": list(PROGRAMS), "default": list(PROGRAMS)},
            "source": {"type": "str", "choices": ["packages", "files"], "default": "packages"},
            "package_version": {"type": "str", "default": ""},
            "path": {"type": "str", "default": ""},
            "checksums": {"type": "dict", "default": {}},
            "restart_kubelet": {"type": "bool", "default": True},
        },
        required_if=[("source", "files", ["path"])],
    )
    params = module.params
    wanted = Wanted(
        names=tuple(dict.fromkeys(params["names"])),
        version=params["version"],
        source=params["source"],
        path=params["path"],
        package_version=params["package_version"],
        checksums={str(name): str(value) for name, value in params["checksums"].items()},
    )
    with module.failing(NodeError):
        module.check()
        done = Binaries().ensure(
            wanted,
            restart_kubelet=params["restart_kubelet"],
            check=module.check_mode,
            before_change=module.check,
        )
    module.exit_json(
        changed=done.changed,
        msg=done.message,
        versions=dict(done.after),
        restarted=done.restarted,
        diff={"before": dict(done.before), "after": dict(done.after)} if done.changed else {},
    )


if __name__ == "__main__":
    main()
