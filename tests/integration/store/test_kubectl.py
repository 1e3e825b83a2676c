# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What people and tools do with kubectl, against a real API server: see, scale, edit, annotate, wait, delete, and what is refused."""

from __future__ import annotations

import json
import typing as t

import pytest
from api_server import ApiServer
from management import CLUSTER, Kubectl, control_plane, smallest_spec
from store_objects import MACHINE, machine

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.crds import crd_names, definitions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import kinds
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import KubernetesStore

CONTROL_PLANE = (kinds.GROUP_CONTROL_PLANE, kinds.KUBEADM_CONTROL_PLANE)
PROD = (CONTROL_PLANE, "default", "prod")


@pytest.fixture
def kubectl(server: ApiServer, kubernetes_store: KubernetesStore) -> Kubectl:
    """The administrator's kubectl; the store is empty."""
    return Kubectl(server)


def conditions(**states: str) -> list[dict[str, str]]:
    """Conditions of a status, by type."""
    when = "2026-01-01T00:00:00Z"
    return [{"type": k, "status": v, "reason": "Because", "lastTransitionTime": when} for k, v in states.items()]


def shown(kubectl: Kubectl, kind: str, *more: str) -> list[tuple[str, str]]:
    """What kubectl shows of the only object of a kind: each column with what is in it; no age, which is another each time."""
    header, line = kubectl("get", kind, *more).splitlines()
    titles = [each for each in header.replace("  ", "\t").split("\t") if each.strip()]
    return [(title.strip(), text) for title, text in zip(titles, line.split()) if title.strip() != "AGE"]


def test_a_control_plane_at_a_glance(kubectl: Kubectl, kubernetes_store: KubernetesStore) -> None:
    """In Cluster API's columns."""
    kubectl.apply(control_plane(replicas=3))
    status = {
        "replicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 0,
        "upToDateReplicas": 1,
        "initialization": {"controlPlaneInitialized": True},
        "conditions": conditions(Available="True", Paused="False"),
    }
    kubernetes_store.modify(*PROD, lambda found: found.update(status=status))
    wanted = [
        ("NAME", "prod"),
        ("CLUSTER", "prod"),
        ("AVAILABLE", "True"),
        ("DESIRED", "3"),
        ("CURRENT", "2"),
        ("READY", "2"),
        ("AVAILABLE", "0"),
        ("UP-TO-DATE", "1"),
        ("INITIALIZED", "true"),
        ("VERSION", "v1.20.2"),
    ]
    assert shown(kubectl, "kcp") == wanted
    assert shown(kubectl, "kcp", "-o", "wide") == [*wanted[:8], ("PAUSED", "False"), *wanted[8:]]
    assert kubectl("wait", "--for=condition=Available", "kcp/prod", "--timeout=20s").strip().endswith("condition met")


def test_a_machine_and_a_cluster_at_a_glance(kubectl: Kubectl, kubernetes_store: KubernetesStore) -> None:
    kubernetes_store.create(machine("prod-a", labels=CLUSTER))
    addresses = [{"type": "ExternalIP", "address": "192.0.2.9"}, {"type": "InternalIP", "address": "10.0.0.9"}]
    status = {"addresses": addresses, "phase": "Running", "nodeRef": {"name": "node-a"}}
    shown = conditions(Ready="True", Available="False", UpToDate="True", Paused="True")
    told = {**status, "failureDomain": "zone-a", "conditions": shown}
    kubernetes_store.modify(MACHINE, "default", "prod-a", lambda found: found.update(status=told))
    header, line = kubectl("get", "machines").splitlines()
    assert " ".join(header.split()) == (
        "NAME CLUSTER NODE NAME FAILURE DOMAIN READY AVAILABLE UP-TO-DATE PHASE AGE VERSION"
    )
    assert line.split()[1:8] == ["prod", "node-a", "zone-a", "True", "False", "True", "Running"]
    wide = kubectl("get", "machines", "-o", "wide")
    assert "10.0.0.9" in wide and "192.0.2.9" in wide and "PAUSED" in wide.splitlines()[0]
    cluster = (kinds.GROUP_CLUSTER, kinds.CLUSTER)
    made = {"apiVersion": f"{kinds.GROUP_CLUSTER}/v1beta2", "kind": kinds.CLUSTER}
    kubernetes_store.create({**made, "metadata": {"name": "prod", "namespace": "default"}, "spec": {}})
    counted = {"desiredReplicas": 3, "replicas": 3, "readyReplicas": 2, "availableReplicas": 1, "upToDateReplicas": 0}
    of_workers = {**counted, "desiredReplicas": 5, "availableReplicas": 4, "upToDateReplicas": 2}
    summed = {"controlPlane": counted, "workers": of_workers, "phase": "Provisioned"}
    summed["conditions"] = conditions(Available="False")
    kubernetes_store.modify(cluster, "default", "prod", lambda found: found.update(status=summed))
    header, line = kubectl("get", "clusters").splitlines()
    assert " ".join(header.split()) == (
        "NAME AVAILABLE CP DESIRED CP AVAILABLE CP UP-TO-DATE W DESIRED W AVAILABLE W UP-TO-DATE PHASE AGE"
    )
    assert line.split()[:9] == ["prod", "False", "3", "1", "0", "5", "4", "2", "Provisioned"]


@pytest.mark.parametrize("kind", definitions.KINDS, ids=lambda kind: kind.name)
def test_every_kind_has_its_columns(
    kubectl: Kubectl, kubernetes_store: KubernetesStore, kind: definitions.Kind
) -> None:
    """A path that the API server can't read would take all of them away."""
    group = definitions.group_of(kind.name)
    metadata = {"name": "prod", "namespace": "default", "labels": CLUSTER}
    spec = smallest_spec(kind.name)
    version = f"{group}/{definitions.version_of(kind.name)}"
    kubernetes_store.create({"apiVersion": version, "kind": kind.name, "metadata": metadata, "spec": spec})
    header, line = kubectl("get", f"{crd_names.plural(kind.name)}.{group}", "-o", "wide").splitlines()
    assert header.split() == " ".join(["NAME", *(name.upper() for name, *_rest in kind.columns)]).split()
    if any(name == "Cluster" for name, *_rest in kind.columns):
        assert line.split()[1] == "prod"


@pytest.mark.parametrize("kind", definitions.KINDS, ids=lambda kind: kind.name)
def test_every_kind_is_found_by_each_of_its_names(kubectl: Kubectl, kind: definitions.Kind) -> None:
    for name in (
        crd_names.plural(kind.name),
        kind.name.lower(),
        crd_names.crd_name(definitions.group_of(kind.name), kind.name),
        *kind.short_names,
    ):
        assert "No resources found" in kubectl("get", name)


def test_one_word_shows_everything_of_a_cluster(kubectl: Kubectl, kubernetes_store: KubernetesStore) -> None:
    """The category, and the label that everything carries."""
    kubectl.apply(control_plane(replicas=3))
    kubernetes_store.create(machine("prod-a", labels=CLUSTER))
    kubernetes_store.create(machine("other-a", labels={kinds.LABEL_CLUSTER_NAME: "other"}))
    found = kubectl("get", "cluster-api", "-l", "cluster.x-k8s.io/cluster-name=prod", "-o", "name").split()
    assert sorted(found) == [
        "kubeadmcontrolplane.controlplane.cluster.x-k8s.io/prod",
        "machine.cluster.x-k8s.io/prod-a",
    ]


def test_explain_knows_every_field(kubectl: Kubectl) -> None:
    assert "certificatesExpiryDays" in kubectl("explain", "kcp.spec.rollout.before")


def test_scale(kubectl: Kubectl, kubernetes_store: KubernetesStore) -> None:
    """The subresource: what HorizontalPodAutoscalers and people use; the selector is the machines'."""
    kubectl.apply(control_plane(replicas=3))
    selector = "cluster.x-k8s.io/cluster-name=prod,cluster.x-k8s.io/control-plane="
    kubernetes_store.modify(*PROD, lambda found: found.update(status={"replicas": 3, "selector": selector}))
    assert "scaled" in kubectl("scale", "kcp/prod", "--replicas=5", "--current-replicas=3")
    stored = kubernetes_store.get(*PROD)
    assert stored is not None and stored["spec"]["replicas"] == 5 and stored["metadata"]["generation"] == 2
    path = "/apis/controlplane.cluster.x-k8s.io/v1beta2/namespaces/default/kubeadmcontrolplanes/prod/scale"
    scale = json.loads(kubectl("get", "--raw", path))
    assert (scale["spec"], scale["status"]) == ({"replicas": 5}, {"replicas": 3, "selector": selector})


def test_replicas_are_one_where_nobody_says(kubectl: Kubectl, kubernetes_store: KubernetesStore) -> None:
    kubectl.apply(control_plane())
    stored = kubernetes_store.get(*PROD)
    assert stored is not None and stored["spec"]["replicas"] == 1


REFUSED: t.Mapping[str, tuple[dict[str, t.Any], str]] = {
    "no replicas": ({"replicas": 0}, "spec.replicas"),
    "negative": ({"replicas": -1}, "spec.replicas"),
    "no version": ({"version": "latest"}, "spec.version"),
    "a minor version alone": ({"version": "v1.20"}, "spec.version"),
    "another strategy": ({"rollout": {"strategy": {"type": "OnDelete"}}}, "spec.rollout.strategy.type"),
    "certificates' days": ({"rollout": {"before": {"certificatesExpiryDays": 6}}}, "certificatesExpiryDays"),
    "a negative retry": ({"remediation": {"maxRetry": -1}}, "spec.remediation.maxRetry"),
    "a text for a number": ({"replicas": "three"}, "spec.replicas"),
}


@pytest.mark.parametrize(("spec", "named"), REFUSED.values(), ids=REFUSED.keys())
def test_the_api_server_refuses(kubectl: Kubectl, spec: dict[str, t.Any], named: str) -> None:
    """By the field's path; no webhook runs anywhere."""
    said = kubectl("apply", "--validate=false", "-f", "-", stdin=json.dumps(control_plane(**spec)), code=1)
    assert named in said


def test_scaling_to_nothing_is_refused(kubectl: Kubectl) -> None:
    kubectl.apply(control_plane(replicas=3))
    assert "replicas" in kubectl("scale", "kcp/prod", "--replicas=0", code=1)


def test_a_machine_of_no_cluster_is_refused(kubectl: Kubectl) -> None:
    made = machine()
    del made["spec"]["clusterName"]
    said = kubectl("apply", "--validate=false", "-f", "-", stdin=json.dumps(made), code=1)
    assert "spec.clusterName" in said


def test_edit(kubectl: Kubectl, kubernetes_store: KubernetesStore) -> None:
    kubectl.apply(control_plane(replicas=3))
    kubectl("edit", "kcp/prod", KUBE_EDITOR="sed -i s/v1.20.2/v1.21.0/")
    stored = kubernetes_store.get(*PROD)
    assert stored is not None and stored["spec"]["version"] == "v1.21.0"


def test_pause_by_annotation(kubectl: Kubectl, kubernetes_store: KubernetesStore) -> None:
    kubectl.apply(control_plane(replicas=3))
    kubectl("annotate", "kcp/prod", "cluster.x-k8s.io/paused=")
    stored = kubernetes_store.get(*PROD)
    assert stored is not None and kinds.ANNOTATION_PAUSED in stored["metadata"]["annotations"]
    assert stored["metadata"]["generation"] == 1


def test_delete_waits_for_the_finalizer(kubectl: Kubectl, kubernetes_store: KubernetesStore) -> None:
    """A Machine that somebody deletes stays, marked, until a run has taken its machine out."""
    kubernetes_store.create(machine("prod-a", finalizers=[kinds.FINALIZER_MACHINE]))
    kubectl("delete", "machine", "prod-a", "--wait=false")
    marked = kubernetes_store.get(MACHINE, "default", "prod-a")
    assert marked is not None and marked["metadata"]["deletionTimestamp"]
    kubernetes_store.modify(MACHINE, "default", "prod-a", lambda found: found["metadata"].pop("finalizers"))
    assert "not found" in kubectl("get", "machine", "prod-a", code=1)


def test_a_status_is_nobody_elses(kubectl: Kubectl, kubernetes_store: KubernetesStore) -> None:
    """What is applied changes the spec alone; the status has a resource of its own."""
    kubectl.apply(control_plane(replicas=3))
    kubernetes_store.modify(*PROD, lambda found: found.update(status={"replicas": 3, "futureField": {"a": 1}}))
    kubectl.apply({**control_plane(replicas=5), "status": {"replicas": 99}})
    stored = kubernetes_store.get(*PROD)
    assert stored is not None and stored["spec"]["replicas"] == 5
    assert stored["status"] == {"replicas": 3, "futureField": {"a": 1}}


def test_an_action_holds_what_its_kind_of_action_asks_for(kubectl: Kubectl, kubernetes_store: KubernetesStore) -> None:
    """Each has fields of its own, which no definition lists; those that all have are checked."""
    action = {"apiVersion": "operator.kubeadm.x-k8s.io/v1alpha1", "kind": "Action", "metadata": {"name": "renew"}}
    spec = {"executionMode": "Controlled", "renewCertificates": {"certificates": ["apiserver"]}}
    kubectl.apply({**action, "spec": spec})
    stored = kubernetes_store.get(("operator.kubeadm.x-k8s.io", "Action"), "default", "renew")
    assert stored is not None and stored["spec"] == spec
    wrong = json.dumps({**action, "spec": {"executionMode": "Slowly"}})
    assert "spec.executionMode" in kubectl("apply", "--validate=false", "-f", "-", stdin=wrong, code=1)
