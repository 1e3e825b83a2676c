# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Change of this machine's kubelet configuration from its ConfigMap, or its rollback.

Source: docs/reference/kubeadm.md, "Reconfiguring".

kubeadm itself writes the file, with what it adds for this machine (patches, the container runtime's socket).
"""

from __future__ import annotations

import os
import re
import shutil
import time
import typing as t
from pathlib import Path

from ...common import guard, settings, timed_command
from ...common.guard import NodeError
from ...common.https import HttpClient, Unreachable
from ...common.redact import redact
from ...common.values import parse_time
from ...workload_api.api import ApiClient, ApiError, read_access
from . import kubelet
from .configuration_change import Change, Places

# What `kubeadm upgrade node phase kubelet-config` may write (docs/reference/kubeadm.md, "Files and ports").
FILES = ("config.yaml", "kubeadm-flags.env", "instance-config.yaml")
_POLL_SECONDS = 0.3
_RESTARTS = 2
# A kubelet that gives up writes the stacks of all its goroutines after its reason.
_LINES = 5000
_FATAL = re.compile(r"(F\d{4} |Error: |panic: )")
_ERROR = re.compile(r"E\d{4} |error", re.IGNORECASE)
_SYSTEMD = re.compile(
    r"(Start|Stop)(ed|ping|ing) |kubelet\.service: |Scheduled restart job|Main process exited|Failed with result"
)


def rehearse(places: Places, kubeconfig: str) -> None:
    """Check with a dry run that kubeadm can write the kubelet's configuration.

    It is written from its ConfigMap. What kubeadm writes for that beside what is in use is deleted again.
    Raises NodeError.
    """
    folder = os.path.join(places.kubernetes, "tmp")
    before = set(os.listdir(folder)) if os.path.isdir(folder) else None
    words = [places.tools.kubeadm, "upgrade", "node", "phase", "kubelet-config", "--dry-run"]
    try:
        done = timed_command.run([*words, f"--kubeconfig={kubeconfig}"], seconds=settings.KUBEADM_SECONDS)
    finally:
        for name in sorted(set(os.listdir(folder)) - (before or set())) if os.path.isdir(folder) else ():
            if "dryrun" in name:
                shutil.rmtree(os.path.join(folder, name), ignore_errors=True)
        if before is None and os.path.isdir(folder) and not os.listdir(folder):
            os.rmdir(folder)
    if done.returncode != 0:
        raise NodeError(
            f"kubeadm refuses: {redact(done.stderr.strip())[-600:]}",
            "Nothing was changed. Correct what it names, mostly in the kubelet's ConfigMap (kubectl -n kube-system get configmaps); then retry.",
        )


class KubeletChange(Change):
    """Change that brings the kubelets' ConfigMap to this machine.

    The request has ``node``, ``kubeconfig``, ``patches``, ``timeout``.
    """

    PROGRAM = "node.components.kubelet_change"

    def steps(self) -> t.Iterator[tuple[str, t.Callable[[], None], t.Callable[[], None]]]:
        """Yield the only step: file, restart, proof."""
        yield "kubelet", self._change, self._back

    def _change(self) -> None:
        request = self.request()
        os.makedirs(self.backup, mode=0o700, exist_ok=True)
        if not os.path.exists(os.path.join(self.backup, FILES[0])):
            # The first of them is kept last: with it all of them are.
            for name in reversed(FILES):
                source = os.path.join(self.places.kubelet, name)
                if os.path.exists(source):
                    guard.write_atomically(os.path.join(self.backup, name), Path(source).read_bytes(), 0o600)
        words = [self.places.tools.kubeadm, "upgrade", "node", "phase", "kubelet-config"]
        words += [f"--kubeconfig={request['kubeconfig']}"]
        words += [f"--patches={request['patches']}"] if request.get("patches") else []
        done = timed_command.run(words, seconds=settings.KUBEADM_SECONDS)
        if done.returncode != 0:
            said = redact(f"{done.stdout}\n{done.stderr}".strip())[-600:]
            raise NodeError(f"kubeadm did not write the kubelet's configuration: {said}")
        self._restart(request)

    def _back(self) -> None:
        changed = False
        begun = os.path.exists(os.path.join(self.backup, FILES[0]))
        for name in FILES if begun else ():
            kept, place = os.path.join(self.backup, name), os.path.join(self.places.kubelet, name)
            there = os.path.exists(place)
            if not os.path.exists(kept):
                if there:
                    os.unlink(place)
                    changed = True
            elif not there or Path(kept).read_bytes() != Path(place).read_bytes():
                guard.write_atomically(
                    place, Path(kept).read_bytes(), os.stat(place).st_mode & 0o777 if there else 0o644
                )
                changed = True
        if changed or os.path.exists(self._mark) or (begun and self.failed_before):
            self._restart(self.request())

    def _restart(self, request: t.Mapping[str, t.Any]) -> None:
        """Restart the kubelet, and wait until it is healthy. Raises NodeError.

        It has to run and to answer, and its Node to be Ready by a heartbeat that is newer than the restart.
        """
        guard.write_atomically(self._mark, b"")
        begun = int(time.time())
        # It may have failed so often that systemd does not start it any more.
        unit = f"{self.places.unit_of_kubelet}.service"
        self.runner(["systemctl", "reset-failed", unit])
        done = self.runner(["systemctl", "restart", unit])
        if done.returncode != 0:
            raise NodeError(f"systemd did not restart the kubelet: {done.stderr.strip()[:300]}")
        deadline = time.monotonic() + float(request["timeout"])
        first = self._restarts(unit)
        while True:
            problem = self._problem(request, begun)
            if not problem:
                return
            ended = self._restarts(unit) - first
            if ended >= _RESTARTS or time.monotonic() > deadline:
                what = f"ended {ended} times with it" if ended >= _RESTARTS else f"is unhealthy with it: {problem}"
                raise NodeError(f"the kubelet {what}. {self._why(unit, begun)}")
            time.sleep(_POLL_SECONDS)

    @property
    def _mark(self) -> str:
        """File that exists once the kubelet was restarted.

        It stays where the configuration of that restart has since been put back.
        """
        return os.path.join(self.folder, "restarted")

    def _problem(self, request: t.Mapping[str, t.Any], begun: int) -> str:
        try:
            health = kubelet.health_url(os.path.join(self.places.kubelet, "config.yaml"))
            if health:
                with HttpClient(health, None, 2.0) as client:
                    answer = client.request("GET", "/healthz")
                if answer.status != 200:
                    return f"its own health is HTTP {answer.status}"
            access = read_access(str(request["kubeconfig"]), self.places.tools.kubectl)
            with ApiClient(access, access.server) as api:
                node = api.get(f"/api/v1/nodes/{request['node']}")
        except (Unreachable, ApiError, NodeError) as error:
            return str(error)
        if node is None:
            return f"the Node {request['node']} is not registered"
        conditions = {each.get("type"): each for each in (node.get("status") or {}).get("conditions") or []}
        ready = conditions.get("Ready") or {}
        if (parse_time(ready.get("lastHeartbeatTime")) or 0) < begun:
            return f"the Node {request['node']} has not been heard of since"
        if ready.get("status") != "True":
            return f"the Node {request['node']} is not Ready: {ready.get('message') or ready.get('reason')}"
        return ""

    def _restarts(self, unit: str) -> int:
        done = self.runner(["systemctl", "show", unit, "--property=NRestarts"])
        text = done.stdout.strip().partition("=")[2]
        return int(text) if text.isdecimal() else 0

    def _why(self, unit: str, begun: int) -> str:
        """Return the kubelet's last log lines since its restart."""
        words = ["journalctl", f"--unit={unit}", f"--since=@{begun}", f"--lines={_LINES}", "--no-pager", "--output=cat"]
        lines = [line.strip() for line in self.runner(words).stdout.splitlines() if line.strip()]
        lines = [line for line in lines if not _SYSTEMD.match(line)]
        told = [line for line in lines if _FATAL.match(line)][-1:] or [line for line in lines if _ERROR.match(line)][
            -2:
        ]
        return f"It says: {redact(' | '.join(told or lines[-2:]))[:600]}" if lines else ""


def perform(folder: str, places: str) -> None:
    """Run a configuration change; the unit's program (``places`` is :meth:`Places.text`)."""
    KubeletChange(Places.of(places), folder).perform()
