# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Renewal of a node's certificates by kubeadm, without an API.

It covers their end dates, kubeadm's configuration, and the kubelet's client certificate.

Source: docs/reference/kubeadm.md, "Certificates".

kubeadm renews everything but the last: a kubelet renews its own certificate through the API, and can't once it has
expired. A control plane node has the CA's key, so that kubeadm can issue one there; the key never leaves the node.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import os
import re
import stat
import time
import typing as t
from dataclasses import dataclass

from ...common import guard, kubernetes_versions, settings, systemd_units, timed_command
from ...common.guard import NodeError, read_text
from ...common.redact import redact
from ...etcd.certificates_dir import certificates_dir
from ...workload_api.api import own_server
from ..components import kubelet
from . import end_dates as certificates
from .der import pem_certificates, public_key

KUBELET = "kubelet.conf"
# kubeadm's names, and the files below the certificates' folder.
FILES: t.Mapping[str, str] = {
    "ca": "ca.crt",
    "etcd-ca": "etcd/ca.crt",
    "front-proxy-ca": "front-proxy-ca.crt",
    "apiserver": "apiserver.crt",
    "apiserver-etcd-client": "apiserver-etcd-client.crt",
    "apiserver-kubelet-client": "apiserver-kubelet-client.crt",
    "etcd-healthcheck-client": "etcd/healthcheck-client.crt",
    "etcd-peer": "etcd/peer.crt",
    "etcd-server": "etcd/server.crt",
    "front-proxy-client": "front-proxy-client.crt",
}
KUBECONFIGS = ("admin.conf", "controller-manager.conf", "scheduler.conf", "super-admin.conf", KUBELET)
_POLL_SECONDS = 0.2
# What ends the names of what a kubelet had before it asks for a certificate.
_ASIDE = ".before-bootstrap"
_EMBEDDED = re.compile(r"^(\s*)client-certificate-data:\s*(\S+)\s*$", re.MULTILINE)
_EMBEDDED_KEY = re.compile(r"^(\s*)client-key-data:\s*(\S+)\s*$", re.MULTILINE)
_SERVER = re.compile(r"^\s*server:\s*[\"']?(https://[^\s\"']+)", re.MULTILINE)
_AUTHORITY = re.compile(r"^\s*certificate-authority-data:\s*([A-Za-z0-9+/=]+)", re.MULTILINE)
_REFERENCE = re.compile(r"^\s*client-certificate:\s*[\"']?([^\s\"']+)", re.MULTILINE)


@dataclass(frozen=True)
class Places:
    """Paths on a node; tests use other ones.

    ``kubelet`` is the kubelet's unit, "" for none.
    """

    kubernetes: str = "/etc/kubernetes"
    kubelet_pki: str = "/var/lib/kubelet/pki"
    run: str = "/run/kubeadm"
    state: str = os.path.join(guard.STATE_DIRECTORY, "certificates")
    kubeadm: str = "kubeadm"
    kubelet: str = "kubelet"

    @property
    def configuration(self) -> str:
        """File of kubeadm's configuration for operations without an API."""
        return os.path.join(self.run, "renew.yaml")

    @property
    def current(self) -> str:
        """The kubelet's own link to its client certificate and key in use."""
        return os.path.join(self.kubelet_pki, "kubelet-client-current.pem")


@dataclass(frozen=True)
class NodeCertificates:
    """Certificates of this node.

    ``runner`` runs kubeadm (its output may hold a key: it stays in this process) and systemctl.
    """

    places: Places = Places()
    runner: systemd_units.Runner = systemd_units.run

    def ends(self) -> dict[str, str]:
        """Return the end date of each certificate, by kubeadm's name.

        RFC 3339, UTC. A certificate that is missing or can't be read is left out.
        """
        found: dict[str, str] = {}
        for name, path in FILES.items():
            _add(found, name, read_text(os.path.join(self.pki(), path)))
        for name in KUBECONFIGS:
            _add(found, name, self._client_certificate(os.path.join(self.places.kubernetes, name)))
        return found

    def pki(self) -> str:
        """Return ClusterConfiguration.certificatesDir, as this machine has it."""
        return certificates_dir(self.places.kubernetes)

    def remove_link(self, *, check: bool = False, before_change: t.Callable[[], None] = lambda: None) -> bool:
        """Remove the link that a rotation left from the API server's file.

        It is the authority's key signed by another one, behind the server's own certificate. With it kubeadm neither renews nor
        upgrades ("wanted exactly one certificate, got 2"). A chain of the user's own stays.

        Source: docs/rotate_certificate_authorities.md, "Running pods".

        Returns:
            whether there was one.
        """
        path = os.path.join(self.pki(), FILES["apiserver"])
        own, *more = pem_certificates(read_text(path)) or [""]
        authority = _public_key(read_text(os.path.join(self.pki(), FILES["ca"])))
        if not more or authority is None or any(_public_key(each) != authority for each in more):
            return False
        if not check:
            before_change()
            guard.write_atomically(path, own.encode(), stat.S_IMODE(os.stat(path).st_mode))
        return True

    def prepare(self, node_name: str, configuration: str) -> str:
        """Write kubeadm's configuration for operations without an API; return the file.

        Args:
            node_name: the Node's name.
            configuration: the cluster's ClusterConfiguration as YAML; "" where it is unknown: then what this node's own files have.
        """
        version = self._kubeadm_version()
        api = kubernetes_versions.api_version_for(version).api_version
        init: dict[str, t.Any] = {
            "apiVersion": api,
            "kind": "InitConfiguration",
            "nodeRegistration": {"name": node_name, "criSocket": kubelet.cri_socket() or "/var/run/dockershim.sock"},
        }
        server = own_server(os.path.join(self.places.kubernetes, "manifests")) or ""
        host, _colon, port = server.rpartition("//")[2].rpartition(":")
        if host:
            # Otherwise kubeadm looks for a default route, which not every node has.
            init["localAPIEndpoint"] = {"advertiseAddress": host.strip("[]"), "bindPort": int(port)}
        cluster = {"apiVersion": api, "kind": "ClusterConfiguration", "kubernetesVersion": version}
        own = json.dumps({**cluster, "certificatesDir": self.pki()})
        # JSON is YAML; what the cluster has stays as it is written.
        text = "\n---\n".join([json.dumps(init), configuration.strip() or own]) + "\n"
        os.makedirs(self.places.run, mode=0o700, exist_ok=True)
        guard.write_atomically(self.places.configuration, text.encode(), 0o600)
        return self.places.configuration

    def renew_kubelet_client(
        self,
        node_name: str,
        configuration: str,
        *,
        once: str = "",
        check: bool = False,
        before_change: t.Callable[[], None] = lambda: None,
    ) -> bool:
        """Renew the kubelet's client certificate with this node's CA key.

        kubeadm issues it, and the kubelet is restarted.

        Args:
            node_name, configuration: see :meth:`prepare`.
            once: names the request; one that was carried out is not carried out again. "" renews always.

        Returns:
            whether it was renewed (or would be).

        Raises:
            NodeError: there is no CA key or no kubelet.conf here, or kubeadm or the kubelet failed.
        """
        kubeconfig = os.path.join(self.places.kubernetes, KUBELET)
        if not os.path.exists(kubeconfig):
            raise NodeError(f"{kubeconfig} is not there: no kubelet of a cluster runs on this machine.", "Name a Node.")
        authority = os.path.join(self.pki(), "ca.key")
        if not os.path.exists(authority):
            raise NodeError(
                f"{authority} is not there: this node can't issue its kubelet a certificate.",
                "Issue one where the CA's key is (organization system:nodes, common name system:node:<Node>), and put certificate"
                f" and key to {self.places.current}.",
            )
        record = os.path.join(self.places.state, "kubelet-client")
        if once and read_text(record) == once:
            return False
        if check:
            return True
        before_change()
        os.makedirs(self.places.state, mode=0o700, exist_ok=True)
        pair = self._issue(node_name, configuration)
        self._install(pair)
        text = read_text(kubeconfig)
        pointed = _pointing_to(text, self.places.current)
        if pointed != text:
            # Written at init by old versions of kubeadm: the certificate itself, which no kubelet renews.
            # Source: docs/reference/kubeadm.md, "Certificates".
            guard.write_atomically(kubeconfig, (pointed + "\n").encode(), 0o600)
        if self.places.kubelet:
            kubelet.restart(self.runner, self.places.kubelet)
            kubelet.wait_until_well()
        guard.write_atomically(record, f"{once}\n".encode())
        return True

    def bootstrap_kubelet(
        self,
        token: str,
        *,
        once: str = "",
        seconds: float = 120.0,
        check: bool = False,
        before_change: t.Callable[[], None] = lambda: None,
    ) -> bool:
        """Request a kubelet's client certificate from the API with a bootstrap token.

        A worker's kubelet asks for it, as with ``kubeadm join``.

        Its key is made on this node and never leaves it. The old kubeconfig, and the link to the certificate in use, are kept beside
        them (``.before-bootstrap``). Where the kubelet got no certificate in time, they are put back and it is restarted: its old
        certificate may be good for months. What a call that was killed has put aside, the next one takes over.

        Raises:
            NodeError: there is no kubelet.conf here, or the kubelet got no certificate.
        """
        kubeconfig, current = os.path.join(self.places.kubernetes, KUBELET), self.places.current
        before, link = f"{kubeconfig}{_ASIDE}", f"{current}{_ASIDE}"
        record = os.path.join(self.places.state, "kubelet-bootstrap")
        if once and read_text(record) == once:
            return False
        text = read_text(kubeconfig) or read_text(before)
        server, authority = _SERVER.search(text), _AUTHORITY.search(text)
        if server is None or authority is None:
            raise NodeError(
                f"{kubeconfig} names no server or no CA: this machine is no Node of kubeadm's.", "Name a Node of one."
            )
        if check:
            return True
        before_change()
        os.makedirs(self.places.state, mode=0o700, exist_ok=True)
        bootstrap = os.path.join(self.places.kubernetes, "bootstrap-kubelet.conf")
        guard.write_atomically(bootstrap, _bootstrap_kubeconfig(server.group(1), authority.group(1), token), 0o600)
        try:
            # A kubelet writes its kubeconfig before it has a certificate: without one, what a killed call left there is not the old one.
            if os.path.exists(kubeconfig) and os.path.lexists(link) and not os.path.lexists(current):
                os.unlink(kubeconfig)
            elif os.path.exists(kubeconfig):
                os.replace(kubeconfig, before)
            if os.path.lexists(current):
                os.replace(current, link)
            if self.places.kubelet:
                kubelet.restart(self.runner, self.places.kubelet)
            self._wait_for_certificate(kubeconfig, seconds)
        except BaseException:
            if os.path.lexists(link):
                os.replace(link, current)
            if os.path.exists(before):
                os.replace(before, kubeconfig)
            os.unlink(bootstrap)
            if self.places.kubelet:
                kubelet.restart(self.runner, self.places.kubelet)
            raise
        os.unlink(bootstrap)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(link)
        guard.write_atomically(record, f"{once}\n".encode())
        return True

    def _wait_for_certificate(self, kubeconfig: str, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not (os.path.exists(kubeconfig) and os.path.exists(self.places.current)):
            if time.monotonic() > deadline:
                raise NodeError(
                    f"The kubelet got no client certificate within {seconds:g} s.",
                    "Its old kubeconfig and certificate were put back, and it was restarted with them. Look at journalctl -u kubelet, and at "
                    "kubectl get csr: a request that waits there has to be approved.",
                )
            time.sleep(_POLL_SECONDS)

    def _issue(self, node_name: str, configuration: str) -> bytes:
        path = self.prepare(node_name, configuration)
        user = ["kubeconfig", "user", "--org=system:nodes", f"--client-name=system:node:{node_name}"]
        try:
            done = self.runner([self.places.kubeadm, *user, f"--config={path}"])
            if done.returncode != 0 and "unknown" in done.stderr:
                # Before 1.21.
                done = self.runner([self.places.kubeadm, "alpha", *user, f"--config={path}"])
            if done.returncode != 0 and "unknown flag: --config" in done.stderr:
                # Before 1.20. Of the kubeconfig only the certificate and its key are taken.
                done = self.runner([self.places.kubeadm, "alpha", *user, f"--cert-dir={self.pki()}"])
        finally:
            os.unlink(path)
        certificate, key = _EMBEDDED.search(done.stdout), _EMBEDDED_KEY.search(done.stdout)
        if done.returncode == 0 and certificate and key:
            with contextlib.suppress(binascii.Error):
                return b"".join(base64.b64decode(each.group(2), validate=True) for each in (certificate, key))
        raise NodeError(
            f"kubeadm issued no client certificate for system:node:{node_name} (exit status {done.returncode}): "
            f"{redact(done.stderr.strip())[-400:]}",
            "The kubelet's certificate was left as it is. Correct what kubeadm names (it reads the ConfigMap kubeadm-config of kube-system, "
            "and the key of the authority beside its certificate); then run again.",
        )

    def _install(self, pair: bytes) -> None:
        """Install certificate and key as the kubelet's own store does.

        A dated file holds both, and a link leads to the file in use.
        """
        os.makedirs(self.places.kubelet_pki, mode=0o755, exist_ok=True)
        name = f"kubelet-client-{time.strftime('%Y-%m-%d-%H-%M-%S', time.gmtime())}.pem"
        guard.write_atomically(os.path.join(self.places.kubelet_pki, name), pair, 0o600)
        link = f"{self.places.current}.new"
        if os.path.lexists(link):
            os.unlink(link)
        os.symlink(os.path.join(self.places.kubelet_pki, name), link)
        os.rename(link, self.places.current)
        guard.sync_directory(self.places.kubelet_pki)

    def _client_certificate(self, path: str) -> str:
        text = read_text(path)
        embedded = _EMBEDDED.search(text)
        if embedded:
            try:
                return base64.b64decode(embedded.group(2), validate=True).decode("ascii", errors="replace")
            except binascii.Error:
                return ""
        reference = _REFERENCE.search(text)
        return read_text(reference.group(1)) if reference else ""

    def _kubeadm_version(self) -> str:
        done = self.runner([self.places.kubeadm, "version", "--output=short"])
        found = re.search(r"v\d+\.\d+\.\d+\S*", done.stdout)
        if done.returncode != 0 or found is None:
            raise NodeError(f"kubeadm does not tell its version: {done.stderr.strip()[:200]}")
        return found.group()


def run(words: t.Sequence[str]) -> t.Any:
    """Run kubeadm or systemctl."""
    return timed_command.run(words, seconds=settings.KUBEADM_SECONDS, why="A kubeadm node needs it.")


def _public_key(pem: str) -> t.Optional[bytes]:
    try:
        return public_key(pem)
    except ValueError:
        return None


def _add(found: dict[str, str], name: str, pem: str) -> None:
    try:
        found[name] = certificates.not_after(pem)
    except ValueError:
        return


def _pointing_to(kubeconfig: str, path: str) -> str:
    text = _EMBEDDED.sub(rf"\g<1>client-certificate: {path}", kubeconfig)
    return _EMBEDDED_KEY.sub(rf"\g<1>client-key: {path}", text)


def _bootstrap_kubeconfig(server: str, authority: str, token: str) -> bytes:
    cluster = {"server": server, "certificate-authority-data": authority}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "kubernetes", "cluster": cluster}],
        "users": [{"name": "tls-bootstrap-token-user", "user": {"token": token}}],
        "contexts": [{"name": "bootstrap", "context": {"cluster": "kubernetes", "user": "tls-bootstrap-token-user"}}],
        "current-context": "bootstrap",
    }
    return json.dumps(document).encode()
