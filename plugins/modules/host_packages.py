#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: host_packages
short_description: Install Kubernetes' packages on a bare host
version_added: 0.10.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Sets up signed repositories, and installs kubeadm, kubelet and kubectl of exactly one version, and cri-tools. These four are held afterwards, so that
    nothing else upgrades them. Other packages, such as the container runtime, are installed in whatever version the host's repositories have.
  - On hosts of Debian, Ubuntu and Red Hat's family. dnf has no packages that are held; there C(exclude) in the repository's file keeps them.
  - Everything is looked for beforehand - signatures, versions, dependencies, held packages. apt or dnf reads its lists into a folder of its own for that. Where
    something can't be had, all of it is said at once, and nothing was changed.
  - A host where nothing is to be changed asks no repository.
  - A host that a cluster has claimed, and a node of a cluster, are refused, another distribution's node as well. The operator's Action C(upgrade) changes the
    packages there; O(stage) downloads them for it.
options:
  kubernetes_version:
    description: The version of Kubernetes, such as V(v1.30.2).
    type: str
    required: true
  package_version:
    description: The packages' own version, in which V(*) and V(?) are wildcards. Without it, any build of O(kubernetes_version).
    type: str
    default: ""
  repositories:
    description: The repositories to set up, one of which has Kubernetes.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: What its files below C(/etc/apt) or C(/etc/yum.repos.d) are called.
        type: str
        required: true
      url:
        description: Its address.
        type: str
        required: true
      suite:
        description: Its suite; V(/) where it has none, as dnf's.
        type: str
        default: /
      components:
        description: Its components.
        type: list
        elements: str
        default: []
      key:
        description: The text of the OpenPGP key that it is signed with.
        type: str
        required: true
  packages:
    description: Other packages to have, in any version.
    type: list
    elements: str
    default: []
  change_held:
    description: Whether packages that are held at another version may be changed, also to an older one.
    type: bool
    default: false
  archives:
    description:
      - A folder on the host with archives of packages (C(*.deb)), as O(save) writes them, for a host that reaches no repository. They alone are looked
        into, and no repository is asked. No signature is looked for - they are as trustworthy as the way that they came.
      - C(SHA256SUMS) there names them, as V(sha256sum) writes it. Where one of them is missing, or has another digest, nothing is installed.
      - For hosts of Debian and Ubuntu.
    type: path
  stage:
    description:
      - Only download kubeadm, kubelet and kubectl, and what they need on this host, for an upgrade. Nothing is installed, and the host's repositories
        stay as they are. The Action C(upgrade) installs them from there, and removes them then.
      - One version is staged at a time, in C(/var/cache/kubeadm-control-plane/packages). Where it is installed already, nothing is downloaded.
      - A node of a cluster is what this is for. O(packages) and O(change_held) have no meaning here.
    type: bool
    default: false
  save:
    description:
      - An empty folder on the host, to which the packages are written with all that they depend on. kubeadm, kubelet, kubectl and cri-tools are of the
        versions that this host has, others of those that its repositories have now. Nothing is installed. The files belong to the folder's owner.
        C(SHA256SUMS) has their digests.
      - For hosts of Debian and Ubuntu. A node of a cluster may be asked for it, too.
      - It excludes O(archives), O(repositories), O(change_held) and O(stage).
    type: path
extends_documentation_fragment:
  - kubeadm.control_plane._node
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
      - The archives of O(save) are written each time.
seealso:
  - module: kubeadm.control_plane.kubernetes_binaries
  - module: kubeadm.control_plane.host_claim
"""

EXAMPLES = r"""
- name: Kubernetes and a container runtime on a bare host
  kubeadm.control_plane.host_packages:
    kubernetes_version: v1.33.2
    repositories:
      - name: kubernetes
        url: https://pkgs.k8s.io/core:/stable:/v1.33/deb/
        key: "{{ lookup('ansible.builtin.file', 'kubernetes.asc') }}"
    packages: [containerd, conntrack]
  become: true
"""

RETURN = r"""
packages:
  description: The packages and their versions, in check mode those that would be installed; with O(stage) those that are staged.
  returned: success
  type: dict
  sample: {"kubeadm": "1.33.2-1.1"}
cgroup_driver:
  description: The cgroup driver that this version of kubeadm gives the kubelet where its configuration has none.
  returned: success
  type: str
  sample: systemd
saved:
  description: The archives that were written, and the list of their digests.
  returned: success
  type: list
  elements: str
problems:
  description: Everything that keeps the packages from being installed.
  returned: where they can't be had
  type: list
  elements: str
"""

import fnmatch
import os

from ..module_utils.common import kubernetes_facts
from ..module_utils.common.guard import NodeError
from ..module_utils.common.kubernetes_versions import read_version
from ..module_utils.node.bootstrap import leftovers
from ..module_utils.node.host import claim, host_facts
from ..module_utils.node.machine_module import MachineModule
from ..module_utils.node.packages import package_archives, packages, select_manager
from ..module_utils.node.packages.preparation import Preparation, Refused, Wanted
from ..module_utils.node.packages.repositories import Repository

REPOSITORY = {
    "name": {"type": "str", "required": True},
    "url": {"type": "str", "required": True},
    "suite": {"type": "str", "default": "/"},
    "components": {"type": "list", "elements": "str", "default": []},
    "key": {"type": "str", "required": True, "no_log": False},
}


def main() -> None:
    """Run the module."""
    module = MachineModule(
        {
            "kubernetes_version": {"type": "str", "required": True},
            "package_version": {"type": "str", "default": ""},
            "repositories": {"type": "list", "elements": "dict", "default": [], "options": REPOSITORY},
            "packages": {"type": "list", "elements": "str", "default": []},
            "change_held": {"type": "bool", "default": False},
            "archives": {"type": "path"},
            "stage": {"type": "bool", "default": False},
            "save": {"type": "path"},
        },
        fencing=False,
        mutually_exclusive=[("save", other) for other in ("archives", "repositories", "change_held", "stage")],
    )
    # apt's own user reads what is written for it, and everybody what is installed.
    os.umask(0o022)
    params = module.params
    if read_version(params["kubernetes_version"]) is None:
        module.fail_json(msg=f"kubernetes_version {params['kubernetes_version']!r} is no version such as v1.30.2.")
    wanted = Wanted(
        version=params["kubernetes_version"],
        package_version=params["package_version"],
        repositories=tuple(
            Repository(each["name"], each["url"], each["key"], each["suite"], tuple(each["components"]))
            for each in params["repositories"]
        ),
        others=tuple(params["packages"]),
        change_held=params["change_held"],
        archives=params["archives"] or "",
    )
    with module.failing(NodeError, Refused):
        module.check()
        if params["save"]:
            manager = select_manager.manager_of_system()
            package_archives.require_apt(manager)
            names = wanted_names(manager, wanted)
            saved = [] if module.check_mode else Preparation(manager).save(names, params["save"])
            module.exit_json(changed=True, packages={}, cgroup_driver="", saved=saved)
        default = "systemd" if kubernetes_facts.sets_systemd_cgroups(wanted.version) else "cgroupfs"
        if params["stage"]:
            staged, to_stage = Preparation(select_manager.manager_of_system()).stage(wanted, check=module.check_mode)
            diff = {"before": {"staged": staged}, "after": {"staged": to_stage}} if staged != to_stage else {}
            module.exit_json(changed=bool(diff), packages=to_stage, cgroup_driver=default, saved=[], diff=diff)
        places = host_facts.HostPlaces()
        found = claim.read_claim(places)
        if found:
            raise NodeError(
                f"This host is claimed by {found.owner()}.",
                "Nothing was changed. Take another host; that cluster's own packages are upgraded with the Action upgrade.",
            )
        left = host_facts.carried(places)
        if left:
            raise NodeError(
                f"This host carries a cluster, or what one left ({', '.join(left)}).",
                f"Nothing was changed. Run the Action upgrade for a node; where the cluster is gone, wipe the host: {leftovers.WIPE}.",
            )
        before, after = Preparation(select_manager.manager_of_system()).ensure(wanted, check=module.check_mode)
    changed = before != after
    module.exit_json(
        changed=changed,
        packages=dict(after.versions),
        cgroup_driver=default,
        saved=[],
        diff={"before": before.document(), "after": after.document()} if changed else {},
    )


def wanted_names(manager: packages.PackageManager, wanted: Wanted) -> list[str]:
    """Return the packages to write archives of, at this host's versions.

    Raises:
        NodeError: it hasn't all of them, or another version of Kubernetes.
    """
    patterns = wanted.patterns()
    there = manager.installed((*patterns, *wanted.others))
    lacking = [
        name for name, each in patterns.items() if name not in there or not fnmatch.fnmatchcase(there[name], each)
    ]
    if lacking:
        raise NodeError(
            f"This host doesn't have {', '.join(f'{name} {patterns[name]}' for name in lacking)}.",
            "Nothing was written. Prepare it with the playbook prepare, or ask another host.",
        )
    exact = [manager.at(name, version) for name, version in there.items() if name in patterns]
    return [*exact, *(name for name in wanted.others if name not in patterns)]


if __name__ == "__main__":
    main()
