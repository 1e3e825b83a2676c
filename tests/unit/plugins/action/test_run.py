# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module run: what a run starts with, and what is said of a fleet at its end, by whom and when."""

from __future__ import annotations

import typing as t
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from actions import make_action, run_action
from workspace import cluster_documents

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile import run_outcomes
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import CLUSTER
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.journal import Journal

Object = dict[str, t.Any]
DONE = {"msg": "nothing to do: 3 of 3 replicas", "decision": {"action": "none", "reasons": [{"reason": "UpToDate"}]}}


class Play:
    """A play over some clusters."""

    def __init__(self, folder: Path, *hosts: str) -> None:
        self.store = folder / "store"
        self.hosts = [f"{folder.name}-{host}".replace("_", "-") for host in hosts]

    def note(self, number: int, check: bool = False, run: str = "", held_by: str = "", **arguments: t.Any) -> Object:
        """What the role calls for one of them."""
        started = {"begun": not held_by, "run": run, "held_by": held_by, "batch": arguments.pop("batch", [])}
        given: Object = {"hosts": self.hosts, "decision": DONE, "store": {"path": str(self.store)}, **arguments}
        given["decision"] = {"run": run, **given["decision"]}
        return run_action("run", check, cluster=self.hosts[number], state="absent", started=started, **given)

    def steps(self, number: int, run: str, *actions: str) -> None:
        """What a run noted in the cluster's journal."""
        self.store.mkdir(exist_ok=True)
        journal = Journal(str(self.store), "default", self.hosts[number])
        for action in actions:
            journal.outcome(journal.intent(action, f"m-{action}", run), "succeeded")


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What people see."""
    lines: list[str] = []
    monkeypatch.setattr(
        "ansible.utils.display.Display.display", lambda _self, text, *_more, **_named: lines.append(text)
    )
    return lines


def test_the_last_one_sums_up(tmp_path: Path, shown: list[str]) -> None:
    play = Play(tmp_path, "a", "b", "c", "d", "e")
    play.steps(0, "before", "initialize")
    play.steps(0, "mine", "join", "remove")
    assert "summary" not in play.note(0, run="mine")
    assert "summary" not in play.note(1, error="\nspec.replicas: 2 is even\n\nUnder way:  nothing")
    assert "summary" not in play.note(2, held_by="alice on host ctrl1")
    paused = {"action": "none", "reasons": [{"reason": "Paused"}]}
    assert "summary" not in play.note(3, decision={"msg": "the cluster is paused", "decision": paused})
    assert shown == []
    result = play.note(4)
    assert result["summary"] == {"changed": 1, "failed": 1, "held": 1, "nothing": 1, "waits": 1}
    a, b, c, d, _e = play.hosts
    assert shown[0].splitlines()[1:] == [
        "SUMMARY of reconcile: 5 clusters: 1 failed, 1 left to another run, 1 waiting, 1 changed, 1 with nothing to do",
        f"  changed              {a}  2 steps: join m-join, remove m-remove",
        f"  waiting              {d}  the cluster is paused",
        f"  left to another run  {c}  alice on host ctrl1",
        f"  failed               {b}  spec.replicas: 2 is even",
    ]


def test_what_came_of_clusters_is_handed_on(tmp_path: Path) -> None:
    """By their names and as sums, as set_stats would: cut, without secrets, and with nothing that Ansible would resolve in the next job."""
    play = Play(tmp_path, "a", "b", "c", "d")
    play.steps(0, "mine", "join", "remove")
    hostile = "kubeadm join --token abcdef.0123456789abcdef: {{{ lookup('pipe', 'id') }} {% raw %}\x1b " + "x" * 400
    told = [
        play.note(0, run="mine"),
        play.note(1, error=hostile),
        play.note(2, held_by="alice on host ctrl1"),
        play.note(3),
    ]
    assert not any(each.get("failed") for each in told), "Ansible drops the statistics of a task that fails"
    stats = [each["ansible_stats"] for each in told]
    assert {(each["per_host"], each["aggregate"]) for each in stats} == {(False, True)}
    clusters = {name: each for one in stats for name, each in one["data"].pop("control_plane_run_clusters").items()}
    assert list(clusters) == play.hosts
    message = clusters[play.hosts[1]].pop("message")
    assert message.startswith("kubeadm join --token [redacted") and "lookup('pipe', 'id')" in message
    assert "0123456789abcdef" not in message and not any(each in message for each in ("{{", "{%", "\x1b"))
    assert len(message) == 200
    assert list(clusters.values()) == [
        {"result": "changed", "steps": 2, "message": "2 steps: join m-join, remove m-remove"},
        {"result": "failed", "steps": 0},
        {"result": "held", "steps": 0, "message": "alice on host ctrl1"},
        {"result": "nothing", "steps": 0, "message": ""},
    ]
    sums = {name: sum(each["data"][name] for each in stats) for name in stats[0]["data"]}
    assert {name.removeprefix("control_plane_run_"): each for name, each in sums.items() if each} == {
        "steps": 2,
        "changed": 1,
        "failed": 1,
        "held": 1,
        "nothing": 1,
    }
    assert {"waits", "would_change", "not_reached"} <= {name.removeprefix("control_plane_run_") for name in sums}


def test_a_cluster_that_was_not_reached_is_handed_on_by_the_one_that_failed(tmp_path: Path) -> None:
    """Once, and not by its own run, which Ansible may never come to."""
    play = Play(tmp_path, "a", "b")
    data = play.note(0, batch=play.hosts[:1], error="it broke")["ansible_stats"]["data"]
    assert [each["result"] for each in data["control_plane_run_clusters"].values()] == ["failed", "not_reached"]
    assert (data["control_plane_run_failed"], data["control_plane_run_not_reached"]) == (1, 1)


def test_what_an_earlier_run_decided_is_not_said_of_this_one(tmp_path: Path, shown: list[str]) -> None:
    """Two roles in one play: the variable of the first one's decision is still there."""
    play = Play(tmp_path, "a", "b")
    earlier = {"msg": "waiting for a machine", "decision": {"action": "wait"}, "run": "earlier"}
    play.note(0, run="mine", decision=earlier)
    assert play.note(1)["summary"] == {"nothing": 2}
    assert "waiting" not in shown[0]


def test_of_actions_their_last_step_is_told(tmp_path: Path, shown: list[str]) -> None:
    """Whatever an earlier play of the run has decided on these clusters."""
    play = Play(tmp_path, "a", "b", "c", "d")
    play.steps(0, "mine", "task")
    play.note(
        0, run="mine", action_step={"step": "completed", "fails": False, "msg": "Action first: 1 of 1 Tasks is done."}
    )
    play.note(1, action_step={"step": "approval", "fails": False, "msg": "Task one waits"})
    play.note(2, action_step={"step": "failed", "fails": True, "msg": "Task two has failed\nand more"})
    summary = play.note(3, action_step={})["summary"]
    assert summary == {"changed": 1, "waits": 1, "failed": 1, "nothing": 1}
    lines = [line.split(maxsplit=2) for line in shown[-1].strip().splitlines()[1:]]
    assert [(each[0], each[2]) for each in lines] == [
        ("changed", "Action first: 1 of 1 Tasks is done."),
        ("waiting", "Task one waits"),
        ("failed", "Task two has failed"),
    ]


@pytest.mark.parametrize(
    ("step", "result"),
    [
        ("would", "would_change"),
        ("aborted", "changed"),
        ("paused", "waits"),
        ("failed", "waits"),
        ("inconsistent", "waits"),
        ("", "nothing"),
    ],
)
def test_of_an_action_that_ran_no_task(tmp_path: Path, step: str, result: str) -> None:
    """As in check mode, while the cluster is paused, and where it was given up before it began."""
    play = Play(tmp_path, "a", "b")
    play.note(0, action_step={"step": step, "fails": False, "msg": "Action first"})
    expected = {"nothing": 2} if result == "nothing" else {result: 1, "nothing": 1}
    assert play.note(1, action_step={})["summary"] == expected


def test_of_several_problems_the_first_is_told(tmp_path: Path, shown: list[str]) -> None:
    """Its head alone says nothing of what is wrong."""
    play = Play(tmp_path, "a", "b")
    play.note(
        0, error="2 problems, nothing was changed:\n  a.yaml:3: no YAML\n  a.yaml: no Cluster\n\nUnder way:  nothing"
    )
    play.note(1)
    assert shown[0].splitlines()[-1].endswith("  2 problems, nothing was changed: a.yaml:3: no YAML")


def test_what_a_run_would_wait_for_is_told_in_check_mode(tmp_path: Path, shown: list[str]) -> None:
    play = Play(tmp_path, "a", "b")
    waits = {"action": "wait", "reasons": [{"reason": "WorkersUnknown"}]}
    play.note(0, check=True, decision={"changed": False, "msg": "no machine answers", "decision": waits})
    assert play.note(1, check=True)["summary"] == {"nothing": 1, "waits": 1}
    assert shown[0].splitlines()[-1].endswith("no machine answers")


def test_a_fleet_with_nothing_to_do_is_one_line(tmp_path: Path, shown: list[str]) -> None:
    play = Play(tmp_path, *(str(number) for number in range(12)))
    results = [play.note(number) for number in reversed(range(12))]
    assert [each["summary"] for each in results if "summary" in each] == [{"nothing": 12}]
    assert [text.strip() for text in shown] == ["SUMMARY of reconcile: 12 clusters: 12 with nothing to do"]


def test_workers_that_end_at_the_same_time(tmp_path: Path) -> None:
    """One of them has all outcomes, and only one."""
    hosts = [str(number) for number in range(60)]
    outcomes = run_outcomes.Outcomes(str(tmp_path / "outcomes"), hosts)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda host: outcomes.note(host, {"result": "nothing", "message": host}), hosts))
    [whole] = [each for each in found if each is not None]
    assert [(host, each["message"]) for host, each in whole.items()] == list(zip(hosts, hosts))


def test_an_outcome_that_was_cut_off_ends_no_other_clusters_run(tmp_path: Path) -> None:
    """As of a worker that was killed while it wrote: that cluster has none."""
    outcomes = run_outcomes.Outcomes(str(tmp_path / "outcomes"), ["a", "b", "c"])
    for host in ("a", "b"):
        assert outcomes.note(host, {"result": "nothing", "message": "x"}) is None
    written = tmp_path / "outcomes" / "0.json"
    written.write_bytes(written.read_bytes()[:-3])
    found = outcomes.note("c", {"result": "changed", "message": "y"}) or {}
    assert {host: each["result"] for host, each in found.items()} == {
        "a": "not reached",
        "b": "nothing",
        "c": "changed",
    }


def test_every_cluster_fails(tmp_path: Path, shown: list[str]) -> None:
    play = Play(tmp_path, "a", "b")
    play.note(0, error="one")
    play.note(1, error="other")
    assert "2 clusters: 2 failed" in shown[0]


def test_a_failure_that_ends_a_run_in_turns(tmp_path: Path, shown: list[str]) -> None:
    play = Play(tmp_path, "a", "b", "c")
    assert "summary" not in play.note(0, batch=play.hosts[:1])
    assert play.note(1, batch=play.hosts[1:2], error="it broke")["summary"] == {
        "failed": 1,
        "not_reached": 1,
        "nothing": 1,
    }
    assert f"not reached  {play.hosts[2]}" in shown[0]


def test_a_failure_beside_clusters_that_go_on(tmp_path: Path, shown: list[str]) -> None:
    """The summary waits for those that are worked on beside the one that failed, whichever ends last."""
    play = Play(tmp_path, "a", "b", "c", "d", "e")
    first, second = play.hosts[:2], play.hosts[2:4]
    for number in (0, 1):
        assert "summary" not in play.note(number, batch=first)
    assert "summary" not in play.note(2, batch=second, error="it broke")
    assert play.note(3, batch=second)["summary"] == {"failed": 1, "not_reached": 1, "nothing": 3}
    assert len(shown) == 1


def test_the_same_play_again_begins_anew(tmp_path: Path, shown: list[str]) -> None:
    play = Play(tmp_path, "a", "b")
    for _time in range(2):
        assert "summary" not in play.note(0)
        assert play.note(1)["summary"] == {"nothing": 2}
    assert len(shown) == 2


def test_check_mode_tells_what_would_change(tmp_path: Path, shown: list[str]) -> None:
    play = Play(tmp_path, "a", "b")
    play.note(0, check=True, decision={**DONE, "msg": "join a new machine: 2 of 3 replicas", "changed": True})
    assert play.note(1, check=True)["summary"] == {"would_change": 1, "nothing": 1}
    assert "would change  " in shown[0] and "join a new machine" in shown[0]


def test_a_runs_end_is_in_the_journal_where_it_left_anything(tmp_path: Path, shown: list[str]) -> None:
    """For the report. A run with nothing to do leaves the store as it is."""
    play = Play(tmp_path, "a", "b")
    journal = Journal(str(play.store), "default", play.hosts[0])
    play.note(0, run="idle")
    assert not play.store.exists()
    play.steps(0, "mine", "join")
    play.note(0, check=True, run="mine")
    assert len(journal.entries()) == 2
    play.note(0, run="mine")
    end = journal.entries()[-1]
    assert (end["event"], end["run"], end["message"]) == ("end", "mine", "1 step: join m-join")
    assert end["details"] == {"playbook": "reconcile", "result": "changed"}
    play.note(0, run="next", error="kubeadm join --token abcdef.0123456789abcdef failed")
    end = journal.entries()[-1]
    assert end["details"]["result"] == "failed" and "0123456789abcdef" not in end["message"]


def test_secrets_are_not_shown(tmp_path: Path, shown: list[str]) -> None:
    play = Play(tmp_path, "a", "b")
    play.note(0, error="kubeadm join --token abcdef.0123456789abcdef failed")
    play.note(1)
    assert "0123456789abcdef" not in shown[0]


def test_a_summary_that_cannot_be_made_fails_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: t.Any, **_named: t.Any) -> t.NoReturn:
        raise OSError("No space left on device")

    monkeypatch.setattr(run_outcomes.os, "makedirs", refuse)
    result = Play(tmp_path, "a", "b").note(0)
    assert not result.get("failed") and result["result"] == "nothing"


def test_a_long_message_is_cut() -> None:
    text = run_outcomes.summary_text("reconcile", {"a": {"result": "failed", "message": "x " * 400}})
    assert max(map(len, text.splitlines())) < 230


@pytest.fixture
def start(tmp_path: Path) -> t.Iterator[t.Callable[..., Object]]:
    """Start a run on the cluster prod; its lock is released afterwards."""
    given: Object = {"cluster": "prod", "store": {"path": str(tmp_path / "store")}}
    yield lambda check=False, **arguments: run_action("run", check, **{**given, **arguments})
    run_action("run", False, state="absent", **given)


def test_a_run_starts_with_the_lock_and_the_manifest(start: t.Callable[..., Object], tmp_path: Path) -> None:
    manifest = tmp_path / "prod.yaml"
    manifest.write_text(yaml.safe_dump_all(cluster_documents("prod")))
    started = start(cluster_state="present", manifests=[str(manifest)])
    assert (started["begun"], started["exists"], started["held_by"]) == (True, True, "") and started["run"]
    assert started["checked_beforehand"] is True
    assert FileStore(str(tmp_path / "store")).get(CLUSTER, "default", "prod") is not None
    again = start(cluster_state="present", manifests=[str(manifest)])
    assert (again["changed"], again["changes"], again["run"]) == (False, [], started["run"])
    assert again["checked_beforehand"] is False


def test_a_run_whose_manifest_is_refused_can_be_ended(start: t.Callable[..., Object], tmp_path: Path) -> None:
    """Who tells of the failure and who keeps the copy need the run's name and number."""
    failed = start(cluster_state="present", manifests=[str(tmp_path / "none.yaml")])
    assert failed["failed"] and failed["run"] and failed["begun"] and failed["fencing"] >= 1


def test_no_run_is_started_after_a_failure_in_an_earlier_batch(start: t.Callable[..., Object], tmp_path: Path) -> None:
    started = start(batch=["c", "d"], failed_hosts=["b", "d"], cluster_state="present")
    assert not started.get("failed") and not started["begun"] and "earlier batch failed: b" in started["msg"]
    assert not (tmp_path / "store").exists()
    assert start(batch=["c", "d"], failed_hosts=["d"])["begun"]


def test_who_was_not_reached_is_not_counted_twice(tmp_path: Path, shown: list[str]) -> None:
    """The batch that failed has told of it already."""
    play = Play(tmp_path, "a", "b")
    assert play.note(0, batch=play.hosts[:1], error="it broke")["summary"] == {"failed": 1, "not_reached": 1}
    late: Object = {"begun": False, "run": "", "held_by": "", "batch": play.hosts[1:]}
    arguments = {"hosts": play.hosts, "store": {"path": str(play.store)}, "state": "absent"}
    assert not {"result", "ansible_stats"} & set(
        run_action("run", False, cluster=play.hosts[1], started=late, **arguments)
    )
    assert len(shown) == 1


def test_of_two_hosts_that_are_one_cluster_one_works(tmp_path: Path) -> None:
    """The other's end does not release its lock either."""
    given: Object = {"cluster": "prod", "store": {"path": str(tmp_path / "store")}}

    def call(host: str, **arguments: t.Any) -> Object:
        result: Object = make_action("run", **given, **arguments).run(task_vars={"inventory_hostname": host})
        return result

    assert call("prod")["begun"]
    refused = call("cp-1")
    assert refused["failed"] and "is locked by another host of this run, prod" in refused["msg"]
    assert "is locked by another host of this run, prod" in call("cp-1", skip_if_held=True)["msg"]
    assert call("cp-1", state="absent")["released"] is False and call("cp-1")["failed"]
    assert call("prod", state="absent")["released"] is True


def test_the_roles_arguments_are_checked_before_anything_else(tmp_path: Path) -> None:
    given: Object = {"cluster": "prod", "store": {"path": str(tmp_path / "store")}, "entry_point": "main"}
    refused = make_action("run", **given).run(task_vars={"control_plane_wait_timeout": "many"})
    assert refused["failed"] and "control_plane_wait_timeout" in refused["msg"]
    assert not (tmp_path / "store").exists()
