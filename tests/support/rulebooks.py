# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real ansible-rulebook and a real Alertmanager on loopback, for tests of extensions/eda."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import typing as t
import urllib.request
from pathlib import Path

import pytest
import yaml
from etcd_cluster import free_port, until
from prometheus import DEFAULT_CACHE

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes import identity

TOKEN = "a-token-of-the-tests"
# The rule engine is a Java program, and needs half a minute of a processor before the first rule.
START_SECONDS = 180.0
RUN_SECONDS = 600.0
_SENT = 'alertmanager_notifications_total{integration="webhook"}'


def program(name: str) -> str:
    """Return the path of a program that tests/tools/full.sh gets; skip the test where there is none."""
    cache = Path(os.environ.get("KUBEADM_CONTROL_PLANE_CACHE") or os.path.expanduser(DEFAULT_CACHE))
    found = shutil.which(name, path=f"{cache}/venv-rulebook/bin:{cache}/alertmanager/usr/bin")
    if not found or not shutil.which("java"):
        pytest.skip(f"no {name}, or no Java: tests/tools/full.sh gets them for the full suite")
    return found


class Started(t.NamedTuple):
    """A run that a rulebook started."""

    playbook: str
    limit: str


class Rulebook:
    """A rulebook of the collection at work over a folder of inventory; the playbooks that it starts are noted, and run.

    Args:
        name: the rulebook's.
        inventory: its inventory's options; it is copied for each run, so that its paths are absolute.
        variables: its clusters' variables.
        given: the rulebook's own variables besides the webhook's.
        folder: for its own files.
    """

    def __init__(
        self,
        name: str,
        inventory: t.Mapping[str, t.Any],
        variables: t.Mapping[str, t.Any],
        given: t.Mapping[str, t.Any],
        folder: Path,
    ) -> None:
        folder.mkdir()
        hosts, programs = folder / "inventory", folder / "programs"
        (hosts / "group_vars").mkdir(parents=True)
        programs.mkdir()
        document = {"plugin": "kubeadm.control_plane.clusters", **inventory}
        (hosts / "inventory.clusters.yml").write_text(yaml.safe_dump(document))
        (hosts / "group_vars" / "control_planes.yml").write_text(yaml.safe_dump(dict(variables)))
        self._noted, self.log = folder / "started", folder / "rulebook.log"
        self._noted.touch()
        real = shutil.which("ansible-playbook")
        noting = programs / "ansible-playbook"
        noting.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> {self._noted}\nexec {real} "$@"\n')
        noting.chmod(0o755)
        self.port = free_port()
        webhook = {"control_plane_webhook_port": self.port, "control_plane_webhook_token": TOKEN}
        (folder / "variables.yml").write_text(yaml.safe_dump({**given, **webhook}))
        command = [program("ansible-rulebook"), "--rulebook", f"kubeadm.control_plane.{name}", "-i", str(hosts)]
        environment = {each: value for each, value in os.environ.items() if each != "PYTHONPATH"}
        environment["PATH"] = f"{programs}:{environment['PATH']}"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "-e", str(folder / "variables.yml")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=folder,
                env=environment,
            )

    def wait_ready(self) -> Rulebook:
        """Wait until it takes alerts."""

        def ready() -> bool:
            assert self._process.poll() is None, self.log.read_text()
            with socket.socket() as tried:
                return tried.connect_ex(("127.0.0.1", self.port)) == 0

        until("the rulebook takes alerts", ready, START_SECONDS)
        return self

    def started(self) -> list[Started]:
        """The runs that it started, in their order."""
        found = []
        for line in self._noted.read_text().splitlines():
            words = line.split()
            found.append(Started(words[-1].rpartition(".")[2], words[words.index("--limit") + 1]))
        return found

    def until_started(self, count: int) -> list[Started]:
        """Wait for so many runs, and return all."""
        return list(
            until(f"{count} runs were started", lambda: self.started()[count - 1 :] and self.started(), RUN_SECONDS)
        )

    def end(self) -> None:
        """End it, and what it started and is not at its end."""
        below = identity.descendants(self._process.pid)[1:]
        self._process.terminate()
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pid in below:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


class Alertmanager:
    """An Alertmanager that tells a webhook of each cluster's alerts at once.

    Args:
        folder: for its own files.
        port: the webhook's.

    Attributes:
        address: where it takes alerts.
    """

    def __init__(self, folder: Path, port: int) -> None:
        folder.mkdir()
        self._port = free_port()
        self.address = f"127.0.0.1:{self._port}"
        hook = {"url": f"http://127.0.0.1:{port}/alerts", "http_config": {"authorization": {"credentials": TOKEN}}}
        configuration = {
            "route": {
                "receiver": "rulebook",
                "group_by": ["cluster_namespace", "cluster_name"],
                "group_wait": "1s",
                "group_interval": "1s",
            },
            "receivers": [{"name": "rulebook", "webhook_configs": [hook]}],
        }
        (folder / "alertmanager.yml").write_text(yaml.safe_dump(configuration))
        with (folder / "alertmanager.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    program("prometheus-alertmanager"),
                    f"--config.file={folder / 'alertmanager.yml'}",
                    f"--storage.path={folder / 'data'}",
                    f"--web.listen-address={self.address}",
                    "--cluster.listen-address=",
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def wait_ready(self) -> Alertmanager:
        """Wait until it answers."""

        def ready() -> bool:
            with socket.socket() as tried:
                return tried.connect_ex(("127.0.0.1", self._port)) == 0

        until("the Alertmanager answers", ready)
        return self

    def fire(self, *labels: t.Mapping[str, str]) -> None:
        """Have alerts with these labels fire."""
        body = json.dumps([{"labels": dict(each)} for each in labels]).encode()
        url, headers = f"http://{self.address}/api/v2/alerts", {"Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as answer:
            assert answer.status == 200

    def told(self) -> int:
        """How often it has told the webhook, which took it."""
        with urllib.request.urlopen(f"http://{self.address}/metrics") as answer:
            lines = answer.read().decode().splitlines()
        counted = dict(line.rsplit(" ", 1) for line in lines if line.startswith("alertmanager_notifications_"))
        return int(counted[_SENT]) - int(counted[_SENT.replace("_total", "_failed_total")])

    def end(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait()


@pytest.fixture
def alertmanager_of_rulebook(rulebook: Rulebook, tmp_path: Path) -> t.Iterator[Alertmanager]:
    """An Alertmanager that tells the test's own fixture ``rulebook``."""
    made = Alertmanager(tmp_path / "alertmanager", rulebook.port)
    yield made.wait_ready()
    made.end()
