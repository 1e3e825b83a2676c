# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every secret that is made in a cluster's life is looked for wherever a run could leave or show it, also where the run got SIGTERM."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import typing as t
from pathlib import Path

import pytest
from machines import Machines
from process_samples import Samples
from secrets_search import Search, Secrets, Tokens
from workspace import Run, Workspace, descendants

NAME = "lab-secret"
CONTENT, PASSWORD = "what-the-encryption-configuration-says", "$6$lab$not-a-hash-that-anybody-has"
FILE = "/etc/kubernetes-encryption.yaml"
GIVEN = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "lab-given", "namespace": "default"},
    "stringData": {"content": CONTENT, "password": PASSWORD},
}
KUBEADM: dict[str, t.Any] = {
    "files": [
        {"path": FILE, "contentFrom": {"secret": {"name": "lab-given", "key": "content"}}, "permissions": "0600"},
    ],
    "users": [{"name": "lab", "passwdFrom": {"secret": {"name": "lab-given", "key": "password"}}}],
}
# Ansible's own temporary folder.
HOME = Path.home() / ".ansible" / "tmp"


def until(what: str, condition: t.Callable[[], bool], seconds: float = 60) -> None:
    """Poll until it is so; the bound ends a test that would hang."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds:g} s: {what}"
        time.sleep(0.2)


class Life:
    """A cluster's life at the highest verbosity, with everything that it showed and left."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.machines = Machines(workspace, NAME)
        self.secrets = Secrets()
        self.samples = Samples()
        self.outputs: list[str] = []
        self.before = set(HOME.glob("*"))
        self.searched = Search(self.secrets, workspace.folder)

    def wants(self, replicas: int) -> None:
        """Write the manifest."""
        self.workspace.manifest(NAME, replicas=replicas, kubeadm=KUBEADM, secrets=[GIVEN])

    def play(self, playbook: str, *arguments: str) -> Run:
        """Run a playbook, and keep what it says."""
        run = self.workspace.playbook(playbook, "-vvvv", *arguments).succeeded()
        self.outputs.append(run.output)
        return run

    def terminated(self) -> None:
        """A run that gets SIGTERM while kubeadm joins a machine."""
        log = self.workspace.folder / "terminated.log"
        run = self.workspace.start("reconcile", "-vvvv", output=log)

        def joins() -> bool:
            assert run.poll() is None, log.read_text()[-6000:]
            return any(self.machines.kubeadm_runs(name, "join") for name in self.machines.names())

        until("kubeadm joins a machine", joins, 300)
        everyone = descendants(run.pid)
        os.kill(run.pid, signal.SIGTERM)
        assert run.wait(timeout=60) != 0
        until("the run has ended", lambda: not any(Path(f"/proc/{pid}").exists() for pid in everyone))
        self.outputs.append(log.read_text())

    def look(self) -> None:
        """Learn every secret that there is now, and look through all that a machine's end would take away."""
        self.secrets.add_store(self.workspace)
        for name in self.machines.names():
            self.secrets.add_machine(self.machines, name)
        for name in self.machines.names():
            self.searched.machine(self.machines, name)

    def search(self) -> Search:
        """Look through everything else."""
        for number, output in enumerate(self.outputs):
            self.searched.data(f"the output of run {number}", output.encode())
        self.searched.store(self.workspace)
        self.searched.controller(*(path for path in HOME.glob("*") if path not in self.before))
        self.searched.samples(self.samples)
        return self.searched


@pytest.fixture(scope="module")
def life(workspace: Workspace) -> t.Iterator[Life]:
    """One machine, three, one; a run of them got SIGTERM; beside them plan and status."""
    lived = Life(workspace)
    lived.secrets.add("the file's content", CONTENT)
    lived.secrets.add("the user's password", PASSWORD)
    with lived.samples:
        lived.wants(1)
        lived.play("reconcile")
        [first] = lived.machines.names()
        lived.wants(3)
        lived.play("plan")
        with Tokens(lived.machines, first, workspace.folder) as tokens:
            lived.terminated()
            left = [path for path in HOME.glob("*") if path not in lived.before]
            lived.secrets.add_store(workspace)
            lived.searched.controller(*left)
            lived.play("reconcile")
            seen = tokens.seen()
        assert len(seen) >= 2, "each of two joins had a token"
        for number, token in enumerate(seen):
            lived.secrets.add(f"bootstrap token {number}", token)
        lived.play("status", "-e", f"control_plane_kubeconfig={workspace.folder}/kept.kubeconfig")
        lived.look()
        lived.wants(1)
        lived.play("reconcile")
        lived.look()
    yield lived


def test_no_secret_comes_to_light(life: Life, artefacts: Path) -> None:
    """Not in what the runs say, in journals, in temporary folders, in the store beside its Secrets, in what processes show of themselves."""
    searched = life.search()
    figures = {"secrets": len(life.secrets.names), "samples": life.samples.taken, "bytes": searched.bytes}
    (artefacts / "secrets.json").write_text(json.dumps(figures, indent=2))
    assert searched.found == []
    assert all(searched.bytes[f"the output of run {number}"] > 10_000 for number in range(len(life.outputs)))
    assert searched.bytes["cmdline of processes"] > 10_000 and searched.bytes["environ of processes"] > 10_000
    assert searched.bytes["the store"] > 10_000 and life.samples.taken > 100
    for kind in (
        "-ca/tls.key",
        "-etcd/tls.key",
        "-proxy/tls.key",
        "-sa/tls.key",
        "-kubeconfig/value",
        "-ssh/ssh-privatekey",
    ):
        assert any(f"{NAME}{kind}" in name for name in life.secrets.names), kind
    for file in ("pki/apiserver.key", "pki/etcd/peer.key", "admin.conf (client key)", "kubelet-client"):
        assert any(file in name for name in life.secrets.names), file


def test_the_stores_secrets_are_its_users_alone(life: Life) -> None:
    """What holds a secret is readable by nobody else."""
    holding = [path for path in life.workspace.store.rglob("*") if path.is_file() and life.secrets.found_in(path)]
    assert len(holding) >= 6
    for path in holding:
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_planted_secret_is_found_in_every_place(life: Life) -> None:
    """The search that finds nothing is one that finds: a line of the CA's key, planted wherever it looks."""
    [name] = life.machines.names()
    [text] = [each for each in life.workspace.objects("Secret") if each["metadata"]["name"] == f"{NAME}-ca"]
    planted = text["data"]["tls.key"][640:704]
    folder = life.workspace.folder
    search = Search(life.secrets, folder)
    place = "/run/kubeadm-control-plane/planted"
    life.machines.ssh(name, f"logger -- {planted}; mkdir -p {place}; echo {planted} > {place}/file; sync")
    with Samples() as samples:
        words = [*life.machines.ssh_words(name), f"sh -c 'sleep 1; true' {planted}"]
        environment = {**os.environ, "PLANTED": planted}
        subprocess.run(words, env=environment, check=True, stdin=subprocess.DEVNULL)
    planted_in_store = life.workspace.store / "default" / "journal" / "planted.jsonl"
    planted_in_store.write_text(f'{{"message": "{planted}"}}\n')
    until("the journal has it", lambda: planted in life.machines.ssh(name, "journalctl -n 50 -o cat --no-pager"))
    try:
        search.machine(life.machines, name)
        search.store(life.workspace)
        search.controller(planted_in_store.parent)
        search.samples(samples)
        search.data("an output", f"a line\n{planted}\n".encode())
    finally:
        planted_in_store.unlink()
        life.machines.ssh(name, f"rm -rf {place}")
    assert sorted({each.partition(" in ")[2] for each in search.found}) == sorted(search.bytes)
    assert all(f"{NAME}-ca/tls.key" in each for each in search.found)
