# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.values import condition_of
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import conditions

EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"


def test_the_time_moves_only_with_the_status() -> None:
    obj: dict[str, Any] = {}
    assert conditions.set_condition(obj, "Ready", "False", "Provisioning", "", EARLY)
    assert not conditions.set_condition(obj, "Ready", "False", "Provisioning", "", LATE)
    assert conditions.set_condition(obj, "Ready", "False", "Failed", "why", LATE)
    assert condition_of(obj, "Ready") == {
        "type": "Ready",
        "status": "False",
        "reason": "Failed",
        "message": "why",
        "lastTransitionTime": EARLY,
    }
    conditions.set_condition(obj, "Ready", "Unknown", "ConnectionDown", "", LATE)
    found = condition_of(obj, "Ready")
    assert found["lastTransitionTime"] == LATE


def test_a_condition_tells_which_spec_it_is_about() -> None:
    """As Cluster API's setter does; its time stays, as nothing else changed."""
    obj: dict[str, Any] = {"metadata": {"generation": 3}}
    assert conditions.set_condition(obj, "Ready", "True", "Ready", "", EARLY)
    assert not conditions.set_condition(obj, "Ready", "True", "Ready", "", LATE)
    obj["metadata"]["generation"] = 4
    assert conditions.set_condition(obj, "Ready", "True", "Ready", "", LATE)
    (found,) = obj["status"]["conditions"]
    assert (found["observedGeneration"], found["lastTransitionTime"]) == (4, EARLY)


def test_conditions_are_sorted_and_removed() -> None:
    obj: dict[str, Any] = {"status": {"replicas": 1}}
    for name in ("B", "A"):
        conditions.set_condition(obj, name, "True", "Yes", "", EARLY)
    assert [entry["type"] for entry in obj["status"]["conditions"]] == ["A", "B"]
    assert conditions.is_true(obj, "A")
    assert not conditions.is_true(obj, "C")
    assert conditions.remove_condition(obj, "A")
    assert not conditions.remove_condition(obj, "A")
    assert obj["status"]["replicas"] == 1


def test_a_status_is_one_of_three() -> None:
    with pytest.raises(ValueError, match="'true' is not one of"):
        conditions.set_condition({}, "A", "true", "Yes", "", EARLY)
