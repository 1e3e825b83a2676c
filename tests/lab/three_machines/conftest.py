# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One control plane of three machines for all files of this folder: made in the first, deleted in the last, healed in between."""

from __future__ import annotations

import typing as t

import pytest
from machines import Machines
from workspace import Workspace

NAME = "lab-life"
DOMAINS = ("a", "b", "c")
GRACE = {"name": "node-monitor-grace-period", "value": "20s"}
KUBEADM: dict[str, t.Any] = {"clusterConfiguration": {"controllerManager": {"extraArgs": [GRACE]}}}


def health_check(**spec: t.Any) -> dict[str, t.Any]:
    """A MachineHealthCheck with timeouts that a test can wait for."""
    conditions = [{"type": "Ready", "status": status, "timeout": "5s"} for status in ("Unknown", "False")]
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta1",
        "kind": "MachineHealthCheck",
        "metadata": {"name": f"{NAME}-control-plane", "namespace": "default"},
        "spec": {
            "clusterName": NAME,
            "selector": {"matchLabels": {"cluster.x-k8s.io/control-plane": ""}},
            "nodeStartupTimeout": "10m",
            "unhealthyConditions": conditions,
            **spec,
        },
    }


def wants(workspace: Workspace, health: t.Optional[dict[str, t.Any]] = None, **options: t.Any) -> None:
    """Write the manifest; ``health``: what the MachineHealthCheck says besides."""
    checks = [health_check(**(health or {}))]
    workspace.manifest(
        NAME, **{"replicas": 3, "failure_domains": DOMAINS, "kubeadm": KUBEADM, "secrets": checks, **options}
    )


@pytest.fixture(scope="package")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Workspace]:
    """The folder of its user."""
    made = Workspace(tmp_path_factory.mktemp("three-machines"))
    yield made
    made.delete_clusters()


@pytest.fixture(scope="package")
def machines(workspace: Workspace) -> Machines:
    """Its machines; none before a test of its creation has made them."""
    return Machines(workspace, NAME)


@pytest.fixture(scope="package")
def three(workspace: Workspace, machines: Machines) -> Machines:
    """Its machines, made now where no test of its creation was run before."""
    if len(machines.names()) != 3:
        wants(workspace)
        workspace.playbook("reconcile").succeeded()
    return machines
