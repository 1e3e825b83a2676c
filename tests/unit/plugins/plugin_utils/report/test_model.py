# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report's figures are the journal's: counted here by hand from the entries."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from journal_life import INIT, MACHINES, NOON, Life, at, creation, failed_rollout

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.report import journal_runs, model, words


@pytest.fixture
def life(tmp_path: Path) -> Life:
    return Life(tmp_path / "store")


def report(life: Life, **arguments: t.Any) -> model.ClusterReport:
    return journal_runs.read(life.journal.entries(), "default", "prod", **arguments)


def after_noon(time: t.Optional[float]) -> float:
    assert time is not None
    return time - NOON


def test_a_creation(life: Life) -> None:
    creation(life)
    found = report(life)
    [run] = found.runs
    assert (run.playbook, run.result, run.done, run.waited) == ("reconcile", "changed", 5, 7)
    assert (after_noon(run.began), after_noon(run.last)) == (0, 125)
    spans = [(each.action, each.target, after_noon(each.began), after_noon(each.ended)) for each in run.steps]
    one, two, three = MACHINES
    assert spans == [
        ("createInfrastructure", "", 0, 4),
        ("createCertificates", "", 4, 6),
        ("initialize", one, 6, 44),
        ("join", two, 51, 84),
        ("join", three, 85, 121),
    ]
    [wait] = run.waits
    assert (wait.reason, wait.message) == ("NodesReady", f"Node {one} is not Ready yet")
    assert found.state is not None and (found.state.leader, found.state.endpoint, found.state.replicas) == (
        one,
        True,
        3,
    )
    assert len(found.certificates) == 5 and words.soonest(found)[0] == "kubeconfig"


def test_phases_last_until_the_next_one_and_the_last_until_the_steps_end(life: Life) -> None:
    creation(life)
    phases = report(life).runs[0].steps[2].phases
    assert tuple(each.name for each in phases) == INIT
    assert [after_noon(each.began) for each in phases] == [12 + 3 * number for number in range(len(INIT))]
    assert [each.ended for each in phases[:-1]] == [each.began for each in phases[1:]]
    assert after_noon(phases[-1].ended) == 44


def test_votes_against_quorum(life: Life) -> None:
    creation(life)
    failed_rollout(life)
    newest, first = report(life).runs
    assert [(after_noon(time), voters, quorum) for time, voters, quorum in first.votes()] == [
        (44, 1, 1),
        (84, 2, 2),
        (121, 3, 2),
    ]
    assert [(voters, quorum) for _time, voters, quorum in newest.votes()] == [(3, 2), (4, 3), (3, 2)]
    assert [name for _time, name in newest.leaders()] == list(MACHINES)


@pytest.mark.parametrize(
    ("healthy", "said"),
    [
        (3, "3 healthy, quorum 2; 1 voter may fail"),
        (2, "2 healthy, quorum 2; 0 voters may fail"),
        (1, "1 healthy, quorum 2: it is lost"),
        (None, "quorum 2"),
    ],
)
def test_a_voter_that_is_down_may_not_fail_again(life: Life, healthy: t.Optional[int], said: str) -> None:
    """Whichever run the report is of, and nothing of it where a step has begun since."""
    creation(life)
    life.run = "run-2"
    life.fact(
        3600, "state", "blocked", voters=3, quorum=2, replicas=3, **({} if healthy is None else {"healthy": healthy})
    )
    life.close(3601)
    for run in ("", "run-1"):
        assert ("etcd's voters", "3", said) in words.figures(report(life, run=run))
    life.run = "run-3"
    life.begin(3700, "remove", MACHINES[0], votersBefore=3, votersAfter=2, voters=3, healthy=3, quorum=2, replicas=3)
    assert ("etcd's voters", "3", "quorum 2") in words.figures(report(life))


def test_planned_against_done(life: Life) -> None:
    life.step(0, 1, "join", plan="join remove updateAddons")
    life.step(2, 3, "removeNode")
    life.step(4, 5, "remove")
    life.close(6)
    [run] = report(life).runs
    rows = [(action, step.action if step else None) for action, step in run.compared()]
    assert rows == [("join", "join"), (None, "removeNode"), ("remove", "remove"), ("updateAddons", None)]


def test_the_journal_of_real_machines() -> None:
    """As a local run left it: three machines were made, a rollout's run was killed with SIGKILL in its first join, all was deleted."""
    lines = (Path(__file__).parent / "my-cluster.jsonl").read_text().splitlines()
    found = journal_runs.read(map(json.loads, lines), "default", "my-cluster")
    deleted, killed, created = found.runs
    assert [(each.playbook, each.result) for each in found.runs] == [
        ("delete", "changed"),
        ("", model.KILLED),
        ("reconcile", "changed"),
    ]
    assert [(each.action, each.result == model.SUCCEEDED) for each in killed.steps] == [("join", False)]
    assert killed.planned == ["join", "remove"] * 3
    rows = [(action, step.action if step else "", step.target if step else "") for action, step in created.compared()]
    assert rows == [
        ("createInfrastructure", "createInfrastructure", ""),
        ("createCertificates", "createCertificates", ""),
        ("initialize", "initialize", "my-control-plane-mjqgv"),
        ("join", "join", "my-control-plane-7vd46"),
        ("join", "join", "my-control-plane-k5bql"),
    ]
    assert [each.end_of(step) - step.began for each in [created] for step in each.steps] == [7, 3, 77, 39, 446]
    assert [len(each.phases) for each in created.steps] == [0, 0, 17, 7, 7]
    assert {each.name for each in created.steps[2].phases} >= {
        "certs",
        "etcd",
        "wait-control-plane",
        "bootstrap-token",
        "addons",
    }
    assert [(voters, quorum) for _time, voters, quorum in created.votes()] == [(1, 1), (2, 2), (3, 2)]
    assert [name for _time, name in created.leaders()] == ["my-control-plane-mjqgv"] and created.endpoint_gaps() == []
    assert deleted.leader_known_until() <= deleted.votes_known_until() < deleted.last, (
        "nobody can ask an etcd that is deleted"
    )
    assert len(found.certificates) == 19 and "etcd's voters" not in [
        name for name, _value, _remark in words.figures(found)
    ]


def test_a_failed_run(life: Life) -> None:
    failed_rollout(life)
    found = report(life)
    [run] = found.runs
    assert (run.result, run.done, run.steps[-1].result) == ("failed", 2, "failed")
    assert run.endpoint_gaps() == [(NOON + 3652, NOON + 3671)]
    assert words.trouble(found)[0] == words.BAD and "Port 10250 is in use" in words.trouble(found)[1]


def test_a_killed_run_that_the_next_one_has_found(life: Life) -> None:
    killed = life.begin(0, "join", plan="join")
    life.phases(20, MACHINES[0], ("preflight", "certs"), 5)
    life.run = "run-2"
    life.end(900, killed, "interrupted", "found and resumed")
    life.step(901, 930, "join", MACHINES[0])
    life.close(931)
    newest, first = report(life).runs
    assert (newest.result, first.result) == ("changed", model.KILLED)
    assert after_noon(first.last) == 20, "its last sign of life, not the time at which the next run told of it"
    assert after_noon(first.end_of(first.steps[0])) == 20


def test_a_killed_run_that_none_has_followed(life: Life) -> None:
    creation(life)
    life.run = "run-2"
    life.begin(500, "remove", MACHINES[0])
    found = report(life)
    assert found.runs[0].result == model.NO_END and words.trouble(found)[0] == words.WAITING


def test_a_run_that_was_killed_between_two_steps(life: Life) -> None:
    life.step(0, 4, "join", plan="join join")
    life.run = "run-2"
    life.fact(50, "wait", "waiting: for it", reason="NodesReady")
    life.run = "run-3"
    life.step(100, 104, "join")
    life.close(105)
    assert [each.result for each in report(life).runs] == ["changed", model.KILLED, model.KILLED]


def test_runs_of_an_earlier_release_were_not_killed_because_a_later_one_went_on(life: Life) -> None:
    life.step(0, 4, "join")
    life.run = "run-2"
    life.step(100, 104, "join", plan="join join", replicas=2)
    newest, first = report(life).runs
    assert (newest.result, first.result) == (model.NO_END, "changed"), "the newest is under way, by all that is known"
    life.close(105)
    assert [each.result for each in report(life).runs] == ["changed", "changed"]


def test_a_journal_of_an_earlier_release(life: Life) -> None:
    for number in range(2):
        life.run = f"run-{number}"
        life.step(number * 10, number * 10 + 5, "join", f"m-{number}")
    found = report(life)
    assert [(each.result, each.planned, each.votes(), each.leaders()) for each in found.runs] == [
        ("changed", [], [], [])
    ] * 2
    assert [each.compared()[0][1] for each in found.runs] == [each.steps[0] for each in found.runs]


def test_which_runs(life: Life) -> None:
    for number in range(5):
        life.run = f"run-{number}"
        life.step(number * 100, number * 100 + 5, "join")
        life.close(number * 100 + 6)
    found = report(life, most=2)
    assert [each.identifier for each in found.runs] == ["run-4", "run-3"] and found.older == 3
    assert [each.identifier for each in report(life, run="run-1").runs] == ["run-1"]
    assert [each.identifier for each in report(life, since=at(306)).runs] == ["run-4", "run-3"]


def test_a_watchers_record_is_shown_in_place_of_observations(life: Life) -> None:
    failed_rollout(life)
    samples = [
        {"t": NOON + 3500.0, "what": "endpoint", "ok": True},
        {"t": NOON + 3601.0, "what": "endpoint", "ok": False},
        {"t": NOON + 3601.2, "what": "etcd", "ok": True},
        {"t": NOON + 3602.5, "what": "endpoint", "ok": True},
        {"t": NOON + 3603.0, "what": "endpoint", "ok": True},
        {"t": NOON + 3650.0, "what": "endpoint", "ok": False},
    ]
    gaps = journal_runs.watched_gaps(samples)
    assert gaps == [(NOON + 3500.0, NOON + 3602.5), (NOON + 3603.0, NOON + 3650.0)]
    [run] = report(life, watched=gaps).runs
    assert run.endpoint_gaps() == [(NOON + 3600, NOON + 3602.5), (NOON + 3603.0, NOON + 3650.0)], "within the run"


def test_entries_of_any_shape_stop_nothing() -> None:
    wrong: list[dict[str, t.Any]] = [
        {"event": "intent", "id": "a", "time": at(0), "run": 7, "action": None, "details": "x"},
        {"event": "outcome", "id": "a", "time": "yesterday"},
        {
            "event": "state",
            "id": "b",
            "time": at(1),
            "run": "r",
            "details": {"voters": "3", "certificates": [1, ["x"], ["x", "y"]]},
        },
        {"event": "phases", "id": "c", "time": at(2), "run": "r", "details": {"phases": "certs"}},
        {"event": "end", "id": "d", "time": at(3), "run": "r"},
        {"event": "waited", "id": "e", "time": at(3), "run": "r"},
    ]
    found = journal_runs.read(wrong, "default", "prod")
    assert found.certificates == [] and [each.votes() for each in found.runs] == [[], []]


def test_texts_are_legible_and_bounded(life: Life) -> None:
    life.close(1, "failed", "\x1b[2J\u202e" + "x" * 5000)
    entry = {**life.journal.entries()[0], "message": "\x1b[2J\u202e" + "x" * 5000}
    [run] = journal_runs.read([entry], "default", "prod").runs
    assert run.message.startswith("\\x1b[2J\\u202ex") and len(run.message) == 600


def test_those_that_need_somebody_come_first() -> None:
    def cluster(name: str, result: str, ends: float = 400) -> model.ClusterReport:
        run = model.Run(identifier="r", began=NOON, last=NOON, result=result)
        return model.ClusterReport("default", name, [run], until=NOON, certificates=[("ca", NOON + ends * 86400)])

    given = [cluster("a", "changed"), cluster("b", "changed", 12), cluster("c", "failed"), cluster("d", model.KILLED)]
    assert [each.name for each in words.by_trouble(given)] == ["c", "d", "b", "a"]
    assert words.trouble(given[1])[1] == "ca ends in 12 days"
