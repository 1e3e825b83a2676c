# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any, Callable

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import Violation
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import ClusterManifest

Documents = list[dict[str, Any]]
Read = Callable[..., ClusterManifest]
Refused = Callable[..., list[Violation]]
REFERENCE = {
    "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
    "kind": "NspawnMachineTemplate",
    "name": "my-nspawnmachinetemplate",
}
HUB_REFERENCE = {
    "apiGroup": "infrastructure.cluster.x-k8s.io",
    "kind": "NspawnMachineTemplate",
    "name": "my-nspawnmachinetemplate",
}


def test_every_classic_field_of_a_control_plane(classic: Documents, read: Read) -> None:
    classic[1]["spec"] = {
        "replicas": 3,
        "version": "v1.20.2",
        "machineTemplate": {
            "metadata": {"labels": {"a": "b"}},
            "infrastructureRef": {**REFERENCE, "namespace": "default"},
            "readinessGates": [{"conditionType": "X"}],
            "nodeDrainTimeout": "10m",
            "nodeVolumeDetachTimeout": "1h0m5s",
            "nodeDeletionTimeout": "0s",
        },
        "rolloutAfter": "2026-01-01T02:00:00+02:00",
        "rolloutBefore": {"certificatesExpiryDays": 21},
        "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "0"}},
        "remediationStrategy": {"maxRetry": 5, "retryPeriod": "2m", "minHealthyPeriod": "2h"},
        "machineNamingStrategy": {"template": "{{ .cluster.name }}-{{ .random }}"},
        "kubeadmConfigSpec": {},
    }
    assert read(classic).control_plane["spec"] == {
        "replicas": 3,
        "version": "v1.20.2",
        "machineTemplate": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {
                "infrastructureRef": HUB_REFERENCE,
                "readinessGates": [{"conditionType": "X"}],
                "deletion": {
                    "nodeDrainTimeoutSeconds": 600,
                    "nodeVolumeDetachTimeoutSeconds": 3605,
                    "nodeDeletionTimeoutSeconds": 0,
                },
            },
        },
        "rollout": {
            "after": "2026-01-01T00:00:00Z",
            "before": {"certificatesExpiryDays": 21},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}},
        },
        "remediation": {"maxRetry": 5, "retryPeriodSeconds": 120, "minHealthyPeriodSeconds": 7200},
        "machineNaming": {"template": "{{ .cluster.name }}-{{ .random }}"},
        "kubeadmConfigSpec": {"format": "cloud-config"},
    }


def test_the_names_of_2019(classic: Documents, read: Read) -> None:
    spec = classic[1]["spec"]
    classic[1]["apiVersion"] = "cluster.x-k8s.io/v1alpha3"
    del spec["machineTemplate"], spec["rolloutStrategy"]
    spec.update(
        infrastructureTemplate=REFERENCE,
        upgradeAfter="2026-01-01T00:00:00Z",
        strategy={"type": "RollingUpdate"},
        nodeDrainTimeout="5m",
    )
    found = read(classic).control_plane
    assert found["apiVersion"] == "controlplane.cluster.x-k8s.io/v1beta2"
    assert found["spec"]["rollout"]["after"] == "2026-01-01T00:00:00Z"
    assert found["spec"]["machineTemplate"]["spec"] == {
        "infrastructureRef": HUB_REFERENCE,
        "deletion": {"nodeDrainTimeoutSeconds": 300},
    }


def test_kubeadm_parts(classic: Documents, read: Read) -> None:
    config = classic[1]["spec"]["kubeadmConfigSpec"] = {
        "clusterConfiguration": {
            "apiVersion": "kubeadm.k8s.io/v1beta1",
            "kind": "ClusterConfiguration",
            "apiServer": {"extraArgs": {"v": "4", "audit-log-path": "/a"}, "timeoutForControlPlane": "4m"},
            "etcd": {"local": {"extraArgs": {"quota-backend-bytes": "1"}, "dataDir": "/e"}},
            "dns": {"type": "CoreDNS", "imageTag": "1.7.0"},
            "useHyperKubeImage": False,
            "networking": {"dnsDomain": "a.b"},
            "certificateValidityPeriodDays": 365,
        },
        "initConfiguration": {
            "bootstrapTokens": [{"token": "abcdef.0123456789abcdef", "ttl": "1h"}],
            "nodeRegistration": {"taints": [], "kubeletExtraArgs": {"v": "2"}},
        },
        "joinConfiguration": {"discovery": {"timeout": "90s"}, "controlPlane": {}},
        "verbosity": 5,
    }
    assert config["verbosity"] == 5
    assert read(classic).control_plane["spec"]["kubeadmConfigSpec"] == {
        "clusterConfiguration": {
            "apiServer": {"extraArgs": [{"name": "audit-log-path", "value": "/a"}, {"name": "v", "value": "4"}]},
            "etcd": {"local": {"extraArgs": [{"name": "quota-backend-bytes", "value": "1"}], "dataDir": "/e"}},
            "dns": {"imageTag": "1.7.0"},
            "networking": {"dnsDomain": "a.b"},
            "certificateValidityPeriodDays": 365,
        },
        "initConfiguration": {
            "bootstrapTokens": [{"token": "abcdef.0123456789abcdef", "ttlSeconds": 3600}],
            "nodeRegistration": {"taints": [], "kubeletExtraArgs": [{"name": "v", "value": "2"}]},
            "timeouts": {"controlPlaneComponentHealthCheckSeconds": 240},
        },
        "joinConfiguration": {
            "controlPlane": {},
            "timeouts": {"controlPlaneComponentHealthCheckSeconds": 240, "discoverySeconds": 90},
        },
        "verbosity": 5,
        "format": "cloud-config",
    }


@pytest.mark.parametrize(
    ("where", "key", "value", "path", "words"),
    [
        ("", "infrastructureTemplate", REFERENCE, "spec.machineTemplate.infrastructureRef", "means the same as"),
        ("", "replica", 3, "spec.replica", "Did you mean replicas?"),
        ("", "Replicas", 3, "spec.Replicas", "Did you mean replicas?"),
        ("", "rollout", {}, "spec.rollout", "spec.rolloutAfter"),
        ("machineTemplate", "spec", {}, "spec.machineTemplate.spec", "directly in it"),
        ("machineTemplate", "nodeDrainTimeout", "1.5s", "spec.machineTemplate.nodeDrainTimeout", "whole seconds"),
        ("machineTemplate", "nodeDrainTimeout", 600, "spec.machineTemplate.nodeDrainTimeout", "Quote it"),
        ("machineTemplate", "nodeDrainTimeout", "10", "spec.machineTemplate.nodeDrainTimeout", 'like "10m"'),
        (
            "kubeadmConfigSpec.clusterConfiguration",
            "useHyperKubeImage",
            True,
            "spec.kubeadmConfigSpec.clusterConfiguration.useHyperKubeImage",
            "hyperkube",
        ),
        (
            "kubeadmConfigSpec.clusterConfiguration",
            "dns",
            {"type": "kube-dns"},
            "spec.kubeadmConfigSpec.clusterConfiguration.dns.type",
            "CoreDNS only",
        ),
        (
            "kubeadmConfigSpec.clusterConfiguration",
            "kind",
            "InitConfiguration",
            "spec.kubeadmConfigSpec.clusterConfiguration.kind",
            "the kind here is ClusterConfiguration",
        ),
        (
            "kubeadmConfigSpec.initConfiguration",
            "apiVersion",
            "kubeadm.k8s.io/v1alpha3",
            "spec.kubeadmConfigSpec.initConfiguration.apiVersion",
            "not a kubeadm API version",
        ),
        (
            "kubeadmConfigSpec.initConfiguration",
            "timeouts",
            {},
            "spec.kubeadmConfigSpec.initConfiguration.timeouts",
            "needs v1beta2",
        ),
        (
            "kubeadmConfigSpec.initConfiguration.nodeRegistration",
            "kubeletExtraArgs",
            {"v": 4},
            "spec.kubeadmConfigSpec.initConfiguration.nodeRegistration.kubeletExtraArgs.v",
            "Quote it",
        ),
    ],
)
def test_what_cannot_be_represented_is_told_in_the_users_terms(
    classic: Documents, refused: Refused, where: str, key: str, value: Any, path: str, words: str
) -> None:
    target = classic[1]["spec"]
    for step in where.split(".") if where else []:
        target = target.setdefault(step, {})
    target[key] = value
    found = refused(classic)
    assert [violation.path for violation in found] == [path]
    assert words in found[0].rule + found[0].fix


def test_a_rule_is_told_at_the_path_that_was_written(classic: Documents, refused: Refused) -> None:
    spec = classic[1]["spec"]
    spec["rolloutStrategy"]["rollingUpdate"]["maxSurge"] = 5
    spec["kubeadmConfigSpec"]["clusterConfiguration"]["apiServer"]["extraArgs"]["cloud-provider"] = "acme"
    assert [violation.path for violation in refused(classic)] == [
        "spec.rolloutStrategy.rollingUpdate.maxSurge",
        "spec.kubeadmConfigSpec.clusterConfiguration.apiServer.extraArgs.cloud-provider",
    ]


def test_references_stay_in_their_namespace(classic: Documents, refused: Refused) -> None:
    classic[0]["spec"]["controlPlaneRef"]["namespace"] = "other"
    assert [violation.path for violation in refused(classic)] == ["spec.controlPlaneRef.namespace"]


@pytest.mark.parametrize(
    "api_version", ["cluster.x-k8s.io/v1alpha2", "cluster.x-k8s.io/v1", "v1", "example.com/v1beta1"]
)
def test_unknown_api_versions(classic: Documents, refused: Refused, api_version: str) -> None:
    classic[0]["apiVersion"] = api_version
    found = refused(classic)
    assert [(violation.path, violation.value) for violation in found] == [("apiVersion", api_version)]


def test_hints_for_names_of_the_other_form(documents: Documents, refused: Refused) -> None:
    documents[0]["spec"]["controlPlaneRef"]["namespace"] = "default"
    documents[1]["spec"]["upgradeAfter"] = "2026-01-01T00:00:00Z"
    documents[1]["spec"]["kubeadmConfigSpec"]["clusterConfiguration"]["apiServer"]["timeoutForControlPlane"] = "4m"
    fixes = {violation.path.rpartition(".")[2]: violation.fix for violation in refused(documents)}
    assert "remove it" in fixes["namespace"]
    assert "spec.rollout.after" in fixes["upgradeAfter"]
    assert "controlPlaneComponentHealthCheckSeconds" in fixes["timeoutForControlPlane"]


def test_failure_domains_as_a_map(documents: Documents, read: Read) -> None:
    documents[3]["spec"]["failureDomains"] = {"b": {"controlPlane": False}, "a": {"controlPlane": True}}
    assert read(documents).infrastructure_cluster["spec"]["failureDomains"] == [
        {"name": "a", "controlPlane": True},
        {"name": "b", "controlPlane": False},
    ]


def test_a_template_with_and_without_template(documents: Documents, read: Read, refused: Refused) -> None:
    first = read(documents).machine_template
    documents[2]["spec"] = documents[2]["spec"]["template"]["spec"]
    assert read(documents).machine_template == first
    documents[2]["spec"] = {"template": {"spec": {}}, "image": "x"}
    assert [violation.path for violation in refused(documents)] == ["spec.image"]


def test_an_endpoint_that_is_not_known_yet_is_none(classic: Documents, read: Read) -> None:
    classic[0]["spec"]["controlPlaneEndpoint"] = {"host": "", "port": 0}
    assert "controlPlaneEndpoint" not in read(classic).cluster["spec"]
