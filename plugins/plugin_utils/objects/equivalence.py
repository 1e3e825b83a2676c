# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Equivalence of hub specs that are written differently but mean the same.

The differences are the order of flags, empty parts, nulls, and defaults written out.

A manifest that is written in another Cluster API version, or with its defaults spelled out, must neither count as a change nor alter
what is stored: machines are compared with what is stored, and would be replaced
(docs/reference/cluster_api.md, "Up to date or not").
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from ...module_utils.common import kubernetes_facts
from .bootstrap_data import host_port
from .instance_data import rendering

ARGUMENT_LISTS = ("extraArgs", "kubeletExtraArgs")

# What is left out means the same as this value, by the field's name: kubeadm's own defaults and Cluster API's.
# Source: docs/reference/kubeadm.md, "Fields".
_DEFAULTS: Mapping[str, Any] = {
    "append": False,
    "caCertPath": kubernetes_facts.DEFAULT_CERTIFICATES_DIR + "/ca.crt",
    "caCertificateValidityPeriodDays": 3650,
    "certificateValidityPeriodDays": 365,
    "certificatesDir": kubernetes_facts.DEFAULT_CERTIFICATES_DIR,
    "contentFormat": "Raw",
    "controlPlaneComponentHealthCheckSeconds": 240,
    "dataDir": kubernetes_facts.DEFAULT_ETCD_DATA_DIR,
    "discoverySeconds": 300,
    "encryptionAlgorithm": "RSA-2048",
    "etcdAPICallSeconds": 120,
    "format": "cloud-config",
    "imagePullPolicy": "IfNotPresent",
    "imagePullSerial": True,
    "inactive": False,
    "kubeletHealthCheckSeconds": 240,
    "kubernetesAPICallSeconds": 60,
    "paused": False,
    "readOnly": False,
    "tlsBootstrapSeconds": 300,
    "unsafeSkipCAVerification": False,
}
# Maps with free keys, in which an empty text, an empty list or false is a value of its own.
# Maps whose entries count whatever they hold, but null: a label without a value is a label.
EXACT = frozenset({"featureGates", "labels", "annotations", "kubeletConfiguration", "kubeProxyConfiguration"})


class _Absent:
    """Value of a field that is absent, or means the same."""


ABSENT = _Absent()


def canonical(value: Any, key: str = "") -> Any:
    """Return a field's value in one form for all equal meanings.

    `key` is the field's name. ABSENT where the value means the same as none. Only an empty list of taints is not the
    same as none (docs/reference/kubeadm.md, "Fields").
    """
    if value is None or value is ABSENT:
        return ABSENT
    if key in EXACT:
        return without_nulls(value) or ABSENT
    if key in _DEFAULTS and type(value) is type(_DEFAULTS[key]) and value == _DEFAULTS[key]:
        return ABSENT
    if isinstance(value, dict):
        found = {
            name: (entry or ABSENT) if rendering.is_opaque(value, name) else canonical(entry, name)
            for name, entry in value.items()
        }
        return {name: entry for name, entry in found.items() if entry is not ABSENT} or ABSENT
    if isinstance(value, list):
        if not value:
            return value if key == "taints" else ABSENT
        entries = [_entry(entry) for entry in value]
        return sort_arguments(entries) if key in ARGUMENT_LISTS else entries
    if isinstance(value, str):
        return rendering.canonical(value) or ABSENT
    return value


def without_nulls(value: Any) -> Any:
    """Return a deep copy without null fields, which count as absent."""
    if isinstance(value, dict):
        return {key: without_nulls(entry) for key, entry in value.items() if entry is not None}
    return [without_nulls(entry) for entry in value] if isinstance(value, (list, tuple)) else value


def _entry(value: Any) -> Any:
    # An entry of a list is there, whatever it says.
    found = canonical(value)
    if found is not ABSENT:
        return found
    return {} if isinstance(value, dict) else value


def sort_arguments(arguments: list[Any]) -> list[Any]:
    """Return a list of {name, value} sorted by name.

    A list in which a flag is repeated is unchanged, since then the order decides.
    """
    names = [entry.get("name") if isinstance(entry, dict) else None for entry in arguments]
    if any(not isinstance(name, str) for name in names) or len(set(names)) < len(names):
        return arguments
    return sorted(arguments, key=lambda entry: str(entry["name"]))


def same(first: Any, second: Any, key: str = "") -> bool:
    """Return whether two values of the field `key` mean the same."""
    return bool(first == second or canonical(first, key) == canonical(second, key))


def keep_equivalent(stored: Any, desired: Any, key: str = "") -> Any:
    """Return `desired` with its equivalent parts written as in `stored`."""
    if same(stored, desired, key):
        if stored is ABSENT or rendering.is_rendered(stored):
            return stored if stored is ABSENT else copy.deepcopy(stored)
        # Earlier releases handed texts with braces to the machine as they were: now they are written as templates, with the same meaning.
        if isinstance(stored, str):
            return desired
    if isinstance(stored, dict) and isinstance(desired, dict) and key not in EXACT:
        names = [*desired, *(name for name in stored if name not in desired)]
        found = {name: keep_equivalent(stored.get(name, ABSENT), desired.get(name, ABSENT), name) for name in names}
        return {name: entry for name, entry in found.items() if entry is not ABSENT}
    return desired if desired is ABSENT else copy.deepcopy(desired)


def cluster_values(cluster: Mapping[str, Any]) -> dict[tuple[str, ...], Any]:
    """Return the values of fields that a clusterConfiguration leaves out.

    They are by the fields' keys: the Cluster's values, then kubeadm's own.
    """
    network = cluster["spec"].get("clusterNetwork") or {}
    endpoint = cluster["spec"].get("controlPlaneEndpoint") or {}

    def blocks(name: str) -> str:
        return ",".join((network.get(name) or {}).get("cidrBlocks") or [])

    return {
        ("clusterName",): cluster["metadata"]["name"],
        ("controlPlaneEndpoint",): host_port(endpoint) if endpoint.get("host") else None,
        ("networking", "serviceSubnet"): blocks("services") or "10.96.0.0/12",
        ("networking", "podSubnet"): blocks("pods") or None,
        ("networking", "dnsDomain"): network.get("serviceDomain") or "cluster.local",
    }


def without_cluster_values(configuration: Mapping[str, Any], cluster: Mapping[str, Any]) -> dict[str, Any]:
    """Return a clusterConfiguration without values that its absence implies.

    They are those of its Cluster, or kubeadm's defaults.
    """
    result = copy.deepcopy(dict(configuration))
    for keys, default in cluster_values(cluster).items():
        if default is not None and _get(result, keys) == default:
            _put(result, keys, None)
    return result


def settle(stored: Mapping[str, Any], desired: Mapping[str, Any], cluster: Mapping[str, Any]) -> dict[str, Any]:
    """Return a KubeadmControlPlane's desired spec, with equivalent parts as stored.

    It is keep_equivalent; fields that clusterConfiguration leaves out have the Cluster's values.
    """
    wanted = copy.deepcopy(dict(desired))
    defaults = {**cluster_values(cluster), ("kubernetesVersion",): desired.get("version")}
    for keys, default in defaults.items():
        keys = ("kubeadmConfigSpec", "clusterConfiguration", *keys)
        old, new = _get(stored, keys), _get(wanted, keys)
        if default is not None and old is None and new == default:
            _put(wanted, keys, None)
        elif default is not None and new is None and old == default:
            _put(wanted, keys, old)
    settled: dict[str, Any] = keep_equivalent(dict(stored), wanted)
    return settled


def _get(value: Any, keys: tuple[str, ...]) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _put(value: dict[str, Any], keys: tuple[str, ...], entry: Any) -> None:
    for key in keys[:-1]:
        value = value.setdefault(key, {})
    value[keys[-1]] = entry
