# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubernetes store: objects in an API with this collection's CustomResourceDefinitions (docs/store.md).

What the API server does itself (versions, generation, finalizers, deletion timestamps) is not done again here. One
thing is different from a file: an object's status is written by a request of its own. Where both change, the status is
first, so that a run that is killed in between has noted what it found before what it wants, and no finalizer is removed
before what it waited for.
"""

from __future__ import annotations

import contextlib
import copy
import typing as t

from ...crds import definitions
from ...objects import kinds, origin
from ...objects.equivalence import without_nulls
from ...processes.failpoints import around
from .. import base
from ..base import KindRef, Object, Objects
from ..events import Events
from ..file.layout import SECRET
from ..read_once import View
from . import applied
from .creation import create_once, without_status
from .dropped_fields import refuse_loss
from .dry_run import refused_fields
from .layout import kind_path, object_path
from .requests import FIELD_MANAGER, Answer, KubernetesApi, Refused, refusal
from .served_versions import ServedVersions

PAGE = 500
_OWN_FIELDS = ("uid", "creationTimestamp", "generation", "resourceVersion", "selfLink", "managedFields")
_NOT_WRITTEN = {"fieldManager": FIELD_MANAGER}


class KubernetesStore(base.Store):
    """Store of objects in a Kubernetes API.

    Args:
        api: the API and the credentials to it.
        journal_directory: where this controller keeps the journals, as a file store would; None for none.
    """

    def __init__(self, api: KubernetesApi, journal_directory: str | None = None) -> None:
        self.api, self._journal_directory = api, journal_directory
        self._events, self._served = Events(api), ServedVersions(api, self._reread)
        # What was read last: an update then needs no request to know what differs. Where it is old, the server refuses.
        self._known: dict[str, Object] = {}
        self._view: View | None = None

    def prefer(self, obj: Object) -> None:
        """Use an object's API version for its kind, or refuse it."""
        self._served.prefer(obj)

    def journal_directory(self) -> str | None:
        """Return the directory of the journals on this controller."""
        return self._journal_directory

    def host(self) -> str:
        """Return the API's URL."""
        return self.api.host

    @contextlib.contextmanager
    def view(self, whole: str | None = None) -> t.Iterator[None]:
        """Open a view that sends each request once, unless one is open."""
        if self._view is not None:
            yield
            return
        self._view = View(whole)
        try:
            yield
        finally:
            self._view = None

    def look_again(self) -> None:
        """Start the current view again."""
        if self._view is not None:
            self._view.forget()

    def ahead(self, kind_ref: KindRef, namespace: str, labels: t.Mapping[str, str]) -> None:
        """Request objects at once that the view will read one by one."""
        if self._view is not None:
            self.list(kind_ref, namespace, labels)

    def get(self, kind_ref: KindRef, namespace: str, name: str) -> Object | None:
        """Return the object, or None where there is none."""
        path = self._object_path(kind_ref, namespace, name)
        if self._view is not None:
            # Of ConfigMaps, which hold much, only those are read that are asked for.
            if self._view.reads_whole_kinds and kind_ref != ("", kinds.CONFIG_MAP):
                self._ask_for(self._view, kind_ref, namespace, None)
            if self._view.knows(kind_ref, namespace, name):
                return self._view.get(kind_ref, namespace, name)
        answer = self.api.send("get", path, accepted=(403, 404))
        if answer.status != 200:
            self._may_be_none("get", kind_ref, path, answer)
            self._gone(kind_ref, namespace, name)
            return None
        return self._stored(kind_ref, answer.document)

    def list(
        self, kind_ref: KindRef, namespace: str | None = None, labels: t.Mapping[str, str] | None = None
    ) -> Objects:
        """Return the objects of a kind with all of ``labels``, sorted."""
        if self._view is None:
            return self._listed(kind_ref, namespace, labels)
        found = self._view.list(kind_ref, namespace, labels)
        if found is None:
            self._ask_for(self._view, kind_ref, namespace, labels)
            found = self._view.list(kind_ref, namespace, labels)
        return found or []

    def _ask_for(
        self, view: View, kind_ref: KindRef, namespace: str | None, labels: t.Mapping[str, str] | None
    ) -> None:
        asked_for = view.widened(namespace, labels)
        if not view.lists(kind_ref, asked_for[0]):
            view.keep_list(kind_ref, *asked_for, self._listed(kind_ref, *asked_for))

    def _listed(self, kind_ref: KindRef, namespace: str | None, labels: t.Mapping[str, str] | None) -> Objects:
        path = self._kind_path(kind_ref, namespace)
        query: dict[str, t.Any] = {"limit": PAGE}
        if labels:
            query["labelSelector"] = ",".join(f"{name}={value}" for name, value in sorted(labels.items()))
        found: Objects = []
        while True:
            answer = self.api.send("list", path, query=query, accepted=(403, 404, 410))
            if answer.status == 410:
                # What a page goes on from is kept for minutes only: once more from the start.
                found, query = [], {key: value for key, value in query.items() if key != "continue"}
                continue
            if answer.status != 200:
                self._may_be_none("list", kind_ref, path, answer)
                return []
            # Objects in a list don't say what they are.
            what = {"apiVersion": answer.document.get("apiVersion"), "kind": kind_ref[1]}
            found += [self._stored(kind_ref, {**what, **each}) for each in answer.document.get("items") or []]
            further = (answer.document.get("metadata") or {}).get("continue")
            if not further:
                return sorted(found, key=lambda each: (each["metadata"]["namespace"], each["metadata"]["name"]))
            query["continue"] = further

    def create(self, obj: Object) -> Object:
        """Store a new object and return it as stored."""
        obj = as_kept(base.plain_object(obj))
        kind_ref, namespace, name = self._served.identity(obj)
        path = self._kind_path(kind_ref, namespace)
        for field in (*_OWN_FIELDS, "deletionTimestamp", "deletionGracePeriodSeconds"):
            obj["metadata"].pop(field, None)
        own_path, given = self._object_path(kind_ref, namespace, name), applied.given(obj)
        with around(f"store write {kind_ref[1]}"):
            answer = create_once(self.api, path, own_path, applied.rest(obj, given), self._before_write)
        self._there_is_such_a_kind("create", path, answer)
        if answer.status == 404:
            raise self._no_namespace(kind_ref, namespace, name, answer)
        if answer.status == 409:
            self._forget()
            raise base.AlreadyExists(
                f"{base.describe(kind_ref, namespace, name)} exists already",
                self.api.host,
                "an object is created once and then updated",
                "Nothing was written. Read it and update it, or delete it first.",
            )
        stored = self._stored(kind_ref, answer.document, written=True)
        if given:
            stored, _emptied = self._apply(kind_ref, own_path, stored, given, None)
        refuse_loss(kind_ref, self.api.host, obj, stored, "spec")
        if obj.get("status") and kind_ref != SECRET:
            # An API server drops the status of what is created. Who has seen the object may have written to it.
            try:
                stored = self.update({**stored, "status": obj["status"]})
            except base.Conflict:
                stored = self.modify(kind_ref, namespace, name, lambda found: found.update(status=obj["status"]))
        return stored

    def refused(self, obj: Object) -> t.Sequence[str]:
        """Return the fields of an object that the API server would refuse."""
        obj = applied.own(without_status(as_kept(base.plain_object(obj))))
        named = self._served.identity(obj)
        return refused_fields(self.api, self._kind_path(*named[:2]), self._object_path(*named), obj)

    def update(self, obj: Object) -> Object:
        """Replace an object where it differs, and return it as stored."""
        obj = as_kept(base.plain_object(obj))
        kind_ref, namespace, name = self._served.identity(obj)
        path = self._object_path(kind_ref, namespace, name)
        metadata = obj["metadata"]
        stored = copy.deepcopy(self._known.get(path))
        if stored is None or stored["metadata"]["resourceVersion"] != metadata.get("resourceVersion"):
            self._forget()
            stored = self.get(kind_ref, namespace, name)
        if stored is None:
            raise base.not_found(kind_ref, namespace, name)
        current = stored["metadata"]
        base.check_unchanged(kind_ref, stored, metadata.get("resourceVersion"), metadata.get("uid"))
        base.check_deletion_untouched(kind_ref, metadata, current)
        for field in _OWN_FIELDS:
            metadata.pop(field, None)
        metadata.update({field: current[field] for field in _OWN_FIELDS if field in current})
        # A definition without the subresource has the status for a field like any other.
        apart = self._served.has_status_apart(kind_ref)
        if obj.get("status") != stored.get("status") and kind_ref != SECRET and apart:
            noted = {**stored, "status": obj.get("status") or {}}
            stored = self._put(kind_ref, namespace, name, f"{path}/status", noted)
            metadata["resourceVersion"] = stored["metadata"]["resourceVersion"]
        before, given, emptied = applied.given(stored), applied.given(obj), False
        if given != before:
            stored, emptied = self._apply(kind_ref, path, stored, given, metadata["resourceVersion"])
            applied.follow(obj, stored, before)
            metadata.update({field: stored["metadata"][field] for field in _OWN_FIELDS if field in stored["metadata"]})
        status = (stored if apart else obj).get("status") or {}
        if without_status(obj) == without_status(stored) and status == (stored.get("status") or {}) and not emptied:
            return stored
        return self._put(kind_ref, namespace, name, path, {**obj, "status": status})

    def _apply(
        self, kind_ref: KindRef, path: str, stored: Object, given: Object, version: str | None
    ) -> tuple[Object, bool]:
        """Apply the machine template's fields by server-side apply (``applied.py``).

        With it: whether null is left of a field, as by Kubernetes 1.20, which others may take for a value.
        """
        body, query = applied.request(stored, given, version), {"fieldManager": applied.MANAGER, "force": "true"}
        with around(f"store write {kind_ref[1]}"):
            answer = self._send("patch", path, body, query)
        self._still_so(kind_ref, stored["metadata"]["namespace"], stored["metadata"]["name"], path, answer)
        spec = answer.document.get("spec") or {}
        emptied = any(part in spec and spec[part] is None for part in applied.PARTS)
        return self._stored(kind_ref, answer.document, written=True), emptied

    def _put(self, kind_ref: KindRef, namespace: str, name: str, path: str, obj: Object) -> Object:
        obj = applied.own(obj)
        # The server's own, which may be another one than is told here (_stored).
        obj["metadata"] = {key: value for key, value in obj["metadata"].items() if key != "creationTimestamp"}
        if not obj["status"]:
            del obj["status"]
        with around(f"store write {kind_ref[1]}"):
            answer = self._send("update", path, obj, _NOT_WRITTEN)
        self._still_so(kind_ref, namespace, name, path, answer)
        stored = self._stored(kind_ref, answer.document, written=True)
        parts = {"status"} if path.endswith("/status") else {"spec"}
        for part in parts if self._served.has_status_apart(kind_ref) else ("spec", "status"):
            refuse_loss(kind_ref, self.api.host, obj, stored, part)
        return stored

    def scale(self, kind_ref: KindRef, namespace: str, name: str, replicas: int) -> None:
        """Set ``spec.replicas`` by the scale subresource, which has its own RBAC right."""
        path = f"{self._object_path(kind_ref, namespace, name)}/scale"
        found = self.api.send("get", path, accepted=(404,))
        if found.status == 404:
            self._there_is_such_a_kind("get", path, found)
            raise base.not_found(kind_ref, namespace, name)
        wanted = {**found.document, "spec": {"replicas": replicas}}
        with around(f"store write {kind_ref[1]}"):
            answer = self._send("update", path, wanted, _NOT_WRITTEN)
        self._still_so(kind_ref, namespace, name, path, answer)
        self._forget()

    def _send(self, verb: str, path: str, body: Object, query: t.Mapping[str, t.Any] | None = None) -> Answer:
        return self.api.send(verb, path, body, query, accepted=(404, 409), before=self._before_write)

    def _still_so(self, kind_ref: KindRef, namespace: str, name: str, path: str, answer: Answer) -> None:
        if answer.status not in (404, 409):
            return
        self._there_is_such_a_kind("update", path, answer)
        self._forget()
        if answer.status == 404:
            raise base.not_found(kind_ref, namespace, name)
        raise base.changed_since(kind_ref, namespace, name)

    def delete(
        self, kind_ref: KindRef, namespace: str, name: str, resource_version: str | None = None
    ) -> Object | None:
        """Delete an object; return None, or the object awaiting its finalizers."""
        path = self._object_path(kind_ref, namespace, name)
        # What it owns is deleted by whoever knows how; a cascade would take a machine's objects away before the machine.
        options: dict[str, t.Any] = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        if resource_version is not None:
            options["preconditions"] = {"resourceVersion": resource_version}
        with around(f"store remove {kind_ref[1]}"):
            answer = self._send("delete", path, options)
        self._still_so(kind_ref, namespace, name, path, answer)
        # A Status says that it is gone; an object, that it waits.
        if (answer.document.get("metadata") or {}).get("finalizers"):
            return self._stored(kind_ref, answer.document, written=True)
        self._gone(kind_ref, namespace, name)
        return None

    def record(self, obj: Object, reason: str, message: str, warning: bool = False) -> None:
        """Write an Event about an object; never fails."""
        self._events.record(obj, reason, message, warning)

    def _kind_path(self, kind_ref: KindRef, namespace: str | None) -> str:
        return kind_path(kind_ref, namespace, self._served.of(kind_ref))

    def _object_path(self, kind_ref: KindRef, namespace: str, name: str) -> str:
        return object_path(kind_ref, namespace, name, self._served.of(kind_ref))

    def _may_be_none(self, verb: str, kind_ref: KindRef, path: str, answer: Answer) -> None:
        """Raise unless an answer means that there is no such object.

        An earlier release's `install` made neither the later kinds' definitions nor the rights to them.
        """
        named = answer.status == 404 and (answer.document.get("details") or {}).get("name")
        if not named and not self._served.lacks(kind_ref):
            if answer.status == 403:
                raise refusal(self.api.host, verb, path, answer)
            self._there_is_such_a_kind(verb, path, answer)

    def _there_is_such_a_kind(self, verb: str, path: str, answer: Answer) -> None:
        # A missing object is answered by the kind's own handler, a missing kind by none.
        if answer.status != 404 or (answer.document.get("details") or {}).get("name"):
            return
        _root, group, version = path.split("/")[1:4]
        served = self.api.send("get", f"/apis/{group}", accepted=(404, 403)) if _root == "apis" else answer
        versions = [str(each.get("version")) for each in served.document.get("versions") or []]
        if served.status != 200 or not versions:
            raise refusal(self.api.host, verb, path, answer)
        if version in versions:
            why = f"{group}/{version} is served there, but not this kind"
            fix = "Run the playbook kubeadm.control_plane.install of this release, which makes the CustomResourceDefinitions that are missing."
        else:
            why = f"{group} is served there in the version {', '.join(versions)}, and this release keeps its objects in {version}"
            fix = (
                "These are another release's or Cluster API's own CustomResourceDefinitions. Run this release's playbook "
                "kubeadm.control_plane.install, which says whose they are and what can be done, or use another API or the file store."
            )
        raise Refused(
            404, f"the store's Kubernetes API does not know what was asked: {verb} {path}", self.api.host, why, fix
        )

    def _no_namespace(self, kind_ref: KindRef, namespace: str, name: str, answer: Answer) -> Refused:
        return Refused(
            404,
            f"{base.describe(kind_ref, namespace, name)} can't be made",
            self.api.host,
            answer.message or f"there is no namespace {namespace}",
            f"Make the namespace (kubectl create namespace {namespace}; the playbook kubeadm.control_plane.install does with its Role), or "
            "name another one in the manifest.",
        )

    def _stored(self, kind_ref: KindRef, document: Object, written: bool = False) -> Object:
        obj = as_kept(document)
        applied.present(obj)
        obj["metadata"].setdefault("generation", 1)
        # One that was moved here is as old as it was.
        if (made := origin.created(obj["metadata"])) is not None:
            obj["metadata"]["creationTimestamp"] = made
        if kind_ref == (kinds.GROUP_CLUSTER, kinds.CLUSTER):
            self._served.note(obj)
        path = self._object_path(kind_ref, obj["metadata"]["namespace"], obj["metadata"]["name"])
        self._known[path] = copy.deepcopy(obj)
        if self._view is not None:
            self._view.keep(kind_ref, obj, written)
        return obj

    def _gone(self, kind_ref: KindRef, namespace: str, name: str) -> None:
        self._known.pop(self._object_path(kind_ref, namespace, name), None)
        if self._view is not None:
            self._view.keep_missing(kind_ref, namespace, name)

    def _reread(self, kind_ref: KindRef) -> None:
        if self._view is not None:
            self._view.forget_kind(kind_ref)

    def _forget(self) -> None:
        # Somebody else is at work on the same objects: nothing that was read before is gone by any more.
        self._known.clear()
        if self._view is not None:
            self._view.forget()


def as_kept(obj: t.Mapping[str, t.Any]) -> Object:
    """Return a copy of an object without nulls, for an API.

    An API server refuses null for most fields. Only nulls that are the same as an absent field are removed, which is nearly everywhere.
    """
    if not definitions.keeps_null(str(obj.get("kind"))):
        return dict(without_nulls(obj))
    # What is described of these kinds can't be null; what is inside may be.
    parts = {key: part for key, part in obj.items() if part is not None}
    for key in ("spec", "status"):
        if isinstance(parts.get(key), dict):
            parts[key] = {name: copy.deepcopy(value) for name, value in parts[key].items() if value is not None}
    return {**parts, "metadata": without_nulls(parts.get("metadata"))}
