# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans of upgrades and renewals carried out on one real control plane in namespaces: real kubeadm, etcd, API server and the rest.

The commands of a plan are run as a Task's are; what they ask of the node, real modules do there. Between them and the node there is
no Ansible and no systemd: real machines have both, and the lab has machines.
"""

from __future__ import annotations

import json
import typing as t
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from forged_certificates import Authorities, fetch, forge, late
from lab_kubernetes import NEXT, VERSION
from namespaced_node import ADDRESS, NAME, NamespacedNode, binaries_of, missing
from task_context import CommandRun, StandInAction, ended

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observe.parse import parse
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.planner_types import (
    ClusterFacts,
    GroupPlan,
    NodeFacts,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.renew_certificates import plan
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks.health_gate import judge, version_of
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.upgrade import plan as upgrade

# This node has no objects in a store, which these are about.
OF_THE_STORE = {"renewKubeconfigSecret", "recordControlPlane"}
Object = dict[str, t.Any]
pytestmark = [pytest.mark.full, pytest.mark.skipif(bool(missing()), reason=missing())]


class Operator:
    """Runs plans on the node, as if its Tasks were run."""

    def __init__(self, node: NamespacedNode, folder: Path) -> None:
        self.node = node
        self._folder = folder
        self._count = 0
        self.ran: list[list[str]] = []

    def answer(self, name: str, module: str, arguments: Object) -> Object:
        """What the node answers to a call."""
        assert name == NAME
        if module == "node_command":
            done = self.node.run(*arguments["argv"], check=False, timeout=900)
            self.ran.append(arguments["argv"])
            return ended(done.returncode, done.stdout + done.stderr)
        # It looks for a container runtime, which is not here.
        return {"checks": []} if module == "preflight" else self.node.module(module, arguments)

    def facts(self, answers: bool = True) -> ClusterFacts:
        """The cluster as planners see it."""
        extra: Object = {"now": datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")}
        if not answers:
            lone = NodeFacts(NAME, True, inventory_host=NAME, ready=False)
            return ClusterFacts("prod", VERSION, (lone,), api_answers=False, extra=extra)
        workload = parse(self.node.module("node_observe", {"look_again": False}).get("observation"), NAME)
        [seen] = workload["nodes"]
        version = version_of(workload["pods"][NAME]["kube-apiserver"]["image"])
        lone = NodeFacts(
            NAME, True, kubelet_version=seen["kubeletVersion"], api_server_version=version, inventory_host=NAME
        )
        text = str(workload["kubeadmConfig"]["clusterConfiguration"])
        names = self.node.kubectl("get", "configmaps", "-n", "kube-system", "-o", "name")
        extra["withoutDns"] = "configmap/coredns" not in names
        return ClusterFacts("prod", version, (lone,), cluster_configuration=text, extra=extra)

    def carry_out(self, groups: t.Sequence[GroupPlan], facts: ClusterFacts) -> list[str]:
        """Run every command in its order; returns what they noted."""
        notes: list[str] = []
        for group in groups:
            for descriptor in group.commands:
                if set(descriptor) & OF_THE_STORE:
                    continue
                self._count += 1
                folder = self._folder / str(self._count)
                action = StandInAction(self.answer, looks=600, real=True)
                run = CommandRun(folder, facts, NAME, dict(descriptor), action)
                run.run()
                notes += run.notes()
        return notes

    def well(self) -> bool:
        """Whether the gate finds nothing."""
        return judge(self.node.module("node_observe", {"look_again": False}).get("observation"), NAME) == []


@pytest.fixture(name="operator", scope="module")
def _operator(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Operator]:
    """A control plane that kubeadm has just made."""
    node = NamespacedNode(tmp_path_factory.mktemp("node"))
    try:
        node.make()
        made = Operator(node, tmp_path_factory.mktemp("tasks"))
        node.until("all is well", made.well)
        yield made
    finally:
        node.stop()


def test_certificates_that_have_ended(operator: Operator) -> None:
    """No API answers and etcd is asked with certificates that nobody takes: renewed on the node itself, and all is well again."""
    node = operator.node
    ssh = node.words("sh", "-c")
    forge(ssh, Authorities(fetch(ssh)), datetime.now(timezone.utc) - timedelta(minutes=5))
    assert "node-1" not in node.kubectl("get", "nodes", check=False)
    facts = operator.facts(answers=False)
    notes = operator.carry_out(plan.plan({}, facts), facts)
    assert operator.well()
    assert late(ssh) == {}
    assert [each for each in notes if "was restarted, healthy" in each] and "already" not in " ".join(notes)
    assert operator.ran[0] == ["kubeadm", "certs", "renew", "all", "--config=/run/kubeadm/renew.yaml"]


def test_a_renewal_while_all_is_well(operator: Operator) -> None:
    """The API server that serves afterwards has the new certificate; each component was restarted, and waited for."""
    before = served(operator.node)
    facts = operator.facts()
    notes = operator.carry_out(plan.plan({"names": ["apiserver", "scheduler.conf"]}, facts), facts)
    assert served(operator.node) != before
    restarted = [each.partition(" ")[0] for each in notes if "was restarted" in each]
    assert restarted == ["kube-apiserver", "kube-scheduler"]
    assert operator.well()


def served(node: NamespacedNode) -> str:
    """The certificate that the API server shows."""
    program = f"import ssl; print(ssl.get_server_certificate(('{ADDRESS}', 6443)))"

    return node.run("python3", "-c", program).stdout


@pytest.mark.skipif(binaries_of(NEXT) is None, reason="the next version is not in the cache")
def test_an_upgrade(operator: Operator) -> None:
    """kubeadm plans and applies it, every component and the kubelet has the new version, and a second plan finds nothing to do."""
    node = operator.node
    facts = operator.facts()
    spec = {"targetVersion": NEXT, "binaries": {"source": "files", "path": node.programs("{version}")}}
    operator.ran.clear()
    operator.carry_out(upgrade.plan(spec, facts), facts)
    assert [words[:3] for words in operator.ran if words[:2] == ["kubeadm", "upgrade"]] == [
        ["kubeadm", "upgrade", "plan"],
        ["kubeadm", "upgrade", "apply"],
    ]
    assert operator.well()
    assert json.loads(node.kubectl("version", "-o", "json"))["serverVersion"]["gitVersion"] == NEXT
    after = operator.facts()
    assert (after.nodes[0].kubelet_version, after.nodes[0].api_server_version) == (NEXT, NEXT)
    assert upgrade.plan(spec, after) == ()


@pytest.mark.skipif(binaries_of(NEXT) is None, reason="the next version is not in the cache")
def test_an_apply_can_be_repeated(operator: Operator) -> None:
    """As where a Node was left in the middle: it finds everything in place and comes to its end."""
    facts = operator.facts()
    given = {"version": NEXT, "ignorePreflightErrors": ["CoreDNSMigration", "CoreDNSUnsupportedPlugins"]}
    operator.carry_out([GroupPlan("again", (NAME,), ({"kubeadmUpgradeApply": given}, {"waitHealthy": {}}))], facts)
    assert operator.ran[-1][:4] == ["kubeadm", "upgrade", "apply", NEXT]
