# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans in the store: found by their digest, a bounded number of them, and never another one."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from builders import NOW, cluster, healthy

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import settings
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.failure import ControlPlaneFailure
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.document import digest, make_plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.plans import kept_plans
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

Object = dict[str, Any]
OTHER = "sha256:" + "0" * 64


@pytest.fixture
def kept(tmp_path: Path) -> FileStore:
    return FileStore(str(tmp_path))


@pytest.fixture(scope="module")
def made() -> Object:
    return make_plan(cluster(3).bare().build(), NOW, lambda domain: f"prod-{domain or 'x'}")


def another(document: Object, number: int) -> Object:
    """A plan with another digest, made so many minutes later."""
    changed = copy.deepcopy(document)
    changed.update(createdAt=NOW.replace(":00Z", f":{number:02}Z"), policy={"replace": "allow", "number": number})
    return changed


def test_a_plan_is_read_as_it_was_kept(kept: FileStore, made: Object) -> None:
    value = kept_plans.keep(kept, made)
    assert kept_plans.read(kept, "default", "prod", value) == made
    assert kept_plans.keep(kept, {**made, "createdAt": "2027-01-01T00:00:00Z"}) == value
    assert len(kept_plans.of_cluster(kept, "default", "prod")) == 1


def test_the_plans_that_were_made_last_are_kept(kept: FileStore, made: Object) -> None:
    """One that was made again is among them."""
    values = [kept_plans.keep(kept, another(made, number)) for number in range(settings.PLANS_KEPT)]
    again = another(made, 0)
    kept_plans.keep(kept, {**again, "createdAt": another(made, 40)["createdAt"]})
    values.append(kept_plans.keep(kept, another(made, 50)))
    assert len(kept_plans.of_cluster(kept, "default", "prod")) == settings.PLANS_KEPT
    assert kept_plans.read(kept, "default", "prod", values[0])["policy"] == again["policy"]
    with pytest.raises(ControlPlaneFailure, match="no such plan"):
        kept_plans.read(kept, "default", "prod", values[1])


def test_a_plan_that_is_carried_out_is_not_dropped_for_newer_ones(kept: FileStore, made: Object) -> None:
    """A rollout takes longer than ten scheduled plans, each of which sees another state."""
    value = kept_plans.keep(kept, made)
    for number in range(1, settings.PLANS_KEPT + 5):
        kept_plans.keep(kept, another(made, number))
        kept_plans.note_use(kept, "default", "prod", value, another(made, number)["createdAt"])
    assert kept_plans.read(kept, "default", "prod", value) == made
    assert len(kept_plans.of_cluster(kept, "default", "prod")) == settings.PLANS_KEPT
    kept_plans.delete_with_cluster(kept, "default", "prod")
    kept_plans.note_use(kept, "default", "prod", value, NOW)
    assert kept_plans.of_cluster(kept, "default", "prod") == []


def test_a_controller_whose_clock_is_behind_keeps_its_plans(kept: FileStore, made: Object) -> None:
    """Those of the other one seem to be made later: whoever keeps a plan or carries it out makes it the newest."""
    behind = [another(made, number) for number in range(3)]
    ahead = [another(made, number) for number in range(10, 10 + settings.PLANS_KEPT)]
    first = [kept_plans.keep(kept, each) for each in ahead]
    own = kept_plans.keep(kept, behind[0])
    assert kept_plans.read(kept, "default", "prod", own) == behind[0]
    kept_plans.note_use(kept, "default", "prod", first[1], behind[1]["createdAt"])
    last = kept_plans.keep(kept, behind[2])
    for value in (own, first[1], last):
        kept_plans.read(kept, "default", "prod", value)
    for value in (first[0], first[2]):
        with pytest.raises(ControlPlaneFailure, match="no such plan"):
            kept_plans.read(kept, "default", "prod", value)
    assert len(kept_plans.of_cluster(kept, "default", "prod")) == settings.PLANS_KEPT


def test_another_clusters_plan_is_said_to_be_one(kept: FileStore, made: Object) -> None:
    value = kept_plans.keep(kept, made)
    with pytest.raises(ControlPlaneFailure, match="a plan of default/prod, not of default/stage"):
        kept_plans.read(kept, "default", "stage", value)
    kept_plans.delete_with_cluster(kept, "default", "stage")
    assert kept_plans.of_cluster(kept, "default", "prod")
    kept_plans.delete_with_cluster(kept, "default", "prod")
    with pytest.raises(ControlPlaneFailure, match="no such plan"):
        kept_plans.read(kept, "default", "stage", value)


def renamed(document: Object) -> None:
    document["steps"][2]["target"]["name"] = "mine"


def other_step(document: Object) -> None:
    document["steps"][2]["action"] = "join"


def consented(document: Object) -> None:
    document["steps"][2]["needsApproval"] = True


def truncated(document: Object) -> None:
    document["steps"].pop()


def not_a_plan(document: Object) -> None:
    document.clear()


@pytest.mark.parametrize("edit", [renamed, other_step, consented, truncated, not_a_plan])
def test_a_plan_that_was_changed_in_the_store_is_refused(kept: FileStore, made: Object, edit: Any) -> None:
    value = kept_plans.keep(kept, made)
    (stored,) = kept_plans.of_cluster(kept, "default", "prod")
    document = json.loads(stored["data"][kept_plans.CONTENT])
    edit(document)
    stored["data"][kept_plans.CONTENT] = json.dumps(document)
    kept.update(stored)
    with pytest.raises(ControlPlaneFailure, match="was changed in the store"):
        kept_plans.read(kept, "default", "prod", value)


@pytest.mark.parametrize("content", ["", "{", "[1]", None])
def test_what_is_no_json_is_refused(kept: FileStore, made: Object, content: Any) -> None:
    value = kept_plans.keep(kept, made)
    (stored,) = kept_plans.of_cluster(kept, "default", "prod")
    stored["data"] = {kept_plans.CONTENT: content} if content is not None else {}
    kept.update(stored)
    with pytest.raises(ControlPlaneFailure, match="was changed in the store"):
        kept_plans.read(kept, "default", "prod", value)


@pytest.mark.parametrize(
    ("given", "found"),
    [(None, None), (OTHER, OTHER), ({"prod": OTHER}, OTHER), ({"prod": OTHER, "stage": "x"}, OTHER)],
)
def test_which_plan_is_meant(given: Any, found: Any) -> None:
    assert kept_plans.chosen(given, "prod") == found


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("", "is given and empty, so no plan of prod was approved"),
        ({}, "no plan of prod was approved: control_plane_plan has plans of no cluster"),
        ({"stage": OTHER}, "no plan of prod was approved: control_plane_plan has plans of stage"),
        ({"prod": ""}, "is no digest"),
        ({"prod": None}, "is no digest"),
        ("sha256:0d", "is no digest"),
        (OTHER + "0", "is no digest"),
        (OTHER + "\n", "is no digest"),
        ("/etc/passwd", "is no digest"),
        ([OTHER], "is no digest"),
        (True, "is no digest"),
        (0, "is no digest"),
    ],
)
def test_what_names_no_plan_is_refused(given: Any, words: str) -> None:
    with pytest.raises(ControlPlaneFailure, match=words) as refused:
        kept_plans.chosen(given, "prod")
    assert "Nothing was done" in str(refused.value)


def test_the_digest_covers_what_is_done_and_no_text_or_time(made: Object) -> None:
    value = digest(made)
    same = copy.deepcopy(made)
    same["createdAt"] = "2030-01-01T00:00:00Z"
    for step in [*same["steps"], same["end"]]:
        step["reasons"][0]["message"] = "now it is 5 days old"
        step.update(quorum=None, preflight=[], leadership={"from": "m1", "to": ["m2"]})
    assert digest(same) == value
    for edit in (renamed, other_step, consented, truncated):
        changed = copy.deepcopy(made)
        edit(changed)
        assert digest(changed) != value, edit
    for change in ({"cluster": "stage"}, {"namespace": "other"}, {"specHash": OTHER}, {"policy": {"replace": "ask"}}):
        assert digest({**made, **change}) != value, change
    assert digest(make_plan(healthy(3).build(), NOW)) != value
