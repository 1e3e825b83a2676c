# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions that are planned while no API answers: none in vain where an authority has ended, and workers are not forgotten."""

from __future__ import annotations

import copy
import typing as t
from pathlib import Path

import pytest
from operator_cases import hub
from operator_workspace import NAME, OperatorWorkspace

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Answer, Machine
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import actions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.advice import AUTHORITY_ENDED
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator import freeze
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.planner_types import RefusedAction
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks.cluster_facts import Facts
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    MACHINE,
    ClusterObjects,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

Object = dict[str, t.Any]


ENDED, LATER = "2016-01-01T00:00:00Z", "2099-01-01T00:00:00Z"


class Machines:
    """Machines that run, whose certificates have ended, so that no API server answers."""

    def __init__(self, authority: str, silent: str = "") -> None:
        self._ends = {"ca": authority, "apiserver": ENDED, "kubelet.conf": ENDED}
        self._silent = silent

    def call(self, machine: Machine, module: str, arguments: Object) -> Answer:
        """Answer as a module on that machine would."""
        del arguments
        if module == "kubeadm_certificates" and machine.name != self._silent:
            return Answer(True, {"certificates": self._ends})
        if module == "node_command" and machine.name != self._silent:
            return Answer(True, {"actual_machine_id": machine.machine_id})
        return Answer(True, {"msg": "no API server answers", "failed": True})


def requested(what: str) -> Object:
    """An Action of that kind."""
    document = {"apiVersion": actions.API_VERSION, "kind": actions.ACTION, "spec": {what: {}}}
    return hub({**document, "metadata": {"name": "up", "namespace": "default"}})


def add_worker(store: FileStore, name: str, state: str) -> None:
    """Store the Machine of a MachineDeployment's worker, after its bootstrap came to that."""
    worker = copy.deepcopy(store.list(MACHINE, "default")[0])
    owner = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet", "name": "pool-1", "uid": "1"}
    labels = {"cluster.x-k8s.io/cluster-name": NAME, "cluster.x-k8s.io/deployment-name": "pool"}
    metadata = {
        "name": name,
        "namespace": "default",
        "labels": labels,
        "ownerReferences": [{**owner, "controller": True}],
    }
    spec = {**worker["spec"], "infrastructureRef": {**worker["spec"]["infrastructureRef"], "name": name}}
    store.create(
        {**worker, "metadata": metadata, "spec": spec, "status": {"bootstrap": {"state": state}, "machineID": name * 8}}
    )


@pytest.mark.parametrize("what", ["renewCertificates", "rotateCertificateAuthorities"])
def test_neither_action_sends_to_the_other(tmp_path: Path, what: str) -> None:
    workspace = OperatorWorkspace(tmp_path)
    workspace.create()
    objects = ClusterObjects.read(FileStore(str(workspace.store)), "default", NAME)
    assert objects is not None
    with pytest.raises(RefusedAction, match=r"the certificate authority ca of .* has ended") as refused:
        Facts(objects, t.cast(t.Any, Machines(ENDED)), ()).gather(requested(what))
    assert refused.value.error.fix == AUTHORITY_ENDED


def test_workers_of_machine_deployments_are_renewed_as_those_of_the_inventory_are(tmp_path: Path) -> None:
    """Those that have joined, with a Machine or as a host; one that can't be asked doesn't hold up the others."""
    workspace = OperatorWorkspace(tmp_path)
    workspace.create()
    store = FileStore(str(workspace.store))
    for name, state in (("pool-a", "Succeeded"), ("pool-b", "Running"), ("pool-c", "Failed"), ("pool-d", "Succeeded")):
        add_worker(store, name, state)
    objects = ClusterObjects.read(store, "default", NAME)
    assert objects is not None
    machines = t.cast(t.Any, Machines(LATER, silent="pool-d"))
    root = requested("renewCertificates")
    found = Facts(objects, machines, ("worker-1", "pool-a")).gather(root)
    renewed = [each["nodes"] for each in freeze.freeze(root, found)["groups"] if each["name"].endswith("-bootstrap-w")]
    assert renewed == [["pool-a", "worker-1"]]
    [worker] = [each for each in found.nodes if each.name == "pool-a"]
    assert (worker.machine, worker.inventory_host, worker.machine_id) == ("pool-a", "", "pool-a" * 8)
    assert worker.labels == {"cluster.x-k8s.io/deployment-name": "pool"} and worker in found.workers
    assert len(found.control_plane_nodes) == 3


@pytest.mark.parametrize("answers", [False, True])
def test_a_machine_that_is_lost_and_to_go_holds_up_no_renewal(tmp_path: Path, answers: bool) -> None:
    """No API answers that could remove it. One that is marked and answers may be needed for etcd's quorum."""
    workspace = OperatorWorkspace(tmp_path)
    workspace.create()
    store = FileStore(str(workspace.store))
    *others, lost = workspace.control_planes
    machines = t.cast(t.Any, Machines(LATER, silent="" if answers else lost))
    root = requested("renewCertificates")

    def planned() -> list[list[str]]:
        objects = ClusterObjects.read(store, "default", NAME)
        assert objects is not None
        groups = freeze.freeze(root, Facts(objects, machines, ()).gather(root))["groups"]
        return [sorted(each["nodes"]) for each in groups if each["name"].endswith("-cp")]

    if not answers:
        with pytest.raises(RefusedAction, match=rf"{lost} can't be reached .* mark its Machine for deletion \(kubectl"):
            planned()
    store.modify(MACHINE, "default", lost, lambda each: each["metadata"].update(finalizers=["machine"]))
    store.delete(MACHINE, "default", lost)
    assert planned() == [[*others, lost] if answers else [*others]] * 3
