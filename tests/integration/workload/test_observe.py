# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The observation of a real API server and etcd, and what the controller makes of it."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import pytest
from api_server import ApiServer
from cryptography.x509.oid import ExtendedKeyUsageOID
from etcd_cluster import Authority, free_port
from filled_api import PODS, SECRET, places

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.observe.collect import Looks, Places, collect
from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload_api.api import ApiError, read_access
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observe.parse import parse

QUICK = Looks(count=2, interval=0.05, timeout=5.0)


def test_an_observation_becomes_the_workload_part_of_a_snapshot(server: ApiServer, tmp_path: Path) -> None:
    observation = json.loads(json.dumps(collect(QUICK, None, places(server, tmp_path))))
    workload = parse(observation, "prod-1")
    assert workload["reachable"] and workload["via"] == "prod-1" and workload["message"] == ""
    assert workload["initialized"] is True
    assert workload["endpoint"] == {"answers": True, "message": ""}
    assert workload["kubeadmConfig"]["clusterConfiguration"] == "kind: ClusterConfiguration\n"
    assert workload["workerNodes"] == ["worker-1", "worker-2", "worker-3"]
    assert workload["workerVersions"] == {"v1.19.7": 2, "v1.20.2": 1}
    [node] = workload["nodes"]
    assert (node["name"], node["ready"], node["kubeletVersion"], node["machineID"], node["internalIP"]) == (
        "cp-1",
        "True",
        "v1.20.2",
        "id-of-cp-1",
        "10.0.0.1",
    )
    assert {"key": "node-role.kubernetes.io/master", "effect": "NoSchedule"} in node["taints"]
    assert sorted(workload["pods"]["cp-1"]) == ["etcd", "kube-apiserver"]
    assert workload["pods"]["cp-1"]["etcd"]["ready"] and workload["pods"]["cp-1"]["etcd"]["image"] == "etcd:v1"
    assert workload["etcd"]["reachable"] and workload["etcd"]["memberListAgrees"] is True
    assert workload["addons"]["kubeProxy"] == {
        "present": True,
        "desired": 2,
        "ready": 1,
        "updated": 0,
        "image": "kube-proxy:v1.20.2",
    }
    assert workload["addons"]["dns"]["present"] is False
    registration = workload["addons"]["bootstrap"]
    assert registration["clusterInfo"] is True and registration["bootstrapTokenRBAC"] is False
    assert "ClusterRoleBinding kubeadm:kubelet-bootstrap is missing" in registration["message"]
    asked = datetime.datetime.strptime(workload["now"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=datetime.timezone.utc)
    assert abs((datetime.datetime.now(datetime.timezone.utc) - asked).total_seconds()) < 60


def test_nothing_secret_is_observed(server: ApiServer, tmp_path: Path) -> None:
    text = json.dumps(collect(QUICK, None, places(server, tmp_path)))
    assert SECRET not in text
    assert "PRIVATE KEY" not in text
    assert "managedFields" not in text


def test_an_endpoint_that_is_dead_or_somebody_else_is_said_so(
    server: ApiServer, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    where = places(server, tmp_path)
    dead = parse(collect(QUICK, f"127.0.0.1:{free_port()}", where), "prod-1")
    assert dead["reachable"] and dead["endpoint"]["answers"] is False
    assert "refused" in dead["endpoint"]["message"]
    stranger = ApiServer.__new__(ApiServer)
    stranger.kubeconfig = str(tmp_path / "other.conf")
    other = Authority(tmp_path / "other", "kubernetes")
    admin = other.issue("admin", (ExtendedKeyUsageOID.CLIENT_AUTH,))
    stranger.write_kubeconfig(server.url, other.ca_file, admin)
    foreign = parse(collect(QUICK, None, Places(**{**vars(where), "kubeconfig": stranger.kubeconfig})), "prod-1")
    assert foreign["endpoint"]["answers"] is False
    assert "not trusted" in foreign["endpoint"]["message"]
    assert foreign["reachable"] is False and foreign["initialized"] is None


def test_a_dead_api_is_reported_with_what_etcd_says(server: ApiServer, tmp_path: Path) -> None:
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    (manifests / "etcd.yaml").write_text("x")
    (manifests / "kube-apiserver.yaml").write_text(f"- --advertise-address=127.0.0.1\n- --secure-port={free_port()}\n")
    where = Places(**{**vars(places(server, tmp_path)), "manifests": str(manifests)})
    workload = parse(collect(QUICK, None, where), "prod-1")
    assert workload["reachable"] is False and "refused" in workload["message"]
    assert workload["initialized"] is None
    assert workload["etcd"]["reachable"] is True
    assert workload["endpoint"]["answers"] is True
    assert workload["machine"]["staticPodManifests"] == ["kube-apiserver", "etcd"]


def test_a_machine_without_a_control_plane_is_no_error(server: ApiServer, tmp_path: Path) -> None:
    where = Places(**{**vars(places(server, tmp_path)), "manifests": str(tmp_path / "none")})
    workload = parse(collect(QUICK, None, where), "prod-1")
    assert workload["reachable"] is False
    assert workload["etcd"]["reachable"] is False
    assert "no etcd runs on this machine" in workload["etcd"]["message"]
    assert "no control plane node" in workload["message"]
    assert workload["machine"]["bootstrap"]["state"] == "Absent"


def test_an_external_etcd_is_told_from_a_missing_one(server: ApiServer, tmp_path: Path) -> None:
    manifests = tmp_path / "manifests"
    manifests.mkdir()
    for address, expected in (("10.1.1.1", None), ("127.0.0.1", False)):
        text = (
            f"- --advertise-address=127.0.0.1\n- --secure-port={server.port}\n- --etcd-servers=https://{address}:2379\n"
        )
        (manifests / "kube-apiserver.yaml").write_text(text)
        where = Places(**{**vars(places(server, tmp_path)), "manifests": str(manifests)})
        workload = parse(collect(QUICK, None, where), "prod-1")
        assert workload["reachable"] is True
        assert (workload["etcd"] and workload["etcd"]["reachable"]) is expected


def test_a_kubeconfig_that_can_not_be_used_is_explained(server: ApiServer, tmp_path: Path) -> None:
    path = tmp_path / "admin.conf"
    path.write_text("not: [a kubeconfig")
    with pytest.raises(NodeError, match="can't be used"):
        read_access(str(path), server.kubectl)
    with pytest.raises(NodeError, match="kubectl is not on this machine"):
        read_access(server.kubeconfig, str(tmp_path / "kubectl"))


def test_the_api_refusing_is_an_error_with_its_words(server: ApiServer) -> None:
    with server.client() as client:
        with pytest.raises(ApiError, match="HTTP 4") as refused:
            client.checked(client.send("POST", PODS, {"metadata": {"name": "UPPER"}}), PODS)
        assert refused.value.status in (400, 422)
        assert client.get("/api/v1/namespaces/none") is None


def test_lists_are_read_page_by_page(server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ansible_collections.kubeadm.control_plane.plugins.module_utils.workload_api.api._PAGE", 1)
    with server.client() as client:
        assert len(client.list("/api/v1/nodes")) == 4
        assert len(client.list(PODS, "tier=control-plane")) == 2
        assert client.list(PODS, "tier=none") == []
