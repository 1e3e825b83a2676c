# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration of a running cluster changed in place: what must come, and what must go back by itself."""

from __future__ import annotations

import json
import typing as t

import pytest
import yaml
from machines import Machines
from workspace import Run, Workspace

NAME = "lab-config"
SAN = "api.lab-config.example"
PKI = "/etc/kubernetes/pki"
# The API server of a machine, asked itself: the names of the certificate that it presents just now.
SERVED = "openssl s_client -connect $(hostname -I | cut -d' ' -f1):6443 </dev/null 2>/dev/null | openssl x509 -noout -ext subjectAltName"
PROCESS = 'pgrep -x {0} | head -1 | xargs -I@ sh -c \'stat -c %Y /proc/@; tr "\\0" " " < /proc/@/cmdline\''


class Lab:
    """The cluster of this file's tests."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.machines = Machines(workspace, NAME)

    def action(self, name: str, spec: dict[str, t.Any], *arguments: str) -> Run:
        """Run an Action that changes the configuration."""
        variables = {"operator_action": name, "operator_spec": {"changeConfiguration": spec}}
        return self.workspace.playbook("action", "--limit", NAME, "-e", json.dumps(variables), *arguments)

    def reconcile(self) -> Run:
        """Bring the machines to the manifest."""
        return self.workspace.playbook("reconcile", "--limit", NAME).succeeded()

    def process(self, machine: str, component: str) -> str:
        """When a component's process was started, and its command line."""
        return self.machines.ssh(machine, PROCESS.format(component[:15]))

    def cluster_configuration(self) -> dict[str, t.Any]:
        """What kubeadm-config holds."""
        text = self.machines.kubectl("-n", "kube-system", "get", "configmap", "kubeadm-config", "-o", "json")
        return dict(yaml.safe_load(json.loads(text)["data"]["ClusterConfiguration"]))

    def tasks(self, action: str) -> list[dict[str, t.Any]]:
        """An Action's Tasks in their order."""
        found = self.workspace.objects("Task")
        return [each for each in found if each["metadata"]["name"].startswith(f"{action}-")]


@pytest.fixture(scope="module")
def lab(workspace: Workspace) -> Lab:
    """Three machines."""
    made = Lab(workspace)
    workspace.manifest(NAME, replicas=3)
    made.reconcile()
    return made


def test_a_new_name_and_a_new_flag(lab: Lab) -> None:
    """Every API server serves the new name and runs with the new flag, one after the other; no rollout follows."""
    names = lab.machines.names()
    change = {"apiServer": {"certSANs": [SAN], "extraArgs": {"audit-log-maxage": "30"}}}
    spec = {"clusterConfiguration": change}
    before = {name: lab.process(name, "kube-apiserver") for name in names}
    shown = lab.action("preview", spec, "--check").succeeded().output
    assert f'apiServer.certSANs: not set -> ["{SAN}"]' in shown
    assert 'apiServer.extraArgs.audit-log-maxage: not set -> "30"' in shown
    assert {name: lab.process(name, "kube-apiserver") for name in names} == before

    done = lab.action("names", spec).succeeded()
    assert "audit-log-maxage" in done.output
    for name in names:
        assert f"DNS:{SAN}" in lab.machines.ssh(name, SERVED)
        assert "--audit-log-maxage=30" in lab.process(name, "kube-apiserver")
        # What has no new flag was not restarted for it.
        assert lab.machines.ssh(name, "ls /var/lib/kubeadm-control-plane/configuration/*/backup").split() == [
            "apiserver.crt",
            "apiserver.key",
            "kube-apiserver.yaml",
        ]
    stored = lab.cluster_configuration()["apiServer"]
    assert stored["certSANs"] == [SAN]
    assert stored["extraArgs"]["audit-log-maxage"] == "30"
    order = [each["spec"]["nodeName"] for each in lab.tasks("names") if "-control-plane-" in each["metadata"]["name"]]
    assert sorted(set(order)) == names

    written = {"certSANs": [SAN], "extraArgs": [{"name": "audit-log-maxage", "value": "30"}]}
    lab.workspace.manifest(NAME, replicas=3, kubeadm={"clusterConfiguration": {"apiServer": written}})
    assert lab.reconcile().recap(NAME)["changed"] == 0
    assert lab.machines.names() == names
    again = lab.action("names", spec).succeeded()
    assert "already" in again.output or "Succeeded" in again.output


def test_a_bad_flag_is_rolled_back_on_the_first_machine(lab: Lab) -> None:
    """The first machine is as before and serves; the others were never touched; kubeadm-config never said it."""
    names = lab.machines.names()
    configuration = lab.machines.configuration()
    others = {name: lab.process(name, "kube-apiserver") for name in names[1:]}
    held = lab.cluster_configuration()
    failed = lab.action("bad", {"clusterConfiguration": {"apiServer": {"extraArgs": {"no-such-flag": "1"}}}}).failed()
    assert "unknown flag: --no-such-flag" in failed.output
    assert f"Node {names[0]}" in failed.output
    assert "put back as it was" in failed.output
    assert lab.machines.configuration() == configuration
    assert {name: lab.process(name, "kube-apiserver") for name in names[1:]} == others
    assert "no-such-flag" not in lab.process(names[0], "kube-apiserver")
    assert lab.cluster_configuration() == held
    assert lab.machines.ready_nodes() == names
    # A person's ways out: here it is given up, and everything else works on.
    lab.workspace.playbook("abort", "--limit", NAME, "-e", "operator_action=bad").succeeded()
    assert lab.reconcile().recap(NAME)["changed"] == 0


def test_what_cannot_be_changed_is_refused_before_anything_begins(lab: Lab) -> None:
    """With the reason; there is no Task."""
    spec = {"clusterConfiguration": {"networking": {"podSubnet": "10.245.0.0/16"}}}
    failed = lab.action("network", spec).failed()
    assert "this can't be changed in place: the Nodes have their shares of it" in failed.text
    assert lab.tasks("network") == []


@pytest.mark.full
def test_kubelets_and_kube_proxy(lab: Lab) -> None:
    """Both follow machine by machine, and both go back where they don't come up."""
    names = lab.machines.names()
    spec: dict[str, t.Any] = {
        "kubeletConfiguration": {"maxPods": 90},
        "kubeProxyConfiguration": {"conntrack": {"maxPerCore": 0}},
    }
    lab.action("kubelets", spec).succeeded()
    nodes = json.loads(lab.machines.kubectl("get", "nodes", "-o", "json"))["items"]
    assert {each["status"]["capacity"]["pods"] for each in nodes} == {"90"}

    configuration = lab.machines.configuration()
    failed = lab.action("bad-kubelets", {"kubeletConfiguration": {"evictionHard": {"memory.available": "much"}}})
    failed.failed()
    assert f"Node {names[0]}" in failed.output
    assert lab.machines.configuration() == configuration
    assert "much" not in lab.machines.kubectl(
        "-n", "kube-system", "get", "configmap", "kubelet-config-1.20", "-o", "yaml"
    )
    assert lab.machines.ready_nodes() == names
    lab.workspace.playbook("abort", "--limit", NAME, "-e", "operator_action=bad-kubelets").succeeded()

    spec = {"kubeProxyConfiguration": {"featureGates": {"NoSuchGate": True}}, "timeoutSeconds": 45}
    failed = lab.action("bad-proxy", spec).failed()
    assert "kube-proxy did not stay up" in failed.text
    assert "Everything was put back as it was, and runs." in failed.text
    held = lab.machines.kubectl("-n", "kube-system", "get", "configmap", "kube-proxy", "-o", "yaml")
    assert "NoSuchGate" not in held
    lab.workspace.playbook("abort", "--limit", NAME, "-e", "operator_action=bad-proxy").succeeded()


@pytest.mark.full
def test_etcd_and_a_change_by_hand(lab: Lab) -> None:
    """etcd member by member, with its certificate; what somebody changed by hand is not lost unseen."""
    names = lab.machines.names()
    spec = {
        "clusterConfiguration": {
            "etcd": {"local": {"extraArgs": {"quota-backend-bytes": "4294967296"}, "serverCertSANs": [SAN]}},
            "scheduler": {"extraArgs": {"v": "3"}},
        }
    }
    hand = "/etc/kubernetes/manifests/kube-scheduler.yaml"
    lab.machines.ssh(
        names[2], f"sed 's/- --leader-elect=true/&\\n    - --profiling=false/' {hand} > /root/s && mv /root/s {hand}"
    )
    refused = lab.action("etcd", spec).failed()
    assert "--profiling is 'false' here" in refused.text
    for name in names:
        assert "quota-backend-bytes" not in lab.process(name, "etcd")
    lab.workspace.playbook("abort", "--limit", NAME, "-e", "operator_action=etcd").succeeded()

    spec["manualChanges"] = "Overwrite"  # type: ignore[assignment]
    lab.action("etcd-2", spec).succeeded()
    for name in names:
        assert "--quota-backend-bytes=4294967296" in lab.process(name, "etcd")
        assert "--v=3" in lab.process(name, "kube-scheduler")
        assert "--profiling" not in lab.process(name, "kube-scheduler")
        names_of = lab.machines.ssh(name, f"openssl x509 -noout -ext subjectAltName -in {PKI}/etcd/server.crt")
        assert f"DNS:{SAN}" in names_of
    assert len(lab.machines.etcd_members()) == 3
