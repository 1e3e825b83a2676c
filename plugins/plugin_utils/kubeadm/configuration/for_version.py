# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conversion of the hub to documents and flags for a Kubernetes version.

The flags are for what the documents cannot hold.

All callers use this: filters, the module for the stored configuration, other Python code.

Source: docs/reference/kubeadm.md, "API versions", "Conversion".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ....module_utils.common import kubernetes_versions
from ....module_utils.common.violations import ManifestError, Report, Violation
from . import any_form as documents
from . import kinds, render, validate_complete, yaml_documents

_VERSION = "Kubernetes version"


@dataclass(frozen=True)
class Written:
    """Documents and flags for kubeadm of one version.

    `documents` in kubeadm's order; `flags` by kubeadm command ("init", "upgrade apply") for what they cannot hold; the
    API's number; `warnings` for the user.
    """

    documents: tuple[dict[str, Any], ...]
    flags: Mapping[str, tuple[str, ...]]
    api: int
    warnings: tuple[str, ...]

    @property
    def text(self) -> str:
        """Documents as one YAML text; empty without documents."""
        return yaml_documents.documents_text(self.documents) if self.documents else ""

    @property
    def api_version(self) -> str:
        """API version as text, for example "kubeadm.k8s.io/v1beta3"."""
        return kubernetes_versions.api(self.api).api_version


def convert(
    source: documents.Source,
    version: str,
    api: int | None = None,
    command: str | None = None,
    allowed_losses: Sequence[str] = (),
    validate: bool = True,
    name: str = documents.NAME,
) -> Written:
    """Return documents for kubeadm of `version` from any form.

    For the forms see documents.yaml_files. ManifestError lists everything that is wrong.

    `api` overrides the version's own API (2 = v1beta2); `command` picks one of kinds.COMMANDS where the source has the parts of
    several; `allowed_losses` are field paths that may be left out where the API cannot hold them; `validate` applies kubeadm's own
    rules to what is written.
    """
    _checked_version(version)
    reading = documents.Reading(name)
    found = reading.read(source)
    report = reading.report
    readable = not report.violations
    chosen = _chosen(found.hub, command, report)
    if validate:
        written = {key: found.hub[key] for key in chosen if key in found.hub}
        validate_complete.check(written, kubernetes_versions.parse(version), readable, report)
    result = _write(found.hub, version, api, chosen, False, tuple(allowed_losses), report)
    if report.violations:
        raise ManifestError(report.violations)
    return Written(result.documents, result.flags, result.api, (*found.warnings, *report.warnings, *result.warnings))


def write(
    hub: Mapping[str, Any],
    version: str,
    api: int | None = None,
    parts: Sequence[str] | None = None,
    allowed_losses: Sequence[str] = (),
    report: Report | None = None,
) -> Written:
    """Return the documents of the hub's `parts` for kubeadm of `version`.

    Without `parts` all are written.

    `parts=("clusterConfiguration",)` gives what kubeadm-config holds: before v1beta4 with the health check timeout of
    Init- or JoinConfiguration, from v1beta4 on without (it is no part of it any more). Nothing is validated. With `report` the
    losses are collected there; without it a ManifestError lists them.
    """
    _checked_version(version)
    mine = report if report is not None else Report(documents.NAME)
    keys = [key for key in (hub if parts is None else parts) if hub.get(key) is not None]
    result = _write(hub, version, api, keys, parts is not None, tuple(allowed_losses), mine)
    if report is None and mine.violations:
        raise ManifestError(mine.violations)
    return result


def _checked_version(version: str) -> None:
    try:
        kubernetes_versions.parse(version)
    except ValueError as error:
        raise ManifestError([Violation(_VERSION, "version", None, str(error), "Write all three numbers.")]) from None
    kubernetes_versions.api_version_for(version)


def _chosen(hub: Mapping[str, Any], command: str | None, report: Report) -> list[str]:
    parts = [part for part in kinds.PARTS if part.key in hub]
    if command is None:
        commands = sorted({part.command for part in parts})
        if len(commands) > 1:
            rule = f"there are parts for several commands of kubeadm's ({', '.join(commands)})"
            report.unreadable("", None, rule, "Say for which one the documents are, with command.")
        return list(hub)
    chosen = [part.key for part in parts if part.command == command and part.key != "clusterStatus"]
    if not chosen and not report.violations:
        there = ", ".join(part.key for part in parts) or "nothing"
        fix = f"It has {there}."
        report.unreadable("", None, f"there is nothing here for `kubeadm {command}`", fix)
    return chosen + [key for key in hub if key in kinds.COMPONENT_KEYS and command == kinds.INIT]


def _write(
    hub: Mapping[str, Any],
    version: str,
    api: int | None,
    keys: Sequence[str],
    exactly: bool,
    allowed: tuple[str, ...],
    report: Report,
) -> Written:
    choice = kubernetes_versions.api_version_for(version)
    number = choice.number if api is None else api
    flags: dict[str, list[str]] = {}
    warnings: list[str] = []
    if not choice.known:
        warnings.append(
            f"Kubernetes {version} is newer than this collection knows: kubeadm's newest known API "
            f"{kubernetes_versions.api(number).api_version} is written. Look for a newer collection."
        )
    if not kubernetes_versions.readable_by(version, number):
        reads = [
            each.api_version
            for each in kubernetes_versions.APIS
            if kubernetes_versions.readable_by(version, each.number)
        ]
        rule = f"kubeadm of Kubernetes {version} does not read {kubernetes_versions.api(number).api_version}"
        report.unreadable("", None, rule, f"It reads {', '.join(reads)}.")
    written: dict[str, dict[str, Any]] = {}
    for part in kinds.PARTS:
        if part.key not in keys:
            continue
        elsewhere = _elsewhere(hub, part, keys, exactly)
        target = render.Target(
            number, kubernetes_versions.parse(version), report, part.command, flags, warnings, allowed, elsewhere
        )
        if part.since <= number <= part.until:
            written[part.key] = render.document(part, hub[part.key], "", target)
        else:
            render.without_document(part, hub[part.key], "", target)
    if number < 4:
        _older_places(hub, written, number, exactly)
    components = [dict(hub[key]) for key in kinds.COMPONENT_KEYS if key in keys]
    ordered = [written[part.key] for part in kinds.PARTS if part.key in written]
    return Written(
        (*ordered, *components),
        {command: tuple(values) for command, values in flags.items()},
        number,
        tuple(warnings),
    )


def _elsewhere(hub: Mapping[str, Any], part: kinds.Part, keys: Sequence[str], exactly: bool) -> frozenset[str]:
    """Return the part's timeouts that an older API holds elsewhere.

    Only places that are written too count.
    """
    if part.command == kinds.INIT:
        return frozenset({render.HEALTH_CHECK} if "clusterConfiguration" in keys or not exactly else ())
    if part.command == kinds.JOIN:
        # What init wrote into the cluster's configuration holds for a join.
        same = _health(hub, "joinConfiguration") == _health(hub, "initConfiguration")
        return frozenset({"discovery", *([render.HEALTH_CHECK] if same else [])})
    return frozenset()


def _health(hub: Mapping[str, Any], key: str) -> Any:
    return ((hub.get(key) or {}).get("timeouts") or {}).get(render.HEALTH_CHECK + "Seconds")


def _older_places(hub: Mapping[str, Any], written: dict[str, dict[str, Any]], number: int, exactly: bool) -> None:
    if "joinConfiguration" in written:
        render.set_discovery_timeout(hub["joinConfiguration"], written["joinConfiguration"])
    source = "initConfiguration" if _health(hub, "initConfiguration") is not None else "joinConfiguration"
    if _health(hub, source) is not None:
        if "initConfiguration" in written and not exactly:
            kind = kinds.BY_KEY["clusterConfiguration"].kind
            empty = {"apiVersion": kubernetes_versions.api(number).api_version, "kind": kind}
            written.setdefault("clusterConfiguration", empty)
        if "clusterConfiguration" in written:
            render.set_health_timeout(hub[source], written["clusterConfiguration"])
    # An InitConfiguration whose every field went elsewhere says nothing.
    init = written.get("initConfiguration")
    if init is not None and len(init) == 2 and hub["initConfiguration"] and len(written) > 1 and not exactly:
        del written["initConfiguration"]
