# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transient systemd units for commands that outlive their run.

Such a command outlives the call and the run that started it. Why: docs/architecture.md, "Commands that outlive a run".
"""

from __future__ import annotations

import subprocess
import typing as t
from dataclasses import dataclass

from . import timed_command
from .guard import NodeError

# What cloud-init gives the commands that Cluster API's bootstrap data lists.
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Names of all transient units that this collection starts on a machine: one for each kind of command, with a name of its own behind it. The
# restore of etcd has none. A bootstrap's is the beginning of the others'.
BOOTSTRAP = "kubeadm-control-plane-"
CONFIGURATION = f"{BOOTSTRAP}configuration-"
DRAIN = f"{BOOTSTRAP}drain-"
RECOVERY = f"{BOOTSTRAP}recover-"
RESTORE = f"{BOOTSTRAP}etcd-restore"
TASK = f"{BOOTSTRAP}task-"
# Those that outlive the cluster they were started for, as patterns; a bootstrap's is known by its record.
OUTLIVING = (f"{CONFIGURATION}*", f"{DRAIN}*", f"{RECOVERY}*", RESTORE, f"{TASK}*")
_RUNNING = ("active", "activating", "reloading", "deactivating")

# Runs a command; the tests that have no systemd give one that answers as systemctl and systemd-run do.
Runner = t.Callable[[t.Sequence[str]], "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True)
class UnitState:
    """State of a systemd unit.

    ``loaded`` is False where systemd has no such unit; ``exit_status`` is valid only once the unit has ended.
    """

    loaded: bool
    running: bool
    result: str
    exit_status: int


def run(words: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a short command, or raise NodeError as :func:`command.run` does."""
    return timed_command.run(words, why="A control plane machine needs systemd and kubeadm.")


def state(unit: str, runner: Runner = run) -> UnitState:
    """Return a unit's state."""
    properties = "LoadState,ActiveState,Result,ExecMainStatus"
    done = runner(["systemctl", "show", f"{unit}.service", f"--property={properties}"])
    if done.returncode != 0:
        raise NodeError(f"systemd does not answer about {unit}.service: {done.stderr.strip()[:300]}")
    fields = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    status = fields.get("ExecMainStatus", "")
    return UnitState(
        loaded=fields.get("LoadState") == "loaded",
        running=fields.get("ActiveState") in _RUNNING,
        result=fields.get("Result", ""),
        exit_status=int(status) if status.isdecimal() else 0,
    )


def start(unit: str, description: str, words: t.Sequence[str], runner: Runner = run) -> None:
    """Start a command as a transient unit.

    systemd itself refuses a name that is in use. ``words`` must hold nothing secret: the process list shows it.

    Raises:
        NodeError: systemd refused.
    """
    arguments = [
        "systemd-run",
        "--quiet",
        f"--unit={unit}.service",
        f"--description={description}",
        f"--setenv=PATH={SEARCH_PATH}",
        "--setenv=HOME=/root",
        "--setenv=LC_ALL=C.UTF-8",
        # A process that a user's command left in the background lives on, as it does under cloud-init.
        "--property=KillMode=process",
        "--property=UMask=0022",
        "--",
        *words,
    ]
    done = runner(arguments)
    if done.returncode != 0:
        raise NodeError(f"systemd did not start {unit}.service: {done.stderr.strip()[:300]}")


def stop(unit: str, runner: Runner = run) -> None:
    """Stop a unit with all its processes, and reset its failed state.

    A unit that does not exist is no error. ``unit`` may be a pattern, for all units whose name it fits.
    """
    runner(["systemctl", "kill", "--kill-who=all", "--signal=SIGTERM", f"{unit}.service"])
    done = runner(["systemctl", "stop", f"{unit}.service"])
    if done.returncode != 0 and state(unit, runner).running:
        raise NodeError(f"{unit}.service does not end: {done.stderr.strip()[:300]}")
    runner(["systemctl", "kill", "--kill-who=all", "--signal=SIGKILL", f"{unit}.service"])
    runner(["systemctl", "reset-failed", f"{unit}.service"])
