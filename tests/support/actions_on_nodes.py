# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions asked for as a person does, and what the store keeps of them."""

from __future__ import annotations

import json
import subprocess
import time
import typing as t
from pathlib import Path

from workspace import Run, Workspace

Object = dict[str, t.Any]
BOUND_SECONDS = 900


class NodeActions:
    """The Actions of one cluster. ``more`` are further arguments of every run, such as the inventory of its workers."""

    def __init__(self, workspace: Workspace, cluster: str, more: t.Sequence[str] = ()) -> None:
        self._workspace = workspace
        self._cluster = cluster
        self._more = tuple(more)

    def arguments(
        self, name: str = "", spec: t.Optional[t.Mapping[str, t.Any]] = None, *more: str, **variables: str
    ) -> tuple[str, ...]:
        """What a person gives the playbook beside its name."""
        given: Object = {f"operator_{key}": value for key, value in variables.items()}
        if name:
            given["operator_action"] = name
        if spec is not None:
            given["operator_spec"] = dict(spec)
        return ("--limit", self._cluster, *self._more, "-e", json.dumps(given), *more)

    def run(
        self,
        name: str = "",
        spec: t.Optional[t.Mapping[str, t.Any]] = None,
        *more: str,
        playbook: str = "action",
        **variables: str,
    ) -> Run:
        """Run a playbook to its end."""
        return self._workspace.playbook(playbook, *self.arguments(name, spec, *more, **variables))

    def start(
        self, name: str, spec: t.Optional[t.Mapping[str, t.Any]] = None, log: t.Optional[Path] = None
    ) -> subprocess.Popen[str]:
        """Start the playbook, so that it can be looked at, paused or killed."""
        return self._workspace.start("action", *self.arguments(name, spec), output=log)

    def action(self, name: str) -> Object:
        """The stored Action."""
        return next(each for each in self._workspace.objects("Action") if each["metadata"]["name"] == name)

    def tasks(self, name: str) -> list[Object]:
        """The Action's Tasks, in their order."""
        found = [each for each in self._workspace.objects("Task") if each["metadata"]["name"].startswith(f"{name}-")]
        return sorted(found, key=lambda each: str(each["metadata"]["name"]))

    def phases(self, name: str) -> list[str]:
        """The phases of the Action's Tasks, in their order."""
        return [str((each.get("status") or {}).get("phase")) for each in self.tasks(name)]

    def commands(self, task: Object) -> list[Object]:
        """What a Task keeps of its commands."""
        return list((task.get("status") or {}).get("commands") or [])

    def outputs(self, name: str) -> list[Object]:
        """Everything that programs left, over all Tasks of an Action."""
        return [
            output
            for task in self.tasks(name)
            for command in self.commands(task)
            for output in command.get("outputs") or []
        ]

    def until(self, what: str, condition: t.Callable[[], t.Any], process: subprocess.Popen[str]) -> t.Any:
        """Wait until something is so while a run goes on; a run that ended before fails the test."""
        deadline = time.monotonic() + BOUND_SECONDS
        while time.monotonic() < deadline:
            found = condition()
            if found:
                return found
            assert process.poll() is None, f"the run ended before {what}"
            time.sleep(0.3)
        raise AssertionError(f"not within {BOUND_SECONDS} s: {what}")

    def running(self, name: str, command: str) -> t.Optional[Object]:
        """The Task that runs this command now, None where none does."""
        for task in self.tasks(name):
            records = self.commands(task)
            if records and records[-1].get("name") == command and not records[-1].get("completionTime"):
                return task
        return None
