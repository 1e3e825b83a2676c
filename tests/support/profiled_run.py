# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A playbook's run that is timed: by a callback, by failpoints that stop nothing, by a program around ssh, and by the machines themselves."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
import sys
import time
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

import time_shares
from time_shares import Span
from workspace import kill_run

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes import failpoints

CALLBACKS = Path(__file__).with_name("callbacks")
SECONDS = 1800.0
# A row of a smaller share is not printed by itself.
LEAST_SHARE = 0.005
# Kinds of span that a reader follows a run by, and how far their names are indented.
INDENTED = {"task": "", "provider": "", "call": "  ", "unit": "    ", "phase": "      "}
# The beginning of every role's name, which a reader can do without.
OWN = "kubeadm.control_plane."
# bash knows the time without another process. The address is the last word but one, before the command.
SSH = """\
#!/bin/bash
begin=$EPOCHREALTIME
{ssh} "$@"
status=$?
printf '%s %s %s %s\\n' "$begin" "$EPOCHREALTIME" "$PPID" "${{@: -2:1}}" >> {times}
exit $status
"""
PHASES = "/run/profiled-kubeadm"
# Of preKubeadmCommands: they and kubeadm are run by one shell, in which a function goes before a program. Of what kubeadm prints only the
# phase's name is kept, with the time.
NOTED_KUBEADM = f"""\
kubeadm() {{
    case $1 in init|join) ;; *) command kubeadm "$@"; return ;; esac
    mkfifo {PHASES}.fifo
    while IFS= read -r noted_line; do
        case $noted_line in '['*']'*) echo "$(date +%s.%N) ${{noted_line%%]*}}" >> {PHASES} ;; esac
        printf '%s\\n' "$noted_line"
    done < {PHASES}.fifo &
    echo "$(date +%s.%N) begin" >> {PHASES}
    command kubeadm "$@" > {PHASES}.fifo 2>&1
    noted_status=$?
    wait $!
    echo "$(date +%s.%N) end" >> {PHASES}
    rm -f {PHASES}.fifo
    return $noted_status
}}
"""
# systemd's own messages about a unit: "started", and that it ended well.
UNIT = "journalctl -q -o json --output-fields=MESSAGE_ID -u 'kubeadm-control-plane-bootstrap-*' _PID=1"


@dataclass
class Profile:
    """Times of one run: spans, the whole by the clock, the processor's seconds."""

    title: str
    begin: float
    end: float
    spans: list[Span]
    processor: dict[str, float]
    names: dict[str, str] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        """Length of the run by the clock."""
        return self.end - self.begin

    def rows(self, kind: str) -> list[dict[str, t.Any]]:
        """Return the sums of one kind of span."""
        return time_shares.sums(each for each in self.spans if each.kind == kind)

    def document(self) -> dict[str, t.Any]:
        """Return everything as JSON."""
        return _rounded(
            {
                "title": self.title,
                "seconds": self.seconds,
                "processor": self.processor,
                "shares": time_shares.shares(self.spans, self.begin, self.end),
                "tasks": time_shares.sums(each for each in self.spans if each.kind in ("task", "provider")),
                "calls": time_shares.calls(self.spans),
                "store": self.rows("store"),
                "machines": time_shares.machines(self.spans, self.names),
                "kubeadm_phases": self.rows("phase"),
                "timeline": [
                    {
                        "at": each.begin - self.begin,
                        "seconds": each.seconds,
                        "kind": each.kind,
                        "name": each.name,
                        "who": each.who,
                    }
                    for each in sorted(self.spans, key=lambda each: (each.begin, -each.end))
                ],
            }
        )

    def text(self, most_machines: int = 10) -> str:
        """Return the tables in plain text."""
        used = self.processor
        found = self.document()
        least = LEAST_SHARE * self.seconds
        several = len(found["machines"]) > most_machines
        parts = [
            f"{self.title}: {self.seconds:.1f} s by the clock; the controller's processor {used['user']:.1f} s user and {used['system']:.1f} s system, "
            f"of both {used['main']:.1f} s in the main process",
            self._table(
                "where the clock's time went",
                [{"name": name, "seconds": each} for name, each in found["shares"].items() if each],
            ),
            self._table(
                "tasks",
                time_shares.folded([{**row, "name": row["name"].removeprefix(OWN)} for row in found["tasks"]], least),
                *("count", "longest"),
            ),
            self._table("calls of machines", found["calls"], "count", "longest", "within_ssh"),
            self._table("store, journal and lock", time_shares.folded(found["store"], least), "count", "longest"),
            self._table("kubeadm's phases", time_shares.folded(found["kubeadm_phases"], least), "count", "longest"),
            self._table(
                f"machines ({most_machines} of {len(found['machines'])})" if several else "machines",
                found["machines"][:most_machines],
                "calls",
                "unit",
                "kubeadm",
            ),
        ]
        return "\n\n".join(filter(None, parts))

    def order(self) -> str:
        """Return tasks, calls and phases of at least half a per cent in the order of their starts, in plain text."""
        rows = [
            (each["name"].removeprefix(OWN), f"{each['at']:.2f}", f"{each['seconds']:.2f}", each["kind"])
            for each in self.document()["timeline"]
            if each["seconds"] >= LEAST_SHARE * self.seconds and each["kind"] in INDENTED
        ]
        head = ("in the order of their starts", "start", "seconds", "kind")
        return time_shares.table(head, [(f"{INDENTED[row[3]]}{row[0]}", *row[1:]) for row in rows])

    def _table(self, title: str, rows: t.Iterable[t.Mapping[str, t.Any]], *more: str) -> str:
        shown = [
            (
                str(row["name"]),
                f"{row['seconds']:.2f}",
                time_shares.share(row["seconds"], self.seconds),
                *(str(row[key]) if isinstance(row[key], int) else f"{row[key]:.2f}" for key in more),
            )
            for row in rows
        ]
        head = (title, "seconds", "share", *(key.replace("_", " ") for key in more))
        return time_shares.table(head, shown) if shown else ""


def profiled(
    title: str, folder: Path, command: t.Sequence[str], environment: t.Mapping[str, str], ssh: str = "ssh"
) -> Profile:
    """Run a playbook and return its times.

    ``environment`` gets :func:`watching`'s variables; ``ssh`` is the program that reaches the machines. Exits where the run fails, and ends
    the run where this process is ended.
    """
    notes = folder / f"profile-{time.monotonic_ns()}"
    notes.mkdir()
    log = notes / "output"
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.time()
    with log.open("w") as stream:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **environment, **watching(notes, ssh)},
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            status = process.wait(SECONDS)
        except BaseException:
            kill_run(process)
            raise
    end = time.time()
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    if status != 0:
        sys.exit(f"{title}: the run failed:\n{log.read_text()[-6000:]}")
    noted = _lines(notes / "tasks")
    main = [each for each in map(json.loads, noted) if each["event"] == "main"]
    processor = {
        "user": now.ru_utime - used.ru_utime,
        "system": now.ru_stime - used.ru_stime,
        "main": sum(each["user"] + each["system"] for each in main),
    }
    spans = [*time_shares.tasks(noted, end), *time_shares.points("\n".join(_lines(notes / "trace")))]
    return Profile(title, begin, end, [*spans, *time_shares.ssh(_lines(notes / "ssh.times"))], processor)


def watching(notes: Path, ssh: str) -> dict[str, str]:
    """Return the environment in which a run is timed; everything noted is below the folder ``notes``."""
    (notes / "failpoints.json").write_text(json.dumps({"trace": str(notes / "trace")}))
    program = notes / "ssh"
    program.write_text(SSH.format(ssh=ssh, times=notes / "ssh.times"))
    program.chmod(0o755)
    return {
        failpoints.VARIABLE: str(notes / "failpoints.json"),
        "ANSIBLE_CALLBACK_PLUGINS": str(CALLBACKS),
        "ANSIBLE_CALLBACKS_ENABLED": "task_times",
        "TASK_TIMES": str(notes / "tasks"),
        "ANSIBLE_SSH_EXECUTABLE": str(program),
    }


def add_machines(profile: Profile, addresses: t.Mapping[str, str], ssh: t.Callable[[str, str], str]) -> Profile:
    """Add what the machines themselves know: their bootstraps' units and kubeadm, where these ran during the run.

    ``addresses`` are those of the machines by name, ``ssh`` runs a command on a machine.
    """
    for name, address in addresses.items():
        profile.names[address] = name
        events = [json.loads(line) for line in ssh(name, UNIT).splitlines()]
        times = [float(each["__REALTIME_TIMESTAMP"]) / 1e6 for each in events]
        noted = ssh(name, f"cat {PHASES} 2>/dev/null || true").splitlines()
        spans = time_shares.phases(noted, name)
        if len(times) > 1:
            spans.append(Span(min(times), max(times), "unit", "unit", name))
        profile.spans += [each for each in spans if profile.begin <= each.begin and each.end <= profile.end]
    return profile


def _lines(path: Path) -> list[str]:
    with contextlib.suppress(FileNotFoundError):
        return path.read_text().splitlines()
    return []


def _rounded(value: t.Any) -> t.Any:
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list) else value
