# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Existing hosts are asked before a machine is made: as many as the plan needs, none that is taken, and nobody else's machines."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from builders import Builder, cluster, healthy
from observed import objects_of

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Answer, Machine
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.document import make_plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.plan.steps import machines_ahead
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.typed_snapshot import (
    check_snapshot,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.providers import inventory_pool, pool_preflight

Object = dict[str, t.Any]
LACKS = {"check": "ImagePull", "message": "images are not there", "fix": "Load them."}
OLD = {"check": "KubeletVersion", "message": "kubelet is v1.20.2, and v1.20.3 is wanted", "fix": "Install v1.20.3."}
OURS = {"check": "Claim", "message": "claimed by this cluster", "fix": ""}
HOSTS = ("cp1", "cp2", "cp3", "cp4")


class Pool:
    """Hosts by name, with what they answer; ``asked`` keeps who was asked what, ``rounds`` how many at the same time."""

    def __init__(self, **missing: t.Any) -> None:
        self.missing = missing
        self.asked: list[tuple[str, Object]] = []
        self.rounds: list[int] = []
        self.groups: dict[str, t.Sequence[str]] = {"pool": HOSTS}
        self.hostvars: dict[str, Object] = {host: {"zone": "aabb"[index]} for index, host in enumerate(HOSTS)}
        self.spec: Object = {"group": "pool", "kubeadm": {"ignorePreflightErrors": ["Swap"]}}
        self.etcd: t.Optional[Object] = None

    def one(self, machine: Machine, module: str, call: Object) -> Answer:
        """Answer as host_claim and external_etcd_info do."""
        host = str(machine.connection["inventoryHost"])
        self.asked.append((host, call))
        if module == "external_etcd_info":
            return Answer(True, {"etcd": self.etcd, "key_count": 0})
        missing = self.missing.get(host, [])
        if missing == "silent":
            return Answer(False, {"msg": "it was not reached"})
        identity = f"id-of-{missing if isinstance(missing, str) else host}"
        if identity in call["known_machine_ids"]:
            missing = [
                {"check": "MachineID", "message": f"it has the machine-id of {call['known_machine_ids'][identity]}"}
            ]
        elif isinstance(missing, str):
            missing = [LACKS] if host == self.missing.get("unfit") else []
        unfit = {"failed": True, "missing": missing, "machineID": identity}
        return Answer(True, unfit if missing else {"claim": {"machineID": identity}})

    def each(self, calls: t.Sequence[t.Callable[[], Answer]]) -> list[Answer]:
        """Make the calls."""
        self.rounds.append(len(calls))
        return [call() for call in calls]

    def look(self, builder: Builder, folder: Path, taken: t.Sequence[str] = (), **how: bool) -> Object:
        """What a snapshot gets; hosts in ``taken`` have the machines m1, m2 and so on, ``other`` another cluster's."""
        builder.snapshot["machineTemplate"] = {
            "kind": "InventoryMachineTemplate",
            "metadata": {"name": "prod"},
            "spec": {"template": {"spec": self.spec}},
        }
        for number, each in enumerate(builder.snapshot["machines"]):
            if number < len(taken):
                status = each["infrastructureMachine"]["status"]
                status["claim"] = {"inventoryHost": taken[number], "state": "Claimed"}
        folder.mkdir(exist_ok=True)
        snapshot, objects = builder.build(), objects_of(builder, folder / "store")
        for number, host in enumerate(taken):
            objects.store.create(
                {
                    "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
                    "kind": "InventoryMachine",
                    "metadata": {"name": f"m{number + 1}", "namespace": "default"},
                    "spec": {"group": "pool"},
                    "status": {"claim": {"inventoryHost": host, "state": "Claimed"}},
                }
            )
        ahead = machines_ahead(snapshot)
        found = pool_preflight.survey(objects, self, snapshot, ahead, self.groups, self.hostvars, **how)
        assert check_snapshot({**snapshot, **found}) == []
        self.document = make_plan({**snapshot, **found}, "2026-01-31T12:00:00Z")
        return found

    @property
    def names(self) -> list[str]:
        """Who was asked, in order."""
        return [host for host, _call in self.asked]


def lacking(found: Object) -> dict[str, list[str]]:
    """What each host lacks, by the checks' names."""
    return {each["name"]: [lack["check"] for lack in each["missing"]] for each in found["hosts"]}


def rollout(surge: int) -> Builder:
    """Three machines of which each is to be replaced by one of another version."""
    builder = healthy(3).wants(version="v1.20.3")
    builder.spec["rollout"] = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge}}}
    return builder


def test_as_many_as_are_needed_are_asked(tmp_path: Path) -> None:
    pool = Pool(cp2=[LACKS])
    found = pool.look(healthy(1, replicas=3), tmp_path, taken=["cp1"])
    assert (pool.names, pool.rounds) == (["cp2", "cp3", "cp4"], [2, 1])
    assert lacking(found) == {"cp2": ["ImagePull"], "cp3": [], "cp4": []}
    assert found["pool"] == {"group": "pool", "failureDomains": []}
    call = pool.asked[0][1]
    assert (call["state"], call["kubernetes_version"], call["ignore_checks"]) == ("present", "v1.20.2", ["Swap"])
    assert call["images"]["pull"] is True
    networks = {"in_use": True, "pods": [], "services": ["10.96.0.0/12"]}
    assert call["cluster_network"] == networks, "a cluster that runs is not asked for what it can't change any more"


def test_none_is_asked_where_all_machines_are_prepared_ahead(tmp_path: Path) -> None:
    builder = healthy(1, replicas=3)
    builder.snapshot["preparedMachines"] = [
        {
            "kind": "InventoryMachine",
            "metadata": {"name": f"ahead-{host}", "annotations": {"kubeadm.control-plane/prepared-failure-domain": ""}},
            "status": {"claim": {"inventoryHost": host, "state": "Claimed"}},
        }
        for host in ("cp2", "cp3")
    ]
    pool = Pool()
    found = pool.look(builder, tmp_path, taken=["cp1"])
    assert pool.names == [] and found["hosts"] == []
    assert [each["action"] for each in pool.document["steps"]] == ["join", "join"]


def test_before_the_first_machine_too(tmp_path: Path) -> None:
    """Before its infrastructure, too: the first step of a plan makes no machine, and is of no use without one."""
    pool = Pool(cp1="silent", cp3="silent")
    builder = cluster(3).bare()
    builder.snapshot["cluster"]["spec"]["clusterNetwork"] = {"pods": {"cidrBlocks": ["10.244.0.0/16"]}}
    found = pool.look(builder, tmp_path)
    networks = {"in_use": False, "pods": ["10.244.0.0/16"], "services": ["10.96.0.0/12"]}
    assert [call["cluster_network"] for _host, call in pool.asked] == [networks] * len(HOSTS)
    assert pool.names == list(HOSTS)
    assert found["hosts"][0]["missing"][0]["message"] == "it was not reached" and found["hosts"][0]["missing"][0]["fix"]
    assert pool.document["steps"] == [] and pool.document["end"]["action"] == "blocked"
    assert pool.document["end"]["reasons"][0]["message"].startswith(
        "3 free hosts of the inventory group pool are needed, and 2 fit"
    )


def test_hosts_that_are_no_help_are_told_where_hosts_are_missing(tmp_path: Path) -> None:
    pool = Pool()
    pool.spec["selector"] = {"matchVariables": {"zone": "a"}}
    found = pool.look(cluster(5).bare(), tmp_path, taken=["cp1"])
    assert lacking(found) == {"cp2": [], "cp1": ["Claim"], "cp3": ["Selector"], "cp4": ["Selector"]}
    assert "cp1: claimed by cluster default/, machine m1 (Claim)" in pool.document["end"]["reasons"][0]["message"]


def test_only_hosts_of_the_failure_domains_that_are_needed(tmp_path: Path) -> None:
    pool = Pool(cp3=[LACKS])
    pool.spec["failureDomainVariable"] = "zone"
    found = pool.look(healthy(2, replicas=3).domains("a", "b"), tmp_path)
    # Both machines are nowhere, so the next goes to the first by name.
    assert (pool.names, found["pool"]["failureDomains"]) == (["cp1"], ["a", "b"])
    pool.asked.clear()
    found = pool.look(cluster(3).bare(), tmp_path / "first")
    assert [(each["name"], each["failureDomain"]) for each in found["hosts"]] == list(zip(HOSTS, "aabb"))
    assert [each["target"]["failureDomain"] for each in pool.document["steps"][2:]] == ["a", "b", "a"]


def test_two_hosts_with_one_machine_id_are_one(tmp_path: Path) -> None:
    """As copies of an image have it: the second would be refused when it is claimed."""
    pool = Pool(cp1="image", cp2="image")
    found = pool.look(cluster(3).bare(), tmp_path)
    assert lacking(found) == {"cp1": [], "cp2": ["MachineID"], "cp3": [], "cp4": []}
    assert pool.rounds == [3, 1] and found["hosts"][1]["missing"][0]["message"].startswith(
        "it has the machine-id of cp1:"
    )


@pytest.mark.parametrize("first", [True, False])
def test_all_that_a_copy_lacks_is_told_and_a_host_that_is_unfit_makes_no_other_one(tmp_path: Path, first: bool) -> None:
    """As where one is asked after the other: what counts is that the machine-id is a fitting host's."""
    pool = Pool(cp1="image", cp2="image", unfit="cp1" if first else "cp2")
    found = pool.look(cluster(3).bare(), tmp_path, every=True)
    wanted = {"cp1": ["ImagePull"], "cp2": []} if first else {"cp1": [], "cp2": ["ImagePull", "MachineID"]}
    assert lacking(found) == {**wanted, "cp3": [], "cp4": []}
    assert pool.rounds == [4, 0]


def test_an_address_is_asked_for_where_the_template_names_a_variable(tmp_path: Path) -> None:
    pool = Pool()
    pool.spec["addressVariable"] = "internal"
    pool.hostvars["cp2"]["internal"] = "10.0.0.2"
    found = pool.look(healthy(2, replicas=3), tmp_path)
    assert lacking(found) == {"cp1": ["Address"], "cp2": []}
    assert [(host, call["address"]) for host, call in pool.asked] == [("cp2", "10.0.0.2")]


def test_a_worker_of_a_cluster_that_runs_is_not_asked_for_its_networks(tmp_path: Path) -> None:
    """kubeadm asks it for nothing of theirs, and its own hosts are asked again before they are replaced."""
    for builder, asked in ((healthy(1), False), (cluster(1).bare(), True)):
        objects = objects_of(builder, tmp_path / str(asked))
        question = inventory_pool.question(objects, {}, "v1.20.2", {}, "worker")
        assert ("cluster_network" in question) == asked


def test_the_networks_are_the_ones_that_kubeadm_will_take(tmp_path: Path) -> None:
    """What clusterConfiguration has goes before the Cluster's, and kubeadm's default comes last."""
    objects = objects_of(cluster(1).bare(), tmp_path)
    for services, written, wanted in (
        ([], {}, {"pods": [], "services": ["10.96.0.0/12"]}),
        (["10.7.0.0/16", "fd00::/108"], {}, {"pods": [], "services": ["10.7.0.0/16", "fd00::/108"]}),
        (["10.7.0.0/16"], {"serviceSubnet": "10.8.0.0/16"}, {"pods": [], "services": ["10.8.0.0/16"]}),
        (
            [],
            {"podSubnet": "10.9.0.0/16,fd01::/48"},
            {"pods": ["10.9.0.0/16", "fd01::/48"], "services": ["10.96.0.0/12"]},
        ),
    ):
        objects.cluster["spec"]["clusterNetwork"] = {"services": {"cidrBlocks": services}}
        configuration = {"clusterConfiguration": {"networking": written}}
        asked = inventory_pool.question(objects, {}, "v1.20.2", configuration, "init")
        assert asked["cluster_network"] == {"in_use": False, **wanted}


def test_the_endpoint_is_the_one_that_the_cluster_will_have(tmp_path: Path) -> None:
    """A host may be refused for it when it is claimed: that is asked beforehand, when nothing has recorded it yet."""
    objects = objects_of(cluster(1).bare(), tmp_path)
    objects.cluster["spec"].pop("controlPlaneEndpoint", None)
    objects.infrastructure_cluster = {"spec": {"controlPlaneEndpoint": {"host": "10.0.0.1"}}}
    assert inventory_pool.question(objects, {}, "v1.20.2", {}, "init")["endpoint"] == "10.0.0.1"


@pytest.mark.parametrize("replicas", [1, 3])
@pytest.mark.parametrize(
    ("endpoint", "variables"),
    [
        ("cp3", {}),
        ("10.0.0.3", {"ansible_host": "10.0.0.3"}),
        ("CP3.example.", {"ansible_host": "cp3.example"}),
        ("2001:db8::3", {"internal": "2001:DB8:0::3"}),
    ],
)
def test_the_first_machine_is_the_host_that_the_endpoint_leads_to(
    tmp_path: Path, replicas: int, endpoint: str, variables: Object
) -> None:
    """kubeadm init goes through the endpoint: on another host it would wait for itself in vain."""

    def looked(name: str, port: int = 6443, **missing: t.Any) -> Object:
        pool = Pool(**missing)
        pool.spec["addressVariable"] = "internal"
        pool.hostvars = {host: {"zone": "a", "internal": "192.0.2.1"} for host in HOSTS}
        pool.hostvars["cp3"].update(variables)
        builder = cluster(replicas).bare()
        builder.snapshot["infrastructureCluster"]["spec"]["controlPlaneEndpoint"] = {"host": endpoint, "port": port}
        return {**pool.look(builder, tmp_path / name), "asked": pool.names, "end": pool.document["end"]}

    found = looked("fit")
    assert found["asked"][0] == "cp3" and found["end"]["action"] == "none"
    assert looked("balancer", port=8443)["asked"][0] == "cp1"
    found = looked("unfit", cp3=[LACKS])
    [obstacle] = found["obstacles"]
    assert "is an address of cp3" in obstacle["message"] and "cp3: images are not there" in obstacle["message"]
    assert found["end"]["action"] == "blocked" and found["end"]["reasons"][0]["reason"] == "EndpointHostUnfit"


def test_the_endpoints_host_may_be_out_of_the_question(tmp_path: Path) -> None:
    """Another cluster's, or in a failure domain that the first machine doesn't go to."""
    for taken, said in (
        (["cp3"], "cp3 is claimed by cluster"),
        ([], "cp3 is in the failure domain b, and it goes to a"),
    ):
        pool = Pool()
        pool.spec["failureDomainVariable"] = "zone"
        builder = cluster(1).bare()
        builder.snapshot["infrastructureCluster"]["spec"]["controlPlaneEndpoint"] = {"host": "cp3", "port": 6443}
        found = pool.look(builder, tmp_path / str(len(taken)), taken=taken)
        [obstacle] = found["obstacles"]
        assert said in obstacle["message"] and "load balancer" in obstacle["fix"]


@pytest.mark.parametrize("builder", [healthy(3), healthy(3, replicas=1), healthy(3).unreachable()])
def test_where_no_machine_is_made_none_is_ahead(builder: Builder) -> None:
    assert machines_ahead(builder.build()) == []


def test_a_plan_asks_for_all_of_its_steps(tmp_path: Path) -> None:
    """A run only for the next: hosts that are given back meanwhile are asked when they are needed."""
    for folder, how, asked in (("run", {}, ["cp4"]), ("plan", {"whole": True}, ["cp4", "cp1", "cp2"])):
        pool = Pool(cp1=[OURS, OLD], cp2=[OURS], cp3=[OURS])
        found = pool.look(rollout(1), tmp_path / folder, taken=["cp1", "cp2", "cp3"], **how)
        assert pool.names == asked
        assert [each["machine"] for each in found["hosts"]] == ["", "m1", "m2"][: len(asked)]
    assert [each["action"] for each in pool.document["steps"]] == ["join", "remove"]
    assert (
        "cp1: kubelet is v1.20.2, and v1.20.3 is wanted (KubeletVersion)"
        in pool.document["end"]["reasons"][0]["message"]
    )
    assert "Claim" not in pool.document["end"]["reasons"][0]["message"]


def test_without_surge_the_host_that_is_given_back_counts_too(tmp_path: Path) -> None:
    """Of its own cluster's host what it will lack: everything else on it is this cluster."""
    pool = Pool(cp1=[OURS, LACKS], cp4=[LACKS])
    found = pool.look(rollout(0), tmp_path, taken=["cp1", "cp2", "cp3"])
    assert lacking(found) == {"cp4": ["ImagePull"], "cp1": ["ImagePull"]}
    assert found["hosts"][1]["machine"] == "m1"
    assert pool.document["steps"] == [] and pool.document["end"]["reasons"][0]["reason"] == "ImagesMissing"


def test_every_host_is_asked_where_that_is_wanted(tmp_path: Path) -> None:
    pool = Pool(cp1=[OURS], cp2=[LACKS])
    found = pool.look(healthy(1), tmp_path, taken=["cp1"], every=True)
    assert sorted(pool.names) == list(HOSTS)
    assert lacking(found) == {"cp2": ["ImagePull"], "cp3": [], "cp4": [], "cp1": []}


def test_a_pool_that_is_not_there_is_an_obstacle(tmp_path: Path) -> None:
    pool = Pool()
    pool.groups = {}
    found = pool.look(cluster(3).bare(), tmp_path)
    [obstacle] = found["obstacles"]
    assert (
        obstacle["reason"] == "HostPoolInvalid" and "no group pool" in obstacle["message"] and "-i" in obstacle["fix"]
    )
    assert pool.document["steps"] == [] and pool.document["end"]["reasons"][0]["reason"] == "HostPoolInvalid"
    pool = Pool()
    pool.spec["failureDomainVariable"] = "rack"
    [obstacle] = pool.look(cluster(3).bare(), tmp_path / "rack")["obstacles"]
    assert "its variable rack must be" in obstacle["message"] and "failureDomainVariable" in obstacle["fix"]


@pytest.mark.parametrize("reachable", [True, False])
def test_an_external_etcd_is_asked_on_a_host_that_fits(tmp_path: Path, reachable: bool) -> None:
    builder = cluster(1).bare()
    etcd = {"external": {"endpoints": ["https://etcd:2379"]}}
    builder.spec["kubeadmConfigSpec"]["clusterConfiguration"]["etcd"] = etcd
    builder.snapshot["certificates"]["etcd"]["present"] = True
    pool = Pool(cp1=[LACKS])
    pool.etcd = {"reachable": reachable, "message": "connection refused", "endpoints": []}
    found = pool.look(builder, tmp_path)
    assert pool.names == ["cp1", "cp2", "cp2"] and pool.asked[-1][1]["endpoints"] == ["https://etcd:2379"]
    reasons = [each["reason"] for each in pool.document["end"]["reasons"]]
    if reachable:
        assert "obstacles" not in found and pool.document["end"]["action"] == "none"
    else:
        assert pool.document["steps"] == [] and reasons == ["ExternalEtcdUnusable"]
        assert "host cp2 can't use the external etcd: connection refused" in found["obstacles"][0]["message"]
