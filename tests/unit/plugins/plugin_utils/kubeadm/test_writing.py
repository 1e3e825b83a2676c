# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is written for a Kubernetes version: which parts, which API version, and kubeadm's own rules on them."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import ManifestError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.kubeadm.configuration import any_form, for_version

TOKEN = "abcdef.0123456789abcdef"
HASH = "sha256:7c2e69131a36ae2a042a339b33381c6d0d43887e2de83720eff5359e26aec866"
DISCOVERY = {"bootstrapToken": {"token": TOKEN, "apiServerEndpoint": "10.0.0.1:6443", "caCertHashes": [HASH]}}
SPEC: dict[str, Any] = {
    "clusterConfiguration": {"clusterName": "c1"},
    "initConfiguration": {"nodeRegistration": {"name": "cp-1"}, "skipPhases": ["addon/coredns"]},
    "joinConfiguration": {"discovery": DISCOVERY, "skipPhases": ["preflight"]},
    "kubeletConfiguration": {"failSwapOn": False},
}


def kinds_of(written: for_version.Written) -> list[str]:
    return [each["kind"] for each in written.documents]


def paths(source: Any, version: str = "v1.31.0", **options: Any) -> list[str]:
    with pytest.raises(ManifestError) as error:
        for_version.convert(source, version, **options)
    return [violation.path for violation in error.value.violations]


def test_a_command_takes_its_parts() -> None:
    init = for_version.convert(SPEC, "v1.20.2", command="init")
    assert kinds_of(init) == ["InitConfiguration", "ClusterConfiguration", "KubeletConfiguration"]
    assert init.flags == {"init": ("--skip-phases=addon/coredns",)}
    join = for_version.convert(SPEC, "v1.20.2", command="join")
    assert kinds_of(join) == ["JoinConfiguration"]
    assert join.flags == {"join": ("--skip-phases=preflight",)}


def test_the_cluster_status_is_no_part_of_a_command() -> None:
    source = {"clusterConfiguration": {"clusterName": "a"}, "clusterStatus": {"apiEndpoints": {}}}
    assert kinds_of(for_version.convert(source, "v1.20.2", command="init")) == ["ClusterConfiguration"]
    assert kinds_of(for_version.convert(source, "v1.20.2")) == ["ClusterConfiguration", "ClusterStatus"]


def test_parts_of_several_commands_need_one_to_be_named() -> None:
    with pytest.raises(ManifestError, match="init, join"):
        for_version.convert(SPEC, "v1.20.2")
    with pytest.raises(ManifestError, match="nothing here for `kubeadm reset`"):
        for_version.convert(SPEC, "v1.20.2", command="reset")


def test_one_part_can_be_written_alone() -> None:
    hub = any_form.read(
        {
            "clusterConfiguration": {"apiServer": {"certSANs": ["a"]}},
            "initConfiguration": {"timeouts": {"controlPlaneComponentHealthCheckSeconds": 300}},
        }
    ).hub
    old = for_version.write(hub, "v1.30.0", parts=("clusterConfiguration",))
    assert old.documents == (
        {
            "apiVersion": "kubeadm.k8s.io/v1beta3",
            "kind": "ClusterConfiguration",
            "apiServer": {"certSANs": ["a"], "timeoutForControlPlane": "5m0s"},
        },
    )
    new = for_version.write(hub, "v1.31.0", parts=("clusterConfiguration",))
    assert new.documents[0]["apiServer"] == {"certSANs": ["a"]}
    with pytest.raises(ManifestError, match="controlPlaneComponentHealthCheckSeconds"):
        for_version.write(hub, "v1.30.0", parts=("initConfiguration",))


def test_an_init_configuration_that_says_nothing_is_not_written() -> None:
    source = {"initConfiguration": {"timeouts": {"controlPlaneComponentHealthCheckSeconds": 300}}}
    written = for_version.convert(source, "v1.30.0")
    assert kinds_of(written) == ["ClusterConfiguration"]
    assert written.documents[0]["apiServer"] == {"timeoutForControlPlane": "5m0s"}
    assert kinds_of(for_version.convert({"initConfiguration": {}, "clusterConfiguration": {}}, "v1.30.0")) == [
        "InitConfiguration",
        "ClusterConfiguration",
    ]
    assert kinds_of(for_version.convert({"initConfiguration": {"skipPhases": ["a"]}}, "v1.20.2")) == [
        "InitConfiguration"
    ]


def test_a_joins_health_timeout_is_the_clusters_before_v1beta4() -> None:
    join = {"discovery": DISCOVERY, "timeouts": {"controlPlaneComponentHealthCheckSeconds": 300}}
    assert paths({"joinConfiguration": join}, "v1.30.0") == [
        "joinConfiguration.timeouts.controlPlaneComponentHealthCheckSeconds"
    ]
    both = {"joinConfiguration": join, "initConfiguration": {"timeouts": dict(join["timeouts"])}}
    assert kinds_of(for_version.convert(both, "v1.30.0", command="join")) == ["JoinConfiguration"]


def test_the_api_version_may_be_chosen_among_those_that_kubeadm_reads() -> None:
    source = {"clusterConfiguration": {"clusterName": "a"}}
    assert for_version.convert(source, "v1.21.0", api=1).api_version == "kubeadm.k8s.io/v1beta1"
    assert for_version.convert(source, "v1.36.0", api=3).api_version == "kubeadm.k8s.io/v1beta3"
    for version, api in (("v1.22.0", 1), ("v1.37.0", 3), ("v1.20.2", 3)):
        with pytest.raises(ManifestError, match="does not read"):
            for_version.convert(source, version, api=api)


@pytest.mark.parametrize(
    ("version", "api"),
    [("v1.22.0-alpha.0.734+ba502ee", 3), ("v1.31.0-rc.1", 4), ("v1.37.0", 4), ("1.20.2", 2)],
)
def test_the_api_version_goes_by_the_minor(version: str, api: int) -> None:
    written = for_version.convert({"clusterConfiguration": {"clusterName": "a"}}, version)
    assert (written.api, written.warnings) == (api, ())


def test_an_unknown_newer_kubernetes_gets_the_newest_api_and_a_warning() -> None:
    written = for_version.convert({"clusterConfiguration": {"clusterName": "a"}}, "v1.99.0")
    assert written.api == 4
    assert "newer than this collection knows" in written.warnings[0]


@pytest.mark.parametrize("version", ["v1.20", "latest", "", "v1.15.0", "v2.0.0"])
def test_no_kubernetes_version(version: str) -> None:
    with pytest.raises(ManifestError):
        for_version.convert({"clusterConfiguration": {}}, version)


def test_a_field_newer_than_its_api_version() -> None:
    external = {"endpoints": ["http://a:2379"], "httpEndpoints": ["http://a:2381"]}
    source = {"clusterConfiguration": {"etcd": {"external": external}}}
    assert paths(source, "v1.34.0") == ["clusterConfiguration.etcd.external.httpEndpoints"]
    assert for_version.convert(source, "v1.35.0").documents[0]["etcd"]["external"] == external
    phases = {"upgradeConfiguration": {"apply": {"skipPhases": ["addon"]}}}
    assert paths(phases, "v1.31.0") == ["upgradeConfiguration.apply.skipPhases"]
    assert for_version.convert(phases, "v1.32.0").documents[0]["apply"] == {"skipPhases": ["addon"]}


def test_allowed_losses_are_left_out_with_a_warning() -> None:
    arguments = [{"name": "v", "value": "1"}, {"name": "v", "value": "2"}]
    source = {"clusterConfiguration": {"scheduler": {"extraArgs": arguments, "extraEnvs": [{"name": "a"}]}}}
    assert paths(source, "v1.30.0", allowed_losses=["clusterConfiguration.scheduler.extraArg"]) == [
        "clusterConfiguration.scheduler.extraArgs[1]",
        "clusterConfiguration.scheduler.extraEnvs",
    ]
    written = for_version.convert(source, "v1.30.0", allowed_losses=["clusterConfiguration.scheduler"])
    assert written.documents[0]["scheduler"] == {"extraArgs": {"v": "2"}}
    assert [warning.partition(":")[0] for warning in written.warnings] == [
        "clusterConfiguration.scheduler.extraArgs[1]",
        "clusterConfiguration.scheduler.extraEnvs",
    ]


def test_component_documents_ride_along_untouched() -> None:
    text = """
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
nested: {list: [1, null, {a: "0644"}], "yes": "no"}
---
apiVersion: kubeadm.k8s.io/v1beta2
kind: InitConfiguration
---
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: ""
"""
    original = list(yaml.safe_load_all(text))
    for version in ("v1.20.2", "v1.36.0"):
        written = list(yaml.safe_load_all(for_version.convert(text, version).text))
        assert written[1:] == [original[0], original[2]]


RULES: list[tuple[dict[str, Any], list[str]]] = [
    (
        {"joinConfiguration": {}},
        ["joinConfiguration.discovery"],
    ),
    (
        {"joinConfiguration": {"discovery": {"bootstrapToken": {}}}},
        [
            "joinConfiguration.discovery.bootstrapToken.token",
            "joinConfiguration.discovery.bootstrapToken.apiServerEndpoint",
            "joinConfiguration.discovery.bootstrapToken.caCertHashes",
        ],
    ),
    (
        {
            "joinConfiguration": {
                "discovery": {**DISCOVERY, "file": {"kubeConfigPath": "relative"}},
                "nodeRegistration": {"name": "Upper_Case", "criSocket": "tcp://x", "ignorePreflightErrors": ["ALL"]},
                "caCertPath": "ca.pem",
                "controlPlane": {"certificateKey": "short", "localAPIEndpoint": {"bindPort": 70000}},
                "patches": {"directory": "relative"},
            }
        },
        [
            "joinConfiguration.nodeRegistration.criSocket",
            "joinConfiguration.nodeRegistration.ignorePreflightErrors[0]",
            "joinConfiguration.controlPlane.localAPIEndpoint.bindPort",
            "joinConfiguration.patches.directory",
            "joinConfiguration.caCertPath",
            "joinConfiguration.discovery",
            "joinConfiguration.discovery.file.kubeConfigPath",
            "joinConfiguration.nodeRegistration.name",
            "joinConfiguration.controlPlane.certificateKey",
            "joinConfiguration.caCertPath",
        ],
    ),
    (
        {
            "joinConfiguration": {
                "discovery": {"bootstrapToken": {**DISCOVERY["bootstrapToken"], "apiServerEndpoint": "host"}}
            }
        },
        ["joinConfiguration.discovery.bootstrapToken.apiServerEndpoint"],
    ),
    (
        {
            "clusterConfiguration": {
                "encryptionAlgorithm": "ROT13",
                "kubernetesVersion": "v1.20.2",
                "featureGates": {"EtcdLearnerModes": True},
                "networking": {"serviceSubnet": "10.0.0.0/8", "podSubnet": "10.244.0.0/29", "dnsDomain": "A_B"},
                "etcd": {
                    "local": {"dataDir": "relative", "serverCertSANs": ["_"]},
                    "external": {
                        "endpoints": ["http://a:2379"],
                        "caFile": "/ca",
                        "certFile": "/c",
                        "httpEndpoints": ["x"],
                    },
                },
                "apiServer": {"certSANs": ["not a name"], "extraVolumes": [{"name": "a"}]},
            },
        },
        [
            "clusterConfiguration.etcd",
            "clusterConfiguration.etcd.local.dataDir",
            "clusterConfiguration.etcd.local.serverCertSANs[0]",
            "clusterConfiguration.etcd.external",
            "clusterConfiguration.etcd.external.endpoints[0]",
            "clusterConfiguration.apiServer.certSANs[0]",
            "clusterConfiguration.apiServer.extraVolumes[0].hostPath",
            "clusterConfiguration.apiServer.extraVolumes[0].mountPath",
            "clusterConfiguration.featureGates.EtcdLearnerModes",
            "clusterConfiguration.networking.serviceSubnet",
            "clusterConfiguration.networking.podSubnet",
            "clusterConfiguration.networking.dnsDomain",
            "clusterConfiguration.encryptionAlgorithm",
            "clusterConfiguration.kubernetesVersion",
            "clusterConfiguration.etcd.external.httpEndpoints[0]",
        ],
    ),
    (
        {
            "initConfiguration": {
                "bootstrapTokens": [
                    {"token": "x", "ttlSeconds": 1, "expires": "2030-01-01T00:00:00Z", "usages": ["x"], "groups": ["y"]}
                ]
            }
        },
        [
            "initConfiguration.bootstrapTokens[0].token",
            "initConfiguration.bootstrapTokens[0].usages[0]",
            "initConfiguration.bootstrapTokens[0].groups",
            "initConfiguration.bootstrapTokens[0].groups[0]",
            "initConfiguration.bootstrapTokens[0].expires",
        ],
    ),
    (
        {"resetConfiguration": {"unmountFlags": ["MNT_FORCE", "X"], "certificatesDir": "pki", "criSocket": "x"}},
        ["resetConfiguration.unmountFlags[1]", "resetConfiguration.certificatesDir", "resetConfiguration.criSocket"],
    ),
    (
        {
            "upgradeConfiguration": {
                "apply": {"kubernetesVersion": "1.31", "imagePullPolicy": "Sometimes"},
                "node": {"patches": {"directory": "p"}, "ignorePreflightErrors": ["all"]},
                "diff": {"contextLines": -1},
            }
        },
        [
            "upgradeConfiguration.apply.imagePullPolicy",
            "upgradeConfiguration.apply.kubernetesVersion",
            "upgradeConfiguration.diff.contextLines",
            "upgradeConfiguration.node.ignorePreflightErrors[0]",
            "upgradeConfiguration.node.patches.directory",
        ],
    ),
]


@pytest.mark.parametrize(("source", "expected"), RULES, ids=range(len(RULES)))
def test_kubeadms_rules_are_applied_all_at_once(source: dict[str, Any], expected: list[str]) -> None:
    assert paths(source, "v1.35.0") == expected
    assert for_version.convert(source, "v1.35.0", validate=False).documents


def test_rules_that_go_by_version() -> None:
    dual = {"clusterConfiguration": {"networking": {"podSubnet": "10.244.0.0/16,fd00::/56"}}}
    assert paths(dual, "v1.20.2") == ["clusterConfiguration.networking.podSubnet"]
    assert for_version.convert(dual, "v1.21.0").documents
    dual["clusterConfiguration"]["featureGates"] = {"IPv6DualStack": True}
    assert for_version.convert(dual, "v1.20.2").documents
    assert paths(dual, "v1.24.0") == ["clusterConfiguration.featureGates.IPv6DualStack"]
    p384 = {"clusterConfiguration": {"encryptionAlgorithm": "ECDSA-P384"}}
    assert paths(p384, "v1.33.0") == ["clusterConfiguration.encryptionAlgorithm"]
    assert for_version.convert(p384, "v1.34.0").documents
    newer = {"clusterConfiguration": {"kubernetesVersion": "v1.32.0"}}
    assert paths(newer, "v1.31.5") == ["clusterConfiguration.kubernetesVersion"]
    channel = {"clusterConfiguration": {"kubernetesVersion": "stable-1"}}
    assert for_version.convert(channel, "v1.31.5").documents
    status = {"clusterStatus": {"apiEndpoints": {"cp-1": {"advertiseAddress": "x", "bindPort": 0}}}}
    assert paths(status, "v1.20.2") == [
        "clusterStatus.apiEndpoints.cp-1.advertiseAddress",
        "clusterStatus.apiEndpoints.cp-1.bindPort",
    ]
