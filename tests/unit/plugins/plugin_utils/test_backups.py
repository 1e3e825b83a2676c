# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Snapshots between machine and controller; the machine's side is the module's own code, over no connection."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import typing as t
from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd import snapshot_file
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.snapshot_file import read_piece, write_piece
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils import backups
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.action_base import ControlPlaneFailure
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.machine_connection import Answer, Machine

MACHINE = Machine("a", None, {})
NAME = "prod-backup-20260703T141502Z.db"


class Node:
    """A machine's folder of snapshots, reached by calls; ``breaks`` is the call at which the connection is lost."""

    def __init__(self, folder: Path, breaks: int = 0) -> None:
        self.folder = folder
        self.calls: list[dict[str, t.Any]] = []
        self._breaks = breaks

    def call(self, machine: Machine, module: str, arguments: dict[str, t.Any]) -> Answer:
        """Do what the module does."""
        assert (machine, module) == (MACHINE, "etcd_snapshot_file")
        self.calls.append(arguments)
        if len(self.calls) == self._breaks:
            return Answer(False, {"msg": "the connection was lost"})
        name, offset, key = arguments["name"], arguments["offset"], arguments["transport_key"]
        try:
            if arguments.get("state") == "written":
                write_piece(name, offset, arguments["content"], key, arguments["sha256"], str(self.folder))
                return Answer(True, {"path": str(self.folder / name)})
            return Answer(True, read_piece(name, offset, key, str(self.folder)))
        except NodeError as error:
            return Answer(True, {"failed": True, "msg": str(error)})


@pytest.fixture(name="content", params=[0, 1, 3])
def _content(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A snapshot of several pieces: a database with its hash behind it."""
    monkeypatch.setattr(snapshot_file, "PIECE_BYTES", 4096)
    monkeypatch.setattr(backups, "PIECE_BYTES", 4096)
    data = os.urandom(4096) * request.param + b"password"
    return data + hashlib.sha256(data).digest()


def facts(content: bytes) -> dict[str, t.Any]:
    """What the module that took it said."""
    return {"path": f"/kept/{NAME}", "sha256": hashlib.sha256(content).hexdigest(), "revision": 7}


def test_a_snapshot_comes_home_whole_and_goes_back(content: bytes, tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(content)
    node, home = Node(tmp_path), tmp_path / "backups" / "default" / "prod"
    path = Path(backups.fetch(node, MACHINE, facts(content), str(home)))
    assert path == home / NAME and path.read_bytes() == content
    assert json.loads(path.with_suffix(".json").read_text()) == {**facts(content), "machine": "a", "path": str(path)}
    assert sorted(os.listdir(home)) == [NAME, NAME.replace(".db", ".json")]
    assert [stat.S_IMODE(each.stat().st_mode) for each in (home, path)] == [0o700, 0o600]
    other = Node(tmp_path / "other")
    for _again in range(2):
        assert backups.send(other, MACHINE, str(path)) == str(tmp_path / "other" / NAME)
    assert (tmp_path / "other" / NAME).read_bytes() == content
    assert stat.S_IMODE((tmp_path / "other" / NAME).stat().st_mode) == 0o600
    # What travels is readable for nobody.
    assert not any(b"password" in str(call.get("content")).encode() for call in other.calls)


def test_what_breaks_off_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_file, "PIECE_BYTES", 4096)
    monkeypatch.setattr(backups, "PIECE_BYTES", 4096)
    data = os.urandom(9000)
    content = data + hashlib.sha256(data).digest()
    (tmp_path / NAME).write_bytes(content)
    home = tmp_path / "home"
    with pytest.raises(ControlPlaneFailure, match="was not brought home: the connection was lost"):
        backups.fetch(Node(tmp_path, breaks=2), MACHINE, facts(content), str(home))
    with pytest.raises(ControlPlaneFailure, match="its hash is not the one"):
        backups.fetch(Node(tmp_path), MACHINE, facts(b"another"), str(home))
    assert os.listdir(home) == []
    other = tmp_path / "other"
    with pytest.raises(ControlPlaneFailure, match="did not reach machine a: the connection was lost"):
        backups.send(Node(other, breaks=3), MACHINE, str(tmp_path / NAME))
    assert not (other / NAME).exists()
    # It begins anew after that.
    backups.send(Node(other), MACHINE, str(tmp_path / NAME))
    assert (other / NAME).read_bytes() == content


@pytest.mark.parametrize("name", ["../../etc/shadow.db", "/etc/shadow", "a..db/x.db", ".hidden.db", "x.json"])
def test_nothing_but_snapshots_is_read_or_written(name: str, tmp_path: Path) -> None:
    with pytest.raises(NodeError, match="no name of a snapshot"):
        read_piece(name, 0, "00" * 32, str(tmp_path))


def test_the_oldest_go_and_others_names_stay(tmp_path: Path) -> None:
    names = [f"prod-backup-2026070{day}T000000Z" for day in range(1, 6)]
    for name in [*names, "prod-other-20200101T000000Z", "prod-backup-mine"]:
        (tmp_path / f"{name}.db").touch()
        (tmp_path / f"{name}.json").touch()
    removed = backups.prune(str(tmp_path), "prod-backup", 2)
    assert [os.path.basename(path) for path in removed] == [f"{name}.db" for name in names[:3]]
    kept = {each.stem for each in tmp_path.iterdir()}
    assert kept == {*names[3:], "prod-other-20200101T000000Z", "prod-backup-mine"}
