# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A management cluster for tests: who uses it, and its own kubectl."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import subprocess
import typing as t
from pathlib import Path

import pytest
import yaml
from actions import run_action
from api_server import ApiServer, find_binary
from cryptography.x509.oid import ExtendedKeyUsageOID
from etcd_cluster import free_port
from workspace import cluster_documents

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.management import roles
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.requests import KubernetesApi

Object = dict[str, t.Any]
CLUSTER = {"cluster.x-k8s.io/cluster-name": "prod"}


def kubeconfig_of(server: ApiServer, user: str, group: str = "") -> str:
    """Write the kubeconfig of a user whom nothing but RBAC allows anything, and return its path."""
    folder = Path(server.kubeconfig).parent
    pair = server.authority.issue(user, (ExtendedKeyUsageOID.CLIENT_AUTH,), group)
    document = json.loads(Path(server.kubeconfig).read_text())
    certificate, key = (base64.b64encode(Path(path).read_bytes()).decode() for path in pair)
    document["users"] = [{"name": "u", "user": {"client-certificate-data": certificate, "client-key-data": key}}]
    path = folder / f"{user}.conf"
    path.write_text(json.dumps(document))
    path.chmod(0o600)
    return str(path)


@contextlib.contextmanager
def controller_manager(server: ApiServer, folder: Path, *controllers: str) -> t.Iterator[None]:
    """Have the real kube-controller-manager at work, with these of its controllers alone."""
    binary = find_binary("kube-controller-manager")
    if binary is None:
        pytest.skip("no kube-controller-manager: set KUBERNETES_BINARIES, or build a machine image first")
    command = [
        binary,
        f"--kubeconfig={server.kubeconfig}",
        f"--controllers={','.join(controllers)}",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        f"--secure-port={free_port()}",
        "--port=0",
        f"--cert-dir={folder / 'certificates'}",
    ]
    with (folder / "controller-manager.log").open("ab") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.kill()
        process.wait()


def admin_token(server: ApiServer) -> str:
    """A token of a service account that may do everything."""
    admin = KubernetesApi({"kubeconfig": server.kubeconfig})
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    admin.send(
        "create", accounts, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "awx"}}, accepted=(409,)
    )
    bound = {
        "apiVersion": roles.API,
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "awx"},
        "roleRef": {"apiGroup": roles.RBAC_GROUP, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "awx", "namespace": "default"}],
    }
    admin.send("create", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", bound, accepted=(409,))
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    return str(admin.send("create", f"{accounts}/awx/token", request).document["status"]["token"])


class Kubectl:
    """kubectl, as a person types it."""

    def __init__(self, server: ApiServer, kubeconfig: str = "") -> None:
        self._command = [server.kubectl, "--kubeconfig", kubeconfig or server.kubeconfig]
        self._environment = {**os.environ, "HOME": str(Path(server.kubeconfig).parent)}

    def __call__(self, *arguments: str, stdin: str = "", code: int = 0, **environment: str) -> str:
        """Run it and return what it said, both streams."""
        done = subprocess.run(
            [*self._command, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env={**self._environment, **environment},
        )
        said = done.stdout + done.stderr
        assert done.returncode == code, f"kubectl {' '.join(arguments)} ended with {done.returncode}: {said}"
        return said

    def apply(self, obj: Object) -> str:
        """Apply one object."""
        return self("apply", "-f", "-", stdin=json.dumps(obj))


def smallest_spec(kind: str) -> Object:
    """The smallest spec that an API server takes of a kind."""
    if kind in ("Machine", "MachineDeployment", "MachineSet"):
        return {"clusterName": "prod"}
    if kind == "ClusterResourceSet":
        return {"clusterSelector": {}, "resources": [{"kind": "ConfigMap", "name": "one"}]}
    if kind == "ClusterResourceSetBinding":
        return {"clusterName": "prod"}
    return {"clusterName": "prod", "selector": {}} if kind == "MachineHealthCheck" else {}


def control_plane(**spec: t.Any) -> Object:
    """A KubeadmControlPlane as a person applies it."""
    return {
        "apiVersion": "controlplane.cluster.x-k8s.io/v1beta2",
        "kind": "KubeadmControlPlane",
        "metadata": {"name": "prod", "namespace": "default", "labels": CLUSTER},
        "spec": {
            "version": "v1.20.2",
            "machineTemplate": {
                "spec": {
                    "infrastructureRef": {
                        "apiGroup": "infrastructure.cluster.x-k8s.io",
                        "kind": "InventoryMachineTemplate",
                        "name": "prod",
                    }
                }
            },
            **spec,
        },
    }


class Runs:
    """What the role's tasks do with the cluster prod in the API, without any machine; `options` are its manifest's."""

    def __init__(self, server: ApiServer, folder: Path, **options: t.Any) -> None:
        self.store = {"type": "kubernetes", "kubeconfig": server.kubeconfig, "path": str(folder / "journal")}
        self.manifest = folder / "prod.yaml"
        self.manifest.write_text(yaml.safe_dump_all(cluster_documents("prod", **options), sort_keys=False))

    def __call__(self, module: str, /, check: bool = False, **arguments: t.Any) -> Object:
        """Run an action and return what a task would register."""
        return run_action(module, check, cluster="prod", store=self.store, **arguments)

    def infrastructure_is_there(self, host: str = "192.0.2.1", port: int = 6443) -> None:
        """Its infrastructure provider has made what a cluster needs, with this endpoint."""
        endpoint = {"controlPlaneEndpoint": {"host": host, "port": port}}
        status = {"initialization": {"provisioned": True}}
        self("infrastructure_status", kind="NspawnCluster", name="prod", spec=endpoint, status=status)


def runner_binding_of(namespace: str, user: str) -> dict[str, t.Any]:
    """What gives a user the Role of a runner."""
    made = roles.runner_binding(namespace, [{"kind": "User", "name": user}])
    made["metadata"]["name"] = f"test-{user}"
    return made
