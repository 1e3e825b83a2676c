# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables of facts that differ between Kubernetes versions, with their sources.

No other code depends on a Kubernetes version's number, but for the tables of fields (fields.py), of what kubeadm asks of a host
(node/host/requirements.py), and of etcd's releases (etcd_releases.py).

The tables are those of docs/reference/kubeadm.md. What that page marks with ~ is marked with ~ here.
A table lists (first minor of 1.x, value), the newest first. A pre-release counts as its minor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from .kubernetes_versions import Version, parse

_T = TypeVar("_T")

DEFAULT_CERTIFICATES_DIR = "/etc/kubernetes/pki"
DEFAULT_ETCD_DATA_DIR = "/var/lib/etcd"
DEFAULT_BIND_PORT = 6443
CERTIFICATE_VALIDITY_DAYS, CA_VALIDITY_DAYS = 365, 3650
HEALTH_CHECK_SECONDS = 240
# From this API version on (v1beta4) each machine's own configuration has its timeouts (docs/reference/kubeadm.md, "Timeouts").
OWN_TIMEOUTS = 4
MINIMUM_SERVICE_ADDRESSES = 10
MINIMUM_POD_ADDRESSES = 14

# --- Stored objects, RBAC, files ---

_KUBELET_CONFIG = "kubelet-config"
_KUBELET_CONFIG_GATE = "UnversionedKubeletConfigMap"
_CLUSTER_STATUS_UNTIL = 21
# KEP-4214: since then `kubeadm init` makes super-admin.conf on its node.
_SUPER_ADMIN_SINCE = 29
# From this minor on every kubeadm makes ClusterRoleBinding kubeadm:apiserver-kubelet-client itself (docs/reference/cluster_api.md, "Rollout").
_KUBELET_CLIENT_BINDING_SINCE = 38
# Before, kubeadm join refused any file in the folder of static pods (DirAvailable--etc-kubernetes-manifests; kubernetes/kubernetes#104942).
JOINS_BESIDE_STATIC_PODS_SINCE = 23
# `kubeadm alpha certs renew` before, `kubeadm certs renew` since (1.20.2 has both).
_CERTS_SINCE = 20
# `kubeadm join` adds no etcd member where one has the machine's peer URL; one without a name gets the Node's in --initial-cluster. The
# latter came with 1.21 (kubernetes/kubernetes#97372), and is relied on where patches are no matter of a flag any more.
_FINDS_MEMBER_SINCE, _NAMES_MEMBER_SINCE = 19, 22

# --- What may run beside what: the version skew policy (docs/reference/kubeadm.md, "Version skew") ---

# How many minor versions a kubelet may be older than the API servers.
_KUBELET_SKEW: tuple[tuple[int, int], ...] = ((28, 3), (0, 2))
# How many minor versions a kubelet may be older than kubeadm lets an upgrade begin with.
_KUBELET_UPGRADE_SKEW: tuple[tuple[int, int], ...] = ((29, 3), (0, 1))

# --- What a machine must have ---

# The kubelet warns about cgroup v1 and later refuses it by default (Kubernetes release notes).
_CGROUP_V1: tuple[tuple[int, str], ...] = ((35, "refused"), (31, "deprecated"), (0, ""))
# Options of `kubectl drain` (kubectl's release notes).
_DRAIN_EMPTYDIR: tuple[tuple[int, str], ...] = ((20, "--delete-emptydir-data"), (0, "--delete-local-data"))
_DRAIN_NO_WAIT: tuple[tuple[int, str], ...] = ((18, "--skip-wait-for-delete-timeout=1"), (0, ""))

# --- Labels and taints (KEP-2067) ---

LABEL_MASTER = "node-role.kubernetes.io/master"
LABEL_CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
_ROLE_LABELS: tuple[tuple[int, tuple[str, ...]], ...] = (
    (24, (LABEL_CONTROL_PLANE,)),
    (20, (LABEL_MASTER, LABEL_CONTROL_PLANE)),
    (0, (LABEL_MASTER,)),
)
_TAINT_KEYS: tuple[tuple[int, tuple[str, ...]], ...] = (
    (25, (LABEL_CONTROL_PLANE,)),
    (24, (LABEL_MASTER, LABEL_CONTROL_PLANE)),
    (0, (LABEL_MASTER,)),
)
_DNS_TOLERATIONS: tuple[tuple[int, tuple[str, ...]], ...] = (
    (26, (LABEL_CONTROL_PLANE,)),
    (20, (LABEL_CONTROL_PLANE, LABEL_MASTER)),
    (0, (LABEL_MASTER,)),
)

# --- Other defaults ---

OLD_REGISTRY, _NEW_REGISTRY = "k8s.gcr.io", "registry.k8s.io"
DEFAULT_REGISTRIES = (OLD_REGISTRY, _NEW_REGISTRY)
_NEW_REGISTRY_SINCE = 25
# Backports: minor -> first patch level with the new registry.
_NEW_REGISTRY_PATCHES = {24: 9, 23: 15, 22: 17}
_CRI_SOCKETS: tuple[tuple[int, str], ...] = (
    (24, "unix:///var/run/containerd/containerd.sock"),
    (0, "/var/run/dockershim.sock"),
)
ANNOTATION_CRI_SOCKET = "kubeadm.alpha.kubernetes.io/cri-socket"
# From here on kubeadm sets the kubelet's cgroup driver to systemd where nobody says otherwise, at an upgrade too.
_SYSTEMD_CGROUPS_SINCE = 22
# External etcd: kubeadm up to 1.22 and the newest are known; in between it was not checked.
_EXTERNAL_ETCD: tuple[tuple[int, str | None], ...] = (
    (35, "3.5.24"),
    (29, None),
    (28, "3.4.13"),
    (23, None),
    (0, "3.2.18"),
)
# The flag for patches where the API has no field, and what can be patched.
_PATCHES_FLAGS: tuple[tuple[int, str], ...] = ((22, "--patches"), (19, "--experimental-patches"), (0, ""))
_PATCH_TARGETS: tuple[tuple[int, tuple[str, ...]], ...] = (
    (32, ("kubeletconfiguration", "corednsdeployment")),
    (25, ("kubeletconfiguration",)),
    (0, ()),
)
STATIC_PODS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd")

# encryptionAlgorithm -> first minor whose kubeadm knows it (docs/reference/kubeadm.md, "Encryption algorithms").
_ENCRYPTION_ALGORITHMS: dict[str, int] = {
    "RSA-2048": 31,
    "RSA-3072": 31,
    "RSA-4096": 31,
    "ECDSA-P256": 31,
    "ECDSA-P384": 34,
}

# In-tree cloud providers that kubelet, kube-apiserver and kube-controller-manager of a release still accept; the components exit
# with "unknown cloud provider" for others. Removed: openstack 1.26, aws 1.27, the rest 1.31 (Kubernetes release notes).
_CLOUD_PROVIDERS: dict[str, int] = {"aws": 27, "azure": 31, "gce": 31, "openstack": 26, "vsphere": 31}
_CLOUD_PROVIDERS_ALWAYS = ("", "external")

# --- Feature gates of kubeadm ---


@dataclass(frozen=True)
class _Gate:
    """Feature gate of kubeadm, with the minor versions that change it.

    `since` kubeadm knows the gate, `on` it is on by default (None = never), `ga`, `gone` its name is an error again.
    """

    since: int
    on: int | None = None
    ga: int | None = None
    gone: int | None = None


# WaitForAllControlPlaneComponents' removal was not checked, so it stays known.
_FEATURE_GATES: dict[str, _Gate] = {
    "IPv6DualStack": _Gate(16, on=21, ga=23, gone=24),
    "PublicKeysECDSA": _Gate(19, gone=37),
    "RootlessControlPlane": _Gate(22),
    "UnversionedKubeletConfigMap": _Gate(23, on=24, ga=25, gone=26),
    "EtcdLearnerMode": _Gate(27, on=29, ga=32, gone=33),
    "UpgradeAddonsBeforeControlPlane": _Gate(28, gone=31),
    "WaitForAllControlPlaneComponents": _Gate(30, on=33, ga=34),
    "ControlPlaneKubeletLocalMode": _Gate(31, on=33, ga=36, gone=36),
    "NodeLocalCRISocket": _Gate(32, on=34, ga=36, gone=37),
}

# Source: docs/reference/cluster_api.md, "Creating a machine".
# Cluster API switches this gate on for 1.31 <= version < 1.36 unless the user says false.
KUBELET_LOCAL_MODE_GATE = "ControlPlaneKubeletLocalMode"
_KUBELET_LOCAL_MODE_MINORS = (31, 36)


def _pick(table: Iterable[tuple[int, _T]], version: str) -> _T:
    """Return a version's value from a table (first minor of 1.x and value, newest first)."""
    at = parse(version)
    return next(value for minor, value in table if at.at_least(minor))


def certificates_dir(configuration: Mapping[str, Any]) -> str:
    """Return a ClusterConfiguration's certificatesDir, without a slash at its end."""
    return str(configuration.get("certificatesDir") or DEFAULT_CERTIFICATES_DIR).rstrip("/")


def role_labels(version: str) -> tuple[str, ...]:
    """Return the role labels of a control plane node (docs/reference/kubeadm.md, "Labels and taints")."""
    return _pick(_ROLE_LABELS, version)


def default_taint_keys(version: str) -> tuple[str, ...]:
    """Return the keys of kubeadm's NoSchedule taints (docs/reference/kubeadm.md, "Labels and taints")."""
    return _pick(_TAINT_KEYS, version)


def dns_toleration_keys(version: str) -> tuple[str, ...]:
    """Return the keys of the control plane taints that CoreDNS tolerates."""
    return _pick(_DNS_TOLERATIONS, version)


def kubelet_config_map_name(version: str, gates: Mapping[str, object] | None = None) -> str:
    """Return the kubelet ConfigMap's name for a version and its feature gates (docs/reference/kubeadm.md, "Stored objects")."""
    at = parse(version)
    plain = gate_on(version, _KUBELET_CONFIG_GATE, gates)
    return _KUBELET_CONFIG if plain else f"{_KUBELET_CONFIG}-{at.major}.{at.minor}"


def kubelet_config_map_names(version: str) -> tuple[str, ...]:
    """Return the kubelet ConfigMap's possible names up to this version, likeliest first."""
    at = parse(version)
    names = [f"{_KUBELET_CONFIG}-{at.major}.{minor}" for minor in (at.minor, at.minor - 1)]
    plain_first = _gate_default(version, _KUBELET_CONFIG_GATE)
    return (_KUBELET_CONFIG, *names) if plain_first else (*names, _KUBELET_CONFIG)


def has_cluster_status(version: str) -> bool:
    """Return whether kubeadm-config has ClusterStatus: up to 1.21 (docs/reference/kubeadm.md, "Stored objects")."""
    return not parse(version).at_least(_CLUSTER_STATUS_UNTIL + 1)


def has_super_admin(version: str) -> bool:
    """Return whether `kubeadm init` writes super-admin.conf (docs/reference/kubeadm.md, "Files and ports").

    admin.conf then has its rights by ClusterRoleBinding kubeadm:cluster-admins.
    """
    return parse(version).at_least(_SUPER_ADMIN_SINCE)


def makes_kubelet_client_binding(version: str) -> bool:
    """Return whether kubeadm creates the ClusterRoleBinding kubeadm:apiserver-kubelet-client (docs/reference/cluster_api.md, "Rollout")."""
    return parse(version).at_least(_KUBELET_CLIENT_BINDING_SINCE)


def joins_beside_static_pods(version: str) -> bool:
    """Return whether a machine on which kubeadm joins may have static pods."""
    return parse(version).at_least(JOINS_BESIDE_STATIC_PODS_SINCE)


def patches_flag(version: str) -> str:
    """Return kubeadm's command-line flag for patches (docs/reference/kubeadm.md, "Patches").

    It is for configurations that have no field for patches ("" = none).
    """
    return _pick(_PATCHES_FLAGS, version)


def patch_targets(version: str) -> tuple[str, ...]:
    """Return the targets that patches may have (docs/reference/kubeadm.md, "Patches")."""
    return (*STATIC_PODS, *_pick(_PATCH_TARGETS, version)) if patches_flag(version) else ()


def default_cri_socket(version: str) -> str:
    """Return kubeadm's CRI socket where none is detected (docs/reference/kubeadm.md, "Container runtime")."""
    return _pick(_CRI_SOCKETS, version)


def default_image_repository(version: str) -> str:
    """Return kubeadm's default registry (docs/reference/kubeadm.md, "Image registry")."""
    at = parse(version)
    backported = at.patch >= _NEW_REGISTRY_PATCHES.get(at.minor, 1 << 30)
    return _NEW_REGISTRY if at.at_least(_NEW_REGISTRY_SINCE) or backported else OLD_REGISTRY


def minimum_external_etcd(version: str) -> str | None:
    """Return the oldest external etcd that kubeadm accepts; None = not known (docs/reference/kubeadm.md, "External etcd")."""
    return _pick(_EXTERNAL_ETCD, version)


def feature_gates(version: Version) -> tuple[str, ...]:
    """Return the known feature gates of this version's kubeadm (docs/reference/kubeadm.md, "Feature gates")."""
    return tuple(
        name
        for name, one in _FEATURE_GATES.items()
        if version.at_least(one.since) and not (one.gone is not None and version.at_least(one.gone))
    )


def feature_gate_refused(version: Version, gate: str) -> bool:
    """Return whether kubeadm refuses the feature gate's name (docs/reference/kubeadm.md, "Feature gates").

    Of a version newer than these tables only a gate that was removed is refused: it may have gates that are not in them.
    """
    return gate not in feature_gates(version) and (version.known or gate in _FEATURE_GATES)


def _gate_default(version: str, gate: str) -> bool:
    """Return whether the gate is on by default (also after GA)."""
    one = _FEATURE_GATES[gate]
    return one.on is not None and parse(version).at_least(one.on)


def gate_on(version: str, gate: str, gates: Mapping[str, object] | None) -> bool:
    """Return whether the gate is on; False where the version lacks it."""
    one, at = _FEATURE_GATES[gate], parse(version)
    default = _gate_default(version, gate)
    if not at.at_least(one.since) or (one.ga is not None and at.at_least(one.ga)):
        return default
    return bool((gates or {}).get(gate, default))


def cluster_api_gates(version: str) -> dict[str, bool]:
    """Return the feature gates that Cluster API sets by default."""
    first, gone = _KUBELET_LOCAL_MODE_MINORS
    at = parse(version)
    return {KUBELET_LOCAL_MODE_GATE: True} if at.at_least(first) and not at.at_least(gone) else {}


def encryption_algorithms(version: Version) -> tuple[str, ...]:
    """Return the known values of encryptionAlgorithm, none before v1beta4 (docs/reference/kubeadm.md, "Encryption algorithms")."""
    return tuple(name for name, minor in _ENCRYPTION_ALGORITHMS.items() if version.at_least(minor))


def encryption_algorithm_refused(version: Version, name: str) -> bool:
    """Return whether kubeadm refuses the encryption algorithm.

    Older kubeadm has no such field at all, which the conversion reports; a newer one may have algorithms that are not in the table.
    """
    known = encryption_algorithms(version)
    return bool(known) and name not in known and version.known


def unknown_names(version: Version, cluster_configuration: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return path and name of gates and algorithm that the tables lack (ClusterConfiguration, hub)."""
    if version.known:
        return []
    gates = cluster_configuration.get("featureGates") or {}
    found = [(f"featureGates.{name}", str(name)) for name in gates if name not in _FEATURE_GATES]
    algorithm = cluster_configuration.get("encryptionAlgorithm")
    if algorithm and algorithm not in _ENCRYPTION_ALGORITHMS:
        found.append(("encryptionAlgorithm", str(algorithm)))
    return sorted(found)


def cloud_providers(version: Version) -> tuple[str, ...]:
    """Return the values of `--cloud-provider` that this version's components accept."""
    return (
        *_CLOUD_PROVIDERS_ALWAYS,
        *(name for name, gone in _CLOUD_PROVIDERS.items() if not version.at_least(gone)),
    )


def kubelet_skew(version: Version) -> int:
    """Return how many minors a kubelet may be behind API servers (docs/reference/kubeadm.md, "Version skew")."""
    return _pick(_KUBELET_SKEW, str(version))


def kubelet_upgrade_skew(version: Version) -> int:
    """Return how many minors a kubelet may be behind an upgrade target (docs/reference/kubeadm.md, "Version skew")."""
    return _pick(_KUBELET_UPGRADE_SKEW, str(version))


def certs_command(version: str) -> tuple[str, ...]:
    """Return kubeadm's subcommand words before `renew` (docs/reference/kubeadm.md, "Certificates")."""
    return ("certs",) if parse(version).at_least(_CERTS_SINCE) else ("alpha", "certs")


def finds_etcd_member(version: str) -> bool:
    """Return whether `kubeadm join` takes the etcd member that is there (docs/reference/kubeadm.md, "Joining")."""
    return parse(version).at_least(_FINDS_MEMBER_SINCE)


def names_etcd_member(version: str) -> bool:
    """Return whether `kubeadm join` names a member that has no name (docs/reference/kubeadm.md, "Joining")."""
    return parse(version).at_least(_NAMES_MEMBER_SINCE)


def cgroup_v1(version: str) -> str:
    """Return the kubelet's support of cgroup v1: "", "deprecated" or "refused"."""
    return _pick(_CGROUP_V1, version)


def sets_systemd_cgroups(version: str) -> bool:
    """Return whether kubeadm's default cgroup driver for kubelets is systemd (docs/reference/kubeadm.md, "Container runtime")."""
    return parse(version).at_least(_SYSTEMD_CGROUPS_SINCE)


def drain_options(kubectl: str, unreachable: bool) -> tuple[str, ...]:
    """Return version-dependent options of `kubectl drain`.

    They are for pods' own data (emptyDir) and for a Node whose kubelet is unreachable.
    """
    quick = _pick(_DRAIN_NO_WAIT, kubectl) if unreachable else ""
    return (_pick(_DRAIN_EMPTYDIR, kubectl), *((quick,) if quick else ()))
