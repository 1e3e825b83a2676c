# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan as a document: its schema, what it says of each step, consent, and what is refused as a plan."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any, Callable

import jsonschema
import pytest
from builders import NOW, Builder, cluster, healthy
from rules import external, outdate, runs, seen, upgrade

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.document import (
    acting_steps,
    changed_spec,
    make_plan,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.validate import check_plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.spec_hash import (
    spec_parts,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.state_fingerprint import (
    fingerprint,
    state_of,
)

Object = dict[str, Any]
REFERENCE = Path(__file__).parents[5] / "docs" / "reference"
SCHEMA = jsonschema.Draft202012Validator(json.loads((REFERENCE / "plan.schema.json").read_text(encoding="utf-8")))


def names() -> Callable[[str], str]:
    left = [f"prod-{each}" for each in "abcdefghijkl"]
    return lambda domain: left.pop(0)


def document(builder: Builder, **policy: Any) -> Object:
    snapshot = builder.build()
    if policy:
        snapshot["policy"] = policy
    return make_plan(snapshot, NOW, names())


def some_clusters() -> list[Builder]:
    return [
        cluster(3).bare().domains("a", "b", "c"),
        cluster(3).bare(),
        healthy(3),
        healthy(1, replicas=3),
        healthy(5, replicas=3),
        upgrade(healthy(3)),
        healthy(2, replicas=3).machine("m3", "Failed"),
        healthy(3).leads("m3").marked("m3"),
        healthy(3).unreachable(),
        healthy(3, replicas=2),
        healthy(3).deleting(),
        cluster(3).endpoint(True),
        upgrade(external(healthy(2))),
    ]


@pytest.mark.parametrize("builder", some_clusters())
def test_every_plan_fits_its_schema_and_can_be_followed(builder: Builder) -> None:
    made = document(builder)
    SCHEMA.validate(made)
    assert check_plan(made) == []
    assert json.loads(json.dumps(made)) == made
    assert check_plan(json.loads(json.dumps(made))) == []


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA.schema)


def test_hashes_are_of_spec_and_observed_state() -> None:
    snapshot = upgrade(healthy(3)).build()
    made = make_plan(snapshot, NOW)
    assert made["specHash"] == fingerprint(spec_parts(snapshot)) == fingerprint(made["spec"])
    assert made["observedHash"] == fingerprint(state_of(snapshot)) == made["steps"][0]["expects"]["fingerprint"]
    assert (made["cluster"], made["namespace"], made["createdAt"]) == ("prod", "default", NOW)


def test_each_step_has_its_quorum_certificate_and_fixed_names() -> None:
    made = document(cluster(3).bare().domains("a", "b", "c"))
    assert [(step["action"], (step["target"] or {}).get("name")) for step in made["steps"]] == [
        ("createInfrastructure", None),
        ("createCertificates", None),
        ("initialize", "prod-a"),
        ("join", "prod-b"),
        ("join", "prod-c"),
    ]
    certificate = made["steps"][4]["quorum"]
    assert certificate["before"] == {"voters": 2, "healthy": 2, "quorum": 2, "tolerance": 0}
    assert certificate["after"] == {"voters": 3, "healthy": 2, "quorum": 2, "tolerance": 0}
    assert certificate["leader"] == "prod-a" and certificate["whyThisOrder"]
    assert made["end"]["action"] == "none"
    assert set(made["end"]["expects"]["state"]["machines"]) == {"prod-a", "prod-b", "prod-c"}


def test_no_secret_gets_into_a_plan() -> None:
    builder = healthy(3)
    config = builder.spec["kubeadmConfigSpec"]
    config["files"] = [{"path": "/etc/x", "content": "TOPSECRET"}]
    config["users"] = [{"name": "a", "passwd": "TOPSECRET"}]
    config["joinConfiguration"]["discovery"] = {"bootstrapToken": {"token": "TOPSECRET"}}
    made = document(builder)
    assert made["steps"], "the machines have another config"
    assert "TOPSECRET" not in json.dumps(made)


def test_asking_shows_the_steps_after_the_consent_and_where_it_is_wanted() -> None:
    builder = upgrade(healthy(1))
    made = document(builder, replace="ask", approved=False)
    assert [step["action"] for step in made["steps"]] == ["join", "remove"]
    assert [step["needsApproval"] for step in made["steps"]] == [True, True]
    assert made["policy"] == {"replace": "ask"}
    assert not any(step["needsApproval"] for step in document(builder, replace="allow")["steps"])


def test_scaling_up_wants_no_consent() -> None:
    made = document(healthy(3, replicas=5), replace="ask")
    assert [step["needsApproval"] for step in made["steps"]] == [False, False]
    assert len(acting_steps(made)) == 2


def test_never_ends_the_plan_before_the_first_replacement() -> None:
    made = document(upgrade(healthy(3)), replace="never")
    assert (made["steps"], made["end"]["action"]) == ([], "blocked")
    assert made["end"]["reasons"][0]["reason"] == "ReplacementNotAllowed"


def orphaned(builder: Builder) -> Builder:
    builder.entry("m2")["machine"]["metadata"]["ownerReferences"] = []
    return builder


@pytest.mark.parametrize(
    ("builder", "acting"),
    [
        (cluster(3).bare(), 5),
        (healthy(3, replicas=5), 2),
        (healthy(2, replicas=3).machine("m3", "Failed"), 2),
        (healthy(3).deleting("m3"), 2),
        (healthy(3).deleting(), 2),
        (upgrade(healthy(3)), 6),
        (outdate(healthy(3), "m1"), 2),
        (healthy(5, replicas=3), 2),
        (healthy(3).leads("m3").marked("m3"), 2),
        (seen(healthy(3).member("gone", healthy=False), 900, "gone"), 1),
        (upgrade(healthy(3, replicas=5)), 8),
        (runs(healthy(3), "k8s.gcr.io/kube-proxy:v1.19.7"), 1),
        (orphaned(healthy(3, replicas=5)), 3),
    ],
)
def test_what_a_run_carries_out(builder: Builder, acting: int) -> None:
    made = document(builder)
    assert made["steps"]
    assert len(acting_steps(made)) == acting


def test_a_run_without_consent_acts_up_to_the_step_that_wants_it() -> None:
    made = document(healthy(1, replicas=5), replace="ask")
    made["steps"][2]["needsApproval"] = True
    assert len(acting_steps(made)) == 2
    assert len(acting_steps(made, approved=True)) == 4


def test_changed_spec_names_paths() -> None:
    old = healthy(3)
    new = upgrade(healthy(3)).wants(replicas=5)
    assert changed_spec(spec_parts(old.build()), spec_parts(new.build())) == [
        "KubeadmControlPlane.spec.replicas",
        "KubeadmControlPlane.spec.version",
    ]


BREAKS: dict[str, tuple[Callable[[Object], Any], str]] = {
    "version": (lambda d: d.update(planVersion="v9"), "planVersion"),
    "no version": (lambda d: d.pop("planVersion"), "planVersion"),
    "cluster": (lambda d: d.update(cluster=3), "cluster"),
    "time": (lambda d: d.update(createdAt="yesterday"), "createdAt"),
    "spec hash": (lambda d: d.update(specHash="abc"), "specHash"),
    "spec": (lambda d: d.update(spec=[]), "spec"),
    "steps": (lambda d: d.update(steps={}), "steps"),
    "a step": (lambda d: d["steps"].insert(1, "x"), "steps[1]"),
    "number": (lambda d: d["steps"][1].update(step=7), "steps[1].step"),
    "action": (lambda d: d["steps"][0].update(action="explode"), "steps[0].action"),
    "an end among the steps": (lambda d: d["steps"][0].update(action="none"), "steps[0].action"),
    "no target": (lambda d: d["steps"][2].update(target=None), "steps[2].target"),
    "target": (lambda d: d["steps"][2].update(target="m1"), "steps[2].target"),
    "name": (lambda d: d["steps"][2]["target"].update(name=["x"]), "steps[2].target.name"),
    "reasons": (lambda d: d["steps"][0].update(reasons=[]), "steps[0].reasons"),
    "a reason": (lambda d: d["steps"][0].update(reasons=[{"message": "x"}]), "steps[0].reasons[0]"),
    "flag": (lambda d: d["steps"][0].update(needsApproval="yes"), "steps[0].needsApproval"),
    "expects": (lambda d: d["steps"][0].pop("expects"), "steps[0].expects"),
    "fingerprint": (lambda d: d["steps"][0]["expects"].update(fingerprint="x"), "steps[0].expects.fingerprint"),
    "state": (lambda d: d["steps"][0]["expects"].update(state=None), "steps[0].expects.state"),
    "end": (lambda d: d.update(end=None), "end"),
    "end's action": (lambda d: d["end"].update(action="join"), "end.action"),
    "edited state": (
        lambda d: d["steps"][1]["expects"]["state"].update(paused=True),
        "steps[1].expects.fingerprint",
    ),
    "edited spec": (lambda d: d["spec"].popitem(), "specHash"),
    "edited observation": (lambda d: d["observed"].update(paused=True), "observedHash"),
    "edited end": (lambda d: d["end"]["expects"]["state"].update(paused=True), "end.expects.fingerprint"),
}


@pytest.mark.parametrize("name", BREAKS)
def test_what_is_no_plan_is_refused_with_the_path(name: str) -> None:
    change, path = BREAKS[name]
    made = document(cluster(3).bare())
    change(made)
    assert [problem.path for problem in check_plan(made)][:1] == [path]


@pytest.mark.parametrize("junk", [None, [], "x", 3, {}, {"planVersion": "v1"}, {"planVersion": ["v1"]}])
def test_junk_is_refused(junk: Any) -> None:
    assert check_plan(junk)


def test_checking_never_raises_whatever_is_wrong() -> None:
    made = document(cluster(3).bare())

    def spoil(holder: Any, key: Any) -> None:
        for value in (None, 0, "", [], {}, [[]], {"a": None}):
            kept = holder[key]
            holder[key] = value
            assert isinstance(check_plan(made), list)
            holder[key] = kept

    def visit(value: Any, depth: int) -> None:
        keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
        for key in keys:
            if depth:
                visit(value[key], depth - 1)
            spoil(value, key)

    made["steps"] = made["steps"][:3]
    visit(made, 3)


def test_a_plan_that_was_made_is_a_function_of_the_snapshot() -> None:
    snapshot = upgrade(healthy(3)).build()
    before = copy.deepcopy(snapshot)
    assert make_plan(snapshot, NOW, names()) == make_plan(snapshot, NOW, names())
    assert snapshot == before
    assert decide(snapshot)["action"] == make_plan(snapshot, NOW)["steps"][0]["action"]
