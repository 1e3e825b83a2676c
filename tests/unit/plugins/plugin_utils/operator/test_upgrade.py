# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of an upgrade in place: order, gates, drains, and everything that is refused before anything is started."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest
from upgrade_cases import NEW, OLD, THREE, cluster, control_plane, shape, verbs, worker

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator import catalogue
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.custom import plan as custom
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.planner_types import (
    ClusterFacts,
    NodeFacts,
    RefusedAction,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.upgrade.plan import plan, validate


def test_first_the_others_then_the_workers() -> None:
    """kubeadm upgrade apply on one control plane Node, upgrade node on the others, one at a time, then the workers, in name order."""
    groups = plan({"targetVersion": NEW}, cluster(*THREE, worker("w-2"), worker("w-1")))
    assert shape(groups) == [
        ("upgrade-cp-1", ("cp-a",)),
        ("upgrade-cp-n", ("cp-b", "cp-c")),
        ("record", ("cp-c",)),
        ("upgrade-w", ("w-1", "w-2")),
    ]
    assert verbs(groups[0]) == [
        "preflight",
        "waitHealthy",
        "upgradeKubeadm",
        "kubeadmUpgradePlan",
        "kubeadmUpgradeApply",
        "recordMachine",
        "waitHealthy",
        "kubectlDrain",
        "upgradeKubeletAndKubectl",
        "waitHealthy",
        "kubectlUncordon",
    ]
    assert verbs(groups[1]) == [
        "preflight",
        "waitHealthy",
        "upgradeKubeadm",
        "kubeadmUpgradeNode",
        *verbs(groups[0])[5:],
    ]
    assert groups[2].commands == ({"recordControlPlane": {"version": NEW}},)
    assert verbs(groups[3]) == [
        "preflight",
        "upgradeKubeadm",
        "kubeadmUpgradeNode",
        "kubectlDrain",
        "upgradeKubeletAndKubectl",
        "waitHealthy",
        "kubectlUncordon",
    ]
    assert all(group.policy == "Serial" and group.max_unavailable == 1 for group in groups)


def test_every_command_is_one_that_the_catalogue_knows() -> None:
    """Whatever a plan asks for can be run."""
    spec = {
        "targetVersion": NEW,
        "binaries": {"source": "files", "path": "/opt/kubernetes/{version}"},
        "ignorePreflightErrors": ["ImagePull"],
        "certificateRenewal": False,
        "etcdUpgrade": False,
        "drain": True,
        "drainTimeoutSeconds": 0,
    }
    facts = cluster(*THREE, worker("w"), extra={"ignorePreflightErrors": ["Swap"]})
    for group in plan(spec, facts):
        for index, each in enumerate(group.commands):
            assert catalogue.descriptor_errors(each, f"{group.name}[{index}]") == []
    assert plan(spec, facts)[0].commands[0] == {"preflight": {"version": NEW, "ignore": ["ImagePull", "Swap"]}}
    made_with = dataclasses.replace(THREE[0], patches="/etc/kubernetes/patches")
    lines = catalogue.describe(plan(spec, facts)[0].commands, made_with)
    apply = next(each for each in lines if each.startswith("kubeadm upgrade apply"))
    assert apply == (
        "kubeadm upgrade apply v1.21.0 --yes --ignore-preflight-errors=ImagePull,Swap --certificate-renewal=false"
        " --etcd-upgrade=false --experimental-patches=/etc/kubernetes/patches"
    )
    assert "install -m 0755 /opt/kubernetes/v1.21.0/kubeadm $(command -v kubeadm)" in lines


def test_a_cluster_without_dns() -> None:
    """kubeadm's checks of a DNS that was left out would take it for one of an unknown version."""
    checks = ["CoreDNSMigration", "CoreDNSUnsupportedPlugins"]
    (first, *_others) = plan({"targetVersion": NEW}, cluster(*THREE, extra={"withoutDns": True}))
    asked = {verb: given for each in first.commands for verb, given in each.items()}
    for verb in ("kubeadmUpgradePlan", "kubeadmUpgradeApply"):
        assert asked[verb]["ignorePreflightErrors"] == checks
    (first, *_others) = plan({"targetVersion": NEW}, cluster(*THREE, extra={"withoutDns": False}))
    assert {"kubeadmUpgradePlan": {"version": NEW}} in first.commands


def test_a_later_name_of_the_version() -> None:
    """The later name kubernetesVersion is read as well."""
    assert plan({"kubernetesVersion": NEW}, cluster(*THREE)) == plan({"targetVersion": NEW}, cluster(*THREE))


@pytest.mark.parametrize(
    ("spec", "nodes", "target", "drained"),
    [
        ({}, THREE, NEW, True),
        ({}, THREE, "v1.20.15", False),
        ({"drain": False}, THREE, NEW, False),
        ({"drain": True}, THREE, "v1.20.15", True),
        ({}, THREE[:1], NEW, False),
        ({"drain": True}, THREE[:1], NEW, True),
    ],
)
def test_drained_or_hot(spec: dict[str, t.Any], nodes: tuple[NodeFacts, ...], target: str, drained: bool) -> None:
    """A minor version drains by default, a patch level does not, nor does a cluster of one Node; the spec decides otherwise."""
    group = plan({"targetVersion": target, **spec}, cluster(*nodes))[0]
    assert ("kubectlDrain" in verbs(group), "kubectlUncordon" in verbs(group)) == (drained, drained)


def test_what_is_at_the_version_has_no_task() -> None:
    """Nothing to do is no group; Nodes that are done are left alone."""
    done = [control_plane(name, NEW, NEW) for name in ("cp-a", "cp-b")]
    assert plan({"targetVersion": NEW}, cluster(*done, worker("w", NEW), lowest=NEW, configured=NEW)) == ()
    groups = plan({"targetVersion": NEW}, cluster(*done, control_plane("cp-c"), worker("w"), configured=NEW))
    assert shape(groups) == [
        ("upgrade-cp-n", ("cp-c",)),
        ("record", ("cp-c",)),
        ("upgrade-w", ("w",)),
    ]


def test_half_upgraded_nodes_come_first() -> None:
    """Where an upgrade was left in the middle, the Nodes on which it was begun are finished before others are touched.

    The first of them by an apply, whatever the cluster's configuration says: kubeadm uploads that before its last steps.
    """
    begun = (control_plane("cp-b", NEW), control_plane("cp-c", NEW))
    groups = plan({"targetVersion": NEW}, cluster(control_plane("cp-a"), *begun, configured=NEW))
    assert shape(groups) == [
        ("upgrade-cp-1", ("cp-b",)),
        ("finish-cp", ("cp-c",)),
        ("upgrade-cp-n", ("cp-a",)),
        ("record", ("cp-a",)),
    ]
    assert "kubeadmUpgradeApply" in verbs(groups[0]) and "kubeadmUpgradeNode" in verbs(groups[1])
    for group in groups[:2]:
        assert verbs(group)[:2] == ["preflight", "upgradeKubeadm"], "a Node that may be down is not waited for first"
        assert group.commands[0] == {"preflight": {"version": NEW}}


def test_an_apply_that_died_is_finished_on_its_node() -> None:
    """kubeadm writes its configuration last: an API server that is new beside an old configuration is an apply that died."""
    groups = plan({"targetVersion": NEW}, cluster(control_plane("cp-a"), control_plane("cp-b", NEW, ready=False)))
    assert shape(groups) == [
        ("upgrade-cp-1", ("cp-b",)),
        ("upgrade-cp-n", ("cp-a",)),
        ("record", ("cp-a",)),
    ]
    assert "kubeadmUpgradeApply" in verbs(groups[0])
    assert verbs(groups[0])[1] == "upgradeKubeadm"


def test_a_configuration_that_was_left_behind_is_applied() -> None:
    """All components new, the configuration old: apply runs once more, on the first Node."""
    facts = cluster(control_plane("cp-a", NEW, NEW), control_plane("cp-b", NEW, NEW), lowest=NEW)
    assert shape(plan({"targetVersion": NEW}, facts)) == [("upgrade-cp-1", ("cp-a",)), ("record", ("cp-a",))]


def test_a_configuration_of_a_rollout_that_was_taken_back_is_no_apply() -> None:
    """The rollout had written it for a machine that is not there; no Node has anything of the version."""
    groups = plan({"targetVersion": NEW}, cluster(*THREE, configured=NEW))
    assert [each.name for each in groups] == ["upgrade-cp-1", "upgrade-cp-n", "record"]
    assert "kubeadmUpgradeApply" in verbs(groups[0])


def test_a_disruption_budget_of_workers() -> None:
    """Workers go in parallel within the budget; the control plane never does."""
    facts = cluster(*THREE, *(worker(f"w-{number}") for number in range(5)))
    groups = plan({"targetVersion": NEW, "maxUnavailable": 2}, facts)
    assert [(each.policy, each.max_unavailable) for each in groups] == [*([("Serial", 1)] * 3), ("Parallel", 2)]


def test_a_selector() -> None:
    """Only selected Nodes are upgraded, workers after their API servers."""
    pool = {"pool": "a"}
    done = [control_plane(name, NEW, NEW) for name in ("cp-a", "cp-b")]
    facts = cluster(*done, worker("w-1", labels=pool), worker("w-2"), lowest=NEW, configured=NEW)
    spec = {"targetVersion": NEW, "nodeSelector": {"matchLabels": pool}}
    assert shape(plan(spec, facts)) == [("upgrade-w", ("w-1",))]


def refusal(spec: dict[str, t.Any], facts: ClusterFacts) -> str:
    """What it is refused with; it names the field and a way out."""
    with pytest.raises(RefusedAction) as caught:
        plan(spec, facts)
    assert caught.value.error.path.startswith("spec.upgrade")
    assert caught.value.error.fix
    return str(caught.value)


@pytest.mark.parametrize(
    ("spec", "facts", "words"),
    [
        ({"targetVersion": "v1.22.0"}, cluster(*THREE), "no minor version may be skipped"),
        ({"targetVersion": "v1.20.1"}, cluster(*THREE), "Kubernetes can't go back"),
        (
            {"targetVersion": "v1.22.0"},
            cluster(control_plane("cp-a", NEW, NEW), control_plane("cp-b")),
            "an API server of v1.20.2 still runs",
        ),
        (
            {"targetVersion": NEW},
            cluster(control_plane("cp-a", "v1.21.1"), control_plane("cp-b", "v1.21.1"), lowest="v1.21.1"),
            "cp-a runs v1.21.1",
        ),
        ({"targetVersion": NEW}, cluster(*THREE, worker("w", "v1.19.7")), "the kubelet of w is v1.19.7, too old"),
        ({"targetVersion": NEW}, cluster(*THREE, worker("w", "v1.22.0")), "none may be newer"),
        (
            {"targetVersion": NEW, "nodeSelector": {"matchLabels": {"no": "such"}}},
            cluster(*THREE),
            "it selects no Node",
        ),
        (
            {"targetVersion": NEW, "nodeSelector": {"matchLabels": {"pool": "a"}}},
            cluster(*THREE, worker("w", labels={"pool": "a"})),
            "leaves the API server of cp-a, cp-b, cp-c behind",
        ),
        # An apply that died before it uploaded the configuration.
        (
            {"targetVersion": NEW, "nodeSelector": {"matchLabels": {"pool": "a"}}},
            cluster(control_plane("cp-a", NEW), worker("w", labels={"pool": "a"})),
            "it selects no control plane Node, and kubeadm upgrade apply has not come to its end for v1.21.0 yet",
        ),
        ({"targetVersion": NEW}, cluster(worker("w")), "no control plane Node"),
        ({"targetVersion": NEW}, cluster(*THREE, api_answers=False), "no API server of the cluster answers"),
        ({"targetVersion": NEW}, cluster(control_plane("cp-a", api=""), lowest=""), "API server reports its version"),
        ({"targetVersion": NEW}, cluster(*THREE, cluster_configuration=""), "no ConfigMap kubeadm-config"),
        ({"targetVersion": NEW}, cluster(*THREE, worker("w", ready=False)), "Node w is not Ready"),
        (
            {"targetVersion": NEW},
            cluster(*THREE, more="featureGates:\n  SelfHosting: true"),
            "does not know the feature gate SelfHosting",
        ),
    ],
)
def test_refused_before_anything_is_started(spec: dict[str, t.Any], facts: ClusterFacts, words: str) -> None:
    """Versions, kubelets, Nodes and configurations that can't be upgraded from."""
    assert words in refusal(spec, facts)


def test_a_configuration_that_the_new_kubeadm_does_not_read() -> None:
    """v1beta1 is read until 1.21."""
    nodes = [control_plane("cp-a", "v1.21.0", "v1.21.0")]
    text = "apiVersion: kubeadm.k8s.io/v1beta2\nkind: ClusterConfiguration\nkubernetesVersion: v1.26.0\n"
    newer = ClusterFacts("prod", "v1.26.0", (control_plane("cp-a", "v1.26.0", "v1.26.0"),), cluster_configuration=text)
    assert "does not read" in refusal({"targetVersion": "v1.27.0"}, newer)
    assert "Kubernetes can't go back" in refusal({"targetVersion": "v1.14.0"}, newer), "which reads it as little"
    taken_back = ClusterFacts("prod", OLD, THREE, cluster_configuration=text.replace("v1beta2", "v1beta3"))
    assert "kubeadm_config_map with cluster and store" in refusal({"targetVersion": NEW}, taken_back)
    fine = cluster(*nodes, lowest="v1.21.0", configured="v1.21.0")
    assert shape(plan({"targetVersion": "v1.22.0"}, fine))[0] == ("upgrade-cp-1", ("cp-a",))


def modern(*releases: str, version: str = "v1.33.0", tag: str = "", **facts: t.Any) -> ClusterFacts:
    """Control plane Nodes of a version whose etcd members give these releases ("" gives none)."""
    nodes = [control_plane(f"cp-{number}", version, version) for number, _release in enumerate(releases)]
    text = f"apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: {version}\n"
    text += f"etcd:\n  local:\n    imageTag: {tag}\n" if tag else ""
    etcd = {f"cp-{number}": release for number, release in enumerate(releases) if release}
    return ClusterFacts("prod", version, tuple(nodes), cluster_configuration=text, etcd_versions=etcd, **facts)


@pytest.mark.parametrize(
    ("target", "facts", "too_old"),
    [
        ("v1.34.0", modern("3.5.19"), "cp-0 (3.5.19)"),
        ("v1.34.0", modern("3.5.24", "3.5.9", "3.6.4"), "cp-1 (3.5.9)"),
        ("v1.34.0", modern("3.5.20", "3.5.24", "3.6.4"), ""),
        ("v1.34.0", modern("", tag="3.5.15-0"), ""),
        ("v1.34.0", modern("3.5.15", tag="3.5.24-0"), ""),
        ("v1.34.0", modern(""), ""),
        ("v1.34.0", modern("3.5.9", external_etcd=True), ""),
        ("v1.33.5", modern("3.5.9"), ""),
        ("v1.37.0", modern("3.6.8", version="v1.36.0"), "cp-0 (3.6.8)"),
        ("v1.37.0", modern("", version="v1.36.0"), "cp-0 (3.6.8)"),
        ("v1.37.0", modern("3.6.11", version="v1.36.0"), ""),
    ],
)
def test_an_etcd_that_is_too_old_for_the_next_one(target: str, facts: ClusterFacts, too_old: str) -> None:
    """kubeadm checks none of it; without etcd's upgrade nothing of it matters; a workflow's commands are held to it too."""
    assert plan({"targetVersion": target, "etcdUpgrade": False}, facts)
    workflow = {"kubeadmUpgradeApply": {"version": target}}
    own = {"nodeSelector": {}, "template": {"spec": {"commands": [workflow]}}}
    if not too_old:
        assert plan({"targetVersion": target}, facts)
        assert custom.group_plan("own", own, facts, "spec.custom.workflow[0]").nodes
        return
    assert f": {too_old}" in refusal({"targetVersion": target}, facts)
    for planned in (
        lambda: custom.group_plan("own", own, facts, "spec.custom.workflow[0]"),
        lambda: custom.task_plan({"nodeName": "cp-0", "commands": [workflow]}, facts),
    ):
        with pytest.raises(RefusedAction) as refused:
            planned()
        assert refused.value.error.path.endswith("commands[0].kubeadmUpgradeApply.version")
        assert f": {too_old}" in refused.value.error.rule


@pytest.mark.parametrize(
    ("spec", "path", "words"),
    [
        ({}, "spec.upgrade.targetVersion", "needs it"),
        ({"targetVersion": "1.21.0"}, "spec.upgrade.targetVersion", "of the form v1.30.2"),
        ({"targetVersion": "v1.21.0; rm -rf /"}, "spec.upgrade.targetVersion", "of the form v1.30.2"),
        ({"targetVersion": NEW, "kubernetesVersion": OLD}, "spec.upgrade.kubernetesVersion", "something else"),
        ({"targetVersion": NEW, "drian": True}, "spec.upgrade.drian", "no such field"),
        ({"targetVersion": NEW, "drain": "yes"}, "spec.upgrade.drain", "true or false"),
        (
            {"targetVersion": NEW, "nodeSelector": {"labels": {}}},
            "spec.upgrade.nodeSelector.labels",
            "matchLabels and matchExpressions",
        ),
        ({"targetVersion": NEW, "maxUnavailable": 0}, "spec.upgrade.maxUnavailable", "at least 1"),
        ({"targetVersion": NEW, "binaries": {"source": "ftp"}}, "spec.upgrade.binaries.source", "packages or files"),
        ({"targetVersion": NEW, "binaries": {"source": "files"}}, "spec.upgrade.binaries.path", "need it"),
        (
            {"targetVersion": NEW, "binaries": {"source": "packages", "packageVersion": "1; reboot"}},
            "spec.upgrade.binaries.packageVersion",
            "package version",
        ),
        (
            {"targetVersion": NEW, "binaries": {"source": "files", "path": "/o", "checksums": {"kubelet": "x"}}},
            "spec.upgrade.binaries.checksums.kubelet",
            "sha256",
        ),
        ({"targetVersion": NEW, "ignorePreflightErrors": ["a b"]}, "spec.upgrade.ignorePreflightErrors", "form"),
    ],
)
def test_what_is_wrong_with_a_spec(spec: dict[str, t.Any], path: str, words: str) -> None:
    """Each mistake with its field's path."""
    assert [(each.path, words in each.rule) for each in validate(spec, "spec.upgrade")] == [(path, True)]


def test_a_spec_that_is_right() -> None:
    """Every field at once."""
    spec = {
        "targetVersion": NEW,
        "kubernetesVersion": NEW,
        "drain": True,
        "drainTimeoutSeconds": 0,
        "nodeSelector": {"matchExpressions": [{"key": "pool", "operator": "Exists"}]},
        "maxUnavailable": 3,
        "binaries": {"source": "packages", "packageVersion": "1.21.0-00"},
        "ignorePreflightErrors": ["ImagePull"],
        "certificateRenewal": True,
        "etcdUpgrade": True,
    }
    assert validate(spec, "spec.upgrade") == []
