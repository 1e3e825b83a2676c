# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module worker_turn: when a step ends that takes workers one after another."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import yaml
from actions import run_action
from jinja2.nativetypes import NativeEnvironment

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import settings

TURN = Path(__file__).parents[4] / "roles/control_plane/tasks/parts/worker_turn.yml"


@pytest.mark.parametrize(
    ("passed", "action", "taken"), [(-60, "joinWorkers", 2), (60, "removeWorkers", 1), (60, "deleteWorkers", 2)]
)
def test_a_step_begins_with_no_other_worker_after_its_time(
    tmp_path: Path, passed: int, action: str, taken: int
) -> None:
    """The first one is begun with whenever it is, so that each step does something. With the cluster all go: nothing else is waiting."""
    _look, take = yaml.safe_load(TURN.read_text(encoding="utf-8"))
    turns = {"machines": [{"name": "w1"}, {"name": "w2"}], "until": time.time() - passed}
    found = run_action("worker_turn", cluster="prod", store={"path": str(tmp_path)}, until=turns["until"])
    begins = NativeEnvironment().from_string("{{ " + take["when"] + " }}")
    given = {"control_plane_turns": turns, "control_plane_decision": {"decision": {"action": action}}}
    given["control_plane_next_turn"] = found
    begun = [each for each in turns["machines"] if begins.render(control_plane_worker=each, **given)]
    assert len(begun) == taken and not found["changed"]


def test_a_lost_lock_ends_the_step(tmp_path: Path) -> None:
    """Whatever time is left: what a worker before failed with is told at the end of the run, and is no reason to go on."""
    until = time.time() + settings.WORKERS_STEP
    found = run_action("worker_turn", cluster="prod", store={"path": str(tmp_path)}, until=until, fencing=1)
    assert found["failed"] and "lock" in found["msg"]
