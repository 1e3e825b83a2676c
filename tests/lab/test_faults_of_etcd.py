# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One control plane of three that lives through faults of its etcd, its API servers and its kubelets (docs/faults.md).

In each the run stops, says what is wrong and what to do, and has changed nothing; what it says to do is done, and all is well. What follows
two lost voters is in test_remediation.py.
"""

from __future__ import annotations

import re
import typing as t

import pytest
from inflicted import REMEDIATE, Cluster, eventually
from workspace import Workspace

pytestmark = pytest.mark.full

NAME = "lab-ill"
QUOTA = 24 * 1024 * 1024
GRACE = {"name": "node-monitor-grace-period", "value": "16s"}
KUBEADM: dict[str, t.Any] = {
    "clusterConfiguration": {
        "controllerManager": {"extraArgs": [GRACE]},
        "etcd": {"local": {"extraArgs": [{"name": "quota-backend-bytes", "value": str(QUOTA)}]}},
    }
}


DELETE = "cluster.x-k8s.io/delete-machine"


def wants(workspace: Workspace, replicas: int = 3) -> None:
    """Write the manifest."""
    workspace.manifest(NAME, replicas=replicas, kubeadm=KUBEADM)


@pytest.fixture(scope="module")
def cluster(workspace: Workspace) -> Cluster:
    """Three machines, of which the store says that they are an hour old."""
    wants(workspace)
    return Cluster.grown_old(workspace, NAME)


@pytest.fixture
def more(workspace: Workspace) -> t.Iterator[None]:
    """The manifest wants five machines meanwhile."""
    wants(workspace, replicas=5)
    yield
    wants(workspace)


@pytest.fixture
def fewer(workspace: Workspace) -> t.Iterator[None]:
    """The manifest wants one machine meanwhile."""
    wants(workspace, replicas=1)
    yield
    wants(workspace)


def test_a_full_database(cluster: Cluster) -> None:
    """Fault 23: with alarm NOSPACE nothing is done but what makes room, and how to is said; done so, all is well."""
    cluster.fill_database(cluster.machines.names()[0])
    for text in (cluster.planned(), cluster.refused().text):
        assert "etcd alarm NOSPACE on member" in text, text
        assert ' -b --private-key FILE -f 1 -m kubeadm.control_plane.etcd_alarm -a "state=disarmed' in text, text
    run = cluster.one_after_another("etcd_alarm", "state=disarmed compact=true defragment=true")
    assert "was disarmed" in run.text, run.output
    cluster.healthy()


@pytest.mark.usefixtures("more")
def test_one_more_is_wanted_while_one_is_down(cluster: Cluster) -> None:
    """Fault 13: etcd itself would refuse to add a member; the dead one is named, and that it has to be replaced or started first."""
    dead = cluster.machines.names()[0]
    with cluster.without_power(dead):
        plan, run = cluster.planned(), cluster.refused()
        assert "4 voters, 2 healthy, quorum 3" in plan and "a member that is gone for good must be removed" in plan, (
            plan
        )
        assert f"machine {dead} has joined, and its provider says: dead" in run.text
        assert f"control_plane_machines={dead}" in run.text


def test_another_one_is_marked_while_one_is_down(cluster: Cluster) -> None:
    """Fault 15: without the marked one's member there would be no quorum: it stays."""
    [dead, marked, _other] = cluster.machines.names()
    with cluster.without_power(dead), cluster.machines.annotated(marked, REMEDIATE):
        assert f"machine {dead} has joined, and its provider says: dead" in cluster.refused().text
        plan = cluster.planned()
        assert f"machine {marked} is not remediated: it could result in etcd quorum loss" in plan, plan
        assert "2 voters, 1 healthy, quorum 2: fewer healthy than the quorum" in plan, plan
    cluster.healthy()


@pytest.mark.usefixtures("more")
def test_the_leaders_kubelet_is_dead(workspace: Workspace, cluster: Cluster) -> None:
    """Faults 19 and 42: its etcd is asked itself and is well; what its kubelet said is old, and counts as unknown."""
    leader = cluster.machines.etcd_leader()
    with cluster.stopped(leader):
        eventually("its Node is not Ready", lambda: leader not in cluster.machines.ready_nodes())
        etcd = workspace.status(NAME)["etcd"]
        assert etcd["leader"] == leader and all(each["healthy"] for each in etcd["members"])
        plan = cluster.planned()
        cluster.refused()
        assert f"on machine {leader}: Node" in plan and "etcd member" not in plan, plan
    eventually("its Node is Ready", lambda: leader in cluster.machines.ready_nodes())


def test_the_leader_is_cut_off_from_the_others(workspace: Workspace, cluster: Cluster) -> None:
    """Fault 20: this host reaches it first, and it believes to lead: the majority is what counts, and no other one may go."""
    leader = cluster.newest()
    others = [name for name in cluster.machines.names() if name != leader]
    cluster.machines.let_lead(leader)
    with cluster.cut_off(leader, *others):
        eventually("another one leads", lambda: cluster.leader_of(others[0]) not in ("0", cluster.leader_of(leader)))
        etcd = workspace.status(NAME)["etcd"]
        assert etcd["leader"] in others
        assert [each["name"] for each in etcd["members"] if not each["healthy"]] == [leader]
        with cluster.machines.annotated(others[0], REMEDIATE):
            run = cluster.refused()
        assert f"machine {others[0]} is not remediated: it could result in etcd quorum loss" in run.text, run.text
    cluster.healthy()


def test_two_members_do_not_reach_each_other(cluster: Cluster) -> None:
    """Fault 21: this host reaches all, and one machine sees a member as dead that the others work with: it is not taken out."""
    asked = cluster.newest()
    [leader, marked] = [name for name in cluster.machines.names() if name != asked]
    cluster.machines.let_lead(leader)
    with cluster.cut_off(asked, marked), cluster.machines.annotated(marked, REMEDIATE):
        run = cluster.refused()
        assert f"{asked} and {leader} see etcd differently" in run.text, run.text
        assert "Look at the network between the machines" in run.text
    cluster.healthy()


@pytest.mark.usefixtures("fewer")
def test_one_api_server_is_down(cluster: Cluster) -> None:
    """Fault 38: another machine is asked, and no other one is taken away."""
    ill = cluster.newest()
    pod = f"kube-apiserver-{ill}"
    [chosen, *_others] = [name for name in cluster.machines.names() if name != ill]
    cluster.machines.lose(ill)
    with cluster.machines.annotated(chosen, DELETE), cluster.without("kube-apiserver", ill):
        listed = ("-n", "kube-system", "get", "pods", "-o", "name")
        eventually("its pod is gone", lambda: pod not in cluster.machines.kubectl(*listed))
        plan = cluster.planned()
        cluster.refused()
        assert f"kube-apiserver on machine {ill}: Pod {pod} does not exist" in plan, plan
    cluster.machines.regain(ill)
    eventually("it answers", lambda: cluster.machines.ssh(ill, "curl -fsk https://127.0.0.1:6443/readyz") == "ok")


def test_every_api_server_is_down(cluster: Cluster) -> None:
    """Fault 39: etcd is well, nobody can be asked about Nodes: no membership changes."""
    names = cluster.machines.names()
    with cluster.machines.annotated(names[0], REMEDIATE), cluster.without("kube-apiserver", *names):
        run = cluster.refused()
        assert "no machine's API server answers" in run.text and "3 voters, 3 answer" in run.text, run.text
    eventually("the API answers", lambda: cluster.machines.ready_nodes() == names)
    cluster.healthy()


def test_a_node_is_deleted_by_hand(cluster: Cluster) -> None:
    """Fault 40: its member lives and stays. What is said to do is done, step by step, and the machine is whole again."""
    name = cluster.machines.names()[0]
    cluster.machines.kubectl("delete", "node", name)
    run = cluster.refused()
    assert f"Node {name} of machine {name} does not exist any more" in run.text
    assert "Restart kubelet on the machine" in run.text, run.text
    assert "Do that again where a static Pod does not come back" in run.text, run.text
    for _time in range(2):
        cluster.machines.ssh(name, "systemctl restart kubelet")
        eventually("its Node is there", lambda: name in cluster.machines.ready_nodes())
    # The questions are asked of this machine.
    pods = [f"pod/{component}-{name}" for component in ("etcd", "kube-apiserver")]
    ready = ("wait", "-n", "kube-system", "--for=condition=Ready", "--timeout=5s", *pods)
    eventually("its static Pods are there", lambda: cluster.machines.kubectl(*ready) and cluster.members())
    run = cluster.refused()
    each = r"node-role\.kubernetes\.io/[a-z-]+(?:=|:NoSchedule)"
    told = set(re.findall(rf"kubectl ((?:label|taint) node {name}(?: {each})+)", run.text))
    assert len(told) == 2, run.text
    for command in told:
        cluster.machines.kubectl(*command.split())
    cluster.healthy()
