# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Watch of one kind: what there is, and each change of it.

It continues from the version that it has seen last. An API that doesn't answer is asked again for ever; one that does not know that version
any more (410 Gone) is asked for everything again, and so it is from time to time in any case. One that does not know the version that it has
just told either is asked with the same growing pauses as one that doesn't answer.
"""

from __future__ import annotations

import threading
import time
import typing as t

from ....module_utils.common import settings
from ..base import KindRef, Object
from .layout import kind_path
from .requests import ApiUnavailable, KubernetesApi, Refused

PAGE = 500
PAUSES_SECONDS = (1.0, 2.0, 5.0, 10.0, 30.0)
LISTED, DELETED, _BOOKMARK, _ERROR = "LISTED", "DELETED", "BOOKMARK", "ERROR"
_GONE = 410


class _Gone(Exception):
    """The API no longer knows the version that was seen last."""


class Watch:
    """Watch of one kind.

    Args:
        api: the API; with little patience, as it is asked again here.
        kind_ref: the kind.
        namespace: the objects' namespace, None for all.
        resync_seconds: how often everything is listed again.
        labels: a label selector, "" for none.
        say: gets a line when the API stops answering, and when it answers again.
        wait: waits so many seconds before the API is asked again; by default no longer than until :meth:`stop`.
    """

    def __init__(
        self,
        api: KubernetesApi,
        kind_ref: KindRef,
        namespace: str | None,
        resync_seconds: float,
        labels: str = "",
        say: t.Callable[[str], t.Any] = lambda text: None,
        wait: t.Callable[[float], t.Any] | None = None,
    ) -> None:
        self._api, self._path, self._resync_seconds = api, kind_path(kind_ref, namespace), resync_seconds
        self._query: dict[str, t.Any] = {"labelSelector": labels} if labels else {}
        self._say, self._stopped = say, threading.Event()
        self._wait = wait or self._stopped.wait
        # In a row: requests without an answer, and versions that were not known.
        self._failures = self._gone = 0

    def stop(self) -> None:
        """End :meth:`changes` with its next object, or when it has waited."""
        self._stopped.set()

    def changes(self) -> t.Iterator[tuple[str, Object]]:
        """Yield each object with LISTED, then what happens: ADDED, MODIFIED, DELETED.

        Raises:
            StoreError: the API refuses, or is none.
        """
        version, until = "", 0.0
        while not self._stopped.is_set():
            try:
                if not version or time.monotonic() >= until:
                    version, until = "", time.monotonic() + self._resync_seconds
                    listed = ""
                    for page, listed_at in self._pages():
                        listed = listed_at
                        self._answers(self._gone)
                        for obj in page:
                            yield LISTED, obj
                    version = listed
                for change, obj in self._watched(version):
                    self._answers()
                    version = str((obj.get("metadata") or {}).get("resourceVersion") or version)
                    if change != _BOOKMARK:
                        yield change, obj
                self._answers()
            except _Gone:
                version = ""
                # Its first one may well have ended by itself.
                if self._gone:
                    why = "it does not know the version that it has just told (410 Gone)"
                    self._pause(self._gone - 1, f"{self._api.host} can't be watched ({self._path}): {why}")
                self._gone += 1
            except ApiUnavailable as error:
                self._pause(self._failures, f"{error.what} ({error.where}): {error.why}")
                self._failures += 1

    def _pages(self) -> t.Iterator[tuple[list[Object], str]]:
        query = {**self._query, "limit": PAGE}
        while True:
            answer = self._api.send("list", self._path, query=query, accepted=(_GONE,))
            if answer.status == _GONE:
                raise _Gone
            metadata = answer.document.get("metadata") or {}
            yield list(answer.document.get("items") or []), str(metadata.get("resourceVersion") or "")
            if not metadata.get("continue"):
                return
            query["continue"] = metadata["continue"]

    def _watched(self, version: str) -> t.Iterator[tuple[str, Object]]:
        query = {
            **self._query,
            "watch": "true",
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": settings.EVENTS_WATCH_SECONDS,
        }
        began, silent = time.monotonic(), True
        try:
            for event in self._api.stream(
                self._path, query, settings.EVENTS_WATCH_SECONDS + settings.EVENTS_LATE_SECONDS
            ):
                obj = event["object"] if isinstance(event["object"], dict) else {}
                if event.get("type") == _ERROR:
                    if obj.get("code") == _GONE:
                        raise _Gone
                    raise self._broken(str(obj.get("message"))[:300])
                silent = False
                yield str(event.get("type")), obj
        except Refused as error:
            if error.status == _GONE:
                raise _Gone from None
            raise
        if silent and time.monotonic() - began < PAUSES_SECONDS[0]:
            # As a proxy may do that knows no watches: it must not be asked without a pause.
            raise self._broken("it ended at once")

    def _broken(self, why: str) -> ApiUnavailable:
        return ApiUnavailable(f"a watch broke off ({self._path})", self._api.host, why, "It is asked again.")

    def _answers(self, gone: int = 0) -> None:
        """Note an answer, and tell that there is one again.

        With ``gone`` it was a list, before which so many versions in a row were not known.
        """
        if self._failures or (self._gone > 1 and not gone):
            self._say(f"{self._api.host} answers again ({self._path})")
        self._failures, self._gone = 0, gone

    def _pause(self, number: int, why: str) -> None:
        if not number:
            self._say(f"{why}. It is asked again until it answers")
        self._wait(PAUSES_SECONDS[min(number, len(PAUSES_SECONDS) - 1)])
