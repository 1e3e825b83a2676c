# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is held back beside an Action that has not ended, and in the middle of a rotation of certificate authorities."""

from __future__ import annotations

import pytest
from builders import Builder, at, healthy
from decisions import step
from rules import dead, etcd_version, in_progress, witness

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide


class TestActions:
    UNFINISHED = {"name": "Action prod-upgrade-1", "phase": "Failed"}

    def test_no_step_is_taken_beside_an_action(self) -> None:
        builder = healthy(3)
        builder.snapshot["controlPlane"]["spec"]["replicas"] = 5
        assert step(builder)[0] == "join"
        builder.snapshot["unfinishedAction"] = self.UNFINISHED
        decision = decide(builder.build())
        assert (decision["action"], decision["reasons"][0]["reason"]) == ("blocked", "ActionUnfinished")
        said = decision["blockedOn"][0]
        assert "Action prod-upgrade-1 has not ended (Failed); what would follow: " in said["message"]
        assert "-e operator_action=prod-upgrade-1" in said["fix"]

    def test_where_nothing_is_to_be_done_it_is_only_told(self) -> None:
        builder = healthy(3)
        builder.snapshot["unfinishedAction"] = self.UNFINISHED
        decision = decide(builder.build())
        assert decision["action"] == "none" and decision["reasons"][-1]["reason"] == "ActionUnfinished"

    def test_the_whole_cluster_may_be_deleted(self) -> None:
        builder = healthy(3)
        for each in ("cluster", "controlPlane"):
            builder.snapshot[each]["metadata"]["deletionTimestamp"] = at(0)
        before = step(builder)
        builder.snapshot["unfinishedAction"] = self.UNFINISHED
        assert step(builder) == before and before[0] == "deleteMachines"


class TestRotation:
    """A rotation of certificate authorities that an aborted Action left half done."""

    @staticmethod
    def half_rotated(builder: Builder) -> Builder:
        builder.snapshot["unfinishedRotation"] = {"action": "rotate-1", "authorities": ["ca", "etcd"]}
        return builder

    def test_no_machine_is_made(self) -> None:
        builder = self.half_rotated(healthy(3, replicas=5))
        decision = decide(builder.build())
        assert (decision["action"], decision["reasons"][0]["reason"]) == ("blocked", "RotationUnfinished")
        said = decision["blockedOn"][0]
        begun = "a rotation of ca, etcd, started by the Action rotate-1, is not over (Secret prod-authority-rotation)"
        assert said["message"].startswith(begun) and "what would follow: 3 of 5" in said["message"]
        spec = '{"operator_spec": {"rotateCertificateAuthorities": {"authorities": ["ca", "etcd"]}}}'
        assert f"kubeadm.control_plane.action --limit prod -e '{spec}'" in said["fix"]
        assert "acceptOutage" not in said["fix"]

    @pytest.mark.parametrize(
        ("machines", "authorities", "consent"),
        [(1, ["ca"], True), (2, ["ca", "etcd"], True), (2, [], True), (2, ["ca"], False), (3, ["etcd"], False)],
    )
    def test_the_consent_without_which_it_would_be_refused_is_there(
        self, machines: int, authorities: list[str], consent: bool
    ) -> None:
        builder = healthy(machines, replicas=5)
        builder.snapshot["unfinishedRotation"] = {"action": "rotate-1", "authorities": authorities}
        assert ('"acceptOutage": true' in decide(builder.build())["blockedOn"][0]["fix"]) is consent

    def test_no_machine_is_replaced_and_none_is_taken_away_for_it(self) -> None:
        def outdated(surge: int) -> Builder:
            builder = healthy(3)
            builder.snapshot["controlPlane"]["spec"]["version"] = "v1.20.3"
            builder.snapshot["controlPlane"]["spec"]["rollout"] = {
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge}}
            }
            return builder

        assert [step(outdated(surge))[0] for surge in (0, 1)] == ["remove", "join"]
        for surge in (0, 1):
            assert step(self.half_rotated(outdated(surge))) == ("blocked", "RotationUnfinished")
        assert step(self.half_rotated(healthy(5, replicas=3))) == ("blocked", "RotationUnfinished")

    def test_what_has_failed_goes_for_the_rotation_needs_every_node(self) -> None:
        builder = healthy(3)
        builder.marked("m1")
        before = step(builder)
        assert step(self.half_rotated(builder)) == before == ("remove", "MachineUnhealthy")

    @pytest.mark.parametrize("version", ["3.4.23", "3.5.30"])
    @pytest.mark.parametrize("works", [False, True])
    def test_a_second_one_that_does_not_work_waits_for_no_replacement(self, works: bool, version: str) -> None:
        """None is made before the rotation is over, in which one that works takes part."""
        builder = etcd_version(in_progress(healthy(4, replicas=5).marked("m2"), "gone"), version)
        if not works:
            witness(dead(builder, "m2"), "m4")
        amid = step(self.half_rotated(builder))
        assert amid == (("blocked", "RotationUnfinished") if works else ("remove", "MachineUnhealthy"))

    @pytest.mark.parametrize("ready", ["True", "False"])
    def test_what_is_not_ready_takes_no_part(self, ready: str) -> None:
        builder = in_progress(healthy(4, replicas=5).marked("m2"), "gone").node("m2", ready=ready)
        amid = step(self.half_rotated(builder))
        assert amid[0] == ("blocked" if ready == "True" else "remove")

    def test_where_nothing_is_to_be_done_it_is_told(self) -> None:
        decision = decide(self.half_rotated(healthy(3)).build())
        assert decision["action"] == "none" and decision["reasons"][-1]["reason"] == "RotationUnfinished"

    def test_the_whole_cluster_may_be_deleted(self) -> None:
        assert step(self.half_rotated(healthy(3).deleting()))[0] == "deleteMachines"
