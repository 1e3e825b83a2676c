# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kill costs, from traces."""

from __future__ import annotations

from recovery import Passed, cost, offsets, parse

UNDISTURBED = [
    Passed(100.0, "decide: after node node_observe"),
    Passed(101.0, "decide: after journal intent join"),
    Passed(104.0, "join > after task provider: Make the machine"),
    Passed(121.0, "join > machine_bootstrap: after node node_bootstrap"),
    Passed(122.0, "join > decide: after journal outcome succeeded"),
    Passed(125.0, "decide: after journal intent join"),
    Passed(127.0, "join > after task provider: Make the machine"),
]
USUAL = offsets(UNDISTURBED)


def test_a_trace_is_read() -> None:
    text = "100.250 17 join > machine_bootstrap: before node node_bootstrap (2)\n"
    assert parse(text) == [Passed(100.25, "join > machine_bootstrap: before node node_bootstrap (2)")]
    assert parse("") == []


def test_the_shortest_of_several_steps_is_what_a_step_takes() -> None:
    assert USUAL["join > after task provider: Make the machine"] == 2.0
    assert USUAL["join > machine_bootstrap: after node node_bootstrap"] == 20.0
    assert "decide: after node node_observe" not in USUAL


def test_a_run_that_is_stopped_before_any_step_costs_what_it_took() -> None:
    trace = [Passed(203.0, "decide: after node node_observe")]
    assert cost("decide: before node node_observe", 200.0, trace, 203.0, USUAL) == 3.0


def test_the_same_point_again_ends_the_recovery() -> None:
    """And the part of the step that comes before it is no cost, however often it is done: an undisturbed one does it too."""
    point = "join > after task provider: Make the machine"
    trace = [Passed(204.0, "decide: after journal intent join"), Passed(207.5, point), Passed(260.0, "join > later")]
    assert cost(point, 200.0, trace, 260.0, USUAL) == 5.5
    assert cost(point, 200.0, trace, 260.0, {}) == 7.5


def test_a_step_that_is_over_by_then_ends_it_as_well() -> None:
    trace = [Passed(225.0, "join > decide: after journal outcome succeeded"), Passed(300.0, "something else")]
    assert cost("join > decide: after action", 200.0, trace, 300.0, USUAL) == 4.0


def test_a_run_that_passes_nothing() -> None:
    assert cost("run: before action", 200.0, [], 201.0, USUAL) == 1.0
