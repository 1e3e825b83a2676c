# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The JSON gateway client against real etcd members."""

from __future__ import annotations

import base64
import json
import os
import socket
import stat
import threading
import typing as t
from pathlib import Path

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID
from etcd_cluster import Authority, EtcdCluster, free_port, until

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.https import Unreachable
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.gateway import Credentials, Gateway
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.types import Alarm, EtcdError

Make = t.Callable[..., EtcdCluster]


def test_lists_members_status_and_alarms(cluster: EtcdCluster) -> None:
    with cluster.gateway(cluster.members[0]) as gateway:
        listed = gateway.member_list()
        status = gateway.status()
        assert [member.name for member in listed.members if member.started] == sorted(
            (member.name for member in listed.members), key=cluster.id_of
        )
        assert len(listed.members) == 3
        assert status.member_id == cluster.id_of("m1")
        assert status.cluster_id == listed.cluster_id
        assert status.leader == cluster.id_of(cluster.leader().name)
        assert status.version.startswith("3.")
        assert status.db_size >= status.db_size_in_use > 0
        assert gateway.alarms() == ()
        assert gateway.linearizable_read() >= 1
        assert gateway.hash() > 0
        gateway.defragment()


def test_moving_leadership_works_at_the_leader_only(cluster: EtcdCluster) -> None:
    leader = cluster.leader()
    follower = next(member for member in cluster.members if member is not leader)
    with cluster.gateway(follower) as gateway, pytest.raises(EtcdError) as refused:
        gateway.move_leader(cluster.id_of(follower.name))
    assert refused.value.meaning == "FAILED_PRECONDITION"
    with cluster.gateway(leader) as gateway:
        gateway.move_leader(cluster.id_of(follower.name))
    until("the follower leads", lambda: cluster.leader() is follower)


def test_a_snapshot_is_whole_verified_and_private(cluster: EtcdCluster, tmp_path: Path) -> None:
    for number in range(40):
        assert cluster.put(b"key-%d" % number, os.urandom(8192)) == 200
    path = tmp_path / "snapshot.db"
    with cluster.gateway(cluster.members[0]) as gateway:
        snapshot = gateway.snapshot_save(str(path))
    assert snapshot.size == path.stat().st_size > 300_000
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert snapshot.member_id == cluster.id_of("m1")
    assert os.listdir(tmp_path) == ["snapshot.db"]


@pytest.mark.parametrize(
    ("remaining", "blob", "error", "message"),
    [
        (100, b"x" * 544, Unreachable, "100 bytes to come"),
        (0, b"x" * 544, EtcdError, "its hash does not match"),
        (0, b"x" * 500, EtcdError, "its hash does not match"),
        (0, b"", EtcdError, "its hash does not match"),
    ],
)
def test_a_snapshot_that_is_not_whole_leaves_no_file(
    tmp_path: Path, remaining: int, blob: bytes, error: type[Exception], message: str
) -> None:
    server = socket.create_server(("127.0.0.1", 0))
    result = {"result": {"remaining_bytes": str(remaining), "blob": base64.b64encode(blob).decode()}}

    def serve() -> None:
        for body in (b'{"header":{"member_id":"1"}}', json.dumps(result).encode() + b"\n"):
            connection, _address = server.accept()
            # The whole request: what is left unread makes the kernel reset the connection when it is closed.
            with connection.makefile("rb") as request:
                headers = list(iter(request.readline, b"\r\n"))
                lengths = [int(line.split(b":")[1]) for line in headers if line.lower().startswith(b"content-length")]
                request.read(lengths[0])
            connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body)
            connection.close()

    thread = threading.Thread(target=serve)
    thread.start()
    with pytest.raises(error, match=message):
        Gateway(f"http://127.0.0.1:{server.getsockname()[1]}", None).snapshot_save(str(tmp_path / "snapshot.db"))
    thread.join()
    server.close()
    assert os.listdir(tmp_path) == []


def test_removing_an_unknown_member_is_not_found(cluster: EtcdCluster) -> None:
    with cluster.gateway(cluster.members[0]) as gateway, pytest.raises(EtcdError) as refused:
        gateway.member_remove(0x1234)
    assert (refused.value.meaning, refused.value.operation) == ("NOT_FOUND", "member remove")


def test_a_client_without_the_right_certificate_does_not_get_in(cluster: EtcdCluster, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other")
    certificate = other.issue("client", (ExtendedKeyUsageOID.CLIENT_AUTH,))
    url = cluster.members[0].client_url
    with pytest.raises(Unreachable, match="certificate"):
        Gateway(url, Credentials(other.ca_file, *certificate)).status()
    with pytest.raises(Unreachable):
        Gateway(url, Credentials(cluster.authority.ca_file, *certificate)).status()
    with pytest.raises(Unreachable, match="can't be used"):
        Gateway(url, Credentials(cluster.authority.ca_file, str(tmp_path / "none.crt"), str(tmp_path / "none.key")))


def test_a_server_certificate_without_client_usage_is_explained(tmp_path: Path) -> None:
    cluster = EtcdCluster(tmp_path / "own", 1, server_usages=(ExtendedKeyUsageOID.SERVER_AUTH,))
    try:

        def error() -> str:
            try:
                with cluster.gateway(cluster.members[0]) as gateway:
                    gateway.status()
            except EtcdError as error:
                return str(error)
            except Unreachable:
                return ""
            return "no error"

        assert "serverAuth and clientAuth" in until("the gateway answers", error)
    finally:
        cluster.end()


def test_silence_is_unreachable_within_the_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(Unreachable, match=r"no answer within 0\.2 s"):
            Gateway(url, None, timeout=0.2).status()
    with pytest.raises(Unreachable, match="refused"):
        Gateway(f"http://127.0.0.1:{free_port()}", None).status()


def test_a_learner_is_added_refuses_lists_and_is_promoted(make_cluster: Make) -> None:
    cluster = make_cluster(1)
    learner = cluster.add("m2", learner=True)

    def learner_status() -> t.Any:
        try:
            with cluster.gateway(learner) as gateway:
                return gateway.status()
        except (EtcdError, Unreachable):
            return None

    status = until("the learner answers", learner_status)
    assert status.is_learner
    with cluster.gateway(learner) as gateway, pytest.raises(EtcdError) as refused:
        gateway.member_list()
    assert refused.value.meaning == "UNAVAILABLE"

    def promoted() -> bool:
        try:
            with cluster.gateway(cluster.members[0]) as gateway:
                return not any(member.is_learner for member in gateway.member_promote(status.member_id).members)
        except EtcdError as error:
            assert error.meaning in ("FAILED_PRECONDITION", "UNAVAILABLE")
            return False

    until("the learner is promoted", promoted)


def test_a_full_database_raises_an_alarm_that_can_be_disarmed(make_cluster: Make) -> None:
    cluster = make_cluster(1, options=["--quota-backend-bytes=262144"])
    until("etcd refuses writes", lambda: cluster.put(b"key", os.urandom(65536)) != 200)
    with cluster.gateway(cluster.members[0]) as gateway:
        alarms = until("the alarm is listed", gateway.alarms)
        assert alarms == (Alarm(cluster.id_of("m1"), "NOSPACE"),)
        gateway.disarm(alarms[0])
        assert gateway.alarms() == ()


def test_an_etcd_without_the_gateway_is_told_apart() -> None:
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _address = server.accept()
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 18\r\n\r\n404 page not found")
        connection.close()

    thread = threading.Thread(target=serve)
    thread.start()
    with pytest.raises(EtcdError, match="--enable-grpc-gateway"):
        Gateway(f"http://127.0.0.1:{server.getsockname()[1]}", None).status()
    thread.join()
    server.close()
