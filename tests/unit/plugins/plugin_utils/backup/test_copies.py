# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Snapshots between machine and controller; the machine's side is the module's own code, over no connection."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
import typing as t
import zlib
from pathlib import Path

import pytest
from etcd_database import circle, hashed, overlapping, snapshot

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import sealed
from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.snapshot import transfer
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.snapshot.transfer import (
    read_piece,
    write_piece,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.backup import copies
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.failure import ControlPlaneFailure
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Answer, Machine

MACHINE = Machine("a", None, {})
NAME = "prod-backup-20260703T141502Z.db"
# The controller's clock, and what a copy is called then.
CLOCK = 1795341600.0
HOME_NAME = "prod-backup-20261122T100000Z.db"


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


@pytest.fixture(name="content", params=[100, 4096, 3 * 4096])
def _content(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """A snapshot of several pieces: a database with its hash behind it."""
    monkeypatch.setattr(transfer, "PIECE_BYTES", 4096)
    monkeypatch.setattr(copies, "PIECE_BYTES", 4096)
    return snapshot(7, os.urandom(request.param) + b"password")


def facts(content: bytes, **more: t.Any) -> dict[str, t.Any]:
    """What the module that took it said."""
    told = {
        "path": f"/kept/{NAME}",
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
        "revision": 7,
    }
    return {**told, "verified_by": "etcdutl", **more}


def brought(node: Node, taken: dict[str, t.Any], home: Path, clock: float = CLOCK, authority: bytes = b"") -> str:
    """Bring a snapshot home by a clock that is the controller's."""
    return copies.fetch(node, MACHINE, taken, str(home), "prod-backup", authority, lambda: clock)


def test_a_snapshot_comes_home_whole_and_goes_back(content: bytes, tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(content)
    node, home = Node(tmp_path), tmp_path / "backups" / "default" / "prod"
    path = Path(brought(node, facts(content), home))
    assert path == home / HOME_NAME and path.read_bytes() == content
    told = {
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
        "revision": 7,
        "verified_by": "etcdutl",
    }
    here = {"machine": "a", "path": str(path), "taken_at": "2026-11-22T10:00:00Z"}
    assert json.loads(path.with_suffix(".json").read_text()) == {**told, **here}
    assert sorted(os.listdir(home)) == [HOME_NAME, HOME_NAME.replace(".db", ".json")]
    assert [stat.S_IMODE(each.stat().st_mode) for each in (home, path)] == [0o700, 0o600]
    other = Node(tmp_path / "other")
    for _again in range(2):
        assert copies.send(other, MACHINE, str(path)) == str(tmp_path / "other" / HOME_NAME)
    assert (tmp_path / "other" / HOME_NAME).read_bytes() == content
    assert stat.S_IMODE((tmp_path / "other" / HOME_NAME).stat().st_mode) == 0o600
    # What travels is readable for nobody.
    assert not any(b"password" in str(call.get("content")).encode() for call in other.calls)


def test_a_machine_chooses_neither_name_nor_time(tmp_path: Path) -> None:
    """What is there stays, whatever it is called; two in one second are two."""
    content = snapshot(7)
    home = tmp_path / "home"
    home.mkdir()
    there = {"prod.json": "another's", HOME_NAME.replace(".db", "-1.json"): "somebody's"}
    for name, text in there.items():
        (home / name).write_text(text)
    for path in ("..", "/", "ab", f"../{NAME}", "prod-backup-29991231T000000Z.db", "a\nb.db"):
        node = Forger(content)
        made = brought(node, facts(content, path=path, taken_at="2999-12-31T00:00:00Z", cluster_id="c" * 10_000), home)
        told = json.loads(Path(made).with_suffix(".json").read_text())
        assert told["taken_at"] == "2026-11-22T10:00:00Z" and len(told["cluster_id"]) == 300
    stem = HOME_NAME[: -len(".db")]
    names = [f"{stem}{number}" for number in ("", "-2", "-3", "-4", "-5", "-6")]
    assert sorted(os.listdir(home)) == sorted([*there, *(f"{each}{end}" for each in names for end in (".db", ".json"))])
    assert {name: (home / name).read_text() for name in there} == there
    assert os.listdir(tmp_path) == ["home"]


class Forger:
    """A machine that sends what it likes, one answer after the other and the last one for ever."""

    def __init__(self, *pieces: bytes | str) -> None:
        self._pieces = list(pieces)
        self.calls = 0

    def call(self, machine: Machine, module: str, arguments: dict[str, t.Any]) -> Answer:
        """Answer as the module does, with forged figures."""
        del machine, module
        self.calls += 1
        piece = self._pieces.pop(0) if len(self._pieces) > 1 else self._pieces[0]
        if isinstance(piece, bytes):
            piece = sealed.seal(arguments["transport_key"], zlib.compress(piece, 9))
        return Answer(True, {"content": piece, "bytes": 1, "next": 10**18})


WHOLE = snapshot(7)
# Its ConfigMap names the authority of the cluster.
OURS = b"-----BEGIN CERTIFICATE-----\nours\n-----END CERTIFICATE-----"
THEIRS = snapshot(7, b"/registry/configmaps/kube-public/cluster-info" + OURS.replace(b"ours", b"theirs"))
FORGED: dict[str, tuple[tuple[bytes | str, ...], dict[str, t.Any], str]] = {
    "a bomb": ((b"\0" * (9 * 1024**2),), {"bytes": 9 * 1024**2}, "a piece is larger than"),
    "a larger answer": (("A" * (13 * 1024**2),), {}, "a piece is larger than"),
    "more than was said": ((WHOLE,), {"bytes": 100}, "the file changed meanwhile"),
    "less than was said": ((WHOLE, b""), {"bytes": len(WHOLE) + 1}, "the file changed meanwhile"),
    "byte by byte": ((b"x",), {}, "the file changed meanwhile"),
    "nothing": ((WHOLE,), {"bytes": 0}, "it is said to have 0 bytes"),
    "no number": ((WHOLE,), {"bytes": None}, "it is not said how many bytes"),
    "a list": ((WHOLE,), {"bytes": [1]}, "it is not said how many bytes"),
    "infinite": ((WHOLE,), {"bytes": float("inf")}, "it is not said how many bytes"),
    "more than all": ((WHOLE,), {"bytes": 10**15}, "and at most 17179869184 are taken"),
    "not what was sealed": (("x",), {}, "the sealed data"),
    "another hash": ((WHOLE,), {"sha256": "0" * 64}, "its hash is not the one of what was taken"),
    "no hash": ((WHOLE[:-1],), facts(WHOLE[:-1]), "it does not end with the hash of what is before it"),
    "no database": ((hashed(b"x" * 9000),), facts(hashed(b"x" * 9000)), "is no database of etcd's"),
    "a circle": ((hashed(circle()),), facts(hashed(circle())), "lead in circles"),
    "the same again and again": (
        (hashed(overlapping()),),
        facts(hashed(overlapping())),
        "holds more than a file of its size can",
    ),
    "another cluster's": ((THEIRS,), facts(THEIRS), "another certificate authority than this cluster's"),
}


@pytest.mark.parametrize(("pieces", "told", "said"), FORGED.values(), ids=FORGED)
def test_what_a_machine_forges_leaves_nothing(
    tmp_path: Path, pieces: tuple[bytes | str, ...], told: dict[str, t.Any], said: str
) -> None:
    """And takes nothing: neither memory, nor the disk, nor time without end."""
    home = tmp_path / "home"
    good = brought(Forger(WHOLE), facts(WHOLE), home)
    before = {each.name: each.read_bytes() for each in home.iterdir()}
    node = Forger(*pieces)
    with pytest.raises(ControlPlaneFailure, match="was not brought home") as failed:
        brought(node, {**facts(WHOLE), **told}, home, authority=OURS)
    assert said in str(failed.value) and node.calls <= 2
    assert {each.name: each.read_bytes() for each in home.iterdir()} == before and os.path.exists(good)


def test_a_disk_that_would_be_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "RESERVE_BYTES", 2**62)
    with pytest.raises(ControlPlaneFailure, match="the controller's disk has room for 0"):
        brought(Forger(WHOLE), facts(WHOLE), tmp_path)


def test_a_folder_that_goes_while_the_snapshot_is_taken(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(WHOLE)
    (tmp_path / "home").touch()
    with pytest.raises(ControlPlaneFailure, match=r"was not brought home: .*home.*no older one was removed"):
        brought(Node(tmp_path), facts(WHOLE), tmp_path / "home")


def test_what_breaks_off_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "PIECE_BYTES", 4096)
    monkeypatch.setattr(copies, "PIECE_BYTES", 4096)
    content = snapshot(7, os.urandom(9000))
    (tmp_path / NAME).write_bytes(content)
    home = tmp_path / "home"
    with pytest.raises(ControlPlaneFailure, match="was not brought home: the connection was lost"):
        brought(Node(tmp_path, breaks=2), facts(content), home)
    with pytest.raises(ControlPlaneFailure, match="its hash is not the one"):
        brought(Node(tmp_path), facts(content, sha256="0" * 64), home)
    assert os.listdir(home) == []
    other = tmp_path / "other"
    with pytest.raises(ControlPlaneFailure, match="did not reach machine a: the connection was lost"):
        copies.send(Node(other, breaks=3), MACHINE, str(tmp_path / NAME))
    assert not (other / NAME).exists()
    # It begins anew after that.
    copies.send(Node(other), MACHINE, str(tmp_path / NAME))
    assert (other / NAME).read_bytes() == content
    # What a transfer of another file left that was killed goes, and what one of a snapshot left; one that is under way stays.
    for name, age in (("killed.db.partial", 3700.0), ("begun.db.partial", 0.0)):
        (other / name).write_bytes(b"half")
        moment = time.time() - age
        os.utime(other / name, (moment, moment))
    (other / ".work").mkdir()
    copies.send(Node(other), MACHINE, str(tmp_path / NAME))
    assert sorted(os.listdir(other)) == sorted([NAME, "begun.db.partial", "lock"])


@pytest.mark.parametrize("name", ["../../etc/shadow.db", "/etc/shadow", "a..db/x.db", ".hidden.db", "x.json"])
def test_nothing_but_snapshots_is_read_or_written(name: str, tmp_path: Path) -> None:
    with pytest.raises(NodeError, match="no name of a snapshot"):
        read_piece(name, 0, "00" * 32, str(tmp_path))


def test_the_oldest_go_and_others_names_stay(tmp_path: Path) -> None:
    names = [f"prod-backup-2026070{day}T000000Z" for day in range(1, 6)]
    for name in [*names, "prod-other-20200101T000000Z", "prod-backup-mine"]:
        (tmp_path / f"{name}.db").touch()
        (tmp_path / f"{name}.json").touch()
    removed = copies.prune(str(tmp_path / f"{names[-1]}.db"), "prod-backup", 2)
    assert [os.path.basename(path) for path in removed] == [f"{name}.db" for name in names[:3]]
    kept = {each.stem for each in tmp_path.iterdir()}
    assert kept == {*names[3:], "prod-other-20200101T000000Z", "prod-backup-mine"}


def test_what_a_killed_run_received_in_part_goes_with_the_next_one(tmp_path: Path) -> None:
    """What another run receives meanwhile, what has another prefix and what is not of this form stays."""
    left = tmp_path / ".prod-backup-20260701T000000Z.db.partial"
    others = [".prod-other-20260701T000000Z.db.partial", ".prod-backup-mine.db.partial", ".prod-backup.partial"]
    for name in (left.name, *others):
        (tmp_path / name).write_bytes(b"half")

    class Meanwhile(Forger):
        def call(self, machine: Machine, module: str, arguments: dict[str, t.Any]) -> Answer:
            found.append(sorted(each.name for each in tmp_path.glob(".*")))
            if self is slow:
                brought(Forger(WHOLE), facts(WHOLE), tmp_path, CLOCK + 60)
            return super().call(machine, module, arguments)

    found: list[list[str]] = []
    slow = Meanwhile(WHOLE)
    path = brought(slow, facts(WHOLE), tmp_path)
    assert found == [sorted([*others, f".{HOME_NAME}.partial"])]
    assert Path(path).read_bytes() == WHOLE and len(list(tmp_path.glob("*.db"))) == 2
    assert sorted(each.name for each in tmp_path.glob(".*")) == sorted(others)


def test_two_that_remove_the_oldest_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the other one has removed is removed, and facts of a copy that is about to get its name are no leftover."""
    names = [f"prod-backup-2026070{day}T000000Z" for day in range(1, 5)]
    for name in names:
        (tmp_path / f"{name}.db").touch()
        (tmp_path / f"{name}.json").touch()
    coming = "prod-backup-20260705T000000Z"
    (tmp_path / f"{coming}.json").touch()
    (tmp_path / f".{coming}.db.partial").touch()
    new, listed = str(tmp_path / f"{names[-1]}.db"), os.listdir

    def other_first(folder: str) -> list[str]:
        found = listed(folder)
        monkeypatch.setattr(os, "listdir", listed)
        copies.prune(new, "prod-backup", 2)
        return found

    monkeypatch.setattr(os, "listdir", other_first)
    copies.prune(new, "prod-backup", 2)
    stems = {each.stem for each in tmp_path.iterdir() if not each.name.startswith(".")}
    assert stems == {*names[2:], coming} and (tmp_path / f"{coming}.json").exists()


def test_old_copies_that_can_not_be_removed(tmp_path: Path) -> None:
    """The backup was taken: the error says so."""
    (tmp_path / "prod-backup-20260701T000000Z.db").mkdir()
    for day in (2, 3):
        (tmp_path / f"prod-backup-2026070{day}T000000Z.db").touch()
    with pytest.raises(ControlPlaneFailure, match="could not be removed") as failed:
        copies.prune(str(tmp_path / "prod-backup-20260703T000000Z.db"), "prod-backup", 1)
    assert "The new one was taken" in str(failed.value)


@pytest.mark.parametrize("keep", [1, 2])
def test_what_one_machine_sends_displaces_no_other_ones_last_copies(tmp_path: Path, keep: int) -> None:
    """However often it does; one that an earlier release took over with a forged time displaces none, either."""
    names = {f"prod-backup-2026070{day}T000000Z": "ab"[day > 4] for day in range(1, 9)} | {
        "prod-backup-29991231T000000Z": "b"
    }
    for name, machine in names.items():
        (tmp_path / f"{name}.db").touch()
        (tmp_path / f"{name}.json").write_text(json.dumps({"machine": machine}))
    new = tmp_path / "prod-backup-20260708T000000Z.db"
    copies.prune(str(new), "prod-backup", keep)
    kept = sorted(each.stem for each in tmp_path.glob("*.db"))
    assert [each for each in kept if names[each] == "a"] == [
        f"prod-backup-2026070{day}T000000Z" for day in range(5 - keep, 5)
    ]
    assert new.stem in kept and len([each for each in kept if names[each] == "b"]) == keep
