# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run leaves in the journal for its report: scalars and times, only what is known, and only when it changes."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from builders import healthy
from journal_life import Life

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision import terms
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.document import make_plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.report import facts
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import StoreError

Object = dict[str, t.Any]
END = "2027-01-02T03:04:05Z"


@pytest.fixture
def life(tmp_path: Path) -> Life:
    return Life(tmp_path / "store")


def waiting(reason: str) -> Object:
    """A decision that waits."""
    return {"action": terms.WAIT, "blockedOn": [{"reason": reason, "message": f"for {reason}"}]}


def test_the_state_of_a_healthy_control_plane() -> None:
    found = facts.state(healthy(3).snapshot)
    seen = {key: found[key] for key in ("replicas", "wanted", "voters", "healthy", "quorum", "leader")}
    assert seen == {"replicas": 3, "wanted": 3, "voters": 3, "healthy": 3, "quorum": 2, "leader": "m1"}


def test_what_is_not_known_is_left_out() -> None:
    snapshot = healthy(3).snapshot
    snapshot["workload"]["etcd"] = {"reachable": False, "message": "no answer"}
    snapshot["workload"].pop("endpoint", None)
    assert facts.state(snapshot) == {"replicas": 3, "wanted": 3}


def test_certificates_ends_by_name() -> None:
    snapshot = healthy(1).snapshot
    snapshot["certificates"] = {"ca": {"present": True, "notAfter": END}, "sa": {"present": True}}
    snapshot["workload"]["machineCertificates"] = {"m1": {"etcd/server.crt": END, "apiserver.crt": END}}
    assert facts.certificates(snapshot) == [["ca", END], ["m1 apiserver.crt", END], ["m1 etcd/server.crt", END]]


def test_more_certificates_than_the_journal_takes(life: Life) -> None:
    """Those that end first are there."""
    snapshot = healthy(1).snapshot
    ends = {f"{number:03}.crt": f"2027-01-02T03:{59 - number // 60:02}:{59 - number % 60:02}Z" for number in range(150)}
    snapshot["workload"]["machineCertificates"] = {"m1": ends}
    facts.record_end(life.journal, "run-1", "done", snapshot)
    kept = [name for name, _end in life.journal.last()["details"]["certificates"]]
    assert len(kept) == 100 and "m1 149.crt" in kept and "m1 000.crt" not in kept


def test_a_journal_that_cannot_be_written_ends_no_wait_and_no_run(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file")
    journal = Life(tmp_path / "store").journal
    with pytest.raises(StoreError):
        journal.note("run-1", "said")
    wait = facts.Wait(journal, "run-1")
    wait.look(waiting("NodesReady"))
    wait.look({"action": terms.NONE})
    facts.record_end(journal, "run-1", "done", healthy(1).snapshot)


def test_a_step_has_its_votes_and_the_first_one_the_plan(life: Life) -> None:
    snapshot = healthy(1, replicas=3).snapshot
    decision = decide(snapshot)
    details = facts.step(decision, snapshot, make_plan(snapshot, END)["steps"])
    assert (details["votersBefore"], details["votersAfter"], details["plan"]) == (1, 2, "join join")
    life.journal.intent("join", "", "run-1", details)
    assert "plan" not in facts.step(decision, snapshot, [])


def test_a_wait_is_recorded_when_its_reason_changes_and_when_it_ends(life: Life) -> None:
    wait = facts.Wait(life.journal, "run-1")
    assert not wait
    for reason in ("NodesReady", "NodesReady", "EtcdHealthy"):
        wait.look(waiting(reason))
    for _again in range(2):
        wait.look({"action": terms.NONE})
    entries = life.journal.entries()
    said = [(each["event"], each["details"].get("reason"), each["message"]) for each in entries]
    assert said == [
        ("wait", "NodesReady", "waiting: for NodesReady"),
        ("wait", "EtcdHealthy", "waiting: for EtcdHealthy"),
        ("waited", None, ""),
    ]
    assert wait and entries[1]["id"] == entries[2]["id"]


def test_phases_are_recorded_once_and_whatever_else_a_machine_says_is_left_out(life: Life) -> None:
    phases = facts.PhaseFacts(life.journal, "run-1", "m-1")
    certs, etcd = {"name": "certs", "secondsAgo": 4.2}, {"name": "etcd", "secondsAgo": 0.5}
    phases.look({"phases": [certs]})
    phases.look(
        {"phases": [certs, etcd, {"name": 7}, "x", {"name": "y", "secondsAgo": -1}, {"name": "z", "secondsAgo": 1e9}]}
    )
    phases.look({})
    found = [[name for name, _time in each["details"]["phases"]] for each in life.journal.entries()]
    assert found == [["certs"], ["etcd"]] and life.journal.last()["target"] == "m-1"


def test_without_a_run_nothing_is_recorded(life: Life) -> None:
    facts.PhaseFacts(life.journal, "", "m-1").look({"phases": [{"name": "certs", "secondsAgo": 1}]})
    assert life.journal.entries() == []
