# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bootstrap of one machine, started once as a transient systemd unit.

It is prepared, started once, and found again by every later call.

What survives the caller, the run and a reboot is ``bootstrap.json``; what the script left (stage, output, result) is the
evidence. There is never a second unit: a call that finds a bootstrap waits for it and takes its result.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import time
import typing as t
from dataclasses import dataclass, field, replace

from ...common import guard, kubernetes_facts, systemd_units
from ...common.guard import NodeError
from ...common.redact import redact
from ...common.values import now_rfc3339
from ...etcd import certificates_dir, types
from . import accounts, certificate_folders, etcd_folders, image_check, leftovers, script, script_messages
from .phases import PhaseTimes

OUTPUT_BYTES = 16 * 1024
ABSENT, RUNNING, SUCCEEDED, FAILED = "Absent", "Running", "Succeeded", "Failed"
_STARTED = "Started"
_POLL_SECONDS = 0.3
# systemd is asked less often than the result file: the one is a process, the other a look at a file.
_POLLS_PER_UNIT_CHECK = 7
_READ_BYTES = 4 * OUTPUT_BYTES
_STEP = re.compile(r"[a-z0-9]([a-z0-9.-]{0,198}[a-z0-9])?")
# As timeout(1) ends: what it has asked to end, and what it had to kill, itself included.
_KILLED = (script.ENDED, 128 + signal.SIGKILL, signal.SIGKILL)
_LISTS = ("kubeadmArgs", "files", "users", "preKubeadmCommands", "postKubeadmCommands")


@dataclass(frozen=True)
class Places:
    """Paths on a machine; tests use other ones."""

    state: str = guard.STATE_DIRECTORY
    kubernetes: str = "/etc/kubernetes"
    etcd_data: str = kubernetes_facts.DEFAULT_ETCD_DATA_DIR
    kubeadm_run: str = "/run/kubeadm"
    sentinel: str = script.SENTINEL
    kubeadm: str = "kubeadm"
    boot_id: str = guard.BOOT_ID_FILE
    etcd_url: str = types.LOCAL_MEMBER
    disks: script.Disks = field(default_factory=script.Disks)

    @property
    def record(self) -> str:
        """File of the bootstrap's durable state."""
        return os.path.join(self.state, "bootstrap.json")

    @property
    def work(self) -> str:
        """Directory of the script's files, output and result."""
        return os.path.join(self.state, "bootstrap")


@dataclass(frozen=True)
class Report:
    """State of a bootstrap, with its stage, failure and output.

    ``state`` is Absent, Running, Succeeded or Failed. ``stage`` is where it is ("kubeadm [wait-control-plane]"),
    ``command`` and ``rc`` what failed and how, ``output`` the end of its output, without secrets (Running and Failed);
    ``phases`` are as of phases.PhaseTimes, of what a wait saw.
    """

    state: str
    step: str = ""
    kind: str = ""
    stage: str = ""
    started_at: str = ""
    finished_at: str = ""
    command: str = ""
    rc: t.Optional[int] = None
    message: str = ""
    output: str = ""
    data_matches: t.Optional[bool] = None
    phases: tuple[dict[str, t.Any], ...] = ()

    def document(self, *, with_output: bool = True) -> dict[str, t.Any]:
        """Return the report with JSON names."""
        document = {
            "state": self.state,
            "step": self.step,
            "kind": self.kind,
            "stage": self.stage,
            "startedAt": self.started_at,
            "finishedAt": self.finished_at,
            "command": self.command,
            "rc": self.rc,
            "message": self.message,
        }
        return dict(document, output=self.output, phases=list(self.phases)) if with_output else document


def data_hash(data: t.Mapping[str, t.Any]) -> str:
    """Return the hash of a bootstrap's data, whatever options were not given."""
    given = {key: value for key, value in data.items() if value is not None}
    return hashlib.sha256(json.dumps(given, sort_keys=True).encode()).hexdigest()


def read_state(places: t.Optional[Places] = None) -> dict[str, t.Any]:
    """Return this machine's bootstrap as a document without the output.

    It is for an observation: a :class:`Report`, with state Unknown where it can't be read.
    """
    try:
        return Bootstrap(places or Places()).look().document(with_output=False)
    except NodeError as error:
        return dict(Report(ABSENT, message=str(error)).document(with_output=False), state="Unknown")


@dataclass(frozen=True)
class Bootstrap:
    """Bootstrap of this machine.

    ``runner`` runs systemctl, systemd-run and ``kubeadm version``.
    """

    places: Places = field(default_factory=Places)
    runner: systemd_units.Runner = systemd_units.run

    def look(self) -> Report:
        """Return the bootstrap's report, changing nothing."""
        record = self._read()
        if record is None:
            return Report(ABSENT)
        known = Report(
            state=str(record.get("state", "")),
            step=str(record.get("step", "")),
            kind=str(record.get("kind", "")),
            started_at=str(record.get("startedAt", "")),
            finished_at=str(record.get("finishedAt", "")),
            command=str(record.get("command", "")),
            rc=record.get("rc"),
            message=str(record.get("message", "")),
        )
        if known.state == SUCCEEDED:
            return known
        if known.state == FAILED:
            return replace(known, output=self._output())
        return self._unsettled(known, record)

    def find(self, step: str) -> Report:
        """Return the report of one attempt, Absent if the machine has none.

        Raises:
            NodeError: the machine has an attempt of another name.
        """
        report = self.look()
        if report.step and report.step != step:
            raise self._other(step, report)
        return report

    def start(
        self, step: str, data: t.Mapping[str, t.Any], *, check: bool = False, limit: int = 0
    ) -> tuple[Report, bool]:
        """Start the bootstrap unless it was started; return report and whether started.

        Args:
            step: names the unit and the attempt.
            data: see the module node_bootstrap, option ``data``.
            check: do everything but change the machine.
            limit: after how many seconds the machine itself ends it, whoever waits for it; 0 for never.

        Raises:
            NodeError: this machine carries another cluster or attempt, or kubeadm isn't the version that is wanted.
        """
        if not _STEP.fullmatch(step):
            raise NodeError(
                f"step {step!r} can't name a unit.", "Use at most 200 of lower-case letters, digits, '-' and '.'."
            )
        config = _checked(data, self.places)
        with contextlib.nullcontext() if check else guard.exclusive(self.places.state):
            return self._start(step, data, config, check=check, limit=limit)

    def settle(self, report: Report) -> Report:
        """Store the outcome of a finished bootstrap.

        Its secrets are removed where it succeeded. Where there is no room to store it, it is reported all the same.
        """
        if report.state not in (SUCCEEDED, FAILED):
            return report
        with contextlib.suppress(OSError, guard.Unwritable), guard.exclusive(self.places.state):
            record = self._read()
            if record is None or record.get("step") != report.step:
                return report
            if record.get("state") == _STARTED:
                finished = report.finished_at or now_rfc3339()
                record.update(state=report.state, finishedAt=finished, message=report.message)
                record.update(rc=report.rc, command=report.command)
                self._write(record)
                report = replace(report, finished_at=finished)
            if report.state == SUCCEEDED:
                shutil.rmtree(self.places.work, ignore_errors=True)
                shutil.rmtree(self.places.kubeadm_run, ignore_errors=True)
        return report

    def wait(self, seconds: float, clock: t.Callable[[], float] = time.monotonic) -> Report:
        """Wait at most ``seconds`` for the bootstrap's end; return its report.

        The outcome of a finished one is stored (:meth:`settle`).
        """
        deadline = clock() + seconds
        seen = PhaseTimes(clock)
        while True:
            report = self.look()
            seen.look(self._output())
            if report.state != RUNNING or clock() >= deadline:
                return replace(self.settle(report), phases=tuple(seen.document()))
            for _unused in range(_POLLS_PER_UNIT_CHECK):
                seen.look(self._output())
                if clock() >= deadline or os.path.exists(os.path.join(self.places.work, "result")):
                    break
                time.sleep(_POLL_SECONDS)

    def _start(
        self, step: str, data: t.Mapping[str, t.Any], config: str, *, check: bool, limit: int
    ) -> tuple[Report, bool]:
        found = self.look()
        record = self._read() or {}
        fingerprint = data_hash(data)
        if record and record.get("step") != step:
            raise self._other(step, found)
        if record and found.state != ABSENT:
            return replace(found, data_matches=record.get("dataHash") == fingerprint), False
        if not record:
            self._refuse_foreign()
        self._require_version(str(data["kubeadmVersion"]))
        if check:
            return Report(ABSENT, step=step, kind=str(data["kind"]), data_matches=True), True
        record = {"step": step, "kind": data["kind"], "dataHash": fingerprint, "state": _STARTED}
        record.update(bootID=guard.read_text(self.places.boot_id), startedAt=now_rfc3339(), limit=limit)
        shutil.rmtree(self.places.work, ignore_errors=True)
        self._write(record)
        self._prepare(data, config)
        systemd_units.start(
            systemd_units.BOOTSTRAP + step,
            f"kubeadm {data['kind']} ({step})",
            script.bounded(["/bin/sh", os.path.join(self.places.work, "run.sh")], limit),
            self.runner,
        )
        return Report(RUNNING, step, str(data["kind"]), "start", str(record["startedAt"]), data_matches=True), True

    def _other(self, step: str, found: Report) -> NodeError:
        return NodeError(
            f"This machine has a bootstrap of its own: step {found.step!r}, {found.state}"
            f" (since {found.started_at or 'an unknown time'}; {self.places.record}).",
            f"It was not touched, and {step!r} was not started. Use another machine, or reset this one first.",
            "CarriesAnother",
        )

    def _prepare(self, data: t.Mapping[str, t.Any], config: str) -> None:
        certificates_dir.keep_note(self.places.kubernetes, self.places.state, str(data.get("certificatesDir") or ""))
        certificate_folders.keep_note_of_ca(self.places, str(data.get("caCertPath") or ""))
        for user in data.get("users") or []:
            accounts.put_user(user)
        for entry in data.get("files") or []:
            accounts.put_file(entry)
        os.makedirs(self.places.kubeadm_run, mode=0o700, exist_ok=True)
        os.chmod(self.places.kubeadm_run, 0o700)
        guard.write_atomically(config, str(data["config"]).encode(), 0o600)
        os.makedirs(self.places.work, mode=0o700)
        files = script.render(
            self.places.work,
            [self.places.kubeadm, *data["kubeadmArgs"]],
            data.get("preKubeadmCommands") or [],
            data.get("postKubeadmCommands") or [],
            self.places.sentinel,
            replace(self.places.disks, etcd=str(data.get("etcdDataDir") or self.places.disks.etcd)),
            _images(data, self.places),
        )
        for name, text in files.items():
            guard.write_atomically(os.path.join(self.places.work, name), text.encode(), 0o600)

    def _unsettled(self, known: Report, record: t.Mapping[str, t.Any]) -> Report:
        unit = systemd_units.state(systemd_units.BOOTSTRAP + known.step, self.runner)
        # In this order: a script that ends between the two has left its result by then.
        result = guard.read_text(os.path.join(self.places.work, "result"))
        rc_text, _space, last = result.partition(" ")
        stage = last or guard.read_text(os.path.join(self.places.work, "stage"))
        if script.complete(self.places.work, stage) and (result or not unit.running):
            return replace(known, state=SUCCEEDED, stage=stage, rc=0)
        if result:
            rc = int(rc_text) if rc_text.isdecimal() else 1
            return self._failed(known, stage, rc, script_messages.result(record, stage, rc, self._output()))
        if unit.running:
            output = self._output()
            return replace(known, state=RUNNING, stage=script_messages.under_way(stage, output), output=output)
        booted = record.get("bootID") != guard.read_text(self.places.boot_id)
        # A boot of the machine proves nothing: a power cut may have taken away what the script had written. A full disk leaves what needs no room.
        begun = os.path.exists(os.path.join(self.places.work, script.BEGUN))
        if not (stage or unit.loaded or booted or begun):
            return Report(ABSENT, known.step, known.kind, message="prepared, but never started")
        if booted:
            text = f"interrupted: the machine was booted again while it was at {script_messages.field(stage) or 'the start'}"
        elif unit.exit_status in _KILLED and record.get("limit"):
            text = script_messages.ended(record, stage)
        elif not unit.loaded:
            text = f"interrupted at {script_messages.field(stage)}: its unit is gone, as by hand"
        else:
            text = f"ended without a result (systemd says: {unit.result}, exit status {unit.exit_status})"
        return self._failed(known, stage, unit.exit_status or None, text)

    def _failed(self, known: Report, stage: str, rc: t.Optional[int], message: str) -> Report:
        named, command = script_messages.field(stage), script_messages.command(known.kind, stage)
        return replace(known, state=FAILED, stage=named, rc=rc, command=command, message=message, output=self._output())

    def _refuse_foreign(self) -> None:
        marks = [f"{self.places.kubernetes}/manifests/{name}.yaml" for name in kubernetes_facts.STATIC_PODS]
        marks += [os.path.join(self.places.kubernetes, name) for name in ("admin.conf", "kubelet.conf")]
        left = leftovers.present(self.places.kubernetes, self.places.state)
        if found := [*filter(os.path.exists, marks), *etcd_folders.data(self.places), *left]:
            raise NodeError(
                f"This machine already carries a cluster that was not made by this bootstrap: {', '.join(found)}.",
                f"Nothing was changed. Give another machine, adopt that cluster, or, if it is no longer needed, wipe the machine: {leftovers.WIPE}.",
                "CarriesAnother",
            )

    def _require_version(self, wanted: str) -> None:
        done = self.runner([self.places.kubeadm, "version", "-o", "short"])
        actual = done.stdout.strip()
        if done.returncode != 0 or actual != wanted:
            raise NodeError(
                f"kubeadm on this machine is {actual or 'not usable: ' + done.stderr.strip()[:200]}, but {wanted} is wanted.",
                "Nothing was changed. Use a machine image, or install packages, of the version in the spec.",
            )

    def _output(self) -> str:
        path = os.path.join(self.places.work, "output")
        try:
            with open(path, "rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - _READ_BYTES))
                text = file.read().decode(errors="replace")
        except OSError:
            return ""
        if size > _READ_BYTES:
            text = text.partition("\n")[2]
        shown = redact(text)
        return shown if len(shown) <= OUTPUT_BYTES else shown[-OUTPUT_BYTES:].partition("\n")[2]

    def _read(self) -> t.Optional[dict[str, t.Any]]:
        try:
            with open(self.places.record, encoding="utf-8") as file:
                record = json.load(file)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise NodeError(f"{self.places.record} can't be read: {error}.", "Reset this machine.") from error
        if not isinstance(record, dict):
            raise NodeError(f"{self.places.record} is not a JSON object.", "Reset this machine.")
        return record

    def _write(self, record: t.Mapping[str, t.Any]) -> None:
        text = json.dumps(record, indent=2, sort_keys=True) + "\n"
        guard.write_atomically(self.places.record, text.encode(), 0o600)


def _checked(data: t.Mapping[str, t.Any], places: Places) -> str:
    """Check the data's shape; return the path of kubeadm's configuration file.

    It is called before anything is changed.
    """
    for name in ("kind", "kubeadmVersion", "config"):
        if not isinstance(data.get(name), str) or not data[name]:
            raise NodeError(f"data.{name} must be text.", "Correct it.")
    for name in _LISTS:
        if not isinstance(data.get(name) or [], list):
            raise NodeError(f"data.{name} must be a list.", "Correct it.")
    arguments = [str(word) for word in data.get("kubeadmArgs") or []]
    if data["kind"] not in ("init", "join") or arguments[:1] != [data["kind"]]:
        raise NodeError("data.kind must be init or join, and data.kubeadmArgs must begin with it.", "Correct them.")
    path = arguments[arguments.index("--config") + 1] if "--config" in arguments[:-1] else ""
    if os.path.dirname(os.path.normpath(path)) != places.kubeadm_run:
        raise NodeError(
            f"data.kubeadmArgs must name a file in {places.kubeadm_run}: kubeadm reads it there.",
            "Add it with --config.",
        )
    return path


def _images(data: t.Mapping[str, t.Any], places: Places) -> str:
    images = data.get("images")
    if not isinstance(images, dict):
        return ""
    return image_check.part(image_check.Images.read(str(data["kubeadmVersion"]), images), places.kubeadm)
