# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Workers on real machines with real kubeadm, a whole life: made with their control plane, scaled, healed, rolled out, and deleted before it.

Their pod network is the example's ClusterResourceSet. Pods on them answer through a Service all along.
"""

from __future__ import annotations

import json
import threading
import typing as t
import urllib.request
from pathlib import Path

import pytest
import yaml
from etcd_cluster import until
from inflicted import grow_old
from killed_runs import KilledRuns, locks_held, orphans, under_way
from lab_kubernetes import BUDGETS, NEXT, VERSION, image_named, upgrades
from lab_pod_network import SELECTED, WITHOUT, write_pod_network
from lab_workers import deployment_name, joined, worker_documents
from machines import Machines
from traces import left_of
from workspace import Run, Workspace, cluster_documents

pytestmark = pytest.mark.full
NAME = "lab-work"
WORKERS = deployment_name(NAME)
DEPLOYMENT = "cluster.x-k8s.io/deployment-name"
PORT = 30080
# Machines of the control plane.
LED = 3
# What the steps of workers leave behind them: an entry of the journal, a machine's call, a provider's task.
JOIN = r"joinWorkers > .*after (journal|node|task)"
REMOVAL = r"removeWorkers > .*after (journal|node|task)"


def health_check() -> dict[str, t.Any]:
    """A MachineHealthCheck of the workers, with timeouts that a test can wait for."""
    silent = [{"type": "Ready", "status": status, "timeoutSeconds": 5} for status in ("Unknown", "False")]
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "MachineHealthCheck",
        "metadata": {"name": WORKERS, "namespace": "default"},
        "spec": {
            "clusterName": NAME,
            "selector": {"matchLabels": {DEPLOYMENT: WORKERS}},
            "checks": {"nodeStartupTimeoutSeconds": 600, "unhealthyNodeConditions": silent},
        },
    }


def web() -> list[dict[str, t.Any]]:
    """Two Pods that answer (an etcd's HTTP) on two workers, at a port of every Node; one of them has to stay."""
    labels = {"app": "web"}
    serve = ["etcd", f"--listen-client-urls=http://0.0.0.0:{PORT}", f"--advertise-client-urls=http://127.0.0.1:{PORT}"]
    container = {
        "name": "web",
        "image": image_named("etcd"),
        "command": serve,
        "readinessProbe": {"httpGet": {"path": "/version", "port": PORT}, "periodSeconds": 1},
    }
    spread = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    apart = {"requiredDuringSchedulingIgnoredDuringExecution": [spread]}
    # Of a Node that fell silent they go soon: until then their budget holds its drain.
    gone = [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
        for key in ("not-ready", "unreachable")
    ]
    pod: dict[str, t.Any] = {"containers": [container], "affinity": {"podAntiAffinity": apart}, "tolerations": gone}
    pod["terminationGracePeriodSeconds"] = 2
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web"},
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": pod},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "web"},
            "spec": {"type": "NodePort", "selector": labels, "ports": [{"port": PORT, "nodePort": PORT}]},
        },
        {
            "apiVersion": BUDGETS,
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "web"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}},
        },
    ]


class Visitor(threading.Thread):
    """Asks the Service again and again, at any Node that has it."""

    def __init__(self, lab: Lab) -> None:
        super().__init__(daemon=True)
        self._lab = lab
        self._over = threading.Event()
        self.answered = 0
        self.missed = 0

    def run(self) -> None:
        """Look until told to stop."""
        while not self._over.wait(0.2):
            if any(self.answers(address) for _time in range(5) for address in self._lab.addresses()):
                self.answered += 1
            else:
                self.missed += 1

    @staticmethod
    def answers(address: str) -> bool:
        """Whether the Service answers at this Node."""
        try:
            with urllib.request.urlopen(f"http://{address}:{PORT}/version", timeout=1) as found:
                return found.status == 200
        except OSError:
            return False

    def stop(self) -> None:
        """Be done with the look under way."""
        self._over.set()
        self.join(60)


class Lab:
    """A cluster with workers."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.machines = Machines(workspace, NAME)

    def wants(self, workers: int, version: str = VERSION) -> None:
        """Write the manifest: a control plane of three, and workers."""
        grace = {"extraArgs": [{"name": "node-monitor-grace-period", "value": "20s"}]}
        kubeadm = {"clusterConfiguration": {"controllerManager": grace}, **WITHOUT}
        cluster, *others = cluster_documents(NAME, replicas=LED, version=version, kubeadm=kubeadm)
        cluster["metadata"]["labels"] = SELECTED
        documents = [cluster, *others, *worker_documents(NAME, workers, version, WITHOUT), health_check()]
        text = yaml.safe_dump_all(documents, sort_keys=False)
        self.workspace.write(NAME, text)

    def scale(self, replicas: int) -> None:
        """Have the manifest edited by the playbook for it."""
        words = ("-e", f"control_plane_deployment={WORKERS}", "-e", f"control_plane_replicas={replicas}")
        self.workspace.playbook("scale", *words).succeeded()

    def reconcile(self) -> None:
        """Make it so; a second run has nothing to do."""
        self.workspace.playbook("reconcile").succeeded()
        assert self.workspace.playbook("reconcile").succeeded().recap(NAME)["changed"] == 0

    def addresses(self) -> list[str]:
        """The addresses of the machines that the store has."""
        listed = (each.get("status", {}).get("connection", {}) for each in self.workspace.objects("NspawnMachine"))
        return [each["host"] for each in listed if each.get("host")]

    def answered_across_nodes(self) -> None:
        """The Pods are on workers, and answer at each machine of the control plane, too: over the pod network."""
        self.machines.kubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=50s")
        led = [self.machines.infrastructure(each) for each in self.machines.control_plane()]
        addresses = [each["status"]["connection"]["host"] for each in led]
        until("the control plane has them answer", lambda: all(map(Visitor.answers, addresses)))
        found = json.loads(self.machines.kubectl("get", "pods", "-l", "app=web", "-o", "json"))["items"]
        assert {each["spec"]["nodeName"] for each in found} <= set(self.machines.workers())

    def killed_while(self, only: str, folder: Path) -> list[str]:
        """Reconcile until a run comes through, each one before it killed at its next point; returns the points."""
        record = KilledRuns(self.workspace, self.workspace.command("reconcile"), folder, only=only).until_converged()
        assert record.missed(only) == [] and record.failures == []
        return record.points

    def apply(self, *documents: dict[str, t.Any]) -> None:
        """Apply objects to the cluster."""
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})
        machine = self.machines.control_plane()[0]
        self.machines.ssh(machine, f"echo '{text}' | kubectl --kubeconfig /etc/kubernetes/admin.conf apply -f -")

    def whole(self, workers: int) -> list[str]:
        """Machines, Nodes and etcd's members agree, all are Ready, nothing is left open; returns the workers' names."""
        names, led = self.machines.workers(), self.machines.control_plane()
        assert (len(names), len(led)) == (workers, LED)
        assert self.machines.ready_nodes() == sorted([*names, *led])
        nodes = json.loads(self.machines.kubectl("get", "nodes", "-o", "json"))["items"]
        master = "node-role.kubernetes.io/master"
        roles = {each["metadata"]["name"]: master in each["metadata"]["labels"] for each in nodes}
        assert roles == {**dict.fromkeys(names, False), **dict.fromkeys(led, True)}
        assert sorted(each["name"] for each in self.machines.etcd_members()) == sorted(led)
        assert orphans(self.workspace, "NspawnMachine") == []
        assert locks_held(self.workspace.store) == [] and under_way(self.workspace.store, NAME) == []
        return names


@pytest.fixture(scope="module")
def lab(workspace: Workspace) -> Lab:
    """A control plane of three and two workers, by one manifest and one run, as planned."""
    made = Lab(workspace)
    write_pod_network(workspace)
    made.wants(2)
    plan = workspace.playbook("plan").succeeded().text
    assert plan.index("initialize") < plan.index("2 new workers")
    made.reconcile()
    return made


@pytest.fixture(scope="module")
def visitor(lab: Lab) -> t.Iterator[Visitor]:
    """Somebody who uses what runs on the workers, from now on."""
    lab.apply(*web())
    lab.machines.kubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=50s")
    started = Visitor(lab)
    started.start()
    until("the Service answers", lambda: started.answered)
    started.missed = 0
    yield started
    started.stop()


def test_one_manifest_makes_control_plane_and_workers(lab: Lab) -> None:
    """Both workers are Ready when the run ends, with the template's labels and kubelet arguments, and hold no key of the cluster."""
    for name in lab.whole(2):
        joined(lab.machines, name)
    text = lab.workspace.playbook("status").succeeded().text
    assert f"workers {WORKERS}: 2 desired, 2 existing, 2 available, 2 up to date; {VERSION} wanted" in text


@pytest.mark.usefixtures("visitor")
def test_pods_answer_over_the_network(lab: Lab) -> None:
    """That of the ClusterResourceSet: machines come here with another one, whose pods reach no other node's."""
    lab.answered_across_nodes()


@pytest.mark.usefixtures("visitor")
def test_scaled_up_with_every_run_killed(lab: Lab, tmp_path: Path) -> None:
    """Killed after each thing that a run leaves behind it while a worker joins, one comes through; the others stay."""
    before = lab.whole(2)
    lab.scale(3)
    assert any("node_bootstrap" in each for each in lab.killed_while(JOIN, tmp_path))
    assert set(before) < set(lab.whole(3))


@pytest.mark.usefixtures("visitor")
def test_a_worker_without_power_is_replaced(lab: Lab) -> None:
    """Its health check marks it once its Node is silent; another one comes, and nothing of it is left."""
    before = lab.whole(3)
    grow_old(lab.workspace)
    victim = before[0]
    lab.machines.cut_power(victim)
    until("its Node is silent", lambda: victim not in lab.machines.ready_nodes())

    def marked() -> bool:
        run = lab.workspace.playbook("health_check").succeeded()
        return f"machine {victim} is unhealthy" in run.text

    until("it is marked", marked)
    assert victim in lab.workspace.playbook("plan").succeeded().text
    lab.reconcile()
    after = lab.whole(3)
    assert set(before) - set(after) == {victim} and left_of(victim) == []


@upgrades
@pytest.mark.usefixtures("visitor")
def test_rolled_out_to_another_version(lab: Lab) -> None:
    """The control plane goes first, then each worker; Pods go by evictions that their budget allows."""
    before = [*lab.whole(3), *lab.machines.control_plane()]
    lab.wants(3, NEXT)
    plan = lab.workspace.playbook("plan").succeeded().text
    assert plan.index("remove machine") < plan.index("join 1 new worker") < plan.index("remove worker")
    lab.reconcile()
    assert not set(before) & {*lab.whole(3), *lab.machines.control_plane()}
    nodes = json.loads(lab.machines.kubectl("get", "nodes", "-o", "json"))["items"]
    assert {each["status"]["nodeInfo"]["kubeletVersion"] for each in nodes} == {NEXT}


def test_pods_answered_all_along(lab: Lab, visitor: Visitor) -> None:
    """At each look the Service answered at some Node, and in the end at each of the new control plane."""
    lab.answered_across_nodes()
    visitor.stop()
    assert visitor.answered > 100 and visitor.missed == 0


def test_scaled_to_none_and_back(lab: Lab) -> None:
    """The last Pod's budget keeps its worker; without that the control plane is left by itself."""
    lab.scale(0)

    def last_one_held() -> t.Optional[Run]:
        # A pod that may be evicted can still take longer to end than this run waits.
        run = lab.workspace.playbook("reconcile", "-e", "control_plane_wait_timeout=20").failed()
        return run if len(lab.machines.workers()) == 1 else None

    run = until("only the worker with the last Pod is left", last_one_held)
    [held] = lab.whole(1)
    assert f"machine {held} could not be removed: its Node is still being drained: " in run.text
    assert "disruption budget web" in run.text
    assert any(Visitor.answers(address) for address in lab.addresses())
    lab.machines.kubectl("delete", "pdb", "web")
    lab.reconcile()
    assert lab.whole(0) == []


def test_one_goes_with_every_run_killed(lab: Lab, tmp_path: Path) -> None:
    """Killed after each thing that a run leaves behind it while a worker is drained and deleted, one comes through; nothing is left of it."""
    lab.scale(1)
    lab.reconcile()
    [name] = lab.whole(1)
    lab.scale(0)
    assert any("node_drain" in each for each in lab.killed_while(REMOVAL, tmp_path))
    assert lab.whole(0) == [] == left_of(name)


def test_workers_go_first(lab: Lab) -> None:
    """Delete takes workers before the control plane, and nothing is left."""
    lab.scale(1)
    lab.reconcile()
    lab.whole(1)
    text = lab.workspace.playbook("delete", "-e", f"control_plane_delete={NAME}").succeeded().text
    assert text.index("delete all workers") < text.index("delete the control plane")
    assert [path for path in lab.workspace.store.rglob("*.yaml") if path.name != "store.yaml"] == []
