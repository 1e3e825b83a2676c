# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stored objects of a control plane of three: changed in place by the manifest, or deleted by somebody."""

from __future__ import annotations

import pytest
import yaml
from machines import Machines
from traces import traces
from workspace import Workspace, cluster_documents

NAME = "lab-objects"


@pytest.fixture(scope="module")
def machines(workspace: Workspace) -> Machines:
    """The cluster's machines, reached beside the collection; three of them, converged."""
    workspace.manifest(NAME, replicas=3)
    workspace.playbook("reconcile").succeeded()
    return Machines(workspace, NAME)


def lose(workspace: Workspace, name: str, *kinds: str) -> None:
    """Delete files of a machine's objects."""
    for kind in kinds:
        [path] = workspace.store.glob(f"default/{kind}.*/{name}.yaml")
        path.unlink()


def whole(workspace: Workspace, machines: Machines) -> None:
    """Three machines, three members, three Ready Nodes of the same names, and nothing left to do."""
    names = machines.names()
    assert len(names) == 3
    assert [member["name"] for member in machines.etcd_members()] == names
    assert machines.ready_nodes() == names
    assert workspace.playbook("reconcile").succeeded().recap(NAME)["changed"] == 0


@pytest.mark.full
def test_labels_and_timeouts_reach_machines_that_stay(workspace: Workspace, machines: Machines) -> None:
    """Told by plan, changed once, and no machine is replaced."""
    before = machines.names()
    documents = cluster_documents(NAME, replicas=3)
    template = documents[1]["spec"]["machineTemplate"]
    template["metadata"] = {"labels": {"team": "a"}}
    template["spec"]["deletion"] = {"nodeDrainTimeoutSeconds": 90}
    workspace.write(NAME, yaml.safe_dump_all(documents, sort_keys=False))
    plan = workspace.playbook("plan").succeeded()
    assert f"reconcile would change Machine default/{before[0]} in place: metadata.labels.team" in plan.text
    assert "Nothing to do" in plan.text
    workspace.playbook("reconcile").succeeded()
    for machine in workspace.objects("Machine"):
        assert machine["metadata"]["labels"]["team"] == "a"
        assert machine["spec"]["deletion"] == {"nodeDrainTimeoutSeconds": 90}
    assert machines.names() == before
    whole(workspace, machines)


@pytest.mark.full
def test_a_machine_without_kubeadm_config_and_one_without_infrastructure_machine(
    workspace: Workspace, machines: Machines
) -> None:
    """Both stay: what is not known of them counts as up to date."""
    before = machines.names()
    lose(workspace, before[0], "kubeadmconfig")
    lose(workspace, before[1], "nspawnmachine")
    workspace.playbook("reconcile").succeeded()
    assert machines.names() == before
    whole(workspace, machines)


@pytest.mark.full
def test_a_machine_of_which_only_the_kubeadm_config_is_left(workspace: Workspace, machines: Machines) -> None:
    """It is taken out as any other, and nothing of it stays on the host."""
    gone = machines.names()[1]
    lose(workspace, gone, "machine", "nspawnmachine")
    plan = workspace.playbook("plan").succeeded()
    assert f"remove machine {gone}" in plan.text
    workspace.playbook("reconcile").succeeded()
    assert gone not in machines.names() and traces(gone) == []
    whole(workspace, machines)
