# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kills runs, cuts power and networks by random schedules for as long as told, on one control plane that must come through every time.

    python run.py [--seconds N] [--schedules N] [--seed N] [--first N] [--record FILE]

The seed is printed first; the same seed and number give the same schedule. The record has one JSON object a schedule. It ends at the
first schedule after which something isn't as it must be, and leaves everything as it is then.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import secrets
import sys
import tempfile
import threading
import time
import typing as t
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from killed_runs import KilledRuns
from workspace import Run, Workspace

from chaos.labs import DOMAINS, Lab, RealLab, StandInLab
from chaos.schedule import SMALL, Fault, Schedule, schedule

NAME = "chaos"
LOOK_SECONDS = 0.05
# Runs that nobody disturbs, after those that were: one has to do, the others are for a machine that has to be named as lost.
SETTLING_RUNS = 5
REMEDIATE = "cluster.x-k8s.io/remediate-machine"
# etcd elects a leader within about two seconds where the leader itself lost its power; longer is a lost quorum.
QUORUM_SECONDS = 5.0
# A voter that is taken away while another one is just joining: without learners etcd waits until that one has started.
QUORUM_SECONDS_TAKEN = 60.0
Object = dict[str, t.Any]


def say(text: str) -> None:
    """Tell how far it is."""
    print(f"chaos: {text}", file=sys.stderr, flush=True)


class Taken(threading.Thread):
    """Takes a machine away when the run beside it has passed so many points, and gives it back."""

    def __init__(self, fault: Fault, trace: Path, lab: Lab) -> None:
        super().__init__(daemon=True)
        self._fault = fault
        self._trace = trace
        self._lab = lab
        self._machines = lab.machines
        self._ended = threading.Event()
        self._link = ""
        self.machine = ""
        self.error = ""

    def run(self) -> None:
        """Wait for the point, and do it."""
        while self._passed() < self._fault.after:
            if self._ended.wait(LOOK_SECONDS):
                return
        try:
            self._take(self._victim())
        except Exception as error:
            # Where a machine is being removed at that very moment there is nothing to take away; the record says so.
            self.error = f"{type(error).__name__}: {error}"[:300]

    def give_back(self) -> bool:
        """When the run has ended: mend what is to be mended; tell whether a machine is still away."""
        self._ended.set()
        self.join()
        if self._link:
            self._machines.mend_network(self.machine, self._link)
            return False
        if self._fault.back and self.machine in self._machines.names():
            self._machines.restore_power(self.machine)
            return False
        # A partition that ended in time took nothing away for good.
        return self._fault.kind == "power" and bool(self.machine)

    def _take(self, name: str) -> None:
        if self._fault.kind == "power":
            self._machines.cut_power(name)
            self.machine = name
            return
        self._link = self._machines.cut_network(name)
        self.machine = name
        self._ended.wait(self._fault.seconds)
        self._machines.mend_network(name, self._link)
        self._link = ""

    def _passed(self) -> int:
        try:
            return self._trace.read_bytes().count(b"\n")
        except FileNotFoundError:
            return 0

    def _victim(self) -> str:
        """The machine that the step under way is about; where there is none, one by draw."""
        store = self._lab.workspace
        machines = {each["metadata"]["name"]: each.get("status", {}) for each in store.objects("Machine")}
        kind = self._lab.infrastructure_kind
        names = [each["metadata"]["name"] for each in store.objects(kind) if each.get("status", {}).get("connection")]
        entries = (store.store / f"default/journal/{NAME}.jsonl").read_text().splitlines()
        intents = [entry for line in entries if (entry := json.loads(line))["event"] == "intent"]
        target = intents[-1].get("target") or ""
        if intents[-1]["action"] == "join" and not target:
            # The machine is named by the step itself: it is the one that has not joined yet.
            new = [name for name in names if machines.get(name, {}).get("bootstrap", {}).get("state") != "Succeeded"]
            target = new[0] if new else ""
        return target if target in names else sorted(names)[int(self._fault.draw * len(names))]


class Chaos:
    """One control plane and what is done to it."""

    def __init__(self, lab: Lab, folder: Path) -> None:
        self._lab = lab
        self.workspace = lab.workspace
        self.machines = lab.machines
        self._folder = folder
        self._kubeadm: dict[str, t.Any] = {}
        # A machine that is to be replaced.
        self._named = ""
        # Runs whose main process was ended, and of which something may still be at work.
        self._open: list[KilledRuns] = []

    def create(self, size: int) -> None:
        """Make the control plane, undisturbed."""
        self._wants(size)
        self.workspace.playbook("reconcile", "--limit", NAME, timeout=1800).succeeded()

    def delete(self) -> list[str]:
        """Delete it; return what is left on this host."""
        names = self.machines.names()
        self.workspace.playbook("delete", "--limit", NAME, "-e", f"control_plane_delete={NAME}").succeeded()
        return self._lab.left(names)

    def carry_out(self, plan: Schedule) -> Object:
        """One schedule; return its line of the record."""
        begun = time.monotonic()
        folder = self._folder / f"schedule-{plan.number}"
        folder.mkdir()
        told: Object = {**plan.told(), "runs": [], "problems": []}
        with self._lab.watch(folder) as watch:
            self._wish(plan)
            lost: list[str] = []
            for number, fault in enumerate(plan.faults):
                run = self._disturbed(fault, self._command(*self._next_run()), folder / str(number), lost)
                told["runs"].append(run)
                if run["returncode"] == 0:
                    # Nothing is left to be disturbed.
                    break
            told["problems"] = self._settle(plan.after, told["runs"], lost)
            while self._open:
                self._open.pop().end()
            seen = watch.stop()
        for what in ("quorum", "endpoint"):
            told[f"longest_seconds_without_{what}"] = seen[what]["longest_gap_seconds"]
        taken = any(each.kind != "kill" for each in plan.faults)
        if seen["quorum"]["longest_gap_seconds"] > (QUORUM_SECONDS_TAKEN if taken else QUORUM_SECONDS):
            told["problems"].append(f"no quorum for {seen['quorum']['longest_gap_seconds']} s")
        told["seconds"] = round(time.monotonic() - begun, 1)
        return told

    def _wants(self, size: int) -> None:
        self.workspace.manifest(NAME, replicas=size, failure_domains=DOMAINS, kubeadm=self._kubeadm)

    def _command(self, playbook: str, *arguments: str) -> list[str]:
        bound = f"control_plane_wait_timeout={self._lab.wait_seconds}"
        return self.workspace.command(playbook, "--limit", NAME, "-e", bound, *arguments)

    def _wish(self, plan: Schedule) -> None:
        names = self.machines.names()
        self._named = names[int(plan.draw * len(names))] if plan.wish == "replace" else ""
        if plan.wish == "rollout":
            self._kubeadm = {"preKubeadmCommands": [f"echo {plan.number}"]}
        self._wants(plan.after)

    def _next_run(self) -> tuple[str, ...]:
        """What somebody types now: a machine is asked for by name until the store has noted that."""
        for machine in self.workspace.objects("Machine"):
            metadata = machine["metadata"]
            noted = metadata.get("deletionTimestamp") or REMEDIATE in (metadata.get("annotations") or {})
            if metadata["name"] == self._named and not noted:
                return ("remediate", "-e", f"control_plane_machines={self._named}")
        return ("reconcile",)

    def _disturbed(self, fault: Fault, command: t.Sequence[str], folder: Path, lost: list[str]) -> Object:
        runs = KilledRuns(self.workspace, command, folder, fault.how or "kill")
        if fault.kind == "kill":
            try:
                stop, _run = runs.stopped_at(fault.after)
            finally:
                # Right away, as somebody does who starts it again; what the main process left running is still there.
                if fault.how == "kill":
                    runs.end()
                else:
                    self._open.append(runs)
            return {**dataclasses.asdict(stop), "fault": "kill"}
        taken = Taken(fault, runs.coming_trace, self._lab)
        taken.start()
        try:
            _points, seconds, run = runs.undisturbed()
        finally:
            away = taken.give_back()
        if away:
            lost.append(taken.machine)
        told = {"fault": fault.kind, "machine": taken.machine, "error": taken.error, "returncode": run.returncode}
        return {**told, "seconds": seconds, "said": _last_words(run)}

    def _settle(self, size: int, told: list[Object], lost: list[str]) -> list[str]:
        """Run until all is well, naming machines that are lost; what isn't well in the end."""
        found = ["no run came through"]
        for _run in range(SETTLING_RUNS):
            # A machine without power waits for somebody: its owner, or the person who says that it won't come back.
            gone = [name for name in lost if name in self.machines.names()]
            playbook = ("remediate", "-e", f"control_plane_machines={gone[0]}") if gone else self._next_run()
            begun = time.monotonic()
            run = Workspace.run(self._command(*playbook), self.workspace.folder, timeout=1800)
            seconds = round(time.monotonic() - begun, 1)
            told.append(
                {"playbook": playbook[0], "returncode": run.returncode, "seconds": seconds, "said": _last_words(run)}
            )
            gone = [name for name in lost if name in self.machines.names()]
            if run.returncode == 0 and not gone:
                found = self._lab.problems(size)
                if not found:
                    return []
        return found


def _last_words(run: Run) -> str:
    lines = [line for line in run.output.splitlines() if line.startswith(("fatal:", "[ERROR]"))]
    return lines[-1][:400] if lines and run.returncode else ""


def main() -> int:
    """Go through schedules until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3600, help="begin no schedule after that time (default 3600)")
    parser.add_argument("--schedules", type=int, default=0, help="stop after so many (default: no limit)")
    parser.add_argument("--seed", type=int, default=None, help="a number that an earlier run has printed")
    parser.add_argument("--first", type=int, default=0, help="begin with the schedule of that number")
    parser.add_argument(
        "--record", type=Path, default=None, help="where the record is added to (default: the working folder)"
    )
    parser.add_argument(
        "--show", action="store_true", help="print the schedules (10 unless --schedules says otherwise) and do nothing"
    )
    parser.add_argument(
        "--stand-in",
        action="store_true",
        help="with stand-ins for cloud and machines: tries this program, no control plane",
    )
    options = parser.parse_args()
    seed = secrets.randbelow(2**31) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    if options.show:
        for number in range(options.first, options.first + (options.schedules or 10)):
            print(json.dumps(schedule(seed, number).told()))
        return 0
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    record = options.record or folder / "record.jsonl"
    say(f"seed {seed}, working folder {folder}, record {record}")
    lab: Lab = StandInLab(folder / "workspace", NAME) if options.stand_in else RealLab(folder / "workspace", NAME)
    chaos = Chaos(lab, folder)
    chaos.create(schedule(seed, options.first).before if options.first else SMALL)
    begun, number = time.monotonic(), options.first
    while time.monotonic() - begun < options.seconds and (
        not options.schedules or number < options.first + options.schedules
    ):
        plan = schedule(seed, number)
        say(
            f"schedule {number}: {plan.wish} {plan.before}->{plan.after}, {', '.join(each.kind for each in plan.faults)}"
        )
        told = chaos.carry_out(plan)
        with record.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(told) + "\n")
        if told["problems"]:
            say(f"schedule {number} ended with: {'; '.join(told['problems'])}")
            say(
                f"everything is left as it is; the same again: --seed {seed} --first {number} --schedules 1. Then: make clean"
            )
            return 1
        say(f"schedule {number}: well after {told['seconds']} s and {len(told['runs'])} runs")
        number += 1
    left = chaos.delete()
    print(json.dumps({"seed": seed, "schedules": number - options.first, "left": left, "record": str(record)}))
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
