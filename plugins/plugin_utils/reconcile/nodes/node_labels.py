# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Labels of a Machine for its Node, as in Cluster API's core.

Source: docs/reference/cluster_api.md, "Propagation".

Three domains are a Machine's to set; every other label of a Node is another writer's. The Node's own annotation
remembers which came from the Machine: what leaves the Machine leaves the Node, and what kubeadm or a user has set
there stays.
"""

from __future__ import annotations

import typing as t

from ...records.cluster_objects import Object

ROLE_PREFIX = "node-role.kubernetes.io/"
RESTRICTION_DOMAIN = "node-restriction.kubernetes.io"
MANAGED_DOMAIN = "node.cluster.x-k8s.io"
FROM_MACHINE_ANNOTATION = "cluster.x-k8s.io/labels-from-machine"


def managed(labels: t.Mapping[str, str]) -> dict[str, str]:
    """Return the Machine labels that are synced to its Node."""
    return {key: value for key, value in labels.items() if _is_managed(key)}


def patch(
    labels: t.Mapping[str, str], node: t.Mapping[str, t.Any], kubeadms: t.Iterable[str] = ()
) -> t.Optional[Object]:
    """Return the merge patch for a Node's labels, None without a difference.

    Args:
        labels: the Machine's, of the three domains.
        node: what has the Node's ``labels`` and ``annotations``.
        kubeadms: the labels that kubeadm sets on this Node, empty. Such a one stays when it leaves the Machine: without it the Node would be no
            control plane Node any more, and the pods that are to run on those would leave it.
    """
    present, annotations = node.get("labels") or {}, node.get("annotations") or {}
    recorded = str(annotations.get(FROM_MACHINE_ANNOTATION, ""))
    gone = {key for key in recorded.split(",") if _is_managed(key)} - set(labels)
    left: dict[str, t.Optional[str]] = {**dict.fromkeys(gone), **dict.fromkeys(gone.intersection(kubeadms), "")}
    changes = {key: value for key, value in left.items() if key in present and present[key] != value}
    changes.update({key: value for key, value in labels.items() if present.get(key) != value})
    record = ",".join(sorted(labels))
    if not changes and record == recorded:
        return None
    return {"metadata": {"labels": changes, "annotations": {FROM_MACHINE_ANNOTATION: record or None}}}


def _is_managed(key: str) -> bool:
    domain = key.partition("/")[0]
    return "/" in key and (
        key.startswith(ROLE_PREFIX)
        or any(domain == each or domain.endswith(f".{each}") for each in (RESTRICTION_DOMAIN, MANAGED_DOMAIN))
    )
