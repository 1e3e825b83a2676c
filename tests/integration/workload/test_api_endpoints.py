# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is left of a machine in ClusterStatus and cluster-info, taken out of a real API server's objects."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml
from kubeadm_values import CLUSTER_STATUS
from stored_cluster import stored_cluster
from tasks import Playbook, Task

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

from .conftest import SYSTEM, Workload

PUBLIC = "/api/v1/namespaces/kube-public/configmaps"
INFO = f"{PUBLIC}/cluster-info"
CONFIG = f"{SYSTEM}/configmaps/kubeadm-config"
AUTHORITY = "Y2VydGlmaWNhdGU="
CONFIGURATION = "apiVersion: kubeadm.k8s.io/v1beta2\nkind: ClusterConfiguration\nkubernetesVersion: v1.20.2\n"
ENDPOINT = {"host": "api.example.org", "port": 8443}
GONE = {"removed_nodes": ["cp-2"], "endpoint": ENDPOINT}


def kubeconfig(server: str, clusters: int = 1) -> str:
    """cluster-info's kubeconfig as kubeadm writes it."""
    entry = {"cluster": {"certificate-authority-data": AUTHORITY, "server": server}, "name": ""}
    document: dict[str, t.Any] = {"apiVersion": "v1", "kind": "Config", "clusters": [entry] * clusters}
    document.update({"contexts": None, "current-context": "", "preferences": {}, "users": None})
    return yaml.safe_dump(document)


def put_info(workload: Workload, text: str) -> None:
    """cluster-info with this kubeconfig and a token's signature."""
    data = {"kubeconfig": text, "jws-kubeconfig-abcdef": "signature"}
    workload.put(PUBLIC, {"metadata": {"name": "cluster-info"}, "data": data})


def cluster(workload: Workload) -> dict[str, t.Any]:
    """The cluster that cluster-info names."""
    found = yaml.safe_load(workload.there(INFO)["data"]["kubeconfig"])
    return dict(found["clusters"][0]["cluster"])


def endpoints(workload: Workload) -> list[str]:
    """The Nodes in ClusterStatus."""
    return sorted(yaml.safe_load(workload.data("kubeadm-config")["ClusterStatus"])["apiEndpoints"])


@pytest.fixture(autouse=True)
def _objects(workload: Workload) -> None:
    workload.config_map("kubeadm-config", {"ClusterConfiguration": CONFIGURATION, "ClusterStatus": CLUSTER_STATUS})
    put_info(workload, kubeconfig("https://10.0.0.2:6443"))


def test_both_are_corrected_and_nothing_else(workload: Workload, playbook: Playbook) -> None:
    versions = workload.version(INFO), workload.version(CONFIG)
    [checked] = playbook.run(Task("api_endpoints", GONE, check=True))
    assert checked["changed"] and (workload.version(INFO), workload.version(CONFIG)) == versions
    done, again = playbook.run(Task("api_endpoints", GONE), Task("api_endpoints", GONE))
    assert done["changed"] and done["diff"] == checked["diff"] and len(done["diff"]) == 2
    assert not again["changed"] and again["cluster_info_server"] == "https://api.example.org:8443"
    assert endpoints(workload) == ["cp-1"]
    assert workload.data("kubeadm-config")["ClusterConfiguration"] == CONFIGURATION
    assert cluster(workload) == {"server": "https://api.example.org:8443", "certificate-authority-data": AUTHORITY}
    assert workload.there(INFO)["data"]["jws-kubeconfig-abcdef"] == "signature"


@pytest.mark.parametrize("missing", ["ClusterStatus", "cluster-info", "both"])
def test_what_is_not_there_is_not_made(workload: Workload, playbook: Playbook, missing: str) -> None:
    if missing != "cluster-info":
        workload.config_map("kubeadm-config", {"ClusterConfiguration": CONFIGURATION})
    if missing != "ClusterStatus":
        workload.delete(INFO)
    [done] = playbook.run(Task("api_endpoints", GONE))
    assert done["changed"] is (missing != "both")
    assert ("ClusterStatus" in workload.data("kubeadm-config")) is (missing == "cluster-info")
    assert (workload.get(INFO) is None) is (missing != "ClusterStatus")


@pytest.mark.parametrize("text", [kubeconfig("https://10.0.0.2:6443", 2), "a: [", "x\n---\ny\n", "{}", "clusters: [1]"])
def test_a_cluster_info_of_somebody_elses_is_left_alone_with_a_warning(
    workload: Workload, playbook: Playbook, text: str
) -> None:
    put_info(workload, text)
    [done] = playbook.run(Task("api_endpoints", GONE))
    assert not done.get("failed") and endpoints(workload) == ["cp-1"]
    assert "was left alone" in done["warnings"][0] and done["cluster_info_server"] is None
    assert workload.there(INFO)["data"]["kubeconfig"] == text


def test_a_cluster_status_that_cannot_be_read_stops_it_before_anything_is_written(
    workload: Workload, playbook: Playbook
) -> None:
    workload.config_map("kubeadm-config", {"ClusterConfiguration": CONFIGURATION, "ClusterStatus": "a: ["})
    failed, nothing = playbook.run(Task("api_endpoints", GONE), Task("api_endpoints", {}))
    assert failed["failed"] and "key ClusterStatus can't be read" in failed["msg"]
    assert cluster(workload)["server"] == "https://10.0.0.2:6443"
    assert nothing["failed"] and "there is nothing to correct" in nothing["msg"]


def test_the_users_own_control_plane_endpoint_comes_before_the_clusters(
    workload: Workload, playbook: Playbook, tmp_path: Path
) -> None:
    """It is what kubeadm was told, and wrote into cluster-info first."""
    written = {
        "api.example.com": "https://api.example.com:6443",
        "api.example.com:443": "https://api.example.com:443",
        "[fd00::1]:6444": "https://[fd00::1]:6444",
        "": "https://10.0.0.100:8443",
    }
    tasks = []
    for number, text in enumerate(written):
        store = tmp_path / f"store-{number}"
        stored_cluster(store, "v1.20.2", {"controlPlaneEndpoint": text} if text else {}, {}, machines={"m-1": "node"})
        endpoint = {"host": "10.0.0.100", "port": 8443}
        FileStore(str(store)).modify(
            ("cluster.x-k8s.io", "Cluster"),
            "default",
            "prod",
            lambda found, e=endpoint: found["spec"].update(controlPlaneEndpoint=e),
        )
        tasks.append(Task("api_endpoints", {"cluster": "prod", "store": {"path": str(store)}}))
    assert [done.get("cluster_info_server") for done in playbook.run(*tasks)] == list(written.values())


def test_through_the_machines_of_a_stored_cluster(workload: Workload, tmp_path: Path) -> None:
    """The Cluster's endpoint is the one; machines that don't answer are passed over."""
    store = tmp_path / "store"
    stored_cluster(store, "v1.20.2", {}, {}, machines={"m-1": "node", "m-2": "dead"})
    reference = ("cluster.x-k8s.io", "Cluster")
    FileStore(str(store)).modify(
        reference, "default", "prod", lambda found: found["spec"].update(controlPlaneEndpoint={"host": "fd00::1"})
    )
    dead = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
    hosts = {"prod": {}, "node": {}, "dead": dead}
    playbook = Playbook(tmp_path, workload.server.kubeconfig, workload.server.kubectl, hosts)
    common = {"cluster": "prod", "store": {"path": str(store)}}
    only, done = playbook.run(
        Task("api_endpoints", common), Task("api_endpoints", {**common, "removed_nodes": ["cp-1", "cp-3"]})
    )
    assert only["changed"] and cluster(workload)["server"] == "https://[fd00::1]:6443"
    assert done["changed"] and endpoints(workload) == ["cp-2"]
