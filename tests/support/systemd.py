# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for systemd, for tests of what runs as transient units on hosts that may have none."""

from __future__ import annotations

import fnmatch
import os
import signal
import subprocess
import typing as t


class StandInSystemd:
    """Stands in for systemd: starts the unit's command as a process and answers as systemctl does."""

    def __init__(self) -> None:
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.started: list[str] = []

    def __call__(self, command: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        words = list(command)
        if words[0] == "systemd-run":
            unit = next(word.split("=", 1)[1] for word in words if word.startswith("--unit="))
            if unit in self.processes:
                return subprocess.CompletedProcess(words, 1, "", f"Unit {unit} already exists")
            self.started.append(unit)
            self.processes[unit] = subprocess.Popen(words[words.index("--") + 1 :], start_new_session=True)
            return subprocess.CompletedProcess(words, 0, "", "")
        if words[:2] == ["systemctl", "show"]:
            process = self.processes.get(words[2])
            if process is None:
                return subprocess.CompletedProcess(words, 0, "LoadState=not-found\nActiveState=inactive\n", "")
            code = process.poll()
            active = "active" if code is None else "failed" if code else "inactive"
            text = f"LoadState=loaded\nActiveState={active}\nResult=exit-code\nExecMainStatus={abs(code or 0)}\n"
            return subprocess.CompletedProcess(words, 0, text, "")
        if words[0] == "systemctl":
            # systemctl takes a pattern, too.
            for unit in fnmatch.filter(self.processes, words[-1]):
                if words[1] == "stop":
                    self._kill(self.processes[unit])
                if words[1] == "reset-failed":
                    del self.processes[unit]
            return subprocess.CompletedProcess(words, 0, "", "")
        return subprocess.run(words, capture_output=True, text=True, check=False)

    def end(self) -> None:
        """End every unit."""
        for process in self.processes.values():
            self._kill(process)

    @staticmethod
    def _kill(process: subprocess.Popen[bytes]) -> None:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class NoUnit(StandInSystemd):
    """Takes a unit's start for done: the test does its work itself."""

    def __call__(self, command: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        if command[0] == "systemd-run":
            return super().__call__([*command[: list(command).index("--") + 1], "true"])
        return super().__call__(command)
