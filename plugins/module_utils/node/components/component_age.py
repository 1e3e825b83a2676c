# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Age of a node's components against their files, and their restart.

A component is old if it runs since before the files that it reads were written.

Source: docs/reference/kubeadm.md, "Certificates", "Authorities".

A component that was started after its files were written has read them: by the kernel's clock, without asking it. That is what is
read back, and what makes a restart that was done already not be done again.
"""

from __future__ import annotations

import os
import time
import typing as t
from dataclasses import dataclass, field

from ...common import guard, settings, systemd_units
from ...common.guard import NodeError
from ..certificates.certificate_changes import changed_at, is_kubelets_own
from . import pod_processes
from .static_pod import COMPONENTS, Places, StaticPod

KUBELET = "kubelet"
_ETCD, _API_SERVER = "etcd", "kube-apiserver"
_POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Age:
    """Start of a component's oldest process, and time of its newest file.

    ``started`` is None where no process runs.
    """

    started: t.Optional[float]
    changed: float

    @property
    def current(self) -> bool:
        """Return whether every process started after the component's files were written."""
        return self.started is not None and self.started > self.changed

    def document(self) -> dict[str, t.Any]:
        """Return the age with JSON names; times in seconds since the epoch."""
        return {
            "running": self.started is not None,
            "started": self.started,
            "changed": self.changed,
            "current": self.current,
        }


@dataclass(frozen=True)
class Components:
    """Components of this machine, with the files that each reads.

    Args:
        reads: paths by component, in the order in which they are restarted.
        places: where static pods are.
        runner: runs systemctl.
    """

    reads: t.Mapping[str, t.Sequence[str]]
    places: Places = field(default_factory=Places)
    runner: systemd_units.Runner = field(default=systemd_units.run)

    def ages(self) -> dict[str, Age]:
        """Return each component's age."""
        return {component: self.age(component) for component in self.reads}

    def age(self, component: str) -> Age:
        """Return a component's age.

        Its manifest is one of its files; a certificate that the kubelet got while it ran is not.
        """
        paths = [path for path in self.reads[component] if not is_kubelets_own(path)]
        if component in COMPONENTS:
            paths.append(StaticPod(component, self.places).manifest)
        starts = self._starts(component)
        return Age(min(starts, default=None), max((changed_at(path) for path in paths), default=0.0))

    def restart_old(
        self, seconds: float, before_change: t.Callable[[], None] = lambda: None, *, check: bool = False
    ) -> list[str]:
        """Restart each component that is older than its files; return their names.

        They are restarted one after the other.

        etcd is restarted while its API server is stopped: clients are sent to another one at once, instead of being answered with
        errors by one that has no etcd.

        Raises:
            NodeError: one did not end, or is not healthy again in time. Its manifest is in place.
        """
        if check:
            return self._old()
        # What a killed run has begun goes on here: it is awaited, and nothing is restarted a second time.
        with guard.exclusive(os.path.join(self.places.state, "restarts")):
            return self._restart_old(seconds, before_change)

    def _old(self) -> list[str]:
        return [component for component, age in self.ages().items() if not age.current]

    def _restart_old(self, seconds: float, before_change: t.Callable[[], None]) -> list[str]:
        deadline = time.monotonic() + seconds
        old = self._old()
        for component in old:
            left = max(1.0, deadline - time.monotonic())
            if component == _ETCD and _API_SERVER in self.reads:
                self._restart_etcd(left, before_change)
            elif component == KUBELET:
                self._restart_kubelet(left, before_change)
            elif not self.age(component).current:
                StaticPod(component, self.places, self.runner).restart(seconds=left, before_change=before_change)
        return old

    def _restart_etcd(self, seconds: float, before_change: t.Callable[[], None]) -> None:
        deadline = time.monotonic() + seconds
        server = StaticPod(_API_SERVER, self.places, self.runner)
        parked = os.path.join(self.places.parked, f"{_API_SERVER}.yaml")
        etcd = StaticPod(_ETCD, self.places, self.runner)
        # Refuses before anything is stopped where the other members are no quorum. One that does not run, as after a power cut in the
        # middle of this, nobody loses.
        running = bool(pod_processes.instances(_ETCD, self.places.proc, self.places.pod_logs))
        if running:
            etcd.require_quorum(min(settings.QUORUM_SECONDS, seconds))
        before_change()
        os.makedirs(self.places.parked, mode=0o700, exist_ok=True)
        ending = pod_processes.instances(_API_SERVER, self.places.proc, self.places.pod_logs)
        if os.path.exists(server.manifest):
            os.rename(server.manifest, parked)
            self._sync()
        try:
            while pod_processes.alive(ending, self.places.proc) or pod_processes.instances(
                _API_SERVER, self.places.proc, self.places.pod_logs
            ):
                if time.monotonic() > deadline:
                    raise NodeError(
                        f"{_API_SERVER} did not end in time after its manifest was moved out of {self.places.manifests}.",
                        "It was put back. Look at the kubelet (journalctl -u kubelet) and at the container runtime.",
                    )
                time.sleep(_POLL_SECONDS)
            left = max(1.0, deadline - time.monotonic())
            etcd.restart(seconds=left, force=not running, before_change=before_change)
            # It finds the manifest where it was put, and moves it back.
            server.restart(seconds=max(1.0, deadline - time.monotonic()), before_change=before_change)
        finally:
            # Whatever went wrong: an API server whose etcd comes back by itself has to be there.
            if os.path.exists(parked) and not os.path.exists(server.manifest):
                os.rename(parked, server.manifest)
                self._sync()

    def _restart_kubelet(self, seconds: float, before_change: t.Callable[[], None]) -> None:
        before_change()
        done = self.runner(["systemctl", "restart", "kubelet.service"])
        if done.returncode != 0:
            raise NodeError(
                f"the kubelet was not restarted: {done.stderr.strip()[:300]}", "Look at: journalctl -u kubelet."
            )
        deadline = time.monotonic() + seconds
        while not self.age(KUBELET).current:
            if time.monotonic() > deadline:
                raise NodeError("the kubelet does not run after its restart.", "Look at: journalctl -u kubelet.")
            time.sleep(_POLL_SECONDS)

    def _starts(self, component: str) -> list[float]:
        if component == KUBELET:
            done = self.runner(["systemctl", "show", "kubelet.service", "--property=MainPID"])
            pid = done.stdout.strip().partition("=")[2]
            if not pid.isdigit() or pid == "0":
                return []
            try:
                ticks = pod_processes._started(os.path.join(self.places.proc, pid, "stat"))
            except OSError:
                return []
            return [] if ticks is None else [pod_processes.since_epoch(ticks)]
        found = pod_processes.instances(component, self.places.proc, self.places.pod_logs)
        return [pod_processes.since_epoch(ticks) for _pid, ticks in found]

    def _sync(self) -> None:
        for folder in (self.places.manifests, self.places.parked):
            guard.sync_directory(folder)
