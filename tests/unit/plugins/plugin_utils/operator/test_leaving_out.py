# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Nodes can be left out of which Actions, and what completes an Action where one can't."""

from __future__ import annotations

import typing as t

import pytest
from operator_cases import Make, Walk, action, facts, hub, node

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator import flow, freeze
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.action_text import ending
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.leaving_out import (
    command_refusal,
    refusal,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.matching import NodeNow

Object = dict[str, t.Any]
OLD, NEW = "v1.20.2", "v1.21.0"
CONFIGURATION = """\
apiVersion: kubeadm.k8s.io/v1beta2
kind: ClusterConfiguration
kubernetesVersion: v1.20.2
apiServer: {certSANs: [a.example.com]}
"""
UPGRADE: Object = {"upgrade": {"targetVersion": NEW}}
CHANGE: Object = {"changeConfiguration": {"clusterConfiguration": {"apiServer": {"certSANs": ["b.example.com"]}}}}
PROXY: Object = {"changeConfiguration": {"kubeProxyConfiguration": {"metricsBindAddress": "0.0.0.0:10249"}}}
KUBELET: Object = {"changeConfiguration": {"kubeletConfiguration": {"maxPods": 99}}}
RENEW: Object = {"renewCertificates": {}}
ROTATE: Object = {"rotateCertificateAuthorities": {"authorities": ["frontProxy"]}}
ALL = ("cp-a", "cp-b", "cp-c", "w-1")


def cluster(*done: str, names: tuple[str, ...] = ALL, recorded: str = OLD) -> t.Any:
    """A cluster whose Nodes are at the older version but for those that are done."""
    nodes = []
    for name in names:
        version = NEW if name in done else OLD
        worker = name.startswith("w")
        api = "" if worker else version
        nodes.append(node(name, "" if worker else "x", kubelet_version=version, api_server_version=api))
    configured = CONFIGURATION.replace(OLD, NEW) if done else CONFIGURATION
    return facts(
        *nodes,
        cluster_configuration=configured,
        kube_proxy_configuration="apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n",
        kubelet_configuration="apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n",
        extra={"now": "2026-01-01T00:00:00Z", "recordedVersion": recorded},
    )


def stopped(walk: Make, spec: Object, group: str, on: str) -> Walk:
    """An Action that has failed at a TaskGroup's first command on a Node."""
    one = walk(action(**spec), cluster=cluster())
    while True:
        execution, step = one.look()
        assert step.kind == flow.RUN, f"it never came to {group} on {on}"
        for name in step.tasks:
            if name.endswith(f"-{group}-{on}"):
                return one
            one.task(execution, name)


@pytest.mark.parametrize(
    ("spec", "group", "on", "left", "says"),
    [
        # The Action would have been complete without what was never done.
        (
            UPGRADE,
            "upgrade-cp-1",
            "cp-a",
            "cp-a",
            "upgrade-cp-1 does there what concerns the whole cluster (kubeadmUpgradeApply)",
        ),
        (UPGRADE, "record", "cp-c", "cp-c", "-record does there what concerns the whole cluster (recordControlPlane)"),
        (
            CHANGE,
            "control-plane",
            "cp-b",
            "cp-a",
            "-record does there what concerns the whole cluster (recordClusterConfiguration)",
        ),
        (PROXY, "kube-proxy", "cp-a", "cp-a", "(changeKubeProxyConfiguration)"),
        (RENEW, "restart-cp", "cp-a", "cp-a", "(renewKubeconfigSecret)"),
        (
            ROTATE,
            "trust-control-plane",
            "cp-b",
            "cp-a",
            "trust-publish does there what concerns the whole cluster (publishAuthorities)",
        ),
        # The record would have been untrue.
        (UPGRADE, "upgrade-cp-n", "cp-b", "cp-b", "-record records what all of them have"),
        (UPGRADE, "upgrade-cp-n", "cp-b", "cp-new", "-record records what all of them have"),
        (CHANGE, "control-plane", "cp-b", "cp-b", "-record records what all of them have"),
        (
            UPGRADE,
            "upgrade-cp-1",
            "cp-a",
            "w-9",
            "has no Node w-9, and the cluster has none. Nothing was done. Name one of: cp-a, cp-b, cp-c, cp-new, w-1.",
        ),
        # Done already, or what concerns this Node alone.
        (UPGRADE, "upgrade-cp-n", "cp-b", "cp-a", ""),
        (UPGRADE, "upgrade-w", "w-1", "cp-new", ""),
        (UPGRADE, "upgrade-w", "w-1", "w-1", ""),
        (KUBELET, "kubelet-cp", "cp-b", "cp-b", ""),
        (RENEW, "restart-cp", "cp-a", "cp-b", ""),
        (ROTATE, "trust-control-plane", "cp-b", "cp-b", ""),
    ],
)
def test_a_node_can_be_left_out_or_not(walk: Make, spec: Object, group: str, on: str, left: str, says: str) -> None:
    one = stopped(walk, spec, group, on)
    now = [NodeNow(name, not name.startswith("w")) for name in (*ALL, "cp-new")]
    said = refusal(one.look()[0], left, now)
    assert says in said if says else said == ""
    assert not said or "Nothing was done." in said


@pytest.mark.parametrize(
    ("spec", "group", "on", "command", "says"),
    [
        (CHANGE, "control-plane", "cp-b", "changeControlPlaneConfiguration", "-record records what all control plane"),
        (UPGRADE, "upgrade-cp-1", "cp-a", "kubeadmUpgradeApply", "-record records what all control plane"),
        (UPGRADE, "upgrade-cp-n", "cp-b", "kubeadmUpgradeNode", "-record records what all control plane"),
        (UPGRADE, "upgrade-cp-n", "cp-b", "kubectlDrain", ""),
        (UPGRADE, "upgrade-w", "w-1", "kubeadmUpgradeNode", ""),
    ],
)
def test_a_command_can_be_left_out_or_not(
    walk: Make, spec: Object, group: str, on: str, command: str, says: str
) -> None:
    """What failed there the Action would record as done; and it isn't offered."""
    one = stopped(walk, spec, group, on)
    execution, step = one.look()
    [name] = [each for each in step.tasks if each.endswith(f"-{group}-{on}")]
    task = execution.tasks[name]
    number = 1 + [next(iter(each)) for each in task["spec"]["commands"]].index(command)
    task["status"] = {"currentCommand": number, "errorMessage": "it did not work"}
    said = command_refusal(execution, task)
    assert says in said if says else said == ""
    offered = ending(execution, flow.Step(flow.FAILED, tasks=(name,)), "default/prod")
    assert ("kubeadm.control_plane.skip" in offered) is (says == "")


def test_without_an_api_a_node_that_the_plan_lacks_is_not_left_out(walk: Make) -> None:
    one = stopped(walk, UPGRADE, "upgrade-cp-1", "cp-a")
    assert "no API server answers that could tell whether the cluster has it" in refusal(one.look()[0], "cp-aa", None)


def test_the_last_of_several_that_do_it_stays(walk: Make) -> None:
    """What one Node of several does for the cluster is done without another."""
    commands = [{"recordControlPlane": {"version": NEW}}]
    workflow = [{"name": "a", "nodeNames": ["w-1", "w-2"], "commands": commands}]
    one = walk(action(custom={"workflow": workflow}))
    assert refusal(one.look()[0], "w-1", None) == ""
    one.say("first", leftOut=["w-1"])
    assert "w-2 can't be left out" in refusal(one.look()[0], "w-2", None)


def shape(spec: Object, now: t.Any) -> list[tuple[str, list[str]]]:
    """The names of the TaskGroups of another Action with the same spec, with their Nodes."""
    plan = freeze.freeze(hub(action(name="second", **spec)), now)
    return [(each["name"].removeprefix(f"second-{each['order']}-"), each["nodes"]) for each in plan["groups"]]


@pytest.mark.parametrize(
    ("now", "planned"),
    [
        # The first died before its apply.
        (
            cluster(names=ALL[1:]),
            [("upgrade-cp-1", ["cp-b"]), ("upgrade-cp-n", ["cp-c"]), ("record", ["cp-c"]), ("upgrade-w", ["w-1"])],
        ),
        # The last died, before the record or before it was upgraded.
        (cluster("cp-a", "cp-b", names=("cp-a", "cp-b", "w-1")), [("record", ["cp-b"]), ("upgrade-w", ["w-1"])]),
        # One in the middle is still there.
        (
            cluster("cp-a", "cp-c"),
            [("upgrade-cp-n", ["cp-b"]), ("record", ["cp-b"]), ("upgrade-w", ["w-1"])],
        ),
    ],
)
def test_another_upgrade_completes_it(now: t.Any, planned: list[tuple[str, list[str]]]) -> None:
    assert shape(UPGRADE, now) == planned


@pytest.mark.parametrize(
    ("spec", "group"),
    [(CHANGE, "record"), (PROXY, "kube-proxy"), (RENEW, "renew-kubeconfig"), (ROTATE, "finish")],
)
def test_another_action_does_what_concerns_the_cluster_on_the_next_node(spec: Object, group: str) -> None:
    assert dict(shape(spec, cluster(names=ALL[1:])))[group] == ["cp-b"]
