# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A variable with a wrong value is told with its name, the rule, what was found and what to do."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import pytest
import yaml

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.variable_values import (
    ROLLOUT_AFTER,
    RULES,
    SERIAL,
    delete_problem,
    problems,
)

ROOT = Path(__file__).resolve().parents[5]
# They are more than their type in the roles: a number or nothing; the playbooks' own; one that two entry points have differently.
DIFFERENT = {
    "control_plane_output",
    "control_plane_providers",
    "control_plane_replicas",
    "control_plane_until",
    "control_plane_watch_seconds",
    "control_plane_watch_timeout",
}
CLUSTERS = [("prod", "default", "prod"), ("a.web", "a", "web"), ("b.web", "b", "web")]
MESSAGE = re.compile(r"(\w+): it must be .+ \(found: .+\)\. Nothing was done\. Correct it where it is set: .+")


def unchanged(value: t.Any) -> t.Any:
    """Ansible's templating of what is no template."""
    return value


def test_the_rules_are_those_of_the_roles() -> None:
    typed: dict[str, dict[str, t.Any]] = {}
    for file in ROOT.glob("roles/*/meta/argument_specs.yml"):
        for entry in yaml.safe_load(file.read_text())["argument_specs"].values():
            for name, option in (entry.get("options") or {}).items():
                if name.startswith(("control_plane_", "machine_", "operator_")):
                    rule = {key: option[key] for key in ("type", "choices") if key in option}
                    if rule["type"] in ("int", "bool", "dict") or "choices" in rule:
                        typed[name] = rule
    # Its choices are the image's alone; the machines take a folder as well.
    typed.pop("machine_nspawn_source")
    assert {name: rule for name, rule in RULES.items() if name not in DIFFERENT} == typed


@pytest.mark.parametrize("name", [*RULES, SERIAL, ROLLOUT_AFTER])
def test_each_message_says_what_where_and_what_to_do(name: str) -> None:
    assert MESSAGE.fullmatch(problems({name: "four"}, unchanged)[0]).group(1) == name  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("control_plane_replicas", "four", "it must be a whole number (found: 'four')"),
        ("control_plane_replicas", 3.5, "a whole number (found: '3.5')"),
        ("control_plane_fail_when", "unhealthy,blokced", "it must be one of unhealthy, blocked, outdated"),
        ("control_plane_output", "jsn", "one of table, json, perhaps json (found: 'jsn')"),
        ("control_plane_replace", "nver", "one of allow, ask, never, perhaps never (found: 'nver')"),
        ("control_plane_wait_timeout", "ten\x1b[2Jminutes", r"found: 'ten\\x1b[2Jminutes'"),
        ("control_plane_rollout_after", "2026-01-31", "now, or an RFC 3339 time with its zone"),
        ("control_plane_serial", "many", "a number of clusters, such as 1"),
        ("control_plane_serial", 0, "a number of clusters"),
        ("control_plane_store", "t0psecret", "it must be a mapping (found: a value of another type)"),
    ],
)
def test_a_wrong_value(name: str, value: t.Any, words: str) -> None:
    (said,) = problems({name: value}, unchanged)
    assert words in said and "\x1b" not in said and "t0psecret" not in said


def test_right_values_and_what_cannot_be_templated_pass() -> None:
    def template(value: t.Any) -> t.Any:
        if value == "{{ none_such }}":
            raise ValueError("undefined")
        return value

    fine = {
        "control_plane_replicas": "3",
        "control_plane_wait_timeout": "{{ none_such }}",
        "control_plane_replace": "ask",
        "control_plane_serial": [1, "20%"],
        "control_plane_several": "yes",
        "operator_spec": '{"renewCertificates": {}}',
        "operator_mode": "",
        "control_plane_delete": "whatever",
    }
    assert problems(fine, template) == []
    assert problems({"control_plane_replicas": ""}, template) == []


@pytest.mark.parametrize("named", ["prod", "default/prod", "a.web, b.web", "gone,prod", "", "web", ["prod"]])
def test_names_of_clusters_to_delete(named: t.Any) -> None:
    assert delete_problem(",".join(named) if isinstance(named, list) else named, CLUSTERS) == ""


def test_a_name_that_no_cluster_has_is_not_deleted() -> None:
    said = delete_problem("prd", CLUSTERS)
    assert said == (
        "control_plane_delete: no cluster of this inventory has this name (found: 'prd'). Nothing was deleted. "
        "Did you mean prod? Correct it; the clusters here: a.web, b.web, prod."
    )
