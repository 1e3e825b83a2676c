# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions that change the configuration, through the real playbooks, on stand-ins for machines: order, rollback, records, refusals."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from operator_workspace import NAME, WORKERS, Object, OperatorWorkspace
from stand_in_configurations import BAD_FLAG, BAD_PODS, KUBELET

SYSTEM = "/api/v1/namespaces/kube-system/configmaps"
KUBEADM = f"{SYSTEM}/kubeadm-config"
FLAG = {"clusterConfiguration": {"apiServer": {"extraArgs": {"audit-log-maxage": "30"}}}}
KUBEADM_TEXT = """\
apiVersion: kubeadm.k8s.io/v1beta2
kind: ClusterConfiguration
kubernetesVersion: v1.20.2
controlPlaneEndpoint: 198.51.100.1:6443
apiServer:
  timeoutForControlPlane: 4m0s
"""
KUBELET_TEXT = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 110\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> OperatorWorkspace:
    """A cluster of three control plane nodes and two workers, with the ConfigMaps that kubeadm makes; made once, copied for each test."""
    workspace = OperatorWorkspace(tmp_path_factory.mktemp("operator") / "workspace")
    workspace.create()
    world = workspace.world()
    world["objects"][KUBELET] = kept({"kubelet": KUBELET_TEXT})
    world["objects"][KUBEADM] = kept({"ClusterConfiguration": KUBEADM_TEXT})
    workspace.put_world(world)
    return workspace


def kept(data: dict[str, str]) -> Object:
    """A ConfigMap."""
    return {"metadata": {"name": "x", "resourceVersion": "1"}, "data": data}


@pytest.fixture
def workspace(made: OperatorWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OperatorWorkspace:
    """A copy of that cluster, whose machines answer."""
    return made.copied(tmp_path / "workspace").answering(monkeypatch)


def run(workspace: OperatorWorkspace, spec: Object, *arguments: str, name: str = "first") -> t.Any:
    """Run an Action of that struct."""
    workspace.action({"changeConfiguration": spec}, name=name)
    return workspace.playbook("action", "-e", f"operator_manifest={name}.yml", *arguments)


def held(workspace: OperatorWorkspace, path: str, key: str) -> Object:
    """What a ConfigMap of the cluster holds."""
    return dict(yaml.safe_load(workspace.world()["objects"][path]["data"][key]))


def flags(workspace: OperatorWorkspace) -> list[Object]:
    """The flags that each control plane machine runs with."""
    known = workspace.world().get("configurations", {})
    return [known.get(name, {}).get("flags", {}) for name in workspace.control_planes]


@pytest.mark.full
def test_checked_everywhere_then_changed_one_by_one_then_recorded(workspace: OperatorWorkspace) -> None:
    """The whole way of one flag; done again there is nothing to do."""
    done = run(workspace, FLAG).succeeded()
    nodes, world = workspace.control_planes, workspace.world()
    assert world["compared"] == nodes
    assert world["changed"] == [[name, "flags"] for name in nodes]
    assert flags(workspace) == [{"audit-log-maxage": "30"}] * 3
    assert world["violations"] == []
    assert held(workspace, KUBEADM, "ClusterConfiguration")["apiServer"]["extraArgs"] == {"audit-log-maxage": "30"}
    configs = [each["spec"] for each in workspace.objects("KubeadmConfig")]
    wanted = [{"name": "audit-log-maxage", "value": "30"}]
    assert [each["clusterConfiguration"]["apiServer"]["extraArgs"] for each in configs] == [wanted] * 3
    [control_plane] = workspace.objects("KubeadmControlPlane")
    assert control_plane["spec"]["kubeadmConfigSpec"]["clusterConfiguration"]["apiServer"]["extraArgs"] == wanted
    assert "spec.kubeadmConfigSpec.clusterConfiguration" in done.text
    assert '    apiServer:\n      extraArgs:\n      - name: audit-log-maxage\n        value: "30"\n' in done.output

    again = run(workspace, FLAG, name="again").succeeded()
    assert "already" in again.text
    assert len(workspace.world()["changed"]) == 3


@pytest.mark.full
def test_no_rollout_follows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster that reconcile made: it refuses the old manifest, and has nothing to do with the new one."""
    workspace = OperatorWorkspace(tmp_path / "workspace").answering(monkeypatch)
    workspace.manifest(NAME, replicas=1)
    workspace.playbook("reconcile").succeeded()
    nodes = workspace.control_planes
    run(workspace, FLAG).succeeded()
    assert "changed it in place" in workspace.playbook("reconcile").failed().text
    wanted = [{"name": "audit-log-maxage", "value": "30"}]
    workspace.manifest(NAME, replicas=1, kubeadm={"clusterConfiguration": {"apiServer": {"extraArgs": wanted}}})
    workspace.playbook("reconcile").succeeded()
    assert workspace.playbook("reconcile").succeeded().recap(NAME)["changed"] == 0
    assert workspace.control_planes == nodes
    assert workspace.world()["violations"] == []


def test_a_preview_tells_the_difference_and_touches_nothing(workspace: OperatorWorkspace) -> None:
    """DryRun and --check: which node, in which order, what a person would type."""
    before = workspace.world()["objects"]
    shown = run(workspace, {**FLAG, "kubeletConfiguration": {"maxPods": 120}}, "--check").succeeded().text
    assert 'clusterConfiguration.apiServer.extraArgs.audit-log-maxage: not set -> "30"' in shown
    assert "kubeletConfiguration.maxPods: 110 -> 120" in shown
    assert "kubeadm init phase control-plane apiserver --config NEW" in shown
    plan = shown[shown.index(workspace.control_planes[0]) :]
    places = [plan.index(name) for name in (*workspace.control_planes, *WORKERS)]
    assert places == sorted(places)
    assert workspace.world()["objects"] == before
    assert "compared" not in workspace.world()


@pytest.mark.full
def test_a_bad_flag_goes_back_on_the_first_node_and_the_others_are_never_touched(workspace: OperatorWorkspace) -> None:
    """The reason is told with the node; kubeadm-config never said it; retry goes on once it works."""
    spec = {"clusterConfiguration": {"apiServer": {"extraArgs": {BAD_FLAG: "1"}}}}
    before = held(workspace, KUBEADM, "ClusterConfiguration")
    failed = run(workspace, spec).failed()
    first, *others = workspace.control_planes
    assert f"Node {first}: the changed configuration did not work: It says: Error: it does not work." in failed.text
    assert workspace.world()["changed"] == [[first, "flags"]]
    assert held(workspace, KUBEADM, "ClusterConfiguration") == before
    assert flags(workspace) == [{}, {}, {}]
    assert "extraArgs" not in str(workspace.objects("KubeadmConfig"))

    world = workspace.world()
    world["known_flags"] = True
    workspace.put_world(world)
    workspace.playbook("retry", "-e", "operator_action=first").succeeded()
    assert [name for name, _what in workspace.world()["changed"]] == [first, first, *others]
    assert flags(workspace) == [{BAD_FLAG: "1"}] * 3


@pytest.mark.full
def test_kubelets_control_plane_first_and_the_config_map_goes_back(workspace: OperatorWorkspace) -> None:
    """Every node; where one goes back, the ConfigMap does."""
    nodes = [*workspace.control_planes, *WORKERS]
    run(workspace, {"kubeletConfiguration": {"maxPods": 120}}).succeeded()
    assert workspace.world()["changed"] == [[name, "kubelet"] for name in nodes]
    assert held(workspace, KUBELET, "kubelet")["maxPods"] == 120

    failed = run(workspace, {"kubeletConfiguration": {"maxPods": BAD_PODS}}, name="bad").failed()
    assert f"Node {nodes[0]}: the changed configuration did not work" in failed.text
    assert "Its ConfigMap is as before, too" in failed.text
    assert held(workspace, KUBELET, "kubelet")["maxPods"] == 120
    assert len(workspace.world()["changed"]) == len(nodes) + 1


@pytest.mark.full
@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"clusterConfiguration": {"networking": {"podSubnet": "10.9.0.0/16"}}}, "can't be changed in place"),
        ({}, "says nothing that is to change"),
    ],
)
def test_refused_before_anything_begins(workspace: OperatorWorkspace, spec: Object, words: str) -> None:
    """With the reason; there is neither Task nor change."""
    failed = run(workspace, spec).failed()
    assert words in failed.text
    assert workspace.objects("Task") == []
    assert "compared" not in workspace.world()


def test_a_secret_argument_is_never_shown(workspace: OperatorWorkspace) -> None:
    """Not in the preview, not in the run, not in what is to be brought into the manifest, not in the journal."""
    secret = "s3cr3tvalue0815"
    spec = {"clusterConfiguration": {"apiServer": {"extraArgs": {"oidc-client-secret": secret}}}}
    outputs = [
        run(workspace, spec, "--check", "-vvv").succeeded().output,
        run(workspace, spec, "-vvv").succeeded().output,
    ]
    outputs.append(workspace.playbook("actions", "-e", "operator_action=first", "-e", "operator_logs=true").output)
    outputs += [path.read_text() for path in workspace.store.rglob("journal*") if path.is_file()]
    assert all(secret not in each for each in outputs)
    assert flags(workspace) == [{"oidc-client-secret": secret}] * 3
