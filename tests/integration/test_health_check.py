# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks health_check and remediate as a user runs them, as far as no machine is needed."""

from __future__ import annotations

import datetime
import typing as t
from pathlib import Path

import pytest
import yaml
from workspace import Workspace

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import read_cluster
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records import stored_cluster
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import CLUSTER
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

Object = dict[str, t.Any]
INFRASTRUCTURE = "infrastructure.cluster.x-k8s.io"
LABELS = {"cluster.x-k8s.io/cluster-name": "prod", "cluster.x-k8s.io/control-plane": ""}
HEALTH_CHECK: Object = {
    "apiVersion": "cluster.x-k8s.io/v1beta1",
    "kind": "MachineHealthCheck",
    "metadata": {"name": "prod-control-plane", "namespace": "default"},
    "spec": {
        "clusterName": "prod",
        "selector": {"matchLabels": {"cluster.x-k8s.io/control-plane": ""}},
        "nodeStartupTimeout": "10m",
        "maxUnhealthy": 1,
        "unhealthyConditions": [{"type": "Ready", "status": "Unknown", "timeout": "5m"}],
    },
}


def ago(seconds: int) -> str:
    """The time so many seconds ago, as objects have it."""
    moment = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=seconds)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A user's folder with one cluster that has a MachineHealthCheck."""
    made = Workspace(tmp_path / "workspace")
    made.manifest("prod", replicas=3, secrets=[HEALTH_CHECK])
    return made


@pytest.fixture
def stored(workspace: Workspace) -> Workspace:
    """The cluster is in the store, with a first machine on which kubeadm has been at work for an hour."""
    store = FileStore(str(workspace.store))
    manifest = read_cluster([str(workspace.folder / "clusters" / "prod.yaml")], "default", "prod")
    stored_cluster.apply_manifest(store, manifest)
    store.modify(("infrastructure.cluster.x-k8s.io", "NspawnCluster"), "default", "prod", provisioned)
    store.modify(CLUSTER, "default", "prod", lambda each: each["spec"].update(controlPlaneEndpoint=ENDPOINT))
    reference = {"apiGroup": INFRASTRUCTURE, "kind": "NspawnMachine", "name": "prod-1"}
    store.create(
        {
            "apiVersion": "cluster.x-k8s.io/v1beta2",
            "kind": "Machine",
            "metadata": {
                "name": "prod-1",
                "namespace": "default",
                "labels": dict(LABELS),
            },
            "spec": {"clusterName": "prod", "version": "v1.20.2", "infrastructureRef": reference},
            "status": {"bootstrap": {"state": "Running", "startedAt": ago(3500)}},
        }
    )
    # The store itself says when an object was made.
    [path] = workspace.store.glob("default/machine.*/prod-1.yaml")
    document = yaml.safe_load(path.read_text())
    document["metadata"]["creationTimestamp"] = ago(3600)
    path.write_text(yaml.safe_dump(document))
    return workspace


# Nobody listens there.
ENDPOINT = {"host": "127.0.0.1", "port": 9}


def provisioned(infrastructure: Object) -> None:
    """What a provider reports."""
    infrastructure.setdefault("status", {})["initialization"] = {"provisioned": True}


def marks(workspace: Workspace) -> dict[str, tuple[str, str]]:
    """The machine's marks: status and reason."""
    [machine] = workspace.objects("Machine")
    wanted = ("HealthCheckSucceeded", "OwnerRemediated")
    listed = machine.get("status", {}).get("conditions", [])
    return {each["type"]: (each["status"], each["reason"]) for each in listed if each["type"] in wanted}


def files(workspace: Workspace) -> dict[str, bytes]:
    """Every object in the store."""
    return {str(path): path.read_bytes() for path in workspace.store.rglob("*.yaml")}


def test_a_machine_without_a_node_is_marked_and_nothing_else_happens(stored: Workspace) -> None:
    """One line says which and why; the run ends well; a second one changes nothing."""
    run = stored.playbook("health_check").succeeded()
    assert "machine prod-1 is unhealthy: Health check failed: Node failed to report startup in 10m0s" in run.text
    assert "marked for remediation (MachineHealthCheck prod-control-plane)" in run.text
    assert run.recap("prod")["changed"] == 1
    assert marks(stored)["HealthCheckSucceeded"] == ("False", "NodeStartupTimeout")
    assert marks(stored)["OwnerRemediated"] == ("False", "WaitingForRemediation")
    [kept] = stored.objects("MachineHealthCheck")
    assert kept["status"]["expectedMachines"] == 1 and kept["status"]["remediationsAllowed"] == 0
    [machine] = stored.objects("Machine")
    assert not machine["metadata"].get("deletionTimestamp")
    assert stored.playbook("health_check").succeeded().recap("prod")["changed"] == 0


def test_check_mode_says_what_would_be_marked(stored: Workspace) -> None:
    """Nothing is written."""
    before = files(stored)
    run = stored.playbook("health_check", "--check").succeeded()
    assert "would be marked for remediation" in run.text and run.recap("prod")["changed"] == 1
    assert files(stored) == before


def test_the_status_shows_what_was_found(stored: Workspace) -> None:
    """Where a machine is marked."""
    stored.playbook("health_check").succeeded()
    run = stored.playbook("status").succeeded()
    assert "prod-1: HealthCheckSucceeded False: Health check failed: Node failed to report" in run.text


def test_a_cluster_that_does_not_exist_yet(workspace: Workspace) -> None:
    """A schedule over all clusters ends well."""
    run = workspace.playbook("health_check").succeeded()
    assert "there is nothing to check" in run.text


def test_a_cluster_without_health_checks_says_so(stored: Workspace) -> None:
    """Nobody should believe that machines are checked."""
    for path in stored.store.glob("default/machinehealthcheck*/*.yaml"):
        path.unlink()
    run = stored.playbook("health_check").succeeded()
    assert "no MachineHealthCheck" in run.text and run.recap("prod")["changed"] == 0


def test_a_cluster_on_which_another_run_is_at_work_is_left_alone(stored: Workspace) -> None:
    """The schedule comes again."""
    hold(stored)
    process = stored.start("hold.yml")
    try:
        while "holding" not in (stored.folder / "hold.yml.log").read_text():
            assert process.poll() is None, (stored.folder / "hold.yml.log").read_text()
        run = stored.playbook("health_check").succeeded()
        assert "is locked by another run, so nothing is done here" in run.text and marks(stored) == {}
    finally:
        (stored.folder / "done").touch()
        process.wait()


def hold(workspace: Workspace) -> None:
    """A playbook that takes the lock and keeps it until a file is there."""
    tasks = [
        {
            "kubeadm.control_plane.run": {
                "cluster": "{{ control_plane_cluster }}",
                "store": "{{ control_plane_store }}",
            }
        },
        {"ansible.builtin.debug": {"msg": "holding"}},
        {"ansible.builtin.wait_for": {"path": str(workspace.folder / "done"), "timeout": 120, "sleep": 1}},
    ]
    play = {"hosts": "control_planes", "gather_facts": False, "tasks": tasks}
    (workspace.folder / "hold.yml").write_text(yaml.safe_dump([play]))


def test_remediate_refuses_names_that_nobody_has(stored: Workspace) -> None:
    """With the names that there are."""
    before = files(stored)
    run = stored.playbook("remediate", "-e", "control_plane_machines=prod-2").failed()
    assert "there is no machine prod-2" in run.text and "Did you mean prod-1?" in run.text
    assert files(stored) == before


def test_remediate_leaves_other_clusters_alone(stored: Workspace) -> None:
    """One name, two clusters, no limit: only the cluster that has the machine is touched."""
    stored.manifest("second", replicas=1)
    manifest = read_cluster([str(stored.folder / "clusters" / "second.yaml")], "default", "second")
    stored_cluster.apply_manifest(FileStore(str(stored.store)), manifest)
    run = stored.playbook("remediate", "--check", "-e", "control_plane_machines=prod-1")
    assert "[default/second] none of the named machines (prod-1) is this cluster's" in run.text
    assert "[default/prod] machine prod-1 would be marked: remediate it" in run.text


def test_remediate_in_check_mode_shows_what_would_follow_and_writes_nothing(stored: Workspace) -> None:
    """The marks are taken as if they were set."""
    before = files(stored)
    run = stored.playbook("remediate", "--check", "-e", "control_plane_machines=prod-1")
    assert "PLAN " in run.output
    assert "marked for remediation via cluster.x-k8s.io/remediate-machine annotation" in run.text
    assert files(stored) == before
