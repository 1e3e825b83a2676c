# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading of one cluster's manifest files into hub objects.

They are read, converted, defaulted, validated, with every violation at once.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ....module_utils.common import kubernetes_versions
from ....module_utils.common.violations import ManifestError, Report, Violation, child
from ...documents.yaml_files import Document, read_files
from .. import defaults, kinds
from ..convert import whole_objects
from ..validate import cluster as validate_cluster
from ..validate import control_plane as validate
from . import belongings, worker_documents
from .cluster_manifest import ClusterEntry, ClusterManifest
from .missing import report_missing
from .related import Index, control_plane_reference, named_kind, reference_group, template_reference
from .unmanaged import CORE, REPORT, Others, sort_out

_TEMPLATE_PATH = "spec.machineTemplate.spec.infrastructureRef"


@dataclass
class _Reading:
    """State of one read_cluster call.

    It has the documents, the reports made so far, and the documents that are accounted for.
    """

    documents: list[Document]
    namespace: str
    providers: Mapping[str, str]
    violations: list[Violation]
    reports: list[Report] = field(default_factory=list)
    used: set[Document] = field(default_factory=set)
    # Kinds whose reference is already told to be wrong: their documents look like strangers and are not told again.
    unresolved: list[str] = field(default_factory=list)

    def take(self, document: Document) -> tuple[dict[str, Any], Report]:
        """Return the document in hub form, and its report for further violations."""
        report = document.report()
        self.reports.append(report)
        self.used.add(document)
        return whole_objects.to_hub(document, report), report


def list_clusters(paths: Sequence[str]) -> list[ClusterEntry]:
    """Return the clusters of the given files, by namespace and name.

    Globs are already expanded; faults are tolerated.

    A file that cannot be read gives an entry named after the file, flagged with its ManifestError, unless it holds readable Clusters,
    which are then flagged themselves. Nothing is validated here.
    """
    entries: dict[tuple[str, str], ClusterEntry] = {}
    documents: list[Document] = []
    broken: dict[str, list[Violation]] = {}
    for path in dict.fromkeys(paths):
        found, problems = read_files([path])
        documents += found
        if problems:
            broken[path] = problems
    index = Index(documents)
    for document in index.of_kind(kinds.CLUSTER):
        key = (document.namespace, document.name)
        files = list(entries[key].paths) if key in entries else []
        files += [related.file for related in [document, *index.related(document)]]
        unique = tuple(dict.fromkeys(files))
        problems = [problem for file in unique for problem in broken.get(file, [])]
        labels = document.data["metadata"].get("labels")
        entries[key] = ClusterEntry(
            key[0],
            key[1],
            unique,
            ManifestError(problems) if problems else None,
            labels if isinstance(labels, dict) else {},
        )
    flagged = {file for entry in entries.values() for file in entry.paths}
    for file, problems in broken.items():
        if file not in flagged:
            stem = os.path.splitext(os.path.basename(file))[0]
            entries.setdefault(("default", stem), ClusterEntry("default", stem, (file,), ManifestError(problems)))
    return [entries[key] for key in sorted(entries)]


def read_cluster(
    paths: Sequence[str],
    namespace: str,
    name: str,
    providers: Mapping[str, str] | None = None,
    contents: Mapping[str, str] | None = None,
    unknown_documents: str = REPORT,
) -> ClusterManifest:
    """Return the cluster `namespace`/`name` of the given files.

    ManifestError with every violation when anything is wrong.

    `providers` maps infrastructure kinds to provider roles (default: the local provider). Other clusters of the same files are left
    alone, and so are documents of kinds that are not managed here, unless `unknown_documents` is REFUSE (unmanaged.py). `contents`
    holds the text of files that are read as if they were changed already.
    """
    documents, violations = read_files(list(dict.fromkeys(paths)), contents)
    reading = _Reading(documents, namespace, kinds.DEFAULT_PROVIDERS if providers is None else providers, violations)
    index = Index(documents, reading.providers)
    _duplicates(reading, index)
    found = index.get(kinds.CLUSTER, namespace, name)
    if found is None:
        _refuse_api_version(reading, name)
        others = [f"{d.namespace}/{d.name}" for d in index.of_kind(kinds.CLUSTER)]
        rule = "the manifest holds no Cluster of this name"
        fix = f"It holds: {', '.join(others) or 'no Cluster at all'}. Files: {', '.join(paths) or 'none'}."
        raise ManifestError([*violations, Violation(f"Cluster {namespace}/{name}", "metadata.name", name, rule, fix)])
    manifest = _read(found, index, reading)
    beside = _others(found, index, reading, unknown_documents)
    violations += beside.violations
    everything = [*violations, *(violation for report in reading.reports for violation in report.violations)]
    if everything or manifest is None:
        raise ManifestError(everything)
    return replace(manifest, unmanaged=beside.unmanaged)


def _refuse_api_version(reading: _Reading, name: str) -> None:
    """Refuse a Cluster of the wanted name that is of another group.

    Another software may have Clusters, too, but not instead of this one.
    """
    for document in reading.documents:
        if document.kind == kinds.CLUSTER and (document.namespace, document.name) == (reading.namespace, name):
            _cluster, report = reading.take(document)
            wrong = [violation for violation in report.violations if violation.path == "apiVersion"]
            raise ManifestError([*reading.violations, *wrong])


def _read(document: Document, index: Index, reading: _Reading) -> ClusterManifest | None:
    cluster, cluster_report = reading.take(document)
    control_plane, control_plane_report = None, None
    left_out: tuple[str, ...] = ()
    found = _control_plane_document(document, index, cluster_report)
    if found is not None:
        control_plane, control_plane_report = reading.take(found)
        left_out = defaults.left_out(control_plane)
        defaults.default_control_plane(control_plane)
        validate.validate_control_plane(_written(control_plane, left_out), document.name, control_plane_report)
    validate_cluster.validate_cluster(cluster, control_plane, cluster_report)
    infrastructure = _infrastructure(cluster, cluster_report, reading, index)
    template = None
    if control_plane is not None and control_plane_report is not None:
        template = _template(control_plane, control_plane_report, reading, index)
    if infrastructure is not None:
        _endpoints(cluster, infrastructure, cluster_report)
    newest = (control_plane or {}).get("spec", {}).get("version")
    workers = worker_documents.read(document, index, reading.take, reading.used, newest)
    secrets = tuple(belongings.secrets(document, index, reading.take))
    checks = tuple(belongings.health_checks(document, index, reading.take))
    sets = tuple(belongings.resource_sets(document, index, reading.take))
    resources = tuple(belongings.resources(document, index, reading.take))
    if control_plane is None:
        reading.unresolved.append(kinds.KUBEADM_CONTROL_PLANE)
    for found_object, is_template in ((template, True), (infrastructure, False)):
        if found_object is None:
            reading.unresolved += [kind for kind in reading.providers if kind.endswith("Template") == is_template]
    if control_plane is None or infrastructure is None or template is None:
        return None
    reports = {report.name: report for report in reading.reports}
    warnings = (
        *_warnings(control_plane),
        *(reports[found.label].warnings if found is not None else ()),
        *workers.warnings,
    )
    return ClusterManifest(
        cluster,
        control_plane,
        template,
        infrastructure,
        secrets,
        warnings,
        left_out,
        reports,
        checks,
        resource_sets=sets,
        resources=resources,
        machine_deployments=workers.deployments,
        worker_templates=workers.templates,
        workers_left_out=workers.left_out,
    )


def _written(control_plane: Mapping[str, Any], left_out: Sequence[str]) -> Mapping[str, Any]:
    """Return the control plane without a default that a stored value replaces.

    No rule may evaluate that default.
    """
    if defaults.REPLICAS not in left_out:
        return control_plane
    return {**control_plane, "spec": {key: value for key, value in control_plane["spec"].items() if key != "replicas"}}


def _duplicates(reading: _Reading, index: Index) -> None:
    """Report two objects of one name, of managed kinds."""
    known = {*CORE, *reading.providers}
    seen: dict[tuple[str, str, str, str], Document] = {}
    for document in reading.documents:
        # Which ConfigMap is a set's is told by what names it; others may be there twice.
        if named_kind(document) not in known and not index.is_resource(document) and not index.is_of_workers(document):
            continue
        key = (kinds.group(document.api_version), document.kind, document.namespace, document.name)
        if document.kind == kinds.KUBEADM_CONTROL_PLANE:
            key = ("", *key[1:])
        if key in seen:
            fix = f"Rename or remove one; the first is at {seen[key].locate('')}."
            rule = "the manifest holds two objects of this kind and name"
            violation = Violation(
                document.label, "metadata.name", document.name, rule, fix, document.locate("metadata.name")
            )
            reading.violations.append(violation)
            reading.used.add(document)
        seen.setdefault(key, document)


def _control_plane_document(document: Document, index: Index, report: Report) -> Document | None:
    """Return the control plane document that the Cluster names.

    When there is none, the most likely one, so that its violations are reported too.
    """
    reference = control_plane_reference(document)
    found = index.get(kinds.KUBEADM_CONTROL_PLANE, document.namespace, reference.get("name"))
    if found is not None:
        return found
    free = [d for d in index.unclaimed(kinds.KUBEADM_CONTROL_PLANE) if d.namespace == document.namespace]
    if reference.get("name") and reference.get("kind") == kinds.KUBEADM_CONTROL_PLANE:
        report_missing(report, "spec.controlPlaneRef", reference, [d.name for d in free])
    return free[0] if len(free) == 1 else None


def _infrastructure(
    cluster: Mapping[str, Any], report: Report, reading: _Reading, index: Index
) -> dict[str, Any] | None:
    reference = cluster["spec"].get("infrastructureRef") or {}
    found = _provided(reference, "spec.infrastructureRef", False, report, reading, index)
    if found is None:
        return None
    infrastructure, own_report = reading.take(found)
    defaults.default_infrastructure_cluster(infrastructure)
    validate_cluster.validate_infrastructure_cluster(infrastructure, own_report)
    return infrastructure


def _template(
    control_plane: Mapping[str, Any], report: Report, reading: _Reading, index: Index
) -> dict[str, Any] | None:
    inner = (control_plane["spec"].get("machineTemplate") or {}).get("spec") or {}
    found = _provided(inner.get("infrastructureRef") or {}, _TEMPLATE_PATH, True, report, reading, index)
    if found is None:
        return None
    template, own_report = reading.take(found)
    validate_cluster.validate_template(template, own_report)
    return template


def _provided(
    reference: Mapping[str, Any], path: str, template: bool, report: Report, reading: _Reading, index: Index
) -> Document | None:
    """Return the document of an infrastructure reference.

    None where its kind has no provider, or the manifest does not hold it.
    """
    kind, name = reference.get("kind"), reference.get("name")
    if not kind or not name:
        return None
    found = index.provided(reference, reading.namespace)
    known = sorted(k for k in reading.providers if k.endswith("Template") == template)
    if kind not in known:
        rule = f"there is no provider for {kind}; known kinds: {', '.join(known) or 'none'}"
        fix = (
            f"Name the role that provides it, as control_plane_more_providers: {{{kind if kind.isalnum() else 'KIND'}: NAMESPACE.COLLECTION.ROLE}} "
            f"(docs/provider_contract.md), or use a known kind, such as {'InventoryMachineTemplate' if template else 'InventoryCluster'} for "
            "hosts that are there already."
        )
        report.add(child(path, "kind"), kind, rule, fix)
        reading.used.update([found] if found is not None else [])
        return None
    if found is None:
        report_missing(report, path, reference, [d.name for d in index.of_kind(kind, reading.namespace)])
        return None
    group, written = kinds.group(found.api_version), reference_group(reference)
    if written and group != written:
        rule = f"the {kind} of this name in the manifest is of the group {group}"
        report.add(child(path, "apiGroup"), written, rule, "Correct the reference, or the document's apiVersion.")
    return found


def _endpoints(cluster: Mapping[str, Any], infrastructure: Mapping[str, Any], report: Report) -> None:
    own = cluster["spec"].get("controlPlaneEndpoint")
    provided = infrastructure["spec"].get("controlPlaneEndpoint")
    if own and provided and own != provided:
        rule = f"the infrastructure cluster has another endpoint, {provided.get('host')}:{provided.get('port')}"
        report.add(
            "spec.controlPlaneEndpoint",
            f"{own.get('host')}:{own.get('port')}",
            rule,
            "Write it in one of the two only.",
        )


def _others(cluster: Document, index: Index, reading: _Reading, unknown_documents: str) -> Others:
    """Return what becomes of documents that no Cluster leads to."""
    clusters, belongs = set(index.of_kind(kinds.CLUSTER)), index.claimed()
    others = [
        document
        for document in reading.documents
        if document not in reading.used and document not in belongs and document not in clusters
    ]
    return sort_out(cluster, others, index, reading.providers, reading.unresolved, unknown_documents)


def _warnings(control_plane: Mapping[str, Any]) -> tuple[str, ...]:
    text = str(control_plane["spec"].get("version") or "")
    try:
        choice = kubernetes_versions.api_version_for(text)
    except (ValueError, ManifestError):
        return ()
    if choice.known:
        return ()
    newest = kubernetes_versions.NEWEST_KNOWN_MINOR
    return (
        f"Kubernetes {text} is newer than 1.{newest}, the newest known here; {choice.api_version} is written for its kubeadm.",
    )


__all__ = ["ClusterEntry", "ClusterManifest", "list_clusters", "read_cluster", "template_reference"]
