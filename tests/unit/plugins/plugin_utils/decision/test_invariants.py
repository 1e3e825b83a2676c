# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The invariants on random snapshots, checked from the raw document and never with the code under test.

What they are: docs/reference/invariants.md, "What always holds".
"""

from __future__ import annotations

import copy
from typing import Any

from builders import NOW
from decision_page import checks, table
from hypothesis import given, settings
from random_snapshots import snapshots
from raw_world import World, quorum

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.steps import plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.typed_snapshot import (
    check_snapshot,
)

ENDINGS = ("none", "wait", "postponed", "blocked")


# What the generator has to reach: every kind of decision.
REACHED = {
    *("initialize", "deleteMachines", "wait", "blocked", "postponed", "none", "createCertificates", "adopt"),
    *("join ScalingUp", "join RollingOut", "removeMember StrayMember"),
    *("remove BootstrapFailed", "remove NeverBootstrapped", "remove MachineDeleting"),
    *("remove MachineUnhealthy", "remove RollingOut", "remove ScalingDown"),
}


def test_invariants() -> None:
    """They hold in every decision, each name in it is explained on its page, and every kind of decision is reached."""
    seen: set[str] = set()
    reasons, preflight = table("Reasons"), checks()

    @settings(max_examples=1500, database=None, derandomize=True)
    @given(snapshots())
    def hold(snapshot: dict[str, Any]) -> None:
        decision = check_decision(snapshot)
        assert {each["reason"] for each in (*decision["reasons"], *decision["blockedOn"])} <= reasons
        assert {each["check"] for each in decision["preflight"]} <= preflight
        seen.update((decision["action"], f"{decision['action']} {decision['reasons'][0]['reason']}"))

    hold()
    assert seen >= REACHED


def check_decision(snapshot: dict[str, Any]) -> dict[str, Any]:
    """Return the decision on a snapshot, after every invariant was checked of it."""
    assert check_snapshot(snapshot) == []
    before = copy.deepcopy(snapshot)
    decision = decide(snapshot)
    assert snapshot == before
    world = World(snapshot)
    rules = {
        "initialize": check_initialize,
        "join": check_join,
        "remove": check_remove,
        "removeMember": check_remove_member,
        "adopt": check_adopt,
        "createCertificates": check_certificates,
    }
    rules.get(decision["action"], check_rest)(world, decision)
    check_leadership(world, decision)
    check_figures(world, decision)
    if snapshot["cluster"]["spec"].get("paused"):
        assert (decision["action"], decision["reasons"][0]["reason"]) == ("none", "Paused")
    return decision


def check_initialize(world: World, decision: dict[str, Any]) -> None:
    """One cluster: never where a control plane may exist."""
    name = decision["target"]["machine"]
    if name is not None and world.states[name] == "Running":
        return
    assert not world.latched
    assert world.workload["initialized"] is not True
    assert world.workload["endpoint"]["answers"] is False
    assert "Succeeded" not in world.states.values()
    assert "Running" not in world.states.values()


def check_join(world: World, decision: dict[str, Any]) -> None:
    """Only into a control plane whose health is proven throughout, one at a time."""
    name = decision["target"]["machine"]
    in_flight = [each for each in world.live if world.states[each] == "Running"]
    if name is not None and world.states[name] == "Running":
        return
    assert not in_flight
    assert not world.deleting
    assert world.workload["reachable"]
    assert world.workload["endpoint"]["answers"] is True
    assert any(world.well(each) for each in world.joined)
    if world.external:
        assert (world.workload["etcd"] or {}).get("reachable") is not False
    else:
        check_addition(world, decision)
    if not world.recorded:
        assert all(world.well(each) for each in world.joined)
        assert "Failed" not in [world.states[each] for each in world.live]
    if name is None:
        check_number(world)


def check_addition(world: World, decision: dict[str, Any]) -> None:
    assert not world.unfinished
    assert world.etcd["memberListAgrees"] is True
    assert len(world.voters) >= 1
    assert len(world.good) >= quorum(len(world.voters) + 1) or len(world.voters) == len(world.good) == 1
    if world.voters != world.good:
        # Only the replacement of a machine that was remediated, and only on two machines' word.
        assert world.recorded
        assert world.witnessed() or len(world.joined) < 2
        said = [world.etcd["statuses"][each].get("version") for each in world.good]
        assert set(said) == {"3.6.11"}
    if len(world.voters) == 1:
        assert "RISK" in decision["quorum"]["whyThisOrder"]


def check_number(world: World) -> None:
    """Never more machines than wanted and one for a rollout; and that one only with consent, and in the window."""
    outdated = [each for each in world.live if world.outdated(each)]
    recorded = world.snapshot["controlPlane"]["status"].get("rollout", {}).get("replicas")
    size = max(world.spec["replicas"], recorded or 0) if outdated else world.spec["replicas"]
    strategy = world.spec.get("rollout", {}).get("strategy", {}).get("rollingUpdate", {})
    assert len(world.live) < size + (1 if outdated and strategy.get("maxSurge", 1) else 0)
    if len(world.live) >= size:
        assert consent(world)
        assert window(world)
    wanted = minor(world.spec["version"])
    versions = [world.machines[each]["spec"]["version"] for each in world.live]
    assert all(wanted - 1 <= minor(each) <= wanted for each in versions)


def minor(version: str) -> int:
    return int(version.split(".")[1])


def consent(world: World) -> bool:
    policy = world.snapshot.get("policy", {"replace": "allow"})
    return policy["replace"] == "allow" or (policy["replace"] == "ask" and policy["approved"] is True)


def window(world: World) -> bool:
    found = world.snapshot.get("maintenance")
    return found is None or found["open"] is True


def check_remove(world: World, decision: dict[str, Any]) -> None:
    """By member ID, never the last voter, never without a majority on both sides, and what works only for a reason."""
    name, member = decision["target"]["machine"], decision["target"]["memberID"]
    state = world.states[name]
    if not world.workload["reachable"]:
        assert state == "" or (
            not world.latched
            and "Succeeded" not in world.states.values()
            and world.workload["endpoint"]["answers"] is False
        )
        return
    if state == "Succeeded" and name not in world.deleting:
        check_choice(world, decision, name)
    if state == "":
        assert name not in world.names
    if not world.external and member is None:
        assert name not in world.names
    if world.external:
        assert (member, decision["quorum"]) == (None, None)
    elif member is not None:
        assert world.names.get(name, member) == member
        assert world.change_allowed(member)
    if member is not None or state == "Succeeded":
        assert any(world.works(each) for each in world.joined | world.deleting if each != name)


def check_choice(world: World, decision: dict[str, Any], name: str) -> None:
    """A machine that carries a control plane goes only because it is unhealthy, outdated or too many."""
    why = decision["reasons"][0]["reason"]
    others = world.joined - {name}
    assert why in ("MachineUnhealthy", "RollingOut", "ScalingDown")
    assert others
    assert not world.deleting - {name}
    if why != "ScalingDown":
        assert consent(world)
    if why == "MachineUnhealthy":
        assert world.marked(name) or world.recorded
        assert decision["remediation"]["machine"] == name
        if not world.external and world.voters - world.good | world.unfinished and len(others) >= 2:
            assert world.witnessed()
        return
    assert decision["remediation"] is None
    assert all(world.well(each) for each in others)
    assert all(world.states[each] == "Succeeded" for each in world.live)
    assert world.workload["endpoint"]["answers"] is True
    if why == "ScalingDown":
        assert len(world.live) > world.spec["replicas"]
        assert window(world)
    else:
        assert any(world.outdated(each) for each in world.live)


def check_remove_member(world: World, decision: dict[str, Any]) -> None:
    """Only what belongs to no machine and to no control plane Node, has been seen for long, and is not needed."""
    member = decision["target"]["memberID"]
    assert member in world.members
    called = world.members[member]["name"]
    assert called not in world.machines
    assert called not in [each["name"] for each in world.workload["nodes"]]
    assert all(world.states[each] == "Succeeded" for each in world.live)
    assert member in [each["id"] for each in world.snapshot["controlPlane"]["status"]["strayMembers"]]
    assert world.change_allowed(member)


def check_adopt(world: World, decision: dict[str, Any]) -> None:
    """All live machines that nobody controls, and only where nobody else controls any."""
    owners = {name: world.machines[name]["metadata"]["ownerReferences"] for name in world.live}
    assert sorted(decision["target"]["machines"]) == sorted(name for name, each in owners.items() if not each)
    assert not any(each["kind"] == "Other" for found in owners.values() for each in found)


def check_certificates(world: World, decision: dict[str, Any]) -> None:
    """Certificate authorities are never made again where a control plane may exist."""
    assert decision["reasons"][0]["reason"] == "KubeconfigNotAvailable" or (
        not world.latched and not any(world.states.values())
    )


def check_rest(world: World, decision: dict[str, Any]) -> None:
    """Whoever is made to wait is told for what; whoever is blocked is told what to do."""
    if decision["action"] in ("wait", "blocked", "postponed"):
        assert decision["blockedOn"]
        assert all(each["reason"] and each["message"] for each in decision["blockedOn"])
    if decision["action"] == "blocked":
        assert any(each["fix"] for each in decision["blockedOn"])


def check_figures(world: World, decision: dict[str, Any]) -> None:
    """What is shown of the quorum is what the raw list says; a new voter counts as failed but for the first two."""
    shown = decision["quorum"]
    if not shown or decision["action"] not in ("join", "remove", "removeMember"):
        return
    assert not world.external
    voters, healthy = len(world.voters), len(world.good)
    assert (shown["before"]["voters"], shown["before"]["healthy"]) == (voters, healthy)
    if decision["action"] == "join":
        expected = (voters + 1, healthy + (1 if voters <= 1 else 0))
    else:
        gone = {decision["target"]["memberID"]}
        expected = (len(world.voters - gone), len(world.good - gone))
    assert (shown["after"]["voters"], shown["after"]["healthy"]) == expected
    for side in ("before", "after"):
        assert shown[side]["quorum"] == quorum(shown[side]["voters"])
        assert shown[side]["tolerance"] == max(0, shown[side]["healthy"] - shown[side]["quorum"])


def check_leadership(world: World, decision: dict[str, Any]) -> None:
    """A leader goes only after another machine that stays was named to lead."""
    member = (decision["target"] or {}).get("memberID")
    found = decision["leadership"]
    if member is None or member != world.etcd["leader"]:
        assert found is None
        return
    assert found["from"] in (world.members[member]["name"], member)
    assert found["to"]
    assert set(found["to"]) <= world.live - {decision["target"]["machine"]}
    assert all(world.names[each] in world.voters - {member} for each in found["to"])
    assert world.names[found["to"][0]] in world.good or not world.good - {member}


def write_back(snapshot: dict[str, Any], decision: dict[str, Any]) -> dict[str, Any]:
    """The snapshot after status, conditions and annotations were written to the objects, as the writer does it."""
    snapshot = copy.deepcopy(snapshot)
    machines = {each["machine"]["metadata"]["name"]: each["machine"] for each in snapshot["machines"]}
    for key in ("cluster", "controlPlane"):
        _write(snapshot[key], decision["status"][key], decision["conditions"][key])
    # Another control plane's machines are none of its business.
    for name, status in decision["status"]["machines"].items():
        _write(machines[name], status, decision["conditions"]["machines"][name])
    for name, kinds in decision["removedConditions"].get("machines", {}).items():
        status = machines[name]["status"]
        status["conditions"] = [each for each in status["conditions"] if each["type"] not in kinds]
    annotations = snapshot["controlPlane"]["metadata"]["annotations"]
    for key, value in decision["annotations"].get("controlPlane", {}).items():
        if value is None:
            annotations.pop(key, None)
        else:
            annotations[key] = value
    return snapshot


def _write(owner: dict[str, Any], status: dict[str, Any], conditions: list[dict[str, Any]]) -> None:
    stored = owner.setdefault("status", {})
    stored.update(copy.deepcopy(status))
    kept = {each["type"]: each for each in stored.get("conditions", [])}
    for each in conditions:
        same = kept.get(each["type"], {}).get("status") == each["status"]
        kept[each["type"]] = {**each, "lastTransitionTime": kept[each["type"]]["lastTransitionTime"] if same else NOW}
    stored["conditions"] = list(kept.values())


@settings(max_examples=120)
@given(snapshots())
def test_writing_status_comes_to_rest(snapshot: dict[str, Any]) -> None:
    """A second run changes nothing: with nothing else changing, a second pass writes nothing and decides the same."""
    first = write_back(snapshot, decide(snapshot))
    second = write_back(first, decide(first))
    third = write_back(second, decide(second))
    assert third == second
    assert decide(third) == decide(second)


@settings(max_examples=120)
@given(snapshots())
def test_every_plan_ends(snapshot: dict[str, Any]) -> None:
    """Every run ends: bounded, and never because of the bound; every planned step keeps the invariants of its figures."""
    steps = plan(snapshot)
    assert len(steps) < 60
    assert steps[-1]["action"] in ENDINGS
    assert steps[-1]["reasons"][0]["reason"] != "PlanTooLong"
    assert steps[0] == {**decide(snapshot), **{key: steps[0][key] for key in steps[0].keys() - decide(snapshot).keys()}}
    for step in steps:
        if step["action"] in ("join", "remove", "removeMember") and step["quorum"]:
            before, after = step["quorum"]["before"], step["quorum"]["after"]
            assert after["healthy"] >= after["quorum"] or after == before
            assert abs(after["voters"] - before["voters"]) <= 1
