# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import gzip
from typing import Any, Callable

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import Violation
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import ClusterManifest

Documents = list[dict[str, Any]]
Refused = Callable[..., list[Violation]]
CONFIG = "spec.kubeadmConfigSpec"


def change(document: dict[str, Any], path: str, value: Any) -> None:
    """Write `value` at a dotted path of mappings."""
    *parents, last = path.split(".")
    for key in parents:
        document = document.setdefault(key, {})
    document[last] = value


def args(**values: str) -> list[dict[str, str]]:
    return [{"name": name.replace("_", "-"), "value": value} for name, value in values.items()]


TAINT = {"key": "example.com/rack", "value": "7", "effect": "NoSchedule", "propagation": "Always"}
ONE_FILE = {"path": "/etc/a", "content": "x"}
EXTERNAL = {"endpoints": ["https://a:2379"], "caFile": "/a", "certFile": "/b", "keyFile": "/c"}

# Changes of the KubeadmControlPlane and the path that is refused for them.
CONTROL_PLANE = [
    *(
        (
            {"spec.version": "v1.31.4", f"{CONFIG}.clusterConfiguration.{part}": {"extraEnvs": [{"value": "x"}]}},
            f"{CONFIG}.clusterConfiguration.{part}.extraEnvs[0].name",
        )
        for part in ("scheduler", "etcd.local")
    ),
    ({"spec.replicas": 0}, "spec.replicas"),
    ({"spec.replicas": -1}, "spec.replicas"),
    ({"spec.replicas": 2}, "spec.replicas"),
    ({"spec.replicas": "3"}, "spec.replicas"),
    ({"spec.replicas": True}, "spec.replicas"),
    ({"spec.version": "v1.20"}, "spec.version"),
    ({"spec.version": 1.2}, "spec.version"),
    ({"spec.version": "stable-1"}, "spec.version"),
    ({"spec.version": "v1.15.12"}, "spec.version"),
    ({"spec.version": "v2.0.0"}, "spec.version"),
    ({"spec.version": "v1.020.2"}, "spec.version"),
    ({"spec.version": None}, "spec.version"),
    ({"spec.machineTemplate": None}, "spec.machineTemplate.spec.infrastructureRef"),
    ({"spec.machineTemplate.spec.infrastructureRef.name": None}, "spec.machineTemplate.spec.infrastructureRef.name"),
    (
        {"spec.machineTemplate.spec.infrastructureRef.apiGroup": "x"},
        "spec.machineTemplate.spec.infrastructureRef.apiGroup",
    ),
    *(
        (
            {"spec.machineTemplate.spec.taints": [{**TAINT, field: value}]},
            f"spec.machineTemplate.spec.taints[0].{field}",
        )
        for field, value in (
            ("key", ""),
            ("key", "a b"),
            ("key", "x" * 64),
            ("key", "node.cluster.x-k8s.io/uninitialized"),
            ("key", "node.cluster.x-k8s.io/outdated-revision"),
            ("key", "node.kubernetes.io/not-ready"),
            ("key", "node.cloudprovider.kubernetes.io/uninitialized"),
            ("key", "node-role.kubernetes.io/master"),
            ("value", "a b"),
            ("effect", "Never"),
            ("effect", ""),
            ("propagation", "Sometimes"),
            ("propagation", None),
        )
    ),
    ({"spec.machineTemplate.spec.taints": [TAINT, {**TAINT, "value": "x"}]}, "spec.machineTemplate.spec.taints[1]"),
    (
        {"spec.machineTemplate.spec.taints": [{**TAINT, "key": f"k{n}"} for n in range(65)]},
        "spec.machineTemplate.spec.taints",
    ),
    ({"spec.machineTemplate.metadata.labels": {"a b": "c"}}, 'spec.machineTemplate.metadata.labels["a b"]'),
    ({"spec.machineTemplate.metadata.labels": {"a": "-"}}, "spec.machineTemplate.metadata.labels.a"),
    ({"spec.rollout.strategy.type": "OnDelete"}, "spec.rollout.strategy.type"),
    ({"spec.rollout.strategy.rollingUpdate.maxSurge": 2}, "spec.rollout.strategy.rollingUpdate.maxSurge"),
    ({"spec.rollout.strategy.rollingUpdate.maxSurge": "50%"}, "spec.rollout.strategy.rollingUpdate.maxSurge"),
    (
        {"spec.rollout.strategy.rollingUpdate.maxSurge": 0, "spec.replicas": 1},
        "spec.rollout.strategy.rollingUpdate.maxSurge",
    ),
    ({"spec.rollout.after": "tomorrow"}, "spec.rollout.after"),
    ({"spec.rollout.before.certificatesExpiryDays": 6}, "spec.rollout.before.certificatesExpiryDays"),
    ({"spec.rollout.before.certificatesExpiryDays": 365}, "spec.rollout.before.certificatesExpiryDays"),
    ({"spec.remediation.maxRetry": -1}, "spec.remediation.maxRetry"),
    ({"spec.machineNaming.template": "x"}, "spec.machineNaming.template"),
    ({"spec.rolloutAfter": "2026-01-01T00:00:00Z"}, "spec.rolloutAfter"),
    ({"metadata.labels": {"a": 5}}, "metadata.labels.a"),
]
CLUSTER_CONFIGURATION: list[tuple[dict[str, Any], str]] = [
    ({"kubernetesVersion": "v1.19.0"}, "kubernetesVersion"),
    ({"etcd": {"local": {"dataDir": "/e"}, "external": EXTERNAL}}, "etcd"),
    ({"etcd.local.dataDir": "var"}, "etcd.local.dataDir"),
    ({"etcd.local.imageTag": "a b"}, "etcd.local.imageTag"),
    ({"dns.imageTag": ":x"}, "dns.imageTag"),
    ({"dns.disabled": True}, "dns.disabled"),
    ({"proxy.disabled": True}, "proxy"),
    ({"apiServer.certSANs": ["a_b"]}, "apiServer.certSANs[0]"),
    ({"apiServer.extraArgs": args(__v="4")}, "apiServer.extraArgs[0]"),
    ({"apiServer.extraArgs": args(v="4") * 2}, "apiServer.extraArgs[1]"),
    ({"apiServer.extraArgs": [{"name": "v"}]}, "apiServer.extraArgs[0].value"),
    ({"apiServer.extraArgs": [{"name": "v", "value": "1" * 1025}]}, "apiServer.extraArgs[0].value"),
    ({"encryptionAlgorithm": "RSA-1024"}, "encryptionAlgorithm"),
    ({"apiServer.certSANs": ["a"] * 101}, "apiServer.certSANs"),
    ({"apiServer.extraArgs": args(cloud_provider="acme")}, "apiServer.extraArgs[0]"),
    ({"apiServer.extraArgs": {"v": "4"}}, "apiServer.extraArgs"),
    ({"apiServer.extraEnvs": [{"name": "a", "value": "b"}]}, "apiServer.extraEnvs"),
    (
        {"scheduler.extraVolumes": [{"name": "a", "hostPath": "b", "mountPath": "/c"}]},
        "scheduler.extraVolumes[0].hostPath",
    ),
    ({"certificatesDir": "pki"}, "certificatesDir"),
    ({"featureGates": {"EtcdLearnerMode": True}}, "featureGates.EtcdLearnerMode"),
    ({"featureGates": {"RootlessControlPlane": "yes"}}, "featureGates.RootlessControlPlane"),
    ({"controlPlaneEndpoint": "a b"}, "controlPlaneEndpoint"),
    ({"controlPlaneEndpoint": "a:²"}, "controlPlaneEndpoint"),
    *(
        ({"etcd": {"external": {**EXTERNAL, "endpoints": [url]}}}, "etcd.external.endpoints[0]")
        for url in ("https://[::1", "https://a\u2100", "https://a:99999", "https://:2379", "https://a:x")
    ),
    ({"networking.serviceSubnet": "10.0.0.0/8"}, "networking.serviceSubnet"),
    ({"networking.serviceSubnet": "10.0.0.0/29"}, "networking.serviceSubnet"),
    ({"networking.podSubnet": "10.0.0.0/25"}, "networking.podSubnet"),
    ({"networking.podSubnet": "10.0.0.0/7"}, "networking.podSubnet"),
    (
        {"networking.podSubnet": "10.0.0.0/25", "controllerManager.extraArgs": args(node_cidr_mask_size="²")},
        "networking.podSubnet",
    ),
    ({"networking.podSubnet": "10.0.0.0/16,10.1.0.0/16"}, "networking.podSubnet"),
    ({"networking.dnsDomain": "a_b"}, "networking.dnsDomain"),
    ({"encryptionAlgorithm": "RSA-4096"}, "encryptionAlgorithm"),
    ({"certificateValidityPeriodDays": 1096}, "certificateValidityPeriodDays"),
    ({"certificateValidityPeriodDays": 365, "caCertificateValidityPeriodDays": 30}, "certificateValidityPeriodDays"),
    ({"caCertificateValidityPeriodDays": 36501}, "caCertificateValidityPeriodDays"),
]
NODE = [
    ({"nodeRegistration.name": "fixed"}, "nodeRegistration.name"),
    ({"nodeRegistration.name": "{{ ds.meta_data.region }}"}, "nodeRegistration.name"),
    ({"nodeRegistration.name": "A{{ ds.meta_data.local_hostname }}"}, "nodeRegistration.name"),
    ({"nodeRegistration.criSocket": "run/x.sock"}, "nodeRegistration.criSocket"),
    ({"nodeRegistration.ignorePreflightErrors": ["Swap", "All"]}, "nodeRegistration.ignorePreflightErrors[1]"),
    ({"nodeRegistration.imagePullPolicy": "Always"}, "nodeRegistration.imagePullPolicy"),
    ({"nodeRegistration.imagePullPolicy": "Sometimes"}, "nodeRegistration.imagePullPolicy"),
    ({"nodeRegistration.imagePullSerial": False}, "nodeRegistration.imagePullSerial"),
    ({"nodeRegistration.taints": [{"key": "a", "effect": "No"}]}, "nodeRegistration.taints[0].effect"),
    ({"nodeRegistration.kubeletExtraArgs": args(cloud_provider="acme")}, "nodeRegistration.kubeletExtraArgs[0]"),
    ({"patches.directory": "patches"}, "patches.directory"),
    ({"timeouts.kubeletHealthCheckSeconds": 30}, "timeouts.kubeletHealthCheckSeconds"),
    ({"timeouts.kubeletHealthCheckSeconds": -30}, "timeouts.kubeletHealthCheckSeconds"),
    ({"certificateKey": "a"}, "certificateKey"),
]
BESIDE = [
    ({"format": "ignition"}, "format"),
    ({"verbosity": 11}, "verbosity"),
    ({"files": [{**ONE_FILE, "path": "etc/a"}]}, "files[0].path"),
    ({"files": [{**ONE_FILE, "path": "/etc/../a"}]}, "files[0].path"),
    ({"files": [ONE_FILE, ONE_FILE]}, "files[1].path"),
    ({"files": [{**ONE_FILE, "permissions": 420}]}, "files[0].permissions"),
    ({"files": [{**ONE_FILE, "permissions": "rw"}]}, "files[0].permissions"),
    ({"files": [{**ONE_FILE, "owner": "a:b:c"}]}, "files[0].owner"),
    ({"files": [{**ONE_FILE, "encoding": "zip"}]}, "files[0].encoding"),
    ({"files": [{**ONE_FILE, "encoding": "gzip"}]}, "files[0].encoding"),
    ({"files": [{**ONE_FILE, "encoding": "base64"}]}, "files[0].content"),
    ({"files": [{**ONE_FILE, "content": "eA==", "encoding": "gzip+base64"}]}, "files[0].content"),
    ({"files": [{**ONE_FILE, "contentFrom": {"secret": {"name": "a", "key": "b"}}}]}, "files[0].contentFrom"),
    ({"files": [{"path": "/a", "contentFrom": {"secret": {"name": "a"}}}]}, "files[0].contentFrom.secret.key"),
    ({"files": [{**ONE_FILE, "mode": "0644"}]}, "files[0].mode"),
    ({"files": [{**ONE_FILE, "content": "{{ ds.meta_data.mine }}"}]}, "files[0].content"),
    *(
        ({"users": [{"name": name}]}, "users[0].name")
        for name in ("", "1", "0123", "-a", ".a", "a b", "a:b", "a/b", "ä", "a" * 33)
    ),
    *(({"files": [{"path": "/a", "owner": name}]}, "files[0].owner") for name in ("a:b:c", ":a", "a:", "a/b", "-a")),
    ({"files": [{"path": "/a", "contentFormat": "raw"}]}, "files[0].contentFormat"),
    ({"users": [{"name": "a"}, {"name": "a"}]}, "users[1].name"),
    ({"users": [{"name": "a", "shell": "bash"}]}, "users[0].shell"),
    ({"users": [{"name": "a", "passwd": "x:y"}]}, "users[0].passwd"),
    (
        {"users": [{"name": "a", "passwd": "x", "passwdFrom": {"secret": {"name": "b", "key": "c"}}}]},
        "users[0].passwdFrom",
    ),
    ({"preKubeadmCommands": [" "]}, "preKubeadmCommands[0]"),
    ({"preKubeadmCommands": "ls"}, "preKubeadmCommands"),
    ({"kubeletConfiguration": {"kind": "KubeProxyConfiguration"}}, "kubeletConfiguration.kind"),
    ({"kubeProxyConfiguration": {"apiVersion": "v1"}}, "kubeProxyConfiguration.apiVersion"),
    *(
        ({name: {}}, name)
        for name in ("ntp", "mounts", "diskSetup", "ignition", "bootCommands", "useExperimentalRetryJoin")
    ),
]


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        *CONTROL_PLANE,
        *(
            (
                {f"{CONFIG}.clusterConfiguration.{key}": value for key, value in changes.items()},
                f"{CONFIG}.clusterConfiguration.{path}",
            )
            for changes, path in CLUSTER_CONFIGURATION
        ),
        *(
            (
                {f"{CONFIG}.initConfiguration.{key}": value for key, value in changes.items()},
                f"{CONFIG}.initConfiguration.{path}",
            )
            for changes, path in NODE
        ),
        *(
            ({f"{CONFIG}.{key}": value for key, value in changes.items()}, f"{CONFIG}.{path}")
            for changes, path in BESIDE
        ),
    ],
)
def test_a_control_plane_is_refused(documents: Documents, refused: Refused, changes: dict[str, Any], path: str) -> None:
    for where, value in changes.items():
        change(documents[1], where, value)
    found = refused(documents)
    assert {violation.path for violation in found} == {path}
    assert found[0].object == "KubeadmControlPlane default/my-control-plane"
    assert "manifest.yaml:" in found[0].source
    assert found[0].rule
    assert found[0].fix


JOIN = [
    ({"discovery.bootstrapToken": {"token": "x"}}, "discovery.bootstrapToken.token"),
    ({"discovery.bootstrapToken": {"caCertHashes": ["x"]}}, "discovery.bootstrapToken.caCertHashes[0]"),
    (
        {"discovery.bootstrapToken": {"token": "abcdef.0123456789abcdef"}, "discovery.file": {"kubeConfigPath": "/a"}},
        "discovery",
    ),
    ({"discovery.file": {"kubeConfigPath": "a"}}, "discovery.file.kubeConfigPath"),
    ({"discovery.file": {"kubeConfigPath": "/a", "kubeConfig": {}}}, "discovery.file.kubeConfig"),
    ({"caCertPath": "ca.crt"}, "caCertPath"),
    ({"controlPlane.localAPIEndpoint": {"bindPort": -1}}, "controlPlane.localAPIEndpoint.bindPort"),
    ({"controlPlane.localAPIEndpoint": {"advertiseAddress": "host"}}, "controlPlane.localAPIEndpoint.advertiseAddress"),
    ({"timeouts.controlPlaneComponentHealthCheckSeconds": 10}, "timeouts.controlPlaneComponentHealthCheckSeconds"),
]


@pytest.mark.parametrize(("changes", "path"), JOIN)
def test_a_join_configuration_is_refused(
    documents: Documents, refused: Refused, changes: dict[str, Any], path: str
) -> None:
    for where, value in changes.items():
        change(documents[1], f"{CONFIG}.joinConfiguration.{where}", value)
    assert [violation.path for violation in refused(documents)] == [f"{CONFIG}.joinConfiguration.{path}"]


CLUSTER = [
    ({"metadata.name": "My"}, {"metadata.name"}),
    ({"spec.controlPlaneRef": None}, {"spec.controlPlaneRef"}),
    ({"spec.controlPlaneRef.kind": "K0sControlPlane"}, {"spec.controlPlaneRef.kind"}),
    ({"spec.infrastructureRef": None}, {"spec.infrastructureRef"}),
    ({"spec.topology": {}}, {"spec.topology"}),
    ({"spec.availabilityGates": [{"conditionType": "X"}]}, {"spec.availabilityGates"}),
    (
        {"spec.controlPlaneEndpoint": {"host": "a b", "port": 0}},
        {"spec.controlPlaneEndpoint.host", "spec.controlPlaneEndpoint.port"},
    ),
    ({"spec.controlPlaneEndpoint": {"host": "1.2.3", "port": 6443}}, {"spec.controlPlaneEndpoint.host"}),
    ({"spec.clusterNetwork.services": {"cidrBlocks": ["192.168.0.0/20"]}}, {"spec.clusterNetwork.pods.cidrBlocks"}),
    (
        {"spec.clusterNetwork.services": {"cidrBlocks": ["10.0.0.0/16", "fd00::/108"]}},
        {"spec.clusterNetwork.services.cidrBlocks"},
    ),
    ({"spec.clusterNetwork.apiServerPort": 70000}, {"spec.clusterNetwork.apiServerPort"}),
    ({"spec.clusterNetwork.serviceDomain": "-"}, {"spec.clusterNetwork.serviceDomain"}),
    ({"spec.pause": True}, {"spec.pause"}),
]


@pytest.mark.parametrize(("changes", "paths"), CLUSTER)
def test_a_cluster_is_refused(
    documents: Documents,
    read: Callable[..., ClusterManifest],
    refused: Refused,
    changes: dict[str, Any],
    paths: set[str],
) -> None:
    for where, value in changes.items():
        change(documents[0], where, value)
    found = {violation.path for violation in refused(documents) if violation.object.startswith("Cluster ")}
    assert found >= paths


ACCEPTED: list[dict[str, Any]] = [
    {"spec.replicas": 2, f"{CONFIG}.clusterConfiguration.etcd": {"external": EXTERNAL}},
    {"spec.replicas": None},
    {"spec.version": "1.20.2"},
    {"spec.version": "v1.37.0-alpha.1+build"},
    {"spec.rollout.strategy.rollingUpdate.maxSurge": "0"},
    {"spec.rollout.before.certificatesExpiryDays": 7},
    {"spec.machineTemplate.spec.taints": []},
    {"spec.machineTemplate.spec.taints": [TAINT, {**TAINT, "effect": "NoExecute", "propagation": "OnInitialization"}]},
    {"spec.machineTemplate.spec.taints": [{**TAINT, "key": "node.kubernetes.io/out-of-service"}]},
    {"spec.machineTemplate.spec.taints": [{**TAINT, "key": "node-role.kubernetes.io/control-plane", "value": ""}]},
    {f"{CONFIG}.initConfiguration.nodeRegistration.name": "n-{{ v1.local_hostname }}"},
    {f"{CONFIG}.initConfiguration.nodeRegistration.taints": []},
    {f"{CONFIG}.initConfiguration.nodeRegistration.imagePullPolicy": "IfNotPresent"},
    {f"{CONFIG}.initConfiguration.patches.directory": "/etc/patches"},
    {f"{CONFIG}.initConfiguration.skipPhases": ["addon/coredns"]},
    {f"{CONFIG}.clusterConfiguration.caCertificateValidityPeriodDays": 36500},
    {f"{CONFIG}.clusterConfiguration.encryptionAlgorithm": "RSA-2048"},
    {"spec.version": "v1.31.0", f"{CONFIG}.clusterConfiguration.encryptionAlgorithm": "RSA-4096"},
    {f"{CONFIG}.kubeletConfiguration": {"cgroupDriver": "cgroupfs"}},
    {f"{CONFIG}.files": [{"path": "/a", "content": "{{ region }}", "owner": "root:root", "permissions": "0644"}]},
    {
        f"{CONFIG}.files": [
            {
                "path": "/a",
                "encoding": "gzip+base64",
                "content": base64.b64encode(gzip.compress(b"{{ mine }}")).decode(),
            }
        ]
    },
]


@pytest.mark.parametrize("changes", ACCEPTED)
def test_a_control_plane_is_accepted(documents: Documents, refused: Refused, changes: dict[str, Any]) -> None:
    for where, value in changes.items():
        change(documents[1], where, value)
    assert [violation.text() for violation in refused(documents)] == []


def test_defaults(documents: Documents, read: Callable[..., ClusterManifest]) -> None:
    spec = documents[1]["spec"]
    del spec["replicas"], spec["rollout"]
    spec["version"] = "1.20.2"
    documents[3]["spec"]["failureDomains"] = [{"name": "a"}, {"name": "b", "controlPlane": False}]
    found = read(documents)
    assert found.control_plane["spec"]["replicas"] == 1
    assert found.control_plane["spec"]["version"] == "v1.20.2"
    assert found.control_plane["spec"]["rollout"] == {
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}
    }
    assert found.control_plane["spec"]["kubeadmConfigSpec"]["format"] == "cloud-config"
    assert [domain["controlPlane"] for domain in found.infrastructure_cluster["spec"]["failureDomains"]] == [
        True,
        False,
    ]


@pytest.mark.parametrize("who", ["terraform", ""])
def test_infrastructure_that_somebody_else_manages_is_refused(documents: Documents, refused: Refused, who: str) -> None:
    """Cluster API's providers leave such a cluster's infrastructure alone; a role here would delete it with the cluster."""
    documents[3]["metadata"]["annotations"] = {"cluster.x-k8s.io/managed-by": who}
    (violation,) = refused(documents)
    assert "cluster.x-k8s.io/managed-by" in violation.path and "delete" in violation.rule


def test_a_gzip_bomb_is_refused(documents: Documents, refused: Refused) -> None:
    bomb = base64.b64encode(gzip.compress(b"\0" * (11 * 1024 * 1024))).decode()
    change(documents[1], f"{CONFIG}.files", [{"path": "/a", "encoding": "gzip+base64", "content": bomb}])
    assert [violation.rule for violation in refused(documents)] == [
        "the content is larger than 10 MB when it is unpacked"
    ]


def test_an_endpoint_written_twice_must_agree(documents: Documents, refused: Refused) -> None:
    documents[0]["spec"]["controlPlaneEndpoint"] = {"host": "a.example", "port": 6443}
    documents[3]["spec"]["controlPlaneEndpoint"] = {"host": "b.example", "port": 6443}
    assert [violation.path for violation in refused(documents)] == ["spec.controlPlaneEndpoint"]


@pytest.mark.parametrize("name", ["Ops.Team", "A", "1a", "_a", "a.b-c_d", "host$", "a" * 32])
def test_names_of_users_are_those_that_a_machine_can_have(
    documents: Documents, read: Callable[..., ClusterManifest], name: str
) -> None:
    files = [{"path": "/a", "owner": owner, "contentFormat": "Raw"} for owner in (name, f"{name}:{name}")]
    files[1]["path"] = "/b"
    documents[1]["spec"]["kubeadmConfigSpec"] = {"users": [{"name": name}], "files": files}
    assert read(documents).control_plane["spec"]["kubeadmConfigSpec"]["files"] == files
