# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What speaks against adopting workers made by hand, and how a manifest says what they are."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from hand_made import HandMade

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.adoption import manifest as adoption_manifest
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.adoption.host_problems import Problem
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.adoption.workers import worker_survey
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.adoption.workers.worker_evidence import (
    worker_problems,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.adoption.workers.worker_survey import Survey
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.failure import ControlPlaneFailure
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Answer
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import (
    ClusterManifest,
    read_cluster,
)

Object = dict[str, t.Any]
TEMPLATES: dict[str, Object] = {"workers": {"group": "w_hosts"}}
Change = t.Callable[[dict[str, Object]], None]


class Workers:
    """A cluster with two workers made by hand, and an inventory that has their hosts in a group."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.hand = HandMade()
        self.groups = {"w_hosts": self.hand.join(2)}
        self.silent: set[str] = set()
        self.templates = TEMPLATES

    def ask(self, name: str) -> t.Union[Answer, Problem]:
        """Stands in for the hosts."""
        if name in self.silent:
            return Problem("HostUnreachable", name, "it is off", "Switch it on.")
        return Answer(True, self.hand.result(name, "00" * 32))

    def survey(self) -> Survey:
        """Ask the hosts, without a store."""
        return worker_survey.survey(self.templates, self.groups, self.hand.hosts()[0], None, self.ask)

    def problems(self) -> dict[str, str]:
        """Everything that speaks against it, by name."""
        found = self.survey()
        hosts = self.hand.hosts()
        wrong = found.wrong or worker_problems(found.all_hosts, hosts, self.hand.hub(), found.managed)
        assert all(each.fix for each in wrong)
        return {each.reason: str(each) for each in wrong}

    def documents(self) -> list[Object]:
        """The manifest that adopt writes."""
        hub, hosts = self.hand.hub(), self.hand.hosts()
        found, _notes = adoption_manifest.documents_of(hub, hosts, "prod", "default", 3, {"group": "prod_hosts"})
        return found + worker_survey.documents(self.survey(), "prod", "default", self.templates)

    def manifest(self, change: Change = lambda specs: None) -> ClusterManifest:
        """A user's manifest: what runs, with a change of the workers' specs by kind."""
        documents = self.documents()
        change({each["kind"]: each["spec"] for each in documents[4:]})
        path = self.folder / "prod.yaml"
        path.write_text(yaml.safe_dump_all(documents))
        return read_cluster([str(path)], "default", "prod")

    def checked(self, change: Change = lambda specs: None) -> tuple[ClusterManifest, list[str], list[str]]:
        """What the manifest comes to, what contradicts it, and notes."""
        manifest = self.manifest(change)
        racks = {"w-host-1": "a", "w-host-2": "b"}
        read, wrong, notes = worker_survey.checked(
            manifest, self.survey().hosts, None, lambda host, variable: racks[host.name] if variable == "rack" else ""
        )
        return read, list(map(str, wrong)), notes


@pytest.fixture
def workers(tmp_path: Path) -> Workers:
    return Workers(tmp_path)


def test_sound_workers(workers: Workers) -> None:
    assert workers.problems() == {}
    names = [(each.name, each.node and each.node["name"]) for each in workers.survey().all_hosts]
    assert names == [("w-host-1", "w-1"), ("w-host-2", "w-2")]


@pytest.mark.parametrize("value", [None, "", {}, {"group": ""}, {"group": ["w_hosts"]}, ["w_hosts"], "missing"])
def test_a_group_that_is_none(value: t.Any) -> None:
    with pytest.raises(ControlPlaneFailure, match=r"MachineDeployment workers.*nothing was done"):
        worker_survey.templates_of({"workers": value}, {"w_hosts": []})
    assert worker_survey.templates_of({"workers": "w_hosts"}, {"w_hosts": []}) == TEMPLATES


def test_everything_that_is_wrong_with_hosts_is_told_at_once(workers: Workers) -> None:
    """A control plane host, another cluster's worker, one whose Node is gone, and one that is silent."""
    other = HandMade(1).pairs["ca"].crt
    workers.groups["w_hosts"] = [*workers.hand.join(4), "host-1"]
    foreign, gone, silent = "w-host-2", "w-host-3", "w-host-4"
    assert other != workers.hand.pairs["ca"].crt
    workers.hand.changes[foreign] = lambda answer: answer["worker"].update(caCertHash="sha256:00")
    workers.hand.changes[gone] = lambda answer: answer["observation"]["machine"].update(machineID="0" * 32)
    workers.silent = {silent}
    found = {each.reason: each.host for each in workers.survey().wrong}
    assert found == {
        "ControlPlaneHost": "host-1",
        "MixedClusters": foreign,
        "WrongHost": gone,
        "HostUnreachable": silent,
    }


def test_hosts_that_carry_nothing_are_the_pool(workers: Workers) -> None:
    """One that is silent, too, where every worker Node has its host."""
    workers.groups["w_hosts"] += ["w-host-8", "w-host-9"]
    workers.silent = {"w-host-9"}
    found = workers.survey()
    assert found.wrong == [] and len(found.all_hosts) == 2
    assert [each.split(": ")[1] for each in found.notes] == ["w-host-8", "w-host-9"]
    workers.hand.workers = {}
    assert "no host of the group w_hosts" in workers.problems()["NoWorkers"]


def test_a_host_of_two_deployments(workers: Workers) -> None:
    workers.templates = {"workers": {"group": "w_hosts"}, "more": {"group": "w_hosts"}}
    found = workers.survey().wrong
    assert [(each.reason, each.host) for each in found] == [
        ("OtherMachineDeployment", "w-host-1"),
        ("OtherMachineDeployment", "w-host-2"),
    ]


@pytest.mark.parametrize("host", ["w-host-1", "host-1"])
def test_two_names_of_one_machine(workers: Workers, host: str) -> None:
    """Of two workers; of a worker and a control plane host, which can't be told apart later."""
    number = workers.hand.result(host, "00" * 32)["observation"]["machine"]
    workers.hand.workers["w-host-2"]["status"]["nodeInfo"]["machineID"] = number["machineID"]
    workers.hand.changes["w-host-2"] = lambda answer: answer["observation"]["machine"].update(bootID=number["bootID"])
    assert f"{host}, w-host-2: these names lead to one" in workers.problems()["WrongHost"]


@pytest.mark.parametrize("hostname", ["w-1", "W-1.example.org"])
def test_a_copy_that_is_not_named(workers: Workers, hostname: str) -> None:
    """Its Node has the same machine-id, so that what is later done with one of them would be with the other."""
    workers.hand.workers["w-host-2"]["status"]["nodeInfo"]["machineID"] = workers.hand.workers["w-host-1"]["status"][
        "nodeInfo"
    ]["machineID"]
    workers.groups["w_hosts"] = ["w-host-1"]
    workers.hand.changes["w-host-1"] = lambda answer: answer["observation"]["machine"].update(hostname=hostname)
    found = workers.problems()
    assert list(found) == ["WrongHost"] and "w-host-1: several Nodes of the cluster" in found["WrongHost"]
    assert "(w-1, w-2)" in found["WrongHost"]


def test_a_host_that_had_another_name_before(workers: Workers) -> None:
    """Its earlier Node is left, and silent. It concerns a host that is to be adopted, and no other."""
    nodes = workers.hand.workers
    nodes["w-host-2"]["status"]["nodeInfo"]["machineID"] = nodes["w-host-1"]["status"]["nodeInfo"]["machineID"]
    [ready] = [each for each in nodes["w-host-2"]["status"]["conditions"] if each["type"] == "Ready"]
    ready["status"] = "Unknown"
    workers.groups["w_hosts"] = ["w-host-1"]
    hosts, control_plane, hub = workers.survey().all_hosts, workers.hand.hosts(), workers.hand.hub()
    [refused] = worker_problems(hosts, control_plane, hub, {})
    assert (refused.reason, refused.host) == ("WrongHost", "w-host-1")
    assert "or the host had another name before" in refused.message and "kubectl delete node w-2." in refused.fix
    assert worker_problems(hosts, control_plane, hub, {"w-1": "workers"}) == []


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("v1.20.3", "the control plane v1.20.2: workers are never newer"),
        ("v1.21.0", "workers are never newer"),
        ("v1.18.0", ""),
        ("v1.17.9", "at most 2 minor versions older"),
        ("", "tells no version"),
    ],
)
def test_skew(workers: Workers, version: str, said: str) -> None:
    workers.hand.workers["w-host-2"]["status"]["nodeInfo"]["kubeletVersion"] = version
    found = workers.problems()
    assert said in found["VersionSkew"] and "w-host-2" in found["VersionSkew"] if said else found == {}


def test_workers_of_cluster_api(workers: Workers) -> None:
    machine = {"name": "md-0", "namespace": "default", "node": "w-2", "controlPlane": False}
    workers.hand.changes["host-1"] = lambda answer: answer["adoption"]["clusterAPI"].update(machines=[machine])
    assert "w-host-2: the cluster holds Machine default/md-0" in workers.problems()["ManagedByClusterAPI"]
    del workers.hand.changes["host-1"]
    workers.hand.workers["w-host-1"]["metadata"]["annotations"]["cluster.x-k8s.io/machine"] = "md-1"
    assert "w-host-1: its Node belongs to Machine md-1" in workers.problems()["ManagedByClusterAPI"]


def test_the_manifest_says_what_all_of_them_have(workers: Workers) -> None:
    """Its version is the newest of theirs; what differs is told of each, by name alone."""
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    passing = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    for node in workers.hand.workers.values():
        node["spec"]["taints"] = [taint, passing]
    workers.hand.workers["w-host-1"]["status"]["nodeInfo"]["kubeletVersion"] = "v1.20.1"
    workers.hand.workers["w-host-2"]["metadata"]["labels"] |= {"tier": "gold", "node-role.kubernetes.io/worker": ""}
    workers.hand.changes["w-host-2"] = lambda answer: answer["worker"]["kubeletArguments"].append(["max-pods", "7"])
    manifest, wrong, notes = workers.checked()
    [deployment] = manifest.machine_deployments
    spec = deployment["spec"]
    assert wrong == []
    assert (spec["replicas"], spec["template"]["spec"]["version"]) == (2, "v1.20.2")
    config, infrastructure = manifest.worker_templates
    assert config["spec"]["template"]["spec"]["joinConfiguration"]["nodeRegistration"] == {
        "criSocket": "unix:///run/containerd/containerd.sock",
        "kubeletExtraArgs": [{"name": "node-labels", "value": "shop=yes"}],
        "taints": [taint],
    }
    assert infrastructure["spec"]["template"]["spec"] == {"group": "w_hosts"}
    assert notes == [
        "w-host-1: its kubelet is v1.20.1, and MachineDeployment workers asks for v1.20.2: the plan replaces it",
        "w-host-2: its kubelet's --max-pods is not the KubeadmConfigTemplate's; its Node has labels that its kubelet did not set "
        "(node-role.kubernetes.io/worker, tier). New workers differ in that; it stays as it is",
    ]


def test_a_manifest_that_says_otherwise(workers: Workers) -> None:
    def change(specs: dict[str, Object]) -> None:
        specs["MachineDeployment"]["replicas"] = 1
        specs["MachineDeployment"]["template"]["spec"] |= {"version": "v1.20.1", "failureDomain": "a"}
        specs["InventoryMachineTemplate"]["template"]["spec"]["failureDomainVariable"] = "rack"

    _manifest, wrong, _notes = workers.checked(change)
    path = "ManifestContradicts: MachineDeployment workers spec."
    assert [each.partition(". Write")[0] for each in wrong] == [
        f"{path}replicas: the manifest says 1, and 2 run on the hosts (w-host-1, w-host-2)",
        f"{path}template.spec.version: the manifest says v1.20.1, and w-host-1 runs v1.20.2, which is newer",
        f"{path}template.spec.version: the manifest says v1.20.1, and w-host-2 runs v1.20.2, which is newer",
        f"{path}template.spec.failureDomain: the manifest says a, and w-host-2 is in b",
    ]


def test_a_number_that_the_manifest_leaves_out_is_what_runs(workers: Workers) -> None:
    manifest, wrong, _notes = workers.checked(lambda specs: specs["MachineDeployment"].pop("replicas"))
    assert wrong == [] and manifest.machine_deployments[0]["spec"]["replicas"] == 2


def test_a_manifest_without_the_deployment(workers: Workers) -> None:
    manifest = workers.manifest()
    workers.templates = {"others": {"group": "w_hosts"}}
    _manifest, [problem], _notes = worker_survey.checked(
        manifest, workers.survey().hosts, None, lambda _host, _name: ""
    )
    assert "ManifestContradicts: the manifest has no MachineDeployment others" in str(problem)
