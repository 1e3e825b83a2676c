# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One control plane node changed where it stands: upgraded; configured anew; then all its certificates have ended, and no API answers."""

from __future__ import annotations

import json
import time
import typing as t
from datetime import datetime, timedelta, timezone

import pytest
from actions_on_nodes import NodeActions
from forged_certificates import Authorities, fetch, forge, late
from lab_kubernetes import NEXT, VERSION, image_named, upgrades
from machines import Machines
from next_version import BINARIES, NextVersion
from running_configuration import RunningConfiguration
from workspace import Workspace

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import kubernetes_facts

from .conftest import NAME

SAN = "api.lab-one.example"


class Lab(t.NamedTuple):
    """A cluster of one node, on which a pod of its user runs."""

    workspace: Workspace
    machines: Machines
    actions: NodeActions
    node: str

    def pods(self) -> dict[str, str]:
        """The user's pods and when their containers were started: what keeps running keeps both."""
        items = json.loads(self.machines.kubectl("get", "pods", "-o", "json"))["items"]
        return {
            each["metadata"]["name"]: each["status"]["containerStatuses"][0]["state"]["running"]["startedAt"]
            for each in items
        }

    def unchanged(self) -> None:
        """Nothing is left for reconcile, on the same machine."""
        assert self.workspace.playbook("reconcile", "--limit", NAME).succeeded().recap(NAME)["changed"] == 0
        assert self.machines.names() == [self.node]


@pytest.fixture(name="lab", scope="module")
def _lab(workspace: Workspace, machines: Machines) -> Lab:
    """The node, with the next version's programs and images at hand."""
    [node] = machines.names()
    for key in kubernetes_facts.default_taint_keys(VERSION):
        machines.kubectl("taint", "nodes", node, f"{key}-")
    machines.kubectl("create", "deployment", "web", f"--image={image_named('pause')}")
    if NEXT != VERSION:
        NextVersion(NEXT).put(machines.ssh_words(node))
    machines.kubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=120s")
    return Lab(workspace, machines, NodeActions(workspace, NAME), node)


@upgrades
def test_upgrade(lab: Lab, record_property: t.Callable[[str, object], None]) -> None:
    """The same machine with the next version; nothing was drained, its user's pod went on, and no rollout follows."""
    pods = lab.pods()
    begin = time.monotonic()
    lab.actions.run("up", {"upgrade": {"targetVersion": NEXT, "binaries": BINARIES}}).succeeded()
    record_property("seconds", round(time.monotonic() - begin, 1))
    assert lab.actions.action("up")["status"]["phase"] == "Succeeded"
    [said] = [each for each in lab.actions.outputs("up") if each["argv"][:3] == ["kubeadm", "upgrade", "apply"]]
    assert f'SUCCESS! Your cluster was upgraded to "{NEXT}"' in said["head"] + said["tail"]
    item = json.loads(lab.machines.kubectl("get", "node", lab.node, "-o", "json"))
    assert item["status"]["nodeInfo"]["kubeletVersion"] == NEXT and not item["spec"].get("unschedulable")
    assert json.loads(lab.machines.kubectl("version", "-o", "json"))["serverVersion"]["gitVersion"] == NEXT
    assert lab.pods() == pods
    stored = [*lab.workspace.objects("KubeadmControlPlane"), *lab.workspace.objects("Machine")]
    assert [each["spec"]["version"] for each in stored] == [NEXT, NEXT]
    lab.unchanged()


def test_a_configuration_that_can_not_work_and_one_that_does(lab: Lab) -> None:
    """The only API server does not start with a bad flag, and is put back without one; a new name and a flag come, and no rollout follows."""
    running = RunningConfiguration(lab.machines)
    files, held = lab.machines.configuration(), running.cluster_configuration()
    bad = {"clusterConfiguration": {"apiServer": {"certSANs": [SAN], "extraArgs": {"no-such-flag": "1"}}}}
    failed = lab.actions.run("bad", {"changeConfiguration": bad}).failed()
    for said in ("unknown flag: --no-such-flag", f"Node {lab.node}", "put back as it was"):
        assert said in failed.text, failed.text
    assert lab.machines.configuration() == files and running.cluster_configuration() == held
    assert SAN not in running.served(lab.node) and lab.machines.ready_nodes() == [lab.node]
    lab.actions.run("bad", playbook="abort").succeeded()

    spec = {"clusterConfiguration": {"apiServer": {"certSANs": [SAN], "extraArgs": {"audit-log-maxage": "30"}}}}
    lab.actions.run("names", {"changeConfiguration": spec}).succeeded()
    assert SAN in running.served(lab.node)
    assert "--audit-log-maxage=30" in running.process(lab.node, "kube-apiserver")
    assert running.cluster_configuration()["apiServer"]["certSANs"] == [SAN]
    assert "changed it in place" in lab.workspace.playbook("reconcile", "--limit", NAME).failed().text
    written = {"certSANs": [SAN], "extraArgs": [{"name": "audit-log-maxage", "value": "30"}]}
    wanted = {"clusterConfiguration": {"apiServer": written}}
    lab.workspace.manifest(NAME, replicas=1, version=NEXT, kubeadm=wanted)
    lab.workspace.playbook("reconcile", "--limit", NAME).succeeded()
    assert lab.machines.names() == [lab.node]


def test_certificates_that_have_ended(lab: Lab) -> None:
    """No API answers, etcd takes nobody's certificate and the kubelet doesn't start: renewed on the node itself, and all is well."""
    ssh = lab.machines.ssh_words(lab.node)
    forge(ssh, Authorities(fetch(ssh)), datetime.now(timezone.utc) - timedelta(minutes=5))
    asked = (
        "kubectl --kubeconfig /etc/kubernetes/admin.conf --request-timeout=5s get nodes >/dev/null 2>&1 || echo refused"
    )
    assert lab.machines.ssh(lab.node, asked).strip() == "refused"
    run = lab.actions.run("mend", {"renewCertificates": {}}).succeeded()
    assert "PRIVATE KEY" not in run.output
    assert lab.actions.action("mend")["status"]["phase"] == "Succeeded"
    assert late(ssh) == {}
    assert lab.machines.ready_nodes() == [lab.node]
    assert lab.machines.ssh(lab.node, "ls /run/kubeadm/renew.yaml 2>/dev/null || true").strip() == ""
    lab.unchanged()
