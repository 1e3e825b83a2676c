# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Single objects of any kind from a real API server: what it calls them, which there are not, and which are not read."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from api_server import ApiServer
from builders import healthy
from etcd_cluster import free_port
from filled_api import SECRET, places
from observed import Machines, objects_of

from ansible_collections.kubeadm.control_plane.plugins.module_utils.observe.collect import Looks, collect
from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload_api.api import ApiClient, read_access
from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload_api.wanted import read_wanted
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observe.observation import observe

QUICK = Looks(count=1, interval=0.0, timeout=5.0)
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def read(server: ApiServer, *wanted: dict[str, str]) -> list[dict[str, t.Any]]:
    with server.client() as client:
        return read_wanted(client, wanted)


def one(server: ApiServer, api_version: str, kind: str, name: str, namespace: str = "") -> dict[str, t.Any]:
    wanted = {"apiVersion": api_version, "kind": kind, "name": name, "namespace": namespace}
    return read(server, wanted)[0]


@pytest.mark.parametrize(
    ("api_version", "kind", "name", "namespace"),
    [
        ("v1", "Node", "worker-1", ""),
        ("v1", "ConfigMap", "kubeadm-config", "kube-system"),
        ("v1", "Namespace", "kube-public", ""),
        ("apps/v1", "DaemonSet", "kube-proxy", "kube-system"),
        ("rbac.authorization.k8s.io/v1", "Role", "kubeadm:bootstrap-signer-clusterinfo", "kube-public"),
    ],
)
def test_the_api_is_asked_what_it_calls_a_kind(
    server: ApiServer, api_version: str, kind: str, name: str, namespace: str
) -> None:
    found = one(server, api_version, kind, name, namespace)
    assert (found["found"], found["message"]) == (True, "")
    assert found["object"]["metadata"]["name"] == name
    assert "managedFields" not in found["object"]["metadata"]


def test_what_is_missing_is_told_from_what_can_not_be_asked(server: ApiServer) -> None:
    assert one(server, "v1", "ConfigMap", "none")["found"] is False
    assert one(server, "v1", "ConfigMap", "none", "no-such-namespace")["found"] is False
    for wanted, said in (
        (("v1", "Deployment", "x"), "serves no kind Deployment in v1"),
        (("apps/v9", "Deployment", "x"), "serves no kind Deployment in apps/v9"),
        (("v1", "Node", "worker-1", "default"), "have no namespace"),
        (("v1", "Pod", ".."), "not a name"),
        (("../v1", "Pod", "x"), "not an apiVersion"),
        (("v1", "ConfigMap", "UPPER"), ""),
    ):
        found = one(server, *wanted)
        assert found["object"] is None and said in found["message"]
        assert found["found"] is (False if wanted[2] == "UPPER" else None)


def test_no_secret_is_read(server: ApiServer) -> None:
    found = one(server, "v1", "Secret", "theirs", "kube-system")
    assert found == {"found": None, "object": None, "message": "Secrets are not read"}


def test_a_part_of_an_object_is_not_the_object(server: ApiServer) -> None:
    """The API lists deployments/scale under the kind Scale of another group."""
    assert "serves no kind Scale" in one(server, "apps/v1", "Scale", "x")["message"]


def test_large_objects_stay_where_they_are(server: ApiServer) -> None:
    names = []
    for number, size in enumerate([300_000, *[250_000] * 5]):
        names.append(f"large-{number}")
        server.create(CONFIG_MAPS, {"metadata": {"name": names[-1]}, "data": {"x": "y" * size}})
    found = read(server, *[{"apiVersion": "v1", "kind": "ConfigMap", "name": name} for name in names])
    assert [each["found"] for each in found] == [None, True, True, None, None, None]
    assert "larger than 262144 bytes" in found[0]["message"] and "together" in found[3]["message"]
    many = read(server, *[{"apiVersion": "v1", "kind": "Node", "name": "cp-1"}] * 21)
    assert [each["found"] for each in many] == [True] * 20 + [None]


def test_an_api_that_is_gone_is_asked_once(server: ApiServer) -> None:
    access = read_access(server.kubeconfig, server.kubectl)
    with ApiClient(access, f"https://127.0.0.1:{free_port()}", 1.0) as client:
        found = read_wanted(client, [{"apiVersion": "v1", "kind": "Node", "name": "cp-1"}] * 3)
    assert [each["found"] for each in found] == [None] * 3
    assert "does not answer" in found[0]["message"] and "not asked" in found[2]["message"]


def test_gates_over_real_objects(server: ApiServer, tmp_path: Path) -> None:
    """A custom resource too: its kind is made here, and the API is asked for its plural."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    crd = {
        "metadata": {"name": "walruses.example.org"},
        "spec": {
            "group": "example.org",
            "scope": "Namespaced",
            "names": {"plural": "walruses", "singular": "walrus", "kind": "Walrus"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    server.create(CRDS, crd)
    server.until_served("/apis/example.org/v1/namespaces/default/walruses")
    server.create("/apis/example.org/v1/namespaces/default/walruses", WALRUS)
    gates = [
        gate("proxy", "apps/v1", "DaemonSet", "kube-proxy", "status.numberReady == status.desiredNumberScheduled"),
        gate("config", "v1", "ConfigMap", "kubeadm-config", "contains(data.ClusterConfiguration, 'kind')"),
        gate("text", "v1", "ConfigMap", "kubeadm-config", "data.ClusterConfiguration"),
        gate("none", "v1", "ConfigMap", "none", "data"),
        gate("kind", "example.com/v1", "Walrus", "w", "spec"),
        {**gate("walrus", "example.org/v1", "Walrus", "w", "spec.tusks == `2`"), "namespace": "default"},
    ]
    builder = healthy(1).annotate("kubeadm.control-plane/readiness-gates", json.dumps(gates))
    machines = Machines(
        {"m1": lambda given: collect(QUICK, None, places(server, tmp_path), given.get("objects") or ())}
    )
    snapshot = observe(objects_of(builder, tmp_path / "store"), machines, "2026-01-31T12:00:00Z", look_again=False)
    found = {each["name"]: (each["status"], each["message"]) for each in snapshot["readinessGates"]}
    assert {name: status for name, (status, _message) in found.items()} == {
        "proxy": "False",
        "config": "True",
        "text": "Unknown",
        "none": "False",
        "kind": "Unknown",
        "walrus": "True",
    }
    assert "does not exist" in found["none"][1] and "serves no kind" in found["kind"][1]
    text = json.dumps(snapshot)
    assert SECRET not in text and "tusks" not in json.dumps(snapshot["readinessGates"])
    assert snapshot["workload"]["workerVersions"] == {"v1.19.7": 2, "v1.20.2": 1}


WALRUS = {"apiVersion": "example.org/v1", "kind": "Walrus", "metadata": {"name": "w"}, "spec": {"tusks": 2}}


def gate(name: str, api_version: str, kind: str, object_name: str, expression: str) -> dict[str, str]:
    return {
        "name": name,
        "apiVersion": api_version,
        "kind": kind,
        "namespace": "kube-system",
        "objectName": object_name,
        "expression": expression,
    }
