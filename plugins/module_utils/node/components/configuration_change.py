# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Change of the configuration on this machine, with rollback.

It is started once, continues without its caller, and rolls back by itself.

The record tells how far it is. What was in use is kept before anything is changed; where a component does not become healthy, all that
this work has changed is put back, and that has to become healthy too (docs/reference/kubeadm.md, "Reconfiguring").
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
import typing as t
from dataclasses import asdict, dataclass, field

from ...common import carried, guard, settings, systemd_units
from ...common.guard import NodeError
from ...common.redact import redact
from ...common.values import now_rfc3339
from ...etcd.types import LOCAL_MEMBER
from . import static_pod
from .rendered_manifests import Tools

ABSENT, RUNNING, SUCCEEDED, ROLLED_BACK, FAILED = "Absent", "Running", "Succeeded", "RolledBack", "Failed"
_STARTED = "Started"
_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Places:
    """Paths and programs on a machine; tests use other ones.

    ``unit_of_kubelet`` is "" where systemd runs none.
    """

    state: str = os.path.join(guard.STATE_DIRECTORY, "configuration")
    kubernetes: str = "/etc/kubernetes"
    kubelet: str = "/var/lib/kubelet"
    proc: str = "/proc"
    pod_logs: str = "/var/log/pods"
    etcd_url: str = LOCAL_MEMBER
    unit_of_kubelet: str = "kubelet"
    tools: Tools = field(default_factory=Tools)

    def text(self) -> str:
        """Return the places as text, for the unit's program."""
        return json.dumps(asdict(self))

    @classmethod
    def of(cls, text: str) -> Places:
        """Return the places that :meth:`text` wrote."""
        fields = json.loads(text)
        return cls(**{**fields, "tools": Tools(**fields["tools"])})

    def static_pods(self) -> static_pod.Places:
        """Return the same places for a single static pod."""
        return static_pod.Places(
            kubernetes=self.kubernetes,
            state=os.path.join(self.state, "static-pods"),
            proc=self.proc,
            pod_logs=self.pod_logs,
            etcd_url=self.etcd_url,
            kubelet=self.unit_of_kubelet,
        )


@dataclass(frozen=True)
class Report:
    """State of a configuration change.

    ``changed`` lists the differences from before.
    """

    state: str
    stage: str = ""
    message: str = ""
    started_at: str = ""
    finished_at: str = ""
    changed: tuple[str, ...] = ()
    folder: str = ""


class Change:
    """Record and steps of one configuration change.

    A kind of change gives ``PROGRAM`` and ``steps``.
    """

    PROGRAM: t.ClassVar[str]

    def __init__(self, places: Places, folder: str, runner: systemd_units.Runner = systemd_units.run) -> None:
        self.places = places
        self.folder = folder
        self.runner = runner

    @property
    def backup(self) -> str:
        """Folder of the copies of the files that were in use."""
        return os.path.join(self.folder, "backup")

    @property
    def begun(self) -> str:
        """Folder of the notes about started operations.

        They are for the unit that continues after one that was killed.
        """
        return os.path.join(self.folder, "begun")

    def request(self) -> dict[str, t.Any]:
        """Return the change's request. Raises NodeError."""
        return _read(os.path.join(self.folder, "request.json"))

    def record(self) -> dict[str, t.Any]:
        """Return the change's record with its state. Raises NodeError."""
        return _read(os.path.join(self.folder, "record.json"))

    @property
    def failed_before(self) -> bool:
        """True where an attempt before could not be put back.

        Raises NodeError. Files that are as they were prove nothing then: what they belong to has to be healthy.
        """
        return bool(self.record().get("failedBefore"))

    def keep(self, record: t.Mapping[str, t.Any]) -> None:
        """Write the change's record."""
        text = json.dumps(record, indent=2, sort_keys=True) + "\n"
        guard.write_atomically(os.path.join(self.folder, "record.json"), text.encode(), 0o600)

    def steps(self) -> t.Iterator[tuple[str, t.Callable[[], None], t.Callable[[], None]]]:
        """Yield the steps in order: name, operation, rollback. Raises NodeError.

        The operation does nothing where it is done already.
        """
        raise NotImplementedError

    def perform(self) -> dict[str, t.Any]:
        """Run the missing steps, roll back on a failure; return the record.

        The rollback is of all steps, in reverse order: an attempt before this one may have changed what this one did not reach.
        """
        record = self.record()
        if record.get("state") != _STARTED:
            return record
        try:
            steps = list(self.steps())
        except Exception as error:  # pylint: disable=broad-except
            # What an earlier unit has changed nobody can tell then.
            state = FAILED if record.get("stage") or record.get("failedBefore") else ROLLED_BACK
            record.update(state=state, message=_told(error), finishedAt=now_rfc3339())
            self.keep(record)
            return record
        try:
            if not record.get("failedAt"):
                for stage, do, _back in steps:
                    record["stage"] = stage
                    self.keep(record)
                    do()
                record.update(state=SUCCEEDED, stage="done", finishedAt=now_rfc3339())
                self.keep(record)
                return record
        except Exception as error:  # pylint: disable=broad-except
            # A mistake in this code, too, must not leave the machine half changed.
            record.update(message=_told(error), failedAt=record["stage"])
            self.keep(record)
        left = self._take_back(record, [(stage, back) for stage, _do, back in steps])
        record.update(state=FAILED if left else ROLLED_BACK, finishedAt=now_rfc3339())
        if left:
            record["message"] += f" Then it could not be taken back: {'; '.join(left)}"
        self.keep(record)
        return record

    def _take_back(self, record: dict[str, t.Any], undo: t.Sequence[tuple[str, t.Callable[[], None]]]) -> list[str]:
        left = []
        for stage, back in reversed(undo):
            record["stage"] = f"rollback of {stage}"
            self.keep(record)
            try:
                back()
            except Exception as error:  # pylint: disable=broad-except
                left.append(f"{stage}: {_told(error)}")
        return left


@dataclass(frozen=True)
class Works:
    """Configuration changes of this machine, by the names of their steps.

    Args:
        kinds: by the name of a kind, its class.
    """

    kinds: t.Mapping[str, type[Change]]
    places: Places = field(default_factory=Places)
    runner: systemd_units.Runner = systemd_units.run

    def look(self, step: str) -> Report:
        """Return the report of a configuration change."""
        folder = self._folder(step)
        if not os.path.exists(os.path.join(folder, "record.json")):
            return Report(ABSENT)
        record = _read(os.path.join(folder, "record.json"))
        state = str(record.get("state"))
        if state == _STARTED:
            state = RUNNING
        texts = {name: str(record.get(name) or "") for name in ("stage", "message", "startedAt", "finishedAt")}
        changed = tuple(str(each) for each in record.get("changed") or [])
        return Report(state, texts["stage"], texts["message"], texts["startedAt"], texts["finishedAt"], changed, folder)

    def start(self, step: str, kind: str, request: t.Mapping[str, t.Any], changed: t.Sequence[str]) -> Report:
        """Start a configuration change, or continue one that is under way.

        Its unit is started where none runs.

        Raises:
            NodeError: another work is under way on this machine, or systemd refused.
        """
        with guard.exclusive(self.places.state):
            report = self.look(step)
            if report.state == ABSENT or self.may_begin_again(step):
                self._refuse_second(step)
                self._await_end(systemd_units.CONFIGURATION + step)
                self._forget_old(step)
                self._prepare(step, kind, request, changed)
            elif report.state != RUNNING:
                return report
            unit = systemd_units.CONFIGURATION + step
            if not systemd_units.state(unit, self.runner).running and self.look(step).state == RUNNING:
                folder = self._folder(step)
                program = carried.carry(
                    os.path.join(folder, "code"), self.kinds[kind].PROGRAM, "perform", folder, self.places.text()
                )
                # One that failed is still known by its name.
                self.runner(["systemctl", "reset-failed", f"{unit}.service"])
                systemd_units.start(
                    unit, f"changed configuration ({step})", [sys.executable, "-I", program], self.runner
                )
            return self.look(step)

    def wait(self, step: str, seconds: float, clock: t.Callable[[], float] = time.monotonic) -> Report:
        """Wait at most ``seconds`` for a change's end. Raises NodeError.

        It is raised where the change's unit ended without a result.
        """
        deadline = clock() + seconds
        while True:
            report = self.look(step)
            if report.state != RUNNING or clock() >= deadline:
                return report
            if not systemd_units.state(systemd_units.CONFIGURATION + step, self.runner).running:
                report = self.look(step)
                if report.state == RUNNING:
                    said = guard.read_text(os.path.join(self._folder(step), "code", "output"))[-600:]
                    raise NodeError(
                        f"the unit {systemd_units.CONFIGURATION}{step} ended at {report.stage or 'its start'} without a result: {redact(said)}",
                        f"What was in use is kept in {self._folder(step)}/backup. Retry: it continues where it stopped.",
                    )
                return report
            time.sleep(_POLL_SECONDS)

    def tell(self, step: str) -> None:
        """Record that the caller has the outcome of a change.

        The same step called again is a new attempt, or nothing where it succeeded.
        """
        with guard.exclusive(self.places.state):
            folder = self._folder(step)
            record = _read(os.path.join(folder, "record.json"))
            # Before the record says so: a new attempt must not take an earlier one's notes for its own.
            for name in set(os.listdir(folder)) - {"record.json", "backup"}:
                path = os.path.join(folder, name)
                if os.path.isdir(path):
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    os.unlink(path)
            guard.write_atomically(
                os.path.join(folder, "record.json"), json.dumps({**record, "told": True}).encode(), 0o600
            )

    def _await_end(self, unit: str) -> None:
        """Wait for the end of an earlier attempt's unit.

        It has left its outcome a moment before it ends. Raises NodeError where it does not end.
        """
        deadline = time.monotonic() + settings.END_SECONDS
        while systemd_units.state(unit, self.runner).running:
            if time.monotonic() > deadline:
                raise NodeError(f"the unit {unit} of an attempt before does not end.", "Nothing was changed. Stop it.")
            time.sleep(_POLL_SECONDS)

    def _prepare(self, step: str, kind: str, request: t.Mapping[str, t.Any], changed: t.Sequence[str]) -> None:
        folder = self._folder(step)
        # An attempt that could not be put back leaves the only copy of what was in use: the next one puts back that, not what it found.
        failed = self.look(step).state == FAILED
        if not failed:
            shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        guard.write_atomically(os.path.join(folder, "request.json"), json.dumps(dict(request)).encode(), 0o600)
        record = {
            "state": _STARTED,
            "kind": kind,
            "stage": "",
            "message": "",
            "startedAt": now_rfc3339(),
            "changed": list(changed),
            "failedBefore": failed,
        }
        guard.write_atomically(os.path.join(folder, "record.json"), json.dumps(record).encode(), 0o600)

    def _refuse_second(self, step: str) -> None:
        for name in sorted(os.listdir(self.places.state)):
            if name == step or not os.path.exists(os.path.join(self.places.state, name, "record.json")):
                continue
            if (
                self.look(name).state == RUNNING
                and systemd_units.state(systemd_units.CONFIGURATION + name, self.runner).running
            ):
                raise NodeError(
                    f"another change of the configuration is under way on this machine: {name}.",
                    "Nothing was changed. Let it finish; its Action reports its outcome.",
                )

    def _forget_old(self, step: str) -> None:
        folders = [os.path.join(self.places.state, name) for name in os.listdir(self.places.state) if name != step]
        ended = [each for each in folders if os.path.exists(os.path.join(each, "record.json"))]
        ended.sort(key=lambda each: os.stat(os.path.join(each, "record.json")).st_mtime)
        for each in ended[: max(0, len(ended) - settings.CONFIGURATIONS_KEPT + 1)]:
            # One that could not be put back has the only copy of what was in use.
            if self.look(os.path.basename(each)).state not in (RUNNING, FAILED):
                shutil.rmtree(each, ignore_errors=True)

    def may_begin_again(self, step: str) -> bool:
        """Return whether a failed or rolled back change may start again.

        It may where a caller has got its outcome.
        """
        if self.look(step).state not in (ROLLED_BACK, FAILED):
            return False
        return bool(_read(os.path.join(self._folder(step), "record.json")).get("told"))

    def _folder(self, step: str) -> str:
        return os.path.join(self.places.state, step)


def _told(error: Exception) -> str:
    known = isinstance(error, (NodeError, OSError))
    return redact(str(error) if known else f"unexpected {type(error).__name__}: {error}")


def _read(path: str) -> dict[str, t.Any]:
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except (OSError, ValueError) as error:
        raise NodeError(f"{path} can't be read: {error}.", "Look at it before anything else.") from error
    return document if isinstance(document, dict) else {}
