# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module worker_removal, on several workers at once."""

from __future__ import annotations

import time
from pathlib import Path

from actions import make_action
from removal_world import World

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import settings
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import MACHINE


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
