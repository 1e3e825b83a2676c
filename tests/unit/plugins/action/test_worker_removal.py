# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module worker_removal, on several workers at once, and when a step ends that takes them one after another."""

from __future__ import annotations

import datetime
import time
from pathlib import Path

import pytest
import yaml
from actions import make_action
from jinja2.nativetypes import NativeEnvironment
from removal_world import World

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import settings
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import MACHINE

TURN = Path(__file__).parents[4] / "roles/control_plane/tasks/parts/worker_turn.yml"


def test_one_whose_drain_fails_holds_none_of_the_others(tmp_path: Path) -> None:
    """No machine is left that can be asked about the first one's Node; on the second one kubeadm was never started."""
    world = World(tmp_path)
    world.store.delete(MACHINE, "default", "m3")
    world.change("m2", lambda stored: stored["status"].update(bootstrap={}, nodeRef={}))
    world.change("m2", lambda stored: stored["metadata"].update(finalizers=["machine.cluster.x-k8s.io"]))
    action = make_action(
        "worker_removal",
        cluster="prod",
        store={"path": str(tmp_path)},
        workers=["m1", "m2"],
        providers={"NspawnMachineTemplate": "kubeadm.control_plane.machine_nspawn"},
    )
    before = time.time()
    result = action.run(task_vars={})
    assert before <= result["until"] - settings.WORKERS_STEP <= time.time()
    assert [each["name"] for each in result["machines"]] == ["m2"]
    assert [each["name"] for each in result["failed_workers"]] == ["m1"]
    assert "machine m1 is the only one" in result["failed_workers"][0]["message"]


def test_one_that_a_hook_holds_after_its_drain_is_not_late(tmp_path: Path) -> None:
    """The next decision waits for the hook, however long ago the drain began."""
    world = World(tmp_path)
    past = {"type": "Deleting", "status": "True", "reason": "WaitingForPreTerminateHook"}
    began = {"nodeDrainStartTime": "2020-01-01T00:00:00Z"}
    world.change("m1", lambda stored: stored["status"].update(conditions=[past], deletion=began))
    world.annotate("pre-terminate.delete.hook.machine.cluster.x-k8s.io/backup")
    given = {"cluster": "prod", "store": {"path": str(tmp_path)}, "workers": ["m1"], "timeout": 0}
    result = make_action("worker_removal", **given).run(task_vars={})
    assert (result["machines"], result["failed_workers"]) == ([], []), result


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Europe/Berlin"])
@pytest.mark.parametrize(
    ("passed", "action", "taken"), [(59, "joinWorkers", 2), (61, "removeWorkers", 1), (61, "deleteWorkers", 2)]
)
def test_a_step_begins_with_no_other_worker_after_its_time(
    monkeypatch: pytest.MonkeyPatch, zone: str, passed: int, action: str, taken: int
) -> None:
    """The first one is begun with whenever it is, so that each step does something. With the cluster all go: nothing else is waiting."""
    [task] = yaml.safe_load(TURN.read_text(encoding="utf-8"))
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    began = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)
    turns = {"machines": [{"name": "w1"}, {"name": "w2"}], "until": began.timestamp() + settings.WORKERS_STEP}
    begins = NativeEnvironment().from_string("{{ " + task["when"] + " }}")

    def now(utc: bool = False) -> datetime.datetime:
        """As Ansible's: without a time zone."""
        moment = began + datetime.timedelta(seconds=passed)
        return (moment if utc else moment.astimezone()).replace(tzinfo=None)

    given = {"control_plane_turns": turns, "control_plane_decision": {"decision": {"action": action}}, "now": now}
    try:
        begun = [each for each in turns["machines"] if begins.render(control_plane_worker=each, **given)]
    finally:
        monkeypatch.undo()
        time.tzset()
    assert len(begun) == taken
