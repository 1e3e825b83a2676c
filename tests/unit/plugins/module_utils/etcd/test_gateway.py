# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""IDs as text, and what a gateway's answers are taken for."""

from __future__ import annotations

import json
import socket
import threading
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.gateway import Gateway
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.types import EtcdError, from_hex, to_hex


@given(st.integers(min_value=1, max_value=2**64 - 1))
def test_an_id_survives_being_text(identifier: int) -> None:
    assert len(to_hex(identifier)) == 16
    assert from_hex(to_hex(identifier)) == identifier
    assert from_hex(to_hex(identifier).lstrip("0").upper()) == identifier


@pytest.mark.parametrize("text", ["", "0", "0000", "xyz", "-1", "0x1f", "1" * 17, "1_0", "é"])
def test_text_that_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not an etcd ID"):
        from_hex(text)


def answering(status: str, body: t.Any) -> str:
    """Serve one canned HTTP answer on loopback and return its URL: answers that no real etcd can be made to give."""
    server = socket.create_server(("127.0.0.1", 0))
    content = body if isinstance(body, bytes) else json.dumps(body).encode()

    def serve() -> None:
        connection, _address = server.accept()
        connection.recv(65536)
        connection.sendall(f"HTTP/1.1 {status}\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content)
        connection.close()
        server.close()

    threading.Thread(target=serve, daemon=True).start()
    return f"http://127.0.0.1:{server.getsockname()[1]}"


def test_numbers_are_text_and_zeros_are_left_out() -> None:
    body = {"header": {"cluster_id": "18446744073709551615", "member_id": "7"}, "dbSize": "20480", "leader": "7"}
    with Gateway(answering("200 OK", body), None) as gateway:
        status = gateway.status()
    assert (status.cluster_id, status.member_id, status.db_size, status.raft_term) == (2**64 - 1, 7, 20480, 0)
    assert status.is_learner is False and status.errors == ()


@pytest.mark.parametrize(
    ("status", "body", "meaning", "text"),
    [
        (
            "503 Service Unavailable",
            {"error": "no leader", "code": 14, "message": "no leader"},
            "UNAVAILABLE",
            "no leader",
        ),
        ("400 Bad Request", {"code": 9, "message": "not leader", "details": []}, "FAILED_PRECONDITION", "not leader"),
        ("200 OK", {"error": {"grpc_code": 13, "message": "broken"}}, "INTERNAL", "broken"),
        ("404 Not Found", b"404 page not found\n", "UNIMPLEMENTED", "--enable-grpc-gateway"),
        ("200 OK", b"<html>a proxy</html>", "UNIMPLEMENTED", "a proxy"),
        ("200 OK", [1, 2], "UNIMPLEMENTED", "not a JSON answer"),
        ("200 OK", b"[" * 100_000, "UNIMPLEMENTED", "not a JSON answer"),
        ("500 Internal Server Error", {}, "UNKNOWN", "no reason given"),
    ],
)
def test_an_error_keeps_its_code_and_words(status: str, body: t.Any, meaning: str, text: str) -> None:
    with Gateway(answering(status, body), None) as gateway, pytest.raises(EtcdError) as refused:
        gateway.status()
    assert refused.value.meaning == meaning
    assert text in str(refused.value)


@pytest.mark.parametrize("body", [{}, {"members": None}, {"members": []}, {"members": "x", "header": 1}])
def test_a_list_without_members_is_no_evidence_of_an_empty_cluster(body: t.Any) -> None:
    with Gateway(answering("200 OK", body), None) as gateway, pytest.raises(EtcdError, match="no members"):
        gateway.member_list()


def test_a_url_that_is_none_is_refused() -> None:
    for url in ("127.0.0.1:2379", "unix:///run/etcd", "https://127.0.0.1:2379"):
        with pytest.raises(ValueError, match=r"URL|certificate"):
            Gateway(url, None)
