# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Patch of a configuration: merge, check and description (RFC 7386).

Source: docs/reference/kubeadm.md, "Reconfiguring", "Fields".

In ClusterConfiguration the entries of ``extraArgs``, ``extraVolumes`` and ``extraEnvs`` are merged by their names; any other list takes
the place of the old one. ``null`` removes a field or an argument, ``$patch: delete`` an entry of a list.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from ....module_utils.common import kubernetes_versions
from ....module_utils.common.violations import Report, child, describe, item
from ...documents.yaml_files import read_documents
from . import decode, fields, kinds, render, validate

Object = dict[str, Any]
STRUCT = fields.CLUSTER_CONFIGURATION
_NAMED = (fields.ARGS, fields.ENVS, fields.VOLUMES)
_DELETE = "$patch"
# Arguments whose value is a secret itself rather than the path of a file.
_SECRET_ARGUMENT = re.compile(r"(token|secret|passw|credential|key)", re.IGNORECASE)
_PLAIN_VALUE = re.compile(r"true|false|[0-9]+[a-z]*|RSA.*|ECDSA.*|/.*")
_HIDDEN = "(not shown)"
_ABSENT = "not set"
_SHOWN = 200


class UnreadableConfiguration(Exception):
    """Failure to read a configuration of the cluster, with the reason."""


@dataclass(frozen=True)
class Stored:
    """ClusterConfiguration of the cluster: its API version's number and hub form."""

    api: int
    hub: Object


def read_cluster_configuration(text: str) -> Stored:
    """Read the ConfigMap's ClusterConfiguration. Raises UnreadableConfiguration."""
    document = read_component(text, "ClusterConfiguration")
    api = kinds.api_number(str(document.get("apiVersion")))
    if api is None:
        raise UnreadableConfiguration(
            f"its apiVersion {str(document.get('apiVersion'))[:80]!r} is none of kubeadm's that are read here"
        )
    report = Report("ClusterConfiguration")
    content = {name: value for name, value in document.items() if name not in ("apiVersion", "kind")}
    hub = decode.Reader(api, report, []).structure(STRUCT, content, "", "")
    if report.violations:
        raise UnreadableConfiguration(report.violations[0].text())
    return Stored(api, _without(hub, decode.UNCONVERTED))


def read_component(text: str, kind: str) -> Object:
    """Return the one document of a ConfigMap's text. Raises UnreadableConfiguration."""
    try:
        found = [document for document in read_documents(text) if document is not None]
    except ValueError as error:
        raise UnreadableConfiguration(str(error)) from error
    if len(found) != 1 or not isinstance(found[0], dict) or found[0].get("kind", kind) != kind:
        raise UnreadableConfiguration(f"it is not one document of the kind {kind}")
    return dict(found[0])


def merge_cluster_configuration(
    before: Mapping[str, Any], patch: Mapping[str, Any], path: str, report: Report
) -> Object:
    """Return the ClusterConfiguration (hub form) after a patch.

    The patch is in the hub form or Cluster API's classic form; ``report`` gets what is wrong with it.
    """
    return _struct(STRUCT, before, patch, path, report)


def check_cluster_configuration(
    hub: Mapping[str, Any], api: Optional[int], version: str, path: str, report: Report
) -> None:
    """Report what kubeadm of this version would refuse.

    Reported is also what its API version ``api`` can't hold.
    """
    parsed = kubernetes_versions.parse(version)
    validate.validate({"clusterConfiguration": hub}, path.rpartition(".")[0], parsed, report)
    number = kubernetes_versions.api_version_for(version).number if api is None else api
    part = kinds.BY_KEY["clusterConfiguration"]
    render.document(part, hub, path.rpartition(".")[0], render.Target(number, parsed, report))


def merge(before: Any, patch: Any) -> Any:
    """Return `before` after a JSON merge patch (RFC 7386)."""
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    result: Object = copy.deepcopy(dict(before)) if isinstance(before, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


def changes(before: Mapping[str, Any], after: Mapping[str, Any], root: str) -> tuple[str, ...]:
    """Return every difference of two configurations in words, by path.

    Values that may be secret are left out.
    """
    old, new = dict(_leaves(before, root)), dict(_leaves(after, root))
    lines = []
    for path in sorted({*old, *new}):
        if old.get(path) != new.get(path):
            texts = [_ABSENT if path not in each else each[path].shown for each in (old, new)]
            lines.append(f"{path}: {texts[0]} -> {texts[1]}")
    return tuple(lines)


def fields_of(patch: Mapping[str, Any], path: str = "") -> tuple[str, ...]:
    """Return the paths of the fields that a merge patch contains."""
    found: list[str] = []
    for key, value in patch.items():
        below = f"{path}.{key}" if path else str(key)
        found += fields_of(value, below) if isinstance(value, Mapping) and value else (below,)
    return tuple(sorted(found))


def without_secrets(patch: Any, name: str = "") -> Any:
    """Return a patch to show, without values that may be secret."""
    if isinstance(patch, Mapping):
        if name == "extraArgs":
            return {key: _argument_shown(str(key), value) for key, value in patch.items()}
        return {key: without_secrets(value, str(key)) for key, value in patch.items()}
    if isinstance(patch, list):
        if name in ("extraArgs", "extraEnvs"):
            return [
                {key: _entry_shown(each, str(key), name) for key in each} if isinstance(each, Mapping) else each
                for each in patch
            ]
        return [without_secrets(each) for each in patch]
    return patch


def classic(sections: Any, name: str = "") -> Any:
    """Return hub sections in the form of manifests before v1beta2.

    Arguments become a map, in which a repeated one keeps its last value.
    """
    if isinstance(sections, Mapping):
        return {key: classic(value, str(key)) for key, value in sections.items()}
    if isinstance(sections, list) and name == "extraArgs":
        return {str(each.get("name")): each.get("value") for each in sections}
    return sections


def _argument_shown(name: str, value: Any) -> Any:
    return value if value is None or _argument(name, str(value)).shown != _HIDDEN else _HIDDEN


def _entry_shown(entry: Mapping[str, Any], key: str, name: str) -> Any:
    if key not in ("value", "valueFrom"):
        return entry[key]
    return _HIDDEN if name == "extraEnvs" else _argument_shown(str(entry.get("name")), entry[key])


@dataclass(frozen=True)
class _Leaf:
    text: str
    shown: str


def _leaves(value: Any, path: str, name: str = "") -> list[tuple[str, _Leaf]]:
    if isinstance(value, Mapping):
        return [pair for key in value for pair in _leaves(value[key], child(path, str(key)), str(key))]
    if isinstance(value, list) and value and all(isinstance(each, Mapping) and each.get("name") for each in value):
        if name.endswith("xtraArgs"):
            grouped: dict[str, list[str]] = {}
            for each in value:
                grouped.setdefault(str(each["name"]), []).append(str(each.get("value")))
            return [(child(path, key), _argument(key, ",".join(texts))) for key, texts in grouped.items()]
        return [
            (
                child(path, str(each["name"])),
                _entry({key: one for key, one in each.items() if key != "name"}, name == "extraEnvs"),
            )
            for each in value
        ]
    return [(path, _leaf(value))]


def is_secret_argument(name: str, text: str) -> bool:
    """Return whether an argument's value may be secret, by its name."""
    return bool(_SECRET_ARGUMENT.search(name)) and not _PLAIN_VALUE.fullmatch(text)


def _argument(name: str, text: str) -> _Leaf:
    return _Leaf(text, _HIDDEN if is_secret_argument(name, text) else json.dumps(text, ensure_ascii=False)[:_SHOWN])


def _entry(value: Mapping[str, Any], hidden: bool) -> _Leaf:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return _Leaf(text, _HIDDEN if hidden else text[:_SHOWN])


def _leaf(value: Any) -> _Leaf:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return _Leaf(text, text[:_SHOWN])


def _struct(struct: fields.Struct, before: Any, patch: Mapping[str, Any], path: str, report: Report) -> Object:
    result: Object = copy.deepcopy(dict(before)) if isinstance(before, Mapping) else {}
    for key, value in patch.items():
        where = child(path, str(key))
        field = struct.by_hub_name.get(key) or struct.by_name.get(key)
        if field is not None and not field.hub:
            rule = "this field is not part of the cluster's configuration any more"
            report.add(where, None, rule, "Remove it; timeouts belong to initConfiguration and joinConfiguration.")
        elif field is None:
            # Its own words for a name that is none, with the name that was probably meant.
            decode.Reader(decode.HUB, report, []).structure(struct, {key: value}, path, path)
        elif value is None:
            result.pop(field.hub_name, None)
        else:
            _put(struct, field, key, value, (where, path), result, report)
    return result


def _put(
    struct: fields.Struct,
    field: fields.Field,
    key: str,
    value: Any,
    paths: tuple[str, str],
    result: Object,
    report: Report,
) -> None:
    where, path = paths
    present = result.get(field.hub_name)
    if field.type == fields.STRUCT and field.struct is not None:
        if isinstance(value, Mapping):
            result[field.hub_name] = _struct(field.struct, present, value, where, report)
        else:
            report.add(where, None, f"this must be a mapping, not {describe(value)}", "Write its fields.")
        return
    if field.type in _NAMED:
        result[field.hub_name] = _named(struct, field, present or [], value, (where, path, key), report)
    elif field.type == fields.GATES and isinstance(value, Mapping):
        given = {name: one for name, one in value.items() if one is not None}
        read = _read(struct, key, given, path, report)
        result[field.hub_name] = {
            **{name: one for name, one in (present or {}).items() if name not in value},
            **(read or {}),
        }
    else:
        read = _read(struct, key, value, path, report)
        if read is not None:
            result[field.hub_name] = read
    if result.get(field.hub_name) in ([], {}):
        del result[field.hub_name]


def _named(
    struct: fields.Struct,
    field: fields.Field,
    present: Sequence[Any],
    value: Any,
    paths: tuple[str, str, str],
    report: Report,
) -> list[Any]:
    """Return entries merged by name.

    They are in the order of the names' first appearance.
    """
    where, path, key = paths
    removed: set[str] = set()
    if isinstance(value, Mapping) and field.type == fields.ARGS:
        removed = {str(name) for name, one in value.items() if one is None}
        given: Any = {name: one for name, one in value.items() if one is not None}
    elif isinstance(value, list):
        given = []
        for index, each in enumerate(value):
            if isinstance(each, Mapping) and each.get(_DELETE) == "delete" and each.get("name"):
                removed.add(str(each["name"]))
            elif isinstance(each, Mapping) and not each.get("name"):
                report.add(
                    child(item(where, index), "name"),
                    None,
                    "entries are merged by name, and this one has none",
                    "Give it one.",
                )
            else:
                given.append(each)
    else:
        given = value
    read = _read(struct, key, given, path, report) or []
    names = {str(each.get("name")) for each in read}
    kept = [copy.deepcopy(each) for each in present if str(each.get("name")) not in removed]
    result: list[Any] = []
    placed: set[str] = set()
    for each in kept:
        name = str(each.get("name"))
        if name not in names:
            result.append(each)
        elif name not in placed:
            placed.add(name)
            result += [one for one in read if str(one.get("name")) == name]
    return result + [one for one in read if str(one.get("name")) not in placed]


def _read(struct: fields.Struct, key: str, value: Any, path: str, report: Report) -> Any:
    """Return a field's value in the hub form, None after a violation."""
    read = decode.Reader(decode.HUB, report, []).structure(struct, {key: value}, path, path)
    return next(iter(read.values()), None)


def _without(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return {key: _without(one, name) for key, one in value.items() if key != name}
    if isinstance(value, list):
        return [_without(one, name) for one in value]
    return value
