# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conversion from any Cluster API form to the hub form (v1beta2).

The hub form is plain dicts in v1beta2 shapes. Nothing is dropped silently.

What cannot be represented is a violation. `status` and the metadata an API server sets are ignored: they describe the past.
Source of the names: docs/reference/cluster_api.md, "Fields of older versions".
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Any

from ....module_utils.common.values import utc_time
from ....module_utils.common.violations import Report, child
from ...documents import names
from ...documents.schema import ABSENT, check
from ...documents.yaml_files import Document
from ...kubeadm.configuration import classic_form
from .. import kinds, machine_health_check, structures
from ..resource_sets import cluster_resource_set
from ..user_annotations import NOTES
from ..workers import machine_deployment
from . import failure_domains, workers
from .machine_specs import DELETION, hub_config, hub_machine, hub_reference, without_empty_taints
from .zero_values import without_zeros

# Kind -> API groups it may be written in. The 2019 proposal had KubeadmControlPlane in the cluster group.
_GROUPS: Mapping[str, tuple[str, ...]] = {
    kinds.CLUSTER: (kinds.GROUP_CLUSTER,),
    kinds.KUBEADM_CONTROL_PLANE: (kinds.GROUP_CONTROL_PLANE, kinds.GROUP_CLUSTER),
    kinds.MACHINE: (kinds.GROUP_CLUSTER,),
    kinds.KUBEADM_CONFIG: (kinds.GROUP_BOOTSTRAP,),
    kinds.KUBEADM_CONFIG_TEMPLATE: (kinds.GROUP_BOOTSTRAP,),
    kinds.MACHINE_DEPLOYMENT: (kinds.GROUP_CLUSTER,),
    kinds.MACHINE_SET: (kinds.GROUP_CLUSTER,),
    kinds.MACHINE_HEALTH_CHECK: (kinds.GROUP_CLUSTER,),
    kinds.CLUSTER_RESOURCE_SET: (kinds.GROUP_ADDONS,),
}
_VERSION = re.compile(r"v[1-9][0-9]{0,8}((alpha|beta)[1-9][0-9]{0,8})?")
_DESCRIPTIONS: Mapping[str, Mapping[str, Any]] = {
    kinds.CLUSTER: structures.CLUSTER_SPEC,
    kinds.KUBEADM_CONTROL_PLANE: structures.CONTROL_PLANE_SPEC,
    kinds.MACHINE: structures.MACHINE_SPEC,
    kinds.KUBEADM_CONFIG: structures.KUBEADM_CONFIG_SPEC,
    kinds.KUBEADM_CONFIG_TEMPLATE: machine_deployment.CONFIG_TEMPLATE_SPEC,
    kinds.MACHINE_DEPLOYMENT: machine_deployment.SPEC,
    kinds.MACHINE_SET: machine_deployment.SET_SPEC,
    kinds.MACHINE_HEALTH_CHECK: machine_health_check.SPEC,
    kinds.CLUSTER_RESOURCE_SET: cluster_resource_set.SPEC,
}


def to_hub(document: Document, report: Report) -> dict[str, Any]:
    """Return the hub object of a document.

    The kinds are those of kinds.py that a manifest or a store has, and infrastructure kinds.

    Violations go to `report`. What an annotation keeps of a newer version is not read: that is conversion.to_hub.
    """
    data = copy.deepcopy(document.data)
    kind = document.kind
    result: dict[str, Any] = {
        "apiVersion": kinds.api_version(kind, document.api_version),
        "kind": kind,
        "metadata": _metadata(data["metadata"], report),
    }
    if kind == kinds.SECRET:
        result.update(_secret(data, report))
        return result
    if kind == kinds.CONFIG_MAP:
        result.update(_config_map(data, report))
        return result
    form = _form(document, report)
    description = {"apiVersion": "any", "kind": "any", "metadata": "any", "status": "any", "spec": "object"}
    spec = check(data, description, "", report).get("spec", {})
    described = _DESCRIPTIONS.get(kind)
    if described is None:
        template = kind.endswith("Template")
        result["spec"] = _template(spec, report) if template else _infrastructure_cluster(kind, spec, report)
        return result
    read = check(without_zeros(spec, described[form]), described[form], "spec", report, _hints(kind, form))
    hub = _hub_spec(kind, read, form, result["metadata"]["namespace"], report)
    # What a field of the classic form was moved out of may be empty now.
    result["spec"] = without_zeros(hub, described["hub"])
    return result


def without_zero_values(obj: dict[str, Any]) -> dict[str, Any]:
    """Return a stored object without the zero values that mean none.

    Earlier releases stored them. An API server that has the limits leaves such an object alone, but takes no new one.
    """
    described, spec = _DESCRIPTIONS.get(str(obj.get("kind"))), obj.get("spec")
    if described is None or not isinstance(spec, dict):
        return obj
    return {**obj, "spec": without_zeros(spec, described["hub"])}


def _hints(kind: str, form: str) -> Mapping[str, str]:
    if kind == kinds.MACHINE_HEALTH_CHECK:
        return machine_health_check.HINTS[form]
    if kind in (kinds.MACHINE_DEPLOYMENT, kinds.MACHINE_SET):
        return machine_deployment.HINTS[form]
    return structures.HINTS_CLASSIC if form == "classic" else structures.HINTS_HUB


def _hub_spec(kind: str, spec: dict[str, Any], form: str, namespace: str, report: Report) -> dict[str, Any]:
    """Return the hub form of a checked spec."""
    if kind == kinds.CLUSTER:
        return _cluster(spec, form, namespace, report)
    if kind == kinds.KUBEADM_CONTROL_PLANE:
        return _control_plane(spec, form, namespace, report)
    if kind == kinds.MACHINE:
        return hub_machine(spec, "spec", form, namespace, report)
    if kind in workers.KINDS:
        return workers.to_hub(kind, spec, form, namespace, report)
    if form == "hub" or kind == kinds.CLUSTER_RESOURCE_SET:
        return spec
    if kind == kinds.KUBEADM_CONFIG:
        return hub_config(spec, "spec", report)
    return machine_health_check.from_classic(spec, report)


def _form(document: Document, report: Report) -> str:
    group, _slash, version = document.api_version.rpartition("/")
    groups = _GROUPS.get(document.kind, (kinds.infrastructure_group(document.kind),))
    infrastructure = document.kind not in _GROUPS
    if groups == ("",):
        if not ("." in group and names.is_dns_subdomain(group) and _VERSION.fullmatch(version)):
            rule = "this is no group and version of an API"
            report.unreadable("apiVersion", document.api_version, rule, f"Use one such as {kinds.API_INFRASTRUCTURE}.")
        return "classic"
    versions = kinds.INFRASTRUCTURE_VERSIONS if infrastructure else kinds.MANIFEST_VERSIONS
    if group not in groups or version not in versions:
        rule = f"{document.kind} is not read in this API version"
        report.unreadable(
            "apiVersion", document.api_version, rule, f"Use {groups[0]}/ with one of {', '.join(versions)}."
        )
    return "hub" if version == "v1beta2" else "classic"


def _metadata(metadata: Mapping[str, Any], report: Report) -> dict[str, Any]:
    checked = check(metadata, structures.METADATA, "metadata", report)
    result: dict[str, Any] = {"name": metadata["name"], "namespace": metadata.get("namespace") or "default"}
    for key in ("labels", "annotations"):
        given = {name: value for name, value in (checked.get(key) or {}).items() if name not in NOTES}
        if given:
            result[key] = given
    return result


def _cluster(spec: dict[str, Any], form: str, namespace: str, report: Report) -> dict[str, Any]:
    for key in ("controlPlaneRef", "infrastructureRef"):
        if key in spec:
            spec[key] = hub_reference(spec[key], form, namespace, f"spec.{key}", f"spec.{key}", report)
    return spec


def _control_plane(spec: dict[str, Any], form: str, namespace: str, report: Report) -> dict[str, Any]:
    if form == "hub":
        result = spec
    else:
        result = {key: spec[key] for key in ("replicas", "version") if key in spec}
        _machine_template(spec, result, namespace, report)
        _rollout(spec, result, report)
        _remediation(spec, result, report)
        if "machineNamingStrategy" in spec:
            result["machineNaming"] = spec["machineNamingStrategy"]
            report.moved("spec.machineNaming", "spec.machineNamingStrategy")
        if "kubeadmConfigSpec" in spec:
            config = spec["kubeadmConfigSpec"]
            result["kubeadmConfigSpec"] = {
                **config,
                **classic_form.configuration(config, "spec.kubeadmConfigSpec", report),
            }
    without_empty_taints((result.get("machineTemplate") or {}).get("spec") or {})
    rollout = result.get("rollout")
    if rollout and "after" in rollout:
        rollout["after"] = utc_time(rollout["after"])
    return result


def _machine_template(spec: Mapping[str, Any], result: dict[str, Any], namespace: str, report: Report) -> None:
    template = spec.get("machineTemplate") or {}
    hub: dict[str, Any] = {}
    inner: dict[str, Any] = {}
    if "metadata" in template:
        hub["metadata"] = template["metadata"]
    found = _one_of(
        ("spec.infrastructureTemplate", spec.get("infrastructureTemplate")),
        ("spec.machineTemplate.infrastructureRef", template.get("infrastructureRef")),
        report,
    )
    where = "spec.machineTemplate.spec.infrastructureRef"
    if found is not None:
        inner["infrastructureRef"] = hub_reference(found[1], "classic", namespace, found[0], where, report)
        report.moved(where, found[0])
    else:
        report.moved(where, "spec.machineTemplate.infrastructureRef")
    for name in ("readinessGates", "taints"):
        if name in template:
            inner[name] = template[name]
            report.moved(f"spec.machineTemplate.spec.{name}", f"spec.machineTemplate.{name}")
    for name, hub_name in DELETION:
        duration = _one_of(
            (f"spec.{name}", spec.get(name)), (f"spec.machineTemplate.{name}", template.get(name)), report
        )
        if duration is not None:
            deletion = inner.setdefault("deletion", {})
            deletion[hub_name] = classic_form.whole_seconds(duration[1], duration[0], report)
            report.moved(f"spec.machineTemplate.spec.deletion.{hub_name}", duration[0])
    if inner:
        hub["spec"] = inner
    if hub or "machineTemplate" in spec:
        result["machineTemplate"] = hub


def _rollout(spec: Mapping[str, Any], result: dict[str, Any], report: Report) -> None:
    rollout: dict[str, Any] = {}
    for hub, first, second in (
        ("after", "rolloutAfter", "upgradeAfter"),
        ("strategy", "rolloutStrategy", "strategy"),
        ("before", "rolloutBefore", ""),
    ):
        found = _one_of((f"spec.{first}", spec.get(first)), (f"spec.{second}", spec.get(second)), report)
        # Go's zero time means "not set" in the 2019 types.
        if found is not None and found[1] != "0001-01-01T00:00:00Z":
            rollout[hub] = found[1]
            report.moved(f"spec.rollout.{hub}", found[0])
    if rollout:
        result["rollout"] = rollout


def _remediation(spec: Mapping[str, Any], result: dict[str, Any], report: Report) -> None:
    written = spec.get("remediationStrategy")
    if written is None:
        return
    hub: dict[str, Any] = {}
    report.moved("spec.remediation", "spec.remediationStrategy")
    if "maxRetry" in written:
        hub["maxRetry"] = written["maxRetry"]
    for name in ("retryPeriod", "minHealthyPeriod"):
        if name in written:
            path = f"spec.remediationStrategy.{name}"
            hub[name + "Seconds"] = classic_form.whole_seconds(written[name], path, report)
            report.moved(f"spec.remediation.{name}Seconds", path)
    result["remediation"] = hub


def _one_of(first: tuple[str, Any], second: tuple[str, Any], report: Report) -> tuple[str, Any] | None:
    given = [pair for pair in (first, second) if pair[1] is not None]
    if len(given) == 2:
        report.unreadable(
            second[0], None, f"this means the same as {first[0]}, which is there too", "Keep one of them."
        )
    return given[0] if given else None


def _template(spec: dict[str, Any], report: Report) -> dict[str, Any]:
    """Return a machine template's spec as {template: {spec}}.

    The proposals' early form had the machine's fields directly in spec.
    """
    template = spec.get("template")
    if template is None:
        report.moved("spec.template.spec", "spec")
        return {"template": {"spec": spec}}
    for key in spec:
        if key != "template":
            rule = "fields beside spec.template are not part of a machine template"
            report.unreadable(f"spec.{key}", None, rule, f"Move it to spec.template.spec.{key}.")
    description = {"metadata": {"labels": "any", "annotations": "any"}, "spec": "object"}
    checked = check(template, description, "spec.template", report)
    return {"template": {} if checked is ABSENT else checked}


def _infrastructure_cluster(kind: str, spec: dict[str, Any], report: Report) -> dict[str, Any]:
    """Return an infrastructure cluster's spec in the contract's shapes.

    Only controlPlaneEndpoint and failureDomains are converted; the provider's own fields stay unchanged, and so do another provider's
    failureDomains of another shape.
    """
    if spec.get("controlPlaneEndpoint") is None:
        spec.pop("controlPlaneEndpoint", None)
    else:
        endpoint = check(
            spec["controlPlaneEndpoint"], {"host": "string", "port": "integer"}, "spec.controlPlaneEndpoint", report
        )
        if endpoint is ABSENT or (not endpoint.get("host") and not endpoint.get("port")):
            del spec["controlPlaneEndpoint"]
        else:
            spec["controlPlaneEndpoint"] = endpoint
    if kind not in kinds.OWN_INFRASTRUCTURE:
        domains = failure_domains.of_contract(spec.get("failureDomains"))
        spec.update({"failureDomains": domains} if domains else {})
    elif spec.get("failureDomains") is not None:
        spec["failureDomains"] = _failure_domains(spec["failureDomains"], report)
    return spec


def _failure_domains(written: Any, report: Report) -> list[dict[str, Any]]:
    one = {"controlPlane": "boolean", "attributes": "any"}
    if isinstance(written, dict):
        named = {
            name: check(value or {}, one, child("spec.failureDomains", name), report) for name, value in written.items()
        }
        return [{"name": name, **named[name]} for name in sorted(named) if named[name] is not ABSENT]
    checked = check(written, [{"name": "string", **one}], "spec.failureDomains", report)
    return [] if checked is ABSENT else checked


def _secret(data: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """Return the type, data and immutable flag of a Secret.

    stringData stays until validated and folded in validate_secret.
    """
    description = {"apiVersion": "any", "kind": "any", "metadata": "any", **structures.SECRET}
    checked = check(data, description, "", report)
    result = {key: checked[key] for key in ("data", "stringData", "immutable") if key in checked}
    return {"type": checked.get("type") or "Opaque", **result}


def _config_map(data: Mapping[str, Any], report: Report) -> dict[str, Any]:
    """Return the data and immutable flag of a ConfigMap."""
    description = {"apiVersion": "any", "kind": "any", "metadata": "any", **structures.CONFIG_MAP}
    checked = check(data, description, "", report)
    return {key: checked[key] for key in ("data", "immutable") if key in checked}
