# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The user's annotations in a manifest: every fault is told with its path and what to do; what the documentation shows is right."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import Report, Violation
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import kinds
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import ClusterManifest
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.user_annotations import (
    KNOWN,
    NOTES,
    expression_fault,
    read_maintenance_window,
    read_readiness_gates,
    validate_annotations,
)

Documents = list[dict[str, Any]]
Refused = Callable[..., list[Violation]]
MANUAL = Path(__file__).parents[5] / "docs" / "manifest.md"
GATES, READY, WINDOW, DOWNGRADE = (
    kinds.ANNOTATION_PREFIX + name
    for name in ("readiness-gates", "min-ready-seconds", "maintenance-window", "allow-patch-downgrade")
)
CLUSTER, CONTROL_PLANE = 0, 1


def gate(**changes: Any) -> str:
    """A good gate as JSON, with changed fields; None takes a field out."""
    good = {
        "name": "shop",
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "namespace": "shop",
        "objectName": "web",
        "expression": "status.readyReplicas == spec.replicas",
    }
    return json.dumps([{key: value for key, value in {**good, **changes}.items() if value is not None}])


def window(**changes: Any) -> str:
    """A good window as JSON, with changed fields."""
    good = {"schedule": "0 2 * * 6", "duration": "4h", "timeZone": "Europe/Berlin"}
    return json.dumps({key: value for key, value in {**good, **changes}.items() if value is not None})


# Annotation, its text, the path below the annotation, a part of what is said.
FAULTS = [
    (GATES, "", "", "not one YAML or JSON document"),
    (GATES, "~", "", "must be a list, not nothing"),
    (GATES, "[", "", "can't be read"),
    (GATES, "--- []\n--- []", "", "not one YAML or JSON document"),
    (GATES, "[]", "", "empty"),
    (GATES, "{}", "", "must be a list"),
    (GATES, "[5]", "[0]", "must be a mapping"),
    (GATES, "x" * 70000, "", "longer than"),
    (GATES, json.dumps([{**json.loads(gate())[0], "name": f"g{n}"} for n in range(21)]), "", "21 gates"),
    (GATES, json.dumps(json.loads(gate()) * 2), "[1].name", "same name"),
    (GATES, gate(name=None), "[0].name", "no name"),
    (GATES, gate(name="a b"), "[0].name", "not a gate's name"),
    (GATES, gate(apiVersion=None), "[0].apiVersion", "no apiVersion"),
    (GATES, gate(apiVersion="Apps"), "[0].apiVersion", "not an apiVersion"),
    (GATES, gate(apiVersion="v1/../v1"), "[0].apiVersion", "not an apiVersion"),
    (GATES, gate(kind="deployments/scale"), "[0].kind", "not a kind"),
    (GATES, gate(apiVersion="v1", kind="Secret"), "[0].kind", "reads no Secret"),
    (GATES, gate(namespace="a/b"), "[0].namespace", "namespace"),
    (GATES, gate(objectName=None), "[0].objectName", "no objectName"),
    (GATES, gate(objectName=".."), "[0].objectName", "not an object's name"),
    (GATES, gate(objectName="a/b"), "[0].objectName", "not an object's name"),
    (GATES, gate(expression=None), "[0].expression", "no expression"),
    (GATES, gate(expression="status.("), "[0].expression", "not a JMESPath expression"),
    (GATES, gate(expression="'open"), "[0].expression", "not a JMESPath expression"),
    (GATES, gate(expression="size(status)"), "[0].expression", "no function size"),
    (GATES, gate(expression="(" * 4000), "[0].expression", "not a JMESPath expression"),
    (GATES, gate(expression=True), "[0].expression", "must be text"),
    (GATES, gate(expresion="true"), "[0].expresion", "no such field"),
    (READY, "soon", "", "whole number of seconds"),
    (READY, "-1", "", "whole number of seconds"),
    (READY, "1.5", "", "whole number of seconds"),
    (READY, "²", "", "whole number of seconds"),
    (READY, "86401", "", "whole number of seconds"),
    (WINDOW, "0 2 * * 6", "", "must be a mapping"),
    (WINDOW, window(schedule=None), ".schedule", "no schedule"),
    (WINDOW, window(schedule="0 2 * *"), ".schedule", "five fields"),
    (WINDOW, window(schedule="0 0 2 * * 6"), ".schedule", "five fields"),
    (WINDOW, window(schedule="@daily"), ".schedule", "five fields"),
    (WINDOW, window(schedule="0 25 * * *"), ".schedule", "Bad hour"),
    (WINDOW, window(schedule="0 0 31 2 *"), ".schedule", "Bad day-of-month"),
    (WINDOW, window(duration=None), ".duration", "no duration"),
    (WINDOW, window(duration=4), ".duration", "must be text"),
    (WINDOW, window(duration="4 hours"), ".duration", "not a duration"),
    (WINDOW, window(duration="59s"), ".duration", "one minute"),
    (WINDOW, window(duration="-4h"), ".duration", "one minute"),
    (WINDOW, window(duration="745h"), ".duration", "31 days"),
    (WINDOW, window(timeZone="Europe/Berlim"), ".timeZone", "no such time zone"),
    (WINDOW, window(timeZone="../../etc/passwd"), ".timeZone", "no such time zone"),
    (WINDOW, window(timeZone="localtime"), ".timeZone", "no such time zone"),
    (WINDOW, window(zone="UTC"), ".zone", "no such field"),
    (DOWNGRADE, "false", "", 'value "true"'),
    (DOWNGRADE, "", "", 'value "true"'),
]


@pytest.mark.parametrize(("key", "text", "path", "said"), FAULTS)
def test_a_faulty_annotation_is_refused_with_its_path(
    documents: Documents, refused: Refused, key: str, text: str, path: str, said: str
) -> None:
    documents[CONTROL_PLANE]["metadata"]["annotations"] = {key: text}
    [violation] = refused(documents)
    assert violation.path == f'metadata.annotations["{key}"]{path}'
    assert said in violation.rule
    assert violation.fix
    assert violation.object.startswith("KubeadmControlPlane ") and ":" in violation.source


@pytest.mark.parametrize(
    ("index", "key", "said", "fix"),
    [
        (CONTROL_PLANE, "kubeadm.control-plane/readines-gates", "there is no annotation", "Did you mean"),
        (CONTROL_PLANE, "kubeadm.control-plane/something", "there is no annotation", "use one of"),
        (CONTROL_PLANE, "kubeadm.controlplane/readiness-gates", "there is no annotation", GATES),
        (
            CONTROL_PLANE,
            "kubeadm.control-plane/endpoint-is-unused",
            "means nothing on a KubeadmControlPlane",
            "Cluster",
        ),
        (CLUSTER, GATES, "means nothing on a Cluster", "KubeadmControlPlane"),
        (CLUSTER, "kubeadm.control-plane/prepared-version", "there is no annotation", "ignore-worker-nodes"),
    ],
)
def test_an_annotation_that_does_not_exist_is_refused(
    documents: Documents, refused: Refused, index: int, key: str, said: str, fix: str
) -> None:
    documents[index]["metadata"]["annotations"] = {key: "true", "example.org/anything": "{{ x }}"}
    [violation] = refused(documents)
    assert violation.path == f'metadata.annotations["{key}"]'
    assert said in violation.rule and fix in violation.fix


def test_the_annotations_mean_nothing_on_machines(documents: Documents, refused: Refused) -> None:
    template = documents[CONTROL_PLANE]["spec"]["machineTemplate"].setdefault("metadata", {})
    template["annotations"] = {READY: "60"}
    [violation] = refused(documents)
    assert violation.path == f'spec.machineTemplate.metadata.annotations["{READY}"]'


def test_good_annotations_are_taken_as_they_are(documents: Documents, read: Callable[..., ClusterManifest]) -> None:
    given_ = {GATES: gate(namespace=None), READY: "60", WINDOW: window(timeZone=None), DOWNGRADE: "true"}
    documents[CONTROL_PLANE]["metadata"]["annotations"] = given_
    assert read(documents).control_plane["metadata"]["annotations"] == given_
    report = Report("x")
    [found] = read_readiness_gates(given_[GATES], "p", report)
    assert (found.api_version, found.object, found.object_name) == ("apps/v1", "Deployment web", "web")
    opened = read_maintenance_window(given_[WINDOW], "p", report)
    assert opened is not None and (opened.seconds, opened.time_zone) == (14400, "UTC")
    assert report.violations == []


def test_every_annotation_of_the_manual_is_known_and_right() -> None:
    found = []
    for block in re.findall(r"```yaml\n(.*?)```", MANUAL.read_text(encoding="utf-8"), re.DOTALL):
        document = yaml.safe_load(block)
        annotations = (document.get("metadata") or {}).get("annotations") if isinstance(document, dict) else None
        if annotations:
            report = Report(document["kind"])
            validate_annotations(document["kind"], annotations, "metadata.annotations", report)
            assert [violation.text() for violation in report.violations] == []
            found += list(annotations)
    text = MANUAL.read_text(encoding="utf-8")
    assert set(found) >= {GATES, READY, WINDOW}
    assert [key for key in KNOWN if f"`{key}`" not in text] == []


def test_every_name_of_ours_is_known() -> None:
    ours = {
        value for name, value in vars(kinds).items() if name.startswith("ANNOTATION_") and "control-plane/" in value
    }
    # No manifest has infrastructure machines, MachineSets or kept plans.
    of_others = {
        kinds.ANNOTATION_PREPARED_FAILURE_DOMAIN,
        kinds.ANNOTATION_PREPARED_VERSION,
        kinds.ANNOTATION_MADE_FOR_ROLLOUT,
        kinds.ANNOTATION_PLANNED_AT,
    }
    assert ours - {kinds.ANNOTATION_PREFIX, *NOTES} - of_others == set(KNOWN)


@settings(max_examples=200)
@given(st.text(alphabet=st.sampled_from("ab.()[]'`\"&|!<>=*@{},:0-1 \\é"), max_size=30))
def test_any_text_is_an_expression_or_said_not_to_be_one(text: str) -> None:
    assert isinstance(expression_fault(text), str)


@given(st.text(max_size=40), st.sampled_from(sorted(KNOWN)))
def test_any_text_is_a_value_or_refused(text: str, key: str) -> None:
    report = Report("x")
    validate_annotations(KNOWN[key][0], {key: text}, "metadata.annotations", report)
    assert all(violation.path.startswith("metadata.annotations") for violation in report.violations)


def test_without_the_libraries_the_structure_is_still_checked() -> None:
    code = (
        "import sys; sys.modules['jmespath'] = sys.modules['cronsim'] = None\n"
        "from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import user_annotations as u\n"
        "from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import Report\n"
        "r = Report('x'); u.validate_annotations('KubeadmControlPlane', eval(sys.argv[1]), 'a', r)\n"
        "print([v.path for v in r.violations])"
    )
    annotations = {GATES: gate(expression="no("), WINDOW: window(duration="x")}
    done = subprocess.run([sys.executable, "-c", code, repr(annotations)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == repr([f'a["{WINDOW}"].duration'])


@pytest.mark.parametrize("value", ["true", "false", "no", "", "True", None])
def test_flags_count_by_being_there_and_consents_by_their_value(value: str | None) -> None:
    """Cluster API asks whether its annotations are there; a consent is "true" and nothing else."""
    for flags, wanted in ((kinds.FLAGS, value is not None), (kinds.CONSENTS, value == "true")):
        for key in flags:
            obj = {"metadata": {"annotations": {} if value is None else {key: value}}}
            assert kinds.is_flagged(obj, key) is wanted, key
    assert kinds.FLAGS.isdisjoint(kinds.CONSENTS) and set(kinds.CONSENTS) <= set(KNOWN)


def test_nothing_is_flagged_where_there_is_nothing() -> None:
    for obj in (None, {}, {"metadata": None}, {"metadata": {"annotations": None}}):
        assert not kinds.is_flagged(obj, kinds.ANNOTATION_PAUSED)
    with pytest.raises(KeyError):
        kinds.is_flagged(None, kinds.ANNOTATION_READINESS_GATES)
