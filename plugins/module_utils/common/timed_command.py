# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Short commands on a node, each with a time limit."""

from __future__ import annotations

import shlex
import subprocess
import typing as t

from . import settings
from .guard import NodeError


def run(
    words: t.Sequence[str], *, seconds: float = settings.PROGRAM_SECONDS, text: str = "", why: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a command and return its exit status and output.

    Args:
        words: the command; nothing secret, for the process list shows it.
        seconds: how long it may take.
        text: its input. Secrets go this way.
        why: what to tell where the command is not installed.

    Raises:
        NodeError: it is not installed, can't be run, or did not end in time.
    """
    try:
        # AnsibleModule.run_command has no bound, and this code has no AnsibleModule.
        return subprocess.run(  # pylint: disable=ansible-bad-function
            list(words),
            input=text,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except FileNotFoundError as error:
        raise NodeError(f"{words[0]} is not on this machine.", why) from error
    except subprocess.TimeoutExpired as error:
        raise NodeError(
            f"{words[0]} did not end within {seconds:g} s.", "Look at this host's load and disks; run again."
        ) from error
    except OSError as error:
        raise NodeError(
            f"{words[0]} can't be run: {error.strerror or error}.",
            f"On this machine: see that it is a program of its kind, with mode 0755 (ls -l $(command -v {shlex.quote(words[0])})). "
            "Then run again.",
        ) from error
