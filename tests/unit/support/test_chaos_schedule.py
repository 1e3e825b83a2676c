# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Random schedules: the same again from a seed, and within what a control plane can be asked to survive."""

from __future__ import annotations

import json

from chaos.schedule import HOWS, LARGE, MOST_FAULTS, SMALL, WISHES, schedule

MANY = [schedule(seed, number) for seed in range(20) for number in range(40)]


def test_the_same_seed_and_number_is_the_same_schedule() -> None:
    assert [schedule(4, number) for number in range(30)] == [schedule(4, number) for number in range(30)]
    assert schedule(4, 7) != schedule(5, 7) and schedule(4, 7).faults != schedule(4, 8).faults


def test_each_begins_where_the_one_before_ended() -> None:
    """So that one alone can be repeated."""
    assert schedule(1, 0).before == SMALL
    for number in range(40):
        assert schedule(1, number).after == schedule(1, number + 1).before


def test_sizes_follow_the_wish() -> None:
    for each in MANY:
        assert (each.before, each.after) in {
            "grow": {(SMALL, LARGE)},
            "shrink": {(LARGE, SMALL)},
        }.get(each.wish, {(SMALL, SMALL), (LARGE, LARGE)})


def test_no_more_than_one_machine_is_taken_away() -> None:
    """And none beside two voters: either could take the quorum with it, and nothing can prevent that."""
    for each in MANY:
        assert 1 <= len(each.faults) <= MOST_FAULTS
        taken = sum(fault.kind != "kill" for fault in each.faults)
        assert taken <= (0 if (each.wish, each.before) == ("replace", SMALL) else 1)


def test_everything_is_drawn_sometimes() -> None:
    assert {each.wish for each in MANY} == set(WISHES)
    faults = [fault for each in MANY for fault in each.faults]
    assert {fault.kind for fault in faults} == {"kill", "power", "partition"}
    assert {fault.how for fault in faults if fault.kind == "kill"} == set(HOWS)
    assert {fault.back for fault in faults if fault.kind == "power"} == {True, False}
    assert all(fault.seconds > 0 for fault in faults if fault.kind == "partition")
    assert all(fault.after >= 1 and 0 <= fault.draw < 1 for fault in faults)


def test_it_can_be_written_down() -> None:
    """The record is JSON."""
    assert json.loads(json.dumps(schedule(3, 3).told()))["number"] == 3
