# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real kube-apiserver with one real etcd on loopback, and kubeadm's files around it, for tests."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import subprocess
import typing as t
from pathlib import Path

from cryptography.x509.oid import ExtendedKeyUsageOID
from etcd_cluster import Authority, EtcdCluster, free_port, until

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.https import Unreachable
from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload_api.api import (
    ApiAccess,
    ApiClient,
    read_access,
)

START_SECONDS = 120.0
_SERVER, _CLIENT = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH


def find_binary(name: str) -> t.Optional[str]:
    """Return a Kubernetes binary: from the folder KUBERNETES_BINARIES, from PATH, or from the collection's cache."""
    folder = os.environ.get("KUBERNETES_BINARIES")
    if folder and os.access(os.path.join(folder, name), os.X_OK):
        return os.path.join(folder, name)
    default = os.path.expanduser("~/.cache/kubeadm-control-plane")
    cache = Path(os.environ.get("KUBEADM_CONTROL_PLANE_CACHE") or default)
    for path in sorted(cache.glob(f"kubernetes/*/bin-*/{name}")):
        if os.access(path, os.X_OK):
            return str(path)
    return shutil.which(name)


def find_newer(name: str) -> t.Optional[str]:
    """Return a program of the newer release that tests/tools/newer.sh has put into the cache (its ``etcd/`` and ``kubernetes/``), or None."""
    default = os.path.expanduser("~/.cache/kubeadm-control-plane")
    cache = Path(os.environ.get("KUBEADM_CONTROL_PLANE_CACHE") or default)
    return shutil.which(name, path=os.pathsep.join(str(cache / "newer" / each) for each in ("etcd", "kubernetes")))


class ApiServer:
    """A kube-apiserver of one's own; its admin's kubeconfig and a static pod manifest are as kubeadm lays them out."""

    def __init__(self, directory: Path, kube_apiserver: str, kubectl: str) -> None:
        self.kubectl = kubectl
        self._access: dict[str, ApiAccess] = {}
        self.etcd = EtcdCluster(directory / "etcd", 1).wait_ready()
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.authority = Authority(directory / "pki", "kubernetes")
        server = self.authority.issue("apiserver", (_SERVER,))
        admin = self.authority.issue("kubernetes-admin", (_CLIENT,), "system:masters")
        accounts = self.authority.issue("sa", (_CLIENT,))
        self.kubeconfig = str(directory / "admin.conf")
        self.write_kubeconfig(self.url, self.authority.ca_file, admin)
        self.manifests = directory / "manifests"
        self.manifests.mkdir()
        annotation = f"kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint: 127.0.0.1:{self.port}"
        (self.manifests / "kube-apiserver.yaml").write_text(f"metadata:\n  annotations:\n    {annotation}\n")
        (self.manifests / "etcd.yaml").write_text("metadata: {}\n")
        command = [
            kube_apiserver,
            *self.serving(server),
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={accounts[1]}",
            f"--service-account-signing-key-file={accounts[1]}",
            "--service-cluster-ip-range=10.96.0.0/16",
            "--authorization-mode=Node,RBAC",
            "--enable-bootstrap-token-auth",
            "--disable-admission-plugins=ServiceAccount",
        ]
        with (directory / "apiserver.log").open("ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def serving(self, pair: tuple[str, str]) -> list[str]:
        """Return the flags of a server at this port, with that certificate and key, whose objects are in the etcd here."""
        return [
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--etcd-servers={self.etcd.members[0].client_url}",
            f"--etcd-cafile={self.etcd.credentials.ca_file}",
            f"--etcd-certfile={self.etcd.credentials.certificate_file}",
            f"--etcd-keyfile={self.etcd.credentials.key_file}",
            f"--client-ca-file={self.authority.ca_file}",
            f"--tls-cert-file={pair[0]}",
            f"--tls-private-key-file={pair[1]}",
        ]

    def write_kubeconfig(self, server: str, ca_file: str, pair: tuple[str, str]) -> None:
        """Write admin.conf as kubeadm does: everything inside, 0600."""
        authority, certificate, key = (base64.b64encode(Path(path).read_bytes()).decode() for path in (ca_file, *pair))
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": server, "certificate-authority-data": authority}}],
            "users": [{"name": "u", "user": {"client-certificate-data": certificate, "client-key-data": key}}],
            "contexts": [{"name": "u@c", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "u@c",
        }
        Path(self.kubeconfig).write_text(json.dumps(document))
        Path(self.kubeconfig).chmod(0o600)

    def client(self) -> ApiClient:
        """Return a client with the admin's credentials."""
        text = Path(self.kubeconfig).read_text()
        if text not in self._access:
            # A process of kubectl takes long on a machine that other tests keep busy, too.
            self._access = {text: read_access(self.kubeconfig, self.kubectl)}
        return ApiClient(self._access[text], self.url, 60.0)

    def wait_ready(self) -> ApiServer:
        """Wait until the server says that it is ready and its first namespaces are there."""

        def ready() -> bool:
            try:
                with self.client() as client:
                    paths = ("/readyz", "/api/v1/namespaces/kube-system", "/api/v1/namespaces/kube-public")
                    return all(client.send("GET", path).status == 200 for path in paths)
            except (Unreachable, NodeError):
                return False

        # It needs ten seconds of a processor that nobody else uses.
        until("the API server is ready", ready, START_SECONDS)
        return self

    def create(self, path: str, document: t.Mapping[str, t.Any]) -> None:
        """Create an object, and its status where it has one."""
        with self.client() as client:
            made = client.checked(client.send("POST", path, document), path)
            if "status" in document:
                own = f"{path}/{made['metadata']['name']}/status"
                client.checked(client.send("PUT", own, {**made, "status": document["status"]}), own)

    def until_served(self, path: str) -> None:
        """Wait until the server serves a path that a custom resource's definition has just added."""

        def served() -> bool:
            with contextlib.suppress(Unreachable), self.client() as client:
                return client.send("GET", path).status == 200
            return False

        until(f"{path} is served", served)

    def until_allowed(self, user: str, verb: str, group: str, resource: str, namespace: str = "default") -> None:
        """Wait until the server lets a user do what a Role has just allowed: it hears of Roles by a watch of its own."""
        resource, _unused, subresource = resource.partition("/")
        asked = {"verb": verb, "group": group, "resource": resource, "subresource": subresource, "namespace": namespace}
        review = {"spec": {"user": user, "resourceAttributes": asked}}

        def allowed() -> bool:
            with self.client() as client:
                path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
                return bool(client.checked(client.send("POST", path, review), path)["status"]["allowed"])

        until(f"{user} may {verb} {resource} in {namespace}", allowed)

    def end(self) -> None:
        """Kill the processes."""
        self.process.kill()
        self.process.wait()
        self.etcd.end()
