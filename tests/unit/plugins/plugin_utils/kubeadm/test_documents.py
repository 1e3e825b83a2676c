# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading kubeadm's configuration: every form, and every kind of bad input."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import ManifestError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.kubeadm.configuration import any_form, for_version

TOKEN = "abcdef.0123456789abcdef"


def problems(source: Any) -> list[tuple[str, str]]:
    """Path (with the line, where there is one) and rule of everything that is wrong."""
    with pytest.raises(ManifestError) as error:
        any_form.read(source)
    assert all(violation.fix for violation in error.value.violations)
    return [
        (
            violation.source.rpartition(":")[2] + ":" + violation.path if violation.source else violation.path,
            violation.rule,
        )
        for violation in error.value.violations
    ]


def document(kind: str = "InitConfiguration", api: str = "kubeadm.k8s.io/v1beta3", **content: Any) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, **content}


BAD_TEXT = [
    ("", "no document"),
    ("---\n---\n", "no document"),
    ("a: [", "not YAML"),
    ("a: b: c", "not YAML"),
    ("\x00", "not YAML"),
    ("a: 1\na: 2\n", "'a' is written twice"),
    ("a: *b\n", "has no anchor"),
    ("a: &b [*b]\n", "contains itself"),
    ("!!python/object/apply:os.system [ls]\n", "tag"),
    ("1: a\n", "key is not text"),
    ("[" * 70 + "]" * 70, "deeper than 64"),
    (
        "a: &a [1,1,1,1,1,1,1,1,1,1]\n"
        + "\n".join(f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 10)}]" for i in range(8)),
        "expands to more than",
    ),
    ("x" * (1024 * 1024 + 1), "larger than 1 MiB"),
    ("a: " + "é" * (10 * 1024 * 1024), "larger than 1 MiB"),
]


def test_a_million_mistakes_are_told_as_the_first_two_hundred() -> None:
    """Bounded time and a message that can be read, however much is wrong."""
    gates = "".join(f"  k{number}: 1\n" for number in range(40_000))
    found = problems(f"apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\nfeatureGates:\n{gates}")
    assert len(found) == 201
    assert found[199][0] == "203:ClusterConfiguration.featureGates.k199"
    assert "more than 200 problems" in found[200][1]


def test_a_text_of_very_many_values_is_refused_while_it_is_read() -> None:
    ((_path, rule),) = problems("a: [" + "1," * 300_000 + "]")
    assert "more than 200000 values" in rule


@pytest.mark.parametrize(("text", "says"), BAD_TEXT, ids=[says for _text, says in BAD_TEXT])
def test_bad_text_is_one_clear_error(text: str, says: str) -> None:
    ((_path, rule),) = problems(text)
    assert says in rule


def test_every_problem_is_told_with_path_and_line() -> None:
    text = """\
apiVersion: kubeadm.k8s.io/v1beta3
kind: InitConfiguration
nodeRegistration:
  name: 5
  taints: {}
  kubeletExtraArgs:
    v: 2
    w: [a]
bootstrapTokens:
- token: %s
  ttl: 1 day
- text
localAPIEndpoint:
  bindPort: "6443"
---
apiVersion: kubeadm.k8s.io/v1beta3
kind: ClusterConfiguration
featureGates: {A: "true"}
apiServer:
  extraArgs: [{name: a, value: b}]
  certSANs: [10]
  timeoutForControlPlane: 240
"""
    found = problems(text % TOKEN)
    assert [path for path, _rule in found] == [
        "4:InitConfiguration.nodeRegistration.name",
        "5:InitConfiguration.nodeRegistration.taints",
        "7:InitConfiguration.nodeRegistration.kubeletExtraArgs.v",
        "8:InitConfiguration.nodeRegistration.kubeletExtraArgs.w",
        "11:InitConfiguration.bootstrapTokens[0].ttl",
        "12:InitConfiguration.bootstrapTokens[1]",
        "14:InitConfiguration.localAPIEndpoint.bindPort",
        "18:ClusterConfiguration.featureGates.A",
        "20:ClusterConfiguration.apiServer.extraArgs",
        "21:ClusterConfiguration.apiServer.certSANs[0]",
        "22:ClusterConfiguration.apiServer.timeoutForControlPlane",
    ]


def test_losses_of_a_text_are_told_with_their_line_too() -> None:
    text = """\
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
apiServer:
  extraArgs:
  - {name: v, value: "1"}
  - {name: v, value: "2"}
  extraEnvs: [{name: a, value: b}]
"""
    with pytest.raises(ManifestError) as error:
        for_version.convert(text, "v1.30.0")
    assert [(each.source, each.path) for each in error.value.violations] == [
        ("kubeadm configuration:6", "ClusterConfiguration.apiServer.extraArgs[1]"),
        ("kubeadm configuration:7", "ClusterConfiguration.apiServer.extraEnvs"),
    ]


BAD_DOCUMENTS: list[tuple[list[Any], str, str]] = [
    ([], "", "no document"),
    ([5], "documents[0]", "a mapping, not a number"),
    ([{"kind": "InitConfiguration"}], "documents[0]", "no apiVersion"),
    ([{"apiVersion": "kubeadm.k8s.io/v1beta3"}], "documents[0]", "no kind"),
    ([{"apiVersion": 1, "kind": "InitConfiguration"}], "documents[0]", "no apiVersion"),
    ([document(), document()], "InitConfiguration", "two documents of the kind InitConfiguration"),
    (
        [document("ClusterConfiguration"), document("ClusterConfiguration", "kubeadm.k8s.io/v1beta2")],
        "ClusterConfiguration",
        "two documents of the kind ClusterConfiguration",
    ),
    ([document(), document("JoinConfiguration")], "JoinConfiguration", "a machine does one of both"),
    ([document("ResetConfiguration")], "ResetConfiguration.kind", "v1beta3 has no kind ResetConfiguration"),
    ([document("ClusterStatus")], "ClusterStatus.kind", "v1beta3 has no kind ClusterStatus"),
    ([document("Initconfiguration")], "Initconfiguration.kind", "has no kind Initconfiguration"),
    ([document(api="kubeadm.k8s.io/v1alpha3")], "InitConfiguration.apiVersion", "older than what is read here"),
    ([document(api="kubeadm.k8s.io/v1")], "InitConfiguration.apiVersion", "experimental"),
    ([document(api="kubeadm.k8s.io/v1beta9")], "InitConfiguration.apiVersion", "no kubeadm API version"),
    ([document("Cluster", "kops.k8s.io/v1alpha2")], "Cluster", "not a document of kubeadm's"),
    ([document("InitConfiguration", "v1beta3")], "InitConfiguration", "not a document of kubeadm's"),
    ([document("ConfigMap", "v1")], "ConfigMap", "not a document of kubeadm's"),
    ([document("KubeletConfiguration", "kubeproxy.config.k8s.io/v1alpha1")], "KubeletConfiguration", "not a document"),
    ([document(dns={"type": "x"}), *[document()] * 64], "", "more than 64 documents"),
    (
        [document("ClusterConfiguration", "kubeadm.k8s.io/v1beta2", dns={"type": "kube-dns"})],
        "ClusterConfiguration.dns.type",
        "CoreDNS only",
    ),
]


@pytest.mark.parametrize(("source", "path", "says"), BAD_DOCUMENTS, ids=[case[2] for case in BAD_DOCUMENTS])
def test_bad_documents(source: list[Any], path: str, says: str) -> None:
    ((found, rule),) = problems(source)
    assert (found, says in rule) == (path, True), rule


def test_advice_for_what_is_near() -> None:
    def fix(source: Any) -> str:
        with pytest.raises(ManifestError) as error:
            any_form.read(source)
        return error.value.violations[0].fix

    assert "data.ClusterConfiguration" in fix(document("ConfigMap", "v1"))
    assert "spec.kubeadmConfigSpec" in fix(document("KubeadmControlPlane", "controlplane.cluster.x-k8s.io/v1beta1"))
    assert "kubeadm v1.14" in fix(document(api="kubeadm.k8s.io/v1alpha3"))
    assert fix({"initConfiguration": {"noderegistration": {}}}) == "Did you mean nodeRegistration?"
    assert (
        "Did you mean certSANs?"
        in any_form.read(document("ClusterConfiguration", apiServer={"certSans": []})).warnings[0]
    )
    assert "field of v1beta4 on" in any_form.read(document(timeouts={})).warnings[0]


@pytest.mark.parametrize("source", [None, 5, True, b"a: b", object()])
def test_what_is_no_configuration_at_all(source: Any) -> None:
    assert problems(source)


@pytest.mark.parametrize(
    ("source", "path"),
    [
        ({}, ""),
        ({"files": []}, ""),
        ({"initconfiguration": {}}, "initconfiguration"),
        ({"initConfiguration": []}, "initConfiguration"),
        ({"initConfiguration": {"kind": "JoinConfiguration"}}, "initConfiguration.kind"),
        ({"kubeletConfiguration": []}, "kubeletConfiguration"),
        ({"kubeletConfiguration": {"kind": "KubeProxyConfiguration"}}, "kubeletConfiguration"),
        ({"clusterConfiguration": {"useHyperKubeImage": True}}, "clusterConfiguration.useHyperKubeImage"),
        (
            {"clusterConfiguration": {"certificateValidityPeriod": "30h"}},
            "clusterConfiguration.certificateValidityPeriod",
        ),
        ({"clusterConfiguration": {"unconverted": {"x": 1}}}, "clusterConfiguration.unconverted"),
        (
            {
                "clusterConfiguration": {"apiServer": {"timeoutForControlPlane": "5m"}},
                "initConfiguration": {"timeouts": {"controlPlaneComponentHealthCheckSeconds": 5}},
            },
            "clusterConfiguration.apiServer.timeoutForControlPlane",
        ),
    ],
)
def test_bad_hubs(source: dict[str, Any], path: str) -> None:
    assert [found for found, _rule in problems(source)] == [path]


def test_the_older_forms_of_a_kubeadm_config_spec_are_understood() -> None:
    classic = {
        "clusterConfiguration": {
            "apiVersion": "kubeadm.k8s.io/v1beta1",
            "kind": "ClusterConfiguration",
            "apiServer": {"timeoutForControlPlane": "5m", "extraArgs": {"b": "2", "a": "1"}},
            "dns": {"type": "CoreDNS"},
            "useHyperKubeImage": False,
        },
        "initConfiguration": {"bootstrapTokens": [{"ttl": "15m"}]},
        "joinConfiguration": {"discovery": {"timeout": "1m"}},
        "files": [],
        "verbosity": 5,
    }
    found = any_form.read(classic)
    assert found.hub == {
        "clusterConfiguration": {
            "apiServer": {"extraArgs": [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}]},
            "dns": {},
        },
        "initConfiguration": {
            "bootstrapTokens": [{"ttlSeconds": 900}],
            "timeouts": {"controlPlaneComponentHealthCheckSeconds": 300},
        },
        "joinConfiguration": {
            "discovery": {},
            "timeouts": {"controlPlaneComponentHealthCheckSeconds": 300, "discoverySeconds": 60},
        },
    }
    assert found.warnings == ("files, verbosity: not part of kubeadm's configuration, left out",)


def test_warnings_are_not_endless() -> None:
    found = any_form.read(document(**{f"unknown{number}": 1 for number in range(150)}))
    assert len(found.warnings) == 101
    assert found.warnings[-1].startswith("and 50 more")


def test_text_may_hold_the_hub() -> None:
    assert any_form.read("initConfiguration: {nodeRegistration: {taints: null}}").hub == {
        "initConfiguration": {"nodeRegistration": {}}
    }


def test_a_map_of_arguments_becomes_a_list_in_the_order_of_names() -> None:
    source = document("ClusterConfiguration", scheduler={"extraArgs": {"b": "2", "a": "1", "c": ""}})
    assert [each["name"] for each in any_form.read(source).hub["clusterConfiguration"]["scheduler"]["extraArgs"]] == [
        "a",
        "b",
        "c",
    ]


@pytest.mark.parametrize("api", [1, 2, 3, 4])
def test_taints_have_three_values(api: int) -> None:
    for written, hub in (({}, {}), ({"taints": None}, {}), ({"taints": []}, {"taints": []})):
        source = document(api=f"kubeadm.k8s.io/v1beta{api}", nodeRegistration=written)
        found = any_form.read(source).hub["initConfiguration"]["nodeRegistration"]
        assert found == hub
        back = for_version.write(
            {"initConfiguration": {"nodeRegistration": found}}, f"v1.{[16, 21, 22, 31][api - 1]}.0", api
        )
        assert back.documents[0]["nodeRegistration"] == hub


def test_durations_finer_than_the_hubs_stay_in_their_version() -> None:
    source = document(
        "ClusterConfiguration",
        "kubeadm.k8s.io/v1beta4",
        certificateValidityPeriod="100h",
        caCertificateValidityPeriod="48h",
    )
    found = any_form.read(source)
    assert found.hub["clusterConfiguration"]["caCertificateValidityPeriodDays"] == 2
    assert "100h" in found.warnings[0]
    written = for_version.write(found.hub, "v1.31.0").documents[0]
    assert written["certificateValidityPeriod"] == "100h"
    # What is set later wins over what was kept.
    found.hub["clusterConfiguration"]["certificateValidityPeriodDays"] = 3
    assert for_version.write(found.hub, "v1.31.0").documents[0]["certificateValidityPeriod"] == "72h0m0s"


def test_hyperkube_is_kept_where_kubeadm_has_it() -> None:
    found = any_form.read(document("ClusterConfiguration", "kubeadm.k8s.io/v1beta1", useHyperKubeImage=True))
    assert "no replacement" in found.warnings[0]
    assert for_version.write(found.hub, "v1.16.0").documents[0]["useHyperKubeImage"] is True
    with pytest.raises(ManifestError, match="useHyperKubeImage"):
        for_version.write(found.hub, "v1.22.0")


def test_secrets_are_never_quoted() -> None:
    secret = "s3cret!"
    source = document("JoinConfiguration", discovery={"bootstrapToken": {"token": secret}, "tlsBootstrapToken": secret})
    with pytest.raises(ManifestError) as error:
        for_version.convert([source], "v1.30.0")
    assert "not a bootstrap token" in str(error.value)
    assert secret not in str(error.value)


def test_an_unknown_field_of_an_argument_is_no_exception() -> None:
    argument = {"name": "v", "value": "1", "valueFrom": "x"}
    source = document("ClusterConfiguration", "kubeadm.k8s.io/v1beta4", scheduler={"extraArgs": [argument]})
    found = any_form.read(source)
    assert for_version.write(found.hub, "v1.31.0").documents == (source,)
    with pytest.raises(ManifestError, match=r"extraArgs\[0\]\.valueFrom"):
        for_version.write(found.hub, "v1.30.0")
