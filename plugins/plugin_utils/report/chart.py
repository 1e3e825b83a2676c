# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Picture of a run as SVG.

Its rows are the steps of each machine, waits, the endpoint, etcd's leader, and its voters against its quorum. All rows share one
axis of time. What a colour tells, a word or a pattern tells, too.
"""

from __future__ import annotations

import typing as t

from . import model
from .elements import Element, clock, count, duration, el

WIDE, NARROW = 920, 358
_LABELS = 196
_MARGIN = 10
_BAR, _STRIP, _BAND = 22, 6, 16
_GAP = 12
_CHART = 84
_TICKS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)
_REMOVES = ("remove", "removeMember", "removeNode", "deleteMachines", "deleteInfrastructure")
_MAKES = ("initialize", "join", "adopt", "recoverSingleVoter", "restore")
_MARKS = {model.FAILED: "✕ ", model.INTERRUPTED: "⚡ ", model.OPEN: "… "}
_RESULTS = {model.INTERRUPTED: "interrupted", model.OPEN: "no end recorded"}


def result_words(step: model.Step) -> str:
    """Return how a step ended."""
    return _RESULTS.get(step.result, step.result)


def kind_of(step: model.Step) -> str:
    """Return a step's kind: makes, removes, other or failed."""
    if step.result not in (model.SUCCEEDED, model.OPEN, model.INTERRUPTED):
        return "failed"
    return "removes" if step.action in _REMOVES else "makes" if step.action in _MAKES else "other"


def picture(run: model.Run, name: str, key: str, width: int = WIDE) -> Element:
    """Return a run's picture.

    Args:
        run: at least one entry of its journal.
        name: the cluster's name, for the title.
        key: what distinguishes the picture's identifiers from others in one page.
        width: WIDE has labels beside the rows, anything narrower above them.
    """
    return _Picture(run, name, key, width).draw()


class _Picture:
    def __init__(self, run: model.Run, name: str, key: str, width: int) -> None:
        self._run, self._name, self._key, self._width = run, name, key, width
        self._left = _LABELS if width >= WIDE else _MARGIN
        self._plot = width - self._left - _MARGIN
        self._span = max(1.0, run.last - run.began)
        self._y = 6.0
        self._parts: list[Element] = []

    def draw(self) -> Element:
        run = self._run
        for target in self._targets():
            self._row(target or "cluster")
            for step in (each for each in run.steps if each.target == target):
                self._step(step)
            self._y += _BAR + _STRIP + _GAP
        if run.waits:
            self._row("waits")
            for wait in run.waits:
                end = run.last if wait.ended is None else wait.ended
                self._bar(
                    wait.began, end, _BAND, "wait", wait.reason, f"waited {duration(end - wait.began)}: {wait.message}"
                )
            self._y += _BAND + _GAP
        self._endpoint()
        self._leaders()
        self._votes()
        plotted = self._y
        axis = self._axis(plotted)
        height = self._y + 4
        title, said = f"Run of {run.playbook or 'a playbook'} on {self._name}", self._said()
        return el(
            "svg",
            el("title", title, id=f"{self._key}-title"),
            el("desc", said, id=f"{self._key}-desc"),
            el("defs", self._pattern("hatch"), self._pattern("stripes")),
            *axis,
            *self._parts,
            viewBox=f"0 0 {self._width} {height:g}",
            width=self._width,
            height=f"{height:g}",
            role="img",
            aria_labelledby=f"{self._key}-title {self._key}-desc",
            class_="chart",
        )

    def _said(self) -> str:
        run = self._run
        parts = [f"{count(len(run.steps), 'step')} in {duration(run.last - run.began)}"]
        votes = run.votes()
        if votes:
            parts.append(
                "etcd's voters: " + ", ".join(f"{voters} from {clock(time)}" for time, voters, _quorum in votes)
            )
        gaps = run.endpoint_gaps()
        parts.append(f"{count(len(gaps), 'gap')} of the endpoint" if gaps else "no gap of the endpoint was seen")
        return "; ".join(parts) + ". The lists beside it say the same."

    def _targets(self) -> list[str]:
        without = [""] if any(not each.target for each in self._run.steps) else []
        return [*without, *self._run.machines]

    def _pattern(self, name: str) -> Element:
        turn = "rotate(45)" if name == "hatch" else "rotate(-45)"
        line = el("rect", width="3", height="7", class_=f"line-{name}")
        return el(
            "pattern",
            line,
            id=f"{self._key}-{name}",
            width="7",
            height="7",
            patternUnits="userSpaceOnUse",
            patternTransform=turn,
        )

    def _x(self, time: float) -> float:
        inside = min(max(time - self._run.began, 0.0), self._span)
        return round(self._left + inside / self._span * self._plot, 1)

    def _text(self, x: float, y: float, text: str, class_: str = "label", anchor: t.Optional[str] = None) -> None:
        self._parts.append(el("text", text, x=f"{x:g}", y=f"{y:g}", class_=class_, text_anchor=anchor))

    def _row(self, label: str) -> None:
        if self._left == _LABELS:
            self._text(0, self._y + 15, _fitting(label, _LABELS - 8))
        else:
            self._text(self._left, self._y + 11, _fitting(label, self._plot))
            self._y += 17

    def _bar(
        self, begin: float, end: float, height: float, kind: str, label: str, told: str, pattern: str = ""
    ) -> None:
        x = self._x(begin)
        width = max(3.0, round(self._x(end) - x, 1))
        if x + width > self._width - _MARGIN:
            x = self._width - _MARGIN - width
        shape = {"x": f"{x:g}", "y": f"{self._y:g}", "width": f"{width:g}", "height": f"{height:g}", "rx": "3"}
        group = [el("title", told), el("rect", class_=f"bar {kind}", **shape)]
        if pattern:
            group.append(el("rect", fill=f"url(#{self._key}-{pattern})", **shape))
        baseline = self._y + height / 2 + 4
        if label and _length(label) + 10 <= width:
            group.append(el("text", label, x=f"{x + 6:g}", y=f"{baseline:g}", class_=f"on {kind}"))
        self._parts.append(el("g", *group))

    def _step(self, step: model.Step) -> None:
        end = self._run.end_of(step)
        kind = kind_of(step)
        mark = _MARKS.get(step.result, "" if step.result == model.SUCCEEDED else "✕ ")
        told = (
            f"{step.action} {step.target}".strip()
            + f": {result_words(step)}, {clock(step.began)} to {clock(end)}, {duration(end - step.began)}"
        )
        taken = end - step.began
        label = f"{mark}{step.action} {duration(taken)}"
        if _length(label) + 10 > self._x(end) - self._x(step.began):
            label = f"{mark}{step.action}"
        self._bar(step.began, end, _BAR, kind, label, told, "hatch" if mark else "")
        for number, phase in enumerate(step.phases):
            x, width = self._x(phase.began), self._x(phase.ended) - self._x(phase.began)
            said = f"kubeadm [{phase.name}]: {clock(phase.began)}, {duration(phase.ended - phase.began)}"
            strip = {
                "x": f"{x:g}",
                "y": f"{self._y + _BAR + 2:g}",
                "width": f"{max(1.0, width):g}",
                "height": str(_STRIP),
            }
            self._parts.append(el("g", el("title", said), el("rect", class_=f"phase p{number % 2}", **strip)))

    def _endpoint(self) -> None:
        run = self._run
        answered = next((each.time for each in run.states if each.endpoint), None)
        gaps = run.endpoint_gaps()
        if answered is None and not gaps:
            return
        self._row("endpoint")
        if answered is not None:
            until = run.endpoint_known_until()
            self._bar(answered, until, _BAND, "good", "answers", f"answers from {clock(answered)}")
        for begin, end in gaps:
            self._bar(
                begin,
                end,
                _BAND,
                "failed",
                "✕ no answer",
                f"no answer for {duration(end - begin)} from {clock(begin)}",
                "hatch",
            )
        self._y += _BAND + _GAP

    def _leaders(self) -> None:
        found = self._run.leaders()
        if not found:
            return
        self._row("etcd's leader")
        ends = [time for time, _name in found[1:]] + [self._run.leader_known_until()]
        for number, ((begin, name), end) in enumerate(zip(found, ends)):
            label = _fitting(name, self._x(end) - self._x(begin) - 10)
            self._bar(begin, end, _BAND, f"leader l{number % 2}", label, f"{name} leads from {clock(begin)}")
        self._y += _BAND + _GAP

    def _votes(self) -> None:
        votes = self._run.votes()
        if not votes:
            return
        _last, now, needed = votes[-1]
        first_line = self._y + 15 if self._left == _LABELS else self._y + 11
        if self._left == _LABELS:
            self._text(0, first_line + 17, count(now, "voter"), "said-voters")
            self._text(0, first_line + 34, f"quorum {needed}", "said-quorum")
        else:
            right = self._left + self._plot
            self._text(right - 80, first_line, count(now, "voter"), "said-voters", "end")
            self._text(right, first_line, f"quorum {needed}", "said-quorum", "end")
        self._row("etcd's voters")
        most = max(2, *(each[1] for each in votes))
        top, bottom = self._y + 4, self._y + _CHART
        step = (bottom - top) / most

        def y(number: float) -> float:
            return round(bottom - number * step, 1)

        for number in range(0, most + 1, 1 if most < 6 else 2):
            line = {
                "x1": f"{self._left:g}",
                "x2": f"{self._left + self._plot:g}",
                "y1": f"{y(number):g}",
                "y2": f"{y(number):g}",
            }
            self._parts.append(el("line", class_="grid", **line))
            if self._left == _LABELS:
                self._text(self._left - 6, y(number) + 4, str(number), "tick", "end")
        voters = self._steps([(time, y(each)) for time, each, _quorum in votes])
        quorum = self._steps([(time, y(each)) for time, _voters, each in votes])
        first = self._x(votes[0][0])
        area = f"{voters} L {self._x(self._run.votes_known_until()):g} {bottom:g} L {first:g} {bottom:g} Z"
        told = ", ".join(f"{clock(time)}: {count(each, 'voter')}, quorum {needed}" for time, each, needed in votes)
        self._parts += [
            el("g", el("title", told), el("path", d=area, class_="area"), el("path", d=voters, class_="voters")),
            el("path", d=quorum, class_="quorum"),
        ]
        self._y = bottom + 4

    def _steps(self, points: list[tuple[float, float]]) -> str:
        path = f"M {self._x(points[0][0]):g} {points[0][1]:g}"
        for time, y in points[1:]:
            path += f" H {self._x(time):g} V {y:g}"
        return f"{path} H {self._x(self._run.votes_known_until()):g}"

    def _axis(self, bottom: float) -> list[Element]:
        room = 6 if self._width >= WIDE else 4
        every = next(
            (each for each in _TICKS if self._span / each <= room),
            _TICKS[-1] * (1 + int(self._span / _TICKS[-1] / room)),
        )
        behind, time = [], 0
        while time <= self._span:
            x = self._x(self._run.began + time)
            behind.append(el("line", x1=f"{x:g}", x2=f"{x:g}", y1="4", y2=f"{bottom:g}", class_="grid"))
            anchor = "start" if time == 0 else "end" if x > self._width - 40 else "middle"
            text = clock(self._run.began) if time == 0 else f"+{_short(time)}"
            self._text(x, bottom + 16, text, "tick", anchor)
            time += every
        self._y = bottom + 20
        return behind


def _short(seconds: int) -> str:
    if seconds % 3600 == 0:
        return f"{seconds // 3600} h"
    if seconds % 60 == 0:
        return f"{seconds // 60} min"
    return f"{seconds} s" if seconds < 60 else f"{seconds // 60}:{seconds % 60:02d} min"


def _length(text: str) -> float:
    """Return a text's greatest width in bold letters of 12 px."""
    return sum(12.2 if each in "mwMW@%…✕⚡" or ord(each) > 0x2E7F else 9.4 if each.isupper() else 7.6 for each in text)


def _fitting(text: str, width: float) -> str:
    """Return a text without its middle, so that it fits.

    Names of machines end with what distinguishes them. "" where next to nothing would be left.
    """
    if _length(text) <= width:
        return text
    for kept in range(min(len(text), int(width / 5)) - 1, 3, -1):
        head = kept // 2
        shorter = f"{text[:head]}…{text[len(text) - (kept - head) :]}"
        if _length(shorter) <= width:
            return shorter
    return ""
