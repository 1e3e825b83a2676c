# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster's objects as a whole."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import typing as t
from pathlib import Path

import pytest
from hub_manifest import manifest, obj
from racing_store import RacingStore

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import ManifestError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.failure import ControlPlaneFailure
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records import stored_cluster, stored_deletion
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CLUSTER,
    CLUSTER_LABEL,
    CONTROL_PLANE,
    MACHINE_DEPLOYMENT,
    MACHINE_SET,
    SECRET,
    ClusterObjects,
    delete_finally,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import Conflict
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io"
TEMPLATE = (INFRASTRUCTURE, "NspawnMachineTemplate")


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    """An empty store."""
    return FileStore(str(tmp_path / "store"))


def read(store: FileStore) -> ClusterObjects:
    """The cluster's objects."""
    objects = ClusterObjects.read(store, "default", "c")
    assert objects is not None
    return objects


def naming_the_template(kind: tuple[str, str], cluster: str) -> dict[str, t.Any]:
    """An object of a cluster that names the machine template of the manifest."""
    reference = {"infrastructureRef": manifest().control_plane["spec"]["machineTemplate"]["spec"]["infrastructureRef"]}
    spec: dict[str, t.Any] = {"machineTemplate": {"spec": reference}}
    if kind != CONTROL_PLANE:
        config = {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfigTemplate", "name": "w"}
        spec = {"template": {"spec": {"bootstrap": {"configRef": config}, **reference}}}
    found = obj(f"{kind[0]}/v1beta2", kind[1], "other", spec=spec)
    found["metadata"]["labels"] = {CLUSTER_LABEL: cluster}
    return found


def test_applying_twice_changes_nothing_the_second_time(store: FileStore) -> None:
    """The second run of an unchanged manifest."""
    assert len(stored_cluster.apply_manifest(store, manifest())) == 4
    assert stored_cluster.apply_manifest(store, manifest()) == []


def test_what_another_cluster_has_under_a_name_is_not_taken(store: FileStore) -> None:
    """While that Cluster names its control plane and infrastructure; a label alone may be wrong, and is corrected."""
    stored_cluster.apply_manifest(store, manifest())
    other = manifest(5)
    other.cluster["metadata"]["name"] = "d"
    parts = (CONTROL_PLANE, "cp"), ((INFRASTRUCTURE, "NspawnCluster"), "i")
    for labels in {CLUSTER_LABEL: "c"}, {}:
        for kind, name in parts:
            store.modify(kind, "default", name, lambda found, to=labels: found["metadata"].update(labels=to))
        with pytest.raises(ManifestError) as refused:
            stored_cluster.apply_manifest(store, other)
        told = [(each.path, each.rule) for each in refused.value.violations]
        assert told == [
            ("metadata.name", f"the store has a {kind[1]} of this name for the cluster c") for kind, _name in parts
        ]
    for kind, name in parts:
        store.modify(kind, "default", name, lambda found: found["metadata"].update(labels={CLUSTER_LABEL: "d"}))
    assert len(stored_cluster.apply_manifest(store, manifest())) == 2
    delete_finally(store, CLUSTER, "default", "c")
    stored_cluster.apply_manifest(store, other)
    found = [(store.get(kind, "default", name) or {})["metadata"]["labels"] for kind, name in parts]
    assert found == [{CLUSTER_LABEL: "d"}] * 2


def test_a_change_names_its_path(store: FileStore) -> None:
    """An edited field is named; what others filled in stays."""
    stored_cluster.apply_manifest(store, manifest())
    endpoint = {"host": "10.88.0.2", "port": 6443}
    store.modify(CLUSTER, "default", "c", lambda stored: stored["spec"].update(controlPlaneEndpoint=endpoint))
    store.modify(CONTROL_PLANE, "default", "cp", lambda stored: stored.update(status={"replicas": 3}))
    assert stored_cluster.apply_manifest(store, manifest(replicas=5)) == [
        "change KubeadmControlPlane default/cp: spec.replicas"
    ]
    objects = read(store)
    assert objects.endpoint() == endpoint
    assert objects.control_plane is not None and objects.control_plane["status"] == {"replicas": 3}


def test_a_secrets_value_is_not_named(store: FileStore) -> None:
    """The change of a user's Secret tells its path, never what is in it."""
    secret = obj("v1", "Secret", "c-ca", type="Opaque", data={"tls.key": "b2xk"})
    stored_cluster.apply_manifest(store, manifest(secrets=[secret]))
    changed = copy.deepcopy(secret)
    changed["data"]["tls.key"] = "bmV3"
    assert stored_cluster.apply_manifest(store, manifest(secrets=[changed])) == [
        "change Secret default/c-ca: data.tls.key"
    ]
    assert (store.get(SECRET, "default", "c-ca") or {})["data"] == {"tls.key": "bmV3"}


def test_deletion_is_marked_once_and_leaves_nothing(store: FileStore) -> None:
    """Marked, marked again without a change, then everything goes."""
    stored_cluster.apply_manifest(store, manifest())
    assert len(stored_deletion.mark_deleting(read(store), False)) == 2
    assert stored_deletion.mark_deleting(read(store), False) == []
    assert read(store).cluster["metadata"]["deletionTimestamp"]
    stored_deletion.delete_records(read(store))
    assert ClusterObjects.read(store, "default", "c") is None
    assert store.get(CONTROL_PLANE, "default", "cp") is None


def test_a_users_own_secret_stays(store: FileStore) -> None:
    """Labels tell to whom it belongs and not who made it: without the Cluster or its control plane as an owner it is left."""
    stored_cluster.apply_manifest(store, manifest())
    label = {"cluster.x-k8s.io/cluster-name": "c"}
    owners: dict[str, list[dict[str, t.Any]]] = {
        "c-ca": [{"kind": CONTROL_PLANE[1], "name": "cp", "controller": True}],
        "c-etcd": [{"kind": CONTROL_PLANE[1], "name": "an earlier one", "controller": True}],
        "c-sa": [{"kind": CLUSTER[1], "name": "c"}],
        "c-authority-rotation": [],
        "registry-login": [],
        "team": [{"kind": "ConfigMap", "name": "c", "controller": True}],
    }
    for name, references in owners.items():
        secret = obj("v1", "Secret", name, type="Opaque", data={})
        secret["metadata"].update(labels=label, ownerReferences=references)
        store.create(secret)
    stored_deletion.mark_deleting(read(store), False)
    stored_deletion.delete_records(read(store))
    assert [each["metadata"]["name"] for each in store.list(SECRET, "default", {})] == ["registry-login", "team"]


def test_a_deletion_that_was_cut_off_before_the_cluster_is_gone_on_with(store: FileStore) -> None:
    """Only where everything else went in a deletion: a Cluster that merely lacks something is not thrown away."""
    stored_cluster.apply_manifest(store, manifest())
    for reference, name in ((CONTROL_PLANE, "cp"), ((INFRASTRUCTURE, "NspawnCluster"), "i")):
        assert not stored_deletion.is_last_record(read(store))
        delete_finally(store, reference, "default", name)
    assert not stored_deletion.is_last_record(read(store))
    stored_deletion.mark_deleting(read(store), False)
    assert stored_deletion.is_last_record(read(store))


@pytest.mark.parametrize("shared", ["controlPlaneRef", "infrastructureRef"])
@pytest.mark.parametrize("deleted", ["c", "d"])
def test_what_another_cluster_names_too_is_not_deleted(store: FileStore, shared: str, deleted: str) -> None:
    """Neither with the copy nor with the first one, until the copy names it no more."""
    stored_cluster.apply_manifest(store, manifest())
    spec = manifest().cluster["spec"]
    store.create(obj("cluster.x-k8s.io/v1beta2", "Cluster", "d", spec={shared: spec[shared]}))
    before = {kind: store.list(kind) for kind in (CLUSTER, CONTROL_PLANE)}
    with pytest.raises(ControlPlaneFailure, match=r"the Cluster . of the same namespace names the same"):
        stored_deletion.mark_deleting(t.cast(ClusterObjects, ClusterObjects.read(store, "default", deleted)), False)
    assert {kind: store.list(kind) for kind in before} == before
    store.modify(CLUSTER, "default", "d", lambda found: found.update(spec={"paused": False}))
    stored_deletion.mark_deleting(t.cast(ClusterObjects, ClusterObjects.read(store, "default", "d")), False)
    assert [each["metadata"]["name"] for each in store.list(CLUSTER)] == ["c"]
    assert store.list(CONTROL_PLANE) == before[CONTROL_PLANE] and read(store).infrastructure_cluster is not None


@pytest.mark.parametrize("kind", [CONTROL_PLANE, MACHINE_DEPLOYMENT, MACHINE_SET], ids=lambda each: each[1])
def test_a_template_that_another_cluster_uses_is_kept(store: FileStore, kind: tuple[str, str]) -> None:
    """Two clusters may share a machine template, for their control planes or for workers."""
    stored_cluster.apply_manifest(store, manifest())
    store.create(naming_the_template(kind, "other"))
    stored_deletion.mark_deleting(read(store), False)
    stored_deletion.delete_records(read(store))
    assert store.get(TEMPLATE, "default", "t") is not None


def test_a_template_of_its_own_workers_as_well_goes_with_the_cluster(store: FileStore) -> None:
    """Nobody else names it."""
    stored_cluster.apply_manifest(store, manifest())
    store.create(naming_the_template(MACHINE_DEPLOYMENT, "c"))
    stored_deletion.mark_deleting(read(store), False)
    stored_deletion.delete_records(read(store))
    assert store.list(TEMPLATE) == store.list(MACHINE_DEPLOYMENT) == []


def test_an_annotation_that_leaves_the_manifest_leaves_the_store(tmp_path: Path) -> None:
    """A window or a gate that a user has removed must not go on holding; what controllers wrote stays."""
    store = FileStore(str(tmp_path / "store"))
    ours, theirs = "kubeadm.control-plane/maintenance-window", "controlplane.cluster.x-k8s.io/remediation-in-progress"
    desired = manifest()
    desired.control_plane["metadata"]["annotations"] = {ours: "x"}
    stored_cluster.apply_manifest(store, desired)
    store.modify(CONTROL_PLANE, "default", "cp", lambda obj: obj["metadata"]["annotations"].update({theirs: "{}"}))
    changes = stored_cluster.apply_manifest(store, manifest())
    stored = store.get(CONTROL_PLANE, "default", "cp")
    assert stored is not None and stored["metadata"]["annotations"] == {theirs: "{}"}
    assert len(changes) == 1 and ours in changes[0]
    assert stored_cluster.apply_manifest(store, manifest()) == []


def test_a_pause_is_whose_who_paused(tmp_path: Path) -> None:
    """A Cluster that somebody paused in the store stays so under a manifest that is silent on it; what the manifest says, it decides."""
    store = FileStore(str(tmp_path / "store"))
    stored_cluster.apply_manifest(store, manifest())

    def pause(value: bool) -> None:
        store.modify(CLUSTER, "default", "c", lambda obj: obj["spec"].update(paused=value))

    def paused() -> bool:
        return bool((store.get(CLUSTER, "default", "c") or {})["spec"].get("paused"))

    pause(True)
    assert stored_cluster.apply_manifest(store, manifest()) == [] and paused()
    pause(False)
    assert stored_cluster.apply_manifest(store, manifest()) == [] and not paused()
    said = manifest()
    said.cluster["spec"]["paused"] = True
    assert len(stored_cluster.apply_manifest(store, said)) == 1 and paused()
    assert stored_cluster.apply_manifest(store, said) == []
    assert len(stored_cluster.apply_manifest(store, manifest())) == 1 and not paused()
    pause(True)
    said.cluster["spec"]["paused"] = False
    assert len(stored_cluster.apply_manifest(store, said)) == 1 and not paused()
    # What a manifest did not begin it does not end.
    pause(True)
    stored_cluster.apply_manifest(store, manifest())
    assert paused()


def test_a_pause_in_the_middle_of_an_apply_holds(store: FileStore) -> None:
    """The object is read again, and the manifest's change made to what it is now."""
    stored_cluster.apply_manifest(store, manifest())
    pause = {"cluster.x-k8s.io/paused": ""}
    told: list[tuple[t.Any, t.Any]] = []

    def annotate(annotations: dict[str, str]) -> None:
        store.modify(CONTROL_PLANE, "default", "cp", lambda obj: obj["metadata"].update(annotations=annotations))

    for number in itertools.count(1):
        annotate({})
        racing = RacingStore(store.directory, CONTROL_PLANE, number, lambda: annotate(pause))
        told.clear()
        wanted = 5 if number % 2 else 3
        changes = stored_cluster.apply_manifest(
            racing, manifest(wanted), changed=lambda before, after: told.append((before, after))
        )
        if not racing.raced:
            break
        stored = store.get(CONTROL_PLANE, "default", "cp") or {}
        assert stored["metadata"]["annotations"] == pause and stored["spec"]["replicas"] == wanted
        assert changes == ["change KubeadmControlPlane default/cp: spec.replicas"]
        assert [each["spec"]["replicas"] for change in told for each in change] == [8 - wanted, wanted]
    assert number > 3


def test_an_object_that_another_writer_changes_all_the_time(store: FileStore) -> None:
    """It is theirs: the run ends, and their change stays."""

    class Busy(FileStore):
        def update(self, obj: dict[str, t.Any]) -> dict[str, t.Any]:
            turn = {"turn": obj["metadata"]["resourceVersion"]}
            store.modify(CONTROL_PLANE, "default", "cp", lambda found: found["metadata"].update(labels=turn))
            return super().update(obj)

    stored_cluster.apply_manifest(store, manifest())
    with pytest.raises(Conflict, match="KubeadmControlPlane default/cp was changed by someone else"):
        stored_cluster.apply_manifest(Busy(store.directory), manifest(5))
    assert (store.get(CONTROL_PLANE, "default", "cp") or {})["spec"]["replicas"] == 3


@pytest.mark.parametrize("kind", ["Secret", "ConfigMap"])
def test_content_that_becomes_immutable(store: FileStore, kind: str) -> None:
    """Stored, told, and from then on kept: an API server would refuse the change in the middle of a run."""

    def applied(immutable: t.Optional[bool], **data: str) -> list[str]:
        content = {} if immutable is None else {"immutable": immutable}
        desired = obj("v1", kind, "content", data=data, **content, **({"type": "Opaque"} if kind == "Secret" else {}))
        part = "secrets" if kind == "Secret" else "resources"
        return stored_cluster.apply_manifest(store, dataclasses.replace(manifest(), **{part: (desired,)}))

    applied(None, a="YQ==")
    assert applied(True, a="YQ==") == [f"change {kind} default/content: immutable"]
    assert (store.get(("", kind), "default", "content") or {})["immutable"] is True
    assert applied(True, a="YQ==") == applied(None, a="YQ==") == []
    for immutable, data, path in ((True, "Yg==", "data.a"), (False, "YQ==", "immutable")):
        with pytest.raises(ManifestError, match=f"the stored {kind} is immutable") as refused:
            applied(immutable, a=data)
        assert path in str(refused.value)
    assert (store.get(("", kind), "default", "content") or {})["data"] == {"a": "YQ=="}


def test_what_a_manifest_gave_and_gives_no_more_is_taken_off(tmp_path: Path) -> None:
    """A pause ends where it began, in the manifest; what was set on the stored object stays, and so does a damaged note."""
    store = FileStore(str(tmp_path / "store"))
    paused, note = "cluster.x-k8s.io/paused", "kubeadm.control-plane/from-manifest"
    desired = manifest()
    desired.control_plane["metadata"].update(annotations={paused: "", "example.com/a": "1"}, labels={"team": "a"})
    stored_cluster.apply_manifest(store, desired)
    store.modify(CONTROL_PLANE, "default", "cp", lambda obj: obj["metadata"]["annotations"].update({"theirs": "x"}))
    assert stored_cluster.apply_manifest(store, desired) == []
    desired.control_plane["metadata"].update(annotations={"example.com/a": "1"}, labels={})
    assert len(stored_cluster.apply_manifest(store, desired)) == 1
    metadata = (store.get(CONTROL_PLANE, "default", "cp") or {})["metadata"]
    assert sorted(metadata["annotations"]) == ["example.com/a", note, "theirs"]
    assert metadata["labels"] == {"cluster.x-k8s.io/cluster-name": "c"}
    # Set by somebody on the stored object: it is theirs to take off.
    store.modify(CONTROL_PLANE, "default", "cp", lambda obj: obj["metadata"]["annotations"].update({paused: ""}))
    assert stored_cluster.apply_manifest(store, desired) == []
    store.modify(CONTROL_PLANE, "default", "cp", lambda obj: obj["metadata"]["annotations"].update({note: "[1"}))
    stored_cluster.apply_manifest(store, manifest())
    annotations = (store.get(CONTROL_PLANE, "default", "cp") or {})["metadata"]["annotations"]
    assert annotations == {"example.com/a": "1", "theirs": "x", paused: ""}
