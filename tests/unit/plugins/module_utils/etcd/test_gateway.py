# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""IDs as text, and what a gateway's answers are taken for."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import typing as t

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.https import NotAsked, Unreachable, split_url
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.gateway import Credentials, Gateway
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


def answering(status: str, body: t.Any, *, whole: bool = False) -> str:
    """Serve one canned HTTP answer on loopback and return its URL: answers that no real etcd can be made to give.

    ``whole``: the body is all that is sent, the status line included.
    """
    server = socket.create_server(("127.0.0.1", 0))
    content = body if isinstance(body, bytes) else json.dumps(body).encode()

    def serve() -> None:
        connection, _address = server.accept()
        # The whole request: what is left unread makes the kernel reset the connection when it is closed.
        with connection.makefile("rb") as request:
            headers = list(iter(request.readline, b"\r\n"))
            request.read(
                next(int(line.split(b":")[1]) for line in headers if line.lower().startswith(b"content-length"))
            )
        head = b"" if whole else f"HTTP/1.1 {status}\r\nContent-Length: {len(content)}\r\n\r\n".encode()
        with connection, contextlib.suppress(OSError):
            connection.sendall(head + content)
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


# A field of an answer that its reader takes for a number, a text, a list or an object, and what a hostile member puts there.
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.text(max_size=8)
    | st.sampled_from(["9" * 5000, "-1", "1e9", "\ud800", "٣", 1e308 * 10, -1, 2**64, 2**70, 0.5])
    | st.integers(),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
FIELDS = st.dictionaries(st.sampled_from(["cluster_id", "member_id", "revision", "ID", "name", "clientURLs"]), ANYTHING)
ANSWERS = st.dictionaries(
    st.sampled_from(
        ["header", "members", "alarms", "leader", "dbSize", "raftTerm", "version", "errors", "hash", "error"]
    ),
    ANYTHING | FIELDS | st.lists(FIELDS, max_size=2),
)


@settings(max_examples=40)
@given(st.sampled_from(["200 OK", "500 Internal Server Error"]), ANSWERS | ANYTHING)
def test_whatever_a_member_answers_is_a_status_or_an_error_in_words(status: str, body: t.Any) -> None:
    with Gateway(answering(status, body), None) as gateway, contextlib.suppress(EtcdError):
        found = gateway.status()
        numbers = [found.cluster_id, found.member_id, found.db_size, found.leader, found.raft_term]
        assert all(isinstance(each, int) and not isinstance(each, bool) and 0 <= each < 2**64 for each in numbers)
    with Gateway(answering(status, body), None) as gateway, contextlib.suppress(EtcdError):
        assert all(0 <= each.id < 2**64 for each in gateway.member_list().members)
    with Gateway(answering(status, body), None) as gateway, contextlib.suppress(EtcdError):
        assert all(0 <= each.member_id < 2**64 for each in gateway.alarms())


def test_an_answer_nested_without_end_is_an_error_in_words() -> None:
    with Gateway(answering("200 OK", b"[" * 500_000), None) as gateway, pytest.raises(EtcdError, match="not a JSON"):
        gateway.status()


@given(st.binary(max_size=200).map(lambda rest: b"HTTP/1.1 200 OK\r\n" + rest) | st.binary(max_size=200))
def test_whatever_is_no_http_is_no_answer(content: bytes) -> None:
    with Gateway(answering("", content, whole=True), None) as gateway, contextlib.suppress(EtcdError, Unreachable):
        gateway.status()


def test_an_answer_that_never_begins_ends_with_the_timeout() -> None:
    """Each piece comes in time, and there is no end of them."""
    endless = b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000_000 + b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    told = r"no answer within 0\.2 s"
    with (
        pytest.raises(Unreachable, match=told),
        Gateway(answering("", endless, whole=True), None, timeout=0.2) as gateway,
    ):
        gateway.status()


CREDENTIALS = Credentials("/no/ca", "/no/certificate", "/no/key")


@pytest.mark.parametrize(
    ("url", "credentials", "why"),
    [
        ("127.0.0.1:2379", None, "not a URL"),
        ("unix:///run/etcd", None, "not a URL"),
        ("http://a b:1", None, "not a URL"),
        ("http://a\tb:1", None, "not a URL"),
        ("http://a\x1b[2Jb:1", None, "not a URL"),
        ("http://a:1\n", None, "not a URL"),
        ("http://a:99999", None, "not a URL"),
        ("http://a:0", None, "not a URL"),
        ("http://a:-1", None, "not a URL"),
        ("http://a..b:1", None, "not a URL"),
        ("http://-oProxyCommand=x:1", None, "not a URL"),
        (f"http://{'a' * 64}:1", None, "not a URL"),
        ("http://b\u00fccher:1", None, "not a URL"),
        ("http://user:word@a:1", None, "not a URL"),
        ("http://a:1?query", None, "not a URL"),
        ("http://[zz]:1", None, "not a URL"),
        ("http://[fe80::1%a;b]:1", None, "not a URL"),
        ("http://[::1:1", None, "not a URL"),
        ("https://a b:1", CREDENTIALS, "not a URL"),
        ("https://127.0.0.1:2379", None, "needs a client certificate"),
        ("http://127.0.0.1:2379", CREDENTIALS, "plain HTTP"),
    ],
)
def test_a_url_that_is_none_or_not_to_be_trusted_is_not_asked(
    url: str, credentials: Credentials | None, why: str
) -> None:
    with pytest.raises(NotAsked, match=why):
        Gateway(url, credentials)


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("https://10.0.0.1:2379", ("https", "10.0.0.1", 2379)),
        ("https://[fd00::1]:2379/", ("https", "fd00::1", 2379)),
        ("https://etcd-0.etcd_x.example.", ("https", "etcd-0.etcd_x.example.", 443)),
        ("http://A:/prefix/x", ("http", "A", 80)),
    ],
)
def test_the_parts_of_a_url(url: str, parts: tuple[str, str, int]) -> None:
    assert split_url(url) == parts


@given(st.text() | st.text().map(lambda text: f"https://{text}:2379") | st.text().map(lambda text: f"http://a{text}"))
def test_any_text_is_a_plain_url_or_refused(url: str) -> None:
    try:
        scheme, host, port = split_url(url)
    except ValueError:
        return
    assert scheme in ("http", "https") and 0 < port < 65536
    assert host.isascii() and all(each.isalnum() or each in "._-:%" for each in host)
