# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which conditions of a control plane say that nothing is under way."""

from __future__ import annotations

from typing import Any

from builders import healthy

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.conditions.control_plane import settled
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide


def test_settled_is_a_control_plane_with_nothing_under_way() -> None:
    """Each single condition that says otherwise is enough, and so is one that isn't there; with external etcd there is none of its own."""
    conditions = decide(healthy(3).build())["conditions"]["controlPlane"]
    assert settled(conditions) and not settled([])
    assert settled([each for each in conditions if each["type"] != "EtcdClusterHealthy"])
    wrong = [
        each["type"] for each in conditions if not settled([each | {"status": "Unknown"}, *_without(conditions, each)])
    ]
    told_apart = {"EtcdClusterHealthy", "MachinesReady", "MachinesUpToDate", "RollingOut", "ScalingUp", "ScalingDown"}
    assert set(wrong) == told_apart | {"Remediating", "Deleting", "Paused"}


def _without(conditions: list[dict[str, Any]], one: dict[str, Any]) -> list[dict[str, Any]]:
    return [each for each in conditions if each["type"] != one["type"]]
