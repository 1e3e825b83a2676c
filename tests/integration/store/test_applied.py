# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster that nobody has a manifest of: its objects are applied to the API with kubectl, edited there, and a run takes them as they are."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from api_server import ApiServer
from management import Kubectl, Runs

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import kinds
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records import stored_desired_state
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CLUSTER,
    CONTROL_PLANE,
    MACHINE,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import KubernetesStore

Object = dict[str, t.Any]
NAME = "prod-control-plane"


@pytest.fixture
def kubectl(server: ApiServer, kubernetes_store: KubernetesStore) -> Kubectl:
    return Kubectl(server)


@pytest.fixture
def runs(server: ApiServer, kubectl: Kubectl, tmp_path: Path) -> Runs:
    """The cluster prod, whose documents a person applied."""
    runs = Runs(server, tmp_path, version="1.20.2")
    kubectl("apply", "-f", str(runs.manifest))
    return runs


def there(store: KubernetesStore, kind_ref: tuple[str, str], name: str) -> Object:
    found = store.get(kind_ref, "default", name)
    assert found is not None
    return found


def test_it_is_completed_and_the_second_time_nothing_is(runs: Runs, kubernetes_store: KubernetesStore) -> None:
    """Defaults, labels, finalizers: what webhooks and core controllers do in Cluster API."""
    assert "finalizers" not in there(kubernetes_store, CONTROL_PLANE, NAME)["metadata"]
    done = runs("cluster")
    assert done.get("changed") is True, done
    stored = there(kubernetes_store, CONTROL_PLANE, NAME)
    assert stored["spec"]["version"] == "v1.20.2"
    assert stored["spec"]["rollout"]["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}
    assert stored["metadata"]["finalizers"] == [kinds.FINALIZER_CONTROL_PLANE]
    assert stored["metadata"]["labels"][kinds.LABEL_CLUSTER_NAME] == "prod"
    assert there(kubernetes_store, CLUSTER, "prod")["metadata"]["finalizers"] == [kinds.FINALIZER_CLUSTER]
    assert runs("cluster")["changes"] == []
    assert runs("decide", run="r1")["decision"]["action"] == "createInfrastructure"


def test_check_mode_writes_nothing(runs: Runs, kubernetes_store: KubernetesStore) -> None:
    before = there(kubernetes_store, CONTROL_PLANE, NAME)
    assert runs("cluster", check=True)["changed"] is True
    assert there(kubernetes_store, CONTROL_PLANE, NAME) == before


def test_a_plan_begins_with_what_a_run_begins_with(
    runs: Runs, kubectl: Kubectl, kubernetes_store: KubernetesStore
) -> None:
    """It is of the completed objects, and refuses what a run refuses; nothing is written."""
    before = there(kubernetes_store, CONTROL_PLANE, NAME)
    planned = runs("plan")
    assert not planned.get("failed"), planned
    assert planned["steps"][0]["action"] == "createInfrastructure"
    assert there(kubernetes_store, CONTROL_PLANE, NAME) == before
    kubectl("annotate", f"kcp/{NAME}", "kubeadm.control-plane/maintenance-windw=x")
    said = [runs("cluster")["msg"], runs("plan").get("msg", "")]
    assert said[0] == said[1] and "maintenance-window" in said[0]


def test_what_is_applied_once_more_asks_for_no_rollout(
    runs: Runs, kubectl: Kubectl, kubernetes_store: KubernetesStore
) -> None:
    """As GitOps does at any time, also between two steps of a run: a version without its v is the version that there is."""
    runs("cluster")
    runs.infrastructure_is_there()
    made = runs("machine", kind="init")
    assert not made.get("failed"), made
    kubectl("patch", f"kcp/{NAME}", "--type=merge", "-p", '{"spec":{"version":"1.20.2"}}')
    runs("decide", run="r1")
    (machine,) = kubernetes_store.list(MACHINE, "default")
    (condition,) = [each for each in machine["status"]["conditions"] if each["type"] == "UpToDate"]
    assert condition["status"] == "True", condition


def test_what_is_edited_holds(runs: Runs, kubectl: Kubectl, kubernetes_store: KubernetesStore) -> None:
    """Nothing here has another word: scaled, upgraded and labelled with kubectl."""
    runs("cluster")
    runs.infrastructure_is_there()
    machine = runs("machine", kind="init")
    assert not machine.get("failed"), machine
    kubectl("scale", f"kcp/{NAME}", "--replicas=5")
    labels = '{"spec":{"machineTemplate":{"metadata":{"labels":{"team":"a"}}}}}'
    kubectl("patch", f"kcp/{NAME}", "--type=merge", "-p", labels)
    changes = runs("cluster")["changes"]
    (stored,) = kubernetes_store.list(MACHINE, "default")
    own = stored["metadata"]["name"]
    assert [line.split(" in place: ")[0] for line in changes] == [
        f"change {kind} default/{own}" for kind in ("Machine", "NspawnMachine", "KubeadmConfig")
    ]
    assert all(line.endswith("metadata.labels.team") for line in changes)
    assert stored["metadata"]["labels"]["team"] == "a"
    assert there(kubernetes_store, CONTROL_PLANE, NAME)["spec"]["replicas"] == 5
    assert runs("cluster")["changes"] == []


class Interrupted(KubernetesStore):
    """A store beside which somebody scales the control plane right before it is first written to."""

    others: t.Callable[[], t.Any] | None = None

    def update(self, obj: Object) -> Object:
        """Let the other be faster, once."""
        if self.others is not None:
            others, self.others = self.others, None
            others()
        return super().update(obj)


def test_an_edit_meanwhile_is_not_lost(runs: Runs, kubectl: Kubectl, kubernetes_store: KubernetesStore) -> None:
    """What is completed is completed again, from what was edited."""
    store = Interrupted(kubernetes_store.api)
    store.others = lambda: kubectl("scale", f"kcp/{NAME}", "--replicas=5")
    with store.view():
        changes = stored_desired_state.settle(store, "default", "prod")
    assert changes and any(NAME in line for line in changes)
    stored = there(kubernetes_store, CONTROL_PLANE, NAME)
    assert stored["spec"]["replicas"] == 5 and stored["spec"]["rollout"]["strategy"]["type"] == "RollingUpdate"
    assert stored["metadata"]["finalizers"] == [kinds.FINALIZER_CONTROL_PLANE]


def test_every_fault_is_told_by_its_field(runs: Runs, kubectl: Kubectl, kubernetes_store: KubernetesStore) -> None:
    """What webhooks refuse and the API server can't. Of the objects nothing is written then but that they are refused, which goes when they are mended."""
    documents = list(yaml.safe_load_all(runs.manifest.read_text()))
    (wanted,) = [each for each in documents if each["kind"] == "KubeadmControlPlane"]
    wanted["spec"]["replicas"] = 2
    wanted["metadata"]["annotations"] = {"kubeadm.control-plane/maintenance-windw": "x"}
    kubectl.apply(wanted)
    before = there(kubernetes_store, CONTROL_PLANE, NAME)
    refused = runs("cluster")
    assert refused["failed"]
    assert "spec.replicas" in refused["msg"] and "maintenance-window" in refused["msg"]
    assert "the store: KubeadmControlPlane default/" in refused["msg"]
    stored = there(kubernetes_store, CONTROL_PLANE, NAME)
    assert (stored["spec"], stored["metadata"].get("finalizers")) == (before["spec"], None)
    for status in (stored["status"], there(kubernetes_store, CLUSTER, "prod")["status"]):
        assert status["failureReason"] == status["deprecated"]["v1beta1"]["failureReason"] == "InvalidConfiguration"
        assert "spec.replicas" in status["failureMessage"]
    assert "InvalidConfiguration" in kubectl("describe", f"kcp/{NAME}").split("Events:")[1]
    kubectl("patch", f"kcp/{NAME}", "--type=merge", "-p", '{"spec":{"replicas":3}}')
    kubectl("annotate", f"kcp/{NAME}", "kubeadm.control-plane/maintenance-windw-")
    runs("cluster")
    runs("decide", run="r1")
    for kind_ref, name in ((CONTROL_PLANE, NAME), (CLUSTER, "prod")):
        assert "failureReason" not in there(kubernetes_store, kind_ref, name)["status"]


def test_a_missing_object_is_named(runs: Runs, kubectl: Kubectl) -> None:
    kubectl("delete", f"kcp/{NAME}")
    refused = runs("cluster")
    assert refused["failed"] and f"{NAME}" in refused["msg"] and "KubeadmControlPlane" in refused["msg"]


def test_neither_manifest_nor_cluster(server: ApiServer, kubernetes_store: KubernetesStore, tmp_path: Path) -> None:
    refused = Runs(server, tmp_path)("cluster")
    assert refused["failed"] and "no manifest names the cluster default/prod" in refused["msg"]


def test_one_that_is_being_deleted_is_left_as_it_is(
    runs: Runs, kubectl: Kubectl, kubernetes_store: KubernetesStore
) -> None:
    """kubectl delete marks it; a finalizer that somebody has taken off is not put back."""
    runs("cluster")
    kubectl("delete", "cluster", "prod", "--wait=false")
    before = there(kubernetes_store, CLUSTER, "prod")
    assert before["metadata"]["deletionTimestamp"]
    assert runs("cluster")["changes"] == []
    assert there(kubernetes_store, CLUSTER, "prod") == before
    assert runs("decide", run="r1")["decision"]["action"] in ("deleteMachines", "deleteInfrastructure")


def test_a_control_plane_that_is_deleted_alone(runs: Runs, kubectl: Kubectl, kubernetes_store: KubernetesStore) -> None:
    """The Cluster and its infrastructure stay: with their objects would go what says that there is infrastructure to delete."""
    runs("cluster")
    runs.infrastructure_is_there()
    kubectl("delete", f"kcp/{NAME}", "--wait=false")
    decided = runs("decide", run="r1")["decision"]
    assert (decided["action"], decided["reasons"][0]["reason"]) == ("none", "DeletionCompleted")
    assert "its infrastructure and its keys stay" in decided["reasons"][0]["message"]
    assert kubernetes_store.get(CONTROL_PLANE, "default", NAME) is None
    there(kubernetes_store, CLUSTER, "prod")
    there(kubernetes_store, ("infrastructure.cluster.x-k8s.io", "NspawnCluster"), "prod")
    kubectl("delete", "cluster", "prod", "--wait=false")
    assert runs("decide", run="r1")["decision"]["action"] == "deleteInfrastructure"
