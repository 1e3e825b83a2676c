# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a run's workers reach the callback progress, and how long a step is expected to take."""

from __future__ import annotations

from pathlib import Path

import pytest
from actions import run_action

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.progress import channel
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.progress.durations import USUAL, expected_seconds
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.journal import Journal


def test_events_arrive_once_and_whole(tmp_path: Path) -> None:
    path = str(tmp_path / "channel")
    assert not channel.send("note", {"text": "a"}, path), "no callback, no channel"
    reader = channel.Reader(path)
    assert reader.events() == []
    assert channel.send("note", {"text": "a\n\ud800"}, path) and channel.send("done", {}, path)
    first, second = reader.events()
    assert (first["event"], first["text"], second["event"]) == ("note", "a\n\ud800", "done")
    assert first["at"] <= second["at"]
    with open(path, "ab") as stream:
        stream.write(b'{"at": 1, "event": "half"')
    assert reader.events() == []
    with open(path, "ab") as stream:
        stream.write(b"}\n")
    assert [each["event"] for each in reader.events()] == ["half"]
    with open(path, "ab") as stream:
        stream.write(b'{"event": "torn by a full di{"event": "a", "at": 1}\n7\n{}\n\xff\n')
    assert channel.send("note", {}, path)
    assert [each["event"] for each in reader.events()] == ["note"], "what can't be read hides nothing after it"
    reader.close()
    assert not channel.is_open(path) and reader.events() == []


def test_a_failed_run_sends_the_parts_of_its_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the task returns is the same with every callback."""
    store = {"path": str(tmp_path / "store")}
    journal = Journal(str(tmp_path / "store"), "default", "prod")
    given = {"cluster": "prod", "store": store, "error": "it broke\nbadly", "output": "last line", "task": "Wait"}

    def report() -> str:
        journal.intent("join", "prod-b", run="r1")
        return str(run_action("failure_report", run="r1", **given)["msg"])

    usual = report()
    monkeypatch.setattr(channel, "FILE", f"{tmp_path.name}.jsonl")
    reader = channel.Reader()
    try:
        assert report() == usual
        (event,) = reader.events()
    finally:
        reader.close()
    assert event["event"] == "report" and event["what"] == "it broke\nbadly" and event["why"] == "last line"
    assert (event["step"], event["task"]) == ("join of machine prod-b", "Wait")
    assert event["safe"] in usual and event["todo"] in usual and "run the same playbook again" in event["todo"]


def entry(number: int, action: str, took: int, result: str = "succeeded", name: str = "") -> list[dict[str, object]]:
    """A step in the journal."""
    common = {"id": str(number), "time": f"2026-01-31T12:{number:02}:00Z"}
    ended = {**common, "time": f"2026-01-31T12:{number:02}:{took:02}Z"}
    return [
        {**common, "event": "intent", "action": action, "details": {"name": name} if name else {}},
        {**ended, "event": "outcome", "result": result},
    ]


def test_expected_is_the_median_of_the_newest_steps_that_succeeded() -> None:
    entries = [*entry(0, "join", 59), *entry(1, "join", 59), *entry(2, "join", 50, "failed"), *entry(3, "remove", 1)]
    for number, took in enumerate((20, 30, 21, 22, 23), 4):
        entries += entry(number, "join", took)
    assert expected_seconds(entries, "join") == 22


def test_without_such_a_step_it_is_the_usual_duration() -> None:
    entries = [*entry(0, "join", 50, "failed"), *entry(1, "join", 50)[:1], {"event": "note", "id": "x", "time": "?"}]
    assert expected_seconds(entries, "join") == USUAL["join"]
    assert expected_seconds(entries, "task") is None


def test_tasks_are_compared_with_those_of_their_group() -> None:
    entries = [*entry(0, "task", 5, name="up-workers-a"), *entry(1, "task", 50, name="up-masters-a")]
    assert expected_seconds(entries, "task", "up-workers-") == 5
    assert expected_seconds(entries, "task", "up-others-") is None
