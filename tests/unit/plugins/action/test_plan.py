# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module plan: live and on a saved snapshot, what it keeps in files, what it refuses, and that it changes nothing."""

from __future__ import annotations

import json
import stat
import typing as t
from pathlib import Path

import pytest
import yaml
from actions import run_action
from builders import healthy
from cluster_folder import ClusterFolder
from workspace import cluster_documents

Object = dict[str, t.Any]


class Folder(ClusterFolder):
    """One with a file for a snapshot."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.snapshot = path / "prod.snapshot.json"

    def plan(self, check: bool = False, **arguments: t.Any) -> Object:
        """Plan on the live cluster."""
        return self.run("plan", check, **{"manifests": [str(self.manifest)], **arguments})

    def what_if(self, **arguments: t.Any) -> Object:
        """Plan on the saved snapshot."""
        return run_action("plan", cluster="prod", snapshot=str(self.snapshot), **arguments)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.mark.parametrize("unknown_documents", ["report", "refuse"])
def test_what_is_not_managed_is_in_the_result(folder: Folder, unknown_documents: str) -> None:
    """Also of a plan on a snapshot, and nothing of it becomes a step."""
    plain = folder.plan(snapshot_file=str(folder.snapshot))
    workers = {"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineDeployment", "metadata": {"name": "md-0"}}
    folder.manifest.write_text(f"{folder.manifest.read_text()}---\n{yaml.safe_dump(workers)}")
    for result in (
        folder.plan(unknown_documents=unknown_documents),
        folder.what_if(manifests=[str(folder.manifest)], unknown_documents=unknown_documents),
    ):
        if unknown_documents == "refuse":
            assert result["failed"] and "MachineDeployment is not a kind that is managed here" in result["msg"]
            continue
        assert actions(result) == actions(plain)
        told = {"group": "cluster.x-k8s.io", "kind": "MachineDeployment", "count": 1, "names": ["md-0"]}
        assert (result["unmanaged"], plain["unmanaged"]) == ([told], [])


def actions(result: Object) -> list[str]:
    assert not result.get("failed"), result["msg"]
    return [step["action"] for step in result["steps"]]


CREATION = ["createInfrastructure", "createCertificates", "initialize", "join", "join"]


@pytest.mark.parametrize("check", [False, True])
def test_it_changes_nothing_whatever(folder: Folder, check: bool) -> None:
    before = folder.files()
    result = folder.plan(check=check)
    assert actions(result) == CREATION
    assert (result["changed"], result["acting"], result["blocked"], result["end"]["action"]) == (
        False,
        5,
        False,
        "none",
    )
    assert folder.files() == before and not Path(folder.store["path"]).exists()


def test_a_store_that_exists_is_left_byte_for_byte(folder: Folder) -> None:
    folder.run("cluster", manifests=[str(folder.manifest)])
    folder.run("cluster_certificates")
    before = folder.files()
    folder.wants(replicas=5)
    assert actions(folder.plan()) == ["createInfrastructure", "createCertificates", *CREATION[2:], "join", "join"]
    folder.wants()
    assert folder.files() == before


def test_warnings_about_a_manifests_changes_are_shown(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    """As those of a run are."""
    folder.run("cluster", manifests=[str(folder.manifest)])
    documents = list(yaml.safe_load_all(folder.manifest.read_text()))
    (template,) = (each for each in documents if each["kind"].endswith("MachineTemplate"))
    template["spec"]["template"]["spec"]["image"] = "other"
    folder.manifest.write_text(yaml.safe_dump_all(documents))
    capsys.readouterr()
    assert not folder.plan().get("failed")
    said = capsys.readouterr()
    assert "was changed under its name" in " ".join(f"{said.out} {said.err}".split())


def test_what_is_printed_is_what_is_returned(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    result = folder.plan()
    shown = capsys.readouterr().out
    assert "PLAN default/prod" in shown and "Then nothing is left to do" in shown
    assert len(result["steps"]) == sum(1 for line in shown.splitlines() if line[:4].strip().isdigit())
    folder.plan(show=False)
    assert capsys.readouterr().out == ""


def test_the_plan_file_is_private_and_fixes_names(folder: Folder) -> None:
    result = folder.plan(plan_file=str(folder.plan_file))
    assert result["changed"] is True and result["plan_file"] == str(folder.plan_file)
    assert stat.S_IMODE(folder.plan_file.stat().st_mode) == 0o600
    document = json.loads(folder.plan_file.read_text())
    names = [step["target"]["name"] for step in document["steps"] if step["target"]]
    assert len(set(names)) == 3 and all(name.startswith("prod-control-plane-") for name in names)
    assert document["specHash"] == result["specHash"]


def test_files_are_not_written_in_check_mode(folder: Folder) -> None:
    before = folder.files()
    result = folder.plan(check=True, plan_file=str(folder.plan_file), snapshot_file=str(folder.snapshot))
    assert result["changed"] is True and folder.files() == before


def test_an_earlier_plan_of_the_cluster_is_replaced_and_nothing_else_is(folder: Folder) -> None:
    folder.plan(plan_file=str(folder.plan_file))
    first = folder.plan_file.read_text()
    folder.wants(replicas=1)
    folder.plan(plan_file=str(folder.plan_file))
    assert folder.plan_file.read_text() != first
    for content in ("precious", json.dumps({"planVersion": "v1", "cluster": "other", "namespace": "default"})):
        folder.plan_file.write_text(content)
        result = folder.plan(plan_file=str(folder.plan_file))
        assert result["failed"] and "was not overwritten" in result["msg"] and str(folder.plan_file) in result["msg"]
        assert folder.plan_file.read_text() == content


def test_a_plan_on_the_saved_snapshot_is_the_same_without_cluster_or_store(folder: Folder) -> None:
    live = folder.plan(snapshot_file=str(folder.snapshot))
    assert stat.S_IMODE(folder.snapshot.stat().st_mode) == 0o600
    assert {key: value for key, value in folder.what_if().items() if key != "changed"} == {
        key: value for key, value in live.items() if key not in ("changed", "snapshot_file")
    }
    again = folder.what_if(manifests=[str(folder.manifest)])
    assert (again["specHash"], again["observedHash"]) == (live["specHash"], live["observedHash"])


def test_what_if_the_manifest_were_another(folder: Folder) -> None:
    live = folder.plan(snapshot_file=str(folder.snapshot))
    folder.wants(replicas=1, version="v1.21.1")
    result = folder.what_if(manifests=[str(folder.manifest)])
    assert actions(result) == CREATION[:3]
    assert result["specHash"] != live["specHash"]


def living(folder: Folder, **change: t.Any) -> None:
    """A saved snapshot of a living cluster whose manifest is the folder's."""
    folder.wants(kubeadm={"files": []})
    folder.plan(snapshot_file=str(folder.snapshot))
    saved = json.loads(folder.snapshot.read_text())
    builder = healthy(3)
    text = json.dumps(builder.build()).replace(
        '"NspawnMachineTemplate", "name": "prod"', '"NspawnMachineTemplate", "name": "prod-control-plane"'
    )
    snapshot = json.loads(text)
    for entry in snapshot["machines"]:
        machine = entry["machine"]
        machine["metadata"]["ownerReferences"][0]["name"] = "prod-control-plane"
        entry["infrastructureMachine"]["metadata"]["annotations"]["cluster.x-k8s.io/cloned-from-name"] = (
            "prod-control-plane"
        )
        entry["kubeadmConfig"]["spec"] = saved["controlPlane"]["spec"]["kubeadmConfigSpec"]
    control_plane = {**saved["controlPlane"], "status": snapshot["controlPlane"]["status"]}
    infrastructure = {**saved["infrastructureCluster"], "status": {"initialization": {"provisioned": True}}}
    cluster = saved["cluster"]
    cluster["spec"]["controlPlaneEndpoint"] = {"host": "10.0.0.100", "port": 6443}
    snapshot.update(
        cluster={**cluster, "status": snapshot["cluster"]["status"]},
        controlPlane=control_plane,
        infrastructureCluster=infrastructure,
        machineTemplate=saved["machineTemplate"],
        **change,
    )
    folder.snapshot.write_text(json.dumps(snapshot))


def test_what_if_shows_a_rollout(folder: Folder) -> None:
    living(folder)
    assert actions(folder.what_if(manifests=[str(folder.manifest)])) == []
    folder.wants(version="v1.21.1", kubeadm={"files": []})
    result = folder.what_if(manifests=[str(folder.manifest)])
    assert actions(result) == ["join", "remove"] * 3
    assert result["acting"] == 6


def test_what_if_asks_and_refuses(folder: Folder) -> None:
    living(folder)
    folder.wants(version="v1.21.1", kubeadm={"files": []})
    asked = folder.what_if(manifests=[str(folder.manifest)], replace="ask")
    assert [step["needsApproval"] for step in asked["steps"]] == [True] * 6
    never = folder.what_if(manifests=[str(folder.manifest)], replace="never")
    assert never["blocked"] and never["end"]["reasons"][0]["reason"] == "ReplacementNotAllowed"


def test_what_if_there_were_a_window_or_a_gate(folder: Folder) -> None:
    """The window is told from the snapshot's time; a new gate can't be asked, and that is what holds the plan."""
    living(folder)
    base = cluster_documents("prod", failure_domains=("a", "b", "c"), version="v1.21.1", kubeadm={"files": []})

    def planned(**annotations: str) -> Object:
        base[1]["metadata"]["annotations"] = {
            f"kubeadm.control-plane/{key.replace('_', '-')}": value for key, value in annotations.items()
        }
        folder.manifest.write_text(yaml.safe_dump_all(base))
        return folder.what_if(manifests=[str(folder.manifest)])

    # The snapshot was taken at noon on a Saturday.
    assert planned(maintenance_window='{"schedule": "0 11 * * 6", "duration": "2h"}')["end"]["action"] == "none"
    closed = planned(maintenance_window='{"schedule": "0 2 * * 6", "duration": "2h"}')
    assert closed["end"]["reasons"][0]["reason"] == "OutsideMaintenanceWindow" and not closed["blocked"]
    gate = {
        "name": "g",
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "namespace": "x",
        "objectName": "y",
        "expression": "data.ok == 'yes'",
    }
    held = planned(readiness_gates=json.dumps([gate]))
    assert held["end"]["action"] == "wait" and "saved snapshot" in held["end"]["reasons"][0]["message"]


REFUSED: dict[str, tuple[t.Callable[[Object], t.Any], str]] = {
    "schema": (lambda s: s.pop("now"), "now"),
    "version": (lambda s: s.update(snapshotVersion="v0"), "snapshotVersion"),
    "leader that is no member": (
        lambda s: s["workload"]["etcd"].update(leader="00000000deadbeef"),
        "workload.etcd.leader",
    ),
    "member twice": (
        lambda s: s["workload"]["etcd"]["members"].append(s["workload"]["etcd"]["members"][0]),
        "workload.etcd.members[3]",
    ),
    "older than the last action": (
        lambda s: s.update(
            observedAt="2026-01-31T12:00:00Z",
            lastAction={"at": "2026-01-31T12:05:00Z", "action": "join", "target": "m3", "outcome": "succeeded"},
        ),
        "observedAt",
    ),
    "another cluster": (lambda s: s["cluster"]["metadata"].update(name="other"), "cluster.metadata.name"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_snapshots_are_refused_with_the_path(folder: Folder, name: str) -> None:
    living(folder)
    change, path = REFUSED[name]
    snapshot = json.loads(folder.snapshot.read_text())
    change(snapshot)
    folder.snapshot.write_text(json.dumps(snapshot))
    result = folder.what_if()
    assert result["failed"] and path in result["msg"] and str(folder.snapshot) in result["msg"]


@pytest.mark.parametrize(("content", "says"), [(None, "can't be read"), ("{", "is not JSON"), ("[]", "is refused")])
def test_a_file_that_is_no_snapshot(folder: Folder, content: t.Optional[str], says: str) -> None:
    if content is not None:
        folder.snapshot.write_text(content)
    result = folder.what_if()
    assert result["failed"] and says in result["msg"] and "Traceback" not in result["msg"]


def test_without_store_and_snapshot_there_is_nothing_to_plan_on(folder: Folder) -> None:
    result = run_action("plan", cluster="prod")
    assert result["failed"] and "neither was given" in result["msg"]


def test_a_cluster_that_nobody_knows(folder: Folder) -> None:
    result = folder.plan(manifests=[])
    assert result["failed"] and "neither a manifest nor the store names the cluster default/prod" in result["msg"]


def test_every_violation_of_a_manifest_is_told(folder: Folder) -> None:
    folder.wants(replicas=2, version="v1.20")
    result = folder.plan()
    assert result["failed"] and "spec.replicas" in result["msg"] and "spec.version" in result["msg"]


def test_no_secret_in_what_is_kept(folder: Folder) -> None:
    folder.wants(
        kubeadm={
            "files": [{"path": "/etc/x", "content": "TOPSECRET-content"}],
            "users": [{"name": "u", "passwd": "TOPSECRET-hash"}],
        }
    )
    result = folder.plan(plan_file=str(folder.plan_file), snapshot_file=str(folder.snapshot))
    for text in (folder.plan_file.read_text(), folder.snapshot.read_text(), json.dumps(result)):
        assert "TOPSECRET" not in text
    assert folder.what_if(manifests=[str(folder.manifest)])["specHash"] == result["specHash"]
