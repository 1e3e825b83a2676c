# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Invariants of peers.md on random snapshots, checked from the raw document and never with the code under test."""

from __future__ import annotations

import copy
from typing import Any

from builders import NOW, Builder, cluster, member_id
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.plan import plan
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.snapshot import check_snapshot

COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd")
# Mostly good, so that what lies behind the first check is reached too.
MEMBERS = ("healthy",) * 5 + ("sick", "learner", "unnamed", "missing", "silent", "alarm")
NODES = ("True",) * 6 + ("Unknown", "missing", "False")
STATES = ("Succeeded",) * 5 + ("", "Running", "Failed")


@st.composite
def snapshots(draw: st.DrawFn) -> dict[str, Any]:
    builder = cluster(draw(st.sampled_from((1, 3, 5, 7))))
    if draw(st.booleans()):
        builder.domains("a", "b", "c")
    count = draw(st.integers(0, 7))
    for number in range(1, count + 1):
        _machine(draw, builder, f"m{number}")
    if builder.workload["etcd"] and draw(st.integers(0, 7)) == 0:
        builder.member("stray", unnamed=draw(st.booleans()), learner=draw(st.booleans()))
    _surroundings(draw, builder)
    return builder.build()


def _machine(draw: st.DrawFn, builder: Builder, name: str) -> None:
    state = draw(st.sampled_from(STATES))
    builder.machine(name, state, age=draw(st.sampled_from((20, 100, 1000, 9000))))
    if state == "Failed" and draw(st.booleans()) and builder.workload["reachable"]:
        builder.works(name)
    entry = builder.entry(name)
    if draw(st.integers(0, 15)) == 0:
        entry["infrastructureMachine"]["status"]["state"] = "dead"
    if draw(st.integers(0, 15)) == 0:
        builder.deleting(name)
    if draw(st.integers(0, 15)) == 0:
        entry["machine"]["spec"]["version"] = "v1.19.9"
    if not any(node["name"] == name for node in builder.workload["nodes"]):
        return
    node = draw(st.sampled_from(NODES))
    if node == "missing":
        builder.workload["nodes"] = [each for each in builder.workload["nodes"] if each["name"] != name]
    else:
        builder.node(name, ready=node)
    if draw(st.integers(0, 7)) == 0:
        builder.pod(
            name,
            draw(st.sampled_from(COMPONENTS)),
            phase=draw(st.sampled_from(("Pending", "Running", "Failed", "Unknown"))),
        )
    _member(builder, name, draw(st.sampled_from(MEMBERS)))


def _member(builder: Builder, name: str, kind: str) -> None:
    etcd = builder.workload["etcd"]
    if kind in ("sick", "learner", "unnamed"):
        builder.member(
            name,
            healthy=kind != "sick",
            learner=kind == "learner",
            unnamed=kind == "unnamed",
            address=f"10.0.0.{name[1:]}",
        )
    elif kind == "missing":
        builder.without_member(name)
    elif kind == "silent":
        etcd["statuses"].pop(member_id(name))
    elif kind == "alarm":
        etcd["alarms"].append({"memberID": member_id(name), "alarm": "NOSPACE"})
    if etcd["leader"] not in [each["id"] for each in etcd["members"]]:
        etcd["leader"] = None


def _surroundings(draw: st.DrawFn, builder: Builder) -> None:
    workload, snapshot = builder.workload, builder.snapshot
    if draw(st.integers(0, 9)) == 0:
        builder.unreachable()
        workload = builder.workload
    if draw(st.integers(0, 5)) == 0:
        builder.endpoint(draw(st.sampled_from((True, False, None))))
    if workload["etcd"] and draw(st.integers(0, 5)) == 0:
        workload["etcd"]["memberListAgrees"] = draw(st.sampled_from((False, None)))
    if workload["etcd"] and draw(st.integers(0, 9)) == 0:
        workload["etcd"]["leader"] = None
    if workload["reachable"] and draw(st.integers(0, 9)) == 0:
        workload["initialized"] = False
    if draw(st.integers(0, 4)) == 0:
        for owner in ("cluster", "controlPlane"):
            snapshot[owner]["status"] = {}
    if draw(st.integers(0, 9)) == 0:
        snapshot["certificates"]["sa"]["present"] = False
    if draw(st.integers(0, 15)) == 0:
        builder.deleting()
    if draw(st.integers(0, 15)) == 0:
        snapshot["cluster"]["spec"]["paused"] = True
    if draw(st.booleans()):
        builder.stored("EtcdClusterHealthy", "False", 500).stored("RemoteConnectionProbe", "False", 500, "cluster")


class World:
    """What the raw snapshot says, counted by hand."""

    def __init__(self, snapshot: dict[str, Any]) -> None:
        self.workload = snapshot["workload"]
        self.snapshot = snapshot
        etcd = self.workload["etcd"] or {
            "members": [],
            "statuses": {},
            "alarms": [],
            "memberListAgrees": None,
            "leader": None,
        }
        self.etcd = etcd
        alarms = {each["memberID"] for each in etcd["alarms"]}
        self.voters = {each["id"] for each in etcd["members"] if not each["isLearner"]}
        self.good = {
            each["id"]
            for each in etcd["members"]
            if not each["isLearner"]
            and each["name"]
            and each["id"] not in alarms
            and etcd["statuses"].get(each["id"], {}).get("healthy") is True
        }
        self.unfinished = {each["id"] for each in etcd["members"] if each["isLearner"] or not each["name"]}
        self.names = {each["name"]: each["id"] for each in etcd["members"] if each["name"]}
        self.states = {
            each["machine"]["metadata"]["name"]: each["machine"]["status"].get("bootstrap", {}).get("state", "")
            for each in snapshot["machines"]
        }
        self.deleting = {
            each["machine"]["metadata"]["name"]
            for each in snapshot["machines"]
            if "deletionTimestamp" in each["machine"]["metadata"]
        }
        self.latched = any(
            snapshot[owner]["status"].get("initialization", {}).get("controlPlaneInitialized")
            for owner in ("cluster", "controlPlane")
        )

    def works(self, name: str) -> bool:
        node = next((each for each in self.workload["nodes"] if each["name"] == name), None)
        pods = self.workload["pods"].get(name, {})
        return (
            node is not None
            and node["ready"] != "Unknown"
            and all(
                pods.get(component, {}).get("phase") == "Running" and pods[component]["ready"]
                for component in COMPONENTS
            )
        )


def quorum(voters: int) -> int:
    return voters // 2 + 1


@settings(max_examples=500, deadline=None)
@given(snapshots())
def test_invariants(snapshot: dict[str, Any]) -> None:
    assert check_snapshot(snapshot) == []
    before = copy.deepcopy(snapshot)
    decision = decide(snapshot)
    assert snapshot == before
    world = World(snapshot)
    checks = {
        "initialize": check_initialize,
        "join": check_join,
        "remove": check_remove,
        "createCertificates": check_certificates,
    }
    checks.get(decision["action"], check_rest)(world, decision)
    if snapshot["cluster"]["spec"].get("paused"):
        assert (decision["action"], decision["reasons"][0]["reason"]) == ("none", "Paused")


def check_initialize(world: World, decision: dict[str, Any]) -> None:
    """I8: never where a control plane may exist."""
    name = decision["target"]["machine"]
    if name is not None and world.states[name] == "Running":
        return
    assert not world.latched
    assert world.workload["initialized"] is not True
    assert world.workload["endpoint"]["answers"] is False
    assert "Succeeded" not in world.states.values()
    assert "Running" not in world.states.values()


def check_join(world: World, decision: dict[str, Any]) -> None:
    """I1, I2, I4, I6: only into a control plane whose health is proven throughout, one at a time."""
    name = decision["target"]["machine"]
    in_flight = [each for each, state in world.states.items() if state == "Running" and each not in world.deleting]
    if name is not None and world.states[name] == "Running":
        return
    assert not in_flight
    assert not world.deleting
    assert "Failed" not in world.states.values()
    assert [each for each, state in world.states.items() if state == ""] == ([name] if name else []) or name is not None
    assert world.workload["reachable"]
    assert world.workload["endpoint"]["answers"] is True
    assert not world.unfinished
    assert world.etcd["memberListAgrees"] is True
    assert world.voters == world.good
    assert len(world.voters) >= 1
    assert len(world.good) >= quorum(len(world.voters) + 1) or len(world.voters) == 1
    for each, state in world.states.items():
        if state == "Succeeded":
            assert world.works(each)
            assert world.names[each] in world.good
    if len(world.voters) == 1:
        assert "RISK" in decision["quorum"]["whyThisOrder"]


def check_remove(world: World, decision: dict[str, Any]) -> None:
    """I1, I2, I3, I5, I6: by member ID, never the last voter, never without a majority on both sides."""
    name, member = decision["target"]["machine"], decision["target"]["memberID"]
    state = world.states[name]
    assert state != "Succeeded" or name in world.deleting
    if not world.workload["reachable"]:
        assert state == "" or (
            not world.latched
            and "Succeeded" not in world.states.values()
            and world.workload["endpoint"]["answers"] is False
        )
        return
    if state == "":
        assert name not in world.names
    if member is None:
        assert name not in world.names
        return
    if name in world.names:
        assert member == world.names[name]
    after = world.voters - {member}
    assert after
    assert world.unfinished <= {member}
    assert world.etcd["memberListAgrees"] is True
    assert world.etcd["leader"] is not None
    assert len(world.good) >= quorum(len(world.voters))
    assert len(world.good - {member}) >= quorum(len(after))
    assert any(world.works(each) for each, other in world.states.items() if each != name and other == "Succeeded")


def check_certificates(world: World, decision: dict[str, Any]) -> None:
    """Certificate authorities are never made again where a control plane may exist."""
    assert decision["reasons"][0]["reason"] == "KubeconfigNotAvailable" or (
        not world.latched and not any(world.states.values())
    )


def check_rest(world: World, decision: dict[str, Any]) -> None:
    """Whoever is made to wait is told for what; whoever is blocked is told what to do."""
    if decision["action"] in ("wait", "blocked"):
        assert decision["blockedOn"]
        assert all(each["reason"] and each["message"] for each in decision["blockedOn"])
    if decision["action"] == "blocked":
        assert any(each["fix"] for each in decision["blockedOn"])


def write_back(snapshot: dict[str, Any], decision: dict[str, Any]) -> dict[str, Any]:
    """The snapshot after status and conditions were written to the objects, as the writer does it."""
    snapshot = copy.deepcopy(snapshot)
    machines = {each["machine"]["metadata"]["name"]: each["machine"] for each in snapshot["machines"]}
    owners = [("cluster", snapshot["cluster"]), ("controlPlane", snapshot["controlPlane"])]
    for key, owner in owners:
        _write(owner, decision["status"][key], decision["conditions"][key])
    for name, machine in machines.items():
        _write(machine, decision["status"]["machines"][name], decision["conditions"]["machines"][name])
    return snapshot


def _write(owner: dict[str, Any], status: dict[str, Any], conditions: list[dict[str, Any]]) -> None:
    stored = owner.setdefault("status", {})
    stored.update(copy.deepcopy(status))
    kept = {each["type"]: each for each in stored.get("conditions", [])}
    for each in conditions:
        same = kept.get(each["type"], {}).get("status") == each["status"]
        kept[each["type"]] = {**each, "lastTransitionTime": kept[each["type"]]["lastTransitionTime"] if same else NOW}
    stored["conditions"] = list(kept.values())


@settings(max_examples=120, deadline=None)
@given(snapshots())
def test_writing_status_comes_to_rest(snapshot: dict[str, Any]) -> None:
    """I9: with nothing else changing, a second pass writes nothing and decides the same."""
    first = write_back(snapshot, decide(snapshot))
    second = write_back(first, decide(first))
    third = write_back(second, decide(second))
    assert third == second
    assert decide(third) == decide(second)


@settings(max_examples=100, deadline=None)
@given(snapshots())
def test_every_plan_ends(snapshot: dict[str, Any]) -> None:
    """I10: bounded, and never because of the bound; every planned step keeps the invariants of its figures."""
    steps = plan(snapshot)
    assert len(steps) < 60
    assert steps[-1]["action"] in ("none", "wait", "blocked")
    assert steps[-1]["reasons"][0]["reason"] != "PlanTooLong"
    for step in steps:
        if step["action"] in ("join", "remove") and step["quorum"]:
            after = step["quorum"]["after"]
            assert after["healthy"] >= after["quorum"] or after == step["quorum"]["before"]


def test_the_generator_reaches_every_kind_of_decision() -> None:
    seen: set[str] = set()

    @settings(max_examples=400, deadline=None, database=None, derandomize=True)
    @given(snapshots())
    def collect(snapshot: dict[str, Any]) -> None:
        seen.add(decide(snapshot)["action"])

    collect()
    assert seen >= {"initialize", "join", "remove", "deleteMachines", "wait", "blocked", "none", "createCertificates"}
