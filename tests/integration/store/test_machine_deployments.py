# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MachineDeployments in an API server: scaled, paused and looked at with kubectl, and what the next pass makes of it."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
import yaml
from api_server import ApiServer
from management import Kubectl, Runs

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import kinds
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.workers import template_hash
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    MACHINE,
    MACHINE_DEPLOYMENT,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import KubernetesStore

Object = dict[str, t.Any]
NAME = "prod-workers"
PROVIDERS = {f"{kind}Template": f"example.{kind}" for kind in ("NspawnMachine", "InventoryMachine")}
PATH = f"/apis/cluster.x-k8s.io/v1beta2/namespaces/default/machinedeployments/{NAME}"


def documents(template: Object) -> list[Object]:
    """Workers on the control plane's machine template; how many is somebody else's to say."""
    config = {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfigTemplate", "name": NAME}
    machine = {
        "clusterName": "prod",
        "version": "1.20.2",
        "bootstrap": {"configRef": config},
        "infrastructureRef": template,
    }
    spec = {"clusterName": "prod", "selector": {}, "template": {"spec": machine}}
    return [
        {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "MachineDeployment",
            "metadata": {"name": NAME},
            "spec": spec,
        },
        {
            "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2",
            "kind": "KubeadmConfigTemplate",
            "metadata": {"name": NAME},
            "spec": {"template": {"spec": {"joinConfiguration": {"nodeRegistration": {}}}}},
        },
    ]


@pytest.fixture
def kubectl(server: ApiServer, kubernetes_store: KubernetesStore) -> Kubectl:
    """The administrator's kubectl; the store is empty."""
    return Kubectl(server)


@pytest.fixture
def runs(server: ApiServer, kubectl: Kubectl, tmp_path: Path) -> Runs:
    """The cluster prod with workers, applied by a person and completed by a run."""
    runs = Runs(server, tmp_path, version="1.20.2")
    cluster = list(yaml.safe_load_all(runs.manifest.read_text()))
    [control_plane] = [each for each in cluster if each["kind"] == "KubeadmControlPlane"]
    template = control_plane["spec"]["machineTemplate"]["spec"]["infrastructureRef"]
    runs.manifest.write_text(yaml.safe_dump_all([*cluster, *documents(template)]))
    kubectl("apply", "-f", str(runs.manifest))
    done = runs("cluster")
    assert not done.get("failed"), done
    return runs


def deployment(store: KubernetesStore) -> Object:
    """The stored MachineDeployment."""
    found = store.get(MACHINE_DEPLOYMENT, "default", NAME)
    assert found is not None
    return found


def decided(runs: Runs, store: KubernetesStore) -> tuple[Object, dict[str, Object]]:
    """The status that a pass writes, and its conditions by type."""
    assert runs("decide", run="r1")["decision"]["action"] == "createInfrastructure"
    status = deployment(store)["status"]
    return status, {each["type"]: each for each in status["conditions"]}


def test_scale(runs: Runs, kubectl: Kubectl, kubernetes_store: KubernetesStore) -> None:
    """By the subresource, which autoscalers read too; neither a run nor what was applied before takes it back."""
    assert deployment(kubernetes_store)["spec"]["replicas"] == 1
    assert "scaled" in kubectl("scale", f"machinedeployment/{NAME}", "--replicas=3", "--current-replicas=1")
    assert runs("cluster")["changes"] == []
    status, conditions = decided(runs, kubernetes_store)
    assert conditions["ScalingUp"]["message"].startswith("Scaling up from 0 to 3 replicas")
    scale = json.loads(kubectl("get", "--raw", f"{PATH}/scale"))
    selector = f"cluster.x-k8s.io/cluster-name=prod,{kinds.LABEL_DEPLOYMENT_NAME}={NAME}"
    assert (scale["spec"], scale["status"]) == ({"replicas": 3}, {"replicas": 0, "selector": selector})
    assert status["deprecated"]["v1beta1"]["unavailableReplicas"] == 3
    kubectl("apply", "-f", str(runs.manifest))
    assert not runs("cluster").get("failed") and deployment(kubernetes_store)["spec"]["replicas"] == 3


def test_pauses(runs: Runs, kubectl: Kubectl, kubernetes_store: KubernetesStore) -> None:
    """A rollout by the field, everything by the annotation; both stay, and can be waited for."""
    kubectl("patch", f"md/{NAME}", "--type=merge", "-p", '{"spec":{"paused":true}}')
    assert runs("cluster")["changes"] == []
    assert decided(runs, kubernetes_store)[1]["Paused"]["status"] == "False"
    kubectl("annotate", f"md/{NAME}", "cluster.x-k8s.io/paused=")
    assert runs("cluster")["changes"] == []
    found = decided(runs, kubernetes_store)[1]["Paused"]
    assert found["status"] == "True" and "MachineDeployment has the annotation" in found["message"]
    kubectl("wait", f"md/{NAME}", "--for=condition=Paused", "--timeout=10s")
    assert deployment(kubernetes_store)["spec"]["paused"] is True


def worker(runs: Runs, store: KubernetesStore) -> str:
    """Have the objects of a worker w1 made; return its MachineSet's name."""
    template = deployment(store)["spec"]["template"]
    owner = template_hash.set_name(NAME, template_hash.template_hash(NAME, template))
    entry = {"deployment": NAME, "machineSet": owner, "machine": "", "name": "w1", "failureDomain": None}
    [made] = runs("worker_machines", workers=[entry], providers=PROVIDERS)["machines"]
    assert made["role"] == "example.NspawnMachine"
    return owner


def test_a_run_that_has_no_step_left_tells_of_workers_that_failed(
    runs: Runs, kubernetes_store: KubernetesStore
) -> None:
    """They would be told where it ends otherwise; the next run goes on."""
    worker(runs, kubernetes_store)
    failed = [{"name": "w1", "message": "no quota", "removal": False}]
    said = runs("decide", run="r1", step_limit=0, failed_workers=failed)["msg"]
    assert "the next would be: " in said and "In this run machine w1 could not be made: no quota." in said
    assert "run it again: it continues there" in said


@pytest.mark.parametrize("lost_set", [False, True])
def test_control_plane_and_workers_change_to_another_kind_of_machine_in_one_edit(
    runs: Runs, kubectl: Kubectl, kubernetes_store: KubernetesStore, lost_set: bool
) -> None:
    """What there is of the old kind still has its provider, which takes it away, though no machine of the control plane is of that kind."""
    owner = worker(runs, kubernetes_store)
    status = {"initialization": {"infrastructureProvisioned": True}}
    kubernetes_store.modify(MACHINE, "default", "w1", lambda stored: stored.update(status=status))
    edited = list(
        yaml.safe_load_all(runs.manifest.read_text().replace("NspawnMachineTemplate", "InventoryMachineTemplate"))
    )
    [machine] = [each for each in edited if each["kind"] == "InventoryMachineTemplate"]
    machine["spec"]["template"]["spec"]["group"] = "racks"
    kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(edited))
    if lost_set:
        kubectl("patch", f"ms/{owner}", "--type=merge", "-p", '{"metadata":{"finalizers":[]}}')
        kubectl("delete", f"ms/{owner}", "--wait=false")
    for _time in range(2):
        done = runs("cluster")
        assert not done.get("failed"), done
    done = runs("worker_removal", workers=["w1"], providers=PROVIDERS)
    assert [each["role"] for each in done["machines"]] == ["example.NspawnMachine"], done


def test_at_a_glance(runs: Runs, kubectl: Kubectl, kubernetes_store: KubernetesStore) -> None:
    """In Cluster API's columns; a MachineSet too, by its short name."""
    decided(runs, kubernetes_store)
    header, line = kubectl("get", "md").splitlines()
    titles = "NAME CLUSTER AVAILABLE DESIRED CURRENT READY AVAILABLE UP-TO-DATE PHASE AGE VERSION"
    assert header.split() == titles.split()
    assert line.split()[:4] == [NAME, "prod", "False", "1"] and line.split()[-1] == "v1.20.2"
    assert "No resources found" in kubectl("get", "ms")


def test_what_a_schema_refuses(kubectl: Kubectl, runs: Runs) -> None:
    """By the field; limits are in the schema from Kubernetes 1.30 on, and a run checks them in any case."""
    for patch, path in (
        ({"replicas": -1}, "spec.replicas"),
        ({"replicas": "three"}, "spec.replicas"),
        ({"rollout": {"strategy": {"type": 1}}}, "spec.rollout.strategy.type"),
    ):
        said = kubectl("patch", f"md/{NAME}", "--type=merge", "-p", json.dumps({"spec": patch}), code=1)
        assert path in said
