# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One control plane of three whose machines have no room, are installed anew, or fail one after another (docs/faults.md)."""

from __future__ import annotations

import typing as t

import pytest
import yaml
from inflicted import IMPATIENT, REMEDIATE, Cluster, eventually, grow_old
from workspace import Workspace, cluster_documents

pytestmark = pytest.mark.full
NAME = "lab-worn"


def wants(workspace: Workspace, **kubeadm: t.Any) -> None:
    """Write the manifest; what fails with more of a KubeadmConfigSpec is tried once more."""
    documents = cluster_documents(NAME, replicas=3, kubeadm=kubeadm)
    if kubeadm:
        documents[1]["spec"]["remediation"] = {"maxRetry": 0}
    workspace.write(NAME, yaml.safe_dump_all(documents, sort_keys=False))


@pytest.fixture(scope="module")
def cluster(workspace: Workspace) -> Cluster:
    """Three machines, of which the store says that they are an hour old."""
    wants(workspace)
    return Cluster.grown_old(workspace, NAME)


def test_a_rollout_whose_new_machine_fails(workspace: Workspace, cluster: Cluster) -> None:
    """Faults 16 and 51: its disk has no room for etcd, and no voter is added. No old machine goes, and it is not tried for ever.

    With the manifest mended, the failed machine goes alone, and its learner with it.
    """
    before, members = cluster.machines.names(), cluster.members()
    wants(workspace, preKubeadmCommands=["mount -t tmpfs -o size=100m tmpfs /var/lib/etcd"])
    failed: list[str] = []
    try:
        for _unused in range(2):
            run = workspace.playbook("reconcile").failed()
            assert "[ERROR EtcdDisk]: 100 MiB free for /var/lib/etcd" in run.text, run.text
            [made] = set(cluster.machines.names()) - {*before}
            assert made not in failed and {*before} < {*cluster.machines.names()}
            cluster.require_learner(made, members)
            failed.append(made)
        run = cluster.refused()
        assert (
            f"machine {failed[-1]} replaces {failed[0]}, which failed" in run.text
            and "remediation.maxRetry is 0" in run.text
        ), run.text
        assert "then raise spec.remediation.maxRetry of the KubeadmControlPlane" in run.text, run.text
        cluster.require_learner(failed[-1], members)
    finally:
        wants(workspace)
    run = workspace.playbook("reconcile").succeeded()
    assert cluster.members() == members and cluster.machines.names() == before, run.output
    cluster.healthy()


def test_a_snapshot_fails(workspace: Workspace, cluster: Cluster) -> None:
    """Faults 51 and 53: no machine that stays has room for one: no member goes. With room, the removal goes on, and one joins."""
    [victim, *others] = cluster.machines.names()
    members = cluster.members()
    cluster.machines.annotate(victim, REMEDIATE)
    with cluster.small_disk("/var/lib/kubeadm-control-plane/etcd-snapshots", 1, *others):
        run = workspace.playbook("reconcile", *IMPATIENT).failed()
        assert "no etcd snapshot could be taken and verified" in run.text and "MiB free, but a snapshot" in run.text, (
            run.text
        )
        assert cluster.members() == members and victim in cluster.machines.names()
    workspace.playbook("reconcile").succeeded()
    assert victim not in cluster.machines.names()
    grow_old(workspace)
    cluster.healthy()


def test_a_members_disk_is_full(workspace: Workspace, cluster: Cluster) -> None:
    """Fault 51: its etcd dies of that and is named, and no other machine goes; with room it comes back by itself."""
    [name, marked, _other] = cluster.machines.names()
    with cluster.etcd_disk(name, megabytes=96):
        cluster.machines.ssh(name, "head -c 100M /dev/zero > /var/lib/etcd/somebody-elses", check=False)
        cluster.machines.lose(name)
        eventually("its etcd has ended", lambda: cluster.written(marked) and not cluster.runs("etcd", name))
        with cluster.machines.annotated(marked, REMEDIATE):
            run = cluster.refused()
            assert f"machine {marked} is not remediated: it could result in etcd quorum loss" in run.text, run.text
        etcd = workspace.status(NAME)["etcd"]
        assert [each["name"] for each in etcd["members"] if not each["healthy"]] == [name]
        cluster.machines.ssh(name, "rm /var/lib/etcd/somebody-elses")
        eventually("its etcd is back", lambda: cluster.serves(name))
    cluster.machines.regain(name)
    cluster.healthy()


def test_a_host_is_installed_anew(workspace: Workspace, cluster: Cluster) -> None:
    """Faults 11 and 9: it has the name and the address of a machine whose member is listed: nothing is done on it.

    When a person has said that it is lost, its member goes and another machine joins. Its kubeadm dies when its member was added: it is
    not tried again there. Its member goes by its ID, and a third machine joins.
    """
    leader = cluster.machines.etcd_leader()
    [victim, *_others] = [name for name in cluster.machines.names() if name != leader]
    cluster.install_anew(victim)
    cluster.machines.lose(victim)
    run = cluster.refused()
    assert f"etcd member of machine {victim}: Etcd member is not healthy" in run.text, run.text
    assert (
        f"installed again, have it replaced (playbook remediate with --limit CLUSTER -e control_plane_machines={victim})"
        in run.text
    )
    places = "/etc/kubernetes /var/lib/etcd /run/kubeadm /var/lib/kubeadm-control-plane"
    assert cluster.machines.ssh(victim, f"find {places} -type f 2>/dev/null", check=False) == ""
    cluster.machines.annotate(victim, REMEDIATE)
    before = cluster.machines.names()
    known = cluster.members()
    run_on = workspace.start("reconcile")
    [(identity, _name)] = eventually("a member was added", lambda: [x for x in cluster.members() if x not in known])
    [joiner] = set(cluster.machines.names()) - set(before)
    eventually("its kubeadm runs", lambda: cluster.machines.kubeadm_runs(joiner, "join"))
    cluster.machines.ssh(joiner, "pkill -9 -x kubeadm")
    assert run_on.wait(300) != 0
    log = (workspace.folder / "reconcile.log").read_text()
    assert f"the bootstrap of machine {joiner} failed" in log.replace("\n", " "), log
    assert identity in {each for each, _name in cluster.members()}
    again = workspace.playbook("reconcile").succeeded()
    assert "Peer URLs already exists" not in log + again.output
    assert not {victim, joiner} & set(cluster.machines.names())
    assert identity not in {each for each, _name in cluster.members()}
    cluster.healthy()
