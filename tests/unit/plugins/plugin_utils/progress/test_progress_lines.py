# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the callback progress shows: recorded events in, lines out."""

from __future__ import annotations

import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.progress.progress_lines import (
    Line,
    ProgressLines,
    seconds,
)

Event = dict[str, t.Any]
PERIOD = 15.0


class Screen:
    """A run's lines, with a clock that the test sets."""

    def __init__(self) -> None:
        self.lines = ProgressLines(PERIOD)
        self.now = 1000.0
        self.shown: list[Line] = []

    def take(self, event: str, after: float = 0.0, host: str = "prod", **fields: t.Any) -> list[str]:
        """Take an event so many seconds after the one before; what it showed."""
        self.now += after
        return self._keep(self.lines.take({"event": event, "at": self.now, "host": host, **fields}))

    def silence(self, length: float) -> list[str]:
        """What is shown without a terminal while nothing happens."""
        return self._keep([line for _each in range(int(length)) for line in self._second()])

    def live(self) -> str:
        """A terminal's last line."""
        return self.lines.live(self.now)

    def end(self) -> list[str]:
        """The end of the play."""
        return self._keep(self.lines.flush())

    def step(self, title: str, took: float, expected: int | None = None, **fields: t.Any) -> list[str]:
        """A step from its start to its end."""
        self.take("step", id="", title=title, expected_seconds=expected, **fields)
        return self.take("done", took, result="succeeded")

    def _second(self) -> list[Line]:
        self.now += 1
        return self.lines.due(self.now)

    def _keep(self, lines: list[Line]) -> list[str]:
        self.shown += lines
        return [each.text for each in lines]


@pytest.fixture
def screen() -> Screen:
    """A screen of a run that has started."""
    made = Screen()
    made.take("run")
    return made


def test_a_creation_of_three(screen: Screen) -> None:
    """Six lines; what comes in between is not shown."""
    screen.step("create the cluster's infrastructure and endpoint", 4, 5)
    screen.step("create certificate authorities, keys and the kubeconfig", 1, 2)
    for number, name in enumerate(("prod-a", "prod-b", "prod-c")):
        title = "join a new machine in failure domain b" if number else "initialize the control plane on a new machine"
        screen.take("step", id="", title=title, expected_seconds=35, voters=[number, number + 1])
        screen.take("machine", name=name)
        screen.take("note", 2, text=f"machine {name}: its image asks kubeadm to skip nothing")
        screen.take("doing", 2, text=f"machine {name}: kubeadm is at work", seconds_left=800)
        screen.take("task", 1, changed="machine_acme : Make the machine")
        screen.take("done", 25, result="succeeded")
        screen.take("doing", 1, text="waiting: etcd", seconds_left=600)
        screen.take("task", 3)
    screen.take("verdict", result="changed", message="3 machines are healthy")
    assert [*map(str, screen.end())] == ["prod: done: 3 machines are healthy (5 steps, 1 min 47 s)"]
    assert [each.text for each in screen.shown[:-1]] == [
        "prod: create the cluster's infrastructure and endpoint; 4 s (expected 5 s)",
        "prod: create certificate authorities, keys and the kubeconfig; 1 s (expected 2 s)",
        "prod: initialize the control plane on machine prod-a; etcd 1 voter; 30 s (expected 35 s)",
        "prod: join machine prod-b in failure domain b; etcd 1 → 2 voters; 30 s (expected 35 s)",
        "prod: join machine prod-c in failure domain b; etcd 2 → 3 voters; 30 s (expected 35 s)",
    ]


def test_the_slowest_creation_of_three_has_25_lines_at_most(screen: Screen) -> None:
    """Three joins and the waits after them, as long as they may take by default; each of them is heard of soon."""
    screen.step("create the cluster's infrastructure and endpoint", 14)
    screen.step("create certificate authorities, keys and the kubeconfig", 14)
    for name in ("prod-a", "prod-b", "prod-c"):
        screen.take("step", id="", title="join a new machine", machine=name)
        for _each in range(90):
            screen.take("doing", text=f"machine {name}: kubeadm is at work", seconds_left=900)
            screen.silence(10)
        screen.take("done", result="succeeded")
        assert sum(name in line.text for line in screen.shown) > 1
        screen.take("doing", text="waiting: etcd", seconds_left=600)
        screen.silence(599)
        screen.take("task", 1)
    screen.take("verdict", result="changed", message="3 machines are healthy")
    screen.end()
    assert len(screen.shown) <= 25


def test_a_run_that_only_waits_has_four_lines_at_most(screen: Screen) -> None:
    for _each in range(60):
        screen.take("doing", text="waiting: the API server of prod-b", seconds_left=600)
        screen.silence(10)
    screen.take("verdict", result="waits", message="the API server of prod-b does not answer")
    screen.end()
    assert 2 <= len(screen.shown) <= 4


def test_nothing_to_do_is_one_line(screen: Screen) -> None:
    screen.take("task", 1)
    screen.take("verdict", 1, result="nothing", message="3 machines are healthy")
    assert screen.end() == ["prod: nothing to do: 3 machines are healthy (2 s)"]
    assert len(screen.shown) == 1 and screen.end() == []


def test_what_is_under_way(screen: Screen) -> None:
    """The step, how long it has taken of what is expected, kubeadm's phase, and how long it is waited for still."""
    screen.take("step", id="", title="join a new machine", machine="prod-b", expected_seconds=30)
    screen.take("doing", 5, text="machine prod-b: kubeadm [etcd]", seconds_left=100)
    screen.now += 3
    assert screen.live() == ("prod: join machine prod-b: 8 s of about 30 s: kubeadm [etcd] (at most 1 min 37 s more)")
    assert screen.silence(6) == [], "a line each 15 s, not before"
    assert screen.silence(1) == [
        "prod: join machine prod-b: 15 s of about 30 s: kubeadm [etcd] (at most 1 min 30 s more)"
    ]
    assert [len(screen.silence(30)) for _each in range(2)] == [0, 1], "the second line comes a minute later"
    screen.take("task", changed="machine_acme : Make the machine")
    assert screen.live() == "prod: join machine prod-b: 1 min 15 s of about 30 s", "what a task did ends with it"


def test_a_wait_between_steps_ends_with_its_task(screen: Screen) -> None:
    screen.take("doing", text="waiting: the API server of prod-b", seconds_left=600)
    assert screen.silence(15) == ["prod: waiting: the API server of prod-b (at most 9 min 45 s more)"]
    assert screen.live() != ""
    screen.take("task")
    assert screen.live() == "" and screen.silence(60) == []


def test_a_long_text_of_what_is_under_way_is_cut(screen: Screen) -> None:
    screen.take("doing", text="x" * 5000)
    (line,) = screen.silence(15)
    assert len(line) < 250


def test_several_clusters_at_once(screen: Screen) -> None:
    screen.take("step", id="", title="join a new machine")
    screen.take("step", 1, host="test", id="", title="remove machine test-a", machine="test-a")
    assert screen.live() == "test: remove machine test-a: 0 s (and 1 more)"
    assert screen.take("done", 4, host="test", result="succeeded") == ["test: remove machine test-a; 4 s"]
    assert screen.live().startswith("prod: join a new machine: 5 s")


def test_tasks_of_an_action_beside_each_other(screen: Screen) -> None:
    """Each has a line, and those that go on stay under way."""
    for name in ("a", "b"):
        screen.take("step", id=name, title=f"Task {name} on Node cp-{name}")
    assert screen.take("note", text="cp-a: 1 of 2, drain") == []
    assert screen.live() == "prod: Task b on Node cp-b (and 1 more): 0 s: cp-a: 1 of 2, drain"
    assert screen.take("done", 7, id="b", result="failed") == ["prod: failed: Task b on Node cp-b; 7 s"]
    assert screen.take("done", 1, id="a", result="succeeded") == ["prod: Task a on Node cp-a; 8 s"]


def test_a_failure_is_shown_once_in_its_parts(screen: Screen) -> None:
    screen.step("create certificate authorities, keys and the kubeconfig", 1)
    screen.take("step", id="", title="join a new machine", machine="prod-b")
    screen.take("failed", 5, what="the bootstrap failed", where="task Wait")
    shown = screen.take(
        "report",
        what="the bootstrap failed\nsecond line",
        step="join",
        task="Wait",
        why="one\nSafe now?   yes",
        changed="",
        safe="They are as they were.",
        todo="mend it\nor replace it",
    )
    assert shown == [
        "prod: FAILED: the bootstrap failed\n"
        "  second line\n"
        "  where       join machine prod-b, task Wait\n"
        "  why         one\n"
        "              Safe now?   yes\n"
        "  safe now?   They are as they were.\n"
        "  what to do  mend it\n"
        "              or replace it"
    ]
    # The task that reported fails with the same text.
    screen.take("failed", what="the bootstrap failed, and so on", where="task Report")
    screen.take("verdict", result="failed", message="")
    assert screen.end() == ["prod: FAILED (1 step, 6 s)"]


def test_a_failure_without_a_report(screen: Screen) -> None:
    """It is shown at the play's end, and the verdict isn't better than it."""
    screen.take("verdict", result="changed", message="")
    assert screen.take("failed", what="Task b failed", where="task Fail where a person must act") == []
    assert screen.end() == [
        "prod: FAILED: Task b failed\n  where       task Fail where a person must act",
        "prod: FAILED (0 s)",
    ]


def test_changes_and_notes_outside_of_steps(screen: Screen) -> None:
    assert screen.take("task", changed="Own task") == ["prod: changed: Own task"]
    assert screen.take("note", text="it waits\nWhat to type: x") == ["prod: it waits\n  What to type: x"]
    assert screen.take("note", text="postponed: the window") == ["prod: postponed: the window"]
    assert screen.take("text", text="\na table\n") == ["\na table\n"]
    screen.take("verdict", result="waits", message="postponed: the window")
    assert screen.end() == ["prod: not reached yet (0 s)"], "what a line above has said"


def test_a_run_without_a_decision_ends(screen: Screen) -> None:
    """An Action may wait for a person: the lines above say it."""
    screen.take("verdict", 2, result="", message="")
    assert screen.end() == ["prod: ended (2 s)"]


def test_an_event_of_another_kind_fails_nothing(screen: Screen) -> None:
    assert screen.take("colour", text="red") == []


@given(st.text(), st.sampled_from(["note", "text", "report", "failed", "verdict", "step"]))
def test_hostile_text_is_shown_as_text(hostile: str, event: str) -> None:
    """No control character reaches the terminal, and a line that is one stays one."""
    screen = Screen()
    text = f"{hostile}\x1b[2J\r\u202e"
    texts = dict.fromkeys(("text", "title", "machine", "what", "step", "task", "where", "why", "safe", "todo"), text)
    texts["message"] = text
    screen.take(event, id="", **texts)
    live = screen.live()
    screen.take("done", id="", result="succeeded")
    screen.end()
    assert event == "step" or screen.shown
    for shown in (live, *(each.text for each in screen.shown)):
        assert not {"\x1b", "\r", "\u202e"} & set(shown)
        if event == "note" and shown:
            assert all(line.startswith(("prod: ", "  ")) for line in shown.split("\n"))
        assert event in ("note", "text", "report", "failed") or "\n" not in shown


@pytest.mark.parametrize(("number", "text"), [(-1, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (125, "2 min 5 s")])
def test_durations(number: float, text: str) -> None:
    assert seconds(number) == text


def test_lines_of_others_keep_their_kinds(screen: Screen) -> None:
    """A status is shown whole, each of its lines in its own colour, and begins no line of its own."""
    assert screen.take("lines", lines=[["CLUSTER a\x1b[2J", "bad"], ["", "plain"], ["x\ny", "good"]]) == [
        "CLUSTER a\\x1b[2J",
        "",
        "x y",
    ]
    assert [each.kind for each in screen.shown] == ["bad", "plain", "good"]
