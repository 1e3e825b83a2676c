# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an endpoint of existing hosts keeps from being made, or deleted."""

from __future__ import annotations

from pathlib import Path

from actions import make_action
from builders import cluster
from observed import objects_of
from stored_cluster import INFRASTRUCTURE, stored_cluster

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.creation_preflight import (
    endpoint_obstacles,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import CLUSTER
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

ROLE = "kubeadm.control_plane.endpoint_keepalived"


def test_a_free_address_is_the_word_of_the_role_that_looks_again(tmp_path: Path) -> None:
    """Without that role the plan is blocked until the first machine is there, as without the status."""
    builder = cluster(3).endpoint(None)
    status = {"initialization": {"provisioned": True}, "endpointIsUnused": True}
    endpoint = {"host": "192.0.2.10", "port": 8443}
    builder.snapshot["infrastructureCluster"].update(
        kind="InventoryCluster", spec={"controlPlaneEndpoint": endpoint}, status=status
    )

    def reasons(role: str) -> list[str]:
        objects = objects_of(builder, tmp_path)
        return [each["reason"] for each in endpoint_obstacles(objects, builder.snapshot, role)]

    assert reasons(ROLE) == []
    assert reasons("") == ["EndpointUnknown"]
    builder.snapshot["cluster"]["metadata"]["annotations"]["kubeadm.control-plane/endpoint-is-unused"] = "true"
    assert reasons("") == []
    del builder.snapshot["cluster"]["metadata"]["annotations"]["kubeadm.control-plane/endpoint-is-unused"]
    builder.snapshot["controlPlane"]["status"] = {"initialization": {"controlPlaneInitialized": True}}
    assert reasons("") == []


def test_a_balancers_missing_role_is_told_before_the_cluster_is_marked(tmp_path: Path) -> None:
    """Also where no machine is left: the deletion of the cluster's infrastructure calls that role, too."""
    stored_cluster(tmp_path, "v1.30.2", {}, {}, {})
    store, name = FileStore(str(tmp_path)), {"name": "prod", "namespace": "default"}
    reference = {"apiGroup": INFRASTRUCTURE, "kind": "InventoryCluster", "name": "prod"}
    store.create({"apiVersion": f"{INFRASTRUCTURE}/v1beta1", "kind": "InventoryCluster", "metadata": name, "spec": {}})
    store.modify(CLUSTER, "default", "prod", lambda stored: stored["spec"].update(infrastructureRef=reference))
    providers = {
        "InventoryCluster": "kubeadm.control_plane.machine_inventory",
        "NspawnMachineTemplate": "kubeadm.control_plane.machine_nspawn",
    }
    given = {"cluster": "prod", "store": {"path": str(tmp_path)}, "state": "absent", "providers": providers}
    role = {"machine_inventory_endpoint_role": "acme.balancers.none"}
    refused = make_action("cluster", **given).run(task_vars=role)
    assert refused["failed"] and "role 'acme.balancers.none' was not found" in refused["msg"]
    assert "deletionTimestamp" not in (store.get(CLUSTER, "default", "prod") or {})["metadata"]
