# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan that travels in the store: its digest, what set_stats would say of it, and runs that are given it."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from cluster_folder import ClusterFolder

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import kinds
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import CLUSTER
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.plans import kept_plans
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock.any_store import FileLocks

Object = dict[str, t.Any]
UNKNOWN = "sha256:" + "0" * 64


class Folder(ClusterFolder):
    """One whose plans are kept in the store."""

    def plan(self, **arguments: t.Any) -> Object:
        """Keep a plan and return its result."""
        result = self.run("plan", manifests=[str(self.manifest)], **{"keep": True, "show": False, **arguments})
        assert not result.get("failed"), result["msg"]
        return result

    def decide(self, plan: t.Any, **arguments: t.Any) -> Object:
        """Decide, following the plan."""
        return self.run("decide", **{"plan": plan, "run": "r1", **arguments})


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def names(plan: Object) -> list[str]:
    return [step["target"]["name"] for step in plan["steps"] if step["target"]]


def test_a_plan_made_twice_is_one_plan(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    """With one digest and the same names, and nothing else is stored; another manifest has another one."""
    first = folder.plan(show=True)
    shown = " ".join(capsys.readouterr().out.split())
    assert f"Kept in the store; reconcile with -e control_plane_plan={first['digest']} carries out this plan" in shown
    assert all(name in shown for name in names(first)) and len(set(names(first))) == 3
    second = folder.plan()
    assert (second["digest"], names(second), second["kept"]) == (first["digest"], names(first), True)
    assert len(folder.objects.list(("", "ConfigMap"))) == 1
    assert not folder.objects.list(CLUSTER)
    folder.wants(replicas=5)
    assert folder.plan()["digest"] != first["digest"]


def test_a_plan_that_is_not_kept_leaves_nothing_and_has_the_same_digest(folder: Folder) -> None:
    before = folder.files()
    told = [folder.plan(keep=None), folder.plan(check=True)]
    assert folder.files() == before and [each["kept"] for each in told] == [False, False]
    assert {each["digest"] for each in told} == {folder.plan()["digest"]}


def test_the_next_job_of_a_workflow_is_told(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a job of AWX the plan is kept unless somebody says otherwise."""
    monkeypatch.setenv("JOB_ID", "17")
    monkeypatch.setenv("AWX_HOST", "https://awx")
    result = folder.plan(keep=None)
    assert result["kept"] and not folder.plan(keep=False)["kept"]
    stats = result["ansible_stats"]
    assert (stats["per_host"], stats["aggregate"]) == (False, True)
    risks = ["step 4: etcd gets its second voter: both are needed from then on"]
    assert stats["data"] == {
        "control_plane_plan": {"prod": result["digest"]},
        "control_plane_plan_clusters": {
            "prod": {"digest": result["digest"], "steps": 5, "risks": risks, "blocked": []}
        },
        "control_plane_plan_steps": 5,
        "control_plane_plan_risks": 1,
        "control_plane_plan_blocked": 0,
    }
    decided = folder.decide(stats["data"]["control_plane_plan"], check=True, manifests=[str(folder.manifest)])
    assert decided["changed"] is True, decided


def test_where_it_cannot_be_kept_who_asked_is_told_and_others_are_warned(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = {"path": str(folder.path / "missing" / "store")}
    arguments = {"manifests": [str(folder.manifest)], "store": store, "show": False}
    # The cluster is known of a store that can be read alone.
    monkeypatch.setenv("AWX_PRIVATE_DATA_DIR", str(folder.path / "missing"))
    monkeypatch.setenv("JOB_ID", "17")
    refused = folder.run("plan", keep=True, **arguments)
    assert refused["failed"] and "would be lost" in refused["msg"]
    folder.run("cluster", manifests=[str(folder.manifest)])
    monkeypatch.setenv("AWX_PRIVATE_DATA_DIR", str(folder.path))
    capsys.readouterr()
    assert folder.plan(keep=None)["kept"] is False
    said = capsys.readouterr()
    assert "the plan is not kept in the store" in " ".join(f"{said.out} {said.err}".split())


@pytest.mark.parametrize("given", ["digest", "by name"])
def test_a_run_takes_the_approved_steps_with_their_names(folder: Folder, given: str) -> None:
    plan = folder.plan()
    value = plan["digest"] if given == "digest" else {"prod": plan["digest"], "stage": UNKNOWN}
    assert folder.run("cluster", manifests=[str(folder.manifest)], plan=value)["changed"] is True
    first = folder.decide(value)
    assert first["act"] and first["msg"].startswith("step 1 of 5: "), first
    folder.provide_infrastructure()
    assert folder.decide(value)["decision"]["action"] == "createCertificates"
    folder.run("cluster_certificates")
    third = folder.decide(value, run="r2")
    assert third["decision"]["target"]["name"] == names(plan)[0]
    assert third["prepare_names"] == names(plan)[1:]


def test_plans_made_meanwhile_do_not_push_out_the_one_that_is_carried_out(folder: Folder) -> None:
    """Each step counts as a use; one that is only asked about is none."""
    value = folder.plan()["digest"]
    folder.run("cluster", manifests=[str(folder.manifest)], plan=value)
    store = folder.objects
    (kept,) = kept_plans.of_cluster(store, "default", "prod")
    kept["metadata"]["annotations"][kinds.ANNOTATION_PLANNED_AT] = "2020-01-01T00:00:00Z"
    store.update(kept)

    def used() -> bool:
        (found,) = kept_plans.of_cluster(store, "default", "prod")
        return bool(found["metadata"]["annotations"][kinds.ANNOTATION_PLANNED_AT] > "2020-01-01T00:00:00Z")

    assert folder.decide(value, check=True)["changed"] and not used()
    assert folder.decide(value)["act"] and used()


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        (UNKNOWN, "the store has no such plan of default/prod"),
        ("sha256:12", "is no digest of a plan"),
        ("", "is given and empty, so no plan of prod was approved"),
        ({}, "no plan of prod was approved"),
        ({"stage": UNKNOWN}, "no plan of prod was approved"),
        (["x"], "is no digest of a plan"),
    ],
)
def test_what_is_no_plan_of_the_cluster_is_refused_before_anything_is_locked(
    folder: Folder, plan: t.Any, says: str
) -> None:
    folder.plan()
    before = folder.files()
    arguments = {"manifests": [str(folder.manifest)], "plan": plan}
    for check in (False, True):
        started = folder.run("run", check=check, cluster_state="present", **arguments)
        assert started["failed"] and says in started["msg"], started
    for module in ("cluster", "decide"):
        refused = folder.run(module, **arguments)
        assert refused["failed"] and says in refused["msg"]
    assert folder.files() == before
    assert FileLocks(folder.store["path"]).holder("default", "prod") is None


def test_two_plans_are_one_too_many(folder: Folder) -> None:
    plan = folder.plan(plan_file=str(folder.plan_file))
    refused = folder.decide(plan["digest"], plan_file=plan["plan_file"])
    assert refused["failed"] and "both name a plan" in refused["msg"]


def test_another_manifest_stores_nothing(folder: Folder) -> None:
    value = folder.plan()["digest"]
    folder.wants(replicas=1)
    before = folder.files()
    refused = folder.run("cluster", manifests=[str(folder.manifest)], plan=value)
    assert refused["failed"] and "KubeadmControlPlane.spec.replicas" in refused["msg"]
    assert "control_plane_keep_plan=true" in refused["msg"] and folder.files() == before


def test_a_cluster_that_moved_on_is_told_with_the_step(folder: Folder) -> None:
    """What was approved, what differs, what to type; check mode says the same, and says so too where nothing has changed."""
    plan = folder.plan()
    folder.run("cluster", manifests=[str(folder.manifest)])
    assert folder.decide(plan["digest"], check=True)["changed"] is True
    folder.provide_infrastructure()
    folder.run("cluster_certificates")
    folder.run("machine", kind="init", name="interloper", failure_domain="a")
    for check in (True, False):
        left = folder.decide(plan["digest"], check=check)
        assert left["failed"], left
        said = f"{left['msg']} {left.get('difference')}"
        assert plan["digest"] in said and "interloper" in said and "What to type: make a new plan" in said


def test_a_run_whose_later_steps_would_be_others_is_not_begun(folder: Folder) -> None:
    """The state is the approved one, and so is the next step: both steps are named."""
    file = folder.plan_file
    folder.plan(plan_file=str(file))
    document = json.loads(file.read_text())
    document["steps"][4]["target"]["failureDomain"] = "b"
    value = kept_plans.keep(folder.objects, document)
    folder.run("cluster", manifests=[str(folder.manifest)])
    name = document["steps"][4]["target"]["name"]
    for check in (True, False):
        refused = folder.decide(value, check=check)
        assert refused["failed"] and "would not be carried to the end of the plan" in refused["msg"], refused
        assert f"step 5, approved: join new machine {name} in failure domain b" in refused["msg"]
        assert f"step 5, now: join new machine {name} in failure domain c" in refused["msg"]
    assert not (folder.path / "store" / "default" / "journal").exists()
