# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which host a machine takes. Here each that comes into question is found unfit without being reached, so the message names all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Optional

import pytest
from actions import make_action
from stored_cluster import stored_cluster

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import CLUSTER
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

Object = dict[str, Any]
HOSTS = {"h1": {"ansible_host": "198.51.100.1"}, "h2": {"ansible_host": "198.51.100.2"}}
ELSEWHERE = "can only be h2, which the endpoint is an address of"


@pytest.mark.parametrize(
    ("configuration", "refused"),
    [
        ({"initConfiguration": {}}, True),
        ({"initConfiguration": {"localAPIEndpoint": {"bindPort": 8443}}}, False),
        ({"joinConfiguration": {"controlPlane": {}}}, False),
        (None, False),
    ],
    ids=["the first", "behind another port", "a later one", "one that is prepared ahead"],
)
def test_the_first_machine_takes_the_host_that_the_endpoint_leads_to(
    tmp_path: Path, configuration: Optional[Object], refused: bool
) -> None:
    stored_cluster(tmp_path, "v1.20.2", {}, {}, {})
    store = FileStore(str(tmp_path))
    endpoint = {"host": "198.51.100.2", "port": 6443}
    store.modify(CLUSTER, "default", "prod", lambda each: each["spec"].update(controlPlaneEndpoint=endpoint))
    metadata = {"name": "m", "namespace": "default", "labels": {"cluster.x-k8s.io/cluster-name": "prod"}}
    store.create(
        {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
            "kind": "InventoryMachine",
            "metadata": metadata,
            "spec": {"group": "pool", "addressVariable": "internal"},
            "status": {},
        }
    )
    if configuration is not None:
        api = "bootstrap.cluster.x-k8s.io/v1beta2"
        store.create({"apiVersion": api, "kind": "KubeadmConfig", "metadata": metadata, "spec": configuration})
    action = make_action(
        "inventory_machine", cluster="prod", store={"path": store.directory}, name="m", kubernetes_version="v1.20.2"
    )
    said = action.run(task_vars={"groups": {"pool": list(HOSTS)}, "hostvars": HOSTS})["msg"]
    assert "h2: its variable internal is not set" in said
    assert (ELSEWHERE in said) == refused and ("h1: its variable internal" in said) != refused
