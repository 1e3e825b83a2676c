# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Workers' objects that were deleted from the store behind our back: no machine is forgotten, and none goes without its drain."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from mortal_store import every_end, killed_after
from stored_manifest import EXAMPLES, Kept

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.workers import template_hash
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.deleted import deleted_machines
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records import machine_objects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CLUSTER,
    KUBEADM_CONFIG,
    MACHINE,
    MACHINE_DEPLOYMENT,
    MACHINE_SET,
    ClusterObjects,
    Object,
    delete_finally,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.workers import worker_objects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

Kind = tuple[str, str]
INFRASTRUCTURE: Kind = ("infrastructure.cluster.x-k8s.io", "NspawnMachine")
DEPLOYMENT, NAME = "my-workers", "my-workers-w1"
ADDRESSES = [{"type": "InternalIP", "address": "10.88.0.21"}]


class Cluster:
    """A stored cluster with one worker that has joined."""

    def __init__(self, kept: Kept) -> None:
        self.kept, self.store = kept, kept.store
        workers = [*yaml.safe_load_all((EXAMPLES / "workers.yaml").read_text())]
        kept.apply([*kept.documents, *workers])
        deployment = self.get(MACHINE_DEPLOYMENT, DEPLOYMENT)
        assert deployment is not None
        digest = template_hash.template_hash(DEPLOYMENT, deployment["spec"]["template"])
        self.set = template_hash.set_name(DEPLOYMENT, digest)
        self.make(NAME)

    def make(self, name: str) -> None:
        """One worker more."""
        entry = {"deployment": DEPLOYMENT, "machineSet": self.set, "machine": "", "name": name}
        worker_objects.create_worker(self.objects(), entry)

    def joined(self) -> None:
        """Its kubeadm has ended well."""
        machine_objects.note_start(self.objects(), NAME)
        status = {"initialization": {"provisioned": True}, "addresses": ADDRESSES, "machineID": "w1" * 16}
        self.store.modify(INFRASTRUCTURE, "default", NAME, lambda stored: stored.update(status=status))
        own = {
            "bootstrap": {"state": "Succeeded"},
            "addresses": ADDRESSES,
            "machineID": "w1" * 16,
            "initialization": {"infrastructureProvisioned": True},
        }
        self.store.modify(MACHINE, "default", NAME, lambda stored: stored.update(status=own))

    def objects(self, store: t.Optional[FileStore] = None) -> ClusterObjects:
        """What the store holds of it."""
        found = ClusterObjects.read(store or self.store, "default", "my-cluster")
        assert found is not None
        return found

    def get(self, kind: Kind, name: str = NAME) -> t.Optional[Object]:
        """A stored object."""
        return self.store.get(kind, "default", name)

    def lose(self, *kinds: Kind, name: str = NAME) -> None:
        """Delete objects as a user who deletes files does."""
        for each in kinds:
            assert delete_finally(self.store, each, "default", name)

    def restore(self) -> list[str]:
        """What a pass does first."""
        return deleted_machines.restore(self.objects())


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    """A worker that has joined."""
    made = Cluster(Kept(tmp_path))
    made.joined()
    return made


def annotated(**marks: str) -> t.Callable[[Object], None]:
    """The change that writes marks of ours on an object."""
    own = {"kubeadm.control-plane/" + name.replace("_", "-"): value for name, value in marks.items()}
    return lambda stored: stored["metadata"].update(
        annotations={**(stored["metadata"].get("annotations") or {}), **own}
    )


def test_nothing_is_restored_where_nothing_is_lost(cluster: Cluster) -> None:
    """A mark that is not "true" asks for nothing."""
    cluster.store.modify(MACHINE, "default", NAME, annotated(restored="false"))
    cluster.store.modify(KUBEADM_CONFIG, "default", NAME, annotated(machine_lost_with_all="false"))
    before = cluster.kept.files()
    assert cluster.restore() == []
    assert cluster.kept.files() == before


@pytest.mark.parametrize("lost", [(MACHINE,), (MACHINE, KUBEADM_CONFIG), (MACHINE, INFRASTRUCTURE)])
def test_a_worker_whose_machine_is_deleted_is_removed_safely(cluster: Cluster, lost: tuple[Kind, ...]) -> None:
    """Its Machine comes back marked for deletion, as it was reached, so that it is drained and its provider deletes it."""
    before = cluster.get(MACHINE)
    cluster.lose(*lost)
    [made, marked] = cluster.restore()
    assert f"make Machine default/{NAME} again" in made and marked == f"mark Machine default/{NAME} for deletion"
    after, infrastructure = cluster.get(MACHINE), cluster.get(INFRASTRUCTURE)
    assert before is not None and after is not None and infrastructure is not None
    assert (
        after["metadata"]["deletionTimestamp"] and after["metadata"]["finalizers"] == before["metadata"]["finalizers"]
    )
    assert (after["metadata"]["labels"], after["spec"]) == (before["metadata"]["labels"], before["spec"])
    assert after["status"]["bootstrap"]["state"] == "Succeeded"
    if INFRASTRUCTURE not in lost:
        assert (after["status"]["machineID"], after["status"]["addresses"]) == ("w1" * 16, ADDRESSES)
    assert cluster.restore() == []


def test_a_store_that_lost_all_workers_at_once_asks_for_nothing(cluster: Cluster) -> None:
    """Both come back, and stay; of one alone it would be a request."""
    other = "my-workers-w2"
    cluster.make(other)
    machine_objects.note_start(cluster.objects(), other)
    for name in (NAME, other):
        cluster.lose(MACHINE, name=name)
    changes = cluster.restore()
    assert len(changes) == 2 and all("again, which was deleted from the store, and stays" in each for each in changes)
    for name in (NAME, other):
        after = cluster.get(MACHINE, name)
        assert after is not None and "deletionTimestamp" not in after["metadata"]
    assert cluster.restore() == []
    cluster.lose(MACHINE, name=other)
    assert "to remove it safely" in cluster.restore()[0]


def test_a_run_that_is_killed_between_lost_workers_leaves_no_request(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one is back, and the second one's Machine is still lost."""
    other = "my-workers-w2"
    cluster.make(other)
    machine_objects.note_start(cluster.objects(), other)
    for name in (NAME, other):
        cluster.lose(MACHINE, name=name)
    create = cluster.store.create

    def killed(obj: Object) -> Object:
        if (obj["kind"], obj["metadata"]["name"]) == ("Machine", other):
            raise KeyboardInterrupt
        return create(obj)

    with monkeypatch.context() as killing:
        killing.setattr(cluster.store, "create", killed)
        with pytest.raises(KeyboardInterrupt):
            cluster.restore()
    assert cluster.get(MACHINE) is not None and cluster.get(MACHINE, other) is None
    [change] = cluster.restore()
    assert f"make Machine default/{other} again" in change and "and stays" in change
    cluster.lose(MACHINE, name=other)
    assert "to remove it safely" in cluster.restore()[0]


@pytest.mark.parametrize("lost", [(MACHINE,), (MACHINE, INFRASTRUCTURE), (INFRASTRUCTURE,)])
def test_killed_before_any_write(tmp_path: Path, lost: tuple[Kind, ...]) -> None:
    """What was asked for is done by the next run, with what is known of the machine; each status is a write of its own."""

    def ends(writes: int) -> tuple[bool, list[t.Any]]:
        folder = tmp_path / str(writes)
        folder.mkdir()
        cluster = Cluster(Kept(folder))
        cluster.joined()
        cluster.lose(*lost)
        killed = killed_after(
            writes, cluster.kept.folder, lambda store: deleted_machines.restore(cluster.objects(store))
        )
        cluster.restore()
        assert cluster.restore() == []
        found = [cluster.get(each) or {} for each in (MACHINE, INFRASTRUCTURE)]
        return killed, [(bool(each["metadata"].get("deletionTimestamp")), each.get("status") or {}) for each in found]

    assert every_end(ends)[0][0] == (MACHINE in lost)


def test_a_worker_that_was_only_begun_is_completed(tmp_path: Path) -> None:
    """A run was killed before it made the Machine: the next one goes on with the same worker."""
    cluster = Cluster(Kept(tmp_path))
    cluster.lose(MACHINE)
    [change] = cluster.restore()
    assert "which an earlier run had begun" in change
    after = cluster.get(MACHINE)
    assert after is not None and "deletionTimestamp" not in after["metadata"]
    assert not (after.get("status") or {}).get("bootstrap")


def test_its_infrastructure_machine_comes_back(cluster: Cluster) -> None:
    """As the Machine knows it: the machine is still there, and stays."""
    before = cluster.get(INFRASTRUCTURE)
    cluster.lose(INFRASTRUCTURE)
    assert "make NspawnMachine" in cluster.restore()[0]
    after, machine = cluster.get(INFRASTRUCTURE), cluster.get(MACHINE)
    assert before is not None and after is not None and machine is not None
    assert after["spec"] == before["spec"] and after["status"] == before["status"]
    assert after["metadata"]["labels"] == before["metadata"]["labels"]
    assert "deletionTimestamp" not in machine["metadata"]


def test_what_cluster_api_named_comes_back_under_that_name(cluster: Cluster) -> None:
    """By which its provider knows it."""
    reference = {"name": "w-x1"}
    cluster.store.modify(MACHINE, "default", NAME, lambda stored: stored["spec"]["infrastructureRef"].update(reference))
    cluster.lose(INFRASTRUCTURE)
    assert "default/w-x1 again" in cluster.restore()[0]
    assert cluster.objects().infrastructure_machines[NAME]["metadata"]["name"] == "w-x1"


def test_a_machine_set_comes_back_with_its_machines_version(cluster: Cluster) -> None:
    """Without it nobody would see its machines."""
    before = cluster.get(MACHINE_SET, cluster.set)
    cluster.lose(MACHINE_SET, name=cluster.set)
    older = {"version": "v1.19.9"}
    cluster.store.modify(MACHINE, "default", NAME, lambda stored: stored["spec"].update(older))
    [change] = cluster.restore()
    assert f"make MachineSet default/{cluster.set} again" in change
    after = cluster.get(MACHINE_SET, cluster.set)
    assert before is not None and after is not None
    assert after["spec"]["template"]["spec"] == {**before["spec"]["template"]["spec"], **older}
    assert after["metadata"]["labels"] == before["metadata"]["labels"]


@pytest.mark.parametrize("kind", [MACHINE, MACHINE_SET, MACHINE_DEPLOYMENT])
def test_finalizers_are_put_back(cluster: Cluster, kind: Kind) -> None:
    name = {MACHINE: NAME, MACHINE_SET: cluster.set, MACHINE_DEPLOYMENT: DEPLOYMENT}[kind]
    before = cluster.get(kind, name)
    cluster.store.modify(kind, "default", name, lambda stored: stored["metadata"].pop("finalizers"))
    assert cluster.restore() == [f"put back the finalizer of {kind[1]} default/{name}"]
    after = cluster.get(kind, name)
    assert before is not None and after is not None
    assert after["metadata"]["finalizers"] == before["metadata"]["finalizers"]


def test_of_a_cluster_that_is_deleted(cluster: Cluster) -> None:
    """Its infrastructure machines and Machines come back, so that the machines can be deleted."""
    cluster.store.delete(CLUSTER, "default", "my-cluster")
    cluster.lose(MACHINE)
    assert len(cluster.restore()) == 2 and cluster.get(MACHINE) is not None
    cluster.lose(INFRASTRUCTURE)
    assert len(cluster.restore()) == 1
    found = cluster.get(INFRASTRUCTURE)
    assert found is not None and "ownerReferences" not in found["metadata"]


@pytest.mark.parametrize(
    ("kind", "labels"), [("MachineSet", {}), ("Machine", {"cluster.x-k8s.io/deployment-name": DEPLOYMENT})]
)
def test_those_of_others_stay_as_they_are(cluster: Cluster, kind: str, labels: dict[str, str]) -> None:
    """What a MachineSet of no deployment here owns, or a Machine, as Cluster API has it."""
    cluster.lose(MACHINE)
    owners = [{"apiVersion": "a.b/v1", "kind": kind, "name": "other", "uid": "1", "controller": True}]
    metadata = {"ownerReferences": owners, "labels": {"cluster.x-k8s.io/cluster-name": "my-cluster", **labels}}
    for each in (INFRASTRUCTURE, KUBEADM_CONFIG):
        cluster.store.modify(each, "default", NAME, lambda stored: stored["metadata"].update(metadata))
    before = cluster.kept.files()
    assert cluster.restore() == [] and cluster.kept.files() == before


def test_a_machine_of_anothers_set_gets_no_finalizer(cluster: Cluster) -> None:
    """Whoever made it has taken it off."""
    owners = [{"apiVersion": "a.b/v1", "kind": "MachineSet", "name": "other", "uid": "1", "controller": True}]
    labels = {"cluster.x-k8s.io/cluster-name": "my-cluster"}

    def hand_over(stored: Object) -> None:
        stored["metadata"].update(ownerReferences=owners, labels=labels)
        stored["metadata"].pop("finalizers", None)

    for each in (MACHINE, INFRASTRUCTURE, KUBEADM_CONFIG):
        cluster.store.modify(each, "default", NAME, hand_over)
    before = cluster.kept.files()
    assert cluster.restore() == [] and cluster.kept.files() == before
