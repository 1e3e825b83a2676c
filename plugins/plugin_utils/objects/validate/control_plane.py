# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Create-time rules of a KubeadmControlPlane, all reported at once.

Source: docs/reference/cluster_api.md, "Admission rules".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....module_utils.common import kubernetes_facts, kubernetes_versions
from ....module_utils.common.violations import Report, child
from ...documents import names
from ...kubeadm.configuration import render
from ...kubeadm.configuration import validate as kubeadm_rules
from .. import kinds
from ..instance_data import rendering
from ..user_annotations import validate_annotations
from .kubeadm_config_spec import validate_config
from .machine_taints import validate_machine_taints

_CONFIG = "spec.kubeadmConfigSpec"
# With fewer, removing a machine before its replacement comes would lose etcd's quorum.
SURGELESS_REPLICAS = 3


def managed_etcd(control_plane: Mapping[str, Any]) -> bool:
    """Return whether kubeadm runs etcd on the control plane machines.

    It does without clusterConfiguration.etcd.external.
    """
    config = (control_plane.get("spec") or {}).get("kubeadmConfigSpec") or {}
    return ((config.get("clusterConfiguration") or {}).get("etcd") or {}).get("external") is None


def validate_control_plane(control_plane: Mapping[str, Any], cluster: str | None, report: Report) -> None:
    """Check a defaulted hub KubeadmControlPlane against every rule of creation.

    `cluster` is its Cluster's name, where known.
    """
    spec = control_plane["spec"]
    metadata = control_plane["metadata"]
    metadata_rules(metadata, "metadata", report)
    validate_annotations(kinds.KUBEADM_CONTROL_PLANE, metadata.get("annotations"), "metadata.annotations", report)
    if not names.is_dns_subdomain(control_plane["metadata"]["name"]):
        _not_a_name("metadata.name", control_plane["metadata"]["name"], report)
    version = _version(spec, report)
    _replicas(control_plane, report)
    _infrastructure_reference(spec, report)
    _rollout(spec, report)
    _remediation(spec, report)
    template = (spec.get("machineTemplate") or {}).get("metadata") or {}
    metadata_rules(template, "spec.machineTemplate.metadata", report)
    validate_annotations(
        kinds.MACHINE, template.get("annotations"), "spec.machineTemplate.metadata.annotations", report
    )
    taints = ((spec.get("machineTemplate") or {}).get("spec") or {}).get("taints") or []
    validate_machine_taints(taints, "spec.machineTemplate.spec.taints", report)
    _naming(spec, cluster or "cluster", control_plane["metadata"]["name"], report)
    config = spec.get("kubeadmConfigSpec") or {}
    _certificates(config.get("clusterConfiguration") or {}, spec, version, report)
    _timeouts(config, report)
    _kubernetes_version(config, spec, report)
    rendering.validate(config, _CONFIG, report)
    filled_in = rendering.sample(config)
    kubeadm_rules.validate(filled_in, _CONFIG, version, report)
    validate_config(filled_in, _CONFIG, report)
    if version is not None:
        _writable(config, str(version), report)


def metadata_rules(metadata: Mapping[str, Any], path: str, report: Report) -> None:
    """Check the keys of labels and annotations, and the label values."""
    for field in ("labels", "annotations"):
        for key, value in (metadata.get(field) or {}).items():
            where = child(child(path, field), key)
            if not names.is_qualified_name(key):
                report.add(
                    where,
                    None,
                    f"{key!r} is not a valid key",
                    "Use [prefix/]name of letters, digits, '-', '_' and '.'.",
                )
            if field == "labels" and not names.is_label_value(value):
                fix = "Use at most 63 letters, digits, '-', '_' and '.'."
                report.add(where, value, "this is not a valid label value", fix)


def _not_a_name(path: str, value: str, report: Report) -> None:
    rule = "this is not an RFC 1123 name"
    report.add(
        path, value, rule, "Use lower case letters, digits and '-', beginning and ending with a letter or digit."
    )


def _version(spec: Mapping[str, Any], report: Report) -> kubernetes_versions.Version | None:
    path, text = "spec.version", spec.get("version")
    if not text:
        report.add(path, None, "the Kubernetes version is missing", 'Write one like "v1.20.2".')
        return None
    try:
        version = kubernetes_versions.parse(text)
    except ValueError as error:
        fix = 'Write major, minor and patch level, like "v1.20.2"; a channel or a minor alone would change under your feet.'
        report.add(path, None, str(error), fix)
        return None
    if not version.supported:
        rule = f"there is no kubeadm API for this version here: the oldest is v1.{kubernetes_versions.OLDEST_MINOR}.0"
        report.add(path, text, rule, "Use a newer version.")
        return None
    return version


def validate_replicas(control_plane: Mapping[str, Any], report: Report) -> None:
    """Check the rules that involve the number of replicas.

    Called for a manifest that leaves it out, together with what is stored.
    """
    _replicas(control_plane, report)
    _surge(control_plane["spec"], report)


def _replicas(control_plane: Mapping[str, Any], report: Report) -> None:
    replicas = control_plane["spec"].get("replicas")
    if isinstance(replicas, int):
        replica_rules(replicas, control_plane, report)


def replica_rules(replicas: int, control_plane: Mapping[str, Any], report: Report) -> None:
    """Check that the number of replicas is positive and fits etcd.

    With etcd on the machines it is odd. The rules are the same for a manifest and for scaling.
    """
    path = "spec.replicas"
    if replicas <= 0:
        fix = "Use 1, 3 or 5. To remove the whole control plane, delete the cluster."
        report.add(path, replicas, "a control plane has at least one replica", fix)
    elif replicas % 2 == 0 and managed_etcd(control_plane):
        fix = f"Use {replicas - 1} or {replicas + 1}: an even number tolerates no more failures than one fewer."
        report.add(path, replicas, "with etcd on the control plane machines the number of replicas is odd", fix)


def _infrastructure_reference(spec: Mapping[str, Any], report: Report) -> None:
    path = "spec.machineTemplate.spec.infrastructureRef"
    reference = ((spec.get("machineTemplate") or {}).get("spec") or {}).get("infrastructureRef")
    if not reference:
        fix = "Add the reference to a machine template."
        report.add(path, None, "the control plane names no machine template", fix)
        return
    reference_rules(reference, path, kinds.infrastructure_group(reference.get("kind")), report)


def reference_rules(reference: Mapping[str, Any], path: str, group: str, report: Report) -> None:
    """Check that a reference has group, kind and name.

    A `group` of "" is any group that can be another provider's.
    """
    example = group or f"the object's group, such as {kinds.GROUP_INFRASTRUCTURE}"
    for key, added in (("apiGroup", example), ("kind", "the object's kind"), ("name", "the object's name")):
        if not reference.get(key):
            report.add(child(path, key), None, f"the reference has no {key}", f"Add {key}: {added}.")
    found, where = reference.get("apiGroup"), child(path, "apiGroup")
    if found and group and found != group:
        report.add(where, found, f"this reference is to the group {group}", f"Use {group}.")
    elif found and not ("." in found and names.is_dns_subdomain(found)):
        report.add(where, found, "this is no group of a provider", f"Write {example}.")


def _rollout(spec: Mapping[str, Any], report: Report) -> None:
    rollout = spec.get("rollout") or {}
    _surge(spec, report)
    days = (rollout.get("before") or {}).get("certificatesExpiryDays")
    if days is not None:
        config = (spec.get("kubeadmConfigSpec") or {}).get("clusterConfiguration") or {}
        validity = config.get("certificateValidityPeriodDays") or kubernetes_facts.CERTIFICATE_VALIDITY_DAYS
        where = "spec.rollout.before.certificatesExpiryDays"
        if days >= validity:
            rule = f"this is not less than the certificates' validity of {validity} days: every machine would always be outdated"
            report.add(where, days, rule, "Use fewer days.")


def _surge(spec: Mapping[str, Any], report: Report) -> None:
    strategy = (spec.get("rollout") or {}).get("strategy") or {}
    surge = (strategy.get("rollingUpdate") or {}).get("maxSurge", 1)
    where = "spec.rollout.strategy.rollingUpdate.maxSurge"
    if surge not in (0, 1) or isinstance(surge, bool):
        report.add(
            where, surge, "maxSurge is 0 or 1", "Use 1 (replacement first) or 0 (removal first, from 3 replicas)."
        )
    elif surge == 0 and isinstance(spec.get("replicas"), int) and spec["replicas"] < SURGELESS_REPLICAS:
        rule = "maxSurge 0 needs at least 3 replicas: with fewer, removing first would lose etcd's quorum"
        report.add(where, surge, rule, "Use maxSurge 1, or 3 replicas.")


def _remediation(spec: Mapping[str, Any], report: Report) -> None:
    retries = (spec.get("remediation") or {}).get("maxRetry")
    if retries is not None and retries < 0:
        report.add("spec.remediation.maxRetry", retries, "a number of retries is not negative", "Use 0 or more.")


def _naming(spec: Mapping[str, Any], cluster: str, control_plane: str, report: Report) -> None:
    template = (spec.get("machineNaming") or {}).get("template")
    for problem in names.template_problems(template, cluster, control_plane) if template else []:
        fix = "Use {{ .cluster.name }}, {{ .kubeadmControlPlane.name }} and {{ .random }}, which is mandatory."
        report.add("spec.machineNaming.template", template, problem, fix)


def _certificates(
    config: Mapping[str, Any], spec: Mapping[str, Any], version: kubernetes_versions.Version | None, report: Report
) -> None:
    path = child(_CONFIG, "clusterConfiguration")
    days = config.get("certificateValidityPeriodDays")
    ca_days = config.get("caCertificateValidityPeriodDays")
    if days is not None and days > (kubernetes_facts.CA_VALIDITY_DAYS if ca_days is None else ca_days):
        rule = "a certificate cannot live longer than its CA (caCertificateValidityPeriodDays)"
        report.add(child(path, "certificateValidityPeriodDays"), days, rule, "Use fewer days.")


def _timeouts(config: Mapping[str, Any], report: Report) -> None:
    name = "controlPlaneComponentHealthCheckSeconds"
    seconds = [
        ((config.get(part) or {}).get("timeouts") or {}).get(name)
        for part in ("initConfiguration", "joinConfiguration")
    ]
    if seconds[0] != seconds[1]:
        where = f"{_CONFIG}.{'initConfiguration' if seconds[1] is None else 'joinConfiguration'}.timeouts.{name}"
        rule = "initConfiguration and joinConfiguration have different values: before v1beta4 kubeadm has one field for both"
        report.add(where, seconds[0] if seconds[1] is None else seconds[1], rule, "Write the same number in both.")


def _kubernetes_version(config: Mapping[str, Any], spec: Mapping[str, Any], report: Report) -> None:
    written = (config.get("clusterConfiguration") or {}).get("kubernetesVersion")
    if written and spec.get("version") and written.lstrip("v") != spec["version"].lstrip("v"):
        rule = f"this differs from spec.version {spec['version']}, which says what the machines run"
        report.add(f"{_CONFIG}.clusterConfiguration.kubernetesVersion", written, rule, "Leave it out.")


def _writable(config: Mapping[str, Any], version: str, report: Report) -> None:
    """Report fields that kubeadm of this version has no place for.

    Thus they are known now, not when the first machine is up.
    """
    render.init_documents(
        config.get("initConfiguration") or {}, writable_cluster(config, version), version, report=report
    )
    render.join_documents(config.get("joinConfiguration") or {}, version, report=report)


def writable_cluster(config: Mapping[str, Any], version: str) -> dict[str, Any]:
    """Return clusterConfiguration without fields that kubeadm of `version` lacks.

    The CAs' validity is left out before v1beta4, because the CAs are made here from that very field and kubeadm never
    makes one.
    """
    cluster = dict(config.get("clusterConfiguration") or {})
    if kubernetes_versions.api_version_for(version).number < 4:
        cluster.pop("caCertificateValidityPeriodDays", None)
    return cluster
