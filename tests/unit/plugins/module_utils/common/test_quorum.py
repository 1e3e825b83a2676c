# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""etcd's arithmetic: the tables of docs/reference/cluster_api.md, "Quorum arithmetic", written out.

The invariants: docs/reference/invariants.md, "Quorum stays", "One change at a time", "The last voter stays".
"""

from __future__ import annotations

from typing import Any, Optional

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.quorum import (
    MemberState,
    adds_beside_silent_voter,
    check_add,
    check_remove,
    figures,
    has_learners,
    member_states,
    minor_versions,
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
    ("pattern", "victim", "allowed"),
    [
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
def test_removing_beside_what_is_not_finished(pattern: str, victim: str, allowed: bool) -> None:
    assert check_remove(members(pattern), victim, "1").allowed is allowed


@pytest.mark.parametrize(
    ("pattern", "leader", "why"),
    [
        ("H", "1", "member m1 (1) is the last voter"),
        ("s", "1", "member m1 (1) is the last voter"),
        ("HHH", None, "no leader is known"),
        ("HHL", "1", "unfinished: learner m3 (3)"),
        ("HHLuU", "1", "unfinished: learner m3 (3), learner 4 that never started, member 5 that never started"),
        ("Hss", "1", "no quorum to commit the change: 3 voters, 1 healthy, quorum 2"),
        ("HH", "2", "2 voters, 2 healthy, quorum 2; without member m1 (1): 1 voter, 1 healthy, quorum 1"),
    ],
)
def test_the_reason_names_members_and_figures(pattern: str, leader: Optional[str], why: str) -> None:
    verdict = check_remove(members(pattern), "1", leader)
    assert verdict.allowed is (pattern == "HH") and why in verdict.why
    assert verdict.document(None) == {
        "before": verdict.before.document(),
        "after": verdict.after.document(),
        "leader": None,
        "whyThisOrder": verdict.why,
    }


def test_without_quorum_the_reason_is_that_and_not_the_new_voter() -> None:
    assert "no quorum to commit the change: 3 voters, 1 healthy, quorum 2" in check_add(members("Hss")).why
    assert "if the new voter fails" in check_add(members("HHs")).why


def test_a_name_from_a_host_is_cut() -> None:
    assert MemberState("1", "m" * 99, False, True).title == "m" * 79 + "…"


@pytest.mark.parametrize("identity", ["f", ""])
def test_removing_what_is_not_a_member_changes_nothing(identity: str) -> None:
    """The ID is "" for a machine without a member: 3 machines, 2 members, and that machine goes.

    Source: docs/reference/cluster_api.md, "Quorum arithmetic".
    """
    verdict = check_remove(members("HHs"), identity, "1")
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


@pytest.mark.parametrize(
    ("said", "learner", "found"),
    [
        ("3.5.9", False, {"3.5": ["1"]}),
        ("3.6.0-rc.1", False, {"3.6": ["1"]}),
        ("3.5.9", True, {}),
        ("3.5", False, {}),
        ("3.5.9.1", False, {}),
        ("3.x.9", False, {}),
        ("", False, {}),
        (None, False, {}),
        (3, False, {}),
    ],
)
def test_minor_versions_of_voters(said: object, learner: bool, found: object) -> None:
    etcd = {"members": [{"id": "1", "isLearner": learner}], "statuses": {"1": {"version": said}}}
    assert minor_versions(etcd) == found


@pytest.mark.parametrize(
    ("versions", "new_enough"),
    [
        (["3.5.29"], False),
        (["3.5.30"], True),
        (["3.5.31"], True),
        (["3.6.0"], False),
        (["3.6.10"], False),
        (["3.6.11"], True),
        (["3.7.0"], True),
        (["4.0.0"], True),
        (["3.4.99"], False),
        (["3.5.30", "3.6.11"], True),
        (["3.5.30", "3.5.29"], False),
        (["3.5.30", None], False),
        ([], False),
    ],
)
def test_only_a_new_etcd_adds_beside_a_silent_voter(versions: list[Optional[str]], new_enough: bool) -> None:
    """Those that answer decide; what a silent one said before counts for nothing.

    Why: docs/reference/invariants.md, "A silent voter blocks an addition".
    """
    statuses = {str(number): {"healthy": True, "version": version} for number, version in enumerate(versions)}
    assert adds_beside_silent_voter({"statuses": statuses}) is new_enough
    silent = {"silent": {"healthy": False, "version": "3.4.0"}, "unknown": {"healthy": None}}
    assert adds_beside_silent_voter({"statuses": {**statuses, **silent}}) is new_enough


@pytest.mark.parametrize("etcd", [None, {}, {"statuses": None}])
def test_an_unknown_etcd_counts_as_old(etcd: Optional[dict[str, Any]]) -> None:
    assert adds_beside_silent_voter(etcd) is False


@pytest.mark.parametrize(
    ("versions", "learners"),
    [
        (["3.4.13"], True),
        (["3.4.0", "3.5.1"], True),
        (["3.3.25"], False),
        (["3.4.13", "3.3.25"], False),
        (["3.4.13", None], False),
        (["3.4.13", "unknown"], False),
        ([], False),
    ],
)
def test_every_voter_must_be_known_to_have_learners(versions: list[Optional[str]], learners: bool) -> None:
    """etcd 3.3 would add a voter; what a learner runs is of no account."""
    listed = [{"id": str(number)} for number in range(len(versions))]
    statuses = {str(number): {"version": version} for number, version in enumerate(versions)}
    beside = {"id": "learner", "isLearner": True}
    assert has_learners({"members": [*listed, beside], "statuses": statuses}) is learners
    assert has_learners({"members": listed}) is False and has_learners(None) is False


# docs/reference/cluster_api.md, "Quorum arithmetic":
# members now, voters in the target, its quorum, how many other unhealthy ones are tolerated (None: never).
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
        # The new voter counts as failed; from 0 to 1 and from 1 to 2 it has to count as healthy.
        assert verdict.after.healthy == now - sick + (now <= 1), sick
        assert verdict.allowed is (sick <= (tolerated or 0)), sick


@pytest.mark.parametrize("loose", ["L", "u", "U"])
@pytest.mark.parametrize("now", [1, 2, 3, 4, 5])
def test_a_member_that_is_not_finished_forbids_every_other_change(now: int, loose: str) -> None:
    assert not check_add(members("H" * now + loose)).allowed
    assert not check_remove(members("H" * now + loose), "1", "1").allowed
