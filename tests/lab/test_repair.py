# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A control plane of three that others meddle with: reconcile finds it and puts it right, and a paused one is left alone."""

from __future__ import annotations

import subprocess
import typing as t

import pytest
import yaml
from machines import Machines
from traces import traces
from workspace import Workspace

pytestmark = pytest.mark.full
NAME = "lab-repair"
PAUSED = "cluster.x-k8s.io/paused"


@pytest.fixture(scope="module")
def machines(workspace: Workspace) -> Machines:
    """The cluster's machines, reached beside the collection; three of them, converged."""
    workspace.manifest(NAME, replicas=3)
    workspace.playbook("reconcile").succeeded()
    return Machines(workspace, NAME)


def whole(workspace: Workspace, machines: Machines) -> None:
    """Three machines, three members, three Ready Nodes of the same names, and nothing left to do."""
    names = machines.names()
    assert len(names) == 3
    assert [member["name"] for member in machines.etcd_members()] == names
    assert machines.ready_nodes() == names
    assert workspace.playbook("reconcile").succeeded().recap(NAME)["changed"] == 0


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


def test_a_machine_object_deleted_from_the_store(workspace: Workspace, machines: Machines) -> None:
    """The file of a Machine is gone, everything else is there: the machine is taken out as any other, and replaced."""
    [gone, *_others] = machines.names()
    [path] = [
        each
        for each in workspace.store.glob("default/machine.*/*.yaml")
        if yaml.safe_load(each.read_text())["metadata"]["name"] == gone
    ]
    path.unlink()
    workspace.playbook("reconcile").succeeded()
    assert gone not in machines.names() and traces(gone) == []
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
    """etcd takes back no member that was removed: the machine is replaced without anybody marking it."""
    victim = next(each for each in machines.etcd_members() if each["name"] != machines.etcd_leader())
    machines.etcd("/v3/cluster/member/remove", f'{{"ID": "{victim["ID"]}"}}')
    run = workspace.playbook("reconcile").succeeded()
    assert "its etcd member was removed" in run.text
    assert victim["name"] not in machines.names()
    whole(workspace, machines)


@pytest.mark.parametrize("learner", ["false", "true"], ids=["a member that never started", "a learner"])
def test_a_stray_member(workspace: Workspace, machines: Machines, learner: str) -> None:
    """A member of no machine goes, with a verified snapshot before; the machines stay."""
    before = machines.names()
    machines.etcd("/v3/cluster/member/add", f'{{"peerURLs": ["https://10.255.255.1:2380"], "isLearner": {learner}}}')
    assert len(machines.etcd_members()) == 4
    run = workspace.playbook("reconcile").succeeded()
    assert "belongs to no machine" in run.text
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
    assert traces(name) == []
