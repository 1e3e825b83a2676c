# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Channel from a run's workers to the callback ``progress``.

Ansible's workers are processes of their own, and a callback sees of a task only its result. What happens meanwhile goes
as one JSON object a line into a file of the run's own temporary folder. It exists only where the callback reads it.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import typing as t

from ansible import constants as C

FILE = "kubeadm-progress.jsonl"
Event = dict[str, t.Any]


def default_path() -> str:
    """Return the path of this run's channel."""
    return os.path.join(str(C.DEFAULT_LOCAL_TMP), FILE)


def is_open(path: t.Optional[str] = None) -> bool:
    """Return whether a callback reads what is sent."""
    return os.path.exists(path or default_path())


def send(event: str, fields: t.Mapping[str, t.Any], path: t.Optional[str] = None) -> bool:
    """Send an event; return False where no callback reads it.

    Each line is one write to the end of the file, so that several processes may send. What can't be sent fails nothing:
    it is shown by its sender instead.

    Args:
        event: the event's name (docs/progress.md, "Where it comes from").
        fields: its fields, JSON.
        path: the channel's file, by default this run's.
    """
    # The clock that all processes of one machine share.
    line = json.dumps({"event": event, "at": time.monotonic(), **fields}).encode() + b"\n"
    try:
        descriptor = os.open(path or default_path(), os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.write(descriptor, line) == len(line)
    except OSError:
        return False
    finally:
        os.close(descriptor)


class Reader:
    """Reader of a channel, which it makes."""

    def __init__(self, path: t.Optional[str] = None) -> None:
        self._path = path or default_path()
        self._offset = 0
        os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600))

    def events(self) -> list[Event]:
        """Return the events since the last call, oldest first.

        A line that is not whole yet is left for the next call. One that a full disk has torn is left out: what is for
        people only fails nothing.
        """
        try:
            with open(self._path, "rb") as stream:
                stream.seek(self._offset)
                content = stream.read()
        except OSError:
            return []
        whole = content[: content.rfind(b"\n") + 1]
        self._offset += len(whole)
        return [event for event in map(_event, whole.splitlines()) if event is not None]

    def close(self) -> None:
        """Remove the channel, so that senders show their lines themselves."""
        if os.path.exists(self._path):
            os.unlink(self._path)


def _event(line: bytes) -> t.Optional[Event]:
    with contextlib.suppress(ValueError):
        found = json.loads(line)
        if isinstance(found, dict) and {"event", "at"} <= found.keys():
            return found
    return None
