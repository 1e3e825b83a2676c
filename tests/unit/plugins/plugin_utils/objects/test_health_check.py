# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""MachineHealthChecks in a manifest: read in every version, defaulted, and every fault told with path and fix."""

from __future__ import annotations

import copy
from typing import Any, Callable

import pytest
import yaml

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import Violation
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.convert import whole_objects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import (
    ClusterManifest,
    list_clusters,
)

Object = dict[str, Any]
Documents = list[Object]
Read = Callable[..., ClusterManifest]
Refused = Callable[..., list[Violation]]
OLDER = ("v1alpha3", "v1alpha4", "v1beta1")
LABEL = "cluster.x-k8s.io/control-plane"
V1BETA2: Object = {
    "apiVersion": "cluster.x-k8s.io/v1beta2",
    "kind": "MachineHealthCheck",
    "metadata": {"name": "my-cluster-control-plane", "namespace": "default"},
    "spec": {
        "clusterName": "my-cluster",
        "selector": {"matchLabels": {LABEL: ""}},
        "checks": {
            "nodeStartupTimeoutSeconds": 900,
            "unhealthyNodeConditions": [
                {"type": "Ready", "status": "Unknown", "timeoutSeconds": 300},
                {"type": "Ready", "status": "False", "timeoutSeconds": 90},
            ],
        },
        "remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": "40%", "unhealthyInRange": "[1-2]"}},
    },
}
CLASSIC: Object = {
    "apiVersion": "cluster.x-k8s.io/v1beta1",
    "kind": "MachineHealthCheck",
    "metadata": {"name": "my-cluster-control-plane", "namespace": "default"},
    "spec": {
        "clusterName": "my-cluster",
        "selector": {"matchLabels": {LABEL: ""}},
        "nodeStartupTimeout": "15m",
        "unhealthyConditions": [
            {"type": "Ready", "status": "Unknown", "timeout": "5m"},
            {"type": "Ready", "status": "False", "timeout": "1m30s"},
        ],
        "maxUnhealthy": "40%",
        "unhealthyRange": "[1-2]",
    },
}


def changed(source: Object, path: str, value: Any) -> Object:
    """The MachineHealthCheck with the field at that path set, or taken away (None)."""
    document = copy.deepcopy(source)
    *way, last = path.split(".")
    place: Any = document
    for step in way:
        place = place[int(step) if step.isdigit() else step]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return document


@pytest.mark.parametrize("version", OLDER)
def test_every_version_means_the_same(read: Read, documents: Documents, version: str) -> None:
    """One internal form."""
    [hub] = read([*documents, V1BETA2]).health_checks
    [older] = read([*documents, {**CLASSIC, "apiVersion": f"cluster.x-k8s.io/{version}"}]).health_checks
    assert hub == older and hub["spec"] == V1BETA2["spec"]


def test_defaults(read: Read, documents: Documents) -> None:
    """Ten minutes to start, and the cluster's label, by which it is found in the store."""
    [found] = read([*documents, changed(V1BETA2, "spec.checks", None)]).health_checks
    assert found["spec"]["checks"] == {"nodeStartupTimeoutSeconds": 600}
    assert found["metadata"]["labels"] == {"cluster.x-k8s.io/cluster-name": "my-cluster"}


def test_a_file_of_its_own_belongs_to_the_cluster(tmp_path: Any, documents: Documents) -> None:
    """The inventory gives all files of a cluster."""
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all(documents))
    (tmp_path / "health.yaml").write_text(yaml.safe_dump(V1BETA2))
    [entry] = list_clusters([str(tmp_path / "cluster.yaml"), str(tmp_path / "health.yaml")])
    assert entry.paths == (str(tmp_path / "cluster.yaml"), str(tmp_path / "health.yaml"))


def test_another_clusters_is_a_stranger(refused: Refused, documents: Documents) -> None:
    """A typing error in clusterName would otherwise leave machines unchecked."""
    [violation] = refused([*documents, changed(V1BETA2, "spec.clusterName", "my-clutser")])
    assert violation.path == "spec.clusterName" and "my-cluster" in violation.fix


@pytest.mark.parametrize(
    ("path", "value", "expected", "says"),
    [
        ("spec.selector", {}, "spec.selector", "every machine"),
        ("spec.selector", None, "spec.selector", "every machine"),
        ("spec.selector.matchLabels", {"bad key": "x"}, 'spec.selector.matchLabels["bad key"]', "label key"),
        ("spec.selector.matchLabels", {"a": "b c"}, "spec.selector.matchLabels.a", "label value"),
        (
            "spec.selector",
            {"matchExpressions": [{"key": "a", "operator": "Is", "values": ["b"]}]},
            "spec.selector.matchExpressions[0].operator",
            "no such operator",
        ),
        (
            "spec.selector",
            {"matchExpressions": [{"key": "a", "operator": "In"}]},
            "spec.selector.matchExpressions[0].values",
            "needs values",
        ),
        (
            "spec.selector",
            {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]},
            "spec.selector.matchExpressions[0].values",
            "takes no values",
        ),
        ("spec.checks.nodeStartupTimeoutSeconds", 29, "spec.checks.nodeStartupTimeoutSeconds", "at least 30"),
        ("spec.checks.nodeStartupTimeoutSeconds", "10m", "spec.checks.nodeStartupTimeoutSeconds", "whole number"),
        (
            "spec.checks.unhealthyNodeConditions.0.status",
            "Bad",
            "spec.checks.unhealthyNodeConditions[0].status",
            "one of True, False, Unknown",
        ),
        (
            "spec.checks.unhealthyNodeConditions.0.status",
            True,
            "spec.checks.unhealthyNodeConditions[0].status",
            "text",
        ),
        (
            "spec.checks.unhealthyNodeConditions.1.timeoutSeconds",
            None,
            "spec.checks.unhealthyNodeConditions[1].timeoutSeconds",
            "no timeout",
        ),
        ("spec.checks.unhealthyNodeConditions.0.type", "", "spec.checks.unhealthyNodeConditions[0].type", "no type"),
        (
            "spec.checks.unhealthyMachineConditions",
            [{"type": "OwnerRemediated", "status": "False", "timeoutSeconds": 1}],
            "spec.checks.unhealthyMachineConditions[0].type",
            "health checks themselves",
        ),
        (
            "spec.checks.unhealthyMachineConditions",
            [{"type": "Etcd Healthy", "status": "False", "timeoutSeconds": 1}],
            "spec.checks.unhealthyMachineConditions[0].type",
            "not a type",
        ),
        (
            "spec.checks.unhealthyExpressions",
            [{"expression": "true", "message": "x"}],
            "spec.checks.unhealthyExpressions",
            "CEL",
        ),
        (
            "spec.remediation.triggerIf.unhealthyLessThanOrEqualTo",
            "forty",
            "spec.remediation.triggerIf.unhealthyLessThanOrEqualTo",
            "percentage",
        ),
        (
            "spec.remediation.triggerIf.unhealthyLessThanOrEqualTo",
            "101%",
            "spec.remediation.triggerIf.unhealthyLessThanOrEqualTo",
            "percentage",
        ),
        (
            "spec.remediation.triggerIf.unhealthyLessThanOrEqualTo",
            -1,
            "spec.remediation.triggerIf.unhealthyLessThanOrEqualTo",
            "percentage",
        ),
        (
            "spec.remediation.triggerIf.unhealthyInRange",
            "[3-2]",
            "spec.remediation.triggerIf.unhealthyInRange",
            "range",
        ),
        ("spec.remediation.triggerIf.unhealthyInRange", "1-2", "spec.remediation.triggerIf.unhealthyInRange", "range"),
        (
            "spec.remediation.templateRef",
            {"apiVersion": "a.b/v1", "kind": "T", "name": "t"},
            "spec.remediation.templateRef",
            "external remediation",
        ),
        ("spec.maxUnhealthy", 1, "spec.maxUnhealthy", "no such field"),
        ("metadata.name", "Not_A_Name", "metadata.name", "RFC 1123"),
    ],
)
def test_faults(refused: Refused, documents: Documents, path: str, value: Any, expected: str, says: str) -> None:
    """Each by its path, with the rule and a fix."""
    [violation] = refused([*documents, changed(V1BETA2, path, value)])
    assert violation.path == expected and violation.fix
    assert says in violation.rule + violation.fix


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("spec.unhealthyConditions.1.timeout", None, "spec.unhealthyConditions[1].timeout"),
        ("spec.unhealthyConditions.0.timeout", "1500ms", "spec.unhealthyConditions[0].timeout"),
        ("spec.unhealthyConditions.0.status", "No", "spec.unhealthyConditions[0].status"),
        ("spec.nodeStartupTimeout", "5s", "spec.nodeStartupTimeout"),
        ("spec.maxUnhealthy", "most", "spec.maxUnhealthy"),
        ("spec.unhealthyRange", "[2-1]", "spec.unhealthyRange"),
        ("spec.remediationTemplate", {"kind": "T", "name": "t"}, "spec.remediationTemplate"),
        ("spec.checks", {}, "spec.checks"),
        (
            "spec.unhealthyMachineConditions",
            [{"type": "EtcdMemberHealthy", "status": "False"}],
            "spec.unhealthyMachineConditions[0].timeout",
        ),
        (
            "spec.unhealthyMachineConditions",
            [{"type": "Ready", "status": "False", "timeout": "1m"}],
            "spec.unhealthyMachineConditions[0].type",
        ),
    ],
)
def test_faults_in_the_users_own_terms(
    refused: Refused, documents: Documents, path: str, value: Any, expected: str
) -> None:
    """What was written in v1beta1 is named as in v1beta1."""
    assert [each.path for each in refused([*documents, changed(CLASSIC, path, value)])] == [expected]


def test_all_faults_at_once(refused: Refused, documents: Documents) -> None:
    """One run tells them all."""
    document = changed(changed(V1BETA2, "spec.selector", {}), "spec.checks.nodeStartupTimeoutSeconds", 1)
    assert len(refused([*documents, document])) == 2


def test_what_older_versions_have_no_place_for(read: Read, documents: Documents) -> None:
    """v1alpha3 has no range, and conditions of Machines came with v1beta1; both are told by their paths."""
    machine = [{"type": "EtcdMemberHealthy", "status": "False", "timeoutSeconds": 60}]
    [hub] = read([*documents, changed(V1BETA2, "spec.checks.unhealthyMachineConditions", machine)]).health_checks
    lost = {version: {loss.path for loss in whole_objects.from_hub(hub, version).losses} for version in OLDER}
    conditions, span = "spec.checks.unhealthyMachineConditions", "spec.remediation.triggerIf.unhealthyInRange"
    assert lost == {"v1alpha3": {conditions, span}, "v1alpha4": {conditions}, "v1beta1": set()}
    assert "unhealthyRange" not in whole_objects.from_hub(hub, "v1alpha3").object["spec"]


def test_conditions_of_machines_in_v1beta1(read: Read, documents: Documents) -> None:
    """They are directly in spec there, with a duration, and mean the same."""
    written = [{"type": "EtcdMemberHealthy", "status": "False", "timeout": "1m30s"}]
    [hub] = read([*documents, changed(CLASSIC, "spec.unhealthyMachineConditions", written)]).health_checks
    assert hub["spec"]["checks"]["unhealthyMachineConditions"] == [
        {"type": "EtcdMemberHealthy", "status": "False", "timeoutSeconds": 90}
    ]
    assert whole_objects.from_hub(hub, "v1beta1").object["spec"]["unhealthyMachineConditions"] == written
