# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A removal on the word that a member is dead needs a second machine's word.

Why: docs/architecture.md, "Two witnesses". The invariant: docs/reference/invariants.md, "Fresh evidence".
"""

from __future__ import annotations

from typing import Any

import pytest
from builders import Builder, healthy, member_id
from rules import dead, etcd_version, in_progress, lasting, reasons, silent_witness, victim, witness

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide


def sick(count: int = 3) -> Builder:
    """m2 does not answer and is marked; m1 says so."""
    return dead(healthy(count), "m2").marked("m2")


def statuses(builder: Builder, **states: bool) -> dict[str, Any]:
    """The members' states, with these changed."""
    found = {key: dict(value) for key, value in builder.workload["etcd"]["statuses"].items()}
    for name, state in states.items():
        found[member_id(name)] = {"healthy": state, "message": ""}
    return found


def outcome(builder: Builder) -> tuple[str, bool, bool]:
    decision = decide(builder.build())
    return decision["action"], "ViewsDisagree" in reasons(decision), "ViewsUnknown" in reasons(decision)


def test_a_witness_that_agrees() -> None:
    assert victim(witness(sick(), "m3")) == "m2"


def test_a_witness_that_sees_the_member_well() -> None:
    builder = sick()
    assert outcome(witness(builder, "m3", statuses=statuses(builder, m2=True))) == ("blocked", True, False)


def test_a_witness_that_sees_another_member_dead() -> None:
    builder = sick()
    assert outcome(witness(builder, "m3", statuses=statuses(builder, m3=False))) == ("blocked", True, False)


def test_a_witness_that_lists_other_members() -> None:
    builder = sick()
    members = [each for each in builder.workload["etcd"]["members"] if each["id"] != member_id("m2")]
    known = {key: value for key, value in statuses(builder).items() if key != member_id("m2")}
    assert outcome(witness(builder, "m3", members=members, statuses=known)) == ("blocked", True, False)


def test_a_witness_that_reached_no_etcd() -> None:
    builder = witness(sick(), "m3")
    builder.workload["witnesses"][0]["etcd"] = {"reachable": False, "message": "timeout"}
    assert victim(builder) is None


def test_nobody_to_ask() -> None:
    action, _disagree, unknown = outcome(sick())
    assert (action in ("wait", "blocked"), unknown) == (True, True)
    assert outcome(silent_witness(sick(), "m3"))[2]


def test_the_first_machine_is_no_second_one() -> None:
    builder = sick()
    assert victim(witness(builder, builder.workload["via"])) is None


def test_all_who_answer_must_agree() -> None:
    builder = witness(sick(5), "m3")
    assert victim(builder) == "m2"
    assert outcome(witness(builder, "m4", statuses=statuses(builder, m2=True)))[:2] == ("blocked", True)


def test_one_who_answers_is_enough() -> None:
    assert victim(witness(silent_witness(sick(5), "m4"), "m3")) == "m2"


def test_the_leader_may_differ() -> None:
    assert victim(witness(sick(), "m3", leader=member_id("m3"))) == "m2"


def test_where_every_member_looks_well_one_view_is_enough() -> None:
    assert victim(healthy(3).marked("m2")) == "m2"
    assert victim(healthy(3).marked("m2").pod("m2", "kube-scheduler")) == "m2"


@pytest.mark.parametrize(("agrees", "action"), [(False, "blocked"), (None, "wait")])
def test_lists_that_were_not_compared_are_waited_for_and_lists_that_differ_are_not(agrees: Any, action: str) -> None:
    builder = healthy(3).marked("m2")
    builder.workload["etcd"]["memberListAgrees"] = agrees
    decision = decide(builder.build())
    told = [each for each in decision["reasons"] if each["reason"] == "ViewsDisagree"]
    assert (decision["action"], len(told)) == (action, 2)


def test_where_one_other_is_left_there_is_no_second_view_to_ask_for() -> None:
    assert victim(lasting(healthy(2, replicas=3).marked("m2").member("m2", learner=True))) == "m2"
    assert victim(lasting(healthy(3).marked("m2").member("m2", learner=True))) is None


@pytest.mark.parametrize(
    "kind", [{"learner": True}, {"unnamed": True, "address": "10.0.0.2"}, {"healthy": False}, {"alarm": "NOSPACE"}]
)
def test_whatever_makes_a_member_look_unhealthy_needs_it(kind: dict[str, Any]) -> None:
    builder = lasting(healthy(5).marked("m2"))
    if "alarm" in kind:
        builder.workload["etcd"]["alarms"].append({"memberID": member_id("m2"), "alarm": kind["alarm"]})
    else:
        builder.member("m2", **kind)
    assert victim(builder) is None
    assert victim(witness(builder, "m3")) == "m2"


def test_a_relaxed_join_needs_it_too() -> None:
    builder = in_progress(dead(etcd_version(healthy(4, replicas=5), "3.6.11"), "m2"), "gone")
    assert decide(builder.build())["action"] in ("wait", "blocked")
    assert decide(witness(builder, "m3").build())["action"] == "join"
    builder.workload["witnesses"][0]["etcd"]["statuses"] = statuses(builder, m2=True)
    assert outcome(builder) == ("blocked", True, False)
