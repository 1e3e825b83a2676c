# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which fields came from a machine template: an annotation to whoever reads, managed fields in an API, and a request where it changes."""

from __future__ import annotations

import copy
import json
import typing as t

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes import applied

Object = dict[str, t.Any]
RECORD = {
    "annotations": ["cost"],
    "deletion": ["nodeDrainTimeoutSeconds"],
    "labels": ["team"],
    "minReadySeconds": ["minReadySeconds"],
    "readinessGates": ["Agent"],
}
GIVEN = {
    "annotations": {"cost": "7"},
    "deletion": {"nodeDrainTimeoutSeconds": 60},
    "labels": {"team": "a"},
    "minReadySeconds": {"minReadySeconds": 5},
    "readinessGates": {"Agent": {"conditionType": "Agent", "polarity": "Negative"}},
}
FIELDS = {
    "f:metadata": {"f:labels": {".": {}, "f:team": {}}, "f:annotations": {".": {}, "f:cost": {}}},
    "f:spec": {
        "f:deletion": {"f:nodeDrainTimeoutSeconds": {}},
        "f:minReadySeconds": {},
        "f:readinessGates": {'k:{"conditionType":"Agent"}': {".": {}, "f:conditionType": {}, "f:polarity": {}}},
    },
}


def machine(record: t.Any = None) -> Object:
    """A Machine with fields of the template and others."""
    annotations = {"mine": "1", "cost": "7", **({applied.RECORD: json.dumps(record)} if record else {})}
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Machine",
        "metadata": {
            "name": "m",
            "namespace": "default",
            "uid": "u-1",
            "resourceVersion": "7",
            "labels": {"team": "a", "mine": "1"},
            "annotations": annotations,
        },
        "spec": {
            "clusterName": "prod",
            "deletion": {"nodeDrainTimeoutSeconds": 60, "nodeDeletionTimeoutSeconds": 1},
            "minReadySeconds": 5,
            "readinessGates": [{"conditionType": "Mine"}, {"conditionType": "Agent", "polarity": "Negative"}],
        },
    }


def served(fields: Object, **entry: t.Any) -> Object:
    """The Machine as an API server sends it."""
    own = {"manager": applied.MANAGER, "operation": "Apply", "fieldsV1": fields, **entry}
    others = {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:metadata": {"f:labels": {"f:mine": {}}}}}
    made = machine()
    made["metadata"]["managedFields"] = [others, own]
    return made


def test_managed_fields_become_the_annotation() -> None:
    obj = served(FIELDS)
    applied.present(obj)
    assert obj == machine(RECORD) and applied.given(obj) == GIVEN


@pytest.mark.parametrize("entry", [{"manager": "somebody"}, {"operation": "Update"}, {"fieldsV1": {}}])
def test_what_another_manager_has_is_not_the_templates(entry: Object) -> None:
    """Nor what somebody wrote in the annotation there."""
    obj = served(FIELDS, **entry)
    obj["metadata"]["annotations"][applied.RECORD] = json.dumps(RECORD)
    applied.present(obj)
    assert obj == machine() and applied.given(obj) == {}


@pytest.mark.parametrize("text", ["[1", "7", '{"labels": 3}'])
def test_a_damaged_annotation_names_nothing(text: str) -> None:
    obj = machine()
    obj["metadata"]["annotations"][applied.RECORD] = text
    assert applied.given(obj) == {} and applied.own(obj) == machine()


def test_what_is_gone_is_not_named() -> None:
    obj = machine({**RECORD, "labels": ["team", "tier"], "annotations": ["theirs"]})
    assert applied.settled(obj) == machine({key: value for key, value in RECORD.items() if key != "annotations"})
    assert applied.settled(machine()) == machine()


def test_it_is_created_without_and_then_applied() -> None:
    obj = machine(RECORD)
    before = copy.deepcopy(obj)
    made = applied.rest(obj, applied.given(obj))
    assert made["metadata"]["labels"] == {"mine": "1"} and made["metadata"]["annotations"] == {"mine": "1"}
    assert made["spec"] == {
        "clusterName": "prod",
        "deletion": {"nodeDeletionTimeoutSeconds": 1},
        "readinessGates": [{"conditionType": "Mine"}],
    }
    assert obj == before
    sent = applied.request(obj, applied.given(obj), "7")
    assert sent["metadata"] == {
        "name": "m",
        "namespace": "default",
        "uid": "u-1",
        "resourceVersion": "7",
        "labels": {"team": "a"},
        "annotations": {"cost": "7"},
    }
    assert sent["spec"] == {
        "deletion": {"nodeDrainTimeoutSeconds": 60},
        "minReadySeconds": 5,
        "readinessGates": [{"conditionType": "Agent", "polarity": "Negative"}],
    }


def test_an_annotation_alone_leaves_none() -> None:
    obj = {"metadata": {"annotations": {applied.RECORD: "{}"}}}
    assert applied.own(obj) == {"metadata": {}}


def test_nothing_is_asked_for_where_nothing_is_left() -> None:
    """By which an API server takes all of it away."""
    sent = applied.request(machine(), {}, None)
    assert sent == {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Machine",
        "metadata": {"name": "m", "namespace": "default", "uid": "u-1"},
    }


def test_what_another_manager_has_too_is_kept() -> None:
    """The API server leaves it; the update that follows for other fields must not take it away."""
    wanted = machine({"annotations": ["cost"]})
    for part in ("labels", "annotations"):
        wanted["metadata"][part].pop("team", None)
    wanted["spec"].pop("minReadySeconds")
    wanted["spec"]["version"] = "v1.21.0"
    stored = machine({"annotations": ["cost"]})
    stored["spec"].pop("minReadySeconds")
    applied.follow(wanted, stored, {"labels": {"team": "a"}, "minReadySeconds": {"minReadySeconds": 5}})
    assert wanted["metadata"] == stored["metadata"]
    assert wanted["spec"] == {**stored["spec"], "version": "v1.21.0"}
