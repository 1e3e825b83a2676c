# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose a Node is."""

from __future__ import annotations

from typing import Any, Optional

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload_api.node_identity import foreign

NODE = {
    "metadata": {"name": "w1", "uid": "u1"},
    "spec": {"providerID": "acme://1"},
    "status": {"nodeInfo": {"machineID": "id-1"}},
}


@pytest.mark.parametrize(
    ("identity", "says"),
    [
        (None, ""),
        ({}, ""),
        ({"machine_id": "id-1", "provider_id": "acme://2"}, ""),
        ({"machine_id": "id-2", "provider_id": "acme://1"}, "another machine-id"),
        ({"provider_id": "acme://1"}, ""),
        ({"provider_id": "acme://2"}, "another providerID"),
        ({"machine_id": "id-1", "uid": "u2"}, "another one than the machine's"),
        ({"uid": "u1"}, ""),
    ],
)
def test_whose_a_node_is(identity: Optional[dict[str, Any]], says: str) -> None:
    said = foreign(NODE, identity)
    assert says in said and bool(said) == bool(says)


def test_a_node_that_tells_nothing_is_the_machines() -> None:
    """A kubelet that has never reported leaves no machine-id."""
    assert foreign({"metadata": {"name": "w1"}}, {"machine_id": "id-2", "provider_id": "acme://2", "uid": "u2"}) == ""
