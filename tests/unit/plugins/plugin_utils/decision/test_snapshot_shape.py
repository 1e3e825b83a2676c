# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The schema that users validate with and the check that decisions rely on say the same, and decisions can read what passes."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from builders import NOW, Builder, cluster, healthy, member_id
from hypothesis import given, settings
from hypothesis import strategies as st
from json_schema import SNAPSHOT_SCHEMA, snapshot_schema

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.json_shape import written
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.typed_snapshot import (
    check_snapshot,
)

VALIDATOR = jsonschema.Draft202012Validator(json.loads(SNAPSHOT_SCHEMA.read_text(encoding="utf-8")))


def corpus() -> list[Builder]:
    """Clusters in many states; each has what only some snapshots have."""
    marked = healthy(5).marked("m2").sick_member("m2").domains("a", "b")
    marked.workload["witnesses"] = [
        {"machine": "m2", "reachable": True, "message": "", "etcd": copy.deepcopy(marked.workload["etcd"])},
        {"machine": "m3", "reachable": False, "message": "timed out", "etcd": None},
    ]
    marked.workload["etcd"]["statuses"][member_id("m2")].update(looks=3, failedLooks=3)
    marked.workload["etcd"]["alarms"] = [{"memberID": member_id("m2"), "alarm": "NOSPACE"}]
    marked.workload.update(workerNodes=["w"], workerVersions={"v1.19.7": 1}, clockSkewSeconds=1.5)
    paced = healthy(3).wants(version="v1.20.4", rollout={"after": NOW, "before": {"certificatesExpiryDays": 10}})
    paced.snapshot.update(
        observedAt=NOW,
        lastAction={"at": NOW, "action": "join", "target": "m3", "outcome": None},
        policy={"replace": "ask", "approved": False},
        readinessGates=[{"name": "a", "status": "False", "message": ""}],
        maintenance={"open": False, "message": "", "opensAt": NOW, "closesAt": "2026-01-31T13:00:00Z"},
    )
    return [
        cluster(3).bare(),
        cluster(3).machine("x", "Failed").endpoint(False),
        healthy(2, replicas=3).machine("m3", "Running"),
        marked,
        paced,
        healthy(3).deleting(),
    ]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of everything in a document."""
    yield path
    if isinstance(value, dict):
        for key, each in value.items():
            yield from places(each, (*path, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from places(each, (*path, index))


CORPUS = [builder.build() for builder in corpus()]
PLACES = [(number, path) for number, document in enumerate(CORPUS) for path in places(document)]
VALUES = st.sampled_from(
    [None, True, False, 0, 1, -1, 3, 1.5, "", "x", "True", "Unknown", NOW, "Running", "ff", "0xff", "allow", "never", [], {},
     [None], [{}], ["x"], {"x": None}, {"x": {}}, {"x": "y"}, {"name": "x"}, {"metadata": {"name": "x"}}, "{{ x }}\n"]
)  # fmt: skip


def changed(number: int, path: tuple[Any, ...], value: Any) -> Any:
    """A document of the corpus with another value in one place."""
    document = copy.deepcopy(CORPUS[number])
    if not path:
        return value
    target = document
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
    return document


def test_the_schema_is_the_one_that_the_check_has() -> None:
    """Where this fails after a change of the shape: run tests/support/json_schema.py."""
    jsonschema.Draft202012Validator.check_schema(snapshot_schema())
    assert json.loads(SNAPSHOT_SCHEMA.read_text(encoding="utf-8")) == snapshot_schema()


@pytest.mark.parametrize("document", CORPUS)
def test_the_corpus_passes_both(document: Any) -> None:
    VALIDATOR.validate(document)
    assert check_snapshot(document) == []


@settings(max_examples=600)
@given(place=st.sampled_from(PLACES), value=VALUES)
def test_what_the_schema_refuses_the_check_refuses(place: tuple[int, tuple[Any, ...]], value: Any) -> None:
    document = changed(*place, value)
    problems = check_snapshot(document)
    if not VALIDATOR.is_valid(document):
        assert problems
    elif not problems:
        # Neither refuses it: then decisions can read it.
        json.dumps(decide(document))


@settings(max_examples=300)
@given(place=st.sampled_from(PLACES))
def test_a_field_that_is_null_is_a_field_that_is_absent(place: tuple[int, tuple[Any, ...]]) -> None:
    number, path = place
    if not path or isinstance(path[-1], int):
        return
    parent = changed(number, path, None)
    absent = copy.deepcopy(parent)
    target = absent
    for key in path[:-1]:
        target = target[key]
    del target[path[-1]]
    keyed = any(
        key in path[:-1] for key in ("labels", "annotations", "pods", "statuses", "featureGates", "workerVersions")
    )
    if not keyed:
        assert check_snapshot(parent) == check_snapshot(absent)
        assert VALIDATOR.is_valid(parent) == VALIDATOR.is_valid(absent)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (None, "$"),
        ((None, "now"), "now"),
        ((((None, "machines"), 1), "machine"), "machines[1].machine"),
        (((None, "pods"), ("a\nb",)), "pods[a b]"),
    ],
)
def test_paths_are_written_as_people_read_them(path: Any, text: str) -> None:
    assert written(path) == text
