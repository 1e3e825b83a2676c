# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a watcher's samples say: how long etcd was without quorum and the endpoint without an answer, step by step. Pure.

A sample is ``{"t": seconds since the epoch at which the answer was there, "what": "etcd" | "endpoint", "ok": bool, …}``; any
member's linearizable read proves quorum. A gap is the time between two proofs, where it is longer than two intervals. Gaps are
figures: they say as much of the host as of the cluster. ``votes`` is true on any host: at each look at the member list, a
majority runs of which nothing is being done to anybody.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from datetime import datetime, timezone

Object = dict[str, t.Any]
# The journal's times are whole seconds, cut off: a step may have ended almost a second after the time that is written there.
JOURNAL_SECONDS = 1.0
ERRORS_TOLD = 5


@dataclass(frozen=True)
class Step:
    """One step of a run, from its intent to its outcome (none: it was never told), in seconds since the epoch."""

    action: str
    target: str
    begin: float
    end: float
    result: str = ""

    def overlaps(self, begin: float, end: float) -> bool:
        """Whether a span of time and the step have a moment in common."""
        return begin <= self.end and end >= self.begin


def steps_of(journal: t.Iterable[t.Mapping[str, t.Any]], until: float) -> list[Step]:
    """The steps of a cluster's journal; one without an outcome lasts ``until``."""
    entries = list(journal)
    outcomes = {each["id"]: each for each in entries if each.get("event") == "outcome"}
    found = []
    for entry in entries:
        if entry.get("event") != "intent":
            continue
        outcome = outcomes.get(entry["id"])
        end = epoch(outcome["time"]) + JOURNAL_SECONDS if outcome else until
        result = str(outcome["result"]) if outcome else ""
        found.append(Step(str(entry["action"]), str(entry.get("target") or ""), epoch(entry["time"]), end, result))
    return found


def epoch(time: str) -> float:
    """RFC 3339 in UTC with seconds → seconds since the epoch."""
    return datetime.strptime(time, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc).timestamp()


def gaps(proofs: t.Iterable[float], end: float, longest_normal: float) -> list[tuple[float, float]]:
    """The spans (begin, end) between two proofs that are longer than is normal. Before the first proof nothing is counted."""
    times = sorted(proofs)
    if not times:
        return []
    return [(one, two) for one, two in zip(times, [*times[1:], max(end, times[-1])]) if two - one > longest_normal]


def summarize(
    samples: t.Sequence[t.Mapping[str, t.Any]],
    journal: t.Iterable[t.Mapping[str, t.Any]],
    end: float,
    interval: float,
) -> Object:
    """The figures of a watch that ended at ``end``.

    Returns:
        ``votes``; ``quorum`` and ``endpoint`` of all, the same for each of ``steps``, and ``between_steps``. No step is exempt, that from one
        voter to two neither.
    """
    late = [(each["t"], each["seconds"]) for each in samples if each["what"] == "late"]
    steps = steps_of(journal, end)
    found: Object = {"interval_seconds": interval, "watched_seconds": _watched(samples, end)}
    answers = {
        key: _answers(samples, what, end, interval) for key, what in (("quorum", "etcd"), ("endpoint", "endpoint"))
    }
    for key, (ours, spans) in answers.items():
        found[key] = _figures(spans, ours, late)
        for number, step in enumerate(steps):
            entry = found.setdefault("steps", [{} for _each in steps])[number]
            entry.update(_named(step))
            within = [each for each in ours if step.overlaps(each["t"], each["t"])]
            entry[key] = _figures([span for span in spans if step.overlaps(*span)], within, late)
        between = [span for span in spans if not any(step.overlaps(*span) for step in steps)]
        rest = [each for each in ours if not any(step.overlaps(each["t"], each["t"]) for step in steps)]
        found.setdefault("between_steps", {})[key] = _figures(between, rest, late)
    found.setdefault("steps", [])
    found["votes"] = _votes([each for each in samples if each["what"] == "members"], steps)
    found["elections"] = _elections(samples)
    return found


def faults(found: t.Mapping[str, t.Any]) -> list[str]:
    """What a summary holds against the cluster on any host, however slow: lost writes, votes that were short, nothing watched."""
    writes, votes = found["writes"], found["votes"]
    said = [f"write {number} was confirmed and is not there" for number in writes["lost"]]
    said += [f"a majority hung on the machine that was worked on: {look}" for look in votes["short"]]
    if not writes["confirmed"] or not votes["looks"]:
        said.append(f"nothing was watched: {writes['confirmed']} writes, {votes['looks']} looks at the members")
    return said


def _figures(
    spans: t.Sequence[tuple[float, float]],
    samples: t.Sequence[t.Mapping[str, t.Any]],
    late: t.Sequence[tuple[float, float]],
) -> Object:
    failed = [each for each in samples if not each["ok"]]
    figures: Object = {
        "longest_gap_seconds": round(max((two - one for one, two in spans), default=0.0), 2),
        "total_gap_seconds": round(sum(two - one for one, two in spans), 2),
        # Of these the ones in which a question was not answered: on a busy host answers come late, and they come.
        "unanswered_seconds": round(sum(two - one for one, two in spans if _unanswered(one, two, failed)), 2),
        "asked": len(samples),
        "failed": len(failed),
    }
    if spans:
        figures["gaps"] = [
            {
                "from": _readable(one),
                "seconds": round(two - one, 2),
                # The watcher itself got no CPU: such a gap says nothing of the cluster.
                "watcher_late_seconds": round(sum(seconds for at, seconds in late if one <= at <= two + seconds), 2),
            }
            for one, two in spans
        ]
    errors: dict[str, int] = {}
    for each in failed:
        text = f"{each.get('name') or 'endpoint'}: {each.get('error') or 'no answer'}"
        errors[text] = errors.get(text, 0) + 1
    if errors:
        figures["errors"] = dict(sorted(errors.items(), key=lambda item: -item[1])[:ERRORS_TOLD])
    return figures


def _unanswered(begin: float, end: float, failed: t.Iterable[t.Mapping[str, t.Any]]) -> bool:
    """Whether a question that failed was asked, or given up, between two answers."""
    return any(each["t"] > begin and each["t"] - each.get("seconds", 0.0) < end for each in failed)


def _answers(
    samples: t.Sequence[t.Mapping[str, t.Any]], what: str, end: float, interval: float
) -> tuple[list[t.Mapping[str, t.Any]], list[tuple[float, float]]]:
    """The samples of one kind, and the gaps between those that are proofs."""
    ours = [each for each in samples if each["what"] == what]
    proofs = [each["t"] for each in ours if each["ok"]]
    # What fails before the first success is a cluster that isn't there yet.
    return [each for each in ours if proofs and each["t"] >= min(proofs)], gaps(proofs, end, 2 * interval)


def _votes(looks: t.Sequence[t.Mapping[str, t.Any]], steps: t.Sequence[Step]) -> Object:
    """How often the member list was looked at, and each look at which the loss of one more machine could have been the quorum's.

    The machine that a step is about counts as lost. With two voters any loss is the quorum's, whoever they are: there it is looked for
    a voter that never started, without which nothing is written.
    """
    short = []
    for look in looks:
        about = [step for step in steps if step.overlaps(look["t"] - JOURNAL_SECONDS, look["t"] + JOURNAL_SECONDS)]
        majority = look["voters"] // 2 + 1
        stay = max(len(set(look["started"]) - {target}) for target in [each.target for each in about] or [""])
        if look["voters"] <= 2:
            stay = len(set(look["started"]))
        if stay < majority:
            said = ", ".join(f"{each.action} {each.target}" for each in about) or "no step"
            short.append(f"{_readable(look['t'])}: {stay} of {look['voters']} votes ({said})")
    return {"looks": len(looks), "short": short}


def _elections(samples: t.Sequence[t.Mapping[str, t.Any]]) -> list[Object]:
    """Each change of etcd's leader or term that was seen."""
    seen = [each for each in samples if each["what"] == "leader"]
    return [
        {"time": _readable(each["t"]), "term": each["term"], "leader": each["leader"], "was": before["leader"]}
        for before, each in zip(seen, seen[1:])
    ]


def _watched(samples: t.Sequence[t.Mapping[str, t.Any]], end: float) -> float:
    begin = min((each["t"] for each in samples if each.get("ok")), default=end)
    return round(end - begin, 1)


def _named(step: Step) -> Object:
    return {
        "action": step.action,
        "target": step.target,
        "begin": _readable(step.begin),
        "seconds": round(step.end - step.begin),
        "result": step.result,
    }


def _readable(time: float) -> str:
    return datetime.fromtimestamp(time, timezone.utc).strftime("%H:%M:%S.%f")[:-4]
