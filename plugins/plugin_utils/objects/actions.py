# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action, TaskGroup and Task: kinds, labels, and conversion to one form.

Sources: the kubeadm operator's proposal; docs/reference/kubeadm_operator.md, "Names", "Status and phases".
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, NamedTuple

Object = dict[str, Any]


class FieldError(NamedTuple):
    """Error in a field: its path, value, broken rule and fix.

    The path is such as "spec.upgrade.targetVersion".
    """

    path: str
    value: Any
    rule: str
    fix: str


GROUP = "operator.kubeadm.x-k8s.io"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"
ACTION = "Action"
TASK_GROUP = "TaskGroup"
TASK = "Task"
KINDS = (ACTION, TASK_GROUP, TASK)
# The names of the proof of concept that followed the proposal (docs/reference/kubeadm_operator.md, "Names").
LATER_NAMES: Mapping[str, str] = {"Operation": ACTION, "RuntimeTaskGroup": TASK_GROUP, "RuntimeTask": TASK}

LABEL_ACTION = GROUP + "/action"
LABEL_UID = GROUP + "/uid"
LABEL_TASK_GROUP = GROUP + "/taskgroup"
LABEL_ORDER = GROUP + "/order"

AUTO = "Auto"
CONTROLLED = "Controlled"
DRY_RUN = "DryRun"
MODES = (AUTO, CONTROLLED, DRY_RUN)
RETRY = "RetryFailedCommand"
SKIP = "SkipFailedCommand"
RECOVERIES = (RETRY, SKIP)

UPGRADE = "upgrade"
CUSTOM = "custom"
# The kinds of Actions. Each is a folder of plugin_utils/operator, which operator/kinds.py finds by this name.
ACTIONS = (
    UPGRADE,
    "renewCertificates",
    "rotateCertificateAuthorities",
    "changeConfiguration",
    CUSTOM,
)

# The proposal's "CustomAction type": a kind of its own for what is a field of an Action here.
CUSTOM_ACTION = "CustomAction"

# What a person changes while an Action goes on; everything else is frozen.
FLOW_FIELDS = ("paused", "abort", "leftOut", "recoveryMode", "approved")

COMMAND_ALIASES: Mapping[str, str] = {
    "alphaCertsRenew": "kubeadmRenewCertificates",
    "upgradeKubeletAndKubeactl": "upgradeKubeletAndKubectl",
}
# Every field of the one form, as documents/schema.py describes fields: what is checked, and what an API server is told. What one kind of
# Action asks for inside its own field, and what a command's parameters are, is checked by whoever carries it out.
_ROOT: Mapping[str, Any] = {
    "executionMode": "string",
    "paused": "boolean",
    "abort": "boolean",
    "leftOut": ["string"],
}
_GROUP: Mapping[str, Any] = {
    "nodeSelector": "object",
    "nodeNames": ["string"],
    "nodeFilter": "string",
    "selector": "object",
    "template": "object",
    "policy": "string",
    "maxUnavailable": "integer",
}
SPECS: Mapping[str, Mapping[str, Any]] = {
    ACTION: {**dict.fromkeys(ACTIONS, "object"), **_ROOT},
    TASK_GROUP: {**_GROUP, **_ROOT},
    TASK: {"nodeName": "string", "commands": ["object"], "recoveryMode": "string", "approved": "boolean", **_ROOT},
}
# A status has more than what people select by.
STATUS: Mapping[str, Any] = {
    "phase": "string",
    "paused": "boolean",
    "startTime": "timestamp",
    "completionTime": "timestamp",
    "abortTime": "timestamp",
    "clusterUID": "string",
    "commandProgress": "string",
    "errorReason": "string",
    "errorMessage": "string",
    "message": "string",
}
# What a workflow says of each of its groups.
WORKFLOW_FIELDS = tuple(_GROUP)
GROUP_FIELDS = tuple(SPECS[TASK_GROUP])
TASK_FIELDS = tuple(SPECS[TASK])
ACTION_FIELDS = tuple(SPECS[ACTION])


def is_operator_object(data: Mapping[str, Any]) -> bool:
    """Return whether a document's apiVersion has the operator's API group."""
    return str(data.get("apiVersion", "")).partition("/")[0] == GROUP


def to_hub(data: Mapping[str, Any]) -> tuple[Object, list[FieldError]]:
    """Return a written object in the hub form, and its errors.

    The form: the kinds of the kubeadm operator's proposal;
    an upgrade's ``targetVersion``; commands in lists, each a mapping of one name to its parameters.
    """
    errors: list[FieldError] = []
    made: Object = copy.deepcopy(dict(data))
    kind = str(made.get("kind"))
    made["kind"] = LATER_NAMES.get(kind, kind)
    if kind == CUSTOM_ACTION:
        _custom_action(made)
    if made["kind"] not in KINDS:
        known = ", ".join((*KINDS, *LATER_NAMES, CUSTOM_ACTION))
        return made, [FieldError("kind", kind, f"must be one of {known}", "Correct it.")]
    if made.get("apiVersion") != API_VERSION:
        return made, [FieldError("apiVersion", made.get("apiVersion"), f"must be {API_VERSION}", "Correct it.")]
    made.pop("status", None)
    spec = made.get("spec")
    if not isinstance(spec, dict):
        rule = "must be a mapping that says what is to be done"
        return made, [FieldError("spec", None, rule, "Write such as: spec: {renewCertificates: {}}.")]
    if made["kind"] == ACTION:
        _action(spec, errors)
    elif made["kind"] == TASK_GROUP:
        made["spec"] = group_spec(spec, "spec", errors)
    else:
        made["spec"] = _task_spec(spec, "spec", TASK_FIELDS, errors)
    return made, errors


def _custom_action(made: Object) -> None:
    """Convert a CustomAction to an Action, in place.

    Fields that not every Action has become the content of ``custom``.
    """
    made["kind"] = ACTION
    spec = made.get("spec")
    if isinstance(spec, dict) and CUSTOM not in spec:
        own = {key: value for key, value in spec.items() if key not in _ROOT}
        made["spec"] = {**{key: value for key, value in spec.items() if key in _ROOT}, CUSTOM: own}


def _action(spec: Object, errors: list[FieldError]) -> None:
    upgrade = spec.get(UPGRADE)
    if isinstance(upgrade, dict) and "kubernetesVersion" in upgrade:
        later = upgrade.pop("kubernetesVersion")
        if upgrade.setdefault("targetVersion", later) != later:
            rule = "targetVersion and kubernetesVersion are two names of one field and differ"
            errors.append(FieldError("spec.upgrade.kubernetesVersion", later, rule, "Give targetVersion alone."))
    custom = spec.get(CUSTOM)
    if isinstance(custom, dict) and isinstance(custom.get("workflow"), list):
        custom["workflow"] = [
            _workflow_group(each, f"spec.custom.workflow[{index}]", errors)
            for index, each in enumerate(custom["workflow"])
        ]


def _workflow_group(entry: Any, path: str, errors: list[FieldError]) -> Any:
    """Return a group of a custom workflow as {name, spec}.

    It is written so, or as a TaskGroup with metadata, or flat.
    """
    if not isinstance(entry, dict):
        errors.append(FieldError(path, None, "must be a mapping", "Write a TaskGroup: name, nodeSelector, template."))
        return entry
    metadata = entry.get("metadata")
    name = entry.get("name", metadata.get("name") if isinstance(metadata, dict) else None)
    if isinstance(entry.get("spec"), dict):
        return {"name": name, "spec": group_spec(entry["spec"], f"{path}.spec", errors)}
    flat = {key: value for key, value in entry.items() if key not in ("name", "metadata", "apiVersion", "kind")}
    return {"name": name, "spec": group_spec(flat, path, errors)}


def group_spec(spec: Mapping[str, Any], path: str, errors: list[FieldError]) -> Object:
    """Return a TaskGroup's spec in the hub form."""
    made = {key: value for key, value in spec.items() if key not in ("createStrategy", "commands")}
    if "createStrategy" in spec:
        made.setdefault("policy", spec["createStrategy"])
    template = made.get("template", {})
    if "commands" in spec:
        template = {"spec": {"commands": spec["commands"]}, **(template if isinstance(template, dict) else {})}
    if not isinstance(template, dict):
        errors.append(
            FieldError(f"{path}.template", None, "must be a mapping", "Write template: {spec: {commands: []}}.")
        )
        return made
    inner = template.get("spec", {key: value for key, value in template.items() if key != "metadata"})
    metadata = template.get("metadata")
    made["template"] = {"spec": _task_spec(inner, f"{path}.template.spec", ("commands",), errors)}
    if isinstance(metadata, dict) and metadata:
        made["template"]["metadata"] = metadata
    return made


def _task_spec(spec: Any, path: str, known: tuple[str, ...], errors: list[FieldError]) -> Object:
    """Return a Task's spec with its commands in a list.

    The proposal has one command right in the spec.
    """
    if not isinstance(spec, dict):
        errors.append(FieldError(path, None, "must be a mapping", "Write commands: [...] in it."))
        return {"commands": []}
    inline = [key for key in spec if key not in known]
    made = {key: value for key, value in spec.items() if key in known}
    commands = made.get("commands", [])
    if not isinstance(commands, list):
        errors.append(FieldError(f"{path}.commands", None, "must be a list", "Write one command an entry."))
        commands = []
    if inline and commands:
        rule = f"has commands and, beside them, {', '.join(sorted(inline))}"
        errors.append(FieldError(path, None, rule, "Put all of them into commands, in their order."))
    elif len(inline) > 1:
        rule = f"names {len(inline)} commands ({', '.join(sorted(inline))}), whose order is unknown"
        errors.append(FieldError(path, None, rule, "Put them into a list commands, in their order."))
    elif inline:
        commands = [{inline[0]: spec[inline[0]]}]
    made["commands"] = [_descriptor(each) for each in commands]
    return made


def _descriptor(descriptor: Any) -> Any:
    if isinstance(descriptor, str):
        descriptor = {descriptor: {}}
    if not isinstance(descriptor, dict):
        return descriptor
    return {COMMAND_ALIASES.get(name, name): value if value is not None else {} for name, value in descriptor.items()}


def kind_ref(kind: str) -> tuple[str, str]:
    """Return the (apiGroup, kind) of a kind in a store."""
    return GROUP, kind


def label(obj: Mapping[str, Any]) -> str:
    """Return an object's name for messages: "Task prod-upgrade-1-01-upgrade-cp-1-node-a"."""
    return f"{obj['kind']} {obj['metadata']['name']}"


def what(root: Mapping[str, Any]) -> str:
    """Return the type of an Action: its field, such as "upgrade".

    A detached TaskGroup or a detached Task returns its kind.
    """
    if root["kind"] != ACTION:
        return str(root["kind"])
    return next((each for each in ACTIONS if each in root["spec"]), ACTION)


def finished(root: Mapping[str, Any]) -> bool:
    """Return whether an Action has finished: completed, or aborted by the user."""
    status = root.get("status") or {}
    return bool(status.get("completionTime") or status.get("abortTime"))


def started(root: Mapping[str, Any]) -> bool:
    """Return whether an Action has started, which freezes its plan."""
    return bool((root.get("status") or {}).get("plan"))


def of_cluster(root: Mapping[str, Any], uid: str) -> bool:
    """Return whether an Action belongs to the cluster with that uid.

    It may belong to an earlier cluster of the same name.
    """
    own = (root.get("status") or {}).get("clusterUID")
    return not own or not uid or own == uid


def under_way(root: Mapping[str, Any], uid: str) -> bool:
    """Return whether an Action has started on that cluster and not finished."""
    return started(root) and not finished(root) and of_cluster(root, uid)


def detached(obj: Mapping[str, Any]) -> bool:
    """Return whether an object has no parent.

    That is an Action always, and a TaskGroup or Task without an owner.
    """
    return obj["kind"] == ACTION or not obj["metadata"].get("ownerReferences")
