# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts that others have written, through every reader of them: small ones that would take all time, memory or stack."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Callable

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.bounded_yaml import read_json
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.documents import yaml_files as load
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store import yaml_text

PLUGINS = Path(load.__file__).parents[2]
LETTERS = "abcdefgh"
OBJECT = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"


def grown(first: str, each: str) -> str:
    """A text whose last value holds the first one 9 to the power of 6 times."""
    lines = [f"a: &a {first}"]
    for before, name in zip(LETTERS, LETTERS[1:7]):
        lines.append(f"{name}: &{name} {each.replace('?', ', '.join([f'*{before}'] * 9))}")
    return "\n".join(lines)


SMALL = {
    "merges of nothing": (grown("{}", "{<<: [?]}"), "expands to more than"),
    "merges of merges": (grown("{x: 1}", "{<<: [?], y: 2}"), "expands to more than"),
    "merges in lists": (grown("{}", "{z: [{<<: [?]}]}"), "expands to more than"),
    "aliases": (grown("x", "[?]"), "expands to more than"),
    "deep by aliases": (f"a: &a {'[' * 40}{']' * 40}\nb: {'[' * 40}*a{']' * 40}", "nested deeper than 64 levels"),
    "deep by merges": (f"a: &a {{x: {'[' * 62}{']' * 62}}}\nb: {{y: {{<<: *a}}}}", "nested deeper than 64 levels"),
    "deep": ("a: " + "[" * 100_000, "nested deeper than 64 levels"),
    "deep blocks": ("a:\n  " + "- " * 100_000, "nested deeper than 64 levels"),
    "a long text again and again": (
        f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 1000)}]",
        "more than 33554432 characters",
    ),
    "a long key again and again": (
        f"a: &a {{? {'x' * 100_000} : 1}}\nb: [{', '.join(['{<<: *a}'] * 1000)}]",
        "more than 33554432 characters",
    ),
    "recursive": ("a: &a [*a]", "contains itself"),
    "recursive merge": ("a: &a {<<: *a}", "contains itself"),
}


@pytest.mark.parametrize(("text", "said"), SMALL.values(), ids=SMALL)
def test_a_small_text_is_refused(text: str, said: str) -> None:
    """As a manifest, as a configuration that a node has, as a kubeconfig or a file of the store."""
    documents, violations = load.read_text(OBJECT + text, "f.yaml")
    assert documents == [] and [said in each.rule for each in violations] == [True]
    readers: list[Callable[[str], Any]] = [load.read_documents, yaml_text.from_yaml]
    for read in readers:
        with pytest.raises(ValueError, match=said):
            read(text)


def test_what_people_write_is_read() -> None:
    """Anchors, merges and depth as manifests have them."""
    text = "base: &b {a: 1, l: [1]}\nc: {<<: *b, a: 2}\nd:\n  - &e {<<: [*b, {f: 3}]}\n  - *e\n"
    expected = {"a": 1, "l": [1], "f": 3}
    for value in (load.read_documents(text)[0], yaml_text.from_yaml(text)):
        assert value == {"base": {"a": 1, "l": [1]}, "c": {"a": 2, "l": [1]}, "d": [expected, expected]}
    deep = "[" * 63 + "]" * 63
    assert load.read_documents(deep) == [yaml_text.from_yaml(deep)] == [json.loads(deep)]


@pytest.mark.parametrize(
    "number", [f"1{':1' * 100_000}", f"1{':1' * 100_000}.5", "9" * 100_000, f"!!float {'9' * 400}"]
)
def test_a_number_is_bounded_in_length(number: str) -> None:
    """PyYAML takes minutes for the first one, whose digits have the base 60."""
    with pytest.raises(ValueError, match="a number has more than 80 characters"):
        yaml_text.from_yaml(f"a: {number}")
    assert yaml_text.from_yaml("a: [190:20:30, 1e3, 0x1F, '1:1']") == {"a": [685230, "1e3", 31, "1:1"]}


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 65 + "]" * 65, '{"a":' * 70 + "1" + "}" * 70, "{", "", "NaN1"])
def test_json_is_bounded_in_depth(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_json(text)


def test_json_is_read() -> None:
    assert read_json('{"a": [1, {"b": null}]}') == read_json(b'{"a": [1, {"b": null}]}') == {"a": [1, {"b": None}]}
    with pytest.raises(ValueError, match="no text"):
        read_json(None)


def test_there_is_no_other_reader_of_yaml() -> None:
    """PyYAML's own would hang, or overrun the stack; the second file goes through the events of a text that was read before."""
    pattern = re.compile(r"\byaml\.(load|safe_load|compose|parse|scan)\w*\(")
    found = {path.name for path in PLUGINS.rglob("*.py") if pattern.search(path.read_text(encoding="utf-8"))}
    assert found == {"bounded_yaml.py", "edit.py"}
