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


AWAY, LEFT = Answer(False, {"msg": "machine m3 was not reached."}), Answer(True, {"changed": True})


@pytest.mark.parametrize("silent", [BROKEN, AWAY], ids=["that fails", "that isn't reached"])
@pytest.mark.parametrize(
    ("others", "refused"),
    [
        ({"m1": WELL, "m2": WELL}, True),
        ({"m1": WELL, "m2": HOLDS}, False),
        ({"m1": WELL, "m2": AWAY}, False),
        ({"m1": WELL, "m4": LEFT}, False),
        ({}, False),
    ],
    ids=[
        "nobody else has it",
        "another has it",
        "one that stays is silent, too",
        "one that had it has just left",
        "all go",
    ],
)
def test_no_machine_is_removed_whose_host_still_has_the_address(
    silent: Answer, others: dict[str, Answer], refused: bool
) -> None:
    """It runs on without a live API server behind it, as keepalived looks at its own haproxy alone."""
    answers, hosts = {**others, "m3": silent}, {**HOSTS, "m4": "h4"}
    if refused:
        with pytest.raises(
            ControlPlaneFailure, match=r"on none of the hosts that stay.*m3 .host h3.*Nothing was removed"
        ):
            result("prod", answers, hosts, {"m1", "m2"})
    else:
        said = result("prod", answers, hosts, {"m1", "m2"})["warnings"]
        assert any(each.startswith("the endpoint was left as it is on m3 (host h3)") for each in said)
