# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A watch in a terminal shows as much of a page as there is room for; Ansible's workers have no terminal of their own."""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import subprocess
import termios
from pathlib import Path

from workspace import Workspace

ROWS, COLUMNS = 10, 100


def in_a_terminal(command: list[str], folder: Path) -> str:
    """What a program has shown in a terminal, to its end."""
    keyboard, inside = os.openpty()
    fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm"}
    streams = {"stdin": inside, "stdout": inside, "stderr": inside}
    with subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, **streams):
        os.close(inside)
        shown = b""
        # Without the program a read ends with an error.
        with contextlib.suppress(OSError):
            while piece := os.read(keyboard, 65536):
                shown += piece
    os.close(keyboard)
    return shown.decode()


def test_a_page_fits_in_the_terminal(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "workspace")
    for name in ("prod", "staging", "web"):
        workspace.manifest(name, replicas=1)
    shown = in_a_terminal(workspace.command("status_watch", "-e", "control_plane_watch_timeout=1"), workspace.folder)
    page, cut, _rest = shown.partition("\x1b[2J\x1b[H")[2].partition(" shows one")
    assert "3 clusters: 3 not observed" in page and " more lines; --limit CLUSTER" in page and cut, shown
    assert sum(-(-len(line) // COLUMNS) or 1 for line in page.splitlines()) < ROWS, page
