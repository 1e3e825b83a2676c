# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Desired state of the workload cluster's objects, from a KubeadmControlPlane.

Source: docs/reference/cluster_api.md, "Names and markers", "Rollout", "Add-ons".
"""

from __future__ import annotations

import typing as t

from ..objects import kinds
from ..objects.bootstrap_data import cluster_defaults, health_check_seconds
from ..objects.validate.control_plane import writable_cluster
from . import kubeadm_config_map

SKIP_COREDNS = kinds.ANNOTATION_SKIP_COREDNS
SKIP_KUBE_PROXY = kinds.ANNOTATION_SKIP_KUBE_PROXY

_Object = t.Mapping[str, t.Any]


def version(control_plane: _Object) -> str:
    """Return the desired Kubernetes version."""
    return str(control_plane["spec"]["version"])


def skips(control_plane: _Object, annotation: str) -> bool:
    """Return whether an annotation leaves an add-on to the user."""
    return kinds.is_flagged(control_plane, annotation)


def wanted_kubeadm_config_map(
    cluster: _Object, control_plane: _Object, kubeadm_configs: t.Iterable[_Object] = ()
) -> kubeadm_config_map.Wanted:
    """Return what a rollout writes to kubeadm-config before its first machine.

    The first new machine, that is; dns is written with CoreDNS.

    What the spec leaves out is removed there too, or a machine made for that would be made as before. Only a registry
    that no machine of ``kubeadm_configs`` was made with stays: another writer set it
    (docs/reference/cluster_api.md, "Rollout").
    """
    target = version(control_plane)
    config = control_plane["spec"].get("kubeadmConfigSpec") or {}
    endpoint = {"host": "", "port": 0, **(cluster["spec"].get("controlPlaneEndpoint") or {})}
    configuration = cluster_defaults(writable_cluster(config, target), cluster, target, endpoint)
    was_named = any(
        ((each.get("spec") or {}).get("clusterConfiguration") or {}).get("imageRepository") for each in kubeadm_configs
    )
    return kubeadm_config_map.Wanted(
        kubernetes_version=target,
        image_repository=configuration.get("imageRepository") or ("" if was_named else None),
        feature_gates=configuration.get("featureGates") or {},
        api_server=configuration.get("apiServer") or {},
        controller_manager=configuration.get("controllerManager") or {},
        scheduler=configuration.get("scheduler") or {},
        etcd=configuration.get("etcd") or {},
        certificate_validity_period_days=configuration.get("certificateValidityPeriodDays") or 0,
        encryption_algorithm=configuration.get("encryptionAlgorithm") or "",
        health_check_seconds=health_check_seconds(config),
    )
