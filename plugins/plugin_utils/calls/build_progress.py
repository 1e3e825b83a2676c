# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress of a long module on this host, from its log."""

from __future__ import annotations

import os
import re
import threading
import typing as t

from ansible.plugins.action import ActionBase

from ...module_utils.common import settings
from . import role_variables
from .screen import Screen

POLL_SECONDS = 1.0
# A line of the module's own, beside the output of the commands that it runs: "[  12.3 s] building kubeadm".
_OWN_LINE = re.compile(r"^\[\s*[\d.]+ s\] (.*)$")


class BuildProgressAction(ActionBase):
    """Action plugin that runs its module and shows image builds' progress.

    The first new line of a build is shown at once, then the newest one every 15 s.
    """

    _supports_check_mode = True

    def run(self, tmp: t.Optional[str] = None, task_vars: t.Optional[dict[str, t.Any]] = None) -> dict[str, t.Any]:
        """Run the module."""
        result: dict[str, t.Any] = dict(super().run(tmp, task_vars))
        problem = role_variables.problem(self, task_vars or {})
        if problem:
            return {**result, "failed": True, "msg": problem}
        cache = os.path.expanduser(str(self._task.args.get("cache") or "~/.cache/kubeadm-control-plane"))
        screen = Screen(str((task_vars or {}).get("inventory_hostname") or ""))
        follower = _Follower(os.path.join(cache, "logs"), screen)
        follower.start()
        try:
            result.update(self._execute_module(task_vars=task_vars))
        finally:
            follower.stop()
        return result


class _Follower(threading.Thread):
    def __init__(self, folder: str, screen: Screen) -> None:
        super().__init__(daemon=True)
        self._screen = screen
        self._folder = folder
        self._ended = threading.Event()
        self._sizes = self._current_sizes()

    def run(self) -> None:
        """Show progress until stopped."""
        waited = settings.PROGRESS_SECONDS - POLL_SECONDS
        while not self._ended.wait(POLL_SECONDS):
            waited += POLL_SECONDS
            if waited < settings.PROGRESS_SECONDS:
                continue
            line = self._newest_line()
            if line:
                if not self._screen.send("doing", text=line):
                    self._screen.display(f"  [this host] {line}")
                waited = 0.0

    def stop(self) -> None:
        """Stop the thread."""
        self._ended.set()
        self.join()

    def _current_sizes(self) -> dict[str, int]:
        try:
            with os.scandir(self._folder) as entries:
                return {entry.path: entry.stat().st_size for entry in entries if entry.name.endswith(".log")}
        except OSError:
            return {}

    def _newest_line(self) -> str:
        newest = ""
        for path, size in self._current_sizes().items():
            before = self._sizes.get(path, 0)
            if size <= before:
                continue
            try:
                with open(path, encoding="utf-8", errors="replace") as stream:
                    stream.seek(before)
                    found = [match.group(1) for match in map(_OWN_LINE.match, stream) if match]
            except OSError:
                continue
            newest = found[-1] if found else newest or "still building"
        return newest
