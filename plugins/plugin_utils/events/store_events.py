# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Events of a Kubernetes store, for a queue of asyncio."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import typing as t

from ...module_utils.common import settings
from ..store import opening
from ..store.base import StoreError
from ..store.kubernetes.object_watch import DELETED, LISTED, Watch
from ..store.kubernetes.requests import KubernetesApi
from . import cluster_events

Object = dict[str, t.Any]
_OWN = ("namespaces", "resync_seconds")


class Queue(t.Protocol):
    """The part of an asyncio queue that is needed."""

    async def put(self, item: t.Any) -> t.Any:
        """Wait for room and put an item."""


class StoreEvents:
    """Events of the objects in a store's API.

    Args:
        queue: gets the events.
        arguments: the store's connection options; ``namespaces``, all where there are none; ``resync_seconds``, after which what still
            asks for something is put again.
        say: gets what a person should know.

    Raises:
        StoreError: an argument is not known, or there are no credentials.
    """

    def __init__(self, queue: Queue, arguments: t.Mapping[str, t.Any], say: t.Callable[[str], t.Any]) -> None:
        connection = {name: value for name, value in arguments.items() if name not in _OWN}
        unknown = sorted(set(connection) - set(opening.NAMES))
        namespaces = arguments.get("namespaces") or [None]
        resync = arguments.get("resync_seconds", settings.RESYNC_SECONDS)
        if not isinstance(namespaces, list):
            raise _refused("namespaces", "it is no list")
        if isinstance(resync, bool) or not isinstance(resync, (int, float)) or resync < 1:
            raise _refused("resync_seconds", "it is no number of seconds from 1 on")
        if unknown:
            raise _refused(unknown[0], f"known are {', '.join((*_OWN, *opening.CONNECTION_SPEC))}")
        options = {opening.NAMES[name]: value for name, value in connection.items()}
        self._queue, self._loop = queue, asyncio.get_running_loop()
        self._failure: asyncio.Future[None] = self._loop.create_future()
        self._watches = [
            (kind, Watch(KubernetesApi(options), (group, kind), namespace, float(resync), labels, say))
            for group, kind, labels in cluster_events.KINDS
            for namespace in namespaces
        ]

    async def run(self) -> None:
        """Put events until cancelled. Raises StoreError where the API refuses."""
        for kind, watch in self._watches:
            # What waits for an answer must not hold up the end of the process.
            threading.Thread(target=self._follow, args=(kind, watch), daemon=True).start()
        try:
            await self._failure
        finally:
            for _kind, watch in self._watches:
                watch.stop()

    def _follow(self, kind: str, watch: Watch) -> None:
        told: dict[tuple[t.Any, t.Any], Object] = {}
        try:
            for change, obj in watch.changes():
                metadata = obj.get("metadata") or {}
                key = (metadata.get("namespace"), metadata.get("name"))
                before = told.pop(key, None)
                found = cluster_events.of_object(obj, kind) if change != DELETED else None
                if found is None:
                    continue
                told[key] = found
                if change == LISTED or found != before:
                    # Filters of the queue may change what they get.
                    asyncio.run_coroutine_threadsafe(
                        self._queue.put({**found, "meta": dict(found["meta"])}), self._loop
                    ).result()
        except BaseException as error:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._fail, error)

    def _fail(self, error: BaseException) -> None:
        if not self._failure.done():
            self._failure.set_exception(error)


def _refused(option: str, why: str) -> StoreError:
    return StoreError(f"the event source's argument {option} can't be", "sources", why, "Correct it in the rulebook.")
