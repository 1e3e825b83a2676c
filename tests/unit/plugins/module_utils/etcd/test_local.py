# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What this machine's etcd is started with, and what its database holds, without any etcd."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.database import stored_members
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.local import (
    FLAG,
    Places,
    etcd_data,
    flagged,
    membership,
    with_flag,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.guard import NodeError

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
