# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What another control plane of the same Cluster, or Cluster API, has made keeps its contents and names (docs/reference/decision.md)."""

from __future__ import annotations

import copy
import typing as t

import pytest
from stored_manifest import Kept

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.failure import ControlPlaneFailure
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.providers.contract import endpoint_servers
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.deleted import deleted_machines
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records import machine_objects
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
NAMES = ["m1", "m2", "m3"]


def read(kept: Kept) -> ClusterObjects:
    """What the store holds."""
    found = ClusterObjects.read(kept.store, "default", "my-cluster")
    assert found is not None
    return found


def change(kept: Kept, kind: tuple[str, str], name: str, how: t.Callable[[Object], t.Any]) -> None:
    """Change a stored object."""
    kept.store.modify(kind, "default", name, how)


@pytest.fixture(name="joined")
def _joined(kept: Kept) -> Kept:
    """Three machines that were started, in a cluster that was initialized."""
    kept.initialized()
    for number, name in enumerate(NAMES):
        objects = read(kept)
        machine_objects.create_machine(objects, "join", name, "a")
        machine_objects.note_start(objects, name)
        addresses = [{"type": "InternalIP", "address": f"10.88.0.1{number}"}]
        change(kept, INFRASTRUCTURE, name, lambda stored, a=addresses: stored.update(status={"addresses": a}))
        change(kept, MACHINE, name, lambda stored: stored.update(status={"bootstrap": {"state": "Succeeded"}}))
    return kept


def test_what_cluster_api_named_comes_back_under_that_name(joined: Kept) -> None:
    """By which its provider knows it; kubeadm's start is noted on it, and on a KubeadmConfig of another name."""

    def named(stored: Object) -> None:
        stored["spec"]["infrastructureRef"]["name"] = "cp-x1"
        stored["spec"]["bootstrap"]["configRef"]["name"] = "cp-c1"

    config = joined.store.get(KUBEADM_CONFIG, "default", "m2") or {}
    for kind in (INFRASTRUCTURE, KUBEADM_CONFIG):
        assert delete_finally(joined.store, kind, "default", "m2")
    joined.store.create({**config, "metadata": {**config["metadata"], "name": "cp-c1"}, "status": {}})
    change(joined, MACHINE, "m2", named)
    assert "default/cp-x1 again" in deleted_machines.restore(read(joined))[0]
    objects = read(joined)
    machine_objects.note_start(objects, "m2")
    made, config = objects.infrastructure_machines["m2"], objects.kubeadm_configs["m2"]
    assert made["metadata"]["name"] == "cp-x1" and config["metadata"]["name"] == "cp-c1"
    assert config["status"]["initialization"]["dataSecretCreated"]


def test_a_new_machine_has_no_zero_values_of_a_control_plane_that_was_stored_with_them(kept: Kept) -> None:
    """An API server that has the limits would refuse it, and no manifest could mend that."""
    kept.initialized()

    def as_earlier(stored: Object) -> None:
        spec = stored["spec"].setdefault("kubeadmConfigSpec", {})
        spec.setdefault("clusterConfiguration", {}).update(dns={}, apiServer={"certSANs": []})
        spec.update(joinConfiguration={"discovery": {}, "nodeRegistration": {"taints": []}})

    change(kept, CONTROL_PLANE, "my-control-plane", as_earlier)
    machine_objects.create_machine(read(kept), "join", "m1", "a")
    made = kept.store.get(KUBEADM_CONFIG, "default", "m1")
    assert made is not None
    assert not {"dns", "apiServer"} & set(made["spec"]["clusterConfiguration"])
    assert made["spec"]["joinConfiguration"] == {"nodeRegistration": {"taints": []}, "controlPlane": {}}


@pytest.mark.parametrize(("field", "joined_names"), [("dataSecretName", NAMES), ("other", ["m2", "m3"])])
def test_a_machine_that_cluster_api_made_has_joined(joined: Kept, field: str, joined_names: list[str]) -> None:
    """It was adopted without a record of its bootstrap. One of our own without is not asked: kubeadm was never started there."""

    def unrecorded(stored: Object) -> None:
        stored["spec"]["bootstrap"][field] = "m1"
        stored["status"] = {"nodeRef": {"name": "m1"}}

    change(joined, MACHINE, "m1", unrecorded)
    assert [each["metadata"]["name"] for each in read(joined).bootstrapped_machines()] == joined_names


@pytest.fixture(name="pointed")
def _pointed(joined: Kept) -> Kept:
    """As ``joined``; then somebody made another KubeadmControlPlane and named it in the Cluster."""
    stored = joined.store.get(CONTROL_PLANE, "default", "my-control-plane")
    assert stored is not None
    other = copy.deepcopy(stored)
    other["metadata"] = {key: stored["metadata"][key] for key in ("namespace", "labels", "finalizers")}
    other["metadata"]["name"] = "new"
    other["spec"]["machineTemplate"]["metadata"] = {"labels": {"team": "new"}}
    joined.store.create(other)
    change(joined, CLUSTER, "my-cluster", lambda cluster: cluster["spec"]["controlPlaneRef"].update(name="new"))
    return joined


def test_machines_of_another_control_plane_are_seen_and_are_not_ours(pointed: Kept) -> None:
    """They still serve, can be asked, and their names are taken."""
    objects = read(pointed)
    assert objects.machines == [] and [each["metadata"]["name"] for each in objects.others] == NAMES
    assert [each["name"] for each in endpoint_servers(objects)] == NAMES
    assert [each["metadata"]["name"] for each in objects.bootstrapped_machines()] == NAMES
    assert objects.machine("m1") is None and objects.has_machine("m1")


def test_nothing_is_written_to_them(pointed: Kept) -> None:
    """Neither what the new one's template says, nor on what is left of a machine whose Machine was deleted."""
    delete_finally(pointed.store, MACHINE, "default", "m2")
    before = pointed.files()
    objects = read(pointed)
    assert propagate(objects, None) == [] and deleted_machines.restore(objects) == []
    assert pointed.files() == before
    assert objects.unowned_machines() == [] and objects.prepared_machines() == []
    assert machine_objects.stale_prepared(objects) == []


@pytest.mark.parametrize("kind", [INFRASTRUCTURE, KUBEADM_CONFIG])
def test_what_cluster_api_made_for_another_one_is_told_by_its_label(pointed: Kept, kind: tuple[str, str]) -> None:
    """There a Machine is the controller of both, so that they don't say whose they are."""

    def as_cluster_api(stored: Object) -> None:
        stored["metadata"]["ownerReferences"] = [{"kind": "Machine", "name": "m2", "controller": True}]

    delete_finally(pointed.store, MACHINE, "default", "m2")
    for each in (INFRASTRUCTURE, KUBEADM_CONFIG):
        change(pointed, each, "m2", as_cluster_api)
        if each != kind:
            delete_finally(pointed.store, each, "default", "m2")
    assert deleted_machines.restore(read(pointed)) == []
    name = {"cluster.x-k8s.io/control-plane-name": "new"}
    change(pointed, kind, "m2", lambda stored: stored["metadata"]["labels"].update(name))
    with pytest.raises(ControlPlaneFailure, match="those of m2 were deleted"):
        deleted_machines.restore(read(pointed))


def test_the_one_that_made_them_has_them(joined: Kept) -> None:
    """The same steps, where nothing was pointed elsewhere."""
    delete_finally(joined.store, MACHINE, "default", "m2")
    assert [each["metadata"]["name"] for each in read(joined).unowned_machines()] == ["m2"]
    assert len(deleted_machines.restore(read(joined))) == 2


def test_a_machine_without_a_controller_is_left_until_it_is_adopted(joined: Kept) -> None:
    """It is this control plane's to adopt; until then nothing is written to it or its KubeadmConfig."""
    change(joined, MACHINE, "m2", lambda stored: stored["metadata"].update(ownerReferences=[]))
    joined.spec["machineTemplate"]["metadata"] = {"labels": {"team": "a"}}
    changes = joined.apply()
    assert [each["metadata"]["name"] for each in read(joined).machines] == NAMES
    assert sorted(each.split()[2] for each in changes if "in place" in each) == [
        f"default/{name}" for name in ("m1", "m1", "m1", "m3", "m3", "m3")
    ]


def test_where_the_cluster_goes_everything_of_it_goes(pointed: Kept) -> None:
    """An infrastructure machine whose control plane isn't named any more would stay for ever."""
    delete_finally(pointed.store, MACHINE, "default", "m2")
    change(pointed, CLUSTER, "my-cluster", lambda stored: stored["metadata"].update(finalizers=["x"]))
    pointed.store.delete(CLUSTER, "default", "my-cluster")
    assert [each["metadata"]["name"] for each in read(pointed).unowned_machines()] == ["m2"]
