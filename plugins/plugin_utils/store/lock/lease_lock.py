# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lock of a cluster in a Kubernetes store: a Lease (docs/store.md, "The lock").

It is taken and released by compare-and-swap.

``spec.holderIdentity`` names the run that holds it, empty is free; ``spec.leaseTransitions`` is the fencing number, which only ever
grows; an annotation describes the holder as the file store's lock does. A helper process moves ``spec.renewTime`` every two seconds as
long as the run lives. A waiter takes a Lease that stands still for ``settings.LEASE_SECONDS`` on its own clock for a dead run's: times in it are
never compared with any clock.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import typing as t
from dataclasses import replace

from ....module_utils.common import settings
from ....module_utils.common.redact import redact
from ....module_utils.common.values import now_microtime
from ...processes import identity
from ...processes.failpoints import around
from ...processes.identity import Process
from .. import base
from ..kubernetes.requests import FIELD_MANAGER, KubernetesApi
from . import file_lock, marks
from .any_store import Locks, OnWait, Taken

OBSERVE_POLL_SECONDS = 1.0
ATTEMPTS = 20
HOLDER_ANNOTATION = "kubeadm.control-plane/holder"
SUFFIX = "control-plane-lock"

Document = dict[str, t.Any]


class LeaseLocks(Locks):
    """Locks of the clusters of a Kubernetes store.

    Args:
        api: the store's API.
        options: the connection options that it was made with; the helper process makes its own connection from them.
        observe_seconds: how long a Lease must stand still.
        owner: the inventory host of the run that takes them.
    """

    def __init__(
        self,
        api: KubernetesApi,
        options: t.Mapping[str, t.Any],
        observe_seconds: float = settings.LEASE_SECONDS,
        owner: str = "",
    ) -> None:
        self._owner = owner
        self._api = api
        self._options = dict(options)
        self._observe_seconds = observe_seconds

    def take(
        self, namespace: str, cluster: str, on_wait: OnWait | None = None, holder: file_lock.Holder | None = None
    ) -> Taken:
        """Take the lock of a cluster, or raise :class:`in_files.Held` at once."""
        mine = holder or file_lock.this_holder(owner=self._owner)
        where = lease_path(namespace, cluster)
        for _attempt in range(ATTEMPTS):
            lease = self._read(where)
            held_by = holder_of(lease)
            if held_by is not None:
                if held_by.owner == mine.owner and held_by.is_process(Process(mine.pid, mine.start_time)):
                    taken = Taken(fencing_of(lease), held_by.run)
                    self._start_renewing(where, taken, mine)
                    return taken
                if not self._is_dead(where, t.cast(Document, lease), held_by, on_wait):
                    raise file_lock.held(where, namespace, cluster, held_by)
                # It may have moved while it was watched; the version that stood still is what is swapped.
            taken = Taken(fencing_of(lease) + 1, mine.run)
            with around("lock take"):
                stored = self._write(namespace, cluster, lease, taken.run, taken.fencing, mine)
            if stored is not None:
                try:
                    self._start_renewing(where, taken, mine)
                except base.StoreError:
                    self._release(where, taken)
                    raise
                return taken
        raise file_lock.LockError(
            f"the lock of cluster {namespace}/{cluster} could not be taken",
            where,
            f"other runs were faster {ATTEMPTS} times in a row",
            "Nothing was changed. Run again.",
        )

    def release_own(self, namespace: str, cluster: str) -> bool:
        """Release the lock if this run holds it; return whether it did."""
        taken = self.own(namespace, cluster)
        return self._release(lease_path(namespace, cluster), taken) if taken else False

    def own(self, namespace: str, cluster: str) -> Taken | None:
        """Return the lock that this run holds on the cluster, or None."""
        lease = self._read(lease_path(namespace, cluster))
        held_by = holder_of(lease)
        if held_by is None or held_by.owner != self._owner or not held_by.is_process(identity.find_run_process()):
            return None
        return Taken(fencing_of(lease), held_by.run)

    def check(self, namespace: str, cluster: str, fencing: int) -> int:
        """Compare the fencing number with the Lease's and return the Lease's."""
        return _checked(self._read(lease_path(namespace, cluster)), namespace, cluster, fencing)

    def holder(self, namespace: str, cluster: str) -> file_lock.Holder | None:
        """Return the lock's holder, dead or alive, None where it is free."""
        return holder_of(self._read(lease_path(namespace, cluster)))

    def raise_above(self, namespace: str, cluster: str, number: int) -> Taken:
        """Raise the fencing number of this run's Lease above ``number``."""
        where = lease_path(namespace, cluster)
        for _attempt in range(ATTEMPTS):
            lease = self._read(where)
            holder, taken = holder_of(lease), self.own(namespace, cluster)
            if lease is None or holder is None or taken is None:
                break
            if taken.fencing > number:
                # It may have been raised by a request of this whose answer was lost; where there is a helper, it stays the only one.
                self._start_renewing(where, taken, holder)
                return taken
            holder = replace(holder, first=taken.fencing if holder.first is None else holder.first)
            with around("lock take"):
                swapped = self._swap(where, lease, taken.run, number + 1, holder)
            if swapped is not None:
                self._start_renewing(where, Taken(number + 1, taken.run), holder)
                return Taken(number + 1, taken.run)
        self.check(namespace, cluster, -1)
        raise file_lock.LockError(
            "the lock's number could not be raised", where, "another run was faster", "Run again."
        )

    def mark(self, namespace: str, cluster: str) -> marks.Mark | None:
        """Return the mark from the Lease's annotation."""
        lease = self._read(lease_path(namespace, cluster))
        return marks.parse((((lease or {}).get("metadata") or {}).get("annotations") or {}).get(marks.ANNOTATION))

    def set_mark(self, namespace: str, cluster: str, mark: marks.Mark | None, fencing: int | None = None) -> None:
        """Write or remove the mark in the Lease's annotation.

        The Lease that is compared is the one that is swapped.
        """
        where = lease_path(namespace, cluster)
        for _attempt in range(ATTEMPTS):
            lease = self._read(where)
            if fencing is not None:
                _checked(lease, namespace, cluster, fencing)
            if lease is None:
                break
            metadata = {key: value for key, value in lease["metadata"].items() if key != "managedFields"}
            annotations = {**(metadata.get("annotations") or {})}
            annotations.pop(marks.ANNOTATION, None)
            if mark is not None:
                annotations[marks.ANNOTATION] = mark.text()
            marked = {**lease, "metadata": {**metadata, "annotations": annotations}}
            with around("lock mark"):
                answer = self._api.send("update", where, marked, {"fieldManager": FIELD_MANAGER}, accepted=(404, 409))
            if answer.status == 200:
                return
        raise file_lock.LockError(
            "the lock could not be marked", where, "another run was faster, or its Lease is gone", "Run again."
        )

    def place(self, namespace: str, cluster: str) -> str:
        """Return the URL of the Lease."""
        return f"{self._api.host}{lease_path(namespace, cluster)}"

    def _read(self, where: str) -> Document | None:
        answer = self._api.send("get", where, accepted=(404,))
        return answer.document if answer.status == 200 else None

    def _release(self, where: str, taken: Taken) -> bool:
        for _attempt in range(ATTEMPTS):
            lease = self._read(where)
            if lease is None or holder_of(lease) is None or fencing_of(lease) != taken.fencing:
                return False
            with around("lock release"):
                if self._swap(where, lease, "", taken.fencing, None):
                    return True
        return False

    def _write(
        self, namespace: str, cluster: str, lease: Document | None, run: str, fencing: int, holder: file_lock.Holder
    ) -> Document | None:
        where = lease_path(namespace, cluster)
        if lease is not None:
            return self._swap(where, lease, run, fencing, holder)
        new = _lease({"name": lease_name(cluster), "namespace": namespace}, run, fencing, holder)
        new["metadata"]["labels"] = {"cluster.x-k8s.io/cluster-name": cluster}
        parent = where.rpartition("/")[0]
        answer = self._api.send("create", parent, new, {"fieldManager": FIELD_MANAGER}, accepted=(409,))
        return answer.document if answer.status != 409 else None

    def _swap(
        self, where: str, lease: Document, run: str, fencing: int, holder: file_lock.Holder | None
    ) -> Document | None:
        kept = {key: value for key, value in lease["metadata"].items() if key != "managedFields"}
        answer = self._api.send(
            "update", where, _lease(kept, run, fencing, holder), {"fieldManager": FIELD_MANAGER}, accepted=(404, 409)
        )
        return answer.document if answer.status == 200 else None

    def _is_dead(self, where: str, lease: Document, holder: file_lock.Holder, on_wait: OnWait | None) -> bool:
        alive = holder.is_seen_alive()
        if alive is not None:
            return not alive
        if on_wait:
            seconds = f"{self._observe_seconds:.0f} s"
            on_wait(f"the lock is held by {holder.text()}; watching {seconds} whether that run still lives")
        first = lease["metadata"]["resourceVersion"]
        watched, last = 0.0, time.monotonic()
        while watched < self._observe_seconds:
            time.sleep(min(OBSERVE_POLL_SECONDS, self._observe_seconds))
            seen = self._read(where)
            if holder_of(seen) is None or fencing_of(seen) != fencing_of(lease):
                return True  # released or taken over meanwhile: the swap that follows tells
            if t.cast(Document, seen)["metadata"]["resourceVersion"] != first:
                return False
            # Time in which this waiter itself was stopped doesn't count: the holder may have been stopped with it.
            now = time.monotonic()
            watched += min(now - last, 2 * OBSERVE_POLL_SECONDS)
            last = now
        return True

    def _start_renewing(self, where: str, taken: Taken, holder: file_lock.Holder) -> None:
        # Not as a file: the folder of a program comes first in its path, and there is a module kubernetes in this one.
        program = f"{__package__}.lease_renewer"
        given = {
            "options": self._options,
            "path": where,
            "run": taken.run,
            "fencing": taken.fencing,
            "pid": holder.pid,
            "start_time": holder.start_time,
            # Paths in options and environment are relative to where the run is.
            "folder": os.getcwd(),
        }
        with tempfile.TemporaryFile() as words:
            code, why = self._start_helper(program, where, given, words)
        if code != 0:
            raise base.StoreError(
                "the helper process that renews the lock could not be started",
                f"{sys.executable} -m {program}",
                why,
                "Without it a long step would look dead to other runs; nothing was changed. Check that Python and free memory.",
            )

    @staticmethod
    def _start_helper(program: str, where: str, given: t.Mapping[str, t.Any], words: t.IO[bytes]) -> tuple[int, str]:
        try:
            # What it is told may hold a token: through its standard input, which no process list shows.
            code = subprocess.run(  # pylint: disable=ansible-bad-function
                [sys.executable, "-m", program, where],
                input=json.dumps(given).encode(),
                stdout=subprocess.DEVNULL,
                # No pipe: the helper goes on, and would keep it open.
                stderr=words,
                close_fds=True,
                start_new_session=True,
                cwd="/",
                env={**os.environ, "PYTHONPATH": os.pathsep.join(_import_paths())},
                timeout=settings.LOCK_START_SECONDS,
                check=False,
            ).returncode
        except (OSError, subprocess.SubprocessError) as error:
            return -1, str(error)
        words.seek(0)
        said = redact(words.read().decode("utf-8", "replace")).split("\n")
        last = next((each.strip() for each in reversed(said) if each.strip()), "")
        return code, f"it ended with {code}{f': {last[:1000]}' if last else ''}"


def lease_name(cluster: str) -> str:
    """Return the name of a cluster's Lease."""
    return f"{cluster}-{SUFFIX}"


def lease_path(namespace: str, cluster: str) -> str:
    """Return the path of a cluster's Lease; both names are checked."""
    base.check_namespace(namespace)
    base.check_name(cluster)
    return f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{lease_name(cluster)}"


def fencing_of(lease: t.Mapping[str, t.Any] | None) -> int:
    """Return a Lease's fencing number; 0 where there is none yet."""
    return int(((lease or {}).get("spec") or {}).get("leaseTransitions") or 0)


def holder_of(lease: t.Mapping[str, t.Any] | None) -> file_lock.Holder | None:
    """Return the holder of a Lease; None where it is free."""
    if not ((lease or {}).get("spec") or {}).get("holderIdentity"):
        return None
    text = ((lease or {})["metadata"].get("annotations") or {}).get(HOLDER_ANNOTATION, "")
    return replace(file_lock.parse_holder(text.encode()), run=str((lease or {})["spec"]["holderIdentity"]))


def _checked(lease: Document | None, namespace: str, cluster: str, fencing: int) -> int:
    held_by, newest = holder_of(lease), fencing_of(lease)
    if not file_lock.holds(held_by, newest, fencing):
        raise file_lock.lost(namespace, cluster, fencing, newest, held_by)
    return newest


def renewed(lease: Document) -> Document:
    """Return a Lease with its ``renewTime`` set to now.

    The holder's helper process writes it so.
    """
    metadata = {key: value for key, value in lease["metadata"].items() if key != "managedFields"}
    return {**lease, "metadata": metadata, "spec": {**lease["spec"], "renewTime": now_microtime()}}


def _lease(metadata: Document, run: str, fencing: int, holder: file_lock.Holder | None) -> Document:
    annotations = dict(metadata.get("annotations") or {})
    annotations.pop(HOLDER_ANNOTATION, None)
    if holder is not None:
        annotations[HOLDER_ANNOTATION] = json.dumps(holder.__dict__, sort_keys=True)
    spec: Document = {
        "holderIdentity": run,
        "leaseTransitions": fencing,
        "leaseDurationSeconds": int(settings.LEASE_SECONDS),
        "renewTime": now_microtime(),
    }
    if holder is not None:
        spec["acquireTime"] = spec["renewTime"]
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {**metadata, "annotations": annotations},
        "spec": spec,
    }


def _import_paths() -> list[str]:
    # Ansible finds collections by a loader of its own, which the helper doesn't have.
    here = os.path.abspath(__file__)
    for _level in range(8):
        here = os.path.dirname(here)
    return [here, *(each for each in sys.path if each)]
