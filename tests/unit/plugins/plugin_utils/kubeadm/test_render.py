# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents of each kubeadm API version, written by hand from the field tables."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import ManifestError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.documents.yaml_files import read_documents
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.kubeadm.configuration import (
    fields,
    render,
    yaml_documents,
)

INIT: dict[str, Any] = {
    "bootstrapTokens": [
        {
            "token": "abcdef.0123456789abcdef",
            "description": "first",
            "ttlSeconds": 900,
            "usages": ["signing", "authentication"],
            "groups": ["system:bootstrappers:kubeadm:default-node-token"],
        }
    ],
    "nodeRegistration": {
        "name": "cp-1",
        "criSocket": "/run/containerd/containerd.sock",
        "taints": [],
        "kubeletExtraArgs": [{"name": "cgroup-driver", "value": "cgroupfs"}, {"name": "v", "value": "2"}],
        "ignorePreflightErrors": ["NumCPU", "Mem"],
    },
    "localAPIEndpoint": {"advertiseAddress": "10.0.0.2", "bindPort": 6443},
    "skipPhases": ["addon/coredns", "addon/kube-proxy"],
    "patches": {"directory": "/etc/kubernetes/patches"},
    "timeouts": {"controlPlaneComponentHealthCheckSeconds": 300},
}
CLUSTER: dict[str, Any] = {
    "etcd": {"local": {"dataDir": "/e", "extraArgs": [{"name": "quota-backend-bytes", "value": "8589934592"}]}},
    "networking": {"serviceSubnet": "10.96.0.0/16", "podSubnet": "10.244.0.0/16", "dnsDomain": "cluster.local"},
    "kubernetesVersion": "v1.20.2",
    "controlPlaneEndpoint": "10.0.0.1:6443",
    "apiServer": {
        "extraArgs": [{"name": "audit-log-maxage", "value": "30"}],
        "extraVolumes": [{"name": "a", "hostPath": "/a", "mountPath": "/b", "readOnly": True, "pathType": "Directory"}],
        "certSANs": ["10.0.0.1"],
    },
    "controllerManager": {"extraArgs": [{"name": "bind-address", "value": "0.0.0.0"}]},
    "scheduler": {},
    "dns": {"imageTag": "1.7.0"},
    "certificatesDir": "/etc/kubernetes/pki",
    "imageRepository": "k8s.gcr.io",
    "featureGates": {"IPv6DualStack": True},
    "clusterName": "c1",
}
JOIN: dict[str, Any] = {
    "nodeRegistration": {"name": "cp-2", "kubeletExtraArgs": [{"name": "v", "value": "2"}]},
    "caCertPath": "/etc/kubernetes/pki/ca.crt",
    "discovery": {
        "bootstrapToken": {
            "token": "abcdef.0123456789abcdef",
            "apiServerEndpoint": "10.0.0.1:6443",
            "caCertHashes": ["sha256:00"],
        }
    },
    "controlPlane": {"localAPIEndpoint": {"advertiseAddress": "10.0.0.3"}},
    "skipPhases": ["preflight"],
    "timeouts": {"controlPlaneComponentHealthCheckSeconds": 300, "discoverySeconds": 60, "tlsBootstrapSeconds": 300},
}

GOLDEN_INIT_OLD = """
apiVersion: kubeadm.k8s.io/{api}
kind: InitConfiguration
bootstrapTokens:
- token: abcdef.0123456789abcdef
  description: first
  ttl: 15m0s
  usages: [signing, authentication]
  groups: ["system:bootstrappers:kubeadm:default-node-token"]
nodeRegistration:
  name: cp-1
  criSocket: /run/containerd/containerd.sock
  taints: []
  kubeletExtraArgs: {{cgroup-driver: cgroupfs, v: "2"}}
  {ignore}
localAPIEndpoint: {{advertiseAddress: 10.0.0.2, bindPort: 6443}}
{more}
---
apiVersion: kubeadm.k8s.io/{api}
kind: ClusterConfiguration
etcd: {{local: {{dataDir: /e, extraArgs: {{quota-backend-bytes: "8589934592"}}}}}}
networking: {{serviceSubnet: 10.96.0.0/16, podSubnet: 10.244.0.0/16, dnsDomain: cluster.local}}
kubernetesVersion: v1.20.2
controlPlaneEndpoint: "10.0.0.1:6443"
apiServer:
  extraArgs: {{audit-log-maxage: "30"}}
  extraVolumes: [{{name: a, hostPath: /a, mountPath: /b, readOnly: true, pathType: Directory}}]
  certSANs: [10.0.0.1]
  timeoutForControlPlane: 5m0s
controllerManager: {{extraArgs: {{bind-address: 0.0.0.0}}}}
scheduler: {{}}
dns: {{imageTag: "1.7.0"}}
certificatesDir: /etc/kubernetes/pki
imageRepository: k8s.gcr.io
featureGates: {{IPv6DualStack: true}}
clusterName: c1
"""
IGNORE = "ignorePreflightErrors: [NumCPU, Mem]"
PATCHES = "skipPhases: [addon/coredns, addon/kube-proxy]\npatches: {directory: /etc/kubernetes/patches}"
GOLDEN_INIT_4 = """
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
bootstrapTokens:
- token: abcdef.0123456789abcdef
  description: first
  ttl: 15m0s
  usages: [signing, authentication]
  groups: ["system:bootstrappers:kubeadm:default-node-token"]
nodeRegistration:
  name: cp-1
  criSocket: /run/containerd/containerd.sock
  taints: []
  kubeletExtraArgs: [{name: cgroup-driver, value: cgroupfs}, {name: v, value: "2"}]
  ignorePreflightErrors: [NumCPU, Mem]
localAPIEndpoint: {advertiseAddress: 10.0.0.2, bindPort: 6443}
skipPhases: [addon/coredns, addon/kube-proxy]
patches: {directory: /etc/kubernetes/patches}
timeouts: {controlPlaneComponentHealthCheck: 5m0s}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
etcd: {local: {dataDir: /e, extraArgs: [{name: quota-backend-bytes, value: "8589934592"}]}}
networking: {serviceSubnet: 10.96.0.0/16, podSubnet: 10.244.0.0/16, dnsDomain: cluster.local}
kubernetesVersion: v1.20.2
controlPlaneEndpoint: "10.0.0.1:6443"
apiServer:
  extraArgs: [{name: audit-log-maxage, value: "30"}]
  extraVolumes: [{name: a, hostPath: /a, mountPath: /b, readOnly: true, pathType: Directory}]
  certSANs: [10.0.0.1]
controllerManager: {extraArgs: [{name: bind-address, value: 0.0.0.0}]}
scheduler: {}
dns: {imageTag: "1.7.0"}
certificatesDir: /etc/kubernetes/pki
imageRepository: k8s.gcr.io
featureGates: {IPv6DualStack: true}
clusterName: c1
"""
SKIP = "--skip-phases=addon/coredns,addon/kube-proxy"


@pytest.mark.parametrize(
    ("version", "api", "golden", "flags"),
    [
        (
            "v1.20.2",
            1,
            GOLDEN_INIT_OLD.format(api="v1beta1", ignore="", more=""),
            {"--ignore-preflight-errors=NumCPU,Mem", SKIP, "--experimental-patches=/etc/kubernetes/patches"},
        ),
        (
            "v1.20.2",
            None,
            GOLDEN_INIT_OLD.format(api="v1beta2", ignore=IGNORE, more=""),
            {SKIP, "--experimental-patches=/etc/kubernetes/patches"},
        ),
        ("v1.22.0", None, GOLDEN_INIT_OLD.format(api="v1beta3", ignore=IGNORE, more=PATCHES), set()),
        ("v1.31.0", None, GOLDEN_INIT_4, set()),
    ],
)
def test_init(version: str, api: int | None, golden: str, flags: set[str]) -> None:
    rendered = render.init_documents(INIT, CLUSTER, version, api)
    assert list(rendered.documents) == list(yaml.safe_load_all(golden))
    assert set(rendered.flags) == flags


GOLDEN_JOIN = """
apiVersion: kubeadm.k8s.io/{api}
kind: JoinConfiguration
nodeRegistration: {{name: cp-2, kubeletExtraArgs: {args}}}
caCertPath: /etc/kubernetes/pki/ca.crt
discovery:
  bootstrapToken: {{token: abcdef.0123456789abcdef, apiServerEndpoint: "10.0.0.1:6443", caCertHashes: ["sha256:00"]}}
  {timeout}
controlPlane: {{localAPIEndpoint: {{advertiseAddress: 10.0.0.3}}}}
{more}
"""
OLD_ARGS, NEW_ARGS = '{v: "2"}', '[{name: v, value: "2"}]'
NEW_MORE = (
    "skipPhases: [preflight]\ntimeouts: {controlPlaneComponentHealthCheck: 5m0s, discovery: 1m0s, tlsBootstrap: 5m0s}"
)


@pytest.mark.parametrize(
    ("version", "api", "golden", "flags"),
    [
        (
            "v1.20.2",
            1,
            GOLDEN_JOIN.format(api="v1beta1", args=OLD_ARGS, timeout="timeout: 1m0s", more=""),
            ("--skip-phases=preflight",),
        ),
        (
            "v1.20.2",
            None,
            GOLDEN_JOIN.format(api="v1beta2", args=OLD_ARGS, timeout="timeout: 1m0s", more=""),
            ("--skip-phases=preflight",),
        ),
        (
            "v1.30.0",
            None,
            GOLDEN_JOIN.format(api="v1beta3", args=OLD_ARGS, timeout="timeout: 1m0s", more="skipPhases: [preflight]"),
            (),
        ),
        ("v1.36.0", None, GOLDEN_JOIN.format(api="v1beta4", args=NEW_ARGS, timeout="", more=NEW_MORE), ()),
    ],
)
def test_join(version: str, api: int | None, golden: str, flags: tuple[str, ...]) -> None:
    rendered = render.join_documents(JOIN, version, api)
    assert list(rendered.documents) == list(yaml.safe_load_all(golden))
    assert rendered.flags == flags


def with_init(**more: Any) -> dict[str, Any]:
    return {**copy.deepcopy(INIT), **more}


LOST = [
    (
        "v1.20.2",
        {"nodeRegistration": {"imagePullPolicy": "Never"}},
        {},
        "initConfiguration.nodeRegistration.imagePullPolicy",
    ),
    (
        "v1.30.0",
        {"nodeRegistration": {"imagePullSerial": False}},
        {},
        "initConfiguration.nodeRegistration.imagePullSerial",
    ),
    ("v1.30.0", {"timeouts": {"etcdAPICallSeconds": 5}}, {}, "initConfiguration.timeouts.etcdAPICallSeconds"),
    ("v1.30.0", {"timeouts": {"discoverySeconds": 5}}, {}, "initConfiguration.timeouts.discoverySeconds"),
    (
        "v1.30.0",
        {},
        {"apiServer": {"extraEnvs": [{"name": "a", "value": "b"}]}},
        "clusterConfiguration.apiServer.extraEnvs",
    ),
    ("v1.30.0", {}, {"encryptionAlgorithm": "ECDSA-P256"}, "clusterConfiguration.encryptionAlgorithm"),
    ("v1.30.0", {}, {"certificateValidityPeriodDays": 30}, "clusterConfiguration.certificateValidityPeriodDays"),
    ("v1.30.0", {}, {"proxy": {"disabled": True}}, "clusterConfiguration.proxy.disabled"),
    ("v1.30.0", {}, {"dns": {"disabled": True}}, "clusterConfiguration.dns.disabled"),
    ("v1.18.0", {"patches": {"directory": "/p"}}, {}, "initConfiguration.patches.directory"),
    (
        "v1.30.0",
        {},
        {"scheduler": {"extraArgs": [{"name": "v", "value": "1"}, {"name": "v", "value": "2"}]}},
        "clusterConfiguration.scheduler.extraArgs[1]",
    ),
    ("v1.31.0", {"unknown": 1}, {}, "initConfiguration.unknown"),
]


@pytest.mark.parametrize(("version", "init", "cluster", "path"), LOST)
def test_a_loss_is_an_error_with_the_field_and_the_version(
    version: str, init: dict[str, Any], cluster: dict[str, Any], path: str
) -> None:
    with pytest.raises(ManifestError) as error:
        render.init_documents(init, cluster, version)
    assert [violation.path for violation in error.value.violations] == ["spec.kubeadmConfigSpec." + path]
    assert error.value.violations[0].fix


def test_what_older_kubeadm_does_anyway_is_left_out() -> None:
    init = {
        "nodeRegistration": {"imagePullPolicy": "IfNotPresent", "imagePullSerial": True},
        "timeouts": {"tlsBootstrapSeconds": 300},
    }
    cluster = {
        "encryptionAlgorithm": "RSA-2048",
        "certificateValidityPeriodDays": 365,
        "caCertificateValidityPeriodDays": 3650,
        "dns": {"disabled": False},
        "proxy": {"disabled": False},
    }
    rendered = render.init_documents(init, cluster, "v1.20.2")
    assert [
        {k: v for k, v in document.items() if k not in ("apiVersion", "kind")} for document in rendered.documents
    ] == [
        {"nodeRegistration": {}},
        {"dns": {}},
    ]
    newest = render.init_documents(init, cluster, "v1.31.0").documents
    assert newest[1]["certificateValidityPeriod"] == "8760h0m0s"
    assert newest[0]["nodeRegistration"]["imagePullSerial"] is True


def test_taints_none_and_absent_differ() -> None:
    for version in ("v1.20.2", "v1.31.0"):
        node = {"taints": []}
        assert render.init_documents({"nodeRegistration": node}, {}, version).documents[0]["nodeRegistration"] == node
        assert render.init_documents({"nodeRegistration": {}}, {}, version).documents[0]["nodeRegistration"] == {}


def test_dry_run_is_a_flag_before_it_is_a_field() -> None:
    assert render.init_documents({"dryRun": True}, {}, "v1.20.2").flags == ("--dry-run",)
    assert render.init_documents({"dryRun": True}, {}, "v1.31.0").documents[0]["dryRun"] is True


TRICKY = [
    *("0644", "1e3", "0o17", "08", "y", "No", "null", "~", "1_000", ".5", "0x1F", "2024-01-01", "1:30", "-", "<<", "="),
    *("", " a", "a: b", "#", "a\n", "a\nb", "{{ x }}", "*a", "&a", "!a", "\u00e9\U0001f600", "\t"),
]


@pytest.mark.parametrize("text", TRICKY)
def test_tricky_text_survives_both_readers(text: str) -> None:
    documents = [{"value": text, text or "empty": [text]}]
    written = yaml_documents.documents_text(documents)
    assert read_documents(written) == documents
    assert list(yaml.safe_load_all(written)) == documents


SCALARS = (
    st.text(st.characters(exclude_categories=["C", "Z"])) | st.integers(-(2**40), 2**40) | st.booleans() | st.none()
)


@given(st.lists(st.dictionaries(st.text(st.characters(exclude_categories=["C", "Z"])), SCALARS), min_size=1))
def test_text_survives_both_readers(documents: list[dict[str, Any]]) -> None:
    written = yaml_documents.documents_text(documents)
    assert list(yaml.safe_load_all(written)) == documents
    assert read_documents(written) == documents


def test_every_field_of_the_table_has_a_place() -> None:
    def walk(struct: fields.Struct, seen: list[str]) -> None:
        names = [field.hub_name for field in struct.fields]
        assert len(names) == len(set(names)), struct.name
        for field in struct.fields:
            assert fields.OLDEST <= field.since <= field.until <= fields.ENDLESS
            assert (field.struct is not None) == (field.type in (fields.STRUCT, fields.STRUCTS))
            if field.struct is not None and field.struct.name not in seen:
                walk(field.struct, [*seen, struct.name])

    for struct in fields.KINDS.values():
        walk(struct, [])
