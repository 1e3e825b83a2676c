# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Interface and rules of every store, whether files or a Kubernetes API.

Objects are plain dicts of JSON types in Cluster API's shapes. The rules are those of the Kubernetes API
(docs/store.md, "As in Kubernetes"), so that the same code works above every store: optimistic concurrency by
``metadata.resourceVersion``, a ``generation`` that moves with the desired state only, and finalizers that keep a
deleted object until they are gone.
"""

from __future__ import annotations

import abc
import contextlib
import copy
import math
import random
import re
import time
import typing as t

from ...module_utils.common.legible import visible

Object = dict[str, t.Any]
Objects = list[Object]
# (apiGroup, kind); the core group is the empty text.
KindRef = tuple[str, str]
Change = t.Callable[[Object], t.Any]
# Raises where a run may not write any more.
Fence = t.Callable[[], t.Any]

MODIFY_ATTEMPTS = 50
_SURROGATE = re.compile(r"[\ud800-\udfff]")
MODIFY_PAUSE_SECONDS = 0.1

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z")
# As Kubernetes has it: a part of an object's name may be longer than a label.
_PART = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z")
_KIND = re.compile(r"[A-Z][A-Za-z0-9]{0,62}\Z")


class StoreError(Exception):
    """Error of the store that the user must know.

    It states what is wrong, where, why, and the remedy.
    """

    def __init__(self, what: str, where: str, why: str, fix: str) -> None:
        super().__init__(visible(f"{what} ({where}): {why}. {fix}"))
        self.what = what
        self.where = where
        self.why = why
        self.fix = fix


class NotFound(StoreError):
    """The object is not in the store."""


class AlreadyExists(StoreError):
    """An object of that kind, namespace and name is already stored."""


class Conflict(StoreError):
    """The object was changed by another writer since it was read."""


class Store(abc.ABC):
    """Interface of every store.

    All methods raise :class:`StoreError` where the store itself fails.
    """

    _fence: Fence | None = None

    def fenced_by(self, fence: Fence) -> None:
        """Call ``fence`` before each write; where it raises, nothing is written (docs/store.md, "The fencing number").

        A store of files calls it while no other process can write, take or raise a lock; an API compares objects alone, so that a request
        that was sent before the lock was lost may still arrive.
        """
        self._fence = fence

    def _before_write(self) -> None:
        if self._fence is not None:
            self._fence()

    def prefer(self, obj: Object) -> None:
        """Use an object's API version for its kind, or refuse it."""
        return

    def journal_directory(self) -> str | None:
        """Return the directory of the journals, None where there is none (yet)."""
        return None

    def host(self) -> str:
        """Return the URL of the objects' Kubernetes API, or "".

        It is "" where the objects are in no API.
        """
        return ""

    @contextlib.contextmanager
    def view(self, whole: str | None = None) -> t.Iterator[None]:
        """Open a view: within it the same request is sent once (``read_once.py``).

        Only a store that costs a request for each question does so; files are just read.

        Args:
            whole: ``view.OF_NAMESPACE`` or ``view.OF_ALL`` where everything of each kind that is asked for will be needed.
        """
        yield

    def look_again(self) -> None:
        """Start the current view again, before each of several observations."""
        return

    def ahead(self, kind_ref: KindRef, namespace: str, labels: t.Mapping[str, str]) -> None:
        """Request objects at once that will be read one by one.

        Only within a view.
        """
        return

    @abc.abstractmethod
    def get(self, kind_ref: KindRef, namespace: str, name: str) -> Object | None:
        """Return a copy of the object, or None where there is none."""

    @abc.abstractmethod
    def list(
        self, kind_ref: KindRef, namespace: str | None = None, labels: t.Mapping[str, str] | None = None
    ) -> Objects:
        """Return the objects of a kind that carry all of ``labels``.

        They are ordered by namespace and name.
        """

    def names(self, kind_ref: KindRef, namespace: str | None = None) -> t.Sequence[tuple[str, str]]:
        """Return namespace and name of every object of a kind.

        An object that can't be read is among them.
        """
        listed = ((each["metadata"]["namespace"], each["metadata"]["name"]) for each in self.list(kind_ref, namespace))
        return [(str(where), str(name)) for where, name in listed]

    def refused(self, obj: Object) -> t.Sequence[str]:
        """Return what the store would refuse of an object: field and reason."""
        return []

    @abc.abstractmethod
    def create(self, obj: Object) -> Object:
        """Store a new object and return it as stored.

        The result has uid, resourceVersion, generation and creationTimestamp.

        Raises :class:`AlreadyExists`.
        """

    @abc.abstractmethod
    def update(self, obj: Object) -> Object:
        """Replace an object and return it as stored.

        Where nothing differs nothing is written.

        ``metadata.resourceVersion`` must be that of the stored object, else :class:`Conflict`. ``generation`` moves
        when ``spec`` differs. uid, creationTimestamp and generation are the store's own. An object that is being
        deleted is gone when its last finalizer is removed. Raises :class:`NotFound`.
        """

    @abc.abstractmethod
    def delete(
        self, kind_ref: KindRef, namespace: str, name: str, resource_version: str | None = None
    ) -> Object | None:
        """Delete an object; return None when it is gone.

        An object with finalizers gets a ``deletionTimestamp`` instead and is returned; it is gone with its last
        finalizer. With ``resource_version`` the object must not have changed since, else :class:`Conflict`.
        Raises :class:`NotFound`.
        """

    def scale(self, kind_ref: KindRef, namespace: str, name: str, replicas: int) -> None:
        """Set ``spec.replicas`` and nothing else.

        Raises :class:`NotFound`, and :class:`Conflict` where it was changed meanwhile.
        """
        self.modify(kind_ref, namespace, name, lambda stored: stored["spec"].update(replicas=replicas))

    def record(self, obj: Object, reason: str, message: str, warning: bool = False) -> None:
        """Record an Event about an object: what was done, and why.

        It is for the operator and never fails; a store without a place for Events does nothing.
        """
        return

    def modify(self, kind_ref: KindRef, namespace: str, name: str, change: Change) -> Object:
        """Read an object, let ``change`` alter it, and write it.

        All of it is repeated where another writer was faster.

        ``change`` gets a copy and alters it in place, or returns another whole object; anything else that it returns
        (a lambda always returns something) is ignored. It may run several times and must have no other effect.
        Where it changes nothing, nothing is written. Raises :class:`NotFound`, and :class:`Conflict` after 50 attempts.
        """
        attempt = 0
        while True:
            attempt += 1
            stored = self.get(kind_ref, namespace, name)
            if stored is None:
                raise not_found(kind_ref, namespace, name)
            altered = copy.deepcopy(stored)
            returned = change(altered)
            if isinstance(returned, dict) and "apiVersion" in returned and "metadata" in returned:
                altered = returned
            try:
                return self.update(altered)
            except Conflict:
                if attempt == MODIFY_ATTEMPTS:
                    raise
                # Random, so that several writers don't meet again and again.
                time.sleep(random.uniform(0, MODIFY_PAUSE_SECONDS * min(1.0, attempt / 10)))


def describe(kind_ref: KindRef, namespace: str, name: str) -> str:
    """Return an object's name for messages: ``Machine default/prod-abcde``."""
    return f"{kind_ref[1]} {namespace}/{name}"


def not_found(kind_ref: KindRef, namespace: str, name: str) -> NotFound:
    """Return the error for an object that isn't there."""
    return NotFound(
        f"{describe(kind_ref, namespace, name)} does not exist",
        f"group {kind_ref[0] or 'core'}",
        "it was deleted meanwhile, or this is another store than the one it was written to",
        "Nothing was written. Check the store's path, then run again: a run reads everything again.",
    )


def changed_since(
    kind_ref: KindRef, namespace: str, name: str, why: str = "it has another version than the change was made to"
) -> Conflict:
    """Return the error for a change to an object's outdated version."""
    return Conflict(
        f"{describe(kind_ref, namespace, name)} was changed by someone else",
        f"group {kind_ref[0] or 'core'}",
        why,
        "Nothing was written. Read it again and make the change to what it is now.",
    )


def check_unchanged(kind_ref: KindRef, stored: Object, resource_version: str | None, uid: str | None) -> None:
    """Raise :class:`Conflict` where an object isn't the one that was read.

    It has another version, or it is another object of the same name.
    """
    current = stored["metadata"]
    if resource_version == current["resourceVersion"] and uid in (None, current["uid"]):
        return
    why = f"it has version {current['resourceVersion']} and the change was made to version {resource_version}"
    if uid not in (None, current["uid"]):
        why = "it was deleted and created again since it was read"
    elif resource_version is None:
        why = "the change names no metadata.resourceVersion, so it is unknown whether it was made to this version"
    raise changed_since(kind_ref, current["namespace"], current["name"], why)


def check_deletion_untouched(kind_ref: KindRef, metadata: Object, current: Object) -> None:
    """Refuse an update that sets or removes a ``deletionTimestamp``.

    Only :meth:`Store.delete` sets one.
    """
    if metadata.get("deletionTimestamp") == current.get("deletionTimestamp"):
        return
    raise StoreError(
        f"the deletion of {describe(kind_ref, current['namespace'], current['name'])} can't be changed by an update",
        "field metadata.deletionTimestamp",
        "as in Kubernetes it is set by a delete of an object that has finalizers, and never taken back",
        "Nothing was written. Call delete; the object stays until its last finalizer is taken off.",
    )


def kind_ref_of(obj: t.Mapping[str, t.Any]) -> KindRef:
    """Return the checked (apiGroup, kind) of an object."""
    version = obj.get("apiVersion")
    kind = obj.get("kind")
    if not isinstance(version, str) or not version or not isinstance(kind, str):
        raise StoreError(
            "an object without apiVersion or kind can't be stored",
            f"apiVersion {version!r}, kind {kind!r}",
            "the store keeps objects by their group and kind",
            "Give both as Cluster API does, such as cluster.x-k8s.io/v1beta2 and Machine.",
        )
    group = version.rpartition("/")[0]
    check_kind_ref((group, kind))
    return group, kind


def check_kind_ref(kind_ref: KindRef) -> None:
    """Refuse an invalid apiGroup or kind; both become part of a path."""
    group, kind = kind_ref
    if group and not is_subdomain(group):
        raise _bad_name("apiGroup", group, "a DNS name of lower-case letters, digits, '-' and '.' (RFC 1123)")
    if not _KIND.match(kind):
        raise _bad_name("kind", kind, "letters and digits beginning with a capital, such as Machine")


def check_namespace(namespace: str) -> None:
    """Refuse a namespace that is no RFC 1123 label.

    It becomes part of a path.
    """
    if not isinstance(namespace, str) or not _LABEL.match(namespace):
        raise _bad_name(
            "metadata.namespace", namespace, "1 to 63 lower-case letters, digits and '-' (an RFC 1123 label)"
        )


def check_name(name: str) -> None:
    """Refuse an object name that is no RFC 1123 subdomain.

    It becomes part of a path.
    """
    if not is_subdomain(name):
        raise _bad_name(
            "metadata.name", name, "at most 253 lower-case letters, digits, '-' and '.' (an RFC 1123 subdomain)"
        )


def is_subdomain(text: t.Any) -> bool:
    """Return whether a text is an RFC 1123 subdomain, like object names."""
    return isinstance(text, str) and 0 < len(text) <= 253 and all(_PART.match(part) for part in text.split("."))


def plain(value: t.Any, path: str = "") -> t.Any:
    """Return a copy of ``value`` that is made of JSON types only.

    Refuses anything else, naming its path.

    Subclasses are reduced to the plain type: Ansible marks texts that came from a task's arguments by a class of its own.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        # Half a surrogate pair is no text: an API server stores this in its place, and no file could be read again with it.
        return _SURROGATE.sub("\ufffd", str.__str__(value))
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float) and math.isfinite(value):
        return float.__float__(value)
    if isinstance(value, t.Mapping):
        copied = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise _not_json(f"{path}[{key!r}]", "a key that is not a text")
            copied[plain(key)] = plain(item, f"{path}.{key}" if path else key)
        return copied
    if isinstance(value, (list, tuple)):
        return [plain(item, f"{path}[{index}]") for index, item in enumerate(value)]
    raise _not_json(path, f"a value of type {type(value).__name__}")


def plain_object(obj: t.Mapping[str, t.Any]) -> Object:
    """Return a copy of an object in JSON types only (:func:`plain`)."""
    copied: Object = plain(obj)
    return copied


def is_shaped(obj: Object) -> bool:
    """Return whether the fields common to all kinds have their types.

    A field that is missing or null has.
    """
    texts = [obj["metadata"].get(field) for field in ("labels", "annotations")]
    lists = [obj["metadata"].get(field) for field in ("finalizers", "ownerReferences")]
    return (
        all(isinstance(each, dict) for each in [obj.get("spec"), obj.get("status"), *texts] if each is not None)
        and all(isinstance(value, str) for each in texts if each is not None for value in each.values())
        and all(isinstance(each, list) for each in lists if each is not None)
        and all(isinstance(each, str) for each in lists[0] or ())
        and all(isinstance(each, dict) for each in lists[1] or ())
    )


def _not_json(path: str, why: str) -> StoreError:
    return StoreError(
        "an object can't be stored",
        f"field {path or '(the whole)'}",
        f"it holds {why}; objects are made of JSON types only",
        "Nothing was written. Times are texts in RFC 3339.",
    )


def _bad_name(field: str, value: t.Any, rule: str) -> StoreError:
    return StoreError(
        f"{field} is not valid",
        repr(value)[:120],
        f"it must be {rule}, because Kubernetes asks so and because it names a file of the store",
        "Nothing was read or written. Correct the name in the manifest.",
    )
