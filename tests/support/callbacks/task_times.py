# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start and end of each task on each host, as lines of JSON in the file that TASK_TIMES names.

The last line has the processor's seconds of the main process. It imports nothing of the collection: what the main process has imported, its
workers need not import again, and the run that is measured would be another one. Not part of what is shipped.
"""

from __future__ import annotations

import json
import os
import resource
import time
import typing as t

from ansible.plugins.callback import CallbackBase

VARIABLE = "TASK_TIMES"


class CallbackModule(CallbackBase):
    """Notes when tasks start and end."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "task_times"
    CALLBACK_NEEDS_ENABLED = True

    def v2_runner_on_start(self, host: t.Any, task: t.Any) -> None:
        """A task whose worker starts."""
        _note(event="start", host=str(host), task=str(task.get_name()), action=str(task.resolved_action or task.action))

    def v2_runner_on_ok(self, result: t.Any) -> None:
        """A task that succeeded."""
        _note(event="end", host=str(result.host))

    def v2_runner_on_failed(self, result: t.Any, ignore_errors: bool = False) -> None:
        """A task that failed."""
        del ignore_errors
        _note(event="end", host=str(result.host))

    def v2_runner_on_skipped(self, result: t.Any) -> None:
        """A task that was skipped."""
        _note(event="end", host=str(result.host))

    def v2_runner_on_unreachable(self, result: t.Any) -> None:
        """A task whose host was not reached."""
        _note(event="end", host=str(result.host))

    def v2_playbook_on_include(self, included_file: t.Any) -> None:
        """A file of tasks that was included, for which there is no result."""
        for host in included_file._hosts:
            _note(event="end", host=str(host))

    def v2_playbook_on_stats(self, stats: t.Any) -> None:
        """The end of the playbook."""
        del stats
        used = resource.getrusage(resource.RUSAGE_SELF)
        _note(event="main", user=used.ru_utime, system=used.ru_stime)


def _note(**what: t.Any) -> None:
    path = os.environ.get(VARIABLE)
    if path:
        with open(path, "a", encoding="utf-8") as stream:
            stream.write(json.dumps({"at": time.time(), **what}) + "\n")
