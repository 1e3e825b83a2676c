# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of the playbooks' variables, checked at a run's start.

Ansible's own check of a role's arguments prints the whole specification with its error, and some values it reads after the first play.
"""

from __future__ import annotations

import difflib
import re
import typing as t

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ...module_utils.common.legible import one_line
from ...module_utils.common.values import utc_time

Rule = dict[str, t.Any]
_NUMBER: Rule = {"type": "int"}
_YES_OR_NO: Rule = {"type": "bool"}
_MAPPING: Rule = {"type": "dict"}
# A list in the code, as SETTINGS is one; a test compares it with the roles' argument_specs.yml. Texts, paths and lists take any value.
RULES: dict[str, Rule] = {
    **dict.fromkeys(
        (
            "control_plane_adopt_replicas",
            "control_plane_backup_keep",
            "control_plane_bootstrap_timeout",
            "control_plane_replicas",
            "control_plane_report_runs",
            "control_plane_wait_timeout",
            "control_plane_watch_seconds",
            "control_plane_watch_timeout",
            "machine_inventory_timeout",
            "machine_nspawn_timeout",
        ),
        _NUMBER,
    ),
    **dict.fromkeys(
        (
            "control_plane_ignore_worker_nodes",
            "control_plane_keep_plan",
            "control_plane_move_undo",
            "control_plane_several",
            "control_plane_use_export",
            "machine_nspawn_install_packages",
            "operator_logs",
        ),
        _YES_OR_NO,
    ),
    **dict.fromkeys(
        (
            "control_plane_adopt_template",
            "control_plane_adopt_workers",
            "control_plane_more_providers",
            "control_plane_move_to",
            "control_plane_providers",
            "control_plane_store",
            "operator_spec",
        ),
        _MAPPING,
    ),
    "control_plane_fail_when": {"type": "list", "choices": ["unhealthy", "blocked", "outdated"]},
    "control_plane_output": {"type": "str", "choices": ["table", "json"]},
    "control_plane_report_formats": {"type": "list", "choices": ["html", "markdown", "svg"]},
    "control_plane_replace": {"type": "str", "choices": ["allow", "ask", "never"]},
    "control_plane_unknown_documents": {"type": "str", "choices": ["report", "refuse"]},
    "control_plane_until": {"type": "str", "choices": ["healthy", "settled"]},
    "machine_nspawn_debian_release": {"type": "str", "choices": ["", "bookworm", "trixie"]},
    "operator_mode": {"type": "str", "choices": ["", "Auto", "Controlled", "DryRun"]},
}
SERIAL = "control_plane_serial"
NOT_SET = "not set"
ROLLOUT_AFTER = "control_plane_rollout_after"
DELETE = "control_plane_delete"
_WORDS = {"int": "a whole number", "bool": "true or false", "dict": "a mapping"}
_BATCH = re.compile(r"[1-9][0-9]*%?")
_SHOWN_CHARACTERS = 60
_REMEDY = "Nothing was done. Correct it where it is set: with -e in the command line, or in the inventory's variables."


def problems(given: t.Mapping[str, t.Any], template: t.Callable[[t.Any], t.Any]) -> list[str]:
    """Return what is wrong with variables' values, a line each.

    Args:
        given: a cluster's variables, which may be templates.
        template: templates one of them; what it can't is left to the tasks.
    """
    found = []
    for name in (*RULES, SERIAL, ROLLOUT_AFTER):
        if name not in given:
            continue
        try:
            value = template(given[name])
        except Exception:  # whatever a user's template does, the task that reads the variable reports it
            continue
        rule = _broken(name, value)
        if rule:
            shown = (
                "a value of another type"
                if RULES.get(name) is _MAPPING
                else f"{one_line(str(value))[:_SHOWN_CHARACTERS]!r}"
            )
            found.append(f"{name}: it must be {rule} (found: {shown}). {_REMEDY}")
    return found


def difference(names: t.Sequence[str], hosts: t.Sequence[str], hostvars: t.Mapping[str, t.Any]) -> str:
    """Return which of a run's variables hosts differ in, or "".

    Args:
        names: the variables of which a run has one value. An empty one is taken for one that is not set.
        hosts: the hosts that the run has selected.
        hostvars: the inventory's hosts' variables; their values are templated.
    """
    own = [(host, hostvars[host]) for host in hosts]
    for name in names:
        values = {host: variables.get(name) or NOT_SET for host, variables in own}
        first = values[hosts[0]] if values else NOT_SET
        other = next((host for host in hosts if values[host] != first), None)
        if other is not None:
            found = ", ".join(
                f"{host}: {one_line(str(values[host]))[:_SHOWN_CHARACTERS]}" for host in (hosts[0], other)
            )
            return (
                f"{name}: the selected clusters have different values of it, and a run has one ({found}). Nothing was done. Set it once, with -e in the "
                "command line, or select with --limit the clusters that have the same."
            )
    return ""


def delete_problem(named: t.Any, clusters: t.Iterable[tuple[str, str, str]]) -> str:
    """Return why control_plane_delete names none of the clusters, or "".

    A name beside others may be that of a cluster which an earlier run has deleted.

    Args:
        named: the variable's value, names with commas between them.
        clusters: the inventory host, namespace and name of every cluster of the inventory.
    """
    listed = list(clusters)
    known = {each for host, namespace, name in listed for each in (host, name, f"{namespace}/{name}")}
    names = [each for each in (part.strip() for part in str(named or "").split(",")) if each]
    if not names or not known.isdisjoint(names):
        return ""
    near = difflib.get_close_matches(names[0], sorted(known), 1)
    return (
        f"{DELETE}: no cluster of this inventory has this name (found: {one_line(', '.join(names))[:_SHOWN_CHARACTERS]!r}). "
        f"Nothing was deleted. {f'Did you mean {near[0]}? ' if near else ''}"
        f"Correct it; the clusters here: {', '.join(sorted(host for host, _namespace, _name in listed))}."
    )


def _broken(name: str, value: t.Any) -> str:
    """Return the rule that a value breaks, "" where it breaks none."""
    if value is None or value == "":
        return ""
    if name == SERIAL:
        batches = value if isinstance(value, list) else [value]
        fine = all(_BATCH.fullmatch(str(each)) for each in batches)
        return "" if fine else "a number of clusters, such as 1, a percentage, such as 20%, or a list of these"
    if name == ROLLOUT_AFTER:
        fine = value == "now" or utc_time(str(value)) is not None
        return "" if fine else "now, or an RFC 3339 time with its zone, such as 2026-01-31T10:00:00Z"
    rule = RULES[name]
    if not ArgumentSpecValidator({name: rule}).validate({name: value}).error_messages:
        return ""
    choices = [each for each in rule.get("choices", ()) if each]
    near = difflib.get_close_matches(str(value), choices, 1)
    meant = f", perhaps {near[0]}" if near else ""
    return f"one of {', '.join(choices)}{meant}" if choices else _WORDS[rule["type"]]
