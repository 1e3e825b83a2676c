# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program behind `make chaos`, on stand-ins for a cloud and its machines: one schedule, its record, and a fault that it must notice."""

from __future__ import annotations

import json
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parents[1] / "chaos" / "run.py"
# Three machines become five, and one loses its power on the way and stays dark.
SEED = 40


def chaos(folder: Path, *arguments: str) -> tuple[subprocess.CompletedProcess[str], list[dict[str, t.Any]]]:
    """Run it to its end; return what it printed, and its record."""
    record = folder / "record.jsonl"
    done = subprocess.run(
        [sys.executable, str(PROGRAM), "--stand-in", "--seed", str(SEED), "--record", str(record), *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    lines = record.read_text().splitlines() if record.exists() else []
    return done, [json.loads(line) for line in lines]


@pytest.mark.full
def test_a_schedule_is_carried_out_and_told(tmp_path: Path) -> None:
    """The machine without power is named as lost in the end, and replaced; the seed is printed first."""
    done, record = chaos(tmp_path, "--schedules", "1")
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.startswith(f"seed {SEED}\n")
    [told] = record
    assert (told["seed"], told["number"], told["wish"], told["problems"]) == (SEED, 0, "grow", [])
    power, *settling = told["runs"]
    assert (power["fault"], power["error"]) == ("power", "") and power["machine"].startswith("chaos-control-plane-")
    assert "remediate" in [each["playbook"] for each in settling] and settling[-1]["returncode"] == 0
    assert all(each["said"] for each in settling if each["returncode"])
    assert json.loads(done.stdout.splitlines()[-1])["left"] == []


def test_schedules_can_be_shown(tmp_path: Path) -> None:
    """Nothing is made, and nothing recorded."""
    done, record = chaos(tmp_path, "--show", "--first", "3", "--schedules", "2")
    assert done.returncode == 0 and record == []
    assert [json.loads(line)["number"] for line in done.stdout.splitlines()[1:]] == [3, 4]
