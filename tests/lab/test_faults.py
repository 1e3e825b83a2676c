# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults while a cluster is made: each named, bounded, without secrets, and gone on from after the fix."""

from __future__ import annotations

import base64
import contextlib
import socket
import subprocess
import tempfile
import typing as t
from pathlib import Path

import pytest
from machines import Machines
from traces import traces
from workspace import Workspace

NAME = "lab-fault"
# Something else listens on the scheduler's port: kubeadm's preflight ends with an error at once.
OCCUPY = "nohup python3 -m http.server 10259 >/dev/null 2>&1 &"
MARK = "/etc/lab-mark"
BRIDGE = "kcp0"


@pytest.fixture(scope="module")
def machines(workspace: Workspace) -> Machines:
    """The cluster's machines."""
    return Machines(workspace, NAME)


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
            {"name": "lab", "shell": "/bin/bash", "groups": "adm", "sshAuthorizedKeys": ["ssh-ed25519 AAAALAB lab"]}
        ],
        "preKubeadmCommands": ["echo before-{{ ds.meta_data.local_hostname }} >> /run/lab-order"],
        "postKubeadmCommands": ["echo after >> /run/lab-order"],
        "clusterConfiguration": {
            "apiServer": {"extraArgs": [{"name": "audit-log-maxage", "value": "7"}], "certSANs": ["lab.example.org"]}
        },
        **more,
    }


OWN_CA = "the lab's own root"


def own_ca() -> dict[str, t.Any]:
    """A user's own CA Secret, made with openssl."""
    with tempfile.TemporaryDirectory() as folder:
        subject = ["-subj", f"/CN={OWN_CA}", "-addext", "keyUsage=critical,keyCertSign,cRLSign,digitalSignature"]
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
        content = {name: (Path(folder) / name).read_text() for name in ("crt", "key")}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": {"name": f"{NAME}-ca", "namespace": "default"},
        "stringData": {"tls.crt": content["crt"], "tls.key": content["key"]},
    }


CA = own_ca()
EXTRA = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "lab-extra", "namespace": "default"},
    "stringData": {"value": "very-secret-value"},
}


@contextlib.contextmanager
def unreachable_addresses(except_for: str) -> t.Iterator[None]:
    """Every other address of the machines' network leads to a link address that nobody has."""
    network = except_for.rsplit(".", 1)[0]
    addresses = [f"{network}.{last}" for last in range(2, 250) if f"{network}.{last}" != except_for]
    listed = subprocess.run(
        ["ip", "-o", "-4", "address", "show", "dev", BRIDGE], stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    addresses = [each for each in addresses if f" {each}/" not in listed]
    try:
        for each in addresses:
            subprocess.run(
                ["ip", "neigh", "replace", each, "lladdr", "02:00:00:00:00:01", "dev", BRIDGE, "nud", "permanent"],
                check=True,
            )
        yield
    finally:
        for each in addresses:
            subprocess.run(["ip", "neigh", "del", each, "dev", BRIDGE], check=False)


def test_missing_image_is_named(workspace: Workspace) -> None:
    """A template that names an image that isn't there and can't be made: the name, and what to do; no machine."""
    workspace.manifest("lab-image", replicas=1, machine={"image": "no-such-image"})
    run = workspace.playbook("reconcile", "--limit", "lab-image").failed()
    assert "no-such-image" in run.text and "Safe now?" in run.text
    assert not [trace for trace in traces("lab-image") if "systemd-nspawn" in trace]
    workspace.playbook("delete", "--limit", "lab-image", "-e", "control_plane_delete=lab-image").succeeded()
    (workspace.folder / "clusters" / "lab-image.yaml").unlink()


def test_endpoint_port_taken_is_named(workspace: Workspace) -> None:
    """Somebody else listens on the endpoint's port on every address: the address and port are named, nothing is stopped."""
    with socket.socket() as other:
        other.bind(("0.0.0.0", 7443))
        other.listen()
        documents = workspace.manifest("lab-port", replicas=1)
        text = documents.read_text().replace(
            "clusterNetwork:", "controlPlaneEndpoint:\n    host: 10.222.0.250\n    port: 7443\n  clusterNetwork:"
        )
        documents.write_text(text)
        run = workspace.playbook("reconcile", "--limit", "lab-port").failed()
        assert "7443" in run.text and "10.222.0.250" in run.text
    workspace.playbook("delete", "--limit", "lab-port", "-e", "control_plane_delete=lab-port").succeeded()
    documents.unlink()


def test_failing_init_shows_its_output_and_goes_on_after_the_fix(workspace: Workspace, machines: Machines) -> None:
    """kubeadm init fails: its output is shown without secrets, the run stops; after the manifest's fix a rerun converges."""
    broken = spec(preKubeadmCommands=[OCCUPY, "for try in $(seq 50); do ss -ltn | grep -q :10259 && break; done"])
    workspace.manifest(NAME, replicas=1, kubeadm=broken, secrets=[EXTRA, CA])
    run = workspace.playbook("reconcile", "--limit", NAME).failed()
    assert "Port-10259" in run.text
    assert "Under way:" in run.output and "initialize" in run.text and "Safe now?" in run.text
    for secret in ("s3cret-in-a-file", "very-secret-value", "PRIVATE KEY"):
        assert secret not in run.output
    first = machines.names()

    workspace.manifest(NAME, replicas=1, kubeadm=spec(), secrets=[EXTRA, CA])
    workspace.playbook("reconcile", "--limit", NAME).succeeded()
    assert machines.names() != first, "the failed machine was not replaced"
    assert traces(*first) == []
    assert machines.ready_nodes() == machines.names()


def test_the_kubeadm_config_spec_is_honoured(machines: Machines) -> None:
    """Files, append, encoding, contentFrom, users, commands, arguments and SANs are on the machine."""
    name = machines.names()[0]
    assert machines.ssh(name, f"cat {MARK}; stat -c %a {MARK}") == "one\n640\n"
    assert "lab-append" in machines.ssh(name, "cat /etc/hosts") and name in machines.ssh(name, "cat /etc/hosts")
    assert machines.ssh(name, "cat /etc/lab-secret; stat -c %a /etc/lab-secret") == "s3cret-in-a-file\n600\n"
    assert machines.ssh(name, "cat /etc/lab-from-secret").strip() == "very-secret-value"
    assert "adm" in machines.ssh(name, "id -nG lab")
    assert "AAAALAB" in machines.ssh(name, "cat ~lab/.ssh/authorized_keys")
    assert machines.ssh(name, "cat /run/lab-order") == f"before-{name}\nafter\n"
    assert "--audit-log-maxage=7" in machines.ssh(name, "cat /etc/kubernetes/manifests/kube-apiserver.yaml")
    assert "lab.example.org" in machines.ssh(name, "openssl x509 -noout -text -in /etc/kubernetes/pki/apiserver.crt")


def test_the_users_own_ca_is_used_untouched(workspace: Workspace, machines: Machines) -> None:
    """The API server's certificate comes from the user's CA, whose Secret nobody changed."""
    name = machines.names()[0]
    assert OWN_CA in machines.ssh(name, "openssl x509 -noout -issuer -in /etc/kubernetes/pki/apiserver.crt")
    stored = next(each for each in workspace.objects("Secret") if each["metadata"]["name"] == f"{NAME}-ca")
    assert {key: base64.b64decode(value).decode() for key, value in stored["data"].items()} == CA["stringData"]
    assert stored["type"] == "Opaque" and not stored["metadata"].get("ownerReferences")


def test_nothing_secret_stays_on_the_machine(machines: Machines) -> None:
    """No bootstrap configuration with its token, no module arguments, and no bootstrap token that still works."""
    name = machines.names()[0]
    assert (
        machines.ssh(
            name, "find /run/kubeadm /run/kubeadm-control-plane /root/.ansible -type f 2>/dev/null || true"
        ).strip()
        == ""
    )
    journal = machines.ssh(name, "journalctl -b -q --no-pager -o cat")
    assert "very-secret-value" not in journal and "s3cret-in-a-file" not in journal


def test_a_machine_that_never_answers_is_named(workspace: Workspace, machines: Machines) -> None:
    """The next machine's SSH is cut off: a bounded wait that names it; what exists is intact; after the fix a rerun converges."""
    before = machines.names()
    workspace.manifest(NAME, replicas=3, kubeadm=spec(), secrets=[EXTRA, CA])
    address = machines.infrastructure(before[0])["status"]["connection"]["host"]
    with unreachable_addresses(except_for=address):
        run = workspace.playbook("reconcile", "--limit", NAME, "-e", "machine_nspawn_timeout=8").failed()
    new = [name for name in machines.names() if name not in before]
    assert new and new[0] in run.text and "SSH" in run.text
    assert machines.ready_nodes() == before
    assert len(machines.etcd_members()) == 1
    workspace.playbook("reconcile", "--limit", NAME).succeeded()
    assert len(machines.etcd_members()) == 3
    assert machines.ready_nodes() == machines.names()


def test_a_deletion_hook_is_waited_for(workspace: Workspace, machines: Machines) -> None:
    """Three machines become one; somebody's hook holds the first removal before anything is drained, and letting go lets it go on."""
    before = machines.names()
    workspace.manifest(NAME, replicas=1, kubeadm=spec(), secrets=[EXTRA, CA])
    hook = "pre-drain.delete.hook.machine.cluster.x-k8s.io/backup"
    with machines.annotated(before[0], hook), machines.annotated(before[0], "cluster.x-k8s.io/delete-machine"):
        run = workspace.playbook("reconcile", "--limit", NAME, "-e", "control_plane_wait_timeout=2").failed()
        assert hook in run.text and before[0] in run.text
        assert len(machines.etcd_members()) == 3
        assert machines.ready_nodes() == before
    workspace.playbook("reconcile", "--limit", NAME).succeeded()
    [left] = machines.names()
    assert left != before[0]
    assert [member["name"] for member in machines.etcd_members()] == [left]
    assert machines.ready_nodes() == [left]
