# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Lease with the number of the newest run, in a real API server."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
from etcd_cluster import free_port
from filled_api import places
from private_host import MODULES, PrivateHost

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import Fenced
from ansible_collections.kubeadm.control_plane.plugins.module_utils.observe import collect
from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload_api import bootstrap_token, fencing_lease

from .conftest import SYSTEM, Workload

LEASE = f"{fencing_lease.LEASES}/{fencing_lease.NAME}"
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system"
QUICK = collect.Looks(count=1, interval=0.05, timeout=5.0)
RACER = """
import sys
from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import Fenced
from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload_api import api, fencing_lease
access = api.read_access(sys.argv[1], sys.argv[2])
sys.stdin.readline()
with api.ApiClient(access, access.server, 60.0) as client:
    for number in range(int(sys.argv[3]), 60, 3):
        try:
            fencing_lease.hold(client, number)
        except Fenced as error:
            assert error.highest > number
"""


@pytest.fixture
def cluster(workload: Workload) -> Workload:
    """A cluster that no run has worked on."""
    for path in (LEASE, f"{RBAC}/roles/{fencing_lease._READER}", f"{RBAC}/rolebindings/{fencing_lease._READER}"):
        workload.delete(path)
    return workload


def hold(cluster: Workload, number: int, write: bool = True, run: str = "") -> bool:
    """As a call on a control plane node does."""
    with cluster.server.client() as client:
        return fencing_lease.hold(client, number, write=write, run=run)


def number(cluster: Workload) -> int:
    """The number that the cluster has."""
    return int(cluster.there(LEASE)["spec"]["leaseTransitions"])


def test_it_is_made_raised_and_refuses(cluster: Workload) -> None:
    """A cluster of before this release has none; the same run may come as often as it likes."""
    assert hold(cluster, 5) and not hold(cluster, 5) and hold(cluster, 7)
    with pytest.raises(
        Fenced,
        match=r"number is 5, but the cluster has seen \(Lease kube-system/kubeadm-control-plane\) a run with number 7",
    ):
        hold(cluster, 5)
    assert number(cluster) == 7


def test_the_same_number_of_two_stores(cluster: Workload) -> None:
    """Whoever observes takes a greater one, and the other one's steps are refused; a step tells no name, and takes none away."""
    assert hold(cluster, 5) and hold(cluster, 5, run="one") and not hold(cluster, 5, run="one") and not hold(cluster, 5)
    with pytest.raises(
        Fenced, match=r"number is 5, but the cluster has seen \(Lease .*\), of another store, a run with number 5"
    ):
        hold(cluster, 5, run="other")
    assert hold(cluster, 6, run="other") and not hold(cluster, 6)
    with pytest.raises(Fenced):
        hold(cluster, 5)


def test_check_mode_compares_and_writes_nothing(cluster: Workload) -> None:
    """Neither the first number nor a higher one."""
    assert not hold(cluster, 5, write=False) and cluster.get(LEASE) is None
    hold(cluster, 5)
    assert not hold(cluster, 9, write=False) and number(cluster) == 5
    with pytest.raises(Fenced):
        hold(cluster, 4, write=False)


@pytest.mark.parametrize("spec", [{}, {"leaseTransitions": 2}])
def test_an_etcd_that_went_back_gets_the_number_again(cluster: Workload, spec: dict[str, t.Any]) -> None:
    """One that was restored has an older number, or a Lease that somebody emptied."""
    cluster.put(
        fencing_lease.LEASES, {"metadata": {"name": fencing_lease.NAME, "namespace": "kube-system"}, "spec": spec}
    )
    assert hold(cluster, 8) and number(cluster) == 8


def test_of_runs_that_race_the_highest_number_stays(cluster: Workload) -> None:
    """Compared and swapped: none is overwritten by a smaller one."""
    server = cluster.server
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, server.kubeconfig, server.kubectl, str(first)],
            stdin=subprocess.PIPE,
            text=True,
        )
        for first in (3, 4, 5)
    ]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    assert [racer.communicate()[1] or racer.returncode for racer in racers] == [0, 0, 0]
    assert number(cluster) == 59


def test_an_observation_raises_it_first_and_refuses_an_older_run(cluster: Workload, tmp_path: Path) -> None:
    """What a run before this one does later is refused; what it did before is seen."""
    where = places(cluster.server, tmp_path)
    assert collect.collect(QUICK, None, where, number=3)["api"]["answers"] and number(cluster) == 3
    collect.collect(QUICK, None, where)
    with pytest.raises(Fenced):
        collect.collect(QUICK, None, where, number=2)
    assert number(cluster) == 3


def test_a_machine_asks_by_its_own_credentials_and_does_without_an_api(
    cluster: Workload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody answers, or it has no credentials yet, it knows only what has been on itself."""
    monkeypatch.setenv("PATH", f"{os.path.dirname(cluster.server.kubectl)}:{os.environ['PATH']}")
    hold(cluster, 6)
    with pytest.raises(Fenced):
        fencing_lease.require(5, kubeconfig=cluster.server.kubeconfig)
    fencing_lease.require(7, kubeconfig=cluster.server.kubeconfig)
    assert number(cluster) == 7
    text = Path(cluster.server.kubeconfig).read_text()
    dead = tmp_path / "dead.conf"
    dead.write_text(text.replace(str(cluster.server.port), str(free_port())))
    for kubeconfig in (dead, tmp_path / "none.conf"):
        fencing_lease.require(1, kubeconfig=str(kubeconfig))


def test_a_joining_machine_asks_with_its_token(cluster: Workload) -> None:
    """It may read this one Lease and nothing else, once the run that made the token has allowed it."""
    token = bootstrap_token.new_token()
    document = bootstrap_token.secret_document(token, 600, "of a test", datetime.datetime.now(datetime.timezone.utc))
    authority = Path(cluster.server.authority.ca_file).read_text()
    server = f"127.0.0.1:{cluster.server.port}"
    hold(cluster, 6)
    with cluster.server.client() as client:
        bootstrap_token.create(client, document)
        # Before: not allowed, so that nothing is compared.
        fencing_lease.require_as_joining(5, server, token, authority)
        fencing_lease.let_joining_machines_read(client)
        fencing_lease.let_joining_machines_read(client)
    with pytest.raises(Fenced):
        fencing_lease.require_as_joining(5, server, token, authority)
    fencing_lease.require_as_joining(6, server, token, authority)
    fencing_lease.require_as_joining(5, f"127.0.0.1:{free_port()}", token, authority)
    rules = cluster.there(f"{RBAC}/roles/{fencing_lease._READER}")["rules"]
    assert [(each["verbs"], each["resources"], each["resourceNames"]) for each in rules] == [
        (["get"], ["leases"], [fencing_lease.NAME])
    ]
    cluster.delete(f"{SYSTEM}/secrets/{document['metadata']['name']}")


def test_a_machine_without_room_is_observed_while_the_cluster_keeps_the_number(
    cluster: Workload, tmp_path: Path
) -> None:
    """Without an API nothing would refuse an older run there: the observation names the disk, as does what changes something."""
    server = cluster.server
    full = 'mount -t tmpfs -o size=8k tmpfs "$state" && echo 3 > "$state/fencing" && : > "$state/lock" && ! dd if=/dev/zero of="$state/logs"'
    made = (
        "state=/var/lib/kubeadm-control-plane; mkdir -p $state /etc/kubernetes/manifests; "
        f"cp {server.manifests}/kube-apiserver.yaml /etc/kubernetes/manifests; cp $1 /etc/kubernetes/admin.conf; {full}; "
        'shift; exec "$@"'
    )

    def observed(kubeconfig: str, module: str = "node_observe", **options: t.Any) -> dict[str, t.Any]:
        arguments = tmp_path / "arguments.json"
        options = {"fencing": 6, "_ansible_remote_tmp": "/tmp", **options}
        arguments.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": options}))
        words = ["sh", "-ec", made, "sh", kubeconfig, sys.executable, "-m", f"{MODULES}.{module}", str(arguments)]
        return dict(json.loads(PrivateHost(tmp_path).run(*words, check=False).splitlines()[-1]))

    found = observed(server.kubeconfig, look_again=False)
    assert found["observation"]["api"]["answers"] and number(cluster) == 6, found
    refused = observed(server.kubeconfig, "node_file", path="/etc/kubernetes/x", content="x")
    assert "fencing can't be written: No space left on device" in refused["msg"], refused
    none = tmp_path / "none.conf"
    none.write_text("none")
    refused = observed(str(none), look_again=False)
    assert refused["failed"] and "fencing can't be written: No space left on device" in refused["msg"], refused
    assert "df -h /var/lib/kubeadm-control-plane" in refused["msg"]
