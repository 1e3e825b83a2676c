# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What hosts, members of etcd, manifests and Actions say is shown as text, whatever is in it: status, plan, reports, journal, Actions."""

from __future__ import annotations

import json
import tempfile
import typing as t
import unicodedata
from pathlib import Path

import pytest
from actions import run_action
from explained_store import ExplainedStore
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_cases import Walk, action, begun, executions, facts, node
from random_snapshots import snapshots, texts_in, with_an_odd_field

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import legible
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decision_text import describe, way_out
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.document import make_plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.text import plan_text
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.public import public_snapshot
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.typed_snapshot import (
    check_snapshot,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.conditions import set_condition
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator import action_text, overview
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.run_outcomes import FAILED, summary_text
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.status.data import status_data
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.status.table import status_lines
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.events import event_of
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.journal import Journal

Object = dict[str, t.Any]
NOW = "2026-01-31T12:00:00Z"
# A line of ours that a text may try to forge, and a command that it may try to smuggle into advice.
FORGED = "  next       FORGED"
COMMAND = "evil;id"
# Arabic's number signs are format characters that are seen.
_SEEN = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
PIECES = st.sampled_from(
    [
        *(
            "\x1b[2J",
            "\x1b]0;title\x07",
            "\x9b31m",
            "\x00",
            "\x7f",
            "\x85",
            "\x08",
            "\r",
            "\u202e",
            "\u2066",
            "\u200b",
            "\u200d",
            "\ufeff",
        ),
        *(
            "\xad",
            "\u2028",
            "\u2029",
            "\x0b",
            "\x0c",
            "\x1c",
            "\ud800",
            "\U000e0041",
            "\ufe0f",
            "\u3164",
            "{{ 7 * 7 }}",
            "$(id)",
            "'",
            '"',
            "\t",
        ),
    ]
)
HOSTILE = st.lists(PIECES | st.characters(), max_size=4).map(
    lambda some: f"x{''.join(some)}\n{FORGED} {COMMAND}\r\n{FORGED}"
)


def obeyed(shown: str) -> list[str]:
    """What of a text a terminal obeys or hides, and lines that a text has forged."""
    found = [
        each
        for each in shown
        if unicodedata.category(each) in ("Cc", "Cf", "Cs", "Zl", "Zp") and each not in f"\n\t{_SEEN}"
    ]
    return [ascii(each) for each in found] + [line for line in shown.split("\n") if line.startswith(FORGED)]


def advice(document: t.Any) -> list[str]:
    """Every text of a decision that says what to do."""
    if isinstance(document, dict):
        own = [each for key, each in document.items() if key == "fix" and each]
        return own + [found for each in document.values() for found in advice(each)]
    return [found for each in document for found in advice(each)] if isinstance(document, list) else []


def plant(draw: t.Any, snapshot: Object) -> None:
    """Put hostile text into some of a snapshot's texts, or into all, wherever a snapshot may have it."""
    places = list(texts_in(snapshot))
    if draw(st.booleans()):
        places = draw(st.lists(st.sampled_from(places), min_size=1, max_size=6, unique_by=str))
    hostile = draw(HOSTILE)
    for number, (owner, key) in enumerate(places):
        before = owner[key]
        owner[key] = f"{hostile}{number}"
        if check_snapshot(snapshot):
            owner[key] = before
    versions = snapshot["workload"].get("workerVersions")
    if versions:
        snapshot["workload"]["workerVersions"] = {hostile: 1}
        if check_snapshot(snapshot):
            snapshot["workload"]["workerVersions"] = versions


@settings(max_examples=100)
@given(snapshots(), st.data())
def test_status_and_plan_show_text_as_text(snapshot: Object, data: st.DataObject) -> None:
    plant(data.draw, snapshot)
    decision = decide(snapshot)
    shown = status_data(snapshot, decision)
    assert obeyed("\n".join(each.text for each in status_lines(shown))) == []
    assert obeyed(json.dumps(shown, ensure_ascii=False)) == []
    document = make_plan(public_snapshot(snapshot), NOW)
    assert obeyed(plan_text(document)) == []
    assert obeyed(describe(decision) + way_out(decision)) == []
    for each in (decision, document):
        assert [fix for fix in advice(each) if COMMAND in fix] == []


@settings(max_examples=200)
@given(snapshots(), st.data())
def test_whatever_check_snapshot_lets_through_is_shown(snapshot: Object, data: st.DataObject) -> None:
    with_an_odd_field(data.draw, snapshot)
    if check_snapshot(snapshot) == []:
        assert status_lines(status_data(snapshot, decide(snapshot)))
        assert plan_text(make_plan(public_snapshot(snapshot), NOW))


@given(HOSTILE)
def test_the_journal_events_conditions_and_the_summary(hostile: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(folder, "default", "prod")
        journal.outcome(journal.intent("join", hostile, "run", {"message": hostile}), "failed", hostile)
        written = Path(journal.path).read_text(encoding="utf-8")
        read = list(journal.entries())
    assert obeyed(written) == [] and len(written.splitlines()) == 2
    assert obeyed("".join(str(each).replace("\\n", " ") for each in read)) == []
    obj: Object = {"apiVersion": "v1", "kind": "K", "metadata": {"name": "a", "namespace": "b"}}
    assert obeyed(event_of(obj, "Reason", hostile)["message"]) == []
    set_condition(obj, "Ready", "False", "Reason", hostile, NOW)
    assert obeyed(obj["status"]["conditions"][0]["message"].replace("\n", " ")) == []
    assert obeyed(summary_text("reconcile", {"prod": {"result": FAILED, "message": hostile}})) == []


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store without objects."""
    return tmp_path_factory.mktemp("store")


@settings(max_examples=30)
@given(HOSTILE, HOSTILE)
def test_the_report_of_a_failure(journals: Path, error: str, output: str) -> None:
    """Each of its own lines is there once, whatever the error says."""
    forged = "\nSafe now?   yes\nWhat to do: evil"
    said = run_action(
        "failure_report", cluster="prod", store={"path": str(journals)}, error=error + forged, output=output + forged
    )["msg"]
    assert obeyed(said) == []
    for own in ("Under way:", "Safe now?", "What to do:"):
        assert sum(line.startswith(own) for line in said.split("\n")) == 1


@settings(max_examples=30)
@given(HOSTILE)
def test_actions_show_what_nodes_and_manifests_said(hostile: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        where = executions(ExplainedStore(folder))
        cluster = facts(*(node(name) for name in ("cp-a", "cp-b")))
        custom = {"command": {"argv": ["echo", hostile]}}
        walk = Walk(where, begun(where, action(custom=workflow(custom)), cluster), {"cp-b": 0})
        walk.until_it_ends()
        execution, step = walk.look()
        for task in execution.tasks.values():
            task["status"]["errorMessage"] = hostile
            for record in task["status"].get("commands") or []:
                record.update(notes=[hostile], error=hostile)
                record["outputs"] = [
                    {
                        "tail": hostile,
                        "head": hostile,
                        "argv": [hostile],
                        "exitCode": 1,
                        "size": 1,
                        "sha256": "",
                        "logPath": hostile,
                    }
                ]
        shown = [
            action_text.ending(execution, step, hostile),
            action_text.plan_text(execution.root, execution.plan),
            overview.details(execution, logs=True),
            overview.table(hostile, [{**overview.row(execution), "message": hostile}]),
            overview.table(hostile, []),
        ]
    assert [obeyed(each) for each in shown] == [[]] * len(shown)
    typed = [line for each in shown for line in each.split("\n") if "kubeadm.control_plane." in line]
    assert typed and [line for line in typed if COMMAND in line] == []


def workflow(*commands: Object) -> Object:
    """A custom workflow of one group."""
    return {
        "workflow": [{"name": "all", "spec": {"nodeSelector": {}, "template": {"spec": {"commands": list(commands)}}}}]
    }


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("plain – and 日本語, naïve, שלום", "plain – and 日本語, naïve, שלום"),
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("a\u202eb\u200bc", "a\\u202eb\\u200bc"),
        ("a\ud800b", "a\\ud800b"),
        ("a\r\nb\nc\td", "a\nb\nc\td"),
        ("a\rb\x85c", "a\\rb\\x85c"),
    ],
)
def test_what_is_written_out_and_what_stays(said: str, shown: str) -> None:
    assert legible.visible(said) == shown
    assert legible.one_line(said) == shown.replace("\n", " ").replace("\t", " ")


def test_data_of_a_result_stays_data() -> None:
    """What the next task acts with is not for people; a lone surrogate is what Ansible refuses a whole result for."""
    result = {"msg": "a\x1b", "target": "b\x1b", "inner": [{"fix": "c\x1b"}], "raw": "d\ud800"}
    assert legible.readable(result) == {
        "msg": "a\\x1b",
        "target": "b\x1b",
        "inner": [{"fix": "c\\x1b"}],
        "raw": "d?",
    }
