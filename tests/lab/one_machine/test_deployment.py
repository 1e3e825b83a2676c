# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A worker joins the control plane of one machine from its manifest, and goes with its MachineDeployment; the whole life is in test_workers.py."""

from __future__ import annotations

import yaml
from lab_workers import deployment_name, joined, worker_documents
from machines import Machines
from traces import left_of
from workspace import Workspace

from .conftest import NAME


def test_a_worker_of_the_manifest(workspace: Workspace, machines: Machines) -> None:
    """Its Node is Ready, and a second run changes nothing; its deletion leaves the control plane as it was."""
    [first] = machines.names()
    path = workspace.folder / "clusters" / f"{NAME}.yaml"
    before = path.read_text()
    workers = yaml.safe_dump_all(worker_documents(NAME, 1), sort_keys=False)
    path.write_text(f"{before}---\n{workers}")
    workspace.playbook("reconcile").succeeded()
    [name] = machines.workers()
    assert machines.ready_nodes() == sorted([first, name])
    joined(machines, name)
    assert [each["name"] for each in machines.etcd_members()] == [first]
    assert workspace.playbook("reconcile").succeeded().recap(NAME)["changed"] == 0
    path.write_text(before)
    words = ("-e", f"control_plane_deployment={deployment_name(NAME)}", "-e", f"control_plane_delete={NAME}")
    workspace.playbook("delete", *words).succeeded()
    assert machines.names() == machines.ready_nodes() == [first] and left_of(name) == []
