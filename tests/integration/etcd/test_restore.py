# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""etcd restored from a snapshot on one machine after the others were lost: real etcd, the real unit's program, etcd's own tool."""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import signal
import subprocess
import typing as t
from dataclasses import dataclass
from pathlib import Path

import pytest
from etcd_cluster import EtcdCluster, EtcdMember, find_etcd, until
from static_pods import StandInKubelet, static_pod
from systemd import NoUnit

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.https import Unreachable
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.certificates_dir import made_by_kubeadm
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.gateway import Gateway
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.restore import info
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.restore import restore_unit as restore_unit
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.restore.from_snapshot import (
    Restore,
    RestorePlaces,
)
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
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.types import EtcdError

Make = t.Callable[..., EtcdCluster]
QUICK = ("--heartbeat-interval=25", "--election-timeout=250")
CA = b"-----BEGIN CERTIFICATE-----\nb3ducyB0aGlz\n-----END CERTIFICATE-----\n"
OTHER_CA = CA.replace(b"b3ducyB0aGlz", b"b3RoZXJzIQ==")
AUTHENTICATION = b"/registry/configmaps/kube-system/extension-apiserver-authentication"
CLUSTER_INFO = b"/registry/configmaps/kube-public/cluster-info"


@contextlib.contextmanager
def own_tool(folder: str) -> t.Iterator[Tool]:
    """The tool beside the etcd that the tests run."""
    beside = os.path.dirname(find_etcd())
    [path] = [os.path.join(beside, name) for name in ("etcdutl", "etcdctl") if os.path.exists(f"{beside}/{name}")][:1]
    yield Tool(os.path.basename(path), (path,), folder)


@dataclass
class Node:
    """A control plane node whose etcd a stand-in kubelet runs from its manifest; the restore runs in this process."""

    member: EtcdMember
    restore: Restore
    kubelet: StandInKubelet
    snapshot: str
    revision: int

    def unit(self) -> Unit:
        return Unit(self.restore)

    def perform(self, wanted: Wanted) -> dict[str, t.Any]:
        """Start the restore as the module does; the unit's work is done here, with the tool of this host."""
        assert self.unit().start(wanted)[1]
        return self.restore.perform()

    def gateway(self) -> Gateway:
        return Gateway(self.restore.places.etcd_url, self.restore.places.credentials)

    def value(self, key: bytes) -> str:
        with self.gateway() as gateway:
            found = gateway._post("range", "/v3/kv/range", {"key": base64.b64encode(key).decode()})
        return base64.b64decode(found["kvs"][0]["value"]).decode() if found.get("kvs") else ""

    def members(self) -> list[str]:
        with self.gateway() as gateway:
            return [member.name for member in gateway.member_list().members]

    def data(self) -> list[str]:
        return sorted(os.listdir(self.member.directory / "data"))


@pytest.fixture(name="node")
def _node(make_cluster: Make, tmp_path: Path) -> t.Iterator[Node]:
    """The member that is left of three, with a snapshot from before the last change."""
    cluster = make_cluster(3, options=QUICK)
    assert cluster.put(AUTHENTICATION, b"client-ca-file " + CA) == 200
    assert cluster.put(b"kept", b"safe") == 200
    snapshot = tmp_path / "state" / "etcd-snapshots" / "prod.db"
    snapshot.parent.mkdir(parents=True)
    with cluster.gateway(cluster.members[0]) as gateway:
        gateway.snapshot_save(str(snapshot))
        before = gateway.linearizable_read()
    assert cluster.put(b"later", b"lost") == 200
    member = cluster.members[0]
    assert member.process is not None
    words = t.cast("list[str]", member.process.args)
    member.kill()
    manifests = tmp_path / "kubernetes" / "manifests"
    (tmp_path / "kubernetes" / "pki").mkdir(parents=True)
    (tmp_path / "kubernetes" / "pki" / "ca.crt").write_bytes(CA)
    manifests.mkdir()
    (manifests / "etcd.yaml").write_text(static_pod(words), encoding="utf-8")
    places = RestorePlaces(
        state=str(tmp_path / "state"),
        kubernetes=str(manifests.parent),
        etcd_url=member.client_url,
        credentials=cluster.credentials,
        kubelet="",
    )
    restore = Restore(places, Bounds(30.0, 30.0, 5.0), runner=NoUnit(), tool=own_tool)
    made = Node(member, restore, StandInKubelet(manifests), str(snapshot), before)
    try:
        until("etcd works from its manifest", lambda: leader(made))
        for lost in cluster.members[1:]:
            lost.kill()
        until("etcd answers without a leader", lambda: leader(made) == 0)
        yield made
    finally:
        made.kubelet.stop()


def leader(node: Node) -> t.Optional[int]:
    """The leader as the node's member knows it, None where it does not answer."""
    try:
        with node.gateway() as gateway:
            return gateway.status().leader
    except (EtcdError, Unreachable):
        return None


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
