# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report's files: one page for all clusters, the same bytes for the same journals, nothing in check mode."""

from __future__ import annotations

import json
import stat
import typing as t
from pathlib import Path

import pytest
from actions import make_action
from journal_life import NOON, Life, creation, failed_rollout

Object = dict[str, t.Any]


class Folder:
    """A store with two clusters' journals, and the folder for reports."""

    def __init__(self, path: Path) -> None:
        self.store, self.reports = path / "store", path / "reports"
        creation(Life(self.store))
        self.life = Life(self.store, "staging")
        failed_rollout(self.life, 0)

    def write(
        self,
        check: bool = False,
        hosts: t.Sequence[str] = ("prod", "staging"),
        own: t.Optional[dict[str, Object]] = None,
        **arguments: t.Any,
    ) -> Object:
        """Call the module."""
        action = make_action("cluster_report", check, hosts=list(hosts), directory=str(self.reports), **arguments)
        named = {"control_plane_namespace": "default", "control_plane_store": {"path": str(self.store)}}
        names = ("prod", "staging")
        hostvars = {each: {"control_plane_cluster": each, **named, **(own or {}).get(each, {})} for each in names}
        result: Object = action.run(task_vars={"hostvars": {**hostvars, "machine": {}}})
        return result

    def names(self) -> list[str]:
        """The files that there are."""
        return sorted(each.name for each in self.reports.iterdir()) if self.reports.exists() else []


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Two clusters' journals."""
    return Folder(tmp_path)


def test_a_fleet_is_one_page_and_a_second_call_changes_nothing(folder: Folder) -> None:
    result = folder.write(formats=["html", "markdown", "svg"])
    assert result["changed"] and folder.names() == [
        "default.prod.svg",
        "default.staging.svg",
        "report.html",
        "report.md",
    ]
    assert sorted(Path(each).name for each in result["files"]) == folder.names()
    for path in folder.reports.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = folder.write(formats=["html", "markdown", "svg"])
    assert not again["changed"] and again["msg"].startswith("the report is as it was")
    folder.life.close(100)
    assert folder.write()["changed"]


def test_clusters_of_one_name_in_two_stores_have_a_picture_each(folder: Folder, tmp_path: Path) -> None:
    creation(Life(tmp_path / "other"))
    action = make_action("cluster_report", hosts=["a", "b"], directory=str(folder.reports), formats=["svg"])
    named = {"control_plane_cluster": "prod", "control_plane_namespace": "default"}
    stores = {"a": folder.store, "b": tmp_path / "other"}
    hostvars = {key: {**named, "control_plane_store": {"path": str(path)}} for key, path in stores.items()}
    assert action.run(task_vars={"hostvars": hostvars})["changed"]
    assert folder.names() == ["default.prod.2.svg", "default.prod.svg"]


def test_check_mode_writes_nothing_and_says_what_it_would_write(folder: Folder) -> None:
    result = folder.write(check=True)
    assert result["changed"] and str(folder.reports / "report.html") in result["msg"] and folder.names() == []


def test_a_run(folder: Folder) -> None:
    folder.write(hosts=["prod"], run="run-1")
    assert "run-1" in (folder.reports / "report.html").read_text()
    result = folder.write(hosts=["prod"], run="none")
    assert result["failed"] and "has a run none" in result["msg"] and "nothing was written" in result["msg"]


def test_a_watchers_record(folder: Folder, tmp_path: Path) -> None:
    samples = [(NOON + 10.0, True), (NOON + 10.5, False), (NOON + 12.0, True)]
    lines = [json.dumps({"t": time, "what": "endpoint", "ok": ok}) for time, ok in samples]
    record = tmp_path / "watch.jsonl"
    record.write_text("\n".join(["{torn", "7", *lines]))
    folder.write(hosts=["prod"], watch=str(record), formats=["markdown"])
    assert "- no answer of the endpoint: 12:00:10 to 12:00:12, 2 s" in (folder.reports / "report.md").read_text()


def test_journals_are_read_and_never_written(folder: Folder) -> None:
    before = {path: path.read_bytes() for path in folder.store.rglob("*") if path.is_file()}
    folder.write()
    assert {path: path.read_bytes() for path in folder.store.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"since": "yesterday"}, "control_plane_report_since"),
        ({"runs": 0}, "control_plane_report_runs"),
        ({"watch": "x"}, "control_plane_report_watch"),
        ({"watch": "/none", "hosts": ["prod"]}, "/none (control_plane_report_watch) can't be read"),
        ({"hosts": ["machine"]}, "machine is no cluster's host"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_written(folder: Folder, arguments: Object, named: str) -> None:
    result = folder.write(**arguments)
    assert result["failed"] and named in result["msg"] and "Nothing was written" in result["msg"]
    assert folder.names() == []


def test_a_journal_that_cannot_be_read_keeps_no_other_from_being_told_of(folder: Folder) -> None:
    """The pages say which and why; the task fails once they are written."""
    journal = folder.life.journal.path
    Path(journal).unlink()
    Path(journal).mkdir()
    result = folder.write(formats=["html", "markdown", "svg"])
    assert result["failed"] and result["msg"].startswith("1 of 2 journals could not be read, the report is in ")
    assert "default/staging: " in result["msg"] and folder.names() == ["default.prod.svg", "report.html", "report.md"]
    for name in ("report.html", "report.md"):
        text = (folder.reports / name).read_text()
        assert "✕ not read" in text and "the journal could not be read: " in text and "default/prod" in text
    # Alone it is the task's error, and nothing is written.
    for path in folder.reports.iterdir():
        path.unlink()
    assert folder.write(hosts=["staging"])["failed"] and folder.names() == []


def test_clusters_that_differ_in_what_a_report_has_once_are_refused(folder: Folder) -> None:
    result = folder.write(own={"staging": {"control_plane_report_runs": 3}})
    assert result["failed"] and "(prod: not set, staging: 3)" in result["msg"] and folder.names() == []


def test_a_folder_that_cannot_be_made(folder: Folder) -> None:
    folder.reports.write_text("a file")
    result = folder.write()
    assert (
        result["failed"] and str(folder.reports) in result["msg"] and "control_plane_report_directory" in result["msg"]
    )
