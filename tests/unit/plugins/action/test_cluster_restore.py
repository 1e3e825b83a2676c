# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A restore as a task runs it: consent, the order of its steps, what the store notes, what a second run does; machines give recorded answers."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from actions import run_action
from stored_cluster import stored_cluster

from ansible_collections.kubeadm.control_plane.plugins.action.cluster_restore import ActionModule
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Answer, Machine
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import kinds
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CLUSTER,
    CONTROL_PLANE,
    MACHINE,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

CONSENT = "prod:everythingAfterRevision:90:etcdOf:b,c"
SUCCEEDED = {"state": "Succeeded", "finishedAt": "2026-07-03T14:15:02Z", "dataBefore": "/var/lib/etcd/member-before"}


class World:
    """A stored cluster of a, b and c. a has its data, b hangs on without a quorum, c is not reached."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        stored_cluster(folder, "v1.20.2", {}, {}, dict.fromkeys("abc", "localhost"))
        self.store = FileStore(str(folder))
        self.change(
            CLUSTER, "prod", lambda each: each.update(status={"initialization": {"controlPlaneInitialized": True}})
        )
        self.calls: list[tuple[str, str]] = []
        self.leader: t.Optional[str] = None
        self.fails = ""
        self.restore: t.Optional[dict[str, t.Any]] = None
        self.members: list[dict[str, t.Any]] = []
        monkeypatch.setattr(ActionModule, "machine_caller", lambda *_unused: self)

    def change(self, reference: tuple[str, str], name: str, how: t.Callable[[dict[str, t.Any]], t.Any]) -> None:
        """Change a stored object."""
        self.store.modify(reference, "default", name, how)

    def call(self, machine: Machine, module: str, arguments: dict[str, t.Any]) -> Answer:
        """Answer a call."""
        if machine.name == "c":
            return Answer(False, {"msg": "machine c was not reached: timed out"})
        if module == "etcd_restore_info":
            identity = {"a": "00aa", "b": "00bb"}[machine.name]
            etcd = {"answers": bool(self.leader), "leader": self.leader, "memberID": identity, "members": self.members}
            etcd["clusterID"] = "00000000000000ff"
            known = {"a": 90, "b": 80}[machine.name]
            found = {"etcd": etcd, "data": {"revision": known}, "snapshots": [], "restore": self.restore}
            return Answer(True, found)
        if arguments.get("settle") and arguments.get("wait") == 0:
            self.calls.append((machine.name, "settle"))
            self.restore = None
            return Answer(True, dict(SUCCEEDED))
        done = arguments.get("state", f"restored {arguments.get('revision')} wait={arguments.get('wait')}")
        self.calls.append((machine.name, done))
        if self.fails == machine.name:
            return Answer(True, {"failed": True, "msg": "no room"})
        if done.startswith("restored") and arguments.get("wait") is not None:
            self.restore = {"state": "Succeeded", "snapshot": "", "revision": arguments["revision"]}
        return Answer(True, dict(SUCCEEDED))

    def marked(self) -> list[str]:
        """The machines that are marked for replacement."""
        found = []
        for each in self.store.list(MACHINE, "default"):
            if kinds.ANNOTATION_REMEDIATE_MACHINE in (each["metadata"].get("annotations") or {}):
                found.append(each["metadata"]["name"])
        return sorted(found)

    def run(self, check: bool = False, **arguments: t.Any) -> dict[str, t.Any]:
        """Run the action."""
        return run_action("cluster_restore", check=check, cluster="prod", store={"path": str(self.folder)}, **arguments)


@pytest.fixture(name="world")
def _world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch)


def test_without_consent_nothing_is_done_and_what_to_type_is_said(world: World) -> None:
    for given in ("", "yes", CONSENT.replace("90", "91")):
        refused = world.run(consent=given)
        assert refused["failed"] and f"-e control_plane_restore_consent={CONSENT}" in refused["msg"]
        assert "the data of machine a's own etcd" in refused["msg"]
    told = world.run(check=True)
    assert not told.get("failed") and told["changed"] and told["consent"] == CONSENT
    # Only the check whether the machine itself would refuse.
    assert set(world.calls) == {("a", "restored 90 wait=None")}
    assert world.marked() == []


def test_the_others_are_marked_and_stopped_before_etcd_is_restored(world: World) -> None:
    done = world.run(consent=CONSENT)
    assert not done.get("failed"), done
    assert world.calls[1:] == [("b", "stopped"), ("a", "restored 90 wait=0"), ("a", "settle")]
    assert world.marked() == ["b", "c"] and done["lost"] == ["b", "c"]
    assert "/var/lib/etcd/member-before" in done["msg"]
    # The restored etcd is another cluster, which the next observation must not be surprised by.
    [plane] = world.store.list(CONTROL_PLANE, "default")
    assert plane["status"]["etcdClusterID"] == "00000000000000ff"
    # The same consent again is no second restore; what is in the cluster by now is not lost to it.
    world.calls.clear()
    again = world.run(consent=CONSENT)
    assert (again["changed"], world.calls) == (False, []) and "nothing is restored again" in again["msg"]


def test_a_run_that_broke_off_is_gone_on_with_by_the_same_consent(world: World) -> None:
    world.fails = "a"
    world.calls.clear()
    # The look before the consent fails first: nothing is noted then.
    assert "no room" in world.run(consent=CONSENT)["msg"] and world.marked() == []
    world.fails = "b"
    assert "machine b was not stopped: no room" in world.run(consent=CONSENT)["msg"]
    world.fails = ""
    # Another choice can't slip in between.
    other = world.run(consent="prod:everythingAfterRevision:80:etcdOf:a,c")["msg"]
    assert "was started and has not finished" in other and CONSENT in other
    assert not world.run(consent=CONSENT).get("failed")
    assert world.marked() == ["b", "c"]


def test_an_etcd_that_works_and_clusters_that_are_none_are_left_alone(world: World) -> None:
    world.leader = "00000000000000aa"
    working = world.run(consent=CONSENT)
    assert (working["changed"], world.calls) == (False, []) and "nothing has to be restored" in working["msg"]
    world.change(CLUSTER, "prod", lambda each: each["spec"].update(paused=True))
    said = world.run(consent=CONSENT)["msg"]
    assert "is paused" in said and "the ConfigMap of its namespace" in said
    world.change(CLUSTER, "prod", lambda each: (each["spec"].update(paused=False), each.update(status={}))[1])
    assert "has never had a control plane" in world.run(consent=CONSENT)["msg"]


def test_an_etcd_that_lives_where_nobody_can_stop_it_ends_it_before_anybody_is_asked(world: World) -> None:
    world.members = [
        {"id": "00bb", "name": "b", "listens": "10.0.0.2:2380"},
        {"id": "00cc", "name": "c", "listens": ""},
    ]
    assert not world.run(check=True).get("failed"), "b can be stopped"
    world.members[1]["listens"] = "10.0.0.3:2380"
    refused = world.run(consent=CONSENT)
    assert refused["failed"] and "member c listens at 10.0.0.3:2380" in refused["msg"] and world.marked() == []
    assert "Make its machine reachable" in refused["msg"]


def test_a_store_that_is_a_step_behind(world: World) -> None:
    """The copy of a run that was killed: a machine that was joining is given up as one that failed; one that it doesn't know is named."""
    world.change(MACHINE, "c", lambda each: each["status"]["bootstrap"].update(state="Running"))
    world.members = [{"id": "00dd", "name": "d", "listens": "10.0.0.4:2380"}]
    refused = world.run(consent=CONSENT)
    assert refused["failed"] and "member d listens" in refused["msg"] and "cut its power" in refused["msg"]
    assert "knows no such machine" in refused["msg"] and world.marked() == [] and world.calls[1:] == []
    world.members[0]["listens"] = ""
    done = world.run(consent=CONSENT)
    assert not done.get("failed") and world.marked() == ["b"] and done["lost"] == ["b", "c"], done
    joining = world.store.get(MACHINE, "default", "c") or {}
    assert joining["status"]["bootstrap"]["state"] == "Failed"


def test_what_an_earlier_restore_left_is_not_taken_for_this_one(world: World) -> None:
    world.restore = {"state": "Succeeded", "snapshot": "", "revision": 90}
    assert not world.run(consent=CONSENT).get("failed")
    assert world.calls[1:] == [("a", "settle"), ("b", "stopped"), ("a", "restored 90 wait=0"), ("a", "settle")]


def test_machines_that_were_replaced_meanwhile_are_none_of_its_business(world: World) -> None:
    world.fails = "b"
    assert world.run(consent=CONSENT)["failed"]
    world.fails = ""
    world.calls.clear()
    world.store.delete(MACHINE, "default", "b")
    assert not world.run(consent=CONSENT).get("failed")
    assert world.calls == [("a", "restored 90 wait=0"), ("a", "settle")]


@pytest.mark.parametrize("content", [b"", b"x" * 40, b"\0" * 70000])
def test_a_file_that_is_no_whole_snapshot_is_told_as_such(world: World, tmp_path: Path, content: bytes) -> None:
    broken = tmp_path / "broken.db"
    broken.write_bytes(content)
    refused = world.run(snapshot=str(broken), consent=CONSENT)
    assert refused["failed"] and "is truncated or damaged" in refused["msg"] and world.marked() == []
