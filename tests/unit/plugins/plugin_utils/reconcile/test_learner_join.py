# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What machines are asked for a joining machine's learner; they give recorded answers."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from stored_cluster import stored_cluster

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.failure import ControlPlaneFailure
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Answer, Machine
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.learner_join import LearnerJoin
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    MACHINE,
    ClusterObjects,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

Object = dict[str, t.Any]
URL = "https://192.0.2.3:2380"
SILENT = Answer(False, {"msg": "no route"})
OWN = {"id": "00000000000000cc", "name": "", "peerURLs": [URL], "isLearner": True}
OTHER = {"id": "00000000000000aa", "name": "m1", "peerURLs": ["https://192.0.2.1:2380"], "isLearner": False}


def answer(**fields: t.Any) -> Answer:
    """What a module answered."""
    return Answer(True, fields)


class World:
    """A stored cluster of m1, m2 and m3, which joins; machines that answer in turn, and the running action."""

    def __init__(self, folder: Path, *answers: Answer, of_m2: t.Callable[[Object], None] = lambda stored: None) -> None:
        stored_cluster(folder, "v1.20.2", {}, {}, dict.fromkeys(("m1", "m2", "m3"), "localhost"))
        store = FileStore(str(folder))
        store.modify(MACHINE, "default", "m3", lambda stored: stored["status"]["bootstrap"].update(state="Running"))
        store.modify(MACHINE, "default", "m2", of_m2)
        objects = ClusterObjects.read(store, "default", "prod")
        assert objects is not None
        self.answers = list(answers)
        self.calls: list[tuple[str, str, Object]] = []
        self.notes: list[str] = []
        self.locked = 0
        self.learner = LearnerJoin(self, {"name": "m3", "fencing": 7}, objects, self, URL)

    def call(self, machine: Machine, module: str, arguments: Object) -> Answer:
        """Answer a call."""
        self.calls.append((machine.name, module, arguments))
        return self.answers.pop(0)

    def progress(self, cluster: str, text: str) -> None:
        """Nobody reads it here."""

    def note(self, change: str) -> None:
        """Keep what goes into the journal."""
        self.notes.append(change)

    def check_lock(self, arguments: t.Mapping[str, t.Any]) -> None:
        """Count how often it was asked."""
        self.locked += 1


def test_the_member_is_added_through_the_first_machine_that_answers(tmp_path: Path) -> None:
    world = World(tmp_path, SILENT, answer(changed=True, msg="added", etcd={"members": [OTHER, OWN]}))
    assert world.learner.add() == [("m1", "https://192.0.2.1:2380"), ("", URL)]
    assert [name for name, _module, _call in world.calls] == ["m1", "m2"]
    assert world.calls[1][1:] == ("etcd_member", {"state": "learner", "peer_url": URL, "fencing": 7})
    assert world.notes == ["machine m3: added"] and world.locked == 1


def test_that_a_machines_own_etcd_is_down_is_no_refusal(tmp_path: Path) -> None:
    down = answer(failed=True, msg="its etcd does not answer", reason="NotReachable")
    world = World(tmp_path, down, answer(changed=True, msg="promoted"), down, down)
    assert world.learner.promote(12.0) == "" and world.notes == ["machine m3: promoted"]
    with pytest.raises(ControlPlaneFailure, match="not added as a learner: m1: its etcd does not answer; m2: its"):
        world.learner.add()
    assert [name for name, _module, _call in world.calls] == ["m1", "m2", "m1", "m2"]


def test_a_machine_that_is_ready_is_asked_first(tmp_path: Path) -> None:
    def ready(stored: Object) -> None:
        stored["status"]["conditions"] = [{"type": "Ready", "status": "True", "reason": "Ready", "message": ""}]

    world = World(tmp_path, answer(changed=True, msg="promoted"), of_m2=ready)
    assert world.learner.promote(12.0) == ""
    assert [name for name, _module, _call in world.calls] == ["m2"]


def test_a_refusal_is_an_answer_and_nobody_else_is_asked(tmp_path: Path) -> None:
    world = World(tmp_path, answer(failed=True, msg="QuorumAtRisk"))
    with pytest.raises(
        ControlPlaneFailure, match=r"m3 was not added as a learner: QuorumAtRisk.*kubeadm was not started"
    ):
        world.learner.add()
    assert len(world.calls) == 1 and world.notes == []


def test_it_is_promoted_once_and_what_refuses_is_told(tmp_path: Path) -> None:
    refused, done = answer(failed=True, msg="not in sync.", reason="NotInSync"), answer(changed=True, msg="promoted")
    world = World(tmp_path, refused, SILENT, SILENT, done)
    assert world.learner.promote(12.0) == "not in sync."
    assert "m1: no route; m2: no route" in world.learner.promote(12.0)
    assert world.learner.promote(12.0) == world.learner.promote(12.0) == ""
    assert world.calls[0][2] == {"state": "promoted", "peer_url": URL, "wait": 12, "fencing": 7}
    assert len(world.calls) == 4 and world.notes == ["machine m3: promoted"]


def test_a_member_that_somebody_removed_is_not_waited_for(tmp_path: Path) -> None:
    world = World(tmp_path, answer(failed=True, msg="etcd has no such member", reason="UnknownMember"))
    assert world.learner.promote(12.0) == "" and world.notes == []


def test_a_learner_that_never_started_is_taken_back_by_its_id(tmp_path: Path) -> None:
    seen, gone = answer(etcd={"members": [OTHER, OWN]}), answer(changed=True, msg="removed")
    world = World(tmp_path, seen, gone)
    world.learner.take_back()
    assert world.calls[1][1:] == ("etcd_member", {"state": "absent", "member_id": OWN["id"], "fencing": 7})
    assert world.notes == ["machine m3: removed"] and world.locked == 1


def test_where_there_is_none_nothing_is_removed(tmp_path: Path) -> None:
    world = World(tmp_path, answer(etcd={"members": [OTHER]}))
    world.learner.take_back()
    assert len(world.calls) == 1


@pytest.mark.parametrize("member", [{**OWN, "isLearner": False}, {**OWN, "name": "m3"}])
def test_what_votes_or_has_started_is_never_taken_back(tmp_path: Path, member: Object) -> None:
    world = World(tmp_path, answer(etcd={"members": [OTHER, member]}))
    with pytest.raises(ControlPlaneFailure, match="has started or votes"):
        world.learner.take_back()
    assert len(world.calls) == 1


def test_a_take_back_that_nobody_answers_ends_the_run(tmp_path: Path) -> None:
    world = World(tmp_path, SILENT, SILENT)
    with pytest.raises(ControlPlaneFailure, match="was not taken back: m1: no route; m2: no route"):
        world.learner.take_back()
