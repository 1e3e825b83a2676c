# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Words and order of a report that all its forms share. Pure."""

from __future__ import annotations

import typing as t

from ...module_utils.common import settings
from . import model
from .elements import count, duration, moment

DAY = 86400
GOOD, WAITING, BAD = "good", "wait", "bad"
# How a run ended -> its words, and whether that is trouble.
_ENDS: t.Final[dict[str, tuple[str, str]]] = {
    "changed": ("✓ done", GOOD),
    "nothing": ("✓ nothing to do", GOOD),
    "waits": ("⏸ waiting", WAITING),
    "held": ("⏸ left to another run", WAITING),
    model.FAILED: ("✕ failed", BAD),
    model.KILLED: ("⚡ killed", BAD),
    model.NO_END: ("… no end recorded", WAITING),
}
_UNKNOWN = ("… ended", WAITING)
_ORDER = (BAD, WAITING, GOOD)
# What a run's result means where it needs a sentence.
MEANINGS = {
    model.KILLED: "The run ended without a word, as after a kill or a power cut. The next run found what was under way.",
    model.NO_END: "The journal has no end of this run: it is under way, or it was killed and none has followed.",
}


def ending(run: model.Run) -> tuple[str, str]:
    """Return a run's end in words, and GOOD, WAITING or BAD."""
    return _ENDS.get(run.result, _UNKNOWN)


def run_title(run: model.Run) -> str:
    """Return a run's name: its playbook, or "run"."""
    return run.playbook or "run"


def figures(report: model.ClusterReport) -> list[tuple[str, str, str]]:
    """Return a cluster's figures as of the journal's end: (name, value, remark)."""
    found: list[tuple[str, str, str]] = []
    state = report.state
    if state is not None and state.replicas is not None:
        wanted = f"of {state.wanted} wanted" if state.wanted is not None else ""
        found.append(("machines", str(state.replicas), wanted))
    if report.newest is not None and state is not None and state.voters is not None:
        _time, voters, quorum = report.newest.votes()[-1]
        found.append(("etcd's voters", str(voters), _tolerance(report.newest, state, quorum)))
    if state is not None and state.leader:
        found.append(("etcd's leader", state.leader, ""))
    if state is not None and state.endpoint is not None:
        found.append(("endpoint", "answers" if state.endpoint else "no answer", ""))
    if report.certificates and report.until is not None:
        name, end = soonest(report)
        found.append(("first certificate to end", f"{days(end, report.until)} d", name))
    return found


def _tolerance(run: model.Run, state: model.State, quorum: int) -> str:
    """Return etcd's quorum and how many voters may fail.

    Not how many where it was not observed after the last step began.
    """
    if state.healthy is None or any(each.began >= state.time for each in run.steps):
        return f"quorum {quorum}"
    if state.healthy < quorum:
        return f"{state.healthy} healthy, quorum {quorum}: it is lost"
    return f"{state.healthy} healthy, quorum {quorum}; {count(state.healthy - quorum, 'voter')} may fail"


def run_figures(run: model.Run) -> list[tuple[str, str, str]]:
    """Return a run's figures: (name, value, remark)."""
    found = [("took", duration(run.last - run.began), "")]
    done = [each for _action, each in run.compared() if each is not None and each.result == model.SUCCEEDED]
    kept = sum(1 for action, each in run.compared() if action is not None and each in done)
    if run.planned:
        extra = len(done) - kept
        remark = f"and {count(extra, 'step')} that the plan had not" if extra else "of the plan's steps"
        found.append(("planned and done", f"{kept} of {len(run.planned)}", remark))
    else:
        found.append(("steps done", f"{len(done)} of {len(run.steps) + run.left_out}", "no plan was recorded"))
    if run.waits:
        found.append(("waited between steps", duration(run.waited), count(len(run.waits), "wait")))
    gaps = run.endpoint_gaps()
    if gaps:
        found.append(("endpoint's gaps", duration(sum(end - begin for begin, end in gaps)), count(len(gaps), "gap")))
    elif run.watched_gaps is not None:
        found.append(("endpoint's gaps", "none", "by a watcher's record"))
    return found


def soonest(report: model.ClusterReport) -> tuple[str, float]:
    """Return name and end of the certificate that ends first.

    There has to be one.
    """
    return min(report.certificates, key=lambda each: each[1])


def days(end: float, now: float) -> int:
    """Return the whole days that are left, negative where it is over."""
    return int((end - now) // DAY)


def trouble(report: model.ClusterReport) -> tuple[str, str]:
    """Return GOOD, WAITING or BAD of a cluster, and why in words."""
    if report.unread:
        return BAD, f"the journal could not be read: {report.unread}"
    if not report.runs:
        return WAITING, "no run in the journal"
    newest = report.runs[0]
    said, kind = ending(newest)
    if kind == GOOD and report.certificates and report.until is not None:
        name, end = soonest(report)
        if days(end, report.until) < settings.CERTIFICATES_SOON_DAYS:
            return WAITING, f"{name} ends in {days(end, report.until)} days"
    return kind, newest.message or MEANINGS.get(newest.result, "") if kind != GOOD else said


def last_run(report: model.ClusterReport) -> tuple[str, str]:
    """Return how a cluster's newest run ended, in words, and its kind."""
    if report.unread:
        return "✕ not read", BAD
    return ending(report.runs[0]) if report.runs else ("… no run", WAITING)


def without_runs(report: model.ClusterReport) -> str:
    """Return why a cluster has no run here."""
    return trouble(report)[1] if report.unread else "The journal has no run that was asked for."


def by_trouble(reports: t.Iterable[model.ClusterReport]) -> list[model.ClusterReport]:
    """Return clusters, those in trouble first, then by name."""
    return sorted(reports, key=lambda each: (_ORDER.index(trouble(each)[0]), each.title))


def until(reports: t.Iterable[model.ClusterReport]) -> str:
    """Return up to when the journals reach, in words."""
    newest = max((each.until for each in reports if each.until is not None), default=None)
    return "The journal is empty." if newest is None else f"By the journal until {moment(newest)} UTC."
