# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Label with the cluster's name, on a cluster's own objects.

Whose a stored object is goes by it. Names are unique in a namespace, so two clusters may give one object the same name.
"""

from __future__ import annotations

from ...module_utils.common.violations import Violation
from ..objects import advice, kinds
from ..objects.manifest.cluster_manifest import ClusterManifest
from ..store.base import Store, kind_ref_of
from .cluster_objects import CLUSTER, CLUSTER_LABEL, Object

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


def cluster_of(stored: Object) -> str:
    """Return the name of a stored object's cluster, or ""."""
    named = (stored.get("spec") or {}).get("clusterName")
    return str(named or (stored["metadata"].get("labels") or {}).get(CLUSTER_LABEL) or "")


def update_violations(store: Store, manifest: ClusterManifest) -> list[Violation]:
    """Return violations for objects that another cluster has in the store.

    It would lose them, and what is made of them.
    """
    found: list[Violation] = []
    named = (manifest.control_plane, manifest.infrastructure_cluster)
    for desired in (*named, *manifest.health_checks, *manifest.machine_deployments):
        other = _other_cluster(store, manifest, desired)
        if other:
            kind, own, name = desired["kind"], manifest.cluster["metadata"]["name"], desired["metadata"]["name"]
            path, value = ("spec.clusterName", own) if kind in _OWN else ("metadata.name", name)
            rule = f"the store has a {kind} of this name for the cluster {other}"
            back = f"its label {CLUSTER_LABEL} and spec.clusterName, where it has one, are to be {own} again"
            fix = f"Give this one another name. Where it was this cluster's before, {back}: {advice.edit(kind, desired['metadata'])}."
            report = manifest.report(desired)
            report.add(path, value, rule, fix)
            found += report.violations
    return found


def _other_cluster(store: Store, manifest: ClusterManifest, desired: Object) -> str:
    """Return which other cluster has an object, "" for none.

    A control plane and an infrastructure are the Cluster's that names them: a label alone may be wrong, and is corrected.
    """
    own, name = manifest.cluster["metadata"]["name"], desired["metadata"]["name"]
    namespace = str(desired["metadata"].get("namespace", "default"))
    stored = store.get(kind_ref_of(desired), namespace, str(name))
    if stored is None or cluster_of(stored) == own:
        return ""
    return cluster_of(stored) if desired["kind"] in _OWN else also_named_by(store, namespace, own, desired)


def also_named_by(store: Store, namespace: str, own: str, *named: Object | None) -> str:
    """Return the other Cluster that names one of these objects.

    As its control plane or its infrastructure; "" for none.
    """
    asked = {(each["kind"], each["metadata"]["name"]) for each in named if each is not None}
    for each in store.list(CLUSTER, namespace):
        spec = each.get("spec") or {}
        references = [spec.get(key) or {} for key in ("controlPlaneRef", "infrastructureRef")]
        if each["metadata"]["name"] != own and asked & {(one.get("kind"), one.get("name")) for one in references}:
            return str(each["metadata"]["name"])
    return ""


def _is_template_of_workers(obj: Object, manifest: ClusterManifest) -> bool:
    own = (obj["kind"], obj["metadata"]["name"])
    return any(own == (each["kind"], each["metadata"]["name"]) for each in manifest.worker_templates)
