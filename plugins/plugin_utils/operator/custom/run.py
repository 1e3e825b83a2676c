# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions that run the user's programs, files, modules and roles, and records.

The records are of in-place changes.
"""

from __future__ import annotations

import base64
import time
import typing as t

from ....module_utils.common import settings
from ...objects.actions import CUSTOM, what
from ...records import in_place_changes
from ..tasks import manifest_update
from ..tasks.context import CommandFailure, Run, TaskContext
from ..tasks.user_role import RoleRun

Parameters = t.Mapping[str, t.Any]


def _pass(context: TaskContext, _parameters: Parameters) -> None:
    context.note("nothing was to be done")


def _fail(_context: TaskContext, parameters: Parameters) -> None:
    raise CommandFailure(str(parameters["message"]))


def _wait(context: TaskContext, parameters: Parameters) -> None:
    end = time.monotonic() + parameters["seconds"]
    shown = time.monotonic()
    while time.monotonic() < end:
        time.sleep(min(0.5, max(0.0, end - time.monotonic())))
        if time.monotonic() - shown >= settings.PROGRESS_SECONDS:
            shown = time.monotonic()
            context.progress(f"waits {end - shown:.0f} s more")


def _command(context: TaskContext, parameters: Parameters) -> None:
    context.check_lock()
    context.run(
        parameters["argv"],
        timeout_seconds=parameters["timeoutSeconds"],
        ok=tuple(parameters["exitCodes"]),
    )


def _file(context: TaskContext, parameters: Parameters) -> None:
    context.check_lock()
    call: dict[str, t.Any] = {key: parameters[key] for key in ("path", "mode", "owner", "group", "state")}
    if parameters["state"] == "present":
        call.update(content=base64.b64encode(_content(context, parameters)).decode(), encoding="base64")
    done = context.call("node_file", {**call, "fencing": context.fencing})
    context.note(f"{parameters['path']} " + ("was changed" if done["changed"] else "is already as it is to be"))


def _content(context: TaskContext, parameters: Parameters) -> bytes:
    secret = parameters["secret"]
    if secret is None:
        return str(parameters["content"]).encode()
    found = context.secret(secret["name"])
    if found is None or secret["key"] not in found:
        raise CommandFailure(
            f"the store has no Secret {secret['name']} with a key {secret['key']}; nothing was written. Add it, then retry."
        )
    return found[secret["key"]]


def _module(context: TaskContext, parameters: Parameters) -> None:
    context.check_lock()
    done = context.module(str(parameters["name"]), parameters["args"])
    context.note(f"{parameters['name']}: " + ("changed" if done.get("changed") else "nothing was to be changed"))


def _role(context: TaskContext, parameters: Parameters) -> None:
    context.check_lock()
    RoleRun(context, parameters).run()


def _record_machine(context: TaskContext, parameters: Parameters) -> None:
    if not context.node.machine:
        context.note("the store has no Machine of this Node, so there is nothing to record")
        return
    changed = in_place_changes.record_on_machine(
        context.objects,
        context.node.machine,
        parameters["version"],
        parameters["clusterConfiguration"],
        bool(parameters["certificates"]),
    )
    for each in changed or ["already recorded"]:
        context.note(each)


def _record_control_plane(context: TaskContext, parameters: Parameters) -> None:
    version, patch = parameters["version"], parameters["clusterConfiguration"]
    kind = what(context.action)
    name = f"{context.action['metadata']['name']} ({kind if kind != CUSTOM else 'custom'})"
    if version:
        # Before the store: by that a later Action sees whether this was completed.
        context.note(f"manifest: {manifest_update.follow_version(context.arguments, version)}")
    changed = in_place_changes.record_on_control_plane(context.objects, version, patch, name)
    for each in changed or ["already recorded"]:
        context.note(f"KubeadmControlPlane: {each}")
    if patch is not None:
        said = manifest_update.configuration_to_follow(context.arguments, patch)
        if said:
            context.note(f"manifest: {said}")


REGISTRY: dict[str, Run] = {
    "pass": _pass,
    "fail": _fail,
    "wait": _wait,
    "command": _command,
    "file": _file,
    "module": _module,
    "role": _role,
    "recordMachine": _record_machine,
    "recordControlPlane": _record_control_plane,
}
