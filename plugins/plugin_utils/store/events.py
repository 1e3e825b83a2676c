# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Events: the record of a run's changes that ``kubectl describe`` shows.

An Event explains and decides nothing: where it can't be written (no right to, no answer) the run continues without.
"""

from __future__ import annotations

import hashlib
import socket

from ...module_utils.common.legible import one_line
from ...module_utils.common.redact import redact
from ...module_utils.common.values import now_rfc3339
from .base import Object, StoreError, plain
from .kubernetes.requests import FIELD_MANAGER, KubernetesApi

NORMAL, WARNING = "Normal", "Warning"
# The API server's own limit of an Event's message.
LONGEST_MESSAGE = 1024
_LONGEST_NAME = 230


class Events:
    """Writer of Events about a run's objects.

    Args:
        api: the API that the objects are in.
    """

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api
        self._given_up = False

    def record(self, obj: Object, reason: str, message: str, warning: bool = False) -> None:
        """Write an Event about an object, or count the same one again.

        Args:
            obj: the object, as it was read.
            reason: one word, as Cluster API's where it has one for this.
            message: for the operator; what looks like a secret is removed.
            warning: whether something went wrong.
        """
        if self._given_up:
            return
        event = event_of(obj, reason, message, warning)
        path = f"/api/v1/namespaces/{event['metadata']['namespace']}/events"
        own = f"{path}/{event['metadata']['name']}"
        query = {"fieldManager": FIELD_MANAGER}
        try:
            if self._api.send("create", path, event, query, accepted=(409,)).status != 409:
                return
            found = self._api.send("get", own, accepted=(404,))
            if found.status == 200:
                again = {**found.document, "count": int(found.document.get("count") or 1) + 1}
                again["lastTimestamp"] = event["lastTimestamp"]
                self._api.send("update", own, again, query, accepted=(404, 409))
        except StoreError:
            # Each further one would cost the same wait.
            self._given_up = True


def event_of(obj: Object, reason: str, message: str, warning: bool = False) -> Object:
    """Return the Event about an object.

    Its name is made of its content, so that the same Event is found again.
    """
    metadata = obj["metadata"]
    text = _short(one_line(redact(" ".join(str(plain(message)).split()))))
    kind = WARNING if warning else NORMAL
    said = "\0".join((str(metadata.get("uid")), kind, reason, text))
    now = now_rfc3339()
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{metadata['name'][:_LONGEST_NAME].rstrip('.-')}.{hashlib.sha256(said.encode()).hexdigest()[:16]}",
            "namespace": metadata["namespace"],
        },
        "involvedObject": {
            "apiVersion": obj["apiVersion"],
            "kind": obj["kind"],
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "uid": metadata.get("uid"),
            "resourceVersion": metadata.get("resourceVersion"),
        },
        "reason": reason,
        "message": text,
        "type": kind,
        "count": 1,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "source": {"component": FIELD_MANAGER, "host": socket.gethostname()},
        "reportingComponent": FIELD_MANAGER,
        "reportingInstance": socket.gethostname(),
    }


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_MESSAGE else text[: LONGEST_MESSAGE - 1] + "…"
