# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conversion of one kubeadm structure to the hub form.

The structure may be of any API version or in the hub form already.

Source: docs/reference/kubeadm.md, "Fields", "Conversion".

What the hub cannot express is kept beside what it can: a structure's `unconverted` holds the fields that its API version does not have
(or whose value the hub's units cannot hold) as they were written. render.py writes them back into the same API version and refuses
to drop them in another.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from ....module_utils.common import kubernetes_versions
from ....module_utils.common.violations import Report, child, item
from ...documents.scalars import parse_duration
from ...documents.schema import ABSENT, MapOf, check
from . import fields, kinds

UNCONVERTED = "unconverted"
HUB = 0

_SIMPLE: Mapping[str, Any] = {
    fields.STRING: "string",
    fields.INTEGER: "integer",
    fields.BOOLEAN: "boolean",
    fields.STRINGS: ["string"],
    fields.GATES: MapOf("boolean"),
    fields.TIME: "timestamp",
    fields.OBJECT: "object",
}
_SECONDS_A_DAY = 24 * 3600
# (structure, removed field): what carries the value in the hub is decided where all documents are known.
HEALTH_TIMEOUT = ("APIServer", "timeoutForControlPlane")
DISCOVERY_TIMEOUT = ("Discovery", "timeout")


class Reader:
    """Reader of structures of one API version.

    The version is number `api`; HUB = the hub form, where Cluster API's classic names are understood too.

    `report` gets what is wrong, `warnings` what was kept without being understood, `moved` the removed fields that have a
    successor in another structure: (structure, field) -> (value in seconds, path as written).
    """

    def __init__(self, api: int, report: Report, warnings: list[str]) -> None:
        self.api = api
        self.report = report
        self.warnings = warnings
        self.moved: dict[tuple[str, str], tuple[int, str]] = {}

    @property
    def _name(self) -> str:
        return kubernetes_versions.api(self.api).name

    def structure(self, struct: fields.Struct, value: Any, path: str, hub: str) -> dict[str, Any]:
        """Return the hub form of `value`.

        It is written at `path`; the hub has it at `hub`.
        """
        if not isinstance(value, dict):
            check(value, {}, path, self.report)
            return {}
        result: dict[str, Any] = {}
        kept: dict[str, Any] = {}
        for key, entry in value.items():
            field = self._field(struct, key)
            where = child(path, key)
            if field is None:
                self._unknown(struct, key, entry, where, kept, result)
            elif entry is not None:
                self._known(struct, field, key, entry, (where, child(hub, field.hub_name)), result, kept)
        if kept:
            result[UNCONVERTED] = {"apiVersion": kubernetes_versions.api(self.api).api_version, "fields": kept}
        return result

    def _field(self, struct: fields.Struct, key: str) -> fields.Field | None:
        field = struct.by_name.get(key)
        if self.api == HUB:
            return struct.by_hub_name.get(key) or field
        return field if field is not None and field.since <= self.api <= field.until else None

    def _unknown(
        self,
        struct: fields.Struct,
        key: str,
        entry: Any,
        path: str,
        kept: dict[str, Any],
        result: dict[str, Any],
    ) -> None:
        if self.api != HUB:
            kept[key] = entry
            self.warnings.append(
                f"{path}: kubeadm {self._name} has no such field in {struct.name}. {self._advice(struct, key)} "
                f"It is kept for {self._name} only."
            )
        elif key == UNCONVERTED and _is_unconverted(entry):
            result[UNCONVERTED] = entry
        else:
            rule = f"kubeadm's {struct.name} has no field of this name"
            self.report.unreadable(path, None, rule, self._advice(struct, key))

    def _advice(self, struct: fields.Struct, key: str) -> str:
        field = struct.by_name.get(key)
        if field is not None:
            last = f" to {kubernetes_versions.api(field.until).name}" if field.until < fields.ENDLESS else " on"
            return (
                f"It is a field of {kubernetes_versions.api(field.since).name}{last}: correct apiVersion, or remove it."
            )
        known = {f.name.lower(): f.name for f in struct.fields if self.api == HUB or f.since <= self.api <= f.until}
        near = difflib.get_close_matches(key.lower(), known, 1, 0.75)
        return f"Did you mean {known[near[0]]}?" if near else "Remove it unless you know better."

    def _known(
        self,
        struct: fields.Struct,
        field: fields.Field,
        key: str,
        entry: Any,
        paths: tuple[str, str],
        result: dict[str, Any],
        kept: dict[str, Any],
    ) -> None:
        where, hub = paths
        if not field.hub:
            self._removed(struct, field, entry, where, kept)
            return
        converted = self._value(field, key, entry, where, hub)
        if converted is None:
            kept[key] = entry
        elif converted is not ABSENT:
            result[field.hub_name] = converted

    def _value(self, field: fields.Field, key: str, entry: Any, path: str, hub: str) -> Any:
        """Return the hub's value of a field.

        None when the hub's units cannot hold it, ABSENT after a violation.
        """
        kind = field.type
        if kind in _SIMPLE:
            return check(entry, _SIMPLE[kind], path, self.report)
        if kind in (fields.DURATION, fields.DAYS):
            return self._duration(field, key, entry, path, hub)
        if kind == fields.ARGS and (isinstance(entry, dict) if self.api == HUB else self.api < 4):
            return self._argument_map(entry, path, hub)
        struct = field.struct or fields.ENTRIES[kind]
        if kind == fields.STRUCT:
            return self.structure(struct, entry, path, hub) if self._is(entry, dict, path) else ABSENT
        if kind == fields.STRUCT_MAP:
            if not self._is(entry, dict, path):
                return ABSENT
            return {
                name: self.structure(struct, one, child(path, name), child(hub, name)) for name, one in entry.items()
            }
        if not self._is(entry, list, path):
            return ABSENT
        return [self.structure(struct, one, item(path, index), item(hub, index)) for index, one in enumerate(entry)]

    def _is(self, entry: Any, kind: type, path: str) -> bool:
        if not isinstance(entry, kind):
            check(entry, {} if kind is dict else ["any"], path, self.report)
            return False
        return True

    def _argument_map(self, entry: Any, path: str, hub: str) -> Any:
        checked = check(entry, MapOf("string"), path, self.report)
        if checked is ABSENT:
            return ABSENT
        # Sorted, as kubeadm's own conversion does (docs/reference/kubeadm.md, "Conversion").
        names = sorted(checked)
        for index, name in enumerate(names):
            self.report.moved(item(hub, index), child(path, name))
        return [{"name": name, "value": checked[name]} for name in names]

    def _duration(self, field: fields.Field, key: str, entry: Any, path: str, hub: str) -> Any:
        days = field.type == fields.DAYS
        if self.api == HUB and key == field.hub_name:
            return check(entry, "days" if days else "seconds", path, self.report)
        if check(entry, "duration", path, self.report) is ABSENT:
            return ABSENT
        self.report.moved(hub, path)
        unit = _SECONDS_A_DAY if days else 1
        seconds = parse_duration(entry) or 0.0
        if seconds >= 0 and seconds % unit == 0:
            return int(seconds) // unit
        expected = "days" if days else "seconds"
        if self.api == HUB:
            self.report.unreadable(path, entry, f"the duration is not a whole number of {expected}", "Round it.")
            return ABSENT
        self.warnings.append(
            f"{path}: {entry!r} is not a whole number of {expected}. It is kept for {self._name} only."
        )
        return None

    def _removed(self, struct: fields.Struct, field: fields.Field, entry: Any, path: str, kept: dict[str, Any]) -> None:
        if field.type == fields.DURATION:
            seconds = self._duration(field, field.name, entry, path, path)
            if seconds is None:
                kept[field.name] = entry
            elif seconds is not ABSENT:
                self.moved[struct.name, field.name] = (seconds, path)
        elif field.name == "useHyperKubeImage":
            if check(entry, "boolean", path, self.report) is True:
                self._hyperkube(path, kept)
        elif check(entry, "string", path, self.report) not in (ABSENT, "", "CoreDNS"):
            rule = "kubeadm sets up CoreDNS only; kube-dns was removed"
            self.report.unreadable(path, entry, rule, "Remove the field.")

    def _hyperkube(self, path: str, kept: dict[str, Any]) -> None:
        rule, fix = "kubeadm removed hyperkube images, there is no replacement", "Remove the field."
        if self.api == HUB:
            self.report.unreadable(path, True, rule, fix)
            return
        kept["useHyperKubeImage"] = True
        self.warnings.append(f"{path}: {rule}. It is kept for v1beta1 and v1beta2 only.")


def _is_unconverted(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and set(entry) == {"apiVersion", "fields"}
        and kinds.api_number(str(entry["apiVersion"])) is not None
        and isinstance(entry["fields"], dict)
    )
