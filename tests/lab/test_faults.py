# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults while a cluster is made: each named, bounded, without secrets, and gone on from after the fix."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shlex
import socket
import subprocess
import tempfile
import typing as t
from pathlib import Path

import pytest
from etcd_cluster import until
from machines import Machines
from process_samples import Samples
from searched_life import SearchedLife
from secrets_search import Search
from traces import traces
from workspace import Workspace

NAME = "lab-fault"
# Something else listens on the scheduler's port: kubeadm's preflight ends with an error at once.
OCCUPY = "nohup python3 -m http.server 10259 >/dev/null 2>&1 &"
MARK = "/etc/lab-mark"
BRIDGE = "kcp0"


@pytest.fixture(scope="module")
def life(workspace: Workspace) -> t.Iterator[SearchedLife]:
    """One machine, three, one: every run at the highest verbosity, and what processes show of themselves all along."""
    with SearchedLife(workspace, NAME) as lived:
        lived.secrets.add("the file's content", VALUE)
        lived.secrets.add("the user's password", PASSWORD)
        yield lived


@pytest.fixture(scope="module")
def machines(life: SearchedLife) -> Machines:
    """The cluster's machines."""
    return life.machines


def wants(life: SearchedLife, replicas: int, **more: t.Any) -> None:
    """Write the manifest."""
    life.workspace.manifest(NAME, replicas=replicas, kubeadm=spec(**more), secrets=[EXTRA, CA])


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
            "apiServer": {"extraArgs": [{"name": "audit-log-maxage", "value": "7"}], "certSANs": ["lab.example.org"]}
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


def test_failing_init_shows_its_output_and_goes_on_after_the_fix(life: SearchedLife, machines: Machines) -> None:
    """kubeadm init fails: its output is shown without secrets, the run stops; after the manifest's fix a rerun converges."""
    wants(life, 1, preKubeadmCommands=[OCCUPY, "for try in $(seq 50); do ss -ltn | grep -q :10259 && break; done"])
    run = life.play("reconcile").failed()
    assert "Port-10259" in run.text
    assert "Under way:" in run.output and "initialize" in run.text and "Safe now?" in run.text
    assert "s3cret-in-a-file" not in run.output and "PRIVATE KEY" not in run.output
    first = machines.names()

    wants(life, 1)
    life.play("reconcile").succeeded()
    assert machines.names() != first, "the failed machine was not replaced"
    assert traces(*first) == []
    assert machines.ready_nodes() == machines.names()


def test_the_kubeadm_config_spec_is_honoured(machines: Machines) -> None:
    """Files, append, encoding, contentFrom, users, commands, arguments and SANs are on the machine."""
    name = machines.names()[0]
    assert machines.ssh(name, f"cat {MARK}; stat -c %a {MARK}") == "one\n640\n"
    assert "lab-append" in machines.ssh(name, "cat /etc/hosts") and name in machines.ssh(name, "cat /etc/hosts")
    assert machines.ssh(name, "cat /etc/lab-secret; stat -c %a /etc/lab-secret") == "s3cret-in-a-file\n600\n"
    assert machines.ssh(name, "cat /etc/lab-from-secret").strip() == VALUE
    assert "adm" in machines.ssh(name, "id -nG lab") and PASSWORD in machines.ssh(name, "getent shadow lab")
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
    """No bootstrap configuration with its token, no module arguments."""
    name = machines.names()[0]
    left = "find /run/kubeadm /run/kubeadm-control-plane /root/.ansible -type f 2>/dev/null || true"
    assert machines.ssh(name, left).strip() == ""
    assert "s3cret-in-a-file" not in machines.ssh(name, "journalctl -b -q --no-pager -o cat")


def test_a_machine_that_never_answers_is_named(life: SearchedLife, machines: Machines) -> None:
    """The next machine's SSH is cut off: a bounded wait that names it; what exists is intact."""
    before = machines.names()
    wants(life, 3)
    life.play("plan").succeeded()
    address = machines.infrastructure(before[0])["status"]["connection"]["host"]
    with unreachable_addresses(except_for=address):
        run = life.play("reconcile", "-e", "machine_nspawn_timeout=8").failed()
    new = [name for name in machines.names() if name not in before]
    assert new and new[0] in run.text and "SSH" in run.text
    assert machines.ready_nodes() == before
    assert len(machines.etcd_members()) == 1


def test_a_run_that_is_terminated_is_gone_on_with(life: SearchedLife, machines: Machines) -> None:
    """The link works again: a run gets SIGTERM in a join, the next one converges, and each join had a token of its own."""
    with life.tokens() as tokens:
        life.terminated_in_a_join()
        life.play("reconcile").succeeded()
        seen = tokens.seen()
    assert len(seen) >= 2, "each of two joins had a token"
    for number, token in enumerate(seen):
        life.secrets.add(f"bootstrap token {number}", token)
    assert len(machines.etcd_members()) == 3
    assert machines.ready_nodes() == machines.names()
    life.play("status", "-e", f"control_plane_kubeconfig={life.workspace.folder}/kept.kubeconfig").succeeded()
    life.search_machines()


def test_a_deletion_hook_is_waited_for(life: SearchedLife, machines: Machines) -> None:
    """Three machines become one; somebody's hook holds the first removal before anything is drained, and letting go lets it go on."""
    before = machines.names()
    wants(life, 1)
    hook = "pre-drain.delete.hook.machine.cluster.x-k8s.io/backup"
    with machines.annotated(before[0], hook), machines.annotated(before[0], "cluster.x-k8s.io/delete-machine"):
        run = life.play("reconcile", "-e", "control_plane_wait_timeout=2").failed()
        assert hook in run.text and before[0] in run.text
        assert len(machines.etcd_members()) == 3
        assert machines.ready_nodes() == before
    life.play("reconcile").succeeded()
    [left] = machines.names()
    assert left != before[0]
    assert [member["name"] for member in machines.etcd_members()] == [left]
    assert machines.ready_nodes() == [left]
    life.search_machines()


def test_no_secret_comes_to_light(life: SearchedLife, artefacts: Path) -> None:
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


def test_the_stores_secrets_are_its_users_alone(life: SearchedLife) -> None:
    """What holds a secret is readable by nobody else."""
    holding = [path for path in life.workspace.store.rglob("*") if path.is_file() and life.secrets.found_in(path)]
    assert len(holding) >= 6
    for path in holding:
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_planted_secret_is_found_in_every_place(life: SearchedLife) -> None:
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
