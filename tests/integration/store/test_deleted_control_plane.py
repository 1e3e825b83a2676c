# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kubectl delete kcp: what of the cluster stays, and how it gets a new control plane. With the real garbage collector."""

from __future__ import annotations

import contextlib
import json
import re
import typing as t
from pathlib import Path

import pytest
import yaml
from api_server import ApiServer
from etcd_cluster import until
from management import Kubectl, Runs, controller_manager
from management_workspace import ManagementWorkspace
from store_objects import machine
from workspace import consent_of

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.removal import deleted_control_plane
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import kinds
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records import stored_deletion
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CLUSTER,
    CONTROL_PLANE,
    SECRET,
    ClusterObjects,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import Store
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.requests import KubernetesApi
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import KubernetesStore

Object = dict[str, t.Any]
NAME = "prod"
OWN = f"{NAME}-control-plane"


def there(store: Store, kind_ref: tuple[str, str], name: str) -> Object:
    store.look_again()
    found = store.get(kind_ref, "default", name)
    assert found is not None, f"{kind_ref[1]} {name} is gone"
    return found


def condition(obj: Object, kind: str) -> tuple[str, str]:
    [found] = [each for each in obj["status"]["conditions"] if each["type"] == kind]
    return found["status"], found["reason"]


def keys(store: Store) -> dict[str, Object]:
    """The contents of the cluster's Secrets."""
    store.look_again()
    found = store.list(SECRET, "default", {kinds.LABEL_CLUSTER_NAME: NAME})
    return {each["metadata"]["name"]: each["data"] for each in found}


def controllers(store: Store) -> set[tuple[str, str]]:
    """Who controls the cluster's Secrets."""
    store.look_again()
    found = store.list(SECRET, "default", {kinds.LABEL_CLUSTER_NAME: NAME})
    owners = [owner for each in found for owner in each["metadata"]["ownerReferences"] if owner["controller"]]
    return {(each["kind"], each["uid"]) for each in owners}


def collected(store: Store) -> None:
    """Wait until an object without an owner that was made now is gone: what was there before has been looked at."""
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": "00000000-0000-0000-0000-000000000000"}
    made = store.create(machine("without-owner", ownerReferences=[owner]))
    where = (("cluster.x-k8s.io", "Machine"), "default", made["metadata"]["name"])
    until("garbage is collected", lambda: store.get(*where) is None)


@pytest.mark.full
def test_a_new_one_in_its_place(empty_server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deleted in order, blocked until somebody consents to a new one, made with the keys that the Cluster has kept, and a cluster like any other then."""
    workspace = ManagementWorkspace.over(empty_server, tmp_path / "workspace", monkeypatch)
    store, kubectl = workspace.objects_store, Kubectl(empty_server)
    with controller_manager(empty_server, tmp_path, "garbagecollector"):
        workspace.manifest(NAME, replicas=1)
        workspace.playbook("reconcile").succeeded()
        before = keys(store)
        first = there(store, CONTROL_PLANE, OWN)["metadata"]["uid"]
        assert controllers(store) == {("KubeadmControlPlane", first)}
        kubectl("delete", f"kcp/{OWN}", "--wait=false")
        workspace.playbook("reconcile").succeeded()
        collected(store)
        assert workspace.cloud()["machines"] == {} and workspace.world()["violations"] == []
        cluster = there(store, CLUSTER, NAME)
        assert store.get(CONTROL_PLANE, "default", OWN) is None
        assert condition(cluster, "ControlPlaneAvailable") == ("False", "ControlPlaneDeleted")
        assert keys(store) == before and controllers(store) == {("Cluster", cluster["metadata"]["uid"])}

        refused = workspace.playbook("reconcile").failed()
        assert f"{OWN} of this cluster was deleted at" in refused.text, refused.text
        named = consent_of(refused.text, "control_plane_consent")
        assert named == f"initialize:default/{NAME}:afterDeletionOf:{first[:8]}"
        assert workspace.cloud()["machines"] == {}
        stored = there(store, CONTROL_PLANE, OWN)
        assert stored["status"]["failureReason"] == "CreateError"

        given = ("-e", f"control_plane_consent={named}")
        foreseen = workspace.playbook("reconcile", "--check", *given).succeeded().text
        assert "as was consented to" in foreseen and workspace.cloud()["machines"] == {}
        assert deleted_control_plane.recorded(there(store, CLUSTER, NAME)) is not None
        assert controllers(store) == {("Cluster", cluster["metadata"]["uid"])}

        # What the machines carried went with them; of the stand-in's it is kept apart from them.
        (workspace.folder / "cloud" / "world.json").unlink()
        workspace.playbook("reconcile", *given).succeeded()
        assert len(workspace.cloud()["machines"]) == 1 and workspace.world()["violations"] == []
        collected(store)
        second = there(store, CONTROL_PLANE, OWN)["metadata"]["uid"]
        assert keys(store) == before and controllers(store) == {("KubeadmControlPlane", second)}
        cluster = there(store, CLUSTER, NAME)
        assert deleted_control_plane.recorded(cluster) is None
        assert condition(cluster, "ControlPlaneInitialized")[0] == "True"
        assert workspace.playbook("reconcile", *given).succeeded().recap(NAME)["changed"] == 0


@pytest.mark.full
def test_a_second_one_that_is_deleted_to_back_out(
    empty_server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is done while two would manage one control plane; the new one goes alone, and the old one is as it was."""
    workspace = ManagementWorkspace.over(empty_server, tmp_path / "workspace", monkeypatch)
    store, kubectl = workspace.objects_store, Kubectl(empty_server)
    workspace.manifest(NAME, replicas=1)
    workspace.playbook("reconcile").succeeded()
    before, members, secrets = workspace.cloud()["machines"], workspace.world()["members"], controllers(store)
    workspace.options(workspace.connection, manifests=[])
    second = there(store, CONTROL_PLANE, OWN)
    second["metadata"] = {"name": "new", "namespace": "default"}
    del second["status"]
    store.create(second)
    refer = '{"spec": {"controlPlaneRef": {"name": "%s"}}}'
    kubectl("patch", f"cluster/{NAME}", "--type=merge", "-p", refer % "new")

    refused = workspace.playbook("reconcile").failed().text
    assert f"controlled by KubeadmControlPlane {OWN}" in refused and "spec.controlPlaneRef" in refused, refused
    kubectl("delete", "kcp/new", "--wait=false")
    workspace.playbook("reconcile").succeeded()
    store.look_again()
    assert store.get(CONTROL_PLANE, "default", "new") is None
    assert deleted_control_plane.recorded(there(store, CLUSTER, NAME)) is None, "nothing was lost with it"
    kubectl("patch", f"cluster/{NAME}", "--type=merge", "-p", refer % OWN)
    assert workspace.playbook("reconcile").succeeded().recap(NAME)["failed"] == 0
    assert workspace.playbook("reconcile").succeeded().recap(NAME)["changed"] == 0
    assert workspace.cloud()["machines"] == before
    assert (workspace.world()["members"], workspace.world()["violations"]) == (members, [])
    assert controllers(store) == secrets


@pytest.fixture
def runs(empty_server: ApiServer, tmp_path: Path) -> Runs:
    """The cluster prod, whose infrastructure and keys are there."""
    runs = Runs(empty_server, tmp_path)
    assert not runs("cluster", manifests=[str(runs.manifest)]).get("failed")
    runs.infrastructure_is_there("127.0.0.1", 1)
    assert not runs("cluster_certificates").get("failed")
    return runs


@pytest.fixture
def kept(runs: Runs, empty_server: ApiServer) -> KubernetesStore:
    """Its store, in which its control plane was initialized once; no machine of it is there any more."""
    store = KubernetesStore(KubernetesApi({"kubeconfig": empty_server.kubeconfig}))
    for kind_ref, name in ((CONTROL_PLANE, OWN), (CLUSTER, NAME)):
        store.modify(kind_ref, "default", name, initialized)
    return store


def initialized(stored: Object) -> None:
    stored.setdefault("status", {}).setdefault("initialization", {})["controlPlaneInitialized"] = True


def blocked(runs: Runs, **arguments: t.Any) -> Object:
    """What a run says that applies the manifest, and is blocked."""
    assert not runs("cluster", manifests=[str(runs.manifest)]).get("failed")
    decided = runs("decide", run="r1", **arguments)
    assert decided.get("failed"), decided
    [found] = decided["decision"]["blockedOn"]
    return dict(found)


def deleted(runs: Runs, kubectl: Kubectl, name: str = OWN) -> None:
    """kubectl delete kcp, and the run that carries it out."""
    kubectl("delete", f"kcp/{name}", "--wait=false")
    decided = runs("decide", run="r1")["decision"]
    assert decided["reasons"][0]["reason"] == "DeletionCompleted", decided
    assert not runs("cluster", state="absent", infrastructure_deleted=True).get("failed")


def consent(found: Object) -> str:
    [text] = re.findall(r"control_plane_consent=(\S+)", found["fix"])
    return str(text)


def test_one_that_vanished_stays_lost(runs: Runs, kept: KubernetesStore, empty_server: ApiServer) -> None:
    """Nobody carried a deletion out: whatever somebody consents to, nothing is initialized over what may still run somewhere."""
    kubectl = Kubectl(empty_server)
    uid = there(kept, CONTROL_PLANE, OWN)["metadata"]["uid"]
    kubectl("patch", f"kcp/{OWN}", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    kubectl("delete", f"kcp/{OWN}")
    found = blocked(runs, consent=[f"initialize:default/{NAME}:afterDeletionOf:{uid[:8]}"])
    assert found["reason"] == "ControlPlaneLost", found


def test_without_the_note_it_is_a_loss(runs: Runs, kept: KubernetesStore, empty_server: ApiServer) -> None:
    kubectl = Kubectl(empty_server)
    deleted(runs, kubectl)
    found = blocked(runs)
    assert found["reason"] == "ControlPlaneDeleted", found
    kubectl("annotate", f"cluster/{NAME}", f"{kinds.ANNOTATION_DELETED_CONTROL_PLANE}-")
    assert blocked(runs, consent=[consent(found)])["reason"] == "ControlPlaneLost"


def test_a_consent_is_to_one_deletion(runs: Runs, kept: KubernetesStore, empty_server: ApiServer) -> None:
    """Once the new one has begun the note is gone, and the same consent, left in a job's variables, is worth nothing any more."""
    kubectl = Kubectl(empty_server)
    deleted(runs, kubectl)
    given = consent(blocked(runs))
    begun = runs("decide", run="r2", consent=[given])
    assert begun["decision"]["action"] == "initialize", begun
    cluster = there(kept, CLUSTER, NAME)
    assert deleted_control_plane.recorded(cluster) is None
    assert cluster["status"]["initialization"]["controlPlaneInitialized"] is False
    assert runs("decide", run="r3")["decision"]["action"] == "initialize"
    for kind_ref, name in ((CONTROL_PLANE, OWN), (CLUSTER, NAME)):
        kept.modify(kind_ref, "default", name, initialized)
    assert blocked(runs, consent=[given])["reason"] == "ControlPlaneLost"
    deleted(runs, kubectl)
    found = blocked(runs, consent=[given])
    assert found["reason"] == "ControlPlaneDeleted" and consent(found) != given


def test_its_external_etcd_goes_to_the_new_one(runs: Runs, kept: KubernetesStore, empty_server: ApiServer) -> None:
    """With the consent, and before the note goes that says whose data is there."""
    kubectl = Kubectl(empty_server)
    wanted = list(yaml.safe_load_all(runs.manifest.read_text()))
    [own] = [each for each in wanted if each["kind"] == CONTROL_PLANE[1]]
    external = {"external": {"endpoints": ["http://192.0.2.1:2379"]}}
    own["spec"]["kubeadmConfigSpec"].setdefault("clusterConfiguration", {})["etcd"] = external
    runs.manifest.write_text(yaml.safe_dump_all(wanted))

    def with_external_etcd(stored: Object) -> None:
        stored["spec"]["kubeadmConfigSpec"].setdefault("clusterConfiguration", {})["etcd"] = external

    kept.modify(CONTROL_PLANE, "default", OWN, with_external_etcd)
    deleted(runs, kubectl)
    given = consent(blocked(runs))
    annotation = kinds.ANNOTATION_EXTERNAL_ETCD_BEGAN
    assert annotation not in (there(kept, CONTROL_PLANE, OWN)["metadata"].get("annotations") or {})
    assert runs("decide", run="r2", consent=[given])["act"] is True
    assert there(kept, CONTROL_PLANE, OWN)["metadata"]["annotations"][annotation] == "true"
    assert deleted_control_plane.recorded(there(kept, CLUSTER, NAME)) is None


def test_one_of_another_name(runs: Runs, kept: KubernetesStore, empty_server: ApiServer) -> None:
    """Applied with kubectl, and the Cluster pointed to it; deleted again before it was begun it changes nothing of what was noted."""
    kubectl = Kubectl(empty_server)
    [wanted] = [each for each in yaml.safe_load_all(runs.manifest.read_text()) if each["kind"] == CONTROL_PLANE[1]]
    deleted(runs, kubectl)
    refused = runs("cluster")
    assert refused["failed"] and f"{OWN} of this cluster was deleted at" in refused["msg"], refused
    assert "Apply a KubeadmControlPlane" in refused["msg"]
    other = "prod-second"
    reference = {"spec": {"controlPlaneRef": {"name": other}}}
    kubectl("patch", f"cluster/{NAME}", "--type=merge", "-p", json.dumps(reference))
    given = ""
    for _attempt in range(2):
        kubectl.apply({**wanted, "metadata": {**wanted["metadata"], "name": other}})
        assert not runs("cluster").get("failed")
        decided = runs("decide", run="r1")
        [found] = decided["decision"]["blockedOn"]
        assert found["reason"] == "ControlPlaneDeleted" and given in ("", consent(found)), found
        given = consent(found)
        if not _attempt:
            deleted(runs, kubectl, other)
    assert runs("decide", run="r2", consent=[given])["decision"]["action"] == "initialize"
    uid = there(kept, CONTROL_PLANE, other)["metadata"]["uid"]
    assert controllers(kept) == {("KubeadmControlPlane", uid)}


def test_moved_meanwhile_it_is_the_same(
    runs: Runs, kept: KubernetesStore, empty_server: ApiServer, tmp_path: Path
) -> None:
    """To files, where everything above the store is the same code: the note and the keys come along, and the same consent is asked for."""
    deleted(runs, Kubectl(empty_server))
    given = consent(blocked(runs))
    files = {"path": str(tmp_path / "files")}
    moved = runs("cluster_move", to=files)
    assert not moved.get("failed"), moved
    runs.store = {"type": "file", **files}
    store = FileStore(files["path"])
    assert controllers(store) == {("Cluster", there(store, CLUSTER, NAME)["metadata"]["uid"])}
    found = blocked(runs)
    assert found["reason"] == "ControlPlaneDeleted" and consent(found) == given
    assert runs("decide", run="r2", consent=[given])["decision"]["action"] == "initialize"
    assert controllers(store) == {("KubeadmControlPlane", there(store, CONTROL_PLANE, OWN)["metadata"]["uid"])}
    assert deleted_control_plane.recorded(there(store, CLUSTER, NAME)) is None


class Stopped(Exception):
    """The run is killed here."""


class Killed(KubernetesStore):
    """A store whose run is killed right before one of its writes."""

    left = 0

    def _count(self) -> None:
        if not self.left:
            raise Stopped
        self.left -= 1

    def update(self, obj: Object) -> Object:
        self._count()
        return super().update(obj)

    def delete(self, *where: t.Any, **options: t.Any) -> t.Any:
        self._count()
        return super().delete(*where, **options)


def test_a_killed_run_is_gone_on_with(runs: Runs, kept: KubernetesStore, empty_server: ApiServer) -> None:
    """At every write of its last task: the control plane is there until its deletion is noted and the keys are the Cluster's."""
    kubectl, store = Kubectl(empty_server), Killed(KubernetesApi({"kubeconfig": empty_server.kubeconfig}))
    kubectl("delete", f"kcp/{OWN}", "--wait=false")
    before, writes = keys(kept), 0
    while kept.get(CONTROL_PLANE, "default", OWN) is not None:
        assert (writes == 0) or len(controllers(kept)) <= 2
        objects = ClusterObjects.read(store, "default", NAME)
        assert objects is not None
        store.left = 1
        with contextlib.suppress(Stopped):
            stored_deletion.delete_marked(objects)
        writes += 1
        kept.look_again()
    assert writes > len(before)
    cluster = there(kept, CLUSTER, NAME)
    assert deleted_control_plane.recorded(cluster) is not None and keys(kept) == before
    assert controllers(kept) == {("Cluster", cluster["metadata"]["uid"])}
