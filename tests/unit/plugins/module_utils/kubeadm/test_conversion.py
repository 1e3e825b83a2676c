# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conversion between the hub and each kubeadm API version, against documents and a table that were written by hand."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kubeadm_values import (
    GOLDEN,
    HUB_KEY,
    MINORS,
    MOVED,
    SAMPLES,
    Row,
    get,
    hubs,
    put,
    rows,
    values,
    without_empty,
)

from ansible_collections.kubeadm.control_plane.plugins.module_utils.kubeadm import conversion, documents, fields, kinds
from ansible_collections.kubeadm.control_plane.plugins.module_utils.objects.errors import Report

VERSION = {1: "v1.20.2", 2: "v1.20.2", 3: "v1.30.0", 4: "v1.31.0"}
TABLE = rows()


def documents_of(name: str) -> list[Any]:
    return list(yaml.safe_load_all((GOLDEN / name).read_text()))


def golden_hub(name: str, api: int) -> tuple[dict[str, Any], list[str]]:
    """The hub of a golden file, whole, and the paths that the API's document does not have."""
    loaded = yaml.safe_load((GOLDEN / f"{name}.hub.yaml").read_text())
    missing = [path for number in range(api, 5) for path in loaded["not_in"][f"v1beta{number}"]]
    hub = loaded["hub"]
    if "clusterConfiguration" in hub:
        hub["clusterConfiguration"]["kubernetesVersion"] = VERSION[api]
    return hub, missing


def pruned(hub: dict[str, Any], missing: list[str]) -> dict[str, Any]:
    result = copy.deepcopy(hub)
    for path in missing:
        *parents, last = path.split(".")
        target = result
        for step in parents:
            target = target[step]
        del target[last]
    return result


GOLDEN_FILES = [(name, api) for name in ("init", "join") for api in (1, 2, 3, 4)]


@pytest.mark.parametrize(("name", "api"), GOLDEN_FILES)
def test_a_golden_document_reads_as_its_hub(name: str, api: int) -> None:
    found = documents.read((GOLDEN / f"{name}.v1beta{api}.yaml").read_text())
    assert without_empty(found.hub) == without_empty(pruned(*golden_hub(name, api)))
    assert found.warnings == ()


@pytest.mark.parametrize(("name", "api"), GOLDEN_FILES)
def test_a_hub_is_written_as_its_golden_document(name: str, api: int) -> None:
    written = conversion.convert(pruned(*golden_hub(name, api)), VERSION[api], api=api)
    assert list(written.documents) == documents_of(f"{name}.v1beta{api}.yaml")
    assert list(yaml.safe_load_all(written.text)) == documents_of(f"{name}.v1beta{api}.yaml")
    assert (written.flags, written.warnings, written.api) == ({}, (), api)


FLAGS = {
    ("init", 4): {},
    ("init", 3): {"--dry-run"},
    ("init", 2): {
        "--dry-run",
        "--skip-phases=addon/kube-proxy",
        "--experimental-patches=/etc/kubernetes/patches",
    },
    ("init", 1): {
        "--dry-run",
        "--skip-phases=addon/kube-proxy",
        "--experimental-patches=/etc/kubernetes/patches",
        "--ignore-preflight-errors=NumCPU",
    },
    ("join", 4): {},
    ("join", 3): {"--dry-run"},
    ("join", 2): {"--skip-phases=preflight", "--experimental-patches=/etc/kubernetes/patches"},
    ("join", 1): {
        "--skip-phases=preflight",
        "--experimental-patches=/etc/kubernetes/patches",
        "--ignore-preflight-errors=Mem,Swap",
    },
}


@pytest.mark.parametrize(("name", "api"), GOLDEN_FILES)
def test_everything_else_is_a_flag_or_a_loss_with_its_path(name: str, api: int) -> None:
    hub, missing = golden_hub(name, api)
    if api < 3:
        hub.get("clusterConfiguration", {}).pop("featureGates", None)
    report = Report("test")
    conversion.write(hub, VERSION[api], api=api, report=report)
    lost = {violation.path for violation in report.violations}
    allowed = conversion.convert(hub, VERSION[api], api=api, allowed_losses=missing)
    assert list(allowed.documents) == documents_of(f"{name}.v1beta{api}.yaml")
    assert set(allowed.flags.get(name, ())) == set(FLAGS[name, api])
    assert len(allowed.warnings) == len(lost)
    flags = {"dryRun": "--dry-run", "skipPhases": "--skip", "ignorePreflightErrors": "--ignore", "patches": "--exp"}
    for path in missing:
        flag = flags.get(path.rpartition(".")[2])
        flagged = flag is not None and any(each.startswith(flag) for each in FLAGS[name, api])
        known_gate = path == "clusterConfiguration.featureGates"
        assert flagged or known_gate or any(each == path or each.startswith(path + ".") for each in lost), path
    for violation in report.violations:
        assert f"v1beta{api}" in violation.rule
        assert violation.fix


@pytest.mark.parametrize(("old", "new"), [(1, 2), (1, 3), (2, 3), (3, 4), (2, 4), (1, 4)])
@pytest.mark.parametrize("name", ["init", "join"])
def test_an_upgrade_of_the_api_loses_nothing(name: str, old: int, new: int) -> None:
    text = (GOLDEN / f"{name}.v1beta{old}.yaml").read_text().replace(VERSION[old], VERSION[new])
    written = conversion.convert(text, VERSION[new])
    assert written.api == new
    hub = documents.read(text).hub
    assert documents.read(written.text).hub == hub
    if "clusterConfiguration" in hub and new == 4:
        assert written.documents[0]["timeouts"] == {"controlPlaneComponentHealthCheck": "5m0s"}


def test_reset_and_upgrade_documents() -> None:
    for name in ("upgrade", "reset"):
        text = (GOLDEN / f"{name}.v1beta4.yaml").read_text()
        written = conversion.convert(text, "v1.33.0")
        assert list(written.documents) == documents_of(f"{name}.v1beta4.yaml")


def test_reset_and_upgrade_are_flags_before_v1beta4() -> None:
    upgrade = (GOLDEN / "upgrade.v1beta4.yaml").read_text()
    allowed = [
        "UpgradeConfiguration.apply.skipPhases",
        "UpgradeConfiguration.timeouts",
        "UpgradeConfiguration.plan.dryRun",
        "UpgradeConfiguration.plan.etcdUpgrade",
        "UpgradeConfiguration.apply.imagePullPolicy",
        "UpgradeConfiguration.apply.imagePullSerial",
        "UpgradeConfiguration.node.imagePullPolicy",
        "UpgradeConfiguration.node.imagePullSerial",
    ]
    written = conversion.convert(upgrade, "v1.20.2", allowed_losses=allowed)
    assert written.documents == ()
    assert written.text == ""
    assert written.flags == {
        "upgrade apply": (
            "v1.33.1",
            "--allow-experimental-upgrades",
            "--allow-release-candidate-upgrades",
            "--certificate-renewal=false",
            "--dry-run",
            "--etcd-upgrade=false",
            "--force",
            "--ignore-preflight-errors=CreateJob",
            "--experimental-patches=/patches",
            "--print-config",
        ),
        "upgrade diff": ("v1.33.1", "--context-lines=5"),
        "upgrade node": (
            "--certificate-renewal=false",
            "--dry-run",
            "--etcd-upgrade=false",
            "--ignore-preflight-errors=Swap",
            "--skip-phases=control-plane",
            "--experimental-patches=/patches",
        ),
        "upgrade plan": (
            "v1.33.1",
            "--allow-experimental-upgrades",
            "--allow-release-candidate-upgrades",
            "--ignore-preflight-errors=CoreDNSMigration",
            "--print-config",
        ),
    }
    assert len(written.warnings) == 8
    reset = (GOLDEN / "reset.v1beta4.yaml").read_text()
    old = conversion.convert(reset, "v1.30.0", allowed_losses=["resetConfiguration"])
    assert old.flags["reset"] == (
        "--cleanup-tmp-dir",
        "--cert-dir=/pki",
        "--cri-socket=unix:///run/containerd/containerd.sock",
        "--dry-run",
        "--force",
        "--ignore-preflight-errors=IsPrivilegedUser",
        "--skip-phases=remove-etcd-member",
    )
    older = conversion.convert(reset, "v1.20.2", allowed_losses=["resetConfiguration"])
    assert set(old.flags["reset"]) - set(older.flags["reset"]) == {"--cleanup-tmp-dir", "--dry-run"}


@pytest.mark.parametrize("api", [1, 2])
def test_cluster_status(api: int) -> None:
    text = (GOLDEN / f"status.v1beta{api}.yaml").read_text()
    assert documents.read(text).hub == {
        "clusterStatus": {
            "apiEndpoints": {
                "cp-1": {"advertiseAddress": "10.0.0.2", "bindPort": 6443},
                "cp-2.example.org": {"advertiseAddress": "10.0.0.3", "bindPort": 6444},
            }
        }
    }
    assert list(conversion.convert(text, "v1.21.0", api=api).documents) == documents_of(f"status.v1beta{api}.yaml")
    report = Report("test")
    written = conversion.write(documents.read(text).hub, "v1.22.0", report=report)
    assert written.documents == ()
    assert [violation.path for violation in report.violations] == ["clusterStatus"]


# --- the table of fields ---


def test_the_table_by_hand_and_the_table_of_the_code_have_the_same_fields() -> None:
    def walk(struct: fields.Struct, prefix: str, since: int, until: int) -> dict[str, tuple[int, int, int]]:
        found: dict[str, tuple[int, int, int]] = {}
        for field in struct.fields:
            first, last = max(since, field.since), min(until, field.until)
            suffix = {fields.STRUCTS: "[]", fields.STRUCT_MAP: "{}"}.get(field.type, "")
            path = prefix + field.name + suffix
            if field.struct is None:
                found[path] = (first, last, field.minor)
            else:
                found.update(walk(field.struct, path + ".", first, last))
        return found

    for part in kinds.PARTS:
        mine = {row.path: (min(row.versions), max(row.versions), row.minor) for row in TABLE if row.kind == part.kind}
        assert walk(part.struct, "", part.since, part.until) == mine, part.kind


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.kind}.{row.path}")
@pytest.mark.parametrize("api", [1, 2, 3, 4])
def test_each_field_is_in_the_versions_of_the_table_and_in_no_other(row: Row, api: int) -> None:
    document: dict[str, Any] = {"apiVersion": f"kubeadm.k8s.io/v1beta{api}", "kind": row.kind}
    value = "CoreDNS" if row.path == "dns.type" else SAMPLES[row.type]
    put(document, row.path, iter([row.spoke_value(value, api)] * 2))
    reading = documents.Reading()
    found = reading.read(document)
    if HUB_KEY[row.kind] not in found.hub:
        assert row.kind in ("ClusterStatus", "ResetConfiguration", "UpgradeConfiguration")
        assert api not in row.versions
        assert [violation.path for violation in reading.report.violations] == [f"{row.kind}.kind"]
        return
    assert reading.report.violations == []
    if api not in row.versions:
        assert f"v1beta{api} has no such field" in " ".join(found.warnings)
        written = conversion.write(found.hub, f"v1.{MINORS[api][1]}.0", api=api)
        assert get(written.documents[0], row.path) == get(document, row.path)
        return
    assert (found.warnings == ()) == (row.path != "useHyperKubeImage")
    if row.path not in MOVED:
        several = "[]" in row.path or "{}" in row.path
        assert get(found.hub[HUB_KEY[row.kind]], row.hub_path) == ([value, value] if several else value)


# --- properties ---

GROUPS = [
    ("InitConfiguration", "ClusterConfiguration"),
    ("JoinConfiguration",),
    ("ClusterStatus",),
    ("ResetConfiguration",),
    ("UpgradeConfiguration",),
]
CASES = [
    (group, api)
    for group in GROUPS
    for api in (1, 2, 3, 4)
    if any(row.kind in group and api in row.versions for row in TABLE)
]
QUICK = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize(("group", "api"), CASES)
@given(data=st.data())
@QUICK
def test_what_the_table_says_an_api_holds_survives_it(group: tuple[str, ...], api: int, data: st.DataObject) -> None:
    minor = data.draw(st.integers(*MINORS[api]))
    hub = data.draw(hubs(group, api, minor))
    written = conversion.write(hub, f"v1.{minor}.0", api=api)
    assert written.flags == {}
    back = documents.read(written.text or [])
    assert without_empty(back.hub) == without_empty(hub)
    assert back.warnings == ()


@pytest.mark.parametrize("api", [1, 2, 3])
@pytest.mark.parametrize("group", GROUPS)
@given(data=st.data())
@QUICK
def test_no_value_disappears_in_silence(group: tuple[str, ...], api: int, data: st.DataObject) -> None:
    """Any hub, to an older API: every value comes back, is a flag, is what older kubeadm does anyway, or is reported."""
    minor = data.draw(st.integers(*MINORS[api]))
    hub = data.draw(hubs(group, api, minor, held=False))
    report = Report("test")
    written = conversion.write(hub, f"v1.{minor}.0", api=api, report=report)
    back = documents.read(written.text).hub if written.documents else {}
    paths = [violation.path for violation in report.violations]
    flags = " ".join(flag for each in written.flags.values() for flag in each)
    for row in TABLE:
        if row.kind not in group or row.path in MOVED:
            continue
        value = get(hub.get(HUB_KEY[row.kind]), row.hub_path)
        if value is None or get(back.get(HUB_KEY[row.kind]), row.hub_path) == value:
            continue
        if _sorted(value) == _sorted(get(back.get(HUB_KEY[row.kind]), row.hub_path)):
            continue
        where = f"{HUB_KEY[row.kind]}.{row.hub_path}"
        assert (
            value in ("", [], {})
            or value == _DEFAULTS.get(row.path.rpartition(".")[2])
            or any(path.startswith((where, HUB_KEY[row.kind] + "[")) or where.startswith(path) for path in paths)
            or _as_flag(value) in flags
        ), (where, value, paths, flags)


# What kubeadm without the field does (kubeadm's documentation of v1beta4).
_DEFAULTS = {
    "imagePullPolicy": "IfNotPresent",
    "imagePullSerial": True,
    "dryRun": False,
    "disabled": False,
    "encryptionAlgorithm": "RSA-2048",
    "certificateValidityPeriod": 365,
    "caCertificateValidityPeriod": 3650,
    "controlPlaneComponentHealthCheck": 240,
    "tlsBootstrap": 300,
    "discovery": 300,
    "upgradeManifests": 300,
    "certificateRenewal": True,
    "etcdUpgrade": True,
    "force": False,
    "forceUpgrade": False,
    "cleanupTmpDir": False,
    "printConfig": False,
    "allowExperimentalUpgrades": False,
    "allowRCUpgrades": False,
    "contextLines": 3,
}


def _sorted(value: Any) -> Any:
    named = isinstance(value, list) and value and all(isinstance(each, dict) and "name" in each for each in value)
    return sorted(value, key=lambda each: each["name"]) if named else value


def _as_flag(value: Any) -> str:
    if isinstance(value, bool):
        return "=false" if value is False else "--"
    return ",".join(value) if isinstance(value, list) else str(value)


UNKNOWN = st.dictionaries(
    st.sampled_from(["newField", "unconverted", "ttlSeconds", "extra"]),
    st.recursive(st.none() | st.booleans() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=2)),
    min_size=1,
    max_size=2,
)


@pytest.mark.parametrize("api", [1, 2, 3, 4])
@given(data=st.data())
@QUICK
def test_unknown_fields_survive_their_own_version_and_no_other(api: int, data: st.DataObject) -> None:
    document: dict[str, Any] = {"apiVersion": f"kubeadm.k8s.io/v1beta{api}", "kind": "ClusterConfiguration"}
    document.update({"apiServer": {"certSANs": ["a"]}, "etcd": {"local": {}}})
    document["scheduler"] = {"extraVolumes": [{"name": "a"}, {"name": "b"}]}
    place = data.draw(
        st.sampled_from(
            [document, document["apiServer"], document["etcd"]["local"], document["scheduler"]["extraVolumes"][1]]
        )
    )
    unknown = data.draw(UNKNOWN)
    place.update(unknown)
    found = documents.read(document)
    assert len(found.warnings) == len(unknown)
    assert conversion.write(found.hub, VERSION[api], api=api).documents == (document,)
    for other in {1, 2, 3, 4} - {api}:
        report = Report("test")
        conversion.write(found.hub, VERSION[other], api=other, report=report)
        assert {violation.path.rpartition(".")[2] for violation in report.violations} == set(unknown)


@given(value=values("args", 4))
@QUICK
def test_a_repeated_flag_is_the_only_thing_a_map_cannot_hold(value: list[dict[str, str]]) -> None:
    report = Report("test")
    conversion.write({"clusterConfiguration": {"scheduler": {"extraArgs": value}}}, "v1.30.0", report=report)
    names = [each["name"] for each in value]
    assert len(report.violations) == len(names) - len(set(names))
