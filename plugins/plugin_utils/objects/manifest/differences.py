# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Differences between stored objects and a manifest, without secrets."""

from __future__ import annotations

import difflib
import json
import re
import typing as t

from ....module_utils.common.redact import redact
from ...kubeadm.configuration.patch import is_secret_argument

Object = dict[str, t.Any]
HIDDEN, CHANGED = "(hidden)", "(hidden, and not what it was)"
_SHOWN = ("spec", "data", "stringData", "immutable", "type")
# Fields whose value is a secret, or may have any in it: files' contents are written to machines as they are.
_SECRET_FIELD = re.compile(
    r"^content$|passw|passphrase|token$|certificateKey|private[-_]?key$|secret[-_]?key$|api[-_]?key$|^authorization$",
    re.IGNORECASE,
)
# Of a Secret.
_OPEN = ("metadata", "type")


class ManifestDiff:
    """Changes of stored objects, collected while a manifest is applied."""

    def __init__(self) -> None:
        self._found: list[Object] = []

    def add(self, before: t.Optional[Object], after: Object) -> None:
        """Add an object as it was (None: new) and will be."""
        hidden = after["kind"] == "Secret"
        old, new = _shown(before or {}), _shown(after)
        metadata = after["metadata"]
        name = f"{after['kind']} {metadata.get('namespace', 'default')}/{metadata['name']}"
        self._found.append(
            {
                "before_header": f"{name} (store)" if before else f"{name} (not stored yet)",
                "after_header": f"{name} (manifest)",
                "before": _masked(old, new, hidden, HIDDEN) if before else {},
                "after": _masked(new, old, hidden, CHANGED if before else HIDDEN),
            }
        )

    def result(self) -> list[Object]:
        """Return the changes as a task's ``diff``."""
        return self._found

    def text(self) -> str:
        """Return the changes as unified diffs, "" without any."""
        return "\n".join(
            line
            for each in self._found
            for line in difflib.unified_diff(
                _lines(each["before"]), _lines(each["after"]), each["before_header"], each["after_header"], lineterm=""
            )
        )


def _lines(value: t.Any) -> list[str]:
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False).splitlines() if value else []


def _shown(obj: Object) -> Object:
    """Return the parts of an object that a manifest states."""
    metadata = obj.get("metadata") or {}
    found = {key: metadata[key] for key in ("labels", "annotations") if metadata.get(key)}
    return {**({"metadata": found} if found else {}), **{key: obj[key] for key in _SHOWN if obj.get(key)}}


def _masked(value: t.Any, other: t.Any, secret: bool, changed: str, key: str = "") -> t.Any:
    """Return a value without its secrets.

    Args:
        value: what is shown.
        other: the value at its place on the other side.
        secret: whether it is the content of a Secret.
        changed: what is shown in place of a secret that differs from the other side's.
        key: the name of its field.
    """
    if isinstance(value, dict):
        beside = other if isinstance(other, dict) else {}
        return {
            name: _masked(each, beside.get(name), hidden, changed, str(name))
            for name, each in value.items()
            for hidden in [(secret and name not in _OPEN) or _holds_secret(value, name, key)]
        }
    if isinstance(value, list):
        others = other if isinstance(other, list) else []
        return [
            _masked(each, others[number] if number < len(others) else None, secret, changed, key)
            for number, each in enumerate(value)
        ]
    if not isinstance(value, str):
        return value
    if secret or _SECRET_FIELD.search(key):
        return HIDDEN if value == other else changed
    told = redact(value)
    return told if told == value or value == other else f"{told} {changed}"


def _holds_secret(holder: Object, name: str, key: str) -> bool:
    """Return whether a field of a mapping may be secret.

    `key` is the name of the field that the mapping, or its list, is in.
    """
    if key == "annotations":
        # kubectl and others keep the whole object in one, and Actions note their change: contents of Secrets and files included.
        return str(holder[name]).lstrip().startswith(("{", "["))
    if name not in ("value", "valueFrom"):
        return False
    return key == "extraEnvs" or is_secret_argument(str(holder.get("name")), str(holder[name]))
