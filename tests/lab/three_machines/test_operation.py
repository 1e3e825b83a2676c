# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What status and inventory tell of three machines, and who may not touch them."""

from __future__ import annotations

import json
import os
import re
import signal

from etcd_cluster import until
from machines import Machines
from workspace import Workspace

from .conftest import NAME


def test_status_is_true(workspace: Workspace, three: Machines) -> None:
    """The table and the data say what etcd, nodes and endpoint really are."""
    run = workspace.playbook("status").succeeded()
    # etcd may elect another one at any time.
    led = three.etcd_leader()
    status = workspace.status(NAME)
    assert status["replicas"] == {"desired": 3, "existing": 3, "ready": 3, "upToDate": 3}
    assert status["endpoint"]["answers"] is True
    assert status["etcd"]["leader"] in (led, three.etcd_leader())
    assert status["etcd"]["alarms"] == [] and status["etcd"]["agrees"] is True
    assert status["addons"]["nodeRegistration"]["works"] is True
    assert status["addons"]["kubeProxy"]["works"] is True
    for name in three.names():
        assert re.search(rf"{name}\s.*ok", run.output)
    assert "nothing to do" in run.output


def test_inventory_has_clusters_machines_and_groups(workspace: Workspace, three: Machines) -> None:
    """The cluster and its machines are hosts, in groups that say what they are, and which one led when a run last observed them."""
    [control_plane] = workspace.objects("KubeadmControlPlane")
    led = control_plane["status"]["etcdLeader"]
    command = ["ansible-inventory", "-i", "inventory.clusters.yml", "--list"]
    groups = json.loads(Workspace.run(command, workspace.folder).succeeded().output)
    assert groups["control_planes"]["hosts"] == [NAME]
    assert (
        sorted(groups["lab_life_machines"]["hosts"])
        == sorted(groups["control_plane_machines"]["hosts"])
        == three.names()
    )
    assert groups["etcd_leader"]["hosts"] == [led] and led in three.names()
    assert [len(groups[f"failure_domain_{each}"]["hosts"]) for each in "abc"] == [1, 1, 1]
    assert not {"unhealthy", "outdated", "provisioning"} & set(groups)


def test_second_reconcile_leaves_with_the_holders_name(workspace: Workspace, three: Machines) -> None:
    """Two runs at once, of which the first takes the lock: the second changes nothing and names it."""
    assert len(three.names()) == 3
    log = workspace.folder / "first.log"
    first = workspace.start("health_check", output=log)
    until("the first run has the lock", lambda: list(workspace.store.glob(f"default/locks/{NAME}/*.json")))
    os.kill(first.pid, signal.SIGSTOP)
    try:
        second = workspace.playbook("reconcile").failed()
    finally:
        os.kill(first.pid, signal.SIGCONT)
    assert "held by" in second.text and str(first.pid) in second.text
    assert first.wait(timeout=300) == 0, log.read_text()[-4000:]


def test_a_run_that_lost_its_lock_is_refused_where_nobody_was_since(workspace: Workspace, three: Machines) -> None:
    """The cluster has the newest run's number: for a machine that has seen none, and for one that joins, with its token alone."""
    workspace.playbook("reconcile").succeeded()
    newest = max(int(each.stem) for each in (workspace.store / "default" / "locks" / NAME).glob("*.released"))
    lease = json.loads(three.kubectl("-n", "kube-system", "get", "lease", "kubeadm-control-plane", "-o", "json"))
    assert lease["spec"]["leaseTransitions"] == newest
    name = three.names()[0]
    three.ssh(name, "rm -f /var/lib/kubeadm-control-plane/fencing")
    [refused] = three.play([{"kubeadm.control_plane.etcd_leader": {"name": name, "fencing": newest - 1}}])
    assert (
        refused["failed"]
        and refused["fenced"] == newest
        and "Lease kube-system/kubeadm-control-plane" in refused["msg"]
    )
    [accepted] = three.play([{"kubeadm.control_plane.etcd_leader": {"name": "nobody", "fencing": newest}}])
    assert not accepted.get("failed") and not accepted["changed"], accepted

    def answer(token: str, asked: str) -> str:
        leases = "https://127.0.0.1:6443/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
        words = f"curl -s -k -o /dev/null -w '%{{http_code}}' -H 'Authorization: Bearer {token}' {leases}/{asked}"
        return three.ssh(name, words).strip()

    token = three.ssh(name, "kubeadm token create --kubeconfig /etc/kubernetes/admin.conf").strip()
    try:
        assert answer(token, "kubeadm-control-plane") == "200" and answer(token, "kube-scheduler") == "403"
    finally:
        three.ssh(name, f"kubeadm token delete --kubeconfig /etc/kubernetes/admin.conf {token.partition('.')[0]}")


def test_a_call_that_lands_on_the_wrong_machine_is_refused(workspace: Workspace, three: Machines) -> None:
    """Two machines that answer at each other's address: nothing is done on either."""
    with three.swapped_addresses(workspace):
        run = workspace.playbook("reconcile", "-e", "control_plane_wait_timeout=5").failed()
    assert "machine-id" in run.text
    assert len(three.etcd_members()) == 3


def test_a_machines_name_is_no_cluster(workspace: Workspace, three: Machines) -> None:
    """--limit to a machine selects no cluster: an error, not success."""
    run = workspace.playbook("reconcile", "--limit", three.names()[0]).failed()
    assert "No cluster is selected" in run.text
