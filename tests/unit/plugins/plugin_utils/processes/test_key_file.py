# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A private key that ssh's own programs read by its path, and that is on no disk."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import (
    Machine,
    connection_variables,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes.key_file import KeyFile


@pytest.fixture(name="key")
def _key(tmp_path: Path) -> bytes:
    path = tmp_path / "made"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path.read_bytes()


def public(path: str) -> str:
    """What ssh reads of a key; it refuses one that others could read."""
    return subprocess.run(["ssh-keygen", "-y", "-f", path], stdout=subprocess.PIPE, text=True, check=True).stdout


@pytest.mark.skipif(sys.platform != "linux", reason="files in memory are Linux's")
def test_ssh_reads_it_and_no_folder_has_it(tmp_path: Path, key: bytes) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    made = KeyFile(key, str(folder))
    assert public(made.path) == public(str(tmp_path / "made"))
    assert os.stat(made.path).st_mode & 0o077 == 0
    assert list(folder.iterdir()) == []
    path = made.path
    del made
    assert not os.path.exists(path), "it goes with whoever needed it"


@pytest.mark.skipif(sys.platform != "linux", reason="files in memory are Linux's")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_process_leaves_none(tmp_path: Path, key: bytes, how: signal.Signals) -> None:
    code = (
        "import sys, time\n"
        "from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes.key_file import KeyFile\n"
        "made = KeyFile(sys.stdin.buffer.read(), sys.argv[1])\n"
        "print(made.path, flush=True)\n"
        "time.sleep(60)\n"
    )
    folder = tmp_path / "folder"
    folder.mkdir()
    process = subprocess.Popen([sys.executable, "-c", code, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    with process:
        process.stdin.write(key)
        process.stdin.close()
        path = process.stdout.readline().decode().strip()
        assert public(path)
        process.send_signal(how)
        process.wait()
    assert not os.path.exists(path) and list(folder.iterdir()) == []


def test_where_there_is_no_such_memory_it_is_its_owners_file(
    tmp_path: Path, key: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)
    made = KeyFile(key, str(tmp_path))
    assert made.path == str(tmp_path / "ssh_key") and Path(made.path).stat().st_mode & 0o777 == 0o600
    assert public(made.path)


def test_a_machine_is_reached_with_it(tmp_path: Path, key: bytes) -> None:
    made = KeyFile(key, str(tmp_path))
    connection = {"host": "10.88.0.5", "hostKeys": ["ssh-ed25519 AAAA"]}
    variables = connection_variables(Machine("m1", None, connection), {}, str(tmp_path), made.path)
    assert variables["ansible_ssh_private_key_file"] == made.path
