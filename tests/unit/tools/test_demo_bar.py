# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo's bar: which phase is under way, how much is left, and what is kept for the next time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from ansible_collections.kubeadm.control_plane.tests.tools.demo_bar import PHASES, Bar

LAST = [4.0, 40.0, 30.0, 20.0, 6.0]
INITIALIZED = "prod: initialize the control plane on machine prod-a; etcd 1 voter; 41 s (expected 40 s)"
JOINED = "prod: join machine prod-b; etcd 1 → 2 voters; 1 min 8 s (expected 35 s)"


def test_the_time_left_is_that_of_the_last_time() -> None:
    """Of a phase that takes longer than then nothing is left, but all of the phases after it."""
    bar = Bar(LAST, 0.0)
    assert bar.text(0.0) == ""
    assert bar.begin(1, 0.0).endswith("1 of 5, " + PHASES[0] + "; about 1 min 40 s left, as the last time")
    assert bar.begin(2, 4.0).startswith("[#-------------------] 2 of 5, ")
    assert "about 1 min 16 s left" in bar.text(24.0)
    assert "about 56 s left" in bar.text(500.0)
    assert bar.begin(5, 500.0).startswith("[###################-] 5 of 5, ")


def test_without_a_last_time_only_the_phase_is_known() -> None:
    """No time left is made up, and a file of other phases is no last time."""
    for last in ([], LAST[:3]):
        assert Bar(last, 0.0).begin(3, 9.0) == f"[########------------] 3 of 5, {PHASES[2]}"


def test_the_end_of_a_machine_begins_the_next_one() -> None:
    """Also in colour; a step of another kind, one under way and one of a later run begin nothing."""
    bar = Bar([], 0.0)
    assert bar.read(INITIALIZED, 0.0) == ""
    bar.begin(2, 0.0)
    for line in (
        "prod: create certificate authorities; 1 s (expected 2 s)",
        "prod: join machine prod-b: 15 s of about 35 s",
    ):
        assert bar.read(line, 1.0) == ""
    assert "3 of 5" in bar.read(INITIALIZED, 2.0)
    assert "4 of 5" in bar.read(f"\x1b[0;32m{JOINED}\x1b[0m", 3.0)
    assert bar.read(JOINED, 4.0) == ""
    assert "5 of 5" in bar.begin(5, 5.0) and bar.begin(5, 6.0) == "" and bar.read(JOINED, 7.0) == ""


def run(file: Path, text: str) -> str:
    program = Path(__file__).parents[2] / "tools/demo_bar.py"
    command = [sys.executable, str(program), str(file)]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, encoding="utf-8").stdout


def test_all_output_is_shown_and_a_whole_run_is_kept(tmp_path: Path) -> None:
    """A run that was not whole, or began in the middle, leaves what was kept."""
    file = tmp_path / "seconds.json"
    said = run(file, f"@1\nimage\n@2\n{INITIALIZED}\n{JOINED}\n@5\nthe last line without an end")
    lines = said.splitlines()
    assert [line for line in lines if " of 5, " not in line] == [
        "image",
        INITIALIZED,
        JOINED,
        "the last line without an end",
    ]
    assert [line[23] for line in lines if " of 5, " in line] == ["1", "2", "3", "4", "5"]
    kept = json.loads(file.read_text())
    assert len(kept) == len(PHASES)
    assert "left, as the last time" in run(file, "@1\n@5\nnothing to do\n")
    assert json.loads(file.read_text()) == kept
