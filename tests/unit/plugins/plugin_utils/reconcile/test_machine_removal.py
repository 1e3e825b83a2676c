# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order in which a machine is taken out, and where that stops; the machines give recorded answers."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from removal_world import World

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.failure import ControlPlaneFailure
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Answer
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision import terms
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CONTROL_PLANE,
    MACHINE,
)

HOOK = "pre-drain.delete.hook.machine.cluster.x-k8s.io/backup"
LATE_HOOK = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/backup"
Object = dict[str, t.Any]


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Three machines, one of which goes."""
    return World(tmp_path)


def times(world: World) -> Object:
    return dict((world.store.get(MACHINE, "default", "m1") or {})["status"].get("deletion") or {})


def test_the_order(world: World) -> None:
    result = world.removal(leadership=["m3", "m2"]).take_out()
    assert world.machines.modules() == ["etcd_leader", "node_drain", "etcd_snapshot", "etcd_member"]
    asked = [name for name, _module, _arguments in world.machines.calls]
    assert asked == ["m2", "m2", "m3", "m2"], "never the machine that goes; the snapshot is kept where it stays longest"
    assert world.machines.calls[0][2]["to"] == ["node-m3", "node-m2"], "members are named after Nodes"
    assert world.machines.calls[1][2]["name"] == "node-m1"
    assert world.machines.calls[3][2] == {"member_id": "a1", "state": "absent", "fencing": 7}
    assert (result["ready"], result["node"]) == (True, "node-m1")
    assert world.stage() == "WaitingForInfrastructureDeletion"


def test_another_etcd_than_the_recorded_one_refuses(world: World) -> None:
    recorded = {"etcdClusterID": "00000000000000cc"}
    world.store.modify(CONTROL_PLANE, "default", "prod", lambda stored: stored.update(status=recorded))
    world.removal(leadership=["m3"]).take_out()
    told = [call.get("cluster_id") for _name, module, call in world.machines.calls if module.startswith("etcd_")]
    assert told == ["00000000000000cc"] * 3


@pytest.mark.parametrize("reason", ["LeaderSilent", "LeadershipNotMoved"])
def test_a_leader_that_can_not_be_asked_keeps_its_machine_no_longer(world: World, reason: str) -> None:
    """What can't hand over is removed all the same, and the others elect; what can and doesn't is a reason to stop."""
    world.machines.answers["etcd_leader"] = [Answer(True, {"failed": True, "reason": reason, "msg": "not handed over"})]
    removal = world.removal(leadership=["m3", "m2"])
    if reason == "LeaderSilent":
        assert removal.take_out()["ready"]
        assert world.machines.modules() == ["etcd_leader", "node_drain", "etcd_snapshot", "etcd_member"]
        return
    with pytest.raises(ControlPlaneFailure, match=r"m2: not handed over; m3: not handed over"):
        removal.take_out()
    assert world.machines.modules() == ["etcd_leader", "etcd_leader"]


def test_a_second_run_neither_drains_again_nor_waits_for_hooks_again(world: World) -> None:
    world.removal().take_out()
    world.annotate(HOOK)
    world.annotate(LATE_HOOK)
    world.machines.calls.clear()
    assert world.removal(member_id=None).take_out()["ready"] is True
    assert world.machines.modules() == []


def test_what_is_not_marked_is_left_alone(world: World) -> None:
    with pytest.raises(ControlPlaneFailure, match="not marked for deletion"):
        world.removal(name="m2").take_out()
    assert world.machines.calls == []


def test_a_pre_drain_hook_holds_it_before_anything(world: World) -> None:
    world.annotate(HOOK)
    assert world.removal().take_out()["ready"] is False
    assert world.machines.calls == [] and world.stage() == "WaitingForPreDrainHook"
    assert list(times(world)) == ["waitForPreDrainHookStartTime"]


def test_a_pre_terminate_hook_holds_it_after_the_drain(world: World) -> None:
    world.annotate(LATE_HOOK)
    assert world.removal().take_out()["ready"] is False
    assert world.machines.modules() == ["node_drain"] and world.stage() == "WaitingForPreTerminateHook"
    world.change("m1", lambda stored: stored["metadata"]["annotations"].pop(LATE_HOOK))
    assert world.removal().take_out()["ready"] is True
    assert world.machines.modules() == ["node_drain", "etcd_snapshot", "etcd_member"], "it is not drained twice"


def test_its_own_hook_does_not(world: World) -> None:
    world.annotate("pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup")
    assert world.removal().take_out()["ready"] is True


def test_the_drain_is_waited_for_with_the_machines_own_bounds(world: World) -> None:
    deletion = {"nodeDrainTimeoutSeconds": 90, "nodeVolumeDetachTimeoutSeconds": 40}
    world.change("m1", lambda stored: stored["spec"].update(deletion=deletion))
    world.machines.answers["node_drain"] = [
        Answer(True, {"state": "Running", "message": "pod a is left", "started_at": "2099-01-31T12:00:00Z"}),
        Answer(True, {"state": "Drained", "message": "drained"}),
    ]
    assert "drained" in world.removal().take_out()["msg"]
    assert world.machines.modules()[:2] == ["node_drain", "node_drain"]
    call = world.machines.calls[0][2]
    assert (call["timeout"], call["volumes_timeout"], "started_at" in call) == (90, 40, False)
    assert world.machines.calls[1][2]["started_at"] == "2099-01-31T12:00:00Z", (
        "its bound is counted from the first call"
    )


@pytest.mark.parametrize(
    ("excluded", "recorded"),
    [
        ("", ["nodeDrainStartTime", "waitForNodeVolumeDetachStartTime"]),
        ("draining", ["waitForNodeVolumeDetachStartTime"]),
    ],
)
def test_the_starts_are_recorded_once_and_go_to_whichever_machine_is_asked(
    world: World, excluded: str, recorded: list[str]
) -> None:
    drain, volumes, later = (f"2099-01-31T12:0{minute}:00Z" for minute in range(3))
    if excluded:
        world.annotate(f"machine.cluster.x-k8s.io/exclude-node-{excluded}")
    world.annotate(LATE_HOOK)
    world.machines.answers["node_drain"] = [
        Answer(True, {"state": "Running", "message": "a pod", "started_at": drain, "volumes_started_at": ""}),
        Answer(True, {"state": "Running", "message": "a volume", "started_at": drain, "volumes_started_at": volumes}),
        Answer(True, {"state": "Drained", "message": "", "started_at": later, "volumes_started_at": later}),
    ]
    world.removal().take_out()
    known = times(world)
    hook = known.pop("waitForPreTerminateHookStartTime")
    assert known == {each: {"nodeDrainStartTime": drain}.get(each, volumes) for each in recorded}
    assert world.machines.calls[2][2]["volumes_started_at"] == volumes
    world.change("m1", lambda stored: stored["status"]["deletion"].update(waitForPreTerminateHookStartTime=drain))
    world.removal().take_out()
    assert hook and times(world) == {**known, "waitForPreTerminateHookStartTime": drain}, "a second run moves none"


def test_a_drain_that_a_killed_run_had_ended_is_repeated_with_its_own_start(world: World) -> None:
    """As in Cluster API, where the start is written once: a bound that is over by then is not given a second time."""
    start, later = "2099-01-31T12:00:00Z", "2099-01-31T18:00:00Z"
    world.machines.answers["node_drain"] = [
        Answer(True, {"state": "Running", "message": "a pod", "started_at": start}),
        Answer(True, {"state": "Drained", "message": "", "started_at": start}),
        Answer(True, {"state": "Drained", "message": "", "started_at": later}),
    ]
    world.annotate(LATE_HOOK)
    world.removal().take_out()

    def undo_the_last_stage(stored: Object) -> None:
        (condition,) = [each for each in stored["status"]["conditions"] if each["type"] == "Deleting"]
        condition["reason"] = terms.DRAINING

    world.change("m1", undo_the_last_stage)
    world.removal().take_out()
    drains = [call for _name, module, call in world.machines.calls if module == "node_drain"]
    assert [each.get("started_at") for each in drains] == [None, start, start]
    assert times(world)["nodeDrainStartTime"] == start


@pytest.mark.parametrize("told", ["yesterday", "2026-13-31T12:00:00Z", "9" * 5000, {"at": "2099-01-31T12:00:00Z"}, 5])
def test_what_is_no_start_of_this_deletion_is_neither_recorded_nor_passed_on(world: World, told: t.Any) -> None:
    known = {"nodeDrainStartTime": "2020-01-31T12:00:00Z", "waitForNodeVolumeDetachStartTime": "earlier"}
    world.change("m1", lambda stored: stored["status"].update(deletion=known))
    starts = {"started_at": told, "volumes_started_at": told}
    world.machines.answers["node_drain"] = [
        Answer(True, {"state": "Running", "message": "a volume", **starts}),
        Answer(True, {"state": "Drained", "message": ""}),
    ]
    assert world.removal().take_out()["ready"] is True
    assert not [call for _name, _module, call in world.machines.calls if call.keys() & starts.keys()]
    assert times(world).items() <= known.items()


def test_a_node_whose_clock_is_behind_does_not_end_the_bound_on_another(world: World) -> None:
    long_ago = "2001-01-31T12:00:00Z"
    world.machines.answers["node_drain"] = [
        Answer(True, {"state": "Running", "message": "", "started_at": long_ago, "volumes_started_at": long_ago}),
        Answer(True, {"state": "Drained", "message": ""}),
    ]
    world.removal().take_out()
    marked = (world.store.get(MACHINE, "default", "m1") or {})["metadata"]["deletionTimestamp"]
    call = world.machines.calls[1][2]
    assert (call["started_at"], call["volumes_started_at"]) == (marked, marked)
    assert set(times(world).values()) == {marked}


def test_a_bound_that_is_over_is_said_and_ends_the_waiting(world: World) -> None:
    world.machines.answers["node_drain"] = [Answer(True, {"state": "TimedOut", "message": "pod shop/web is left"})]
    assert world.removal().take_out()["ready"] is True
    assert any("pod shop/web is left" in line for line in world.controller.said)


@pytest.mark.parametrize(("state", "reason"), [("Drained", "SuccessfulDrainNode"), ("TimedOut", "FailedDrainNode")])
def test_the_drain_is_explained_on_the_machine(world: World, state: str, reason: str) -> None:
    """In the words of Cluster API's Machine controller."""
    world.machines.answers["node_drain"] = [Answer(True, {"state": state, "message": "pod shop/web"})]
    world.removal().take_out()
    assert world.store.told == [("Machine", "m1", state == "TimedOut", reason, "pod shop/web")]


def test_finite_bounds_where_the_machine_sets_none(world: World) -> None:
    world.removal().take_out()
    call = world.machines.calls[0][2]
    assert (call["timeout"], call["volumes_timeout"]) == (600, 300)


def test_a_drain_without_a_bound_ends_the_run_and_removes_nothing(world: World) -> None:
    world.change("m1", lambda stored: stored["spec"].update(deletion={"nodeDrainTimeoutSeconds": 0}))
    world.machines.answers["node_drain"] = [
        Answer(True, {"state": "Running", "message": "PodDisruptionBudget shop/web"})
    ]
    with pytest.raises(ControlPlaneFailure, match=r"PodDisruptionBudget shop/web.*nothing was removed"):
        world.removal(timeout=0).take_out()
    assert set(world.machines.modules()) == {"node_drain"}


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (("machine.cluster.x-k8s.io/exclude-node-draining",), (True, True)),
        (("machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach",), (False, False)),
    ],
)
def test_what_is_excluded(world: World, keys: tuple[str, ...], expected: tuple[bool, bool]) -> None:
    for key in keys:
        world.annotate(key)
    world.removal().take_out()
    call = world.machines.calls[0][2]
    assert (call["skip_drain"], call["wait_for_volumes"]) == expected


def test_a_machine_without_node_is_not_drained(world: World) -> None:
    world.change("m1", lambda stored: stored["status"].pop("nodeRef"))
    assert world.removal().take_out()["node"] == ""
    assert world.machines.modules() == ["etcd_snapshot", "etcd_member"]


def test_without_a_verified_snapshot_no_member_goes(world: World) -> None:
    world.machines.answers["etcd_snapshot"] = [Answer(True, {"failed": True, "msg": "the disk is full"})]
    with pytest.raises(ControlPlaneFailure, match=r"the disk is full.*skip-etcd-snapshot"):
        world.removal().take_out()
    assert world.machines.modules().count("etcd_snapshot") == 2, "every machine that stays is tried"
    assert "etcd_member" not in world.machines.modules()


def test_a_removal_that_is_tried_again_is_served_by_its_own_snapshot_alone(world: World) -> None:
    world.machines.answers["etcd_member"] = [Answer(True, {"failed": True, "msg": "QuorumAtRisk"})]
    for identity in ("a1", "a1", "b2"):
        with pytest.raises(ControlPlaneFailure, match="QuorumAtRisk"):
            world.removal(member_id=identity).take_out()
    first, again, another = [call for _name, module, call in world.machines.calls if module == "etcd_snapshot"]
    assert first == again and (first["max_age"], first["keep"]) == (300, 5) and first["name"] == another["name"]
    assert "a1" in first["purpose"] and first["purpose"] != another["purpose"]


def test_the_snapshot_can_be_waived(world: World) -> None:
    world.waive("true")
    assert "kubeadm.control-plane/skip-etcd-snapshot" in world.removal().take_out()["msg"]
    assert world.machines.modules() == ["node_drain", "etcd_member"]


@pytest.mark.parametrize("value", ["false", "False", "no", "0", ""])
def test_what_is_not_true_waives_no_snapshot(world: World, value: str) -> None:
    world.waive(value)
    world.removal().take_out()
    assert world.machines.modules() == ["node_drain", "etcd_snapshot", "etcd_member"]


def test_the_snapshot_goes_to_the_newest_that_is_ready_and_stays(world: World) -> None:
    ready = {"type": "Ready", "status": "True", "reason": "Ready", "lastTransitionTime": "2026-01-31T12:00:00Z"}
    world.change("m2", lambda stored: stored["status"].update(conditions=[ready]))
    world.removal().take_out()
    assert [name for name, module, _arguments in world.machines.calls if module == "etcd_snapshot"] == ["m2"]
    world.machines.calls.clear()
    world.change("m3", lambda stored: stored["status"].update(conditions=[ready]))
    world.removal().take_out()
    assert [name for name, module, _arguments in world.machines.calls if module == "etcd_snapshot"] == ["m3"]


def test_after_a_long_drain_it_is_decided_anew_before_a_member_goes(world: World) -> None:
    world.machines.meanwhile["node_drain"] = lambda: world.passes(60)
    result = world.removal().take_out()
    assert result["ready"] is False and "observed again" in result["msg"]
    assert world.machines.modules() == ["node_drain"] and world.stage() == "WaitingForPreTerminateHook"
    assert world.removal().take_out()["ready"] is True
    assert world.machines.modules() == ["node_drain", "etcd_snapshot", "etcd_member"], "it is not drained twice"


def test_a_short_drain_goes_on_at_once(world: World) -> None:
    world.machines.meanwhile["node_drain"] = lambda: world.passes(59)
    assert world.removal().take_out()["ready"] is True


def test_a_refusal_is_not_asked_away(world: World) -> None:
    world.machines.answers["etcd_member"] = [Answer(True, {"failed": True, "msg": "QuorumAtRisk"})]
    with pytest.raises(ControlPlaneFailure, match="QuorumAtRisk"):
        world.removal().take_out()
    assert world.machines.modules().count("etcd_member") == 1


def test_a_machine_that_does_not_answer_is_no_refusal(world: World) -> None:
    world.machines.answers["etcd_member"] = [Answer(False, {"msg": "not reached"}), Answer(True, {"msg": "gone"})]
    assert world.removal().take_out()["ready"] is True
    assert [name for name, module, _arguments in world.machines.calls if module == "etcd_member"] == ["m2", "m3"]


def test_a_run_that_lost_its_lock_takes_no_member_out(world: World) -> None:
    world.controller.lost = True
    with pytest.raises(ControlPlaneFailure, match="lock"):
        world.removal().take_out()
    assert "etcd_member" not in world.machines.modules()


@pytest.mark.parametrize("member_id", ["a1", None])
def test_a_run_that_lost_its_lock_during_the_drain_deletes_no_machine(world: World, member_id: t.Optional[str]) -> None:
    world.machines.meanwhile["node_drain"] = lambda: setattr(world.controller, "lost", True)
    with pytest.raises(ControlPlaneFailure, match="the lock was lost"):
        world.removal(member_id=member_id).take_out()
    assert "etcd_member" not in world.machines.modules()
    assert world.stage() == "WaitingForPreTerminateHook", "nothing says that its infrastructure may go"


def _end_the_cluster(world: World) -> None:
    world.store.modify(CONTROL_PLANE, "default", "prod", lambda stored: stored["metadata"].update(finalizers=["x"]))
    world.store.delete(CONTROL_PLANE, "default", "prod")


def test_the_last_machine_that_failed_and_a_whole_cluster_need_no_call(world: World) -> None:
    world.lose_the_others()
    world.change("m1", lambda stored: stored["status"]["bootstrap"].update(state="Failed"))
    assert world.removal().take_out()["ready"] is True
    _end_the_cluster(world)
    world.removal().finish()
    assert world.machines.calls == [] and world.store.get(MACHINE, "default", "m1") is None


def test_one_alone_does_not_go_once_the_whole_cluster_is_to_go(world: World) -> None:
    """Its member would stay listed, and a dead voter take the others' quorum; the next decision deletes all together."""
    _end_the_cluster(world)
    answer = world.removal().take_out()
    assert answer["ready"] is False and "marked for deletion meanwhile" in answer["msg"]
    assert world.machines.calls == [] and world.store.get(MACHINE, "default", "m1") is not None


@pytest.mark.parametrize("bootstrap", [{"state": "Succeeded"}, {}])
def test_the_last_machine_that_carries_the_control_plane_is_refused(world: World, bootstrap: Object) -> None:
    world.lose_the_others()
    world.store.modify(MACHINE, "default", "m1", lambda stored: stored["status"].update(bootstrap=bootstrap))
    with pytest.raises(ControlPlaneFailure, match=r"only one in the store.*prod.*nothing was done.*playbook delete"):
        world.removal().take_out()
    assert world.machines.calls == []


def test_at_the_end_the_node_and_then_the_objects(world: World) -> None:
    assert world.removal().finish()["changed"] is True
    [(_name, module, call)] = world.machines.calls
    assert (module, call["name"]) == ("workload_node", "node-m1")
    assert call["machine_gone"] is True, "what its components held is free: its provider has deleted the machine"
    assert world.store.get(MACHINE, "default", "m1") is None
    assert world.store.get(("infrastructure.cluster.x-k8s.io", "NspawnMachine"), "default", "m1") is None


def test_a_node_of_no_machine_says_nothing_of_its_host(world: World) -> None:
    world.removal(name=None, node="node-x").delete_node("node-x", 0)
    [(_name, _module, call)] = world.machines.calls
    assert call["machine_gone"] is False


def test_a_node_that_can_not_be_deleted_holds_nobody_up_for_ever(world: World) -> None:
    world.machines.answers["workload_node"] = [Answer(True, {"failed": True, "msg": "no API"})]
    assert world.removal().finish()["changed"] is True
    assert any("node-m1" in line and "no API" in line for line in world.controller.said)
    assert world.store.get(MACHINE, "default", "m1") is None


def test_unless_the_machine_says_for_ever(world: World) -> None:
    world.change("m1", lambda stored: stored["spec"].update(deletion={"nodeDeletionTimeoutSeconds": 0}))
    world.machines.answers["workload_node"] = [Answer(True, {"failed": True, "msg": "no API"})]
    with pytest.raises(ControlPlaneFailure, match="node-m1 was not deleted"):
        world.removal().finish()
    assert world.store.get(MACHINE, "default", "m1") is not None


def test_a_member_of_no_machine(world: World) -> None:
    world.removal(name=None, member_id="b2").remove_member()
    assert world.machines.modules() == ["etcd_snapshot", "etcd_member"]
