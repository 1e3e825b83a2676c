# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes a failpoint of the end of each task that no action plugin of the collection's base class runs: providers' modules above all.

Called in the main process between a task's result and the next task, whatever the strategy. Not part of what is shipped.
"""

from __future__ import annotations

import importlib
import typing as t

from ansible.plugins.callback import CallbackBase

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.base_classes.control_plane_action import (
    ControlPlaneAction,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes.failpoints import failpoint

ACTIONS = "ansible_collections.kubeadm.control_plane.plugins.action"
# They call no module: nothing has happened after them that hadn't before.
NOTHING = ("assert", "debug", "fail", "include_role", "include_tasks", "meta", "set_fact", "validate_argument_spec")


class CallbackModule(CallbackBase):
    """Passes a point after each task that ran."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "passed_tasks"
    CALLBACK_NEEDS_ENABLED = True

    def v2_runner_on_ok(self, result: t.Any) -> None:
        """A task that succeeded."""
        _passed(result.task)

    def v2_runner_on_failed(self, result: t.Any, ignore_errors: bool = False) -> None:
        """A task that failed."""
        del ignore_errors
        _passed(result.task)

    def v2_runner_on_unreachable(self, result: t.Any) -> None:
        """A task whose host was not reached."""
        _passed(result.task)


def _passed(task: t.Any) -> None:
    action = str(task.resolved_action or task.action)
    if action.rpartition(".")[2] in NOTHING or _passes_by_itself(action):
        return
    # A role's name, which a path may stand for, and the task's.
    role, colon, name = str(task.get_name()).partition(" : ")
    failpoint(f"after task {role.rpartition('/')[2].rpartition('.')[2]}: {name}" if colon else f"after task {role}")


def _passes_by_itself(action: str) -> bool:
    collection, _dot, name = action.rpartition(".")
    if collection != "kubeadm.control_plane":
        return False
    try:
        found = importlib.import_module(f"{ACTIONS}.{name}").ActionModule
    except ModuleNotFoundError:
        return False
    return issubclass(found, ControlPlaneAction)
