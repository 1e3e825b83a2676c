# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration of a running cluster changed in place: what must come, and what must go back by itself."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from actions_on_nodes import NodeActions
from lab_kubernetes import VERSION
from machines import Machines
from running_configuration import RunningConfiguration, names_of
from workspace import Run, Workspace, kill_run

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import kubernetes_facts

pytestmark = pytest.mark.full

NAME = "lab-config"
SAN = "api.lab-config.example"
PKI = "/etc/kubernetes/pki"


class Lab(RunningConfiguration):
    """The cluster of this file's tests."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(Machines(workspace, NAME))
        self.workspace = workspace
        self.actions = NodeActions(workspace, NAME)

    def action(self, name: str, spec: dict[str, t.Any], *arguments: str) -> Run:
        """Run an Action that changes the configuration."""
        return self.actions.run(name, {"changeConfiguration": spec}, *arguments)

    def abort(self, name: str) -> None:
        """Give it up."""
        self.actions.run(name, playbook="abort").succeeded()

    def reconcile(self) -> Run:
        """Bring the machines to the manifest."""
        return self.workspace.playbook("reconcile", "--limit", NAME).succeeded()

    def recorded(self) -> tuple[t.Any, t.Any]:
        """The names and the flag as kubeadm-config has them."""
        found = self.cluster_configuration()["apiServer"]
        return found["certSANs"], found["extraArgs"]["audit-log-maxage"]


@pytest.fixture(scope="module")
def lab(workspace: Workspace) -> Lab:
    """Three machines."""
    made = Lab(workspace)
    workspace.manifest(NAME, replicas=3)
    made.reconcile()
    return made


def test_a_bad_flag_is_rolled_back_on_the_first_machine(lab: Lab) -> None:
    """The first machine is as before and serves; the others were never touched; kubeadm-config never said it."""
    names = lab.machines.names()
    configuration = lab.machines.configuration()
    others = {name: lab.process(name, "kube-apiserver") for name in names[1:]}
    held, served = lab.cluster_configuration(), lab.served(names[0])
    spec = {"clusterConfiguration": {"apiServer": {"certSANs": ["other.example"], "extraArgs": {"no-such-flag": "1"}}}}
    failed = lab.action("bad", spec).failed()
    assert "unknown flag: --no-such-flag" in failed.text
    assert f"Node {names[0]}" in failed.text
    assert "put back as it was" in failed.text
    assert lab.machines.configuration() == configuration
    assert {name: lab.process(name, "kube-apiserver") for name in names[1:]} == others
    assert "no-such-flag" not in lab.process(names[0], "kube-apiserver")
    assert lab.served(names[0]) == served
    assert lab.cluster_configuration() == held
    assert lab.machines.ready_nodes() == names
    # A person's ways out: here it is given up, and everything else works on.
    lab.abort("bad")


def test_a_new_name_and_a_new_flag(lab: Lab) -> None:
    """Every API server serves the new name and runs with the new flag, one after the other; no rollout follows."""
    names = lab.machines.names()
    spec = {"clusterConfiguration": {"apiServer": {"certSANs": [SAN], "extraArgs": {"audit-log-maxage": "30"}}}}
    before = {name: lab.process(name, "kube-apiserver") for name in names}
    schedulers = {name: lab.process(name, "kube-scheduler") for name in names}
    shown = lab.action("names", spec, "--check").succeeded().output
    assert f'apiServer.certSANs: not set -> ["{SAN}"]' in shown
    assert 'apiServer.extraArgs.audit-log-maxage: not set -> "30"' in shown
    assert {name: lab.process(name, "kube-apiserver") for name in names} == before

    lab.action("names", spec).succeeded()
    for name in names:
        assert SAN in lab.served(name)
        assert "--audit-log-maxage=30" in lab.process(name, "kube-apiserver")
        # What has no new flag is left alone: neither is its manifest kept, nor is it started anew (it may end by itself for a lost lease).
        kept = lab.machines.ssh(name, "ls /var/lib/kubeadm-control-plane/configuration/names-*/backup").split()
        assert kept == ["apiserver.crt", "apiserver.key", "kube-apiserver.yaml"]
        assert lab.process(name, "kube-scheduler").splitlines()[1:] == schedulers[name].splitlines()[1:]
    tasks = [each for each in lab.actions.tasks("names") if each["metadata"]["name"].startswith("names-02-")]
    assert [each["spec"]["nodeName"] for each in tasks] == names
    times = [each["status"][key] for each in tasks for key in ("startTime", "completionTime")]
    assert times == sorted(times), "one after the other"
    assert lab.recorded() == ([SAN], "30")

    assert "changed it in place" in lab.workspace.playbook("reconcile", "--limit", NAME).failed().text
    written = {"certSANs": [SAN], "extraArgs": [{"name": "audit-log-maxage", "value": "30"}]}
    lab.workspace.manifest(NAME, replicas=3, kubeadm={"clusterConfiguration": {"apiServer": written}})
    lab.reconcile()
    assert lab.machines.names() == names
    assert lab.recorded() == ([SAN], "30")


def test_what_cannot_be_changed_is_refused_before_anything_begins(lab: Lab) -> None:
    """With the reason; there is no Task."""
    spec = {"clusterConfiguration": {"networking": {"podSubnet": "10.245.0.0/16"}}}
    failed = lab.action("network", spec).failed()
    assert "this can't be changed in place: the Nodes have their shares of it" in failed.text
    assert lab.actions.tasks("network") == []


def test_a_run_that_is_killed_takes_what_its_machine_did(lab: Lab, tmp_path: Path) -> None:
    """The machine's work goes on without it, and is done once."""
    names = lab.machines.names()
    spec = {"changeConfiguration": {"clusterConfiguration": {"scheduler": {"extraArgs": {"v": "2"}}}}}
    process = lab.actions.start("killed", spec, tmp_path / "log")
    units = "systemctl list-units --no-legend 'kubeadm-control-plane-configuration-*'"
    lab.actions.until("the first machine changes", lambda: lab.machines.ssh(names[0], units).strip(), process)
    kill_run(process)
    lab.actions.run("killed").succeeded()
    for name in names:
        assert "--v=2" in lab.process(name, "kube-scheduler")
    assert set(lab.actions.phases("killed")) == {"Succeeded"}


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

    # These machines' kubelets have flags of their own: they would go on as before, and nobody would see it.
    configuration = lab.machines.configuration()
    config_map = (
        "-n",
        "kube-system",
        "get",
        "configmap",
        kubernetes_facts.kubelet_config_map_name(VERSION),
        "-o",
        "yaml",
    )
    refused = lab.action(
        "outweighed", {"kubeletConfiguration": {"evictionHard": {"memory.available": "50Mi"}}}
    ).failed()
    assert "evictionHard.memory.available by --eviction-hard" in refused.text
    assert "50Mi" not in lab.machines.kubectl(*config_map)
    lab.abort("outweighed")

    failed = lab.action("bad-kubelets", {"kubeletConfiguration": {"imageGCLowThresholdPercent": 101}}).failed()
    assert f"Node {names[0]}" in failed.text
    assert "the kubelet ended" in failed.text and "invalid configuration" in failed.text
    assert lab.machines.configuration() == configuration
    assert "imageGCLowThresholdPercent: 101" not in lab.machines.kubectl(*config_map)
    assert lab.machines.ready_nodes() == names
    lab.abort("bad-kubelets")

    spec = {"kubeProxyConfiguration": {"featureGates": {"NoSuchGate": True}}, "timeoutSeconds": 45}
    failed = lab.action("bad-proxy", spec).failed()
    assert "kube-proxy did not stay up" in failed.text
    assert "Everything was put back as it was, and runs." in failed.text
    held = lab.machines.kubectl("-n", "kube-system", "get", "configmap", "kube-proxy", "-o", "yaml")
    assert "NoSuchGate" not in held
    lab.abort("bad-proxy")


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
    lab.abort("etcd")

    spec["manualChanges"] = "Overwrite"  # type: ignore[assignment]
    lab.action("etcd-2", spec).succeeded()
    for name in names:
        assert "--quota-backend-bytes=4294967296" in lab.process(name, "etcd")
        assert "--v=3" in lab.process(name, "kube-scheduler")
        assert "--profiling" not in lab.process(name, "kube-scheduler")
        assert SAN in names_of(lab.machines.ssh(name, f"cat {PKI}/etcd/server.crt"))
    assert len(lab.machines.etcd_members()) == 3
