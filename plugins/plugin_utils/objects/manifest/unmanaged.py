# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents of a manifest that belong to no cluster of it.

A template of a provider has many: workers, addons, identities. They are left alone and counted. What only looks like one, since a
reference or a name has a typing error, is a violation: without it, another CA would be made, or nothing would check the machines
(docs/manifest.md, "Documents of others").
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....module_utils.common.legible import one_line
from ....module_utils.common.violations import Violation, child
from ...documents.names import typing_errors
from ...documents.yaml_files import Document
from .. import actions, kinds
from .related import Index, is_others, mapping, named_kind

# What is done with documents that are not managed here: report them in one line, or refuse them.
REPORT, REFUSE = "report", "refuse"
CHOICES = (REPORT, REFUSE)

SHOWN_KINDS, SHOWN_NAMES, _SHOWN_LETTERS = 20, 10, 80
CORE = (
    kinds.CLUSTER,
    kinds.KUBEADM_CONTROL_PLANE,
    kinds.MACHINE_HEALTH_CHECK,
    kinds.CLUSTER_RESOURCE_SET,
    kinds.SECRET,
)
# Nothing refers to these, so that a mistyped kind shows nowhere else.
_UNREFERENCED = (
    kinds.MACHINE_DEPLOYMENT,
    kinds.MACHINE_HEALTH_CHECK,
    kinds.CLUSTER_RESOURCE_SET,
    kinds.SECRET,
)
_LABEL = child("metadata.labels", kinds.LABEL_CLUSTER_NAME)
_SHORT = 5


@dataclass
class UnmanagedKind:
    """Kind of documents that are left alone: its group, count, first names."""

    group: str
    kind: str
    count: int = 0
    names: list[str] = field(default_factory=list)

    def as_data(self) -> dict[str, Any]:
        """Return the kind as a task's result has it."""
        return {"group": self.group, "kind": self.kind, "count": self.count, "names": list(self.names)}


@dataclass(frozen=True)
class Others:
    """Documents of no cluster: violations, and kinds left alone."""

    violations: tuple[Violation, ...]
    unmanaged: tuple[UnmanagedKind, ...]


@dataclass(frozen=True)
class _Wrong:
    """Fault of a document: field, value, rule and fix."""

    path: str
    value: Any
    rule: str
    fix: str


def summary_line(unmanaged: Sequence[UnmanagedKind]) -> str:
    """Return the line about documents that are left alone, "" without any."""
    if not unmanaged:
        return ""
    counts = [f"{each.count} {each.kind}" for each in unmanaged[:SHOWN_KINDS]]
    more = sum(each.count for each in unmanaged[SHOWN_KINDS:])
    counts += [f"{more} of {len(unmanaged) - SHOWN_KINDS} other kinds"] if more else []
    return f"not managed by this collection: {', '.join(counts)}"


def sort_out(
    cluster: Document,
    others: Sequence[Document],
    index: Index,
    providers: Collection[str],
    unresolved: Collection[str],
    unknown_documents: str,
) -> Others:
    """Sort the documents that no Cluster leads to.

    Args:
        cluster: the Cluster that is read, for examples in messages.
        others: these documents.
        index: every document of the manifest.
        providers: infrastructure kinds with a provider.
        unresolved: kinds whose reference is wrong; their documents are not named again.
        unknown_documents: REPORT or REFUSE.
    """
    violations: list[Violation] = []
    left: dict[tuple[str, str], UnmanagedKind] = {}
    first: dict[tuple[str, str], Document] = {}
    sorter = _Sorter(cluster, index, providers, unknown_documents == REFUSE)
    for document in others:
        if document.kind in unresolved:
            continue
        wrong = sorter.fault(document)
        if wrong is not None:
            source = document.locate(wrong.path)
            violations.append(Violation(document.label, wrong.path, wrong.value, wrong.rule, wrong.fix, source))
            continue
        key = (_shown(kinds.group(document.api_version)), _shown(document.kind))
        found = left.setdefault(key, UnmanagedKind(*key))
        first.setdefault(key, document)
        found.count += 1
        if len(found.names) < SHOWN_NAMES:
            found.names.append(_shown(document.name))
    if unknown_documents == REFUSE:
        violations += [_refusal(first[key], found.count, providers) for key, found in left.items()]
        left = {}
    ordered = sorted(left.values(), key=lambda each: (each.kind, each.group))
    return Others(tuple(violations), tuple(ordered))


def _shown(text: str) -> str:
    return one_line(text)[:_SHOWN_LETTERS]


def _refusal(document: Document, count: int, providers: Iterable[str]) -> Violation:
    known = ", ".join(sorted({*CORE, *providers}))
    rule = f"{_shown(document.kind)} is not a kind that is managed here; known kinds: {known}"
    several = f"the {count} documents of this kind" if count > 1 else "it"
    fix = (
        f"Move {several} to a file that is not among the manifests, or leave such documents alone with "
        f"control_plane_unknown_documents: {REPORT}."
    )
    return Violation(document.label, "kind", document.kind, rule, fix, document.locate("kind"))


class _Sorter:
    """Sorter of documents that no Cluster leads to."""

    def __init__(self, cluster: Document, index: Index, providers: Collection[str], strict: bool) -> None:
        self._cluster, self._index, self._providers, self._strict = cluster, index, providers, strict
        self._used: set[str] | None = None
        self._missing: set[str] | None = None

    def fault(self, document: Document) -> _Wrong | None:
        """Return why a document is refused, None where it is left alone."""
        kind = named_kind(document)
        if kind == kinds.SECRET:
            return self._of_secret(document)
        if kind == kinds.MACHINE_HEALTH_CHECK:
            fix = f"Name there the Cluster that it is for, such as {self._cluster.name}, or remove it."
            return _Wrong("spec.clusterName", None, _leads_nowhere(document), fix)
        if kind == kinds.MACHINE_DEPLOYMENT:
            return self._of_deployment(document)
        template = kind.endswith("Template")
        if kind == kinds.KUBEADM_CONTROL_PLANE or (kind in self._providers and (self._strict or not template)):
            fix = "Refer to it, correct the reference or the name, or remove it."
            return _Wrong("metadata.name", document.name, _leads_nowhere(document), fix)
        group = kinds.group(document.api_version)
        if group == actions.GROUP:
            rule = "an Action is not a part of a cluster's manifest"
            fix = "Move it to a file of its own, and run it with the playbook kubeadm.control_plane.action."
            return _Wrong("kind", kind, rule, fix)
        for meant in _UNREFERENCED:
            near = kind.lower() == meant.lower() or typing_errors(kind.lower(), meant.lower(), 2)
            if kind != meant and near and not is_others(meant, group):
                return _Wrong("kind", kind, "no such kind is known", f"Did you mean {meant}?")
        return None

    def _of_deployment(self, document: Document) -> _Wrong | None:
        """Return why a MachineDeployment is refused, None where it is not.

        With a typing error in its Cluster's name its workers would be missing without a word.
        """
        cluster = mapping(document.data, "spec").get("clusterName")
        own = self._cluster.name
        if not (self._index.is_managed(document) and isinstance(cluster, str) and _nearly(cluster, own)):
            return None
        return _Wrong("spec.clusterName", cluster, _leads_nowhere(document), f"Did you mean {own}?")

    def _of_secret(self, document: Document) -> _Wrong | None:
        fix = (
            f"Name it {self._cluster.name}-ca, -etcd, -proxy, -sa or -kubeconfig, use it in contentFrom, or remove it."
        )
        wrong = _Wrong("metadata.name", document.name, _leads_nowhere(document), fix)
        kind = document.data.get("type")
        if self._strict or kind == kinds.SECRET_TYPE:
            return wrong
        if kind == kinds.RESOURCE_SET_SECRET_TYPE or document.name in self._used_names():
            return None
        label = mapping(document.data, "metadata", "labels").get(kinds.LABEL_CLUSTER_NAME)
        # Another Cluster's are told where that one is read.
        own = self._cluster.name
        if isinstance(label, str) and _nearly(label, own):
            return _Wrong(_LABEL, label, _leads_nowhere(document), f"Did you mean {own}?")
        missing = self._missing_names()
        if document.name in missing and document.namespace != self._cluster.namespace:
            fix = f"Give it the namespace of the Cluster that refers to it, {self._cluster.namespace}."
            return _Wrong("metadata.namespace", document.namespace, _leads_nowhere(document), fix)
        near = _is_nearly_own(document.name, own) or any(_nearly(document.name, each) for each in missing)
        return wrong if near else None

    def _used_names(self) -> set[str]:
        """Return what other documents of the manifest could refer to by name."""
        if self._used is None:
            self._used = set()
            for document in self._index.documents:
                if named_kind(document) not in CORE:
                    self._used.update(_texts({key: document.data[key] for key in document.data if key != "metadata"}))
        return self._used

    def _missing_names(self) -> set[str]:
        """Return names of Secrets that files refer to and the manifest lacks."""
        if self._missing is None:
            self._missing = {
                name
                for name in self._index.secrets_of_files(self._cluster)
                if self._index.get(kinds.SECRET, self._cluster.namespace, name) is None
            }
        return self._missing


def _leads_nowhere(document: Document) -> str:
    return f"no Cluster of the manifest leads to this {document.kind}"


def _nearly(text: str, meant: str) -> bool:
    return typing_errors(text, meant, 1 if len(meant) < _SHORT else 2)


def _is_nearly_own(name: str, cluster: str) -> bool:
    """Return whether a Secret's name nearly is a cluster's own.

    One that is, and that the Cluster doesn't lead to, is in another namespace.
    """
    for purpose in kinds.SECRET_PURPOSES:
        own = kinds.secret_name(cluster, purpose)
        if name == own:
            return True
        prefix = own[: -len(purpose)]
        if name.startswith(prefix):
            if _nearly(name[len(prefix) :], purpose):
                return True
        elif _nearly(name, own) and (len(cluster) >= _SHORT or typing_errors(name, own, 1)):
            return True
    return False


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


__all__ = ["CHOICES", "CORE", "REFUSE", "REPORT", "Others", "UnmanagedKind", "sort_out", "summary_line"]
