# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is left of the three is deleted, with consent, and nothing is left of it."""

from __future__ import annotations

from machines import Machines
from traces import traces
from workspace import Workspace

from .conftest import CA, EXTRA, NAME


def test_delete_needs_the_clusters_name(workspace: Workspace, three: Machines) -> None:
    """Deleting without consent does nothing."""
    run = workspace.playbook("delete").failed()
    assert f"control_plane_delete={NAME}" in run.text
    assert [each["name"] for each in three.etcd_members()] == three.names()


def test_workers_block_a_delete(workspace: Workspace, three: Machines) -> None:
    """A registered worker Node blocks the deletion and is named."""
    three.register_worker("worker-1")
    run = workspace.playbook("delete", "-e", f"control_plane_delete={NAME}").failed()
    assert "worker-1" in run.text
    assert [each["name"] for each in three.etcd_members()] == three.names()


def test_delete_leaves_nothing(workspace: Workspace, three: Machines) -> None:
    """Told to ignore the worker, everything goes: processes, mounts, links, cgroups, folders, objects; the user's own Secrets stay."""
    names = three.names()
    workspace.playbook(
        "delete", "-e", f"control_plane_delete={NAME}", "-e", "control_plane_ignore_worker_nodes=true"
    ).succeeded()
    assert traces(NAME, *names) == []
    for kind in (
        "Cluster",
        "KubeadmControlPlane",
        "Machine",
        "KubeadmConfig",
        "NspawnMachine",
        "NspawnCluster",
    ):
        assert workspace.objects(kind) == [], kind
    assert {each["metadata"]["name"] for each in workspace.objects("Secret")} == {
        EXTRA["metadata"]["name"],
        CA["metadata"]["name"],
    }
    again = workspace.playbook("delete", "-e", f"control_plane_delete={NAME}").succeeded()
    assert again.recap(NAME)["changed"] == 0
