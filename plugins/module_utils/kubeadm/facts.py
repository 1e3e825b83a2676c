# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts that differ between Kubernetes versions, as data with their source."""

from __future__ import annotations

from ansible_collections.kubeadm.control_plane.plugins.module_utils.kubeadm.versions import Version, parse

LABEL_MASTER = "node-role.kubernetes.io/master"
LABEL_CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
LABEL_EXCLUDE_FROM_LB = "node.kubernetes.io/exclude-from-external-load-balancers"
DEFAULT_CERTIFICATES_DIR = "/etc/kubernetes/pki"
DEFAULT_ETCD_DATA_DIR = "/var/lib/etcd"
DEFAULT_BIND_PORT = 6443
MINIMUM_SERVICE_ADDRESSES = 10
MINIMUM_POD_ADDRESSES = 14

# kubeadm.md B7: gate -> (first minor that knows it, first minor that does not; None = still known).
# WaitForAllControlPlaneComponents' removal was not checked there, so it stays known.
FEATURE_GATES: dict[str, tuple[int, int | None]] = {
    "IPv6DualStack": (16, 24),
    "PublicKeysECDSA": (19, 37),
    "RootlessControlPlane": (22, None),
    "UnversionedKubeletConfigMap": (22, 26),
    "EtcdLearnerMode": (27, 33),
    "UpgradeAddonsBeforeControlPlane": (28, 31),
    "WaitForAllControlPlaneComponents": (30, None),
    "ControlPlaneKubeletLocalMode": (31, 36),
    "NodeLocalCRISocket": (32, 37),
}

# kcp-behaviour.md §1.2: Cluster API switches this gate on for 1.31 <= version < 1.36 unless the user says false.
KUBELET_LOCAL_MODE_GATE = "ControlPlaneKubeletLocalMode"
KUBELET_LOCAL_MODE_MINORS = (31, 36)

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

# kubeadm.md B6: the registry moved with 1.25.0 and these patch levels.
_NEW_REGISTRY_PATCHES = {24: 9, 23: 15, 22: 17}


def role_labels(version: str) -> tuple[str, ...]:
    """The role labels kubeadm puts on a control plane node (kubeadm.md B5)."""
    at = parse(version)
    if not at.at_least(20):
        return (LABEL_MASTER,)
    return (LABEL_CONTROL_PLANE,) if at.at_least(24) else (LABEL_MASTER, LABEL_CONTROL_PLANE)


def default_taint_keys(version: str) -> tuple[str, ...]:
    """The keys of the NoSchedule taints kubeadm puts on a control plane node (kubeadm.md B5)."""
    at = parse(version)
    if not at.at_least(24):
        return (LABEL_MASTER,)
    return (LABEL_CONTROL_PLANE,) if at.at_least(25) else (LABEL_MASTER, LABEL_CONTROL_PLANE)


def kubelet_config_map_names(version: str) -> tuple[str, ...]:
    """The kubelet ConfigMap's possible names, the likelier first (kubeadm.md B4, D.2)."""
    at = parse(version)
    versioned = f"kubelet-config-{at.major}.{at.minor}"
    if not at.at_least(22):
        return (versioned,)
    if at.at_least(26):
        return ("kubelet-config",)
    return ("kubelet-config", versioned) if at.at_least(24) else (versioned, "kubelet-config")


def has_cluster_status(version: str) -> bool:
    """Whether kubeadm-config carries the key ClusterStatus (kubeadm.md B4: up to 1.21)."""
    return not parse(version).at_least(22)


def patches_flag(version: str) -> str:
    """The flag of `kubeadm init|join` for patches where the configuration has no field ("" = neither) (kubeadm.md B2.1)."""
    at = parse(version)
    if not at.at_least(19):
        return ""
    return "--patches" if at.at_least(22) else "--experimental-patches"


def default_cri_socket(version: str) -> str:
    """The CRI socket kubeadm takes when none is given and none is detected (kubeadm.md B6)."""
    return "unix:///var/run/containerd/containerd.sock" if parse(version).at_least(24) else "/var/run/dockershim.sock"


def default_image_repository(version: str) -> str:
    """kubeadm's default registry (kubeadm.md B6)."""
    at = parse(version)
    moved = at.at_least(25) or at.patch >= _NEW_REGISTRY_PATCHES.get(at.minor, 1 << 30)
    return "registry.k8s.io" if moved else "k8s.gcr.io"


def feature_gate_known(version: Version, gate: str) -> bool:
    """Whether this version's kubeadm accepts the feature gate; an unknown name makes kubeadm fail (kubeadm.md B7)."""
    first, gone = FEATURE_GATES.get(gate, (1 << 30, None))
    return version.at_least(first) and not (gone is not None and version.at_least(gone))


def cloud_provider_known(version: Version, name: str) -> bool:
    """Whether the components of this version start with `--cloud-provider=name`."""
    if name in CLOUD_PROVIDERS_ALWAYS:
        return True
    return name in CLOUD_PROVIDERS and not version.at_least(CLOUD_PROVIDERS[name])
