# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Single-node clusters that differ: another version stamp, a CA whose key stays with the user, the proposal's own manifest."""

from __future__ import annotations

import base64
import subprocess
import tempfile
import typing as t
from pathlib import Path

import pytest
from lab_kubernetes import NEXT, VERSION, upgrades
from machines import Machines
from workspace import Workspace

pytestmark = pytest.mark.full

SIGNER = "/root/signer.key"
PKI = "/etc/kubernetes/pki"
CONFIG = "/run/kubeadm/kubeadm.yaml"


def delete(workspace: Workspace, name: str) -> None:
    """Delete a cluster and its manifest."""
    workspace.playbook("delete", "--limit", name, "-e", f"control_plane_delete={name}").succeeded()
    (workspace.folder / "clusters" / f"{name}.yaml").unlink()


@upgrades
def test_another_version_stamp(workspace: Workspace) -> None:
    """The next version, or the same source under its stamp: image, kubeadm and kubelet agree on it."""
    name = "lab-stamp"
    workspace.manifest(name, replicas=1, version=NEXT)
    workspace.playbook("reconcile", "--limit", name).succeeded()
    status = workspace.status(name)
    assert status["version"] == {"desired": NEXT, "running": [NEXT]}
    assert status["replicas"]["ready"] == 1
    delete(workspace, name)


def authority() -> dict[str, str]:
    """A CA whose key the store never gets."""
    with tempfile.TemporaryDirectory() as folder:
        subject = ["-subj", "/CN=kubernetes", "-addext", "keyUsage=critical,keyCertSign,cRLSign,digitalSignature"]
        command = [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "30",
            "-keyout",
            "key",
            "-out",
            "crt",
        ]
        subprocess.run([*command, *subject], cwd=folder, check=True, capture_output=True)
        return {name: (Path(folder) / name).read_text() for name in ("crt", "key")}


def test_a_ca_without_its_key(workspace: Workspace) -> None:
    """The user's CA has no key in the store: certificates are issued by the user's own commands, the key never stays on the node."""
    name = "lab-external-ca"
    content = authority()
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": {"name": f"{name}-ca", "namespace": "default"},
        "stringData": {"tls.crt": content["crt"]},
    }
    kubeadm: dict[str, t.Any] = {
        # The user's signing service stands here as a key outside kubeadm's folder, gone before kubeadm init runs.
        "files": [{"path": SIGNER, "content": content["key"], "permissions": "0600"}],
        "preKubeadmCommands": [
            f"cp {SIGNER} {PKI}/ca.key",
            f"kubeadm init phase certs all --config {CONFIG}",
            f"kubeadm init phase kubeconfig all --config {CONFIG}",
            f"rm {PKI}/ca.key {SIGNER}",
        ],
    }
    workspace.manifest(name, replicas=1, kubeadm=kubeadm, secrets=[secret])
    workspace.playbook("reconcile", "--limit", name).succeeded()
    machines = Machines(workspace, name)
    assert machines.ready_nodes() == machines.names()
    assert machines.ssh(machines.names()[0], f"ls {PKI}/ca.key {SIGNER} 2>/dev/null || true") == ""
    stored = {each["metadata"]["name"]: each for each in workspace.objects("Secret")}
    assert set(stored[f"{name}-ca"]["data"]) == {"tls.crt"}
    assert base64.b64decode(stored[f"{name}-ca"]["data"]["tls.crt"]).decode() == content["crt"]
    assert f"{name}-kubeconfig" not in stored
    assert f"{name}-kubeconfig" in workspace.playbook("status", "--limit", name).text
    delete(workspace, name)


@pytest.mark.parametrize("form", ["v1alpha3", "v1beta1"])
def test_the_proposals_manifest(workspace: Workspace, form: str) -> None:
    """The example of the KubeadmControlPlane proposal, corrected, in the older API forms, with one replica."""
    examples = Path(__file__).parents[2] / "examples" / "manifests"
    text = next(examples.glob(f"*{form}*.yaml")).read_text()
    workspace.write("my-cluster", text.replace("replicas: 3", "replicas: 1").replace("v1.20.2", VERSION))
    workspace.playbook("reconcile", "--limit", "my-cluster").succeeded()
    assert workspace.playbook("reconcile", "--limit", "my-cluster").succeeded().recap("my-cluster")["changed"] == 0
    assert workspace.status("my-cluster")["replicas"]["ready"] == 1
    delete(workspace, "my-cluster")
