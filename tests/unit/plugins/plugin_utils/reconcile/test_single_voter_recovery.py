# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The recovery on the machine that is left, and what the store holds of the lost one; the machine gives recorded answers."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from actions import run_action
from stored_cluster import stored_cluster

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.base_classes.control_plane_action import Waiting
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.failure import ControlPlaneFailure
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Answer, Machine
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.single_voter_recovery import recover
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    MACHINE,
    ClusterObjects,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

Object = dict[str, t.Any]
ARGUMENTS: Object = {"machine": "m1", "member_id": "00000000000000aa", "lost": "m2", "timeout": 900, "fencing": 7}
WAIVER = "kubeadm.control-plane/skip-etcd-snapshot"
RUNNING = Answer(True, {"state": "Running", "stage": "copy"})
DONE = Answer(
    True,
    {"state": "Succeeded", "snapshot": {"path": "/kept/snapshot.db"}, "dataCopy": "/kept/etcd-data", "message": ""},
)


class World:
    """A stored cluster of m1 and m2, machines that answer in turn, and the running action."""

    def __init__(self, folder: Path, state: str, *answers: Answer) -> None:
        stored_cluster(folder, "v1.20.2", {}, {}, {"m1": "localhost", "m2": "localhost"})
        self.store = FileStore(str(folder))
        self.store.modify(MACHINE, "default", "m2", lambda stored: stored["status"]["bootstrap"].update(state=state))
        self.answers = list(answers)
        self.calls: list[tuple[str, Object]] = []
        self.states: list[str] = []
        self.said: list[str] = []

    def lost(self) -> Object:
        """The lost machine as the store has it."""
        found = self.store.get(MACHINE, "default", "m2")
        assert found is not None
        return found

    def call(self, machine: Machine, module: str, arguments: Object) -> Answer:
        """Answer a call, and keep what the store had then."""
        assert module == "etcd_recover_single_voter"
        self.calls.append((machine.name, arguments))
        self.states.append(self.lost()["status"]["bootstrap"]["state"])
        return self.answers.pop(0)

    def progress(self, cluster: str, text: str) -> None:
        """Keep a line."""
        self.said.append(text)

    def waiting(self, cluster: str, bound_seconds: float) -> Waiting:
        """A bounded wait."""
        return Waiting(t.cast(t.Any, self), cluster, bound_seconds)

    def recover(self, **changes: t.Any) -> Object:
        """Run the recovery."""
        objects = ClusterObjects.read(self.store, "default", "prod")
        assert objects is not None
        return recover(self, self, objects, {**ARGUMENTS, **changes})


def test_the_machine_is_given_up_once_the_recovery_was_begun_and_noted_at_its_end(tmp_path: Path) -> None:
    world = World(tmp_path, "Running", RUNNING, RUNNING, DONE, DONE)
    result = world.recover()
    assert [name for name, _call in world.calls] == ["m1"] * 4
    assert [(call["wait"] > 0, call["settle"]) for _name, call in world.calls] == [
        (False, False),
        (True, False),
        (True, False),
        (False, True),
    ]
    assert all((call["member_id"], call["fencing"]) == ("00000000000000aa", 7) for _name, call in world.calls)
    assert world.states == ["Running", "Failed", "Failed", "Failed"]
    assert "continued without it" in world.lost()["status"]["bootstrap"]["message"]
    assert result["snapshot"]["path"] == "/kept/snapshot.db" and "/kept/etcd-data" in world.said[-1]


def test_a_machine_that_had_joined_is_marked_for_remediation(tmp_path: Path) -> None:
    world = World(tmp_path, "Succeeded", DONE, DONE)
    world.recover()
    assert world.lost()["status"]["bootstrap"]["state"] == "Succeeded"
    assert "cluster.x-k8s.io/remediate-machine" in world.lost()["metadata"]["annotations"]


def test_a_refusal_leaves_the_store_as_it_was(tmp_path: Path) -> None:
    world = World(
        tmp_path, "Running", Answer(True, {"failed": True, "msg": "it is not lost, and nothing was changed."})
    )
    before = world.lost()
    with pytest.raises(ControlPlaneFailure, match="was not recovered as the only voter: it is not lost"):
        world.recover()
    assert world.lost() == before and len(world.calls) == 1


def test_a_failure_on_the_way_is_not_taken_for_a_success(tmp_path: Path) -> None:
    world = World(tmp_path, "Running", RUNNING, Answer(True, {"failed": True, "msg": "ended Failed: at force"}))
    with pytest.raises(ControlPlaneFailure, match="at force"):
        world.recover()
    assert not any(call["settle"] for _name, call in world.calls)


def test_a_machine_that_stops_answering_may_go_on_and_that_is_said(tmp_path: Path) -> None:
    world = World(tmp_path, "Running", RUNNING, Answer(False, {"msg": "machine m1 was not reached: timed out"}))
    with pytest.raises(ControlPlaneFailure, match=r"not reached: timed out\. It may be at work there all the same"):
        world.recover()


def test_the_wait_is_bounded(tmp_path: Path) -> None:
    world = World(tmp_path, "Running", RUNNING)
    with pytest.raises(ControlPlaneFailure, match=r"did not end within 0 s and continues there \(now: copy\)"):
        world.recover(timeout=0)


def test_a_lost_machine_that_the_store_does_not_know_is_no_error(tmp_path: Path) -> None:
    world = World(tmp_path, "Running", DONE, DONE)
    before = world.lost()
    world.recover(lost="")
    assert world.lost() == before


@pytest.mark.parametrize("consent", ["loseEverything", "recoverSingleVoter", "giveUpBootstrap:", "removeMember:m2"])
@pytest.mark.parametrize("module", ["decide", "plan"])
def test_what_can_not_be_consented_to_is_refused_at_once(tmp_path: Path, module: str, consent: str) -> None:
    stored_cluster(tmp_path, "v1.20.2", {}, {}, {})
    result = run_action(module, cluster="prod", store={"path": str(tmp_path)}, consent=consent)
    assert result["failed"] and "is nothing that can be consented to" in result["msg"]


@pytest.mark.parametrize("consent", ["", "recoverSingleVoter:m2", "recoverSingleVoter:m2, giveUpBootstrap:m3"])
def test_an_empty_consent_and_several_are_read(tmp_path: Path, consent: str) -> None:
    stored_cluster(tmp_path, "v1.20.2", {}, {}, {})
    result = run_action("plan", cluster="prod", store={"path": str(tmp_path)}, consent=consent, show=False)
    assert result["end"]["reasons"][0]["reason"] == "ReplicasInvalid", "it was not read as far as the plan"


def test_a_waived_snapshot_is_not_taken_and_that_is_recorded(tmp_path: Path) -> None:
    stored_cluster(tmp_path, "v1.20.2", {}, {WAIVER: "true"}, {"m1": "localhost"})
    store = {"path": str(tmp_path)}
    result = run_action("cluster_snapshot", cluster="prod", store=store, name="before-change", run="r1")
    assert (result["changed"], result["taken"]) == (False, False) and WAIVER in result["msg"]
    journal = (tmp_path / "default" / "journal" / "prod.jsonl").read_text(encoding="utf-8")
    assert '"waived": true' in journal and '"result": "waived"' in journal


def test_an_external_etcd_is_not_ours_to_keep(tmp_path: Path) -> None:
    stored_cluster(tmp_path, "v1.20.2", {"etcd": {"external": {"endpoints": ["https://10.0.0.9:2379"]}}}, {}, {})
    result = run_action("cluster_snapshot", cluster="prod", store={"path": str(tmp_path)}, name="before-change")
    assert (result["changed"], result["taken"]) == (False, False) and "external" in result["msg"]


def test_without_a_machine_to_take_it_nothing_goes_on(tmp_path: Path) -> None:
    stored_cluster(tmp_path, "v1.20.2", {}, {}, {})
    result = run_action("cluster_snapshot", cluster="prod", store={"path": str(tmp_path)}, name="before-change")
    assert result["failed"] and "no machine has been bootstrapped" in result["msg"] and WAIVER in result["msg"]
