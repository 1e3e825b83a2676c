# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Index of a manifest's documents, by the Cluster that they belong to.

It follows the references as they are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...documents.read import Document
from .. import kinds


def _mapping(value: Any, *keys: str) -> Mapping[str, Any]:
    """Return the mapping at `keys` below `value`, or an empty one.

    The content of a document has not been checked yet.
    """
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def control_plane_reference(cluster: Document) -> Mapping[str, Any]:
    """Return a Cluster's controlPlaneRef as written."""
    return _mapping(cluster.data, "spec", "controlPlaneRef")


def template_reference(control_plane: Document) -> Mapping[str, Any]:
    """Return a KubeadmControlPlane's machine template reference as written.

    It may be in any Cluster API form.
    """
    for keys in (
        ("machineTemplate", "spec", "infrastructureRef"),
        ("machineTemplate", "infrastructureRef"),
        ("infrastructureTemplate",),
    ):
        found = _mapping(control_plane.data, "spec", *keys)
        if found:
            return found
    return {}


def _secret_names(value: Any) -> Iterator[str]:
    """Yield the names of the Secrets in contentFrom and passwdFrom.

    These may be anywhere below `value`.
    """
    if isinstance(value, list):
        for entry in value:
            yield from _secret_names(entry)
    elif isinstance(value, dict):
        for key, entry in value.items():
            name = _mapping(entry, "secret").get("name") if key in ("contentFrom", "passwdFrom") else None
            if isinstance(name, str):
                yield name
            yield from _secret_names(entry)


class Index:
    """Index of a manifest's documents by kind, namespace and name."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = list(documents)
        self._by_key: dict[tuple[str, str, str], Document] = {}
        for document in documents:
            self._by_key.setdefault((document.kind, document.namespace, document.name), document)
        self._claimed: list[Document] | None = None

    def get(self, kind: Any, namespace: str, name: Any) -> Document | None:
        """Return the first document of that kind, namespace and name."""
        if not isinstance(kind, str) or not isinstance(name, str):
            return None
        return self._by_key.get((kind, namespace, name))

    def related(self, cluster: Document) -> list[Document]:
        """Return the documents that a Cluster leads to.

        They are control plane, machine template, infrastructure cluster, health checks, Secrets.
        """
        found: list[Document] = []
        infrastructure = _mapping(cluster.data, "spec", "infrastructureRef")
        control_plane = self.get(
            kinds.KUBEADM_CONTROL_PLANE, cluster.namespace, control_plane_reference(cluster).get("name")
        )
        candidates = [
            control_plane,
            self.get(infrastructure.get("kind"), cluster.namespace, infrastructure.get("name")),
        ]
        if control_plane is not None:
            template = template_reference(control_plane)
            candidates.append(self.get(template.get("kind"), cluster.namespace, template.get("name")))
        found += [candidate for candidate in candidates if candidate is not None]
        return found + self.health_checks(cluster) + self._secrets_of(cluster, control_plane)

    def health_checks(self, cluster: Document) -> list[Document]:
        """Return the MachineHealthChecks that name the Cluster."""
        return [
            document
            for document in self._documents
            if document.kind == kinds.MACHINE_HEALTH_CHECK
            and document.namespace == cluster.namespace
            and _mapping(document.data, "spec").get("clusterName") == cluster.name
        ]

    def secrets(self, cluster: Document) -> list[Document]:
        """Return the Secrets of a Cluster.

        They are its own by name, by label, or because its files and users refer to them.
        """
        return [document for document in self.related(cluster) if document.kind == kinds.SECRET]

    def _secrets_of(self, cluster: Document, control_plane: Document | None) -> list[Document]:
        wanted: set[str] = {kinds.secret_name(cluster.name, purpose) for purpose in kinds.SECRET_PURPOSES}
        if control_plane is None:
            free = [
                d for d in self._documents if d.kind == kinds.KUBEADM_CONTROL_PLANE and d.namespace == cluster.namespace
            ]
            control_plane = free[0] if len(free) == 1 else None
        if control_plane is not None:
            wanted.update(_secret_names(control_plane.data))
        found: list[Document] = []
        for document in self._documents:
            if document.kind == kinds.SECRET and document.namespace == cluster.namespace:
                labels = _mapping(document.data, "metadata", "labels")
                if document.name in wanted or labels.get(kinds.LABEL_CLUSTER_NAME) == cluster.name:
                    found.append(document)
        return found

    def claimed(self) -> list[Document]:
        """Return every document that some Cluster of the manifest leads to."""
        if self._claimed is None:
            clusters = [document for document in self._documents if document.kind == kinds.CLUSTER]
            self._claimed = [document for cluster in clusters for document in self.related(cluster)]
        return self._claimed

    def unclaimed(self, kind: str) -> list[Document]:
        """Return the documents of a kind that no Cluster leads to."""
        claimed = self.claimed()
        return [d for d in self._documents if d.kind == kind and not any(d is other for other in claimed)]
