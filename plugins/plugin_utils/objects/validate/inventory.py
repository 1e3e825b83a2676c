# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of an InventoryMachineTemplate and an InventoryCluster.

The provider machine_inventory reads both from a manifest.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from ....module_utils.common.violations import Report, child, item
from ...documents import names

_MACHINE = "spec.template.spec"
_MACHINE_FIELDS = ("group", "selector", "failureDomainVariable", "addressVariable", "kubeadm")
_CLUSTER_FIELDS = ("controlPlaneEndpoint", "failureDomains")
_KUBEADM_FIELDS = ("skipPhases", "ignorePreflightErrors", "reason")


def validate_inventory_template(template: Mapping[str, Any], report: Report) -> None:
    """Check an InventoryMachineTemplate's spec.template.spec.

    It names the pool of hosts and how to choose among them.
    """
    spec = template["spec"]["template"]["spec"]
    _fields(spec, _MACHINE_FIELDS, _MACHINE, report)
    if not isinstance(spec.get("group"), str) or not spec["group"].strip():
        rule = "machines are hosts of an inventory group, and none is named"
        report.add(child(_MACHINE, "group"), spec.get("group"), rule, "Name the group that holds the pool's hosts.")
    for name in ("failureDomainVariable", "addressVariable"):
        if name in spec:
            _variable(spec[name], child(_MACHINE, name), report)
    _selector(spec.get("selector"), child(_MACHINE, "selector"), report)
    _kubeadm(spec.get("kubeadm"), child(_MACHINE, "kubeadm"), report)


def validate_inventory_cluster(infrastructure: Mapping[str, Any], report: Report) -> None:
    """Check that an InventoryCluster has no unknown field.

    The contract's own fields are checked with every provider's.
    """
    _fields(infrastructure["spec"], _CLUSTER_FIELDS, "spec", report)


def _fields(value: Mapping[str, Any], known: tuple[str, ...], path: str, report: Report) -> None:
    for name in value:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, 1, 0.6)
            fix = f"Did you mean {near[0]}?" if near else f"Known here: {', '.join(known)}."
            report.add(child(path, str(name)), None, "nothing reads this field", fix)


def variable_problem(name: Any) -> str:
    """Return why a machine template may not read a host variable.

    The variable is one of the pool's hosts; "" where the template may read it.

    What it reads becomes public: a failure domain, an address, or the hosts that a selector takes.
    """
    if not isinstance(name, str) or not names.is_variable(name):
        return "this is not the name of a variable"
    if names.is_special_variable(name):
        return "this is a variable of Ansible's own, and templates don't read those: passwords are among them"
    if names.is_secret_variable(name):
        return "this is a secret's name, and what a template reads becomes public"
    return ""


def _variable(value: Any, path: str, report: Report) -> None:
    rule = variable_problem(value)
    if rule:
        fix = "Give the name of a variable that the hosts have in the inventory for this, such as zone."
        report.add(path, value, rule, fix)


def _selector(selector: Any, path: str, report: Report) -> None:
    if selector is None:
        return
    wanted = selector.get("matchVariables") if isinstance(selector, dict) else None
    if not isinstance(selector, dict) or list(selector) != ["matchVariables"] or not isinstance(wanted, dict):
        fix = "Write selector: {matchVariables: {zone: a}}."
        report.add(path, None, "a selector is matchVariables, which values the hosts' variables must have", fix)
        return
    for name, value in wanted.items():
        where = child(child(path, "matchVariables"), str(name))
        _variable(name, where, report)
        if isinstance(value, (dict, list)) or value is None:
            report.add(where, None, "a variable is compared with text, a number or true or false", "Give one of these.")


def _kubeadm(needs: Any, path: str, report: Report) -> None:
    if needs is None:
        return
    if not isinstance(needs, dict):
        fix = f"Give {', '.join(_KUBEADM_FIELDS)}."
        report.add(path, needs, "this is what the hosts ask of kubeadm, as fields", fix)
        return
    _fields(needs, _KUBEADM_FIELDS, path, report)
    for name in ("skipPhases", "ignorePreflightErrors"):
        values = needs.get(name) or []
        if not isinstance(values, list):
            report.add(child(path, name), values, "this is a list", f"Write {name}: [{values}].")
            continue
        for index, value in enumerate(values):
            if not isinstance(value, str):
                report.add(item(child(path, name), index), value, "this is text", "Put it in quotes.")
