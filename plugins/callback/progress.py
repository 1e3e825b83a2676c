# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Screen output of a run: a line for each step."""

from __future__ import annotations

DOCUMENTATION = r"""
name: progress
type: stdout
short_description: Show a line for each step of a cluster
version_added: 0.10.0
author:
  - kubeadm.control_plane contributors (@kubeadm-control-plane)
description:
  - Shows the runs of this collection's playbooks by their steps instead of their tasks. Each step of a cluster, and each Task of an Action, is one line once
    it has ended, with the machine, etcd's voters before and after, and how long it took and was expected to take. How long is expected is the median of the
    cluster's last steps of the kind, from its journal, else what local machines take.
  - In a terminal the last line shows what is under way, with kubeadm's phase, or what is waited for and how long still. Without a terminal that is a line
    after 15 seconds in which nothing else was shown, and the silences after it grow.
  - Tasks that were skipped or changed nothing are not shown. A task outside of this collection that changed something between two steps is one line, and what
    C(ansible.builtin.debug) prints is shown.
  - A failure is shown once, in five parts; what failed, where, why, whether it is safe now, and what to type. The last line of a cluster is its verdict;
    of several clusters it is their summary.
  - With C(-v) the output is that of the callback C(ansible.builtin.default). So is what the C(ansible) command prints.
  - What a task hides with C(no_log) stays hidden. Control characters of texts that others wrote are shown as such.
extends_documentation_fragment:
  - default_callback
  - result_format_callback
requirements:
  - set as stdout in configuration
notes:
  - The options are those of the callback C(ansible.builtin.default), and most of them only matter with C(-v).
"""

EXAMPLES = r"""
# In ansible.cfg:
#
# [defaults]
# stdout_callback = kubeadm.control_plane.progress
#
# or in the environment:
#
# ANSIBLE_STDOUT_CALLBACK=kubeadm.control_plane.progress
"""

import atexit
import functools
import os
import sys
import threading
import time
import typing as t
from pathlib import Path

from ansible.plugins.callback.default import CallbackModule as DefaultCallback

from ..module_utils.common import settings
from ..module_utils.common.legible import one_line
from ..plugin_utils.progress import channel
from ..plugin_utils.progress.colors import color_of
from ..plugin_utils.progress.progress_lines import WAITING, Line, ProgressLines

TICK_SECONDS = 0.5
_CLEAR = "\r\x1b[K"
_OURS = "kubeadm.control_plane."
_PLAYBOOKS = str(Path(__file__).resolve().parents[2] / "playbooks") + os.sep


def _instead(method: t.Callable[..., None]) -> t.Callable[..., None]:
    """Return a method that a verbose run leaves to the default callback."""

    @functools.wraps(method)
    def chosen(self: CallbackModule, *args: t.Any, **kwargs: t.Any) -> None:
        if self.is_brief:
            method(self, *args, **kwargs)
        else:
            getattr(super(CallbackModule, self), method.__name__)(*args, **kwargs)

    return chosen


class CallbackModule(DefaultCallback):  # type: ignore[misc]
    """Callback of the collection's runs; see its documentation."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "kubeadm.control_plane.progress"

    def __init__(self) -> None:
        super().__init__()
        self.is_brief = False
        self._lines = ProgressLines(settings.PROGRESS_SECONDS)
        self._reader: t.Optional[channel.Reader] = None
        self._process = os.getpid()
        self._ended = threading.Event()
        # Results come from Ansible's threads, what is under way from one of this callback.
        self._lock = threading.RLock()
        self._is_terminal = False
        self._drawn = ""
        self._items: dict[tuple[str, str], list[str]] = {}

    def v2_playbook_on_start(self, playbook: t.Any) -> None:
        """Open the channel, unless the run is verbose."""
        self.is_brief = self._display.verbosity == 0
        if not self.is_brief:
            super().v2_playbook_on_start(playbook)
            return
        self._is_terminal = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._reader = channel.Reader()
        # Of its own for each playbook of a command line.
        self._ended = threading.Event()
        atexit.register(self._stop)
        threading.Thread(target=self._tick, args=(self._ended,), daemon=True).start()

    @_instead
    def v2_playbook_on_play_start(self, play: t.Any) -> None:
        """Show what the play before has left to be said."""
        self._play = play
        self._end_play()

    @_instead
    def v2_playbook_on_stats(self, stats: t.Any) -> None:
        """Show the verdict; how many tasks there were is nothing to know."""
        self._end_play()
        self._stop()

    @_instead
    def v2_runner_on_ok(self, result: t.Any) -> None:
        """Show a change outside of steps, and what a debug task prints."""
        self._handle_warnings(result.result)
        self._show_message(result)
        name = str(result.task.resolved_action or result.task.action)
        changed = bool(result.result.get("changed")) and not name.startswith(_OURS)
        self._take("task", result, changed=result.task.get_name() if changed else "")

    @_instead
    def v2_runner_on_failed(self, result: t.Any, ignore_errors: bool = False) -> None:
        """Keep a failure until it is known whether a report follows."""
        self._handle_warnings(result.result)
        items = self._items.pop(self._key(result), [])
        if ignore_errors:
            return
        said = "\n".join(items) or self._message(result.result)
        self._take("failed", result, what=said, where=f"task {result.task.get_name()}")

    @_instead
    def v2_runner_on_unreachable(self, result: t.Any) -> None:
        """Keep a host that was not reached as a failure."""
        self._handle_warnings(result.result)
        if not result.task.ignore_unreachable:
            said = f"not reached: {self._message(result.result)}"
            self._take("failed", result, what=said, where=f"task {result.task.get_name()}")

    @_instead
    def v2_runner_item_on_ok(self, result: t.Any) -> None:
        """Show what a debug task prints of one item."""
        self._handle_warnings(result.result)
        self._show_message(result)

    @_instead
    def v2_runner_item_on_failed(self, result: t.Any) -> None:
        """Keep an item's failure: its task's says only that one failed."""
        self._handle_warnings(result.result)
        self._items.setdefault(self._key(result), []).append(self._message(result.result))

    @_instead
    def v2_runner_on_skipped(self, result: t.Any) -> None:
        """Show nothing of a task that was skipped."""
        self._handle_warnings(result.result)

    @_instead
    def v2_runner_item_on_skipped(self, result: t.Any) -> None:
        """Show nothing of an item that was skipped."""
        self._handle_warnings(result.result)

    @_instead
    def v2_playbook_on_task_start(self, task: t.Any, is_conditional: bool) -> None:
        """Show nothing of a task's start."""

    @_instead
    def v2_playbook_on_handler_task_start(self, task: t.Any) -> None:
        """Show nothing of a handler's start."""

    @_instead
    def v2_runner_on_start(self, host: t.Any, task: t.Any) -> None:
        """Show nothing of a task's start on a host."""

    @_instead
    def v2_playbook_on_include(self, included_file: t.Any) -> None:
        """Show nothing of included files."""

    @_instead
    def v2_playbook_on_no_hosts_matched(self) -> None:
        """Show it of a playbook of the user's own.

        The guard of this collection's has said it.
        """
        if not os.path.realpath(self._play.get_path()).startswith(_PLAYBOOKS):
            with self._lock:
                self._show([Line(one_line(f"no hosts matched: {self._play.get_name().strip()}"), WAITING)])

    @_instead
    def v2_playbook_on_no_hosts_remaining(self) -> None:
        """Show nothing: the failures say it."""

    @_instead
    def v2_playbook_on_notify(self, handler: t.Any, host: t.Any) -> None:
        """Show nothing of notified handlers."""

    @_instead
    def _print_task_banner(self, task: t.Any) -> None:
        """Show no task's name above a diff."""
        self._last_task_banner = task._uuid

    @_instead
    def v2_on_file_diff(self, result: t.Any) -> None:
        """Show a diff, below what was said before it."""
        with self._lock:
            self._show([])
            super().v2_on_file_diff(result)

    @staticmethod
    def _key(result: t.Any) -> tuple[str, str]:
        return result.host.get_name(), result.task._uuid

    def _message(self, result: t.Mapping[str, t.Any]) -> str:
        """Return what a result says, without what ``no_log`` hides."""
        said = result.get("msg") or result.get("censored")
        return said if isinstance(said, str) else str(self._dump_results(dict(result)))

    def _show_message(self, result: t.Any) -> None:
        if result.result.get("_ansible_verbose_always") and "results" not in result.result:
            self._take("text", result, text=f"{result.host.get_name()}: {self._message(result.result)}")

    def _take(self, event: str, result: t.Any, **fields: t.Any) -> None:
        """Take an event of Ansible's own, after what its task has sent."""
        with self._lock:
            lines = self._sent()
            lines += self._lines.take(
                {"event": event, "at": time.monotonic(), "host": result.host.get_name(), **fields}
            )
            self._show(lines)

    def _sent(self) -> list[Line]:
        events = self._reader.events() if self._reader is not None else []
        return [line for event in events for line in self._lines.take(event)]

    def _end_play(self) -> None:
        with self._lock:
            self._show([*self._sent(), *self._lines.flush()])

    def _tick(self, ended: threading.Event) -> None:
        while not ended.wait(TICK_SECONDS):
            with self._lock:
                if ended.is_set():
                    # While the lock was waited for the last line was shown.
                    return
                lines = self._sent()
                now = time.monotonic()
                if self._is_terminal:
                    self._show(lines, self._lines.live(now))
                else:
                    self._show([*lines, *self._lines.due(now)])

    def _show(self, lines: t.Sequence[Line], live: str = "") -> None:
        """Show lines, and in a terminal below them what is under way.

        Only through Ansible's Display: its lock is held while workers are forked.
        """
        live = live[: max(20, self._display.columns - 1)]
        if self._drawn and (lines or live != self._drawn):
            self._display.display(_CLEAR, screen_only=True, newline=False)
            self._drawn = ""
        for line in lines:
            self._display.display(line.text, color=color_of(line.kind))
        if live and not self._drawn:
            # The cursor goes back to its start: a warning of Ansible's own begins there.
            self._display.display(f"{live}\r", screen_only=True, newline=False)
            self._drawn = live

    def _stop(self) -> None:
        """Close the channel; show what was kept where Ansible was interrupted."""
        if os.getpid() != self._process:
            # What a worker forks ends as this process does.
            return
        self._ended.set()
        with self._lock:
            self._end_play()
            if self._reader is not None:
                self._reader.close()
                self._reader = None
