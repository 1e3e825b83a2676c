# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of one cluster in a store, owners first.

A move carries them, and an export keeps them.
"""

from __future__ import annotations

import typing as t

from ..crds import definitions
from ..objects import kinds
from ..objects.resource_sets import cluster_resource_set
from ..records import stored_health_checks
from ..records.cluster_objects import (
    CLUSTER,
    CLUSTER_LABEL,
    CONTROL_PLANE,
    KUBEADM_CONFIG,
    MACHINE,
    MACHINE_DEPLOYMENT,
    MACHINE_SET,
    SECRET,
    Object,
    kind_of,
    machine_kind_of_template,
)
from ..records.plans import kept_plans
from ..records.resource_sets import stored_resource_sets
from ..records.workers import managed
from ..store.base import KindRef, Store, kind_ref_of

Key = tuple[KindRef, str]
_PURPOSES = (*kinds.SECRET_PURPOSES, kinds.PURPOSE_AUTHORITY_ROTATION)


def key_of(obj: Object) -> Key:
    """Return an object's key: its kind and name within its namespace."""
    return kind_ref_of(obj), str(obj["metadata"]["name"])


class Graph:
    """Graph of a cluster's objects, found by label, name and reference.

    Attributes:
        objects: all of them, owners first.
        own: the keys of those that are this cluster's alone; the others are named by it, and may be another cluster's
            too.
    """

    def __init__(self, store: Store, namespace: str, cluster: str) -> None:
        self._store = store
        self.namespace = namespace
        self.cluster = cluster
        self._found: dict[Key, Object] = {}
        self.own: set[Key] = set()
        self._collect()
        self.objects = _owners_first(list(self._found.values()))

    def by_key(self) -> dict[Key, Object]:
        """Return the objects by their keys."""
        return dict(self._found)

    def get(self, key: Key) -> t.Optional[Object]:
        """Return the object of a key, None without one."""
        return self._found.get(key)

    def kinds(self) -> list[KindRef]:
        """Return every kind that the cluster has or may have."""
        return sorted({*_KINDS, *(kind for kind, _name in self._found)})

    def _collect(self) -> None:
        self._name(CLUSTER, self.cluster)
        spec = (self._found.get((CLUSTER, self.cluster)) or {}).get("spec") or {}
        if (spec.get("controlPlaneRef") or {}).get("name"):
            self._name(CONTROL_PLANE, str(spec["controlPlaneRef"]["name"]))
        infrastructure = spec.get("infrastructureRef")
        if infrastructure:
            self._name(kind_of(infrastructure), str(infrastructure["name"]))
        listed = [SECRET, *_KINDS, *self._provider_kinds(infrastructure)]
        for kind_ref in dict.fromkeys(listed):
            for each in self._store.list(kind_ref, self.namespace, {CLUSTER_LABEL: self.cluster}):
                # A template that several clusters name has one cluster's label, and is nobody's alone.
                template = kind_ref[1].endswith("Template")
                self._add(
                    each,
                    own=not template or not used_by_others(self._store, self.namespace, self.cluster, key_of(each)),
                )
        for each in self._store.list(stored_health_checks.HEALTH_CHECK, self.namespace):
            if (each.get("spec") or {}).get("clusterName") == self.cluster:
                self._add(each)
        self._resource_sets()
        for each in kept_plans.of_cluster(self._store, self.namespace, self.cluster):
            self._add(each)
        for purpose in _PURPOSES:
            self._name(SECRET, kinds.secret_name(self.cluster, purpose))
        self._references()

    def _resource_sets(self) -> None:
        """Add the Cluster's resource sets, what they name, and its binding."""
        cluster = self._found.get((CLUSTER, self.cluster))
        if cluster is None:
            return
        alone = [key_of(each) for each in stored_resource_sets.for_alone(self._store, cluster)]
        for each in stored_resource_sets.of_cluster(self._store, cluster):
            self._add(each, own=key_of(each) in alone)
            for kind, name in cluster_resource_set.references(each):
                found = stored_resource_sets.resource(self._store, self.namespace, kind, name)
                if found is not None:
                    self._add(found, own=key_of(each) in alone and self._is_sets_alone(found))
        self._name(stored_resource_sets.BINDING, self.cluster)

    def _is_sets_alone(self, resource: Object) -> bool:
        """Return whether only sets of this cluster alone name a resource."""
        key = (str(resource["kind"]), str(resource["metadata"]["name"]))
        cluster = self._found[(CLUSTER, self.cluster)]
        alone = {str(each["metadata"]["uid"]) for each in stored_resource_sets.for_alone(self._store, cluster)}
        others = [
            each
            for each in self._store.list(stored_resource_sets.RESOURCE_SET, self.namespace)
            if str(each["metadata"]["uid"]) not in alone
        ]
        return not any(key in cluster_resource_set.references(each) for each in others)

    def _provider_kinds(self, infrastructure: t.Optional[Object]) -> list[KindRef]:
        """Return the kinds of the user's own infrastructure provider.

        Its machines may have come from several templates' kinds.
        """
        found = []
        if infrastructure and str(infrastructure["kind"]).endswith("Cluster"):
            group, kind = kind_of(infrastructure)
            found.append((group, f"{kind[: -len('Cluster')]}Machine"))
        for control_plane in self._of(CONTROL_PLANE):
            found.append(machine_kind_of_template(_template_of(control_plane)))
        for deployment in self._store.list(MACHINE_DEPLOYMENT, self.namespace, {CLUSTER_LABEL: self.cluster}):
            reference = managed.machine_reference(deployment)
            if str(reference.get("kind", "")).endswith("Template"):
                found += [kind_of(reference), machine_kind_of_template(reference)]
        for machine in self._store.list(MACHINE, self.namespace, {CLUSTER_LABEL: self.cluster}):
            found.append(kind_of(machine["spec"]["infrastructureRef"]))
        return found

    def _references(self) -> None:
        """Add objects that are only named by others.

        Templates, what Cluster API called otherwise, Secrets whose contents a machine or a Task gets.
        """
        for control_plane in self._of(CONTROL_PLANE):
            template = _template_of(control_plane)
            self._name(kind_of(template), str(template["name"]), own=False)
        for owner in (*self._of(MACHINE_DEPLOYMENT), *self._of(MACHINE_SET)):
            for template in _templates_of(owner):
                self._name(kind_of(template), str(template["name"]), own=False)
        for machine in self._of(MACHINE):
            spec = machine["spec"]
            reference = (spec.get("bootstrap") or {}).get("configRef")
            if reference:
                self._name(KUBEADM_CONFIG, str(reference["name"]))
            self._name(kind_of(spec["infrastructureRef"]), str(spec["infrastructureRef"]["name"]))
        for each in list(self._found.values()):
            annotations = each["metadata"].get("annotations") or {}
            cloned = annotations.get(kinds.ANNOTATION_CLONED_FROM_GROUP_KIND, "").partition(".")
            if cloned[0] and annotations.get(kinds.ANNOTATION_CLONED_FROM_NAME):
                self._name((cloned[2], cloned[0]), annotations[kinds.ANNOTATION_CLONED_FROM_NAME], own=False)
            if kind_ref_of(each) != SECRET:
                for name in sorted(set(_secrets_in([each.get("spec"), (each.get("status") or {}).get("plan")]))):
                    self._name(SECRET, name, own=False)

    def _of(self, kind_ref: KindRef) -> list[Object]:
        return [each for (kind, _name), each in self._found.items() if kind == kind_ref]

    def _name(self, kind_ref: KindRef, name: str, own: bool = True) -> None:
        if (kind_ref, name) not in self._found:
            obj = self._store.get(kind_ref, self.namespace, name)
            if obj is not None:
                self._add(obj, own)

    def _add(self, obj: Object, own: bool = True) -> None:
        key = key_of(obj)
        self._found[key] = obj
        if own:
            self.own.add(key)


# Everything that is defined, whichever of it a cluster has.
_KINDS: t.Sequence[KindRef] = tuple((definitions.group_of(each.name), each.name) for each in definitions.KINDS)
# What names no cluster itself.
_NAMED = (SECRET, stored_resource_sets.CONFIG_MAP, stored_resource_sets.RESOURCE_SET)


def can_be_shared(kind_ref: KindRef) -> bool:
    """Return whether several clusters may use one object of this kind."""
    return kind_ref in _NAMED or kind_ref[1].endswith("Template")


def used_by_others(store: Store, namespace: str, cluster: str, key: Key) -> bool:
    """Return whether another cluster of the namespace may need an object.

    An object that this cluster only names.
    """
    kind_ref, name = key
    if kind_ref in _NAMED:
        # Whose it is can't be told: it is a person's own, or another cluster has it, too.
        return True
    for other in store.list(CONTROL_PLANE, namespace):
        reference = _template_of(other)
        owner = (other["metadata"].get("labels") or {}).get(CLUSTER_LABEL)
        if owner != cluster and reference and (kind_of(reference), str(reference["name"])) == (kind_ref, name):
            return True
    for owner in (*store.list(MACHINE_DEPLOYMENT, namespace), *store.list(MACHINE_SET, namespace)):
        named = [(kind_of(each), str(each["name"])) for each in _templates_of(owner)]
        if (owner["metadata"].get("labels") or {}).get(CLUSTER_LABEL) != cluster and key in named:
            return True
    return False


def _templates_of(owner: Object) -> list[Object]:
    """Return the references to templates of a MachineDeployment or MachineSet."""
    found = (managed.config_reference(owner), managed.machine_reference(owner))
    return [each for each in found if each.get("kind") and each.get("name")]


def _template_of(control_plane: Object) -> Object:
    template = (control_plane.get("spec") or {}).get("machineTemplate") or {}
    found: Object = (template.get("spec") or {}).get("infrastructureRef") or {}
    return found


def _secrets_in(value: t.Any) -> t.Iterator[str]:
    """Yield the names in every ``secret: {name: …}`` of a structure.

    Of contentFrom, passwdFrom, a Task's files.
    """
    if isinstance(value, dict):
        secret = value.get("secret")
        if isinstance(secret, dict) and isinstance(secret.get("name"), str):
            yield secret["name"]
        for each in value.values():
            yield from _secrets_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from _secrets_in(each)


def _owners_first(objects: list[Object]) -> list[Object]:
    by_uid = {str(each["metadata"]["uid"]): each for each in objects}
    ordered: list[Object] = []
    placed: set[str] = set()

    def place(obj: Object, above: frozenset[str]) -> None:
        uid = str(obj["metadata"]["uid"])
        if uid in placed or uid in above:
            return
        for owner in obj["metadata"].get("ownerReferences") or []:
            if str(owner.get("uid")) in by_uid:
                place(by_uid[str(owner["uid"])], above | {uid})
        placed.add(uid)
        ordered.append(obj)

    # The Cluster before all others: whoever looks in between sees that it is paused.
    for each in sorted(objects, key=lambda each: (kind_ref_of(each) != CLUSTER, *key_of(each))):
        place(each, frozenset())
    return ordered
