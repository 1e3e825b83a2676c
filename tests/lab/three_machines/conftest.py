# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One control plane of three machines for all files of this folder: made in the first, deleted in the last, healed in between."""

from __future__ import annotations

import base64
import shlex
import subprocess
import tempfile
import typing as t
from pathlib import Path

import pytest
from machines import Machines
from workspace import Workspace

NAME = "lab-life"
DOMAINS = ("a", "b", "c")
GRACE = {"name": "node-monitor-grace-period", "value": "20s"}
MARK = "/etc/lab-mark"


def spec(**more: t.Any) -> dict[str, t.Any]:
    """A KubeadmConfigSpec that uses files, users and commands."""
    password = base64.b64encode(b"s3cret-in-a-file\n").decode()
    return {
        "files": [
            {"path": MARK, "content": "one\n", "owner": "root:root", "permissions": "0640"},
            {"path": "/etc/hosts", "content": "192.0.2.9 lab-append\n", "append": True},
            {"path": "/etc/lab-secret", "content": password, "encoding": "base64", "permissions": "0600"},
            {
                "path": "/etc/lab-from-secret",
                "contentFrom": {"secret": {"name": "lab-extra", "key": "value"}},
                "permissions": "0600",
            },
        ],
        "users": [
            {
                "name": "lab",
                "shell": "/bin/bash",
                "groups": "adm",
                "sshAuthorizedKeys": ["ssh-ed25519 AAAALAB lab"],
                "passwdFrom": {"secret": {"name": "lab-extra", "key": "password"}},
            }
        ],
        "preKubeadmCommands": ["echo before-{{ ds.meta_data.local_hostname }} >> /run/lab-order"],
        "postKubeadmCommands": ["echo after >> /run/lab-order"],
        "clusterConfiguration": {
            "apiServer": {"extraArgs": [{"name": "audit-log-maxage", "value": "7"}], "certSANs": ["lab.example.org"]},
            "controllerManager": {"extraArgs": [GRACE]},
        },
        **more,
    }


OWN_CA = "the lab's own root"


def own_ca() -> dict[str, t.Any]:
    """A user's own CA Secret, made with openssl."""
    with tempfile.TemporaryDirectory() as folder:
        subject = ["-subj", f"/CN={OWN_CA}", "-addext", "keyUsage=critical,keyCertSign,cRLSign,digitalSignature"]
        command = shlex.split("openssl req -x509 -newkey rsa:2048 -nodes -days 30 -keyout key -out crt")
        subprocess.run([*command, *subject], cwd=folder, check=True, capture_output=True)
        content = {name: (Path(folder) / name).read_text() for name in ("crt", "key")}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": {"name": f"{NAME}-ca", "namespace": "default"},
        "stringData": {"tls.crt": content["crt"], "tls.key": content["key"]},
    }


CA = own_ca()
VALUE, PASSWORD = "a-very-secret-value", "$6$lab$not-a-hash-that-anybody-has"
EXTRA = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "lab-extra", "namespace": "default"},
    "stringData": {"value": VALUE, "password": PASSWORD},
}


def health_check(**spec: t.Any) -> dict[str, t.Any]:
    """A MachineHealthCheck with timeouts that a test can wait for."""
    conditions = [{"type": "Ready", "status": status, "timeout": "5s"} for status in ("Unknown", "False")]
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta1",
        "kind": "MachineHealthCheck",
        "metadata": {"name": f"{NAME}-control-plane", "namespace": "default"},
        "spec": {
            "clusterName": NAME,
            "selector": {"matchLabels": {"cluster.x-k8s.io/control-plane": ""}},
            "nodeStartupTimeout": "10m",
            "unhealthyConditions": conditions,
            **spec,
        },
    }


def wants(workspace: Workspace, health: t.Optional[dict[str, t.Any]] = None, **options: t.Any) -> None:
    """Write the manifest; ``health``: what the MachineHealthCheck says besides."""
    secrets = [EXTRA, CA, health_check(**(health or {}))]
    workspace.manifest(
        NAME, **{"replicas": 3, "failure_domains": DOMAINS, "kubeadm": spec(), "secrets": secrets, **options}
    )


@pytest.fixture(scope="package")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Workspace]:
    """The folder of its user."""
    made = Workspace(tmp_path_factory.mktemp("three-machines"))
    yield made
    made.remove_clusters()


@pytest.fixture(scope="package")
def machines(workspace: Workspace) -> Machines:
    """Its machines; none before a test of its creation has made them."""
    return Machines(workspace, NAME)


@pytest.fixture(scope="package")
def three(workspace: Workspace, machines: Machines) -> Machines:
    """Its machines, made now where no test of its creation was run before."""
    if len(machines.names()) != 3:
        wants(workspace)
        workspace.playbook("reconcile").succeeded()
    return machines
