# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects of adopted workers: complete, no rollout of their own, and harmless at whatever write a run is killed."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from adoption_by_hand import Adoption, killed_anywhere
from hand_made import HandMade

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.adoption.control_plane_writer import (
    marked_for_deletion,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.adoption.workers.worker_writer import (
    managed_nodes,
    to_adopt,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.failure import ControlPlaneFailure
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Answer, Machine
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.workers.template_hash import (
    set_name,
    template_hash,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CLUSTER,
    CONTROL_PLANE,
    MACHINE_DEPLOYMENT,
    MACHINE_SET,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.workers import versions_in_place
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

Object = dict[str, t.Any]
INVENTORY_MACHINE = ("infrastructure.cluster.x-k8s.io", "InventoryMachine")
PAUSED = "cluster.x-k8s.io/paused"


def with_workers(folder: Path) -> Adoption:
    """An adoption of a cluster with two workers."""
    made = Adoption(folder)
    made.workers = made.hand.join(2)
    return made


def stored(adoption: Adoption, kind: tuple[str, str]) -> list[Object]:
    """The objects of a kind, by name."""
    found = FileStore(str(adoption.path)).list(kind, "default")
    return sorted(found, key=lambda each: str(each["metadata"]["name"]))


@pytest.fixture
def adoption(tmp_path: Path) -> Adoption:
    return with_workers(tmp_path)


def test_nothing_is_left_to_do(adoption: Adoption) -> None:
    """Each worker has what a run would have made, of the MachineSet that the deployment asks for; its host is claimed."""
    adoption.run()
    decision = decide(adoption.snapshot())
    assert decision["action"] == "none", decision
    status = decision["status"]["machineDeployments"]["workers"]
    assert (status["replicas"], status["upToDateReplicas"], status["availableReplicas"]) == (2, 2, 2)
    [deployment], [owned] = stored(adoption, MACHINE_DEPLOYMENT), stored(adoption, MACHINE_SET)
    assert PAUSED not in deployment["metadata"].get("annotations", {})
    digest = template_hash("workers", deployment["spec"]["template"])
    assert owned["metadata"]["name"] == set_name("workers", digest)
    objects = adoption.objects()
    for machine in objects.workers:
        metadata, name = machine["metadata"], machine["metadata"]["name"]
        assert (machine["status"]["nodeRef"]["name"], machine["spec"]["version"]) == (name, "v1.20.2")
        assert metadata["labels"]["machine-template-hash"] == digest
        assert metadata["labels"]["cluster.x-k8s.io/deployment-name"] == "workers"
        assert metadata["ownerReferences"][0]["uid"] == owned["metadata"]["uid"]
        assert "controlPlane" not in objects.kubeadm_configs[name]["spec"]["joinConfiguration"]
        claim = objects.infrastructure_machines[name]["status"]["claim"]
        assert (claim["state"], claim["id"]) == ("Claimed", adoption.claimed[name])
    assert sorted(adoption.claimed) == ["cp-1", "cp-2", "cp-3", "w-1", "w-2"]


def test_a_second_time_changes_nothing(adoption: Adoption) -> None:
    adoption.run()
    before = adoption.contents()
    assert adoption.run() == [] and adoption.contents() == before


def test_killed_before_any_write(tmp_path: Path) -> None:
    """No reconcile in between makes a worker beside those that are there, or takes one away; the next adoption completes it."""

    def small(folder: Path) -> Adoption:
        made = Adoption(folder, 1)
        made.workers = made.hand.join(2)
        return made

    assert killed_anywhere(small, tmp_path) > 25


def test_killed_while_a_worker_is_added(tmp_path: Path) -> None:
    """Of a MachineDeployment that is there already: as few workers are made beside it."""

    def managed(folder: Path) -> Adoption:
        made = Adoption(folder, 1)
        hosts = made.hand.join(2)
        made.workers = hosts[:1]
        made.run()
        made.workers = hosts
        return made

    assert killed_anywhere(managed, tmp_path) > 5


def test_workers_of_a_cluster_that_is_managed_already(tmp_path: Path) -> None:
    """They come later, with a MachineDeployment that is in the store already, or not; nothing of the control plane is written again."""
    for there in (False, True):
        folder = tmp_path / str(there)
        folder.mkdir()
        adoption = Adoption(folder)
        hosts = adoption.hand.join(2)
        if there:
            adoption.workers = hosts[:1]
        adoption.run()
        adoption.workers = hosts
        changes = adoption.run()
        assert not [each for each in changes if "cp-" in each or "Secret" in each]
        assert ("create Machine default/w-1" in changes, "create Machine default/w-2" in changes) == (not there, True)
        assert decide(adoption.snapshot())["action"] == "none"


def test_one_of_an_older_version_is_replaced_by_the_plan_and_no_other(adoption: Adoption) -> None:
    adoption.hand.workers["w-host-1"]["status"]["nodeInfo"]["kubeletVersion"] = "v1.20.1"
    adoption.run()
    versions = {each["spec"]["template"]["spec"]["version"] for each in stored(adoption, MACHINE_SET)}
    assert versions == {"v1.20.1", "v1.20.2"}
    decision = decide(adoption.snapshot())
    assert decision["status"]["machineDeployments"]["workers"]["upToDateReplicas"] == 1
    assert decision["action"] == "joinWorkers" and "Version v1.20.1, v1.20.2 required" in str(decision["conditions"])


def test_one_of_the_version_before_an_upgrade_in_place_is_replaced_by_the_plan(adoption: Adoption) -> None:
    """The upgraded MachineSet has the name of the template before, and is not its own."""
    upgraded, late = adoption.workers
    nodes = adoption.hand.workers
    for name in (upgraded, late):
        nodes[name]["status"]["nodeInfo"]["kubeletVersion"] = "v1.20.1"
    adoption.workers = [upgraded]
    adoption.run()
    [former] = stored(adoption, MACHINE_SET)
    nodes[upgraded]["status"]["nodeInfo"]["kubeletVersion"] = "v1.20.2"
    objects = adoption.objects()
    versions_in_place.record_machines(objects, "v1.20.2", [upgraded])
    versions_in_place.record_deployment(objects, "workers", "v1.20.2", "upgrade")
    adoption.workers = [upgraded, late]
    adoption.run()
    sets = {
        each["metadata"]["name"]: each["spec"]["template"]["spec"]["version"] for each in stored(adoption, MACHINE_SET)
    }
    assert sets.pop(former["metadata"]["name"]) == "v1.20.2" and list(sets.values()) == ["v1.20.1"]
    decision = decide(adoption.snapshot())
    assert decision["action"] == "joinWorkers" and "Version v1.20.1, v1.20.2 required" in str(decision["conditions"])

    # Upgraded in place as well, none of both sets is replaced.
    nodes[late]["status"]["nodeInfo"]["kubeletVersion"] = "v1.20.2"
    objects = adoption.objects()
    versions_in_place.record_machines(objects, "v1.20.2", [upgraded, late])
    versions_in_place.record_deployment(objects, "workers", "v1.20.2", "upgrade")
    assert decide(adoption.snapshot())["action"] == "none"


def test_a_worker_is_managed_before_its_node_is_recorded(adoption: Adoption) -> None:
    """By the name that its configuration gives to its Node."""
    adoption.run()
    objects = adoption.objects()
    machine = objects.workers[0]
    del machine["status"]["nodeRef"]
    join = objects.kubeadm_configs[machine["metadata"]["name"]]["spec"]["joinConfiguration"]
    join["nodeRegistration"] = {"name": "Web-1"}
    assert managed_nodes(objects)["web-1"] == "workers"


@pytest.mark.parametrize("kind", [CLUSTER, CONTROL_PLANE, MACHINE_DEPLOYMENT])
def test_what_is_marked_for_deletion_takes_no_machines(adoption: Adoption, kind: tuple[str, str]) -> None:
    """They would be deleted with it. A MachineDeployment matters where it is named, a KubeadmControlPlane also before its Cluster."""
    adoption.run()
    store, manifest = FileStore(str(adoption.path)), adoption.manifest()
    assert marked_for_deletion(store, manifest, adoption.objects(), ["workers"]) == []
    [marked] = [each["metadata"]["name"] for each in store.list(kind, "default")]
    store.delete(kind, "default", marked)
    found = {
        len(marked_for_deletion(store, manifest, objects, names))
        for objects in (adoption.objects(), None)
        for names in (["workers"], [])
    }
    assert found == ({0, 1} if kind == MACHINE_DEPLOYMENT else {1})
    [problem] = marked_for_deletion(store, manifest, None, ["workers"])
    assert f"a mark of deletion on {kind[1]} default/{marked}: " in str(problem)


def test_a_pause_of_the_users_own_stays(adoption: Adoption) -> None:
    documents = adoption.manifest()
    documents.machine_deployments[0]["metadata"]["annotations"] = {PAUSED: "true"}
    adoption.manifest = lambda: documents  # type: ignore[method-assign]
    adoption.run()
    assert stored(adoption, MACHINE_DEPLOYMENT)[0]["metadata"]["annotations"][PAUSED] == "true"
    assert to_adopt(adoption.objects(), adoption.survey().hosts) == {}


def test_a_number_that_the_manifest_leaves_out(adoption: Adoption) -> None:
    """It is what runs, and not the default of one, which would cost a worker."""
    adoption.change = lambda specs: specs["MachineDeployment"].pop("replicas")
    adoption.run()
    assert stored(adoption, MACHINE_DEPLOYMENT)[0]["spec"]["replicas"] == 2
    assert decide(adoption.snapshot())["action"] == "none"
    assert adoption.run() == []


@pytest.mark.parametrize(("stored_number", "replicas"), [(1, 3), (5, 5)])
def test_workers_are_added_to_a_number_that_the_manifest_leaves_out(
    adoption: Adoption, stored_number: int, replicas: int
) -> None:
    """Those that are there and those that come: none is one too many. A larger number, which was asked for, stays."""
    adoption.workers = adoption.hand.join(3)[:1]
    adoption.change = lambda specs: specs["MachineDeployment"].pop("replicas")
    adoption.run()

    def scale(deployment: Object) -> None:
        deployment["spec"]["replicas"] = stored_number

    FileStore(str(adoption.path)).modify(MACHINE_DEPLOYMENT, "default", "workers", scale)
    adoption.workers = list(adoption.hand.workers)
    adoption.run()
    assert stored(adoption, MACHINE_DEPLOYMENT)[0]["spec"]["replicas"] == replicas
    decision = decide(adoption.snapshot())
    assert decision["status"]["machineDeployments"]["workers"]["replicas"] == 3
    assert decision["action"] == ("none" if replicas == 3 else "joinWorkers")


def another_of_the_namespace(adoption: Adoption) -> Adoption:
    """An adoption of other hosts into the same store, whose Nodes are called as the first one's."""
    other = with_workers(adoption.path.parent)
    other.name, other.hand.pairs = "staging", HandMade(1).pairs
    return other


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("machine", "NameTaken: host-1: the store has Machine default/cp-1 of another cluster (prod)"),
        ("inventorymachine", "NameTaken: w-host-1: the store has InventoryMachine default/w-1 of another cluster"),
        ("kubeadmconfig", "NameTaken: w-host-2: the store has KubeadmConfig default/w-2 of another cluster"),
        ("machinedeployment", "NameTaken: the store has MachineDeployment default/workers of another cluster (prod)"),
    ],
)
def test_a_name_that_another_cluster_of_the_namespace_has(adoption: Adoption, kind: str, said: str) -> None:
    """Nothing is written: none of its machines is taken for an own one, nor its MachineDeployment paused."""
    adoption.run()
    for path in (adoption.path / "default").rglob("*.yaml"):
        if path.parent.name.partition(".")[0] != kind:
            path.unlink()
    before, other = adoption.contents(), another_of_the_namespace(adoption)
    assert other.run() == [] and adoption.contents() == before
    assert [each for each in other.refused if said in each and "-e control_plane_namespace=NAME" in each]
    assert len(other.refused) == (1 if kind == "machinedeployment" else 5)


def test_a_claim_of_another_cluster_is_no_own_one(adoption: Adoption) -> None:
    """Hosts that are adopted already are not adopted under a second name: their machines would not be found under it."""
    adoption.run()
    other = another_of_the_namespace(adoption)
    claims = {each["metadata"]["name"]: each["status"]["claim"] for each in stored(adoption, INVENTORY_MACHINE)}
    other.hand.changes["host-1"] = lambda answer: answer["adoption"].update(claim={**claims["cp-1"], "cluster": "prod"})
    other.run()
    assert {each.split(":")[0] for each in other.refused} == {"NameTaken", "HostClaimed"}


def test_a_name_that_another_cluster_takes_meanwhile(adoption: Adoption) -> None:
    """What it has is left as it is, and the run doesn't end as if that were an own machine."""
    adoption.run()
    path = adoption.path / "default" / "machine.cluster.x-k8s.io" / "w-2.yaml"
    taken, other = path.read_text(), another_of_the_namespace(adoption)
    for each in (adoption.path / "default").rglob("*.yaml"):
        each.unlink()
    claim = other.claim

    def meanwhile(machine: Machine, call: Object) -> Answer:
        path.write_text(taken)
        return claim(machine, call)

    other.claim = meanwhile  # type: ignore[method-assign]
    with pytest.raises(
        ControlPlaneFailure, match=r"w-host-2 was not adopted: NameTaken: .*Machine default/w-2 of another"
    ):
        other.run()
    assert path.read_text() == taken
