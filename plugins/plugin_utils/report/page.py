# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Report as one HTML page: no script, no address outside itself."""

from __future__ import annotations

import typing as t

from ...module_utils.common import settings
from . import chart, model, words
from .elements import Element, clock, count, duration, el, html_text, moment, svg_text
from .style import page_style, picture_style

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_KEY = (
    ("makes", "machine made"),
    ("removes", "machine removed"),
    ("other", "other step"),
    ("phase-a", "kubeadm's phases"),
    ("wait", "wait"),
    ("good", "endpoint answers"),
    ("failed", "✕ failed, no answer"),
)


def page(reports: t.Sequence[model.ClusterReport]) -> str:
    """Return the clusters' page, sorted by trouble.

    The same reports give the same text.
    """
    ordered = words.by_trouble(reports)
    title = f"Report of {ordered[0].title}" if len(ordered) == 1 else f"Report of {len(ordered)} clusters"
    main = el("main", *([_fleet(ordered)] if len(ordered) > 1 else []))
    for number, report in enumerate(ordered):
        main.append(_cluster(report, f"c{number}", alone=len(ordered) == 1))
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        el("title", title),
        el("style", page_style()),
    )
    header = el("header", el("h1", title), el("p", words.until(ordered), class_="muted"))
    footer = el(
        "footer", el("p", "Times are UTC. Made by the playbook kubeadm.control_plane.report from the journals alone.")
    )
    return html_text(el("html", head, el("body", header, main, footer), lang="en"))


def picture_file(run: model.Run, name: str) -> str:
    """Return a run's picture as a file of its own."""
    drawn = chart.picture(run, name, "run")
    drawn.insert(0, el("style", picture_style()))
    return svg_text(drawn)


def _fleet(reports: t.Sequence[model.ClusterReport]) -> Element:
    names = ("cluster", "last run", "ended", "etcd's voters", "first certificate to end", "why")
    rows = []
    for number, report in enumerate(reports):
        values = {name: value for name, value, _remark in words.figures(report)}
        newest = report.runs[0] if report.runs else None
        rows.append(
            el(
                "tr",
                el("th", el("a", report.title, href=f"#c{number}"), scope="row"),
                el("td", _badge(*words.last_run(report)), data_is=names[1]),
                el("td", moment(newest.last) if newest else "–", data_is=names[2]),
                el("td", values.get(names[3], "–"), data_is=names[3]),
                el("td", values.get(names[4], "–"), data_is=names[4]),
                el("td", words.trouble(report)[1], class_="said", data_is=names[5]),
            )
        )
    head = el("thead", el("tr", *(el("th", name, scope="col") for name in names)))
    caption = el("h2", "Clusters, those in trouble first")
    return el("section", caption, el("div", el("table", head, el("tbody", *rows), class_="fleet"), class_="card"))


def _cluster(report: model.ClusterReport, key: str, *, alone: bool) -> Element:
    found = el("section", id=key)
    if not alone:
        found.append(el("h2", report.title))
    kind, why = words.trouble(report)
    # What the newest run says stands in it.
    if kind != words.GOOD and report.runs and words.ending(report.runs[0])[1] == words.GOOD:
        found.append(el("p", why, class_="said bad" if kind == words.BAD else "said"))
    tiles = words.figures(report)
    if tiles:
        found.append(_tiles(tiles))
    for number, run in enumerate(report.runs):
        found.append(_run(run, report.name, f"{key}r{number}", opened=number == 0))
    if report.older:
        found.append(
            el("p", f"{count(report.older, 'older run')} left out (control_plane_report_runs).", class_="muted")
        )
    if not report.runs:
        found.append(el("p", words.without_runs(report), class_="said bad" if report.unread else "muted"))
    if report.certificates:
        found.append(_certificates(report))
    return found


def _run(run: model.Run, name: str, key: str, *, opened: bool) -> Element:
    said, kind = words.ending(run)
    span = f"{moment(run.began)} to {clock(run.last)}"
    summary = el("summary", f"{words.run_title(run)} ", _badge(said, kind), " ", el("span", span, class_="muted"))
    body = el("details", summary, class_="run card", open="" if opened else None)
    message = words.MEANINGS.get(run.result, "") or run.message
    if message and run.result != "changed":
        body.append(el("p", message, class_="said bad" if kind == words.BAD else "said"))
    body.append(_tiles(words.run_figures(run)))
    if run.steps or run.waits or run.states:
        for width, class_ in ((chart.WIDE, "wide"), (chart.NARROW, "narrow")):
            drawn = chart.picture(run, name, f"{key}{class_[0]}", width)
            drawn.set("class", f"chart {class_}")
            body.append(drawn)
        body.append(_key(run))
    rows = [_compared(action, step, run) for action, step in run.compared()]
    if rows:
        body.append(el("h3", "Planned against done" if run.planned else "Steps"))
        body.append(el("ol", *rows, class_="steps"))
    if run.left_out:
        body.append(el("p", f"{count(run.left_out, 'more step')} left out.", class_="muted"))
    _lists(run, body)
    body.append(el("p", "Run ", el("code", run.identifier or "without a name"), class_="muted"))
    return body


def _lists(run: model.Run, body: Element) -> None:
    waits = []
    for wait in run.waits:
        end = run.last if wait.ended is None else wait.ended
        head = _head(wait.reason or "wait", clock(wait.began), duration(end - wait.began))
        waits.append(el("li", head, el("div", wait.message, class_="said muted")))
    gaps = [
        el("li", _head("no answer", f"{clock(begin)} to {clock(end)}", duration(end - begin)))
        for begin, end in run.endpoint_gaps()
    ]
    leaders = [el("li", _head(name, f"from {clock(time)}", "")) for time, name in run.leaders()]
    notes = [el("li", el("time", clock(time)), " ", el("span", said, class_="said")) for time, said in run.notes]
    watcher = " (a watcher's record)" if run.watched_gaps is not None else " (between two observations)"
    for title, rows in (
        ("Waits and their reasons", waits),
        (f"Gaps of the endpoint{watcher}", gaps),
        ("etcd's leader", leaders if len(leaders) > 1 else []),
    ):
        if rows:
            body.append(el("h3", title))
            body.append(el("ul", *rows, class_="plain"))
    if notes:
        body.append(
            el("details", el("summary", f"What else was changed ({len(notes)})"), el("ul", *notes, class_="plain"))
        )


def _compared(action: t.Optional[str], step: t.Optional[model.Step], run: model.Run) -> Element:
    if step is None:
        head = el("div", el("b", f"○ {action}"), el("span", "planned, not done", class_="end"), class_="head planned")
        return el("li", head)
    good = step.result == model.SUCCEEDED
    mark = "✓" if good else "✕" if step.result == model.FAILED else "…"
    title = f"{mark} {step.action} {step.target}".strip()
    taken = f"{duration(run.end_of(step) - step.began)}"
    row = el("li", _head(title, clock(step.began), taken if good else f"{taken}, {chart.result_words(step)}"))
    if run.planned and action is None:
        row[0].insert(1, _badge("not in the plan", words.WAITING))
    if step.said:
        row.append(el("div", step.said, class_="said muted"))
    if not good and step.message:
        row.append(el("div", step.message, class_="said bad"))
    if step.phases:
        phases = [
            el(
                "li",
                el("code", each.name),
                el("span", _span(each), class_="muted"),
            )
            for each in step.phases
        ]
        row.append(
            el("details", el("summary", f"kubeadm's {count(len(phases), 'phase')}"), el("ul", *phases, class_="phases"))
        )
    return row


def _certificates(report: model.ClusterReport) -> Element:
    now = report.until or 0.0
    rows = []
    for name, end in sorted(report.certificates, key=lambda each: (each[1], each[0])):
        left = words.days(end, now)
        kind = words.BAD if left < 0 else words.WAITING if left < settings.CERTIFICATES_SOON_DAYS else words.GOOD
        said = "✕ over" if left < 0 else f"{'!' if kind == words.WAITING else '✓'} {left} d"
        rows.append(
            el(
                "li",
                el(
                    "div",
                    el("b", name),
                    el("time", moment(end)[:10]),
                    el("span", _badge(said, kind), class_="end"),
                    class_="head",
                ),
            )
        )
    found = el("details", el("summary", el("b", f"Certificates' ends ({len(rows)})")), class_="card")
    found.append(el("ul", *rows, class_="plain"))
    return found


def _head(title: str, when: str, taken: str) -> Element:
    return el("div", el("b", title), el("time", when), el("span", taken, class_="end"), class_="head")


def _span(phase: model.Phase) -> str:
    # Those that one observation found at once have the same time, and no duration that is known.
    taken = phase.ended - phase.began
    return f"{clock(phase.began)}, {duration(taken)}" if taken else clock(phase.began)


def _badge(text: str, kind: str) -> Element:
    return el("span", text, class_=f"badge {kind}")


def _tiles(found: t.Iterable[tuple[str, str, str]]) -> Element:
    tiles = []
    for name, value, remark in found:
        tiles.append(el("div", el("dt", name), el("dd", value, el("small", remark) if remark else None)))
    return el("dl", *tiles, class_="tiles")


def _key(run: model.Run) -> Element:
    there = {chart.kind_of(each) for each in run.steps}
    there |= {"phase-a"} if any(each.phases for each in run.steps) else set()
    there |= {"wait"} if run.waits else set()
    there |= {"good"} if any(each.endpoint for each in run.states) else set()
    there |= {"failed"} if run.endpoint_gaps() else set()
    return el(
        "p", *(el("span", said, style=f"--c: var(--{name})") for name, said in _KEY if name in there), class_="key"
    )
