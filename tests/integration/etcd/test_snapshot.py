# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Snapshots of real members, verified by etcd's own tool, kept, and restored to a member that serves what was in them."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import stat
import subprocess
import typing as t
from pathlib import Path

import pytest
from etcd_cluster import EtcdCluster, EtcdMember, find_etcd, free_port, until
from etcd_tool import none_here, on_this_host, own_tool

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.https import Unreachable
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.gateway import Gateway
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.snapshot.take import (
    SnapshotError,
    Taken,
    Wanted,
    matches_its_hash,
    take,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.snapshot.tool import (
    NoTool,
    etcd_image,
    image_tool,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.types import EtcdError, to_hex

NOW = 1_800_000_000.0
Make = t.Callable[..., EtcdCluster]


@pytest.fixture(name="kept")
def _kept(tmp_path: Path) -> Path:
    return tmp_path / "kept"


def save(
    cluster: EtcdCluster,
    kept: Path,
    member: t.Optional[EtcdMember] = None,
    now: float = NOW,
    tool: t.Any = on_this_host,
    **wanted: t.Any,
) -> Taken:
    with cluster.gateway(member or cluster.members[0]) as gateway:
        return take(gateway, Wanted(wanted.pop("name", "prod"), str(kept), **wanted), tool, now=lambda: now)


def received(kept: Path, name: str, age: float) -> None:
    """A backup of which the machine has got a part, the last one so many seconds ago."""
    (kept / name).write_bytes(b"half")
    os.utime(kept / name, (NOW - age, NOW - age))


def files(kept: Path) -> list[str]:
    return sorted(name for name in os.listdir(kept) if name != "lock")


def test_a_snapshot_is_restored_by_etcds_own_tool_and_kept_with_its_facts(cluster: EtcdCluster, kept: Path) -> None:
    assert cluster.put(b"key", b"value") == 200
    taken = save(cluster, kept)
    snapshot = taken.kept
    assert snapshot is not None and taken.changed and taken.warnings == []
    assert files(kept) == ["prod-20270115T080000Z.db", "prod-20270115T080000Z.json"]
    assert snapshot.path == str(kept / "prod-20270115T080000Z.db")
    assert snapshot.verified_by == own_tool().name and snapshot.note == ""
    content = Path(snapshot.path).read_bytes()
    assert (snapshot.size, snapshot.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    with cluster.gateway(cluster.members[0]) as gateway:
        assert snapshot.revision == gateway.linearizable_read()
    assert snapshot.member_id == to_hex(cluster.id_of("m1"))
    facts = json.loads((kept / "prod-20270115T080000Z.json").read_text())
    assert facts == {**snapshot.document(), "verify": "restore"}
    assert facts["taken_at"] == "2027-01-15T08:00:00Z"
    for path in kept.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700


def test_a_member_restored_from_it_serves_the_data(cluster: EtcdCluster, kept: Path, tmp_path: Path) -> None:
    value = os.urandom(3000)
    assert cluster.put(b"precious", value) == 200
    snapshot = save(cluster, kept).kept
    assert snapshot is not None
    data = tmp_path / "data"
    tool = own_tool()
    subprocess.run(
        [*tool.words, "snapshot", "restore", snapshot.path, "--data-dir", str(data)], check=True, capture_output=True
    )
    url, peer = (f"http://127.0.0.1:{free_port()}" for _unused in range(2))
    command = [find_etcd(), f"--data-dir={data}", f"--listen-client-urls={url}", f"--advertise-client-urls={url}"]
    process = subprocess.Popen(
        [*command, f"--listen-peer-urls={peer}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:

        def served() -> bytes:
            with contextlib.suppress(EtcdError, Unreachable), Gateway(url, None) as gateway:
                key = base64.b64encode(b"precious").decode()
                answer = gateway._post("range", "/v3/kv/range", {"key": key})
                return base64.b64decode(answer["kvs"][0]["value"])
            return b""

        assert until("the restored member serves", served) == value
    finally:
        process.kill()
        process.wait()


def test_the_oldest_go_only_after_the_new_one_and_others_stay(cluster: EtcdCluster, kept: Path) -> None:
    save(cluster, kept, name="prod-2")
    for number in range(3):
        save(cluster, kept, now=NOW + number, keep=2)
    taken = save(cluster, kept, now=NOW + 2, keep=2)
    assert taken.removed == [str(kept / "prod-20270115T080001Z.db")]
    assert [name for name in files(kept) if name.endswith(".db")] == [
        "prod-2-20270115T080000Z.db",
        "prod-20270115T080002Z-1.db",
        "prod-20270115T080002Z.db",
    ]
    assert len(files(kept)) == 6


@pytest.mark.parametrize(("keep", "left"), [(3, 3), (1, 1)])
def test_the_new_one_stays_where_the_clock_was_ahead_once(
    cluster: EtcdCluster, kept: Path, keep: int, left: int
) -> None:
    for number in range(3):
        save(cluster, kept, now=NOW + 86400 + number, keep=3, verify="hash")
    taken = save(cluster, kept, keep=keep, verify="hash")
    assert matches_its_hash(str(taken.path)) and taken.path not in taken.removed
    assert taken.removed[0] == str(kept / "prod-20270116T080000Z.db"), "of the others, the oldest by name"
    assert len([name for name in files(kept) if name.endswith(".db")]) == left


def test_one_that_is_young_enough_is_taken_again(cluster: EtcdCluster, kept: Path) -> None:
    first = save(cluster, kept)
    again = save(cluster, kept, now=NOW + 60, max_age=60)
    assert (again.changed, again.kept) == (False, first.kept)
    assert save(cluster, kept, now=NOW + 61, max_age=60).changed
    # A clock that was set back proves nothing about the age.
    assert save(cluster, kept, now=NOW - 1, max_age=60).changed


def test_one_of_another_purpose_is_not_taken_again(cluster: EtcdCluster, kept: Path) -> None:
    first = save(cluster, kept, now=NOW, purpose="removal of a1").kept
    assert first is not None and first.purpose == "removal of a1"
    second = save(cluster, kept, now=NOW + 10, max_age=60, purpose="removal of b2")
    assert second.changed and second.kept is not None
    retried = save(cluster, kept, now=NOW + 20, max_age=60, purpose="removal of a1")
    assert (retried.changed, retried.kept) == (False, first), "though the newest is another one"
    anything = save(cluster, kept, now=NOW + 20, max_age=60)
    assert (anything.changed, anything.kept) == (False, second.kept)
    assert save(cluster, kept, now=NOW + 61, max_age=60, purpose="removal of a1").changed


def test_one_that_was_changed_on_the_disk_is_not_taken_again(cluster: EtcdCluster, kept: Path) -> None:
    first = save(cluster, kept).kept
    assert first is not None and matches_its_hash(first.path)
    with open(first.path, "r+b") as file:
        file.seek(9000)
        file.write(b"damaged")
    assert not matches_its_hash(first.path)
    assert save(cluster, kept, now=NOW + 1, max_age=60).changed


def test_one_of_another_cluster_is_not_taken_again(cluster: EtcdCluster, make_cluster: Make, kept: Path) -> None:
    save(cluster, kept)
    assert save(make_cluster(1), kept, now=NOW + 1, max_age=60).changed


def test_without_a_tool_the_hash_must_do_and_is_said(cluster: EtcdCluster, kept: Path) -> None:
    snapshot = save(cluster, kept, tool=none_here).kept
    assert snapshot is not None
    assert (snapshot.verified_by, snapshot.revision) == ("hash", None)
    assert snapshot.note == "only its hash was verified: the image holds no etcdctl"
    asked = save(cluster, kept, verify="hash").kept
    assert asked is not None and (asked.verified_by, asked.note) == ("hash", "only the hash was asked for")
    # Whoever wants it restored is not served by one whose hash alone was looked at because that was asked for.
    assert save(cluster, kept, now=NOW + 1, max_age=60).changed


def test_check_mode_writes_nothing(cluster: EtcdCluster, kept: Path) -> None:
    with cluster.gateway(cluster.members[0]) as gateway:
        taken = take(gateway, Wanted("prod", str(kept)), on_this_host, now=lambda: NOW, check=True)
    assert (taken.changed, taken.path) == (True, str(kept / "prod-20270115T080000Z.db"))
    assert not kept.exists()


def test_what_a_killed_call_left_is_removed(cluster: EtcdCluster, kept: Path) -> None:
    (kept / ".work").mkdir(parents=True)
    (kept / ".work" / "snapshot.db.partial").write_bytes(b"half")
    (kept / "prod-20260101T000000Z.json").write_text("{}")
    received(kept, "killed.db.partial", 3601)
    save(cluster, kept)
    assert files(kept) == ["prod-20270115T080000Z.db", "prod-20270115T080000Z.json"]


def test_a_backup_that_is_being_received_is_left(cluster: EtcdCluster, kept: Path) -> None:
    kept.mkdir()
    received(kept, "prod-backup.db.partial", 3599)
    save(cluster, kept)
    assert "prod-backup.db.partial" in files(kept)


def test_a_snapshot_needs_no_quorum_and_warns(make_cluster: Make, kept: Path) -> None:
    cluster = make_cluster()
    assert cluster.put(b"key", b"value") == 200
    for member in cluster.members[1:]:
        member.kill()

    def leaderless() -> bool:
        with cluster.gateway(cluster.members[0]) as gateway:
            return not gateway.status().leader

    until("it has lost its leader", leaderless)
    taken = save(cluster, kept)
    assert taken.kept is not None and taken.kept.verified_by == own_tool().name
    assert "knows of no leader" in taken.warnings[0]
    before = files(kept)
    with pytest.raises(SnapshotError, match="knows of no leader") as refused:
        save(cluster, kept, require_leader=True)
    assert refused.value.reason == "NoLeader" and files(kept) == before


def test_a_dead_member_and_another_cluster_are_refused(make_cluster: Make, kept: Path) -> None:
    cluster = make_cluster(1)
    with pytest.raises(SnapshotError, match="is meant") as refused:
        save(cluster, kept, cluster_id=1)
    assert refused.value.reason == "WrongCluster"
    cluster.members[0].kill()
    with pytest.raises(SnapshotError, match="take it on another node") as refused:
        save(cluster, kept)
    assert refused.value.reason == "NotReachable"
    assert not kept.exists()


def test_a_name_that_leaves_the_folder_is_refused(cluster: EtcdCluster, kept: Path) -> None:
    with pytest.raises(NodeError, match="can't begin a file's name"):
        save(cluster, kept, name="../prod")


def test_a_lost_lock_writes_nothing(cluster: EtcdCluster, kept: Path) -> None:
    def lost() -> None:
        raise NodeError("lost its lock")

    with cluster.gateway(cluster.members[0]) as gateway, pytest.raises(NodeError):
        take(gateway, Wanted("prod", str(kept)), on_this_host, before_change=lost)
    assert not kept.exists()


def test_the_image_of_the_nodes_etcd_is_read_from_its_manifest(tmp_path: Path) -> None:
    manifest = tmp_path / "etcd.yaml"
    assert etcd_image(str(manifest)) == ""
    manifest.write_text(
        "spec:\n  containers:\n  - command:\n    - etcd\n    image: k8s.gcr.io/etcd:3.4.13-0\n    imagePullPolicy: x\n"
    )
    assert etcd_image(str(manifest)) == "k8s.gcr.io/etcd:3.4.13-0"
    manifest.write_text('spec:\n  containers:\n  - image: "registry.k8s.io/etcd:3.5.15-0"\n')
    assert etcd_image(str(manifest)) == "registry.k8s.io/etcd:3.5.15-0"


def test_a_node_without_an_etcd_of_kubeadms_has_no_tool(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    with (
        pytest.raises(NoTool, match="not a static pod"),
        image_tool(str(tmp_path / "work"), str(tmp_path / "none.yaml")),
    ):
        pass
    assert os.listdir(tmp_path) == ["work"]
