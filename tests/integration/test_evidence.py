# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a failed test on machines shows: enough to begin with, and no more."""

from __future__ import annotations

from pathlib import Path

import pytest
from acme_workspace import AcmeWorkspace
from evidence import MOST_LINES, STATE, evidence


def test_a_failure_is_shown_with_status_steps_and_output(
    one_machine: AcmeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine of the last step that has one, read from its disk."""
    workspace = one_machine.copied(tmp_path / "workspace").answering(monkeypatch)
    [machine] = [each["metadata"]["name"] for each in workspace.objects("Machine")]
    folder = tmp_path / "machines" / machine / STATE / "bootstrap"
    folder.mkdir(parents=True)
    (folder / "output").write_text("".join(f"line {number}\n" for number in range(1000)))
    lines = evidence(workspace, tmp_path / "machines")
    assert len(lines) <= MOST_LINES and lines[-1] == "line 999"
    text = "\n".join(lines)
    assert f"status of {workspace.objects('Cluster')[0]['metadata']['name']}" in text
    assert "nothing to do" in text and "intent initialize" in text and "outcome" in text
