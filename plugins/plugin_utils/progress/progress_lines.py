# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines that the callback ``progress`` shows: events in, lines out.

Purely: no clock, no terminal. Times are seconds of one clock, as the events have them. All texts are made legible here.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ...module_utils.common.legible import lines, one_line, visible
from ...module_utils.common.values import clip

PLAIN, GOOD, BAD, WAITING, CHANGED = "plain", "good", "bad", "waiting", "changed"
# What is shown again and again is cut; what is said once is whole.
_LONGEST = 200
_INDENT = "  "
# So many times longer is each silence than the one before: three joins and the waits after them, all as long as they may
# take (900 and 600 s), have 18 lines, and a run that only waits has three.
_GROWTH = 4
_PARTS = (("where", "where"), ("why", "why"), ("changed", "changed"), ("safe", "safe now?"), ("todo", "what to do"))
_WIDTH = max(len(title) for _key, title in _PARTS)
# How a run ended -> the verdict's first words, and its colour.
_VERDICTS = {
    "failed": ("FAILED", BAD),
    "held": ("left to another run", WAITING),
    "waits": ("not reached yet", WAITING),
    "changed": ("done", GOOD),
    "would change": ("would change, nothing was done", CHANGED),
    "nothing": ("nothing to do", GOOD),
    "": ("ended", PLAIN),
}
Event = t.Mapping[str, t.Any]


@dataclass(frozen=True)
class Line:
    """Line or block for the user; ``kind`` is what its colour follows."""

    text: str
    kind: str = PLAIN


@dataclass
class _Step:
    title: str
    machine: str
    voters: t.Optional[t.Sequence[int]]
    expected: t.Optional[int]
    began: float

    def named(self) -> str:
        title = self.title
        if self.machine and self.machine not in title:
            title = title.replace("a new machine", f"machine {self.machine}", 1)
        if self.machine and self.machine not in title:
            title = f"{title}: {self.machine}"
        return title

    def votes(self) -> str:
        if not self.voters:
            return ""
        before, after = self.voters
        change = str(after) if before == after or not before else f"{before} → {after}"
        return f"; etcd {change} voter{'' if after == 1 else 's'}"


@dataclass
class _Host:
    steps: dict[str, _Step] = field(default_factory=dict)
    began: t.Optional[float] = None
    shown: t.Optional[float] = None
    # How many lines of what is under way there were since a step began or ended.
    repeated: int = 0
    doing: str = ""
    noted: str = ""
    # The wait's bound as a time of the clock, None where it has none.
    until: t.Optional[float] = None
    taken: int = 0
    reported: bool = False
    failures: list[Event] = field(default_factory=list)
    verdict: t.Optional[Event] = None


class ProgressLines:
    """Lines of one run of ansible-playbook, for all its hosts.

    Args:
        period: without a terminal, what is under way is shown after so many seconds without a line, then after silences
            that grow.
    """

    def __init__(self, period: float) -> None:
        self._period = period
        self._hosts: dict[str, _Host] = {}
        self._newest = ""

    def take(self, event: Event) -> list[Line]:
        """Take an event; return the lines to show, mostly none.

        Events of a kind that is not known are left out: a run's workers are of the same release, and what is for people
        only fails nothing.
        """
        name = str(event.get("host") or "")
        if event["event"] == "text":
            return [Line(visible(str(event["text"])))]
        if event["event"] == "lines":
            return [Line(one_line(str(text)), str(kind)) for text, kind in event["lines"]]
        host = self._hosts.setdefault(name, _Host())
        handler = getattr(self, f"_on_{event['event']}", None)
        found: list[Line] = handler(name, host, event) if handler is not None else []
        if found:
            host.shown = float(event["at"])
        return found

    def due(self, now: float) -> list[Line]:
        """Return lines of what was silent for long enough."""
        found = []
        for name, host in self._hosts.items():
            since = host.shown
            text = self._under_way(host, now)
            if text and since is not None and now - since >= self._period * _GROWTH**host.repeated:
                host.shown = now
                host.repeated += 1
                found.append(self._line(name, clip(text, _LONGEST), WAITING))
        return found

    def live(self, now: float) -> str:
        """Return a terminal's last line, "" where nothing is under way."""
        busy = {name: text for name, host in self._hosts.items() if (text := self._under_way(host, now))}
        if not busy:
            return ""
        name = self._newest if self._newest in busy else next(iter(busy))
        more = f" (and {len(busy) - 1} more)" if len(busy) > 1 else ""
        return self._line(name, busy[name]).text + more

    def flush(self) -> list[Line]:
        """Return a play's last lines: failures that were kept, then verdicts."""
        found = []
        for name, host in self._hosts.items():
            for each in host.failures:
                found += self._failure(name, each)
            verdict = host.verdict
            if host.failures and verdict is not None:
                verdict = {**verdict, "result": "failed"}
            if verdict is not None:
                found.append(self._verdict(name, host, verdict))
        self._hosts.clear()
        return found

    def _on_run(self, name: str, host: _Host, event: Event) -> list[Line]:
        host.began = host.shown = float(event["at"])
        host.doing = ""
        return []

    def _on_step(self, name: str, host: _Host, event: Event) -> list[Line]:
        host.steps[str(event["id"])] = _Step(
            title=str(event["title"]),
            machine=str(event.get("machine") or ""),
            voters=event.get("voters"),
            expected=event.get("expected_seconds"),
            began=float(event["at"]),
        )
        host.shown, host.repeated = float(event["at"]), 0
        self._forget(host)
        self._newest = name
        return []

    def _on_machine(self, name: str, host: _Host, event: Event) -> list[Line]:
        for step in host.steps.values():
            step.machine = step.machine or str(event["name"])
        return []

    def _on_done(self, name: str, host: _Host, event: Event) -> list[Line]:
        """End one step, or all of them where the event names none."""
        wanted = event.get("id")
        ended = [key for key in host.steps if wanted is None or key == wanted]
        found = []
        for key in ended:
            step = host.steps.pop(key)
            if event.get("result") == "failed":
                found.append(self._line(name, f"failed: {self._told(step, float(event['at']))}", BAD))
            elif event.get("result") == "succeeded":
                host.taken += 1
                found.append(self._line(name, self._told(step, float(event["at"])), GOOD))
        if ended:
            host.repeated = 0
        self._forget(host)
        return found

    def _on_note(self, name: str, host: _Host, event: Event) -> list[Line]:
        """Show a note between steps; within one it is under way."""
        if host.steps:
            return self._on_doing(name, host, event)
        host.noted = str(event["text"])
        first, *more = lines(host.noted)
        # Indented, so that no line of it passes for another's.
        text = "\n".join([self._line(name, first).text, *(f"{_INDENT}{each}" for each in more)])
        return [Line(text)]

    def _on_doing(self, name: str, host: _Host, event: Event) -> list[Line]:
        if host.shown is None:
            host.shown = float(event["at"])
        host.doing = str(event["text"])
        left = event.get("seconds_left")
        host.until = None if left is None else float(event["at"]) + float(left)
        self._newest = name
        return []

    def _on_task(self, name: str, host: _Host, event: Event) -> list[Line]:
        """End a task's wait; show its change where no step is open."""
        self._forget(host)
        if host.steps or not event.get("changed"):
            return []
        return [self._line(name, f"changed: {event['changed']}", CHANGED)]

    def _on_report(self, name: str, host: _Host, event: Event) -> list[Line]:
        """Show a failed run's report, which has the failures before it."""
        step = ", ".join(each.named() for each in host.steps.values()) or str(event.get("step") or "")
        task = f"task {event['task']}" if event.get("task") else ""
        host.failures.clear()
        host.steps.clear()
        self._forget(host)
        host.reported = True
        return self._failure(name, {**event, "where": ", ".join(filter(None, (step, task)))})

    def _on_failed(self, name: str, host: _Host, event: Event) -> list[Line]:
        """Keep a failed task's message: mostly a report follows, which has it."""
        if not host.reported:
            host.failures.append(event)
        host.reported = False
        return []

    def _on_verdict(self, name: str, host: _Host, event: Event) -> list[Line]:
        host.steps.clear()
        self._forget(host)
        host.verdict = event
        return []

    @staticmethod
    def _forget(host: _Host) -> None:
        host.doing, host.until = "", None

    def _under_way(self, host: _Host, now: float) -> str:
        said = host.doing
        if said and host.until is not None:
            said += f" (at most {seconds(max(0.0, host.until - now))} more)"
        if not host.steps:
            return said
        step = list(host.steps.values())[-1]
        others = f" (and {len(host.steps) - 1} more)" if len(host.steps) > 1 else ""
        about = f" of about {seconds(step.expected)}" if step.expected is not None else ""
        text = f"{step.named()}{others}: {seconds(now - step.began)}{about}"
        return f"{text}: {said.removeprefix(f'machine {step.machine}: ')}" if said else text

    @staticmethod
    def _told(step: _Step, now: float) -> str:
        about = f" (expected {seconds(step.expected)})" if step.expected is not None else ""
        return f"{step.named()}{step.votes()}; {seconds(now - step.began)}{about}"

    @staticmethod
    def _line(name: str, text: str, kind: str = PLAIN) -> Line:
        return Line(one_line(f"{name}: {text}" if name else text), kind)

    @staticmethod
    def _failure(name: str, event: Event) -> list[Line]:
        """Return a failure in its five parts."""
        first, *more = lines(str(event.get("what") or "failed"))
        text = [f"{one_line(name)}: FAILED: {first}" if name else f"FAILED: {first}"]
        text += [f"{_INDENT}{each}" for each in more]
        for key, title in _PARTS:
            said = lines(str(event.get(key) or ""))
            if said == [""]:
                continue
            text.append(f"{_INDENT}{title:<{_WIDTH}}  {said[0]}")
            text += [f"{_INDENT}{'':<{_WIDTH}}  {each}" for each in said[1:]]
        return [Line("\n".join(text), BAD)]

    def _verdict(self, name: str, host: _Host, event: Event) -> Line:
        word, kind = _VERDICTS.get(str(event.get("result")), _VERDICTS[""])
        steps = f"{host.taken} step{'' if host.taken == 1 else 's'}" if host.taken else ""
        began = event["at"] if host.began is None else host.began
        took = seconds(float(event["at"]) - began)
        # A line above has said it.
        message = str(event.get("message") or "")
        text = f"{word}: {message}" if message and message != host.noted else word
        return self._line(name, f"{text} ({', '.join(filter(None, (steps, took)))})", kind)


def seconds(number: float) -> str:
    """Return a duration in words, as "1 min 52 s"."""
    whole = max(0, round(number))
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
