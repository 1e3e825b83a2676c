# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Workers of a Cluster in a manifest: MachineDeployments and what they name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ....module_utils.common.violations import Report, child
from ...documents.yaml_files import Document
from .. import kinds
from ..validate import cluster as validate_cluster
from ..workers import machine_deployment, rules
from .belongings import Take
from .missing import report_missing
from .related import Index, config_reference, reference_group, worker_template_reference

Object = dict[str, Any]
_CONFIG, _MACHINE = "spec.template.spec.bootstrap.configRef", "spec.template.spec.infrastructureRef"


@dataclass(frozen=True)
class Workers:
    """Workers' objects in hub form, defaulted and validated: see ClusterManifest."""

    deployments: tuple[Object, ...] = ()
    templates: tuple[Object, ...] = ()
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def read(cluster: Document, index: Index, take: Take, used: Collection[Document], newest: str | None) -> Workers:
    """Return the workers of a Cluster.

    Args:
        cluster: the Cluster's document.
        index: every document of the manifest.
        take: converts a document.
        used: the documents that were converted before; the control plane's own template is not converted again.
        newest: the version of the control plane, where it is known.
    """
    deployments, left_out = [], {}
    reports: list[Report] = []
    versions: dict[str, list[str]] = {}
    for document in index.deployments(cluster):
        deployment, report = take(document)
        left_out[document.name] = machine_deployment.left_out(deployment)
        machine_deployment.default_deployment(deployment)
        rules.validate_deployment(deployment, newest, report)
        _named(document, index, report)
        _provider(document, index.template_kind(cluster), report)
        deployments.append(deployment)
        reports.append(report)
        version = ((deployment["spec"].get("template") or {}).get("spec") or {}).get("version")
        versions.setdefault(str(config_reference(document).get("name")), []).append(str(version or ""))
    templates = []
    for document in index.worker_templates(cluster):
        if document in used:
            continue
        template, report = take(document)
        if document.kind == kinds.KUBEADM_CONFIG_TEMPLATE:
            rules.validate_config_template(template, versions.get(document.name, []), report)
        else:
            validate_cluster.validate_template(template, report)
        templates.append(template)
        reports.append(report)
    warnings = tuple(text for report in reports for text in report.warnings)
    return Workers(tuple(deployments), tuple(templates), left_out, warnings)


def _provider(deployment: Document, kind: str, report: Report) -> None:
    """Refuse workers on another provider than the control plane's.

    `kind` is that of its machine template.

    Machines are observed, reached and given addresses by one provider for each cluster.
    """
    written = worker_template_reference(deployment).get("kind")
    if kind and written != kind:
        rule = f"the control plane's machine template is of the kind {kind}: a cluster's workers are made by the provider of its control plane"
        fix = f"Name a template of the kind {kind}, or take this MachineDeployment out of the files: its machines are then joined by other means."
        report.add(f"{_MACHINE}.kind", written, rule, fix)


def _named(deployment: Document, index: Index, report: Report) -> None:
    """Report templates that the manifest lacks, or has in another group."""
    config, machine = config_reference(deployment), worker_template_reference(deployment)
    found = index.get(config.get("kind"), deployment.namespace, config.get("name"))
    provided = index.provided(machine, deployment.namespace)
    for path, reference, document in ((_CONFIG, config, found), (_MACHINE, machine, provided)):
        if not reference.get("name"):
            # What validates the reference says so.
            continue
        if document is None:
            candidates = [each.name for each in index.of_kind(str(reference["kind"]), deployment.namespace)]
            report_missing(report, path, reference, candidates)
            continue
        group, written = kinds.group(document.api_version), reference_group(reference)
        if written and group != written:
            rule = f"the {document.kind} of this name in the manifest is of the group {group}"
            report.add(child(path, "apiGroup"), written, rule, "Correct the reference, or the document's apiVersion.")
