# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a failed run is said to have changed: its notes and the steps that it completed, and nothing of another run's."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from actions import run_action

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
