# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Existing hosts are asked before workers are made of them, by their own template, and not for what a control plane needs."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from builders import healthy
from observed import objects_of

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Answer, Machine
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.providers import inventory_pool, worker_hosts

Object = dict[str, t.Any]
INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io"
HOSTS = ("w1", "w2", "w3")


def documents(name: str, kind: str = "InventoryMachineTemplate") -> list[Object]:
    """A MachineDeployment and its templates, on the group "pool"."""
    config = {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfigTemplate", "name": "workers"}
    machine = {"apiGroup": INFRASTRUCTURE, "kind": kind, "name": "workers"}
    spec = {"version": "v1.20.2", "bootstrap": {"configRef": config}, "infrastructureRef": machine}
    return [
        {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "MachineDeployment",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"clusterName": "prod", "replicas": 1, "template": {"spec": spec}},
        }
    ]


def templates(kind: str = "InventoryMachineTemplate") -> list[Object]:
    """What they name."""
    join = {"joinConfiguration": {"nodeRegistration": {"criSocket": "unix:///run/other.sock"}}}
    pool = {"group": "pool", "failureDomainVariable": "zone", "kubeadm": {"ignorePreflightErrors": ["Swap"]}}
    return [
        {
            "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2",
            "kind": "KubeadmConfigTemplate",
            "metadata": {"name": "workers", "namespace": "default"},
            "spec": {"template": {"spec": join}},
        },
        {
            "apiVersion": f"{INFRASTRUCTURE}/v1beta1",
            "kind": kind,
            "metadata": {"name": "workers", "namespace": "default"},
            "spec": {"template": {"spec": pool}},
        },
    ]


class Pool:
    """Three hosts in two failure domains; those in ``unfit`` lack something, those of ``machines`` have a machine."""

    def __init__(self, folder: Path, kind: str = "InventoryMachineTemplate") -> None:
        self.unfit: set[str] = set()
        self.asked: list[tuple[str, Object]] = []
        self.objects = objects_of(healthy(1), folder)
        for each in [*documents("first", kind), *documents("second", kind), *templates(kind)]:
            self.objects.store.create(each)

    def claimed(self, machine: str, host: str) -> None:
        """A machine of the cluster has the host."""
        made = {
            "apiVersion": f"{INFRASTRUCTURE}/v1beta1",
            "kind": "InventoryMachine",
            "metadata": {"name": machine, "namespace": "default", "labels": {}},
            "spec": {"group": "pool"},
            "status": {"claim": {"inventoryHost": host, "state": "Claimed"}},
        }
        self.objects.infrastructure_machines[machine] = self.objects.store.create(made)

    def one(self, machine: Machine, module: str, call: Object) -> Answer:
        """Answer as host_claim does."""
        host = str(machine.connection["inventoryHost"])
        assert module == "host_claim"
        self.asked.append((host, call))
        lack = {"check": "Swap", "message": "swap is on", "fix": "Turn it off."}
        return Answer(
            True, {"failed": True, "missing": [lack]} if host in self.unfit else {"claim": {"machineID": host}}
        )

    def each(self, calls: t.Sequence[t.Callable[[], Answer]]) -> list[Answer]:
        """Make the calls."""
        return [call() for call in calls]

    def look(self, snapshot: t.Optional[Object] = None, **ahead: tuple[list[str], list[str]]) -> dict[str, Object]:
        """What keeps the deployments' workers from being made."""
        hostvars = {host: {"zone": "aab"[index]} for index, host in enumerate(HOSTS)}
        groups = {"pool": HOSTS}
        return worker_hosts.survey_workers(self.objects, self, snapshot or {}, ahead, groups, hostvars)


@pytest.fixture
def pool(tmp_path: Path) -> Pool:
    """Three hosts."""
    return Pool(tmp_path / "store")


def test_as_many_as_are_needed_are_asked_for_what_a_worker_needs(pool: Pool) -> None:
    assert pool.look(first=(["", ""], [])) == {}
    assert [host for host, _call in pool.asked] == ["w1", "w2"]
    call = pool.asked[0][1]
    assert (call["ports"], call["cri_socket"], call["ignore_checks"]) == ([10250], "unix:///run/other.sock", ["Swap"])
    assert "images" not in call and call["kubernetes_version"] == "v1.20.2"


def test_too_few_are_named_with_what_each_lacks(pool: Pool) -> None:
    pool.unfit, ahead = {"w1"}, (["", ""], [])
    pool.claimed("other", "w2")
    obstacle = pool.look(first=ahead)["first"]
    assert obstacle["reason"] == "HostsMissing"
    assert "2 free hosts of the inventory group pool are needed, and 1 fits" in obstacle["message"]
    assert "w1: swap is on (Swap)" in obstacle["message"] and "w2: claimed by" in obstacle["message"]
    assert "maxSurge 0" in obstacle["fix"]


def test_failure_domains(pool: Pool) -> None:
    assert pool.look(first=(["b"], [])) == {}
    assert "in the failure domain b" in pool.look(first=(["b", "b"], []))["first"]["message"]


def test_a_host_that_is_given_back_before_counts(pool: Pool) -> None:
    for machine, host in zip("abc", HOSTS):
        pool.claimed(machine, host)
    assert list(pool.look(first=([""], []))) == ["first"]
    assert pool.look(first=([""], ["b"])) == {}


def test_no_host_is_counted_twice(pool: Pool) -> None:
    """The control plane's come first, then one deployment's after the other's."""
    assert pool.look(first=(["", ""], []), second=([""], [])) == {}
    assert list(pool.look(first=(["", ""], []), second=(["", ""], []))) == ["second"]
    needed = {"hosts": [{"name": "w1", "machine": "", "missing": []}]}
    assert list(pool.look(needed, first=(["", ""], []), second=([""], []))) == ["second"]


def test_machines_of_another_provider_and_a_group_that_is_not_there(tmp_path: Path) -> None:
    other = Pool(tmp_path / "other", "AcmeMachineTemplate")
    assert other.look(first=([""], [])) == {} and other.asked == []
    pool = Pool(tmp_path / "none")
    ahead: dict[str, tuple[list[str], list[str]]] = {"first": ([""], [])}
    [obstacle] = worker_hosts.survey_workers(pool.objects, pool, {}, ahead, {}, {}).values()
    assert obstacle["reason"] == "HostPoolInvalid" and "no group pool" in obstacle["message"]


def test_a_control_planes_host_is_asked_for_more(pool: Pool) -> None:
    found = inventory_pool.question(pool.objects, {}, "v1.20.2", {}, "join")
    assert {6443, 2379, 10250} <= set(found["ports"]) and "images" in found
