# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reader of kubeadm's configuration, from any form to the hub form.

The forms are YAML text, documents, or the hub itself.

The hub is a mapping with the keys of kinds.PARTS (initConfiguration, clusterConfiguration, ...) and kinds.COMPONENTS
(kubeletConfiguration, kubeProxyConfiguration, kept whole and untouched), in the hub form of fields.py. A KubeadmConfigSpec of Cluster
API is one. Bad input ends in violations, all at once, each with the path (and the line, for text) as the user wrote it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

from ....module_utils.common import kubernetes_versions
from ....module_utils.common.violations import ManifestError, Report, child, describe, item
from ...documents.yaml_files import Document, read_any
from . import decode, kinds

NAME = "kubeadm configuration"
# kubeadm's configuration lives in a ConfigMap, which holds at most 1 MiB.
MAX_BYTES = 1024 * 1024
MAX_DOCUMENTS = 64
MAX_WARNINGS = 100

Source = Union[str, Mapping[str, Any], Sequence[Any]]

# What a KubeadmConfigSpec holds beside kubeadm's configuration.
_NOT_KUBEADMS = frozenset(
    {
        *("bootCommands", "diskSetup", "files", "format", "ignition", "mounts", "ntp", "postKubeadmCommands"),
        *("preKubeadmCommands", "useExperimentalRetryJoin", "users", "verbosity"),
    }
)
_HINTS: Mapping[str, str] = {
    "ConfigMap": "Give the text below its data.ClusterConfiguration.",
    "KubeadmControlPlane": "Give its spec.kubeadmConfigSpec.",
    "KubeadmConfig": "Give its spec.",
    "KubeadmConfigTemplate": "Give its spec.template.spec.",
}
_HEALTH = "controlPlaneComponentHealthCheckSeconds"


@dataclass(frozen=True)
class Read:
    """Configuration that was read: the hub, warnings and API versions.

    `hub` as described above; `warnings` name what was kept without being understood; `api_versions` by part, "" for the
    hub.
    """

    hub: dict[str, Any]
    warnings: tuple[str, ...]
    api_versions: Mapping[str, str]


def read(source: Source, name: str = NAME) -> Read:
    """Return the hub form of `source`; `name` is its name in messages.

    ManifestError lists everything that is wrong.
    """
    reading = Reading(name)
    result = reading.read(source)
    if reading.report.violations:
        raise ManifestError(reading.report.violations)
    return result


class Reading:
    """Reading of one source, with the violations in `report`.

    `report` gives later violations, too, the user's own paths and lines.
    """

    def __init__(self, name: str = NAME) -> None:
        self.report = Report(name, self._locate)
        self._name = name
        self._positions: dict[str, Document] = {}
        self._warnings: list[str] = []
        self._hub: dict[str, Any] = {}
        self._api_versions: dict[str, str] = {}
        self._moved: dict[tuple[str, str], tuple[int, str]] = {}

    def read(self, source: Source) -> Read:
        """Return the hub form of what could be read; see `read`."""
        if isinstance(source, str):
            source = self._parse(source)
            if len(source) == 1 and isinstance(source[0], dict) and _looks_like_hub(source[0]):
                source = source[0]
        if isinstance(source, Mapping) and not _is_document(source):
            self._read_hub(source)
        elif isinstance(source, (Mapping, list, tuple)):
            self._read_documents([source] if isinstance(source, Mapping) else source)
        else:
            fix = "Give YAML text, a list of documents, or a mapping with initConfiguration, clusterConfiguration and the like."
            self.report.unreadable("", None, f"this is {describe(source)}, not kubeadm's configuration", fix)
        self._settle()
        warnings = self._warnings[:MAX_WARNINGS]
        if len(self._warnings) > MAX_WARNINGS:
            warnings.append(f"and {len(self._warnings) - MAX_WARNINGS} more warnings of this kind")
        return Read(self._hub, tuple(warnings), self._api_versions)

    def _locate(self, path: str) -> str:
        first, _dot, rest = path.partition(".")
        document = self._positions.get(first)
        return document.locate(rest) if document is not None else ""

    def _parse(self, text: str) -> list[Any]:
        if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
            rule = "the text is larger than 1 MiB, the most that a ConfigMap can hold"
            self.report.unreadable("", None, rule, "Give kubeadm's configuration alone.")
            return []
        try:
            documents = [one for one in read_any(text, self._name) if one.data is not None]
        except (ValueError, UnicodeError) as error:
            self.report.unreadable("", None, str(error), "Correct the YAML.")
            return []
        for one in documents:
            if isinstance(one.data, dict):
                self._positions.setdefault(str(one.data.get("kind")), one)
        return [one.data for one in documents]

    def _read_documents(self, documents: Sequence[Any]) -> None:
        if len(documents) > MAX_DOCUMENTS:
            rule = f"there are more than {MAX_DOCUMENTS} documents"
            self.report.unreadable("", len(documents), rule, "Give one cluster's or machine's configuration.")
            return
        if not documents and not self.report.violations:
            self.report.unreadable("", None, "there is no document", "Give at least one of kubeadm's documents.")
        for index, document in enumerate(documents):
            if isinstance(document, Mapping):
                self._document(document, item("documents", index))
            else:
                rule = f"a document of kubeadm's configuration is a mapping, not {describe(document)}"
                self.report.unreadable(item("documents", index), None, rule, "Remove it.")
        if "initConfiguration" in self._hub and "joinConfiguration" in self._hub:
            rule = (
                "InitConfiguration and JoinConfiguration are together in one configuration: a machine does one of both"
            )
            self.report.unreadable("JoinConfiguration", None, rule, "Keep them in files of their own.")

    def _document(self, document: Mapping[str, Any], path: str) -> None:
        api_version, kind = document.get("apiVersion"), document.get("kind")
        if not (isinstance(api_version, str) and isinstance(kind, str) and api_version and kind):
            missing = "apiVersion" if not (isinstance(api_version, str) and api_version) else "kind"
            fix = (
                f"Add it, like `apiVersion: {kubernetes_versions.APIS[-1].api_version}` and `kind: InitConfiguration`."
            )
            self.report.unreadable(path, None, f"the document has no {missing}", fix)
            return
        group, _slash, version = api_version.rpartition("/")
        component = kinds.COMPONENTS.get(kind)
        if component is not None and group == component[1]:
            if self._once(component[0], kind):
                self._hub[component[0]] = dict(document)
                self._api_versions[component[0]] = api_version
        elif group != kubernetes_versions.KUBEADM_GROUP:
            known = ", ".join([*kinds.BY_KIND, *kinds.COMPONENTS])
            fix = _HINTS.get(kind, f"Remove it. kubeadm's configuration consists of {known}.")
            self.report.unreadable(kind, None, f"{kind} of {api_version} is not a document of kubeadm's", fix)
        else:
            self._kubeadm_document(document, version, kind)

    def _kubeadm_document(self, document: Mapping[str, Any], version: str, kind: str) -> None:
        part, number = kinds.BY_KIND.get(kind), kinds.api_number(version)
        if number is None:
            rule, fix = kinds.why_not_read(version)
            self.report.unreadable(child(kind, "apiVersion"), document["apiVersion"], rule, fix)
        elif part is None or not part.since <= number <= part.until:
            there = [one.kind for one in kinds.PARTS if one.since <= number <= one.until]
            rule = f"kubeadm {kubernetes_versions.api(number).name} has no kind {kind}"
            self.report.unreadable(child(kind, "kind"), None, rule, f"It has {', '.join(there)}.")
        elif self._once(part.key, kind):
            self.report.moved(part.key, kind)
            body = {key: value for key, value in document.items() if key not in ("apiVersion", "kind")}
            self._part(part, number, body, kind)

    def _once(self, key: str, kind: str) -> bool:
        if key in self._hub:
            self.report.unreadable(kind, None, f"there are two documents of the kind {kind}", "Keep one.")
            return False
        return True

    def _part(self, part: kinds.Part, number: int, body: Any, path: str) -> None:
        reader = decode.Reader(number, self.report, self._warnings)
        self._hub[part.key] = reader.structure(part.struct, body, path, part.key)
        self._api_versions[part.key] = kubernetes_versions.api(number).api_version if number else ""
        self._moved.update(reader.moved)

    def _read_hub(self, source: Mapping[str, Any]) -> None:
        others = []
        for key, value in source.items():
            if value is None:
                continue
            if key in kinds.BY_KEY:
                self._hub_part(kinds.BY_KEY[key], value)
            elif key in kinds.COMPONENT_KEYS:
                self._hub_component(key, value)
            elif key in _NOT_KUBEADMS:
                others.append(key)
            else:
                rule = "kubeadm's configuration has no such part"
                fix = f"It has {', '.join([*kinds.BY_KEY, *kinds.COMPONENT_KEYS])}."
                self.report.unreadable(child("", str(key)), None, rule, fix)
        if not self._hub and not self.report.violations:
            fix = f"Give at least one of {', '.join([*kinds.BY_KEY, *kinds.COMPONENT_KEYS])}."
            self.report.unreadable("", None, "there is nothing of kubeadm's configuration in this mapping", fix)
        if others:
            self._warnings.append(f"{', '.join(sorted(others))}: not part of kubeadm's configuration, left out")

    def _hub_part(self, part: kinds.Part, value: Any) -> None:
        if isinstance(value, Mapping):
            # Cluster API's older forms may carry apiVersion and kind here; the key says what it is.
            if value.get("kind", part.kind) not in (part.kind, ""):
                rule = f"the kind here is {part.kind}"
                self.report.unreadable(child(part.key, "kind"), value["kind"], rule, "Remove kind.")
            value = {key: entry for key, entry in value.items() if key not in ("apiVersion", "kind")}
        self._part(part, decode.HUB, value, part.key)

    def _hub_component(self, key: str, value: Any) -> None:
        kind = kinds.COMPONENT_KEYS[key]
        _key, group, version = kinds.COMPONENTS[kind]
        if not isinstance(value, Mapping):
            rule = f"this must be a mapping, not {describe(value)}"
            self.report.unreadable(key, None, rule, f"Write the {kind}.")
            return
        api_version = str(value.get("apiVersion") or f"{group}/{version}")
        if value.get("kind", kind) != kind or api_version.rpartition("/")[0] != group:
            rule = f"this is not a {kind} of {group}"
            self.report.unreadable(key, None, rule, "Correct or remove its apiVersion and kind.")
            return
        rest = {name: entry for name, entry in value.items() if name not in ("apiVersion", "kind")}
        self._hub[key] = {"apiVersion": api_version, "kind": kind, **rest}

    def _settle(self) -> None:
        """Move removed fields to their successors.

        The health check timeout goes to Init- and, where there is one, JoinConfiguration; the discovery timeout to
        JoinConfiguration.

        Health check and discovery timeouts go to both Init- and JoinConfiguration where both have them.

        Source: docs/reference/kubeadm.md, "Conversion".
        """
        health = self._moved.get(decode.HEALTH_TIMEOUT)
        if health is not None:
            self._timeout("initConfiguration", _HEALTH, *health)
            if "joinConfiguration" in self._hub:
                self._timeout("joinConfiguration", _HEALTH, *health)
        discovery = self._moved.get(decode.DISCOVERY_TIMEOUT)
        if discovery is not None:
            self._timeout("joinConfiguration", "discoverySeconds", *discovery)

    def _timeout(self, key: str, name: str, seconds: int, written: str) -> None:
        timeouts = self._hub.setdefault(key, {}).setdefault("timeouts", {})
        if timeouts.get(name, seconds) != seconds:
            rule = f"this differs from {self.report.written(child(key, 'timeouts', name))}, which is its successor"
            self.report.unreadable(written, None, rule, "Keep the newer field.")
            return
        timeouts[name] = seconds
        self.report.moved(child(key, "timeouts", name), written)


def _is_document(source: Mapping[str, Any]) -> bool:
    return "kind" in source or "apiVersion" in source


def _looks_like_hub(source: Mapping[str, Any]) -> bool:
    return not _is_document(source) and any(key in kinds.BY_KEY or key in kinds.COMPONENT_KEYS for key in source)
