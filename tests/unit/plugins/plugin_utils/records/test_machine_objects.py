# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a new Machine says of the rollout that it is made for: the store's clock, which gives its creation, may be behind."""

from __future__ import annotations

import typing as t

import pytest
from stored_manifest import Kept

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records import machine_objects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import ClusterObjects

NOTE = "kubeadm.control-plane/made-for-rollout-after"


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
    objects = ClusterObjects.read(kept.store, "default", "my-cluster")
    assert objects is not None
    made = objects.machine(machine_objects.create_machine(objects, "init", None, ""))
    assert made is not None
    assert made["metadata"]["annotations"].get(NOTE) == noted
