# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Machines without a pod network get the example's by its ClusterResourceSet; pods of all nodes reach each other as machines come and go."""

from __future__ import annotations

import json
import re
import typing as t

import pytest
import yaml
from lab_kubernetes import image_named
from lab_pod_network import SELECTED, WITHOUT, write_pod_network
from machines import Machines
from workspace import Workspace, cluster_documents

pytestmark = pytest.mark.full

NAME = "lab-pod-network"
# Answers with its node's name; like the example's it runs a program of the node, as the machine's images have nothing else.
ANSWER = """
import http.server, os
class Node(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(os.environ["NODE"].encode())
http.server.ThreadingHTTPServer(("", 8080), Node).serve_forever()
"""
ASK = "import sys, urllib.request\nprint(*(urllib.request.urlopen(each, timeout=10).read().decode() for each in sys.argv[1:]))"


def web() -> list[dict[str, t.Any]]:
    """A pod on each node, and a Service for all of them."""
    folders = ("usr", "lib", "lib64")
    container = {
        "name": "web",
        "image": image_named("pause"),
        "command": ["/usr/bin/python3", "-c", ANSWER],
        "env": [{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "readinessProbe": {"httpGet": {"port": 8080}, "periodSeconds": 1},
        "volumeMounts": [{"name": each, "mountPath": f"/{each}", "readOnly": True} for each in folders],
    }
    pod = {
        "tolerations": [{"operator": "Exists"}],
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
        "volumes": [{"name": each, "hostPath": {"path": f"/{each}"}} for each in folders],
    }
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": pod}
    daemon_set = {"selector": {"matchLabels": labels}, "template": template}
    service = {"selector": labels, "ports": [{"port": 80, "targetPort": 8080}]}
    metadata = {"name": "web", "namespace": "default"}
    return [
        {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": metadata, "spec": daemon_set},
        {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": service},
    ]


def wants(workspace: Workspace, replicas: int, labels: t.Mapping[str, str]) -> None:
    """Write the manifest of a cluster with these labels."""
    cluster, *others = cluster_documents(NAME, replicas=replicas, kubeadm=WITHOUT)
    cluster["metadata"]["labels"] = dict(labels)
    workspace.write(NAME, yaml.safe_dump_all([cluster, *others], sort_keys=False))


@pytest.fixture(scope="module")
def machines(workspace: Workspace) -> Machines:
    """The cluster's machines; one without a network to begin with, where a run ends in vain."""
    wants(workspace, 1, {})
    run = workspace.playbook("reconcile", "-e", "control_plane_wait_timeout=30").failed()
    assert "is not Ready (no network plugin: KubeletNotReady)" in run.text, run.output
    return Machines(workspace, NAME)


def all_reach_each_other(machines: Machines) -> None:
    """From the pod on each node those of all nodes answer, and one of them answers at the Service's address."""
    machines.kubectl("rollout", "status", "daemonset/web", "--timeout=120s")
    nodes = machines.names()
    pods = json.loads(machines.kubectl("get", "pods", "-l", "app=web", "-o", "json"))["items"]
    # The pod of a Node that is gone stays for a while.
    pods = [each for each in pods if each["spec"]["nodeName"] in nodes]
    addresses = {each["spec"]["nodeName"]: each["status"]["podIP"] for each in pods}
    assert sorted(addresses) == nodes and all(each.startswith("10.244.") for each in addresses.values()), addresses
    service = machines.kubectl("get", "service", "web", "-o", "jsonpath={.spec.clusterIP}")
    asked = [*(f"http://{addresses[node]}:8080/" for node in nodes), f"http://{service}/"]
    for pod in pods:
        words = ("exec", pod["metadata"]["name"], "--", "/usr/bin/python3", "-c", ASK, *asked)
        *answers, served = machines.kubectl(*words).split()
        assert answers == nodes and served in nodes, pod["spec"]["nodeName"]


def routes(machines: Machines) -> dict[str, list[str]]:
    """The nodes to which each node has a route of the example's, by their addresses."""
    owners = {machines.infrastructure(name)["status"]["connection"]["host"]: name for name in machines.names()}
    shown = {name: machines.ssh(name, "ip -4 route show proto 91") for name in machines.names()}
    return {name: sorted(owners[each] for each in re.findall(r"via (\S+)", text)) for name, text in shown.items()}


def test_status_says_that_there_is_no_network_and_the_way_out(workspace: Workspace, machines: Machines) -> None:
    """As a real kubelet and containerd say it."""
    [name] = machines.names()
    shown = workspace.playbook("status").succeeded().text
    assert f"NO NETWORK PLUGIN on {name}: no pod can run there to do: Install a network plugin" in shown
    assert machines.ready_nodes() == []


def test_the_examples_network_makes_nodes_ready(workspace: Workspace, machines: Machines) -> None:
    """It is applied to a cluster that is there, and two more machines join; the same manifest again changes nothing."""
    write_pod_network(workspace)
    wants(workspace, 3, SELECTED)
    workspace.playbook("reconcile").succeeded()
    assert machines.ready_nodes() == machines.names() and len(machines.names()) == 3
    again = workspace.playbook("reconcile").succeeded()
    assert again.recap(NAME)["changed"] == 0
    assert "NO NETWORK PLUGIN" not in workspace.playbook("status").succeeded().output


def test_pods_of_all_nodes_reach_each_other(workspace: Workspace, machines: Machines) -> None:
    """By their own addresses and by a Service's."""
    path = workspace.folder / "web.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": web()}))
    [name, *_others] = machines.names()
    machines.ssh(name, f"cat > /root/web.json <<'END'\n{path.read_text()}\nEND")
    machines.kubectl("apply", "-f", "/root/web.json")
    all_reach_each_other(machines)


def test_pods_reach_each_other_after_a_machine_was_replaced(workspace: Workspace, machines: Machines) -> None:
    """The new node has a route to each other one and they have one to it; that to the old one is gone."""
    before = machines.names()
    workspace.playbook("remediate", "-e", f"control_plane_machines={before[0]}").succeeded()
    now = machines.names()
    assert len(now) == 3 and set(before) - set(now) == {before[0]}
    all_reach_each_other(machines)
    assert routes(machines) == {name: [each for each in now if each != name] for name in now}
