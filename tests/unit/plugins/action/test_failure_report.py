# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a failed run is said to have changed: its notes and the steps that it completed, and nothing of another run's."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from actions import make_action, run_action

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.base_classes.control_plane_action import COLLECTION
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.journal import Journal

NOTHING = "this run had not begun to change anything"


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    """The journal of a cluster in which an earlier run has changed much."""
    found = Journal(str(tmp_path / "store"), "default", "prod")
    found.note("earlier", "create Cluster default/prod")
    found.outcome(found.intent("createInfrastructure", run="earlier"), "succeeded")
    return found


def reported(tmp_path: Path, run: str = "r1") -> str:
    """What a run that failed prints."""
    result: dict[str, t.Any] = run_action(
        "failure_report", cluster="prod", store={"path": str(tmp_path / "store")}, error="the cloud is closed", run=run
    )
    assert result["failed"] and result["msg"].startswith("the cloud is closed\n")
    return str(result["msg"])


@pytest.mark.parametrize("run", ["r1", ""])
def test_a_run_that_changed_nothing(tmp_path: Path, journal: Journal, run: str) -> None:
    """Without the lock a run has no name, and can't have changed anything."""
    assert NOTHING in reported(tmp_path, run) and "Changed:" not in reported(tmp_path, run)


def test_what_was_done_outside_of_steps(tmp_path: Path, journal: Journal) -> None:
    """Objects and keys are changes."""
    journal.note("r1", "create Cluster default/prod; create KubeadmControlPlane default/prod")
    journal.note("r1", "make the SSH key for machines (Secret prod-ssh)")
    said = reported(tmp_path)
    assert "Under way:  nothing" in said and NOTHING not in said
    assert (
        "Changed:    create Cluster default/prod; create KubeadmControlPlane default/prod; make the SSH key for machines (Secret prod-ssh)\n"
        "Safe now?   Yes: no step was under way." in said
    )


def test_steps_that_were_completed(tmp_path: Path, journal: Journal) -> None:
    """Also where the failure is between two steps; the one that failed is under way, and was not done."""
    journal.outcome(journal.intent("createCertificates", run="r1"), "succeeded")
    assert "Under way:  nothing" in reported(tmp_path) and "Changed:    createCertificates\n" in reported(tmp_path)
    journal.intent("join", "m2", run="r1")
    journal.note("r1", "claim the host cp-2 for machine m2")
    said = reported(tmp_path)
    assert "Under way:  join of machine m2" in said
    assert "Changed:    createCertificates; claim the host cp-2 for machine m2\n" in said
    assert "The machines that were members before are as they were." in said
    # Reported once: the step is closed, and it did not succeed.
    assert "Changed:    createCertificates; claim the host" in reported(tmp_path)


def test_a_long_list_is_cut_at_its_beginning(tmp_path: Path, journal: Journal) -> None:
    for number in range(20):
        journal.note("r1", f"change {number}")
    assert "Changed:    (8 more, then) change 8; change 9; " in reported(tmp_path)


def test_an_error_of_several_lines_is_a_line_where_a_report_follows(tmp_path: Path) -> None:
    """Ansible prints it twice where the task fails; the report has all of it, and another error is not taken for it."""
    manifest = tmp_path / "prod.yaml"
    manifest.write_text("a: 1\n---\nb: 2\n")
    common: dict[str, t.Any] = {"cluster": "prod", "store": {"path": str(tmp_path / "store")}}
    given = {**common, "manifests": [str(manifest)]}

    def failed(**variables: t.Any) -> str:
        result = make_action("cluster", **given).run(task_vars={"inventory_hostname": "prod", **variables})
        assert result["failed"]
        return str(result["msg"])

    def report(error: str, **more: t.Any) -> str:
        action = make_action("failure_report", **common, error=error, **more)
        return str(action.run(task_vars={"inventory_hostname": "prod", "control_plane_reported": True})["msg"])

    whole = failed()
    short = failed(control_plane_reported=True)
    assert len(whole.splitlines()) > 2 and len(short.splitlines()) == 1
    listed = whole.splitlines()[-1].strip()
    assert listed not in short and listed in report(short)
    assert listed not in report("something else")
    assert listed not in report(short, hidden=True) and "no_log" in report(short, hidden=True)


def test_an_error_of_several_sentences_is_its_first_where_a_report_follows(tmp_path: Path) -> None:
    """The remedy is read once, in the report."""
    common: dict[str, t.Any] = {"cluster": "prod", "store": {"path": str(tmp_path / "store")}}
    variables = {"inventory_hostname": "prod", "control_plane_reported": True}

    def failed(**given: t.Any) -> str:
        return str(make_action("cluster", **common, manifests=[]).run(task_vars=given)["msg"])

    whole = failed(inventory_hostname="prod")
    short = failed(**variables)
    assert whole.startswith(f"{short} ") and "no manifest names" in short and "Give the files" not in short
    report = make_action("failure_report", **common, error=short).run(task_vars=variables)
    assert whole in report["msg"] and report["headline"] == short


@pytest.mark.parametrize("ours", [True, False])
def test_a_list_is_shown_once_in_the_playbooks_of_this_collection(
    ours: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user's task has all of it in its message."""
    manifest = tmp_path / "prod.yaml"
    manifest.write_text("a: 1\n---\nb: 2\n")
    role = Path(COLLECTION) / "roles" / "control_plane" / "tasks" / "plan.yml"
    action = make_action("cluster", cluster="prod", store={"path": str(tmp_path)}, manifests=[str(manifest)])
    monkeypatch.setattr(action._task, "get_path", lambda: f"{role if ours else tmp_path / 'mine.yml'}:5")
    lines = action.run(task_vars={})["msg"].splitlines()
    shown = capsys.readouterr().out
    assert len(lines) == (1 if ours else 4) and shown.count("  2. ") == (1 if ours else 0), (lines, shown)
    assert not ours or lines == ["3 problems, nothing was changed (the list is above)"]


def test_the_report_is_shown_as_lines_where_the_task_after_it_fails(
    tmp_path: Path, journal: Journal, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ansible shows no result of a task that succeeded; the next one fails with one line."""
    common: dict[str, t.Any] = {"cluster": "prod", "store": {"path": str(tmp_path / "store")}}
    told = run_action("failure_report", **common, error="2 problems:\n  1. a\n  2. b", fail=False)
    assert not told["failed"]
    shown = capsys.readouterr().out
    assert "prod: FAILED: 2 problems:" in shown and told["msg"] in shown and shown.count("Safe now?") == 1
    assert told["headline"] == "2 problems: 1. a"
