# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the kinds of in-place changes are made of: Action, TaskGroup and Task (seed 004).

What an action asks for is checked by who carries it out, since each has fields of its own; here are the fields that every one of them has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.kubeadm.control_plane.plugins.module_utils.objects.schema import MapOf

GROUP = "operator.kubeadm.x-k8s.io"
VERSION = "v1alpha1"
PROVIDER = "operator-kubeadm"
ACTION, TASK_GROUP, TASK = "Action", "TaskGroup", "Task"
NAMES = (ACTION, TASK_GROUP, TASK)

# What a person sets or changes while one goes on.
_FLOW: Mapping[str, Any] = {"executionMode": "string", "paused": "boolean", "abort": "boolean"}
SPECS: Mapping[str, Mapping[str, Any]] = {
    ACTION: _FLOW,
    TASK_GROUP: {**_FLOW, "nodeSelector": MapOf("string"), "nodeNames": ["string"], "template": "object"},
    TASK: {**_FLOW, "nodeName": "string", "commands": ["object"], "recoveryMode": "string", "approved": "boolean"},
}
STATUS: Mapping[str, Any] = {
    "phase": "string",
    "paused": "boolean",
    "startTime": "timestamp",
    "completionTime": "timestamp",
    "errorReason": "string",
    "errorMessage": "string",
}
EXECUTION_MODES = ("Auto", "Controlled", "DryRun")
