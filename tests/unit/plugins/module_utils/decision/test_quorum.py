# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""etcd's arithmetic: the tables of kcp-behaviour.md §1.8 and peers.md I1-I3, written out."""

from __future__ import annotations

from typing import Optional

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.quorum import (
    MemberState,
    check_add,
    check_remove,
    figures,
    member_states,
)


def members(pattern: str) -> list[MemberState]:
    """One letter a member: H healthy, s sick, L learner, u unnamed learner, U unnamed voter; IDs are 1, 2, ..."""
    return [
        MemberState(f"{number:x}", "" if letter in "uU" else f"m{number}", letter in "Lu", letter in "HL")
        for number, letter in enumerate(pattern, start=1)
    ]


@pytest.mark.parametrize(
    ("pattern", "voters", "healthy", "quorum", "tolerance"),
    [
        ("", 0, 0, 1, 0),
        ("H", 1, 1, 1, 0),
        ("HH", 2, 2, 2, 0),
        ("HHH", 3, 3, 2, 1),
        ("HHs", 3, 2, 2, 0),
        ("Hss", 3, 1, 2, 0),
        ("HHHH", 4, 4, 3, 1),
        ("HHHHH", 5, 5, 3, 2),
        ("HHHHHHH", 7, 7, 4, 3),
        ("HHHL", 3, 3, 2, 1),
        ("HHHu", 3, 3, 2, 1),
        ("HHU", 3, 2, 2, 0),
    ],
)
def test_figures(pattern: str, voters: int, healthy: int, quorum: int, tolerance: int) -> None:
    assert figures(members(pattern)).document() == {
        "voters": voters,
        "healthy": healthy,
        "quorum": quorum,
        "tolerance": tolerance,
    }


@pytest.mark.parametrize(
    ("pattern", "allowed"),
    [
        ("", True),
        ("H", True),
        ("s", False),
        ("HH", True),
        ("Hs", False),
        ("HHH", True),
        ("HHs", False),
        ("HHHH", True),
        ("HHHs", True),
        ("HHss", False),
        ("HHHHH", True),
        ("HHHHs", True),
        ("HHHss", False),
        ("HHL", False),
        ("HHu", False),
        ("HHHU", False),
    ],
)
def test_adding_counts_the_new_voter_as_failed(pattern: str, allowed: bool) -> None:
    assert check_add(members(pattern)).allowed is allowed


def test_zero_to_one_and_one_to_two_count_the_new_voter_as_healthy() -> None:
    assert check_add([]).after.document() == {"voters": 1, "healthy": 1, "quorum": 1, "tolerance": 0}
    assert check_add(members("H")).after.document() == {"voters": 2, "healthy": 2, "quorum": 2, "tolerance": 0}
    assert check_add(members("HH")).after.document() == {"voters": 3, "healthy": 2, "quorum": 2, "tolerance": 0}


@pytest.mark.parametrize(
    ("pattern", "victim", "allowed"),
    [
        ("H", "1", False),
        ("HH", "1", True),
        ("HH", "2", True),
        ("Hs", "2", False),
        ("Hs", "1", False),
        ("HHH", "3", True),
        ("HHs", "3", True),
        ("HHs", "1", False),
        ("HsH", "2", True),
        ("Hss", "3", False),
        ("HHHH", "1", True),
        ("HHHs", "1", True),
        ("HHHs", "4", True),
        ("HHss", "4", False),
        ("HHHss", "5", True),
        ("HHHss", "1", False),
        ("HHHHss", "6", True),
        ("HHHHss", "1", True),
        ("HHL", "3", True),
        ("HHL", "2", False),
        ("HHu", "3", True),
        ("HU", "2", False),
        ("HHU", "3", True),
        ("HHLu", "3", True),
        ("HHLu", "2", False),
        ("HHLu", "4", True),
        ("L", "1", False),
    ],
)
def test_removing(pattern: str, victim: str, allowed: bool) -> None:
    assert check_remove(members(pattern), victim, "1").allowed is allowed


@pytest.mark.parametrize("pattern", ["H", "s"])
def test_the_last_voter_is_refused_as_such(pattern: str) -> None:
    assert "last voter" in check_remove(members(pattern), "1", "1").why


def test_removing_without_a_known_leader_is_refused() -> None:
    verdict = check_remove(members("HHH"), "3", None)
    assert not verdict.allowed
    assert "leader" in verdict.why


def test_removing_what_is_not_a_member_changes_nothing() -> None:
    verdict = check_remove(members("HHs"), "f", "1")
    assert verdict.allowed
    assert verdict.before == verdict.after


@pytest.mark.parametrize(
    ("status", "alarms", "healthy"),
    [
        ({"healthy": True}, [], True),
        ({"healthy": False}, [], False),
        ({}, [], False),
        (None, [], False),
        ({"healthy": "True"}, [], False),
        ({"healthy": True}, [{"memberID": "a1", "alarm": "NOSPACE"}], False),
        ({"healthy": True}, [{"memberID": "b2", "alarm": "NOSPACE"}], True),
        ({"healthy": True, "errors": ["etcdserver: no leader"]}, [], False),
    ],
)
def test_a_member_is_healthy_only_where_that_is_proven(status: object, alarms: list[object], healthy: bool) -> None:
    statuses = {} if status is None else {"a1": status}
    etcd = {"reachable": True, "members": [{"id": "a1", "name": "m1"}], "statuses": statuses, "alarms": alarms}
    assert [member.healthy for member in member_states(etcd)] == [healthy]


def test_an_etcd_that_did_not_answer_has_no_known_members() -> None:
    assert member_states({"reachable": False, "members": [{"id": "a1", "name": "m1"}]}) == []
    assert member_states(None) == []


def test_the_certificate_carries_both_sides() -> None:
    certificate = check_remove(members("HHs"), "3", "1").certificate("m1")
    assert certificate["before"] == {"voters": 3, "healthy": 2, "quorum": 2, "tolerance": 0}
    assert certificate["after"] == {"voters": 2, "healthy": 2, "quorum": 2, "tolerance": 0}
    assert certificate["leader"] == "m1"
    assert certificate["whyThisOrder"]


# kcp-behaviour.md §1.8: members now, voters in the target, its quorum, how many other unhealthy ones are tolerated (None: never).
REMOVALS = [
    (1, 0, 1, None),
    (2, 1, 1, 0),
    (3, 2, 2, 0),
    (4, 3, 2, 1),
    (5, 4, 3, 1),
    (6, 5, 3, 2),
    (7, 6, 4, 2),
    (8, 7, 4, 3),
    (9, 8, 5, 3),
]
ADDITIONS = [(0, 1, 1, None), (1, 2, 2, 0), (2, 3, 2, 0), (3, 4, 3, 0), (4, 5, 3, 1), (5, 6, 4, 1)]


@pytest.mark.parametrize(("now", "target", "quorum", "tolerated"), REMOVALS)
class TestRemovalTable:
    def test_a_healthy_member_goes(self, now: int, target: int, quorum: int, tolerated: Optional[int]) -> None:
        for sick in range(now):
            verdict = check_remove(members("H" * (now - sick) + "s" * sick), "1", "2" if now > 1 else "1")
            assert (verdict.after.voters, verdict.after.quorum) == (target, quorum)
            assert verdict.allowed is (tolerated is not None and sick <= tolerated), sick

    def test_an_unhealthy_member_goes(self, now: int, target: int, quorum: int, tolerated: Optional[int]) -> None:
        """Beyond the table: etcd must be able to commit the change with what is healthy now."""
        for sick in range(1, now + 1):
            verdict = check_remove(members("H" * (now - sick) + "s" * sick), f"{now:x}", "1")
            others = sick - 1
            fits = tolerated is not None and others <= tolerated
            assert verdict.allowed is (fits and now - sick >= now // 2 + 1), sick

    def test_an_alarm_of_the_one_that_goes_is_ignored(
        self, now: int, target: int, quorum: int, tolerated: Optional[int]
    ) -> None:
        listed = [{"id": f"{number:x}", "name": f"m{number}"} for number in range(1, now + 1)]
        etcd = {
            "reachable": True,
            "members": listed,
            "statuses": {each["id"]: {"healthy": True} for each in listed},
            "alarms": [{"memberID": "1", "alarm": "CORRUPT"}],
        }
        assert check_remove(member_states(etcd), "1", "2").allowed is (now > 2)
        if now > 1:
            assert check_remove(member_states(etcd), "2", "2").allowed is (tolerated is not None and tolerated >= 1)


@pytest.mark.parametrize(("now", "target", "quorum", "tolerated"), ADDITIONS)
def test_addition_table(now: int, target: int, quorum: int, tolerated: Optional[int]) -> None:
    for sick in range(now + 1):
        verdict = check_add(members("H" * (now - sick) + "s" * sick))
        assert (verdict.after.voters, verdict.after.quorum) == (target, quorum)
        assert verdict.allowed is (sick <= (tolerated or 0)), sick


@pytest.mark.parametrize("loose", ["L", "u", "U"])
@pytest.mark.parametrize("now", [1, 2, 3, 4, 5])
def test_a_member_that_is_not_finished_forbids_every_other_change(now: int, loose: str) -> None:
    assert not check_add(members("H" * now + loose)).allowed
    assert not check_remove(members("H" * now + loose), "1", "1").allowed


@pytest.mark.parametrize("victim", ["1", "2", "3"])
def test_a_member_without_a_machine_is_removed_like_any_other(victim: str) -> None:
    assert check_remove(members("HHH"), victim, "1").after.document()["voters"] == 2


def test_a_memberless_machine_lowers_the_voters_and_nothing_else() -> None:
    """3 machines, 2 members, the machine without one goes: nothing changes (§1.8)."""
    verdict = check_remove(members("HH"), "", "1")
    assert verdict.allowed
    assert verdict.before == verdict.after
