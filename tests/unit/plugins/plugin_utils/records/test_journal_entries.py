# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the journal shows as under way, and for whom."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.journal_entries import (
    close_intents,
    last_failure,
    open_intents_of,
    steps_of,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.journal import Journal


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    """A cluster's journal with a step of a run that was killed and one of this run."""
    store = str(tmp_path / "store")
    FileStore(store).list(("cluster.x-k8s.io", "Cluster"))
    made = Journal(store, "default", "prod")
    made.intent("initialize", "m1", "killed", {"message": "x"})
    made.intent("join", "m2", "mine", {"message": "y"})
    return made


def outcomes(journal: Journal) -> dict[str, str]:
    """What came of each step, by its action."""
    entries = journal.entries()
    actions = {entry["id"]: entry["action"] for entry in entries if entry["event"] == "intent"}
    return {actions[entry["id"]]: entry["result"] for entry in entries if entry["event"] == "outcome"}


def test_a_killed_runs_step_is_not_called_a_success(journal: Journal) -> None:
    """The next run closes it as interrupted, whatever it says of its own."""
    close_intents(journal, "mine", "succeeded", "done")
    assert outcomes(journal) == {"initialize": "interrupted", "join": "succeeded"}


def test_a_run_without_the_lock_has_nothing_under_way(journal: Journal) -> None:
    """A second run that leaves because of the first must not speak of the first one's step as its own."""
    assert open_intents_of(journal, "") == []
    assert [entry["action"] for entry in open_intents_of(journal, "mine")] == ["join"]


def test_every_step_of_a_run_counts_however_much_was_noted_between(journal: Journal) -> None:
    """By them a run that comes to no end is stopped."""
    for number in range(12):
        journal.outcome(journal.intent("join", f"m{number}", "run"), "succeeded")
        for _each in range(4):
            journal.note("run", "an etcd snapshot was taken and verified", {"snapshot": "/var/lib/x.db"})
    assert [each["target"] for each in steps_of(journal, "run")] == [f"m{number}" for number in range(12)]


def test_the_step_that_failed_last(tmp_path: Path) -> None:
    """A killed run's step counts; its first line is told, and whether another step was finished since."""
    times = iter(f"2026-01-31T11:0{number}:00Z" for number in range(9))
    journal = Journal(str(tmp_path), "default", "prod", clock=lambda: next(times))
    assert last_failure(journal) is None
    journal.outcome(journal.intent("join", "m2", "run"), "failed", "kubeadm ended\x1b[2J with 1\nand more")
    told = {"action": "join", "target": "m2", "message": "kubeadm ended\\x1b[2J with 1", "at": "2026-01-31T11:01:00Z"}
    assert last_failure(journal) == {**told, "isLast": True}
    journal.outcome(journal.intent("join", "m3", "run"), "succeeded")
    assert last_failure(journal) == {**told, "isLast": False}
    journal.outcome(journal.intent("remove", "m3", "killed"), "interrupted", "the run ended")
    assert (last_failure(journal) or {})["action"] == "remove"
