# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ClusterResourceSets in the store: from the manifest, what was applied, and where they end."""

from __future__ import annotations

import dataclasses
import typing as t
from pathlib import Path

import pytest
from hub_manifest import manifest, obj
from observed import Machines

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import ManifestError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.move.graph import Graph, key_of
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import kinds
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import ClusterManifest
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observe.observation import observe
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records import stored_cluster, stored_deletion
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CLUSTER,
    CONTROL_PLANE,
    SECRET,
    ClusterObjects,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.resource_sets import stored_resource_sets
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.status.status_writer import write_status
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

Object = dict[str, t.Any]
TYPE = "addons.cluster.x-k8s.io/resource-set"
ADDONS = "addons.cluster.x-k8s.io/v1beta2"
LABELS = {"cni": "flannel"}
NOW = "2026-01-31T12:00:00Z"
KINDS = (stored_resource_sets.RESOURCE_SET, stored_resource_sets.CONFIG_MAP, SECRET)


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    """An empty store."""
    return FileStore(str(tmp_path / "store"))


def resource_set(name: str = "cni", strategy: str = "ApplyOnce", resources: t.Sequence[str] = ("cni",)) -> Object:
    """A set of ConfigMaps that selects the label cni."""
    spec = {
        "clusterSelector": {"matchLabels": dict(LABELS)},
        "resources": [{"kind": "Secret" if each == "ccm" else "ConfigMap", "name": each} for each in resources],
        "strategy": strategy,
    }
    return obj(ADDONS, "ClusterResourceSet", name, spec=spec)


CONFIG_MAP = obj("v1", "ConfigMap", "cni", data={"a": "apiVersion: v1"})
PRIVATE = obj("v1", "Secret", "ccm", type=TYPE, data={"a": "czNjcjN0"})


def with_sets(*sets: Object, resources: t.Sequence[Object] = (CONFIG_MAP,)) -> ClusterManifest:
    """The manifest of the cluster c, which has the label, and these sets."""
    made = manifest()
    made.cluster["metadata"]["labels"] = dict(LABELS)
    return dataclasses.replace(made, resource_sets=tuple(sets), resources=tuple(resources))


def another() -> Object:
    """A second Cluster that the set selects."""
    found = obj("cluster.x-k8s.io/v1beta2", "Cluster", "d", spec={})
    found["metadata"]["labels"] = dict(LABELS)
    return found


def cluster(store: FileStore) -> Object:
    """The stored Cluster."""
    found = store.get(CLUSTER, "default", "c")
    assert found is not None
    return found


def names(store: FileStore) -> list[str]:
    """The stored sets and what they may name."""
    return sorted(
        f"{each['kind']} {each['metadata']['name']}" for kind in KINDS for each in store.list(kind, "default")
    )


def tried(name: str, applied: bool, content: str = "sha256:x") -> Object:
    """An entry of a binding."""
    return {"kind": "ConfigMap", "name": name, "hash": content, "applied": applied, "lastAppliedTime": NOW}


def test_sets_and_resources_are_stored_once(store: FileStore) -> None:
    wanted = with_sets(resource_set(resources=("cni", "ccm")), resources=(CONFIG_MAP, PRIVATE))
    assert "create ClusterResourceSet default/cni" in stored_cluster.apply_manifest(store, wanted)
    assert names(store) == ["ClusterResourceSet cni", "ConfigMap cni", "Secret ccm"]
    assert stored_cluster.apply_manifest(store, wanted) == []


def test_what_a_snapshot_has_of_them(store: FileStore) -> None:
    """Hashes, and never a value."""
    stored_cluster.apply_manifest(
        store, with_sets(resource_set(resources=("cni", "ccm", "gone")), resources=(CONFIG_MAP, PRIVATE))
    )
    [facts] = stored_resource_sets.facts(store, cluster(store))
    assert (facts["name"], facts["strategy"], facts["paused"], facts["message"]) == ("cni", "ApplyOnce", False, "")
    assert [(each["kind"], each["state"], each["applied"]) for each in facts["resources"]] == [
        ("ConfigMap", "present", False),
        ("Secret", "present", False),
        ("ConfigMap", "missing", False),
    ]
    assert "s3cr3t" not in str(facts) and "czNjcjN0" not in str(facts)
    store.modify(CLUSTER, "default", "c", lambda stored: stored["metadata"].update(labels={"cni": "other"}))
    assert stored_resource_sets.facts(store, cluster(store)) == []


def test_a_binding_says_what_was_tried(store: FileStore) -> None:
    """Upstream's object: of the cluster's name, each set once, each resource once, owned by its sets."""
    stored_cluster.apply_manifest(store, with_sets(resource_set(), resource_set("b", resources=("x",))))
    sets = stored_resource_sets.of_cluster(store, cluster(store))
    for each, entry in ((sets[0], tried("x", True)), (sets[1], tried("cni", False)), (sets[1], tried("cni", True))):
        stored_resource_sets.record(store, cluster(store), each, [entry])
    binding = store.get(stored_resource_sets.BINDING, "default", "c")
    assert binding is not None and binding["spec"] == {
        "clusterName": "c",
        "bindings": [
            {"clusterResourceSetName": "b", "resources": [tried("x", True)]},
            {"clusterResourceSetName": "cni", "resources": [tried("cni", True)]},
        ],
    }
    assert sorted(each["name"] for each in binding["metadata"]["ownerReferences"]) == ["b", "cni"]
    facts = stored_resource_sets.facts(store, cluster(store))[1]["resources"][0]
    assert (facts["applied"], facts["appliedHash"], facts["lastAppliedTime"]) == (True, "sha256:x", NOW)


def test_conditions_of_both_contracts(store: FileStore) -> None:
    stored_cluster.apply_manifest(store, with_sets(resource_set()))
    refused = {"type": "ResourcesApplied", "status": "False", "reason": "NotApplied", "message": "Pod p: no"}
    stored_resource_sets.write_status(store, cluster(store), {"cni": refused}, NOW)
    [found] = stored_resource_sets.of_cluster(store, cluster(store))
    [condition], [older] = found["status"]["conditions"], found["status"]["deprecated"]["v1beta1"]["conditions"]
    assert (condition["reason"], condition["message"]) == ("NotApplied", "Cluster default/c: Pod p: no")
    assert (older["reason"], older["severity"]) == ("ApplyFailed", "Warning")
    assert stored_resource_sets.facts(store, cluster(store))[0]["message"] == "Pod p: no"
    done = {"type": "ResourcesApplied", "status": "True", "reason": "Applied", "message": ""}
    stored_resource_sets.write_status(store, cluster(store), {"cni": done}, NOW)
    [found] = stored_resource_sets.of_cluster(store, cluster(store))
    assert found["status"]["conditions"][0]["status"] == "True"
    assert "reason" not in found["status"]["deprecated"]["v1beta1"]["conditions"][0]


def test_a_clusters_success_leaves_what_another_one_lacks(store: FileStore) -> None:
    """Until that one has it, or is not there any more: a settled cluster finds nothing to write in the meantime."""
    stored_cluster.apply_manifest(store, with_sets(resource_set()))
    store.create(another())
    other = store.get(CLUSTER, "default", "d")
    assert other is not None
    refused = {"type": "ResourcesApplied", "status": "False", "reason": "NotApplied", "message": "Pod p: no"}
    done = {"type": "ResourcesApplied", "status": "True", "reason": "Applied", "message": ""}
    stored_resource_sets.write_status(store, other, {"cni": refused}, NOW)
    [before] = stored_resource_sets.of_cluster(store, other)
    stored_resource_sets.write_status(store, cluster(store), {"cni": done}, NOW)
    assert stored_resource_sets.of_cluster(store, other) == [before]
    assert stored_resource_sets.facts(store, other)[0]["message"] == "Pod p: no"
    store.delete(CLUSTER, "default", "d")
    stored_resource_sets.write_status(store, cluster(store), {"cni": done}, NOW)
    [found] = stored_resource_sets.of_cluster(store, cluster(store))
    assert found["status"]["conditions"][0]["status"] == "True"


@pytest.mark.parametrize("field", ["strategy", "clusterSelector"])
def test_what_a_set_keeps_for_good(store: FileStore, field: str) -> None:
    stored_cluster.apply_manifest(store, with_sets(resource_set()))
    other = resource_set(strategy="Reconcile" if field == "strategy" else "ApplyOnce")
    if field == "clusterSelector":
        other["spec"]["clusterSelector"] = {"matchExpressions": [{"key": "cni", "operator": "Exists"}]}
    with pytest.raises(ManifestError, match=rf"spec\.{field}.*can't be changed"):
        stored_cluster.apply_manifest(store, with_sets(other))


def test_a_set_that_left_the_manifest_goes_with_what_only_it_named(store: FileStore) -> None:
    """What a person put there stays."""
    mine = obj("v1", "ConfigMap", "mine", data={"a": "b"})
    store.create(mine)
    both = (resource_set(), resource_set("b", resources=("cni", "ccm", "mine")))
    stored_cluster.apply_manifest(store, with_sets(*both, resources=(CONFIG_MAP, PRIVATE)))
    for each in stored_resource_sets.of_cluster(store, cluster(store)):
        stored_resource_sets.record(store, cluster(store), each, [tried("cni", True)])
    changes = stored_cluster.apply_manifest(store, with_sets(resource_set()))
    assert changes == ["delete ClusterResourceSet default/b", "delete Secret default/ccm"]
    assert names(store) == ["ClusterResourceSet cni", "ConfigMap cni", "ConfigMap mine"]
    binding = store.get(stored_resource_sets.BINDING, "default", "c") or {}
    assert [each["clusterResourceSetName"] for each in binding["spec"]["bindings"]] == ["cni"]


@pytest.mark.parametrize(("shared", "given"), [(False, True), (True, True), (False, False)])
def test_a_deleted_cluster_takes_its_binding_and_what_its_manifest_gave_for_it_alone(
    store: FileStore, shared: bool, given: bool
) -> None:
    wanted = with_sets(resource_set())
    if not given:
        store.create(resource_set())
        store.create(dict(CONFIG_MAP))
        wanted = with_sets(resources=())
    stored_cluster.apply_manifest(store, wanted)
    if shared:
        store.create(another())
    [found] = stored_resource_sets.of_cluster(store, cluster(store))
    stored_resource_sets.record(store, cluster(store), found, [tried("cni", True)])
    objects = ClusterObjects.read(store, "default", "c")
    assert objects is not None
    stored_deletion.delete_records(objects)
    assert store.get(stored_resource_sets.BINDING, "default", "c") is None
    assert bool(names(store)) is (shared or not given)


def latch(stored: Object) -> None:
    """Note that an object was initialized once."""
    stored.setdefault("status", {})["initialization"] = {"controlPlaneInitialized": True}


def stored_objects(store: FileStore) -> ClusterObjects:
    """The objects of the cluster c."""
    found = ClusterObjects.read(store, "default", "c")
    assert found is not None
    return found


@pytest.mark.parametrize("how", ["on its machines", "external", "came back"])
def test_a_new_control_plane_after_a_deleted_one_gets_all_of_it(store: FileStore, how: str) -> None:
    """The binding is the Cluster's, which stays. It holds where the data stay, in an external etcd, or where the old control plane came back."""
    wanted = with_sets(resource_set())
    if how == "external":
        etcd = {"external": {"endpoints": ["https://10.0.9.1:2379"]}}
        wanted.control_plane["spec"]["kubeadmConfigSpec"] = {"clusterConfiguration": {"etcd": etcd}}
    stored_cluster.apply_manifest(store, wanted)
    [found] = stored_resource_sets.of_cluster(store, cluster(store))
    stored_resource_sets.record(store, cluster(store), found, [tried("cni", True)])
    store.modify(CLUSTER, "default", "c", latch)
    store.delete(CONTROL_PLANE, "default", "cp")
    stored_deletion.delete_marked(stored_objects(store))
    assert store.get(CONTROL_PLANE, "default", "cp") is None
    stored_cluster.apply_manifest(store, wanted)
    if how == "came back":
        store.modify(CONTROL_PLANE, "default", "cp", latch)
    stays = how != "on its machines"

    def applied() -> list[bool]:
        snapshot = observe(stored_objects(store), Machines({}), NOW)
        return [each["applied"] for each in snapshot["resourceSets"][0]["resources"]]

    def bound() -> bool:
        binding = store.get(stored_resource_sets.BINDING, "default", "c") or {}
        return bool(binding["spec"]["bindings"])

    assert applied() == [stays]
    status = {"initialization": {"controlPlaneInitialized": False}}
    decision = {
        "annotations": {"cluster": {kinds.ANNOTATION_DELETED_CONTROL_PLANE: None}},
        "status": {"cluster": status},
    }
    write_status(stored_objects(store), decision, NOW, begins=False)
    assert bound() and applied() == [stays]
    write_status(stored_objects(store), decision, NOW)
    assert (bound(), applied()) == (stays, [stays])


@pytest.mark.parametrize("shared", [False, True])
def test_a_move_carries_them_and_takes_its_own_away(store: FileStore, shared: bool) -> None:
    stored_cluster.apply_manifest(
        store, with_sets(resource_set(resources=("cni", "ccm")), resources=(CONFIG_MAP, PRIVATE))
    )
    if shared:
        store.create(another())
    [found] = stored_resource_sets.of_cluster(store, cluster(store))
    stored_resource_sets.record(store, cluster(store), found, [tried("cni", True)])
    graph = Graph(store, "default", "c")
    moved = {key_of(each) for each in graph.objects}
    expected = {*((kind, "cni") for kind in KINDS[:2]), (SECRET, "ccm")}
    assert expected <= moved and (stored_resource_sets.BINDING, "c") in graph.own
    assert bool(expected & graph.own) is not shared
