# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates renewed that end meanwhile, and that have ended on every node, so that no API answers."""

from __future__ import annotations

import json
import ssl
import subprocess
import time
import typing as t
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from actions_on_nodes import NodeActions
from cryptography import x509
from forged_certificates import Authorities, ends, fetch, forge, late
from host_pool import HostPool
from machines import Machines
from workspace import Workspace, kill_run

NAME = "lab-renew"
GROUP = "lab_renew_workers"
SPEC: dict[str, t.Any] = {"renewCertificates": {}}
# One node's, which everything is tested with every time, is in one_machine/test_in_place.py.
pytestmark = pytest.mark.full
# Starting everything anew with them takes the first two of them.
MINUTES = timedelta(seconds=180)


class Lab(t.NamedTuple):
    """Three control plane nodes and a worker."""

    workspace: Workspace
    machines: Machines
    pool: HostPool
    actions: NodeActions

    @property
    def worker(self) -> str:
        """The worker's name."""
        return next(iter(self.pool.addresses))

    def forge(self, end: datetime, worker: bool) -> None:
        """Let the certificates of all nodes end then."""
        names = self.machines.names()
        authorities = Authorities(fetch(self.machines.ssh_words(names[0])))
        for name in names:
            forge(self.machines.ssh_words(name), authorities, end)
        if worker:
            forge(self.pool.ssh_command(self.worker), authorities, end)

    def renewed(self) -> None:
        """Every certificate on every node is good for a year, and the API servers and etcd members serve with the new ones."""
        for name in self.machines.names():
            assert late(self.machines.ssh_words(name)) == {}
            found = ends(self.machines.ssh_words(name))
            host = self.machines.infrastructure(name)["status"]["connection"]["host"]
            served = x509.load_pem_x509_certificate(ssl.get_server_certificate((host, 6443)).encode())
            assert served.not_valid_after_utc == found["etc/kubernetes/pki/apiserver.crt"]
            assert self.machines.ssh(name, "ls /run/kubeadm/renew.yaml 2>/dev/null || true").strip() == ""
        assert self.machines.ready_nodes() == sorted([*self.machines.names(), self.worker])


@pytest.fixture(name="lab", scope="module")
def _lab(workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Lab]:
    """A cluster whose certificates are a year from their end."""
    pool = HostPool(tmp_path_factory.mktemp("pool"), prefix="lab-renew-worker")
    try:
        [worker] = pool.make(1)
        workspace.manifest(NAME, replicas=3)
        workspace.playbook("reconcile", "--limit", NAME).succeeded()
        machines = Machines(workspace, NAME)
        command = machines.ssh(machines.names()[0], "kubeadm token create --print-join-command").strip()
        pool.ssh(worker, f"{command} --ignore-preflight-errors=ImagePull")
        machines.kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=120s")
        yield Lab(workspace, machines, pool, NodeActions(workspace, NAME, ["-i", str(pool.inventory(GROUP))]))
        arguments = ("-e", f"control_plane_delete={NAME}", "-e", "control_plane_ignore_worker_nodes=true")
        workspace.playbook("delete", "--limit", NAME, *arguments).succeeded()
        (workspace.folder / "clusters" / f"{NAME}.yaml").unlink()
    finally:
        pool.remove()


def answers(machines: Machines, name: str) -> bool:
    """Whether the machine's own API server does what its admin asks."""
    command = "kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=5s get nodes"
    done = subprocess.run([*machines.ssh_words(name), command], capture_output=True, check=False, timeout=60)
    return done.returncode == 0


def wait_for(what: str, condition: t.Callable[[], bool], seconds: float = 120) -> None:
    """Poll until something is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.5)


def test_certificates_that_end_meanwhile(lab: Lab, artefacts: Path) -> None:
    """They end while the Action is at work, whose run is killed besides; nothing is left that has ended."""
    end = datetime.now(timezone.utc) + MINUTES
    lab.forge(end, worker=False)
    wait_for("the API answers", lambda: answers(lab.machines, lab.machines.names()[0]), 120)
    process = lab.actions.start("renew", SPEC, artefacts / "renew-1.log")
    lab.actions.until("components are restarted", lambda: lab.actions.running("renew", "restartComponent"), process)
    kill_run(process)
    lab.actions.run("renew").succeeded()
    assert lab.actions.action("renew")["status"]["phase"] == "Succeeded"
    wait_for("the old ones have ended", lambda: datetime.now(timezone.utc) > end, 200)
    lab.renewed()
    runs = [each for each in lab.actions.outputs("renew") if each["argv"][-1] == "all"]
    assert [(each["node"], each["exitCode"]) for each in runs] == [(name, 0) for name in lab.machines.names()]


def test_a_renewal_of_one_certificate(lab: Lab) -> None:
    """Only that one changes, and only its component is restarted."""
    name = lab.machines.names()[0]
    before = ends(lab.machines.ssh_words(name))
    pids = "pidof etcd kube-apiserver kube-controller-manager kube-scheduler"
    one = lab.machines.ssh(name, pids.replace("kube-scheduler", ""))
    lab.actions.run("scheduler", {"renewCertificates": {"names": ["scheduler.conf"]}}).succeeded()
    after = ends(lab.machines.ssh_words(name))
    assert {path for path in after if after[path] != before[path]} == {"etc/kubernetes/scheduler.conf"}
    assert lab.machines.ssh(name, pids.replace("kube-scheduler", "")) == one


def test_certificates_that_have_ended_on_every_node(lab: Lab) -> None:
    """No API answers, no etcd has a quorum, no kubelet gets in: it is mended on the nodes themselves, the worker's kubelet as well."""
    lab.forge(datetime.now(timezone.utc) - timedelta(minutes=5), worker=True)
    assert not any(answers(lab.machines, name) for name in lab.machines.names())
    shown = lab.actions.run("mend", SPEC, "--check").succeeded().text
    assert "kubeadm certs renew all --config=/run/kubeadm/renew.yaml" in shown
    run = lab.actions.run("mend", SPEC).succeeded()
    assert lab.actions.action("mend")["status"]["phase"] == "Succeeded"
    assert "PRIVATE KEY" not in run.output
    lab.renewed()
    assert lab.workspace.playbook("reconcile", "--limit", NAME).succeeded().recap(NAME)["changed"] == 0


def test_nothing_secret_is_kept(lab: Lab) -> None:
    """Neither in what Tasks keep nor on the nodes' disks beside kubeadm's own files."""
    text = json.dumps(lab.workspace.objects("Task"))
    secrets = lab.machines.secret_values()
    assert [key for key, value in secrets.items() if value in text] == []
    assert "PRIVATE KEY" not in text
    left = "ls /etc/kubernetes/bootstrap-kubelet.conf 2>/dev/null || true"
    assert lab.pool.ssh(lab.worker, left).strip() == ""
