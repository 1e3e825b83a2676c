# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Carrying out a plan, as far as no machine has to answer: steps and names, a killed run, what stops it, and what stays unwritten."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import typing as t
from pathlib import Path

import pytest
from cluster_folder import ClusterFolder

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import actions as operator
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CLUSTER,
    CONTROL_PLANE,
    MACHINE,
    SECRET,
)

Object = dict[str, t.Any]


class Folder(ClusterFolder):
    """One with the plan for the cluster."""

    def make_plan(self) -> Object:
        """Keep a plan and return it."""
        result = self.run("plan", manifests=[str(self.manifest)], plan_file=str(self.plan_file), show=False)
        assert not result.get("failed"), result["msg"]
        return dict(json.loads(self.plan_file.read_text()))

    def apply(self, **arguments: t.Any) -> Object:
        """Bring the manifest into the store."""
        return self.run("cluster", manifests=[str(self.manifest)], **arguments)

    def decide(self, **arguments: t.Any) -> Object:
        """Decide, following the plan."""
        return self.run("decide", **{"plan_file": str(self.plan_file), "run": "r1", **arguments})

    def begin_first_machine(self) -> tuple[Object, str]:
        """Go up to the first machine's objects; returns the plan and its name."""
        document = self.make_plan()
        self.apply(plan_file=str(self.plan_file))
        self.provide_infrastructure()
        self.run("cluster_certificates")
        decided = self.decide()
        target = decided["decision"]["target"]
        made = self.run("machine", kind="init", name=target["name"], failure_domain=target["failureDomain"])
        return document, str(made["name"])


@contextlib.contextmanager
def edited_when_asked(folder: Folder, times: int) -> t.Iterator[int]:
    """An endpoint that is no API. So often as it is asked, which is while the cluster is observed, somebody edits the control plane."""

    def serve() -> None:
        for number in range(times + 10):
            try:
                connection = listener.accept()[0]
            except OSError:
                return
            if number < times:
                folder.objects.modify(CONTROL_PLANE, "default", "prod-control-plane", edit)
            connection.close()

    def edit(stored: Object) -> None:
        annotations = stored["metadata"].setdefault("annotations", {})
        annotations["example.org/edits"] = annotations.get("example.org/edits", "") + "x"
        if times == 1:
            annotations["cluster.x-k8s.io/paused"] = ""

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        # Closing alone wakes nobody who waits there, and the number may be another file's by then.
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_steps_are_taken_in_the_plans_order_with_its_names(folder: Folder) -> None:
    document = folder.make_plan()
    names = [step["target"]["name"] for step in document["steps"] if step["target"]]
    assert folder.apply(plan_file=str(folder.plan_file))["changed"] is True
    first = folder.decide()
    assert (first["act"], first["decision"]["action"]) == (True, "createInfrastructure"), first["msg"]
    assert first["msg"].startswith("step 1 of 5: ")
    folder.provide_infrastructure()
    assert folder.decide()["decision"]["action"] == "createCertificates"
    folder.run("cluster_certificates")
    third = folder.decide()
    assert third["decision"]["action"] == "initialize", third
    assert (third["decision"]["target"]["name"], third["decision"]["target"]["failureDomain"]) == (names[0], "a")
    assert (third["prepare"], third["prepare_names"]) == (["b", "c"], names[1:])
    assert third["snapshot_first"] is False


def test_machines_are_made_with_the_planned_names_also_those_made_ahead(folder: Folder) -> None:
    document, first = folder.begin_first_machine()
    names = [step["target"]["name"] for step in document["steps"] if step["target"]]
    assert first == names[0]
    again = folder.run("machine", kind="init", name=first, prepare=["b", "c"], prepare_names=names[1:])
    assert [each["name"] for each in again["prepared"]] == names[1:]
    assert [
        each["name"]
        for each in folder.run("machine", kind="init", name=first, prepare=["b", "c"], prepare_names=names[1:])[
            "prepared"
        ]
    ] == names[1:]
    kept = folder.objects.list(("infrastructure.cluster.x-k8s.io", "NspawnMachine"), "default")
    assert sorted(each["metadata"]["name"] for each in kept) == sorted(names)


def test_a_killed_run_is_gone_on_with_by_the_same_plan(folder: Folder) -> None:
    _document, name = folder.begin_first_machine()
    decided = folder.decide(run="r2")
    assert decided["msg"].startswith("step 3 of 5: resume initializing"), decided["msg"]
    assert (decided["decision"]["target"]["machine"], decided["decision"]["target"]["resume"]) == (name, True)


def test_a_plan_without_a_step_left_ends_well_though_more_could_be_done(folder: Folder) -> None:
    document = folder.make_plan()
    end = {**document["end"], "action": "postponed", "expects": document["steps"][2]["expects"]}
    folder.plan_file.write_text(json.dumps({**document, "steps": document["steps"][:2], "end": end}))
    folder.apply(plan_file=str(folder.plan_file))
    folder.provide_infrastructure()
    folder.run("cluster_certificates")
    result = folder.decide()
    assert (result["act"], result["changed"], result.get("failed")) == (False, False, None)
    assert "has no step left" in result["msg"] and "initialize the control plane" in result["msg"]


def test_the_journal_names_the_planned_machine(folder: Folder) -> None:
    _document, name = folder.begin_first_machine()
    text = (folder.path / "store" / "default" / "journal" / "prod.jsonl").read_text()
    intents = [json.loads(line) for line in text.splitlines() if '"intent"' in line]
    assert intents[-1]["target"] == name
    # For the report: a run's first step has all steps of the plan, and each what it changes.
    assert intents[0]["details"]["plan"] == "createInfrastructure createCertificates initialize join join"
    assert (intents[-1]["details"]["votersBefore"], intents[-1]["details"]["votersAfter"]) == (0, 1)


def test_a_cluster_that_left_the_plan_is_not_acted_on_and_the_difference_is_shown(folder: Folder) -> None:
    folder.make_plan()
    folder.apply()
    folder.provide_infrastructure()
    folder.run("cluster_certificates")
    folder.run("machine", kind="init", name="foreign", failure_domain="b")
    result = folder.decide()
    assert result["failed"] and "act" not in result
    assert "machines.foreign: expected not there, observed there" in result["msg"]
    assert "control_plane_plan_file=" in result["msg"] and str(folder.plan_file) in result["msg"]
    assert {"path": "machines.foreign", "expected": "not there", "observed": "there"} in result["difference"]
    assert folder.decide(plan_file=None)["decision"]["action"] == "initialize"


def test_a_plan_for_another_manifest_is_refused_before_anything_is_stored(folder: Folder) -> None:
    folder.make_plan()
    folder.wants(replicas=1, version="v1.20.3")
    result = folder.apply(plan_file=str(folder.plan_file))
    assert result["failed"]
    assert "KubeadmControlPlane.spec.replicas, KubeadmControlPlane.spec.version" in result["msg"]
    assert result["specHash"]["expected"] != result["specHash"]["observed"]
    assert not [path for path in folder.path.rglob("*.yaml") if path != folder.manifest and path.name != "store.yaml"]
    folder.apply()
    assert "was made for another manifest" in folder.decide()["msg"]


def test_a_plan_of_another_cluster_is_refused_with_the_path(folder: Folder) -> None:
    document = folder.make_plan()
    folder.apply()
    folder.plan_file.write_text(json.dumps({**document, "cluster": "other"}))
    result = folder.decide()
    assert result["failed"] and "cluster: it is a plan of the cluster default/other" in result["msg"]


@pytest.mark.parametrize(
    ("content", "says"), [("{", "is not JSON"), ("{}", "planVersion"), ('{"planVersion": "v9"}', "planVersion")]
)
def test_a_file_that_is_no_plan(folder: Folder, content: str, says: str) -> None:
    folder.apply()
    folder.plan_file.write_text(content)
    for result in (folder.decide(), folder.apply(plan_file=str(folder.plan_file))):
        assert result["failed"] and says in result["msg"]


def test_a_plan_that_is_not_there(folder: Folder) -> None:
    folder.apply()
    assert "can't be read" in folder.decide()["msg"]


def test_check_mode_says_whether_the_plan_still_holds(folder: Folder) -> None:
    folder.make_plan()
    result = folder.decide(check=True, manifests=[str(folder.manifest)])
    assert result["changed"] is True and [step["action"] for step in result["plan"]][-1] == "none"
    folder.wants(replicas=1)
    assert "was made for another manifest" in folder.decide(check=True, manifests=[str(folder.manifest)])["msg"]


def test_check_mode_prints_what_plan_prints(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    folder.run("plan", manifests=[str(folder.manifest)])
    planned = capsys.readouterr().out
    folder.run("decide", check=True, manifests=[str(folder.manifest)])
    assert capsys.readouterr().out == planned


def orphaned(folder: Folder) -> None:
    """A machine in the store that nobody controls."""
    folder.make_plan()
    folder.apply()
    folder.provide_infrastructure()
    folder.run("cluster_certificates")
    folder.run("machine", kind="init", name="m1", failure_domain="a")
    folder.objects.modify(MACHINE, "default", "m1", lambda stored: stored["metadata"].update(ownerReferences=[]))


def test_a_machine_that_nobody_controls_is_adopted(folder: Folder) -> None:
    orphaned(folder)
    decided = folder.decide(plan_file=None)
    assert (decided["act"], decided["decision"]["action"]) == (True, "adopt"), decided
    adopted = folder.run("machine_adoption", machines=decided["decision"]["target"]["machines"])
    assert adopted["changed"] and "adopt Machine m1" in adopted["changes"]
    assert folder.decide(plan_file=None)["decision"]["action"] != "adopt"


def test_check_mode_shows_an_adoption(folder: Folder) -> None:
    orphaned(folder)
    result = folder.decide(check=True, plan_file=None)
    assert (result["changed"], result["plan"][0]["action"]) == (True, "adopt")


def test_a_paused_cluster_ends_well_whatever_the_plan(folder: Folder) -> None:
    folder.make_plan()
    folder.apply()
    key = "cluster.x-k8s.io/paused"
    folder.objects.modify(
        CONTROL_PLANE, "default", "prod-control-plane", lambda stored: stored["metadata"].update(annotations={key: ""})
    )
    result = folder.decide(plan_file=None)
    assert (result["act"], result["decision"]["action"]) == (False, "none")


@pytest.mark.parametrize(
    ("namespace", "data", "said"),
    [
        ("default", {"reason": "storage\nis moved\n" + "x" * 1000}, "is there: storage is moved"),
        ("default", ["of", "a", "file"], "is there"),
        ("other", {"reason": "storage is moved"}, ""),
    ],
)
def test_all_clusters_of_a_namespace_are_paused(folder: Folder, namespace: str, data: object, said: str) -> None:
    folder.make_plan()
    folder.apply()
    pause = {"name": "kubeadm-control-plane-pause", "namespace": namespace}
    folder.objects.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": pause, "data": data})
    result = folder.decide(plan_file=None)
    [*_others, told] = result["decision"]["reasons"]
    assert (told["reason"] == "Paused") is bool(said) and result["act"] is not bool(said)
    assert said in told["message"] and len(told["message"]) < 400 and "\n" not in told["message"]


def test_a_users_own_kubeconfig_under_another_key_holds_up_nothing(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is neither made again nor missing."""
    folder.apply()
    folder.provide_infrastructure()
    metadata = {"name": "prod-kubeconfig", "namespace": "default"}
    folder.objects.create(
        {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": {"kubeconfig": "eA=="}}
    )
    folder.run("cluster_certificates")
    assert "Its key 'value' has no kubeconfig: put one there" in capsys.readouterr().out
    assert folder.decide(plan_file=None)["decision"]["action"] == "initialize"


def test_no_pass_and_no_plan_goes_by_a_mark_that_was_taken_back(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    _document, name = folder.begin_first_machine()
    marks = [{"type": each, "status": "False", "reason": "X"} for each in ("HealthCheckSucceeded", "OwnerRemediated")]

    def mark(stored: Object) -> None:
        stored["metadata"]["annotations"]["cluster.x-k8s.io/skip-remediation"] = ""
        stored.setdefault("status", {})["conditions"] = marks

    folder.objects.modify(MACHINE, "default", name, mark)
    capsys.readouterr()
    said = (
        f"take back the mark for remediation of machine {name}: it has the annotation cluster.x-k8s.io/skip-remediation"
    )
    assert folder.run("plan", show=False)["steps"][0]["action"] == "initialize"
    assert f"reconcile would {said}" in capsys.readouterr().out
    assert folder.decide(check=True, plan_file=None)["plan"][0]["action"] == "initialize"
    for told in (said, ""):
        capsys.readouterr()
        assert folder.decide(plan_file=None)["decision"]["action"] == "initialize"
        assert (said in capsys.readouterr().out) is bool(told)
    machine = folder.objects.get(MACHINE, "default", name) or {}
    assert not {each["type"] for each in machine["status"]["conditions"]} & {each["type"] for each in marks}


def test_a_remediation_is_recorded_and_handed_on_to_the_replacement(folder: Folder) -> None:
    _document, name = folder.begin_first_machine()
    record = {"machine": name, "timestamp": "2026-01-31T12:00:00Z", "retryCount": 2}
    assert folder.run("machine", state="absent", name=name, remediation=record)["changed"] is True
    key = "controlplane.cluster.x-k8s.io/remediation-in-progress"
    control_plane = folder.objects.get(CONTROL_PLANE, "default", "prod-control-plane") or {}
    assert json.loads(control_plane["metadata"]["annotations"][key]) == record
    folder.run("machine", state="absent", name=name, remediation={**record, "retryCount": 3})
    control_plane = folder.objects.get(CONTROL_PLANE, "default", "prod-control-plane") or {}
    assert json.loads(control_plane["metadata"]["annotations"][key]) == record, "a removal that goes on is no new try"
    folder.run("machine_removal", name=name, infrastructure_deleted=True)
    made = folder.run("machine", kind="join", failure_domain="b")
    machine = folder.objects.get(MACHINE, "default", made["name"]) or {}
    assert json.loads(machine["metadata"]["annotations"]["controlplane.cluster.x-k8s.io/remediation-for"]) == record
    control_plane = folder.objects.get(CONTROL_PLANE, "default", "prod-control-plane") or {}
    assert key not in control_plane["metadata"]["annotations"]


def test_infrastructure_is_observed_before_a_step_is_decided_on(folder: Folder) -> None:
    """Not before the first machine, of which no infrastructure can be asked; then before anything but a cluster that is well."""
    folder.begin_first_machine()
    before = folder.objects.list(CONTROL_PLANE, "default")
    glance = folder.decide(infrastructure_observed=False)
    assert (glance["next"], glance["act"]) == ("observe_infrastructure.yml", False)
    assert folder.objects.list(CONTROL_PLANE, "default") == before
    assert folder.decide(infrastructure_observed=True)["next"] == "act/initialize.yml"


def test_a_cluster_without_a_machine_has_nothing_to_observe(folder: Folder) -> None:
    folder.apply()
    assert folder.run("decide", run="r1", infrastructure_observed=False)["next"] == "act/createInfrastructure.yml"


def test_objects_are_deleted_after_the_infrastructure_and_not_before(folder: Folder) -> None:
    """They alone say what infrastructure there is."""
    folder.apply()
    folder.provide_infrastructure()
    folder.run("cluster", state="absent")
    decided = folder.run("decide", run="r1")
    assert decided["next"] == "act/deleteInfrastructure.yml", decided
    assert folder.objects.get(CLUSTER, "default", "prod") is not None


def test_nothing_secret_is_returned(folder: Folder) -> None:
    folder.begin_first_machine()
    decided = json.dumps(folder.decide())
    for secret in folder.objects.list(SECRET, "default"):
        assert not [value for value in secret["data"].values() if value in decided]


def test_what_somebody_edits_while_the_cluster_is_observed_is_taken_into_account(folder: Folder) -> None:
    """A pause holds the step that was just decided on."""
    folder.apply()
    with edited_when_asked(folder, times=1) as port:
        folder.provide_infrastructure(port)
        decided = folder.run("decide", run="r1")
    assert decided["act"] is False and decided["decision"]["reasons"][0]["reason"] == "Paused", decided


def test_somebody_who_never_stops_editing_does_not_keep_a_run_from_its_work(folder: Folder) -> None:
    folder.apply()
    with edited_when_asked(folder, times=50) as port:
        folder.provide_infrastructure(port)
        decided = folder.run("decide", run="r1")
    assert (decided["act"], decided["decision"]["action"]) == (True, "createCertificates"), decided


@pytest.mark.parametrize("kind", ["Action", "TaskGroup", "Task"])
def test_what_is_carried_out_by_itself_is_in_the_way_of_a_step(folder: Folder, kind: str) -> None:
    """TaskGroups and Tasks without an Action are asked for before a step, and only then."""
    folder.apply()
    folder.provide_infrastructure()
    [cluster] = folder.objects.list(CLUSTER)
    where = {"name": "by-itself", "namespace": "default", "labels": {"cluster.x-k8s.io/cluster-name": "prod"}}
    status = {"plan": {"groups": []}, "clusterUID": cluster["metadata"]["uid"], "phase": "Running"}
    status["startTime"] = "2026-01-01T00:00:00Z"
    folder.objects.create(
        {"apiVersion": operator.API_VERSION, "kind": kind, "metadata": where, "spec": {}, "status": status}
    )
    decided = folder.run("decide", run="r1")
    assert decided["failed"] and f"{kind} by-itself has not ended" in decided["msg"], decided
    folder.objects.modify(
        operator.kind_ref(kind), "default", "by-itself", lambda found: found["status"].update(clusterUID="another")
    )
    decided = folder.run("decide", run="r1")
    assert decided["act"] and decided["decision"]["action"] == "createCertificates"
