# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module worker_removal, on several workers at once."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from actions import make_action
from removal_world import World

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import settings
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Answer
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import MACHINE

PROVIDERS = {"NspawnMachineTemplate": "kubeadm.control_plane.machine_nspawn"}


def removal_of_two(world: World, folder: Path, **options: Any) -> Any:
    """The action that removes m1 and m2, on which kubeadm was never started."""
    world.change("m2", lambda stored: stored["status"].update(bootstrap={}, nodeRef={}))
    world.change("m2", lambda stored: stored["metadata"].update(finalizers=["machine.cluster.x-k8s.io"]))
    return make_action(
        "worker_removal",
        cluster="prod",
        store={"path": str(folder)},
        workers=["m1", "m2"],
        providers=PROVIDERS,
        **options,
    )


def test_one_whose_drain_fails_holds_none_of_the_others(tmp_path: Path) -> None:
    """No machine is left that can be asked about the first one's Node; on the second one kubeadm was never started."""
    world = World(tmp_path)
    world.store.delete(MACHINE, "default", "m3")
    action = removal_of_two(world, tmp_path)
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
    began = {"nodeDrainStartTime": "2099-01-01T00:00:00Z"}
    world.change("m1", lambda stored: stored["status"].update(conditions=[past], deletion=began))
    world.annotate("pre-terminate.delete.hook.machine.cluster.x-k8s.io/backup")
    given = {"cluster": "prod", "store": {"path": str(tmp_path)}, "workers": ["m1"], "timeout": 0}
    result = make_action("worker_removal", **given, providers=PROVIDERS).run(task_vars={})
    assert (result["machines"], result["failed_workers"]) == ([], []), result


def draining(world: World, folder: Path, **options: Any) -> Any:
    """What a call comes to that drains m1, whose Node another run began to drain long ago; m2 has nothing to drain."""
    world.machines.answers["node_drain"] = [Answer(True, {"state": "Running", "message": "it waits"})]
    action = removal_of_two(world, folder, timeout=600, **options)
    action.machine_caller = lambda _arguments, _objects: world.machines
    return action.run(task_vars={})


def test_a_run_waits_as_long_as_another_one_before_it_did(tmp_path: Path) -> None:
    """What held the drain may be gone by then: counted is from this run's first look, over all of its calls."""
    world = World(tmp_path)
    began = {"nodeDrainStartTime": "2099-01-01T00:00:00Z"}
    world.change("m1", lambda stored: stored["status"].update(deletion=began))
    first = draining(world, tmp_path)
    assert ([each["name"] for each in first["machines"]], first["failed_workers"]) == (["m2"], []), first
    looked = {**first["looked"], "since": {"m1": first["looked"]["since"]["m1"] - 601}}
    late = draining(world, tmp_path, looked=looked)
    assert [each["name"] for each in late["failed_workers"]] == ["m1"]
    another = draining(world, tmp_path, looked={**looked, "run": "another"})
    assert another["failed_workers"] == []


@pytest.mark.parametrize(
    ("began", "said", "bound"),
    [
        ("nodeDrainStartTime", "its Node is still being drained: it waits", "nodeDrainTimeoutSeconds"),
        (
            "waitForNodeVolumeDetachStartTime",
            "the volumes of its Node are still waited for: it waits",
            "nodeVolumeDetachTimeoutSeconds",
        ),
    ],
)
def test_the_way_out_is_the_bound_of_what_is_waited_for(tmp_path: Path, began: str, said: str, bound: str) -> None:
    world = World(tmp_path)
    world.change("m1", lambda stored: stored["status"].update(deletion={began: "2099-01-01T00:00:00Z"}))
    [failed] = draining(world, tmp_path, looked={"run": "", "since": {"m1": 1.0}})["failed_workers"]
    assert failed["message"].startswith(said) and f"bound the wait by {bound} in the Mach" in failed["message"]
    assert failed["message"].count("TimeoutSeconds") == 1
