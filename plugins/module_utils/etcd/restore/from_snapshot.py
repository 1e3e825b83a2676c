# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restore of this machine's etcd from a snapshot, as its only member.

Page: docs/backup_and_restore.md.
The steps, each of which can be done again: stop the control plane by taking its static pod manifests away; restore with etcd's own tool
beside the data; put the result in the data's place, which is moved aside and never deleted; start etcd and wait until it serves alone;
start the rest and wait for the API server. Whatever fails before the API server is waited for is undone: the old data comes back.

A call that resumes can't know from the record whether an undo was interrupted: a full disk takes no note of one. The machine tells it: the
manifests may be back, and the data is not what was restored.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import typing as t
from dataclasses import dataclass, field

from ...common import guard
from ...common.guard import NodeError
from ...common.https import Unreachable
from ...common.values import now_rfc3339
from ...workload_api.api import own_server
from .. import certificates_dir, data_dir
from ..gateway import Credentials, Gateway
from ..local import Places, listens
from ..snapshot import tool as etcd_tool
from ..snapshot.log import stored_cluster_id
from ..snapshot.revision import verified
from ..snapshot.tool import Tool, ToolSource
from ..types import EtcdError
from .single_voter import FAILED, Recovery, end_etcd, end_program, make_snapshot, unused
from .task_files import restore_record

STATIC_PODS = ("etcd.yaml", "kube-apiserver.yaml", "kube-controller-manager.yaml", "kube-scheduler.yaml")
# Who watches must see that time went back: revisions that were handed out since the snapshot are never used again.
_BUMP = ("--bump-revision", "1000000000", "--mark-compacted")
_SNAPSHOT = "snapshot.db"


@dataclass(frozen=True)
class RestorePlaces(Places):
    """Paths, URL and credentials on a control plane node, for a restore."""

    @property
    def record(self) -> str:
        """File with the durable state of the restore."""
        return restore_record(self.state)

    @property
    def cluster_ca(self) -> str:
        """File of the cluster's own certificate authority."""
        return os.path.join(certificates_dir.certificates_dir(self.kubernetes, self.state), "ca.crt")


def member_identity(manifest: str) -> tuple[str, str]:
    """Return this machine's member's name and peer URL, from etcd's manifest.

    Raises NodeError.
    """
    found = []
    for flag in ("--name", "--initial-advertise-peer-urls"):
        value = re.search(rf"\s[\"']?{flag}=([^\s\"']+)", manifest)
        if value is None:
            raise NodeError(f"etcd's static pod manifest has no {flag}.", "Check that kubeadm made this etcd.")
        found.append(value.group(1))
    return found[0], found[1]


@dataclass
class Restore(Recovery):
    """Restore of this machine's etcd, with its record.

    ``tool`` gives etcd's own tool for a folder.
    """

    places: RestorePlaces = field(default_factory=RestorePlaces)
    tool: t.Optional[ToolSource] = None
    listens: t.Callable[[t.Iterable[tuple[str, int]]], str] = field(default=listens)

    def _steps(self) -> tuple[tuple[str, t.Callable[[dict[str, t.Any]], None]], ...]:
        return (
            ("stop", self._stop),
            ("restore", self._restore_data),
            ("swap", self._swap),
            ("start", self._start),
            ("api", self._serve),
        )

    def _fail(self, record: dict[str, t.Any], message: str) -> None:
        record.update(message=message)
        # Once etcd serves what was restored, the rest comes by being called again; going back would help nobody.
        if "start" not in record["done"]:
            self._undo(record)
            record.update(state=FAILED, finishedAt=now_rfc3339())
        self.write(record)

    def _stop(self, record: dict[str, t.Any]) -> None:
        kept = self._manifests(record)
        take_manifests_away(self.places, kept)
        if not os.path.exists(os.path.join(kept, "etcd.yaml")):
            raise NodeError(
                f"{self.places.manifest} is not there, and no copy of it was kept.",
                "Put etcd's manifest of this machine back; run again.",
            )
        record["dataDir"] = data_dir.etcd_data(guard.read_text(os.path.join(kept, "etcd.yaml")))
        data = record["dataDir"]
        self.wait_until_stopped(kept, data)

    def wait_until_stopped(self, kept: str, data: str) -> None:
        """Wait until neither etcd nor the API server runs.

        Their manifests are in ``kept``. Raises NodeError where they did not end in time.
        """

        def end() -> None:
            end_etcd(data)
            for host, port in served_address(kept):
                end_program("kube-apiserver", f"--advertise-address={host}", f"--secure-port={port}")

        self.wait_for("the control plane to stop", lambda: self.stopped(kept, data), self.bounds.stop, ends=end)

    def stopped(self, kept: str, data: str) -> bool:
        """Return whether neither etcd nor the API server runs.

        No etcd uses the data any more, and no API server listens where the manifests in ``kept`` say.
        """
        return unused(os.path.join(data, "member", "snap", "db")) and not self.listens(served_address(kept))

    def _restore_data(self, record: dict[str, t.Any]) -> None:
        # An undo that was interrupted may have started it.
        self._stop(record)
        work = self._work(record)
        etcd_tool.release(work)
        shutil.rmtree(work, ignore_errors=True)
        os.makedirs(work, mode=0o700)
        source = os.path.join(work, _SNAPSHOT)
        if record["snapshot"]:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(source)
            shutil.copyfile(record["snapshot"], source)
            os.chmod(source, 0o600)
        else:
            make_snapshot(os.path.join(record["dataDir"], "member", "snap", "db"), source)
        with open(self.places.cluster_ca, "rb") as file:
            verified(source, file.read(), record["revision"])
        manifest = os.path.join(self._manifests(record), "etcd.yaml")
        name, peer = member_identity(guard.read_text(manifest))
        source_of_tool = self.tool or (lambda folder: etcd_tool.image_tool(folder, manifest))
        with source_of_tool(work) as found:
            done = found.run(
                "snapshot",
                "restore",
                f"{found.inside}/{_SNAPSHOT}",
                *("--data-dir", f"{found.inside}/restored"),
                *("--name", name, "--initial-cluster", f"{name}={peer}", "--initial-advertise-peer-urls", peer),
                # IDs come from URLs and this word: without one of its own, members of before could take this one for theirs.
                *("--initial-cluster-token", record["token"]),
                *self._bumps(found),
            )
        if done.returncode != 0 or not os.path.isfile(os.path.join(work, "restored", "member", "snap", "db")):
            raise NodeError(
                f"{found.name} could not restore the snapshot: {(done.stderr or done.stdout).strip()[-600:]}"
            )
        record["restoredBy"] = found.name
        record["clusterID"] = stored_cluster_id(os.path.join(work, "restored", "member"))
        os.unlink(source)

    def _bumps(self, found: Tool) -> tuple[str, ...]:
        told = found.run("snapshot", "restore", "--help")
        return _BUMP if _BUMP[0] in told.stdout + told.stderr else ()

    def _swap(self, record: dict[str, t.Any]) -> None:
        data, restored = (
            os.path.join(record["dataDir"], "member"),
            os.path.join(self._work(record), "restored", "member"),
        )
        before = aside(record["dataDir"], record["token"])
        if os.path.isdir(restored):
            # An undo that was interrupted may have started it.
            self._stop(record)
            if os.path.isdir(data) and not os.path.isdir(before):
                os.rename(data, before)
            os.rename(restored, data)
        elif not os.path.isdir(data):
            raise NodeError(
                f"what was restored is not in {self._work(record)}, nor in {data}.", "Look who moved it; restore again."
            )
        record["dataBefore"] = before if os.path.isdir(before) else ""
        os.sync()

    def _start(self, record: dict[str, t.Any]) -> None:
        member = os.path.join(record["dataDir"], "member")
        whole = os.path.isfile(os.path.join(member, "snap", "db"))
        # A record of an earlier release has no ID: its undo deleted data in its place.
        if not whole or stored_cluster_id(member) != record.get("clusterID"):
            undone = "The undo was completed: the data and manifests of before are back. Run again."
            if not os.path.isdir(aside(record["dataDir"], record["token"])):
                undone = (
                    "The undo was completed: the manifests of before are back, and no data of before is beside it: there was none, or it is back already. "
                    "etcd starts on what is there; see what it serves. To restore all the same, run again and name the snapshot."
                )
            raise NodeError(
                f"{member} is not known to hold what was restored: an undo was interrupted, or an earlier release started this restore.",
                undone,
            )
        self.put_manifests(self._manifests(record), ("etcd.yaml",))
        self.wait_for("etcd to serve as its only member", self._serves_alone, self.bounds.start, restarts=True)
        shutil.rmtree(self._work(record), ignore_errors=True)

    def _serves_alone(self) -> bool:
        try:
            with Gateway(self.places.etcd_url, self.places.credentials) as gateway:
                status, listed = gateway.status(), gateway.member_list()
                gateway.linearizable_read()
        except (EtcdError, Unreachable) as error:
            self._last = str(error)
            return False
        self._last = f"members: {', '.join(member.hex_id for member in listed.members)}"
        return [member.id for member in listed.members] == [status.member_id] == [status.leader]

    def _serve(self, record: dict[str, t.Any]) -> None:
        record["message"] = ""
        self.put_manifests(self._manifests(record))
        if self.places.kubelet:
            # It may hold what is no longer true.
            with contextlib.suppress(NodeError):
                self.runner(["systemctl", "restart", self.places.kubelet])
        self._api(record)
        if record["message"]:
            raise NodeError(record["message"])

    def put_manifests(self, kept: str, names: t.Iterable[str] = STATIC_PODS) -> None:
        """Put manifests that a folder keeps back into the kubelet's folder.

        Those of these names, in this order.
        """
        for name in names:
            if os.path.exists(os.path.join(kept, name)):
                with open(os.path.join(kept, name), "rb") as file:
                    self._put(file.read(), name)

    @staticmethod
    def _manifests(record: t.Mapping[str, t.Any]) -> str:
        return os.path.join(record["folder"], "manifests")

    def _undo(self, record: dict[str, t.Any]) -> None:
        """Put back the data and manifests of before.

        Where this fails too, the record still says Started. The next call resumes, and completes the undo where the data was touched.
        """
        data = str(record.get("dataDir") or "")
        if data:
            work, before, member = self._work(record), aside(data, record["token"]), os.path.join(data, "member")
            etcd_tool.release(work)
            shutil.rmtree(work, ignore_errors=True)
            if os.path.isdir(before):
                self._take_away()
                database = os.path.join(member, "snap", "db")
                self.wait_for("etcd to stop", lambda: unused(database), self.bounds.stop, ends=lambda: end_etcd(data))
                # Deleted only after it was moved: etcd would start empty on a part of it.
                if os.path.isdir(member):
                    os.rename(member, work)
                os.rename(before, member)
                guard.sync_directory(data)
                shutil.rmtree(work, ignore_errors=True)
            record["dataBefore"] = ""
        self.put_manifests(self._manifests(record))

    @staticmethod
    def _work(record: t.Mapping[str, t.Any]) -> str:
        return os.path.join(str(record["dataDir"]), f".{record['token']}")


def aside(data: str, token: str) -> str:
    """Return the folder of the data of before a restore.

    It is beside the data: moving it takes no time and no room.
    """
    return os.path.join(data, f"member-before-{token}")


def take_manifests_away(places: RestorePlaces, kept: str) -> list[str]:
    """Move the control plane's manifests from the kubelet into a folder.

    Returns the names of those that were moved.
    """
    # Without them nothing but the notes tells a reset where the keys and the data are.
    certificates_dir.keep_note(places.kubernetes, places.state)
    data_dir.keep_note(places.kubernetes, places.state)
    os.makedirs(kept, mode=0o700, exist_ok=True)
    taken = []
    for name in STATIC_PODS:
        path = os.path.join(places.manifests, name)
        if os.path.exists(path):
            with open(path, "rb") as file:
                guard.write_atomically(os.path.join(kept, name), file.read(), 0o600)
            os.unlink(path)
            taken.append(name)
    if taken:
        guard.sync_directory(places.manifests)
    return taken


def served_address(folder: str) -> list[tuple[str, int]]:
    """Return the API server's address in the manifests of a folder.

    As a list of none or one host and port.
    """
    server = own_server(folder)
    if server is None:
        return []
    host, _colon, port = server.rpartition("//")[2].rpartition(":")
    return [(host.strip("[]"), int(port))]


def perform(places: str) -> None:
    """Carry out the restore that was started.

    This is what the unit runs. ``places`` is :meth:`Places.text`.
    """
    fields = json.loads(places)
    if fields["credentials"] is not None:
        fields["credentials"] = Credentials(**fields["credentials"])
    Restore(RestorePlaces(**fields)).perform()
