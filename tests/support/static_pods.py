# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for the kubelet, for tests without one: it runs a real etcd from its static pod manifest."""

from __future__ import annotations

import subprocess
import threading
import typing as t
from pathlib import Path

import yaml


class StandInKubelet:
    """Stands in for the kubelet: runs etcd while its static pod manifest is there, and starts it anew when that changes."""

    def __init__(self, manifests: Path) -> None:
        self.manifest = manifests / "etcd.yaml"
        self.log = manifests.parent / "etcd.log"
        self.commands: list[list[str]] = []
        # As one that has not heard from an API server since it was started: a manifest that goes, or is changed, ends nothing.
        self.forgets = False
        self._process: t.Optional[subprocess.Popen[bytes]] = None
        self._running = ""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    @property
    def flags(self) -> list[bool]:
        """For each start of etcd, whether it had --force-new-cluster."""
        return ["--force-new-cluster" in words for words in self.commands]

    def restart(self) -> None:
        """End etcd, as after a liveness probe that failed; it is started again."""
        if self._process is not None:
            self._process.terminate()

    def stop(self) -> None:
        """End it and the etcd that it runs."""
        self._ended.set()
        self._thread.join()
        self._end()

    def _work(self) -> None:
        while not self._ended.wait(0.05):
            try:
                wanted = self.manifest.read_text(encoding="utf-8")
            except FileNotFoundError:
                wanted = ""
            if self.forgets and (not wanted or (wanted != self._running and self._runs())):
                continue
            if wanted != self._running or (wanted and self._process and self._process.poll() is not None):
                self._end()
                self._running = wanted
                if wanted:
                    words = yaml.safe_load(wanted)["spec"]["containers"][0]["command"]
                    self.commands.append(words)
                    with self.log.open("ab") as log:
                        self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _end(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None


def static_pod(words: t.Sequence[str]) -> str:
    """Return etcd's static pod manifest as kubeadm writes it, with this command."""
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "etcd", "namespace": "kube-system"},
        "spec": {"containers": [{"name": "etcd", "image": "etcd", "command": list(words)}]},
    }
    return yaml.safe_dump(pod)
