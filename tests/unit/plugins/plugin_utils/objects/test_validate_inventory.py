# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a manifest may say of a pool of existing hosts."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import Report
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.validate import cluster

WHOLE = {
    "group": "kubeadm_pool",
    "selector": {"matchVariables": {"rack": 7, "ssd": True, "zone": "a"}},
    "failureDomainVariable": "zone",
    "addressVariable": "cluster_address",
    "kubeadm": {"skipPhases": ["addon/coredns"], "ignorePreflightErrors": ["Swap"], "reason": "no images"},
}


def found(spec: Any) -> dict[str, str]:
    """The violations of a template by their path, each with its rule and fix."""
    report = Report("InventoryMachineTemplate default/prod")
    template = {"kind": "InventoryMachineTemplate", "metadata": {"name": "prod"}, "spec": {"template": {"spec": spec}}}
    cluster.validate_template(template, report)
    return {each.path: f"{each.rule}. {each.fix}" for each in report.violations}


def test_a_whole_template_is_right() -> None:
    assert found(WHOLE) == {}
    assert found({"group": "kubeadm_pool"}) == {}


@pytest.mark.parametrize(
    ("change", "path", "says"),
    [
        ({"group": ""}, "group", "Name the group"),
        ({"group": 7}, "group", "Name the group"),
        ({"grop": "x"}, "grop", "Did you mean group?"),
        ({"image": "x"}, "image", "Known here: group"),
        ({"failureDomainVariable": "my zone"}, "failureDomainVariable", "name of a variable"),
        ({"addressVariable": ["a"]}, "addressVariable", "name of a variable"),
        ({"selector": {"matchLabels": {"a": "b"}}}, "selector", "matchVariables"),
        ({"selector": "a"}, "selector", "matchVariables"),
        ({"selector": {"matchVariables": {"a": ["b"]}}}, "selector.matchVariables.a", "compared with text"),
        ({"selector": {"matchVariables": {"a b": "c"}}}, "selector.matchVariables", "name of a variable"),
        ({"failureDomainVariable": "ansible_password"}, "failureDomainVariable", "of Ansible's own"),
        ({"addressVariable": "ansible_host"}, "addressVariable", "of Ansible's own"),
        ({"addressVariable": "inventory_hostname"}, "addressVariable", "of Ansible's own"),
        ({"selector": {"matchVariables": {"ansible_user": "a"}}}, "selector.matchVariables", "of Ansible's own"),
        ({"failureDomainVariable": "db_password"}, "failureDomainVariable", "a secret's name"),
        ({"selector": {"matchVariables": {"api_key": "a"}}}, "selector.matchVariables", "a secret's name"),
        ({"kubeadm": "x"}, "kubeadm", "as fields"),
        ({"kubeadm": {"skipPhase": []}}, "kubeadm.skipPhase", "Did you mean skipPhases?"),
        ({"kubeadm": {"skipPhases": "addon"}}, "kubeadm.skipPhases", "Write skipPhases: [addon]"),
        ({"kubeadm": {"ignorePreflightErrors": [7]}}, "kubeadm.ignorePreflightErrors[0]", "quotes"),
    ],
)
def test_each_fault_is_named(change: dict[str, Any], path: str, says: str) -> None:
    [(where, text)] = found({**WHOLE, **change}).items()
    assert where.startswith(f"spec.template.spec.{path}")
    assert says in text


def test_a_missing_group_is_named() -> None:
    assert list(found({})) == ["spec.template.spec.group"]


def test_an_inventory_cluster_has_no_field_that_nobody_reads() -> None:
    report = Report("InventoryCluster default/prod")
    spec = {"controlPlaneEndpoint": {"host": "api.example.org", "port": 6443}, "failureDomain": []}
    cluster.validate_infrastructure_cluster(
        {"kind": "InventoryCluster", "metadata": {"name": "prod"}, "spec": spec}, report
    )
    assert [(each.path, each.fix) for each in report.violations] == [
        ("spec.failureDomain", "Did you mean failureDomains?")
    ]
