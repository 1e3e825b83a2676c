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
    - --tls-cert-file={pki}/apiserver.crt
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
    """Stands in for systemd and a worker's kubelet: it gets a certificate with the token that it finds, or not."""

    def __init__(self, node: Node, gets: bool) -> None:
        self.folder, self.gets, self.token = node.folder / "kubernetes", gets, ""
        self.current = node.current

    def __call__(self, words: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        if words[1] == "restart":
            assert not (self.folder / "kubelet.conf").exists(), "a kubelet with a kubeconfig does not bootstrap"
            bootstrap = json.loads((self.folder / "bootstrap-kubelet.conf").read_text())
            self.token = bootstrap["users"][0]["user"]["token"]
            if self.gets:
                self.current.parent.mkdir(exist_ok=True)
                self.current.write_text("new")
                (self.folder / "kubelet.conf").write_text("new")
        return subprocess.CompletedProcess(list(words), 0, "", "")


def bootstrapped(node: Node, gets: bool = True) -> tuple[NodeCertificates, StandInKubelet]:
    """A worker's kubelet, which asks for a certificate when it is restarted."""
    kubelet = StandInKubelet(node, gets)
    places = replace(node.certificates.places, kubelet="kubelet")
    return NodeCertificates(places, kubelet), kubelet


def test_a_workers_kubelet_is_bootstrapped(node: Node) -> None:
    """With a token for the server and the CA that it knew; the token stays nowhere, and the same request is carried out once."""
    worker, kubelet = bootstrapped(node)
    assert worker.bootstrap_kubelet("abcdef.0123456789abcdef", once="a")
    assert kubelet.token == "abcdef.0123456789abcdef"
    assert (node.folder / "kubernetes" / "kubelet.conf").read_text() == "new"
    assert not (node.folder / "kubernetes" / "bootstrap-kubelet.conf").exists()
    assert not worker.bootstrap_kubelet("abcdef.0123456789abcdef", once="a")


def test_a_kubelet_that_gets_no_certificate(node: Node) -> None:
    """Its old kubeconfig is put back, and the token is taken away."""
    before = (node.folder / "kubernetes" / "kubelet.conf").read_text()
    worker, _kubelet = bootstrapped(node, gets=False)
    with pytest.raises(NodeError, match="got no client certificate"):
        worker.bootstrap_kubelet("abcdef.0123456789abcdef", seconds=0.2)
    assert (node.folder / "kubernetes" / "kubelet.conf").read_text() == before
    assert not (node.folder / "kubernetes" / "bootstrap-kubelet.conf").exists()
