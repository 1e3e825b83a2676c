# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write-ahead journal of a cluster: what its runs do and see.

One JSON object a line in ``<store>/<namespace>/journal/<cluster>.jsonl``. It is for users, for tests and for naming
what was under way; no decision reads it. A deletion that finds nothing does (docs/store.md, "The journal").
"""

from __future__ import annotations

import json
import os
import secrets
import typing as t

from ...module_utils.common.legible import visible
from ...module_utils.common.redact import redact
from ...module_utils.common.values import clip, now_rfc3339, parse_time
from ..processes.failpoints import around
from . import base
from .file import disk
from .file.layout import JOURNAL_FOLDER
from .file.store import FileStore

Entry = dict[str, t.Any]

MAX_BYTES = 4 * 1024 * 1024
MAX_TEXT = 2000
TAIL_BYTES = 65536
# What was true at a time, for reports alone (docs/store.md, "The journal"). "waited" ends the "wait" of the same id.
FACTS = frozenset({"end", "phases", "state", "wait", "waited"})
# Only these, and only scalars: a list of what may enter keeps secrets out better than one of what may not.
DETAIL_FIELDS = frozenset(
    {
        "certificates",
        "decision",
        "endpoint",
        "failureDomain",
        "fencing",
        "healthy",
        "kind",
        "leader",
        "member",
        "memberID",
        "message",
        "name",
        "namespace",
        "phases",
        "plan",
        "playbook",
        "quorum",
        "reason",
        "replicas",
        "result",
        "resume",
        "risk",
        "snapshot",
        "step",
        "toVersion",
        "version",
        "voters",
        "votersAfter",
        "votersBefore",
        "waived",
        "wanted",
    }
)
# These are lists of [name, RFC 3339 in UTC], so many at most.
_TIMES = frozenset({"certificates", "phases"})
MAX_TIMES = 100
_MAX_NAME = 200


def new_run_id() -> str:
    """Return a new run's id: 12 random hexadecimal digits."""
    return secrets.token_hex(6)


class Journal:
    """Journal of one cluster, which several processes may write.

    Every call is independent of the others.

    Args:
        store_dir: the file store's directory.
        namespace: the cluster's namespace.
        cluster: the cluster's name.
        clock: gives the time as RFC 3339 in UTC with seconds.
        max_bytes: the file is rotated when it is larger; one older file is kept, and open intents stay in the new one. The older file
            begins with the newest steps and notes of the one before it, a quarter of so many bytes at most: facts, of which each run that fails or
            waits leaves some, push no step out.
    """

    def __init__(
        self,
        store_dir: str,
        namespace: str,
        cluster: str,
        clock: t.Callable[[], str] | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        base.check_namespace(namespace)
        base.check_name(cluster)
        self._store = FileStore(store_dir)
        self._folder = os.path.join(self._store.directory, namespace, JOURNAL_FOLDER)
        self._clock = clock or now_rfc3339
        self._max_bytes = max_bytes
        self.path = os.path.join(self._folder, f"{cluster}.jsonl")

    def intent(
        self,
        action: str,
        target: str | None = None,
        run: str = "",
        details: t.Mapping[str, t.Any] | None = None,
    ) -> str:
        """Record an intent durably and return its id for :meth:`outcome`.

        It is written before the action starts.

        ``details`` holds only the fields of ``DETAIL_FIELDS``, scalars; texts are redacted and cut to 2,000 characters.
        """
        identifier = secrets.token_hex(6)
        entry: Entry = {
            "event": "intent",
            "id": identifier,
            "time": self._clock(),
            "run": _text(run),
            "action": _text(action),
        }
        entry["target"] = _text(target or "")
        entry["details"] = _checked_details(details or {})
        with around(f"journal intent {action}"):
            self._append(entry)
        return identifier

    def outcome(self, identifier: str, result: str, message: str = "") -> None:
        """Record the outcome of an intent.

        ``result`` is a word such as succeeded or failed, ``message`` gives the details.
        """
        entry = {"event": "outcome", "id": _text(identifier), "time": self._clock(), "result": _text(result)}
        entry["message"] = _text(message)
        with around(f"journal outcome {result}"):
            self._append(entry)

    def note(self, run: str, message: str, details: t.Mapping[str, t.Any] | None = None) -> None:
        """Record a change of a run in words.

        The intent of a step also records what belongs to the step. ``details`` are as of :meth:`intent`.
        """
        entry: Entry = {"event": "note", "id": secrets.token_hex(6), "time": self._clock(), "run": _text(run)}
        entry["message"] = _text(message)
        if details:
            entry["details"] = _checked_details(details)
        with around("journal note"):
            self._append(entry)

    def fact(
        self,
        event: str,
        run: str,
        message: str = "",
        target: str = "",
        details: t.Mapping[str, t.Any] | None = None,
        identifier: str = "",
    ) -> str:
        """Record what is true now, and return the entry's id.

        It is no change and no step of the run, so nothing but a report reads it.

        Args:
            event: one of FACTS.
            run: the run's id.
            message: the fact in words.
            target: the machine that it is about.
            details: as of :meth:`intent`; ``certificates`` and ``phases`` are lists of [name, time].
            identifier: that of the ``wait`` which a ``waited`` ends; else a new one.
        """
        if event not in FACTS:
            raise ValueError(f"{event} is none of the journal's facts: {', '.join(sorted(FACTS))}")
        entry: Entry = {"event": event, "id": identifier or secrets.token_hex(6), "time": self._clock()}
        entry.update(run=_text(run), message=_text(message), target=_text(target))
        entry["details"] = _checked_details(details or {})
        with around("journal note"):
            self._append(entry)
        return str(entry["id"])

    def entries(self, limit: int | None = None) -> list[Entry]:
        """Return the entries, or the last ``limit`` of them, oldest first.

        Lines that can't be read are left out.
        """
        found = _parse(disk.read_file(f"{self.path}.1")) + _parse(disk.read_file(self.path))
        # A rotation carries open intents over: an entry that is in both files counts once.
        unique = {(entry["event"], entry["id"]): entry for entry in found}
        ordered = list(unique.values())
        return ordered if limit is None else ordered[-limit:] if limit > 0 else []

    def open_intents(self) -> list[Entry]:
        """Return the intents without an outcome, oldest first.

        They are the actions that were under way when a run ended.
        """
        return _open_intents(_parse(disk.read_file(self.path)))

    def last(self) -> Entry | None:
        """Return the newest entry, None where there is none."""
        entries = self.entries(1)
        return entries[0] if entries else None

    def last_action(self) -> Entry | None:
        """Return the newest step as ``{at, action, target, outcome}``.

        None where the journal has none.

        ``at`` is when its outcome was written, or its intent where there is no outcome yet (``outcome`` is then None).
        Reads the end of the file only: it is read with every observation.
        """
        found = _last_action(_parse(_tail(self.path, TAIL_BYTES)))
        return found or _last_action(self.entries())

    def last_snapshot(self) -> str | None:
        """Return when an etcd snapshot was last noted, or None.

        RFC 3339.
        """
        noted = (each for each in reversed(self.entries()) if each["event"] == "note")
        return next((str(each.get("time")) for each in noted if "snapshot" in (each.get("details") or ())), None)

    def _append(self, entry: Entry) -> None:
        line = _line(entry)
        with self._store.writing():
            disk.make_folder(os.path.dirname(self._folder), 0o750)
            disk.make_folder(self._folder, disk.SECRET_FOLDER_MODE)
            self._rotate(len(line))
            disk.append_line(self.path, line, disk.SECRET_FILE_MODE)

    def _rotate(self, coming: int) -> None:
        content = disk.read_file(self.path) if self._size() + coming > self._max_bytes else None
        if not content:
            return
        disk.remove_leftovers(self._folder)
        kept = b"".join(map(_line, _open_intents(_parse(content))[-100:]))
        before = _without_facts(_parse(disk.read_file(f"{self.path}.1")))
        # The old content is whole in both files before the current one is replaced: a kill in between loses nothing.
        older = b"".join([*_newest(before, self._max_bytes // 4), content])
        disk.write_file(f"{self.path}.1", older, disk.SECRET_FILE_MODE)
        disk.write_file(self.path, kept, disk.SECRET_FILE_MODE)

    def _size(self) -> int:
        try:
            return os.stat(self.path).st_size
        except OSError:
            return 0


def _line(entry: Entry) -> bytes:
    # A damaged journal may hold lone surrogates, which no encoding can write.
    return json.dumps(entry, sort_keys=True, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _without_facts(entries: list[Entry]) -> list[Entry]:
    """Return the steps and notes, and the ends of the steps' runs."""
    runs = {str(each.get("run")) for each in entries if each["event"] == "intent"}
    return [
        each
        for each in entries
        if each["event"] not in FACTS or (each["event"] == "end" and str(each.get("run")) in runs)
    ]


def _newest(entries: t.Sequence[Entry], most_bytes: int) -> list[bytes]:
    """Return the lines of the newest entries that fit, oldest first."""
    found: list[bytes] = []
    for entry in reversed(entries):
        line = _line(entry)
        most_bytes -= len(line)
        if most_bytes < 0:
            break
        found.append(line)
    return found[::-1]


def _tail(path: str, size: int) -> bytes | None:
    """Return the last ``size`` bytes of a file, from a line's start.

    The line that they begin in is left out. None where there is no such file.
    """
    try:
        with open(path, "rb") as stream:
            length = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, length - size))
            content = stream.read(size)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise disk.storage_error(error, path, "can't read the journal", "Nothing was changed.") from error
    return content if length <= size else content.partition(b"\n")[2]


def _last_action(entries: list[Entry]) -> Entry | None:
    intent = next((entry for entry in reversed(entries) if entry["event"] == "intent"), None)
    if intent is None:
        return None
    outcome = next((entry for entry in entries if entry["event"] == "outcome" and entry["id"] == intent["id"]), {})
    return {
        "at": outcome.get("time") or intent.get("time"),
        "action": intent.get("action") or "",
        "target": intent.get("target") or None,
        "outcome": outcome.get("result"),
    }


def _parse(content: bytes | None) -> list[Entry]:
    entries = []
    for line in (content or b"").split(b"\n"):
        try:
            entry = json.loads(line.decode("utf-8"))
            if (entry["event"] in FACTS or entry["event"] in ("intent", "outcome", "note")) and isinstance(
                entry["id"], str
            ):
                entries.append(entry)
        except (ValueError, TypeError, KeyError):
            # The torn last line of a killed run, or damage: the journal is for people and never stops a run.
            continue
    return entries


def _open_intents(entries: list[Entry]) -> list[Entry]:
    done = {entry["id"] for entry in entries if entry["event"] == "outcome"}
    return [entry for entry in entries if entry["event"] == "intent" and entry["id"] not in done]


def _checked_details(details: t.Mapping[str, t.Any]) -> Entry:
    checked: Entry = {}
    for field, value in sorted(details.items()):
        if field not in DETAIL_FIELDS:
            raise _refused(field, "it is not one of the fields that the journal knows")
        if field in _TIMES:
            checked[str(field)] = _checked_times(field, value)
        elif isinstance(value, str):
            checked[str(field)] = _text(value)
        elif value is None or isinstance(value, (bool, int)):
            checked[str(field)] = value
        else:
            raise _refused(field, f"it is a {type(value).__name__}, not a scalar")
    return checked


def _checked_times(field: str, value: t.Any) -> list[list[str]]:
    checked = []
    for pair in value if isinstance(value, (list, tuple)) else [()]:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not all(isinstance(each, str) for each in pair):
            raise _refused(field, "it is not a list of [name, time]")
        name, time = pair
        if parse_time(time) is None:
            raise _refused(field, "the second of a pair is not a time in RFC 3339")
        checked.append([clip(_text(name), _MAX_NAME), time])
    return checked[:MAX_TIMES]


def _text(value: str) -> str:
    text = visible(redact(str.__str__(value)))
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"


def _refused(field: str, why: str) -> base.StoreError:
    return base.StoreError(
        "the journal takes no such detail",
        f"details.{field}",
        f"{why}; so nothing secret can get into the journal",
        f"Nothing was written. Use a scalar under one of: {', '.join(sorted(DETAIL_FIELDS))}.",
    )
