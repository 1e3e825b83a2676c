# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several things hold a step up: what needs a person comes before what passes by itself, and that before what may rest."""

from __future__ import annotations

from typing import Optional

import pytest
from builders import Builder, healthy, member_id
from rules import MIN_READY, in_progress, lasting, ready_for, replaces, says, upgrade

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decision_text import describe, way_out


def closed(builder: Builder, opens: Optional[str] = "2026-02-07T02:00:00Z") -> Builder:
    builder.snapshot["maintenance"] = {"open": False, "message": "", "opensAt": opens, "closesAt": None}
    return builder


def gated(builder: Builder) -> Builder:
    builder.snapshot["readinessGates"] = [{"name": "dns", "status": "False", "message": ""}]
    return ready_for(builder.annotate(MIN_READY, "60"), 5)


def ask(builder: Builder) -> Builder:
    builder.snapshot["policy"] = {"replace": "ask", "approved": False}
    return builder


def alarm(builder: Builder, name: str) -> Builder:
    builder.workload["etcd"]["alarms"].append({"memberID": member_id(name), "alarm": "NOSPACE"})
    return builder


def later(builder: Builder) -> Builder:
    """m2 is to be remediated, and its last try was a moment ago."""
    return replaces(builder.marked("m2"), "m2", 60).wants(remediation={"retryPeriodSeconds": 600})


MIXED: list[tuple[str, tuple[str, str], Builder]] = [
    ("a closed window alone", ("postponed", "OutsideMaintenanceWindow"), closed(upgrade(healthy(3)))),
    ("a gate beside it", ("postponed", "OutsideMaintenanceWindow"), closed(gated(upgrade(healthy(3))))),
    ("a fresh stray beside it", ("wait", "StrayMember"), closed(upgrade(healthy(3).member("stray")))),
    ("trouble beside it", ("wait", "ComponentMissing"), closed(upgrade(healthy(3).pod("m2", "kube-scheduler")))),
    ("an alarm beside it", ("blocked", "EtcdAlarm"), closed(upgrade(alarm(healthy(3), "m2")))),
    ("consent alone", ("postponed", "ReplacementNotApproved"), ask(healthy(3).marked("m2"))),
    ("an alarm beside it", ("blocked", "EtcdAlarm"), ask(alarm(healthy(3).marked("m2"), "m3"))),
    ("a downgrade beside it", ("blocked", "VersionDowngrade"), ask(upgrade(healthy(3).marked("m2"), "v1.20.1"))),
    ("trouble beside it", ("wait", "ComponentMissing"), ask(healthy(3).marked("m2").pod("m3", "kube-scheduler"))),
    ("a retry alone", ("postponed", "RemediationDeferred"), later(healthy(3))),
    ("trouble beside it", ("wait", "ComponentMissing"), later(healthy(3).pod("m3", "kube-scheduler"))),
    ("a closed window beside it", ("postponed", "RemediationDeferred"), closed(upgrade(later(healthy(3))))),
    ("a refusal alone", ("blocked", "CannotBeRemediated"), healthy(1).marked("m1")),
    (
        "a refusal beside trouble",
        ("blocked", "CannotBeRemediated"),
        healthy(1).marked("m1").pod("m1", "kube-scheduler"),
    ),
]


@pytest.mark.parametrize(("what", "expected", "builder"), MIXED, ids=[f"{case[0]}: {case[1][1]}" for case in MIXED])
def test_what_matters_most_comes_first(what: str, expected: tuple[str, str], builder: Builder) -> None:
    decision = decide(builder.build())
    assert says(decision) == expected
    assert decision["reasons"][0]["reason"] == expected[1]


@pytest.mark.parametrize(("what", "expected", "builder"), MIXED, ids=[f"{case[0]}: {case[1][1]}" for case in MIXED])
def test_everything_is_said_once(what: str, expected: tuple[str, str], builder: Builder) -> None:
    said = [(each["reason"], each["message"]) for each in decide(builder.build())["blockedOn"]]
    assert len(said) == len(set(said))


def test_a_window_without_a_next_time_is_still_a_sentence() -> None:
    text = describe(decide(closed(upgrade(healthy(3)), None).build()))
    assert "opens at ." not in text
    assert "opens at  " not in text
    assert not text.endswith("opens at")
    assert "2026-02-07T02:00:00Z" in describe(decide(closed(upgrade(healthy(3))).build()))


def test_a_step_that_can_be_taken_is_taken_all_the_same() -> None:
    for builder in (later(healthy(3, replicas=5)), ask(healthy(3, replicas=5).marked("m2"))):
        assert decide(builder.build())["action"] == "join"
    assert decide(in_progress(lasting(healthy(2, replicas=3)).marked("m2"), "gone").build())["action"] == "join"


def test_what_is_waited_for_in_vain_has_a_way_out() -> None:
    decision = decide(healthy(3).pod("m2", "kube-scheduler").build())
    assert decision["action"] == "wait" and "crictl" not in describe(decision)
    assert way_out(decision).startswith("To do, if it does not come by itself: On m2 look at crictl ps")
    assert way_out(decision).endswith(" ")
    decision["blockedOn"] = [{"reason": "X", "message": "x", "fix": ""}]
    assert way_out(decision) == ""
