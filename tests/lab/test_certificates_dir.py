# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A control plane on existing hosts whose certificates are not in kubeadm's default folder, until its hosts are given back."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
import yaml
from actions_on_nodes import NodeActions
from host_pool import GROUP, HostPool, pool_documents
from machines import CURL
from workspace import Run, Workspace, cluster_documents, consent_of

pytestmark = pytest.mark.full

NAME, ENDPOINT = "lab-certificates-dir", "10.222.0.242"
DEFAULT, FOLDER = "/etc/kubernetes/pki", "/srv/pki"
STATE = "/var/lib/kubeadm-control-plane"
# Certificates and keys, and kubeconfigs with them, wherever something of kubeadm's, the kubelet's or ours may be.
LEFT = (
    "grep -rslE -D skip -e '-----BEGIN|client-(key|certificate)-data' "
    f"/etc/kubernetes /srv /var/lib/kubelet /var/lib/etcd {STATE} /run/kubeadm /run/kubeadm-control-plane /root /tmp | "
    # Snapshots stay (docs/machine_inventory.md, "Giving hosts back").
    "grep -v /etcd-snapshots/; "
    f"ls {STATE}/certificates-dir 2>/dev/null; true"
)
# By file; a renewal makes another certificate, and a rotation another authority.
DIGESTS = f"cd {FOLDER} && sha256sum ca.crt apiserver.crt front-proxy-ca.crt etcd/ca.crt etcd/server.crt"


class Lab:
    """The hosts, and a cluster over them."""

    def __init__(self, workspace: Workspace, folder: Path) -> None:
        self.workspace = workspace
        self.pool = HostPool(folder, "lab-certificates-host")
        self.hosts = self.pool.make(3)
        balancer = ["-e", "machine_inventory_endpoint_role=kubeadm.control_plane.machine_nspawn"]
        self.more = ["-i", str(self.pool.inventory()), *balancer]
        self.actions = NodeActions(workspace, NAME, self.more)

    def scale(self, replicas: int) -> None:
        """Have so many machines; once they are there, nothing is to be done."""
        documents = cluster_documents(NAME, replicas, kubeadm={"clusterConfiguration": {"certificatesDir": FOLDER}})
        pool_documents(documents, {"group": GROUP, "kubeadm": self.pool.needs}, ENDPOINT)
        self.workspace.write(NAME, yaml.safe_dump_all(documents, sort_keys=False))
        self.play("reconcile").succeeded()
        assert self.play("reconcile").succeeded().recap(NAME)["changed"] == 0
        used = self.used()
        assert len(used) == replicas == len(self.nodes())
        for host in self.hosts:
            # caCertPath, where kubeadm puts what it has read when it joins, is a field of its own.
            default = self.pool.ssh(host, f"ls -A {DEFAULT} 2>/dev/null || true").split()
            assert set(default) <= ({"ca.crt"} if host in used else set()), host
            left = self.pool.ssh(host, LEFT)
            assert (left != "") == (host in used), (host, left)

    def play(self, playbook: str, *more: str) -> Run:
        """Run a playbook with the clusters' and the hosts' inventory."""
        return self.workspace.playbook(playbook, *self.more, "--limit", NAME, *more)

    def used(self) -> list[str]:
        """The hosts that machines have, sorted."""
        machines = self.workspace.objects("InventoryMachine")
        return sorted(
            each["status"]["claim"]["inventoryHost"] for each in machines if each["kind"] == "InventoryMachine"
        )

    def nodes(self) -> list[str]:
        """The cluster's Nodes."""
        return self.pool.ssh(
            self.used()[0], "kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes -o name"
        ).split()

    def members(self, host: str) -> list[dict[str, t.Any]]:
        """etcd's members, as the etcd on a host lists them for its own client certificate."""
        command = f"{CURL} -X POST -d '{{}}' https://127.0.0.1:2379/v3/cluster/member/list".replace(DEFAULT, FOLDER)
        return list(json.loads(self.pool.ssh(host, command))["members"])

    def digests(self) -> dict[str, dict[str, str]]:
        """Digests of each host's certificates by file."""
        found = {host: self.pool.ssh(host, DIGESTS).splitlines() for host in self.used()}
        return {
            host: {path: digest for digest, path in (line.split() for line in lines)} for host, lines in found.items()
        }


@pytest.fixture(name="lab", scope="module")
def _lab(workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Lab]:
    """A cluster of one machine."""
    made = Lab(workspace, tmp_path_factory.mktemp("pool"))
    try:
        made.scale(1)
        yield made
    finally:
        made.pool.remove()


def test_the_authorities_are_rotated(lab: Lab) -> None:
    """Those of clients and servers, of the aggregation layer and of etcd."""
    [(host, before)] = lab.digests().items()
    wanted = {"authorities": ["ca", "frontProxy", "etcd"], "acceptOutage": True}
    lab.actions.run("rotate", {"rotateCertificateAuthorities": wanted}).succeeded()
    after = lab.digests()[host]
    assert [path for path in before if before[path] == after[path]] == []
    assert len(lab.members(host)) == 1


def test_certificates_are_renewed(lab: Lab) -> None:
    """By the same authorities; etcd takes its new client certificate."""
    [(host, before)] = lab.digests().items()
    lab.actions.run("renew", {"renewCertificates": {}}).succeeded()
    after = lab.digests()[host]
    assert {path for path in after if after[path] != before[path]} == {"apiserver.crt", "etcd/server.crt"}
    assert len(lab.members(host)) == 1


def test_machines_join_and_their_hosts_are_given_back(lab: Lab) -> None:
    """Three, and one again."""
    lab.scale(3)
    assert len(lab.members(lab.used()[0])) == 3
    lab.scale(1)
    assert len(lab.members(lab.used()[0])) == 1


def test_etcd_is_restored_from_a_backup(lab: Lab) -> None:
    """The data of the only member is ruined."""
    [host] = lab.used()
    kept = lab.workspace.backup(NAME, *lab.more)
    lab.pool.ssh(host, "head -c 65536 /dev/zero > /var/lib/etcd/member/snap/db; pkill -9 -x etcd")
    chosen = ("-e", f"control_plane_restore_snapshot={kept}")
    consent = consent_of(lab.play("restore", *chosen).failed().text)
    lab.play("restore", *chosen, "-e", f"control_plane_restore_consent={consent}").succeeded()
    assert len(lab.members(host)) == 1 and len(lab.nodes()) == 1


def test_the_last_host_is_given_back(lab: Lab) -> None:
    """No certificate and no key is left on any host."""
    lab.play("delete", "-e", f"control_plane_delete={NAME}").succeeded()
    for host in lab.hosts:
        assert lab.pool.ssh(host, LEFT) == "", host
        assert lab.pool.ssh(host, f"ls -A {DEFAULT} 2>/dev/null || true") == "", host
