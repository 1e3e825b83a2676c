# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts that differ between Kubernetes versions, as data with their source. Nothing else decides by a version's number.

The tables are kubeadm.md B4 to B8 (the ConfigMaps and RBAC, labels and taints, defaults, feature gates, images). A table lists
(first minor of 1.x, value), the newest first; pre-releases are judged by their minor. What that document marks as not re-read in the
sources is marked with ~ here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from ansible_collections.kubeadm.control_plane.plugins.module_utils.kubeadm.versions import Version, parse

T = TypeVar("T")

DEFAULT_CERTIFICATES_DIR = "/etc/kubernetes/pki"
DEFAULT_ETCD_DATA_DIR = "/var/lib/etcd"
DEFAULT_BIND_PORT = 6443
MINIMUM_SERVICE_ADDRESSES = 10
MINIMUM_POD_ADDRESSES = 14

# --- B4: stored objects, RBAC, files, ports ---

KUBEADM_CONFIG_MAP = "kubeadm-config"
CLUSTER_CONFIGURATION_KEY = "ClusterConfiguration"
CLUSTER_STATUS_KEY = "ClusterStatus"
_KUBELET_CONFIG = "kubelet-config"
# The feature gate UnversionedKubeletConfigMap decides from 1.22 to 1.25, so both names are looked for there (D.2).
_KUBELET_CONFIG_NAMES: tuple[tuple[int, tuple[str, ...]], ...] = (
    (26, ("{plain}",)),
    (24, ("{plain}", "{versioned}")),
    (22, ("{versioned}", "{plain}")),
    (0, ("{versioned}",)),
)
_CLUSTER_STATUS_UNTIL = 21
KUBELET_CONFIG_SUBJECTS = ("system:nodes", "system:bootstrappers:kubeadm:default-node-token")
# RBAC objects that kubeadm makes in any cluster.
RBAC_NAMES = (
    *("kubeadm:get-nodes", "kubeadm:kubelet-bootstrap", "kubeadm:node-proxier", "kubeadm:kubeadm-certs"),
    *("kubeadm:node-autoapprove-bootstrap", "kubeadm:node-autoapprove-certificate-rotation"),
    "kubeadm:bootstrap-signer-clusterinfo",
)
# KEP-4214: (first minor, (organization of admin.conf, whether super-admin.conf exists on the node of init)).
_ADMIN: tuple[tuple[int, tuple[str, bool]], ...] = (
    (29, ("kubeadm:cluster-admins", True)),
    (0, ("system:masters", False)),
)
CLUSTER_ADMINS_BINDING = "kubeadm:cluster-admins"
KUBELET_CLIENT_BINDING = "kubeadm:apiserver-kubelet-client"
KUBELET_CLIENT_ROLE = "system:kubelet-api-admin"
KUBELET_CLIENT_USER = "kube-apiserver-kubelet-client"
# From this minor on the certificate apiserver-kubelet-client has no organization system:masters, the binding replaces it.
_KUBELET_CLIENT_UNPRIVILEGED = 37
KUBELET_CONFIG_FILE = "/var/lib/kubelet/config.yaml"
KUBELET_FLAGS_FILE = "/var/lib/kubelet/kubeadm-flags.env"
KUBELET_INSTANCE_CONFIG_FILE = "/var/lib/kubelet/instance-config.yaml"
PORTS: dict[str, int] = {
    "kube-apiserver": 6443,
    "kubelet": 10250,
    "kubelet-healthz": 10248,
    "kube-controller-manager": 10257,
    "kube-scheduler": 10259,
    "etcd-client": 2379,
    "etcd-peer": 2380,
    "etcd-metrics": 2381,
}
# kubeadm.md B2.2: what replaces ClusterStatus, as annotations of the static pods.
ANNOTATION_API_ENDPOINT = "kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint"
ANNOTATION_ETCD_URLS = "kubeadm.kubernetes.io/etcd.advertise-client-urls"

# --- B5: labels and taints (KEP-2067) ---

LABEL_MASTER = "node-role.kubernetes.io/master"
LABEL_CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
LABEL_EXCLUDE_FROM_LB = "node.kubernetes.io/exclude-from-external-load-balancers"
_EXCLUDE_FROM_LB_SINCE = 21  # ~; absent in the source of 1.20.2
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
    (20, (LABEL_MASTER, LABEL_CONTROL_PLANE)),
    (0, (LABEL_MASTER,)),
)

# --- B6: other defaults ---

OLD_REGISTRY, NEW_REGISTRY = "k8s.gcr.io", "registry.k8s.io"
DEFAULT_REGISTRIES = (OLD_REGISTRY, NEW_REGISTRY)
_NEW_REGISTRY_SINCE = 25
# Backports: minor -> first patch level with the new registry.
_NEW_REGISTRY_PATCHES = {24: 9, 23: 15, 22: 17}
_CRI_SOCKETS: tuple[tuple[int, str], ...] = (
    (24, "unix:///var/run/containerd/containerd.sock"),
    (0, "/var/run/dockershim.sock"),
)
KNOWN_CRI_SOCKETS = (
    "unix:///var/run/containerd/containerd.sock",
    "unix:///var/run/crio/crio.sock",
    "unix:///var/run/cri-dockerd.sock",
)
ANNOTATION_CRI_SOCKET = "kubeadm.alpha.kubernetes.io/cri-socket"
# D.2: for 1.21 only a new init sets systemd, from 1.22 on an upgrade does too. Before, the kubelet's own default holds.
_CGROUP_DRIVERS: tuple[tuple[int, tuple[str, str]], ...] = (
    (22, ("systemd", "systemd")),
    (21, ("systemd", "cgroupfs")),
    (0, ("cgroupfs", "cgroupfs")),
)
# External etcd: kubeadm 1.20 and the newest are known; in between it was not checked.
_EXTERNAL_ETCD: tuple[tuple[int, str | None], ...] = ((35, "3.5.24"), (21, None), (0, "3.2.18"))
# An etcd 3.6 is reached from a recent 3.5 only ~.
ETCD_36_NEEDS = "3.5.20"
# B2.1, B2.5: the flag for patches where the API has no field, and what can be patched.
_PATCHES_FLAGS: tuple[tuple[int, str], ...] = ((22, "--patches"), (19, "--experimental-patches"), (0, ""))
_PATCH_TARGETS: tuple[tuple[int, tuple[str, ...]], ...] = (
    (32, ("kubeletconfiguration", "corednsdeployment")),
    (25, ("kubeletconfiguration",)),
    (0, ()),
)
_STATIC_PODS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd")

# kubeadm.md B2.2: encryptionAlgorithm -> first minor whose kubeadm knows it.
ENCRYPTION_ALGORITHMS: dict[str, int] = {
    "RSA-2048": 31,
    "RSA-3072": 31,
    "RSA-4096": 31,
    "ECDSA-P256": 31,
    "ECDSA-P384": 34,
}

# In-tree cloud providers that kubelet, kube-apiserver and kube-controller-manager of a release still accept; the components exit
# with "unknown cloud provider" for others. Removed: openstack 1.26, aws 1.27, the rest 1.31 (Kubernetes release notes).
CLOUD_PROVIDERS: dict[str, int] = {"aws": 27, "azure": 31, "gce": 31, "openstack": 26, "vsphere": 31}
CLOUD_PROVIDERS_ALWAYS = ("", "external")

# --- B7: feature gates of kubeadm ---


@dataclass(frozen=True)
class Gate:
    """Minors: `since` kubeadm knows the gate, `on` it is on by default (None = never), `ga`, `gone` its name is an error again."""

    since: int
    on: int | None = None
    ga: int | None = None
    gone: int | None = None


# WaitForAllControlPlaneComponents' removal was not checked, so it stays known.
FEATURE_GATES: dict[str, Gate] = {
    "IPv6DualStack": Gate(16, on=21, ga=23, gone=24),
    "PublicKeysECDSA": Gate(19, gone=37),
    "RootlessControlPlane": Gate(22),
    "UnversionedKubeletConfigMap": Gate(22, on=24, ga=25, gone=26),
    "EtcdLearnerMode": Gate(27, on=29, ga=32, gone=33),
    "UpgradeAddonsBeforeControlPlane": Gate(28, gone=31),
    "WaitForAllControlPlaneComponents": Gate(30, on=33, ga=34),
    "ControlPlaneKubeletLocalMode": Gate(31, on=33, ga=36, gone=36),
    "NodeLocalCRISocket": Gate(32, on=34, ga=36, gone=37),
}

# kcp-behaviour.md §1.2: Cluster API switches this gate on for 1.31 <= version < 1.36 unless the user says false.
KUBELET_LOCAL_MODE_GATE = "ControlPlaneKubeletLocalMode"
KUBELET_LOCAL_MODE_MINORS = (31, 36)

# --- B8: images that kubeadm chooses ---
# Component -> minor -> ((first patch level, tag), ...). Patch levels move: on a node ask `kubeadm config images list`; this is for
# planning and offline checks. `None` as patch level: some later one, not known which.
_Tags = tuple[tuple["int | None", str], ...]
_ETCD: dict[int, _Tags] = {
    16: ((0, "3.3.15-0"),),  # ~; the map says 3.3.17-0
    17: ((0, "3.4.3-0"),),
    18: ((0, "3.4.3-0"),),
    19: ((0, "3.4.9-1"), (None, "3.4.13-0")),  # ~
    20: ((0, "3.4.13-0"),),
    21: ((0, "3.4.13-0"),),
    22: ((0, "3.5.0-0"), (17, "3.5.6-0")),
    23: ((0, "3.5.1-0"), (14, "3.5.5-0"), (15, "3.5.6-0")),
    24: ((0, "3.5.3-0"), (8, "3.5.5-0"), (9, "3.5.6-0")),
    25: ((0, "3.5.4-0"), (4, "3.5.5-0"), (5, "3.5.6-0"), (15, "3.5.9-0")),
    26: ((0, "3.5.6-0"), (10, "3.5.9-0"), (13, "3.5.10-0")),
    27: ((0, "3.5.7-0"), (7, "3.5.9-0"), (10, "3.5.10-0"), (12, "3.5.12-0")),
    28: ((0, "3.5.9-0"), (6, "3.5.10-0"), (8, "3.5.12-0"), (14, "3.5.15-0")),
    29: ((0, "3.5.10-0"), (3, "3.5.12-0"), (9, "3.5.15-0")),
    30: ((0, "3.5.12-0"), (5, "3.5.15-0")),
    31: ((0, "3.5.15-0"),),
    32: ((0, "3.5.16-0"), (None, "3.5.24-0")),
    33: ((0, "3.5.21-0"), (None, "3.5.24-0")),
    34: ((0, "3.6.4-0"), (None, "3.6.5-0")),
    35: ((0, "3.6.6-0"),),
    36: ((0, "3.6.8-0"),),
    37: ((0, "3.7.0-0"),),  # as of its release candidate
}
_COREDNS: dict[int, _Tags] = {
    16: ((0, "1.6.2"),),  # ~
    17: ((0, "1.6.5"),),
    18: ((0, "1.6.7"),),
    19: ((0, "1.7.0"),),
    20: ((0, "1.7.0"),),
    21: ((0, "v1.8.0"),),
    22: ((0, "v1.8.4"),),
    23: ((0, "v1.8.6"),),
    24: ((0, "v1.8.6"),),
    25: ((0, "v1.9.3"),),
    26: ((0, "v1.9.3"),),
    27: ((0, "v1.10.1"),),
    28: ((0, "v1.10.1"),),
    29: ((0, "v1.11.1"),),
    30: ((0, "v1.11.1"), (5, "v1.11.3")),
    31: ((0, "v1.11.1"), (1, "v1.11.3")),
    32: ((0, "v1.11.3"),),
    33: ((0, "v1.12.0"),),
    34: ((0, "v1.12.1"),),
    35: ((0, "v1.13.1"),),  # D.2: kubespray has 1.12.4
    36: ((0, "v1.14.2"),),
    37: ((0, "v1.14.6"),),  # as of its release candidate
}
# First minor -> tag; 3.9 for 1.27 to 1.30 ~; 1.37's is not known.
_PAUSE: tuple[tuple[int, str | None], ...] = (
    (37, None),
    (36, "3.10.2"),
    (34, "3.10.1"),
    (31, "3.10"),
    (26, "3.9"),
    (25, "3.8"),
    (24, "3.7"),
    (23, "3.6"),
    (22, "3.5"),
    (21, "3.4.1"),
    (18, "3.2"),
    (0, "3.1"),
)
# From this version of CoreDNS on the default registries have it as coredns/coredns, others keep REPOSITORY/coredns.
_COREDNS_NESTED_SINCE = (1, 8, 0)


def _pick(table: Iterable[tuple[int, T]], version: str) -> T:
    at = parse(version)
    return next(value for minor, value in table if at.at_least(minor))


def role_labels(version: str) -> tuple[str, ...]:
    """The role labels kubeadm puts on a control plane node (kubeadm.md B5)."""
    return _pick(_ROLE_LABELS, version)


def default_taint_keys(version: str) -> tuple[str, ...]:
    """The keys of the NoSchedule taints kubeadm puts on a control plane node (kubeadm.md B5)."""
    return _pick(_TAINT_KEYS, version)


def dns_toleration_keys(version: str) -> tuple[str, ...]:
    """The keys of the control plane taints that kubeadm's CoreDNS tolerates (kubeadm.md B5)."""
    return _pick(_DNS_TOLERATIONS, version)


def excluded_from_load_balancers(version: str) -> bool:
    """Whether kubeadm puts LABEL_EXCLUDE_FROM_LB on control plane nodes (kubeadm.md B5)."""
    return parse(version).at_least(_EXCLUDE_FROM_LB_SINCE)


def kubelet_config_map_names(version: str) -> tuple[str, ...]:
    """The kubelet ConfigMap's possible names, the likelier first (kubeadm.md B4, D.2)."""
    at = parse(version)
    versioned = f"{_KUBELET_CONFIG}-{at.major}.{at.minor}"
    names = _pick(_KUBELET_CONFIG_NAMES, version)
    return tuple(name.format(plain=_KUBELET_CONFIG, versioned=versioned) for name in names)


def kubelet_config_role(config_map: str) -> str:
    """The Role and RoleBinding with which nodes read the kubelet ConfigMap of that name (kubeadm.md B4)."""
    return f"kubeadm:{config_map}"


def has_cluster_status(version: str) -> bool:
    """Whether kubeadm-config carries the key ClusterStatus (kubeadm.md B4: up to 1.21)."""
    return not parse(version).at_least(_CLUSTER_STATUS_UNTIL + 1)


def admin_organization(version: str) -> str:
    """The organization in admin.conf's certificate (kubeadm.md B4)."""
    return _pick(_ADMIN, version)[0]


def has_super_admin(version: str) -> bool:
    """Whether `kubeadm init` makes super-admin.conf on its node (kubeadm.md B4)."""
    return _pick(_ADMIN, version)[1]


def kubelet_client_needs_binding(version: str) -> bool:
    """Whether the API server may talk to kubelets only by KUBELET_CLIENT_BINDING (kubeadm.md B4)."""
    return parse(version).at_least(_KUBELET_CLIENT_UNPRIVILEGED)


def patches_flag(version: str) -> str:
    """The flag of `kubeadm init|join|upgrade` for patches where the configuration has no field ("" = none) (kubeadm.md B2.1)."""
    return _pick(_PATCHES_FLAGS, version)


def patch_targets(version: str) -> tuple[str, ...]:
    """What files in patches.directory may patch (kubeadm.md B2.5)."""
    return (*_STATIC_PODS, *_pick(_PATCH_TARGETS, version)) if patches_flag(version) else ()


def default_cri_socket(version: str) -> str:
    """The CRI socket kubeadm takes when none is given and none is detected (kubeadm.md B6)."""
    return _pick(_CRI_SOCKETS, version)


def cri_socket_in_instance_config(version: str) -> bool:
    """Whether kubeadm keeps a node's CRI socket in instance-config.yaml by default, not in the annotation (kubeadm.md B6)."""
    return gate_default(version, "NodeLocalCRISocket")


def default_cgroup_driver(version: str, upgraded: bool = False) -> str:
    """The kubelet's cgroup driver where the configuration has none; `upgraded`: the cluster was made earlier (kubeadm.md B6)."""
    return _pick(_CGROUP_DRIVERS, version)[1 if upgraded else 0]


def default_image_repository(version: str) -> str:
    """kubeadm's default registry (kubeadm.md B6)."""
    at = parse(version)
    backported = at.patch >= _NEW_REGISTRY_PATCHES.get(at.minor, 1 << 30)
    return NEW_REGISTRY if at.at_least(_NEW_REGISTRY_SINCE) or backported else OLD_REGISTRY


def coredns_image_name(repository: str, tag: str) -> str:
    """ "coredns" or "coredns/coredns" below a repository, for CoreDNS of that tag (kubeadm.md B6)."""
    try:
        at = parse(tag)
    except ValueError:
        return "coredns"
    nested = (at.major, at.minor, at.patch) >= _COREDNS_NESTED_SINCE
    return "coredns/coredns" if nested and repository in DEFAULT_REGISTRIES else "coredns"


def minimum_control_plane_minor(version: str) -> int:
    """The oldest minor whose control plane kubeadm of this version sets up or upgrades (kubeadm.md B6)."""
    return parse(version).minor - 1


def minimum_external_etcd(version: str) -> str | None:
    """The oldest external etcd that kubeadm of this version accepts; None = not known (kubeadm.md B6)."""
    return _pick(_EXTERNAL_ETCD, version)


def feature_gate_known(version: Version, gate: str) -> bool:
    """Whether this version's kubeadm accepts the feature gate; an unknown name makes kubeadm fail (kubeadm.md B7)."""
    one = FEATURE_GATES.get(gate)
    return one is not None and version.at_least(one.since) and not (one.gone is not None and version.at_least(one.gone))


def gate_default(version: str, gate: str) -> bool:
    """Whether the gate is on where nobody says otherwise; what went GA stays on (kubeadm.md B7)."""
    one = FEATURE_GATES[gate]
    return one.on is not None and parse(version).at_least(one.on)


def cloud_provider_known(version: Version, name: str) -> bool:
    """Whether the components of this version start with `--cloud-provider=name`."""
    if name in CLOUD_PROVIDERS_ALWAYS:
        return True
    return name in CLOUD_PROVIDERS and not version.at_least(CLOUD_PROVIDERS[name])


@dataclass(frozen=True)
class Images:
    """Tags that kubeadm chooses, the likelier first; more than one where the patch level of a change is not known."""

    etcd: tuple[str, ...]
    coredns: tuple[str, ...]
    pause: str | None


def images(version: str) -> Images | None:
    """The tags kubeadm of this version chooses; None for minors that are not in the table (kubeadm.md B8)."""
    at = parse(version)
    if at.major != 1 or at.minor not in _ETCD:
        return None
    return Images(_tags(_ETCD[at.minor], at), _tags(_COREDNS[at.minor], at), _pick(_PAUSE, version))


def _tags(table: _Tags, at: Version) -> tuple[str, ...]:
    known = [tag for patch, tag in table if patch is not None and patch <= at.patch]
    later = [tag for patch, tag in table if patch is None and at.patch > 0]
    return (known[-1], *later)
