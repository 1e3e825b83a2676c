# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is refused before any host is touched, through the real playbooks. The hosts are this one, which carries no kubeadm of the wanted version."""

from __future__ import annotations

import sys
import typing as t
from pathlib import Path

import pytest
import yaml
from host_pool import GROUP, pool_documents
from workspace import Run, Workspace, cluster_documents

NAME = "pool"
HERE = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
# Nothing listens on port 1: a host that doesn't answer, at once.
AWAY = {"ansible_host": "127.0.0.1", "ansible_port": 1, "ansible_connection": "ssh"}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A user's folder."""
    return Workspace(tmp_path / "workspace")


def reconcile(
    workspace: Workspace, hosts: t.Mapping[str, t.Any], spec: t.Mapping[str, t.Any], endpoint: str = "192.0.2.10"
) -> Run:
    """Reconcile a cluster over these hosts, a version that no host has."""
    documents = cluster_documents(NAME, replicas=1, version="v1.20.77")
    pool_documents(documents, {"group": GROUP, **spec}, endpoint)
    documents[0]["metadata"]["annotations"] = {"kubeadm.control-plane/endpoint-is-unused": "true"}
    workspace.write(NAME, yaml.safe_dump_all(documents, sort_keys=False))
    inventory = workspace.folder / "hosts.yml"
    inventory.write_text(yaml.safe_dump({"all": {"children": {GROUP: {"hosts": dict(hosts)}}}}))
    return workspace.playbook("reconcile", "-i", str(inventory), "-e", "machine_inventory_timeout=2")


def test_a_pool_in_which_no_host_fits(workspace: Workspace) -> None:
    """A host with another kubeadm or none, one that doesn't answer, one that the selector leaves out, one of another failure domain."""
    hosts = {
        "here": {**HERE, "zone": "a", "use": "yes"},
        "away": {**AWAY, "zone": "a", "use": "yes"},
        "other": {**HERE, "zone": "a", "use": "no"},
        "far": {**HERE, "zone": "b", "use": "yes"},
    }
    spec = {"selector": {"matchVariables": {"use": "yes"}}, "failureDomainVariable": "zone"}
    run = reconcile(workspace, hosts, spec).failed()
    for words in (
        f"no host of the inventory group {GROUP} in the failure domain a can become machine {NAME}-control-plane-",
        "here: kubeadm is",
        "(KubeadmVersion)",
        "away: machine",
        "was not reached",
        "other: the selector wants use=yes, and it has no",
        "far: it is in the failure domain b",
        "No host was changed",
        "Safe now?",
    ):
        assert words in run.text, run.output[-5000:]
    [machine] = [each for each in workspace.objects("InventoryMachine") if each["kind"] == "InventoryMachine"]
    assert not machine["status"].get("claim")
    [cluster] = workspace.objects("InventoryCluster")
    assert [each["name"] for each in cluster["status"]["failureDomains"]] == ["a", "b"]


def test_a_group_that_the_inventory_does_not_have(workspace: Workspace) -> None:
    run = reconcile(workspace, {"here": HERE}, {"group": "kubeadm_pols"}).failed()
    assert "the inventory has no group kubeadm_pols" in run.text, run.output[-5000:]


def test_an_endpoint_is_needed(workspace: Workspace) -> None:
    run = reconcile(workspace, {"here": HERE}, {}, endpoint="").failed()
    assert "no control plane endpoint" in run.text and "spec.controlPlaneEndpoint" in run.text, run.output[-5000:]
