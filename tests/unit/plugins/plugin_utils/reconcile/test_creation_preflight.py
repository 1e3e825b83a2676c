# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an endpoint of existing hosts keeps from being made."""

from __future__ import annotations

from pathlib import Path

from builders import cluster
from observed import objects_of

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.creation_preflight import (
    endpoint_obstacles,
)

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
