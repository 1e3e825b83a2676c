# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""etcd continues as the only voter after the second one was lost: real etcd, the real unit's program; systemd and kubelet are stood in for."""

from __future__ import annotations

import base64
import os
import re
import subprocess
import typing as t
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from etcd_cluster import EtcdCluster, EtcdMember, find_etcd, free_port, until
from static_pods import StandInKubelet, static_pod
from systemd import StandInSystemd

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.https import Unreachable
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.data_dir import etcd_data
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.local import (
    Places,
    flagged,
    membership,
    told_members,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.restore import single_voter
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.restore.single_voter import Bounds, Recovery
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.restore.single_voter_unit import (
    Looks,
    Unit,
    read_state,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.snapshot.database import stored_members
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.types import EtcdError, Member, to_hex

Make = t.Callable[..., EtcdCluster]
# Elections and what waits for them take a quarter of the time.
QUICK = ("--heartbeat-interval=25", "--election-timeout=250")
STAGES = ("stop", "copy", "force", "restore")


@dataclass
class Node:
    """A control plane node whose etcd a stand-in kubelet runs from its manifest."""

    cluster: EtcdCluster
    member: EtcdMember
    places: Places
    kubelet: StandInKubelet
    systemd: StandInSystemd

    def unit(self) -> Unit:
        return Unit(Recovery(self.places, runner=self.systemd), Looks(2, 0.1))

    def add(self, url: str) -> Member:
        """Add a voter that is not there yet: from then on etcd has no quorum."""
        with self.cluster.gateway(self.member) as gateway:
            return gateway.member_add([url])[0]

    def silent(self) -> bool:
        with self.cluster.gateway(self.member) as gateway:
            return gateway.status().leader == 0

    def answers(self) -> bool:
        try:
            with self.cluster.gateway(self.member) as gateway:
                return gateway.status().member_id != 0
        except (EtcdError, Unreachable):
            return False

    def names(self) -> list[str]:
        with self.cluster.gateway(self.member) as gateway:
            return [member.name for member in gateway.member_list().members]

    def serves(self) -> bool:
        try:
            with self.cluster.gateway(self.member) as gateway:
                gateway.linearizable_read()
        except (EtcdError, Unreachable):
            return False
        return True

    def value(self, key: str) -> str:
        body = {"key": base64.b64encode(key.encode()).decode()}
        with self.cluster.gateway(self.member) as gateway:
            found = gateway._post("range", "/v3/kv/range", body)
        return base64.b64decode(found["kvs"][0]["value"]).decode()


@pytest.fixture(name="node")
def _node(make_cluster: Make, tmp_path: Path) -> t.Iterator[Node]:
    """One member that works, with a key in it, run by the stand-in kubelet."""
    cluster = make_cluster(1, options=QUICK)
    assert cluster.put(b"kept", b"safe") == 200
    member = cluster.members[0]
    assert member.process is not None
    words = t.cast("list[str]", member.process.args)
    # Not killed: etcd before 3.5.5 may lose what a lone member has just confirmed (github.com/etcd-io/etcd/issues/14370).
    member.process.terminate()
    member.process.wait()
    manifests = tmp_path / "kubernetes" / "manifests"
    manifests.mkdir(parents=True)
    (manifests / "etcd.yaml").write_text(static_pod(words), encoding="utf-8")
    places = Places(
        state=str(tmp_path / "state"),
        kubernetes=str(manifests.parent),
        etcd_url=member.client_url,
        credentials=cluster.credentials,
        kubelet="",
    )
    made = Node(cluster, member, places, StandInKubelet(manifests), StandInSystemd())
    try:
        until("etcd serves from its manifest", made.serves)
        yield made
    finally:
        made.systemd.end()
        made.kubelet.stop()


@pytest.fixture(name="lost")
def _lost(node: Node) -> Member:
    """The second voter was added and its machine is gone."""
    lost = node.add(f"https://127.0.0.1:{free_port()}")
    until("etcd knows no leader", node.silent)
    return lost


def test_the_data_survives_and_the_flag_is_gone(node: Node, lost: Member) -> None:
    manifest = Path(node.places.manifest).read_bytes()
    report, started = node.unit().start(lost.hex_id, "m2")
    assert started and report.state == "Running"
    done = node.unit().wait(60)
    assert done.state == "Succeeded", done.record
    assert node.serves() and node.names() == ["m1"]
    assert node.value("kept") == "safe"
    assert node.kubelet.flags == [False, True, False]
    assert Path(node.places.manifest).read_bytes() == manifest
    kept = Path(str(done.record["snapshot"]["path"]))
    assert kept.stat().st_size == done.record["snapshot"]["bytes"] and kept.stat().st_mode & 0o777 == 0o600
    assert (Path(str(done.record["dataCopy"])) / "member" / "snap" / "db").exists()
    assert Path(str(done.record["folder"])).stat().st_mode & 0o777 == 0o700


def test_an_etcd_that_answers_nothing_tells_its_members_by_its_database(node: Node, lost: Member) -> None:
    """Started again without a quorum, as the kubelet does after a while, etcd serves no client at all."""
    node.kubelet.restart()
    until("etcd runs again", lambda: len(node.kubelet.commands) == 2)
    assert not node.answers()
    told = {each["id"]: each["listens"] for each in told_members(node.places)}
    assert told[lost.hex_id] is False and len(told) == 2
    seen = membership(node.places)
    assert not seen.answered and {member.id for member in seen.members} == {seen.own, lost.id}
    with pytest.raises(NodeError, match="not itself and the voter 00000000000000aa alone"):
        node.unit().start("00000000000000aa", "m2")
    node.unit().start(lost.hex_id, "m2")
    assert node.unit().wait(60).state == "Succeeded"
    assert node.serves() and node.names() == ["m1"] and node.value("kept") == "safe"


def test_the_snapshot_is_one_that_etcd_takes(node: Node, lost: Member, tmp_path: Path) -> None:
    """etcd's own tool checks its hash and restores it; the copy of the data is a whole data folder."""
    node.unit().start(lost.hex_id, "m2")
    record = node.unit().wait(60).record
    tool = os.path.join(os.path.dirname(find_etcd()), "etcdctl")
    words = [tool, "snapshot", "restore", record["snapshot"]["path"], f"--data-dir={tmp_path / 'restored'}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env={"ETCDCTL_API": "3"})
    assert done.returncode == 0, done.stderr
    assert {member.id for member in stored_members(str(Path(record["dataCopy"]) / "member" / "snap" / "db"))} >= {
        lost.id
    }


def test_it_is_told_until_it_is_taken_note_of_and_then_no_more(node: Node, lost: Member) -> None:
    assert read_state(node.places, node.systemd) is None
    node.unit().start(lost.hex_id, "m2")
    node.unit().wait(60)
    told = read_state(node.places, node.systemd)
    assert told is not None
    assert (told["state"], told["memberID"], told["lost"]) == ("Succeeded", lost.hex_id, "m2")
    again, started = node.unit().start(lost.hex_id, "m2")
    assert (again.state, started) == ("Succeeded", False)
    node.unit().settle()
    assert read_state(node.places, node.systemd) is None
    after, started = node.unit().start(lost.hex_id, "m2")
    assert (after.state, started) == ("Succeeded", False)
    assert len(node.systemd.started) == 1


def test_a_second_call_finds_the_unit_and_starts_no_other(node: Node, lost: Member) -> None:
    node.unit().start(lost.hex_id, "m2")
    report, started = node.unit().start(lost.hex_id, "m2")
    assert not started and report.state in ("Running", "Succeeded")
    with pytest.raises(NodeError, match=f"without member {lost.hex_id} is under way"):
        node.unit().start("00000000000000aa", "m3")
    assert node.unit().wait(60).state == "Succeeded"
    assert len(node.systemd.started) == 1


@pytest.mark.parametrize("stage", STAGES)
def test_killed_anywhere_it_is_gone_on_with(node: Node, lost: Member, stage: str) -> None:
    unit = node.unit()
    unit.start(lost.hex_id, "m2")
    until(f"it is at {stage}", lambda: stage in [unit.look().record["stage"], *unit.look().record["done"]])
    node.systemd.end()
    report = unit.look()
    if report.state == "Interrupted":
        _report, started = unit.start(lost.hex_id, "m2")
        assert started
    assert unit.wait(60).state == "Succeeded"
    assert node.serves() and node.names() == ["m1"] and node.value("kept") == "safe"
    assert node.kubelet.flags[-1] is False
    assert not flagged(Path(node.places.manifest).read_text(encoding="utf-8"))


def test_where_it_fails_the_manifest_is_put_back_and_it_may_be_tried_again(node: Node, lost: Member) -> None:
    """etcd does not become its only member in time: the flag does not stay."""
    manifest = Path(node.places.manifest).read_bytes()
    unit = node.unit()
    report, _started = unit.start(lost.hex_id, "m2", check=True)
    Path(str(report.record["folder"])).mkdir(parents=True)
    unit.recovery.write(report.record)
    ended = Recovery(node.places, Bounds(start=0.0), node.systemd).perform()
    assert ended["state"] == "Failed" and "at force: waited 0 s in vain" in ended["message"]
    assert Path(node.places.manifest).read_bytes() == manifest
    told = read_state(node.places, node.systemd)
    assert told is not None and told["state"] == "Failed"
    unit.start(lost.hex_id, "m2")
    assert unit.wait(60).state == "Succeeded" and node.serves() and node.value("kept") == "safe"


def test_an_etcd_that_no_kubelet_ends_is_ended(node: Node, lost: Member) -> None:
    """A kubelet that has had no API server since its start forgets that the manifest went, and ends none that was changed."""
    node.kubelet.forgets = True
    unit = node.unit()
    report, _started = unit.start(lost.hex_id, "m2", check=True)
    Path(str(report.record["folder"])).mkdir(parents=True)
    unit.recovery.write(report.record)
    ended = Recovery(node.places, Bounds(ending=0.0), node.systemd).perform()
    assert ended["state"] == "Succeeded" and node.serves() and node.value("kept") == "safe"
    assert node.kubelet.flags[-2:] == [True, False]


def test_nothing_is_copied_from_under_an_etcd_that_runs(node: Node, lost: Member) -> None:
    """A kubelet that sees late that the manifest is gone has started it once more."""
    unit = node.unit()
    report, _started = unit.start(lost.hex_id, "m2", check=True)
    folder = Path(str(report.record["folder"]))
    folder.mkdir(parents=True)
    (folder / "etcd.yaml").write_bytes(Path(node.places.manifest).read_bytes())
    unit.recovery.write({**report.record, "done": ["stop"]})
    ended = Recovery(node.places, Bounds(stop=0.0), node.systemd).perform()
    assert ended["state"] == "Failed" and "at copy: waited 0 s in vain for etcd to stay stopped" in ended["message"]
    assert "dataCopy" not in ended and node.kubelet.flags == [False]


def test_no_etcd_can_open_the_database_while_it_is_copied(node: Node, lost: Member) -> None:
    """What is copied beside it tells who holds which file locked at that moment."""
    folder = Path(etcd_data(Path(node.places.manifest).read_text(encoding="utf-8"))) / "member"
    (folder / "locks").symlink_to("/proc/locks")
    database = (folder / "snap" / "db").stat().st_ino
    node.unit().start(lost.hex_id, "m2")
    done = node.unit().wait(60)
    assert done.state == "Succeeded", done.record
    locks = (Path(str(done.record["dataCopy"])) / "member" / "locks").read_text(encoding="utf-8")
    assert re.search(rf"FLOCK +ADVISORY +WRITE .*:{database} ", locks), locks


def test_a_voter_that_listens_is_not_lost(node: Node) -> None:
    other = EtcdMember("m2", node.member.directory.parent / "m2")
    added = node.add(other.peer_url)
    until("etcd knows no leader", node.silent)
    node.cluster.members.append(other)
    initial = [("m1", node.member.peer_url), ("m2", other.peer_url)]
    node.cluster.start(other, initial)
    until("both work", node.serves)
    with pytest.raises(NodeError, match=r"has a leader .* has its quorum"):
        node.unit().start(added.hex_id, "m2")
    other.pause()
    until("etcd knows no leader", node.silent)
    with pytest.raises(NodeError, match=r"listens at 127\.0\.0\.1"):
        node.unit().start(added.hex_id, "m2")
    assert node.kubelet.flags == [False] and node.systemd.started == []


def test_a_voter_that_held_the_data_too_and_died_is_recovered_from(node: Node) -> None:
    other = EtcdMember("m2", node.member.directory.parent / "m2")
    added = node.add(other.peer_url)
    node.cluster.members.append(other)
    node.cluster.start(other, [("m1", node.member.peer_url), ("m2", other.peer_url)])
    until("both work", node.serves)
    assert node.cluster.put(b"later", b"safe too") == 200
    other.kill()
    until("etcd knows no leader", node.silent)
    node.unit().start(added.hex_id, "m2")
    assert node.unit().wait(60).state == "Succeeded"
    assert node.names() == ["m1"] and (node.value("kept"), node.value("later")) == ("safe", "safe too")


def test_another_member_than_the_one_that_is_meant_is_refused(node: Node, lost: Member) -> None:
    with pytest.raises(NodeError, match="not itself and the voter 00000000000000aa alone"):
        node.unit().start("00000000000000aa", "m2")
    assert node.systemd.started == [] and to_hex(lost.id) == lost.hex_id


def test_a_learner_beside_the_two_is_one_too_many(node: Node) -> None:
    with node.cluster.gateway(node.member) as gateway:
        gateway.member_add([f"https://127.0.0.1:{free_port()}"], learner=True)
    added = node.add(f"https://127.0.0.1:{free_port()}")
    until("etcd knows no leader", node.silent)
    with pytest.raises(NodeError, match="not itself and the voter"):
        node.unit().start(added.hex_id, "m2")


def test_check_mode_changes_nothing(node: Node, lost: Member) -> None:
    report, would_start = node.unit().start(lost.hex_id, "m2", check=True)
    assert would_start and report.record["memberID"] == lost.hex_id
    assert node.systemd.started == [] and not Path(node.places.record).exists()


def test_a_node_without_room_is_refused_before_anything_is_changed(
    node: Node, lost: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(single_voter, "_SPACE_BYTES", 1 << 60)
    with pytest.raises(NodeError, match="MiB are free"):
        node.unit().start(lost.hex_id, "m2")
    assert node.systemd.started == [] and not Path(node.places.record).exists()


def test_no_third_member_is_ever_forced_out(make_cluster: Make, tmp_path: Path) -> None:
    cluster = make_cluster(3, options=QUICK)
    dead = [member for member in cluster.members if member is not cluster.members[0]]
    identity = cluster.id_of(dead[0].name)
    for member in dead:
        member.kill()
    places = Places(state=str(tmp_path), etcd_url=cluster.members[0].client_url, credentials=cluster.credentials)

    def silent() -> bool:
        with cluster.gateway(cluster.members[0]) as gateway:
            return gateway.status().leader == 0

    until("etcd knows no leader", silent)
    with pytest.raises(NodeError, match="not itself and the voter"):
        Unit(Recovery(places, runner=StandInSystemd()), Looks(1, 0.1)).start(to_hex(identity), "m2")


def test_one_that_was_cut_off_before_its_first_stage_holds_up_no_other(node: Node, lost: Member) -> None:
    """It has changed nothing, and the member that it was about may be there again, or gone in another way."""
    report, _started = node.unit().start(lost.hex_id, "m2", check=True)
    Path(str(report.record["folder"])).mkdir(parents=True)
    node.unit().recovery.write({**report.record, "memberID": "00000000000000aa"})
    assert node.unit().look().state == "Interrupted"
    _report, started = node.unit().start(lost.hex_id, "m2")
    assert started and node.unit().wait(60).state == "Succeeded" and node.names() == ["m1"]


@pytest.mark.parametrize("state", ["Started", "Succeeded"])
@pytest.mark.parametrize("recorded", [{"ownID": "00000000000000bb"}, {"clusterID": "00000000000000cc"}])
def test_what_an_earlier_use_of_the_machine_left_is_not_taken_for_this_one(
    node: Node, lost: Member, recorded: dict[str, str], state: str
) -> None:
    """It would start this machine's etcd with that one's manifest, and with the flag; its success would have a machine replaced."""
    unit = node.unit()
    report, _started = unit.start(lost.hex_id, "m2", check=True)
    Path(str(report.record["folder"])).mkdir(parents=True)
    unit.recovery.write({**report.record, "state": state, "done": ["stop", "copy"], "stage": "force", **recorded})
    with pytest.raises(NodeError, match=r"is of a recovery of etcd member .* an earlier use of this machine: delete"):
        unit.start(lost.hex_id, "m2")
    assert node.systemd.started == [] and node.kubelet.flags == [False]


def test_a_disk_that_cannot_be_measured_is_told_with_its_remedy(node: Node, lost: Member) -> None:
    state = Path(node.places.state)
    unit = Unit(Recovery(replace(node.places, state=str(state / "none" / "state"))), Looks(1, 0.0))
    with pytest.raises(
        NodeError, match=rf"{state}/none can't be used: No such file.* Nothing was begun\. On this machine:"
    ):
        unit.start(lost.hex_id, "m2", check=True)


def test_one_that_could_not_be_started_after_it_was_recorded_is_continued(node: Node, lost: Member) -> None:
    def refuse(*_unused: t.Any) -> t.Any:
        raise FileNotFoundError(2, "No such file", "systemd-run")

    unit = Unit(Recovery(node.places, runner=refuse), Looks(1, 0.0))
    with pytest.raises(NodeError, match=r"systemd-run can't be used: No such file\. The next run continues it\."):
        unit.start(lost.hex_id, "m2")
    assert node.unit().look().state == "Interrupted"
    _report, started = node.unit().start(lost.hex_id, "m2")
    assert started and node.unit().wait(60).state == "Succeeded" and node.names() == ["m1"]
