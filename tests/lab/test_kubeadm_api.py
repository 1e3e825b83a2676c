# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One form of configuration for all versions: real machines with a kubeadm that writes one API version and reads older ones."""

from __future__ import annotations

import base64
import json
import typing as t

import pytest
from kubeadm_values import golden
from lab_kubernetes import VERSION
from machines import Machines
from workspace import Workspace

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import kubernetes_facts, kubernetes_versions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.kubeadm.configuration import any_form, for_version

pytestmark = pytest.mark.full

NAME = "lab-kubeadm-api"
API = kubernetes_versions.api_version_for(VERSION).api_version
# Written as kubeadm's v1beta4 has it, which a kubeadm before 1.31 has never heard of.
SPEC: dict[str, t.Any] = {
    "clusterConfiguration": {
        "apiServer": {
            "extraArgs": [{"name": "audit-log-maxage", "value": "7"}, {"name": "v", "value": "2"}],
            "certSANs": ["api.lab.example.org"],
        },
        "controllerManager": {"extraArgs": [{"name": "node-monitor-grace-period", "value": "50s"}]},
        "scheduler": {"extraArgs": [{"name": "v", "value": "2"}]},
        "etcd": {"local": {"extraArgs": [{"name": "quota-backend-bytes", "value": "4294967296"}]}},
        "networking": {"dnsDomain": "lab.local"},
    },
    "initConfiguration": {
        "nodeRegistration": {
            "taints": [],
            "kubeletExtraArgs": [{"name": "node-labels", "value": "lab=init"}, {"name": "v", "value": "3"}],
            "imagePullPolicy": "IfNotPresent",
        },
        "timeouts": {"controlPlaneComponentHealthCheckSeconds": 360},
    },
    "joinConfiguration": {
        "nodeRegistration": {
            "kubeletExtraArgs": [{"name": "node-labels", "value": "lab=join"}],
            "imagePullSerial": True,
        },
        "timeouts": {
            "controlPlaneComponentHealthCheckSeconds": 360,
            "discoverySeconds": 240,
            "tlsBootstrapSeconds": 300,
        },
    },
}


@pytest.fixture(scope="module")
def machines(workspace: Workspace) -> Machines:
    """The machines of a cluster made from SPEC."""
    workspace.manifest(NAME, replicas=3, kubeadm=SPEC)
    workspace.playbook("reconcile", "--limit", NAME).succeeded()
    return Machines(workspace, NAME)


def is_part(wanted: t.Any, found: t.Any) -> bool:
    """Whether everything in `wanted` is in `found`, which may have more (kubeadm's defaults)."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(is_part(value, found.get(key)) for key, value in wanted.items())
    if isinstance(wanted, list):
        return isinstance(found, list) and all(each in found for each in wanted)
    return bool(wanted == found)


def stored(machines: Machines) -> dict[str, str]:
    """The data of the ConfigMap kubeadm-config."""
    shown = machines.kubectl("-n", "kube-system", "get", "configmap", "kubeadm-config", "-o", "json")
    return dict(json.loads(shown)["data"])


def test_the_stored_configuration_reads_back_equal(machines: Machines) -> None:
    """What kubeadm keeps of it, in its own version, is what was written, in ours."""
    text = stored(machines)["ClusterConfiguration"]
    assert API in text
    found = any_form.read(text)
    assert found.warnings == ()
    assert is_part(SPEC["clusterConfiguration"], found.hub["clusterConfiguration"]), found.hub
    assert found.hub["initConfiguration"]["timeouts"] == SPEC["initConfiguration"]["timeouts"]
    assert found.hub["clusterConfiguration"]["kubernetesVersion"] == VERSION
    # Through the hub and back nothing changes.
    again = for_version.write(found.hub, VERSION, parts=("clusterConfiguration",))
    assert any_form.read(again.text).hub == found.hub


@pytest.mark.skipif(not kubernetes_facts.has_cluster_status(VERSION), reason=f"kubeadm {VERSION} keeps none")
def test_the_cluster_status_names_every_machine(machines: Machines) -> None:
    """kubeadm before 1.22 keeps the endpoints; they are part of the hub too."""
    found = any_form.read(stored(machines)["ClusterStatus"]).hub["clusterStatus"]["apiEndpoints"]
    assert sorted(found) == machines.names()
    assert {each["bindPort"] for each in found.values()} == {6443}


def test_kubeadm_acted_on_it(machines: Machines) -> None:
    """Arguments, labels and taints arrived at the processes and nodes."""
    nodes = json.loads(machines.kubectl("get", "nodes", "-o", "json"))["items"]
    labels = sorted(node["metadata"]["labels"]["lab"] for node in nodes)
    assert labels == ["init", "join", "join"]
    for node in nodes:
        taints = [taint["key"] for taint in node["spec"].get("taints", []) if taint["effect"] == "NoSchedule"]
        first = node["metadata"]["labels"]["lab"] == "init"
        assert taints == ([] if first else list(kubernetes_facts.default_taint_keys(VERSION)))
    for name in machines.names():
        shown = machines.ssh(name, "cat /etc/kubernetes/manifests/*.yaml")
        for argument in ("--audit-log-maxage=7", "--node-monitor-grace-period=50s", "--quota-backend-bytes=4294967296"):
            assert argument in shown


def test_a_second_reconcile_changes_nothing(workspace: Workspace, machines: Machines) -> None:
    """The form that was written is the form that is compared."""
    del machines
    assert workspace.playbook("reconcile", "--limit", NAME).succeeded().recap(NAME)["changed"] == 0


@pytest.mark.parametrize(
    "api", [each.number for each in kubernetes_versions.APIS if kubernetes_versions.readable_by(VERSION, each.number)]
)
@pytest.mark.parametrize("name", ["init", "join"])
def test_the_machines_kubeadm_accepts_every_field(machines: Machines, name: str, api: int) -> None:
    """kubeadm's strict path: `config migrate` decodes strictly and says what it doesn't know."""
    hub = any_form.read(golden(name, api)).hub
    for key in ("kubeletConfiguration", "kubeProxyConfiguration"):
        hub.pop(key, None)
    if "clusterConfiguration" in hub:
        # kubeadm deploys few versions beside its own.
        hub["clusterConfiguration"]["kubernetesVersion"] = VERSION
    written = for_version.write(hub, VERSION, api=api)
    assert written.api_version == f"kubeadm.k8s.io/v1beta{api}"
    encoded = base64.b64encode(written.text.encode()).decode()
    path = f"/run/{name}.{api}.yaml"
    command = f"echo {encoded} | base64 -d > {path} && kubeadm config migrate --old-config {path} 2>&1; rm {path}"
    shown = machines.ssh(machines.names()[0], command)
    assert f"apiVersion: {API}" in shown
    assert "unmarshal" not in shown
