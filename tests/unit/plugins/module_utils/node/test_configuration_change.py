# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The order in which a work does its steps and takes them back, also where it was interrupted."""

from __future__ import annotations

import json
import shutil
import subprocess
import typing as t
from pathlib import Path

import pytest
from systemd import NoUnit

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.components.configuration_change import (
    FAILED,
    ROLLED_BACK,
    SUCCEEDED,
    Change,
    Places,
    Works,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.components.control_plane_change import (
    ControlPlaneChange,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.components.kubelet_change import KubeletChange
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.components.rendered_manifests import Tools


class Steps(Change):
    """A work of three steps, of which some fail."""

    def __init__(self, folder: Path, fails: t.Sequence[str] = (), stuck: t.Sequence[str] = (), why: str = "") -> None:
        super().__init__(Places(), str(folder))
        self.fails, self.stuck, self.why = fails, stuck, why
        self.done: list[str] = []

    def steps(self) -> t.Iterator[tuple[str, t.Callable[[], None], t.Callable[[], None]]]:
        """One after the other."""
        if self.why:
            raise NodeError(self.why)
        for name in ("etcd", "kube-apiserver", "kube-scheduler"):
            yield name, lambda name=name: self._do(name), lambda name=name: self._back(name)

    def _do(self, name: str) -> None:
        self.done.append(name)
        if name == "kube-scheduler" and "nothing like it" in self.fails:
            raise KeyError(name)
        if name in self.fails:
            raise NodeError(f"{name} is not well: token=abcdefghijklmnopqrstuvwxyz0123456789")

    def _back(self, name: str) -> None:
        self.done.append(f"-{name}")
        if name in self.stuck:
            raise NodeError(f"{name} is still not well")


def begun(folder: Path, **more: t.Any) -> None:
    """A record of a work that was begun."""
    (folder / "record.json").write_text(json.dumps({"state": "Started", **more}))


def test_all_goes_well(tmp_path: Path) -> None:
    """Each step once; a second run does nothing."""
    begun(tmp_path)
    work = Steps(tmp_path)
    assert work.perform()["state"] == SUCCEEDED
    assert work.done == ["etcd", "kube-apiserver", "kube-scheduler"]
    assert work.perform()["state"] == SUCCEEDED
    assert len(work.done) == 3


def test_the_last_is_taken_back_first(tmp_path: Path) -> None:
    """The step that failed too. Those that never began have nothing to put back, unless an attempt before has left it."""
    begun(tmp_path)
    work = Steps(tmp_path, fails=["kube-apiserver"])
    record = work.perform()
    assert (record["state"], record["failedAt"]) == (ROLLED_BACK, "kube-apiserver")
    assert work.done == ["etcd", "kube-apiserver", "-kube-scheduler", "-kube-apiserver", "-etcd"]
    assert "is not well" in record["message"]
    assert "abcdefghijklmnopqrstuvwxyz" not in record["message"]


def test_what_could_not_be_taken_back_is_told_and_the_rest_is(tmp_path: Path) -> None:
    """One that stays ill keeps no other from going back."""
    begun(tmp_path)
    work = Steps(tmp_path, fails=["kube-scheduler"], stuck=["kube-apiserver"])
    record = work.perform()
    assert record["state"] == FAILED
    assert work.done[-3:] == ["-kube-scheduler", "-kube-apiserver", "-etcd"]
    assert "could not be taken back: kube-apiserver: kube-apiserver is still not well" in record["message"]


def test_a_rollback_that_was_interrupted_goes_on_back(tmp_path: Path) -> None:
    """All steps are looked at; none is done."""
    begun(tmp_path, failedAt="kube-apiserver", message="why", stage="rollback of kube-apiserver")
    work = Steps(tmp_path)
    record = work.perform()
    assert (record["state"], record["message"]) == (ROLLED_BACK, "why")
    assert work.done == ["-kube-scheduler", "-kube-apiserver", "-etcd"]


def test_a_mistake_in_a_step_is_taken_back_like_any_failure(tmp_path: Path) -> None:
    """It must not leave the machine half changed."""
    begun(tmp_path)
    work = Steps(tmp_path, fails=["nothing like it"])
    record = work.perform()
    assert (record["state"], record["message"]) == (ROLLED_BACK, "unexpected KeyError: 'kube-scheduler'")
    assert work.done[-3:] == ["-kube-scheduler", "-kube-apiserver", "-etcd"]


@pytest.mark.parametrize(("stage", "state"), [("", ROLLED_BACK), ("etcd", FAILED), ("rollback of etcd", FAILED)])
def test_steps_that_cannot_be_told_are_no_rollback_where_something_had_begun(
    tmp_path: Path, stage: str, state: str
) -> None:
    """Nothing was changed, or nobody knows what."""
    begun(tmp_path, stage=stage)
    record = Steps(tmp_path, why="request.json can't be read").perform()
    assert (record["state"], record["message"]) == (state, "request.json can't be read")


def test_a_record_that_cannot_be_read(tmp_path: Path) -> None:
    """Nothing is done on a guess."""
    (tmp_path / "record.json").write_text("{")
    work = Steps(tmp_path)
    with pytest.raises(NodeError, match="can't be read"):
        work.perform()
    assert work.done == []


def test_places_travel_as_text() -> None:
    """As the unit's program gets them."""
    places = Places(state="/x", unit_of_kubelet="")
    assert Places.of(places.text()) == places


class File(Change):
    """A work on one file, which never becomes well; with ``stuck`` it can't be put back either."""

    PROGRAM = "node.components.kubelet_change"

    @property
    def file(self) -> Path:
        """What is changed."""
        return Path(self.places.kubernetes) / "file"

    def steps(self) -> t.Iterator[tuple[str, t.Callable[[], None], t.Callable[[], None]]]:
        """The only one."""
        yield "file", self._do, self._back

    def _do(self) -> None:
        kept = Path(self.backup) / "file"
        kept.parent.mkdir(exist_ok=True)
        if not kept.exists():
            kept.write_text(self.file.read_text())
        self.file.write_text("new")
        raise NodeError("it is not well")

    def _back(self) -> None:
        if self.request().get("stuck"):
            raise NodeError("no space left on device")
        self.file.write_text((Path(self.backup) / "file").read_text())


class Machine:
    """A machine with a file in use."""

    def __init__(self, folder: Path) -> None:
        self.places = Places(state=str(folder / "state"), kubernetes=str(folder))
        self.works = Works({"file": File}, self.places, NoUnit())
        self.file = folder / "file"

    def attempt(self, step: str, **request: t.Any) -> str:
        """Carry a work out, and tell its outcome."""
        folder = self.works.start(step, "file", request, ["a change"]).folder
        File(self.places, folder).perform()
        self.works.tell(step)
        return self.works.look(step).state


def test_another_attempt_puts_back_what_was_in_use_before_the_first(tmp_path: Path) -> None:
    """Of an attempt that could not be put back, the only copy of what was in use stays, however many works come between."""
    machine = Machine(tmp_path)
    machine.file.write_text("in use")
    assert machine.attempt("first", stuck=True) == FAILED and machine.file.read_text() == "new"
    for step in ("a", "b", "c", "d"):
        machine.attempt(step)
    assert machine.attempt("first") == ROLLED_BACK and machine.file.read_text() == "in use"


def test_another_attempt_after_one_that_was_put_back_begins_with_what_is_in_use_by_then(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.file.write_text("in use")
    assert machine.attempt("first") == ROLLED_BACK
    machine.file.write_text("changed by hand")
    assert machine.attempt("first") == ROLLED_BACK and machine.file.read_text() == "changed by hand"


class Killed(BaseException):
    """Stands in for SIGKILL: nothing catches it."""


def test_the_next_attempt_has_none_of_the_notes_of_one_whose_end_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as that etcd's other members were asked for their quorum."""
    machine = Machine(tmp_path)
    machine.file.write_text("in use")
    folder = Path(machine.works.start("first", "file", {"stuck": True}, ["a change"]).folder)
    assert File(machine.places, str(folder)).perform()["state"] == FAILED
    (folder / "begun").mkdir()

    def killed(*_arguments: t.Any, **_options: t.Any) -> None:
        raise Killed

    with monkeypatch.context() as during:
        during.setattr(shutil, "rmtree", killed)
        with pytest.raises(Killed):
            machine.works.tell("first")
    # The caller asks again, and hears the outcome of that attempt.
    assert machine.works.look("first").state == FAILED and not machine.works.may_begin_again("first")
    machine.works.tell("first")
    assert machine.works.may_begin_again("first") and not (folder / "begun").exists()


def test_an_attempt_that_knows_no_steps_is_no_rollback_where_one_before_failed(tmp_path: Path) -> None:
    begun(tmp_path, failedBefore=True)
    assert Steps(tmp_path, why="request.json can't be read").perform()["state"] == FAILED


class Broken(NoUnit):
    """A machine whose kubelet doesn't start."""

    def __call__(self, command: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        if list(command) == ["systemctl", "restart", "kubelet.service"]:
            return subprocess.CompletedProcess(command, 1, "", "no such device")
        return super().__call__(command)


def program(path: Path, body: str) -> str:
    """A program that is a shell script."""
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


def test_a_kubelet_that_is_down_is_not_healthy_because_its_files_are_as_before(tmp_path: Path) -> None:
    """Another attempt whose kubeadm writes nothing finds the files put back, and the kubelet as it was left."""
    kubelet = tmp_path / "kubelet"
    kubelet.mkdir()
    (kubelet / "config.yaml").write_text("in use")
    tools = Tools(kubeadm=program(tmp_path / "kubeadm", f"echo new > {kubelet}/config.yaml"))
    places = Places(state=str(tmp_path / "state"), kubelet=str(kubelet), tools=tools)
    runner = Broken()
    works = Works({"kubelet": KubeletChange}, places, runner)
    for _attempt in range(2):
        folder = works.start("step", "kubelet", {"node": "m1", "kubeconfig": "k", "timeout": 1}, ["a change"]).folder
        record = KubeletChange(places, folder, runner).perform()
        works.tell("step")
        assert record["state"] == FAILED and "no such device" in record["message"]
        assert (kubelet / "config.yaml").read_text() == "in use"
        program(tmp_path / "kubeadm", "exit 1")


def test_a_component_that_is_down_is_not_healthy_because_its_manifest_is_as_before(tmp_path: Path) -> None:
    """Another attempt fails before it writes anything; no process of the component is there."""
    manifests = tmp_path / "manifests"
    for folder in (manifests, tmp_path / "proc", tmp_path / "logs", tmp_path / "pki"):
        folder.mkdir()
    manifest = {"spec": {"containers": [{"command": ["kube-scheduler", "--leader-elect=true"]}]}}
    (manifests / "kube-scheduler.yaml").write_text(json.dumps(manifest))
    shown = f"echo '{json.dumps(manifest)}'"
    tools = Tools(kubeadm=program(tmp_path / "kubeadm", "exit 1"), kubectl=program(tmp_path / "kubectl", shown))
    places = Places(
        state=str(tmp_path / "state"),
        kubernetes=str(tmp_path),
        proc=str(tmp_path / "proc"),
        pod_logs=str(tmp_path / "logs"),
        unit_of_kubelet="",
        tools=tools,
    )
    works = Works({"control_plane": ControlPlaneChange}, places, NoUnit())
    request = {"node": "m1", "configuration": {}, "components": ["kube-scheduler"], "certificates": [], "timeout": 0}
    folder = Path(works.start("step", "control_plane", request, ["a change"]).folder)
    # What an attempt leaves that could not be put back.
    (folder / "backup").mkdir()
    (folder / "backup" / "kube-scheduler.yaml").write_text(json.dumps(manifest))
    (folder / "record.json").write_text(json.dumps({"state": FAILED, "told": True}))
    works.start("step", "control_plane", request, ["a change"])
    record = ControlPlaneChange(places, str(folder), NoUnit()).perform()
    assert record["state"] == FAILED and "no process of it is there" in record["message"]
