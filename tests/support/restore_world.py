# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stored cluster whose etcd is restored: its machines give recorded answers."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from actions import run_action
from stored_cluster import stored_cluster

from ansible_collections.kubeadm.control_plane.plugins.action.cluster_restore import ActionModule
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Answer, Machine
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import kinds, restore_note
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CLUSTER,
    CONTROL_PLANE,
    MACHINE,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

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
        self.silent = {"c"}
        self.known = {"a": 90, "b": 80, "c": 85}
        self.stopped: set[str] = set()
        self.snapshots: list[dict[str, t.Any]] = []
        self.restore: t.Optional[dict[str, t.Any]] = None
        self.members: list[dict[str, t.Any]] = []
        monkeypatch.setattr(ActionModule, "machine_caller", lambda *_unused: self)

    def change(self, reference: tuple[str, str], name: str, how: t.Callable[[dict[str, t.Any]], t.Any]) -> None:
        """Change a stored object."""
        self.store.modify(reference, "default", name, how)

    def call(self, machine: Machine, module: str, arguments: dict[str, t.Any]) -> Answer:
        """Answer a call."""
        if machine.name in self.silent:
            return Answer(False, {"msg": f"machine {machine.name} was not reached: timed out"})
        if module == "etcd_restore_info":
            identity = f"00{machine.name * 2}"
            etcd = {"answers": bool(self.leader), "leader": self.leader, "memberID": identity, "members": self.members}
            etcd["clusterID"] = "00000000000000ff"
            data = {"revision": self.known[machine.name], "clusterID": "00000000000000ff"}
            found = {"etcd": etcd, "data": data, "snapshots": self.snapshots if machine.name == "a" else []}
            found["restore"] = self.restore
            found["stopped"] = machine.name in self.stopped
            return Answer(True, found)
        if module == "etcd_snapshot_file":
            return Answer(True, {"path": f"/kept/{arguments['name']}"})
        if arguments.get("settle") and arguments.get("wait") == 0:
            self.calls.append((machine.name, "settle"))
            if self.fails == f"{machine.name} settle":
                return Answer(True, {"failed": True, "msg": "no room"})
            self.restore = None
            return Answer(True, dict(SUCCEEDED))
        done = arguments.get("state", f"restored {arguments.get('revision')} wait={arguments.get('wait')}")
        self.calls.append((machine.name, done))
        if self.fails == machine.name:
            return Answer(True, {"failed": True, "msg": "no room"})
        if done.startswith("restored") and arguments.get("wait") is not None:
            self.restore = {"state": "Succeeded", "snapshot": "", "revision": arguments["revision"]}
        if done == "stopped":
            self.stopped.add(machine.name)
        return Answer(True, dict(SUCCEEDED))

    def note(self) -> dict[str, t.Any]:
        """The note of a restore on the KubeadmControlPlane."""
        return restore_note.read(self.store.list(CONTROL_PLANE, "default")[0])

    def marked(self) -> list[str]:
        """The machines that are marked for replacement."""
        found = []
        for each in self.store.list(MACHINE, "default"):
            if kinds.ANNOTATION_REMEDIATE_MACHINE in (each["metadata"].get("annotations") or {}):
                found.append(each["metadata"]["name"])
        return sorted(found)

    def bootstrap(self, name: str) -> dict[str, t.Any]:
        """What a machine's status says of its bootstrap."""
        [found] = [each for each in self.store.list(MACHINE, "default") if each["metadata"]["name"] == name]
        return t.cast("dict[str, t.Any]", found["status"]["bootstrap"])

    def run(self, check: bool = False, **arguments: t.Any) -> dict[str, t.Any]:
        """Run the action."""
        return run_action("cluster_restore", check=check, cluster="prod", store={"path": str(self.folder)}, **arguments)
