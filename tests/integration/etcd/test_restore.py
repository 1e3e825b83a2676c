# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""etcd restored from a snapshot on one machine after the others were lost: real etcd, the real unit's program, etcd's own tool."""

from __future__ import annotations

import base64
import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import typing as t
from pathlib import Path

import pytest
from etcd_cluster import until
from left_node import CA, QUICK, Make, Node, leader, left_node, own_tool
from static_pods import static_pod

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.certificates_dir import made_by_kubeadm
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.restore import info
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.restore import restore_unit as restore_unit
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.restore.from_snapshot import Restore
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.restore.restore_unit import (
    FAILED,
    INTERRUPTED,
    SUCCEEDED,
    RestoreError,
    Unit,
    Wanted,
    fence,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.restore.single_voter import Bounds
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.snapshot.revision import (
    ContentsError,
    of_cluster,
    revision,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.snapshot.tool import Tool

OTHER_CA = CA.replace(b"b3ducyB0aGlz", b"b3RoZXJzIQ==")
CLUSTER_INFO = b"/registry/configmaps/kube-public/cluster-info"


@pytest.fixture(name="node")
def _node(make_cluster: Make, tmp_path: Path) -> t.Iterator[Node]:
    with left_node(make_cluster, tmp_path) as node:
        yield node


def test_what_was_in_the_snapshot_is_there_and_what_came_later_is_not(node: Node) -> None:
    assert revision(node.snapshot) == node.revision
    record = node.perform(Wanted(node.snapshot, node.revision))
    assert record["state"] == SUCCEEDED, record
    assert (node.value(b"kept"), node.value(b"later")) == ("safe", "")
    assert node.members() == ["m1"]
    # The data of before is beside it, nothing else is left.
    [before] = [name for name in node.data() if name != "member"]
    assert before.startswith("member-before-restored-")
    assert revision(str(node.member.directory / "data" / before / "snap" / "db")) == node.revision + 1


def test_the_restored_cluster_is_another_one_for_the_members_of_before(node: Node) -> None:
    with node.gateway() as gateway:
        before = gateway.status()
    node.perform(Wanted(node.snapshot, node.revision))
    with node.gateway() as gateway:
        after = gateway.status()
    assert after.cluster_id != before.cluster_id and after.member_id != before.member_id


def test_without_a_snapshot_the_own_data_is_gone_on_with(node: Node) -> None:
    found = info.gather(node.unit(), os.path.dirname(node.snapshot))
    assert (found["data"]["revision"], found["data"]["message"]) == (node.revision + 1, "")
    assert [(each["path"], each["revision"]) for each in found["snapshots"]] == [(node.snapshot, node.revision)]
    assert found["etcd"]["answers"] and found["etcd"]["leader"] is None
    assert [each["listens"] for each in found["etcd"]["members"]] == ["", "", ""]
    assert node.perform(Wanted("", node.revision + 1))["state"] == SUCCEEDED
    assert (node.value(b"kept"), node.value(b"later")) == ("safe", "lost")


@pytest.mark.parametrize("own", [False, True])
def test_a_restore_that_was_killed_goes_on_at_every_stage(
    node: Node, monkeypatch: pytest.MonkeyPatch, own: bool
) -> None:
    wanted = Wanted("", node.revision + 1) if own else Wanted(node.snapshot, node.revision)
    node.unit().start(wanted)
    for stage in ("_restore_data", "_swap", "_start", "_serve"):
        monkeypatch.setattr(Restore, stage, killed)
        with pytest.raises(Killed):
            node.restore.perform()
        monkeypatch.undo()
        assert node.unit().look().state == INTERRUPTED
        # The other way round, another one is refused meanwhile.
        with pytest.raises(RestoreError, match="under way"):
            node.unit().start(Wanted("", 1))
        assert node.unit().start(wanted)[1]
    assert node.restore.perform()["state"] == SUCCEEDED
    assert (node.value(b"kept"), node.members()) == ("safe", ["m1"])
    node.unit().settle()
    assert node.unit().look().state == restore_unit.ABSENT


class Killed(BaseException):
    """As a power cut."""


def killed(*_unused: object) -> None:
    raise Killed


def test_a_restore_that_fails_leaves_everything_as_it_was(node: Node) -> None:
    manifest = Path(node.restore.places.manifest).read_bytes()
    broken = Restore(node.restore.places, node.restore.bounds, node.restore.runner, tool=refuses)
    Unit(broken).start(Wanted(node.snapshot, node.revision))
    record = broken.perform()
    assert (record["state"], record["stage"]) == (FAILED, "restore")
    assert "could not restore the snapshot: no luck" in record["message"]
    assert Path(node.restore.places.manifest).read_bytes().strip() == manifest.strip()
    assert node.data() == ["member"]
    until("etcd is started again", lambda: len(node.kubelet.commands) == 2)
    # And it can be tried again.
    assert node.perform(Wanted(node.snapshot, node.revision))["state"] == SUCCEEDED


@contextlib.contextmanager
def refuses(folder: str) -> t.Iterator[Tool]:
    yield Tool("etcdutl", ("sh", "-c", "echo no luck >&2; exit 1"), folder)


def killed_in_undo(broken: Restore, wanted: Wanted, at: int) -> bool:
    """Have a restore fail, and kill its undo at this one of what it moves and deletes. Returns False where there are not as many."""
    Unit(broken).start(wanted)
    left = itertools.count(at, -1)

    def cut(real: t.Callable[..., None]) -> t.Callable[..., None]:
        def call(*arguments: t.Any, **options: t.Any) -> None:
            if next(left) == 0:
                raise Killed
            real(*arguments, **options)

        return call

    with pytest.MonkeyPatch.context() as patch, contextlib.suppress(Killed):
        undo = Restore._undo

        def armed(self: Restore, record: dict[str, t.Any]) -> None:
            patch.setattr(os, "rename", cut(os.rename))
            patch.setattr(shutil, "rmtree", cut(shutil.rmtree))
            undo(self, record)

        patch.setattr(Restore, "_undo", armed)
        assert broken.perform()["state"] == FAILED
        return False
    return True


@pytest.mark.parametrize(
    ("start", "tool", "ends"), [(30.0, "refuses", [SUCCEEDED] * 4), (0.0, "own_tool", [SUCCEEDED] * 2 + [FAILED] * 5)]
)
def test_an_undo_that_was_killed_is_never_taken_for_the_restore(
    node: Node, start: float, tool: str, ends: list[str]
) -> None:
    """The data of before has one voter: it would serve alone, as what was restored does."""
    wanted = Wanted(node.snapshot, node.revision, replace_working=True)
    bounds = Bounds(30.0, start, 5.0)
    broken = Restore(node.restore.places, bounds, node.restore.runner, tool=globals()[tool])
    assert node.perform(wanted)["state"] == SUCCEEDED
    node.unit().settle()
    found = []
    for at in itertools.count():
        node.put(b"between", b"kept")
        if not killed_in_undo(broken, wanted, at):
            break
        state = node.perform(wanted)["state"]
        until("etcd works", lambda: leader(node))
        assert node.value(b"between") == ("kept" if state == FAILED else ""), at
        found.append(state)
        node.unit().settle()
    assert found == ends


@pytest.mark.parametrize("part", ["snap", "wal", ""])
def test_an_undo_of_an_earlier_release_that_was_killed_is_completed(node: Node, part: str) -> None:
    """It deleted the data in its place, and its record did not tell what had been restored."""
    wanted = Wanted(node.snapshot, node.revision)
    broken = Restore(node.restore.places, Bounds(30.0, 0.0, 5.0), node.restore.runner, tool=own_tool)
    assert killed_in_undo(broken, wanted, 1)
    shutil.rmtree(node.member.directory / "data" / "member" / part)
    record = broken.read()
    del record["clusterID"]
    broken.write(record)
    done = node.perform(wanted)
    assert (done["state"], done["dataBefore"]) == (FAILED, "") and "an undo was interrupted" in done["message"]
    assert node.data() == ["member"]
    database = node.member.directory / "data" / "member" / "snap" / "db"
    assert revision(str(database)) == node.revision + 1


def test_where_no_data_of_before_were_kept_none_are_said_to_be_back(node: Node) -> None:
    """The member was lost with its disk, and a release without IDs in its record began the restore."""
    wanted = Wanted(node.snapshot, node.revision)
    broken = Restore(node.restore.places, Bounds(30.0, 0.0, 5.0), node.restore.runner, tool=own_tool)
    assert killed_in_undo(broken, wanted, 1)
    [before] = (node.member.directory / "data").glob("member-before-*")
    shutil.rmtree(before)
    record = broken.read()
    del record["clusterID"]
    broken.write(record)
    done = node.perform(wanted)
    assert done["state"] == FAILED and node.data() == ["member"]
    assert "no data of before is beside it" in done["message"] and "data and manifests" not in done["message"]


def test_what_no_kubelet_ends_is_ended(node: Node) -> None:
    """A kubelet that has had no API server since its start forgets that manifests went. The API server of another cluster is left alone."""
    node.kubelet.forgets = True
    node.restore.bounds = Bounds(30.0, 30.0, 5.0, ending=0.0)
    flags = ["--advertise-address=10.0.0.1", "--secure-port=7443"]
    manifest = Path(node.restore.places.manifests) / "kube-apiserver.yaml"
    manifest.write_text(static_pod(["kube-apiserver", *flags]), encoding="utf-8")
    with contextlib.ExitStack() as held:

        def api_server(*words: str) -> subprocess.Popen[bytes]:
            command = ["kube-apiserver", "-c", "read nothing", *words]
            made = held.enter_context(subprocess.Popen(command, executable="/bin/sh", stdin=subprocess.PIPE))
            held.callback(made.kill)
            return made

        own, other = api_server(*flags), api_server("--advertise-address=10.0.0.2", flags[1])
        served = ("10.0.0.1", 7443)
        node.restore.listens = lambda addresses: "it" if served in [*addresses] and own.poll() is None else ""
        done = node.perform(Wanted(node.snapshot, node.revision))
        assert own.wait() == -signal.SIGTERM and other.poll() is None
    assert node.value(b"kept") == "safe" and "start" in done["done"]


def test_what_is_not_whole_or_not_what_is_meant_is_refused(node: Node) -> None:
    """Snapshots, and the machine's own data: the caller stops the others next."""
    truncated = shutil.copy(node.snapshot, f"{node.snapshot}.bad")
    os.truncate(truncated, os.path.getsize(truncated) - 4096)

    def refused(snapshot: str, wanted: int, authority: bytes = CA) -> str:
        Path(node.restore.places.cluster_ca).write_bytes(authority)
        with pytest.raises(ContentsError) as caught:
            node.unit().start(Wanted(snapshot, wanted), check=True)
        return caught.value.reason

    assert refused(truncated, node.revision) == "NotWhole"
    for snapshot, known in ((node.snapshot, node.revision), ("", node.revision + 1)):
        assert refused(snapshot, known - 1) == "OtherRevision"
        assert refused(snapshot, known, OTHER_CA) == "OtherCluster"
    assert len(node.kubelet.commands) == 1, "etcd was touched"
    database = Path(fence(node.restore)[1]) / "snap" / "db"
    database.write_bytes(database.read_bytes().replace(b"BEGIN CERTIFICATE", b"encrypted at rest"))
    assert refused("", node.revision + 1) == "NotTold"


def test_an_etcd_with_its_quorum_and_members_that_are_alive_are_left_alone(node: Node) -> None:
    working = Restore(
        node.restore.places,
        node.restore.bounds,
        node.restore.runner,
        tool=own_tool,
        listens=lambda addresses: next((f"{host}:{port}" for host, port in addresses), ""),
    )
    with pytest.raises(RestoreError, match=r"listens at .*3 voters, quorum 2; without this one 2 at most") as caught:
        Unit(working).start(Wanted(node.snapshot, node.revision))
    assert caught.value.reason == "OthersAlive"
    # Whoever can stop those is told first what would be refused then.
    with pytest.raises(ContentsError):
        Unit(working).start(Wanted(node.snapshot, node.revision - 1), check=True)
    node.perform(Wanted(node.snapshot, node.revision))
    node.unit().settle()
    with pytest.raises(RestoreError, match="1 voter, quorum 1") as caught:
        node.unit().start(Wanted(node.snapshot, node.revision))
    assert caught.value.reason == "QuorumWorks"
    with pytest.raises(RestoreError, match="replace_working"):
        fence(node.restore)


def test_a_fenced_machine_stays_stopped_and_can_be_restored_all_the_same(node: Node) -> None:
    assert fence(node.restore, check=True)[0] and node.data() == ["member"]
    changed, kept = fence(node.restore)
    assert changed and os.path.isdir(kept) and node.data() == ["member-before-fenced"]
    assert fence(node.restore) == (False, kept)
    told = info.gather(node.unit(), "/nonexistent")
    assert told["stopped"] is True and told["data"]["revision"] == node.revision + 1
    assert [each["listens"] for each in told["etcd"]["members"]] == ["", "", ""] and told["etcd"]["memberID"]
    assert node.perform(Wanted(node.snapshot, node.revision))["state"] == SUCCEEDED
    assert node.value(b"kept") == "safe"
    assert info.gather(node.unit(), "/nonexistent")["stopped"] is False


def test_a_fence_notes_where_the_keys_are(node: Node) -> None:
    """Its manifests are taken away, and nothing else tells a reset of another certificatesDir."""
    places = node.restore.places
    (Path(places.manifests) / "kube-apiserver.yaml").write_text(
        "- kube-apiserver\n- --kubelet-client-certificate=/srv/pki/apiserver-kubelet-client.crt\n"
    )
    fence(node.restore)
    assert made_by_kubeadm(places.kubernetes, places.state) == "/srv/pki"


def test_what_a_fence_moved_aside_can_be_restored_from(node: Node) -> None:
    """Of two fences, the data of the second one."""
    fence(node.restore)
    data = node.member.directory / "data"
    shutil.copytree(data / "member-before-fenced", data / "member")
    shutil.rmtree(data / "member-before-fenced" / "snap")
    _changed, kept = fence(node.restore)
    assert kept.startswith(str(data / "member-before-fenced-")) and fence(node.restore) == (False, kept)
    known = info.gather(node.unit(), "/nonexistent")["data"]["revision"]
    assert node.perform(Wanted("", known))["state"] == SUCCEEDED
    assert (node.value(b"kept"), node.value(b"later")) == ("safe", "lost")


def test_members_that_are_alive_are_found_from_a_fenced_machine_too(node: Node) -> None:
    fence(node.restore)
    node.restore.listens = lambda addresses: next((f"{host}:{port}" for host, port in addresses), "")
    with pytest.raises(RestoreError, match="listens at") as caught:
        node.unit().start(Wanted("", node.revision + 1), check=True)
    assert caught.value.reason == "OthersAlive"


def test_the_data_tells_which_etcd_cluster_it_is_of(node: Node) -> None:
    def of_data() -> t.Any:
        return info.gather(node.unit(), "/nonexistent")["data"]["clusterID"]

    with node.gateway() as gateway:
        before = f"{gateway.status().cluster_id:016x}"
    assert of_data() == before
    node.perform(Wanted(node.snapshot, node.revision))
    with node.gateway() as gateway:
        after = f"{gateway.status().cluster_id:016x}"
    assert of_data() == after != before
    fence(node.restore, replace_working=True)
    assert of_data() == after
    log = sorted((node.member.directory / "data" / "member-before-fenced" / "wal").glob("*.wal"))[-1]
    for damaged in (b"", b"\x01", b"\xff" * 200, b"\x08" + bytes(7) + b"\xff" * 8, log.read_bytes()[:20]):
        log.write_bytes(damaged)
        assert of_data() == ""


def test_whose_a_database_is_also_tells_cluster_info(make_cluster: Make, tmp_path: Path) -> None:
    cluster = make_cluster(1, options=QUICK)
    path = str(tmp_path / "s.db")
    with cluster.gateway(cluster.members[0]) as gateway:
        gateway.snapshot_save(path)
        assert of_cluster(path, CA) is None
        kubeconfig = b"certificate-authority-data: " + base64.b64encode(CA) + b"\n"
        for number in range(600):
            cluster.put(b"/registry/pods/%d" % number, os.urandom(200))
        cluster.put(CLUSTER_INFO, kubeconfig)
        gateway.snapshot_save(path)
        read = gateway.linearizable_read()
    assert (of_cluster(path, CA), of_cluster(path, OTHER_CA), revision(path)) == (True, False, read)


def test_what_an_earlier_use_of_the_machine_left_is_not_resumed(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would put that one's manifests on this machine."""
    node.unit().start(Wanted(node.snapshot, node.revision))
    monkeypatch.setattr(Restore, "_restore_data", killed)
    with pytest.raises(Killed):
        node.restore.perform()
    [kept] = Path(node.restore.places.state).glob("etcd-restore/*/manifests/etcd.yaml")
    Path(node.restore.places.manifest).write_text(kept.read_text().replace("--name=m1", "--name=other"))
    for wanted in (Wanted(node.snapshot, node.revision), Wanted("", 1)):
        with pytest.raises(
            RestoreError, match=r"restore of the etcd member m1 at .*this machine's is other at"
        ) as error:
            node.unit().start(wanted)
        assert error.value.reason == "OtherMember"
    node.restore.write({**node.restore.read(), "state": "Succeeded"})
    with pytest.raises(RestoreError, match="this machine's is other at"):
        node.unit().start(Wanted(node.snapshot, node.revision))


def test_a_machine_without_its_data_folder_is_told_so(node: Node) -> None:
    """Its disk was replaced, or isn't mounted."""
    fence(node.restore)
    data = node.member.directory / "data"
    shutil.rmtree(data)
    with pytest.raises(NodeError, match=rf"{data} can't be used: No such file.* Nothing was begun\. On this machine:"):
        node.unit().start(Wanted(node.snapshot, node.revision))
