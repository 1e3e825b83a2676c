# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs of other programs, with output in an error or log.

The error says what to do.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
import typing as t

from .errors import NspawnError

# Debian keeps these outside the path that a module may be started with.
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def environment(extra: t.Optional[t.Mapping[str, str]] = None) -> dict[str, str]:
    """Return a small environment that doesn't depend on the user's language."""
    kept = {
        key: value
        for key, value in os.environ.items()
        if key in ("HOME", "TMPDIR", "http_proxy", "https_proxy", "no_proxy")
    }
    return {"HOME": "/root", **kept, "PATH": SEARCH_PATH, "LC_ALL": "C", **(extra or {})}


def run(
    command: t.Sequence[str],
    *,
    check: bool = True,
    cwd: t.Optional[str] = None,
    env: t.Optional[t.Mapping[str, str]] = None,
    timeout: float = 120,
) -> subprocess.CompletedProcess[str]:
    """Run a short command and return its output.

    Raises:
        NspawnError: it isn't installed, failed (with ``check``) or took longer than ``timeout`` seconds.
    """
    done = _bounded(command, timeout, cwd, env, "Look at this host's load; run again.", capture_output=True, text=True)
    if check and done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or "it said nothing")[-2000:]
        raise NspawnError(f"`{' '.join(command)}` failed with exit code {done.returncode}: {said}")
    return done


class Progress:
    """Log of a long operation, in a file and on standard error."""

    def __init__(self, path: str) -> None:
        """Open the log for appending."""
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
        self.path = path
        self._started = time.monotonic()

    def say(self, message: str) -> None:
        """Write one line to the log and to standard error."""
        line = f"[{time.monotonic() - self._started:6.1f} s] {message}\n"
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(line)
        with contextlib.suppress(OSError):
            sys.stderr.write(line)
            sys.stderr.flush()

    def run(
        self,
        command: t.Sequence[str],
        *,
        cwd: t.Optional[str] = None,
        env: t.Optional[t.Mapping[str, str]] = None,
        timeout: float = 1800,
    ) -> None:
        """Run a long command with its output in the log.

        Raises:
            NspawnError: it isn't installed, failed or took too long; with the end of its output.
        """
        with open(self.path, "a+", encoding="utf-8") as log:
            log.write(f"$ {' '.join(command)}\n")
            log.flush()
            start = log.seek(0, os.SEEK_END)
            done = _bounded(command, timeout, cwd, env, f"Read its output in {self.path}.", stdout=log, stderr=log)
            log.seek(start)
            if done.returncode != 0:
                said = "\n".join(log.read().splitlines()[-15:])
                raise NspawnError(
                    f"`{' '.join(command)}` failed with exit code {done.returncode}; all of its output is in {self.path}, its end:\n{said}"
                )


def _bounded(
    command: t.Sequence[str],
    timeout: float,
    cwd: t.Optional[str],
    env: t.Optional[t.Mapping[str, str]],
    late: str,
    **streams: t.Any,
) -> subprocess.CompletedProcess[t.Any]:
    try:
        # AnsibleModule.run_command has no bound and keeps all output in memory, and this code has no AnsibleModule.
        return subprocess.run(  # pylint: disable=ansible-bad-function
            list(command),
            stdin=subprocess.DEVNULL,
            check=False,
            cwd=cwd,
            env=environment(env),
            timeout=timeout,
            **streams,
        )
    except FileNotFoundError as error:
        raise NspawnError(
            f"the program {command[0]} is not installed on this host. Run the role's prepare step (or the module nspawn_host) first."
        ) from error
    except subprocess.TimeoutExpired as error:
        raise NspawnError(f"`{' '.join(command)}` did not end within {timeout:.0f} s. {late}") from error
