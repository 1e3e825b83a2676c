# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A changed ClusterConfiguration on one machine: the real kubeadm and kubectl, a stand-in for the kubelet and the components."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
from configured_machine import KUBEADM, KUBECTL, MANAGER, SCHEDULER, Machine, configured_machine
from etcd_cluster import until
from stand_in_components import BAD_FLAG
from systemd import NoUnit

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import settings, systemd_units
from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.certificates import alternative_names
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.components import (
    control_plane_change,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.components.configuration_change import (
    FAILED,
    ROLLED_BACK,
    RUNNING,
    SUCCEEDED,
    Works,
)

pytestmark = [
    pytest.mark.skipif(KUBEADM is None or KUBECTL is None, reason="kubeadm and kubectl are not on this machine"),
    pytest.mark.skipif(os.geteuid() != 0, reason="mount namespaces need root"),
]


@pytest.fixture(name="machine")
def _machine(tmp_path: Path) -> t.Iterator[Machine]:
    """A machine as kubeadm made it, with its controller manager and scheduler running."""
    with configured_machine(tmp_path) as made:
        yield made


def test_what_is_as_wanted_is_left_alone(machine: Machine) -> None:
    """The same configuration makes the same manifests and certificates."""
    found = machine.compared(machine.stored, "etcd", "kube-apiserver", MANAGER, SCHEDULER, certificates=["apiserver"])
    assert (found.components, found.certificates, found.lines, found.manual, found.missing) == ([], [], [], [], [])


def test_components_change_one_after_the_other(machine: Machine) -> None:
    """Both run with their new flags at the end; the unit's work is found by its name afterwards."""
    configuration = machine.configuration(controllerManager={"v": "3"}, scheduler={"v": "4"})
    found = machine.compared(configuration, MANAGER, SCHEDULER)
    assert found.lines == [f"{MANAGER} --v: not set -> '3'", f"{SCHEDULER} --v: not set -> '4'"]
    report = machine.run("first", configuration, MANAGER, SCHEDULER)
    assert (report.state, report.message) == (SUCCEEDED, "")
    assert [words[0] for words in machine.kubelet.starts[2:]] == [MANAGER, SCHEDULER]
    assert (machine.flag(MANAGER, "v"), machine.flag(SCHEDULER, "v")) == ("3", "4")
    assert machine.compared(configuration, MANAGER, SCHEDULER).lines == []
    again = machine.works.start("first", "control_plane", {}, [])
    assert again.state == SUCCEEDED
    assert machine.systemd.started == [f"{systemd_units.CONFIGURATION}first.service"]


def test_a_flag_that_is_none_is_rolled_back_with_all_that_came_before(machine: Machine) -> None:
    """The first component had changed and was well: it goes back too, and the reason is the component's own, not what the one before said last."""
    before = {each: machine.manifest(each).read_text() for each in (MANAGER, SCHEDULER)}
    [log] = machine.kubelet.logs.glob(f"kube-system_{SCHEDULER}-*/{SCHEDULER}/0.log")
    os.utime(log, (2**32, 2**32))
    configuration = machine.configuration(controllerManager={"v": "3"}, scheduler={BAD_FLAG[2:]: "1"})
    report = machine.run("bad", configuration, MANAGER, SCHEDULER)
    assert report.state == ROLLED_BACK
    assert re.match(rf"{SCHEDULER} was started \d+ times .* It says: Error: unknown flag: {BAD_FLAG}", report.message)
    assert {each: machine.manifest(each).read_text() for each in before} == before
    assert machine.flag(MANAGER, "v") == ""
    assert machine.flag(SCHEDULER, BAD_FLAG[2:]) == ""
    # Told once, the same step is a new attempt.
    assert not machine.works.may_begin_again("bad")
    machine.works.tell("bad")
    assert machine.works.may_begin_again("bad")
    assert machine.run("bad", machine.configuration(scheduler={"v": "5"}), SCHEDULER).state == SUCCEEDED
    assert machine.flag(SCHEDULER, "v") == "5"


def test_the_old_process_that_still_answers_is_not_taken_for_the_new_one(machine: Machine) -> None:
    """A kubelet may start the new one beside it."""
    machine.kubelet.lingering = True
    configuration = machine.configuration(scheduler={"v": "4"})
    machine.works.start("beside", "control_plane", machine.request(configuration, SCHEDULER), [])
    until("the new one is started", lambda: len(machine.kubelet.starts) == 3)
    machine.remains_under_way("beside")
    machine.kubelet.lingering = False
    assert machine.works.wait("beside", 60).state == SUCCEEDED
    assert machine.flag(SCHEDULER, "v") == "4"


def test_an_old_process_that_no_kubelet_ends_is_ended(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kubelet 1.22 that has not heard from an API server since its start ends none whose manifest was changed."""
    for name in ("POD_GRACE_SECONDS", "POD_END_SECONDS"):
        monkeypatch.setattr(settings, name, 0.0)
    program = tmp_path / SCHEDULER
    shutil.copy(str(shutil.which("sleep")), program)
    with subprocess.Popen([str(program), "600"]) as old:
        machine.kubelet.outlive(SCHEDULER, old.pid)
        works = Works({"control_plane": control_plane_change.ControlPlaneChange}, machine.places, NoUnit())
        request = machine.request(machine.configuration(scheduler={"v": "4"}), SCHEDULER)
        folder = works.start("forgotten", "control_plane", request, []).folder
        control_plane_change.perform(folder, machine.places.text())
        ended = old.poll()
        old.kill()
    assert ended == -signal.SIGTERM
    assert works.look("forgotten").state == SUCCEEDED and machine.flag(SCHEDULER, "v") == "4"


def test_a_unit_that_was_killed_is_gone_on_with(machine: Machine) -> None:
    """A machine that boots in between: the next call starts the unit again, which does what is left."""
    configuration = machine.configuration(controllerManager={"v": "3"}, scheduler={"v": "4"})
    request = machine.request(configuration, MANAGER, SCHEDULER)
    machine.works.start("killed", "control_plane", request, [])
    process = machine.systemd.processes[f"{systemd_units.CONFIGURATION}killed.service"]
    until("the first step", lambda: machine.works.look("killed").stage == MANAGER)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert machine.works.look("killed").state == RUNNING
    machine.works.start("killed", "control_plane", {}, [])
    assert machine.works.wait("killed", 60).state == SUCCEEDED
    assert (machine.flag(MANAGER, "v"), machine.flag(SCHEDULER, "v")) == ("3", "4")


def test_a_rollback_that_was_killed_is_completed(machine: Machine) -> None:
    """It does not go forward again."""
    configuration = machine.configuration(controllerManager={"v": "3"}, scheduler={BAD_FLAG[2:]: "1"})
    machine.works.start("back", "control_plane", machine.request(configuration, MANAGER, SCHEDULER), [])
    process = machine.systemd.processes[f"{systemd_units.CONFIGURATION}back.service"]
    until("a rollback", lambda: machine.works.look("back").stage.startswith("rollback"))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    machine.works.start("back", "control_plane", {}, [])
    assert machine.works.wait("back", 60).state == ROLLED_BACK
    assert machine.flag(MANAGER, "v") == ""


def test_a_rollback_that_was_killed_is_not_taken_for_done(machine: Machine) -> None:
    """The manifest was back already; the process is awaited all the same."""
    before = machine.manifest(SCHEDULER).read_text()
    machine.kubelet.held.add(before)
    request = machine.request(machine.configuration(scheduler={BAD_FLAG[2:]: "1"}), SCHEDULER)
    machine.works.start("half", "control_plane", request, [])
    process = machine.systemd.processes[f"{systemd_units.CONFIGURATION}half.service"]
    until("the new one is started", lambda: len(machine.kubelet.starts) > 2)
    until("the manifest is back", lambda: machine.manifest(SCHEDULER).read_text() == before)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    machine.works.start("half", "control_plane", {}, [])
    machine.remains_under_way("half")
    machine.kubelet.held.clear()
    assert machine.works.wait("half", 60).state == ROLLED_BACK
    assert machine.flag(SCHEDULER, BAD_FLAG[2:]) == ""


def test_one_work_at_a_time(machine: Machine) -> None:
    """A second one is refused while the first runs."""
    configuration = machine.configuration(scheduler={BAD_FLAG[2:]: "1"})
    machine.works.start("one", "control_plane", machine.request(configuration, SCHEDULER), [])
    with pytest.raises(NodeError, match="under way on this machine: one"):
        machine.works.start("two", "control_plane", machine.request(configuration, SCHEDULER), [])
    assert machine.works.wait("one", 60).state == ROLLED_BACK


def test_changes_by_hand_are_not_lost_unseen(machine: Machine) -> None:
    """What the patch itself says is meant; everything else by hand is refused, or overwritten with the user's word."""
    manifest = machine.manifest(MANAGER)
    manifest.write_text(
        manifest.read_text().replace("    - --leader-elect=true\n", "    - --leader-elect=true\n    - --v=9\n")
    )
    found = machine.compared(machine.configuration(controllerManager={"profiling": "false"}), MANAGER)
    assert found.manual == [f"{MANAGER} --v is '9' here, and not set by kubeadm-config"]
    with pytest.raises(NodeError, match="--v is '9' here"):
        found.require("Refuse")
    found.require("Overwrite")
    assert machine.compared(machine.configuration(controllerManager={"v": "5"}), MANAGER).manual == []
    kept = machine.compared(machine.configuration(controllerManager={"v": "9"}), MANAGER)
    assert (kept.manual, kept.components) == ([], [])


def test_a_file_that_the_machine_lacks_is_found_before_anything_changes(machine: Machine, tmp_path: Path) -> None:
    """A flag's file outside of all mounts, a mounted one that isn't there, a volume's folder."""
    policy = tmp_path / "audit" / "policy.yaml"
    configuration = machine.configuration(apiServer={"audit-policy-file": str(policy)})
    found = machine.compared(configuration, "kube-apiserver")
    assert "needs an entry of extraVolumes" in found.missing[0]
    volume = {"name": "audit", "hostPath": str(policy.parent), "mountPath": str(policy.parent), "pathType": "Directory"}
    configuration["apiServer"]["extraVolumes"] = [volume]
    found = machine.compared(configuration, "kube-apiserver")
    assert len(found.missing) == 2
    with pytest.raises(NodeError, match="Nothing was changed"):
        found.require("Refuse")
    policy.parent.mkdir()
    policy.write_text("rules: []\n")
    assert machine.compared(configuration, "kube-apiserver").missing == []


def test_a_new_name_makes_a_new_certificate(machine: Machine) -> None:
    """Only where names differ; the key of the authority is not copied anywhere."""
    configuration = machine.configuration()
    configuration["apiServer"]["certSANs"] = ["new.example.com"]
    found = machine.compared(configuration, "kube-apiserver", certificates=["apiserver"])
    assert (found.components, found.certificates) == ([], ["apiserver"])
    assert found.lines == ["certificate apiserver: a new one with new.example.com and without old.example.com"]
    pki = Path(machine.places.kubernetes) / "pki"
    with (pki / "apiserver.crt").open("a") as file:
        file.write((pki / "ca.crt").read_text())
    [line] = machine.compared(configuration, "kube-apiserver", certificates=["apiserver"]).lines
    assert line.startswith(found.lines[0] + " and without what the file has behind it")
    made = Path(machine.places.state) / "compare" / "new" / "certificates"
    wanted = {"new.example.com", "10.96.0.1", "10.0.0.10", "node"}
    assert alternative_names.alternative_names((made / "apiserver.crt").read_text()) >= wanted
    assert (made / "ca.key").is_symlink()
    key = (pki / "ca.key").read_text()
    copies = [each for each in Path(machine.places.state).rglob("*") if each.is_file() and not each.is_symlink()]
    assert all(key not in each.read_text(errors="replace") for each in copies)
    (pki / "ca.key").unlink()
    make = control_plane_change.renderer({"configuration": configuration, "node": "node"}, machine.places)
    with pytest.raises(NodeError, match=r"ca\.key is not on this machine"):
        make.certificate("apiserver", configuration, str(Path(machine.places.state) / "compare"))


def test_what_kubeadm_refuses_is_told_in_its_words(machine: Machine) -> None:
    """The phases are kubeadm's own, and so are their refusals."""
    configuration = machine.configuration()
    configuration["networking"]["podSubnet"] = "nonsense"
    with pytest.raises(NodeError, match="podSubnet"):
        machine.compared(configuration, MANAGER)


def test_etcd_keeps_what_its_manifest_says_of_its_first_start(machine: Machine) -> None:
    """A member that had joined must not make a new cluster should its data get lost."""
    joined = "    - --initial-cluster=a=https://10.0.0.2:2380,node=https://10.0.0.1:2380\n    - --initial-cluster-state=existing\n"
    manifest = machine.manifest("etcd")
    text = manifest.read_text()
    line = next(each for each in text.splitlines(keepends=True) if "--initial-cluster=" in each)
    manifest.write_text(text.replace(line, joined))
    configuration = machine.configuration()
    configuration["etcd"]["local"]["extraArgs"] = {"quota-backend-bytes": "4294967296"}
    found = machine.compared(configuration, "etcd")
    assert found.lines == ["etcd --quota-backend-bytes: not set -> '4294967296'"]
    assert found.manual == []
    new = (Path(machine.places.state) / "compare" / "new" / "manifests" / "etcd.yaml").read_text()
    kept = control_plane_change.keep_first_start(new, manifest.read_text())
    assert joined in kept
    assert "--quota-backend-bytes=4294967296" in kept
    assert kept.count("--initial-cluster=") == 1


def test_proxies_of_whoever_runs_it_do_not_get_into_manifests(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kubeadm copies its own environment's proxies; those in use stay, others don't come."""
    monkeypatch.setenv("HTTPS_PROXY", "http://of-the-controller:3128")
    assert machine.compared(machine.stored, "kube-apiserver", MANAGER).lines == []


def test_an_outcome_that_could_not_be_put_back_is_told(machine: Machine) -> None:
    """The manifest in use had a flag that is none as well: both ways it does not run."""
    manifest = machine.manifest(SCHEDULER)
    manifest.write_text(
        manifest.read_text().replace("    - --leader-elect=true\n", f"    - --leader-elect=true\n    - {BAD_FLAG}=2\n")
    )
    until("the bad flag", lambda: any(f"{BAD_FLAG}=2" in words for words in machine.kubelet.starts))
    report = machine.run("both", machine.configuration(scheduler={BAD_FLAG[2:]: "1"}), SCHEDULER)
    assert report.state == FAILED
    assert "could not be taken back" in report.message


def test_another_attempt_also_puts_back_what_the_one_before_could_not(machine: Machine) -> None:
    """The controller manager could not be written back, runs with the change, and so is no part of the second attempt."""
    before = machine.manifest(MANAGER).read_text()
    configuration = machine.configuration(controllerManager={"v": "3"}, scheduler={BAD_FLAG[2:]: "1"})
    obstacle = Path(machine.places.kubernetes) / f".{MANAGER}.yaml.kubeadm-control-plane"
    machine.works.start("stuck", "control_plane", machine.request(configuration, MANAGER, SCHEDULER), [])
    until("the scheduler's turn", lambda: machine.works.look("stuck").stage == SCHEDULER)
    obstacle.mkdir()
    assert machine.works.wait("stuck", 60).state == FAILED and machine.flag(MANAGER, "v") == "3"
    machine.works.tell("stuck")
    obstacle.rmdir()
    assert machine.compared(configuration, MANAGER, SCHEDULER).components == [SCHEDULER]
    assert machine.run("stuck", configuration, SCHEDULER).state == ROLLED_BACK
    assert machine.manifest(MANAGER).read_text() == before and machine.flag(MANAGER, "v") == ""


def test_secrets_of_a_work_are_gone_when_it_was_told(machine: Machine) -> None:
    """The configuration may hold some; what stays is the record and what was in use before."""
    report = machine.run("told", machine.configuration(scheduler={"v": "2"}), SCHEDULER)
    machine.works.tell("told")
    left = sorted(str(each.relative_to(report.folder)) for each in Path(report.folder).rglob("*") if each.is_file())
    assert left == [f"backup/{SCHEDULER}.yaml", "record.json"]
    assert Path(report.folder).stat().st_mode & 0o777 == 0o700


def test_the_unit_needs_nothing_of_ansible(machine: Machine) -> None:
    """What the unit runs is the sources that were carried along, with Python alone."""
    machine.run("alone", machine.configuration(scheduler={"v": "2"}), SCHEDULER)
    code = Path(machine.works.look("alone").folder) / "code"
    names = {each.name for each in (code / "lib" / "ansible_collections").iterdir()}
    assert names == {"__init__.py", "kubeadm"} or names == {"kubeadm"}
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(code / "run.py")], check=False, capture_output=True, timeout=60
    )
    assert done.returncode == 0
