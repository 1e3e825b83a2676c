# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Journal's entries into the runs of a report. Pure."""

from __future__ import annotations

import typing as t

from ...module_utils.common.values import clip, parse_time
from .model import FAILED, INTERRUPTED, KILLED, NO_END, OPEN, ClusterReport, Phase, Run, Span, State, Step, Wait

Entry = t.Mapping[str, t.Any]

MOST_STEPS, MOST_WAITS, MOST_NOTES = 200, 60, 60
_TEXT, _NAME = 600, 100


def read(
    entries: t.Iterable[Entry],
    namespace: str,
    name: str,
    *,
    run: str = "",
    since: str = "",
    most: int = 10,
    watched: t.Optional[t.Sequence[Span]] = None,
) -> ClusterReport:
    """Return a cluster's report.

    Args:
        entries: the journal's entries, oldest first, of any release.
        namespace: the cluster's namespace.
        name: its name.
        run: the id of the only run that is wanted; "" for all.
        since: RFC 3339; runs that ended before it are left out; "" for none.
        most: so many of the newest runs; the others are counted.
        watched: spans in which a watcher had no answer of the endpoint, where there was a watcher.
    """
    runs, certificates = _runs(entries)
    if watched is not None:
        for each in runs:
            each.watched_gaps = [
                (max(begin, each.began), min(end, each.last))
                for begin, end in watched
                if begin < each.last and end > each.began
            ]
    earliest = parse_time(since) or 0
    wanted = [each for each in runs if run in ("", each.identifier) and each.last >= earliest][::-1]
    return ClusterReport(
        namespace=namespace,
        name=name,
        runs=wanted[:most],
        older=len(wanted[most:]),
        until=max((each.last for each in runs), default=None),
        newest=next((each for each in reversed(runs) if each.states), None),
        certificates=certificates,
    )


def watched_gaps(lines: t.Iterable[Entry]) -> list[Span]:
    """Return the endpoint's gaps of a watcher's samples.

    From its last answer before a failure to the first after it.

    Args:
        lines: samples ``{"t": seconds since the epoch, "what": "endpoint", "ok": bool}``, oldest first; others are left out.
    """
    gaps: list[Span] = []
    answered: t.Optional[float] = None
    failed = False
    time = None
    for each in lines:
        if each.get("what") != "endpoint" or not isinstance(each.get("t"), (int, float)):
            continue
        time = float(each["t"])
        if each.get("ok") is not True:
            failed = True
            continue
        if failed and answered is not None:
            gaps.append((answered, time))
        answered, failed = time, False
    return [*gaps, (answered, time)] if failed and answered is not None and time is not None else gaps


def _runs(entries: t.Iterable[Entry]) -> tuple[list[Run], list[tuple[str, float]]]:
    runs: dict[str, Run] = {}
    steps: dict[str, tuple[Run, Step]] = {}
    certificates: list[tuple[str, float]] = []
    current: t.Optional[Run] = None
    for entry in entries:
        time = parse_time(entry.get("time"))
        if time is None:
            continue
        event, details = entry.get("event"), entry.get("details")
        details = details if isinstance(details, dict) else {}
        if event == "outcome":
            found = steps.get(str(entry.get("id")))
            if found is not None:
                _end_step(*found, time, entry)
            continue
        identifier = clip(entry.get("run"), _NAME)
        # What belongs to no run, as a snapshot that was kept, is told with the one before it.
        if identifier or current is None:
            current = runs.setdefault(identifier, Run(identifier=identifier, began=time, last=time))
        current.last = max(current.last, time)
        _take(current, str(event), time, entry, details, steps)
        if event == "state" and details.get("certificates"):
            certificates = sorted(_times(details["certificates"]))
    ordered = list(runs.values())
    _conclude(ordered)
    return ordered, certificates


def _take(run: Run, event: str, time: float, entry: Entry, details: Entry, steps: dict[str, tuple[Run, Step]]) -> None:
    message = clip(entry.get("message"), _TEXT)
    if event == "intent":
        _end_waits(run, time)
        step = Step(
            clip(entry.get("action"), _NAME),
            clip(entry.get("target"), _NAME),
            time,
            clip(details.get("message"), _TEXT),
        )
        before, after = _number(details.get("votersBefore")), _number(details.get("votersAfter"))
        step.voters = (before, after) if before is not None and after is not None else None
        if not run.steps and isinstance(details.get("plan"), str):
            run.planned = [clip(each, _NAME) for each in details["plan"].split()[:MOST_STEPS]]
        run.states.append(_state(time, details))
        if len(run.steps) < MOST_STEPS:
            run.steps.append(step)
        else:
            run.left_out += 1
        steps[str(entry.get("id"))] = (run, step)
    elif event == "phases":
        _add_phases(run, clip(entry.get("target"), _NAME), _times(details.get("phases")))
    elif event == "state":
        run.states.append(_state(time, details))
    elif event == "wait":
        _end_waits(run, time)
        if len(run.waits) < MOST_WAITS:
            run.waits.append(Wait(clip(details.get("reason"), _NAME), message.removeprefix("waiting: "), time))
    elif event == "waited":
        _end_waits(run, time)
    elif event == "end":
        _end_waits(run, time)
        run.playbook, run.message = clip(details.get("playbook"), _NAME), message
        run.result = clip(details.get("result"), _NAME) or NO_END
    elif event == "note" and len(run.notes) < MOST_NOTES:
        run.notes.append((time, message))


def _end_step(run: Run, step: Step, time: float, entry: Entry) -> None:
    step.ended, step.result = time, clip(entry.get("result"), _NAME)
    step.message = clip(entry.get("message"), _TEXT)
    # The next run writes that it found a step interrupted: that is no time of the run itself.
    if step.result != INTERRUPTED:
        run.last = max(run.last, time)


def _end_waits(run: Run, time: float) -> None:
    if run.waits and run.waits[-1].ended is None:
        run.waits[-1].ended = time


def _add_phases(run: Run, machine: str, seen: list[tuple[str, float]]) -> None:
    step = next((each for each in reversed(run.steps) if each.target in (machine, "") or each.ended is None), None)
    if step is None or not seen:
        return
    # A new machine's name isn't known yet where its step begins.
    step.target = step.target or machine
    for name, began in seen:
        # The machine's clock is not this one's: a phase began within its step.
        began = max(began, step.phases[-1].began if step.phases else step.began)
        if step.phases:
            step.phases[-1] = Phase(step.phases[-1].name, step.phases[-1].began, began)
        step.phases.append(Phase(name, began, began))


def _conclude(runs: list[Run]) -> None:
    """Give runs without an end their result, and open phases an end."""
    # Runs of earlier releases have no ends, also where a later release went on with their journal.
    first = next((number for number, each in enumerate(runs) if _has_facts(each)), len(runs))
    for number, run in enumerate(runs):
        for step in run.steps:
            if step.phases:
                newest = step.phases[-1]
                step.phases[-1] = Phase(newest.name, newest.began, max(newest.began, run.end_of(step)))
        if run.result != NO_END:
            continue
        results = [each.result for each in run.steps]
        if FAILED in results:
            run.result = FAILED
            run.message = next(each.message for each in run.steps if each.result == FAILED)
        elif INTERRUPTED in results or (number >= first and run is not runs[-1] and (run.steps or run.waits)):
            run.result = KILLED
        elif run.steps and OPEN not in results and number < first:
            run.result = "changed"


def _has_facts(run: Run) -> bool:
    """Return whether a run has what releases before 0.10.0 did not write."""
    seen = any(each.replicas is not None for each in run.states)
    return run.result != NO_END or seen or bool(run.planned or run.waits or any(each.phases for each in run.steps))


def _state(time: float, details: Entry) -> State:
    endpoint = details.get("endpoint")
    return State(
        time=time,
        leader=clip(details.get("leader"), _NAME),
        endpoint=endpoint if isinstance(endpoint, bool) else None,
        **{key: _number(details.get(key)) for key in ("voters", "healthy", "quorum", "replicas", "wanted")},
    )


def _times(value: t.Any) -> list[tuple[str, float]]:
    found = []
    for each in value if isinstance(value, list) else []:
        if isinstance(each, list) and len(each) == 2:
            time = parse_time(each[1])
            if time is not None:
                found.append((clip(each[0], _NAME), float(time)))
    return found


def _number(value: t.Any) -> t.Optional[int]:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1000 else None
