# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Annotations with which a user sets the pace of changes (docs/manifest.md, "Annotations").

They are read, and every violation is reported.
"""

from __future__ import annotations

import datetime
import difflib
import re
import zoneinfo
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Optional

from ...module_utils.common import settings
from ...module_utils.common.violations import Report, child, item
from ..documents import names, schema
from ..documents.scalars import parse_duration
from ..documents.yaml_files import read_documents
from . import kinds

try:
    import jmespath
    from jmespath.functions import Functions

    HAS_JMESPATH = True
except ImportError:
    HAS_JMESPATH = False

try:
    from cronsim import CronSim, CronSimError

    HAS_CRONSIM = True
except ImportError:
    HAS_CRONSIM = False

# On which kinds each has a meaning.
KNOWN: Mapping[str, tuple[str, ...]] = {
    kinds.ANNOTATION_READINESS_GATES: (kinds.KUBEADM_CONTROL_PLANE,),
    kinds.ANNOTATION_MIN_READY_SECONDS: (kinds.KUBEADM_CONTROL_PLANE,),
    kinds.ANNOTATION_MAINTENANCE_WINDOW: (kinds.KUBEADM_CONTROL_PLANE,),
    kinds.ANNOTATION_ALLOW_PATCH_DOWNGRADE: (kinds.KUBEADM_CONTROL_PLANE,),
    kinds.ANNOTATION_IGNORE_WORKER_NODES: (kinds.CLUSTER, kinds.KUBEADM_CONTROL_PLANE),
    kinds.ANNOTATION_ENDPOINT_UNUSED: (kinds.CLUSTER,),
    kinds.ANNOTATION_SKIP_ETCD_SNAPSHOT: (kinds.KUBEADM_CONTROL_PLANE,),
    kinds.ANNOTATION_EXTERNAL_ETCD_BEGAN: (kinds.KUBEADM_CONTROL_PLANE,),
}
# What only a manifest sets: taken out of the manifest, they are taken off the stored object.
OWNED_BY_THE_MANIFEST = (
    kinds.ANNOTATION_READINESS_GATES,
    kinds.ANNOTATION_MIN_READY_SECONDS,
    kinds.ANNOTATION_MAINTENANCE_WINDOW,
    kinds.ANNOTATION_ALLOW_PATCH_DOWNGRADE,
    kinds.ANNOTATION_SKIP_ETCD_SNAPSHOT,
)
# Written by this collection: which labels and annotations of a stored object its manifest gave, as JSON.
FROM_MANIFEST = kinds.ANNOTATION_PREFIX + "from-manifest"
# Its own notes on stored objects, which come along where somebody makes a manifest of one.
NOTES = (FROM_MANIFEST, kinds.ANNOTATION_DELETED_CONTROL_PLANE, kinds.ANNOTATION_INFRASTRUCTURE_VERSIONS)

MAX_GATES = 20
LONGEST_TEXT = 65536
LONGEST_EXPRESSION = 4096
SHORTEST_WINDOW, LONGEST_WINDOW = 60, 31 * 86400

_API_VERSION = re.compile(r"([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?v[0-9]+((alpha|beta)[0-9]+)?")
_KIND = re.compile(r"[A-Z][A-Za-z0-9]{0,62}")
_OBJECT_NAME = re.compile(r"[^/%\s]{1,253}")
_GATE = dict.fromkeys(("name", "apiVersion", "kind", "namespace", "objectName", "expression"), "string")
_WINDOW = dict.fromkeys(("schedule", "duration", "timeZone"), "string")
# Names in the time zone database that mean something else on each controller.
_LOCAL_ZONES = ("localtime", "posixrules")


@dataclass(frozen=True)
class ReadinessGate:
    """Readiness gate: an object of the workload cluster and its expression.

    The JMESPath expression must give true for the object.

    `namespace` is "" where none was given.
    """

    name: str
    api_version: str
    kind: str
    namespace: str
    object_name: str
    expression: str

    @property
    def object(self) -> str:
        """Name of the object for messages."""
        return (
            f"{self.kind} {self.namespace}/{self.object_name}" if self.namespace else f"{self.kind} {self.object_name}"
        )


@dataclass(frozen=True)
class MaintenanceWindow:
    """Maintenance window: the times at which changes may start.

    It opens at each time of the cron expression, for `seconds` of elapsed time, in an IANA time zone.
    """

    schedule: str
    seconds: int
    time_zone: str


def annotation_path(key: str, path: str = "metadata.annotations") -> str:
    """Return the path of an annotation for messages."""
    return child(path, key)


def validate_annotations(kind: str, annotations: Any, path: str, report: Report) -> None:
    """Check an object's annotations of this collection.

    Names and values are checked, and whether they have a meaning on its kind.

    Args:
        kind: the object's kind; any kind that no annotation has a meaning on will do for templates of metadata.
        annotations: the mapping of all its annotations, or None.
        path: the mapping's path.
        report: takes the violations.
    """
    for key, text in (annotations or {}).items():
        where = annotation_path(key, path)
        if not key.startswith(kinds.ANNOTATION_PREFIX):
            _near_prefix(key, where, report)
        elif key not in KNOWN:
            known = {name[len(kinds.ANNOTATION_PREFIX) :]: name for name in KNOWN}
            near = difflib.get_close_matches(key[len(kinds.ANNOTATION_PREFIX) :], known, 1, 0.6)
            usable = sorted(name for name, on in KNOWN.items() if kind in on) or sorted(KNOWN)
            fix = f"Did you mean {known[near[0]]}?" if near else f"Remove it, or use one of: {', '.join(usable)}."
            report.add(where, None, f"there is no annotation {key}", fix)
        elif kind not in KNOWN[key]:
            rule = f"this annotation means nothing on a {kind}"
            report.add(where, None, rule, f"Move it to metadata.annotations of the {' or the '.join(KNOWN[key])}.")
        elif isinstance(text, str):
            _value(key, text, where, report)


def read_readiness_gates(text: str, path: str, report: Report) -> list[ReadinessGate]:
    """Return the readiness gates of the annotation's text (YAML or JSON).

    [] when anything is wrong with it, which is reported.
    """
    before = len(report.violations)
    value = _parsed(text, path, report)
    listed = schema.check(value, [_GATE], path, report) if len(report.violations) == before else []
    if len(report.violations) == before and not listed:
        report.add(path, None, "the list of readiness gates is empty", "Add a gate, or remove the annotation.")
    if len(report.violations) == before and len(listed) > MAX_GATES:
        report.add(path, None, f"there are {len(listed)} gates; {MAX_GATES} is the limit", "Keep fewer.")
    if len(report.violations) > before:
        return []
    seen: set[str] = set()
    gates = []
    for index, entry in enumerate(listed):
        _gate(entry, item(path, index), seen, report)
        fields = ("name", "apiVersion", "kind", "namespace", "objectName", "expression")
        gates.append(ReadinessGate(*(str(entry.get(key) or "") for key in fields)))
    return gates if len(report.violations) == before else []


def read_maintenance_window(text: str, path: str, report: Report) -> Optional[MaintenanceWindow]:
    """Return the maintenance window of the annotation's text (YAML or JSON).

    None when anything is wrong with it, which is reported.
    """
    before = len(report.violations)
    value = _parsed(text, path, report)
    window = schema.check(value, _WINDOW, path, report) if len(report.violations) == before else {}
    if len(report.violations) > before:
        return None
    schedule = str(window.get("schedule") or "")
    _schedule(schedule, child(path, "schedule"), report)
    seconds = _duration(window.get("duration"), child(path, "duration"), report)
    zone = str(window.get("timeZone") or "UTC")
    _time_zone(zone, child(path, "timeZone"), report)
    return MaintenanceWindow(schedule, seconds, zone) if len(report.violations) == before else None


def _value(key: str, text: str, path: str, report: Report) -> None:
    if key == kinds.ANNOTATION_READINESS_GATES:
        read_readiness_gates(text, path, report)
    elif key == kinds.ANNOTATION_MAINTENANCE_WINDOW:
        read_maintenance_window(text, path, report)
    elif key == kinds.ANNOTATION_MIN_READY_SECONDS:
        if not re.fullmatch(r"[0-9]{1,6}", text) or int(text) > settings.LONGEST_READY_SECONDS:
            rule = f"this is a whole number of seconds from 0 to {settings.LONGEST_READY_SECONDS}, as text"
            report.add(path, text, rule, 'Write it like "60".')
    elif text != "true":
        report.add(path, text, 'this consent has the value "true"', 'Write "true", or remove the annotation.')


def _near_prefix(key: str, path: str, report: Report) -> None:
    prefix, separator, name = key.partition("/")
    if (
        separator
        and kinds.ANNOTATION_PREFIX + name in KNOWN
        and difflib.SequenceMatcher(None, prefix, kinds.ANNOTATION_PREFIX[:-1]).ratio() > 0.8
    ):
        report.add(path, None, f"there is no annotation {key}", f"Did you mean {kinds.ANNOTATION_PREFIX + name}?")


def _parsed(text: str, path: str, report: Report) -> Any:
    if len(text) > LONGEST_TEXT:
        report.add(path, None, f"the annotation is longer than {LONGEST_TEXT} characters", "Shorten it.")
        return None
    try:
        found = read_documents(text)
    except ValueError as error:
        report.add(
            path, None, f"the annotation's text can't be read: {error}", "Write YAML or JSON (docs/manifest.md)."
        )
        return None
    if len(found) != 1:
        report.add(path, None, "the annotation's text is not one YAML or JSON document", "Write one, or remove it.")
        return None
    return found[0]


def _gate(entry: Mapping[str, Any], path: str, seen: set[str], report: Report) -> None:
    def need(key: str, right: bool, rule: str, fix: str) -> None:
        value = entry.get(key)
        if not value:
            report.add(child(path, key), None, f"the gate has no {key}", f"Add {key}. {fix}")
        elif not right:
            report.add(child(path, key), value, rule, fix)

    def text(key: str) -> str:
        return str(entry.get(key) or "")

    plain = "Use at most 63 letters, digits, '-', '_' and '.'."
    need("name", names.is_label_value(text("name")), "this is not a gate's name", plain)
    if text("name") in seen:
        report.add(child(path, "name"), text("name"), "another gate has the same name", "Rename one of them.")
    seen.add(text("name"))
    version = bool(_API_VERSION.fullmatch(text("apiVersion")))
    need("apiVersion", version, "this is not an apiVersion", 'Write [group/]version, like "apps/v1" or "v1".')
    need("kind", bool(_KIND.fullmatch(text("kind"))), "this is not a kind", 'Write it like "Deployment".')
    if text("apiVersion") == "v1" and text("kind") == kinds.SECRET:
        rule = "a gate reads no Secret: its content would leave the cluster"
        report.add(child(path, "kind"), text("kind"), rule, "Let a gate read the object that uses it.")
    if text("namespace") and not names.is_dns_label(text("namespace")):
        report.add(child(path, "namespace"), text("namespace"), "this is not a namespace's name", "Correct it.")
    right = bool(_OBJECT_NAME.fullmatch(text("objectName"))) and text("objectName") not in (".", "..")
    need("objectName", right, "this is not an object's name", "Write the object's metadata.name.")
    fault = expression_fault(text("expression")) if text("expression") else ""
    need("expression", not fault, fault, "See https://jmespath.org for the syntax.")


def expression_fault(expression: str) -> str:
    """Return the fault in a JMESPath expression, "" where there is none.

    "" also where the library jmespath is not installed, unless the text is too long.
    """
    if len(expression) > LONGEST_EXPRESSION:
        return f"the expression is longer than {LONGEST_EXPRESSION} characters"
    if not HAS_JMESPATH:
        return ""
    try:
        parsed = jmespath.compile(expression).parsed
    except (ValueError, RecursionError) as error:
        column = getattr(error, "lex_position", None)
        return "this is not a JMESPath expression" + (f": see column {column + 1}" if isinstance(column, int) else "")
    unknown = sorted(set(_functions(parsed)) - set(Functions.FUNCTION_TABLE))
    return f"JMESPath has no function {', '.join(unknown)}" if unknown else ""


def _functions(node: Mapping[str, Any]) -> Iterator[str]:
    if node["type"] == "function_expression":
        yield str(node["value"])
    for each in node["children"]:
        if isinstance(each, dict):
            yield from _functions(each)


def _schedule(schedule: str, path: str, report: Report) -> None:
    fix = 'Write minute, hour, day of month, month and day of week, like "0 2 * * 6" for Saturdays at 2:00.'
    if not schedule:
        report.add(path, None, "the maintenance window has no schedule", fix)
        return
    if len(schedule) > LONGEST_EXPRESSION or len(schedule.split()) != 5:
        report.add(path, schedule, "this is not a cron expression of five fields", fix)
    elif HAS_CRONSIM:
        try:
            next(CronSim(schedule, datetime.datetime(2000, 1, 1, tzinfo=datetime.timezone.utc)))
        except CronSimError as error:
            report.add(path, schedule, f"this is not a cron expression: {error}", fix)
        except StopIteration:
            report.add(path, schedule, "no date ever matches this cron expression", fix)


def _duration(text: Optional[str], path: str, report: Report) -> int:
    fix = 'Write it like "4h" or "90m".'
    if not text:
        report.add(path, None, "the maintenance window has no duration", fix)
        return 0
    seconds = parse_duration(text)
    if seconds is None or not SHORTEST_WINDOW <= seconds <= LONGEST_WINDOW:
        report.add(path, text, "this is not a duration between one minute and 31 days (744h)", fix)
        return 0
    return int(seconds)


def _time_zone(name: str, path: str, report: Report) -> None:
    rule, fix = "there is no such time zone", 'Write a name of the IANA time zone database, like "Europe/Berlin".'
    try:
        zoneinfo.ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        if zoneinfo.available_timezones():
            report.add(path, name, rule, fix)
        return
    if name in _LOCAL_ZONES:
        report.add(path, name, rule, fix)
