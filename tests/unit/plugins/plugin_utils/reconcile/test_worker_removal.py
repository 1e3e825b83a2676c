# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A worker's removal, where it differs from a control plane machine's."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

import pytest
from removal_world import World

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Answer


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A machine that goes, and two that stay."""
    return World(tmp_path)


def test_a_workers_pods_are_protected_for_ever_where_the_machine_sets_no_bound(world: World) -> None:
    """As in Cluster API; what holds its drain is told, and another call asks again."""
    said = "PodDisruptionBudget shop/web"
    world.machines.answers["node_drain"] = [Answer(True, {"state": "Running", "message": said})]
    found = world.removal(worker=True, member_id="").take_out()
    call = world.machines.calls[0][2]
    assert (call["timeout"], call["volumes_timeout"], call["wait"]) == (0, 0, 0)
    assert (found["ready"], found["msg"]) == (False, said)
    assert world.machines.modules() == ["node_drain"]
    world.change("m1", lambda stored: stored["spec"].update(deletion={"nodeDrainTimeoutSeconds": 90}))
    world.removal(worker=True, member_id="").take_out()
    assert world.machines.calls[1][2]["timeout"] == 90


def test_a_node_that_stays_behind_is_named_with_the_way_to_delete_it(world: World) -> None:
    """No later run deletes it: a worker's Node without a Machine may be a person's own."""
    world.machines.answers["workload_node"] = [Answer(True, {"failed": True, "msg": "no API"})]
    assert world.removal(worker=True, member_id="").finish()["changed"] is True
    assert world.controller.said[-1].endswith("kubectl delete node node-m1")


def test_only_the_workers_own_node_is_drained_and_the_drained_one_deleted(world: World) -> None:
    """Its host may have been installed again, or have joined again after its infrastructure was given back."""

    def known(stored: Any) -> None:
        stored["status"]["machineID"] = "id-1"
        stored["spec"]["providerID"] = "acme://1"

    world.change("m1", known)
    world.machines.answers["node_drain"] = [Answer(True, {"state": "Drained", "message": "", "uid": "u1"})]
    own = {"machine_id": "id-1", "provider_id": "acme://1"}
    assert world.removal(worker=True, member_id="").take_out()["ready"]
    world.removal(worker=True, member_id="").finish()
    drain, deletion = (call for _name, _module, call in world.machines.calls)
    assert drain["identity"] == {**own, "uid": ""} and deletion["identity"] == {**own, "uid": "u1"}


@pytest.mark.parametrize(("state", "asked"), [("Running", ["node_drain"]), (None, [])])
def test_a_worker_goes_without_a_drain_only_where_it_can_have_no_node(
    world: World, state: Optional[str], asked: list[str]
) -> None:
    """A kubelet may have registered its Node since it was last looked for."""

    def unseen(stored: Any) -> None:
        stored["status"].pop("nodeRef")
        stored["status"]["bootstrap"] = {"state": state} if state else {}

    world.change("m1", unseen)
    assert world.removal(worker=True, member_id="").take_out()["ready"]
    assert world.machines.modules() == asked
    assert [call["name"] for _name, _module, call in world.machines.calls] == ["m1"] * len(asked)
