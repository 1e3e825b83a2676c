# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rules for changes to stored objects by a manifest.

All violations are reported at once.

Source: docs/reference/cluster_api.md, "Admission rules".

Everything is compared by its meaning (equivalence.py): another Cluster API version of the same content is no change.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, Callable, Union

from ....module_utils.common import kubernetes_versions
from ....module_utils.common.violations import SECRET_KEYS, Report, child, steps
from .. import advice, kinds
from ..equivalence import ABSENT, EXACT, canonical, cluster_values, same, without_nulls
from .control_plane import SURGELESS_REPLICAS, managed_etcd, replica_rules
from .mending import unkeepable

Object = Mapping[str, Any]
# Why CoreDNS can't be changed from one image tag to another; None where it can.
DnsRefusal = Callable[[str, str], Union[str, None]]
_Allowed = Union[bool, Mapping[str, Any]]

_CONFIG = "spec.kubeadmConfigSpec"
_CLUSTER_CONFIGURATION = f"{_CONFIG}.clusterConfiguration"
_COMPONENTS = ("kubeletConfiguration", "kubeProxyConfiguration")
_SHOWN = 100
_KEY_PURPOSES = (kinds.PURPOSE_CA, kinds.PURPOSE_ETCD, kinds.PURPOSE_PROXY, kinds.PURPOSE_SERVICE_ACCOUNT)


def _all(*names: str) -> dict[str, bool]:
    return dict.fromkeys(names, True)


# docs/reference/cluster_api.md, "Admission rules": True means everything below; what is not named can't be changed.
_MUTABLE: Mapping[str, _Allowed] = {
    **_all("replicas", "version", "rollout", "remediation", "machineNaming"),
    "machineTemplate": _all("metadata", "spec"),
    "kubeadmConfigSpec": {
        **_all("files", "users", "ntp", "mounts", "diskSetup", "ignition", "format", "verbosity"),
        **_all("bootCommands", "preKubeadmCommands", "postKubeadmCommands"),
        "clusterConfiguration": {
            **_all("apiServer", "controllerManager", "scheduler", "etcd", "dns", "imageRepository", "featureGates"),
            **_all("certificateValidityPeriodDays", "encryptionAlgorithm"),
            # Its own rule binds it to spec.version (control_plane.py).
            **_all("kubernetesVersion"),
        },
        "initConfiguration": _all(
            "nodeRegistration", "patches", "skipPhases", "bootstrapTokens", "localAPIEndpoint", "timeouts"
        ),
        "joinConfiguration": _all(
            "nodeRegistration", "patches", "skipPhases", "caCertPath", "controlPlane", "discovery", "timeouts"
        ),
    },
}
_RESTORE = "Restore the old value; to have the new one, make a new cluster."
_AS_THE_CLUSTER = "Joining machines take it from the ConfigMap kube-system/kubeadm-config: write that value in the stored KubeadmControlPlane first, then here."
_FIXES: Mapping[str, str] = {
    f"{_CONFIG}.kubeletConfiguration": "Edit the cluster's kubelet ConfigMap, or patch it with patches.directory.",
    f"{_CONFIG}.kubeProxyConfiguration": "Edit the ConfigMap kube-system/kube-proxy in the cluster.",
}


def initialized(cluster: Object | None, control_plane: Object | None) -> bool:
    """Return whether the control plane was ever initialized, by stored status."""
    statuses = [(each or {}).get("status") or {} for each in (cluster, control_plane)]
    return any((status.get("initialization") or {}).get("controlPlaneInitialized") for status in statuses)


def validate_control_plane_update(
    stored: Object,
    desired: Object,
    report: Report,
    clusters: tuple[Object, Object] | None = None,
    dns_refusal: DnsRefusal | None = None,
    was_initialized: bool = False,
) -> None:
    """Check a KubeadmControlPlane (hub, defaulted) against the stored one.

    `clusters` is the stored and the desired Cluster, whose values replace what clusterConfiguration leaves out. `dns_refusal` knows
    between which CoreDNS releases the Corefile can be migrated; without it CoreDNS's tag is not checked.
    """
    before, after = _with_cluster_values(stored["spec"], desired["spec"], clusters)
    refused = list(_refused(before, after, _MUTABLE, "spec"))
    mended = unkeepable(stored, desired, [path for path, _old, _new in refused])
    for path, old, new in refused:
        if path not in mended:
            _unchangeable(path, old, new, report)
        elif was_initialized and path.startswith(f"{_CLUSTER_CONFIGURATION}."):
            # kubeadm of a joining machine takes it from the cluster: with another folder of certificates it could not join.
            _unchangeable(path, old, new, report, _AS_THE_CLUSTER)
    _etcd(stored, desired, report)
    _version(stored, desired, report)
    if dns_refusal is not None:
        _dns(stored, desired, report, dns_refusal)


def component_warnings(stored: Object | None, desired: Object) -> list[str]:
    """Return warnings for component configurations that are mended.

    kubeadm wrote them to the cluster with the first machine, and a joining machine reads them there.
    """
    own, wanted = (each["spec"].get("kubeadmConfigSpec") or {} for each in (stored or desired, desired))
    label = kinds.label_of(desired)
    return [
        f"{label}: {_CONFIG}.{name} is mended in the manifest only: the cluster keeps what it was made with, though its machines are replaced. "
        f"{_FIXES[f'{_CONFIG}.{name}']}"
        for name in _COMPONENTS
        if own.get(name) is not None and not same(own[name], wanted.get(name), name)
    ]


def validate_cluster_update(stored: Object, desired: Object, was_initialized: bool, report: Report) -> None:
    """Check a Cluster against the stored one.

    Its references are immutable, and once there is a control plane its network is too.
    """
    allowed: dict[str, _Allowed] = {"paused": True, "controlPlaneEndpoint": True, "clusterNetwork": True}
    if was_initialized:
        del allowed["controlPlaneEndpoint"], allowed["clusterNetwork"]
    for path, old, new in _refused(stored["spec"], desired["spec"], allowed, "spec"):
        _unchangeable(path, old, new, report)


def validate_content_update(stored: Object, desired: Object, has_keys: bool, report: Report) -> None:
    """Check a Secret or ConfigMap against the stored one.

    No value is reported. An immutable one stays, and the keys of a running cluster do: `has_keys` is whether it may have them.
    """
    before, after = stored.get("data") or {}, desired.get("data") or {}
    changed = sorted(key for key in {*before, *after} if before.get(key) != after.get(key))
    if stored.get("immutable") is True:
        rule = f"the stored {stored['kind']} is immutable, so this cannot be changed"
        paths = ["immutable"] if desired.get("immutable") is False else []
        for path in (*paths, *(child("data", key) for key in changed)):
            report.add(path, None, rule, f"Restore the old value, or give the {stored['kind']} another name.")
        return
    name = str(stored["metadata"]["name"])
    if not has_keys or not name.endswith(tuple(f"-{purpose}" for purpose in _KEY_PURPOSES)):
        return
    # A certificate may be renewed with its key; a key may be taken away, to sign elsewhere.
    decisive = "tls.key" if before.get("tls.key") and after.get("tls.key") else "tls.crt"
    key_is_kept = before.get("tls.key") and not after.get("tls.key") and "tls.crt" not in changed
    if decisive in changed and not key_is_kept:
        rule = "this is not the key of the running cluster: its machines would not trust those that come, nor clients the cluster"
        report.add(
            child("data", decisive), None, rule, "Restore the old value, or remove the Secret from the manifest."
        )


def validate_scale(control_plane: Object, replicas: Any, report: Report) -> None:
    """Check a replica count for a stored KubeadmControlPlane.

    The rules are those of the scale subresource.
    """
    if isinstance(replicas, bool) or not isinstance(replicas, int):
        report.add("spec.replicas", replicas, "a number of replicas is a whole number", "Use 1, 3 or 5.")
        return
    replica_rules(replicas, control_plane, report)
    strategy = (control_plane["spec"].get("rollout") or {}).get("strategy") or {}
    if 0 < replicas < SURGELESS_REPLICAS and (strategy.get("rollingUpdate") or {}).get("maxSurge") == 0:
        rule = (
            f"with maxSurge 0 there are at least {SURGELESS_REPLICAS} replicas, else a rollout would lose etcd's quorum"
        )
        report.add("spec.replicas", replicas, rule, "Use 3, or change maxSurge to 1 in the manifest first.")


def _with_cluster_values(
    stored: Object, desired: Object, clusters: tuple[Object, Object] | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return both specs with clusterConfigurations completed from their Clusters.

    A field is filled in where only the other clusterConfiguration has it.
    """
    specs = (copy.deepcopy(dict(stored)), copy.deepcopy(dict(desired)))
    if clusters is not None:
        configurations = [_configuration(spec) for spec in specs]
        for own, other, cluster in (
            (configurations[0], _configuration(desired), clusters[0]),
            (configurations[1], _configuration(stored), clusters[1]),
        ):
            for keys, value in cluster_values(cluster).items():
                if _value(other, keys) and not _value(own, keys):
                    holder = own.setdefault(keys[0], {}) if len(keys) > 1 else own
                    holder[keys[-1]] = value
        for spec, configuration in zip(specs, configurations):
            spec.setdefault("kubeadmConfigSpec", {})["clusterConfiguration"] = configuration
    return specs


def _configuration(spec: Object) -> dict[str, Any]:
    return (spec.get("kubeadmConfigSpec") or {}).get("clusterConfiguration") or {}


def _value(configuration: Object, keys: tuple[str, ...]) -> Any:
    found: Any = configuration
    for key in keys:
        found = (found or {}).get(key)
    return found


def _refused(
    before: Object, after: Object, allowed: Mapping[str, _Allowed], path: str
) -> Iterator[tuple[str, Any, Any]]:
    """Yield (path, old, new) of each forbidden change of a field."""
    for key in sorted({*before, *after}):
        below = allowed.get(key, False)
        old, new = before.get(key), after.get(key)
        if below is True or same(old, new, key):
            continue
        if isinstance(below, Mapping) and all(value is None or isinstance(value, dict) for value in (old, new)):
            yield from _refused(old or {}, new or {}, below, child(path, key))
        else:
            yield from _leaves(without_nulls(old), without_nulls(new), child(path, key), key)


def _leaves(old: Any, new: Any, path: str, key: str, exact: bool = False) -> Iterator[tuple[str, Any, Any]]:
    # Inside of these an empty part is no absent one: machines are compared with it.
    exact = exact or key in EXACT
    if (old or new) and all(value is None or isinstance(value, dict) for value in (old, new)):
        for name in sorted({*(old or {}), *(new or {})}):
            first, second = (old or {}).get(name), (new or {}).get(name)
            if (first != second) if exact else not same(first, second, name):
                yield from _leaves(first, second, child(path, name), name, exact)
    elif exact:
        yield path, ABSENT if old is None else old, ABSENT if new is None else new
    else:
        yield path, canonical(old, key), canonical(new, key)


def _unchangeable(path: str, old: Any, new: Any, report: Report, remedy: str = "") -> None:
    hidden = any(part in SECRET_KEYS or part in _COMPONENTS for part in map(str, steps(path)))
    was = "it was not set" if old is ABSENT else f"it was {_show(old)}" if not hidden else "it had another value"
    verb = "removed" if new is ABSENT else "set" if old is ABSENT else "changed"
    value = None if hidden or new is ABSENT else _plain(new)
    fix = remedy or next((text for prefix, text in _FIXES.items() if path.startswith(prefix)), _RESTORE)
    report.add(path, value, f"this cannot be {verb} after creation; {was}", fix)


def _plain(value: Any) -> Any:
    """Return a scalar unchanged, a list of scalars as text, else None."""
    if isinstance(value, list) and all(isinstance(entry, (str, int)) for entry in value):
        return ", ".join(str(entry) for entry in value)
    return value if isinstance(value, (str, bool, int, float)) else None


def _show(value: Any) -> str:
    found = _plain(value)
    if isinstance(found, str):
        return repr(found if len(found) <= _SHOWN else found[:_SHOWN] + "...")
    return "something else" if found is None else str(found).lower()


def _etcd(stored: Object, desired: Object, report: Report) -> None:
    if managed_etcd(stored) == managed_etcd(desired):
        return
    where, rule = f"{_CLUSTER_CONFIGURATION}.etcd.external", "etcd on the control plane machines cannot become external"
    if managed_etcd(desired):
        rule = "external etcd cannot become etcd on the control plane machines"
    fix = "Restore the old value: the data would be left behind. Move them to a new cluster with a snapshot."
    report.add(where, None, f"{rule} (local and external etcd are exchanged)", fix)


def _version(stored: Object, desired: Object, report: Report) -> None:
    path, old, new = "spec.version", stored["spec"].get("version"), desired["spec"].get("version")
    try:
        before = kubernetes_versions.parse(old or "")
    except ValueError:
        shown = f"{old!r}" if old else "none"
        rule = f"the stored object's version is {shown}, which is no version: it is unknown whether this is an upgrade"
        report.add(path, new, rule, "Correct spec.version of the stored KubeadmControlPlane first.")
        return
    try:
        after = kubernetes_versions.parse(new or "")
    except ValueError:
        return
    running = _running(stored, before)
    if not running:
        return
    oldest, newest = min(running), max(running)
    who = "which some of its machines still run" if running != [before] else "the stored version"
    if after < newest:
        _downgrade(newest, after, desired, report)
    elif not after.follows(oldest):
        fix = f"Go to 1.{oldest.minor + 1} first, and on when all machines run it."
        report.add(path, new, f"this is more than one minor version above {oldest}, {who}", fix)


def _running(stored: Object, before: kubernetes_versions.Version) -> list[kubernetes_versions.Version]:
    """Return the last observed versions of the machines.

    [] where it was observed that there is none.

    A stored version that no machine runs yet is only desired state and may be undone. Where nothing was observed, it is
    all that is known.
    """
    status = stored.get("status") or {}
    listed = status.get("versions")
    if isinstance(listed, list) and not listed:
        return []
    texts = [each.get("version") for each in listed or () if isinstance(each, dict)]
    found = []
    for text in texts or [status.get("version")]:
        try:
            found.append(kubernetes_versions.parse(str(text or "")))
        except ValueError:
            continue
    return found or [before]


def _downgrade(
    newest: kubernetes_versions.Version, after: kubernetes_versions.Version, desired: Object, report: Report
) -> None:
    same_minor = newest.same_minor(after)
    if same_minor and kinds.is_flagged(desired, kinds.ANNOTATION_ALLOW_PATCH_DOWNGRADE):
        return
    rule = f"this is older than {newest}, the newest that is there, and Kubernetes does not support downgrades"
    fix = f"Restore {newest}."
    if same_minor:
        allowed = advice.annotate(kinds.KUBEADM_CONTROL_PLANE, kinds.ANNOTATION_ALLOW_PATCH_DOWNGRADE)
        fix += f" Within a minor version it can be allowed: {allowed}."
    report.add("spec.version", str(after), rule, fix)


def _dns(stored: Object, desired: Object, report: Report, refusal: DnsRefusal) -> None:
    if kinds.is_flagged(desired, kinds.ANNOTATION_SKIP_COREDNS):
        return
    old, new = ((_configuration(each["spec"]).get("dns") or {}).get("imageTag") for each in (stored, desired))
    why = refusal(old, new) if old and new and old != new else None
    if why:
        path = f"{_CLUSTER_CONFIGURATION}.dns.imageTag"
        own = advice.annotate(kinds.KUBEADM_CONTROL_PLANE, kinds.ANNOTATION_SKIP_COREDNS)
        fix = f"Use another tag, or manage CoreDNS yourself: {own}."
        report.add(path, new, f"CoreDNS cannot be changed from {old!r}: {why}", fix)


def template_warnings(stored: Object | None, desired: Object, owner: str = kinds.KUBEADM_CONTROL_PLANE) -> list[str]:
    """Return warnings for a template that changed under its name.

    `owner` is the kind of what names it. Machines that exist keep what they have.
    """
    if stored is None or without_nulls(stored.get("spec")) == without_nulls(desired.get("spec")):
        return []
    return [
        f"{kinds.label_of(desired)} was changed under its name: new machines get the new content, those that exist are not replaced. "
        f"To replace them, give the template a new name and refer to it in the {owner}."
    ]
