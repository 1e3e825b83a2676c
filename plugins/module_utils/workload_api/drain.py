# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drain of a Node before its machine's removal: cordon, eviction, volume detachment.

Source: docs/reference/cluster_api.md, "Removing a machine".

The state is read from the API again by every call: the unit that runs kubectl only executes the drain. The times from
which the timeouts count are kept in a file, by the Node's UID, so that a rerun continues to count.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
import typing as t
from dataclasses import dataclass, replace
from urllib.parse import quote

from ..common.bounded_yaml import read_json
from ..common.guard import STATE_DIRECTORY, NodeError, exclusive, write_atomically
from ..common.https import Unreachable
from ..common.values import condition_of, format_time, read_moment, shortened
from . import attached_volumes, node_identity
from .api import ApiClient, ApiError
from .drain_unit import UNREACHABLE, DrainUnit

DIRECTORY = f"{STATE_DIRECTORY}/drain"
RUNNING, DRAINED, TIMED_OUT, ABSENT = "Running", "Drained", "TimedOut", "Absent"
_POLL_SECONDS = 0.5
_SHOWN = 5
_NODE_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
# The scheduler may bind a pod before it sees the cordon: neither a look that cordons, nor a kubectl that it starts, tells that a Node is empty.
_EARLY = "early"


@dataclass(frozen=True)
class Wanted:
    """Options of a Node's drain.

    Args:
        timeout, volumes_timeout: seconds for the pods to go, and then for the volumes; 0: no bound.
        started_at, volumes_started_at: when it was started, and the wait for its volumes, where that is known from elsewhere; "" for this
            machine's own record alone.
        unreachable: no kubelet ends the pods: those that are asked to end count as gone, and no volume is waited for. None: as the Node reports.
        skip_drain: leave the Node and its pods unchanged.
        wait_for_volumes: whether volumes must be detached that no pod uses which stays on the Node.
    """

    timeout: int = 0
    volumes_timeout: int = 0
    started_at: str = ""
    volumes_started_at: str = ""
    unreachable: t.Optional[bool] = None
    skip_drain: bool = False
    wait_for_volumes: bool = True


@dataclass(frozen=True)
class Report:
    """Progress of a drain.

    ``state`` is Running, Drained, TimedOut or Absent; ``pods`` and ``volumes`` are those still there. ``volumes_started_at`` is "" until
    the volumes are waited for. ``uid`` is the Node's.
    """

    state: str
    message: str
    changed: bool = False
    pods: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    started_at: str = ""
    volumes_started_at: str = ""
    uid: str = ""


class Drain:
    """Drain of a Node, requested on another machine.

    Args:
        name: the Node.
        api: this machine's own API server.
        unit: runs kubectl.
        directory: where the times are kept.
        now: seconds since 1970.
        identity: whose Node it is; one that is another's counts as absent (node_identity.py).
    """

    def __init__(
        self,
        name: str,
        api: ApiClient,
        unit: DrainUnit,
        directory: str = DIRECTORY,
        now: t.Callable[[], float] = time.time,
        identity: t.Optional[t.Mapping[str, t.Any]] = None,
    ) -> None:
        if not _NODE_NAME.fullmatch(name):
            raise NodeError(f"{name!r} is no Node's name.", "Give lower-case letters, digits, '-' and '.'.")
        self._name = name
        self._api = api
        self._unit = unit
        self._directory = directory
        self._now = now
        self._identity = identity
        self._foreign = ""

    def run(self, wanted: Wanted, wait: float, before_change: t.Callable[[], None] = lambda: None) -> Report:
        """Start or resume the drain and return its progress.

        It waits until the Node is empty or a timeout has passed, for at most ``wait`` seconds.

        Raises:
            NodeError, ApiError, Unreachable: the Node could not be observed, or the drain not be started.
        """
        deadline = time.monotonic() + wait
        report = self._advance(wanted, before_change)
        changed = report.changed
        while report.state == RUNNING and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
            # The API server of this machine may restart meanwhile: the next call tells if it stays away.
            with contextlib.suppress(ApiError, Unreachable):
                report = self._advance(wanted, before_change)
                changed = changed or report.changed
        with contextlib.suppress(ApiError, Unreachable):
            node = self._node()
            wanted = wanted if node is None else _resolved(wanted, node)
        return replace(self._explained(report, wanted), changed=changed)

    def look(self, wanted: Wanted) -> Report:
        """Return what the drain by :meth:`run` would do, without changes.

        ``changed`` is True where it would change something.
        """
        node = self._node()
        if node is None:
            return self._absent()
        wanted = _resolved(wanted, node)
        pods = [] if wanted.skip_drain else self._pods(wanted)
        volumes = self._volumes(wanted)
        cordon = not wanted.skip_drain and not _unschedulable(node)
        steps = ["be cordoned"] if cordon else []
        titles = tuple(map(_title, pods))
        if titles:
            steps.append(f"lose the pods {self._why(titles, wanted)}")
        if volumes:
            steps.append(f"be waited for until the volumes {shortened(volumes, _SHOWN)} are detached")
        state = RUNNING if pods or volumes else DRAINED
        message = f"Node {self._name} would {', '.join(steps)}" if steps else self._done(wanted)
        return Report(state, message, cordon or bool(pods), titles, tuple(volumes))

    def cancel(self, *, check: bool, before_change: t.Callable[[], None] = lambda: None) -> Report:
        """Cancel the drain and make the Node schedulable again."""
        node = self._node()
        needed = node is not None and _unschedulable(node)
        if check:
            changed = needed or self._unit.running()
        else:
            before_change()
            with exclusive(self._directory):
                changed = self._forget() or needed
                if needed:
                    self._cordon(on=False)
        if node is None:
            return replace(self._absent(), changed=changed)
        return Report(ABSENT, f"Node {self._name} is schedulable; nothing drains it", changed)

    def _advance(self, wanted: Wanted, before_change: t.Callable[[], None]) -> Report:
        node = self._node()
        if node is None:
            with exclusive(self._directory):
                self._forget()
            return self._absent()
        wanted = _resolved(wanted, node)
        with exclusive(self._directory):
            cordoned = _unschedulable(node)
            record = self._read(node, cordoned)
            pods = [] if wanted.skip_drain else self._pods(wanted)
            if pods and record.get("ended"):
                # It was drained once, and used again since: what was true then says nothing of these pods.
                record = self._new(node)
            if record.get("silent") is not wanted.unreachable:
                # A kubelet that reports again gives the pods their own time: neither what drains a silent one's Node, nor its success, is for this one.
                record.pop("unit", None)
            over, changed = wanted.skip_drain, False
            late = self._late(record["startedAt"], wanted.timeout, wanted.started_at)
            if not over:
                drained = cordoned and (not pods or (record.get("unit") == "started" and self._unit.succeeded()))
                if not drained and not late:
                    before_change()
                    changed = self._work(record, wanted, cordoned, bool(pods))
                over = drained or late
                if drained:
                    pods = []
            volumes: list[str] = []
            volumes_late, volumes_begun = False, ""
            if over:
                self._unit.stop()
                record.setdefault("volumesSince", self._now())
                volumes = self._volumes(wanted)
                since, elsewhere = record["volumesSince"], wanted.volumes_started_at
                volumes_late = self._late(since, wanted.volumes_timeout, elsewhere)
                volumes_begun = format_time(since) if wanted.wait_for_volumes else ""
            waits = not over or (bool(volumes) and not volumes_late)
            state = RUNNING if waits else TIMED_OUT if pods or volumes else DRAINED
            if state == DRAINED and not wanted.skip_drain:
                record["ended"] = True
            self._write(record)
        begun = format_time(record["startedAt"])
        uid = str(node["metadata"].get("uid") or "")
        return Report(state, "", changed, tuple(map(_title, pods)), tuple(volumes), begun, volumes_begun, uid)

    def _work(self, record: dict[str, t.Any], wanted: Wanted, cordoned: bool, pods: bool) -> bool:
        changed = False
        if not cordoned:
            self._cordon(on=True)
            changed = True
        record["cordoned"] = True
        if pods and not ("unit" in record and self._unit.running()):
            seconds = None
            if wanted.timeout:
                seconds = int(wanted.timeout - (self._now() - self._begun(record["startedAt"], wanted.started_at))) + 1
            self._unit.start(seconds=seconds, unreachable=bool(wanted.unreachable))
            record.update(unit="started" if cordoned else _EARLY, silent=wanted.unreachable)
            changed = True
        return changed

    def _cordon(self, *, on: bool) -> None:
        path = f"/api/v1/nodes/{quote(self._name)}"
        # As kubectl cordon does it, whose start takes longer than the rest of the drain of an empty Node.
        change = {"spec": {"unschedulable": True if on else None}}
        self._api.checked(self._api.send("PATCH", path, change, "application/merge-patch+json"), path)

    def _begun(self, recorded: float, started_at: str) -> float:
        if not started_at:
            return recorded
        try:
            return min(recorded, read_moment(started_at).timestamp())
        except ValueError as error:
            raise NodeError(
                f"the start {started_at!r} is no time.", "Give one such as 2026-07-03T14:15:02Z."
            ) from error

    def _late(self, since: float, bound: int, started_at: str = "") -> bool:
        return bound > 0 and self._now() - self._begun(since, started_at) >= bound

    def _explained(self, report: Report, wanted: Wanted) -> Report:
        if report.state == ABSENT:
            return report
        waiting = []
        if report.pods:
            waiting.append(f"pods {self._why(report.pods, wanted)}")
        if report.volumes:
            waiting.append(f"volumes {shortened([f'{each} (still attached)' for each in report.volumes], _SHOWN)}")
        if not waiting:
            begun = f"Node {self._name} has just been cordoned, and is checked again"
            return replace(report, message=begun if report.state == RUNNING else self._done(wanted))
        words = "; ".join(waiting)
        if report.state == TIMED_OUT:
            bounds = f"timeout {wanted.timeout} s, volumes_timeout {wanted.volumes_timeout} s"
            return replace(report, message=f"Node {self._name} was not empty in time ({bounds}): {words}")
        failure = self._unit.last_words() if report.pods else ""
        text = f"Node {self._name} waits for {words}" + (f"; kubectl said: {failure}" if failure else "")
        return replace(report, message=text)

    def _done(self, wanted: Wanted) -> str:
        done = "was to be left as it is" if wanted.skip_drain else "is cordoned and drained"
        if wanted.unreachable and not wanted.skip_drain:
            done = "is cordoned; its kubelet is silent, so its pods were asked to end, and were not waited for"
        detached = ""
        if wanted.wait_for_volumes:
            detached = "; its volumes are not waited for" if wanted.unreachable else "; no volume is waited for"
        return f"Node {self._name} {done}{detached}"

    def _why(self, pods: t.Sequence[str], wanted: Wanted) -> str:
        """Return the pods' names with the API's answers to dry-run evictions."""
        answers = []
        try:
            version = self._eviction_version()
            ending = {_title(pod): bool(pod["metadata"].get("deletionTimestamp")) for pod in self._pods(wanted)}
            for title in pods[:_SHOWN]:
                if ending.get(title):
                    answers.append(f"{title} (is ending)")
                else:
                    reason = self._try_eviction(title, version)
                    answers.append(f"{title} ({reason})" if reason else title)
        except (ApiError, Unreachable):
            answers = list(pods[:_SHOWN])
        return shortened([*answers, *pods[_SHOWN:]], _SHOWN)

    def _try_eviction(self, title: str, version: str) -> str:
        namespace, _slash, name = title.partition("/")
        eviction = {
            "apiVersion": version,
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": namespace},
            "deleteOptions": {"dryRun": ["All"]},
        }
        answer = self._api.send("POST", f"/api/v1/namespaces/{quote(namespace)}/pods/{quote(name)}/eviction", eviction)
        if answer.status < 400 or answer.status == 404:
            return ""
        try:
            status = read_json(answer.body)
            causes = [str(cause.get("message", "")) for cause in (status.get("details") or {}).get("causes") or []]
            return " ".join(text for text in [str(status.get("message", "")), *causes] if text)
        except (ValueError, AttributeError):
            return f"HTTP {answer.status}"

    def _eviction_version(self) -> str:
        resources = (self._api.get("/api/v1") or {}).get("resources") or []
        found: dict[str, t.Any] = next((each for each in resources if each.get("name") == "pods/eviction"), {})
        return f"{found.get('group') or 'policy'}/{found.get('version') or 'v1'}"

    def _node(self) -> t.Optional[dict[str, t.Any]]:
        found = self._api.get(f"/api/v1/nodes/{quote(self._name)}")
        self._foreign = node_identity.foreign(found, self._identity) if found is not None else ""
        return None if self._foreign else found

    def _pods(self, wanted: Wanted) -> list[dict[str, t.Any]]:
        """Return the pods that must leave the Node, as kubectl selects them.

        Left out are static pods, pods of a DaemonSet, and those that have finished.
        """
        found = self._api.list("/api/v1/pods", fields=f"spec.nodeName={self._name}")
        left = [pod for pod in found if _has_to_go(pod)]
        if wanted.unreachable:
            left = [pod for pod in left if not pod["metadata"].get("deletionTimestamp")]
        return sorted(left, key=_title)

    def _volumes(self, wanted: Wanted) -> list[str]:
        # A silent kubelet unmounts nothing, so that they stay attached: as in Cluster API, that must not hold the machine's end.
        if not wanted.wait_for_volumes or wanted.unreachable:
            return []
        return attached_volumes.awaited(self._api, self._name)

    def _absent(self) -> Report:
        return Report(ABSENT, self._foreign or f"Node {self._name} does not exist")

    @property
    def _path(self) -> str:
        return os.path.join(self._directory, f"{self._unit.name}.json")

    def _read(self, node: t.Mapping[str, t.Any], cordoned: bool) -> dict[str, t.Any]:
        uid = node["metadata"]["uid"]
        try:
            with open(self._path, encoding="utf-8") as file:
                record = json.load(file)
            known = record["uid"] == uid and isinstance(record["startedAt"], (int, float))
            # Somebody took an earlier drain back by hand.
            if known and (cordoned or not record.get("cordoned")):
                return dict(record)
        except (OSError, ValueError, KeyError, TypeError):
            pass
        # A new Node of an old name begins anew, too.
        return self._new(node)

    def _new(self, node: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        return {"node": self._name, "uid": node["metadata"]["uid"], "startedAt": self._now()}

    def _write(self, record: t.Mapping[str, t.Any]) -> None:
        text = json.dumps(record, indent=2, sort_keys=True) + "\n"
        with contextlib.suppress(OSError), open(self._path, encoding="utf-8") as file:
            if file.read() == text:
                return
        write_atomically(self._path, text.encode(), 0o600)

    def _forget(self) -> bool:
        running = self._unit.stop()
        self._unit.forget()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)
        return running


def _resolved(wanted: Wanted, node: t.Mapping[str, t.Any]) -> Wanted:
    if wanted.unreachable is not None:
        return wanted
    taints = (node.get("spec") or {}).get("taints") or []
    # The node lifecycle controller says so in both places when the kubelet's lease is no longer renewed.
    silent = condition_of(node, "Ready").get("status") == "Unknown"
    return replace(wanted, unreachable=silent or any(each.get("key") == UNREACHABLE for each in taints))


def _unschedulable(node: t.Mapping[str, t.Any]) -> bool:
    return bool((node.get("spec") or {}).get("unschedulable"))


def _has_to_go(pod: t.Mapping[str, t.Any]) -> bool:
    return not attached_volumes.stays(pod) and (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")


def _title(pod: t.Mapping[str, t.Any]) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
