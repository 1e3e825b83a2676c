# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One bootstrap of one machine: real files, a real shell and a kubeadm that is a script; only systemd is stood in for."""

from __future__ import annotations

import base64
import os
import signal
import stat
import subprocess
import typing as t
from dataclasses import replace
from pathlib import Path

import pytest
from bootstrap_places import bootstrap_places
from systemd import StandInSystemd

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import settings
from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.bootstrap.bootstrap_unit import (
    Bootstrap,
    Places,
    read_state,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.bootstrap.script import Disks
from ansible_collections.kubeadm.control_plane.plugins.modules.node_bootstrap import DATA_OPTIONS

TOKEN = "abcdef.0123456789abcdef"
KUBEADM = """#!/bin/sh
if [ "$1" = version ]; then echo v1.20.2; exit 0; fi
echo "[preflight] Running pre-flight checks"
echo "[etcd] Creating static Pod manifest"
echo "kubeadm join --token {token}"
echo "$GREETING $*" >> {calls}
{body}
"""


@pytest.fixture(name="places")
def _places(tmp_path: Path) -> Places:
    (tmp_path / "boot_id").write_text("boot-1\n")
    places = bootstrap_places(tmp_path, boot_id=str(tmp_path / "boot_id"))
    write_kubeadm(places, "exit 0")
    return places


def write_kubeadm(places: Places, body: str) -> None:
    path = Path(places.kubeadm)
    path.write_text(KUBEADM.format(token=TOKEN, calls=path.parent / "calls", body=body))
    path.chmod(0o755)


def data(places: Places, **changes: t.Any) -> dict[str, t.Any]:
    config = f"{places.kubeadm_run}/kubeadm.yaml"
    base: dict[str, t.Any] = {
        "kind": "init",
        "kubeadmVersion": "v1.20.2",
        "config": f"kind: InitConfiguration\ntoken: {TOKEN}\n",
        "kubeadmArgs": ["init", "--config", config],
        "files": [],
        "users": [],
        "preKubeadmCommands": [],
        "postKubeadmCommands": [],
    }
    return {**base, **changes}


def test_a_bootstrap_runs_all_stages_in_one_shell_and_removes_its_secrets(
    places: Places, systemd: StandInSystemd, tmp_path: Path
) -> None:
    bootstrap = Bootstrap(places, systemd)
    wanted = data(
        places,
        preKubeadmCommands=[
            "export GREETING='it''s me'",
            f"cat {places.kubeadm_run}/kubeadm.yaml > {tmp_path}/seen",
            f'sync() {{ echo "$1 $(cat "$1" 2>&1)" >> {tmp_path}/synced; }}',
        ],
        postKubeadmCommands=[f"echo $GREETING > {tmp_path}/after", f"test -e {places.sentinel}"],
    )
    report, started = bootstrap.start("step-1", wanted)
    assert (report.state, started) == ("Running", True)
    report = bootstrap.wait(20)
    assert (report.state, report.rc, report.step) == ("Succeeded", 0, "step-1")
    assert (tmp_path / "seen").read_text() == wanted["config"]
    assert (tmp_path / "calls").read_text().split()[:3] == ["its", "me", "init"]
    assert (tmp_path / "after").read_text() == "its me\n"
    # A power cut leaves how far it was.
    assert f"{places.work}/stage.partial kubeadm" in (tmp_path / "synced").read_text().splitlines()
    assert not os.path.exists(places.kubeadm_run)
    assert not os.path.exists(places.work)
    assert stat.S_IMODE(os.stat(places.record).st_mode) == 0o600
    assert TOKEN not in Path(places.record).read_text()


@pytest.mark.parametrize(
    ("disks", "check"),
    [
        (Disks(etcd="/proc"), "EtcdDisk"),
        (Disks(etcd="/proc/nothing/yet"), "EtcdDisk"),
        (Disks(kubelet="/proc"), "KubeletDisk"),
        (Disks(runtimes=("/no/such/folder", "/proc")), "ImageDisk"),
    ],
)
def test_a_disk_without_room_ends_it_before_kubeadm(
    places: Places, systemd: StandInSystemd, tmp_path: Path, disks: Disks, check: str
) -> None:
    """/proc is a file system without any room. Looked at after the user's commands, which may have mounted it."""
    bootstrap = Bootstrap(replace(places, disks=disks), systemd)
    bootstrap.start("step-1", data(places, preKubeadmCommands=[f"touch {tmp_path}/mounted"]))
    report = bootstrap.wait(20)
    assert (report.state, report.rc) == ("Failed", 1)
    assert report.message.startswith(
        f"the look at the disks before kubeadm ended with exit status 1: [ERROR {check}]: 0 MiB"
    )
    assert (tmp_path / "mounted").exists() and not (tmp_path / "calls").exists()


@pytest.mark.parametrize(("etcd", "folder"), [("/proc", ""), ("/", "/proc/etcd")])
def test_every_disk_without_room_is_named(places: Places, systemd: StandInSystemd, etcd: str, folder: str) -> None:
    bootstrap = Bootstrap(replace(places, disks=Disks(etcd, "/proc", ("/proc",))), systemd)
    bootstrap.start("step-1", data(places, etcdDataDir=folder))
    message = bootstrap.wait(20).message
    assert all(f"[ERROR {name}Disk]" in message for name in ("Etcd", "Kubelet", "Image"))


def test_a_disk_that_tells_nothing_is_no_reason_to_stop(
    places: Places, systemd: StandInSystemd, tmp_path: Path
) -> None:
    """A df that says something else, or nothing."""
    (tmp_path / "df").write_text("#!/bin/sh\necho nonsense\n")
    (tmp_path / "df").chmod(0o755)
    bootstrap = Bootstrap(replace(places, disks=Disks(etcd="/proc")), systemd)
    bootstrap.start("step-1", data(places, preKubeadmCommands=[f"PATH={tmp_path}:$PATH"]))
    assert bootstrap.wait(20).state == "Succeeded"


def test_what_is_written_before_the_start_is_readable_by_root_alone(places: Places, systemd: StandInSystemd) -> None:
    Bootstrap(places, systemd).start("step-1", data(places, preKubeadmCommands=["sleep 60"]))
    for folder in (places.kubeadm_run, places.work, places.state):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            assert os.path.isdir(path) or stat.S_IMODE(os.stat(path).st_mode) & 0o077 == 0, path


def test_a_second_call_never_starts_a_second_unit(places: Places, systemd: StandInSystemd) -> None:
    wanted = data(places, preKubeadmCommands=["sleep 60"])
    Bootstrap(places, systemd).start("step-1", wanted)
    # The module has more options since then, which aren't given.
    since = {name: option.get("default") for name, option in DATA_OPTIONS.items()}
    report, started = Bootstrap(places, systemd).start("step-1", {**since, **wanted})
    assert (report.state, started, report.data_matches) == ("Running", False, True)
    report, started = Bootstrap(places, systemd).start("step-1", data(places, config="other: yes\n"))
    assert (report.state, started, report.data_matches) == ("Running", False, False)
    assert systemd.started == ["kubeadm-control-plane-step-1.service"]


def test_the_end_is_found_by_a_later_caller(places: Places, systemd: StandInSystemd, tmp_path: Path) -> None:
    wanted = data(places)
    Bootstrap(places, systemd).start("step-1", wanted)
    systemd.processes["kubeadm-control-plane-step-1.service"].wait()
    report, started = Bootstrap(places, systemd).start("step-1", wanted)
    assert (report.state, started) == ("Succeeded", False)
    assert Bootstrap(places, systemd).settle(report).finished_at
    assert Bootstrap(places, systemd).find("step-1").state == "Succeeded"
    assert len((tmp_path / "calls").read_text().splitlines()) == 1


def test_kubeadm_failing_is_named_with_its_output_but_not_its_secrets(places: Places, systemd: StandInSystemd) -> None:
    write_kubeadm(places, "echo 'error execution phase preflight' >&2; exit 7")
    bootstrap = Bootstrap(places, systemd)
    bootstrap.start("step-1", data(places, postKubeadmCommands=["touch /nonexistent/never"]))
    report = bootstrap.wait(20)
    assert (report.state, report.rc, report.command) == ("Failed", 7, "kubeadm init")
    assert "exit status 7" in report.message
    assert "error execution phase preflight" in report.output
    assert TOKEN not in report.output
    assert [each["name"] for each in report.phases] == ["preflight", "etcd"]
    assert all(0 <= each["secondsAgo"] <= 20 for each in report.phases)
    assert not os.path.exists(places.sentinel)
    # Left for diagnosis, and told again by every later call.
    assert os.path.exists(f"{places.work}/output")
    again, started = bootstrap.start("step-1", data(places))
    assert (again.state, again.rc, again.message, started) == ("Failed", 7, report.message, False)
    assert "error execution phase preflight" in again.output


@pytest.mark.parametrize(
    ("commands", "rc", "command"),
    [
        (["true", "exit 3"], 3, "preKubeadmCommands[1]"),
        (["false", "true"], 1, "preKubeadmCommands[0]"),
        (["exit 0"], 0, "preKubeadmCommands[0]"),
        (["echo 'open", "true"], 2, "preKubeadmCommands[0]"),
        (["command-that-is-nowhere"], 127, "preKubeadmCommands[0]"),
    ],
)
def test_a_command_that_fails_or_ends_the_shell_ends_the_bootstrap(
    places: Places, systemd: StandInSystemd, tmp_path: Path, commands: list[str], rc: int, command: str
) -> None:
    bootstrap = Bootstrap(places, systemd)
    bootstrap.start("step-1", data(places, preKubeadmCommands=commands))
    report = bootstrap.wait(20)
    assert (report.state, report.rc, report.command) == ("Failed", rc, command)
    assert not (tmp_path / "calls").exists(), "kubeadm ran although a command before it failed"


def test_a_killed_script_is_a_failure_and_not_a_wait_for_ever(places: Places, systemd: StandInSystemd) -> None:
    bootstrap = Bootstrap(places, systemd)
    bootstrap.start("step-1", data(places, preKubeadmCommands=["kill -9 $$"]))
    report = bootstrap.wait(20)
    assert report.state == "Failed"
    assert "without a result" in report.message


def runs(pid: str) -> bool:
    """Whether a process is there that has not ended; one that has may still wait for its new parent to notice."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in ("Z", "X")
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("body", ["sleep 60", "trap '' TERM; sleep 60"])
def test_a_bootstrap_that_does_not_end_is_ended_by_the_machine_itself(
    places: Places, systemd: StandInSystemd, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    """Nobody waits for it, and nobody can reach the machine: kubeadm is ended all the same, also one that doesn't want to."""
    monkeypatch.setattr(settings, "END_SECONDS", 1)
    write_kubeadm(places, f"echo $$ > {places.kubeadm}.pid\n{body}")
    bootstrap = Bootstrap(places, systemd)
    bootstrap.start("step-1", data(places), limit=2)
    report = bootstrap.wait(30)
    assert (report.state, report.command) == ("Failed", "kubeadm init")
    assert "had not ended after 2 s, so that the machine ended it" in report.message
    assert "journalctl -u kubelet" in report.message
    assert not runs(Path(f"{places.kubeadm}.pid").read_text().strip()), "kubeadm runs on"
    assert bootstrap.look().state == "Failed"


def test_what_a_users_command_left_in_the_background_is_not_bounded(
    places: Places, systemd: StandInSystemd, tmp_path: Path
) -> None:
    commands = [f"sleep 60 & echo $! > {tmp_path}/pid"]
    bootstrap = Bootstrap(places, systemd)
    bootstrap.start("step-1", data(places, preKubeadmCommands=commands), limit=60)
    assert bootstrap.wait(20).state == "Succeeded"
    pid = int((tmp_path / "pid").read_text())
    os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize(("written", "stage"), [(True, "preKubeadmCommands[0]"), (False, "the start")])
def test_a_machine_that_was_booted_again_in_the_middle_is_interrupted(
    places: Places, systemd: StandInSystemd, written: bool, stage: str
) -> None:
    """A power cut may take away what was written last, and kubeadm may have added an etcd member before it."""
    Bootstrap(places, systemd).start("step-1", data(places, preKubeadmCommands=["sleep 60"]))
    while not os.path.exists(f"{places.work}/stage") or "pre-1" not in Path(places.work, "stage").read_text():
        os.sched_yield()
    systemd.end()
    Path(places.boot_id).write_text("boot-2\n")
    if not written:
        Path(places.work, "stage").unlink()
    report = Bootstrap(places, StandInSystemd()).wait(20)
    assert report.state == "Failed"
    assert report.message == f"interrupted: the machine was booted again while it was at {stage}"


def test_a_caller_that_died_before_the_unit_was_started_leaves_something_that_can_be_started(
    places: Places, systemd: StandInSystemd
) -> None:
    def dies(command: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        if command[0] == "systemd-run":
            raise KeyboardInterrupt
        return systemd(command)

    with pytest.raises(KeyboardInterrupt):
        Bootstrap(places, dies).start("step-1", data(places))
    assert Bootstrap(places, systemd).find("step-1").state == "Absent"
    _report, started = Bootstrap(places, systemd).start("step-1", data(places, config="kind: Other\n"))
    assert started
    assert Bootstrap(places, systemd).wait(20).state == "Succeeded"


def test_another_step_on_the_same_machine_is_refused(places: Places, systemd: StandInSystemd) -> None:
    Bootstrap(places, systemd).start("step-1", data(places))
    with pytest.raises(NodeError, match="step 'step-1'") as refused:
        Bootstrap(places, systemd).start("step-2", data(places))
    assert refused.value.fields == {"reason": "CarriesAnother"}
    with pytest.raises(NodeError, match="step 'step-1'"):
        Bootstrap(places, systemd).find("step-2")


@pytest.mark.parametrize(
    "trace", ["kubernetes/manifests/etcd.yaml", "kubernetes/kubelet.conf", "etcd/member/wal/0.wal"]
)
def test_a_machine_that_carries_another_cluster_is_refused_untouched(
    places: Places, systemd: StandInSystemd, tmp_path: Path, trace: str
) -> None:
    path = tmp_path / trace
    path.parent.mkdir(parents=True)
    path.write_text("theirs")
    with pytest.raises(NodeError, match="already carries a cluster") as refused:
        Bootstrap(places, systemd).start("step-1", data(places))
    assert str(path.parent if "etcd/member" in trace else path).split("/wal", maxsplit=1)[0] in str(refused.value)
    assert refused.value.fields == {"reason": "CarriesAnother"} and systemd.started == []
    assert Bootstrap(places, systemd).find("step-1").state == "Absent"


def test_kubeadm_of_another_version_is_refused_with_both_versions(places: Places, systemd: StandInSystemd) -> None:
    with pytest.raises(NodeError, match=r"v1\.20\.2.*v1\.21\.0"):
        Bootstrap(places, systemd).start("step-1", data(places, kubeadmVersion="v1.21.0"))
    assert not os.path.exists(places.record)


def test_check_mode_refuses_the_same_and_changes_nothing(
    places: Places, systemd: StandInSystemd, tmp_path: Path
) -> None:
    before = sorted(os.listdir(tmp_path))
    report, would = Bootstrap(places, systemd).start("step-1", data(places), check=True)
    assert (report.state, would) == ("Absent", True)
    assert sorted(os.listdir(tmp_path)) == before
    with pytest.raises(NodeError):
        Bootstrap(places, systemd).start("step-1", data(places, kubeadmVersion="v1.0.0"), check=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "upgrade"}, "kind must be init or join"),
        ({"config": ""}, "data.config"),
        ({"kubeadmArgs": ["init"]}, "--config"),
        ({"kubeadmArgs": ["join", "--config", "x"]}, "begin with it"),
        ({"kubeadmArgs": ["init", "--config", "/tmp/kubeadm.yaml"]}, "--config"),
        ({"files": "no"}, "data.files must be a list"),
    ],
)
def test_data_of_the_wrong_shape_is_refused_before_anything(
    places: Places, systemd: StandInSystemd, change: dict[str, t.Any], message: str
) -> None:
    with pytest.raises(NodeError, match=message):
        Bootstrap(places, systemd).start("step-1", data(places, **change))
    assert not os.path.exists(places.record)


@pytest.mark.parametrize("step", ["", "UPPER", "a b", "../x", "-a", "a" * 201])
def test_a_step_that_can_not_name_a_unit_is_refused(places: Places, systemd: StandInSystemd, step: str) -> None:
    with pytest.raises(NodeError, match="can't name a unit"):
        Bootstrap(places, systemd).start(step, data(places))


def test_progress_shows_the_phase_of_kubeadm(places: Places, systemd: StandInSystemd, tmp_path: Path) -> None:
    write_kubeadm(places, "sleep 60")
    Bootstrap(places, systemd).start("step-1", data(places))
    while not (tmp_path / "calls").exists():
        os.sched_yield()
    report = Bootstrap(places, systemd).look()
    assert (report.state, report.stage) == ("Running", "kubeadm [etcd]")


def test_files_are_there_when_the_first_command_runs(places: Places, systemd: StandInSystemd, tmp_path: Path) -> None:
    path = tmp_path / "made" / "file"
    entry = {"path": str(path), "content": base64.b64encode(b"text").decode(), "permissions": "0640"}
    bootstrap = Bootstrap(places, systemd)
    bootstrap.start("step-1", data(places, files=[entry], preKubeadmCommands=[f"grep -qx text {path}"]))
    assert bootstrap.wait(20).state == "Succeeded"


def test_a_long_output_is_cut_at_a_line(places: Places, systemd: StandInSystemd) -> None:
    write_kubeadm(places, 'i=0; while [ $i -lt 4000 ]; do echo "line $i of many"; i=$((i+1)); done; exit 1')
    bootstrap = Bootstrap(places, systemd)
    bootstrap.start("step-1", data(places))
    report = bootstrap.wait(20)
    assert len(report.output) <= 16 * 1024
    assert report.output.startswith("line ")
    assert report.output.endswith("line 3999 of many\n")


def test_an_observation_of_a_machine_says_the_state_without_output(places: Places) -> None:
    assert read_state(places)["state"] == "Absent"
    os.makedirs(places.state)
    Path(places.record).write_text("{broken")
    state = read_state(places)
    assert state["state"] == "Unknown"
    assert "output" not in state
