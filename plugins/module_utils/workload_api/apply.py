# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Server-side apply of whole documents to a workload cluster.

This is the node's half: the API server itself compares, and says for each document why it is refused.
"""

from __future__ import annotations

import json
import time
import typing as t
from dataclasses import dataclass
from urllib.parse import urlencode

from ..common import settings
from ..common.guard import NodeError
from .api import ApiClient, ApiError
from .untrusted import mapping, mappings, text
from .wanted import CanNotAsk, Resources, object_path

Document = t.Mapping[str, t.Any]
# By apiVersion and kind, until when (monotonic clock) it is waited for.
Waits = dict[tuple[str, str], float]

# Whose fields they are in managedFields.
FIELD_MANAGER = "kubeadm-control-plane-resource-set"
CREATED, CHANGED, UNCHANGED, KEPT, REFUSED = "created", "changed", "unchanged", "kept", "refused"
_PAUSE_SECONDS = 0.25
_CONTENT_TYPE = "application/apply-patch+yaml"
_SERVICE = "/api/v1/namespaces/default/services/kubernetes"
_LONGEST_MESSAGE = 1000


@dataclass(frozen=True)
class Applied:
    """Result of one document: what was done, and why it was refused."""

    title: str
    done: str
    message: str = ""

    def as_data(self) -> dict[str, str]:
        """Return the result as a module returns it."""
        return {"title": self.title, "done": self.done, "message": self.message}


def apply(client: ApiClient, documents: t.Sequence[Document], create_only: bool, private: bool) -> list[Applied]:
    """Apply documents in their order; a refused one ends nothing.

    Args:
        client: a connection to the API.
        documents: objects with apiVersion, kind and metadata.name; without a namespace they go to ``default``.
        create_only: whether what is there already is left as it is.
        private: whether no text of the API server may be returned, for it may quote what a document holds.

    Raises:
        NodeError: the cluster is not ready for any document: its API server has not made its own Service yet.
        Unreachable: the API server does not answer.
    """
    _wait_for_service(client)
    known: Resources = {}
    waits: Waits = {}
    end = time.monotonic() + settings.APPLY_SECONDS
    defined = {text(mapping(each.get("spec")).get("group")) for each in documents if _defines(each)}
    return [
        _apply(client, each, known, defined, waits, create_only, private)
        if time.monotonic() < end
        else Applied(
            _title(each), REFUSED, f"not tried: the documents before it took more than {settings.APPLY_SECONDS:.0f} s"
        )
        for each in documents
    ]


def _apply(
    client: ApiClient,
    document: Document,
    known: Resources,
    defined: set[str],
    waits: Waits,
    create_only: bool,
    private: bool,
) -> Applied:
    title = _title(document)
    hidden = private or (document.get("apiVersion"), document.get("kind")) == ("v1", "Secret")
    try:
        path = _path(client, document, known, defined, waits)
        before = client.get(path)
        if before is not None and create_only:
            return Applied(title, KEPT)
        query = urlencode({"fieldManager": FIELD_MANAGER, "force": "true"})
        answer = client.send("PATCH", f"{path}?{query}", document, _CONTENT_TYPE)
        if answer.status >= 400:
            return Applied(title, REFUSED, _why(answer.status, answer.body, hidden))
        after = client.checked(answer, path)
    except CanNotAsk as error:
        return Applied(title, REFUSED, str(error))
    except ApiError as error:
        return Applied(title, REFUSED, f"HTTP {error.status}" if hidden else str(error)[:_LONGEST_MESSAGE])
    if before is None:
        return Applied(title, CREATED)
    same = mapping(before.get("metadata")).get("resourceVersion") == mapping(after.get("metadata")).get(
        "resourceVersion"
    )
    return Applied(title, UNCHANGED if same else CHANGED)


def _why(status: int, body: bytes, hidden: bool) -> str:
    """Return the API server's reason.

    Only its fields where the text may quote what is secret.
    """
    try:
        said = mapping(json.loads(body))
    except ValueError:
        said = {}
    if not hidden:
        return f"{text(said.get('message'), _LONGEST_MESSAGE) or 'no reason given'} (HTTP {status})"
    fields = [text(each.get("field"), 200) for each in mappings(mapping(said.get("details")).get("causes"))][:10]
    named = f" in {', '.join(each for each in fields if each)}" if any(fields) else ""
    return f"{text(said.get('reason'), 100) or 'refused'}{named} (HTTP {status}; its text is not shown, since it may quote the document)"


def _path(client: ApiClient, document: Document, known: Resources, defined: set[str], waits: Waits) -> str:
    """Return a document's path, when its kind is served.

    A kind that was defined just before takes a moment; `waits` says until when it is waited for, whatever number of documents is of it.
    """
    version, metadata = text(document.get("apiVersion")), mapping(document.get("metadata"))
    wanted = {
        "apiVersion": version,
        "kind": document.get("kind"),
        "name": metadata.get("name"),
        "namespace": metadata.get("namespace"),
    }
    end = waits.setdefault((version, text(document.get("kind"))), time.monotonic() + settings.APPLY_PATIENCE_SECONDS)
    while True:
        try:
            return object_path(client, wanted, known, applies=True)
        except (CanNotAsk, ApiError):
            if version.rpartition("/")[0] not in defined or time.monotonic() > end:
                raise
        known.pop(version, None)
        time.sleep(_PAUSE_SECONDS)


def _wait_for_service(client: ApiClient) -> None:
    """Wait for the Service of the API server itself.

    Another Service could be given its address before (Kubernetes before 1.25; Cluster API waits for it, too).
    """
    end = time.monotonic() + settings.APPLY_PATIENCE_SECONDS
    while client.get(_SERVICE) is None:
        if time.monotonic() > end:
            raise NodeError("the API server has not made its Service default/kubernetes yet.", "Run this again.")
        time.sleep(_PAUSE_SECONDS)


def _defines(document: Document) -> bool:
    return document.get("kind") == "CustomResourceDefinition"


def _title(document: Document) -> str:
    metadata = mapping(document.get("metadata"))
    namespace, name = text(metadata.get("namespace"), 63), text(metadata.get("name"), 253)
    return (
        f"{text(document.get('kind'), 63)} {namespace}/{name}"
        if namespace
        else f"{text(document.get('kind'), 63)} {name}"
    )
