# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module node_configuration on a real control plane in namespaces: kubeadm, etcd and the components are the real ones."""

from __future__ import annotations

import copy
import json
import shlex
import sys
import typing as t
from pathlib import Path

import pytest
import yaml
from namespaced_node import ADDRESS, NAME, NamespacedNode, missing

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.certificates.alternative_names import (
    alternative_names,
)

pytestmark = [pytest.mark.full, pytest.mark.skipif(bool(missing()), reason=missing())]
SAN = "api.example.com"
PKI = "/etc/kubernetes/pki"
# systemd as far as transient units go: each is a process, whose number is kept.
SYSTEMD_RUN = """\
#!/bin/sh
for word in "$@"; do
    shift
    case "$word" in --unit=*) unit="${word#--unit=}" ;; --) break ;; esac
done
mkdir -p /run/units
setsid "$@" >/dev/null 2>&1 </dev/null &
echo $! > "/run/units/$unit"
"""
SYSTEMCTL = """\
#!/bin/sh
case "$*" in
    *restart*kubelet*) touch /run/kubelet-restart ;;
    *show*MainPID*) echo "MainPID=$(cat /run/kubelet-pid 2>/dev/null || echo 0)" ;;
    *show*LoadState*)
        state=inactive
        [ -f "/run/units/$2" ] && [ -d "/proc/$(cat "/run/units/$2")" ] && state=active
        printf 'LoadState=loaded\\nActiveState=%s\\nResult=success\\nExecMainStatus=0\\n' "$state" ;;
    *reset-failed*) : ;;
esac
"""


class Node:
    """The node, and the configuration that it has."""

    def __init__(self, node: NamespacedNode) -> None:
        self.node = node
        for name, text in (("systemd-run", SYSTEMD_RUN), ("systemctl", SYSTEMCTL)):
            node.write(f"/usr/local/sbin/{name}", text, 0o755)
        text = node.kubectl("-n", "kube-system", "get", "configmap", "kubeadm-config", "-o", "json")
        self.stored: dict[str, t.Any] = yaml.safe_load(json.loads(text)["data"]["ClusterConfiguration"])

    def change(self, step: str, configuration: dict[str, t.Any], components: list[str], **more: t.Any) -> t.Any:
        """Run the module to the end of the work."""
        arguments = {
            "step": step,
            "work": "control_plane",
            "node": NAME,
            "configuration": json.dumps(configuration),
            "previous": json.dumps(self.stored),
            "components": components,
            "wait": 300,
            "timeout": 240,
        }
        return self.node.module("node_configuration", {**arguments, **more})

    def served(self) -> frozenset[str]:
        """The names in the certificate that the API server presents."""
        program = f"import ssl; print(ssl.get_server_certificate(('{ADDRESS}', 6443)))"
        return alternative_names(self.node.run("python3", "-c", program).stdout)

    def process(self, component: str) -> str:
        """A component's process and its command line."""
        return self.node.run("pgrep", "-a", "-f", f"/{component} --").stdout


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Node]:
    """A control plane of one node."""
    made = NamespacedNode(tmp_path_factory.mktemp("node"))
    try:
        made.make()
        yield Node(made)
    finally:
        made.stop()


def test_what_kubeadm_made_is_as_the_configuration_says(node: Node) -> None:
    """Nothing to do for the configuration as it is."""
    components = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"]
    result = node.change("same", node.stored, components, certificates=["apiserver", "etcd-server", "etcd-peer"])
    assert (result["state"], result["changes"], result["changed"]) == ("Succeeded", [], False)


def test_a_new_name_and_a_new_flag(node: Node) -> None:
    """Both are served by a new process; etcd goes on."""
    wanted = copy.deepcopy(node.stored)
    wanted["apiServer"] = {**wanted["apiServer"], "certSANs": [SAN], "extraArgs": {"audit-log-maxage": "30"}}
    # The scheduler may lose its lease while the only API server starts anew, and ends then.
    etcd = node.process("etcd")
    preview = node.change("new", wanted, ["kube-apiserver"], certificates=["apiserver"], only_compare=True)
    assert preview["state"] == "Absent"
    assert SAN not in node.served()
    result = node.change("new", wanted, ["kube-apiserver"], certificates=["apiserver"])
    assert result["state"] == "Succeeded", (result, node.node.logs())
    assert result["changes"] == [
        "kube-apiserver --audit-log-maxage: not set -> '30'",
        f"certificate apiserver: a new one with {SAN}",
    ]
    assert SAN in node.served()
    assert "--audit-log-maxage=30" in node.process("kube-apiserver")
    assert node.process("etcd") == etcd
    assert NAME in node.node.kubectl("get", "nodes")
    again = node.change("new", wanted, ["kube-apiserver"], certificates=["apiserver"])
    assert (again["state"], again["changed"]) == ("Succeeded", False)
    node.stored = wanted


def test_a_name_alone_restarts_the_api_server(node: Node) -> None:
    """The manifest is the same; the certificate is another."""
    wanted = copy.deepcopy(node.stored)
    wanted["apiServer"]["certSANs"] = [SAN, "other.example.com"]
    before = node.process("kube-apiserver").split()[0]
    result = node.change("name", wanted, ["kube-apiserver"], certificates=["apiserver"])
    assert result["state"] == "Succeeded", (result, node.node.logs())
    assert "other.example.com" in node.served()
    assert node.process("kube-apiserver").split()[0] != before
    node.stored = wanted


def test_a_bad_flag_goes_back(node: Node) -> None:
    """Manifest, certificate and process are as before, and the API answers."""
    wanted = copy.deepcopy(node.stored)
    wanted["apiServer"]["certSANs"] = ["third.example.com"]
    wanted["apiServer"]["extraArgs"]["no-such-flag"] = "1"
    files = f"cat /etc/kubernetes/manifests/kube-apiserver.yaml {PKI}/apiserver.crt {PKI}/apiserver.key"
    before = node.node.run("sh", "-c", files).stdout
    result = node.change("bad", wanted, ["kube-apiserver"], certificates=["apiserver"], timeout=90)
    assert result["failed"], result
    assert result["state"] == "RolledBack", (result, node.node.logs())
    assert "Everything was put back as it was, and is healthy." in result["msg"]
    assert node.node.run("sh", "-c", files).stdout == before
    assert "third.example.com" not in node.served()
    assert NAME in node.node.kubectl("get", "nodes")


def test_etcd_with_a_certificate_for_another_name(node: Node) -> None:
    """A single member: its API server loses it for a moment, and comes back."""
    wanted = copy.deepcopy(node.stored)
    wanted["etcd"]["local"].update(extraArgs={"quota-backend-bytes": "4294967296"}, serverCertSANs=[SAN])
    result = node.change("etcd", wanted, ["etcd"], certificates=["etcd-server", "etcd-peer"])
    assert result["state"] == "Succeeded", (result, node.node.logs())
    assert "--quota-backend-bytes=4294967296" in node.process("etcd")
    assert SAN in alternative_names(node.node.run("cat", f"{PKI}/etcd/server.crt").stdout)
    node.node.until("the API server has its etcd again", lambda: NAME in node.node.kubectl("get", "nodes", check=False))


def test_the_kubelets_configuration(node: Node, tmp_path: Path) -> None:
    """kubeadm writes it from the ConfigMap; the Node is heard of since."""
    del tmp_path
    before = node.node.run("cat", "/var/lib/kubelet/config.yaml", check=False).stdout
    if not before:
        node.node.write("/var/lib/kubelet/config.yaml", "kind: KubeletConfiguration\n", 0o644)
    arguments = {"step": "kubelet", "work": "kubelet", "node": NAME, "kubeconfig": "/etc/kubernetes/admin.conf"}
    # A process with the command line of a kubelet that has a flag of its own.
    program = [sys.executable, "-c", "import time; time.sleep(600)", "--max-pods=90"]
    node.node.run("sh", "-c", f"{shlex.join(program)} >/dev/null 2>&1 </dev/null & echo $! >/run/kubelet-pid")
    outweighed = {**arguments, "fields": ["maxPods", "clusterDNS"]}
    refused = node.node.module("node_configuration", outweighed)
    assert "maxPods by --max-pods. It would continue as before" in refused["msg"]
    assert "clusterDNS" not in refused["msg"]
    kept = node.node.module("node_configuration", {**outweighed, "manual_changes": "Overwrite", "only_compare": True})
    assert kept["changes"][1:] == ["without effect here: maxPods by --max-pods"]
    assert node.node.run("sh", "-c", "ls /etc/kubernetes/tmp 2>/dev/null || true").stdout == "", "kubeadm's dry run"
    node.node.run("sh", "-c", "kill $(cat /run/kubelet-pid) && rm /run/kubelet-pid")
    result = node.node.module("node_configuration", {**arguments, "wait": 120, "timeout": 90})
    assert result["state"] == "Succeeded", (result, node.node.logs())
    assert "clusterDomain: cluster.local" in node.node.run("cat", "/var/lib/kubelet/config.yaml").stdout
