# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which machines are up to date, and why not (docs/reference/cluster_api.md, "Up to date or not")."""

from __future__ import annotations

from typing import Any, Callable

import pytest
from builders import Builder, at, healthy

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.rollout.uptodate import Desired, outdated
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.typed_snapshot import (
    read_snapshot,
)

Change = Callable[[Builder], Any]


def reasons(builder: Builder, name: str = "m2") -> list[str]:
    view = read_snapshot(builder.build())
    machine = next(each for each in view.machines if each.name == name)
    return [each.reason for each in outdated(view, Desired(view), machine)]


def spec(builder: Builder) -> Any:
    return builder.spec["kubeadmConfigSpec"]


def config(builder: Builder, name: str = "m2") -> Any:
    return builder.entry(name)["kubeadmConfig"]["spec"]


def created(builder: Builder, name: str = "m2") -> Any:
    return builder.entry(name)["machine"]["metadata"]["creationTimestamp"]


def made_for(builder: Builder, note: str) -> None:
    """A rollout began 60 s ago; by the store's clock, which is behind, the machine is older."""
    builder.spec.update(rollout={"after": at(60)})
    builder.annotate("kubeadm.control-plane/made-for-rollout-after", note, "m2")


CASES: list[tuple[str, list[str], Change]] = [
    ("nothing changed", [], lambda b: None),
    ("version", ["VersionDiffers"], lambda b: b.spec.update(version="v1.21.0")),
    ("rollout after passed", ["RolloutAfterExpired"], lambda b: b.spec.update(rollout={"after": at(60)})),
    ("rollout after to come", [], lambda b: b.spec.update(rollout={"after": at(-60)})),
    ("rollout after this very second", [], lambda b: b.spec.update(rollout={"after": at(0)})),
    ("rollout after that it was made for", [], lambda b: made_for(b, at(60))),
    ("rollout after an earlier one that it was made for", ["RolloutAfterExpired"], lambda b: made_for(b, at(61))),
    ("rollout after beside a note that is no time", ["RolloutAfterExpired"], lambda b: made_for(b, "now")),
    ("rollout after before the machine", [], lambda b: b.spec.update(rollout={"after": at(7200)})),
    ("rollout after the machine's own second", [], lambda b: b.spec.update(rollout={"after": created(b)})),
    (
        "argument",
        ["KubeadmConfigDiffers"],
        lambda b: spec(b)["clusterConfiguration"]["apiServer"]["extraArgs"][0].update(value="9"),
    ),
    ("pre command", ["KubeadmConfigDiffers"], lambda b: spec(b).update(preKubeadmCommands=["true"])),
    (
        "join registration",
        ["KubeadmConfigDiffers"],
        lambda b: spec(b)["joinConfiguration"]["nodeRegistration"].update(kubeletExtraArgs=[]),
    ),
    (
        "init registration of a joined machine",
        [],
        lambda b: spec(b)["initConfiguration"].update(nodeRegistration={"name": "x"}),
    ),
    ("endpoint", [], lambda b: spec(b)["clusterConfiguration"].update(controlPlaneEndpoint="x:6443")),
    ("dns", [], lambda b: spec(b)["clusterConfiguration"].update(dns={"imageTag": "v1"})),
    ("discovery", [], lambda b: config(b)["joinConfiguration"].update(discovery={"bootstrapToken": {}})),
    ("CA path", [], lambda b: config(b)["joinConfiguration"].update(caCertPath="/x")),
    ("empty list", [], lambda b: spec(b).update(files=[], users=None, preKubeadmCommands=[])),
    ("default format", [], lambda b: config(b).update(format="cloud-config")),
    ("other format", ["KubeadmConfigDiffers"], lambda b: config(b).update(format="ignition")),
    (
        "default gate",
        [],
        lambda b: config(b)["clusterConfiguration"].update(featureGates={"ControlPlaneKubeletLocalMode": True}),
    ),
    (
        "gate",
        ["KubeadmConfigDiffers"],
        lambda b: config(b)["clusterConfiguration"].update(featureGates={"EtcdLearnerMode": True}),
    ),
    (
        "taints absent against empty",
        ["KubeadmConfigDiffers"],
        lambda b: spec(b)["joinConfiguration"]["nodeRegistration"].update(taints=[]),
    ),
    (
        "empty part of a component's configuration",
        ["KubeadmConfigDiffers"],
        lambda b: spec(b).update(kubeletConfiguration={"evictionHard": {}}),
    ),
    ("component timeout", [], lambda b: config(b)["joinConfiguration"].update(timeouts={"tlsBootstrapSeconds": 5})),
    (
        "other timeout",
        ["KubeadmConfigDiffers"],
        lambda b: spec(b)["joinConfiguration"].update(timeouts={"etcdAPICallSeconds": 5}),
    ),
    ("labels", [], lambda b: b.spec["machineTemplate"].update(metadata={"labels": {"a": "b"}})),
    ("drain timeout", [], lambda b: b.spec["machineTemplate"]["spec"].update(deletion={"nodeDrainTimeoutSeconds": 5})),
    (
        "template",
        ["InfrastructureDiffers"],
        lambda b: b.spec["machineTemplate"]["spec"]["infrastructureRef"].update(name="big"),
    ),
    (
        "template kind",
        ["InfrastructureDiffers"],
        lambda b: b.spec["machineTemplate"]["spec"]["infrastructureRef"].update(kind="OtherTemplate"),
    ),
    ("template's name alone", [], lambda b: provenance(b, name="another")),
    ("template's kind alone", [], lambda b: provenance(b, kind="OtherTemplate.infrastructure.example")),
    ("template's name and an empty kind", [], lambda b: provenance(b, name="another", kind="")),
    (
        "both of another template",
        ["InfrastructureDiffers"],
        lambda b: provenance(b, name="another", kind="OtherTemplate.infrastructure.example"),
    ),
    ("version without v", [], lambda b: b.spec.update(version="1.20.2")),
    ("CA path of the spec", [], lambda b: spec(b)["joinConfiguration"].update(caCertPath="/x.crt")),
    (
        "time for the bootstrap",
        [],
        lambda b: spec(b)["joinConfiguration"].update(
            timeouts={"tlsBootstrapSeconds": 5, "controlPlaneComponentHealthCheckSeconds": 600}
        ),
    ),
    ("no provenance", [], lambda b: b.entry("m2")["infrastructureMachine"]["metadata"].update(annotations={})),
    ("no config", [], lambda b: b.entry("m2").update(kubeadmConfig=None)),
    ("no infrastructure", [], lambda b: b.entry("m2").update(infrastructureMachine=None)),
    ("expiry unknown", [], lambda b: b.spec.update(rollout={"before": {"certificatesExpiryDays": 10}})),
]


def provenance(builder: Builder, **parts: str) -> None:
    """Of the annotations that say what m2's infrastructure was made from, these alone."""
    keys = {"name": "cluster.x-k8s.io/cloned-from-name", "kind": "cluster.x-k8s.io/cloned-from-groupkind"}
    annotations = {keys[part]: value for part, value in parts.items()}
    builder.entry("m2")["infrastructureMachine"]["metadata"]["annotations"] = annotations


def flags(*names: str) -> list[dict[str, str]]:
    """Arguments of these names, each with its place as the value."""
    return [{"name": name, "value": name.upper()} for name in names]


def below(document: Any, *keys: str) -> Any:
    """What is at these keys of a document, made where it is missing."""
    for key in keys:
        document = document.setdefault(key, {})
    return document


# Two ways to write one thing (objects/equivalence.py): where it is, one way, the other.
SAME: list[tuple[tuple[str, ...], Any, Any]] = [
    (("joinConfiguration", "nodeRegistration", "imagePullPolicy"), None, "IfNotPresent"),
    (("joinConfiguration", "nodeRegistration", "imagePullSerial"), None, True),
    (("joinConfiguration", "timeouts", "etcdAPICallSeconds"), None, 120),
    (("joinConfiguration", "nodeRegistration", "kubeletExtraArgs"), flags("a", "b"), flags("b", "a")),
    (("clusterConfiguration", "certificatesDir"), None, "/etc/kubernetes/pki"),
    (("clusterConfiguration", "encryptionAlgorithm"), None, "RSA-2048"),
    (("clusterConfiguration", "certificateValidityPeriodDays"), None, 365),
    (("clusterConfiguration", "etcd", "local", "dataDir"), None, "/var/lib/etcd"),
    (("clusterConfiguration", "apiServer", "extraArgs"), flags("a", "b"), flags("b", "a")),
    (("clusterConfiguration", "apiServer", "extraVolumes"), None, []),
    (("clusterConfiguration", "clusterName"), None, "prod"),
    (("clusterConfiguration", "networking", "serviceSubnet"), None, "10.96.0.0/12"),
    (("clusterConfiguration", "networking", "podSubnet"), None, "192.168.0.0/16"),
    (("clusterConfiguration", "networking", "dnsDomain"), None, "cluster.local"),
    (("clusterConfiguration", "scheduler"), None, {"extraArgs": []}),
    (("kubeletConfiguration",), None, {"evictionHard": None}),
    (("kubeProxyConfiguration",), {"conntrack": {"min": 1}}, {"conntrack": {"maxPerCore": None, "min": 1}, "x": None}),
]


@pytest.mark.parametrize(("keys", "one", "other"), SAME, ids=[".".join(case[0]) for case in SAME])
@pytest.mark.parametrize("spelled", ["spec", "machine"])
def test_what_means_the_same_starts_no_rollout(keys: tuple[str, ...], one: Any, other: Any, spelled: str) -> None:
    """Nobody settles an object that was edited in an API: the comparison itself has to."""
    builder = healthy(3)
    builder.snapshot["cluster"]["spec"]["clusterNetwork"] = {"pods": {"cidrBlocks": ["192.168.0.0/16"]}}
    before = spec(builder) if spelled == "machine" else config(builder)
    after = config(builder) if spelled == "machine" else spec(builder)
    for document, value in ((before, one), (after, other)):
        below(document, *keys[:-1]).pop(keys[-1], None)
        if value is not None:
            below(document, *keys[:-1])[keys[-1]] = value
    assert reasons(builder) == []
    below(after, *keys[:-1])[keys[-1]] = {"extraArgs": flags("c")} if isinstance(other, dict) else flags("c", "c")
    assert reasons(builder) == ["KubeadmConfigDiffers"]


def test_the_order_of_a_repeated_flag_is_a_difference() -> None:
    builder = healthy(3)
    for document, values in ((spec(builder), ("1", "2")), (config(builder), ("2", "1"))):
        arguments = [{"name": "service-account-issuer", "value": value} for value in values]
        document["clusterConfiguration"]["apiServer"]["extraArgs"] = arguments
    assert reasons(builder) == ["KubeadmConfigDiffers"]


def test_a_joinconfiguration_without_a_control_plane_is_no_mark_of_a_join() -> None:
    """Cluster API's conversion of timeoutForControlPlane leaves one on the first machine too."""
    builder = healthy(3)
    spec(builder)["joinConfiguration"]["nodeRegistration"]["kubeletExtraArgs"] = flags("v")
    config(builder, "m1")["initConfiguration"]["nodeRegistration"]["kubeletExtraArgs"] = flags("v")
    config(builder, "m1")["joinConfiguration"] = {"timeouts": {"controlPlaneComponentHealthCheckSeconds": 240}}
    assert reasons(builder, "m1") == []
    config(builder, "m1")["initConfiguration"]["nodeRegistration"]["kubeletExtraArgs"] = flags("w")
    assert reasons(builder, "m1") == ["KubeadmConfigDiffers"]


@pytest.mark.parametrize(("what", "expected", "change"), CASES, ids=[case[0] for case in CASES])
def test_reasons(what: str, expected: list[str], change: Change) -> None:
    builder = healthy(3)
    change(builder)
    assert reasons(builder) == expected


KEY = "machine.cluster.x-k8s.io/certificates-expiry"


@pytest.mark.parametrize(("days", "expected"), [(10, ["CertificatesExpireSoon"]), (8, [])])
def test_certificates_that_expire_soon(days: int, expected: list[str]) -> None:
    builder = healthy(3)
    builder.spec["rollout"] = {"before": {"certificatesExpiryDays": days}}
    builder.entry("m2")["kubeadmConfig"]["metadata"]["annotations"] = {KEY: at(-9 * 86400)}
    builder.entry("m2")["machine"]["metadata"]["creationTimestamp"] = at(300 * 86400)
    assert reasons(builder) == expected


def test_an_end_of_an_earlier_status_is_not_known_any_more() -> None:
    """An Action renewed the certificates, and the machine was not asked since: it is as good as one that never told."""
    builder = healthy(3)
    builder.spec["rollout"] = {"before": {"certificatesExpiryDays": 10}}
    machine = builder.entry("m2")["machine"]
    machine["metadata"]["creationTimestamp"] = at(300 * 86400)
    machine["status"]["certificatesExpiryDate"] = at(-9 * 86400)
    assert reasons(builder) == []
    decision = decide(builder.build())
    assert decision["action"] == "none" and decision["status"]["machines"]["m2"]["certificatesExpiryDate"] is None


def test_the_users_word_comes_before_what_was_read() -> None:
    builder = healthy(3)
    builder.spec["rollout"] = {"before": {"certificatesExpiryDays": 10}}
    machine, config = builder.entry("m2")["machine"], builder.entry("m2")["kubeadmConfig"]
    machine["metadata"]["creationTimestamp"] = at(300 * 86400)
    machine["status"]["certificatesExpiryDate"] = at(-300 * 86400)
    config["metadata"]["annotations"] = {KEY: at(-9 * 86400)}
    assert reasons(builder) == ["CertificatesExpireSoon"], "read again after the status was written"
    machine["metadata"]["annotations"][KEY] = at(-300 * 86400)
    assert reasons(builder) == []
    status = decide(builder.build())["status"]["machines"]
    assert status["m2"]["certificatesExpiryDate"] == at(-300 * 86400) and "certificatesExpiryDate" not in status["m1"]


def test_certificates_that_were_short_from_the_beginning_are_no_reason() -> None:
    """Whoever signs them would sign the next machine's for as long: it would be replaced for ever. The user's own word holds."""
    builder = healthy(3)
    builder.spec["rollout"] = {"before": {"certificatesExpiryDays": 10}}
    builder.entry("m2")["kubeadmConfig"]["metadata"]["annotations"] = {KEY: at(-9 * 86400)}
    assert reasons(builder) == []
    builder.annotate(KEY, at(-9 * 86400), "m2")
    assert reasons(builder) == ["CertificatesExpireSoon"]


DAY = 86400


@pytest.mark.parametrize(
    ("made", "adopted", "ends", "expected"),
    [
        # days ago: when the machine was made, when its object was; in days: when the certificates end.
        (275, 5, 89.9, ["CertificatesExpireSoon"]),
        (275, 5, 90.1, []),
        (364, 364, 1, ["CertificatesExpireSoon"]),
        (364, 0.5, 1, ["CertificatesExpireSoon"]),
        (40, 40, 20, []),
        (5, 5, 20, []),
        (0.9, 0.1, 20, []),
    ],
)
@pytest.mark.parametrize("evidence", ["start", "node"])
def test_an_adopted_machine_is_as_old_as_it_is_not_as_its_object(
    made: float, adopted: float, ends: float, expected: list[str], evidence: str
) -> None:
    """Its object is as young as the adoption, its certificates are not: they must not end unseen."""
    builder = healthy(3)
    builder.spec["rollout"] = {"before": {"certificatesExpiryDays": 90}}
    machine = builder.entry("m2")["machine"]
    machine["metadata"]["creationTimestamp"] = at(adopted * DAY)
    builder.node("m2", age=(made if evidence == "node" else adopted) * DAY)
    machine["status"]["bootstrap"]["startedAt"] = at((made if evidence == "start" else adopted) * DAY)
    builder.entry("m2")["kubeadmConfig"]["metadata"]["annotations"] = {KEY: at(-ends * DAY)}
    assert reasons(builder) == expected


@pytest.mark.parametrize("validity", [None, 30])
@pytest.mark.parametrize("adopted", [False, True])
def test_days_beyond_the_certificates_validity_replace_nothing(validity: Any, adopted: bool) -> None:
    """No manifest may say so; an object in an API can. Every machine would be outdated from its first day on."""
    builder = healthy(3)
    builder.spec["rollout"] = {"before": {"certificatesExpiryDays": validity or 365}}
    spec(builder)["clusterConfiguration"]["certificateValidityPeriodDays"] = validity
    for name in ("m1", "m2", "m3"):
        config(builder, name)["clusterConfiguration"]["certificateValidityPeriodDays"] = validity
    builder.node("m2", age=300 * DAY if adopted else 0)
    for ends, told in ((9, True), (validity or 365, False)):
        builder.entry("m2")["kubeadmConfig"]["metadata"]["annotations"] = {KEY: at(-ends * DAY)}
        assert reasons(builder) == []
        assert ("CertificatesShortLived" in [each["reason"] for each in decide(builder.build())["reasons"]]) is told


def test_certificates_that_no_rollout_helps_are_told() -> None:
    builder = healthy(3)
    builder.spec["rollout"] = {"before": {"certificatesExpiryDays": 90}}
    builder.entry("m2")["kubeadmConfig"]["metadata"]["annotations"] = {KEY: at(-9 * DAY)}
    builder.entry("m3")["kubeadmConfig"]["metadata"]["annotations"] = {KEY: at(-300 * DAY)}
    decision = decide(builder.build())
    told = [each["message"] for each in decision["reasons"] if each["reason"] == "CertificatesShortLived"]
    assert decision["action"] == "none" and len(told) == 1
    assert f"m2 ({at(-9 * DAY)})" in told[0] and "m3" not in told[0] and "renewCertificates" in told[0]


def test_the_first_machine_is_compared_as_join_and_then_as_init() -> None:
    builder = healthy(3)
    spec(builder)["initConfiguration"]["nodeRegistration"] = {"name": "other"}
    assert reasons(builder, "m1") == []
    spec(builder)["joinConfiguration"]["nodeRegistration"] = {"name": "other"}
    assert reasons(builder, "m1") == ["KubeadmConfigDiffers"]
    builder = healthy(3)
    spec(builder)["joinConfiguration"]["nodeRegistration"] = {"name": "other"}
    assert reasons(builder, "m1") == []


@pytest.mark.parametrize(("port", "expected"), [(7443, []), (8443, ["KubeadmConfigDiffers"])])
def test_the_first_machines_api_server_listens_as_a_joining_ones(port: int, expected: list[str]) -> None:
    """The same setting: below controlPlane where a machine joins, and not where it is the first."""
    builder = healthy(3)
    spec(builder)["joinConfiguration"]["controlPlane"] = {"localAPIEndpoint": {"bindPort": 7443}}
    config(builder, "m1")["initConfiguration"]["localAPIEndpoint"] = {"bindPort": port}
    assert reasons(builder, "m1") == expected


@pytest.mark.parametrize("added", ["spec", "machine"])
def test_a_config_that_holds_nothing_but_how_a_machine_joins(added: str) -> None:
    builder = healthy(3)
    for document in (spec(builder), config(builder)):
        document.pop("clusterConfiguration")
    assert reasons(builder) == []
    (spec if added == "spec" else config)(builder)["preKubeadmCommands"] = ["true"]
    assert reasons(builder) == ["KubeadmConfigDiffers"]


@pytest.mark.parametrize(("name", "section"), [("m1", "initConfiguration"), ("m2", "joinConfiguration")])
def test_a_spec_without_the_section_that_a_machine_was_made_from(name: str, section: str) -> None:
    builder = healthy(3)
    for each in ("initConfiguration", "joinConfiguration"):
        spec(builder).pop(each)
        config(builder, name).pop(each, None)
    config(builder, name)[section] = {"nodeRegistration": {"kubeletExtraArgs": flags("v")}}
    if name == "m2":
        config(builder, name)[section]["controlPlane"] = {}
    assert reasons(builder, name) == ["KubeadmConfigDiffers"]


def test_paths_are_named_and_values_never() -> None:
    builder = healthy(3)
    spec(builder)["files"] = [{"path": "/x", "content": "s3cret"}]
    view = read_snapshot(builder.build())
    messages = [each.message for each in outdated(view, Desired(view), view.machines[0])]
    assert messages == ["KubeadmConfig is not up-to-date (files)"]
