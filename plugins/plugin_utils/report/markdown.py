# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Report as Markdown, for a ticket.

Texts of others are code spans: nothing in them is a link, a mention, markup or HTML there.
"""

from __future__ import annotations

import re
import typing as t

from . import chart, model, words
from .elements import clock, count, duration, moment

_HARMLESS = re.compile(r"[A-Za-z0-9 ,;'-]*")


def markdown(reports: t.Sequence[model.ClusterReport]) -> str:
    """Return the clusters' report, sorted by trouble."""
    ordered = words.by_trouble(reports)
    lines = []
    if len(ordered) > 1:
        lines += [f"# Report of {len(ordered)} clusters", "", words.until(ordered), "", *_fleet(ordered)]
    for report in ordered:
        lines += [f"# Report of {_code(report.title)}" if len(ordered) == 1 else f"## {_code(report.title)}", ""]
        if len(ordered) == 1:
            lines += [words.until(ordered), ""]
        lines += _cluster(report)
    return "\n".join(lines).rstrip() + "\n"


def _fleet(reports: t.Sequence[model.ClusterReport]) -> list[str]:
    rows = []
    for report in reports:
        values = {name: value for name, value, _remark in words.figures(report)}
        why = _code(words.trouble(report)[1])
        rows.append((_code(report.title), words.last_run(report)[0], values.get("etcd's voters", "–"), why))
    return _table(("cluster", "last run", "etcd's voters", "why"), rows)


def _cluster(report: model.ClusterReport) -> list[str]:
    lines = [f"- {name}: {_value(value, remark)}" for name, value, remark in words.figures(report)]
    lines += [""] if lines else []
    for run in report.runs:
        lines += _run(run)
    if report.older:
        lines += [f"{count(report.older, 'older run')} left out.", ""]
    if not report.runs:
        said = words.without_runs(report)
        lines += [_code(said) if report.unread else said, ""]
    if report.certificates:
        now = report.until or 0.0
        ends = sorted(report.certificates, key=lambda each: (each[1], each[0]))
        rows = [(_code(name), moment(end)[:10], f"{words.days(end, now)} d") for name, end in ends]
        lines += ["### Certificates' ends", "", *_table(("certificate", "ends", "left"), rows)]
    return lines


def _run(run: model.Run) -> list[str]:
    span = f"{moment(run.began)} to {clock(run.last)} UTC"
    lines = [f"### {_code(words.run_title(run))}: {words.ending(run)[0]}, {span}", ""]
    message = words.MEANINGS.get(run.result, "") or run.message
    if message and run.result != "changed":
        lines += [f"{_code(message)}", ""]
    lines += [f"- {name}: {_value(value, remark)}" for name, value, remark in words.run_figures(run)]
    lines += [f"- run: {_code(run.identifier)}", ""]
    rows = []
    for action, step in run.compared():
        if step is None:
            rows.append((_code(str(action)), "", "", "", "planned, not done"))
            continue
        result = _words(chart.result_words(step)) + (", not in the plan" if run.planned and action is None else "")
        said = _code(step.message) if step.result != model.SUCCEEDED and step.message else ""
        taken = duration(run.end_of(step) - step.began)
        rows.append((_code(step.action), _code(step.target), clock(step.began), taken, f"{result} {said}".strip()))
    if rows:
        lines += _table(("step", "machine", "began", "took", "result"), rows)
    for step in run.steps:
        if step.phases:
            named = ", ".join(
                (_code(each.name) + (f" {duration(each.ended - each.began)}" if each.ended > each.began else ""))
                for each in step.phases
            )
            lines += [f"kubeadm on {_code(step.target)}: {named}", ""]
    for wait in run.waits:
        end = run.last if wait.ended is None else wait.ended
        lines.append(
            f"- {clock(wait.began)} waited {duration(end - wait.began)}: {_code(wait.reason)} {_code(wait.message)}"
        )
    votes = [f"{voters} from {clock(time)} (quorum {quorum})" for time, voters, quorum in run.votes()]
    lines += [f"- etcd's voters: {', '.join(votes)}"] if votes else []
    for begin, end in run.endpoint_gaps():
        lines.append(f"- no answer of the endpoint: {clock(begin)} to {clock(end)}, {duration(end - begin)}")
    return [*lines, ""] if lines[-1] else lines


def _value(value: str, remark: str) -> str:
    return f"{_words(value)} ({_words(remark)})" if remark else _words(value)


def _table(names: t.Sequence[str], rows: t.Iterable[t.Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(names) + " |", "|" + " --- |" * len(names)]
    lines += ["| " + " | ".join(each.replace("|", "\\|") for each in row) + " |" for row in rows]
    return [*lines, ""]


def _words(text: str) -> str:
    """Return words as they are where nothing in them can mean something."""
    return text if _HARMLESS.fullmatch(text) else _code(text)


def _code(text: str) -> str:
    line = " ".join(text.split()).replace("`", "'")
    return f"`{line}`" if line else ""
