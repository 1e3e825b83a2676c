# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files that node_exporter reads: whole, one for each cluster, gone with the cluster; a run's end writes them, whatever it came to."""

from __future__ import annotations

import stat
import typing as t
from pathlib import Path

import pytest
import yaml
from actions import run_action
from prometheus import samples
from workspace import cluster_documents

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import read_cluster
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records import stored_cluster
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CLUSTER,
    CONTROL_PLANE,
    ClusterObjects,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.journal_entries import note_snapshot
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.journal import Journal

Object = dict[str, t.Any]
BEGUN = {"begun": True, "run": "mine", "held_by": "", "batch": []}


class Folder:
    """A store with the cluster prod, and the folder for metrics."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = path / "store"
        self.metrics = path / "metrics"
        self.backups = path / "backups"
        self.metrics.mkdir()
        self.add(self.store)

    def add(self, store: Path) -> None:
        """Put the cluster into a store."""
        file = self.path / "prod.yaml"
        file.write_text(yaml.safe_dump_all(cluster_documents("prod")))
        stored_cluster.apply_manifest(FileStore(str(store)), read_cluster([str(file)], "default", "prod"))

    def lose(self) -> None:
        """Take the cluster out of the store, as a deletion does in the end."""
        for path in self.store.glob("default/*/*.yaml"):
            path.unlink()

    def contradict(self) -> None:
        """Write a state that can't be, so that no observation is taken."""
        since = "2999-01-01T00:00:00Z"
        ahead = {"type": "Available", "status": "True", "reason": "Available", "lastTransitionTime": since}
        change: t.Callable[[Object], None] = lambda each: each.update(status={"conditions": [ahead]})  # noqa: E731
        FileStore(str(self.store)).modify(CLUSTER, "default", "prod", change)

    def write(self, check: bool = False, **arguments: t.Any) -> Object:
        """Call the module."""
        given: Object = {"cluster": "prod", "store": {"path": str(self.store)}, "directory": str(self.metrics)}
        return run_action("cluster_metrics", check, **{**given, **arguments})

    def end(self, check: bool = False, **arguments: t.Any) -> Object:
        """End a run."""
        given: Object = {"cluster": "prod", "store": {"path": str(self.store)}, "metrics_directory": str(self.metrics)}
        return run_action("run", check, state="absent", **{"started": BEGUN, **given, **arguments})

    def lines(self) -> dict[str, list[tuple[dict[str, str], int]]]:
        """What all files that node_exporter would read say."""
        return samples("".join(path.read_text() for path in sorted(self.metrics.glob("*.prom"))))

    def result(self, playbook: str = "reconcile") -> str:
        """How the last run ended."""
        found = self.lines()["kubeadm_control_plane_last_run_info"]
        [result] = [labels["result"] for labels, _value in found if labels["playbook"] == playbook]
        return result


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A store with the cluster prod."""
    return Folder(tmp_path)


@pytest.fixture
def warned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is warned of."""
    texts: list[str] = []
    monkeypatch.setattr("ansible.utils.display.Display.warning", lambda _self, text, **_named: texts.append(text))
    return texts


def test_one_file_that_everybody_can_read_and_nothing_beside_it(folder: Folder) -> None:
    result = folder.write()
    [path] = folder.metrics.iterdir()
    assert result["file"] == str(path) and path.name.startswith("kubeadm-control-plane-default.prod-")
    assert path.suffix == ".prom" and stat.S_IMODE(path.stat().st_mode) == 0o644
    assert folder.lines()["kubeadm_control_plane_replicas_wanted"][0][1] == 3
    folder.write()
    assert list(folder.metrics.iterdir()) == [path]


def test_the_same_cluster_of_two_stores(folder: Folder) -> None:
    """node_exporter would refuse two lines with the same labels."""
    folder.add(folder.path / "other")
    folder.write()
    folder.write(store={"path": str(folder.path / "other")})
    assert len(list(folder.metrics.iterdir())) == 2
    stores = {labels["store"] for labels, _value in folder.lines()["kubeadm_control_plane_reachable"]}
    assert stores == {str(folder.store), str(folder.path / "other")}


def test_a_cluster_that_is_gone_leaves_no_file(folder: Folder) -> None:
    folder.write()
    folder.end()
    folder.end(playbook="health_check")
    assert len(list(folder.metrics.iterdir())) == 3
    folder.lose()
    assert folder.write()["file"] == "" and not list(folder.metrics.iterdir())


def test_a_first_run_that_failed_is_told_of_as_long_as_there_is_a_manifest(folder: Folder) -> None:
    """Nothing was stored, and no other alert knows of the cluster."""
    folder.lose()
    folder.end(error="spec.replicas: 2 is even", started={})
    result = folder.write(manifests=[str(folder.path / "prod.yaml")])
    assert not result["changed"] and folder.result() == "failed"
    assert folder.write()["changed"] and not list(folder.metrics.iterdir())


def test_a_missing_folder_fails_also_where_there_is_no_cluster(folder: Folder) -> None:
    """Nothing is known of the cluster yet, and the name of the folder is wrong all the same."""
    folder.lose()
    result = folder.write(directory=str(folder.path / "none"))
    assert result["failed"] and "The folder must be there and belong to this user" in result["msg"], result


def test_the_end_of_a_deletion(folder: Folder) -> None:
    folder.end()
    folder.lose()
    folder.end(playbook="delete")
    assert not list(folder.metrics.iterdir())


def test_a_run_that_failed(folder: Folder) -> None:
    """Also one that failed before anything was stored, or that another run kept from beginning."""
    folder.end(error="spec.replicas: 2 is even")
    assert folder.result() == "failed" and "kubeadm_control_plane_info" in folder.lines()
    folder.end()
    assert folder.result() == "nothing"
    folder.end(started={**BEGUN, "begun": False, "held_by": "alice"})
    assert folder.result() == "held"
    folder.lose()
    folder.end(error="a.yaml: no YAML", started={})
    assert folder.result() == "failed" and "kubeadm_control_plane_info" not in folder.lines()


def test_a_run_that_ended_well_is_no_failure_where_its_last_look_fails(folder: Folder, warned: list[str]) -> None:
    """The state's file gets old; how the run ended is known."""
    folder.end(error="it broke")
    folder.contradict()
    folder.end()
    assert folder.result() == "nothing" and "contradicts itself" in warned[-1]


def test_a_health_check_says_nothing_of_a_reconcile(folder: Folder) -> None:
    folder.end(error="it broke")
    folder.end(playbook="health_check")
    assert (folder.result(), folder.result("health_check")) == ("failed", "nothing")
    folder.end(playbook="remediate")
    assert folder.result("remediate") == "nothing"
    assert len(folder.lines()["kubeadm_control_plane_last_run_info"]) == 2


def test_check_mode_writes_nothing(folder: Folder) -> None:
    assert folder.write(check=True)["changed"]
    folder.end(check=True)
    assert not list(folder.metrics.iterdir())


def test_what_metrics_lack_fails_no_run(folder: Folder, warned: list[str]) -> None:
    """It says where, and what to do; the module for itself fails."""
    gone = str(folder.path / "gone")
    result = folder.end(metrics_directory=gone)
    assert not result.get("failed") and len(warned) == 1
    for text in (warned[0], folder.write(directory=gone)["msg"]):
        assert gone in text and "No such file" in text and "control_plane_metrics_directory" in text
    assert "control_plane_metrics_directory=/var" in folder.write(directory="")["msg"]


def test_no_folder_no_metrics(folder: Folder) -> None:
    folder.end(metrics_directory="")
    assert not list(folder.metrics.iterdir())


def test_backups_are_those_of_the_folder(folder: Folder) -> None:
    """By their names; what else lies there is none."""
    folder.write()
    assert "kubeadm_control_plane_backups" not in folder.lines()
    folder.write(backup_directory=str(folder.backups))
    assert folder.lines()["kubeadm_control_plane_backups"][0][1] == 0
    home = folder.backups / "default" / "prod"
    home.mkdir(parents=True)
    names = ("20260101T000000Z.db", "20260101T000000Z.json", "20260102T030405Z-1.db", "20260103T000000Z.db.partial")
    for name in names:
        (home / f"prod-backup-{name}").touch()
    folder.write(backup_directory=str(folder.backups))
    found = folder.lines()
    assert found["kubeadm_control_plane_backups"][0][1] == 2
    assert found["kubeadm_control_plane_last_backup_timestamp_seconds"][0][1] == 1767323045


def test_the_last_snapshot_is_the_journals(folder: Folder) -> None:
    folder.write()
    assert "kubeadm_control_plane_last_snapshot_timestamp_seconds" not in folder.lines()
    store = FileStore(str(folder.store))
    objects = ClusterObjects.read(store, "default", "prod")
    assert objects is not None
    note_snapshot(objects, "/var/lib/a.db")
    note_snapshot(objects, "/var/lib/b.db")
    Journal(str(folder.store), "default", "prod").note("", "something else")
    [first, second, _other] = Journal(str(folder.store), "default", "prod").entries()
    folder.write()
    assert folder.lines()["kubeadm_control_plane_last_snapshot_timestamp_seconds"][0][1] > 0
    assert Journal(str(folder.store), "default", "prod").last_snapshot() == second["time"] >= first["time"]


@pytest.mark.parametrize(
    ("kind", "name", "spec"),
    [(CLUSTER, "prod", {"paused": True}), (CONTROL_PLANE, "prod-control-plane", {"replicas": 2})],
    ids=["paused", "blocked"],
)
def test_steps_are_counted_to_the_end_alone(folder: Folder, kind: tuple[str, str], name: str, spec: Object) -> None:
    """A 0 of a cluster that is paused, or stuck, would say that it is as it should be."""
    folder.write()
    assert folder.lines()["kubeadm_control_plane_planned_steps"][0][1] > 0
    FileStore(str(folder.store)).modify(kind, "default", name, lambda each: each["spec"].update(spec))
    folder.write()
    found = folder.lines()
    assert "kubeadm_control_plane_planned_steps" not in found


def test_what_contradicts_itself_is_not_written(folder: Folder) -> None:
    """The file that there is stays, and gets old: there is an alert for that."""
    folder.write()
    [path] = folder.metrics.iterdir()
    before = path.read_text()
    folder.contradict()
    assert "contradicts itself" in folder.write()["msg"] and path.read_text() == before
