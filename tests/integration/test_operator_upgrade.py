# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Upgrades in place and renewals of certificates through the real playbooks, on stand-ins for the machines: who does what, in which order."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from operator_workspace import NAME, WORKERS, OperatorWorkspace
from workspace import kill_run

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CONTROL_PLANE,
    KUBEADM_CONFIG,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

OLD, NEW = "v1.20.2", "v1.21.0"
CONFIG = "/api/v1/namespaces/kube-system/configmaps/kubeadm-config"
CLUSTER_CONFIGURATION = "apiVersion: kubeadm.k8s.io/v1beta2\nkind: ClusterConfiguration\nkubernetesVersion: {}\n"
FILES = {"source": "files", "path": "/opt/{version}"}
UPGRADE: dict[str, t.Any] = {"upgrade": {"targetVersion": NEW, "binaries": FILES}}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> OperatorWorkspace:
    """Three control plane nodes and two workers, whose configuration kubeadm keeps."""
    workspace = OperatorWorkspace(tmp_path_factory.mktemp("operator") / "workspace")
    workspace.create()
    world = workspace.world()
    text = CLUSTER_CONFIGURATION.format(OLD)
    metadata = {"name": "kubeadm-config", "namespace": "kube-system", "resourceVersion": "1"}
    world["objects"][CONFIG] = {"metadata": metadata, "data": {"ClusterConfiguration": text}}
    workspace.put_world(world)
    return workspace


@pytest.fixture
def workspace(made: OperatorWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OperatorWorkspace:
    """A copy of that cluster, whose machines answer."""
    return made.copied(tmp_path / "workspace").answering(monkeypatch)


def away_while_it_stopped(workspace: OperatorWorkspace, stopped: list[str]) -> None:
    """Each of these machines, and no other, was outside the endpoint whenever its API server stopped; all are behind it now."""
    machines = workspace.control_planes
    stops = workspace.world()["stops"]
    assert {name for name, _behind in stops} == set(stopped)
    assert all(behind == [each for each in machines if each != name] for name, behind in stops)
    assert behind_the_endpoint(workspace) == machines


def behind_the_endpoint(workspace: OperatorWorkspace) -> list[str]:
    """The machines that the load balancer has as servers."""
    [balancer] = workspace.cloud()["balancers"].values()
    return sorted(each["name"] for each in balancer["servers"])


def upgraded(workspace: OperatorWorkspace) -> None:
    """Everything and every record has the new version; kubeadm was run once on each Node, in order."""
    nodes = [*workspace.control_planes, *WORKERS]
    runs = [words for words in workspace.ran() if words[1:3] == ["kubeadm", "upgrade"] and words[3] != "plan"]
    assert [words[0] for words in runs] == nodes
    assert [words[3] for words in runs] == ["apply", *["node"] * (len(nodes) - 1)]
    world = workspace.world()
    assert {each["version"] for each in world["nodes"].values()} == {NEW}
    assert {each["api"] for name, each in world["nodes"].items() if name not in WORKERS} == {NEW}
    assert world["violations"] == []
    away_while_it_stopped(workspace, workspace.control_planes)
    assert {each["spec"]["version"] for each in workspace.objects("Machine")} == {NEW}
    assert [each["spec"]["version"] for each in workspace.objects("KubeadmControlPlane")] == [NEW]
    documents = yaml.safe_load_all((workspace.folder / "clusters" / f"{NAME}.yaml").read_text())
    assert [each["spec"]["version"] for each in documents if each["kind"] == "KubeadmControlPlane"] == [NEW]


def test_an_upgrade_that_is_killed_and_gone_on_with(workspace: OperatorWorkspace) -> None:
    """The run dies while the second Node is at work; the same command goes on, and what follows is no rollout."""
    workspace.action(UPGRADE, name="up")
    second = workspace.control_planes[1]
    process = workspace.start("action", "-e", "operator_manifest=up.yml")
    workspace.until(lambda: any(each[0] == second for each in workspace.world().get("steps", [])))
    kill_run(process)
    run = workspace.playbook("action", "-e", "operator_manifest=up.yml").succeeded()
    assert "has started, and is resumed" in run.text
    assert workspace.stored("Action", "up")["status"]["phase"] == "Succeeded"
    upgraded(workspace)
    kubelets = [each for each in workspace.world()["steps"] if "kubelet" in each]
    assert [each[0] for each in kubelets] == [*workspace.control_planes, *WORKERS]


@pytest.mark.full
def test_an_upgrade_whose_files_are_missing_on_a_node(workspace: OperatorWorkspace) -> None:
    """It pauses there with the ways out; the others are as they were. Put there, and retried, it goes on to the end."""
    world = workspace.world()
    first, second, _third = workspace.control_planes
    workspace.put_world({**world, "lacks": second})
    workspace.action(UPGRADE, name="up")
    run = workspace.playbook("action", "-e", "operator_manifest=up.yml").failed()
    assert f"Node {second}" in run.text and "can't be read" in run.text and "retry" in run.text
    versions = {name: each["version"] for name, each in workspace.world()["nodes"].items()}
    assert {name for name, version in versions.items() if version == NEW} == {first}
    world = workspace.world()
    del world["lacks"]
    workspace.put_world(world)
    workspace.playbook("retry", "-e", "operator_action=up").succeeded()
    upgraded(workspace)


def test_an_upgrade_that_was_not_recorded(workspace: OperatorWorkspace) -> None:
    """Its last record failed, and it was given up: the Action that is named then records the version, and does nothing else."""
    world = workspace.world()
    for each in world["nodes"].values():
        each.update(version=NEW, api=NEW)
    world["objects"][CONFIG]["data"]["ClusterConfiguration"] = CLUSTER_CONFIGURATION.format(NEW)
    workspace.put_world(world)
    workspace.action(UPGRADE, name="again")
    run = workspace.playbook("action", "-e", "operator_manifest=again.yml").succeeded()
    assert "1 of 1 Task is done" in run.text and workspace.world().get("steps") is None
    assert [each["spec"]["version"] for each in workspace.objects("KubeadmControlPlane")] == [NEW]
    assert f"version: {NEW}" in (workspace.folder / "clusters" / f"{NAME}.yaml").read_text()


def test_patches_are_each_machines_own(workspace: OperatorWorkspace) -> None:
    """A control plane machine's folder is not on a worker, nor on a machine that was made without it."""
    first, _second, third = workspace.control_planes
    store = FileStore(str(workspace.store))
    for name, section in ((first, "initConfiguration"), (third, "joinConfiguration")):
        given = {section: {"patches": {"directory": f"/etc/{name}"}}}
        store.modify(KUBEADM_CONFIG, "default", name, lambda each, given=given: each["spec"].update(given))
    workspace.action(UPGRADE, name="up")
    shown = workspace.playbook("action", "--check", "-e", "operator_manifest=up.yml").succeeded().output
    lines = [each.strip() for each in shown.splitlines()]
    runs = [each for each in lines if each.startswith((f"kubeadm upgrade apply {NEW}", "kubeadm upgrade node"))]
    folders = [each.partition(" --experimental-patches=")[2] for each in runs]
    assert folders == [f"/etc/{first}", "", f"/etc/{third}", *[""] * len(WORKERS)]


def test_what_an_upgrade_would_do(workspace: OperatorWorkspace) -> None:
    """Each line, in the order of the Nodes; nothing is changed. What can't be is refused, and nothing is kept of it."""
    workspace.action(UPGRADE, name="up")
    run = workspace.playbook("action", "--check", "-e", "operator_manifest=up.yml").succeeded()
    assert f"kubeadm upgrade apply {NEW} --yes" in run.text and "systemctl restart kubelet" in run.text
    places = [run.text.index(f" {name} ") for name in [*workspace.control_planes, *WORKERS]]
    assert places == sorted(places)
    workspace.action({"upgrade": {"targetVersion": "v1.22.0"}}, name="far")
    assert (
        "no minor version may be skipped"
        in workspace.playbook("action", "-e", "operator_manifest=far.yml").failed().text
    )
    assert workspace.objects("Action") == [] and workspace.world().get("steps") is None


@pytest.mark.full
def test_a_renewal(workspace: OperatorWorkspace) -> None:
    """All files first, then one component after the other, Node by Node; the Node whose certificates have ended first of all.

    A rollout is under way, and makes no machine beside one whose certificates have ended.
    """
    world = workspace.world()
    ended = workspace.control_planes[2]
    FileStore(str(workspace.store)).modify(
        CONTROL_PLANE, "default", f"{NAME}-control-plane", lambda each: each["status"].update(rollout={"replicas": 3})
    )
    workspace.action({"renewCertificates": {"names": ["etcd-peer", "apiserver", "kubelet.conf"]}}, name="renew")
    workspace.put_world({**world, "ends": dict.fromkeys(workspace.control_planes, "2099-01-01T00:00:00Z")})
    refused = workspace.playbook("action", "-e", "operator_manifest=renew.yml").failed().text
    assert "a rollout is under way (status.rollout), and Actions keep out of its way" in refused
    workspace.put_world({**world, "ends": {ended: "2026-01-01T00:00:00Z"}})
    workspace.playbook("action", "-e", "operator_manifest=renew.yml").succeeded()
    order = [ended, *workspace.control_planes[:2]]
    runs = [words for words in workspace.ran() if words[1] == "kubeadm"]
    assert runs == [[node, "kubeadm", "certs", "renew", name] for node in order for name in ("etcd-peer", "apiserver")]
    steps = workspace.world()["steps"]
    assert steps == [
        *([node, "renewed", "kubelet.conf"] for node in order),
        *([node, "restart", component] for node in order for component in ("etcd", "kube-apiserver")),
    ]
    away_while_it_stopped(workspace, order)


@pytest.mark.full
def test_a_machine_that_a_killed_run_left_outside_the_endpoint(workspace: OperatorWorkspace) -> None:
    """Giving the Action up brings it back."""
    workspace.action({"renewCertificates": {"names": ["etcd-peer"]}}, name="renew")
    process = workspace.start("action", "-e", "operator_manifest=renew.yml")
    workspace.until(lambda: bool(workspace.world().get("stops")))
    kill_run(process)
    [[first, behind], *_more] = workspace.world()["stops"]
    assert first not in behind
    workspace.playbook("abort", "-e", "operator_action=renew").succeeded()
    assert behind_the_endpoint(workspace) == workspace.control_planes


def test_where_no_other_api_server_is_ready_none_leaves_the_endpoint(workspace: OperatorWorkspace) -> None:
    """It is said, and what answers goes on answering as long as it can."""
    only, *others = workspace.control_planes
    workspace.put_world({**workspace.world(), "unready": others})
    commands = [{"restartComponent": {"component": "etcd"}}]
    workspace.action({"nodeName": only, "commands": commands}, name="again", kind="Task")
    run = workspace.playbook("action", "-e", "operator_manifest=again.yml").succeeded()
    assert f"{only} stays behind the endpoint" in run.text
    assert workspace.world()["stops"] == [[only, []]] and workspace.cloud()["balancers"] == {}
