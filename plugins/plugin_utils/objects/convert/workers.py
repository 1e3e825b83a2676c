# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conversion of MachineDeployments, MachineSets and KubeadmConfigTemplates.

Source: Cluster API's conversions between its v1beta1 and v1beta2 (docs/reference/cluster_api.md, "MachineDeployments").
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from ....module_utils.common.values import utc_time
from ....module_utils.common.violations import Report
from .. import kinds
from .machine_specs import hub_config, hub_machine

Object = dict[str, Any]
# Converts the spec of a Machine or of a KubeadmConfig to the older form.
Older = Callable[[Mapping[str, Any]], Object]
KINDS = (kinds.MACHINE_DEPLOYMENT, kinds.MACHINE_SET, kinds.KUBEADM_CONFIG_TEMPLATE)
_TEMPLATE = "spec.template.spec"
_V1ALPHA4, _V1BETA1 = 1, 2
# Names that both forms have for the same.
_SAME = ("clusterName", "replicas", "selector", "template", "paused")


def to_hub(kind: str, spec: Object, form: str, namespace: str, report: Report) -> Object:
    """Return the hub form of a checked spec of one of KINDS."""
    template = spec.get("template") or {}
    if "spec" in template:
        if kind != kinds.KUBEADM_CONFIG_TEMPLATE:
            template["spec"] = hub_machine(template["spec"], _TEMPLATE, form, namespace, report)
        elif form == "classic":
            template["spec"] = hub_config(template["spec"], _TEMPLATE, report)
    if kind == kinds.KUBEADM_CONFIG_TEMPLATE:
        return spec
    hub = dict(spec) if form == "hub" else _from_classic(spec, report)
    if "after" in (hub.get("rollout") or {}):
        hub["rollout"]["after"] = utc_time(hub["rollout"]["after"])
    return hub


def _from_classic(spec: Mapping[str, Any], report: Report) -> Object:
    strategy = spec.get("strategy") or {}
    rolling = dict(strategy.get("rollingUpdate") or {})
    # A MachineSet has it directly, a MachineDeployment in its strategy.
    policy = {"spec.deletePolicy": spec.get("deletePolicy")}
    policy["spec.strategy.rollingUpdate.deletePolicy"] = rolling.pop("deletePolicy", None)
    hub = {key: spec[key] for key in _SAME if key in spec}
    rollout: Object = {}
    if "rolloutAfter" in spec and spec["rolloutAfter"] != "0001-01-01T00:00:00Z":
        rollout["after"] = spec["rolloutAfter"]
    if "type" in strategy or rolling:
        kept = {"type": strategy["type"]} if "type" in strategy else {}
        rollout["strategy"] = {**kept, **({"rollingUpdate": rolling} if rolling else {})}
    if rollout:
        hub["rollout"] = rollout
    for path, order in policy.items():
        if order is not None:
            hub["deletion"] = {"order": order}
            report.moved("spec.deletion.order", path)
    if strategy.get("remediation"):
        hub["remediation"] = strategy["remediation"]
    if "machineNamingStrategy" in spec:
        hub["machineNaming"] = spec["machineNamingStrategy"]
    if "minReadySeconds" in spec:
        machine = hub.setdefault("template", {}).setdefault("spec", {})
        machine["minReadySeconds"] = spec["minReadySeconds"]
    for path, written in (
        ("spec.rollout.after", "spec.rolloutAfter"),
        ("spec.rollout.strategy", "spec.strategy"),
        ("spec.remediation", "spec.strategy.remediation"),
        ("spec.machineNaming", "spec.machineNamingStrategy"),
        (f"{_TEMPLATE}.minReadySeconds", "spec.minReadySeconds"),
    ):
        report.moved(path, written)
    return hub


def to_classic(kind: str, spec: Mapping[str, Any], version: int, machine: Older, config: Older) -> Object:
    """Return a hub spec of one of KINDS in an older version.

    `version` is the index in kinds.MANIFEST_VERSIONS; what that version has no place for is left out.
    """
    written = {key: copy.deepcopy(spec[key]) for key in _SAME if key in spec}
    template = written.get("template") or {}
    if kind == kinds.KUBEADM_CONFIG_TEMPLATE:
        if "spec" in template:
            template["spec"] = config(template["spec"])
        return written
    if "minReadySeconds" in (template.get("spec") or {}):
        written["minReadySeconds"] = template["spec"]["minReadySeconds"]
    if "spec" in template:
        template["spec"] = machine(template["spec"])
    order = (spec.get("deletion") or {}).get("order")
    if version >= _V1BETA1 and "machineNaming" in spec:
        written["machineNamingStrategy"] = copy.deepcopy(spec["machineNaming"])
    if kind == kinds.MACHINE_SET:
        return {**written, **({"deletePolicy": order} if order is not None else {})}
    rollout = spec.get("rollout") or {}
    strategy = copy.deepcopy(rollout.get("strategy") or {})
    if order is not None and version >= _V1ALPHA4:
        strategy.setdefault("rollingUpdate", {})["deletePolicy"] = order
    if version >= _V1BETA1:
        if "after" in rollout:
            written["rolloutAfter"] = rollout["after"]
        if "remediation" in spec:
            strategy["remediation"] = copy.deepcopy(spec["remediation"])
    if strategy:
        written["strategy"] = strategy
    return written
