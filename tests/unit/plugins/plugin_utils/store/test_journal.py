# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal of a cluster."""

from __future__ import annotations

import os
import stat

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import StoreError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.journal import Journal, new_run_id

TOKEN = "abcdef.0123456789abcdef"
KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEsecret\n-----END RSA PRIVATE KEY-----"


@pytest.fixture
def journal(tmp_path):
    return Journal(str(tmp_path / "store"), "default", "prod", clock=lambda: "2026-01-02T03:04:05Z")


def test_intent_and_outcome(journal):
    run = new_run_id()
    identifier = journal.intent(
        "join", "m-2", run, {"fencing": 7, "resume": False, "message": "join m-2", "leader": None}
    )
    entry = journal.last()
    assert entry == {
        "event": "intent",
        "id": identifier,
        "time": "2026-01-02T03:04:05Z",
        "run": run,
        "action": "join",
        "target": "m-2",
        "details": {"fencing": 7, "resume": False, "message": "join m-2", "leader": None},
    }
    assert journal.open_intents() == [entry]
    journal.outcome(identifier, "succeeded", "joined")
    assert journal.open_intents() == []
    assert journal.last() == {
        "event": "outcome",
        "id": identifier,
        "time": "2026-01-02T03:04:05Z",
        "result": "succeeded",
        "message": "joined",
    }
    assert len(journal.entries()) == 2


def test_reading_an_empty_one(journal, tmp_path):
    assert (journal.entries(), journal.open_intents(), journal.last()) == ([], [], None)
    assert list(tmp_path.iterdir()) == []


def test_it_is_private_and_one_a_cluster(journal, tmp_path):
    journal.intent("join")
    Journal(str(tmp_path / "store"), "default", "other").intent("remove")
    assert stat.S_IMODE(os.stat(journal.path).st_mode) == 0o600
    assert journal.path == str(tmp_path / "store/default/journal/prod.jsonl")
    assert [entry["action"] for entry in journal.entries()] == ["join"]


@pytest.mark.parametrize(
    "details",
    [{"token": "x"}, {"message": ["x"]}, {"message": {"a": 1}}, {"message": b"x"}, {"version": 1.5}, {7: "x"}],
)
def test_only_listed_scalars_enter(journal, details):
    with pytest.raises(StoreError, match="takes no such detail"):
        journal.intent("join", "m-2", "run", details)
    assert journal.entries() == []


def test_a_fact_is_no_step_and_no_change(journal):
    wait = journal.fact("wait", "run", "waiting: for it", details={"reason": "NodesReady"})
    assert journal.fact("waited", "run", identifier=wait) == wait
    phases = [["certs", "2026-01-02T03:04:05Z"]]
    journal.fact("phases", "run", target="m-1", details={"phases": phases})
    assert [entry["event"] for entry in journal.entries()] == ["wait", "waited", "phases"]
    assert journal.last()["details"] == {"phases": phases}
    assert journal.open_intents() == [] and journal.last_action() is None
    with pytest.raises(ValueError):
        journal.fact("intent", "run")


@pytest.mark.parametrize(
    "times", ["x", ["x"], [["x"]], [["x", "tomorrow"]], [[TOKEN, 7]], {"x": "2026-01-02T03:04:05Z"}, None]
)
def test_named_times_are_nothing_else(journal, times):
    with pytest.raises(StoreError, match="takes no such detail"):
        journal.fact("state", "run", details={"certificates": times})
    assert journal.entries() == []


def test_named_times_are_bounded_and_redacted(journal):
    journal.fact("state", "run", details={"certificates": [[f"{TOKEN} {'x' * 500}", "2026-01-02T03:04:05Z"]] * 500})
    found = journal.last()["details"]["certificates"]
    assert len(found) == 100 and TOKEN not in found[0][0] and len(found[0][0]) == 200


def test_secrets_are_taken_out_of_every_text(journal):
    identifier = journal.intent(f"join {TOKEN}", f"m {TOKEN}", TOKEN, {"message": f"{KEY} {TOKEN}"})
    journal.outcome(identifier, TOKEN, f"failed: {KEY}")
    with open(journal.path, encoding="utf-8") as stream:
        content = stream.read()
    assert TOKEN not in content and "MIIEsecret" not in content
    assert content.count("\n") == 2


def test_long_texts_are_cut_after_redaction(journal):
    journal.intent("join", details={"message": "x" * 1990 + KEY})
    assert len(journal.last()["details"]["message"]) <= 2001
    assert "MIIE" not in journal.last()["details"]["message"]


def test_a_line_torn_at_any_byte_is_cut_off(journal):
    journal.intent("join", "m-1")
    first = os.path.getsize(journal.path)
    journal.intent("join", "m-2")
    with open(journal.path, "rb") as stream:
        whole = stream.read()
    for size in range(first, len(whole)):
        with open(journal.path, "wb") as stream:
            stream.write(whole[:size])
        assert [entry["target"] for entry in journal.entries()] == ["m-1"] + (["m-2"] if size == len(whole) - 1 else [])
        journal.intent("join", "m-3")
        with open(journal.path, "rb") as stream:
            assert stream.read().startswith(whole[:first] + b'{"action"')
        assert [entry["target"] for entry in journal.entries()] == ["m-1", "m-3"]


def test_a_long_torn_line_is_cut_off_whole(journal):
    journal.intent("join", "m-1", details={"message": "x" * 1000})
    with open(journal.path, "rb+") as stream:
        stream.truncate(800)
    journal.intent("join", "m-2")
    with open(journal.path, "rb") as stream:
        content = stream.read()
    assert content.count(b"\n") == 1 and content.endswith(b"\n")
    assert [entry["target"] for entry in journal.entries()] == ["m-2"]


def test_a_damaged_line_stops_no_one(journal):
    journal.intent("join", "m-1")
    with open(journal.path, "ab") as stream:
        stream.write(b'garbage\n{"event":"intent"}\n[]\n"x"\n\xff\n')
    journal.intent("join", "m-2")
    assert [entry["target"] for entry in journal.entries()] == ["m-1", "m-2"]


def test_it_is_bounded_and_keeps_open_intents(tmp_path):
    journal = Journal(str(tmp_path / "store"), "default", "prod", max_bytes=2000)
    forgotten = journal.intent("initialize", "m-1")
    last = ""
    for number in range(100):
        last = journal.intent("join", f"m-{number}", "run", {"message": "x" * 50})
        journal.outcome(last, "succeeded")
    folder = tmp_path / "store/default/journal"
    assert sorted(each.name for each in folder.iterdir()) == ["prod.jsonl", "prod.jsonl.1"]
    assert sum(each.stat().st_size for each in folder.iterdir()) <= 2.25 * 2000
    assert [entry["id"] for entry in journal.open_intents()] == [forgotten]
    identifiers = [(entry["event"], entry["id"]) for entry in journal.entries()]
    assert len(identifiers) == len(set(identifiers))
    assert journal.last()["id"] == last
    assert [entry["id"] for entry in journal.entries(2)] == [last, last]
    assert journal.entries(0) == []


def test_facts_push_no_step_out(tmp_path):
    """A run that fails again and again leaves an end each time; what led to it stays, and is told with its run's end."""
    journal = Journal(str(tmp_path / "store"), "default", "prod", max_bytes=4000)
    journal.note("first", "an etcd snapshot", {"snapshot": "x.db"})
    journal.outcome(journal.intent("join", "m-1", "first"), "failed", "no disk")
    journal.fact("end", "first", "no disk")
    for number in range(100):
        journal.fact("state", f"run-{number}", "x" * 50)
        journal.fact("end", f"run-{number}", "x" * 50)
    assert [each["event"] for each in journal.entries()][:4] == ["note", "intent", "outcome", "end"]
    assert journal.last_snapshot() and journal.last_action()["target"] == "m-1"
    assert sum(each.stat().st_size for each in (tmp_path / "store/default/journal").iterdir()) <= 2.25 * 4000


def test_writers_of_several_processes(journal, python, tmp_path):
    script = """
import sys
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.journal import Journal
journal = Journal(sys.argv[1], "default", "prod")
sys.stdin.readline()
for number in range(30):
    journal.outcome(journal.intent("join", f"{sys.argv[2]}-{number}"), "succeeded", "x" * 500)
"""
    processes = [python.start(script, tmp_path / "store", name) for name in ("a", "b", "c")]
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in processes:
        _out, err = process.communicate(timeout=120)
        assert (process.returncode, err) == (0, "")
    entries = journal.entries()
    assert len(entries) == 180 and journal.open_intents() == []
    for name in ("a", "b", "c"):
        targets = [entry["target"] for entry in entries if entry.get("target", "").startswith(name)]
        assert targets == [f"{name}-{number}" for number in range(30)]


@pytest.mark.parametrize("name", ["../x", "", "A"])
def test_names_become_no_paths(tmp_path, name):
    with pytest.raises(StoreError, match="not valid"):
        Journal(str(tmp_path), "default", name)
    with pytest.raises(StoreError, match="not valid"):
        Journal(str(tmp_path), name, "prod")


def test_the_last_action_of_an_empty_journal_is_none(journal):
    assert journal.last_action() is None


def test_the_last_action_is_the_newest_intent_with_its_outcome(tmp_path):
    moments = iter(f"2026-01-02T03:04:{second:02}Z" for second in range(60))
    journal = Journal(str(tmp_path / "store"), "default", "prod", clock=lambda: next(moments))
    first = journal.intent("initialize", "m-1")
    assert journal.last_action() == {
        "at": "2026-01-02T03:04:00Z",
        "action": "initialize",
        "target": "m-1",
        "outcome": None,
    }
    second = journal.intent("deleteInfrastructure")
    journal.outcome(first, "interrupted")
    assert (journal.last_action()["action"], journal.last_action()["outcome"]) == ("deleteInfrastructure", None)
    journal.outcome(second, "succeeded")
    assert journal.last_action() == {
        "at": "2026-01-02T03:04:03Z",
        "action": "deleteInfrastructure",
        "target": None,
        "outcome": "succeeded",
    }


def test_the_last_action_is_found_before_more_than_the_end_of_the_file(journal):
    identifier = journal.intent("join", "m-2")
    for _unused in range(40):
        journal.outcome(identifier, "failed", "x" * 1990)
    assert os.stat(journal.path).st_size > 65536
    assert journal.last_action()["action"] == "join"
    with open(journal.path, "ab") as stream:
        stream.write(b'{"event": "intent", "id": "torn')
    assert journal.last_action()["action"] == "join"
