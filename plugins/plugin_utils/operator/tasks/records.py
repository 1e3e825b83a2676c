# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Status of a Task in the store: commands, outputs and times.

The outputs are stored with their exit codes and without secrets.
"""

from __future__ import annotations

import base64
import typing as t

from ....module_utils.common.redact import redact
from ....module_utils.common.values import now_rfc3339
from ...objects import actions as operator
from ...records.cluster_objects import SECRET, Object
from ...store.base import Store
from .. import phases

TASK = operator.kind_ref(operator.TASK)
# Shorter values are words like "true": taking them out would garble everything.
_SHORTEST_SECRET = 8


class Secrets:
    """Values of Secrets that are redacted from a Task's records and messages."""

    def __init__(self) -> None:
        self._values: set[str] = set()

    def add(self, data: t.Mapping[str, bytes]) -> None:
        """Register a Secret's values, as plain text and in base64."""
        for value in data.values():
            text = value.decode("utf-8", "ignore").strip()
            for each in (text, base64.b64encode(value).decode(), *text.splitlines()):
                # A PEM's BEGIN and END lines are nobody's secret.
                if len(each) >= _SHORTEST_SECRET and not each.startswith("-----"):
                    self._values.add(each)

    def read(self, store: Store, namespace: str, name: str) -> t.Optional[dict[str, bytes]]:
        """Return a Secret, decoded and registered; None where there is none."""
        found = store.get(SECRET, namespace, name)
        if found is None:
            return None
        data = {key: base64.b64decode(value) for key, value in (found.get("data") or {}).items()}
        self.add(data)
        return data

    def remove(self, text: str) -> str:
        """Return a text with these values and other likely secrets redacted."""
        for value in sorted(self._values, key=len, reverse=True):
            text = text.replace(value, "[redacted]")
        return redact(text)


class TaskRecord:
    """Writer of a Task's status while it runs; every call is durable."""

    def __init__(self, store: Store, namespace: str, name: str, secrets: Secrets) -> None:
        self._store = store
        self._namespace = namespace
        self._name = name
        self._secrets = secrets

    def begin(self) -> Object:
        """Record that the Task starts or resumes."""

        def change(status: Object) -> None:
            status.setdefault("startTime", now_rfc3339())
            status.setdefault("currentCommand", 1)
            status.pop("errorReason", None)
            status.pop("errorMessage", None)
            status["paused"] = False

        return self._modify(change)

    def begin_command(self, index: int, name: str) -> Object:
        """Record that a command starts, or starts again."""

        def change(status: Object) -> None:
            status["currentCommand"] = index + 1
            record = _record(status, index)
            record["name"] = name
            record.setdefault("startTime", now_rfc3339())
            record.setdefault("attempt", 1)
            record.pop("error", None)
            record.pop("unobserved", None)

        return self._modify(change)

    def unobserved(self, index: int, unit: str) -> None:
        """Record that a command failed while its program may still run."""

        def change(status: Object) -> None:
            _record(status, index)["unobserved"] = unit

        self._modify(change)

    def end_command(self, index: int) -> Object:
        """Record that a command succeeded."""

        def change(status: Object) -> None:
            _record(status, index)["completionTime"] = now_rfc3339()

        return self._modify(change)

    def fail(self, index: int, name: str, message: str) -> Object:
        """Record that a command, and so its Task, failed (docs/reference/kubeadm_operator.md, "Status and phases")."""
        message = self._secrets.remove(message)

        def change(status: Object) -> None:
            _record(status, index)["error"] = message
            status.update(errorReason=phases.EXECUTION_ERROR, errorMessage=f"{name}: {message}", paused=True)

        return self._modify(change)

    def fail_before(self, reason: str, message: str) -> Object:
        """Record that the Task can't resume at all."""

        def change(status: Object) -> None:
            status.update(errorReason=reason, errorMessage=message, paused=True)

        return self._modify(change)

    def complete(self) -> Object:
        """Record that all commands succeeded."""

        def change(status: Object) -> None:
            status["completionTime"] = now_rfc3339()

        return self._modify(change)

    def note(self, index: int, text: str) -> None:
        """Record a line of text; the same line is kept once."""
        text = self._secrets.remove(text)

        def change(status: Object) -> None:
            notes = _record(status, index).setdefault("notes", [])
            if text not in notes:
                notes.append(text)

        self._modify(change)

    def output(self, index: int, output: t.Mapping[str, t.Any]) -> None:
        """Record a program's output; a program found again is kept once."""
        kept = {key: self._secrets.remove(each) if isinstance(each, str) else each for key, each in output.items()}
        kept["argv"] = [self._secrets.remove(each) for each in kept["argv"]]

        def change(status: Object) -> None:
            outputs = _record(status, index).setdefault("outputs", [])
            # What has no log on a node was run on the controller, and is never found again.
            outputs[:] = [each for each in outputs if not kept["logPath"] or each.get("logPath") != kept["logPath"]]
            outputs.append(kept)

        self._modify(change)

    def _modify(self, change: t.Callable[[Object], None]) -> Object:
        def whole(task: Object) -> None:
            status = task.setdefault("status", {})
            change(status)
            done = [each for each in status.get("commands", []) if each.get("completionTime")]
            status["commandProgress"] = f"{len(done)}/{len(task['spec']['commands'])}"
            status["phase"] = phases.phase(task)

        return self._store.modify(TASK, self._namespace, self._name, whole)


def next_command(task: t.Mapping[str, t.Any]) -> int:
    """Return the index, from 0, of a Task's current command.

    A completed command is passed over: a run may have died before it recorded the next one.
    """
    status = task["status"]
    index = int(status["currentCommand"]) - 1
    records = status.get("commands") or []
    while 0 <= index < len(records) and records[index].get("completionTime"):
        index += 1
    return index


def _record(status: Object, index: int) -> Object:
    records: list[Object] = status.setdefault("commands", [])
    while len(records) <= index:
        records.append({})
    return records[index]


def recover(task: Object, now: str) -> None:
    """Apply the requested recovery of a failed Task once, in place.

    Its command is run again or skipped; the request is removed from the spec.

    Source: docs/reference/kubeadm_operator.md, "Recovery".
    """
    status, spec = task["status"], task["spec"]
    mode = spec.pop("recoveryMode", None)
    if not status.get("errorReason") or status.get("completionTime"):
        # A Kubernetes API has the status first: what was said was done by a run that was killed before it could take it off.
        return
    index = min(max(int(status["currentCommand"]), 1), len(spec["commands"])) - 1
    status["currentCommand"] = index + 1
    record = _record(status, index)
    for key in ("errorReason", "errorMessage"):
        status.pop(key, None)
    status["paused"] = False
    if mode == operator.RETRY:
        record["attempt"] = int(record.get("attempt", 1)) + 1
    else:
        record.update(skipped=True, completionTime=now)
        if index + 1 == len(spec["commands"]):
            status["completionTime"] = now
        else:
            status["currentCommand"] = index + 2
    done = [each for each in status["commands"] if each.get("completionTime")]
    status["commandProgress"] = f"{len(done)}/{len(spec['commands'])}"
    status["phase"] = phases.phase(task)


def leave_out(task: Object, now: str) -> None:
    """Complete a Task whose Node the user left out, in place."""
    status = task.setdefault("status", {})
    for key in ("errorReason", "errorMessage"):
        status.pop(key, None)
    status.update(leftOut=True, completionTime=now, paused=False)
    status["phase"] = phases.phase(task)
