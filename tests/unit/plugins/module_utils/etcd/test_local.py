# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What this machine's etcd is started with, and what its database holds, without any etcd."""

from __future__ import annotations

import contextlib
import json
import struct
import typing as t
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.data_dir import etcd_data
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.local import (
    FLAG,
    Membership,
    Places,
    flagged,
    membership,
    with_flag,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.snapshot.database import stored_members
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.snapshot.revision import revision
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.types import Member

MANIFEST = """\
apiVersion: v1
kind: Pod
spec:
  containers:
  - command:
    - etcd
    - --advertise-client-urls=https://10.0.0.1:2379
    - --data-dir=/var/lib/etcd
    - --initial-advertise-peer-urls=https://10.0.0.1:2380
    image: etcd:3.4.13-0
"""


@pytest.mark.parametrize("quote", ["", "'", '"'])
def test_the_flag_is_one_more_argument_and_the_rest_stays(quote: str) -> None:
    manifest = MANIFEST.replace("--data-dir=/var/lib/etcd", f"{quote}--data-dir=/var/lib/etcd{quote}")
    assert etcd_data(manifest) == "/var/lib/etcd"
    changed = with_flag(manifest)
    assert changed.splitlines()[7] == f"    - {FLAG}"
    assert changed.replace(f"    - {FLAG}\n", "") == manifest
    assert flagged(changed) and not flagged(manifest)
    assert with_flag(changed) == changed


def test_a_manifest_without_a_data_folder_is_refused() -> None:
    with pytest.raises(NodeError, match="names no --data-dir"):
        with_flag(MANIFEST.replace("--data-dir", "--dir"))


@pytest.mark.parametrize("answered", [True, False])
def test_a_databases_learner_may_have_been_promoted(answered: bool) -> None:
    """etcd 3.5.1 to 3.5.19 keep it as a learner there; what etcd itself says is right."""
    members = (Member(1, "m1", (), (), False), Member(2, "", (), (), True))
    assert Membership(1, members, answered).voters == (members[:1] if answered else members)


def test_a_machine_without_etcd_says_so(tmp_path: Path) -> None:
    places = Places(state=str(tmp_path), kubernetes=str(tmp_path), etcd_url="http://127.0.0.1:1", credentials=None)
    with pytest.raises(NodeError, match="no etcd runs on this machine"):
        membership(places)


@pytest.mark.parametrize("content", [b"", b"x" * 100, b"\0" * 65536, b"\xff" * 65536])
def test_what_is_no_database_is_an_error_in_words(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "db"
    path.write_bytes(content)
    with pytest.raises(NodeError, match=r"etcd's database .* can't be read: it has no page"):
        stored_members(str(path))


def test_a_database_that_is_not_there_is_an_error_in_words(tmp_path: Path) -> None:
    with pytest.raises(NodeError, match="No such file"):
        stored_members(str(tmp_path / "db"))


def database(pages: t.Sequence[bytes], root: int = 2) -> bytes:
    """A file of bbolt's with one page that tells where its data begins, and these pages from the third one on."""
    body = struct.pack("<IIIIQQQQQ", 0xED0CDAED, 2, 4096, 0, root, 0, 0, 0, 7)
    checksum = 0xCBF29CE484222325
    for byte in body:
        checksum = ((checksum ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    meta = struct.pack("<QHHI", 0, 4, 0, 0) + body + struct.pack("<Q", checksum)
    return b"".join(page[:4096].ljust(4096, b"\0") for page in (meta, b"", *pages))


def leaf(number: int, key: bytes, value: bytes, kind: int = 0) -> bytes:
    """A page with one key; kind 1: its value is a bucket."""
    head = struct.pack("<QHHI", number, 2, 1, 0)
    return head + struct.pack("<IIII", kind, 16, len(key), len(value)) + key + value


def bucket(name: bytes, page: bytes) -> bytes:
    """The third page, with a bucket that lies in it."""
    return leaf(2, name, struct.pack("<QQ", 0, 0) + page, 1)


def test_a_member_is_read_from_the_database(tmp_path: Path) -> None:
    path = tmp_path / "db"
    path.write_bytes(database([bucket(b"members", leaf(0, b"1f", json.dumps({"name": "m1"}).encode()))]))
    assert stored_members(str(path)) == (Member(0x1F, "m1", (), (), False),)


@pytest.mark.parametrize(
    "content",
    [
        database([], root=2**63),
        # A branch that leads to itself.
        database([struct.pack("<QHHI", 2, 1, 1, 0) + struct.pack("<IIQ", 16, 0, 2)]),
        *(
            database([bucket(b"members", leaf(0, b"1f", value))])
            for value in (b"[" * 3000, b"[]", b"null", b"7", b'{"peerURLs": 7}', b"\xff")
        ),
    ],
    ids=["no page", "loop", "deep", "list", "null", "number", "urls", "no text"],
)
def test_a_database_that_holds_nonsense_is_an_error_in_words(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "db"
    path.write_bytes(content)
    with pytest.raises(NodeError, match=r"etcd's database .* can't be read"):
        stored_members(str(path))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.binary(max_size=80), max_size=3), st.integers(0, 2**64 - 1) | st.just(2), st.booleans())
def test_whatever_a_database_holds_is_read_or_an_error_in_words(
    tmp_path: Path, contents: list[bytes], root: int, told: bool
) -> None:
    path = tmp_path / "db"
    pages = [struct.pack("<Q", number) + content for number, content in enumerate(contents, 2)]
    path.write_bytes(database([bucket(b"key" if told else b"members", each) for each in contents] or pages, root))
    for read in (stored_members, revision):
        with contextlib.suppress(NodeError):
            read(str(path))
    path.write_bytes(database(pages, root))
    for read in (stored_members, revision):
        with contextlib.suppress(NodeError):
            read(str(path))


def test_what_a_member_published_may_lead_nowhere() -> None:
    """Addresses that are none are left out; nobody is asked at them."""
    urls = ("https://10.0.0.2:2380", "https://10.0.0.2:99999", "http://a b:1", "https://[zz]:1", "", "unix://x:1")
    member = Member(2, "m2", urls, ("https://[fd00::2]:2379",), False)
    assert Membership(1, (member,)).addresses(2) == [("10.0.0.2", 2380), ("fd00::2", 2379)]
