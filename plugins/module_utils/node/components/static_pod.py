# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restart of a static pod of kubeadm's, by moving its manifest.

The manifest is moved out, the process is awaited, and the manifest is moved back.

Source: docs/reference/kubeadm.md, "Certificates".

Nothing waits for a fixed time: the kubelet watches the folder, and the kernel tells when the old process has ended and a new one is
there. No API is needed. What was begun is noted first, so that a call that is killed anywhere is completed by the next one.
"""

from __future__ import annotations

import json
import os
import re
import ssl
import time
import typing as t
from dataclasses import dataclass, field

from ...common import guard, settings, systemd_units
from ...common.guard import NodeError
from ...common.https import HttpClient, Unreachable
from ...common.kubernetes_facts import DEFAULT_BIND_PORT
from ...common.quorum import figures
from ...common.redact import redact
from ...etcd.gateway import Credentials, Gateway, kubeadm_credentials
from ...etcd.membership import member_states
from ...etcd.types import LOCAL_MEMBER, EtcdError
from ...etcd.view import members_view
from ...workload_api.api import own_server
from . import pod_processes

COMPONENTS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
_OUT, _IN, _DONE = "out", "in", "done"
_POLL_SECONDS = 0.1
_QUORUM_POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Places:
    """Paths on a control plane node; tests use other ones.

    ``kubelet`` is its unit, "" for none.
    """

    kubernetes: str = "/etc/kubernetes"
    state: str = os.path.join(guard.STATE_DIRECTORY, "static-pods")
    proc: str = "/proc"
    pod_logs: str = "/var/log/pods"
    etcd_url: str = LOCAL_MEMBER
    credentials: t.Optional[Credentials] = field(default_factory=kubeadm_credentials)
    kubelet: str = "kubelet"

    @property
    def manifests(self) -> str:
        """The kubelet's folder of static pods."""
        return os.path.join(self.kubernetes, "manifests")

    @property
    def parked(self) -> str:
        """Folder of a manifest that is moved out.

        It is on the same file system, so that moving is one step.
        """
        return os.path.join(self.kubernetes, guard.PARKED_MANIFESTS)


@dataclass(frozen=True)
class Restart:
    """Result of a restart: whether it was done, and a message."""

    changed: bool
    message: str


@dataclass(frozen=True)
class StaticPod:
    """One of this machine's static pods.

    Args:
        component: one of COMPONENTS.
        places: where things are.
        runner: runs systemctl.
    """

    component: str
    places: Places = field(default_factory=Places)
    runner: systemd_units.Runner = systemd_units.run

    @property
    def manifest(self) -> str:
        """The pod's manifest where the kubelet reads it."""
        return os.path.join(self.places.manifests, f"{self.component}.yaml")

    def restart(
        self,
        *,
        once: str = "",
        seconds: float = 300.0,
        force: bool = False,
        healthy: bool = True,
        check: bool = False,
        before_change: t.Callable[[], None] = lambda: None,
    ) -> Restart:
        """Restart the static pod, and wait for its new process.

        With ``healthy``, the process has to answer that it is healthy.

        Args:
            once: names the request: one that was carried out already is not carried out again. "" restarts always.
            seconds: how long all of it may take.
            force: also where etcd would lose its quorum, or where that is unknown.
            healthy: whether to wait for its health; without it, only for its process.
            check: change nothing.
            before_change: called before anything is changed, to prove that the caller still may.

        Raises:
            NodeError: it is no static pod here, quorum is in danger, or it did not end or start in time.
        """
        if check:
            return self._restart(once, seconds, force, healthy, True, before_change)
        os.makedirs(self.places.state, mode=0o700, exist_ok=True)
        with guard.exclusive(self.places.state):
            return self._restart(once, seconds, force, healthy, False, before_change)

    def unhealthy(self) -> str:
        """Return the reason why the component is unhealthy, "" for none.

        It is asked on its own ports. Where it serves none, a process is enough.
        """
        if self.component == "etcd":
            return self._etcd()
        text = guard.read_text(self.manifest)
        found = re.search(r"--secure-port=(\d+)", text)
        port = int(found.group(1)) if found else settings.HEALTH_PORTS.get(self.component, DEFAULT_BIND_PORT)
        if port == 0:
            return ""
        if self.component == "kube-apiserver":
            return _answer(own_server(self.places.manifests) or f"https://127.0.0.1:{port}", "/readyz")
        bound = re.search(r"--bind-address=([^\s\"']+)", text)
        host = bound.group(1) if bound and bound.group(1) not in ("0.0.0.0", "::") else "127.0.0.1"
        return _answer(f"https://{f'[{host}]' if ':' in host else host}:{port}", "/healthz")

    def _restart(
        self,
        once: str,
        seconds: float,
        force: bool,
        healthy: bool,
        check: bool,
        before_change: t.Callable[[], None],
    ) -> Restart:
        parked = os.path.join(self.places.parked, f"{self.component}.yaml")
        if not os.path.exists(self.manifest) and not os.path.exists(parked):
            raise NodeError(
                f"{self.manifest} is not there: {self.component} is no static pod of this machine.",
                "Nothing was done. Name a control plane node of kubeadm's.",
            )
        record = self._read()
        # Without a name nothing tells an unfinished request from this one: its pod may have recovered by itself since.
        begun = bool(once) and record.get("stage") in (_OUT, _IN) and record.get("once") == once
        if once and record.get("once") == once and record.get("stage") == _DONE:
            return Restart(False, f"{self.component} was already restarted")
        if check:
            return Restart(True, f"{self.component} would be restarted")
        deadline = time.monotonic() + seconds
        # Without its manifest in place etcd is out already. A parked one alone proves nothing: it may be from long ago.
        if not begun and os.path.exists(self.manifest) and not force:
            self.require_quorum(min(settings.QUORUM_SECONDS, seconds))
        before_change()
        if not begun:
            record = {"once": once, "from": sorted(self._instances()), "stage": _OUT}
            self._write(record)
        before = {(int(pid), int(started)) for pid, started in record["from"]}
        if record["stage"] == _OUT:
            self._take_out(parked, before, deadline)
            record = {**record, "stage": _IN}
            self._write(record)
        took = self._wait_for_new(before, healthy, deadline)
        self._write({**record, "stage": _DONE})
        return Restart(True, f"{self.component} was restarted{took}")

    def _take_out(self, parked: str, before: set[pod_processes.Instance], deadline: float) -> None:
        """Move the manifest out until the old process has ended.

        It is moved back in any case: without it the pod would stay away.

        A kubelet (1.22) that has not heard from an API server since it was started forgets that a manifest went, and ends nothing. No other
        signal is sent before the pod's own time is over: a second one would cut short how an API server ends.

        Source: docs/reference/kubeadm.md, "Certificates".
        """
        if os.path.exists(self.manifest) and os.path.exists(parked):
            # Somebody has written a newer one meanwhile.
            os.unlink(parked)
        if os.path.exists(self.manifest) and pod_processes.alive(before, self.places.proc):
            os.makedirs(self.places.parked, mode=0o700, exist_ok=True)
            os.rename(self.manifest, parked)
            self._sync()
        told, patience = False, time.monotonic() + self.ending(parked)
        try:
            while pod_processes.alive(before, self.places.proc):
                if not told and time.monotonic() > patience:
                    told = True
                    pod_processes.end(before, self.places.proc)
                if time.monotonic() > deadline:
                    raise NodeError(
                        f"{self.component} did not end in time after its manifest was moved out of {self.places.manifests}.",
                        "The manifest was put back. Look at the kubelet (journalctl -u kubelet) and at the container runtime.",
                    )
                time.sleep(_POLL_SECONDS)
        finally:
            if os.path.exists(parked) and not os.path.exists(self.manifest):
                os.rename(parked, self.manifest)
                self._sync()

    @staticmethod
    def ending(manifest: str) -> float:
        """Return the seconds in which a pod's process must have ended."""
        found = re.search(r"terminationGracePeriodSeconds\W+(\d{1,6})\b", guard.read_text(manifest))
        return (float(found.group(1)) if found else settings.POD_GRACE_SECONDS) + settings.POD_END_SECONDS

    def _wait_for_new(self, before: set[pod_processes.Instance], healthy: bool, deadline: float) -> str:
        begun = time.monotonic()
        nudged, problem = False, "no process of it is there"
        patience = settings.BACK_OFF_SECONDS if before else settings.BACK_OFF_AGAIN_SECONDS
        while True:
            running = self._instances() - before
            if running:
                problem = self.unhealthy() if healthy else ""
                if not problem:
                    return f", {'healthy' if healthy else 'running'} after {time.monotonic() - begun:.1f} s"
            if time.monotonic() > deadline:
                said = pod_processes.last_words(self.component, self.places.pod_logs)
                log = f" Its log ends: {redact(said)}" if said else ""
                raise NodeError(
                    f"{self.component} was restarted and is unhealthy: {problem}.{log}",
                    f"Its manifest is in place. Look at its logs in {self.places.pod_logs} and at journalctl -u kubelet.",
                )
            if not running and not nudged and time.monotonic() - begun >= patience and self.places.kubelet:
                nudged = True
                self.runner(["systemctl", "restart", f"{self.places.kubelet}.service"])
            time.sleep(_POLL_SECONDS)

    def require_quorum(self, seconds: float = settings.QUORUM_SECONDS) -> None:
        """Refuse to stop etcd where the other members are no quorum.

        With one or two voters they are none in any case.

        Raises:
            NodeError: they would be none, or that is unknown, for this number of seconds.
        """
        if self.component != "etcd":
            return
        deadline = time.monotonic() + seconds
        while True:
            problem = self._quorum_problem()
            if not problem:
                return
            if time.monotonic() > deadline:
                raise NodeError(
                    problem, "Nothing was restarted. Mend the members first; force restarts it all the same."
                )
            time.sleep(_QUORUM_POLL_SECONDS)

    def _quorum_problem(self) -> str:
        view = members_view([self.places.etcd_url], self.places.credentials)
        if not view.reachable:
            return f"It is unknown whether etcd has a quorum without this machine: {view.message}."
        own = next((identity for identity, each in view.witnesses.items() if each.url == self.places.etcd_url), 0)
        states = member_states(view)
        counts = figures(states)
        others = [each for each in states if each.counts and int(each.id, 16) != own]
        needed = counts.quorum if counts.voters > 2 else counts.voters - 1
        if len(others) >= needed:
            return ""
        ill = "; ".join(
            f"{each.name or each.hex_id}: {view.unhealthy(each)}" for each in view.members if view.unhealthy(each)
        )
        return f"etcd has {counts.voters} voters and needs {counts.quorum}; without this machine {len(others)} healthy ones stay ({ill})."

    def _etcd(self) -> str:
        try:
            with Gateway(self.places.etcd_url, self.places.credentials, settings.QUORUM_ANSWER_SECONDS) as gateway:
                if gateway.status().leader == 0:
                    return "it knows of no leader"
                gateway.linearizable_read()
        except (EtcdError, Unreachable, ValueError, OSError) as error:
            return str(error)
        return ""

    def _instances(self) -> set[pod_processes.Instance]:
        return pod_processes.instances(self.component, self.places.proc, self.places.pod_logs)

    def _sync(self) -> None:
        for folder in (self.places.manifests, self.places.parked):
            if os.path.isdir(folder):
                guard.sync_directory(folder)

    @property
    def _record(self) -> str:
        return os.path.join(self.places.state, f"{self.component}.json")

    def _read(self) -> dict[str, t.Any]:
        try:
            record = json.loads(guard.read_text(self._record) or "{}")
        except ValueError:
            return {}
        # Process IDs say nothing after a boot; what was moved out then is moved back all the same.
        return record if isinstance(record, dict) and isinstance(record.get("from", []), list) else {}

    def _write(self, record: t.Mapping[str, t.Any]) -> None:
        guard.write_atomically(self._record, json.dumps(record).encode())


def _answer(server: str, path: str) -> str:
    """Ask a component of this machine; return its problem, "" for none.

    Its certificate may be new or old just now: it is not verified, and nothing secret is sent.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with HttpClient(server, context, settings.QUORUM_ANSWER_SECONDS) as client:
            answer = client.request("GET", path, None, {})
    except (Unreachable, OSError) as error:
        return str(error)
    # Where anonymous requests are not allowed, a refusal is the answer of a component that serves.
    if answer.status in (200, 401, 403):
        return ""
    return f"{server}{path} says HTTP {answer.status}: {answer.body[:200].decode(errors='replace')}"
