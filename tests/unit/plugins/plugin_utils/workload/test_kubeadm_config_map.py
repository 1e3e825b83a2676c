# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kubeadm-config is edited in any API version, keeps what isn't known, and is left alone where nothing changes."""

from __future__ import annotations

import typing as t

import pytest
import yaml
from kubeadm_values import CLUSTER_STATUS

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import ManifestError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.workload.kubeadm_config_map import (
    PATH,
    ApiEndpoint,
    Wanted,
    plan,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.workload.writes import Plan, WorkloadError

# As kubeadm v1.20 writes it, but for what only a user writes.
V1BETA2 = """\
apiServer:
  extraArgs:
    audit-log-path: /var/log/audit.log
    v: "2"
  futureField: kept
  timeoutForControlPlane: 4m0s
apiVersion: kubeadm.k8s.io/v1beta2
certificatesDir: /etc/kubernetes/pki
clusterName: prod
controlPlaneEndpoint: 10.0.0.100:6443
controllerManager: {}
dns:
  type: CoreDNS
etcd:
  local:
    dataDir: /var/lib/etcd
featureGates:
  IPv6DualStack: true
  PublicKeysECDSA: true
imageRepository: k8s.gcr.io
kind: ClusterConfiguration
kubernetesVersion: v1.20.2
networking:
  dnsDomain: cluster.local
  podSubnet: 10.244.0.0/16
  serviceSubnet: 10.96.0.0/12
ourOwn:
- anything
scheduler: {}
"""
V1BETA4 = """\
apiServer:
  extraArgs:
  - name: v
    value: "2"
  - name: api-audiences
    value: a
  - name: api-audiences
    value: b
  extraEnvs:
  - name: PASSWORD
    value: hunter2
apiVersion: kubeadm.k8s.io/v1beta4
certificateValidityPeriod: 8760h0m0s
controllerManager: {}
dns: {}
etcd:
  local:
    dataDir: /data/etcd
    imageTag: 3.5.24-0
kind: ClusterConfiguration
kubernetesVersion: v1.31.4
networking: {}
proxy: {}
scheduler: {}
"""


def planned(text: t.Optional[str], wanted: Wanted, status: t.Optional[str] = None) -> Plan:
    """The plan for a ConfigMap with this content."""
    data = {"ClusterConfiguration": text, "ClusterStatus": status}
    item = {
        "metadata": {"resourceVersion": "7"},
        "data": {key: value for key, value in data.items() if value is not None},
    }
    return plan({PATH: item}, wanted)


def written(done: Plan, key: str = "ClusterConfiguration") -> dict[str, t.Any]:
    """What a plan writes under a key, as a reader of its own reads it."""
    [write] = done.writes
    assert (write.path, write.method, write.resource_version) == (PATH, "merge", "7")
    return dict(yaml.safe_load(write.document["data"][key]))


def edited(text: str, **changes: t.Any) -> dict[str, t.Any]:
    """A text with other values at its top."""
    return {**yaml.safe_load(text), **changes}


@pytest.mark.parametrize("text", [V1BETA2, V1BETA4])
def test_nothing_wanted_is_nothing_written(text: str) -> None:
    assert planned(text, Wanted(), CLUSTER_STATUS).writes == ()


@pytest.mark.parametrize("api", ["v1beta1", "v1beta2", "v1beta3"])
def test_an_edit_touches_nothing_else_in_any_version(api: str) -> None:
    text = V1BETA2.replace("v1beta2", api)
    scheduler = {"extraArgs": [{"name": "v", "value": "4"}, {"name": "profiling", "value": "false"}]}
    done = planned(text, Wanted(scheduler=scheduler))
    expected = {"extraArgs": {"profiling": "false", "v": "4"}}
    assert written(done) == edited(text, scheduler=expected)
    assert done.writes[0].document["data"]["ClusterConfiguration"] == text.replace(
        "scheduler: {}\n", 'scheduler:\n  extraArgs:\n    profiling: "false"\n    v: "4"\n'
    )
    assert [change.name for change in done.changes] == [
        "ConfigMap kube-system/kubeadm-config, key ClusterConfiguration"
    ]


def test_a_structure_is_replaced_but_for_what_only_the_stored_form_knows() -> None:
    done = planned(V1BETA2, Wanted(api_server={"extraArgs": {"v": "3"}, "certSANs": ["api.example.org"]}))
    assert written(done)["apiServer"] == {
        "extraArgs": {"v": "3"},
        "certSANs": ["api.example.org"],
        "futureField": "kept",
        "timeoutForControlPlane": "4m0s",
    }


def test_an_empty_structure_takes_away_what_is_there() -> None:
    leftovers = {"futureField": "kept", "timeoutForControlPlane": "4m0s"}
    assert written(planned(V1BETA2, Wanted(api_server={})))["apiServer"] == leftovers
    assert written(planned(V1BETA4, Wanted(api_server={})))["apiServer"] == {}


def test_a_field_that_is_taken_out_leaves_kubeadms_own_value() -> None:
    named = V1BETA4.replace("8760h", "720h")
    text = named + "encryptionAlgorithm: ECDSA-P256\nimageRepository: example.org\n"
    same = Wanted(certificate_validity_period_days=None, encryption_algorithm=None, image_repository=None)
    assert planned(text, same).writes == ()
    out = Wanted(certificate_validity_period_days=0, encryption_algorithm="", image_repository="")
    expected = yaml.safe_load(V1BETA4)
    del expected["certificateValidityPeriod"]
    assert written(planned(text, out)) == expected
    assert planned(yaml.safe_dump(expected), out).writes == ()
    assert planned(V1BETA4 + "encryptionAlgorithm: RSA-2048\n", out).writes == (), "kubeadm spells its own values out"


@pytest.mark.parametrize(("seconds", "stored"), [(240, None), (600, "10m0s"), (90, "1m30s"), (None, None)])
def test_the_health_timeout_of_every_join_before_v1beta4(seconds: t.Optional[int], stored: t.Optional[str]) -> None:
    done = planned(V1BETA2, Wanted(health_check_seconds=seconds))
    assert [written(done)["apiServer"]["timeoutForControlPlane"] if done.writes else None] == [stored]
    bare = V1BETA2.replace("  timeoutForControlPlane: 4m0s\n", "")
    done = planned(bare, Wanted(health_check_seconds=seconds))
    assert [written(done)["apiServer"].get("timeoutForControlPlane") if done.writes else None] == [stored]
    assert planned(V1BETA4, Wanted(health_check_seconds=seconds)).writes == ()


def test_the_same_in_other_words_is_no_change() -> None:
    wanted = Wanted(
        kubernetes_version="v1.20.2",
        api_server={
            "extraArgs": [{"name": "v", "value": "2"}, {"name": "audit-log-path", "value": "/var/log/audit.log"}]
        },
        controller_manager={},
        scheduler={},
        etcd={},
        feature_gates={"PublicKeysECDSA": True, "IPv6DualStack": True},
        image_repository="k8s.gcr.io",
    )
    assert planned(V1BETA2, wanted, CLUSTER_STATUS).writes == ()
    arguments = {
        "extraArgs": [{"name": "api-audiences", "value": value} for value in "ab"] + [{"name": "v", "value": "2"}]
    }
    envs = {"extraEnvs": [{"name": "PASSWORD", "value": "hunter2"}]}
    assert planned(V1BETA4, Wanted(api_server={**arguments, **envs})).writes == ()
    swapped = {
        "extraArgs": [{"name": "api-audiences", "value": value} for value in "ba"] + [{"name": "v", "value": "2"}]
    }
    assert planned(V1BETA4, Wanted(api_server={**swapped, **envs})).writes != ()


def test_an_upgrade_writes_the_targets_version() -> None:
    done = planned(V1BETA2, Wanted(kubernetes_version="v1.22.17"), CLUSTER_STATUS)
    expected = edited(
        V1BETA2,
        apiVersion="kubeadm.k8s.io/v1beta3",
        kubernetesVersion="v1.22.17",
        imageRepository="registry.k8s.io",
        dns={},
    )
    assert written(done) == expected
    assert list(done.writes[0].document["data"]) == ["ClusterConfiguration"]
    text = " ".join(done.warnings)
    assert "ourOwn is no field of kubeadm v1beta2" in text and "apiServer.futureField" in text
    assert "k8s.gcr.io is frozen" in text
    assert done.facts["api_version"] == "kubeadm.k8s.io/v1beta3"


def test_an_upgrade_to_lists_of_arguments() -> None:
    text = (
        V1BETA2.replace("v1beta2", "v1beta3").replace("  futureField: kept\n", "").replace("ourOwn:\n- anything\n", "")
    )
    done = planned(text.replace("IPv6DualStack", "EtcdLearnerMode"), Wanted(kubernetes_version="v1.33.0"))
    result = written(done)
    assert result["apiVersion"] == "kubeadm.k8s.io/v1beta4"
    assert result["apiServer"] == {
        "extraArgs": [{"name": "audit-log-path", "value": "/var/log/audit.log"}, {"name": "v", "value": "2"}]
    }
    assert result["featureGates"] == {"PublicKeysECDSA": True}
    text = " ".join(done.warnings)
    assert "featureGates: EtcdLearnerMode is removed" in text
    assert "apiServer.timeoutForControlPlane (4m0s) has no place in v1beta4" in text


def test_from_the_oldest_to_the_next() -> None:
    text = V1BETA2.replace("v1beta2", "v1beta1")
    done = planned(text, Wanted(kubernetes_version="v1.16.0"), CLUSTER_STATUS.replace("v1beta2", "v1beta1"))
    assert written(done)["dns"] == {"type": "CoreDNS"}
    assert written(done)["apiServer"]["timeoutForControlPlane"] == "4m0s"
    # kubeadm 1.22 reads no v1beta1 any more: both documents move together.
    assert written(done, "ClusterStatus")["apiVersion"] == "kubeadm.k8s.io/v1beta2"


def test_what_an_older_version_can_not_hold_is_refused_by_path() -> None:
    with pytest.raises(ManifestError) as refused:
        planned(V1BETA4, Wanted(kubernetes_version="v1.30.0"))
    text = str(refused.value)
    assert "apiServer.extraArgs" in text and "apiServer.extraEnvs" in text
    assert "hunter2" not in text


def test_gates_of_the_users_that_the_version_does_not_know_are_refused() -> None:
    with pytest.raises(WorkloadError, match="doesn't know NodeLocalCRISocket"):
        planned(V1BETA2, Wanted(kubernetes_version="v1.21.0", feature_gates={"NodeLocalCRISocket": True}))
    done = planned(V1BETA2, Wanted(feature_gates={}))
    assert written(done)["featureGates"] == {}


def test_a_version_newer_than_the_tables_keeps_gates_that_nobody_knows() -> None:
    text = V1BETA4.replace("kind: C", "featureGates:\n  Brandnew: true\n  EtcdLearnerMode: true\nkind: C")
    assert written(planned(text, Wanted(kubernetes_version="v1.99.0")))["featureGates"] == {"Brandnew": True}


def test_etcd_is_replaced_and_never_changes_sides() -> None:
    done = planned(V1BETA4, Wanted(etcd={"local": {"imageTag": "3.6.4-0", "dataDir": "/data/etcd"}}))
    assert written(done)["etcd"] == {"local": {"imageTag": "3.6.4-0", "dataDir": "/data/etcd"}}
    assert written(planned(V1BETA2, Wanted(etcd={"local": {"imageTag": "3.4.13-1"}})))["etcd"] == {
        "local": {"imageTag": "3.4.13-1", "dataDir": "/var/lib/etcd"}
    }
    for etcd in ({"external": {"endpoints": ["https://a:2379"]}}, {"local": {}, "external": {}}):
        with pytest.raises(WorkloadError, match="etcd"):
            planned(V1BETA2, Wanted(etcd=etcd))


def test_new_fields_of_the_newest_version() -> None:
    done = planned(V1BETA4, Wanted(certificate_validity_period_days=100, encryption_algorithm="ECDSA-P256"))
    assert written(done)["certificateValidityPeriod"] == "2400h0m0s"
    assert written(done)["encryptionAlgorithm"] == "ECDSA-P256"
    with pytest.raises(ManifestError, match="certificateValidityPeriodDays"):
        planned(V1BETA2, Wanted(certificate_validity_period_days=100))


def test_dns_keeps_what_only_kubeadm_says_of_it() -> None:
    dns = {"imageRepository": "example.org/dns", "imageTag": "v1.8.0"}
    assert written(planned(V1BETA2, Wanted(dns=dns)))["dns"] == {"type": "CoreDNS", **dns}
    text = V1BETA4.replace("dns: {}", "dns:\n  disabled: true")
    assert written(planned(text, Wanted(dns=dns)))["dns"] == {"disabled": True, **dns}


def test_entries_of_cluster_status() -> None:
    endpoints = (ApiEndpoint("cp-2"), ApiEndpoint("cp-3", "10.0.0.3", 7443), ApiEndpoint("cp-9"))
    done = planned(V1BETA2, Wanted(api_endpoints=endpoints), CLUSTER_STATUS)
    assert written(done, "ClusterStatus") == edited(
        CLUSTER_STATUS,
        apiEndpoints={
            "cp-1": {"advertiseAddress": "10.0.0.1", "bindPort": 6443},
            "cp-3": {"advertiseAddress": "10.0.0.3", "bindPort": 7443},
        },
    )
    assert planned(V1BETA2, Wanted(api_endpoints=(ApiEndpoint("cp-9"),)), CLUSTER_STATUS).writes == ()
    assert planned(V1BETA4, Wanted(api_endpoints=(ApiEndpoint("cp-9"),))).writes == ()
    made = planned(V1BETA2, Wanted(api_endpoints=(ApiEndpoint("cp-3", "10.0.0.3"),)))
    assert written(made, "ClusterStatus")["apiEndpoints"] == {
        "cp-3": {"advertiseAddress": "10.0.0.3", "bindPort": 6443}
    }
    with pytest.raises(WorkloadError, match="no ClusterStatus from Kubernetes"):
        planned(V1BETA4, Wanted(api_endpoints=(ApiEndpoint("cp-3", "10.0.0.3"),)))


def test_nothing_secret_is_shown() -> None:
    envs = {
        "extraEnvs": [{"name": "PASSWORD", "value": "hunter3"}],
        "extraArgs": [{"name": "some-token", "value": "s3cr3t"}],
    }
    done = planned(V1BETA4, Wanted(api_server=envs))
    [change] = done.changes
    shown = f"{change.before}{change.after}{done.facts}{done.message}{done.warnings}"
    assert "hunter" not in shown and "s3cr3t" not in shown and "[redacted]" in shown
    [only] = planned(
        V1BETA4, Wanted(api_server={**yaml.safe_load(V1BETA4)["apiServer"], "extraEnvs": envs["extraEnvs"]})
    ).changes
    assert only.before != only.after


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "no key ClusterConfiguration"),
        *((odd, "is no text") for odd in (7, True, ["a"], {"a": "b"})),
        ("a: [", "can't be read"),
        ("kind: A\nkind: B\n", "written twice"),
        (f"{V1BETA2}---\n{V1BETA2}", "there are 2"),
        ("- a\n", "a mapping"),
        (V1BETA2.replace("kind: Cluster", "kind: Init"), "kind is 'InitConfiguration'"),
        (V1BETA2.replace("kubeadm.k8s.io/", "example.org/"), "is not kubeadm's"),
        (V1BETA2.replace("v1beta2", "v1alpha3"), "kubeadm config migrate"),
        (V1BETA2.replace("v1beta2", "v1beta9"), "no kubeadm API version"),
        (V1BETA2 + "x: " + "y" * 3_000_000, "larger than 2 MB"),
        (
            "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [" + ",".join(["*a"] * 9) + "]\nc: [" + ",".join(["*b"] * 9999) + "]\n",
            "200000",
        ),
    ],
)
def test_what_is_no_configuration_is_refused(text: t.Any, says: str) -> None:
    with pytest.raises(WorkloadError, match=says):
        planned(text, Wanted())


def test_wrong_types_are_all_named() -> None:
    text = V1BETA2.replace("clusterName: prod", "clusterName: 7").replace("IPv6DualStack: true", "IPv6DualStack: maybe")
    with pytest.raises(ManifestError) as refused:
        planned(text, Wanted())
    assert "clusterName" in str(refused.value) and "IPv6DualStack" in str(refused.value)
    with pytest.raises(ManifestError, match="extraArg"):
        planned(V1BETA2, Wanted(api_server={"extraArg": {}}))


def test_a_missing_config_map_is_no_traceback() -> None:
    with pytest.raises(WorkloadError, match="there is no ConfigMap"):
        plan({PATH: None}, Wanted())
    with pytest.raises(ValueError, match="is not a version"):
        planned(V1BETA2, Wanted(kubernetes_version="1.22"))
