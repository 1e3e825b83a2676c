# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Recovery of etcd as its only voter, after the second was lost.

Page: docs/second_voter.md.
The steps, each of which can be done again: stop etcd by taking its static pod manifest away; copy its data and make a snapshot of it;
start etcd with --force-new-cluster and wait until it is the only member; put the manifest back unchanged and wait until etcd works
without the flag; wait for the API server. Whatever goes wrong, the manifest is put back: the flag never stays.

Nothing here needs an etcd that answers: one that has no quorum answers only until it is started again, and the kubelet starts it again
as soon as its liveness probe has failed often enough, after a minute and a half.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import json
import os
import shutil
import time
import typing as t
from dataclasses import dataclass, field

from ...common import guard, systemd_units
from ...common.guard import NodeError
from ...common.https import Unreachable
from ...common.values import now_rfc3339
from ...workload_api.api import ApiClient, own_server, read_access
from .. import data_dir
from ..gateway import Credentials, Gateway
from ..local import FLAG, Places, flagged, with_flag
from ..snapshot.tool import NoTool
from ..types import EtcdError, from_hex, to_hex

STARTED, SUCCEEDED, FAILED, SETTLED = "Started", "Succeeded", "Failed", "Settled"
# Of the data's size: the copy and the snapshot, with room for what etcd writes meanwhile.
_SPACE_FACTOR = 2.2
_SPACE_BYTES = 64 * 1024 * 1024
_POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Bounds:
    """Time limits in seconds, one for each thing waited for.

    ``kubelet`` is the seconds after which the kubelet is restarted to forget its back-off; ``ending`` those after which a process whose
    manifest went, or was changed, is ended here: its pod's time for ending, and some more.
    """

    stop: float = 180.0
    start: float = 300.0
    api: float = 240.0
    kubelet: float = 20.0
    ending: float = 40.0


@dataclass
class Recovery:
    """Recovery of this machine's etcd, with its record.

    ``runner`` runs systemctl.
    """

    places: Places = field(default_factory=Places)
    bounds: Bounds = field(default_factory=Bounds)
    runner: systemd_units.Runner = systemd_units.run

    def read(self) -> dict[str, t.Any]:
        """Return the record, {} without one.

        Raises NodeError where it can't be read.
        """
        try:
            with open(self.places.record, encoding="utf-8") as file:
                record = json.load(file)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise NodeError(
                f"{self.places.record} can't be read: {error}.", "Look at it before anything else."
            ) from error
        return record if isinstance(record, dict) else {}

    def write(self, record: t.Mapping[str, t.Any]) -> None:
        """Write the record to its file."""
        text = json.dumps(record, indent=2, sort_keys=True) + "\n"
        guard.write_atomically(self.places.record, text.encode(), 0o600)

    def perform(self) -> dict[str, t.Any]:
        """Carry out a started recovery's missing steps; return the record afterwards."""
        record = self.read()
        if record.get("state") != STARTED:
            return record
        try:
            for stage, step in self._steps():
                if stage not in record["done"]:
                    record["stage"] = stage
                    self.write(record)
                    step(record)
                    record["done"] = [*record["done"], stage]
                    self.write(record)
        except (NodeError, EtcdError, Unreachable, NoTool, OSError) as error:
            self._fail(record, f"at {record['stage']}: {error}")
            return record
        record.update(state=SUCCEEDED, stage="done", finishedAt=now_rfc3339())
        self.write(record)
        return record

    def _steps(self) -> tuple[tuple[str, t.Callable[[dict[str, t.Any]], None]], ...]:
        """Return the stages in their order.

        Each can be done again.
        """
        return (
            ("stop", self._stop),
            ("copy", self._copy),
            ("force", self._force),
            ("restore", self._restore),
            ("api", self._api),
        )

    def _fail(self, record: dict[str, t.Any], message: str) -> None:
        # Where this fails too, the record still says Started: the next call goes on from here.
        self._put_back(record)
        record.update(state=FAILED, message=message, finishedAt=now_rfc3339())
        self.write(record)

    def _stop(self, record: dict[str, t.Any]) -> None:
        kept = self._kept(record)
        manifest = guard.read_text(self.places.manifest)
        if manifest and not flagged(manifest):
            with open(self.places.manifest, "rb") as file:
                guard.write_atomically(kept, file.read(), 0o600)
        if not os.path.exists(kept):
            raise NodeError(
                f"{self.places.manifest} is not there, or has {FLAG} already, and no copy of it was kept.",
                "Put etcd's manifest of this machine back; run again.",
            )
        # Without it nothing but the note tells a reset where the data is.
        data_dir.keep_note(self.places.kubernetes, self.places.state)
        self._take_away()
        data = data_dir.etcd_data(guard.read_text(kept))
        database = os.path.join(data, "member", "snap", "db")
        self.wait_for("etcd to stop", lambda: unused(database), self.bounds.stop, ends=lambda: end_etcd(data))

    def _copy(self, record: dict[str, t.Any]) -> None:
        source = os.path.join(data_dir.etcd_data(guard.read_text(self._kept(record))), "member")
        copy = os.path.join(record["folder"], "etcd-data")
        partial = f"{copy}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        with contextlib.ExitStack() as held:
            # A kubelet that sees late that the manifest is gone starts etcd once more: it waits for this lock before it writes anything.
            database = os.path.join(source, "snap", "db")
            self.wait_for("etcd to stay stopped", lambda: _held(database, held), self.bounds.stop)
            shutil.copytree(source, os.path.join(partial, "member"))
        os.chmod(partial, 0o700)
        record["snapshot"] = make_snapshot(
            os.path.join(partial, "member", "snap", "db"), os.path.join(record["folder"], "snapshot.db")
        )
        os.sync()
        shutil.rmtree(copy, ignore_errors=True)
        os.rename(partial, copy)
        record["dataCopy"] = copy

    def _force(self, record: dict[str, t.Any]) -> None:
        self._put(with_flag(guard.read_text(self._kept(record)) + "\n").encode())
        self.wait_for("etcd to be its only member", lambda: self._alone(record), self.bounds.start, restarts=True)

    def _restore(self, record: dict[str, t.Any]) -> None:
        self._put_back(record)
        data = data_dir.etcd_data(guard.read_text(self._kept(record)))

        def works() -> bool:
            if any(FLAG in words and f"--data-dir={data}" in words for words in map(_words, _pids())):
                self._last = f"etcd still runs with {FLAG}"
                return False
            return self._alone(record)

        self.wait_for(
            f"etcd to work without {FLAG}", works, self.bounds.start, restarts=True, ends=lambda: end_etcd(data, FLAG)
        )

    def _api(self, record: dict[str, t.Any]) -> None:
        server = own_server(self.places.manifests)
        if server is None:
            return

        def ready() -> bool:
            try:
                with ApiClient(read_access(self.places.kubeconfig), server) as client:
                    return client.send("GET", "/readyz").status == 200
            except (NodeError, Unreachable) as error:
                self._last = str(error)
                return False

        try:
            self.wait_for("the API server", ready, self.bounds.api, restarts=True)
        except NodeError as error:
            # etcd is well: what is wrong with the API server now has nothing to do with this.
            record["message"] = str(error)

    def _alone(self, record: dict[str, t.Any]) -> bool:
        try:
            with Gateway(self.places.etcd_url, self.places.credentials) as gateway:
                status, listed = gateway.status(), gateway.member_list()
                gateway.linearizable_read()
        except (EtcdError, Unreachable) as error:
            self._last = str(error)
            return False
        own = from_hex(record["ownID"])
        if status.member_id != own or (record["clusterID"] and to_hex(status.cluster_id) != record["clusterID"]):
            raise NodeError(
                f"etcd answers as member {to_hex(status.member_id)} of cluster {to_hex(status.cluster_id)}.",
                "Look which etcd was started here, and put back this machine's; run again.",
            )
        self._last = f"members: {', '.join(member.hex_id for member in listed.members)}"
        return [member.id for member in listed.members] == [own] and status.leader == own

    def _kept(self, record: t.Mapping[str, t.Any]) -> str:
        return os.path.join(str(record["folder"]), "etcd.yaml")

    def _put_back(self, record: t.Mapping[str, t.Any]) -> None:
        kept = self._kept(record)
        if os.path.exists(kept):
            with open(kept, "rb") as file:
                self._put(file.read())

    def _put(self, content: bytes, name: str = "etcd.yaml") -> None:
        # The kubelet takes whatever appears in its folder for a manifest: it is made whole beside it, and then appears.
        partial = os.path.join(self.places.kubernetes, f".{name}.kubeadm-control-plane")
        guard.write_atomically(partial, content, 0o600)
        os.rename(partial, os.path.join(self.places.manifests, name))
        guard.sync_directory(self.places.manifests)

    def _take_away(self) -> None:
        if os.path.exists(self.places.manifest):
            os.unlink(self.places.manifest)
            guard.sync_directory(self.places.manifests)

    def wait_for(
        self,
        what: str,
        condition: t.Callable[[], bool],
        seconds: float,
        *,
        restarts: bool = False,
        ends: t.Optional[t.Callable[[], None]] = None,
    ) -> None:
        """Wait until a condition holds, at most ``seconds``.

        ``restarts``: after a while the kubelet is restarted, which forgets its back-off. ``ends`` ends, after a while, what a kubelet that has
        not heard from an API server since it was started ends never (docs/reference/kubeadm.md, "Certificates").

        Raises:
            NodeError: it did not come in time.
        """
        self._last = ""
        begun = time.monotonic()
        restarted = not restarts
        while not condition():
            waited = time.monotonic() - begun
            if waited >= seconds:
                said = f" ({self._last})" if self._last else ""
                fix = "Look at its container on this machine (crictl ps -a, crictl logs); run again."
                raise NodeError(f"waited {waited:.0f} s in vain for {what}{said}.", fix)
            if not restarted and waited >= self.bounds.kubelet:
                restarted = True
                if self.places.kubelet:
                    # Nothing hangs on its success: the kubelet comes to it by itself, only later.
                    with contextlib.suppress(NodeError):
                        self.runner(["systemctl", "restart", self.places.kubelet])
            if ends is not None and waited >= self.bounds.ending:
                ends()
                ends = None
            time.sleep(_POLL_SECONDS)


def make_snapshot(data: str, path: str) -> dict[str, t.Any]:
    """Write a copied database as an etcd snapshot.

    That is the database with its hash behind it. Returns path, bytes and sha256.
    """
    digest = hashlib.sha256()
    with open(data, "rb") as source, open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        for chunk in iter(lambda: source.read(1 << 20), b""):
            digest.update(chunk)
            file.write(chunk)
        file.write(digest.digest())
        file.flush()
        os.fsync(file.fileno())
        size = file.tell()
    return {"path": path, "bytes": size, "sha256": digest.hexdigest()}


def space_needed(data: str) -> int:
    """Return the bytes that a data folder's snapshot and copy need."""
    size = 0
    for folder, _folders, files in os.walk(data):
        for name in files:
            # An etcd that works meanwhile renames files of its log.
            with contextlib.suppress(FileNotFoundError):
                size += os.lstat(os.path.join(folder, name)).st_size
    return int(size * _SPACE_FACTOR) + _SPACE_BYTES


def stamp(moment: str) -> str:
    """Return a time of :func:`now_rfc3339` as part of a file's name."""
    return moment.replace(":", "").replace("-", "")


def perform(places: str) -> None:
    """Carry out the recovery that was started.

    This is what the unit runs. ``places`` is :meth:`Places.text`.
    """
    fields = json.loads(places)
    if fields["credentials"] is not None:
        fields["credentials"] = Credentials(**fields["credentials"])
    Recovery(Places(**fields)).perform()


def unused(database: str) -> bool:
    """Return whether no etcd has its database open.

    bbolt holds a lock on an open one.
    """
    with contextlib.ExitStack() as held:
        return _held(database, held)


def _held(database: str, held: contextlib.ExitStack) -> bool:
    """Take bbolt's lock of a database until ``held`` ends.

    Returns False where an etcd has it.
    """
    try:
        descriptor = os.open(database, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return False
    held.callback(os.close, descriptor)
    return True


def _words(pid: str) -> list[str]:
    """Return a process's command line, empty where it can't be read."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
        return [word.decode(errors="replace") for word in file.read().split(b"\0")]
    return []


def _pids() -> t.Iterator[str]:
    return filter(str.isdigit, os.listdir("/proc"))


def end_etcd(data: str, *flags: str) -> None:
    """End the etcd of a data folder that has these flags."""
    end_program("etcd", f"--data-dir={data}", *flags)


def end_program(name: str, *flags: str) -> None:
    """Send SIGTERM to a program's processes with all of these flags."""

    def meant(pid: str) -> bool:
        words = _words(pid)
        return bool(words) and os.path.basename(words[0]) == name and set(flags) <= set(words)

    for pid in _pids():
        guard.end_process(int(pid), functools.partial(meant, pid))
