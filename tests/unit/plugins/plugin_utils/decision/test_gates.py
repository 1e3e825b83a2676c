# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the user lets steps wait for: readiness, gates, windows, consent; and which steps each of them holds up."""

from __future__ import annotations

from typing import Any, Callable, Optional

import pytest
from builders import Builder, at, cluster, healthy
from rules import MIN_READY, in_progress, lasting, outdate, ready_for, reasons, says, surge, upgrade, walk, walked

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.conditions.control_plane import (
    settled,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide

Make = Callable[[], Builder]


# Steps, the action each takes when nothing holds it up, and the gates that hold it up: r(eady), g(ates), w(indow), p(olicy).
def begun_surge() -> Builder:
    """A rollout's new machine was made, and the run ended before kubeadm was started on it."""
    builder = upgrade(healthy(3)).machine("m4", "", age=20)
    builder.snapshot["controlPlane"]["status"]["rollout"] = {"replicas": 3}
    return builder


STEPS: list[tuple[str, str, str, Make]] = [
    ("the first machine", "initialize", "", lambda: cluster(3)),
    ("infrastructure", "createInfrastructure", "", lambda: cluster(3).bare()),
    ("scaling up", "join", "r", lambda: healthy(3, replicas=5)),
    ("scaling down", "remove", "rgw", lambda: healthy(5, replicas=3)),
    ("rollout, the new machine", "join", "rgwp", lambda: upgrade(healthy(3))),
    ("rollout, the old machine", "remove", "rgp", lambda: walked(upgrade(healthy(3)), 1)),
    ("rollout with surge 0, the old machine", "remove", "rgwp", lambda: upgrade(surge(healthy(3), 0))),
    ("rollout with surge 0, the new machine", "join", "r", lambda: walked(upgrade(surge(healthy(3), 0)), 1)),
    ("remediation", "remove", "p", lambda: healthy(3).marked("m2")),
    ("its replacement", "join", "", lambda: in_progress(healthy(2, replicas=3), "gone")),
    ("a deletion that was begun", "remove", "", lambda: healthy(3).deleting("m2")),
    ("a join that runs", "join", "", lambda: healthy(2, replicas=3).machine("m3", "Running", age=20)),
    ("a bootstrap that failed", "remove", "", lambda: healthy(2, replicas=3).machine("m3", "Failed", age=20)),
    ("one that never started goes on", "join", "r", lambda: healthy(2, replicas=3).machine("m3", "", age=20)),
    ("a new machine of a rollout that never started", "join", "rgwp", begun_surge),
    ("one that never started", "remove", "", lambda: outdate(healthy(3).machine("m4", "", age=20), "m4")),
    ("a stray member", "removeMember", "", lambda: lasting(healthy(3).member("stray"))),
    ("deletion", "deleteMachines", "", lambda: healthy(3).deleting()),
    ("nothing", "none", "", lambda: healthy(3)),
]
# The gate's letter, what closes it, and what is said then.
CLOSED: list[tuple[str, Callable[[Builder], Any], str, str]] = [
    ("r", lambda b: ready_for(b.annotate(MIN_READY, "60"), 59), "wait", "WaitingForMinReadySeconds"),
    ("g", lambda b: gate(b, "False"), "wait", "ReadinessGateNotMet"),
    ("g", lambda b: gate(b, "Unknown"), "wait", "ReadinessGateNotMet"),
    ("w", lambda b: window(b, False), "postponed", "OutsideMaintenanceWindow"),
    ("w", lambda b: window(b, None), "blocked", "MaintenanceWindowInvalid"),
    ("p", lambda b: policy(b, "ask"), "postponed", "ReplacementNotApproved"),
    ("p", lambda b: policy(b, "never"), "blocked", "ReplacementNotAllowed"),
]


def gate(builder: Builder, status: str, name: str = "ingress") -> Builder:
    builder.snapshot.setdefault("readinessGates", []).append(
        {"name": name, "status": status, "message": "replicas are missing"}
    )
    return builder


def window(builder: Builder, is_open: Optional[bool]) -> Builder:
    builder.snapshot["maintenance"] = {
        "open": is_open,
        "message": "opens on Saturday",
        "opensAt": at(-86400),
        "closesAt": at(-90000),
    }
    return builder


def policy(builder: Builder, replace: str, approved: bool = False) -> Builder:
    builder.snapshot["policy"] = {"replace": replace, "approved": approved}
    return builder


@pytest.mark.parametrize(("what", "action", "gates", "make"), STEPS, ids=[step[0] for step in STEPS])
class TestEveryStepAndEveryGate:
    def test_nothing_holds_it_up(self, what: str, action: str, gates: str, make: Make) -> None:
        assert decide(make().build())["action"] == action

    @pytest.mark.parametrize(("letter", "close", "held", "reason"), CLOSED, ids=[f"{each[3]}" for each in CLOSED])
    def test_a_closed_gate(
        self, what: str, action: str, gates: str, make: Make, letter: str, close: Any, held: str, reason: str
    ) -> None:
        builder = make()
        close(builder)
        decision = decide(builder.build())
        if letter in gates:
            assert says(decision) == (held, reason)
            assert decision["blockedOn"][0]["message"]
            assert held != "blocked" or decision["blockedOn"][0]["fix"]
            assert decision["target"] is None
        else:
            assert decision["action"] == action
            assert reason not in reasons(decision)

    def test_open_gates(self, what: str, action: str, gates: str, make: Make) -> None:
        builder = policy(window(gate(gate(make(), "True"), "True", "dns"), True), "ask", approved=True)
        ready_for(builder.annotate(MIN_READY, "60"), 60)
        assert decide(builder.build())["action"] == action


class TestMinReady:
    def builder(self, seconds: str = "60") -> Builder:
        return healthy(3, replicas=5).annotate(MIN_READY, seconds)

    def test_every_machine_counts(self) -> None:
        builder = ready_for(ready_for(self.builder(), 900, "m1", "m2"), 59, "m3")
        assert says(decide(builder.build())) == ("wait", "WaitingForMinReadySeconds")
        assert "m3" in decide(builder.build())["blockedOn"][0]["message"]
        assert decide(ready_for(ready_for(self.builder(), 900, "m1", "m2"), 60, "m3").build())["action"] == "join"

    def test_one_that_was_never_seen_ready_is_waited_for(self) -> None:
        assert says(decide(ready_for(self.builder(), 900, "m1", "m2").build()))[1] == "WaitingForMinReadySeconds"
        builder = ready_for(self.builder(), 900, "m1", "m2").stored("Ready", "Unknown", 900, "m3")
        assert says(decide(builder.build()))[1] == "WaitingForMinReadySeconds"

    def test_the_one_that_goes_does_not_count(self) -> None:
        builder = ready_for(healthy(5, replicas=3).annotate(MIN_READY, "60"), 900, "m2", "m3", "m4", "m5")
        assert decide(builder.build())["action"] == "remove"

    def test_zero_is_none(self) -> None:
        assert decide(self.builder("0").build())["action"] == "join"

    @pytest.mark.parametrize("text", ["", "soon", "-5", "1.5", "{{ x }}", "9" * 5000])
    def test_what_is_no_number_does_no_harm(self, text: str) -> None:
        assert decide(self.builder(text).build())["action"] in ("join", "wait", "blocked")

    def test_a_plan_shows_the_steps_beyond_it(self) -> None:
        builder = ready_for(upgrade(healthy(3)).annotate(MIN_READY, "60"), 900)
        assert walk(builder) == ["+", "-m1", "+", "-m2", "+", "-m3", "none"]


class TestGates:
    def test_all_must_be_met(self) -> None:
        decision = decide(gate(gate(healthy(5, replicas=3), "True", "dns"), "False", "ingress").build())
        assert says(decision) == ("wait", "ReadinessGateNotMet")
        assert "ingress" in decision["blockedOn"][0]["message"]
        assert "dns" not in decision["blockedOn"][0]["message"]

    def test_none(self) -> None:
        builder = healthy(5, replicas=3)
        builder.snapshot["readinessGates"] = []
        assert decide(builder.build())["action"] == "remove"

    def test_a_status_that_is_none_is_not_met(self) -> None:
        builder = gate(healthy(5, replicas=3), "true")
        assert decide(builder.build())["action"] == "wait"


class TestWindow:
    def test_none_is_set(self) -> None:
        builder = upgrade(healthy(3))
        builder.snapshot["maintenance"] = None
        assert decide(builder.build())["action"] == "join"

    def test_a_replacement_that_was_begun_ends_and_the_next_one_waits(self) -> None:
        assert walk(window(walked(upgrade(healthy(3)), 1), False)) == ["-m1", "postponed OutsideMaintenanceWindow"]
        builder = window(walked(upgrade(surge(healthy(3), 0)), 1), False)
        assert walk(builder) == ["+", "postponed OutsideMaintenanceWindow"]

    def test_remediation_in_the_middle_of_a_rollout_is_not_held_up(self) -> None:
        builder = window(upgrade(healthy(3)).marked("m2"), False)
        assert walk(builder) == ["-m2", "+", "postponed OutsideMaintenanceWindow"]

    def test_trouble_comes_first(self) -> None:
        builder = window(upgrade(healthy(3)).pod("m2", "kube-scheduler"), False)
        assert "ComponentMissing" in reasons(decide(builder.build()))


class TestPolicy:
    @pytest.mark.parametrize(
        ("replace", "approved", "action"),
        [
            ("allow", False, "join"),
            ("allow", True, "join"),
            ("ask", False, "postponed"),
            ("ask", True, "join"),
            ("never", False, "blocked"),
            ("never", True, "blocked"),
        ],
    )
    def test_rollout(self, replace: str, approved: bool, action: str) -> None:
        assert decide(policy(upgrade(healthy(3)), replace, approved).build())["action"] == action

    @pytest.mark.parametrize(
        ("replace", "approved", "action"),
        [("allow", False, "remove"), ("ask", False, "postponed"), ("ask", True, "remove"), ("never", True, "blocked")],
    )
    def test_remediation(self, replace: str, approved: bool, action: str) -> None:
        assert decide(policy(healthy(3).marked("m2"), replace, approved).build())["action"] == action

    def test_scaling_goes_on_beside_a_rollout_that_is_not_approved(self) -> None:
        assert walk(policy(upgrade(healthy(3, replicas=5)), "ask")) == ["+", "+", "postponed ReplacementNotApproved"]

    def test_a_remediation_that_is_not_approved_leaves_scaling(self) -> None:
        assert decide(policy(healthy(3, replicas=5).marked("m2"), "ask").build())["action"] == "join"


@pytest.mark.parametrize(
    ("end", "has_key", "said"),
    [
        ("2026-02-20T12:00:00Z", True, "prod-kubeconfig ends 2026-02-20T12:00:00Z: an Action renewCertificates"),
        ("2026-02-20T12:00:00Z", False, "prod-kubeconfig ends 2026-02-20T12:00:00Z: replace it there"),
        ("2026-01-31T12:00:00Z", True, "prod-kubeconfig ended 2026-01-31T12:00:00Z: an Action renewCertificates"),
        ("2026-03-02T12:00:01Z", True, ""),
        (None, True, ""),
    ],
)
def test_a_kubeconfig_that_ends_soon_is_told_and_stops_nothing(end: Optional[str], has_key: bool, said: str) -> None:
    for replicas, action in ((3, "none"), (5, "join" if has_key else "blocked")):
        builder = healthy(3).wants(replicas=replicas)
        builder.snapshot["certificates"]["kubeconfig"].update(notAfter=end)
        builder.snapshot["certificates"]["ca"].update(hasKey=has_key)
        told = decide(builder.build())
        found = [each["message"] for each in told["reasons"] if each["reason"] == "KubeconfigEndsSoon"]
        assert told["action"] == action and len(found) == int(bool(said) and action == "none")
        assert all(said in each and "control_plane_kubeconfig=FILE" in each for each in found)
        assert settled(told["conditions"]["controlPlane"]) is (action == "none")
