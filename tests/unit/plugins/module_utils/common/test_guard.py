# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The wrong machine, a lost lock, and files that are there whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import guard
from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import Fenced, NodeError, remedy


def test_another_machine_is_refused_and_no_expectation_is_fine(tmp_path: Path) -> None:
    path = tmp_path / "machine-id"
    path.write_text("0123\n")
    assert guard.require_machine("0123", str(path)) == "0123"
    assert guard.require_machine(None, str(path)) == "0123"
    assert guard.require_machine(None, str(tmp_path / "none")) == ""
    with pytest.raises(NodeError, match=r"Wrong machine.*4567.*0123"):
        guard.require_machine("4567", str(path))
    with pytest.raises(NodeError, match="no machine-id"):
        guard.require_machine("0123", str(tmp_path / "none"))


def test_the_highest_fencing_number_is_kept_and_a_lower_one_refused(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    guard.require_fencing(None, state)
    assert not os.path.exists(state)
    for number in (3, 3, 7):
        guard.require_fencing(number, state)
    with pytest.raises(Fenced, match="number is 6, but this machine has seen a run with number 7") as caught:
        guard.require_fencing(6, state)
    assert caught.value.highest == 7
    assert Path(state, "fencing").read_text() == "7\n"


def test_a_files_sha_256_is_the_one_of_all_of_it(tmp_path: Path) -> None:
    """More than one piece, the last one not whole."""
    content = b"a" * (1 << 20) + b"bc"
    (tmp_path / "large").write_bytes(content)
    assert guard.sha256_of(str(tmp_path / "large")) == hashlib.sha256(content).hexdigest()


def test_check_mode_keeps_no_number(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    guard.require_fencing(5, state, keep=False)
    assert not os.path.exists(state)
    guard.require_fencing(5, state)
    guard.require_fencing(9, state, keep=False)
    assert Path(state, "fencing").read_text() == "5\n"
    with pytest.raises(NodeError):
        guard.require_fencing(4, state, keep=False)


def test_a_number_that_was_damaged_is_not_taken_for_none(tmp_path: Path) -> None:
    (tmp_path / "fencing").write_text("abc")
    with pytest.raises(NodeError, match="instead of a number"):
        guard.require_fencing(1, str(tmp_path))


@pytest.mark.parametrize(
    ("claim", "carries", "refused"),
    [
        pytest.param('{"id": "id-1"}', "", "", id="its own"),
        pytest.param('{"id": "id-1"}', "admin.conf", "", id="its own, with a cluster"),
        pytest.param('{"id": "id-2"}', "admin.conf", "has another claim", id="another's"),
        pytest.param("{", "", "has another claim", id="unreadable"),
        pytest.param(None, "", "given back", id="released"),
        pytest.param(None, "admin.conf", "", id="deleted by hand, under a cluster"),
        pytest.param(None, "bootstrap.json", "", id="deleted by hand, where kubeadm was started"),
    ],
)
def test_a_host_that_was_given_back_is_not_the_machines_any_more(
    tmp_path: Path, claim: str | None, carries: str, refused: str
) -> None:
    """A run that slept meanwhile knows it by its claim; the machine-id is the same."""
    state, kubernetes = tmp_path / "state", tmp_path / "kubernetes"
    state.mkdir()
    kubernetes.mkdir()
    if claim is not None:
        (state / "claim.json").write_text(claim)
    if carries:
        (state if carries == "bootstrap.json" else kubernetes).joinpath(carries).touch()
    if not refused:
        guard.require_claim("id-1", str(state), str(kubernetes))
        return
    with pytest.raises(NodeError, match=refused):
        guard.require_claim("id-1", str(state), str(kubernetes))


def test_two_processes_never_hold_the_machine_at_once(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import guard\n"
        "for _ in range(50):\n"
        "    with guard.exclusive(sys.argv[1]):\n"
        "        path = sys.argv[1] + '/count'\n"
        "        value = int(open(path).read() or 0)\n"
        "        open(path, 'w').write(str(value + 1))\n"
    )
    (tmp_path / "count").write_text("0")
    both = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], env=with_path()) for _process in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert (tmp_path / "count").read_text() == "100"


def with_path() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def test_a_file_is_written_with_its_mode_over_an_older_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o644)
    guard.write_atomically(str(path), b"new", 0o600)
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["file"]


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.mkdir()
    with pytest.raises(OSError, match="directory"):
        guard.write_atomically(str(path), b"new")
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("held", [True, False], ids=["held", "a Python that can't hold it"])
def test_a_process_is_ended_where_it_is_the_one_meant(held: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not held:
        monkeypatch.delattr(os, "pidfd_open")
    with subprocess.Popen(["sleep", "1000"]) as process:
        guard.end_process(process.pid, lambda: False)
        assert process.poll() is None
        guard.end_process(process.pid, lambda: True)
        assert process.wait() == -signal.SIGTERM


@pytest.mark.parametrize(
    ("number", "typed"),
    [
        (errno.ENOSPC, "df -i '/srv/a b'"),
        (errno.EDQUOT, "df -h '/srv/a b'"),
        (errno.EROFS, "findmnt -T '/srv/a b'"),
        (errno.EACCES, "namei -l '/srv/a b'"),
        (errno.EPERM, "lsattr -d '/srv/a b'"),
        (errno.EIO, "dmesg"),
        (errno.ENOTDIR, "namei -l '/srv/a b'"),
    ],
)
def test_a_file_that_fails_has_a_command_for_each_reason(number: int, typed: str) -> None:
    said = remedy("/srv/a b", OSError(number, os.strerror(number)))
    assert typed in said and said.startswith("On this machine: ") and said.endswith(". Then run again.")


def test_a_file_that_is_no_text_has_a_command_too() -> None:
    assert "namei -l /srv/file" in remedy("/srv/file", UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no text"))
