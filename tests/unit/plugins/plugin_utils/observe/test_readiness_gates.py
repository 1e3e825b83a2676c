# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Readiness gates: what the expression gives is the status, and nothing of the object ever gets into a message."""

from __future__ import annotations

import json
import subprocess
import sys
import typing as t

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observe.readiness_gates import Gates

KEY = "kubeadm.control-plane/readiness-gates"
SECRET = "hunter2-hunter2"
OBJECT = {
    "kind": "ConfigMap",
    "data": {"password": SECRET, "ready": "yes", "list": [SECRET], "count": 3},
    "status": {"ready": True, "dead": False},
}


def control_plane(text: t.Optional[str]) -> dict[str, t.Any]:
    annotations = {} if text is None else {KEY: text}
    return {"kind": "KubeadmControlPlane", "metadata": {"name": "prod", "namespace": "ns", "annotations": annotations}}


def gates(*expressions: str, **fields: str) -> Gates:
    listed = [
        {
            "name": f"g{n}",
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "objectName": "c",
            "expression": expression,
            **fields,
        }
        for n, expression in enumerate(expressions)
    ]
    return Gates(control_plane(json.dumps(listed)))


def result(expression: str, answer: t.Any = None) -> dict[str, t.Any]:
    [found] = gates(expression).results([answer or {"found": True, "object": OBJECT, "message": ""}], "")
    return found


@pytest.mark.parametrize(
    ("expression", "status", "said"),
    [
        ("status.ready", "True", ""),
        ("data.count == `3`", "True", ""),
        ("contains(data.ready, 'e')", "True", ""),
        ("status.dead", "False", "gives false for ConfigMap c"),
        ("status.nothing", "False", "gives nothing (null)"),
        ("data.ready", "Unknown", "gives a text"),
        ("data.count", "Unknown", "gives a number"),
        ("data.list", "Unknown", "gives a list"),
        ("data", "Unknown", "gives a mapping"),
        ("contains(data.count, 'x')", "Unknown", "JMESPathTypeError in contains()"),
        ("sum(data.list)", "Unknown", "JMESPathTypeError in sum()"),
        ("join(data.password, data)", "Unknown", "in join()"),
    ],
)
def test_what_the_expression_gives_is_the_status(expression: str, status: str, said: str) -> None:
    found = result(expression)
    assert (found["name"], found["status"]) == ("g0", status)
    assert said in found["message"]
    assert SECRET not in found["message"]


def test_a_missing_object_is_not_an_api_that_fails() -> None:
    missing = result("status.ready", {"found": False, "object": None, "message": "the API has no such object"})
    assert (missing["status"], missing["message"]) == ("False", "ConfigMap c does not exist")
    failed = result("status.ready", {"found": None, "object": None, "message": "HTTP 403"})
    assert failed["status"] == "Unknown" and "HTTP 403" in failed["message"]


def test_without_an_api_every_gate_is_unknown() -> None:
    found = gates("a", "b").results(None, "connection refused")
    assert [each["status"] for each in found] == ["Unknown", "Unknown"]
    assert "connection refused" in found[0]["message"]
    assert gates("a").results([], "")[0]["status"] == "Unknown"


def test_no_annotation_is_no_gate() -> None:
    assert Gates(control_plane(None)).results(None, "x") == []
    assert Gates(None).wanted() == [] and Gates(None).results(None, "x") == []


def test_the_wanted_objects_are_those_of_the_gates() -> None:
    assert gates("a").wanted() == [{"apiVersion": "v1", "kind": "ConfigMap", "name": "c"}]
    assert gates("a", namespace="n").wanted()[0]["namespace"] == "n"


@pytest.mark.parametrize("text", ["[", "5", "[]", "[{}]", '[{"name": "a", "apiVersion": "v1", "kind": "Secret"}]'])
def test_a_list_that_can_not_be_read_is_one_gate_that_can_not_be_told(text: str) -> None:
    unreadable = Gates(control_plane(text))
    assert unreadable.wanted() == []
    [found] = unreadable.results([], "")
    assert (found["name"], found["status"]) == ("readiness-gates", "Unknown")
    assert f'KubeadmControlPlane ns/prod: metadata.annotations["{KEY}"]' in found["message"]


LEAVES = st.sampled_from([SECRET, 1, -0.5, True, False, None, [], {}])
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner)
)
EXPRESSIONS = st.sampled_from(
    [
        "a", "a.b", "a[0]", "a[*].b", "length(a)", "sum(a)", "join('-', a)", "to_number(a)", "max_by(a, &b)", "sort(a)",
        "a < b", "a == b", "!a", "a && b", "keys(a)", "abs(a)", "ceil(a)", "merge(a, b)", "reverse(a)", "map(&b, a)",
        "starts_with(a, b)", "avg(a)", "not_null(a, b)", "sort_by(a, &b)", "values(@)", "to_string(a)", "a[::0]", "zip(a)",
    ]
)  # fmt: skip


@settings(max_examples=400)
@given(expression=EXPRESSIONS, value=VALUES)
def test_nothing_of_an_object_gets_into_a_message(expression: str, value: t.Any) -> None:
    [found] = gates(expression).results([{"found": True, "object": {"a": value, "b": value}}], "")
    assert found["status"] in ("True", "False", "Unknown")
    assert SECRET not in found["message"]


def test_a_missing_library_is_named_with_the_gate() -> None:
    code = (
        "import sys; sys.modules['jmespath'] = None\n"
        "from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observe.readiness_gates import Gates\n"
        "print(Gates(eval(sys.argv[1])).results([{'found': True, 'object': {}}], ''))"
    )
    text = json.dumps([{"name": "web", "apiVersion": "v1", "kind": "Pod", "objectName": "p", "expression": "a"}])
    done = subprocess.run(
        [sys.executable, "-c", code, repr(control_plane(text))], capture_output=True, text=True, check=True
    )
    assert "'Unknown'" in done.stdout and "(jmespath)" in done.stdout and "readiness gate web" in done.stdout
