# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a step ends that takes workers one after another."""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path

import pytest
import yaml
from actions import run_action
from cluster_folder import ClusterFolder
from jinja2.nativetypes import NativeEnvironment

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.journal_entries import changes_of
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.journal import Journal

PARTS = Path(__file__).parents[4] / "roles/control_plane/tasks/parts"
TURN = PARTS / "worker_turn.yml"


@pytest.mark.parametrize(
    ("passed", "action", "taken"), [(-60, "joinWorkers", 2), (60, "removeWorkers", 1), (60, "deleteWorkers", 2)]
)
def test_a_step_begins_with_no_other_worker_after_its_time(passed: int, action: str, taken: int) -> None:
    """The first one is begun with whenever it is, so that each step does something. With the cluster all go: nothing else is waiting."""
    _look, take = yaml.safe_load(TURN.read_text(encoding="utf-8"))
    turns = {"machines": [{"name": "w1"}, {"name": "w2"}], "until": time.time() - passed}
    begins = NativeEnvironment().from_string("{{ " + take["when"] + " }}")
    given = {
        "control_plane_turns": turns,
        "control_plane_decision": {"decision": {"action": action}},
        "now": datetime.now,
    }
    begun = [each for each in turns["machines"] if begins.render(control_plane_worker=each, **given)]
    assert len(begun) == taken


def test_a_lost_lock_ends_the_step(tmp_path: Path) -> None:
    """Whatever time is left: what a worker before failed with is told at the end of the run, and is no reason to go on."""
    [look, _take] = yaml.safe_load(TURN.read_text(encoding="utf-8"))
    [module] = [each for each in look if each.startswith("kubeadm.control_plane.")]
    found = run_action(
        module.rpartition(".")[2], cluster="prod", store={"path": str(tmp_path)}, providers={}, fencing=1
    )
    assert found["failed"] and "does not hold the lock" in found["msg"]


def test_a_step_whose_worker_failed_did_not_succeed(tmp_path: Path) -> None:
    """Neither in the journal, nor on the screen; what it did for the others is still among the run's changes."""
    folder = ClusterFolder(tmp_path)
    folder.run("cluster", manifests=[str(folder.manifest)])
    run = folder.run("run")["run"]
    journal = Journal(folder.store["path"], "default", "prod")
    [note] = yaml.safe_load((PARTS / "worker_failures.yml").read_text(encoding="utf-8"))
    kept = NativeEnvironment().from_string(note["vars"]["control_plane_of_the_step"]["step"])
    failed: list[dict[str, object]] = []
    for worker in ("", "w1", "", "w3"):
        decided = folder.run("decide", run=run, failed_workers=failed)
        if worker:
            failed.append({"name": worker, "message": "no quota", "step": kept.render(control_plane_decision=decided)})
    folder.run("decide", run=run, failed_workers=failed)
    outcomes = [each for each in journal.entries() if each["event"] == "outcome"]
    assert [each["result"] for each in outcomes] == ["succeeded", "failed", "succeeded", "failed"]
    assert "w3" in outcomes[3]["message"] and "w1" not in outcomes[3]["message"]
    step = "createInfrastructure"
    assert changes_of(journal, run) == [step, f"{step}, of which failed: w1", step, f"{step}, of which failed: w3"]
    folder.run("run", state="absent")
