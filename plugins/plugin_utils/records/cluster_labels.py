# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Label with the cluster's name, on a cluster's own objects."""

from __future__ import annotations

from ..objects import kinds
from ..objects.manifest.cluster_manifest import ClusterManifest
from .cluster_objects import CLUSTER_LABEL, Object

_OWN = (kinds.MACHINE_HEALTH_CHECK, kinds.MACHINE_DEPLOYMENT)


def label(obj: Object, manifest: ClusterManifest) -> None:
    """Set the cluster name label on a cluster's own object, in place.

    Controllers find the objects by it; Cluster API's core does the same. A workers' template that several clusters name stays the first one's. What else
    may be several clusters' has none: the control plane's machine template, Secrets and sets of resources.
    """
    cluster, labels = str(manifest.cluster["metadata"]["name"]), obj["metadata"].get("labels") or {}
    if _is_template_of_workers(obj, manifest):
        obj["metadata"]["labels"] = {CLUSTER_LABEL: cluster, **labels}
    elif obj["kind"] in {*_OWN, manifest.control_plane["kind"], manifest.infrastructure_cluster["kind"]}:
        obj["metadata"]["labels"] = {**labels, CLUSTER_LABEL: cluster}


def _is_template_of_workers(obj: Object, manifest: ClusterManifest) -> bool:
    own = (obj["kind"], obj["metadata"]["name"])
    return any(own == (each["kind"], each["metadata"]["name"]) for each in manifest.worker_templates)
