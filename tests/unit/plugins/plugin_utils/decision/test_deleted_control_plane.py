# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A control plane that was deleted while its Cluster stays: blocked until somebody consents to a new one, and lost without its record."""

from __future__ import annotations

from typing import Any

import pytest
from builders import Builder, cluster

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.document import make_plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.steps import plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.removal.deleted_control_plane import record
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import kinds

Object = dict[str, Any]
TIME = "2026-01-31T11:00:00Z"
CONSENT = "initialize:default/prod:afterDeletionOf:0123abcd"
UID = "0123abcd-0000-0000-0000-000000000001"
LATCH = {"controlPlaneInitialized": True}


def deleted(consent: str = "") -> Builder:
    """A Cluster that was initialized once, the record of its control plane's deletion, and a new KubeadmControlPlane."""
    builder = cluster(3)
    metadata = builder.snapshot["cluster"]["metadata"]
    former = {"metadata": {"name": "prod", "uid": UID}}
    metadata["annotations"][kinds.ANNOTATION_DELETED_CONTROL_PLANE] = record(former, TIME)
    builder.snapshot["cluster"]["status"]["initialization"].update(LATCH)
    builder.snapshot["controlPlane"]["metadata"]["uid"] = "another"
    if consent:
        builder.snapshot["policy"] = {"replace": "allow", "approved": False, "consent": [consent]}
    return builder


def blocked(builder: Builder) -> Object:
    """What blocks it."""
    decision = decide(builder.build())
    assert decision["action"] == "blocked" and not decision["annotations"], decision
    assert decision["status"]["cluster"]["initialization"]["controlPlaneInitialized"] is True
    [found] = decision["blockedOn"]
    return dict(found)


def conditions(decision: Object) -> dict[str, tuple[str, str]]:
    return {each["type"]: (each["status"], each["reason"]) for each in decision["conditions"]["cluster"]}


@pytest.mark.parametrize(
    "consent", ["", CONSENT[:-1], "initialize:default/other:afterDeletionOf:0123abcd", f"{CONSENT}-"]
)
def test_nothing_is_made_without_the_consent_to_this_deletion(consent: str) -> None:
    found = blocked(deleted(consent))
    assert found["reason"] == "ControlPlaneDeleted"
    assert f"deleted at {TIME}" in found["message"] and "etcd's data with them" in found["message"]
    assert f"-e control_plane_consent={CONSENT} " in found["fix"] and "restore a backup" in found["fix"]


def test_until_then_it_says_so() -> None:
    """Of the Cluster; the new KubeadmControlPlane was never initialized itself."""
    decision = decide(deleted().build())
    assert decision["status"]["controlPlane"]["initialization"] == {"controlPlaneInitialized": False}
    assert conditions(decision)["ControlPlaneInitialized"] == ("False", "ControlPlaneDeleted")
    assert conditions(decision)["ControlPlaneAvailable"] == ("False", "ControlPlaneDeleted")
    assert decision["status"]["controlPlane"]["failureReason"] == "CreateError"


def test_with_it_the_cluster_is_as_if_it_had_never_been_initialized() -> None:
    decision = decide(deleted(CONSENT).build())
    assert decision["action"] == "initialize"
    assert "as was consented to" in decision["reasons"][-1]["message"]
    assert decision["annotations"] == {"cluster": {kinds.ANNOTATION_DELETED_CONTROL_PLANE: None}}
    assert decision["status"]["cluster"]["initialization"]["controlPlaneInitialized"] is False


def test_whatever_the_first_step_is() -> None:
    """A cascade may have taken the keys away: new ones are made, as for a new cluster."""
    builder = deleted(CONSENT)
    builder.snapshot["certificates"]["sa"].update(present=False)
    decision = decide(builder.build())
    assert decision["action"] == "createCertificates"
    assert kinds.ANNOTATION_DELETED_CONTROL_PLANE in decision["annotations"]["cluster"]


def test_a_rotation_that_was_given_up_before_holds_up_no_first_machine() -> None:
    """It needs a Node to be completed; then it is, before another machine joins."""
    builder = deleted(CONSENT)
    builder.snapshot["unfinishedRotation"] = {"action": "rotate-1", "authorities": ["ca", "etcd"]}
    builder.snapshot["certificates"]["sa"].update(present=False)
    steps = plan(builder.build())
    assert [each["action"] for each in steps] == ["createCertificates", "initialize", "blocked"]
    [found] = steps[-1]["blockedOn"]
    assert found["reason"] == "RotationUnfinished" and '"acceptOutage": true' in found["fix"]


@pytest.mark.parametrize("host", ["Running", "Succeeded"])
def test_nor_its_end(host: str) -> None:
    """A run was killed while kubeadm was at work; its API may answer already."""
    builder = cluster(3).machine("m1", "Running", age=30).says("m1", host).endpoint(True)
    builder.workload.update(reachable=True, initialized=True)
    builder.snapshot["unfinishedRotation"] = {"action": "rotate-1", "authorities": ["ca"]}
    assert decide(builder.build())["action"] == "initialize"


@pytest.mark.parametrize("consent", ["", CONSENT])
def test_a_run_that_was_killed_between_latch_and_record_is_gone_on_with(consent: str) -> None:
    """Consent was given, and is not asked for again. The record goes, or it would be consent to the next loss."""
    builder = deleted(consent)
    builder.snapshot["cluster"]["status"]["initialization"].clear()
    decision = decide(builder.build())
    assert decision["action"] == "initialize"
    assert decision["annotations"] == {"cluster": {kinds.ANNOTATION_DELETED_CONTROL_PLANE: None}}
    assert decision["status"]["cluster"]["initialization"]["controlPlaneInitialized"] is False


def test_what_blocks_otherwise_uses_nothing_of_it_up() -> None:
    assert blocked(deleted(CONSENT).wants(replicas=2))["reason"] == "ReplicasInvalid"


def test_an_api_that_answers_is_somebody_elses_all_the_same() -> None:
    assert blocked(deleted(CONSENT).endpoint(True))["reason"] == "ForeignControlPlane"


DOUBTS: dict[str, Any] = {
    "no record": lambda b: b.snapshot["cluster"]["metadata"]["annotations"].clear(),
    "a record that nobody can read": lambda b: b.snapshot["cluster"]["metadata"]["annotations"].update(
        {kinds.ANNOTATION_DELETED_CONTROL_PLANE: "{"}
    ),
    "a record without a uid": lambda b: b.snapshot["cluster"]["metadata"]["annotations"].update(
        {kinds.ANNOTATION_DELETED_CONTROL_PLANE: record({"metadata": {"name": "prod", "uid": ""}}, TIME)}
    ),
    "the record of this very one": lambda b: b.snapshot["controlPlane"]["metadata"].update(uid=UID),
    "this one was initialized, too": lambda b: b.snapshot["controlPlane"]["status"].update(initialization=LATCH),
}


@pytest.mark.parametrize("consent", ["", CONSENT])
@pytest.mark.parametrize("doubt", DOUBTS.values(), ids=DOUBTS.keys())
def test_in_doubt_it_is_lost(doubt: Any, consent: str) -> None:
    """Then no consent helps, and none is asked for."""
    builder = deleted(consent)
    doubt(builder)
    assert blocked(builder)["reason"] == "ControlPlaneLost"


def test_a_machine_that_is_there_is_no_deleted_one() -> None:
    """Whatever the record says: it is gone on with as what the Cluster was, and not as the first machine of a new control plane."""
    decision = decide(deleted(CONSENT).machine("x", "").build())
    assert decision["action"] != "initialize" and not decision["annotations"]


def test_an_external_etcd_still_has_the_data() -> None:
    builder = deleted()
    builder.spec["kubeadmConfigSpec"]["clusterConfiguration"]["etcd"] = {"external": {"endpoints": ["https://e:2379"]}}
    found = blocked(builder)
    assert "but not the data" in found["message"] and "serves the data of that external etcd" in found["fix"]
    assert "restore" not in found["fix"]


def test_without_any_control_plane_it_is_told() -> None:
    builder = deleted()
    builder.snapshot["controlPlane"] = None
    found = blocked(builder)
    assert found["reason"] == "ControlPlaneNotFound" and f"deleted at {TIME}" in found["message"]


def test_the_last_pass_of_the_deletion_says_what_becomes_of_the_cluster() -> None:
    builder = cluster(3)
    builder.snapshot["cluster"]["status"]["initialization"].update(LATCH)
    builder.snapshot["controlPlane"]["status"] = {"initialization": LATCH}
    builder.snapshot["controlPlane"]["metadata"]["deletionTimestamp"] = TIME
    decision = decide(builder.build())
    assert (
        decision["reasons"][0]["reason"] == "DeletionCompleted" and "its keys stay" in decision["reasons"][0]["message"]
    )
    assert conditions(decision)["ControlPlaneInitialized"] == ("False", "ControlPlaneDeleted")


def test_a_plan_begins_with_the_first_machine() -> None:
    plan = make_plan(deleted(CONSENT).build(), TIME)
    assert [step["action"] for step in plan["steps"][:2]] == ["initialize", "join"]
    assert make_plan(deleted().build(), TIME)["end"]["action"] == "blocked"
