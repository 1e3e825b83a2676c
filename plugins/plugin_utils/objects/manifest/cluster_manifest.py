# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Manifest of one cluster, and the clusters that files name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ....module_utils.common.violations import ManifestError, Report
from .. import kinds
from .unmanaged import UnmanagedKind


@dataclass(frozen=True)
class ClusterEntry:
    """Cluster that the manifests name, with its files.

    `paths` are the files that hold its objects; `error` when a file cannot be read.

    `labels` are the Cluster's, None where it could not be read.
    """

    namespace: str
    name: str
    paths: tuple[str, ...]
    error: ManifestError | None = None
    labels: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class ClusterManifest:
    """Objects of one cluster in hub form, defaulted and valid.

    `warnings` are sentences for the user.

    `left_out` names the fields of the control plane that the manifest says nothing about and that keep their stored value
    (defaults.left_out); the rules that depend on them are checked against what is stored.

    `unmanaged` are the kinds of the documents beside, which are left alone.

    `resources` are the ConfigMaps and Secrets that `resource_sets` name.

    `worker_templates` are the KubeadmConfigTemplates and machine templates that `machine_deployments` name, but for the control plane's own;
    `workers_left_out` is as `left_out`, by the deployment's name.
    """

    cluster: dict[str, Any]
    control_plane: dict[str, Any]
    machine_template: dict[str, Any]
    infrastructure_cluster: dict[str, Any]
    secrets: tuple[dict[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    reports: Mapping[str, Report] = field(default_factory=dict, compare=False, repr=False)
    health_checks: tuple[dict[str, Any], ...] = ()
    unmanaged: tuple[UnmanagedKind, ...] = field(default=(), compare=False)
    resource_sets: tuple[dict[str, Any], ...] = ()
    resources: tuple[dict[str, Any], ...] = ()
    machine_deployments: tuple[dict[str, Any], ...] = ()
    worker_templates: tuple[dict[str, Any], ...] = ()
    workers_left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def report(self, obj: Mapping[str, Any]) -> Report:
        """Return a report for further violations of one of the objects.

        It uses the manifest's own terms.
        """
        label = kinds.label_of(obj)
        return self.reports[label].again() if label in self.reports else Report(label)
