# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""API versions in which a manifest has another provider's kinds.

They are noted on the Cluster: its references name groups and kinds, and no version. A run's later tasks, which don't read the manifest, find
them there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...module_utils.common.bounded_yaml import read_json
from ..documents.names import is_dns_label
from . import kinds

if TYPE_CHECKING:
    from .manifest.reader import ClusterManifest

Object = dict[str, Any]


def wanted(manifest: ClusterManifest) -> list[Object]:
    """Return a manifest's objects whose versions an API server must serve.

    Its infrastructure cluster, its machine template, and the machines as apiVersion and kind alone, with the template's version. This
    collection's own kinds have one version each and are left out.
    """
    found = []
    for each in (manifest.infrastructure_cluster, manifest.machine_template):
        if each is not None and each["kind"] not in kinds.OWN_INFRASTRUCTURE:
            machine = kinds.machine_kind(each["kind"])
            found += [each, {"apiVersion": each["apiVersion"], "kind": machine}] if machine != each["kind"] else [each]
    return found


def note(cluster: Object, manifest: ClusterManifest) -> None:
    """Note the versions of a manifest's infrastructure on its Cluster, in place."""
    versions = {}
    for each in wanted(manifest):
        group, _slash, version = each["apiVersion"].rpartition("/")
        versions[f"{each['kind']}.{group}"] = version
    annotations = {**(cluster["metadata"].get("annotations") or {})}
    if versions:
        annotations[kinds.ANNOTATION_INFRASTRUCTURE_VERSIONS] = json.dumps(versions, sort_keys=True)
    elif annotations.pop(kinds.ANNOTATION_INFRASTRUCTURE_VERSIONS, None) is None:
        return
    cluster["metadata"]["annotations"] = annotations


def noted(cluster: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """Return the noted versions by (apiGroup, kind); {} for a damaged note.

    A version becomes part of a path: what is no DNS label is left out.
    """
    annotations = (cluster.get("metadata") or {}).get("annotations") or {}
    try:
        versions = read_json(annotations.get(kinds.ANNOTATION_INFRASTRUCTURE_VERSIONS, "{}"))
    except (ValueError, TypeError):
        return {}
    named = versions.items() if isinstance(versions, dict) else ()
    parted = ((str(name).partition("."), version) for name, version in named)
    return {(group, kind): version for (kind, _dot, group), version in parted if _is_version(version)}


def _is_version(noted_version: Any) -> bool:
    return isinstance(noted_version, str) and is_dns_label(noted_version)
