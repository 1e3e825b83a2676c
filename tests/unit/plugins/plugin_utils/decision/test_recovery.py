# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The second of two etcd voters is lost: what is waited for, what is asked for, what is done, and where it is none of this."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Optional

import pytest
from builders import Builder, healthy, member_id
from decisions import step

from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.local import Places
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.restore.single_voter_unit import read_state
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.predict import predict
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.steps import plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.state_fingerprint import (
    fingerprint,
    state_of,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.typed_snapshot import (
    check_snapshot,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observe.parse import parse

CONSENT = "recoverSingleVoter:m2"
REASON = "QuorumLostAtSecondVoter"


def lost(
    state: str = "Running",
    gone: str = "dead",
    consent: Optional[str] = None,
    seconds: int = 90,
    answers: bool = True,
    started: int = 400,
) -> Builder:
    """m1 works, m2 joins and is the second voter; no API answers, and that for so many seconds."""
    builder = healthy(1, replicas=3).machine("m2", state, age=400, started=started)
    if gone:
        builder.entry("m2")["infrastructureMachine"]["status"]["state"] = gone
    builder.member("m1", address="10.0.0.1").member("m2", unnamed=state != "Succeeded", address="10.0.0.2")
    etcd = builder.workload["etcd"]
    etcd.update(leader=None, memberListAgrees=None)
    for name in ("m1", "m2"):
        etcd["statuses"][member_id(name)] = {"healthy": False, "message": "it knows of no leader"}
    etcd["statuses"][member_id("m1")]["version"] = "3.4.23"
    silent = {"reachable": False, "message": "etcd does not answer", "members": [], "statuses": {}, "alarms": []}
    builder.workload.update(
        reachable=False,
        initialized=None,
        message="m1: timed out",
        nodes=[],
        pods={},
        endpoint={"answers": False, "message": ""},
        etcd=etcd if answers else silent,
        # As the database holds them: the names of members that were added later are not there.
        storedMembers=None if answers else [{**each, "name": "", "listens": False} for each in etcd["members"]],
    )
    builder.stored("RemoteConnectionProbe", "False", seconds, "cluster")
    if consent is not None:
        builder.snapshot["policy"] = {"consent": [consent]}
    return builder


@pytest.mark.parametrize("answers", [True, False])
@pytest.mark.parametrize(
    ("state", "gone"),
    [("Running", "dead"), ("Running", "missing"), ("Failed", ""), ("Failed", "dead"), ("Succeeded", "dead")],
)
def test_a_person_is_asked_with_the_arithmetic_and_what_is_lost(state: str, gone: str, answers: bool) -> None:
    builder = lost(state, gone, answers=answers)
    assert check_snapshot(builder.build()) == []
    decision = decide(builder.build())
    assert (decision["action"], decision["blockedOn"][0]["reason"]) == ("blocked", REASON)
    said = decision["blockedOn"][0]
    assert "it has 2 voters and needs both" in said["message"] and member_id("m2") in said["message"]
    assert f"-e control_plane_consent={CONSENT}" in said["fix"]
    assert decision["quorum"]["before"] == {"voters": 2, "quorum": 2, "healthy": 0, "tolerance": 0}
    assert decision["quorum"]["after"] == {"voters": 1, "quorum": 1, "healthy": 1, "tolerance": 0}
    assert {each["check"]: each["result"] for each in decision["preflight"]} == {
        "SecondVoterLost": "pass",
        "Consent": "fail",
    }


@pytest.mark.parametrize("answers", [True, False])
@pytest.mark.parametrize("state", ["Running", "Failed", "Succeeded"])
def test_with_consent_etcd_goes_on_alone(state: str, answers: bool) -> None:
    decision = decide(lost(state, consent=CONSENT, answers=answers).build())
    assert decision["action"] == "recoverSingleVoter"
    target = decision["target"]
    assert (target["machine"], target["memberID"], target["lost"]) == ("m1", member_id("m2"), "m2")
    assert target["resume"] is False
    assert "--force-new-cluster" in decision["quorum"]["whyThisOrder"]


@pytest.mark.parametrize("state", ["Running", "Failed"])
def test_a_voter_under_another_name_than_the_machines_is_the_machines(state: str) -> None:
    """Its etcd had started, and kubeadm had not labelled its Node yet."""
    builder = lost(state)
    builder.workload["etcd"]["members"][1]["name"] = "m2.example.com"
    assert step(builder) == ("blocked", REASON)
    builder.snapshot["policy"] = {"consent": [CONSENT]}
    assert step(builder) == ("recoverSingleVoter", REASON)


@pytest.mark.parametrize(
    "consent", ["recoverSingleVoter:m1", "recoverSingleVoter:m3", "recoverSingleVoter:", "remove:m2"]
)
def test_another_consent_is_none(consent: str) -> None:
    assert step(lost(consent=consent)) == ("blocked", REASON)


def test_one_look_proves_nothing() -> None:
    assert step(lost(seconds=20)) == ("wait", REASON)
    assert step(lost(seconds=20, consent=CONSENT)) == ("wait", REASON)
    assert [step(lost(seconds=each))[0] for each in (59, 60)] == ["wait", "blocked"]


def test_a_machine_that_runs_may_still_start_its_etcd() -> None:
    assert step(lost("Failed", gone="", started=100)) == ("wait", REASON)
    assert step(lost("Failed", gone="", started=100, consent=CONSENT)) == ("wait", REASON)
    assert step(lost("Failed", gone="", started=301, consent=CONSENT)) == ("recoverSingleVoter", REASON)


def test_a_join_that_may_be_at_work_is_asked_for_its_result_unless_it_is_given_up() -> None:
    decision = decide(lost("Running", gone="").build())
    assert (decision["action"], decision["target"]["machine"]) == ("join", "m2")
    assert [each["reason"] for each in decision["reasons"]] == ["ScalingUp", REASON]
    assert CONSENT in decision["reasons"][1]["message"]
    assert step(lost("Running", gone="", consent=CONSENT)) == ("recoverSingleVoter", REASON)


def _third(builder: Builder) -> None:
    builder.machine("m3", "Failed", age=300)


def _third_member(builder: Builder) -> None:
    builder.workload["etcd"]["members"].append(dict(builder.workload["etcd"]["members"][1], id=member_id("m3")))


def _leader(builder: Builder) -> None:
    builder.workload["etcd"]["leader"] = member_id("m1")


def _healthy(builder: Builder) -> None:
    builder.workload["etcd"]["statuses"][member_id("m2")]["healthy"] = True
    builder.workload["etcd"]["members"][1]["name"] = "m2"


def _learner(builder: Builder) -> None:
    builder.workload["etcd"]["members"][1]["isLearner"] = True


def _elsewhere(builder: Builder) -> None:
    builder.workload["etcd"]["members"][1].update(peerURLs=["https://10.0.0.9:2380"], name="somebody")


def _other_machine(builder: Builder) -> None:
    builder.workload["via"] = "m2"


def _own_silent(builder: Builder) -> None:
    del builder.workload["etcd"]["statuses"][member_id("m1")]["version"]


def _external(builder: Builder) -> None:
    builder.spec["kubeadmConfigSpec"]["clusterConfiguration"]["etcd"] = {
        "external": {"endpoints": ["https://10.1.1.1:2379"]}
    }


def _joined_and_not_dead(builder: Builder) -> None:
    builder.entry("m2")["machine"]["status"]["bootstrap"]["state"] = "Succeeded"
    del builder.entry("m2")["infrastructureMachine"]["status"]["state"]


@pytest.mark.parametrize(
    "change",
    [
        _third,
        _third_member,
        _leader,
        _healthy,
        _learner,
        _elsewhere,
        _other_machine,
        _own_silent,
        _external,
        _joined_and_not_dead,
    ],
)
def test_where_it_is_anything_else_consent_does_nothing(change: Callable[[Builder], None]) -> None:
    builder = lost("Failed", consent=CONSENT)
    change(builder)
    action, reason = step(builder)
    assert action in ("wait", "blocked") and reason != REASON


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_database_with_another_number_of_members_says_nothing(count: int) -> None:
    builder = lost(answers=False, consent=CONSENT)
    stored = builder.workload["storedMembers"]
    builder.workload["storedMembers"] = (
        [*stored, {**stored[1], "id": member_id("m3"), "peerURLs": ["https://10.0.0.9:2380"]}]
        if count == 3
        else stored[:count]
    )
    assert step(builder)[1] == "APIUnreachable"


def test_a_database_that_keeps_who_was_promoted_as_a_learner() -> None:
    """As etcd 3.5.1 to 3.5.19 do."""
    builder = lost(answers=False, consent=CONSENT)
    plain = step(builder)
    builder.workload["storedMembers"][1]["isLearner"] = True
    assert step(builder) == plain and plain[0] == "recoverSingleVoter"


@pytest.mark.parametrize("said", [True, None])
def test_a_member_that_listens_or_was_not_tried_is_not_lost(said: Optional[bool]) -> None:
    builder = lost("Failed", gone="", answers=False, consent=CONSENT)
    builder.workload["storedMembers"][1]["listens"] = said
    assert step(builder)[1] == "APIUnreachable"


def test_a_database_whose_members_are_at_unknown_addresses_says_nothing() -> None:
    builder = lost(answers=False, consent=CONSENT)
    builder.workload["storedMembers"][0]["peerURLs"] = ["https://10.0.0.77:2380"]
    assert step(builder)[1] == "APIUnreachable"


@pytest.mark.parametrize("answers", [True, False])
def test_one_whose_start_is_not_recorded_is_lost_all_the_same(answers: bool) -> None:
    builder = lost("", consent=CONSENT, answers=answers)
    assert step(builder) == ("recoverSingleVoter", REASON)


@pytest.mark.parametrize("state", ["Running", "Succeeded"])
def test_what_was_interrupted_before_its_first_stage_is_decided_again(state: str) -> None:
    """It has changed nothing, and the machine that was given up came back: the quorum needs no recovery."""
    builder = healthy(1, replicas=3).machine("m2", state, age=400)
    record = {"state": "Interrupted", "memberID": member_id("m2"), "lost": "m2", "stage": "start", "message": ""}
    builder.workload["recovery"] = record
    decision = decide(builder.build())
    assert (decision["action"], decision["target"]["machine"]) == ("join", "m2" if state == "Running" else None)
    builder = lost()
    builder.workload["recovery"] = record
    assert step(builder) == ("blocked", REASON)
    builder.snapshot["policy"] = {"consent": [CONSENT]}
    assert step(builder) == ("recoverSingleVoter", REASON)


@pytest.mark.parametrize("state", ["Running", "Interrupted", "Succeeded"])
@pytest.mark.parametrize("reachable", [True, False])
def test_what_was_begun_is_gone_on_with_before_anything_else_and_without_asking(state: str, reachable: bool) -> None:
    builder = lost(answers=False) if not reachable else healthy(1, replicas=3).machine("m2", "Running", age=400)
    builder.workload["recovery"] = {
        "state": state,
        "memberID": member_id("m2"),
        "lost": "m2",
        "stage": "force",
        "message": "",
    }
    decision = decide(builder.build())
    assert decision["action"] == "recoverSingleVoter" and decision["reasons"][0]["reason"] == "RecoveringSingleVoter"
    assert decision["target"] == {
        "machine": "m1",
        "failureDomain": None,
        "resume": True,
        "memberID": member_id("m2"),
        "name": None,
        "lost": "m2",
    }


def test_what_was_begun_is_gone_on_with_on_the_machine_that_told_of_it() -> None:
    builder = healthy(2, replicas=3)
    builder.workload.update(via="m2", recovery={"state": "Running", "memberID": member_id("m1"), "lost": "m1"})
    assert decide(builder.build())["target"]["machine"] == "m2"


def test_a_record_that_can_not_be_read_is_said_with_what_to_look_at(tmp_path: Path) -> None:
    """Nothing names the member that it was about: to go on with it would fail in every run, and not say why."""
    builder = healthy(3)
    places = Places(state=str(tmp_path))
    Path(places.record).parent.mkdir(parents=True, exist_ok=True)
    Path(places.record).write_text("half a record", encoding="utf-8")
    builder.workload["recovery"] = parse({"machine": {"recovery": read_state(places)}}, "m1")["recovery"]
    assert check_snapshot(builder.build()) == []
    decision = decide(builder.build())
    assert (decision["action"], decision["blockedOn"][0]["reason"]) == ("blocked", "RecoveryRecordUnreadable")
    said = decision["blockedOn"][0]
    assert "machine m1" in said["message"] and f"{places.record} can't be read" in said["message"]
    assert "recover-single-voter.json on m1" in said["fix"] and "--force-new-cluster" in said["fix"]
    assert "recover-single-voter/*/etcd.yaml" in said["fix"]


def test_a_recovery_that_failed_is_asked_for_again() -> None:
    builder = lost()
    builder.workload["recovery"] = {"state": "Failed", "memberID": member_id("m2"), "lost": "m2"}
    assert step(builder) == ("blocked", REASON)
    builder.snapshot["policy"] = {"consent": [CONSENT]}
    assert step(builder) == ("recoverSingleVoter", REASON)


def test_paused_and_deleting_come_first() -> None:
    builder = lost(consent=CONSENT)
    builder.snapshot["cluster"]["spec"]["paused"] = True
    assert step(builder)[0] == "none"
    assert step(lost(consent=CONSENT).deleting())[0] != "recoverSingleVoter"


@pytest.mark.parametrize("state", ["Running", "Failed", "Succeeded"])
@pytest.mark.parametrize("answers", [True, False])
def test_afterwards_the_lost_machine_is_replaced_and_the_plan_ends_well(state: str, answers: bool) -> None:
    builder = lost(state, consent=CONSENT, answers=answers)
    steps = plan(builder.build())
    assert [each["action"] for each in steps] == ["recoverSingleVoter", "remove", "join", "join", "none"]
    assert steps[1]["target"]["machine"] == "m2" and steps[1]["target"]["memberID"] is None


def test_the_prediction_leaves_one_voter_and_no_record() -> None:
    builder = lost(consent=CONSENT)
    before = builder.build()
    after: dict[str, Any] = predict(before, decide(before))
    assert before == builder.build()
    assert [member["name"] for member in after["workload"]["etcd"]["members"]] == ["m1"]
    assert after["workload"]["reachable"] and after["workload"]["recovery"] is None
    assert check_snapshot(after) == []


def test_consent_is_no_part_of_the_state() -> None:
    without, given = lost().build(), lost(consent=CONSENT).build()
    assert fingerprint(state_of(without)) == fingerprint(state_of(given))
