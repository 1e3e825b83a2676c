# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MachineDeployments in a manifest: which are read, in every version, with their defaults and rules."""

from __future__ import annotations

import copy
from typing import Any, Callable

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import Violation
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.documents import names
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.cluster_manifest import (
    ClusterManifest,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.workers import counts, template_hash

Object = dict[str, Any]
Documents = list[Object]
Read = Callable[..., ClusterManifest]
Refused = Callable[..., list[Violation]]
INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io"
BOOTSTRAP = "bootstrap.cluster.x-k8s.io"
REFERENCE = {"apiGroup": INFRASTRUCTURE, "kind": "AcmeMachineTemplate", "name": "a"}
DEPLOYMENT_LABEL, CLUSTER_LABEL = "cluster.x-k8s.io/deployment-name", "cluster.x-k8s.io/cluster-name"


def config_template(version: str = "v1beta2", **spec: Any) -> Object:
    return {
        "apiVersion": f"{BOOTSTRAP}/{version}",
        "kind": "KubeadmConfigTemplate",
        "metadata": {"name": "workers", "namespace": "default"},
        "spec": {"template": {"spec": spec}},
    }


def machine_template(kind: str = "NspawnMachineTemplate") -> Object:
    return {
        "apiVersion": f"{INFRASTRUCTURE}/v1beta1",
        "kind": kind,
        "metadata": {"name": "workers", "namespace": "default"},
        "spec": {"template": {"spec": {}}},
    }


def deployment(version: str = "v1.20.2", kind: str = "NspawnMachineTemplate", **spec: Any) -> Object:
    """A MachineDeployment of v1beta2 for the example's cluster."""
    machine = {
        "clusterName": "my-cluster",
        "version": version,
        "bootstrap": {"configRef": {"apiGroup": BOOTSTRAP, "kind": "KubeadmConfigTemplate", "name": "workers"}},
        "infrastructureRef": {"apiGroup": INFRASTRUCTURE, "kind": kind, "name": "workers"},
    }
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineDeployment",
        "metadata": {"name": "workers", "namespace": "default"},
        "spec": {"clusterName": "my-cluster", "template": {"spec": machine}, **spec},
    }


def older(version: str, **spec: Any) -> Object:
    """The same in an older version."""
    made = copy.deepcopy(deployment())
    made["apiVersion"] = f"cluster.x-k8s.io/{version}"
    machine = made["spec"]["template"]["spec"]
    for holder, key in ((machine["bootstrap"], "configRef"), (machine, "infrastructureRef")):
        holder[key]["apiVersion"] = f"{holder[key].pop('apiGroup')}/{version}"
    made["spec"].update(spec)
    return made


def changed(obj: Object, path: str, value: Any) -> Object:
    """The object with one field set, or taken away (None)."""
    result = copy.deepcopy(obj)
    *way, last = path.split(".")
    holder = result
    for key in way:
        holder = holder.setdefault(key, {})
    if value is None:
        del holder[last]
    else:
        holder[last] = value
    return result


PARTS = (
    config_template(joinConfiguration={"nodeRegistration": {"ignorePreflightErrors": ["Swap"]}}),
    machine_template(),
)


def test_a_deployment_comes_with_what_it_names(read: Read, documents: Documents) -> None:
    """Nothing of it is a stranger any more; the defaults are Cluster API's."""
    found = read([*documents, deployment(version="1.20.2"), *PARTS])
    [made] = found.machine_deployments
    assert [each["kind"] for each in found.worker_templates] == ["KubeadmConfigTemplate", "NspawnMachineTemplate"]
    assert found.unmanaged == () and found.warnings == ()
    labels = {DEPLOYMENT_LABEL: "workers", CLUSTER_LABEL: "my-cluster"}
    assert made["metadata"]["labels"] == {CLUSTER_LABEL: "my-cluster"}
    spec = made["spec"]
    assert (spec["replicas"], spec["selector"], spec["template"]["metadata"]["labels"]) == (
        1,
        {"matchLabels": labels},
        labels,
    )
    assert spec["template"]["spec"]["version"] == "v1.20.2"
    assert spec["rollout"] == {
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    }
    assert found.workers_left_out == {"workers": ("spec.replicas", "spec.rollout.after")}


def test_the_control_planes_own_template_is_read_once(read: Read, documents: Documents) -> None:
    name = documents[1]["spec"]["machineTemplate"]["spec"]["infrastructureRef"]["name"]
    shared = changed(deployment(), "spec.template.spec.infrastructureRef.name", name)
    found = read([*documents, shared, PARTS[0]])
    assert [each["kind"] for each in found.worker_templates] == ["KubeadmConfigTemplate"]


@pytest.mark.parametrize("version", ["v1alpha4", "v1beta1"])
def test_older_versions_mean_the_same(read: Read, documents: Documents, version: str) -> None:
    new = deployment(
        replicas=3,
        rollout={"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}}},
        deletion={"order": "Oldest"},
    )
    new["spec"]["template"]["spec"].update(minReadySeconds=30, deletion={"nodeDrainTimeoutSeconds": 90})
    rolling = {"maxSurge": "25%", "maxUnavailable": 1, "deletePolicy": "Oldest"}
    old = older(version, replicas=3, minReadySeconds=30, strategy={"type": "RollingUpdate", "rollingUpdate": rolling})
    old["spec"].update(revisionHistoryLimit=5, progressDeadlineSeconds=600)
    old["spec"]["template"]["spec"]["nodeDrainTimeout"] = "1m30s"
    classic = config_template(version, joinConfiguration={"nodeRegistration": {"ignorePreflightErrors": ["Swap"]}})
    before = read([*documents, old, classic, machine_template()])
    after = read([*documents, new, *PARTS])
    assert before.machine_deployments == after.machine_deployments
    assert before.worker_templates == after.worker_templates
    assert [text.partition(" is not kept")[0].rpartition(" ")[2] for text in before.warnings] == [
        "revisionHistoryLimit",
        "progressDeadlineSeconds",
    ]


@pytest.mark.parametrize(
    "other",
    [
        deployment(kind="AWSMachineTemplate"),
        changed(deployment(), "spec.clusterName", "elsewhere"),
        changed(deployment(), "spec.template.spec.bootstrap", {"dataSecretName": "data"}),
        changed(deployment(), "spec.template.spec.bootstrap.configRef.kind", "RKE2ConfigTemplate"),
        changed(deployment(), "metadata.namespace", "b"),
        {**deployment(), "apiVersion": "machine.openshift.io/v1beta1"},
    ],
)
def test_deployments_of_others_are_left_alone(read: Read, documents: Documents, other: Object) -> None:
    """With all that they name, whatever is in it."""
    broken = config_template(joinConfiguration={"controlPlane": {}})
    found = read([*documents, other, broken, machine_template()])
    assert found.machine_deployments == found.worker_templates == ()
    assert sorted(each.kind for each in found.unmanaged) == [
        "KubeadmConfigTemplate",
        "MachineDeployment",
        "NspawnMachineTemplate",
    ]


def test_a_providers_deployment_is_managed_with_it(read: Read, refused: Refused, documents: Documents) -> None:
    """The provider is the control plane's; another one is refused, not left alone."""
    providers = {"NspawnMachineTemplate": "a.b.c", "NspawnCluster": "a.b.c", "AcmeMachineTemplate": "a.b.acme"}
    workers = [deployment(kind="AcmeMachineTemplate"), PARTS[0], machine_template("AcmeMachineTemplate")]
    [fault] = refused([*documents, *workers], providers=providers)
    assert (fault.object, fault.path) == (
        "MachineDeployment default/workers",
        "spec.template.spec.infrastructureRef.kind",
    )
    own = changed(documents[1], "spec.machineTemplate.spec.infrastructureRef", REFERENCE)
    control_plane = {**machine_template("AcmeMachineTemplate"), "metadata": {"name": "a", "namespace": "default"}}
    found = read([documents[0], own, *documents[2:], control_plane, *workers], providers=providers)
    assert len(found.machine_deployments) == 1


@pytest.mark.parametrize(
    ("made", "path"),
    [
        (changed(deployment(), "spec.clusterName", "my-clustr"), "spec.clusterName"),
        ({**deployment(), "kind": "MachineDeploymnet"}, "kind"),
        (deployment(version="v1.21.0"), "spec.template.spec.version"),
        (deployment(version="v1.20.3"), "spec.template.spec.version"),
        (deployment(version="latest"), "spec.template.spec.version"),
        (changed(deployment(), "spec.template.spec.version", None), "spec.template.spec.version"),
        (changed(deployment(), "spec.template.spec.clusterName", "b"), "spec.template.spec.clusterName"),
        (changed(deployment(), "spec.template.spec.providerID", "a://b"), "spec.template.spec.providerID"),
        (deployment(replicas=-1), "spec.replicas"),
        (deployment(selector={"matchLabels": {"a": "b"}}), "spec.template.metadata.labels"),
        (
            changed(deployment(), "spec.template.metadata.labels", {"node-role.kubernetes.io/control-plane": ""}),
            'spec.template.metadata.labels["node-role.kubernetes.io/control-plane"]',
        ),
        (deployment(remediation={"maxInFlight": "many"}), "spec.remediation.maxInFlight"),
        (deployment(deletion={"order": "Youngest"}), "spec.deletion.order"),
        (deployment(machineNaming={"template": "{{ .machineSet.name }}"}), "spec.machineNaming.template"),
        (
            deployment(machineNaming={"template": "{{ .kubeadmControlPlane.name }}-{{ .random }}"}),
            "spec.machineNaming.template",
        ),
        (deployment(rollout={"strategy": {"type": "Recreate"}}), "spec.rollout.strategy.type"),
        (changed(deployment(), "metadata.name", "a" * 64), "metadata.name"),
        (
            changed(deployment(), "metadata.annotations", {"machineset.cluster.x-k8s.io/skip-preflight-checks": "Any"}),
            'metadata.annotations["machineset.cluster.x-k8s.io/skip-preflight-checks"]',
        ),
        (
            changed(deployment(), "spec.template.spec.infrastructureRef.name", "wrkers"),
            "spec.template.spec.infrastructureRef.name",
        ),
        (
            changed(deployment(), "spec.template.spec.bootstrap.configRef.name", "wrkers"),
            "spec.template.spec.bootstrap.configRef.name",
        ),
    ],
)
def test_faults_are_told_by_their_field(refused: Refused, documents: Documents, made: Object, path: str) -> None:
    assert [each.path for each in refused([*documents, made, *PARTS])] == [path]


@pytest.mark.parametrize("version", ["v1.20.2", "v1.20.0", "v1.19.9"])
def test_workers_may_be_older(read: Read, documents: Documents, version: str) -> None:
    assert read([*documents, deployment(version=version), *PARTS]).machine_deployments


@pytest.mark.parametrize(("surge", "unavailable"), [(0, 0), ("few", 1), (1, -1)])
def test_numbers_of_a_rollout(refused: Refused, documents: Documents, surge: Any, unavailable: Any) -> None:
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    [fault] = refused([*documents, deployment(rollout={"strategy": strategy}), *PARTS])
    assert fault.path.startswith("spec.rollout.strategy.rollingUpdate")


def test_two_of_a_name(refused: Refused, documents: Documents) -> None:
    twice = [*documents, deployment(), deployment(), *PARTS, PARTS[0]]
    assert [each.object for each in refused(twice)] == [
        "MachineDeployment default/workers",
        "KubeadmConfigTemplate default/workers",
    ]


def test_a_workers_template_is_checked(refused: Refused, read: Read, documents: Documents) -> None:
    """It never joins as a control plane; what a join does not read is warned of."""
    [fault] = refused(
        [*documents, deployment(), config_template(joinConfiguration={"controlPlane": {}}), machine_template()]
    )
    assert fault.path == "spec.template.spec.joinConfiguration.controlPlane"
    files = config_template(files=[{"path": "relative", "content": "a"}])
    assert [each.path for each in refused([*documents, deployment(), files, machine_template()])] == [
        "spec.template.spec.files[0].path"
    ]
    extra = config_template(clusterConfiguration={"certificatesDir": "/pki"})
    [warning] = read([*documents, deployment(), extra, machine_template()]).warnings
    assert "spec.template.spec.clusterConfiguration" in warning


def test_the_autoscalers_least_number(read: Read, documents: Documents) -> None:
    prefix = "cluster.x-k8s.io/cluster-api-autoscaler-node-group"
    both = {f"{prefix}-min-size": "3", f"{prefix}-max-size": "9"}
    for given, replicas in ((both, 3), ({f"{prefix}-min-size": "3"}, 1)):
        made = changed(deployment(), "metadata.annotations", given)
        assert read([*documents, made, *PARTS]).machine_deployments[0]["spec"]["replicas"] == replicas


# Kubernetes' own examples of intstr, and Cluster API's ResolveFenceposts.
@pytest.mark.parametrize(
    ("surge", "unavailable", "replicas", "expected"),
    [
        (1, 0, 3, (1, 0)),
        (0, 1, 3, (0, 1)),
        ("25%", "25%", 10, (3, 2)),
        ("0%", "0%", 10, (0, 1)),
        (0, "1%", 10, (0, 1)),
        (0, 10, 6, (0, 6)),
        ("100%", 0, 0, (0, 0)),
    ],
)
def test_fenceposts(surge: Any, unavailable: Any, replicas: int, expected: tuple[int, int]) -> None:
    rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
    spec = {"rollout": {"strategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}}
    assert counts.fenceposts(spec, replicas) == expected


# Cluster API's TestMachineTemplateUpToDate: what is a rollout, and what reaches machines in place.
@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("spec.version", "v1.21.0", ["Version v1.20.2, v1.21.0 required"]),
        ("spec.failureDomain", "b", ["Failure domain none, b required"]),
        ("spec.bootstrap.configRef.name", "b", ["KubeadmConfig is not up-to-date"]),
        ("spec.infrastructureRef.name", "b", ["NspawnMachine is not up-to-date"]),
        ("metadata.labels", {"a": "b"}, []),
        ("metadata.annotations", {"a": "b"}, []),
        ("spec.minReadySeconds", 5, []),
        ("spec.deletion", {"nodeDrainTimeoutSeconds": 5}, []),
        ("spec.readinessGates", [{"conditionType": "a"}], []),
        ("spec.taints", [{"key": "a"}], []),
        ("spec.failureDomain", "", []),
    ],
)
def test_what_replaces_machines(path: str, value: Any, said: list[str]) -> None:
    template = deployment()["spec"]["template"]
    other = changed(template, path, value)
    assert template_hash.differences(template, other) == said
    same = template_hash.template_hash("workers", template) == template_hash.template_hash("workers", other)
    assert same is (said == [])


def test_the_name_of_a_machine_set() -> None:
    """Its machines' names are whole, and two deployments never share one."""
    template = deployment()["spec"]["template"]
    found = set()
    for name in ("workers", "a" * 62 + "b", "a" * 62 + "c"):
        digest = template_hash.template_hash(name, template)
        made = template_hash.set_name(name, digest)
        worker = names.worker_name("", "my-cluster", made, "xxxxx")
        assert worker == f"{made}-xxxxx" and len(worker) <= 63 and names.is_dns_label(worker)
        found.add(made)
    after = template_hash.template_hash("workers", template, "2026-01-01T00:00:00Z")
    assert len(found) == 3 and template_hash.template_hash("workers", template) != after


def test_a_worker_is_named_by_the_template() -> None:
    template = "{{ .cluster.name }}-{{ .machineSet.name }}-{{ .random }}"
    assert names.worker_name(template, "prod", "w-abc", "xxxxx") == "prod-w-abc-xxxxx"
    assert names.worker_name("no random", "prod", "w-abc", "xxxxx") == "w-abc-xxxxx"
