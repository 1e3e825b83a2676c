# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""YAML as it is written and read back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.yaml_text import from_yaml, to_yaml

TEXT = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    st.text(st.sampled_from(" \n\t:#-'\"|>=&*!%@`,[]{}yesnoYN~0127eE.\x85\u2028\ufeff\x00"), max_size=20),
    st.sampled_from(
        ["2026-01-02", "1:30", "0644", "0o17", "1e3", ".inf", "null", "~", "yes", "=", "<<", "!", " x\n y\n", "\n x"]
    ),
)
VALUE = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXT, inner, max_size=4)),
    max_leaves=10,
)


@given(st.dictionaries(TEXT, VALUE, max_size=5))
@settings(max_examples=300)
def test_what_is_written_is_read(obj):
    read = from_yaml(to_yaml(obj))
    assert read == obj
    assert json.dumps(read, sort_keys=True) == json.dumps(obj, sort_keys=True)  # 1, 1.0 and true are equal to Python


def test_people_read_it():
    text = to_yaml(
        {"spec": {"b": "x: 1\ny: 2\n", "a": ["x"]}, "kind": "K", "metadata": {"name": "n"}, "apiVersion": "v1"}
    )
    assert text == "apiVersion: v1\nkind: K\nmetadata:\n  name: n\nspec:\n  b: |\n    x: 1\n    y: 2\n  a:\n  - x\n"


def test_who_read_it_may_change_it():
    text = to_yaml({"spec": {"a": ["x"]}})
    from_yaml(text)["spec"]["a"].append("y")
    assert from_yaml(text) == {"spec": {"a": ["x"]}}


def test_shared_parts_are_written_out():
    shared = {"a": ["x"]}
    assert "&" not in to_yaml({"one": shared, "two": shared})


@pytest.mark.parametrize(
    "text",
    [
        *("a: [", "a: b: c", "\t", "!!python/object:os.system {}", "a: &x [*x]\nb: *y", "\x00", "\ud800"),
        *("a: !!int x", "a: !!int ''", "a: !!float x", "a: !!bool x", "!!timestamp x", "!!set {a}", "!!binary a"),
        *("a: .nan", "- -.inf", "a: 0x" + "f" * 9999, "a: " + "1" * 9999, "? [a]\n: 1", "1: 2", "a: 1_:"),
    ],
)
def test_what_is_no_yaml(text):
    with pytest.raises(ValueError, match="not valid YAML"):
        from_yaml(text)


def test_the_line_is_named():
    with pytest.raises(ValueError, match="in line 2, column"):
        from_yaml("a: 1\nb: c: d\n")
