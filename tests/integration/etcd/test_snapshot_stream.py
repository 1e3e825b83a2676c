# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a member sends as its snapshot is not taken at its word: broken, damaged, too big, or of a member with an alarm."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import resource
import shutil
import socket
import threading
import typing as t
from pathlib import Path

import pytest
from etcd_tool import none_here, on_this_host

from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.gateway import Gateway
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.snapshot.take import (
    SnapshotError,
    Taken,
    Wanted,
    take,
)

NOW = 1_800_000_000.0


@pytest.fixture(name="kept")
def _kept(tmp_path: Path) -> Path:
    return tmp_path / "kept"


def files(kept: Path) -> list[str]:
    return sorted(name for name in os.listdir(kept) if name != "lock")


class Answers:
    """An etcd that gives a status and then a stream of one's own making."""

    def __init__(self, status: t.Mapping[str, t.Any], pieces: t.Callable[[], t.Iterator[bytes]]) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self._bodies: list[t.Callable[[], t.Iterator[bytes]]] = [lambda: iter([json.dumps(status).encode()]), pieces]
        self._status = self._bodies[0]
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _address = self._server.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as request:
                path = request.readline().split()[1]
                headers = list(iter(request.readline, b"\r\n"))
                lengths = [int(line.split(b":")[1]) for line in headers if line.lower().startswith(b"content-length")]
                request.read(lengths[0])
                connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
                body = self._bodies[1] if path.endswith(b"snapshot") else self._bodies[0]
                with contextlib.suppress(OSError):
                    for piece in body():
                        connection.sendall(piece)

    def end(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join()


def piece(blob: bytes, remaining: int) -> bytes:
    result = {"remaining_bytes": str(remaining), "blob": base64.b64encode(blob).decode()}
    return json.dumps({"result": result}).encode() + b"\n"


def from_stream(
    kept: Path, pieces: t.Callable[[], t.Iterator[bytes]], size: int = 0, errors: t.Sequence[str] = ()
) -> Taken:
    status = {
        "header": {"member_id": "7", "cluster_id": "9"},
        "leader": "7",
        "dbSize": str(size),
        "errors": list(errors),
    }
    etcd = Answers(status, pieces)
    try:
        with Gateway(etcd.url, None) as gateway:
            return take(gateway, Wanted("prod", str(kept), verify="hash"), none_here, now=lambda: NOW)
    finally:
        etcd.end()


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        ([piece(b"x" * 512, 32)], "32 bytes to come"),
        ([piece(b"x" * 512, 32), piece(b"y" * 32, 0)], "its hash does not match"),
        ([b'{"result": {"remaining_bytes": "5", "blob": "!!"}}\n'], "not base64"),
        ([b'{"result": {"remai'], "not a JSON answer"),
        ([b'{"error": {"grpc_code": 14, "message": "etcdserver: stopped"}}\n'], "etcdserver: stopped"),
        ([], "broke off"),
    ],
)
def test_a_broken_stream_leaves_nothing(kept: Path, pieces: list[bytes], message: str) -> None:
    with pytest.raises(SnapshotError, match=message) as refused:
        from_stream(kept, lambda: iter(pieces))
    assert refused.value.reason == "NotWhole"
    assert files(kept) == []


def test_a_damaged_database_with_a_right_hash_is_not_kept(kept: Path) -> None:
    garbage = os.urandom(512 * 64)
    stream = garbage + hashlib.sha256(garbage).digest()
    etcd = Answers({"header": {"member_id": "7", "cluster_id": "9"}}, lambda: iter([piece(stream, 0)]))
    try:
        with Gateway(etcd.url, None) as gateway, pytest.raises(SnapshotError) as refused:
            take(gateway, Wanted("prod", str(kept)), on_this_host)
        assert refused.value.reason == "NotRestorable"
        assert files(kept) == []
    finally:
        etcd.end()


def test_a_big_snapshot_needs_little_memory(kept: Path) -> None:
    blob, count = b"\0" * 32768, 4096

    def pieces() -> t.Iterator[bytes]:
        digest = hashlib.sha256()
        text = piece(blob, 1)
        for _unused in range(count):
            digest.update(blob)
            yield text
        yield piece(digest.digest(), 0)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    taken = from_stream(kept, pieces)
    assert taken.kept is not None and taken.kept.size == len(blob) * count + 32
    # KiB; the file has 128 MiB.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 * 1024


def test_a_disk_without_room_is_refused_before_anything_is_written(kept: Path, tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match="must not run out of space") as refused:
        from_stream(kept, lambda: iter([]), size=shutil.disk_usage(tmp_path).free)
    assert refused.value.reason == "NoSpace"
    assert files(kept) == []


@pytest.mark.parametrize(
    ("error", "said"), [("memberID:7 ", "take it on another node"), ("", "names no member.* disarm the alarm")]
)
def test_a_corrupt_member_is_refused_and_a_neighbours_alarm_is_not_its_own(kept: Path, error: str, said: str) -> None:
    with pytest.raises(SnapshotError, match=said) as refused:
        from_stream(kept, lambda: iter([]), errors=[f"{error}alarm:CORRUPT "])
    assert refused.value.reason == "MemberCorrupt"
    assert not kept.exists()
    stream = b"x" * 512 + hashlib.sha256(b"x" * 512).digest()
    assert from_stream(kept, lambda: iter([piece(stream, 0)]), errors=["memberID:77 alarm:CORRUPT "]).changed
