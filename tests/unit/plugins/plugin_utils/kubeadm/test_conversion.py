# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conversion between the hub and each kubeadm API version, against documents and a table that were written by hand."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml
from kubeadm_values import GOLDEN, HUB_KEY, MINORS, MOVED, SAMPLES, Row, get, golden, put, rows, without_empty

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import kubernetes_versions
from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import Report
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.kubeadm.configuration import (
    any_form,
    fields,
    for_version,
    kinds,
)

VERSION = {1: "v1.20.2", 2: "v1.20.2", 3: "v1.30.0", 4: "v1.31.0"}
TABLE = rows()


def documents_of(name: str, api: int) -> list[Any]:
    return list(yaml.safe_load_all(golden(name, api)))


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
    found = any_form.read(golden(name, api))
    assert without_empty(found.hub) == without_empty(pruned(*golden_hub(name, api)))
    assert found.warnings == ()


@pytest.mark.parametrize(("name", "api"), GOLDEN_FILES)
def test_a_hub_is_written_as_its_golden_document(name: str, api: int) -> None:
    written = for_version.convert(pruned(*golden_hub(name, api)), VERSION[api], api=api)
    assert list(written.documents) == documents_of(name, api)
    assert list(yaml.safe_load_all(written.text)) == documents_of(name, api)
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
    for_version.write(hub, VERSION[api], api=api, report=report)
    lost = {violation.path for violation in report.violations}
    allowed = for_version.convert(hub, VERSION[api], api=api, allowed_losses=missing)
    assert list(allowed.documents) == documents_of(name, api)
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
    text = golden(name, old).replace(VERSION[old], VERSION[new])
    written = for_version.convert(text, VERSION[new])
    assert written.api == new
    hub = any_form.read(text).hub
    assert any_form.read(written.text).hub == hub
    if "clusterConfiguration" in hub and new == 4:
        assert written.documents[0]["timeouts"] == {"controlPlaneComponentHealthCheck": "5m0s"}


def test_reset_and_upgrade_documents() -> None:
    for name in ("upgrade", "reset"):
        text = golden(name, 4)
        written = for_version.convert(text, "v1.33.0")
        assert list(written.documents) == documents_of(name, 4)


def test_reset_and_upgrade_are_flags_before_v1beta4() -> None:
    upgrade = golden("upgrade", 4)
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
    written = for_version.convert(upgrade, "v1.20.2", allowed_losses=allowed)
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
    reset = golden("reset", 4)
    old = for_version.convert(reset, "v1.30.0", allowed_losses=["resetConfiguration"])
    assert old.flags["reset"] == (
        "--cleanup-tmp-dir",
        "--cert-dir=/pki",
        "--cri-socket=unix:///run/containerd/containerd.sock",
        "--dry-run",
        "--force",
        "--ignore-preflight-errors=IsPrivilegedUser",
        "--skip-phases=remove-etcd-member",
    )
    older = for_version.convert(reset, "v1.20.2", allowed_losses=["resetConfiguration"])
    assert set(old.flags["reset"]) - set(older.flags["reset"]) == {"--cleanup-tmp-dir", "--dry-run"}


@pytest.mark.parametrize("api", [1, 2])
def test_cluster_status(api: int) -> None:
    text = golden("status", api)
    assert any_form.read(text).hub == {
        "clusterStatus": {
            "apiEndpoints": {
                "cp-1": {"advertiseAddress": "10.0.0.2", "bindPort": 6443},
                "cp-2.example.org": {"advertiseAddress": "10.0.0.3", "bindPort": 6444},
            }
        }
    }
    assert list(for_version.convert(text, "v1.21.0", api=api).documents) == documents_of("status", api)
    report = Report("test")
    written = for_version.write(any_form.read(text).hub, "v1.22.0", report=report)
    assert written.documents == ()
    assert [violation.path for violation in report.violations] == ["clusterStatus"]


# --- the table of fields ---


def test_the_table_by_hand_and_the_table_of_the_code_have_the_same_fields() -> None:
    def walk(struct: fields.Struct, prefix: str, since: int, until: int) -> dict[str, tuple[int, int, int]]:
        found: dict[str, tuple[int, int, int]] = {}
        for field in struct.fields:
            first, last = max(since, field.since), min(until, field.until, kubernetes_versions.APIS[-1].number)
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
    reading = any_form.Reading()
    found = reading.read(document)
    if HUB_KEY[row.kind] not in found.hub:
        assert row.kind in ("ClusterStatus", "ResetConfiguration", "UpgradeConfiguration")
        assert api not in row.versions
        assert [violation.path for violation in reading.report.violations] == [f"{row.kind}.kind"]
        return
    assert reading.report.violations == []
    if api not in row.versions:
        assert f"v1beta{api} has no such field" in " ".join(found.warnings)
        written = for_version.write(found.hub, f"v1.{MINORS[api][1]}.0", api=api)
        assert get(written.documents[0], row.path) == get(document, row.path)
        return
    assert (found.warnings == ()) == (row.path != "useHyperKubeImage")
    if row.path not in MOVED:
        several = "[]" in row.path or "{}" in row.path
        assert get(found.hub[HUB_KEY[row.kind]], row.hub_path) == ([value, value] if several else value)
