# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""etcd was restored on one machine: the others, marked and without members, are replaced one after another."""

from __future__ import annotations

import pytest
from builders import Builder, healthy

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.steps import plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import kinds


def restored(count: int, ready: str = "Unknown", pods: bool = True) -> Builder:
    """A control plane of so many machines, of which m1 alone has a member; the others are dead, their Nodes what the snapshot knew."""
    builder = healthy(count).leads("m1")
    for number in range(2, count + 1):
        name = f"m{number}"
        builder.without_member(name).annotate(kinds.ANNOTATION_REMEDIATE_MACHINE, "", name).node(name, ready=ready)
        builder.entry(name)["infrastructureMachine"]["status"]["state"] = "dead"
        if not pods:
            builder.workload["pods"].pop(name, None)
    return builder


@pytest.mark.parametrize("count", [3, 5])
@pytest.mark.parametrize(("ready", "pods"), [("Unknown", True), ("Unknown", False), ("True", True)])
def test_every_machine_that_was_given_up_is_replaced(count: int, ready: str, pods: bool) -> None:
    steps = [
        (each["action"], (each["target"] or {}).get("machine")) for each in plan(restored(count, ready, pods).build())
    ]
    removed = [machine for action, machine in steps if action == "remove"]
    assert sorted(map(str, removed)) == [f"m{number}" for number in range(2, count + 1)]
    assert [action for action, _machine in steps] == ["remove", "join"] * (count - 1) + ["none"]
