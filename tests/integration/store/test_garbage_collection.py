# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A management cluster collects garbage: nothing of a living cluster may look like it. With the real garbage collector."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from api_server import ApiServer
from etcd_cluster import until
from management import Kubectl, controller_manager
from management_workspace import KINDS, ManagementWorkspace
from store_objects import machine

NAME = "prod"
CONSENT = ("-e", f"control_plane_delete={NAME}")


@pytest.fixture
def workspace(server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ManagementWorkspace:
    """A user's folder; its store is empty."""
    return ManagementWorkspace.over(server, tmp_path / "workspace", monkeypatch)


@pytest.fixture
def collector(workspace: ManagementWorkspace, server: ApiServer, tmp_path: Path) -> t.Iterator[None]:
    """The garbage collector, at work."""
    with controller_manager(server, tmp_path, "garbagecollector"):
        yield


def collected(workspace: ManagementWorkspace) -> None:
    """Wait until an object without an owner that was made now is gone: what was there before has been looked at."""
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": "00000000-0000-0000-0000-000000000000"}
    store, name = workspace.objects_store, "without-owner"
    store.create(machine(name, ownerReferences=[owner]))
    where = (("cluster.x-k8s.io", "Machine"), "default", name)
    until("garbage is collected", lambda: store.get(*where) is None)


def everything(workspace: ManagementWorkspace) -> list[str]:
    """Each object of the cluster, Secrets too."""
    kinds = [*(kind.name for kind in KINDS), "Secret"]
    return [
        f"{kind}/{each['metadata']['name']}"
        for kind in kinds
        for each in workspace.objects(kind)
        if not each["metadata"]["name"].startswith("default-token")
    ]


@pytest.mark.full
@pytest.mark.usefixtures("collector")
@pytest.mark.parametrize(("replicas", "more"), [(1, 10), (3, 15)])
def test_nothing_of_a_living_cluster_is_garbage_and_nothing_of_a_deleted_one_is_left(
    workspace: ManagementWorkspace, replicas: int, more: int
) -> None:
    """Made, with the collector at work; then deleted, with the collector faster here and there. One machine has each kind already."""
    workspace.manifest(NAME, replicas=replicas)
    workspace.playbook("reconcile").succeeded()
    before = everything(workspace)
    assert len(before) > more
    collected(workspace)
    assert everything(workspace) == before
    run = workspace.playbook("reconcile").succeeded()
    assert run.recap(NAME)["changed"] == 0, [line for line in run.output.split("TASK [") if "changed: [" in line]
    workspace.playbook("delete", *CONSENT).succeeded()
    assert workspace.cloud()["machines"] == {} and workspace.world()["violations"] == []
    collected(workspace)
    assert everything(workspace) == []


@pytest.mark.usefixtures("collector")
def test_a_cascade_leaves_no_machine_behind(workspace: ManagementWorkspace, server: ApiServer) -> None:
    """The collector takes the InfraMachines away at once; the machines are deleted all the same."""
    workspace.manifest(NAME, replicas=1)
    workspace.playbook("reconcile").succeeded()
    assert len(workspace.cloud()["machines"]) == 1
    Kubectl(server)("delete", f"kcp/{NAME}-control-plane", "--cascade=foreground", "--wait=false")
    until("the cascade is through", lambda: workspace.objects("AcmeMachine") == [])
    workspace.playbook("delete", *CONSENT).succeeded()
    assert workspace.cloud()["machines"] == {} and workspace.world()["violations"] == []
    collected(workspace)
    assert everything(workspace) == []
