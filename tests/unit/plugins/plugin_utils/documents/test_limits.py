# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits of a description: what is beyond them is reported once, kept where it was, and told to an API server that can ratchet."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import Report
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.crds import structural_schema
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.documents.schema import (
    ListOf,
    MapOf,
    MayBeEmpty,
    Needed,
    Number,
    Text,
    Whole,
    check,
)

NAME = Text(4, pattern="[a-z]+", rule="this is no name", fix="Use letters.")
COLOUR = Text(one_of=("red", "blue"))
ENTRIES = ListOf({"name": Needed(NAME), "value": "string"}, 2, keys=("name",), unique="name")
# Description, what fits it, what doesn't, where and why.
CASES: dict[str, tuple[Any, list[Any], list[tuple[Any, str, str]]]] = {
    "length": (NAME, ["abcd", ""], [("abcde", "field", "5 characters, and at most 4")]),
    "characters, not bytes": (Text(2), ["ää"], [("äää", "field", "3 characters")]),
    "pattern": (NAME, ["a"], [("a1", "field", "this is no name"), ("a\n", "field", "this is no name")]),
    "one of": (COLOUR, ["red", ""], [("green", "field", "no such value")]),
    "bounds": (Number(1, 5), [1, 5, 0], [(6, "field", "not between 1 and 5"), (-1, "field", "not between 1 and 5")]),
    "days": (Number(7, unit="days"), [7, 2**31 - 1], [(0, "field", "not 7 or more"), (6, "field", "not 7 or more")]),
    "int64": ("int64", [2**40], [(2**63, "field", "out of range")]),
    "number of entries": (
        ListOf(NAME, 2),
        [[], ["a", "b"]],
        [(["a", "b", "c"], "field", "3 entries, and at most 2")],
    ),
    "an entry": (ListOf(NAME, 2), [["a"]], [(["a", "b1"], "field[1]", "this is no name")]),
    "the same twice": (
        ENTRIES,
        [[{"name": "a", "value": "x"}, {"name": "b", "value": "x"}]],
        [([{"name": "a", "value": "x"}, {"name": "a", "value": "y"}], "field[1]", "entry 0 has the same name")],
    ),
    "values of a mapping": (MapOf(NAME), [{"k": "a"}], [({"k": "abcde"}, "field.k", "at most 4")]),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_what_fits_and_what_does_not(case: tuple[Any, list[Any], list[tuple[Any, str, str]]]) -> None:
    description, fitting, others = case
    for value in fitting:
        report = Report("it")
        assert check(value, description, "field", report) == value and not report.violations
    for value, path, rule in others:
        report = Report("it")
        check(value, description, "field", report)
        (violation,) = report.violations
        assert violation.path == path and rule in violation.rule and violation.fix.endswith(".")


def test_a_rule_about_the_same_field_is_not_said_in_addition() -> None:
    """And the entries after it are where they were written."""
    report = Report("it")
    assert check(["a1", "b"], ListOf(NAME), "field", report) == ["a1", "b"]
    report.add("field[0]", "a1", "another rule", "Another fix.")
    report.add("field[1]", "b", "a rule", "A fix.")
    assert [violation.path for violation in report.violations] == ["field[0]", "field[1]"]


@pytest.mark.parametrize(
    ("description", "limited"),
    [
        (NAME, {"type": "string", "minLength": 1, "maxLength": 4, "pattern": "^[a-z]+$"}),
        (Text(4, least=0), {"type": "string", "maxLength": 4}),
        (COLOUR, {"type": "string", "enum": ["red", "blue"]}),
        (Number(1, 5), {"type": "integer", "format": "int32", "minimum": 1, "maximum": 5}),
        (Number(7), {"type": "integer", "format": "int32", "minimum": 7}),
        (
            ListOf("boolean", 3),
            {
                "type": "array",
                "items": {"type": "boolean"},
                "minItems": 1,
                "maxItems": 3,
                "x-kubernetes-list-type": "atomic",
            },
        ),
        (
            {"a": Needed("boolean"), "b": "boolean"},
            {
                "type": "object",
                "properties": {"a": {"type": "boolean"}, "b": {"type": "boolean"}},
                "required": ["a"],
            },
        ),
        ({"b": "boolean"}, {"type": "object", "properties": {"b": {"type": "boolean"}}, "minProperties": 1}),
        (MayBeEmpty({"b": "boolean"}), {"type": "object", "properties": {"b": {"type": "boolean"}}}),
        (
            Whole({"b": "boolean"}),
            {"type": "object", "properties": {"b": {"type": "boolean"}}, "x-kubernetes-map-type": "atomic"},
        ),
    ],
)
def test_an_api_server_is_told_all_of_it_or_only_the_types(description: Any, limited: dict[str, Any]) -> None:
    """One that doesn't ratchet would refuse the status and the finalizers of what was stored before the limits came."""
    assert structural_schema.schema_of(description, limits=True) == limited
    limits = {"minimum", "maximum", "required", "enum", "pattern"}
    plain = structural_schema.schema_of(description)
    assert plain["type"] == limited["type"] and not limits.intersection(plain)
    assert not [key for key in plain if key.startswith(("min", "max", "x-"))]


def test_entries_are_merged_by_their_keys_and_none_is_there_twice() -> None:
    made = structural_schema.schema_of(ENTRIES, limits=True)
    assert (made["x-kubernetes-list-type"], made["x-kubernetes-list-map-keys"]) == ("map", ["name"])
    assert made["items"]["required"] == ["name"]
    (rule,) = made["x-kubernetes-validations"]
    assert rule["rule"] == "self.all(x, self.exists_one(y, x.name == y.name))"
