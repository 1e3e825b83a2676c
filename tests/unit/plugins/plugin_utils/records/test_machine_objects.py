# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of a new machine: what they are made of, also after a run that was killed, and what they say of a rollout."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from mortal_store import every_end, killed_after
from stored_manifest import Kept

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records import machine_objects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import ClusterObjects

NOTE = "kubeadm.control-plane/made-for-rollout-after"


def objects_of(store: t.Any) -> ClusterObjects:
    """The cluster's objects."""
    found = ClusterObjects.read(store, "default", "my-cluster")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("rollout", "noted"),
    [
        ({"after": "2026-01-31T12:00:00Z"}, "2026-01-31T12:00:00Z"),
        ({"after": "2999-01-31T12:00:00Z"}, None),
        ({}, None),
    ],
)
def test_the_time_of_a_rollout_that_has_come_is_noted(
    kept: Kept, rollout: dict[str, str], noted: t.Optional[str]
) -> None:
    kept.spec["rollout"] = rollout
    kept.apply()
    objects = objects_of(kept.store)
    made = objects.machine(machine_objects.create_machine(objects, "init", None, ""))
    assert made is not None
    assert made["metadata"]["annotations"].get(NOTE) == noted


@pytest.mark.parametrize(
    ("step", "kept_in", "left_out"),
    [
        ("init", "initConfiguration", "joinConfiguration"),
        ("join", "joinConfiguration", "initConfiguration"),
    ],
)
@pytest.mark.parametrize("before", ["init", "join"])
def test_a_machine_is_made_for_its_own_step_wherever_the_run_before_was_killed(
    tmp_path: Path, before: str, step: str, kept_in: str, left_out: str
) -> None:
    """That one's step was another and its spec older: kubeadm init with what it left would begin a second cluster at the endpoint."""

    def ends(writes: int) -> tuple[bool, t.Any]:
        (folder := tmp_path / str(writes)).mkdir()
        kept = Kept(folder)
        kept.apply()
        killed = killed_after(
            writes, kept.folder, lambda store: machine_objects.create_machine(objects_of(store), before, None, "")
        )
        kept.configuration["apiServer"]["extraArgs"] = [{"name": "profiling", "value": "false"}]
        kept.apply()
        objects = objects_of(kept.store)
        name = machine_objects.create_machine(objects, step, None, "")
        stored = objects_of(kept.store).kubeadm_configs[name]
        assert stored == objects.kubeadm_configs[name]
        return killed, stored["spec"]

    spec = every_end(ends)
    assert kept_in in spec and left_out not in spec
    assert spec["clusterConfiguration"]["apiServer"]["extraArgs"] == [{"name": "profiling", "value": "false"}]
