# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Planner of ``changeConfiguration``: Nodes, their changes, and the order.

Source: docs/reference/kubeadm.md, "Reconfiguring".

The control plane's nodes are checked first, all of them, before anything changes. Then they change one after the other,
each rolling back by itself where its components don't become healthy; only when all run with the new configuration is
kubeadm-config written. Kubelets follow, control plane before workers, and kube-proxy last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....module_utils.common import settings
from ....module_utils.common.violations import Report, Violation
from ...kubeadm.configuration import patch as configuration_patch
from ...objects import advice
from ...objects.actions import FieldError
from ..planner_types import PARALLEL, SERIAL, ClusterFacts, GroupPlan, RefusedAction
from . import unchangeable_fields as configuration_rules

PATH = "spec.changeConfiguration"
CLUSTER, KUBELET, KUBE_PROXY = "clusterConfiguration", "kubeletConfiguration", "kubeProxyConfiguration"
REFUSE, OVERWRITE = "Refuse", "Overwrite"
APISERVER, MANAGER, SCHEDULER, ETCD = "kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"
# Of ClusterConfiguration's fields: the static pods that are made from them, and the certificates.
_COMPONENTS: Mapping[str, tuple[str, ...]] = {
    "apiServer": (APISERVER,),
    "controllerManager": (MANAGER,),
    "scheduler": (SCHEDULER,),
    "etcd": (ETCD, APISERVER),
    "imageRepository": (ETCD, APISERVER, MANAGER, SCHEDULER),
    "featureGates": (ETCD, APISERVER, MANAGER, SCHEDULER),
}
_ORDER = (ETCD, APISERVER, MANAGER, SCHEDULER)
_CERTIFICATES: Mapping[str, str] = {
    "apiServer.certSANs": "apiserver",
    "etcd.local.serverCertSANs": "etcd-server",
    "etcd.local.peerCertSANs": "etcd-peer",
}
_FIELDS = (CLUSTER, KUBELET, KUBE_PROXY, "drain", "maxUnavailable", "manualChanges", "timeoutSeconds")


def validate(spec: Mapping[str, Any], path: str) -> list[FieldError]:
    """Return the errors in ``changeConfiguration`` as written, whatever the cluster."""
    found: list[FieldError] = []
    for name in sorted(set(spec) - set(_FIELDS)):
        found.append(FieldError(f"{path}.{name}", None, "there is no such field", f"It has: {', '.join(_FIELDS)}."))
    patches = [name for name in (CLUSTER, KUBELET, KUBE_PROXY) if spec.get(name) is not None]
    for name in patches:
        if not isinstance(spec[name], Mapping) or not spec[name]:
            rule = "must be a mapping of the fields that are to change"
            found.append(
                FieldError(f"{path}.{name}", None, rule, "Write the fields with their new values; null removes one.")
            )
    if not patches:
        rule = f"says nothing that is to change: it needs one of {CLUSTER}, {KUBELET} and {KUBE_PROXY}"
        found.append(
            FieldError(
                path, None, rule, "Write such as: clusterConfiguration: {apiServer: {certSANs: [api.example.com]}}."
            )
        )
    for name in ("maxUnavailable", "timeoutSeconds"):
        value = spec.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
            found.append(FieldError(f"{path}.{name}", value, "must be a whole number from 1 on", "Correct it."))
    if not isinstance(spec.get("drain", False), bool):
        found.append(FieldError(f"{path}.drain", spec["drain"], "must be true or false", "Correct it."))
    if spec.get("manualChanges", REFUSE) not in (REFUSE, OVERWRITE):
        found.append(
            FieldError(
                f"{path}.manualChanges",
                spec["manualChanges"],
                f"must be {REFUSE} or {OVERWRITE}",
                "Choose one of them.",
            )
        )
    if isinstance(spec.get(CLUSTER), Mapping):
        report = Report("Action")
        configuration_patch.merge_cluster_configuration({}, spec[CLUSTER], f"{path}.{CLUSTER}", report)
        found += [_error(each) for each in report.violations]
    return found


def plan(spec: Mapping[str, Any], facts: ClusterFacts) -> tuple[GroupPlan, ...]:
    """Return the TaskGroups that bring the patches to the cluster.

    Raises:
        RefusedAction: a field can't be changed in place, kubeadm would refuse the result, or the cluster isn't in a
        state for it.
    """
    _require_settled(facts)
    seconds = int(spec.get("timeoutSeconds") or settings.CONFIGURATION_SECONDS)
    groups: list[GroupPlan] = []
    if spec.get(KUBELET):
        groups.append(_kubelet_check(spec, facts))
    if spec.get(CLUSTER):
        groups += _control_plane(spec, facts, seconds)
    if spec.get(KUBELET):
        groups += _kubelets(spec, facts, seconds)
    if spec.get(KUBE_PROXY):
        changes = _component(spec, KUBE_PROXY, facts.kube_proxy_configuration, configuration_rules.KUBE_PROXY)
        command = {"patch": dict(spec[KUBE_PROXY]), "changes": list(changes), "timeoutSeconds": seconds}
        first = facts.control_plane_nodes[0].name
        groups.append(GroupPlan("kube-proxy", (first,), ({"changeKubeProxyConfiguration": command},)))
    return tuple(groups)


def _control_plane(spec: Mapping[str, Any], facts: ClusterFacts, seconds: int) -> list[GroupPlan]:
    path, patch = f"{PATH}.{CLUSTER}", dict(spec[CLUSTER])
    stored = _read_cluster(facts, path)
    report = Report("Action")
    after = configuration_patch.merge_cluster_configuration(stored.hub, patch, path, report)
    for field, value, rule in configuration_rules.refused_cluster(stored.hub, after):
        raise RefusedAction(f"{path}.{field}", _scalar(value), f"this can't be changed in place: {rule.why}", rule.fix)
    configuration_patch.check_cluster_configuration(after, stored.api, facts.kubernetes_version, path, report)
    if report.violations:
        error = _error(report.violations[0])
        more = f" ({len(report.violations)} problems in all)" if len(report.violations) > 1 else ""
        raise RefusedAction(error.path, error.value, error.rule + more, error.fix)
    if facts.external_etcd and configuration_rules.value_at(patch, "etcd.local"):
        raise RefusedAction(
            f"{path}.etcd.local", None, "the cluster's etcd is external: kubeadm doesn't run it", "Remove it."
        )
    components, certificates = affected(patch, facts.external_etcd)
    command = {
        "patch": patch,
        "changes": list(configuration_patch.changes(stored.hub, after, CLUSTER)),
        "components": list(components),
        "certificates": list(certificates),
        "manualChanges": spec.get("manualChanges", REFUSE),
    }
    nodes = tuple(each.name for each in facts.control_plane_nodes)
    groups = []
    if components or certificates:
        groups.append(GroupPlan("check", nodes, (_healthy(seconds), {"checkControlPlaneConfiguration": command})))
        change = {"changeControlPlaneConfiguration": {**command, "timeoutSeconds": seconds}}
        groups.append(GroupPlan("control-plane", nodes, (change, _healthy(seconds))))
    record = {"patch": patch, "changes": command["changes"]}
    groups.append(GroupPlan("record", nodes[:1], ({"recordClusterConfiguration": record},)))
    return groups


def _kubelets(spec: Mapping[str, Any], facts: ClusterFacts, seconds: int) -> list[GroupPlan]:
    changes = _component(spec, KUBELET, facts.kubelet_configuration, configuration_rules.KUBELET)
    command = {
        "patch": dict(spec[KUBELET]),
        "changes": list(changes),
        "manualChanges": spec.get("manualChanges", REFUSE),
        "timeoutSeconds": seconds,
    }
    commands: tuple[Mapping[str, Any], ...] = ({"changeKubeletConfiguration": command}, _healthy(seconds))
    if spec.get("drain"):
        commands = ({"kubectlDrain": {}}, *commands, {"kubectlUncordon": {}})
    groups = [GroupPlan("kubelet-cp", tuple(each.name for each in facts.control_plane_nodes), commands)]
    workers = tuple(each.name for each in facts.workers)
    if workers:
        budget = min(int(spec.get("maxUnavailable") or 1), len(workers))
        groups.append(GroupPlan("kubelet-w", workers, commands, PARALLEL if budget > 1 else SERIAL, budget))
    return groups


def _kubelet_check(spec: Mapping[str, Any], facts: ClusterFacts) -> GroupPlan:
    """Return the TaskGroup that checks the kubelets' own flags.

    It comes before anything changes anywhere: a kubelet whose flags outweigh a field would continue with the old value,
    unnoticed.
    """
    command = {
        "fields": list(configuration_patch.fields_of(spec[KUBELET])),
        "manualChanges": spec.get("manualChanges", REFUSE),
    }
    nodes = (*facts.control_plane_nodes, *facts.workers)
    return GroupPlan("kubelet-check", tuple(each.name for each in nodes), ({"checkKubeletConfiguration": command},))


def affected(patch: Mapping[str, Any], external_etcd: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the static pods and certificates that a patch may change.

    The patch is on ClusterConfiguration; etcd is first.
    """
    found = {component for field, components in _COMPONENTS.items() if field in patch for component in components}
    if external_etcd:
        found.discard(ETCD)
    elif set(patch.get("etcd") or {}) <= {"local"}:
        # What is said of the local etcd is nothing to the API servers.
        found -= {APISERVER} - {each for field in patch if field != "etcd" for each in _COMPONENTS.get(field, ())}
    names = [
        name
        for field, name in _CERTIFICATES.items()
        if _written(patch, field) and not (external_etcd and name != "apiserver")
    ]
    return tuple(each for each in _ORDER if each in found), tuple(names)


def _written(patch: Mapping[str, Any], path: str) -> bool:
    """Return whether a patch sets or removes a field.

    A field is removed, too, where one that contains it is.
    """
    here: Any = patch
    for key in path.split("."):
        if not isinstance(here, Mapping) or key not in here:
            return False
        here = here[key]
        if here is None:
            return True
    return True


def _require_settled(facts: ClusterFacts) -> None:
    nodes = facts.control_plane_nodes
    if not facts.api_answers:
        rule = "no API server answers, and what is to be changed could not be read"
        raise RefusedAction(PATH, None, rule, "Bring the control plane back first; playbook status says what is wrong.")
    if not nodes:
        raise RefusedAction(PATH, None, "the cluster has no control plane Node", "Is this the cluster that is meant?")
    found = sorted({each.api_server_version for each in nodes if each.api_server_version})
    if len(found) > 1:
        rule = f"an upgrade is half done: the API servers run {', '.join(found)}, and each kubeadm writes manifests of its own version"
        raise RefusedAction(PATH, None, rule, "Finish the upgrade first.")


def _read_cluster(facts: ClusterFacts, path: str) -> configuration_patch.Stored:
    if not facts.cluster_configuration:
        rule = "ConfigMap kube-system/kubeadm-config could not be read, or has no ClusterConfiguration"
        raise RefusedAction(path, None, rule, f"Where it is missing: {advice.RESTORE_KUBEADM_CONFIG}")
    try:
        return configuration_patch.read_cluster_configuration(facts.cluster_configuration)
    except configuration_patch.UnreadableConfiguration as error:
        rule = f"what ConfigMap kube-system/kubeadm-config holds can't be read: {error}"
        raise RefusedAction(path, None, rule, "Correct it with kubectl edit.") from error


def _component(
    spec: Mapping[str, Any], name: str, text: str, rules: Mapping[str, configuration_rules.Rule]
) -> tuple[str, ...]:
    """Return a patch's changes to another component's configuration as texts."""
    path, kind = f"{PATH}.{name}", f"{name[0].upper()}{name[1:]}"
    where = "kube-proxy" if name == KUBE_PROXY else "kubelet-config"
    if not text:
        raise RefusedAction(
            path, None, f"its ConfigMap kube-system/{where} could not be read", "Does this cluster have one?"
        )
    try:
        before = configuration_patch.read_component(text, kind)
    except configuration_patch.UnreadableConfiguration as error:
        rule = f"what its ConfigMap in kube-system holds can't be read: {error}"
        raise RefusedAction(path, None, rule, "Correct it with kubectl edit.") from error
    after = configuration_patch.merge(before, spec[name])
    for field, value, why in configuration_rules.refused(before, after, rules):
        raise RefusedAction(f"{path}.{field}", _scalar(value), f"this can't be changed in place: {why.why}", why.fix)
    return configuration_patch.changes(before, after, name)


def _healthy(seconds: int) -> Mapping[str, Any]:
    return {"waitHealthy": {"timeoutSeconds": seconds}}


def _error(violation: Violation) -> FieldError:
    return FieldError(violation.path, violation.value, violation.rule, violation.fix)


def _scalar(value: Any) -> Any:
    return None if isinstance(value, (Mapping, list)) else value
