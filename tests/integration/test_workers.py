# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Workers' whole life by the real playbooks, on stand-ins for a cloud and its machines: no real kubeadm."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, Optional

import pytest
import yaml
from acme_workspace import ROLE, AcmeWorkspace
from killed_runs import KilledRuns, locks_held, orphans, under_way
from lab_kubernetes import VERSION
from stand_in_cloud import IMPOSSIBLE

NAME = "prod"
PATCHED = f"{VERSION.rpartition('.')[0]}.99"
# What the steps of workers leave behind them: an entry of the journal, a machine's call, a provider's task.
OUTWARD = r"Workers > .*after (journal|node|task)"
# The step that removes workers.
REMOVAL = "removeWorkers"
INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io"


def documents(replicas: int, template: str = "small", **spec: Any) -> str:
    """A MachineDeployment with its templates."""
    name = f"{NAME}-workers"
    reference = {"apiGroup": INFRASTRUCTURE, "kind": "AcmeMachineTemplate", "name": f"{name}-{template}"}
    config = {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfigTemplate", "name": name}
    machine = {
        "clusterName": NAME,
        "version": VERSION,
        "bootstrap": {"configRef": config},
        "infrastructureRef": reference,
    }
    listed = [
        {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "MachineDeployment",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"clusterName": NAME, "replicas": replicas, "template": {"spec": machine}, **spec},
        },
        {
            "apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2",
            "kind": "KubeadmConfigTemplate",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"template": {"spec": {"joinConfiguration": {"nodeRegistration": {}}}}},
        },
        {
            "apiVersion": f"{INFRASTRUCTURE}/v1beta1",
            "kind": "AcmeMachineTemplate",
            "metadata": {"name": reference["name"], "namespace": "default"},
            "spec": {"template": {"spec": {"size": template}}},
        },
    ]
    return yaml.safe_dump_all(listed, sort_keys=False)


class Workers(AcmeWorkspace):
    """A workspace whose manifest has workers."""

    def wanted(self, replicas: int, template: str = "small", **spec: Any) -> None:
        """Write the manifest: one control plane machine, and workers."""
        path = self.manifest(NAME, replicas=1)
        path.write_text(f"{path.read_text()}---\n{documents(replicas, template, **spec)}")

    def machines(self) -> dict[str, dict[str, Any]]:
        """The workers' Machines, by name."""
        found = [each for each in self.objects("Machine") if "cluster.x-k8s.io/set-name" in each["metadata"]["labels"]]
        return {each["metadata"]["name"]: each for each in found}

    def put_cloud(self, cloud: dict[str, Any]) -> None:
        """Change what the cloud has."""
        (self._cloud / "cloud.json").write_text(json.dumps(cloud))

    def annotate(self, name: str, key: str, value: Optional[str] = "") -> None:
        """Write an annotation of a Machine into the store, as its user does; None takes it away."""
        [path] = self.store.glob(f"default/machine.*/{name}.yaml")
        document = yaml.safe_load(path.read_text())
        annotations = document["metadata"].setdefault("annotations", {})
        annotations.pop(key, None)
        annotations.update({} if value is None else {key: value})
        path.write_text(yaml.safe_dump(document))

    def whole(self, count: int) -> list[str]:
        """As many workers as wanted, each a Node and a machine of the cloud, nobody else's; returns their names."""
        names, world = sorted(self.machines()), self.world()
        assert world["violations"] == [] and len(names) == count
        assert sorted(name for name, each in world["nodes"].items() if each.get("worker")) == names
        others = [each["metadata"]["name"] for each in self.objects("Machine") if each["metadata"]["name"] not in names]
        assert sorted(self.cloud()["machines"]) == sorted([*names, *others]) and len(others) == 1
        [balancer] = self.cloud()["balancers"].values()
        assert [each["name"] for each in balancer["servers"]] == others
        assert orphans(self, "AcmeMachine") == [] and locks_held(self.store) == [] and under_way(self.store, NAME) == []
        [deployment] = self.objects("MachineDeployment")
        status = deployment["status"]
        assert (status["replicas"], status["availableReplicas"], status["upToDateReplicas"]) == (count, count, count)
        return names


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workers:
    """A user's folder with machines that answer."""
    made = Workers.with_machines(tmp_path / "workspace", monkeypatch)
    assert isinstance(made, Workers)
    return made


def test_a_whole_life(workspace: Workers) -> None:
    """Made after the control plane, scaled, rolled out, deleted before it."""
    workspace.wanted(2)
    plan = workspace.playbook("plan").succeeded().text
    assert "2 new workers" in plan and plan.index("initialize") < plan.index("2 new workers")
    workspace.playbook("reconcile").succeeded()
    first = workspace.whole(2)
    [owned] = workspace.objects("MachineSet")
    assert owned["spec"]["replicas"] == 2 and all(name.startswith(owned["metadata"]["name"]) for name in first)
    configs = [workspace.world()["bootstraps"][name]["config"] for name in first]
    assert all("caCertHashes" in each and "controlPlane" not in each for each in configs)
    assert workspace.playbook("reconcile").succeeded().recap(NAME)["changed"] == 0
    selector = {"matchLabels": {"cluster.x-k8s.io/deployment-name": f"{NAME}-workers"}}
    group = {"name": "clocks", "nodeSelector": selector, "commands": [{"pass": {}}]}
    action = json.dumps({"operator_spec": {"custom": {"workflow": [group]}}})
    told = workspace.playbook("action", "--check", "-e", action).succeeded().text
    assert all(name in told for name in first) and f"{NAME}-control-plane-" not in told
    workspace.wanted(1, "large")
    workspace.playbook("reconcile").succeeded()
    [second] = workspace.whole(1)
    assert second not in first and len(workspace.objects("MachineSet")) == 1
    workspace.playbook("delete", "-e", f"control_plane_delete={NAME}").succeeded()
    assert workspace.cloud()["machines"] == {} and workspace.world()["violations"] == []
    assert [path for path in workspace.store.rglob("*.yaml") if path.name != "store.yaml"] == []


def test_no_rollout_follows_an_upgrade_in_place(workspace: Workers) -> None:
    """Machines, MachineSet, MachineDeployment and manifest have the version: reconcile has nothing to do."""
    workspace.wanted(2)
    file = workspace.folder / "clusters" / f"{NAME}.yaml"
    written = list(yaml.safe_load_all(file.read_text()))
    # The stand-in's kube-proxy is of one version for ever.
    [control_plane] = [each for each in written if each["kind"] == "KubeadmControlPlane"]
    control_plane["metadata"]["annotations"] = {"controlplane.cluster.x-k8s.io/skip-kube-proxy": ""}
    file.write_text(yaml.safe_dump_all(written, sort_keys=False))
    workspace.playbook("reconcile").succeeded()
    names = workspace.whole(2)
    world, path = workspace.world(), "/api/v1/namespaces/kube-system/configmaps/kubeadm-config"
    text = f"apiVersion: kubeadm.k8s.io/v1beta2\nkind: ClusterConfiguration\nkubernetesVersion: {VERSION}\n"
    metadata = {"name": "kubeadm-config", "namespace": "kube-system", "resourceVersion": "1"}
    world["objects"][path] = {"metadata": metadata, "data": {"ClusterConfiguration": text}}
    workspace.put_world(world)
    binaries = {"source": "files", "path": "/opt/{version}"}
    upgrade = json.dumps({"operator_spec": {"upgrade": {"targetVersion": PATCHED, "binaries": binaries}}})
    workspace.playbook("action", "-e", upgrade).succeeded()
    owners = [*workspace.objects("MachineSet"), *workspace.objects("MachineDeployment")]
    versions = [each["spec"]["template"]["spec"]["version"] for each in owners]
    versions += [each["spec"]["version"] for each in workspace.objects("Machine")]
    manifest = file.read_text()
    assert versions == [PATCHED] * 5 and manifest.count(f"version: {PATCHED}") == 2 and VERSION not in manifest
    assert workspace.playbook("reconcile").succeeded().recap(NAME)["changed"] == 0
    assert workspace.whole(2) == names


def test_one_is_replaced_and_a_deployment_is_deleted(workspace: Workers) -> None:
    """By name: another one joins before it goes. What a person would lose is asked for by name, too; the control plane stays."""
    workspace.wanted(2)
    workspace.playbook("reconcile").succeeded()
    first = workspace.whole(2)
    said = workspace.playbook("remediate", "-e", f"control_plane_machines={first[0]}").succeeded()
    assert first[0] in said.text
    second = workspace.whole(2)
    assert first[1] in second and first[0] not in second
    deletion = ("delete", "-e", f"control_plane_deployment={NAME}-workers")
    refused = workspace.playbook(*deletion)
    assert refused.returncode == 2 and "loses every machine of it" in " ".join(refused.text.split())
    empty = workspace.playbook(
        "delete", "-e", "control_plane_deployment=", "-e", f"control_plane_delete={NAME}"
    ).failed()
    assert "control_plane_deployment is given and empty" in empty.text and workspace.whole(2) == second
    workspace.playbook(*deletion, "-e", f"control_plane_delete={NAME}", "--check").succeeded()
    assert workspace.whole(2) == second
    workspace.playbook(*deletion, "-e", f"control_plane_delete={NAME}").succeeded()
    assert workspace.machines() == {} and workspace.objects("MachineDeployment") == []
    assert workspace.objects("MachineSet") == [] and len(workspace.cloud()["machines"]) == 1
    assert workspace.world()["violations"] == [] and locks_held(workspace.store) == []


def test_check_mode_of_a_deletion_goes_by_the_consent_that_is_given(workspace: Workers) -> None:
    """It shows what the same command would do: stop at a worker that was joined by hand, or leave it behind."""
    workspace.wanted(0)
    workspace.playbook("reconcile").succeeded()
    world = workspace.world()
    world["nodes"]["by-hand"] = {"created": "2026-01-01T00:00:00Z", "version": VERSION, "worker": True}
    workspace.put_world(world)
    deletion = ("delete", "-e", f"control_plane_delete={NAME}", "--check")
    assert "worker Nodes still belong to the cluster: by-hand" in workspace.playbook(*deletion).failed().text
    shown = workspace.playbook(*deletion, "-e", "control_plane_ignore_worker_nodes=true").succeeded()
    assert "delete all machines, in parallel" in " ".join(shown.text.split())
    assert len(workspace.cloud()["machines"]) == 1 and locks_held(workspace.store) == []


@pytest.mark.full
def test_workers_join_and_go_with_every_run_killed(workspace: Workers, tmp_path: Path) -> None:
    """Made, rolled out and deleted; every run is killed after the next call of a machine, or task of the provider."""
    workspace.wanted(2)
    join = stopped(workspace, tmp_path / "join", "reconcile")
    first = workspace.whole(2)
    assert any("node_bootstrap" in each for each in join) and any("Make the machine" in each for each in join)
    workspace.wanted(2, "large")
    roll = stopped(workspace, tmp_path / "roll", "reconcile")
    assert not set(workspace.whole(2)) & set(first)
    assert any("node_drain" in each for each in roll) and any("Remove the machine" in each for each in roll)
    stopped(workspace, tmp_path / "delete", "delete", "-e", f"control_plane_delete={NAME}")
    assert workspace.cloud()["machines"] == {} and workspace.world()["violations"] == []
    assert [path for path in workspace.store.rglob("*.yaml") if path.name != "store.yaml"] == []


@pytest.mark.full
def test_a_worker_joins_with_every_run_killed_at_every_point(workspace: Workers, tmp_path: Path) -> None:
    """Before and after each write, call and task; one worker comes of it, on one machine."""
    workspace.wanted(0)
    workspace.playbook("reconcile").succeeded()
    workspace.wanted(1)
    points = stopped(workspace, tmp_path / "join", "reconcile", only="joinWorkers")
    assert len(points) >= 20 and len(workspace.whole(1)) == 1


@pytest.mark.full
def test_a_worker_goes_with_every_run_killed_at_every_point(workspace: Workers, tmp_path: Path) -> None:
    """One that is too many, before and after each write, call and task; then the last one with its MachineDeployment, likewise."""
    workspace.wanted(2)
    workspace.playbook("reconcile").succeeded()
    first = workspace.whole(2)
    workspace.wanted(1)
    points = stopped(workspace, tmp_path / "scale", "reconcile", only=REMOVAL)
    assert len(points) >= 20 and set(workspace.whole(1)) < set(first)
    deletion = ("delete", "-e", f"control_plane_deployment={NAME}-workers", "-e", f"control_plane_delete={NAME}")
    points = stopped(workspace, tmp_path / "delete", *deletion, only=REMOVAL)
    gone = {point.rpartition(" ")[2] for point in points if "after store remove" in point}
    assert gone == {"Machine", "KubeadmConfig", "AcmeMachine", "MachineSet", "MachineDeployment"}
    assert workspace.machines() == {} and workspace.objects("MachineSet") == [] == workspace.objects(
        "MachineDeployment"
    )
    assert len(workspace.cloud()["machines"]) == 1 and workspace.world()["violations"] == []
    assert locks_held(workspace.store) == [] and under_way(workspace.store, NAME) == []
    assert workspace.playbook(*deletion).succeeded().recap(NAME)["changed"] == 0
    never = workspace.playbook(*deletion, "-e", "control_plane_deployment=never").failed()
    assert "has no MachineDeployment never; nothing was done" in " ".join(never.text.split())


def stopped(workspace: Workers, folder: Path, *playbook: str, only: str = OUTWARD) -> list[str]:
    """A playbook until it comes through, every run before it killed at its next point; returns the points."""
    record = KilledRuns(workspace, workspace.command(*playbook), folder, "kill", only).until_converged()
    assert record.missed(only) == [], "a point at which no run was stopped"
    assert record.failures == []
    return record.points


@pytest.mark.full
def test_a_worker_that_can_not_be_made(workspace: Workers) -> None:
    """The run says why, when all else is done; whatever is mended next, a later run completes it."""
    workspace.wanted(2)
    workspace.playbook("reconcile").succeeded()
    first = workspace.whole(2)
    workspace.wanted(1, IMPOSSIBLE)
    run = workspace.playbook("reconcile").failed()
    [new] = set(workspace.machines()) - set(first)
    assert f"machine {new} could not be made: " in run.text
    assert f"no quota for machines of size {IMPOSSIBLE}. To do: " in run.text
    # The one too many is gone; the other one serves until there is a new one.
    assert len(set(workspace.machines()) & set(first)) == 1
    assert workspace.cloud()["machines"].keys() & {*first, new} == set(workspace.machines()) & set(first)
    workspace.wanted(1)
    workspace.playbook("reconcile").succeeded()
    workspace.whole(1)


def test_a_failure_that_ansible_hands_nothing_on_of_is_not_told_as_the_worker_before(workspace: Workers) -> None:
    """An include of a task file that a provider's role lacks is such a one."""
    role = Path(shutil.copytree(ROLE, workspace.folder / "roles" / "machine_other"))
    include = {"name": "Ask the cloud", "ansible.builtin.include_role": {"name": str(ROLE), "tasks_from": "quota"}}
    create = [
        {**include, "when": "asked_before is defined"},
        {"name": "Note that it was asked", "ansible.builtin.set_fact": {"asked_before": True}},
        {"name": "Refuse it", "ansible.builtin.fail": {"msg": "no quota"}},
    ]
    workspace.wanted(0)
    workspace.playbook("reconcile").succeeded()
    (role / "tasks" / "create.yml").write_text(yaml.safe_dump(create, sort_keys=False))
    path = workspace.folder / "variables.yml"
    path.write_text(path.read_text().replace(f"AcmeMachineTemplate: {ROLE}", f"AcmeMachineTemplate: {role}"))
    workspace.wanted(2)
    run = workspace.playbook("reconcile").failed()
    told = [f"machine {name} could not be made: " for name in workspace.machines()]
    assert sorted(f"{each}no quota" in run.text for each in told) == [False, True], run.output
    assert [each for each in told if f"{each}what Ansible said of it is above" in run.text], run.output


@pytest.mark.full
def test_a_worker_whose_kubeadm_fails_and_one_that_is_silent(workspace: Workers) -> None:
    """Each is named with the way to another one; the others are served, and one that is asked for takes its place."""
    workspace.wanted(1)
    workspace.playbook("reconcile").succeeded()
    [first] = workspace.whole(1)
    workspace.refuse_bootstraps("kubeadm v1.19.9 is here")
    workspace.wanted(2)
    workspace.playbook("reconcile").failed()
    [failing] = set(workspace.machines()) - {first}
    workspace.refuse_bootstraps("")
    run = workspace.playbook("reconcile").failed()
    assert f"machine {failing}: its bootstrap failed (kubeadm v1.19.9 is here)" in run.text
    assert f"-e control_plane_machines={failing}" in run.text and first in workspace.world()["nodes"]
    workspace.playbook("remediate", "-e", f"control_plane_machines={failing}").succeeded()
    [silent] = set(workspace.whole(2)) - {first}
    cloud = workspace.cloud()
    cloud["machines"][silent]["cut"] = True
    workspace.put_cloud(cloud)
    workspace.playbook("remediate", "-e", f"control_plane_machines={silent}").succeeded()
    assert silent not in workspace.whole(2)


@pytest.mark.full
def test_what_holds_a_workers_deletion(workspace: Workers) -> None:
    """A budget, for ever as in Cluster API; not where its drain is left out; a hook, until it is taken away."""
    workspace.wanted(2)
    workspace.playbook("reconcile").succeeded()
    first, second = workspace.whole(2)
    workspace.put_world({**workspace.world(), "held": [first, second]})
    workspace.wanted(0)
    run = workspace.playbook("reconcile", "-e", "control_plane_wait_timeout=1").failed()
    for name in (first, second):
        assert f"machine {name} could not be removed: its Node is still being drained" in run.text
    assert "its PodDisruptionBudget web allows no eviction" in run.text
    assert {first, second} <= set(workspace.cloud()["machines"]) and {first, second} == set(workspace.machines())
    workspace.annotate(first, "machine.cluster.x-k8s.io/exclude-node-draining")
    workspace.put_world({**workspace.world(), "attached": [first]})
    run = workspace.playbook("reconcile", "-e", "control_plane_wait_timeout=1").failed()
    assert (
        f"machine {first} could not be removed: the volumes of its Node are still waited for: volume pv-1" in run.text
    )
    assert "nodeVolumeDetachTimeoutSeconds in the MachineDeployment" in run.text
    workspace.put_world({**workspace.world(), "attached": []})
    hook = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/backup"
    workspace.annotate(second, hook)
    workspace.put_world({**workspace.world(), "held": [first]})
    run = workspace.playbook("reconcile", "-e", "control_plane_wait_timeout=1").failed()
    assert f"the deletion of machine {second} is held by a hook: {hook}" in run.text
    assert list(workspace.machines()) == [second] and second in workspace.cloud()["machines"]
    workspace.annotate(second, hook, None)
    workspace.playbook("reconcile").succeeded()
    assert workspace.whole(0) == []


@pytest.mark.full
def test_a_worker_whose_host_is_lost_holds_no_other(workspace: Workers) -> None:
    """It is named at the end; the others are gone, the control plane stays until it is, too."""
    workspace.wanted(3)
    workspace.playbook("reconcile").succeeded()
    lost, *_others = workspace.whole(3)
    cloud = workspace.cloud()
    cloud["machines"][lost]["stuck"] = True
    workspace.put_cloud(cloud)
    deletion = ("delete", "-e", f"control_plane_delete={NAME}")
    run = workspace.playbook(*deletion).failed()
    assert f"machine {lost} could not be removed: " in run.text and f"the host of {lost} does not answer" in run.text
    assert list(workspace.machines()) == [lost] and len(workspace.cloud()["machines"]) == 2
    cloud = workspace.cloud()
    cloud["machines"][lost].pop("stuck")
    workspace.put_cloud(cloud)
    workspace.playbook(*deletion).succeeded()
    assert workspace.cloud()["machines"] == {} and workspace.world()["violations"] == []
