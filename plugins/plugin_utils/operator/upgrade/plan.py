# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Planner of an upgrade in place: refusals, Nodes, commands, and their order.

Source: docs/reference/kubeadm.md, "Upgrading".
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from ....module_utils.common import kubernetes_facts, kubernetes_versions
from ....module_utils.common.kubernetes_versions import Version, parse, read_version
from ....module_utils.common.violations import ManifestError
from ...kubeadm import etcd_releases
from ...kubeadm.configuration import any_form, kinds
from ...objects import advice
from ...objects.actions import FieldError
from ...objects.kinds import LABEL_DEPLOYMENT_NAME
from .. import command_type, node_selector
from ..command_type import Parameter
from ..planner_types import PARALLEL, SERIAL, ClusterFacts, GroupPlan, NodeFacts, RefusedAction
from . import commands as catalogue_upgrade

PATH = "spec.upgrade"
TARGET = f"{PATH}.targetVersion"
# What the facts have in ``extra`` for an upgrade: preflight errors that the machines' images and configurations ignore, the version in the
# KubeadmControlPlane, those of MachineDeployments by the label of their Nodes, and whether kubeadm's DNS addon was left out of the cluster.
EXTRA_IGNORED, EXTRA_RECORDED, EXTRA_WITHOUT_DNS = "ignorePreflightErrors", "recordedVersion", "withoutDns"
EXTRA_DEPLOYMENTS = "deployments"
# kubeadm leaves a DNS that is not there alone, but for these, which take it for one of an unknown version.
_DNS_CHECKS = ("CoreDNSMigration", "CoreDNSUnsupportedPlugins")

# Either of its two names will do: validate asks for one.
_VERSION = dataclasses.replace(catalogue_upgrade.version_parameter(), required=False)
_FIELDS: Mapping[str, Parameter] = {
    "targetVersion": _VERSION,
    "kubernetesVersion": _VERSION,
    "drain": Parameter(command_type.BOOLEAN),
    "drainTimeoutSeconds": Parameter(command_type.INTEGER, minimum=0),
    "nodeSelector": Parameter(command_type.MAPPING),
    "maxUnavailable": Parameter(command_type.INTEGER, minimum=1),
    "binaries": Parameter(command_type.MAPPING),
    "ignorePreflightErrors": Parameter(command_type.STRINGS, pattern=r"[A-Za-z0-9][A-Za-z0-9./:_-]*"),
    "certificateRenewal": Parameter(command_type.BOOLEAN),
    "etcdUpgrade": Parameter(command_type.BOOLEAN),
}


def validate(spec: Mapping[str, Any], path: str) -> list[FieldError]:
    """Return the errors in ``spec.upgrade``, whatever the cluster.

    ``kubernetesVersion`` is the later name of ``targetVersion``.
    """
    found = command_type.given_errors(_FIELDS, spec, path, "an upgrade")
    target, later = spec.get("targetVersion"), spec.get("kubernetesVersion")
    if target is None and later is None:
        found.append(FieldError(f"{path}.targetVersion", None, "an upgrade needs it", "Give such as v1.30.2."))
    elif target is not None and later is not None and target != later:
        rule = f"says something else than targetVersion, which is {target}"
        found.append(FieldError(f"{path}.kubernetesVersion", later, rule, "Give one of the two only."))
    if isinstance(spec.get("binaries"), Mapping):
        found += catalogue_upgrade.binaries_errors(spec["binaries"], f"{path}.binaries")
    if isinstance(spec.get("nodeSelector"), Mapping):
        found += node_selector.errors(spec["nodeSelector"], f"{path}.nodeSelector")
    return found


def target_of(spec: Mapping[str, Any]) -> str:
    """Return the version that an Action requests."""
    return str(spec.get("targetVersion") or spec.get("kubernetesVersion"))


def plan(spec: Mapping[str, Any], cluster: ClusterFacts) -> tuple[GroupPlan, ...]:
    """Return the TaskGroups of an upgrade.

    Half-upgraded Nodes come first, then one ``kubeadm upgrade apply``, the other control plane Nodes, and the workers.
    The versions in the store follow with each Node, and the control plane's when all of its Nodes are done. Nodes at
    the version already have no Task; nothing left to do is no TaskGroup.

    Raises:
        RefusedAction: the version can't be upgraded to from here, or a Node is in no state for it.
    """
    target = parse(target_of(spec))
    if not cluster.control_plane_nodes:
        raise RefusedAction(PATH, None, "the cluster has no control plane Node", "Check its role labels.")
    if not cluster.api_answers:
        fix = "Mend that first; where its certificates have expired, run an Action renewCertificates."
        raise RefusedAction(PATH, None, "no API server of the cluster answers, and an upgrade needs one", fix)
    if not cluster.kubernetes_version:
        fix = "Look at the kube-apiserver pods in kube-system: their images must have a version as their tag."
        raise RefusedAction(PATH, None, "no API server reports its version", fix)
    _require_versions(target, cluster)
    configured = _require_configuration(target, cluster)
    if spec.get("etcdUpgrade") is not False:
        require_etcd(str(target), cluster, TARGET)
    selected = _selected(spec, cluster)
    _require_kubelets(target, cluster)
    _require_ready(target, selected)
    control_plane = [each for each in selected if each.control_plane and not _done(each, target)]
    workers = [each for each in selected if not each.control_plane and not _same(each.kubelet_version, target)]
    # kubeadm uploads its configuration before its last steps, and a rollout that was taken back has written it, too: that it has
    # the version doesn't say that an apply came to its end.
    some_done = any(_done(each, target) for each in cluster.control_plane_nodes)
    applied = configured == target and some_done and not any(_begun(each, target) for each in control_plane)
    if not applied and not control_plane:
        control_plane = [each for each in selected if each.control_plane][:1]
    _require_api_servers_first(target, cluster, control_plane, workers)
    if not applied and not control_plane:
        rule = f"it selects no control plane Node, and kubeadm upgrade apply has not come to its end for {target} yet"
        raise RefusedAction(f"{PATH}.nodeSelector", None, rule, "Select a control plane Node as well.")
    # A Node on which an upgrade was begun is finished before another one is touched; sorting keeps the order by name otherwise.
    control_plane.sort(key=lambda each: not _begun(each, target))
    groups = []
    steps = _Steps(spec, str(target), cluster)
    if not applied:
        first, control_plane = control_plane[0], control_plane[1:]
        groups.append(steps.group("upgrade-cp-1", [first], "kubeadmUpgradeApply", gate=not _begun(first, target)))
    begun = [each for each in control_plane if _begun(each, target)]
    if begun:
        groups.append(steps.group("finish-cp", begun, "kubeadmUpgradeNode", gate=False))
    others = [each for each in control_plane if not _begun(each, target)]
    if others:
        groups.append(steps.group("upgrade-cp-n", others, "kubeadmUpgradeNode", gate=True))
    left = {each.name for each in cluster.control_plane_nodes if not _done(each, target)}
    planned = [name for group in groups for name in group.nodes]
    recorders = planned or [each.name for each in selected if each.control_plane and _unrecorded(target, cluster)]
    if recorders and left <= set(planned):
        # A control plane of which a part was selected is not at the version, and its spec must not say so.
        groups.append(GroupPlan("record", (recorders[-1],), ({"recordControlPlane": {"version": str(target)}},)))
    if workers:
        groups.append(steps.group("upgrade-w", workers, "kubeadmUpgradeNode", gate=False))
    if _unrecorded_workers(target, cluster, selected):
        # On no worker: any of them can be left out.
        recorder = min(cluster.control_plane_nodes, key=lambda each: not each.ready)
        groups.append(GroupPlan("record-w", (recorder.name,), ({"recordWorkers": {"version": str(target)}},)))
    return tuple(groups)


class _Steps:
    """Commands of an upgrade's TaskGroups."""

    def __init__(self, spec: Mapping[str, Any], target: str, cluster: ClusterFacts) -> None:
        self._spec = spec
        self._target = target
        self._lone = len(cluster.nodes) == 1
        ignored = {*(spec.get("ignorePreflightErrors") or []), *(cluster.extra.get(EXTRA_IGNORED) or [])}
        if cluster.extra.get(EXTRA_WITHOUT_DNS):
            ignored.update(_DNS_CHECKS)
        self._ignored = {"ignorePreflightErrors": sorted(ignored)} if ignored else {}
        # A machine that was made although it is small is upgraded although it is.
        self._waived = {"ignore": sorted(ignored)} if ignored else {}
        self._flags: dict[str, Any] = {
            name: spec[name] for name in ("certificateRenewal", "etcdUpgrade") if spec.get(name) is not None
        }

    def group(self, name: str, nodes: Sequence[NodeFacts], verb: str, *, gate: bool) -> GroupPlan:
        """Return one TaskGroup of an upgrade.

        ``gate``: the Nodes have to be healthy before anything is done to them.
        """
        version = {"version": self._target}
        binaries = {**version, "binaries": dict(self._spec["binaries"])} if self._spec.get("binaries") else version
        worker = not nodes[0].control_plane
        drained = self._drained(nodes)
        steps: list[dict[str, Any]] = [{"preflight": {**version, **self._waived}}]
        if gate:
            steps.append({"waitHealthy": {}})
        steps.append({"upgradeKubeadm": binaries})
        if verb == "kubeadmUpgradeApply":
            steps.append({"kubeadmUpgradePlan": {**version, **self._ignored}})
        steps.append({verb: {**version, **self._ignored, **self._flags}})
        if not worker:
            # Right away: were the Action given up from here on, no machine of the older version may be made beside this one.
            renewed = self._spec.get("certificateRenewal") is not False
            steps.append({"recordMachine": {**version, **({"certificates": True} if renewed else {})}})
        served = {} if worker else {"apiServerVersion": self._target}
        if not worker:
            steps.append({"waitHealthy": served})
        if drained:
            seconds = self._spec.get("drainTimeoutSeconds")
            steps.append({"kubectlDrain": {} if seconds is None else {"timeoutSeconds": seconds}})
        steps.append({"upgradeKubeletAndKubectl": binaries})
        steps.append({"waitHealthy": {"kubeletVersion": self._target, **served}})
        if drained:
            steps.append({"kubectlUncordon": {}})
        at_once = min(int(self._spec.get("maxUnavailable") or 1), len(nodes)) if worker else 1
        policy = PARALLEL if at_once > 1 else SERIAL
        return GroupPlan(name, tuple(each.name for each in nodes), tuple(steps), policy, at_once)

    def _drained(self, nodes: Sequence[NodeFacts]) -> bool:
        """Return whether the Nodes are drained.

        The spec decides; else they are where a kubelet changes its minor version, and its pods can move to another
        Node.

        Source: docs/reference/kubeadm.md, "Upgrading".
        """
        if self._spec.get("drain") is not None:
            return bool(self._spec["drain"])
        target = parse(self._target)
        kubelets = [read_version(each.kubelet_version) for each in nodes]
        return not self._lone and any(each is None or not each.same_minor(target) for each in kubelets)


def _same(text: str, target: Version) -> bool:
    return read_version(text) == target


def _done(node: NodeFacts, target: Version) -> bool:
    return _same(node.api_server_version, target) and _same(node.kubelet_version, target)


def _begun(node: NodeFacts, target: Version) -> bool:
    """Return whether a control plane Node's upgrade to this version is unfinished."""
    return _same(node.api_server_version, target) != _same(node.kubelet_version, target)


def _unrecorded_workers(target: Version, cluster: ClusterFacts, selected: Sequence[NodeFacts]) -> bool:
    """Return whether a MachineDeployment records an older version than its workers get.

    They are the selected ones that are upgraded; and where all of them were, an upgrade ended before its record.
    """
    for label, recorded in (cluster.extra.get(EXTRA_DEPLOYMENTS) or {}).items():
        own = [each for each in cluster.workers if each.labels.get(LABEL_DEPLOYMENT_NAME) == label]
        left = [each for each in own if not _same(each.kubelet_version, target)]
        version = read_version(str(recorded))
        if own and version is not None and version < target and (not left or any(each in selected for each in left)):
            return True
    return False


def _unrecorded(target: Version, cluster: ClusterFacts) -> bool:
    """Return whether the KubeadmControlPlane records an older version."""
    recorded = read_version(str(cluster.extra.get(EXTRA_RECORDED) or ""))
    return recorded is not None and recorded < target


def _require_configuration(target: Version, cluster: ClusterFacts) -> Version | None:
    """Return the version in kubeadm-config; refuse what the new kubeadm can't read."""
    if not cluster.cluster_configuration:
        rule = "the cluster keeps no ConfigMap kubeadm-config, without which kubeadm does not upgrade"
        raise RefusedAction(PATH, None, rule, advice.RESTORE_KUBEADM_CONFIG)
    try:
        read = any_form.read(cluster.cluster_configuration, "ConfigMap kube-system/kubeadm-config")
    except ManifestError as error:
        raise RefusedAction(PATH, None, f"kubeadm-config can't be read: {error}", "Correct it first.") from error
    number = kinds.api_number(read.api_versions.get("clusterConfiguration", ""))
    if number is not None and not kubernetes_versions.readable_by(str(target), number):
        rule = f"kubeadm of {target} does not read the cluster's configuration, {kubernetes_versions.api(number).api_version}"
        fix = (
            "Migrate it with the present kubeadm: write the ConfigMap's ClusterConfiguration to a file OLD, kubeadm config migrate --old-config OLD "
            "--new-config NEW, then kubeadm init phase upload-config kubeadm --config NEW."
        )
        if kubernetes_versions.written_later(str(target), number):
            fix = (
                "It is a newer version's, as a rollout that was taken back leaves it. Write what the KubeadmControlPlane says: the module "
                "kubeadm.control_plane.kubeadm_config_map with cluster and store (docs/workload.md), then begin again."
            )
        raise RefusedAction(TARGET, str(target), rule, fix)
    configuration = read.hub.get("clusterConfiguration") or {}
    for gate in sorted(configuration.get("featureGates") or {}):
        if kubernetes_facts.feature_gate_refused(target, gate):
            rule = f"kubeadm of {target} does not know the feature gate {gate} of the cluster's configuration"
            fix = f"Take {gate} out of ClusterConfiguration.featureGates first (an Action changeConfiguration)."
            raise RefusedAction(TARGET, str(target), rule, fix)
    return read_version(str(configuration.get("kubernetesVersion") or ""))


def _require_versions(target: Version, cluster: ClusterFacts) -> None:
    lowest = parse(cluster.kubernetes_version)
    for node in cluster.control_plane_nodes:
        version = read_version(node.api_server_version)
        if version is not None and target < version:
            rule = f"{node.name} runs {version}, and Kubernetes can't go back"
            raise RefusedAction(TARGET, str(target), rule, f"Give {version} or newer.")
    if target < lowest:
        rule = f"the cluster runs {lowest}, and Kubernetes can't go back"
        raise RefusedAction(TARGET, str(target), rule, f"Give {lowest} or newer.")
    if not target.follows(lowest):
        rule = f"no minor version may be skipped, and an API server of {lowest} still runs"
        fix = f"Upgrade to a v{lowest.major}.{lowest.minor + 1} version first, on every control plane Node."
        raise RefusedAction(TARGET, str(target), rule, fix)


def require_etcd(version: str, cluster: ClusterFacts, path: str) -> None:
    """Refuse a Kubernetes version that etcd's members are too old for (docs/upgrade_in_place.md).

    The refusal is of kubeadm's upgrade to it. A member that gave no version counts as the one that its Node's kubeadm
    chose. ``path`` is the field that requests the version.

    Raises:
        RefusedAction: a member is too old.
    """
    if cluster.external_etcd:
        return
    try:
        read = any_form.read(cluster.cluster_configuration, "ConfigMap kube-system/kubeadm-config").hub
    except ManifestError:
        read = {}
    local = ((read.get("clusterConfiguration") or {}).get("etcd") or {}).get("local") or {}
    tag = str(local.get("imageTag") or "")
    running = {}
    for node in cluster.control_plane_nodes:
        release = etcd_releases.release_of(cluster.etcd_versions.get(node.name))
        release = release or etcd_releases.brought_by(node.api_server_version, tag)
        if release is not None:
            running[node.name] = release
    refused = etcd_releases.refusal(version, tag, running)
    if refused is not None:
        raise RefusedAction(path, version, *refused)


def _selected(spec: Mapping[str, Any], cluster: ClusterFacts) -> list[NodeFacts]:
    selector = spec.get("nodeSelector")
    if selector is None:
        return list(cluster.nodes)
    found = [each for each in cluster.nodes if node_selector.matches(selector, each.labels)]
    if not found:
        fix = "Correct the labels (kubectl get nodes --show-labels), or leave the selector out for all Nodes."
        raise RefusedAction(f"{PATH}.nodeSelector", None, "it selects no Node of the cluster", fix)
    return found


def _require_kubelets(target: Version, cluster: ClusterFacts) -> None:
    limit = kubernetes_facts.kubelet_upgrade_skew(target)
    for node in cluster.nodes:
        kubelet = read_version(node.kubelet_version)
        if kubelet is None:
            continue
        if kubelet > target:
            rule = f"the kubelet of {node.name} is {kubelet}, and none may be newer than the API servers"
            raise RefusedAction(TARGET, str(target), rule, f"Give {kubelet} or newer.")
        if target.minors_after(kubelet) > limit:
            rule = (
                f"the kubelet of {node.name} is {kubelet}, too old for API servers of {target} (at most {limit} minor)"
            )
            fix = f"Upgrade it first: an Action upgrade with targetVersion {cluster.kubernetes_version}."
            raise RefusedAction(TARGET, str(target), rule, fix)


def _require_ready(target: Version, selected: Sequence[NodeFacts]) -> None:
    for node in selected:
        begun = _begun(node, target) if node.control_plane else False
        if not node.ready and not begun:
            rule = f"Node {node.name} is not Ready, and its upgrade could not be distinguished from its trouble"
            fix = "Make it Ready, or leave it out with a nodeSelector."
            raise RefusedAction(PATH, None, rule, fix)


def _require_api_servers_first(
    target: Version, cluster: ClusterFacts, upgraded: Sequence[NodeFacts], workers: Sequence[NodeFacts]
) -> None:
    """Refuse an upgrade that leaves a kubelet newer than any API server.

    That holds also for as long as an Action takes.

    Source: docs/reference/kubeadm.md, "Version skew".
    """
    done = {each.name for each in upgraded}
    left = [
        each.name
        for each in cluster.control_plane_nodes
        if each.name not in done and not _same(each.api_server_version, target)
    ]
    if workers and left:
        rule = f"it leaves the API server of {', '.join(left)} behind, and no kubelet of a worker may be newer"
        raise RefusedAction(f"{PATH}.nodeSelector", None, rule, "Select the control plane's Nodes as well, or first.")


__all__ = [
    "EXTRA_DEPLOYMENTS",
    "EXTRA_IGNORED",
    "EXTRA_RECORDED",
    "EXTRA_WITHOUT_DNS",
    "plan",
    "require_etcd",
    "target_of",
    "validate",
]
