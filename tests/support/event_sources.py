# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plugins of extensions/eda, run as ansible-rulebook runs them: by their paths, in an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import runpy
import threading
import typing as t
from pathlib import Path

PLUGINS = Path(__file__).resolve().parents[2] / "extensions" / "eda" / "plugins"
BOUND_SECONDS = 60.0


def plugin(kind: str, name: str) -> t.Callable[..., t.Any]:
    """The ``main`` of an event source or filter."""
    found: t.Callable[..., t.Any] = runpy.run_path(str(PLUGINS / kind / f"{name}.py"))["main"]
    return found


class RunningSource:
    """An event source at work, in a thread; as a context it is cancelled at its end."""

    def __init__(self, name: str, arguments: t.Mapping[str, t.Any]) -> None:
        self._main, self._arguments = plugin("event_source", name), dict(arguments)
        self._events: queue.Queue[dict[str, t.Any]] = queue.Queue()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.error: BaseException | None = None

    def _run(self) -> None:
        events = self._events

        class Queue:
            async def put(self, event: dict[str, t.Any]) -> None:
                events.put(event)

        self._task = self._loop.create_task(self._main(Queue(), self._arguments))
        try:
            self._loop.run_until_complete(self._task)
        except BaseException as error:
            self.error = error

    def __enter__(self) -> RunningSource:
        self._thread.start()
        return self

    def __exit__(self, *_error: t.Any) -> None:
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(BOUND_SECONDS)

    def next(self) -> dict[str, t.Any]:
        """The next event; they come in the order of what happened to an object."""
        return self._events.get(timeout=BOUND_SECONDS)

    @property
    def silent(self) -> bool:
        """Whether nothing has come that was not taken."""
        return self._events.empty()

    def end(self) -> BaseException | None:
        """Wait until it ends by itself, and return its error."""
        self._thread.join(BOUND_SECONDS)
        assert not self._thread.is_alive()
        return self.error
