# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Index of a manifest's documents, by the Cluster that they belong to.

It follows the references as they are written.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from ...documents.yaml_files import Document
from .. import kinds
from ..resource_sets import cluster_resource_set

# Groups of the kinds whose names other software uses as well.
_GROUPS: Mapping[str, str] = {
    kinds.CLUSTER: kinds.GROUP_CLUSTER,
    kinds.MACHINE_DEPLOYMENT: kinds.GROUP_CLUSTER,
    kinds.KUBEADM_CONFIG_TEMPLATE: kinds.GROUP_BOOTSTRAP,
    kinds.MACHINE_HEALTH_CHECK: kinds.GROUP_CLUSTER,
    kinds.CLUSTER_RESOURCE_SET: kinds.GROUP_ADDONS,
    kinds.SECRET: "",
    kinds.CONFIG_MAP: "",
}
_MISSPELLED = 0.8
_Key = tuple[str, str, str]


def named_kind(document: Document) -> str:
    """Return a document's kind, with its group where that is another software's.

    Others have a Cluster, too. A group that is nearly the right one is a typing error, and is refused where the document is read.
    """
    group = kinds.group(document.api_version)
    return f"{document.kind}.{group}" if is_others(document.kind, group) else document.kind


@functools.lru_cache(maxsize=1024)
def is_others(kind: str, group: str) -> bool:
    """Return whether a kind of a known name is another software's."""
    expected = _GROUPS.get(kind, group)
    # A group of Cluster API's with a kind of another one of its groups is a mistake, and no other software.
    if group == expected or "." not in group or f".{group}".endswith(".x-k8s.io"):
        return False
    return not difflib.get_close_matches(group[:253], [expected], 1, _MISSPELLED)


def mapping(value: Any, *keys: str) -> Mapping[str, Any]:
    """Return the mapping at `keys` below `value`, or an empty one.

    The content of a document has not been checked yet.
    """
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def control_plane_reference(cluster: Document) -> Mapping[str, Any]:
    """Return a Cluster's controlPlaneRef as written."""
    return mapping(cluster.data, "spec", "controlPlaneRef")


def template_reference(control_plane: Document) -> Mapping[str, Any]:
    """Return a KubeadmControlPlane's machine template reference as written.

    It may be in any Cluster API form.
    """
    for keys in (
        ("machineTemplate", "spec", "infrastructureRef"),
        ("machineTemplate", "infrastructureRef"),
        ("infrastructureTemplate",),
    ):
        found = mapping(control_plane.data, "spec", *keys)
        if found:
            return found
    return {}


def reference_group(reference: Mapping[str, Any]) -> str:
    """Return the group of a reference in either form, or ""."""
    group, version = reference.get("apiGroup"), reference.get("apiVersion")
    return group if isinstance(group, str) else kinds.group(version) if isinstance(version, str) else ""


def _secret_names(value: Any) -> Iterator[str]:
    """Yield the names of the Secrets in contentFrom and passwdFrom.

    These may be anywhere below `value`.
    """
    if isinstance(value, list):
        for entry in value:
            yield from _secret_names(entry)
    elif isinstance(value, dict):
        for key, entry in value.items():
            name = mapping(entry, "secret").get("name") if key in ("contentFrom", "passwdFrom") else None
            if isinstance(name, str):
                yield name
            yield from _secret_names(entry)


def config_reference(deployment: Document) -> Mapping[str, Any]:
    """Return a MachineDeployment's reference to its KubeadmConfigTemplate as written."""
    return mapping(deployment.data, "spec", "template", "spec", "bootstrap", "configRef")


def worker_template_reference(deployment: Document) -> Mapping[str, Any]:
    """Return a MachineDeployment's reference to its machine template as written."""
    return mapping(deployment.data, "spec", "template", "spec", "infrastructureRef")


class Index:
    """Index of a manifest's documents by kind, namespace and name.

    `providers`: the infrastructure kinds with a provider, by which a MachineDeployment is managed here or another software's; None for any.
    """

    def __init__(self, documents: Sequence[Document], providers: Collection[str] | None = None) -> None:
        self.documents = list(documents)
        self._providers = providers
        self._position = {document: number for number, document in enumerate(self.documents)}
        self._by_key: dict[_Key, Document] = {}
        self._by_kind: dict[str, list[Document]] = {}
        # Two providers may have kinds of one name, in groups of their own.
        self._infrastructure: dict[_Key, list[Document]] = {}
        # Secrets by name and by label, health checks by their Cluster: (which of them, namespace, name).
        self._listed: dict[_Key, list[Document]] = {}
        for document in self.documents:
            kind = named_kind(document)
            self._by_key.setdefault((kind, document.namespace, document.name), document)
            self._by_kind.setdefault(kind, []).append(document)
            self._infrastructure.setdefault((kind, document.namespace, document.name), []).append(document)
            if kind == kinds.SECRET:
                self._list("name", document, document.name)
                labels = mapping(document.data, "metadata", "labels")
                self._list("label", document, labels.get(kinds.LABEL_CLUSTER_NAME))
            elif kind == kinds.MACHINE_DEPLOYMENT and self.is_managed(document):
                self._list("deployment", document, mapping(document.data, "spec").get("clusterName"))
            elif kind == kinds.MACHINE_HEALTH_CHECK:
                self._list("check", document, mapping(document.data, "spec").get("clusterName"))
        self._claimed: set[Document] | None = None

    def _list(self, which: str, document: Document, name: Any) -> None:
        if isinstance(name, str):
            self._listed.setdefault((which, document.namespace, name), []).append(document)

    def get(self, kind: Any, namespace: str, name: Any) -> Document | None:
        """Return the first document of that kind, namespace and name."""
        if not isinstance(kind, str) or not isinstance(name, str):
            return None
        return self._by_key.get((kind, namespace, name))

    def provided(self, reference: Mapping[str, Any], namespace: str) -> Document | None:
        """Return the document that a reference to infrastructure names.

        Of two of the same kind and name, the one of the reference's group; of another group where there is no such.
        """
        kind, name = reference.get("kind"), reference.get("name")
        if not isinstance(kind, str) or not isinstance(name, str):
            return None
        found = self._infrastructure.get((kind, namespace, name), [])
        group = reference_group(reference)
        return next((each for each in found if kinds.group(each.api_version) == group), found[0] if found else None)

    def of_kind(self, kind: str, namespace: str | None = None) -> list[Document]:
        """Return the documents of a kind, in a namespace or in all."""
        found = self._by_kind.get(kind, [])
        return [document for document in found if namespace in (None, document.namespace)]

    def related(self, cluster: Document) -> list[Document]:
        """Return the documents that a Cluster leads to.

        They are control plane, machine template, infrastructure cluster, health checks, Secrets, ClusterResourceSets and
        what these name.
        """
        found: list[Document] = []
        control_plane = self._control_plane(cluster)
        infrastructure = mapping(cluster.data, "spec", "infrastructureRef")
        candidates = [control_plane, self.provided(infrastructure, cluster.namespace)]
        if control_plane is not None:
            candidates.append(self.provided(template_reference(control_plane), cluster.namespace))
        found += [candidate for candidate in candidates if candidate is not None]
        beside = [*self.deployments(cluster), *self.worker_templates(cluster)]
        beside += [*self.resource_sets(cluster), *self.resources(cluster)]
        return list(dict.fromkeys([*found, *self.health_checks(cluster), *self.secrets(cluster), *beside]))

    def _control_plane(self, cluster: Document) -> Document | None:
        reference = control_plane_reference(cluster)
        return self.get(kinds.KUBEADM_CONTROL_PLANE, cluster.namespace, reference.get("name"))

    def template_kind(self, cluster: Document) -> str:
        """Return the kind of the control plane's machine template, or ""."""
        control_plane = self._control_plane(cluster)
        kind = template_reference(control_plane).get("kind") if control_plane is not None else None
        return kind if isinstance(kind, str) else ""

    def health_checks(self, cluster: Document) -> list[Document]:
        """Return the MachineHealthChecks that name the Cluster."""
        return list(self._listed.get(("check", cluster.namespace, cluster.name), ()))

    def is_managed(self, deployment: Document) -> bool:
        """Return whether a MachineDeployment's machines could be made here.

        By the kinds that it names: kubeadm's template, and a machine template with a provider.
        """
        config, reference = config_reference(deployment), worker_template_reference(deployment)
        if config.get("kind") != kinds.KUBEADM_CONFIG_TEMPLATE or is_others(config["kind"], reference_group(config)):
            return False
        return isinstance(reference.get("kind"), str) and (
            self._providers is None or reference["kind"] in self._providers
        )

    def deployments(self, cluster: Document) -> list[Document]:
        """Return the managed MachineDeployments that name the Cluster."""
        return list(self._listed.get(("deployment", cluster.namespace, cluster.name), ()))

    def worker_templates(self, cluster: Document) -> list[Document]:
        """Return the KubeadmConfigTemplates and machine templates that these name."""
        named = []
        for each in self.deployments(cluster):
            config = config_reference(each)
            named.append(self.get(config["kind"], cluster.namespace, config.get("name")))
            named.append(self.provided(worker_template_reference(each), cluster.namespace))
        return list(dict.fromkeys(each for each in named if each is not None))

    def is_of_workers(self, document: Document) -> bool:
        """Return whether a document is a managed MachineDeployment, or its KubeadmConfigTemplate.

        Also another document of that template's name.
        """
        kind = named_kind(document)
        if kind == kinds.KUBEADM_CONFIG_TEMPLATE:
            return self.get(kind, document.namespace, document.name) in self.claimed()
        return document in self.claimed() and kind == kinds.MACHINE_DEPLOYMENT

    def resource_sets(self, cluster: Document) -> list[Document]:
        """Return the ClusterResourceSets of its namespace that select the Cluster."""
        listed = self.of_kind(kinds.CLUSTER_RESOURCE_SET, cluster.namespace)
        return [each for each in listed if cluster_resource_set.selects(each.data, cluster.data)]

    def resources(self, cluster: Document) -> list[Document]:
        """Return the ConfigMaps and Secrets that these sets name."""
        named = [key for each in self.resource_sets(cluster) for key in cluster_resource_set.references(each.data)]
        found = (self.get(kind, cluster.namespace, name) for kind, name in dict.fromkeys(named))
        return [each for each in found if each is not None]

    def is_resource(self, document: Document) -> bool:
        """Return whether a ClusterResourceSet of the document's namespace names it."""
        listed = self.of_kind(kinds.CLUSTER_RESOURCE_SET, document.namespace)
        key = (named_kind(document), document.name)
        return any(key in cluster_resource_set.references(each.data) for each in listed)

    def secrets(self, cluster: Document) -> list[Document]:
        """Return the Secrets of a Cluster.

        They are its own by name, by label, or because its files and users refer to them.
        """
        wanted = {kinds.secret_name(cluster.name, purpose) for purpose in kinds.SECRET_PURPOSES}
        wanted |= self.secrets_of_files(cluster)
        found = set(self._listed.get(("label", cluster.namespace, cluster.name), ()))
        found.update(each for name in wanted for each in self._listed.get(("name", cluster.namespace, name), ()))
        return sorted(found, key=self._position.__getitem__)

    def secrets_of_files(self, cluster: Document) -> set[str]:
        """Return the names of the Secrets that files and users refer to."""
        control_plane = self._control_plane(cluster)
        if control_plane is None:
            free = self.of_kind(kinds.KUBEADM_CONTROL_PLANE, cluster.namespace)
            control_plane = free[0] if len(free) == 1 else None
        files = [*([control_plane] if control_plane is not None else []), *self.worker_templates(cluster)]
        return {name for each in files for name in _secret_names(each.data)}

    def claimed(self) -> set[Document]:
        """Return every document that some Cluster of the manifest leads to."""
        if self._claimed is None:
            clusters = self.of_kind(kinds.CLUSTER)
            self._claimed = {document for cluster in clusters for document in self.related(cluster)}
        return self._claimed

    def unclaimed(self, kind: str) -> list[Document]:
        """Return the documents of a kind that no Cluster leads to."""
        claimed = self.claimed()
        return [document for document in self.of_kind(kind) if document not in claimed]
