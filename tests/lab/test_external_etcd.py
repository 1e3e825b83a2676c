# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Control planes on an etcd that somebody else runs: three members with their own CA, which no step ever changes."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID
from etcd_cluster import Authority, EtcdCluster
from host_pool import NETWORK
from machines import Machines
from workspace import Run, Workspace

from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.addresses import network_of
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.layout import DEFAULT_DIRECTORY
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.network import ensure_bridge

pytestmark = pytest.mark.full

NAME = "lab-ext"
CLIENT = (ExtendedKeyUsageOID.CLIENT_AUTH,)


class Lab:
    """An etcd of three members on the machines' bridge, and a user's folder with a cluster that is to live on it."""

    def __init__(self, folder: Path, workspace: Workspace) -> None:
        network = network_of(*NETWORK)
        ensure_bridge(network, DEFAULT_DIRECTORY)
        self.address = str(network.gateway)
        self.folder = folder
        self.workspace = workspace
        self.etcd = EtcdCluster(folder, address=self.address).wait_ready()
        self.machines = Machines(workspace, NAME)
        self.ca = self.etcd.authority.ca_file
        self.client = (self.etcd.credentials.certificate_file, self.etcd.credentials.key_file)

    def wants(self, replicas: int, ca: str = "", client: t.Optional[tuple[str, str]] = None, members: int = 3) -> None:
        """Write the manifest, with so many of etcd's members, its CA and a client's certificate as the user has them."""
        certificate, key = client or self.client
        pki = "/etc/kubernetes/pki"
        external = {
            "endpoints": [member.client_url for member in self.etcd.members[:members]],
            "caFile": f"{pki}/etcd/ca.crt",
            "certFile": f"{pki}/apiserver-etcd-client.crt",
            "keyFile": f"{pki}/apiserver-etcd-client.key",
        }
        self.workspace.manifest(
            NAME,
            replicas=replicas,
            kubeadm={"clusterConfiguration": {"etcd": {"external": external}}},
            secrets=[
                secret("etcd", {"tls.crt": ca or self.ca}),
                secret("apiserver-etcd-client", {"tls.crt": certificate, "tls.key": key}),
            ],
        )

    def reconcile(self, *more: str) -> Run:
        """Bring the cluster to what its manifest says."""
        return self.workspace.playbook("reconcile", *more)

    def member_ids(self) -> list[int]:
        """The members as etcd itself lists them."""
        return [self.etcd.id_of(each.name) for each in self.etcd.members]

    def works(self, count: int) -> list[str]:
        """So many machines, all Ready, none of them with an etcd, every API server answering; returns their names."""
        names = self.machines.names()
        assert len(names) == count and self.machines.ready_nodes() == names
        for name in names:
            assert self.machines.ssh(name, "pgrep -x etcd || true") == ""
            self.machines.ssh(name, "curl -skSf https://127.0.0.1:6443/readyz")
        assert self.workspace.status(NAME)["decision"]["action"] == "none"
        assert self.reconcile().succeeded().recap(NAME)["changed"] == 0
        return names


def secret(purpose: str, files: dict[str, str]) -> dict[str, t.Any]:
    """A Secret that a user made of files."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "Opaque",
        "metadata": {"name": f"{NAME}-{purpose}", "namespace": "default"},
        "stringData": {key: Path(path).read_text() for key, path in files.items()},
    }


@pytest.fixture(scope="module")
def etcd_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the external etcd keeps its data."""
    return tmp_path_factory.mktemp("etcd")


@pytest.fixture(scope="module")
def lab(etcd_folder: Path, workspace: Workspace) -> t.Iterator[Lab]:
    """The etcd runs until the cluster is gone."""
    made = Lab(etcd_folder, workspace)
    yield made
    try:
        if workspace.store.is_dir() and workspace.objects("Cluster"):
            workspace.playbook("delete", "-e", f"control_plane_delete={NAME}").succeeded()
    finally:
        made.etcd.end()


def test_what_is_wrong_with_etcd_is_said_before_kubeadm_is_started(lab: Lab) -> None:
    """An expired client certificate, another CA, a member that is down: each is named, on the one machine that there is."""
    expired = lab.etcd.authority.issue("expired", CLIENT, ended=True)
    other = Authority(lab.folder / "other")
    lab.wants(1, client=expired)
    run = lab.reconcile().failed()
    assert f"{NAME}-apiserver-etcd-client: the certificate expired at" in run.text, run.output[-6000:]

    lab.wants(1, ca=other.ca_file)
    run = lab.reconcile().failed()
    assert "can't use the external etcd" in run.text, run.output[-6000:]
    assert f"the CA of Secret {NAME}-etcd did not sign it" in run.text, run.output[-6000:]

    lab.wants(1)
    lab.etcd.members[2].kill()
    run = lab.reconcile().failed()
    assert f"1 of 3 endpoints: {lab.etcd.members[2].client_url} does not answer" in run.text, run.output[-6000:]
    lab.etcd.start(lab.etcd.members[2])
    lab.etcd.wait_ready()

    [name] = lab.machines.names()
    assert lab.machines.ssh(name, "ls /etc/kubernetes/manifests; pgrep kubeadm || true", check=False) == ""


def test_create(lab: Lab) -> None:
    """The same machine becomes the control plane when etcd is in order."""
    before, members = lab.machines.names(), lab.member_ids()
    lab.reconcile().succeeded()
    assert lab.works(1) == before and lab.member_ids() == members


def test_scale_to_two(lab: Lab) -> None:
    """An even number is nothing to etcd, whose members are elsewhere; a member that is down stops the step and is named."""
    lab.wants(2)
    lab.etcd.members[0].kill()
    run = lab.workspace.playbook("plan")
    assert f"{lab.etcd.members[0].client_url} does not answer" in run.text, run.output[-6000:]
    status = lab.workspace.playbook("status").succeeded()
    assert f"{lab.etcd.members[0].client_url} does not answer" in status.text, status.output[-6000:]
    lab.etcd.start(lab.etcd.members[0])
    lab.etcd.wait_ready()
    lab.reconcile().succeeded()
    lab.works(2)


def test_rollout(lab: Lab) -> None:
    """A member that is gone for good is taken out of the manifest: both machines become others that don't ask it; etcd's list is its owner's."""
    before, members = lab.machines.names(), lab.member_ids()
    lab.etcd.members[2].kill()
    lab.wants(2, members=2)
    lab.reconcile().succeeded()
    now = lab.works(2)
    assert not set(now) & set(before) and lab.member_ids() == members
    for name in now:
        flags = lab.machines.ssh(name, "grep etcd-servers= /etc/kubernetes/manifests/kube-apiserver.yaml")
        assert lab.etcd.members[1].client_url in flags and lab.etcd.members[2].client_url not in flags
    lab.etcd.start(lab.etcd.members[2])
    lab.etcd.wait_ready()


def test_remediation_and_scale_to_four(lab: Lab) -> None:
    """A machine whose power was cut is replaced on its user's word; then there are four."""
    before, members = lab.machines.names(), lab.member_ids()
    lab.machines.cut_power(before[0])
    lab.workspace.playbook("remediate", "-e", f"control_plane_machines={before[0]}").succeeded()
    now = lab.works(2)
    assert set(before) - set(now) == {before[0]} and lab.member_ids() == members
    lab.wants(4, members=2)
    lab.reconcile().succeeded()
    lab.works(4)
    assert lab.member_ids() == members
