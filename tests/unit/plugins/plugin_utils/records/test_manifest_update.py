# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a changed manifest may change of what is stored, from its files to the store."""

from __future__ import annotations

import base64
import copy
import typing as t
from pathlib import Path

import pytest
from stored_manifest import CONFIGURATION, Kept, example

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import ManifestError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.failure import ControlPlaneFailure
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.equivalence import keep_equivalent
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records import adopted_machines
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CLUSTER,
    CONTROL_PLANE,
)


@pytest.mark.parametrize("form", ["v1alpha3", "v1beta1", "v1beta2"])
def test_the_same_content_in_another_form_is_no_change(kept: Kept, form: str) -> None:
    """Changing a manifest's API version changes nothing in the store."""
    before = kept.files()
    assert kept.apply(example(form)) == []
    assert kept.files() == before


def test_defaults_written_out_and_flags_in_another_order_are_no_change(kept: Kept) -> None:
    """What a tool or a person spells out must not replace machines."""
    flags = [{"name": "v", "value": "2"}, {"name": "audit-log-path", "value": "-"}]
    kept.configuration["apiServer"]["extraArgs"] = flags
    assert kept.apply() == [
        f"change KubeadmControlPlane default/my-control-plane: {CONFIGURATION}.apiServer.extraArgs",
    ]
    before, plain = kept.files(), copy.deepcopy(kept.documents)
    flags.reverse()
    kept.configuration.update(
        certificatesDir="/etc/kubernetes/pki",
        caCertificateValidityPeriodDays=3650,
        etcd={"local": {"dataDir": "/var/lib/etcd"}},
        clusterName="my-cluster",
        kubernetesVersion="v1.20.2",
        networking={"podSubnet": "192.168.0.0/16", "serviceSubnet": "10.96.0.0/12", "dnsDomain": "cluster.local"},
    )
    kept.spec["rollout"]["strategy"]["rollingUpdate"]["maxSurge"] = "1"
    kept.spec["kubeadmConfigSpec"]["joinConfiguration"]["nodeRegistration"]["imagePullPolicy"] = "IfNotPresent"
    kept.documents[0]["spec"]["paused"] = False
    assert kept.apply() == []
    assert kept.files() == before
    # And back: a store in which they are written out keeps them.
    kept.store.modify(
        CONTROL_PLANE,
        "default",
        "my-control-plane",
        lambda stored: stored["spec"]["kubeadmConfigSpec"]["clusterConfiguration"].update(kept.configuration),
    )
    assert kept.apply(plain) == []


def test_what_only_looks_the_same_is_a_change(kept: Kept) -> None:
    """No taint is not kubeadm's taint, the order of a repeated flag decides, and false is not a gate left out."""
    join = kept.spec["kubeadmConfigSpec"]["joinConfiguration"]["nodeRegistration"]
    flags = [{"name": "a", "value": "1"}, {"name": "a", "value": "2"}]
    kept.spec["version"] = "v1.21.0"
    kept.configuration["featureGates"] = {"IPv6DualStack": True}
    kept.apply()
    join["taints"] = []
    kept.configuration["featureGates"] = {"IPv6DualStack": True, "PublicKeysECDSA": False}
    (change,) = kept.apply()
    assert "joinConfiguration.nodeRegistration.taints" in change and "featureGates.PublicKeysECDSA" in change
    assert keep_equivalent({"extraArgs": flags}, {"extraArgs": flags[::-1]}) == {"extraArgs": flags[::-1]}


MUTABLE: list[tuple[str, t.Callable[[Kept], t.Any]]] = [
    ("replicas", lambda kept: kept.spec.update(replicas=5)),
    ("version", lambda kept: kept.spec.update(version="v1.21.3")),
    ("rollout.after", lambda kept: kept.spec["rollout"].update(after="2026-01-31T10:00:00Z")),
    ("remediation", lambda kept: kept.spec.update(remediation={"maxRetry": 3})),
    ("machineNaming", lambda kept: kept.spec.update(machineNaming={"template": "{{ .cluster.name }}-{{ .random }}"})),
    ("machineTemplate.metadata", lambda kept: kept.spec["machineTemplate"].update(metadata={"labels": {"a": "b"}})),
    (
        "machineTemplate.spec.deletion",
        lambda kept: kept.spec["machineTemplate"]["spec"].update(deletion={"nodeDrainTimeoutSeconds": 1}),
    ),
    *(
        (
            f"kubeadmConfigSpec.{name}",
            lambda kept, name=name, value=value: kept.spec["kubeadmConfigSpec"].update({name: value}),
        )
        for name, value in {
            "files": [{"path": "/etc/a", "content": "a"}],
            "users": [{"name": "a"}],
            "verbosity": 4,
            "preKubeadmCommands": ["true"],
            "postKubeadmCommands": ["true"],
        }.items()
    ),
    *(
        (
            f"kubeadmConfigSpec.clusterConfiguration.{name}",
            lambda kept, name=name, value=value: kept.configuration.update({name: value}),
        )
        for name, value in {
            "apiServer": {"certSANs": ["a.example"]},
            "controllerManager": {"extraArgs": [{"name": "v", "value": "3"}]},
            "scheduler": {"extraArgs": [{"name": "v", "value": "3"}]},
            "etcd": {"local": {"imageTag": "3.4.14-0"}},
            "dns": {"imageTag": "1.8.0"},
            "imageRepository": "registry.example",
            "featureGates": {"IPv6DualStack": True},
        }.items()
    ),
    (
        "kubeadmConfigSpec.initConfiguration.bootstrapTokens",
        lambda kept: kept.spec["kubeadmConfigSpec"]["initConfiguration"].update(bootstrapTokens=[{"ttlSeconds": 60}]),
    ),
    (
        "kubeadmConfigSpec.joinConfiguration.caCertPath",
        lambda kept: kept.spec["kubeadmConfigSpec"]["joinConfiguration"].update(caCertPath="/etc/ca.crt"),
    ),
]


@pytest.mark.parametrize(("path", "change"), MUTABLE, ids=[path for path, _change in MUTABLE])
def test_what_may_change(kept: Kept, path: str, change: t.Callable[[Kept], t.Any]) -> None:
    """The allow-list, also on a running cluster."""
    kept.initialized()
    change(kept)
    changes = kept.apply()
    assert len(changes) == 1 and f"spec.{path}" in changes[0]


def test_everything_else_is_refused_by_path_with_old_and_new_value(kept: Kept) -> None:
    """All at once, in the manifest's own terms, and nothing is written, not even what may change."""
    kept.spec["replicas"] = 5
    kept.configuration.update(
        certificatesDir="/etc/other",
        caCertificateValidityPeriodDays=100,
        clusterName="a",
        controlPlaneEndpoint="api.example:6443",
    )
    found = kept.refused()
    assert set(found) == {
        f"{CONFIGURATION}.{name}"
        for name in ("certificatesDir", "caCertificateValidityPeriodDays", "clusterName", "controlPlaneEndpoint")
    }
    first = found[f"{CONFIGURATION}.certificatesDir"]
    assert first.value == "/etc/other"
    assert first.source.startswith(str(kept.file) + ":")
    name = found[f"{CONFIGURATION}.clusterName"]
    assert name.value == "a" and "it was 'my-cluster'" in name.rule
    assert "new cluster" in name.fix


def test_a_removed_field_is_named_with_its_old_value(tmp_path: Path) -> None:
    """Removing counts as changing."""
    kept = Kept(tmp_path)
    kept.configuration["controlPlaneEndpoint"] = "api.example:6443"
    kept.apply()
    del kept.configuration["controlPlaneEndpoint"]
    found = kept.refused()[f"{CONFIGURATION}.controlPlaneEndpoint"]
    assert "removed" in found.rule and "'api.example:6443'" in found.rule and found.value is None


def test_paths_are_told_as_they_are_written(kept: Kept) -> None:
    """In an older form the field's own name there is told."""
    kept.documents = example("v1beta1")
    kept.spec["kubeadmConfigSpec"]["clusterConfiguration"]["networking"] = {"podSubnet": "10.1.0.0/16"}
    found = kept.refused()
    assert found[f"{CONFIGURATION}.networking.podSubnet"].value == "10.1.0.0/16"
    assert "'192.168.0.0/16'" in found[f"{CONFIGURATION}.networking.podSubnet"].rule


def test_component_configurations_are_not_shown(kept: Kept) -> None:
    """Free-form documents may hold anything; they are refused without a value."""
    kept.spec["kubeadmConfigSpec"]["kubeletConfiguration"] = {"staticPodURLHeader": {"Authorization": ["hunter2"]}}
    with pytest.raises(ManifestError) as error:
        kept.apply()
    assert "hunter2" not in str(error.value)
    assert "kubelet ConfigMap" in str(error.value)


def test_the_clusters_references_stay(kept: Kept) -> None:
    """Another control plane under the same Cluster would leave the first one behind."""
    kept.documents[0]["spec"]["controlPlaneRef"]["name"] = "other"
    kept.documents[1]["metadata"]["name"] = "other"
    found = kept.refused()
    assert list(found) == ["spec.controlPlaneRef.name"]
    assert "'my-control-plane'" in found["spec.controlPlaneRef.name"].rule


def test_the_network_can_be_corrected_until_there_is_a_control_plane(kept: Kept) -> None:
    """Before initialization a wrong network is corrected; after it, it is what the machines have."""
    network = kept.documents[0]["spec"]["clusterNetwork"]
    network["pods"]["cidrBlocks"] = ["10.1.0.0/16"]
    assert kept.apply() == ["change Cluster default/my-cluster: spec.clusterNetwork.pods.cidrBlocks"]
    kept.initialized()
    network["pods"]["cidrBlocks"] = ["10.2.0.0/16"]
    found = kept.refused()["spec.clusterNetwork.pods.cidrBlocks"]
    assert found.value == "10.2.0.0/16" and "'10.1.0.0/16'" in found.rule


def test_the_endpoint_that_the_infrastructure_gave_may_be_written_down(kept: Kept) -> None:
    """Leaving it out keeps it, stating it changes nothing, another one is refused."""
    endpoint = {"host": "10.88.0.2", "port": 6443}
    kept.store.modify(
        CLUSTER, "default", "my-cluster", lambda stored: stored["spec"].update(controlPlaneEndpoint=endpoint)
    )
    kept.initialized()
    assert kept.apply() == []
    kept.documents[0]["spec"]["controlPlaneEndpoint"] = dict(endpoint)
    assert kept.apply() == []
    kept.configuration["controlPlaneEndpoint"] = "10.88.0.2:6443"
    kept.apply()
    del kept.configuration["controlPlaneEndpoint"]
    kept.documents[0]["spec"]["controlPlaneEndpoint"]["port"] = 443
    found = kept.refused()
    assert found["spec.controlPlaneEndpoint.port"].value == 443


def secret(key: str, certificate: str) -> dict[str, t.Any]:
    """A CA of the user's own."""
    metadata = {"name": "my-cluster-ca", "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "stringData": {"tls.crt": certificate, "tls.key": key},
    }


def test_the_ca_of_a_running_cluster_stays(kept: Kept) -> None:
    """Its certificate may be renewed, its key not be replaced; neither is ever shown."""
    kept.documents.append(secret("hunter2", "first"))
    kept.apply()
    kept.documents[-1] = secret("hunter3", "first")
    assert kept.apply() == ["change Secret default/my-cluster-ca: data.tls.key"]
    kept.initialized()
    kept.documents[-1] = secret("hunter3", "renewed")
    assert kept.apply() == ["change Secret default/my-cluster-ca: data.tls.crt"]
    kept.documents[-1] = secret("hunter4", "other")
    found = kept.refused()
    assert list(found) == ['data["tls.key"]'] and found['data["tls.key"]'].value is None
    assert "hunter" not in str(found)


def test_a_template_changed_under_its_name_is_told(kept: Kept) -> None:
    """It is no violation, and it replaces no machine, which people expect."""
    kept.documents[2]["spec"]["template"]["spec"]["image"] = "other"
    assert len(kept.apply()) == 1
    assert len(kept.warnings) == 1 and "new name" in kept.warnings[0]
    assert kept.apply() == [] and kept.warnings == []


STORED_BRACES: list[tuple[str, t.Any, t.Any]] = [
    ("kubeletConfiguration", {"providerID": "{{ instance_id }}"}, {"providerID": "acme://1"}),
    ("kubeletConfiguration", {"clusterDNS": ["{{ nope }}"]}, {"clusterDNS": ["10.96.0.10"]}),
    ("kubeProxyConfiguration", {"hostnameOverride": "{% if x %}"}, {"hostnameOverride": "a"}),
]


@pytest.mark.parametrize(("part", "braces", "mended"), STORED_BRACES)
def test_what_is_stored_and_refused_can_be_mended_or_removed(
    kept: Kept, part: str, braces: t.Any, mended: t.Any
) -> None:
    """An earlier release kept it: neither as it is nor changed would it be accepted otherwise."""
    kept.initialized()
    before = copy.deepcopy(kept.spec["kubeadmConfigSpec"].get(part) or {})

    def store(stored: dict[str, t.Any]) -> None:
        stored["spec"]["kubeadmConfigSpec"][part] = {**before, **braces}

    for now in (mended, {}):
        kept.store.modify(CONTROL_PLANE, "default", "my-control-plane", store)
        kept.spec["kubeadmConfigSpec"][part] = {**before, **braces}
        assert all(path.startswith(f"spec.kubeadmConfigSpec.{part}.") for path in kept.refused())
        kept.spec["kubeadmConfigSpec"][part] = {**before, **now}
        (change,) = kept.apply()
        assert part in change
        assert [f"{part} is mended in the manifest only" in each for each in kept.warnings] == [True]


def test_beside_what_is_refused_nothing_else_may_change(kept: Kept) -> None:
    kept.initialized()
    kept.store.modify(
        CONTROL_PLANE,
        "default",
        "my-control-plane",
        lambda stored: stored["spec"]["kubeadmConfigSpec"].update(kubeletConfiguration={"a": "{{ nope }}", "b": "1"}),
    )
    kept.spec["kubeadmConfigSpec"]["kubeletConfiguration"] = {"a": "1", "b": "2"}
    assert set(kept.refused()) == {"spec.kubeadmConfigSpec.kubeletConfiguration.b"}


def test_what_joining_machines_take_from_the_cluster_is_mended_only_before_there_is_one(kept: Kept) -> None:
    """With another certificatesDir than the ConfigMap's a machine of the rollout could not join."""
    path = f"{CONFIGURATION}.certificatesDir"

    def store(stored: dict[str, t.Any]) -> None:
        stored["spec"]["kubeadmConfigSpec"]["clusterConfiguration"]["certificatesDir"] = "/etc/{{ region }}"

    kept.store.modify(CONTROL_PLANE, "default", "my-control-plane", store)
    kept.configuration["certificatesDir"] = "/etc/pki"
    (change,) = kept.apply()
    assert path in change
    kept.store.modify(CONTROL_PLANE, "default", "my-control-plane", store)
    kept.initialized()
    assert "ConfigMap kube-system/kubeadm-config" in kept.refused()[path].fix


def test_what_is_refused_beside_another_stored_value_only_may_not_change(kept: Kept) -> None:
    """The manifest could keep it: here the stored flag, which may change, was edited."""
    kept.configuration["networking"] = {"podSubnet": "192.168.0.0/16"}
    kept.apply()
    flags = [{"name": "node-cidr-mask-size", "value": "8"}]

    def edit(stored: dict[str, t.Any]) -> None:
        stored["spec"]["kubeadmConfigSpec"]["clusterConfiguration"]["controllerManager"] = {"extraArgs": flags}

    kept.store.modify(CONTROL_PLANE, "default", "my-control-plane", edit)
    kept.configuration["networking"] = {"podSubnet": "10.1.0.0/16"}
    assert f"{CONFIGURATION}.networking.podSubnet" in kept.refused()


def test_an_adopted_configuration_that_the_manifest_leaves_out_is_not_mended(kept: Kept) -> None:
    def adopted(stored: dict[str, t.Any]) -> None:
        stored["metadata"]["annotations"] = {adopted_machines.REBUILT: "true"}
        stored["spec"]["kubeadmConfigSpec"]["kubeletConfiguration"] = {"maxPods": 50}

    kept.store.modify(CONTROL_PLANE, "default", "my-control-plane", adopted)
    del kept.spec["kubeadmConfigSpec"]
    kept.apply()
    assert kept.warnings == []
    no = {adopted_machines.REBUILT: "false"}
    kept.store.modify(
        CONTROL_PLANE, "default", "my-control-plane", lambda stored: stored["metadata"].update(annotations=no)
    )
    assert kept.refused()


@pytest.mark.parametrize("in_the_store", [False, True])
def test_templates_in_secrets_are_refused_before_anything_is_removed(kept: Kept, in_the_store: bool) -> None:
    """Nothing of their contents is shown; what is encoded or no text is left alone."""
    values = {
        "k": "x\ntopsecret {{ topsecret.nope }}",
        "p": "{% if topsecret %}",
        "good": "{{ region }}\n{# topsecret #}",
        "raw": "{{ x }}",
    }
    data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
    data["binary"] = base64.b64encode(b"\xff{{ nope }}").decode()
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "own", "namespace": "default"},
        "type": "Opaque",
        "data": data,
    }
    kept.spec["kubeadmConfigSpec"]["files"] = [
        {"path": f"/{key}", "contentFrom": {"secret": {"name": "own", "key": key}}} for key in ("k", "good", "binary")
    ] + [{"path": "/raw", "encoding": "base64", "contentFrom": {"secret": {"name": "own", "key": "raw"}}}]
    kept.spec["kubeadmConfigSpec"]["users"] = [{"name": "u", "passwdFrom": {"secret": {"name": "own", "key": "p"}}}]
    if in_the_store:
        kept.store.create(secret)
    else:
        kept.documents.append(secret)
    found = kept.refused()
    assert set(found) == {
        "spec.kubeadmConfigSpec.files[0].contentFrom",
        "spec.kubeadmConfigSpec.users[0].passwdFrom",
    }
    kept.spec["kubeadmConfigSpec"]["files"][0]["encoding"] = "base64"
    del kept.spec["kubeadmConfigSpec"]["users"]
    kept.apply()
    (warning,) = kept.warnings
    assert "files[1].contentFrom: Secret own, key good, the comment {# ... #} that begins in line 2" in warning
    file = found["spec.kubeadmConfigSpec.files[0].contentFrom"].text()
    assert "Secret own, key k, a template in line 2: this is no instance data" in file
    assert not any("topsecret" in each for each in (warning, *(each.text() for each in found.values())))


def test_a_stored_secret_without_base64_is_told_by_its_key(kept: Kept) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "own", "namespace": "default"},
        "type": "Opaque",
        "data": {"k": "topsecret"},
    }
    kept.spec["kubeadmConfigSpec"]["files"] = [{"path": "/k", "contentFrom": {"secret": {"name": "own", "key": "k"}}}]
    kept.store.create(secret)
    with pytest.raises(ControlPlaneFailure, match=r"Secret default/own has no base64 in data\['k'\]") as failure:
        kept.apply()
    assert "topsecret" not in str(failure.value)
