# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the hosts' answers say of the endpoint that they hold themselves."""

from __future__ import annotations

import pytest

from ansible_collections.kubeadm.control_plane.plugins.action.inventory_endpoint import result
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.failure import ControlPlaneFailure
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Answer

HOSTS = {"m1": "h1", "m2": "h2", "m3": "h3"}
WELL, HOLDS = Answer(True, {"changed": False, "holds": False}), Answer(True, {"changed": True, "holds": True})
BROKEN = Answer(True, {"failed": True, "msg": "/etc is read-only."})


def test_a_broken_host_keeps_nobody_from_removing_it() -> None:
    """One that is to serve does; so does a run that lost its lock, whichever host says so."""
    left = result("prod", {"m1": HOLDS, "m3": BROKEN}, HOSTS, {"m1"})
    assert left["changed"] and left["warnings"] == [
        "the endpoint was left as it is on m3 (host h3): /etc is read-only."
    ]
    with pytest.raises(ControlPlaneFailure, match=r"m3 .host h3.: /etc is read-only"):
        result("prod", {"m1": HOLDS, "m3": BROKEN}, HOSTS, {"m1", "m3"})
    lost = Answer(True, {"failed": True, "msg": "The lock was lost.", "fenced": 7})
    with pytest.raises(ControlPlaneFailure, match="The lock was lost"):
        result("prod", {"m1": HOLDS, "m3": lost}, HOSTS, {"m1"})


def test_two_hosts_that_hold_the_address_are_named() -> None:
    """Where VRRP is filtered each takes it; one alone is as it should be."""
    assert "warnings" not in result("prod", {"m1": HOLDS, "m2": WELL}, HOSTS, {"m1", "m2"})
    [said] = result("prod", {"m1": HOLDS, "m2": HOLDS}, HOSTS, {"m1", "m2"})["warnings"]
    assert "held by several hosts at once: m1 (host h1), m2 (host h2)" in said and "protocol 112" in said
