# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Node that is deleted with a machine, where none was observed."""

from __future__ import annotations

from pathlib import Path

import pytest
from removal_world import World

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import MACHINE


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Three machines, one of which goes."""
    return World(tmp_path)


@pytest.mark.parametrize(("state", "asked"), [("Failed", ["m1"]), ("Running", ["m1"]), ("Succeeded", []), ("", [])])
def test_a_node_that_nobody_has_seen_goes_with_a_machine_that_never_joined(
    world: World, state: str, asked: list[str]
) -> None:
    """Its kubelet may have registered it after the last look; what joined under another name is not called as its machine."""
    world.change("m1", lambda stored: stored["status"].update(nodeRef={}, bootstrap={"state": state}))
    world.removal().finish()
    assert [call["name"] for _name, module, call in world.machines.calls if module == "workload_node"] == asked


def test_such_a_node_is_named_as_the_manifest_says(world: World) -> None:
    world.change("m1", lambda stored: stored["status"].update(nodeRef={}, bootstrap={"state": "Failed"}))
    registration = {"name": "{{ ds.meta_data.local_hostname }}.example.com"}
    world.store.create(
        {
            "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2",
            "kind": "KubeadmConfig",
            "metadata": {**world.store.get(MACHINE, "default", "m2")["metadata"], "name": "m1", "ownerReferences": []},
            "spec": {"joinConfiguration": {"nodeRegistration": registration}},
        }
    )
    world.removal().finish()
    assert [call["name"] for _name, module, call in world.machines.calls if module == "workload_node"] == [
        "m1.example.com"
    ]
