# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads and compare-and-swap writes of objects in a workload cluster.

This is the node's half. The controller reads, computes and sends back what is to be written, with the resourceVersion
that it computed from. The API server itself compares: a patch that carries a resourceVersion is refused with 409
when the object has another by now.
"""

from __future__ import annotations

import json
import re
import typing as t
from dataclasses import dataclass

from ..common.guard import NodeError
from ..common.https import Answer, Unreachable
from .api import MERGE_PATCH, ApiClient, ApiError

CREATE, MERGE, STRATEGIC = "create", "merge", "strategic"
# An object of the API, or for CREATE its list: /api/v1/... or /apis/GROUP/VERSION/...
_PATH = re.compile(r"/(?:api/v1|apis/[a-z0-9.-]+/[a-z0-9]+)(?:/[A-Za-z0-9:._-]+){1,6}")
_ALWAYS = ("apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion")
_CONTENT_TYPES = {
    MERGE: MERGE_PATCH,
    STRATEGIC: "application/strategic-merge-patch+json",
}


@dataclass(frozen=True)
class Read:
    """Request to read an object, by its path.

    ``keep`` lists the fields to return, for example "spec.template.spec.containers[].image".
    """

    path: str
    keep: tuple[str, ...]


@dataclass(frozen=True)
class Write:
    """Request to change an object.

    It creates one in a list's path (CREATE), or patches one that still has ``resource_version``.
    """

    path: str
    method: str
    document: t.Mapping[str, t.Any]
    resource_version: str = ""


@dataclass(frozen=True)
class Written:
    """Result of writes: their number, and the reason that stopped the next.

    ``conflict``: the object has changed, or was deleted. ``unconfirmed``: the API server could not take the write, or it isn't
    known whether it has. ``refused``: the API will never accept the write.
    """

    count: int
    conflict: str = ""
    unconfirmed: str = ""
    refused: str = ""


def check_path(path: str) -> str:
    """Return an object's path, or refuse it.

    Raises:
        NodeError: it is no path of an object, or leads to Secrets, which never leave the node here.
    """
    if not _PATH.fullmatch(path) or ".." in path.split("/"):
        raise NodeError(
            f"{path!r} is not the path of an object of the API.", "Give one such as /api/v1/namespaces/NAME/..."
        )
    if "secrets" in path.split("/"):
        raise NodeError(f"{path}: Secrets are neither read nor written here.", "Name another object.")
    return path


def read(client: ApiClient, reads: t.Sequence[Read]) -> dict[str, t.Optional[dict[str, t.Any]]]:
    """Return objects by their paths, with the requested fields; None where absent.

    Raises:
        ApiError: the API refused. Unreachable: it did not answer. NodeError: a path is invalid.
    """
    found: dict[str, t.Optional[dict[str, t.Any]]] = {}
    for each in reads:
        item = client.get(check_path(each.path))
        found[each.path] = None if item is None else keep(item, (*_ALWAYS, *each.keep))
    return found


def keep(item: t.Mapping[str, t.Any], paths: t.Iterable[str]) -> dict[str, t.Any]:
    """Return the fields of an object that the paths name.

    Dots in a key are written "metadata.annotations[a.b/c]".
    """
    result: dict[str, t.Any] = {}
    for path in paths:
        steps = [step for step in re.findall(r"\[\]|\[[^\]]+\]|[^.\[\]]+", path) if step]
        _copy(item, result, steps)
    return result


def _copy(source: t.Any, result: dict[str, t.Any], steps: list[str]) -> None:
    name, rest = steps[0].strip("[]"), steps[1:]
    if not isinstance(source, dict) or name not in source:
        return
    value = source[name]
    if not rest:
        result[name] = value
    elif rest[0] == "[]":
        entries = value if isinstance(value, list) else []
        kept = result.setdefault(name, [{} for _entry in entries])
        for entry, target in zip(entries, kept):
            if rest[1:]:
                _copy(entry, target, rest[1:])
    elif isinstance(value, dict):
        _copy(value, result.setdefault(name, {}), rest)


def write(client: ApiClient, writes: t.Sequence[Write]) -> Written:
    """Apply changes in their order, up to the first that fails.

    A change fails, for example, where its object is not as the controller read it. Several changes of one object in one
    call follow each other: the second is compared with what the first one left.

    Raises:
        NodeError: a path is invalid, or a patch lacks the resourceVersion it was made from; nothing was written then.
    """
    versions: dict[str, str] = {}
    for each in writes:
        check_path(each.path)
        if each.method != CREATE and not each.resource_version:
            raise NodeError(
                f"{each.path}: a patch needs the resourceVersion that it was made from.",
                "Read the object, and give it.",
            )
    for count, each in enumerate(writes):
        try:
            answer = _send(client, each, versions.get(each.path, each.resource_version))
        except Unreachable as error:
            # It may have been done all the same: the controller reads again before it decides.
            return Written(count, unconfirmed=f"{each.path}: {error}")
        if answer.status == 429 or answer.status >= 500:
            return Written(count, unconfirmed=f"{each.path}: {_reason(answer)}")
        # Without its namespace or kind an object is never created, by whomever.
        if answer.status == 409 or (answer.status == 404 and each.method != CREATE):
            return Written(count, f"{each.path}: {_reason(answer)}")
        try:
            done = client.checked(answer, each.path)
        except ApiError as error:
            return Written(count, refused=str(error))
        metadata = done.get("metadata") or {}
        path = f"{each.path}/{metadata.get('name')}" if each.method == CREATE else each.path
        versions[path] = str(metadata.get("resourceVersion") or "")
    return Written(len(writes))


def _send(client: ApiClient, change: Write, version: str) -> Answer:
    if change.method == CREATE:
        return client.send("POST", change.path, change.document)
    metadata = {**(change.document.get("metadata") or {}), "resourceVersion": version}
    document = {**change.document, "metadata": metadata}
    return client.send("PATCH", change.path, document, content_type=_CONTENT_TYPES[change.method])


def _reason(answer: Answer) -> str:
    try:
        message = str(json.loads(answer.body)["message"])
    except (ValueError, KeyError, TypeError):
        message = "no reason given"
    return f"{message} (HTTP {answer.status})"


__all__ = [
    "CREATE",
    "MERGE",
    "STRATEGIC",
    "ApiError",
    "Read",
    "Write",
    "Written",
    "check_path",
    "keep",
    "read",
    "write",
]
