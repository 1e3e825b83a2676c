# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The beginning of every playbook: a plan's file that is given and empty."""

from __future__ import annotations

import typing as t

import pytest
from actions import make_action

Object = dict[str, t.Any]


def begun(playbook: str, **given: t.Any) -> Object:
    """What a playbook's beginning returns for one selected cluster and these variables."""
    play: Object = {"groups": {"control_planes": ["prod"]}, "ansible_play_hosts_all": ["prod"], "hostvars": {}}
    return dict(make_action("fleet_info", playbook=playbook).run(task_vars={**play, **given}))


@pytest.mark.parametrize("playbook", ["reconcile", "plan"])
def test_a_plan_that_got_lost_is_no_run_without_one(playbook: str) -> None:
    """Of reconcile; a plan is written nowhere then."""
    found = begun(playbook, control_plane_plan_file="")
    assert bool(found.get("failed")) is (playbook == "reconcile")
    assert ("given and empty" in found.get("msg", "")) is (playbook == "reconcile")


def test_without_the_variable_a_run_needs_no_plan() -> None:
    assert not begun("reconcile").get("failed")
    assert not begun("reconcile", control_plane_plan_file="prod.plan.json").get("failed")
