# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Three control plane nodes and a worker upgraded in place, paused and killed in the middle, while a watcher asks."""

from __future__ import annotations

import json
import shutil
import typing as t
from pathlib import Path

import pytest
from actions_on_nodes import NodeActions
from availability import faults
from host_pool import HostPool
from lab_kubernetes import NEXT, VERSION, image_named, upgrades
from machines import Machines
from next_version import BINARIES, NextVersion
from watcher import Watch
from workspace import Workspace, kill_run

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import kubernetes_versions

MINOR = kubernetes_versions.parse(VERSION).minor
TOO_NEW, TOO_OLD = f"v1.{MINOR + 2}.0", f"v1.{MINOR - 1}.3"
SPEC = {"upgrade": {"targetVersion": NEXT, "binaries": BINARIES}}
IGNORE = "control_plane_ignore_worker_nodes=true"
# One node's, which everything is tested with every time, is in one_machine/test_in_place.py.
pytestmark = [pytest.mark.full, upgrades]


class Lab(t.NamedTuple):
    """A cluster of three and a worker."""

    name: str
    mode: str
    workspace: Workspace
    machines: Machines
    pool: HostPool
    actions: NodeActions
    watch: Watch

    @property
    def worker(self) -> str:
        """The worker's name."""
        return next(iter(self.pool.addresses))

    def versions(self) -> dict[str, str]:
        """The kubelets' versions, by Node."""
        items = json.loads(self.machines.kubectl("get", "nodes", "-o", "json"))["items"]
        return {each["metadata"]["name"]: each["status"]["nodeInfo"]["kubeletVersion"] for each in items}

    def components(self) -> dict[str, str]:
        """The versions of the components of the control plane, and of kube-proxy, by pod."""
        items = json.loads(self.machines.kubectl("get", "pods", "-n", "kube-system", "-o", "json"))["items"]
        found = {each["metadata"]["name"]: str(each["spec"]["containers"][0]["image"]) for each in items}
        return {name: image.rpartition(":")[2] for name, image in found.items() if "/kube-" in image}


def join(machines: Machines, pool: HostPool, worker: str) -> None:
    """Join a worker as a person does."""
    command = machines.ssh(machines.names()[0], "kubeadm token create --print-join-command").strip()
    pool.ssh(worker, f"{command} --ignore-preflight-errors=ImagePull")


@pytest.fixture(name="lab", scope="module", params=["Auto", "Controlled"])
def _lab(
    request: pytest.FixtureRequest, workspace: Workspace, tmp_path_factory: pytest.TempPathFactory
) -> t.Iterator[Lab]:
    """Three control plane nodes and a worker of one version, with the next one's programs and images on all four."""
    mode = str(request.param)
    name = f"lab-up-{mode.lower()}"
    group = f"{name.replace('-', '_')}_workers"
    pool = HostPool(tmp_path_factory.mktemp("pool"), prefix=f"{name}-worker")
    try:
        following = NextVersion(NEXT)
        [worker] = pool.make(1)
        workspace.manifest(name, replicas=3)
        workspace.playbook("reconcile", "--limit", name).succeeded()
        machines = Machines(workspace, name)
        join(machines, pool, worker)
        for each in machines.names():
            following.put(machines.ssh_words(each))
        following.put(pool.ssh_command(worker), control_plane=False)
        machines.kubectl("wait", "--for=condition=Ready", "node", "--all", "--timeout=120s")
        machines.kubectl("create", "deployment", "web", f"--image={image_named('pause')}")
        machines.kubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=120s")
        actions = NodeActions(workspace, name, ["-i", str(pool.inventory(group))])
        with Watch(workspace.store, name, workspace.folder) as watch:
            yield Lab(name, mode, workspace, machines, pool, actions, watch)
        workspace.playbook("delete", "--limit", name, "-e", f"control_plane_delete={name}", "-e", IGNORE).succeeded()
        (workspace.folder / "clusters" / f"{name}.yaml").unlink()
        # They outlive their cluster, and the other one's have the same names.
        for folder in workspace.store.glob("*/*.operator.kubeadm.x-k8s.io"):
            shutil.rmtree(folder)
    finally:
        pool.remove()


def test_what_it_would_do(lab: Lab) -> None:
    """Check mode tells the exact order and each line, and changes nothing, in the store neither."""
    before = lab.machines.configuration()
    run = lab.actions.run("up", SPEC, "--check").succeeded()
    nodes = [*lab.machines.names(), lab.worker]
    places = [run.text.index(f"{each}") for each in nodes]
    assert places == sorted(places), "in the order in which they are upgraded"
    assert f"kubeadm upgrade apply {NEXT} --yes --ignore-preflight-errors=" in run.text
    assert f"kubectl drain {lab.worker}" in run.text
    assert lab.workspace.objects("Action") == []
    assert lab.machines.configuration() == before


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"upgrade": {"targetVersion": TOO_NEW}}, "no minor version may be skipped"),
        ({"upgrade": {"targetVersion": TOO_OLD}}, "Kubernetes can't go back"),
        (
            {"upgrade": {"targetVersion": NEXT, "nodeSelector": {"matchLabels": {"no": "such"}}}},
            "it selects no Node of the cluster",
        ),
        ({"upgrade": {"targetVersion": NEXT}, "renewCertificates": {}}, "exactly one"),
    ],
)
def test_refused(lab: Lab, spec: dict[str, t.Any], words: str) -> None:
    """With the reason, and nothing is started or kept."""
    assert words in lab.actions.run("wrong", spec).failed().text
    assert lab.workspace.objects("Task") == []


def test_a_worker_that_is_not_reached(lab: Lab) -> None:
    """An inventory without the worker stops the Action before it starts."""
    alone = NodeActions(lab.workspace, lab.name)
    run = alone.run("alone", SPEC).failed()
    assert lab.worker in run.text
    assert lab.workspace.objects("Task") == []


def test_upgrade_with_a_pause_and_a_kill(lab: Lab, artefacts: Path) -> None:
    """A pause holds before the next Task; a run that is killed while kubeadm runs is gone on with, and kubeadm is run once."""
    if lab.mode == "Controlled":
        controlled(lab)
        return
    process = lab.actions.start("up", SPEC, artefacts / f"{lab.name}-1.log")
    lab.actions.until("apply runs", lambda: lab.actions.running("up", "kubeadmUpgradeApply"), process)
    lab.actions.run("up", None, playbook="pause").succeeded()
    process.wait(timeout=600)
    assert lab.actions.phases("up") == ["Succeeded"]
    assert lab.actions.action("up")["status"]["phase"] == "Paused"
    first = lab.machines.names()[0]
    assert {name: version == NEXT for name, version in lab.versions().items()} == {
        name: name == first for name in [*lab.machines.names(), lab.worker]
    }
    killed_while_kubeadm_runs(lab, artefacts)
    lab.actions.run("up").succeeded()
    upgraded(lab)


def killed_while_kubeadm_runs(lab: Lab, artefacts: Path) -> None:
    """Resume a paused Action, and kill that run while kubeadm upgrades the second node."""
    process = lab.workspace.start("resume", *lab.actions.arguments("up"), output=artefacts / f"{lab.name}-2.log")
    task = lab.actions.until("upgrade node runs", lambda: lab.actions.running("up", "kubeadmUpgradeNode"), process)
    node = str(task["spec"]["nodeName"])
    lab.actions.until("kubeadm runs", lambda: lab.machines.kubeadm_runs(node, "upgrade"), process)
    kill_run(process)


def controlled(lab: Lab) -> None:
    """Each Task waits for its own approval and shows what it will do."""
    lab.actions.run("up", {**SPEC, "executionMode": "Controlled"}).succeeded()
    names = lab.machines.names()
    for number, name in enumerate([*names, names[-1], lab.worker]):
        assert [each for each in lab.actions.phases("up") if each == "Succeeded"] == ["Succeeded"] * number
        run = lab.actions.run("up", None, playbook="approve").succeeded()
        assert name in run.text
    upgraded(lab)


def upgraded(lab: Lab) -> None:
    """Every Node and component has the new version, kubeadm ran once on each, and pods run where they ran."""
    assert lab.actions.action("up")["status"]["phase"] == "Succeeded"
    assert set(lab.actions.phases("up")) == {"Succeeded"}
    nodes = [*lab.machines.names(), lab.worker]
    tasks = [each for each in lab.actions.tasks("up") if "-record-" not in each["metadata"]["name"]]
    assert [each["spec"]["nodeName"] for each in tasks] == nodes
    assert lab.versions() == dict.fromkeys(nodes, NEXT)
    # What a DaemonSet rolls out by itself may come to its last Node later than the Action.
    lab.machines.kubectl("rollout", "status", "-n", "kube-system", "daemonset/kube-proxy", "--timeout=120s")
    assert {pod: version for pod, version in lab.components().items() if version != NEXT} == {}
    runs = [output for output in lab.actions.outputs("up") if output["argv"][:2] == ["kubeadm", "upgrade"]]
    assert [(each["node"], each["argv"][2]) for each in runs if each["argv"][2] != "plan"] == [
        (name, "apply" if name == nodes[0] else "node") for name in nodes
    ]
    assert all(each["exitCode"] == 0 and each["startTime"] <= each["endTime"] for each in runs)
    assert f'SUCCESS! Your cluster was upgraded to "{NEXT}"' in runs[1]["head"] + runs[1]["tail"]
    items = json.loads(lab.machines.kubectl("get", "nodes", "-o", "json"))["items"]
    assert [each["metadata"]["name"] for each in items if each["spec"].get("unschedulable")] == []
    lab.machines.kubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=120s")


def test_a_completed_action_never_runs_again(lab: Lab) -> None:
    """Neither does another one find anything to do."""
    before = lab.machines.configuration()
    assert "never runs again" in lab.actions.run("up").succeeded().text
    lab.actions.run("again", SPEC).succeeded()
    assert lab.actions.tasks("again") == []
    assert lab.machines.configuration() == before


def test_no_rollout_follows(lab: Lab) -> None:
    """What the store and the manifest say of versions has followed: reconcile changes nothing."""
    before = lab.machines.boot_ids()
    assert lab.workspace.playbook("reconcile", "--limit", lab.name).succeeded().recap(lab.name)["changed"] == 0
    assert lab.workspace.status(lab.name)["version"] == {"desired": NEXT, "running": [NEXT]}
    assert lab.machines.boot_ids() == before


def test_nothing_confirmed_was_lost(
    lab: Lab, artefacts: Path, record_property: t.Callable[[str, object], None]
) -> None:
    """By the watcher's log; how long quorum and endpoint didn't answer, by node, are figures."""
    seen = lab.watch.stop()
    (artefacts / f"{lab.name}.json").write_text(json.dumps(seen, indent=2))
    for what in ("quorum", "endpoint"):
        record_property(what, json.dumps({key: seen[what][key] for key in ("longest_gap_seconds", "asked", "failed")}))
    names = lab.machines.names()
    tasks = [each for each in seen["steps"] if each["action"] == "task" and each["target"] in names]
    assert {each["target"] for each in tasks} == set(names)
    without = dict.fromkeys(names, 0.0)
    for each in tasks:
        without[each["target"]] += each["endpoint"]["unanswered_seconds"]
    record_property("seconds without the endpoint, by node", json.dumps(without))
    assert faults(seen) == []
