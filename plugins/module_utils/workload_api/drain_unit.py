# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transient systemd unit that runs ``kubectl drain``.

It is named after the Node: one Node never has two drains from one machine.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
import typing as t
from dataclasses import dataclass

from ..common import kubernetes_facts, settings, systemd_units
from ..common.guard import NodeError, read_text, write_atomically
from ..common.kubernetes_versions import parse

# The taint of a Node whose kubelet is silent.
UNREACHABLE = "node.kubernetes.io/unreachable"
# Of a Node's name; systemd takes 255 characters for all of a unit's.
_LONGEST_NAME = 180
_LAST_WORDS = 400
_FAILURE = re.compile(r"\s*(error|unable to|the connection|no such)", re.IGNORECASE)
# What a budget refuses, and what ends slowly, the API itself tells better.
_PATIENCE = re.compile(r"will retry after|timeout reached|timed out waiting|unable to drain node .*, aborting")

# kubectl ends at what it can't do now (its API server restarts, a budget refuses until its own timeout): it is run again,
# with what it says kept for one attempt only. As each attempt cordons, none is made of a Node that was uncordoned, or that
# could not be observed. Without the Node there is nothing left to drain.
_SCRIPT = """\
#!/bin/sh
# Made by kubeadm.control_plane.
umask 077
cd {work} || exit 1
while :; do
    {drain} > output 2>&1 < /dev/null
    kcp_rc=$?
    mv -f output last-output
    echo "$kcp_rc" > result.partial && mv -f result.partial result
    [ "$kcp_rc" -eq 0 ] && exit 0
    while :; do
        sleep 3
        case $({get} 2>&1 < /dev/null) in
            *"(NotFound)"* | *"cordoned=;"*) exit 0 ;;
            {again}) break ;;
            *"cordoned=true;"*) exit 0 ;;
        esac
    done
done
"""
_OBSERVED = (
    'cordoned={.spec.unschedulable};ready={.status.conditions[?(@.type=="Ready")].status};taints={.spec.taints[*].key};'
)
_CORDONED = '*"cordoned=true;"*'
# What a kubelet that reports again has to end gets the pods' own time: that is for the next call to start.
_CORDONED_AND_SILENT = f'*"cordoned=true;ready=Unknown;"* | {_CORDONED}{UNREACHABLE}*'


@dataclass(frozen=True)
class DrainUnit:
    """Systemd unit of a Node's drain.

    Args:
        node: the Node's name.
        directory: the existing folder of the script and its output.
        kubectl: kubectl with the options that select the API server and the credentials.
        runner: runs systemctl, systemd-run and kubectl.
    """

    node: str
    directory: str
    kubectl: tuple[str, ...]
    runner: systemd_units.Runner = systemd_units.run

    @property
    def name(self) -> str:
        """Name of the unit, without its suffix."""
        if len(self.node) <= _LONGEST_NAME:
            return systemd_units.DRAIN + self.node
        return f"{systemd_units.DRAIN}{self.node[:_LONGEST_NAME]}-{hashlib.sha256(self.node.encode()).hexdigest()[:8]}"

    @property
    def _work(self) -> str:
        return os.path.join(self.directory, self.name)

    def running(self) -> bool:
        """Return whether the unit is running."""
        return systemd_units.state(self.name, self.runner).running

    def succeeded(self) -> bool:
        """Return whether kubectl has drained the Node since the unit's last start."""
        return read_text(os.path.join(self._work, "result")) == "0"

    def last_words(self) -> str:
        """Return the error of kubectl's last attempt, "" where there is none.

        There is none before the first attempt, after a success, and after an attempt that only ran out of time.
        """
        if read_text(os.path.join(self._work, "result")) in ("", "0"):
            return ""
        lines = read_text(os.path.join(self._work, "last-output")).splitlines()
        failures = [line.strip() for line in lines if _FAILURE.match(line) and not _PATIENCE.search(line)]
        return failures[-1][:_LAST_WORDS] if failures else ""

    def start(self, *, seconds: t.Optional[int], unreachable: bool) -> None:
        """Start the unit.

        It ends when the Node is drained or deleted, after ``seconds`` (None: no timeout), and between two attempts when the
        Node was uncordoned, or reports again where it was started for an ``unreachable`` one.

        Raises:
            NodeError: kubectl is not usable, or systemd refused.
        """
        words = [
            *self.kubectl,
            "drain",
            self.node,
            *self._options(unreachable),
            f"--timeout={settings.SILENT_DRAIN_ATTEMPT_SECONDS if unreachable else settings.DRAIN_ATTEMPT_SECONDS}s",
        ]
        get = [*self.kubectl, "get", "node", self.node, f"--output=jsonpath={_OBSERVED}"]
        shutil.rmtree(self._work, ignore_errors=True)
        os.makedirs(self._work, mode=0o700)
        script = _SCRIPT.format(
            work=shlex.quote(self._work),
            drain=shlex.join(words),
            get=shlex.join(get),
            again=_CORDONED_AND_SILENT if unreachable else _CORDONED,
        )
        path = os.path.join(self._work, "run.sh")
        write_atomically(path, script.encode(), 0o600)
        bound = [] if seconds is None else ["timeout", "--kill-after=10", str(max(1, seconds))]
        # A unit that failed keeps its name until it is forgotten.
        systemd_units.stop(self.name, self.runner)
        systemd_units.start(self.name, f"drain of Node {self.node}", [*bound, "/bin/sh", path], self.runner)

    def stop(self) -> bool:
        """Stop the unit and return whether it was running."""
        state = systemd_units.state(self.name, self.runner)
        if state.loaded:
            systemd_units.stop(self.name, self.runner)
        return state.running

    def forget(self) -> None:
        """Stop the unit and remove its files."""
        self.stop()
        shutil.rmtree(self._work, ignore_errors=True)

    def _options(self, unreachable: bool) -> list[str]:
        options = ["--ignore-daemonsets", "--force", *kubernetes_facts.drain_options(self._version(), unreachable)]
        if unreachable:
            # No kubelet is there to end the pods: they get no time, and those that are ending are not waited for.
            options.append("--grace-period=1")
        return options

    def _version(self) -> str:
        done = self.runner([self.kubectl[0], "version", "--client", "--output=json"])
        try:
            version = str(json.loads(done.stdout)["clientVersion"]["gitVersion"])
            parse(version)
        except (ValueError, KeyError, TypeError):
            raise NodeError(
                f"kubectl does not tell its version: {(done.stderr or done.stdout).strip()[:200]}"
            ) from None
        return version
