# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's certificates read, and its kubelet's client certificate renewed by the real kubeadm, where this machine has one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import typing as t
from dataclasses import replace
from pathlib import Path

import pytest
from api_server import find_binary
from cryptography import x509
from cryptography.x509.oid import NameOID
from lab_kubernetes import API, VERSION

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import kubernetes_facts
from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.certificates.kubeadm_renewal import (
    NodeCertificates,
    Places,
    run,
)

KUBEADM = find_binary("kubeadm")
pytestmark = pytest.mark.skipif(KUBEADM is None, reason="kubeadm is not on this machine")
NODE = "node-1"
CERTS = kubernetes_facts.certs_command(VERSION)
MANIFEST = """\
metadata:
  annotations:
    kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint: 192.0.2.7:6443
spec:
  containers:
  - command:
    - kube-apiserver
    - --kubelet-client-certificate={pki}/apiserver-kubelet-client.crt
"""


class Node(t.NamedTuple):
    """A control plane node's files."""

    folder: Path
    certificates: NodeCertificates

    @property
    def current(self) -> Path:
        """The kubelet's link."""
        return Path(self.certificates.places.current)


def node_at(folder: Path) -> Node:
    """A control plane node whose files are in a folder."""
    kubernetes = folder / "kubernetes"
    names = ("kubelet", "run", "state")
    places = Places(str(kubernetes), *(str(folder / each) for each in names), kubeadm=str(KUBEADM), kubelet="")
    (kubernetes / "manifests").mkdir(parents=True, exist_ok=True)
    text = MANIFEST.format(pki=folder / "elsewhere" / "pki")
    (kubernetes / "manifests" / "kube-apiserver.yaml").write_text(text)
    return Node(folder, NodeCertificates(places, run))


def kubeadm(*words: str) -> None:
    """Run a phase of kubeadm init."""
    subprocess.run([str(KUBEADM), "init", "phase", *words], check=True, capture_output=True, timeout=120)


@pytest.fixture(name="made", scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What kubeadm init writes; the kubelet's certificate is inside its kubeconfig, as before the kubelet has renewed it."""
    node = node_at(tmp_path_factory.mktemp("made"))
    config = f"--config={node.certificates.prepare(NODE, '')}"
    kubeadm("certs", "all", config)
    kubeadm("kubeconfig", "all", config, f"--kubeconfig-dir={node.folder / 'kubernetes'}")
    return node.folder


@pytest.fixture(name="node")
def _node(tmp_path: Path, made: Path) -> Node:
    """A node of one test's own."""
    shutil.copytree(made, tmp_path / "node")
    return node_at(tmp_path / "node")


def certificate(pem: bytes) -> x509.Certificate:
    """The certificate of a file with certificate and key."""
    return x509.load_pem_x509_certificate(pem)


def test_when_certificates_end(node: Node) -> None:
    """Files in the folder that the API server's manifest names, and those inside kubeconfigs; what is not there is left out."""
    found = node.certificates.ends()
    assert set(found) == {
        "ca",
        "etcd-ca",
        "front-proxy-ca",
        "apiserver",
        "apiserver-etcd-client",
        "apiserver-kubelet-client",
        "etcd-healthcheck-client",
        "etcd-peer",
        "etcd-server",
        "front-proxy-client",
        "admin.conf",
        "controller-manager.conf",
        "scheduler.conf",
        "kubelet.conf",
    }
    path = node.folder / "elsewhere" / "pki" / "apiserver.crt"
    ends = certificate(path.read_bytes()).not_valid_after_utc
    assert found["apiserver"] == ends.strftime("%Y-%m-%dT%H:%M:%SZ")


def test_kubeadm_renews_once_a_rotations_link_is_removed(node: Node) -> None:
    """The link is the authority's own key, signed by another one. What else stands behind the certificate is the user's chain, and stays."""
    path = node.folder / "elsewhere" / "pki" / "apiserver.crt"
    path.chmod(0o640)
    own, link = path.read_text(), (path.parent / "ca.crt").read_text()
    renewal = [*CERTS, "renew", "apiserver", f"--config={node.certificates.prepare(NODE, '')}"]
    assert node.certificates.remove_link() is False
    path.write_text(own + link)
    refused = subprocess.run([str(KUBEADM), *renewal], capture_output=True, text=True, check=False, timeout=120)
    assert refused.returncode != 0 and "wanted exactly one certificate, got 2" in refused.stderr
    assert node.certificates.remove_link(check=True) is True and path.read_text() == own + link
    assert node.certificates.remove_link() is True
    assert path.read_text() == own and path.stat().st_mode & 0o777 == 0o640
    subprocess.run([str(KUBEADM), *renewal], check=True, capture_output=True, timeout=120)
    chain = path.read_text() + (path.parent / "front-proxy-ca.crt").read_text()
    path.write_text(chain)
    assert node.certificates.remove_link() is False and path.read_text() == chain
    path.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" * 2)
    assert node.certificates.remove_link() is False


def test_the_kubelets_client_certificate(node: Node) -> None:
    """A new one, signed by this node's CA for this Node, where the kubelet looks for it; its kubeconfig points to it from then on."""
    kubeconfig = node.folder / "kubernetes" / "kubelet.conf"
    assert "client-certificate-data" in kubeconfig.read_text()
    assert node.certificates.renew_kubelet_client(NODE, "")
    pem = node.current.read_bytes()
    authority = certificate((node.folder / "elsewhere" / "pki" / "ca.crt").read_bytes())
    issued = certificate(pem)
    issued.verify_directly_issued_by(authority)
    subject = {each.oid: each.value for each in issued.subject}
    assert subject == {NameOID.ORGANIZATION_NAME: "system:nodes", NameOID.COMMON_NAME: f"system:node:{NODE}"}
    assert b"PRIVATE KEY" in pem
    assert node.current.is_symlink()
    assert (node.current.resolve().stat().st_mode & 0o777, kubeconfig.stat().st_mode & 0o777) == (0o600, 0o600)
    text = kubeconfig.read_text()
    assert f"client-certificate: {node.current}" in text and f"client-key: {node.current}" in text
    assert "client-key-data" not in text
    assert node.certificates.ends()["kubelet.conf"] == issued.not_valid_after_utc.strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_kubeadm_whose_command_takes_no_configuration(node: Node) -> None:
    """Before 1.20: it is given the folder of the authority. The words of 1.19, the certificate of this kubeadm."""
    config = f"--config={node.certificates.prepare(NODE, '')}"

    def old(words: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        if "kubeconfig" not in words:
            return run(words)
        if words[1] != "alpha":
            return subprocess.CompletedProcess(words, 1, "", 'unknown command "kubeconfig" for "kubeadm"\n')
        if any(each.startswith("--config") for each in words):
            return subprocess.CompletedProcess(words, 1, "", "unknown flag: --config\n")
        pki = f"--cert-dir={node.folder / 'elsewhere' / 'pki'}"
        assert pki in words
        Path(config.partition("=")[2]).write_text(configuration)
        return run([config if each == pki else each for each in words])

    configuration = Path(config.partition("=")[2]).read_text()
    assert NodeCertificates(node.certificates.places, old).renew_kubelet_client(NODE, "")
    authority = certificate((node.folder / "elsewhere" / "pki" / "ca.crt").read_bytes())
    certificate(node.current.read_bytes()).verify_directly_issued_by(authority)


def test_once_and_check_mode(node: Node) -> None:
    """The same request is carried out once; check mode writes nothing."""
    assert node.certificates.renew_kubelet_client(NODE, "", once="a", check=True)
    assert not node.current.exists()
    assert node.certificates.renew_kubelet_client(NODE, "", once="a")
    first = node.current.read_bytes()
    assert not node.certificates.renew_kubelet_client(NODE, "", once="a")
    assert node.current.read_bytes() == first
    assert node.certificates.renew_kubelet_client(NODE, "", once="b")
    assert node.current.read_bytes() != first


def test_the_clusters_own_configuration(node: Node) -> None:
    """What the cluster's ClusterConfiguration says holds, as kubeadm reads it: here, where the CA is."""
    other = node.folder / "other"
    kubeadm("certs", "ca", f"--cert-dir={other}")
    cluster = {
        "apiVersion": API,
        "kind": "ClusterConfiguration",
        "kubernetesVersion": VERSION,
        "certificatesDir": str(other),
    }
    assert node.certificates.renew_kubelet_client(NODE, json.dumps(cluster))
    authority = certificate((other / "ca.crt").read_bytes())
    certificate(node.current.read_bytes()).verify_directly_issued_by(authority)
    assert not os.path.exists(node.certificates.places.configuration), "what kubeadm was given is taken away again"
    assert os.stat(node.certificates.prepare(NODE, "")).st_mode & 0o777 == 0o600


def test_without_the_authoritys_key(node: Node) -> None:
    """An external CA: it is said who can issue one, and nothing is changed."""
    (node.folder / "elsewhere" / "pki" / "ca.key").unlink()
    with pytest.raises(NodeError, match=r"ca\.key is not there"):
        node.certificates.renew_kubelet_client(NODE, "")
    assert not node.current.exists()


def test_a_configuration_that_kubeadm_refuses(node: Node) -> None:
    """kubeadm's own words are told, and the old certificate stays."""
    with pytest.raises(NodeError, match="kubeadm issued no client certificate"):
        node.certificates.renew_kubelet_client(NODE, "kind: ClusterConfiguration\napiVersion: kubeadm.k8s.io/v1\n")
    assert not node.current.exists()


class StandInKubelet:
    """Stands in for systemd and a worker's kubelet: without its link it asks for a certificate, and gets it or not.

    As the real one it writes its kubeconfig first.
    """

    def __init__(self, node: Node) -> None:
        self.folder, self.current = node.folder / "kubernetes", node.current
        self.gets, self.dies, self.token, self.runs_with = True, False, "", ""

    def __call__(self, words: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        if words[1] == "restart":
            if not self.current.exists():
                assert not (self.folder / "kubelet.conf").exists(), "a kubelet with a kubeconfig does not bootstrap"
                bootstrap = json.loads((self.folder / "bootstrap-kubelet.conf").read_text())
                self.token = bootstrap["users"][0]["user"]["token"]
                known = bootstrap["clusters"][0]["cluster"]
                lines = [f"{name}: {text}\n" for name, text in {**known, "client-certificate": self.current}.items()]
                (self.folder / "kubelet.conf").write_text("".join(lines))
                if self.gets:
                    self.current.write_text("new")
            if self.dies:
                os._exit(9)
            self.runs_with = self.current.read_text() if self.current.exists() else ""
        return subprocess.CompletedProcess(list(words), 0, "", "")


class Worker(t.NamedTuple):
    """A worker's certificates, and its kubelet, which has a link to its certificate as kubelets do."""

    certificates: NodeCertificates
    kubelet: StandInKubelet
    kubeconfig: Path

    def bootstrap(self, once: str = "a") -> bool:
        """Have the kubelet ask for another certificate."""
        return self.certificates.bootstrap_kubelet("abcdef.0123456789abcdef", once=once, seconds=0.2)

    @property
    def pki(self) -> Path:
        """The folder of the kubelet's certificates."""
        return self.kubelet.current.parent

    def state(self) -> tuple[str, str, list[str], bool]:
        """Its kubeconfig, where its link leads, what its folder has, whether the token is still there."""
        token = (self.kubeconfig.parent / "bootstrap-kubelet.conf").exists()
        names = sorted(each.name for each in self.pki.iterdir())
        return self.kubeconfig.read_text(), os.readlink(self.kubelet.current), names, token


@pytest.fixture(name="worker")
def _worker(node: Node) -> Worker:
    kubelet = StandInKubelet(node)
    node.current.parent.mkdir(exist_ok=True)
    (node.current.parent / "kubelet-client-2026-01-01.pem").write_text("old")
    node.current.symlink_to(node.current.parent / "kubelet-client-2026-01-01.pem")
    places = replace(node.certificates.places, kubelet="kubelet")
    return Worker(NodeCertificates(places, kubelet), kubelet, node.folder / "kubernetes" / "kubelet.conf")


def test_a_workers_kubelet_is_bootstrapped(worker: Worker) -> None:
    """With a token for the server and the CA that it knew; the token stays nowhere, and the same request is carried out once."""
    assert worker.bootstrap()
    assert worker.kubelet.token == "abcdef.0123456789abcdef" and worker.kubelet.runs_with == "new"
    assert not (worker.kubeconfig.parent / "bootstrap-kubelet.conf").exists()
    assert sorted(each.name for each in worker.pki.iterdir()) == [
        "kubelet-client-2026-01-01.pem",
        "kubelet-client-current.pem",
    ]
    assert not worker.bootstrap()


def test_a_kubelet_that_gets_no_certificate(worker: Worker) -> None:
    """It runs again with what it had, which may be good for months, and the token is taken away."""
    before = worker.state()
    worker.kubelet.gets = False
    with pytest.raises(NodeError, match="got no client certificate"):
        worker.bootstrap()
    assert worker.state() == before and worker.kubelet.runs_with == "old"
    worker.kubelet.gets = True
    assert worker.bootstrap() and worker.kubelet.runs_with == "new"


def test_a_call_that_was_killed_loses_nothing_of_a_kubelet(worker: Worker) -> None:
    """The next call puts back what the killed one had put aside, where it gets no certificate either."""
    before = worker.state()
    child = os.fork()
    if not child:
        try:
            worker.kubelet.gets, worker.kubelet.dies = False, True
            worker.bootstrap()
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert not worker.kubelet.current.exists() and worker.kubeconfig.read_text() != before[0]
    worker.kubelet.gets = False
    with pytest.raises(NodeError, match="got no client certificate"):
        worker.bootstrap()
    assert worker.state() == before and worker.kubelet.runs_with == "old"
