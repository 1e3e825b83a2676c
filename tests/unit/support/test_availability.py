# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the watcher makes of its samples: figures that the collection is judged by must themselves be right."""

from __future__ import annotations

import typing as t

import pytest
from availability import epoch, faults, gaps, steps_of, summarize

BEGIN = epoch("2026-01-01T00:00:00Z")
Object = dict[str, t.Any]


def answers(what: str, *times: float, ok: bool = True, error: str = "") -> list[Object]:
    """Samples so many seconds after the beginning."""
    return [{"t": BEGIN + each, "what": what, "name": "m1", "ok": ok, "error": error} for each in times]


def every_quarter(what: str, begin: float, end: float) -> list[Object]:
    """An answer four times a second."""
    return answers(what, *(begin + number / 4 for number in range(int((end - begin) * 4) + 1)))


def voters(at: float, count: int) -> Object:
    """What the member list said."""
    started = [f"m{number}" for number in range(1, count + 1)]
    return {"t": BEGIN + at, "what": "members", "voters": count, "started": started, "names": started}


def step(number: int, action: str, begin: int, end: t.Optional[int] = None) -> list[Object]:
    """The journal's entries of a step."""
    entries = [
        {
            "event": "intent",
            "id": str(number),
            "time": f"2026-01-01T00:00:{begin:02d}Z",
            "action": action,
            "target": "m1",
        }
    ]
    if end is not None:
        entries.append(
            {"event": "outcome", "id": str(number), "time": f"2026-01-01T00:00:{end:02d}Z", "result": "succeeded"}
        )
    return entries


def test_regular_answers_have_no_gap() -> None:
    times = [number / 4 for number in range(40)]
    assert gaps(times, 10.0, 0.5) == []


def test_a_gap_lasts_from_the_last_answer_to_the_next() -> None:
    assert gaps([0.0, 0.25, 3.0, 3.25], 3.5, 0.5) == [(0.25, 3.0)]


def test_what_is_missing_at_the_end_is_a_gap() -> None:
    assert gaps([0.0, 0.25], 4.0, 0.5) == [(0.25, 4.0)]


def test_before_the_first_answer_nothing_is_counted() -> None:
    assert gaps([], 4.0, 0.5) == []
    samples = answers("etcd", 0.0, 0.25, 0.5, ok=False, error="refused") + every_quarter("etcd", 5, 6)
    found = summarize(samples, [], BEGIN + 6, 0.25)
    assert found["quorum"]["longest_gap_seconds"] == found["quorum"]["total_gap_seconds"] == 0
    assert (found["quorum"]["asked"], found["quorum"]["failed"]) == (5, 0)


def test_one_member_that_answers_is_quorum() -> None:
    """The other members' failures are told and are no gap."""
    samples = every_quarter("etcd", 0, 10) + answers("etcd", *range(1, 9), ok=False, error="refused")
    quorum = summarize(samples, [], BEGIN + 10, 0.25)["quorum"]
    assert (quorum["longest_gap_seconds"], quorum["failed"]) == (0.0, 8)
    assert quorum["errors"] == {"m1: refused": 8}


def test_a_gap_is_told_with_its_step_and_in_the_whole() -> None:
    samples = every_quarter("endpoint", 0, 5) + every_quarter("endpoint", 8, 20)
    journal = step(1, "join", 2, 3) + step(2, "remove", 4, 9)
    found = summarize(samples, journal, BEGIN + 20, 0.25)
    assert [each["endpoint"]["longest_gap_seconds"] for each in found["steps"]] == [0.0, 3.0]
    assert found["endpoint"]["longest_gap_seconds"] == found["endpoint"]["total_gap_seconds"] == 3.0
    assert found["endpoint"]["gaps"][0]["from"] == "00:00:05.00"
    assert found["between_steps"]["endpoint"]["total_gap_seconds"] == 0


def test_answers_that_come_late_are_told_from_questions_that_have_none() -> None:
    """Both are gaps; the endpoint was not away in the first."""
    samples = every_quarter("endpoint", 0, 5) + every_quarter("endpoint", 6, 10) + every_quarter("endpoint", 12, 20)
    samples += answers("endpoint", 11.0, ok=False, error="refused")
    found = summarize(samples, step(1, "task", 2, 14), BEGIN + 20, 0.25)
    assert found["steps"][0]["endpoint"]["total_gap_seconds"] == 3.0
    assert found["steps"][0]["endpoint"]["unanswered_seconds"] == found["endpoint"]["unanswered_seconds"] == 2.0


def test_a_gap_between_steps_is_not_lost() -> None:
    samples = every_quarter("etcd", 0, 5) + every_quarter("etcd", 8, 20)
    found = summarize(samples, step(1, "join", 1, 2), BEGIN + 20, 0.25)
    assert found["between_steps"]["quorum"]["total_gap_seconds"] == found["quorum"]["total_gap_seconds"] == 3.0
    assert (
        found["between_steps"]["quorum"]["asked"] == found["quorum"]["asked"] - found["steps"][0]["quorum"]["asked"] > 0
    )


def test_no_step_is_exempt() -> None:
    """The gap from one voter to two counts as that from two to three does."""
    samples = [voters(0.1, 1), voters(3.1, 2), voters(11.1, 3)]
    samples += every_quarter("etcd", 0, 3) + every_quarter("etcd", 5, 11) + every_quarter("etcd", 12, 20)
    found = summarize(samples, step(1, "join", 1, 7) + step(2, "join", 9, 14), BEGIN + 20, 0.25)
    assert [each["quorum"]["longest_gap_seconds"] for each in found["steps"]] == [2.0, 1.0]
    assert (found["quorum"]["longest_gap_seconds"], found["quorum"]["total_gap_seconds"]) == (2.0, 3.0)


def test_a_watcher_without_a_cpu_says_so() -> None:
    """A gap in which the watcher didn't even ask is told from one in which nobody answered."""
    samples = every_quarter("etcd", 0, 3) + every_quarter("etcd", 5, 9)
    samples.append({"t": BEGIN + 5, "what": "late", "seconds": 1.75})
    [gap] = summarize(samples, [], BEGIN + 9, 0.25)["quorum"]["gaps"]
    assert gap["watcher_late_seconds"] == 1.75


def test_a_step_without_an_outcome_lasts_to_the_end() -> None:
    [found] = steps_of(step(1, "join", 5), BEGIN + 60)
    assert (found.begin, found.end, found.result) == (BEGIN + 5, BEGIN + 60, "")


def test_the_journals_seconds_are_cut_off() -> None:
    """An outcome written as second 9 may have been at 9.9: what happens until then belongs to the step."""
    [found] = steps_of(step(1, "join", 5, 9), BEGIN + 60)
    assert found.end == BEGIN + 10


def test_elections_are_told() -> None:
    leaders = [(1.0, 2, "m1"), (5.0, 3, "m2")]
    samples = [{"t": BEGIN + at, "what": "leader", "term": term, "leader": name} for at, term, name in leaders]
    [election] = summarize(samples, [], BEGIN + 9, 0.25)["elections"]
    assert election == {"time": "00:00:05.00", "term": 3, "leader": "m2", "was": "m1"}


@pytest.mark.parametrize(
    ("count", "unstarted", "action", "short"),
    [
        (3, 0, "remove", False),
        (3, 1, "join m3", False),
        (3, 1, "remove", True),
        (4, 1, "remove", True),
        (5, 1, "remove", False),
        (5, 2, "remove", True),
        # Of two voters both are needed, whatever is done to one of them; one that never started writes nothing.
        (2, 1, "join m2", True),
        (2, 0, "remove", False),
        (1, 0, "join m2", False),
    ],
)
def test_a_majority_stays_that_nobody_works_on(count: int, unstarted: int, action: str, short: bool) -> None:
    """Counted at each look at the member list; the machine of the step that is under way is none of it."""
    look = voters(5.0, count)
    look["started"] = look["started"][: count - unstarted]
    name, _space, target = action.partition(" ")
    journal = step(1, name, 2, 9)
    journal[0]["target"] = target or "m1"
    found = summarize([look], journal, BEGIN + 20, 0.25)["votes"]
    assert (found["looks"], bool(found["short"])) == (1, short)


def test_at_the_edge_of_two_steps_a_look_belongs_to_either() -> None:
    """The journal's times are whole seconds."""
    look = {**voters(5.0, 3), "started": ["m1", "m2"]}
    journal = step(1, "remove", 2, 4) + [{**each, "target": "m3"} for each in step(2, "join", 5, 9)]
    assert summarize([look], journal, BEGIN + 20, 0.25)["votes"]["short"] == []


@pytest.mark.parametrize(
    ("writes", "votes", "count"),
    [
        ({"confirmed": 9, "lost": []}, {"looks": 3, "short": []}, 0),
        ({"confirmed": 9, "lost": ["4", "7"]}, {"looks": 3, "short": ["then"]}, 3),
        ({"confirmed": 0, "lost": []}, {"looks": 3, "short": []}, 1),
        ({"confirmed": 9, "lost": []}, {"looks": 0, "short": []}, 1),
    ],
)
def test_what_is_held_against_a_cluster(writes: Object, votes: Object, count: int) -> None:
    assert len(faults({"writes": writes, "votes": votes})) == count
