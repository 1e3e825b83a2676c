# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of machines that were deleted from the store behind our back: nothing goes without the removal that every machine gets."""

from __future__ import annotations

import time
import typing as t
from pathlib import Path

import pytest
from builders import healthy
from mortal_store import every_end, killed_after
from stored_manifest import Kept

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.values import parse_time
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.failure import ControlPlaneFailure
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.deleted import deleted_machines
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records import machine_objects as machine_objects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CLUSTER,
    CONTROL_PLANE,
    KUBEADM_CONFIG,
    MACHINE,
    ClusterObjects,
    Object,
    delete_finally,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.propagation import propagate

INFRASTRUCTURE = ("infrastructure.cluster.x-k8s.io", "NspawnMachine")
RESTORED, STARTED = "kubeadm.control-plane/restored", "kubeadm.control-plane/bootstrap-started"
TOKEN = "kubeadm.control-plane/bootstrap-token-id"
CONNECTION = {"host": "10.88.0.11", "port": 22, "user": "root"}
ADDRESSES = [{"type": "InternalIP", "address": "10.88.0.11"}]
NAMES = ("m1", "m2", "m3")


class Cluster:
    """A stored cluster with machines that carry a control plane."""

    def __init__(self, kept: Kept, initialized: bool = True) -> None:
        self.store = kept.store
        if initialized:
            kept.initialized()
        for name in NAMES:
            objects = self.objects()
            machine_objects.create_machine(objects, "join", name, "a")
            machine_objects.note_start(objects, name)
            status = {"initialization": {"provisioned": True}, "addresses": ADDRESSES, "machineID": name * 16}
            self.change(INFRASTRUCTURE, name, lambda stored, s=status: stored.update(status=s))
            own = {
                "bootstrap": {"state": "Succeeded"},
                "machineID": name * 16,
                "addresses": ADDRESSES,
                "connection": CONNECTION,
                "initialization": {"infrastructureProvisioned": True},
            }
            self.change(MACHINE, name, lambda stored, s=own: stored.update(status=s))

    def objects(self, store: t.Any = None) -> ClusterObjects:
        """What the store holds of it."""
        found = ClusterObjects.read(store or self.store, "default", "my-cluster")
        assert found is not None
        return found

    def change(self, kind: tuple[str, str], name: str, change: t.Callable[[Object], t.Any]) -> None:
        """Change a stored object."""
        self.store.modify(kind, "default", name, change)

    def lose(self, name: str, *kind: tuple[str, str]) -> None:
        """Delete objects of a machine as a user who deletes files does."""
        for each in kind:
            assert delete_finally(self.store, each, "default", name)

    def forget_notes(self, name: str) -> None:
        """As the objects that an earlier release made are."""
        self.change(INFRASTRUCTURE, name, lambda stored: stored["metadata"]["annotations"].pop(STARTED))
        self.change(KUBEADM_CONFIG, name, lambda stored: stored.update(status={}))


def waiting_for(machine: Object) -> Object:
    """What is observed a minute later: one member works, and this machine's is not there yet."""
    builder = healthy(1, replicas=3).machine("m2", "Running").deleting("m2")
    builder.entry("m2")["machine"]["status"] = machine["status"]
    now = parse_time(machine["status"]["bootstrap"]["startedAt"])
    assert now is not None
    builder.snapshot["now"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now + 60))
    return builder.build()


@pytest.fixture
def cluster(kept: Kept) -> Cluster:
    """Three machines that carry a control plane."""
    return Cluster(kept)


def test_nothing_is_restored_where_nothing_is_lost(cluster: Cluster, kept: Kept) -> None:
    """The usual pass writes nothing; a mark that is not "true" asks for nothing."""
    cluster.change(MACHINE, "m2", lambda stored: stored["metadata"]["annotations"].update({RESTORED: "false"}))
    before = kept.files()
    assert deleted_machines.restore(cluster.objects()) == []
    assert kept.files() == before


@pytest.mark.parametrize("earlier_release", [False, True])
def test_a_deleted_machine_is_no_machine_prepared_ahead(cluster: Cluster, earlier_release: bool) -> None:
    """Its infrastructure is neither thrown away nor used for another; it comes back marked, to be removed safely."""
    if earlier_release:
        cluster.forget_notes("m2")
    cluster.lose("m2", MACHINE)
    objects = cluster.objects()
    assert objects.prepared_machines() == [] and machine_objects.stale_prepared(objects) == []
    changes = deleted_machines.restore(objects)
    assert changes == [
        "make Machine default/m2 again, which was deleted from the store, to remove it safely",
        "mark Machine default/m2 for deletion",
    ]
    for found in (objects, cluster.objects()):
        machine = found.machine("m2") or {}
        assert machine["metadata"]["deletionTimestamp"]
        assert machine["spec"]["version"] == "v1.20.2" and machine["spec"]["failureDomain"] == "a"
        assert machine["status"]["machineID"] == "m2" * 16 and machine["status"]["addresses"] == ADDRESSES
        # Not "never started", which would be deleted without asking etcd.
        assert machine["status"]["bootstrap"]["state"] == "Succeeded"
        assert [each["metadata"]["name"] for each in found.machines] == ["m1", "m2", "m3"]
    assert deleted_machines.restore(cluster.objects()) == []


def test_a_join_that_nobody_saw_the_end_of_is_waited_for(cluster: Cluster) -> None:
    """kubeadm may be at work there still: removed at once, its member could come when nobody looks any more."""
    cluster.change(
        KUBEADM_CONFIG, "m2", lambda stored: stored["metadata"].setdefault("annotations", {}).update({TOKEN: "abcdef"})
    )
    cluster.lose("m2", MACHINE)
    deleted_machines.restore(cluster.objects())
    machine = cluster.objects().machine("m2") or {}
    assert machine["metadata"]["deletionTimestamp"]
    assert machine["status"]["bootstrap"]["state"] == "Running"
    decision = decide(waiting_for(machine))
    assert (decision["action"], decision["target"]["machine"]) == ("join", "m2"), decision


@pytest.mark.parametrize(
    "lost",
    [(MACHINE, KUBEADM_CONFIG), (MACHINE, INFRASTRUCTURE)],
    ids=["with its KubeadmConfig", "with its InfraMachine"],
)
@pytest.mark.parametrize("earlier_release", [False, True])
def test_one_object_of_the_three_is_enough(
    cluster: Cluster, lost: tuple[tuple[str, str], ...], earlier_release: bool
) -> None:
    """Whichever is left leads to the machine."""
    if earlier_release:
        cluster.forget_notes("m2")
    cluster.lose("m2", *lost)
    deleted_machines.restore(cluster.objects())
    found = cluster.objects()
    machine = found.machine("m2") or {}
    assert machine["metadata"]["deletionTimestamp"] and "m2" in found.infrastructure_machines
    assert machine["spec"]["infrastructureRef"] == {
        "apiGroup": "infrastructure.cluster.x-k8s.io",
        "kind": "NspawnMachine",
        "name": "m2",
    }


def test_a_machine_prepared_ahead_is_still_one(cluster: Cluster) -> None:
    """What says that it was never started is used for the next machine, also after its KubeadmConfig was made."""
    objects = cluster.objects()
    machine_objects.create_infrastructure_machine(objects, "ahead", "a")
    objects = cluster.objects()
    assert deleted_machines.restore(objects) == []
    assert [each["metadata"]["name"] for each in objects.prepared_machines()] == ["ahead"]
    machine_objects.create_machine(objects, "join", "ahead", "a")
    cluster.lose("ahead", MACHINE)
    objects = cluster.objects()
    assert deleted_machines.restore(objects) == []
    assert [each["metadata"]["name"] for each in objects.prepared_machines()] == ["ahead"]


@pytest.mark.parametrize("note", [(INFRASTRUCTURE, "false"), (INFRASTRUCTURE, None), (KUBEADM_CONFIG, None)])
def test_one_note_that_kubeadm_was_started_is_enough(
    cluster: Cluster, note: tuple[tuple[str, str], t.Optional[str]]
) -> None:
    """One of the two objects may be an old copy."""
    kind, text = note

    def change(stored: Object) -> None:
        stored["metadata"]["annotations"].pop(STARTED, None)
        if text is not None:
            stored["metadata"]["annotations"][STARTED] = text
        if kind == KUBEADM_CONFIG:
            stored["status"] = {"initialization": {"dataSecretCreated": False}}

    cluster.change(kind, "m2", change)
    cluster.lose("m2", MACHINE)
    assert cluster.objects().prepared_machines() == []


def test_a_machine_prepared_by_an_earlier_release_is_not_thrown_away_unseen(cluster: Cluster) -> None:
    """It says nothing, so it goes the safe way."""
    machine_objects.create_infrastructure_machine(cluster.objects(), "ahead", "a")
    cluster.change(INFRASTRUCTURE, "ahead", lambda stored: stored["metadata"]["annotations"].pop(STARTED))
    deleted_machines.restore(cluster.objects())
    assert (cluster.objects().machine("ahead") or {})["metadata"]["deletionTimestamp"]


def test_a_machine_without_its_infrastructure_machine_stays(cluster: Cluster) -> None:
    """It is made anew from the Machine, with nothing that would cause a rollout; the removal works on it."""
    cluster.lose("m2", INFRASTRUCTURE)
    changes = deleted_machines.restore(cluster.objects())
    assert changes == ["make NspawnMachine default/m2 again, which was deleted from the store"]
    found = cluster.objects()
    made = found.infrastructure_machines["m2"]
    assert made["status"]["initialization"] == {"provisioned": True} and made["status"]["addresses"] == ADDRESSES
    assert dict(found.reach("m2").connection) == CONNECTION
    assert "cluster.x-k8s.io/cloned-from-name" not in made["metadata"]["annotations"]
    assert "deletionTimestamp" not in (found.machine("m2") or {})["metadata"]
    assert deleted_machines.restore(cluster.objects()) == []


def test_an_infrastructure_machine_made_anew_has_what_the_template_gives(cluster: Cluster) -> None:
    """The next run would have changed it again, and a cluster that has converged changes nothing."""
    labels = {"metadata": {"labels": {"team": "a"}}}
    cluster.change(CONTROL_PLANE, "my-control-plane", lambda stored: stored["spec"]["machineTemplate"].update(labels))
    propagate(cluster.objects(), None)
    cluster.lose("m2", INFRASTRUCTURE)
    objects = cluster.objects()
    assert propagate(objects, objects.control_plane) == []
    deleted_machines.restore(objects)
    assert objects.infrastructure_machines["m2"]["metadata"]["labels"]["team"] == "a"
    objects = cluster.objects()
    assert propagate(objects, objects.control_plane) == []


def test_how_to_reach_a_machine_that_was_prepared_ahead_outlives_its_infrastructure_machine(cluster: Cluster) -> None:
    """Its infrastructure was made before it had a Machine; the next pass copies what was recorded there, and is silent about it."""
    cluster.change(MACHINE, "m2", lambda stored: stored.update(status={"bootstrap": {"state": "Succeeded"}}))
    cluster.change(INFRASTRUCTURE, "m2", lambda stored: stored["spec"].update(providerID="nspawn:///m2"))
    cluster.change(INFRASTRUCTURE, "m2", lambda stored: stored["status"].update(connection=CONNECTION))
    assert deleted_machines.restore(cluster.objects()) == []
    cluster.lose("m2", INFRASTRUCTURE)
    objects = cluster.objects()
    deleted_machines.restore(objects)
    reached = objects.reach("m2")
    assert (dict(reached.connection), reached.machine_id) == (CONNECTION, "m2" * 16)
    machine = objects.machine("m2") or {}
    assert machine["spec"]["providerID"] == "nspawn:///m2" and machine["status"]["addresses"] == ADDRESSES
    assert machine["status"]["initialization"]["infrastructureProvisioned"] is True


def test_where_the_whole_cluster_goes_its_machines_can(cluster: Cluster) -> None:
    """Nothing is made anew but what says where they are; of nobody's, or a garbage collector would take it with its owner."""
    cluster.store.delete(CONTROL_PLANE, "default", "my-control-plane")
    for name, kind in (("m2", INFRASTRUCTURE), ("m2", KUBEADM_CONFIG), ("m3", MACHINE)):
        cluster.lose(name, kind)
    assert deleted_machines.restore(cluster.objects()) == [
        "make NspawnMachine default/m2 again, which was deleted from the store"
    ]
    found = cluster.objects()
    assert dict(found.reach("m2").connection) == CONNECTION and found.machine("m3") is None
    assert "ownerReferences" not in found.infrastructure_machines["m2"]["metadata"]
    assert deleted_machines.restore(found) == []


def test_where_the_whole_cluster_goes_a_machine_that_was_never_made_can(cluster: Cluster) -> None:
    """Its creation failed, and the user deleted its infrastructure machine."""
    machine_objects.create_machine(cluster.objects(), "join", "m4", "a")
    cluster.lose("m4", INFRASTRUCTURE)
    cluster.store.delete(CLUSTER, "default", "my-cluster")
    assert len(deleted_machines.restore(cluster.objects())) == 1 and "m4" in cluster.objects().infrastructure_machines


def test_a_machine_without_its_kubeadm_config_stays_as_it_is(cluster: Cluster, kept: Kept) -> None:
    """What is not known of it counts as up to date."""
    cluster.lose("m2", KUBEADM_CONFIG)
    before = kept.files()
    assert deleted_machines.restore(cluster.objects()) == []
    assert kept.files() == before


@pytest.mark.parametrize("lost", [(MACHINE,), (MACHINE, INFRASTRUCTURE), (INFRASTRUCTURE,)])
def test_killed_before_any_write(tmp_path: Path, lost: tuple[tuple[str, str], ...]) -> None:
    """The next run completes what was made again, so that etcd is asked and the machine reached; each status is a write of its own."""

    def ends(writes: int) -> tuple[bool, list[t.Any]]:
        (folder := tmp_path / str(writes)).mkdir()
        kept = Kept(folder)
        kept.apply()
        cluster = Cluster(kept)
        cluster.lose("m2", *lost)
        killed = killed_after(writes, kept.folder, lambda store: deleted_machines.restore(cluster.objects(store)))
        deleted_machines.restore(cluster.objects())
        assert deleted_machines.restore(cluster.objects()) == []
        objects = cluster.objects()
        found = [objects.machine("m2") or {}, objects.infrastructure_machines["m2"]]
        return killed, [(bool(each["metadata"].get("deletionTimestamp")), each["status"]) for each in found]

    (marked, status), infrastructure = every_end(ends)
    assert (marked, status["bootstrap"]["state"], infrastructure[1]["initialization"]["provisioned"]) == (
        MACHINE in lost,
        "Succeeded",
        True,
    )


def test_a_store_that_lost_all_machines_is_no_wish(cluster: Cluster, kept: Kept) -> None:
    """All of a running control plane: the run ends, names them and says what to do."""
    for name in NAMES:
        cluster.lose(name, MACHINE)
    before = kept.files()
    with pytest.raises(ControlPlaneFailure) as error:
        deleted_machines.restore(cluster.objects())
    for words in ("m1, m2, m3", "nothing was done", "backup", "playbook delete"):
        assert words in str(error.value)
    assert kept.files() == before


def test_before_there_was_a_control_plane_evidence_decides(kept: Kept) -> None:
    """The first machine's Machine is deleted during its bootstrap: it counts as failed, and not as one that carries etcd."""
    cluster = Cluster(kept, initialized=False)
    for name in NAMES:
        cluster.lose(name, MACHINE)
    deleted_machines.restore(cluster.objects())
    states = {each["status"]["bootstrap"]["state"] for each in cluster.objects().machines}
    assert states == {"Failed"}


@pytest.mark.parametrize(
    ("told", "followed"),
    [("rack-7", "rack-7"), ("a" * 257, None), ({"computeAvailabilityZone": "nova"}, None), ("", None)],
)
def test_where_a_machine_is_follows_its_provider_as_far_as_an_api_server_takes_it(
    cluster: Cluster, told: t.Any, followed: t.Optional[str]
) -> None:
    cluster.change(INFRASTRUCTURE, "m1", lambda stored: stored["status"].update(failureDomain=told))
    deleted_machines.restore(cluster.objects())
    assert ((cluster.objects().machine("m1") or {})["status"]).get("failureDomain") == followed
    delete_finally(cluster.store, MACHINE, "default", "m1")
    deleted_machines.restore(cluster.objects())
    assert ((cluster.objects().machine("m1") or {})["status"]).get("failureDomain") == followed


@pytest.mark.parametrize("why", ["paused", "deleting"])
def test_nothing_is_restored_of_a_cluster_that_is_paused_or_goes(cluster: Cluster, kept: Kept, why: str) -> None:
    """A pause holds everything; where the whole cluster goes, its infrastructure does, Machine or not."""
    cluster.lose("m2", MACHINE)
    if why == "paused":
        cluster.change(CLUSTER, "my-cluster", lambda stored: stored["spec"].update(paused=True))
    else:
        cluster.store.delete(CONTROL_PLANE, "default", "my-control-plane")
    before = kept.files()
    objects = cluster.objects()
    assert deleted_machines.restore(objects) == [] and kept.files() == before
    assert machine_objects.stale_prepared(objects) == []
    assert [each["metadata"]["name"] for each in objects.prepared_machines()] == (["m2"] if why == "deleting" else [])


@pytest.mark.parametrize(
    ("kind", "name"), [(MACHINE, "m2"), (CLUSTER, "my-cluster"), (CONTROL_PLANE, "my-control-plane")]
)
def test_a_finalizer_that_somebody_took_off_is_put_back(
    cluster: Cluster, kept: Kept, kind: tuple[str, str], name: str
) -> None:
    """Beside those of others; then nothing is left to put back."""
    own = cluster.store.get(kind, "default", name)["metadata"]["finalizers"]  # type: ignore[index]
    cluster.change(kind, name, lambda stored: stored["metadata"].update(finalizers=["example.org/theirs"]))
    objects = cluster.objects()
    assert deleted_machines.restore(objects) == [f"put back the finalizer of {kind[1]} default/{name}"]
    assert cluster.objects() == objects
    assert cluster.store.get(kind, "default", name)["metadata"]["finalizers"] == ["example.org/theirs", *own]  # type: ignore[index]
    assert deleted_machines.restore(objects) == []


def test_a_machine_that_is_not_ours_yet_keeps_its_finalizers(cluster: Cluster) -> None:
    """It gets ours when it is adopted."""
    cluster.change(MACHINE, "m2", lambda stored: stored["metadata"].update(finalizers=[], ownerReferences=[]))
    assert deleted_machines.restore(cluster.objects()) == []


def test_kinds_of_one_name_in_two_groups_are_two(cluster: Cluster) -> None:
    """A machine of another group's gets nothing of the template, and its reference names its own group."""
    other = ("infra.other.example", INFRASTRUCTURE[1])
    for name in ("m1", "m2"):
        found = cluster.store.get(INFRASTRUCTURE, "default", name) or {}
        cluster.store.create({**found, "apiVersion": f"{other[0]}/v1", "spec": {"providerID": f"other:///{name}"}})
        reference = {"apiGroup": other[0], "kind": other[1], "name": name}
        cluster.change(MACHINE, name, lambda stored, r=reference: stored["spec"].update(infrastructureRef=r))
        cluster.lose(name, INFRASTRUCTURE)
    cluster.lose("m1", other)
    cluster.lose("m2", MACHINE)
    deleted_machines.restore(cluster.objects())
    again = cluster.objects()
    made = cluster.store.get(other, "default", "m1") or {}
    assert made["spec"] == {} and again.template_reference()["apiGroup"] == INFRASTRUCTURE[0]
    reference = (again.machine("m2") or {})["spec"]["infrastructureRef"]
    assert reference == {"apiGroup": other[0], "kind": other[1], "name": "m2"}
