# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shares of a run's time: spans read from what was noted of it, and their sums.

All times are seconds since the epoch, all lengths are seconds.
"""

from __future__ import annotations

import json
import re
import typing as t
from dataclasses import dataclass, replace

# The folders of roles that make and remove machines.
PROVIDERS = re.compile(r"(?:^|[./])machine_\w+ : ")
# A point of a trace: seconds, process, then "STEP > ACTION: before|after SITE DETAIL (NUMBER)".
_POINT = re.compile(
    r"(?P<at>[\d.]+) (?P<pid>\d+) (?:\w+ > )?(?:\w+: )?(?P<when>before|after) (?P<what>.+?)(?: \((?:2|3\+)\))?"
)
# A trace's times are rounded to this.
TRACED = 0.001
_STORED = ("store ", "journal ", "lock ")


@dataclass(frozen=True)
class Span:
    """Something that took time.

    ``kind`` is one of KINDS' sources, ``name`` the task's, the call's or the phase's, ``who`` a host, a process or a machine.
    """

    begin: float
    end: float
    kind: str
    name: str
    who: str = ""

    @property
    def seconds(self) -> float:
        """Length."""
        return self.end - self.begin

    def holds(self, other: Span) -> bool:
        """Return whether another span lies within this one, as exactly as a trace has its times."""
        return self.begin - TRACED <= other.begin and other.end <= self.end + TRACED


# What a moment of the clock is counted for: the first of these that is under way.
KINDS = (
    ("kubeadm", "kubeadm itself"),
    ("unit", "the bootstrap's unit on the machine, beside kubeadm"),
    ("provider", "tasks of the machines' provider (machines made, endpoint)"),
    ("ssh", "calls of machines: SSH and the module there"),
    ("call", "calls of machines: made ready, answer read (controller)"),
    ("store", "store, journal, lock"),
    ("action", "the collection's actions, the rest"),
    ("task", "tasks, the rest: worker, imports, templates"),
    ("start", "before the first task"),
    ("stop", "after the last task"),
)
BETWEEN = "between tasks"


def tasks(lines: t.Iterable[str], end: float) -> list[Span]:
    """Return the tasks that the callback task_times noted.

    A task that has no end lasted until its host's next one, or until ``end``, the end of the run.
    """
    found: list[Span] = []
    open_tasks: dict[str, Span] = {}
    for event in map(json.loads, lines):
        if event["event"] not in ("start", "end"):
            continue
        before = open_tasks.pop(event["host"], None)
        if before is not None:
            found.append(replace(before, end=event["at"]))
        if event["event"] == "start":
            kind = "provider" if PROVIDERS.search(event["task"]) else "task"
            open_tasks[event["host"]] = Span(event["at"], end, kind, event["task"], event["host"])
    return sorted([*found, *open_tasks.values()], key=lambda each: each.begin)


def points(trace: str) -> list[Span]:
    """Return what lies between two failpoints: calls of machines, actions, writes of store, journal and lock.

    ``who`` is the process. What was cut off before its end is left out.
    """
    found: list[Span] = []
    begun: dict[tuple[str, str], list[float]] = {}
    for line in trace.splitlines():
        point = _POINT.fullmatch(line)
        if point is None:
            continue
        at, pid, what = float(point["at"]), point["pid"], point["what"]
        if point["when"] == "before":
            begun.setdefault((pid, what), []).append(at)
        elif begun.get((pid, what)):
            site, _space, detail = what.partition(" ")
            kind = {"node": "call", "action": "action"}.get(site, "store" if what.startswith(_STORED) else site)
            # The action's own name stands before "before", in every point within it.
            name = detail if kind == "call" else what if kind == "store" else _action(line)
            found.append(Span(begun[(pid, what)].pop(), at, kind, name, pid))
    return sorted(found, key=lambda each: each.begin)


def _action(line: str) -> str:
    found = re.search(r"(\w+): (?:before|after) ", line)
    return found[1] if found else ""


def ssh(lines: t.Iterable[str]) -> list[Span]:
    """Return ssh's processes, of lines "BEGIN END PARENT ADDRESS".

    ``name`` is the address, ``who`` the process that started ssh.
    """
    fields = (line.split() for line in lines)
    return [Span(float(each[0]), float(each[1]), "ssh", each[3], each[2]) for each in fields if len(each) == 4]


def phases(lines: t.Sequence[str], machine: str) -> list[Span]:
    """Return kubeadm's run on a machine and its phases.

    ``lines`` are "TIME begin", "TIME [phase" for each line that it printed, and "TIME end". A phase lasts until another one is named; what
    comes before the first is "start".
    """
    found: list[Span] = []
    begin, name, since = 0.0, "", 0.0
    for line in lines:
        time, _space, what = line.partition(" ")
        at, tag = float(time), what.lstrip("[")
        if what == "begin":
            begin, name, since = at, "start", at
        elif name and tag != name:
            found.append(Span(since, at, "phase", name, machine))
            name, since = tag, at
        if what == "end" and begin:
            found.append(Span(begin, at, "kubeadm", "kubeadm", machine))
            begin, name = 0.0, ""
    return found


def shares(spans: t.Sequence[Span], begin: float, end: float) -> dict[str, float]:
    """Return the seconds of each kind; together they are the whole, from ``begin`` to ``end``.

    Each moment is counted once, for the first kind of KINDS that is under way.
    """
    ran = [each for each in spans if each.kind in ("task", "provider")]
    first, last = min((each.begin for each in ran), default=end), max((each.end for each in ran), default=end)
    spans = [*spans, Span(begin, first, "start", ""), Span(last, end, "stop", "")]
    found: dict[str, float] = {}
    covered: list[tuple[float, float]] = []
    counted = 0.0
    for kind, label in KINDS:
        covered += [(max(each.begin, begin), min(each.end, end)) for each in spans if each.kind == kind]
        total = covered_seconds(covered)
        found[label] = total - counted
        counted = total
    return {**found, BETWEEN: end - begin - counted}


def covered_seconds(intervals: t.Iterable[tuple[float, float]]) -> float:
    """Return the length of the union of intervals."""
    total, reached = 0.0, float("-inf")
    for begin, end in sorted(intervals):
        if end > max(reached, begin):
            total += end - max(reached, begin)
            reached = end
    return total


def sums(spans: t.Iterable[Span], key: t.Callable[[Span], str] = lambda each: each.name) -> list[dict[str, t.Any]]:
    """Return one row for each name: ``name``, ``count``, ``seconds`` in all and of the ``longest``, the largest sum first."""
    rows: dict[str, dict[str, t.Any]] = {}
    for each in spans:
        row = rows.setdefault(key(each), {"name": key(each), "count": 0, "seconds": 0.0, "longest": 0.0})
        row["count"] += 1
        row["seconds"] += each.seconds
        row["longest"] = max(row["longest"], each.seconds)
    return sorted(rows.values(), key=lambda row: -row["seconds"])


def folded(rows: t.Sequence[dict[str, t.Any]], least: float) -> list[dict[str, t.Any]]:
    """Return the rows of :func:`sums` with those of less than ``least`` seconds as one, the last."""
    few = [row for row in rows if row["seconds"] < least]
    if len(few) < 2:
        return list(rows)
    one = {"name": f"{len(few)} others", "count": sum(row["count"] for row in few)}
    longest = max(row["longest"] for row in few)
    kept = [row for row in rows if row["seconds"] >= least]
    return [*kept, {**one, "seconds": sum(row["seconds"] for row in few), "longest": longest}]


def calls(spans: t.Sequence[Span]) -> list[dict[str, t.Any]]:
    """Return the rows of the calls of machines, as :func:`sums`, with the seconds ``within_ssh``."""
    rows = sums(each for each in spans if each.kind == "call")
    for row in rows:
        named = [each for each in spans if each.kind == "call" and each.name == row["name"]]
        row["within_ssh"] = sum(one.seconds for each in named for one in _within(each, spans))
    return rows


def machines(spans: t.Sequence[Span], names: t.Mapping[str, str]) -> list[dict[str, t.Any]]:
    """Return one row for each machine: ``name``, ``calls``, ``seconds`` of these, and of its ``unit`` and of ``kubeadm``.

    ``names`` gives the machine's name of an address.
    """
    rows: dict[str, dict[str, t.Any]] = {}

    def row(name: str) -> dict[str, t.Any]:
        return rows.setdefault(name, {"name": name, "calls": 0, "seconds": 0.0, "unit": 0.0, "kubeadm": 0.0})

    for each in spans:
        if each.kind == "call":
            for address in {one.name for one in _within(each, spans)}:
                found = row(names.get(address, address))
                found["calls"] += 1
                found["seconds"] += each.seconds
        elif each.kind in ("unit", "kubeadm"):
            row(each.who)[each.kind] += each.seconds
    return sorted(rows.values(), key=lambda each: (-each["seconds"], each["name"]))


def _within(call: Span, spans: t.Sequence[Span]) -> list[Span]:
    return [each for each in spans if each.kind == "ssh" and each.who == call.who and call.holds(each)]


def table(head: t.Sequence[str], rows: t.Sequence[t.Sequence[str]]) -> str:
    """Return a table in plain text: the first column to the left, the others to the right."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines = (
        "  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))])
        for row in (head, *rows)
    )
    return "\n".join(f"  {line.rstrip()}" for line in lines)


def share(seconds: float, whole: float) -> str:
    """Return a share of the whole in per cent."""
    return f"{100 * seconds / whole:.0f} %" if whole > 0 else "-"
