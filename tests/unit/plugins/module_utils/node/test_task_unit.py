# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Task's program is started once, whatever becomes of who started it."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

import pytest
from systemd import StandInSystemd

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.task_unit import (
    ABSENT,
    ENDED,
    INTERRUPTED,
    RUNNING,
    TaskUnit,
)


def unit(folder: Path, systemd: StandInSystemd, name: str = "up-1-01-cp-node-a-2") -> TaskUnit:
    return TaskUnit(name, str(folder / "commands"), systemd)


def test_a_program_runs_to_its_end_and_its_output_is_kept(tmp_path: Path, systemd: StandInSystemd) -> None:
    report = unit(tmp_path, systemd).run(["sh", "-c", "echo one; echo two >&2; exit 3"], timeout=30, wait=20)
    assert (report.state, report.exit_status, report.head, report.tail) == (ENDED, 3, "one\ntwo\n", "")
    assert report.changed and report.started_at and report.ended_at >= report.started_at
    assert report.size == 8 and report.sha256 == hashlib.sha256(b"one\ntwo\n").hexdigest()
    assert stat.S_IMODE(Path(report.log_path).stat().st_mode) == 0o600


def test_it_is_never_started_twice(tmp_path: Path, systemd: StandInSystemd) -> None:
    mark = tmp_path / "mark"
    argv = ["sh", "-c", f"echo started >> {mark}; read x < {tmp_path / 'gate'}; echo done"]
    os.mkfifo(tmp_path / "gate")
    first = unit(tmp_path, systemd).run(argv, timeout=30, wait=0)
    assert first.state == RUNNING and first.changed
    again = unit(tmp_path, systemd).run(argv, timeout=30, wait=0)
    assert again.state == RUNNING and not again.changed
    (tmp_path / "gate").write_text("go\n")
    ended = unit(tmp_path, systemd).run(argv, timeout=30, wait=20)
    assert (ended.state, ended.exit_status, ended.head) == (ENDED, 0, "done\n") and not ended.changed
    assert unit(tmp_path, systemd).run(argv, timeout=30, wait=20) == ended
    assert mark.read_text() == "started\n" and len(systemd.started) == 1


@pytest.mark.parametrize("name", ["another", "a" * 200])
def test_none_is_started_beside_another_where_it_has_to_be_alone(
    tmp_path: Path, systemd: StandInSystemd, name: str
) -> None:
    """The other is of an Action that was aborted; it may have a long name. One that runs already is found again."""
    other = unit(tmp_path, systemd, name)
    other.run(["sleep", "60"], timeout=90, wait=0)
    one = unit(tmp_path, systemd)
    with pytest.raises(NodeError, match=f"{other.unit}.service still runs on this machine"):
        one.run(["true"], timeout=30, wait=20, alone=True)
    assert one.look().state == ABSENT and len(systemd.started) == 1
    assert other.run(["sleep", "60"], timeout=90, wait=0, alone=True).state == RUNNING
    # The machine was booted: its unit is gone.
    systemd.end()
    systemd.processes.clear()
    assert one.run(["true"], timeout=30, wait=20, alone=True).exit_status == 0
    assert unit(tmp_path, systemd, "next").run(["true"], timeout=30, wait=20, alone=True).exit_status == 0


def test_one_that_a_power_cut_ended_is_not_started_again(tmp_path: Path, systemd: StandInSystemd) -> None:
    """Whether it may be is a person's decision."""
    marks = tmp_path / "marks"
    argv = ["sh", "-c", f"echo x >> {marks}; sleep 60"]
    one = unit(tmp_path, systemd)
    one.run(argv, timeout=90, wait=0)
    # The shell makes the file before it writes to it.
    while not (marks.exists() and marks.read_text()) or one.look().started_at == "":
        assert one.look().state == RUNNING
    systemd.end()
    systemd.processes.clear()
    assert one.look().state == INTERRUPTED
    report = one.run(argv, timeout=90, wait=5)
    assert report.state == INTERRUPTED and report.exit_status is None and marks.read_text() == "x\n"
    assert report.said == "its unit is gone, as after a boot of the machine"


def test_a_run_that_died_before_the_unit_began_leaves_it_to_be_started(tmp_path: Path, systemd: StandInSystemd) -> None:
    work = tmp_path / "commands" / "up-1-01-cp-node-a-2"
    work.mkdir(parents=True)
    (work / "run.sh").write_text("exit 1\n")
    assert unit(tmp_path, systemd).look().state == ABSENT
    assert unit(tmp_path, systemd).run(["true"], timeout=5, wait=20).exit_status == 0


def test_it_is_ended_after_its_time(tmp_path: Path, systemd: StandInSystemd) -> None:
    assert unit(tmp_path, systemd).run(["sleep", "60"], timeout=1, wait=30).exit_status == 124


def test_nothing_goes_through_a_shell(tmp_path: Path, systemd: StandInSystemd) -> None:
    report = unit(tmp_path, systemd).run(["printf", "%s|", "$(id)", "a;b", "it's", "`x`"], timeout=5, wait=20)
    assert report.head == "$(id)|a;b|it's|`x`|"


def test_an_unknown_program_is_told_before_anything_is_started(tmp_path: Path, systemd: StandInSystemd) -> None:
    with pytest.raises(NodeError, match="no program 'kubeadmm' on this machine"):
        unit(tmp_path, systemd).run(["kubeadmm", "version"], timeout=5, wait=5)
    assert systemd.started == [] and unit(tmp_path, systemd).look().state == ABSENT


@pytest.mark.parametrize("name", ["", "../x", "a b", "-a", "a/b", "a\n"])
def test_a_name_leads_nowhere_else(tmp_path: Path, systemd: StandInSystemd, name: str) -> None:
    with pytest.raises(NodeError, match="no name of a command"):
        unit(tmp_path, systemd, name)


def test_long_names_stay_apart(tmp_path: Path, systemd: StandInSystemd) -> None:
    one, other = (unit(tmp_path, systemd, "a" * 200 + each) for each in "xy")
    assert one.unit != other.unit and len(one.unit) < 240


def test_the_ends_of_a_long_output_are_kept_without_secrets(tmp_path: Path, systemd: StandInSystemd) -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\\nMIIEow\\n-----END RSA PRIVATE KEY-----"
    script = f"printf 'first\\n{key}\\n'; yes line | head -n 20000; printf -- '{key}\\nlast\\n'"
    report = unit(tmp_path, systemd).run(["sh", "-c", script], timeout=30, wait=20)
    assert report.head.startswith("first\n[redacted: private key]") and report.tail.endswith("key]\nlast\n")
    assert len(report.head) == len(report.tail) == 16 * 1024 and report.size > 100_000
    assert "MIIEow" not in report.head + report.tail
    assert hashlib.sha256(Path(report.log_path).read_bytes()).hexdigest() == report.sha256


def test_an_output_just_over_the_limit_is_kept_whole(tmp_path: Path, systemd: StandInSystemd) -> None:
    report = unit(tmp_path, systemd).run(["sh", "-c", "yes abc | head -n 5000"], timeout=30, wait=20)
    assert report.head + report.tail == "abc\n" * 5000 and len(report.head) == 16 * 1024


def test_what_is_forgotten_leaves_nothing_and_its_name_is_free(tmp_path: Path, systemd: StandInSystemd) -> None:
    one = unit(tmp_path, systemd)
    one.run(["sleep", "60"], timeout=90, wait=0)
    assert one.forget() and not one.forget()
    assert one.look().state == ABSENT and list((tmp_path / "commands").iterdir()) == [tmp_path / "commands" / "lock"]
    assert one.run(["true"], timeout=5, wait=20).exit_status == 0


def test_that_it_was_started_is_on_the_disk_before_it_runs(
    tmp_path: Path, systemd: StandInSystemd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut would let the next run start it again."""
    tool = tmp_path / "tools" / "sync"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path / "synced"}\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    report = unit(tmp_path, systemd).run(["cat", str(tmp_path / "synced")], timeout=30, wait=20)
    assert report.head == "started.partial\n.\n"
