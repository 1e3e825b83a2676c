# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The control plane contract (docs/contract.md) as an API server shows it: what it says MUST, row by row."""

from __future__ import annotations

import base64
import json
import typing as t
from pathlib import Path

import pytest
import yaml
from api_server import ApiServer
from management import Kubectl, Runs, control_plane, smallest_spec

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.crds import crd_names, definitions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import kinds
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CLUSTER,
    CONTROL_PLANE,
    MACHINE,
    SECRET,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import (
    KubernetesStore,
    kind_path,
)

Object = dict[str, t.Any]
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
EVERY = [pytest.param(kind, id=kind.name) for kind in definitions.KINDS]
OF_CLUSTER_API = [pytest.param(kind, id=kind.name) for kind in definitions.KINDS if kind.provider != "operator-kubeadm"]
SEEDS_KINDS = ["KubeadmControlPlane", "KubeadmControlPlaneTemplate"]


@pytest.fixture(scope="module")
def served(server: ApiServer) -> dict[str, Object]:
    """The definitions as the API server has them, by kind."""
    with server.client() as client:
        found = client.get(DEFINITIONS) or {}
    return {each["spec"]["names"]["kind"]: each for each in found["items"]}


@pytest.fixture
def runs(server: ApiServer, kubernetes_store: KubernetesStore, tmp_path: Path) -> Runs:
    """The cluster prod, applied from its manifest."""
    runs = Runs(server, tmp_path, version="1.20.2", failure_domains=("a", "b"))
    assert not runs("cluster", manifests=[str(runs.manifest)]).get("failed")
    return runs


def provided(runs: Runs, domains: str = "ab", provisioned: bool = True, **spec: t.Any) -> None:
    """What an infrastructure provider reports when it has made the cluster's infrastructure."""
    known = [{"name": each, "controlPlane": True} for each in domains]
    status = {"initialization": {"provisioned": provisioned}, "failureDomains": known}
    done = runs("infrastructure_status", kind="NspawnCluster", name="prod", spec=spec, status=status)
    assert not done.get("failed"), done


def there(store: KubernetesStore, kind_ref: tuple[str, str], name: str) -> Object:
    found = store.get(kind_ref, "default", name)
    assert found is not None
    return found


@pytest.mark.parametrize("kind", EVERY)
def test_every_kind_is_namespaced(served: dict[str, Object], kind: definitions.Kind) -> None:
    assert served[kind.name]["spec"]["scope"] == "Namespaced"


@pytest.mark.parametrize("kind", EVERY)
def test_type_and_object_metadata(kubernetes_store: KubernetesStore, kind: definitions.Kind) -> None:
    """And a list of its own, named after it."""
    group, version = definitions.group_of(kind.name), definitions.version_of(kind.name)
    made = {"apiVersion": f"{group}/{version}", "kind": kind.name, "metadata": {"name": "one", "namespace": "default"}}
    stored = kubernetes_store.create({**made, "spec": smallest_spec(kind.name)})
    assert (stored["apiVersion"], stored["kind"]) == (made["apiVersion"], kind.name)
    assert {"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp"} <= set(stored["metadata"])
    listed = kubernetes_store.api.send("get", kind_path((group, kind.name), "default")).document
    assert (listed["apiVersion"], listed["kind"], len(listed["items"])) == (made["apiVersion"], f"{kind.name}List", 1)


@pytest.mark.parametrize("kind", OF_CLUSTER_API)
def test_the_contracts_label_names_a_served_version(served: dict[str, Object], kind: definitions.Kind) -> None:
    definition = served[kind.name]
    assert definition["spec"]["group"].endswith("cluster.x-k8s.io")
    versions = {each["name"] for each in definition["spec"]["versions"] if each["served"] and each["storage"]}
    labels = definition["metadata"]["labels"]
    assert set(labels["cluster.x-k8s.io/v1beta2"].split("_")) <= versions


@pytest.mark.parametrize("kind", EVERY)
def test_the_definitions_name_is_computed(served: dict[str, Object], kind: definitions.Kind) -> None:
    """As CalculateCRDName does: Cluster API looks labels up by it."""
    name = served[kind.name]["metadata"]["name"]
    assert name == f"{kind.name.lower()}s.{served[kind.name]['spec']['group']}"
    assert served[kind.name]["spec"]["names"]["categories"] == ["cluster-api"]


def test_names_that_no_provider_of_ours_has() -> None:
    """A user's own provider may have them."""
    assert crd_names.crd_name("x.io", "Proxy") == "proxies.x.io"
    assert crd_names.crd_name("x.io", "Gateway") == "gateways.x.io"
    assert crd_names.crd_name("x.io", "AcmeClass") == "acmeclasses.x.io"
    assert crd_names.crd_name("x.io", "Switch") == "switches.x.io"


@pytest.mark.parametrize("kind", SEEDS_KINDS)
def test_control_plane_and_template(served: dict[str, Object], kind: str) -> None:
    definition = served[kind]
    assert definition["spec"]["names"]["listKind"] == f"{kind}List"
    (version,) = definition["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    if kind.endswith("Template"):
        assert "subresources" not in version
        template = spec["template"]["properties"]
        assert set(template) == {"metadata", "spec"}
        spec = template["spec"]["properties"]
    else:
        assert version["subresources"] == {
            "status": {},
            "scale": {
                "labelSelectorPath": ".status.selector",
                "specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.replicas",
            },
        }
    assert {"machineTemplate", "kubeadmConfigSpec"} <= set(spec)
    machine = spec["machineTemplate"]["properties"]
    assert "deletion" in machine["spec"]["properties"]
    # What each control plane has for itself is no part of what those of a ClusterClass share.
    own = {"replicas", "version"} & set(spec) | {"infrastructureRef", "readinessGates"} & set(
        machine["spec"]["properties"]
    )
    assert len(own) == (0 if kind.endswith("Template") else 4)
    assert set(machine["metadata"]["properties"]) == {"labels", "annotations"}


def test_the_status_has_the_contracts_fields(served: dict[str, Object]) -> None:
    """Of both its versions, with their types."""
    (version,) = served["KubeadmControlPlane"]["spec"]["versions"]
    status = version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
    wanted = {
        "string": ("selector", "version", "failureReason", "failureMessage"),
        "integer": (
            "replicas",
            "readyReplicas",
            "availableReplicas",
            "upToDateReplicas",
            "updatedReplicas",
            "unavailableReplicas",
        ),
        "boolean": ("initialized", "ready", "externalManagedControlPlane"),
        "array": ("conditions",),
    }
    for kind, fields in wanted.items():
        assert {field: status[field]["type"] for field in fields} == dict.fromkeys(fields, kind)
    assert status["initialization"]["properties"]["controlPlaneInitialized"]["type"] == "boolean"


def test_it_waits_for_the_endpoint(runs: Runs, kubernetes_store: KubernetesStore) -> None:
    """Nothing is begun on machines before the Cluster has one."""
    decided = runs("decide", run="r1")
    assert decided["decision"]["action"] == "createInfrastructure"
    provided(runs)
    decided = runs("decide", run="r1")
    assert decided["decision"]["reasons"][0]["reason"] == "WaitingForEndpoint"
    assert kubernetes_store.list(MACHINE) == []
    made = runs("cluster_certificates")
    assert "waits for the cluster's controlPlaneEndpoint" in made["kubeconfig"]


def test_endpoint_and_failure_domains_of_the_provider_surface_on_the_cluster(
    runs: Runs, kubernetes_store: KubernetesStore
) -> None:
    provided(runs, controlPlaneEndpoint={"host": "192.0.2.1", "port": 6443})
    cluster = there(kubernetes_store, CLUSTER, "prod")
    assert cluster["spec"]["controlPlaneEndpoint"] == {"host": "192.0.2.1", "port": 6443}
    assert cluster["status"]["failureDomains"] == [{"name": each, "controlPlane": True} for each in "ab"]
    assert cluster["status"]["initialization"] == {"infrastructureProvisioned": True}
    provided(runs, "", provisioned=False, controlPlaneEndpoint={"host": "192.0.2.9", "port": 6443})
    cluster = there(kubernetes_store, CLUSTER, "prod")
    assert not cluster["status"].get("failureDomains"), "no machine is placed in a domain that is gone"
    assert cluster["status"]["initialization"] == {"infrastructureProvisioned": True}, "once so, always so"
    assert cluster["spec"]["controlPlaneEndpoint"]["host"] == "192.0.2.1", "a cluster's endpoint stays"


def test_the_version_gets_its_v(runs: Runs, kubernetes_store: KubernetesStore) -> None:
    assert there(kubernetes_store, CONTROL_PLANE, "prod-control-plane")["spec"]["version"] == "v1.20.2"


def test_secrets_are_named_typed_and_labelled(runs: Runs, kubernetes_store: KubernetesStore) -> None:
    """The kubeconfig's and the certificates'; Cluster API's managers see them by the label."""
    provided(runs, controlPlaneEndpoint={"host": "192.0.2.1", "port": 6443})
    assert runs("cluster_certificates")["changed"] is True
    owner = there(kubernetes_store, CONTROL_PLANE, "prod-control-plane")["metadata"]["uid"]
    for purpose in ("ca", "etcd", "proxy", "sa", "kubeconfig"):
        secret = there(kubernetes_store, SECRET, f"prod-{purpose}")
        assert secret["type"] == "cluster.x-k8s.io/secret"
        assert secret["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"] == "prod"
        assert [each["uid"] for each in secret["metadata"]["ownerReferences"]] == [owner]
    text = base64.b64decode(there(kubernetes_store, SECRET, "prod-kubeconfig")["data"]["value"]).decode()
    assert yaml.safe_load(text)["clusters"][0]["cluster"]["server"] == "https://192.0.2.1:6443"
    assert runs("cluster_certificates")["changed"] is False


def test_a_users_own_kubeconfig_is_never_touched(runs: Runs, kubernetes_store: KubernetesStore) -> None:
    provided(runs, controlPlaneEndpoint={"host": "192.0.2.1", "port": 6443})
    metadata = {"name": "prod-kubeconfig", "namespace": "default", "labels": {kinds.LABEL_CLUSTER_NAME: "prod"}}
    value = base64.b64encode(b"apiVersion: v1\nkind: Config\n").decode()
    made = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": {"value": value}}
    stored = kubernetes_store.create(made)
    runs("cluster_certificates")
    assert there(kubernetes_store, SECRET, "prod-kubeconfig") == stored


def test_conditions_and_counters_are_written(server: ApiServer, runs: Runs, kubernetes_store: KubernetesStore) -> None:
    """Of both versions of the contract; nothing is written where nothing changed."""
    runs("decide", run="r1")
    stored = there(kubernetes_store, CONTROL_PLANE, "prod-control-plane")
    status = stored["status"]
    conditions = {each["type"]: each for each in status["conditions"]}
    assert {"Available", "CertificatesAvailable", "ScalingUp", "Paused"} <= set(conditions)
    assert all(each["lastTransitionTime"] and each["reason"] for each in conditions.values())
    older = {each["type"]: each["status"] for each in status["deprecated"]["v1beta1"]["conditions"]}
    assert (older["Ready"], older["Available"]) == ("False", "False")
    assert (status["replicas"], status["unavailableReplicas"], status["initialized"], status["ready"]) == (
        0,
        3,
        False,
        False,
    )
    assert status["initialization"] == {"controlPlaneInitialized": False}
    assert status["selector"] == "cluster.x-k8s.io/cluster-name=prod,cluster.x-k8s.io/control-plane="
    assert not status.get("externalManagedControlPlane"), "every machine of ours has a Node"
    assert "condition met" in Kubectl(server)(
        "wait", "--for=condition=Available=false", "kcp/prod-control-plane", "--timeout=5s"
    )
    version = there(kubernetes_store, CLUSTER, "prod")["metadata"]["resourceVersion"]
    runs("decide", run="r1")
    assert (
        there(kubernetes_store, CONTROL_PLANE, "prod-control-plane")["metadata"]["resourceVersion"]
        == stored["metadata"]["resourceVersion"]
    )
    assert there(kubernetes_store, CLUSTER, "prod")["metadata"]["resourceVersion"] == version


def test_a_terminal_failure_surfaces_on_both(runs: Runs, kubernetes_store: KubernetesStore) -> None:
    """And goes when it was mended."""
    provided(runs, controlPlaneEndpoint={"host": "192.0.2.1", "port": 6443})
    name = "prod-control-plane"
    kubernetes_store.modify(CONTROL_PLANE, "default", name, lambda found: found["spec"].update(replicas=2))
    assert runs("decide", run="r1")["failed"]
    for kind_ref, each in ((CONTROL_PLANE, name), (CLUSTER, "prod")):
        status = there(kubernetes_store, kind_ref, each)["status"]
        assert status["failureReason"] == status["deprecated"]["v1beta1"]["failureReason"] == "InvalidConfiguration"
        assert "spec.replicas is 2" in status["failureMessage"]
    kubernetes_store.modify(CONTROL_PLANE, "default", name, lambda found: found["spec"].update(replicas=3))
    runs("decide", run="r1")
    for kind_ref, each in ((CONTROL_PLANE, name), (CLUSTER, "prod")):
        status = there(kubernetes_store, kind_ref, each)["status"]
        assert "failureReason" not in status and "failureReason" not in status["deprecated"]["v1beta1"]


def machines_of(runs: Runs, store: KubernetesStore) -> Object:
    """The first machine's Machine, just made."""
    provided(runs, controlPlaneEndpoint={"host": "192.0.2.1", "port": 6443})
    made = runs("machine", kind="init", failure_domain="b")
    assert not made.get("failed"), made
    (machine,) = store.list(MACHINE, "default")
    return machine


def test_a_machine_is_its_templates_and_its_control_planes(runs: Runs, kubernetes_store: KubernetesStore) -> None:
    machine = machines_of(runs, kubernetes_store)
    assert machine["spec"]["version"] == "v1.20.2" and machine["spec"]["failureDomain"] == "b"
    labels = machine["metadata"]["labels"]
    assert labels[kinds.LABEL_CLUSTER_NAME] == "prod" and labels[kinds.LABEL_CONTROL_PLANE] == ""
    (owner,) = machine["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["controller"]) == ("KubeadmControlPlane", True)
    selector = "cluster.x-k8s.io/cluster-name=prod,cluster.x-k8s.io/control-plane="
    found = kubernetes_store.api.send("get", kind_path(MACHINE, "default"), query={"labelSelector": selector})
    assert [each["metadata"]["name"] for each in found.document["items"]] == [machine["metadata"]["name"]]


def test_a_machine_follows_its_infrastructure(runs: Runs, kubernetes_store: KubernetesStore) -> None:
    """Its provider ID, its addresses and that it is provisioned, as Cluster API's core takes them over."""
    name = machines_of(runs, kubernetes_store)["metadata"]["name"]
    addresses = [{"type": "InternalIP", "address": "192.0.2.7"}]
    status = {"initialization": {"provisioned": True}, "addresses": addresses}
    spec = {"providerID": f"nspawn:///{name}"}
    done = runs("infrastructure_status", kind="NspawnMachine", name=name, spec=spec, status=status)
    assert not done.get("failed"), done
    machine = there(kubernetes_store, MACHINE, name)
    assert machine["spec"]["providerID"] == spec["providerID"] and machine["status"]["addresses"] == addresses
    assert machine["status"]["initialization"]["infrastructureProvisioned"] is True


def test_metadata_reaches_machines_without_a_rollout(runs: Runs, kubernetes_store: KubernetesStore) -> None:
    """Labels, annotations, timeouts and gates; what leaves the template leaves the Machine, what others set stays."""
    name = machines_of(runs, kubernetes_store)["metadata"]["name"]
    kubernetes_store.modify(MACHINE, "default", name, lambda found: found["metadata"]["labels"].update(theirs="1"))
    documents = list(yaml.safe_load_all(runs.manifest.read_text()))
    (wanted,) = [each for each in documents if each["kind"] == "KubeadmControlPlane"]
    template = wanted["spec"]["machineTemplate"]
    template["metadata"] = {"labels": {"team": "a"}, "annotations": {"example.org/a": "1"}}
    template["spec"].update(deletion={"nodeDrainTimeoutSeconds": 60}, readinessGates=[{"conditionType": "Agent"}])
    runs.manifest.write_text(yaml.safe_dump_all(documents))
    assert runs("cluster", manifests=[str(runs.manifest)])["changed"] is True
    machine = there(kubernetes_store, MACHINE, name)
    assert machine["metadata"]["labels"]["team"] == "a" and machine["metadata"]["annotations"]["example.org/a"] == "1"
    assert machine["spec"]["deletion"] == {"nodeDrainTimeoutSeconds": 60}
    assert machine["spec"]["readinessGates"] == [{"conditionType": "Agent"}]
    del template["metadata"]
    runs.manifest.write_text(yaml.safe_dump_all(documents))
    runs("cluster", manifests=[str(runs.manifest)])
    labels = there(kubernetes_store, MACHINE, name)["metadata"]["labels"]
    assert "team" not in labels and labels["theirs"] == "1"
    assert len(kubernetes_store.list(MACHINE, "default")) == 1


def test_a_cluster_that_kubectl_paused_stays_paused(
    server: ApiServer, runs: Runs, kubernetes_store: KubernetesStore
) -> None:
    """Its manifest says nothing of it: the next run brings that, and does nothing else, until whoever paused it ends the pause."""
    kubectl = Kubectl(server)
    for paused, reason in (("true", "Paused"), ("false", "InfrastructureNotReady")):
        kubectl("patch", "cluster", "prod", "--type=merge", "-p", f'{{"spec":{{"paused":{paused}}}}}')
        assert runs("cluster", manifests=[str(runs.manifest)])["changed"] is False
        decided = runs("decide", run="r1")
        assert decided["decision"]["reasons"][0]["reason"] == reason
    found = {one["type"]: one for one in there(kubernetes_store, CLUSTER, "prod")["status"]["conditions"]}
    assert found["Paused"]["status"] == "False"


@pytest.mark.parametrize(
    "switch",
    ["the Cluster's spec.paused", "the control plane's annotation", "the Cluster's annotation", "the namespace's"],
)
def test_paused(runs: Runs, kubernetes_store: KubernetesStore, switch: str) -> None:
    """Nothing is done, and the condition says by which switch."""
    name = "prod-control-plane"
    if switch == "the Cluster's spec.paused":
        kubernetes_store.modify(CLUSTER, "default", "prod", lambda found: found["spec"].update(paused=True))
    elif switch == "the namespace's":
        pause = {"name": "kubeadm-control-plane-pause", "namespace": "default"}
        kubernetes_store.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": pause})
    else:
        where = (CLUSTER, "default", "prod") if switch.startswith("the Cluster") else (CONTROL_PLANE, "default", name)
        note = {kinds.ANNOTATION_PAUSED: ""}
        kubernetes_store.modify(*where, lambda found: found["metadata"].setdefault("annotations", {}).update(note))
    decided = runs("decide", run="r1")
    assert decided["act"] is False and decided["decision"]["reasons"][0]["reason"] == "Paused"
    for kind_ref, each in ((CONTROL_PLANE, name), (CLUSTER, "prod")):
        conditions = {one["type"]: one for one in there(kubernetes_store, kind_ref, each)["status"]["conditions"]}
        assert conditions["Paused"]["status"] == "True"
    assert kubernetes_store.list(MACHINE) == []


def test_a_cluster_that_is_its_own_store_does_not_delete_itself(
    server: ApiServer, runs: Runs, kubernetes_store: KubernetesStore
) -> None:
    """Nothing is marked: what is marked stays so, and the objects would go before their machines have."""
    provided(runs, controlPlaneEndpoint={"host": "127.0.0.1", "port": server.port})
    for check in (True, False):
        done = runs("cluster", check=check, state="absent")
        assert done["failed"] and "in its own API" in done["msg"] and "kubeadm.control_plane.move" in done["msg"]
    assert "deletionTimestamp" not in there(kubernetes_store, CLUSTER, "prod")["metadata"]


def test_clusterctls_labels(served: dict[str, Object]) -> None:
    """By which it finds the kinds that it moves and describes, and their provider."""
    for definition in served.values():
        labels = definition["metadata"]["labels"]
        assert "clusterctl.cluster.x-k8s.io" in labels and labels["cluster.x-k8s.io/provider"]
    assert served["KubeadmControlPlane"]["metadata"]["labels"]["cluster.x-k8s.io/provider"] == "control-plane-kubeadm"


def test_an_object_of_the_seeds_form_is_refused_by_its_field(
    server: ApiServer, kubernetes_store: KubernetesStore
) -> None:
    """The API serves v1beta2 alone: what older manifests say elsewhere would be lost without a word, were it not kept and refused."""
    made = control_plane()
    made["spec"]["machineTemplate"]["infrastructureRef"] = made["spec"]["machineTemplate"].pop("spec")[
        "infrastructureRef"
    ]
    said = Kubectl(server)("apply", "-f", "-", stdin=json.dumps(made), code=1)
    assert "unknown field" in said and "infrastructureRef" in said
