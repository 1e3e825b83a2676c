# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Kubernetes store: objects in a Kubernetes API with this collection's CustomResourceDefinitions (docs/store.md).

What the API server does itself (versions, generation, finalizers, deletion timestamps) is not done again here. One thing is
different from a file: an object's status is written by a request of its own. Where both change, the status goes first, so that a
run that is killed in between has noted what it found before what it wants, and no finalizer goes before what it waited for.
"""

from __future__ import annotations

import copy
import typing as t

from ansible_collections.kubeadm.control_plane.plugins.module_utils.crds import definitions, names
from ansible_collections.kubeadm.control_plane.plugins.module_utils.failpoints import around
from ansible_collections.kubeadm.control_plane.plugins.module_utils.store import base
from ansible_collections.kubeadm.control_plane.plugins.module_utils.store.base import KindRef, Object, Objects
from ansible_collections.kubeadm.control_plane.plugins.module_utils.store.kubernetes_api import (
    FIELD_MANAGER,
    Answer,
    KubernetesApi,
    refusal,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.store.layout import SECRET, identity

PAGE = 500
_OWN_FIELDS = ("uid", "creationTimestamp", "generation", "resourceVersion", "selfLink", "managedFields")
_NOT_WRITTEN = {"fieldManager": FIELD_MANAGER}


class KubernetesStore(base.Store):
    """A store in a Kubernetes API.

    Args:
        api: the API and the credentials to it.
        journal_directory: where this controller keeps the journals, as a file store would; None for none.
    """

    def __init__(self, api: KubernetesApi, journal_directory: str | None = None) -> None:
        self.api = api
        self._journal_directory = journal_directory
        # What was read last: an update then needs no request to know what differs. Where it is old, the server refuses.
        self._known: dict[str, Object] = {}

    def journal_directory(self) -> str | None:
        """Return the directory of the journals on this controller."""
        return self._journal_directory

    def get(self, kind_ref: KindRef, namespace: str, name: str) -> Object | None:
        """Return the object, or None where there is none."""
        path = object_path(kind_ref, namespace, name)
        answer = self.api.send("get", path, accepted=(404,))
        if answer.status == 404:
            self._there_is_such_a_kind("get", path, answer)
            self._known.pop(path, None)
            return None
        return self._stored(kind_ref, answer.document)

    def list(
        self, kind_ref: KindRef, namespace: str | None = None, labels: t.Mapping[str, str] | None = None
    ) -> Objects:
        """Return the objects of a kind that carry all of ``labels``, ordered by namespace and name."""
        path = kind_path(kind_ref, namespace)
        query: dict[str, t.Any] = {"limit": PAGE}
        if labels:
            query["labelSelector"] = ",".join(f"{name}={value}" for name, value in sorted(labels.items()))
        found: Objects = []
        while True:
            answer = self.api.send("list", path, query=query, accepted=(404, 410))
            if answer.status == 410:
                # What a page goes on from is kept for minutes only: once more from the start.
                found, query = [], {key: value for key, value in query.items() if key != "continue"}
                continue
            self._there_is_such_a_kind("list", path, answer)
            # Objects in a list don't say what they are.
            what = {"apiVersion": answer.document.get("apiVersion"), "kind": kind_ref[1]}
            found += [self._stored(kind_ref, {**what, **each}) for each in answer.document.get("items") or []]
            further = (answer.document.get("metadata") or {}).get("continue")
            if not further:
                break
            query["continue"] = further
        return sorted(found, key=lambda each: (each["metadata"]["namespace"], each["metadata"]["name"]))

    def create(self, obj: Object) -> Object:
        """Store a new object and return it as stored."""
        obj = base.plain_object(obj)
        kind_ref, namespace, name = identity(obj)
        path = kind_path(kind_ref, namespace)
        for field in (*_OWN_FIELDS, "deletionTimestamp", "deletionGracePeriodSeconds"):
            obj["metadata"].pop(field, None)
        with around(f"store write {kind_ref[1]}"):
            answer = self.api.send("create", path, obj, _NOT_WRITTEN, accepted=(404, 409))
        self._there_is_such_a_kind("create", path, answer)
        if answer.status == 409:
            raise base.AlreadyExists(
                f"{base.describe(kind_ref, namespace, name)} exists already",
                self.api.host,
                "an object is created once and then updated",
                "Nothing was written. Read it and update it, or delete it first.",
            )
        stored = self._stored(kind_ref, answer.document)
        if obj.get("status") and kind_ref != SECRET:
            # An API server drops the status of what is created.
            stored = self.update({**stored, "status": obj["status"]})
        return stored

    def update(self, obj: Object) -> Object:
        """Replace an object and return it as stored; where nothing differs nothing is written."""
        obj = base.plain_object(obj)
        kind_ref, namespace, name = identity(obj)
        path = object_path(kind_ref, namespace, name)
        metadata = obj["metadata"]
        stored = copy.deepcopy(self._known.get(path))
        if stored is None or stored["metadata"]["resourceVersion"] != metadata.get("resourceVersion"):
            stored = self.get(kind_ref, namespace, name)
        if stored is None:
            raise base.not_found(kind_ref, namespace, name)
        current = stored["metadata"]
        base.check_unchanged(kind_ref, stored, metadata.get("resourceVersion"), metadata.get("uid"))
        base.check_deletion_untouched(kind_ref, metadata, current)
        for field in _OWN_FIELDS:
            metadata.pop(field, None)
            if field in current:
                metadata[field] = current[field]
        if obj.get("status") != stored.get("status") and has_status(kind_ref):
            noted = {**copy.deepcopy(stored), "status": obj.get("status") or {}}
            stored = self._put(kind_ref, namespace, name, f"{path}/status", noted)
            metadata["resourceVersion"] = stored["metadata"]["resourceVersion"]
        if _without_status(obj) == _without_status(stored):
            return stored
        return self._put(kind_ref, namespace, name, path, {**obj, "status": stored.get("status") or {}})

    def _put(self, kind_ref: KindRef, namespace: str, name: str, path: str, obj: Object) -> Object:
        if not obj["status"]:
            del obj["status"]
        with around(f"store write {kind_ref[1]}"):
            answer = self.api.send("update", path, obj, _NOT_WRITTEN, accepted=(404, 409))
        if answer.status == 404:
            raise base.not_found(kind_ref, namespace, name)
        if answer.status == 409:
            raise base.changed_since(kind_ref, namespace, name)
        return self._stored(kind_ref, answer.document)

    def delete(
        self, kind_ref: KindRef, namespace: str, name: str, resource_version: str | None = None
    ) -> Object | None:
        """Delete an object; None when it is gone, else the object that waits for its finalizers."""
        path = object_path(kind_ref, namespace, name)
        # What it owns is deleted by whoever knows how; a cascade would take a machine's objects away before the machine.
        options: dict[str, t.Any] = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        if resource_version is not None:
            options["preconditions"] = {"resourceVersion": resource_version}
        with around(f"store remove {kind_ref[1]}"):
            answer = self.api.send("delete", path, options, accepted=(404, 409))
        if answer.status == 404:
            self._there_is_such_a_kind("delete", path, answer)
            raise base.not_found(kind_ref, namespace, name)
        if answer.status == 409:
            raise base.changed_since(kind_ref, namespace, name)
        # A Status says that it is gone; an object, that it waits.
        if (answer.document.get("metadata") or {}).get("finalizers"):
            return self._stored(kind_ref, answer.document)
        return None

    def _there_is_such_a_kind(self, verb: str, path: str, answer: Answer) -> None:
        # A missing object is answered by the kind's own handler, a missing kind by none.
        if answer.status == 404 and not (answer.document.get("details") or {}).get("name"):
            raise refusal(self.api.host, verb, path, answer)

    def _stored(self, kind_ref: KindRef, document: Object) -> Object:
        obj = copy.deepcopy(document)
        # Says which fields whose requests set; nobody decides on it, and it is longer than the rest.
        obj["metadata"].pop("managedFields", None)
        obj["metadata"].setdefault("generation", 1)
        self._known[object_path(kind_ref, obj["metadata"]["namespace"], obj["metadata"]["name"])] = copy.deepcopy(obj)
        return obj


def has_status(kind_ref: KindRef) -> bool:
    """Tell whether a kind's status is written by a request of its own."""
    return kind_ref != SECRET


def kind_path(kind_ref: KindRef, namespace: str | None) -> str:
    """Return the path of a kind's objects, of one namespace or of all. Refuses what isn't a name."""
    base.check_kind_ref(kind_ref)
    group, kind = kind_ref
    version = definitions.version_of(kind)
    root = f"/apis/{group}/{version}" if group else f"/api/{version}"
    if namespace is None:
        return f"{root}/{names.plural(kind)}"
    base.check_namespace(namespace)
    return f"{root}/namespaces/{namespace}/{names.plural(kind)}"


def object_path(kind_ref: KindRef, namespace: str, name: str) -> str:
    """Return an object's path. Refuses what isn't a name."""
    base.check_namespace(namespace)
    base.check_name(name)
    return f"{kind_path(kind_ref, namespace)}/{name}"


def _without_status(obj: Object) -> Object:
    return {key: value for key, value in obj.items() if key != "status"}
