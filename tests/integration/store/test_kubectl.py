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

from ansible_collections.kubeadm.control_plane.plugins.module_utils.crds import definitions, names
from ansible_collections.kubeadm.control_plane.plugins.module_utils.objects import kinds
from ansible_collections.kubeadm.control_plane.plugins.module_utils.store.kubernetes import KubernetesStore

CONTROL_PLANE = (kinds.GROUP_CONTROL_PLANE, kinds.KUBEADM_CONTROL_PLANE)
PROD = (CONTROL_PLANE, "default", "prod")


@pytest.fixture
def kubectl(server: ApiServer, kubernetes_store: KubernetesStore) -> Kubectl:
    """The administrator's kubectl; the store is empty."""
    return Kubectl(server)


def test_a_control_plane_at_a_glance(kubectl: Kubectl, kubernetes_store: KubernetesStore) -> None:
    kubectl.apply(control_plane(replicas=3))
    conditions = [
        {"type": "Available", "status": "True", "reason": "Available", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        {
            "type": "Initialized",
            "status": "True",
            "reason": "Initialized",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        },
        {"type": "Paused", "status": "False", "reason": "NotPaused", "lastTransitionTime": "2026-01-01T00:00:00Z"},
    ]
    status = {"replicas": 2, "readyReplicas": 2, "upToDateReplicas": 1, "conditions": conditions}
    kubernetes_store.modify(*PROD, lambda found: found.update(status=status))
    header, line = kubectl("get", "kcp").splitlines()
    wanted = [
        "NAME",
        "CLUSTER",
        "AVAILABLE",
        "DESIRED",
        "CURRENT",
        "READY",
        "UP-TO-DATE",
        "PAUSED",
        "INITIALIZED",
        "AGE",
        "VERSION",
    ]
    assert header.split() == wanted
    shown = dict(zip(wanted, line.split()))
    assert shown.pop("AGE")
    assert shown == {
        "NAME": "prod",
        "CLUSTER": "prod",
        "AVAILABLE": "True",
        "DESIRED": "3",
        "CURRENT": "2",
        "READY": "2",
        "UP-TO-DATE": "1",
        "PAUSED": "False",
        "INITIALIZED": "True",
        "VERSION": "v1.20.2",
    }
    assert kubectl("wait", "--for=condition=Available", "kcp/prod", "--timeout=20s").strip().endswith("condition met")


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
    header, line = kubectl("get", f"{names.plural(kind.name)}.{group}", "-o", "wide").splitlines()
    assert header.split() == " ".join(["NAME", *(name.upper() for name, *_rest in kind.columns)]).split()
    if any(name == "Cluster" for name, *_rest in kind.columns):
        assert line.split()[1] == "prod"


@pytest.mark.parametrize("kind", definitions.KINDS, ids=lambda kind: kind.name)
def test_every_kind_is_found_by_each_of_its_names(kubectl: Kubectl, kind: definitions.Kind) -> None:
    for name in (
        names.plural(kind.name),
        kind.name.lower(),
        names.crd_name(definitions.group_of(kind.name), kind.name),
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
