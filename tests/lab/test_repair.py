# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A control plane of three that others meddle with: reconcile puts it right, or in place; a paused one is left alone."""

from __future__ import annotations

import subprocess
import typing as t

import pytest
import yaml
from machines import Machines
from traces import left_of
from workspace import Workspace, cluster_documents

pytestmark = pytest.mark.full
NAME = "lab-repair"
PAUSED = "cluster.x-k8s.io/paused"


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
    again = workspace.playbook("reconcile", "-v").succeeded()
    assert again.recap(NAME)["changed"] == 0, again.output


@pytest.mark.parametrize("kind", ["Cluster", "KubeadmControlPlane"])
def test_a_paused_cluster_is_left_alone(workspace: Workspace, machines: Machines, kind: str) -> None:
    """Both switches stop everything, whatever the manifest wishes; taken away, nothing has to be made up for."""
    before = machines.names(), machines.etcd_members()
    path = workspace.manifest(NAME, replicas=5)
    documents = list(yaml.safe_load_all(path.read_text()))
    paused = next(each for each in documents if each["kind"] == kind)
    if kind == "Cluster":
        paused["spec"]["paused"] = True
    else:
        paused["metadata"].setdefault("annotations", {})[PAUSED] = ""
    workspace.write(NAME, yaml.safe_dump_all(documents))
    try:
        run = workspace.playbook("reconcile").succeeded()
        assert "paused" in run.text and (machines.names(), machines.etcd_members()) == before
    finally:
        paused["spec"].pop("paused", None)
        (paused["metadata"].get("annotations") or {}).pop(PAUSED, None)
        next(each for each in documents if each["kind"] == "KubeadmControlPlane")["spec"]["replicas"] = 3
        workspace.write(NAME, yaml.safe_dump_all(documents))
    workspace.playbook("reconcile").succeeded()
    assert (machines.names(), machines.etcd_members()) == before


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


def test_a_machine_object_deleted_from_the_store(workspace: Workspace, machines: Machines) -> None:
    """The file of a Machine is gone, everything else is there: the machine is taken out as any other, and replaced."""
    [gone, *_others] = machines.names()
    lose(workspace, gone, "machine")
    workspace.playbook("reconcile").succeeded()
    assert gone not in machines.names() and left_of(gone) == []
    whole(workspace, machines)


def test_a_machine_of_which_only_the_kubeadm_config_is_left(workspace: Workspace, machines: Machines) -> None:
    """It is taken out as any other, and nothing of it stays on the host."""
    gone = machines.names()[1]
    lose(workspace, gone, "machine", "nspawnmachine")
    plan = workspace.playbook("plan").succeeded()
    assert f"removing machine {gone}" in plan.text
    workspace.playbook("reconcile").succeeded()
    assert gone not in machines.names() and left_of(gone) == []
    whole(workspace, machines)


def test_infrastructure_that_is_gone(workspace: Workspace, machines: Machines) -> None:
    """A machine was deleted beside the collection: its member and Node are removed, and a new one joins."""
    [_first, gone, _last] = machines.names()
    destroy(gone)
    run = workspace.playbook("reconcile").succeeded()
    assert "does not exist any more" in run.text
    assert gone not in machines.names()
    whole(workspace, machines)


def test_a_member_that_somebody_removed(workspace: Workspace, machines: Machines) -> None:
    """etcd takes back no member that was removed: the machine is replaced without anybody marking it.

    It is the oldest one: of a machine that began to join within the last five minutes nobody could say that it will not settle.
    """
    [(_started, _finished, oldest), *_others] = machines.bootstrap_times()
    [victim] = [each for each in machines.etcd_members() if each["name"] == oldest]
    machines.etcd("/v3/cluster/member/remove", f'{{"ID": "{victim["ID"]}"}}')
    run = workspace.playbook("reconcile").succeeded()
    assert "its etcd member was removed" in run.text
    assert oldest not in machines.names()
    whole(workspace, machines)


def test_members_of_no_machine(workspace: Workspace, machines: Machines) -> None:
    """A learner and a voter that never started, added by somebody: both go, and the machines stay."""
    before = machines.names()
    for number, learner in enumerate(("true", "false"), start=1):
        body = f'{{"peerURLs": ["https://10.255.255.{number}:2380"], "isLearner": {learner}}}'
        machines.etcd("/v3/cluster/member/add", body)
    assert len(machines.etcd_members()) == 5
    run = workspace.playbook("reconcile").succeeded()
    assert run.text.count("belongs to no machine") >= 2
    assert machines.names() == before
    whole(workspace, machines)


def destroy(name: str) -> None:
    """Delete a local machine as somebody would who knows nothing of the cluster."""
    arguments = f"name={name} state=absent"
    command: t.Sequence[str] = (
        "ansible",
        "localhost",
        "-m",
        "kubeadm.control_plane.nspawn_machine",
        "-a",
        arguments,
    )
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    assert left_of(name) == []
