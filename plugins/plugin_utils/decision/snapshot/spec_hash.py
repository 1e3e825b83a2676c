# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hash of the desired state: the specs of a cluster's objects.

As the user wrote them (docs/reference/plan.md).
"""

from __future__ import annotations

from typing import Any

from ...objects import kinds
from ...objects.user_annotations import KNOWN
from .state_fingerprint import fingerprint

Object = dict[str, Any]
_OBJECTS = ("cluster", "controlPlane", "infrastructureCluster", "machineTemplate")
# Filled in by the infrastructure provider; the user's own choice is in the infrastructure cluster's other fields, and
# a control plane's endpoint can't be changed anyway.
_FILLED_IN = ("controlPlaneEndpoint",)
# Written by this collection though known or of another prefix, or by kubectl as its own note.
_NOT_THE_USERS = (
    kinds.ANNOTATION_REMEDIATION_IN_PROGRESS,
    kinds.ANNOTATION_IGNORE_WORKER_NODES,
    kinds.ANNOTATION_EXTERNAL_ETCD_BEGAN,
    "kubectl.kubernetes.io/last-applied-configuration",
)
# Written by stores and by observation; they change without the object meaning anything else.
_VOLATILE = frozenset(
    {
        "resourceVersion",
        "generation",
        "observedGeneration",
        "creationTimestamp",
        "lastTransitionTime",
        "lastHeartbeatTime",
        "managedFields",
        "selfLink",
    }
)


def spec_parts(snapshot: Object) -> dict[str, str]:
    """Return a hash of each field of the desired objects, by path.

    A path is as "KubeadmControlPlane.spec.version".
    Only the desired objects of the snapshot are read. A hash shows that a field changed, never its content.
    """
    parts: dict[str, str] = {}
    for key in _OBJECTS:
        obj = snapshot.get(key)
        if obj is None:
            continue
        kind = str(obj.get("kind") or key)
        for field, value in (_normalise(obj.get("spec") or {})).items():
            if field not in _FILLED_IN:
                parts[f"{kind}.spec.{field}"] = fingerprint(value)
        for field, value in ((obj.get("metadata") or {}).get("annotations") or {}).items():
            if key in ("cluster", "controlPlane") and _is_the_users(field):
                parts[f"{kind}.metadata.annotations.{field}"] = fingerprint(value)
    return parts


def _is_the_users(annotation: str) -> bool:
    # Of those with this collection's prefix a manifest can have the known ones alone: all others are notes of its runs.
    note = annotation.startswith(kinds.ANNOTATION_PREFIX) and annotation not in KNOWN
    return not note and annotation not in _NOT_THE_USERS


def _normalise(value: Any) -> Any:
    # Without volatile fields and nulls. Empty lists stay: taints [] and none differ.
    if isinstance(value, dict):
        kept = {key: entry for key, entry in value.items() if key not in _VOLATILE and entry is not None}
        return {key: _normalise(entry) for key, entry in kept.items()}
    if isinstance(value, (list, tuple)):
        return [_normalise(entry) for entry in value]
    return value
