# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Cluster API's core would write in a Machine's status, as an API server with this collection's definitions keeps it."""

from __future__ import annotations

from pathlib import Path

from api_server import ApiServer
from management import Kubectl, Runs

from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload_api import trim
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observe.parse import parse
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    MACHINE,
    ClusterObjects,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.status.status_writer import write_status
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import KubernetesStore

NOW = "2026-01-31T12:00:00Z"


def test_node_info_is_written_once(server: ApiServer, kubernetes_store: KubernetesStore, tmp_path: Path) -> None:
    """All of it, in the fields that the definition has; the same again asks for no write, and what isn't told stays."""
    runs = Runs(server, tmp_path)
    runs("cluster", manifests=[str(runs.manifest)])
    runs.infrastructure_is_there()
    assert not runs("machine", kind="init").get("failed")
    [name] = [each["metadata"]["name"] for each in kubernetes_store.list(MACHINE, "default")]
    told = {**{field: f"the {field}" for field in trim.NODE_INFO}, "swap": {"capacity": 1073741824}}
    node = trim.node({"metadata": {"name": name}, "status": {"nodeInfo": told}})
    [observed] = parse({"api": {"answers": True}, "objects": {"nodes": [node]}}, name)["nodes"]
    for status in ({"nodeInfo": observed["nodeInfo"]}, {"nodeInfo": observed["nodeInfo"]}, {"phase": "Running"}):
        before = kubernetes_store.get(MACHINE, "default", name)
        objects = ClusterObjects.read(kubernetes_store, "default", "prod")
        assert objects is not None and before is not None
        write_status(objects, {"status": {"machines": {name: status}}}, NOW)
        stored = kubernetes_store.get(MACHINE, "default", name)
        assert stored is not None and stored["status"]["nodeInfo"] == told
        changed = before.get("status", {}) != stored["status"]
        assert (stored["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]) == changed
    kubectl = Kubectl(server)
    assert kubectl("get", "machine", name, "-o", "jsonpath={.status.nodeInfo.osImage}") == "the osImage"
    for field in (*trim.NODE_INFO, "swap.capacity"):
        kubectl("explain", f"machine.status.nodeInfo.{field}")


def test_where_a_machine_is_and_how_its_deletion_began(
    server: ApiServer, kubernetes_store: KubernetesStore, tmp_path: Path
) -> None:
    """In the fields of the definition, and in kubectl's column; what no API server would take is refused first."""
    runs = Runs(server, tmp_path)
    runs("cluster", manifests=[str(runs.manifest)])
    runs.infrastructure_is_there()
    assert not runs("machine", kind="init").get("failed")
    [name] = [each["metadata"]["name"] for each in kubernetes_store.list(MACHINE, "default")]
    of_machine = {"kind": "NspawnMachine", "name": name}
    refused = runs("infrastructure_status", **of_machine, status={"failureDomain": "a" * 257})
    assert refused.get("failed") and "status.failureDomain" in str(refused["msg"])
    assert not runs("infrastructure_status", **of_machine, status={"failureDomain": "rack-7"}).get("failed")
    fields = (
        "nodeDrainStartTime",
        "waitForNodeVolumeDetachStartTime",
        "waitForPreDrainHookStartTime",
        "waitForPreTerminateHookStartTime",
    )
    objects = ClusterObjects.read(kubernetes_store, "default", "prod")
    assert objects is not None
    write_status(objects, {"status": {"machines": {name: {"deletion": dict.fromkeys(fields, NOW)}}}}, NOW)
    stored = kubernetes_store.get(MACHINE, "default", name)
    assert stored is not None and stored["status"]["deletion"] == dict.fromkeys(fields, NOW)
    kubectl = Kubectl(server)
    assert "rack-7" in kubectl("get", "machine", name)
    for field in fields:
        kubectl("explain", f"machine.status.deletion.{field}")
