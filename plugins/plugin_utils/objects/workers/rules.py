# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules of MachineDeployments and of what they name, all reported at once.

Source: Cluster API's webhooks (docs/reference/cluster_api.md, "MachineDeployments"); what is stricter here: docs/machine_deployments.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Optional

from ....module_utils.common import kubernetes_facts
from ....module_utils.common.kubernetes_versions import Version, parse
from ....module_utils.common.violations import Report, child, item
from ...documents import names
from ...kubeadm.configuration import render
from ...kubeadm.configuration import validate as kubeadm_rules
from .. import kinds
from ..instance_data import rendering
from ..user_annotations import validate_annotations
from ..validate import object_selector
from ..validate.control_plane import metadata_rules, reference_rules
from ..validate.kubeadm_config_spec import validate_config
from ..validate.machine_taints import validate_machine_taints
from . import counts

_MACHINE = "spec.template.spec"
_STRATEGY = "spec.rollout.strategy.rollingUpdate"
CHECKS = ("All", "KubeadmVersionSkew", "KubernetesVersionSkew", "ControlPlaneIsStable", "ControlPlaneVersionSkew")
# Parts of a KubeadmConfigSpec that kubeadm join does not read on a worker.
_NOT_OF_WORKERS = ("clusterConfiguration", "initConfiguration", "kubeletConfiguration", "kubeProxyConfiguration")


def validate_deployment(deployment: Mapping[str, Any], newest: Optional[str], report: Report) -> None:
    """Check a defaulted hub MachineDeployment against every rule of creation.

    `newest` is the version of the cluster's KubeadmControlPlane, None where that is not known.
    """
    metadata, spec = deployment["metadata"], deployment["spec"]
    metadata_rules(metadata, "metadata", report)
    _annotations(metadata, report)
    name = metadata["name"]
    if not (names.is_dns_subdomain(name) and names.is_label_value(name)):
        rule = "a MachineDeployment's name becomes a label value of its machines: an RFC 1123 name of at most 63 characters"
        report.add("metadata.name", name, rule, "Use lower case letters, digits and '-'.")
    validate_replicas(spec.get("replicas"), report)
    _numbers(spec, report)
    _template(spec, report)
    _version(spec, newest, report)
    template = (spec.get("machineNaming") or {}).get("template")
    for problem in names.template_problems(template, "cluster", "set", names.SET_NAME) if template else []:
        fix = "Use {{ .cluster.name }}, {{ .machineSet.name }} and {{ .random }}, which is mandatory."
        report.add("spec.machineNaming.template", template, problem, fix)


def _annotations(metadata: Mapping[str, Any], report: Report) -> None:
    annotations = metadata.get("annotations") or {}
    validate_annotations(kinds.MACHINE_DEPLOYMENT, annotations, "metadata.annotations", report)
    given = str(annotations.get(kinds.ANNOTATION_SKIP_PREFLIGHT_CHECKS) or "")
    for each in (part.strip() for part in given.split(",") if part.strip()):
        if each not in CHECKS:
            where = child("metadata.annotations", kinds.ANNOTATION_SKIP_PREFLIGHT_CHECKS)
            report.add(where, each, "there is no such preflight check", f"Known are {', '.join(CHECKS)}.")


def _numbers(spec: Mapping[str, Any], report: Report) -> None:
    rolling = ((spec.get("rollout") or {}).get("strategy") or {}).get("rollingUpdate") or {}
    for path, value in (
        (f"{_STRATEGY}.maxSurge", rolling.get("maxSurge")),
        (f"{_STRATEGY}.maxUnavailable", rolling.get("maxUnavailable")),
        ("spec.remediation.maxInFlight", (spec.get("remediation") or {}).get("maxInFlight")),
    ):
        if value is not None and counts.scaled(value, 100, up=True) is None:
            rule = "this is neither a number of machines nor a percentage"
            report.add(path, value, rule, 'Write a number such as 1, or text such as "20%".')
    if rolling.get("maxSurge") == 0 and rolling.get("maxUnavailable") == 0:
        rule = "maxSurge and maxUnavailable are both 0: no machine could be made before another one goes, or go before one is made"
        report.add(_STRATEGY, None, rule, "Give one of them a number above 0.")


def _template(spec: Mapping[str, Any], report: Report) -> None:
    template = spec.get("template") or {}
    metadata, machine = template.get("metadata") or {}, template.get("spec") or {}
    metadata_rules(metadata, "spec.template.metadata", report)
    validate_annotations(kinds.MACHINE, metadata.get("annotations"), "spec.template.metadata.annotations", report)
    _role(metadata.get("labels") or {}, report)
    selector = spec.get("selector") or {}
    object_selector.validate(selector, "spec.selector", report)
    if not object_selector.selects(selector, metadata.get("labels") or {}):
        rule = "spec.selector does not select them, so that no machine would belong to the deployment"
        report.add("spec.template.metadata.labels", None, rule, "Leave the selector out, or add its labels here.")
    if machine.get("clusterName") != spec.get("clusterName"):
        rule = "this is another Cluster than spec.clusterName"
        report.add(f"{_MACHINE}.clusterName", machine.get("clusterName"), rule, f"Write {spec.get('clusterName')}.")
    bootstrap = machine.get("bootstrap") or {}
    if "dataSecretName" in bootstrap:
        rule = "a Secret with bootstrap data and a configRef exclude each other"
        report.add(f"{_MACHINE}.bootstrap.dataSecretName", None, rule, "Remove it: the configRef is used.")
    reference_rules(bootstrap.get("configRef") or {}, f"{_MACHINE}.bootstrap.configRef", kinds.GROUP_BOOTSTRAP, report)
    reference = machine.get("infrastructureRef") or {}
    group = kinds.infrastructure_group(reference.get("kind"))
    reference_rules(reference, f"{_MACHINE}.infrastructureRef", group, report)
    if machine.get("providerID"):
        rule = "every machine has its own, which its provider records"
        report.add(f"{_MACHINE}.providerID", machine["providerID"], rule, "Remove it.")
    taints = machine.get("taints") or []
    validate_machine_taints(taints, f"{_MACHINE}.taints", report)
    for index, taint in enumerate(taints):
        if taint.get("key") == kubernetes_facts.LABEL_CONTROL_PLANE:
            path = f"{item(f'{_MACHINE}.taints', index)}.key"
            report.add(path, taint["key"], "this taint is the control plane's", "Use a key of your own.")


def _role(labels: Mapping[str, Any], report: Report) -> None:
    """Report labels that make a worker's Node a control plane's."""
    for key in (kubernetes_facts.LABEL_CONTROL_PLANE, kubernetes_facts.LABEL_MASTER):
        if key in labels:
            path = child("spec.template.metadata.labels", key)
            rule = "it reaches the workers' Nodes, which would be taken for control plane machines that no store knows"
            report.add(
                path, labels[key], rule, "Remove it, or use another role, such as node-role.kubernetes.io/worker."
            )


def _version(spec: Mapping[str, Any], newest: Optional[str], report: Report) -> None:
    path, text = f"{_MACHINE}.version", ((spec.get("template") or {}).get("spec") or {}).get("version")
    example = newest or "v1.30.2"
    if not text:
        report.add(path, None, "the Kubernetes version is missing", f"Write one, no newer than {example}.")
        return
    try:
        version = parse(text)
    except ValueError as error:
        report.add(path, text, str(error), 'Write major, minor and patch level, like "v1.30.2".')
        return
    limit = _parsed(newest)
    if limit is not None and limit < version:
        rule = f"workers are never newer than the control plane, whose version is {newest}"
        report.add(path, text, rule, f"Write {newest}, or give the KubeadmControlPlane this version, too.")


def _parsed(text: Optional[str]) -> Optional[Version]:
    try:
        return parse(text) if text else None
    except ValueError:
        return None


def validate_config_template(template: Mapping[str, Any], versions: list[str], report: Report) -> None:
    """Check a hub KubeadmConfigTemplate that MachineDeployments of these versions name."""
    metadata_rules(template["metadata"], "metadata", report)
    path, spec = "spec.template.spec", (template["spec"].get("template") or {}).get("spec") or {}
    metadata = (template["spec"].get("template") or {}).get("metadata") or {}
    metadata_rules(metadata, "spec.template.metadata", report)
    if (spec.get("joinConfiguration") or {}).get("controlPlane") is not None:
        rule = "with this a machine joins as a control plane"
        report.add(f"{path}.joinConfiguration.controlPlane", None, rule, "Remove it: these machines are workers.")
    for part in _NOT_OF_WORKERS:
        if spec.get(part):
            report.warn(f"{path}.{part}", "kubeadm join reads nothing of it on a worker")
    rendering.validate(spec, path, report)
    filled_in = rendering.sample({key: value for key, value in spec.items() if key not in _NOT_OF_WORKERS})
    validate_config(filled_in, path, report)
    for text in sorted(set(versions)) or [""]:
        version = _parsed(text)
        kubeadm_rules.validate(filled_in, path, version, report)
        if version is not None:
            render.join_documents(filled_in.get("joinConfiguration") or {}, str(version), report=report)


def validate_replicas(replicas: Any, report: Report) -> None:
    """Report a number of workers that can't be."""
    if isinstance(replicas, int) and replicas < 0:
        report.add("spec.replicas", replicas, "a number of workers is not negative", "Use 0 or more.")
