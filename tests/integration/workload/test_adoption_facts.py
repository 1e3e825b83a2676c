# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What adopting reads of a host: keys, sealed; the kubelet's flags; Machine objects of Cluster API, from a real API server."""

from __future__ import annotations

import dataclasses
import json
import time
import typing as t
from pathlib import Path

import pytest
from api_server import ApiServer
from filled_api import places

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import sealed
from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.values import now_rfc3339
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.bootstrap import bootstrap_unit
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host.host_facts import HostPlaces
from ansible_collections.kubeadm.control_plane.plugins.module_utils.observe import adoption_facts
from ansible_collections.kubeadm.control_plane.plugins.module_utils.observe.adoption_facts import Places
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.pki.certificates import ca_cert_hash, new_ca

Object = dict[str, t.Any]
GROUP = "cluster.x-k8s.io"
FILES = {
    "ca.crt": "CA",
    "ca.key": "CA KEY",
    "sa.pub": "SA",
    "sa.key": "SA KEY",
    "front-proxy-ca.crt": "PROXY",
    "etcd/ca.crt": "ETCD",
    "etcd/ca.key": "ETCD KEY",
}


class Host:
    """A host's files, with the API server of the tests on it."""

    def __init__(self, server: ApiServer, folder: Path) -> None:
        self.folder = folder
        observed = places(server, folder)
        self.places = Places(
            manifests=observed.manifests,
            kubeconfig=observed.kubeconfig,
            kubectl=observed.kubectl,
            kubelet_flags=str(folder / "kubeadm-flags.env"),
            pki=str(folder / "pki"),
        )
        for name, text in FILES.items():
            path = folder / "pki" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def read(self, configuration: str = "kind: ClusterConfiguration\n") -> tuple[Object, Object]:
        """What the module returns, and the keys."""
        key = sealed.new_key()
        found = adoption_facts.read(configuration, key, 5.0, self.places)
        assert "KEY" not in json.dumps(found)
        return found, dict(json.loads(sealed.unseal(key, found["sealed"])))


@pytest.fixture
def host(server: ApiServer, tmp_path: Path) -> Host:
    return Host(server, tmp_path)


def test_authorities_and_keys(host: Host) -> None:
    """Where kubeadm says that they are; a key that is not there is not there."""
    found, keys = host.read()
    assert found["public"] == {"ca": "CA\n", "sa": "SA\n", "proxy": "PROXY\n", "etcd": "ETCD\n"}
    assert keys == {"ca": "CA KEY\n", "sa": "SA KEY\n", "etcd": "ETCD KEY\n"}
    assert found["withKey"] == ["ca", "etcd", "sa"]
    (host.folder / "pki").rename(host.folder / "elsewhere")
    found, keys = host.read(f"certificatesDir: {host.folder}/elsewhere/\n")
    assert found["certificatesDir"] == f"{host.folder}/elsewhere" and len(keys) == 3


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            'KUBELET_KUBEADM_ARGS="--network-plugin=cni --node-labels=rack=a,zone=b"\n',
            [["network-plugin", "cni"], ["node-labels", "rack=a,zone=b"]],
        ),
        ('KUBELET_KUBEADM_ARGS="--fail-swap-on"\n', [["fail-swap-on", "true"]]),
        ("KUBELET_KUBEADM_ARGS=\n", []),
        ("OTHER=1\n", []),
        ('KUBELET_KUBEADM_ARGS="--a=1\n', []),
    ],
)
def test_the_kubelets_flags(text: str, expected: list[list[str]]) -> None:
    assert adoption_facts.kubelet_arguments(text) == expected


def test_machines_of_cluster_api(server: ApiServer, host: Host) -> None:
    """Not served, then served without any, then there."""
    found, _keys = host.read()
    assert found["clusterAPI"] == {"served": False, "machines": [], "message": ""}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1beta1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    names = {"plural": "machines", "singular": "machine", "kind": "Machine", "listKind": "MachineList"}
    server.create(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"machines.{GROUP}"},
            "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
        },
    )
    server.until_served(f"/apis/{GROUP}/v1beta1/machines")
    found, _keys = host.read()
    assert found["clusterAPI"] == {"served": True, "machines": [], "message": ""}
    server.create(
        f"/apis/{GROUP}/v1beta1/namespaces/default/machines",
        {
            "apiVersion": f"{GROUP}/v1beta1",
            "kind": "Machine",
            "metadata": {"name": "prod-x", "labels": {f"{GROUP}/control-plane": ""}},
            "status": {"nodeRef": {"name": "cp-1"}},
        },
    )
    found, _keys = host.read()
    machine = {"name": "prod-x", "namespace": "default", "node": "cp-1", "controlPlane": True}
    manager = {
        "metadata": {"labels": {"app.kubernetes.io/managed-by": ""}},
        "spec": {"conversion": {"strategy": "None"}},
    }
    assert found["clusterAPI"] == {"served": True, "machines": [machine], "message": "", "definition": manager}


def test_an_api_that_can_not_be_asked_is_no_answer(host: Host) -> None:
    host.places = dataclasses.replace(host.places, kubeconfig=str(host.folder / "missing.conf"))
    found, _keys = host.read()
    assert found["clusterAPI"]["served"] is None and found["clusterAPI"]["message"]


def test_whose_the_host_is_and_what_it_lacks(host: Host, tmp_path: Path) -> None:
    """A claim that can't be read is nobody's consent."""
    where = dataclasses.replace(HostPlaces(node=bootstrap_unit.Places(state=str(tmp_path))), kubelet="/bin/false")
    found = adoption_facts.fitness({}, time.time() - 90, where)
    assert found["claim"] is None
    assert {each["check"] for each in found["missing"]} >= {"KubeletVersion", "ClockSkew"}
    (tmp_path / "claim.json").write_text("{")
    found = adoption_facts.fitness({}, None, where)
    assert found["claim"] is None and found["missing"][0]["check"] == "Claim"


@pytest.mark.parametrize("made_by", ["", "etcd.yaml"])
def test_which_etcd_kubeadm_did_not_make(host: Host, tmp_path: Path, made_by: str) -> None:
    """Of a worker, too: neither host is ever reset."""
    (tmp_path / "proc").mkdir()
    (tmp_path / "etcd/member").mkdir(parents=True)
    (tmp_path / "manifests").mkdir()
    (tmp_path / "manifests" / (made_by or "kube-apiserver.yaml")).touch()
    node = bootstrap_unit.Places(state=str(tmp_path), kubernetes=str(tmp_path), etcd_data=str(tmp_path / "etcd"))
    where = dataclasses.replace(HostPlaces(node=node), kubelet="/bin/false", proc=str(tmp_path / "proc"))
    said = "" if made_by else f"an etcd's data are on this host ({tmp_path}/etcd/member)"
    assert adoption_facts.fitness({}, None, where)["otherEtcd"] == said
    assert adoption_facts.worker({}, None, host.places, where)["otherEtcd"] == said


def test_whose_worker_a_host_is(host: Host, tmp_path: Path) -> None:
    """By the CA that kubeadm put there. Its address is not judged: only the cluster's API knows which it has there."""
    (host.folder / "kubeadm-flags.env").write_text('KUBELET_KUBEADM_ARGS="--max-pods=7"\n')
    node = bootstrap_unit.Places(state=str(tmp_path), kubernetes=str(tmp_path))
    where = dataclasses.replace(HostPlaces(node=node), kubelet="/bin/false")
    found = adoption_facts.worker({}, None, host.places, where)
    assert (found["caCertHash"], found["claim"]) == ("", None)
    checks = {each["check"] for each in found["missing"]}
    assert "KubeletVersion" in checks and "Address" not in checks
    (tmp_path / "pki" / "ca.crt").write_text(new_ca("ca", now_rfc3339(), "ECDSA-P256").crt)
    found = adoption_facts.worker({}, None, host.places, where)
    assert found["caCertHash"] == ca_cert_hash((tmp_path / "pki" / "ca.crt").read_text())
    assert found["kubeletArguments"] == [["max-pods", "7"]]
