# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clusters on existing hosts: a pool too small, a kill in a claim, somebody else's host, wiped and given back, used again."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import time
import typing as t
from pathlib import Path

import pytest
import yaml
from host_pool import GROUP, HostPool, pool_documents
from lab_kubernetes import NEXT, VERSION, upgrades
from machines import CURL
from workspace import Run, Workspace, cluster_documents, kill_run

NAME, OTHER = "lab-pool", "lab-other-store"
CLAIM = "/var/lib/kubeadm-control-plane/claim.json"
ENDPOINTS = {NAME: "10.222.0.240", OTHER: "10.222.0.241"}
# The lab's load balancer stands for the one that a user of existing hosts has.
BALANCER = ("-e", "machine_inventory_endpoint_role=kubeadm.control_plane.machine_nspawn")
# What the roles give every module that works on stored objects.
STORED = {
    "cluster": "{{ control_plane_cluster }}",
    "namespace": "{{ control_plane_namespace }}",
    "store": "{{ control_plane_store }}",
}
# What the documentation has a user ask each host first.
QUESTION = "id=nobody cluster=prod machine=any kubernetes_version=v1.20.2"
NOBODY = "10.222.0.239"
# A user who becomes root by sudo without a password, as administrators have it. The image has no sudo; this one runs Ansible's only call of it.
USER = "ops"
ADMINISTRATED = f"""
set -e
useradd -m -G root {USER}
sed -i 's/^# *\\(auth *sufficient pam_wheel.so trust\\)/\\1/' /etc/pam.d/su
install -d -m 0700 -o {USER} /home/{USER}/.ssh
install -m 0600 -o {USER} /root/.ssh/authorized_keys /home/{USER}/.ssh/
printf '%s\\n' '#!/bin/sh' 'for last; do :; done' 'exec su root -c "$last"' > /usr/local/bin/sudo
chmod 0755 /usr/local/bin/sudo
"""
LEFT = (
    "ls -d /etc/kubernetes/manifests/* /etc/kubernetes/*.conf /etc/kubernetes/pki/* /var/lib/etcd/* "
    f"/var/lib/kubelet/* {CLAIM} /var/lib/kubeadm-control-plane/fencing /var/lib/kubeadm-control-plane/bootstrap* "
    "2>/dev/null; pgrep -l 'kube-apiserver|etcd|kube-scheduler|kube-controller|kubelet' || true"
)
# One of the hosts has another version.
pytestmark = upgrades


class Lab:
    """The hosts, and two users who don't know of each other: two stores over one pool."""

    def __init__(self, folder: Path) -> None:
        self.pool = HostPool(folder)
        self.ours, self.theirs = Workspace(folder / "ours"), Workspace(folder / "theirs")

    def make(self) -> None:
        """Make the hosts, prepare them as their administrator does, and write their inventory."""
        [self.stranger, self.busy, self.first, self.second, self.spare] = self.pool.make(5)
        [self.newer] = self.pool.make(1, NEXT)
        bastion = f"-o ProxyCommand='ssh -i {self.pool.folder}/pool.key {self.pool.ssh_arguments} -W %h:%p root@{self.pool.addresses[self.newer]}'"
        for host in self.pool.addresses:
            self.pool.ssh(host, ADMINISTRATED)
        # What a user writes into group_vars of the pool: it holds for every call of the collection.
        self.variables = {
            "ansible_ssh_common_args": f"{self.pool.ssh_arguments} {bastion}",
            "ansible_user": USER,
            "ansible_become": True,
        }
        # The bastion itself is reached directly; a host that left the network is in the inventory all the same.
        self.host_variables: dict[str, dict[str, t.Any]] = {
            self.newer: {"ansible_ssh_common_args": self.pool.ssh_arguments}
        }
        self.pool.addresses["pool-gone"] = NOBODY
        self.inventory = self.pool.inventory(variables=self.variables, host_variables=self.host_variables)

    @contextlib.contextmanager
    def other_inventory(self, **differs: t.Any) -> t.Iterator[None]:
        """Playbooks get another inventory meanwhile."""
        usual = self.inventory
        given = {"variables": self.variables, "host_variables": self.host_variables, "path": "other.yml", **differs}
        self.inventory = self.pool.inventory(**given)
        try:
            yield
        finally:
            self.inventory = usual

    def manifest(self, workspace: Workspace, name: str, replicas: int, version: str = VERSION) -> None:
        """Write a cluster's manifest over the pool."""
        documents = cluster_documents(name, replicas=replicas, version=version)
        pool_documents(documents, {"group": GROUP, "kubeadm": self.pool.needs}, ENDPOINTS[name])
        workspace.write(name, yaml.safe_dump_all(documents, sort_keys=False))

    def play(self, workspace: Workspace, name: str, playbook: str = "reconcile", *more: str) -> Run:
        """Run a playbook with the clusters' and the hosts' inventory."""
        return workspace.playbook(playbook, *self.arguments(name, *more))

    def arguments(self, name: str, *more: str) -> tuple[str, ...]:
        """What a user types behind the playbook's name."""
        return ("-i", str(self.inventory), "--limit", name, *BALANCER, *more)

    def ask(self, hosts: str, arguments: str, *more: str) -> Run:
        """Call the module host_claim on hosts by hand."""
        words = ["ansible", "-i", str(self.inventory), hosts, "-m", "kubeadm.control_plane.host_claim", "-a", arguments]
        return Workspace.run([*words, *more], self.ours.folder)

    def claim(self, host: str) -> t.Optional[dict[str, str]]:
        """What the host itself says whose it is."""
        text = self.pool.ssh(host, f"cat {CLAIM} 2>/dev/null || true")
        return dict(json.loads(text)) if text.strip() else None

    def members(self, host: str) -> list[dict[str, t.Any]]:
        """etcd's members, as the etcd on a host lists them."""
        return list(
            json.loads(self.pool.ssh(host, f"{CURL} -X POST -d '{{}}' https://127.0.0.1:2379/v3/cluster/member/list"))[
                "members"
            ]
        )

    def nodes(self, host: str) -> list[str]:
        """The cluster's Nodes, as the API server on a host lists them."""
        return self.pool.ssh(host, "kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes -o name").split()

    def machines(self) -> dict[str, dict[str, t.Any]]:
        """The stored machines of the first user by the host's name."""
        found = [each for each in self.ours.objects("InventoryMachine") if each["kind"] == "InventoryMachine"]
        return {each["status"]["claim"]["inventoryHost"]: each for each in found if each["status"].get("claim")}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Lab]:
    """Hosts with kubeadm on them, as somebody has them."""
    made = Lab(tmp_path_factory.mktemp("inventory"))
    try:
        made.make()
        yield made
        for workspace, name in ((made.ours, NAME), (made.theirs, OTHER)):
            if workspace.store.is_dir() and workspace.objects("Cluster"):
                made.play(workspace, name, "delete", "-e", f"control_plane_delete={name}")
    finally:
        made.pool.addresses.pop("pool-gone", None)
        made.pool.remove()


def test_a_pool_too_small_says_what_each_host_is_missing(lab: Lab) -> None:
    """A stranger's PKI, a port that is taken, another version, a host that doesn't answer: all named at once, none of them touched."""
    for host in (lab.first, lab.second):
        lab.host_variables[host] = {"rack": "later"}
    lab.inventory = lab.pool.inventory(
        hosts=[lab.stranger, lab.busy, lab.newer, "pool-gone"],
        variables=lab.variables,
        host_variables=lab.host_variables,
    )
    lab.pool.ssh(lab.stranger, "kubeadm init phase certs all >/dev/null 2>&1")
    lab.pool.ssh(lab.busy, "systemd-run --quiet --unit=lab-busy python3 -m http.server 10259")
    before = {host: lab.pool.ssh(host, LEFT) for host in (lab.stranger, lab.busy, lab.newer)}
    lab.manifest(lab.ours, NAME, 1)
    run = lab.play(lab.ours, NAME).failed()
    for words in (
        f"1 free host of the inventory group {GROUP} is needed, and none fits",
        f"{lab.stranger}: the host carries a cluster with the CA sha256:",
        f"{lab.busy}: something listens on port 10259 (Port-10259)",
        f"{lab.newer}: kubeadm is {NEXT}, and {VERSION} is wanted (KubeadmVersion)",
        "pool-gone: machine on the host pool-gone was not reached",
        "Nothing was stored",
    ):
        assert words in run.text, run.output[-6000:]
    for playbook in ("plan", "check_hosts"):
        told = lab.play(lab.ours, NAME, playbook).failed()
        assert f"{lab.busy}" in told.text and "(Port-10259)" in told.text, told.output[-6000:]
        assert f"1 free host of the inventory group {GROUP} is needed, and none fits" in told.text
    assert not lab.ours.objects("Cluster")
    assert {host: lab.pool.ssh(host, LEFT) for host in before} == before
    lab.pool.ssh(lab.busy, "systemctl stop lab-busy")


def test_a_run_killed_in_a_claim_goes_on_with_the_same_host(lab: Lab) -> None:
    """The first fit host by name is taken; a run killed when the host has its claim finds it again; group_vars hold."""
    lab.inventory = lab.pool.inventory(variables=lab.variables, host_variables=lab.host_variables)
    run = lab.ours.start("reconcile", *lab.arguments(NAME))
    end = time.monotonic() + 120
    while lab.claim(lab.busy) is None:
        assert run.poll() is None and time.monotonic() < end, (lab.ours.folder / "reconcile.log").read_text()[-6000:]
    kill_run(run)
    claimed = lab.claim(lab.busy)
    lab.play(lab.ours, NAME).succeeded()
    assert claimed is not None and lab.claim(lab.busy) == claimed
    [(host, machine)] = lab.machines().items()
    assert host == lab.busy
    assert machine["status"]["connection"] == {"inventoryHost": lab.busy}
    assert machine["spec"]["providerID"] == f"inventory:///{lab.busy}/{machine['metadata']['name']}"
    assert claimed["machine"] == machine["metadata"]["name"]
    assert lab.claim(lab.stranger) is None
    accepted = lab.pool.ssh(lab.busy, "journalctl -u ssh -u sshd --no-pager | grep 'Accepted publickey'")
    assert re.search(rf"for {USER} from {re.escape(lab.pool.addresses[lab.newer])} ", accepted), accepted
    again = lab.play(lab.ours, NAME).succeeded()
    assert again.recap(NAME)["changed"] == 0


@pytest.mark.full
def test_a_rollout_takes_a_free_host_and_gives_the_old_one_back(lab: Lab) -> None:
    """One spare host is enough: the new machine is made on it first."""
    [before] = lab.machines()
    lab.play(lab.ours, NAME, "rollout").succeeded()
    lab.play(lab.ours, NAME).succeeded()
    [after] = lab.machines()
    assert (before, after) == (lab.busy, lab.first)
    assert lab.pool.ssh(before, LEFT).split() == []
    assert len(lab.members(after)) == 1 and len(lab.nodes(after)) == 1


@pytest.mark.full
def test_hosts_without_their_images_stop_a_run_before_its_first_change(lab: Lab) -> None:
    """Nobody can pull any here: every host that lacks etcd's is named, none is claimed, and the control plane stays as it is."""
    free = [host for host in (lab.busy, lab.first, lab.second, lab.spare) if host not in lab.machines()]
    etcd = lab.pool.ssh(free[0], "ctr -n k8s.io images ls -q | grep '/etcd:'").strip()
    for host in free:
        lab.pool.ssh(host, f"ctr -n k8s.io images export /root/etcd.tar {etcd} && ctr -n k8s.io images rm {etcd}")
    lab.manifest(lab.ours, NAME, 3)
    before = {name: each["status"]["claim"] for name, each in lab.machines().items()}
    for playbook in ("plan", "reconcile"):
        run = lab.play(lab.ours, NAME, playbook)
        for host in free:
            assert f"{host}: images are not there ({etcd})" in run.text, run.output[-6000:]
        assert "Load them" in run.text
    assert run.returncode != 0 and "Nothing was changed" in run.text
    assert {name: each["status"]["claim"] for name, each in lab.machines().items()} == before
    assert [lab.claim(host) for host in free] == [None] * len(free)
    for host in free:
        lab.pool.ssh(host, "ctr -n k8s.io images import /root/etcd.tar && rm /root/etcd.tar")
    assert "join a new machine" in lab.play(lab.ours, NAME, "plan").succeeded().text


@pytest.mark.full
def test_another_store_finds_the_hosts_taken(lab: Lab) -> None:
    """A second user's cluster, whose store knows nothing of the first, is told whose each host is."""
    lab.manifest(lab.ours, NAME, 3)
    lab.play(lab.ours, NAME).succeeded()
    assert sorted(lab.machines()) == sorted([lab.busy, lab.first, lab.second])
    lab.manifest(lab.theirs, OTHER, 1)
    with lab.other_inventory(hosts=[lab.stranger, lab.busy, lab.first, lab.second, lab.newer]):
        run = lab.play(lab.theirs, OTHER).failed()
    for host in lab.machines():
        words = f"{host}: claimed by cluster default/{NAME}, machine {NAME}-control-plane-"
        assert words in run.text, run.output[-6000:]


@pytest.mark.full
def test_a_plan_counts_the_hosts_of_all_its_steps(lab: Lab) -> None:
    """Two machines more over one free host, and a new version that one host has: said where it will end, and nothing is done."""
    before = {name: each["status"]["claim"] for name, each in lab.machines().items()}
    lab.manifest(lab.ours, NAME, 5)
    run = lab.play(lab.ours, NAME, "plan").failed()
    assert f"2 free hosts of the inventory group {GROUP} are needed, and 1 fits" in run.text, run.output[-6000:]
    lab.manifest(lab.ours, NAME, 3, NEXT)
    run = lab.play(lab.ours, NAME, "plan").succeeded()
    steps = re.findall(r"^ +\d+  (join|remove)", run.output, re.MULTILINE)
    assert steps == ["join", "remove"] and "Then: BLOCKED" in run.output, run.output[-6000:]
    assert f"kubelet is {VERSION}, and {NEXT} is wanted (KubeletVersion)" in run.text, run.output[-6000:]
    lab.manifest(lab.ours, NAME, 3)
    table = lab.play(lab.ours, NAME, "check_hosts").succeeded().output
    for host, machine in lab.machines().items():
        assert re.search(rf"^  {host} +is machine {machine['metadata']['name']}", table, re.MULTILINE), table
    assert re.search(rf"^  {lab.spare} +is free and lacks nothing", table, re.MULTILINE), table
    assert {name: each["status"]["claim"] for name, each in lab.machines().items()} == before


@pytest.mark.full
def test_a_host_that_answers_as_somebody_else_is_named(lab: Lab) -> None:
    """Two names that lead to each other's hosts, and names that a slice hides: named, and nothing is done."""
    swapped = dict(lab.host_variables)
    swapped[lab.first] = {"ansible_host": lab.pool.addresses[lab.second]}
    swapped[lab.second] = {"ansible_host": lab.pool.addresses[lab.first]}
    before = {host: lab.claim(host) for host in lab.machines()}
    # What a run that has something to do asks first; a glance asks one machine of the cluster alone.
    names = [each["metadata"]["name"] for each in lab.machines().values()]
    lab.ours.write_playbook("whose.yml", {"kubeadm.control_plane.inventory_machine_info": {**STORED, "names": names}})
    with lab.other_inventory(host_variables=swapped):
        run = lab.play(lab.ours, NAME, "whose.yml").succeeded()
    for host in (lab.first, lab.second):
        assert f"the inventory host {host} answers as another machine" in run.text, run.output[-6000:]
    assert [each["status"]["state"] for each in lab.machines().values()] == ["running"] * 3
    with lab.other_inventory(hosts=[lab.newer, lab.busy]):
        run = lab.play(lab.ours, NAME).failed()
    hidden = rf"is the inventory host ({lab.first}|{lab.second}), which this run's inventory does not have"
    assert re.search(hidden, run.text) and "slice" in run.text, run.output[-6000:]
    assert {host: lab.claim(host) for host in before} == before
    assert lab.play(lab.ours, NAME).succeeded().recap(NAME)["changed"] == 0


@pytest.mark.full
def test_an_etcd_member_beside_others_is_not_wiped(lab: Lab) -> None:
    """While the machine's member is one of three, its host is not given up, whoever asks for it."""
    name = lab.machines()[lab.first]["metadata"]["name"]
    task = {"kubeadm.control_plane.inventory_machine": {**STORED, "name": name, "state": "absent"}}
    lab.ours.write_playbook("release.yml", task)
    run = lab.play(lab.ours, NAME, "release.yml").failed()
    assert f"its inventory host {lab.first} was not released" in run.text, run.output[-6000:]
    assert "would leave a dead member that counts against the quorum" in run.text
    assert lab.pool.ssh(lab.first, "ls /etc/kubernetes/pki/ca.crt").strip()
    assert lab.play(lab.ours, NAME).succeeded().recap(NAME)["changed"] == 0


@pytest.mark.full
def test_a_lost_host_is_given_up_by_name_and_freed_when_it_is_back(lab: Lab) -> None:
    """Its power is cut: the run stops and says what to type; with that the machine is replaced, and the host stays claimed until it was wiped."""
    name = lab.machines()[lab.second]["metadata"]["name"]
    os.kill(lab.pool.pid(lab.second), signal.SIGKILL)
    impatient = ("-e", "machine_inventory_timeout=5")
    run = lab.play(lab.ours, NAME, "remediate", "-e", f"control_plane_machines={name}", *impatient).failed()
    assert f"its inventory host {lab.second} was not reached" in run.text, run.output[-6000:]
    assert f"machine_inventory_consent_forget={lab.second}" in run.text
    consent = ("-e", f"machine_inventory_consent_forget={lab.second}")
    lab.play(lab.ours, NAME, "reconcile", *impatient, *consent).succeeded()
    assert sorted(lab.machines()) == sorted([lab.busy, lab.first, lab.spare])
    assert len(lab.members(lab.busy)) == 3 and len(lab.nodes(lab.busy)) == 3

    lab.pool.start(lab.second)
    assert (lab.claim(lab.second) or {})["machine"] == name
    assert (
        f"claimed by cluster default/{NAME}, machine {name}" in lab.ask(lab.second, QUESTION, "--check").failed().text
    )
    lab.ask(lab.second, "state=absent machine=any consent_wipe=true").succeeded()
    assert lab.pool.ssh(lab.second, LEFT).split() == []
    assert len(lab.members(lab.busy)) == 3
    # Its kubelet may have registered it again before it was wiped.
    lab.pool.ssh(lab.busy, f"kubectl --kubeconfig /etc/kubernetes/admin.conf delete node --ignore-not-found {name}")


@pytest.mark.full
def test_scaling_down_gives_hosts_back_and_another_cluster_takes_one(lab: Lab) -> None:
    """Three to one: members leave first, then their hosts are wiped and in the pool again, where the other user's cluster finds them."""
    lab.manifest(lab.ours, NAME, 1)
    lab.play(lab.ours, NAME).succeeded()
    [kept] = lab.machines()
    free = sorted({lab.busy, lab.first, lab.second, lab.spare} - {kept})
    for host in free:
        assert lab.pool.ssh(host, LEFT).split() == [], host
    [member] = lab.members(kept)
    assert member["name"] == lab.machines()[kept]["metadata"]["name"]
    assert len(lab.nodes(kept)) == 1
    assert lab.play(lab.ours, NAME).succeeded().recap(NAME)["changed"] == 0

    lab.play(lab.theirs, OTHER).succeeded()
    claim = lab.claim(free[0])
    assert claim is not None and claim["cluster"] == OTHER
    assert len(lab.members(free[0])) == 1 and len(lab.nodes(free[0])) == 1
    assert len(lab.members(kept)) == 1


@pytest.mark.full
def test_what_differs_from_the_claim_is_wiped_only_with_consent(lab: Lab) -> None:
    """A claim that somebody rewrote on the host stops the deletion, which names it and the consent that it takes."""
    [host] = lab.machines()
    foreign = json.dumps({**(lab.claim(host) or {}), "id": "another", "cluster": "stranger"})
    lab.pool.ssh(host, f"echo '{foreign}' > {CLAIM}")
    # The last machine answers nothing about workers then, which holds a deletion before it comes to the host.
    deletion = ("-e", f"control_plane_delete={NAME}", "-e", "control_plane_ignore_worker_nodes=true")
    run = lab.play(lab.ours, NAME, "delete", *deletion).failed()
    assert f"its inventory host {host} was not released" in run.text, run.output[-6000:]
    assert "claimed by cluster default/stranger" in run.text
    assert f"machine_inventory_consent_wipe={host}" in run.text
    assert "/etc/kubernetes/pki/ca.crt" in lab.pool.ssh(host, LEFT), "a host was wiped that was another's"
    run = lab.play(lab.ours, NAME, "delete", *deletion, "-e", f"machine_inventory_consent_wipe={lab.stranger}").failed()
    assert f"its inventory host {host} was not released" in run.text, "consent for one host was taken for another"
    lab.play(lab.ours, NAME, "delete", *deletion, "-e", f"machine_inventory_consent_wipe={host}").succeeded()
    assert lab.pool.ssh(host, LEFT).split() == []


def test_deleted_machines_are_back_in_the_pool(lab: Lab) -> None:
    """Nothing of kubeadm's is left on any host, and every one could be claimed again; a stranger's is as it was."""
    for workspace, name in ((lab.ours, NAME), (lab.theirs, OTHER)):
        if workspace.objects("Cluster"):
            lab.play(workspace, name, "delete", "-e", f"control_plane_delete={name}").succeeded()
        assert workspace.objects("InventoryMachine") == []
    free = (lab.busy, lab.first, lab.second, lab.spare)
    for host in free:
        assert lab.pool.ssh(host, LEFT).split() == [], host
    assert lab.pool.ssh(lab.stranger, "ls /etc/kubernetes/pki/ca.crt").strip(), "a stranger's host was wiped"
    lab.ask(",".join(free), QUESTION, "--check").succeeded()
    assert "ForeignCluster" in lab.ask(lab.stranger, QUESTION, "--check").failed().text
