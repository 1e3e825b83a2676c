# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A watch in a terminal: as much of a page as there is room for, until Ctrl-C. Ansible's workers have no terminal of their own."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import struct
import subprocess
import termios
from pathlib import Path

from workspace import Workspace

ROWS, COLUMNS = 10, 100
# Ends a test of a program that hangs, silent.
BOUND_SECONDS = 120


def in_a_terminal(command: list[str], folder: Path, interrupt_at: str = "") -> tuple[int, str]:
    """A program's exit status, and what it has shown in a terminal of its own; Ctrl-C is typed when this text is there."""
    keyboard, inside = os.openpty()
    fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm"}
    streams = {"stdin": inside, "stdout": inside, "stderr": inside}
    with subprocess.Popen(["setsid", "--ctty", "--wait", *command], cwd=folder, env=environment, **streams) as running:
        os.close(inside)
        shown, awaited = b"", interrupt_at.encode()
        # Without the program a read ends with an error.
        with contextlib.suppress(OSError):
            while piece := os.read(keyboard, 65536):
                shown += piece
                if awaited and awaited in shown:
                    awaited = b""
                    os.write(keyboard, b"\x03")
                if not select.select([keyboard], [], [], BOUND_SECONDS)[0]:
                    running.kill()
    os.close(keyboard)
    return running.returncode, shown.decode()


def test_a_page_fits_in_the_terminal(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "workspace")
    for name in ("prod", "staging", "web"):
        workspace.manifest(name, replicas=1)
    command = workspace.command("status_watch", "-e", "control_plane_watch_timeout=1")
    _ended, shown = in_a_terminal(command, workspace.folder)
    page, cut, _rest = shown.partition("\x1b[2J\x1b[H")[2].partition(" shows one")
    assert "3 clusters: 3 not observed" in page and " more lines; --limit CLUSTER" in page and cut, shown
    assert sum(-(-len(line) // COLUMNS) or 1 for line in page.splitlines()) < ROWS, page


def test_ctrl_c_ends_a_watch_at_once(tmp_path: Path) -> None:
    """Typed while the page is drawn, when the worker is handing it over; the exit status is that of an interrupted playbook."""
    workspace = Workspace(tmp_path / "workspace")
    workspace.manifest("prod", replicas=1)
    ended, shown = in_a_terminal(workspace.command("status_watch"), workspace.folder, interrupt_at="Ctrl-C ends it")
    assert ended == 99 and "User interrupted execution" in shown, shown
