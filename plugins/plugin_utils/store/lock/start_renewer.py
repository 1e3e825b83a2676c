# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start of the helper process that renews a file lock (``file_renewer.py``)."""

from __future__ import annotations

import os
import subprocess
import sys

from ....module_utils.common import settings
from ...processes.identity import Process
from .. import base


def counter_path(folder: str, number: int) -> str:
    """Return the path of a fencing number's counter file."""
    return os.path.join(folder, f"{number}.counter")


def start(folder: str, number: int, run_process: Process) -> None:
    """Start the helper process unless it runs; raise :class:`base.StoreError` on failure.

    It needs no further care.
    """
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "file_renewer.py")
    started = "" if run_process.start_time is None else str(run_process.start_time)
    try:
        # -I and -S: nothing of the user's or the site's is imported. It forks and the first process ends at once.
        # AnsibleModule.run_command has no bound, and this code has no AnsibleModule.
        code = subprocess.run(  # pylint: disable=ansible-bad-function
            [sys.executable, "-I", "-S", script, folder, str(number), str(run_process.pid), started],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=True,
            start_new_session=True,
            cwd="/",
            # What the interpreter itself may need, and nothing that may be secret.
            env={name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ},
            timeout=settings.LOCK_START_SECONDS,
            check=False,
        ).returncode
        why = f"it ended with {code}"
    except (OSError, subprocess.SubprocessError) as error:
        code, why = -1, str(error)
    if code != 0:
        raise base.StoreError(
            "the helper process that renews the lock could not be started",
            f"{sys.executable} {script}",
            why,
            "Without it a long step would look dead to other runs; nothing was changed. Check that Python and free memory.",
        )
