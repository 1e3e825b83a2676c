# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arguments of every action that reads a cluster's manifest."""

from __future__ import annotations

import typing as t

from ..objects.manifest import unmanaged
from ..objects.manifest.reader import ClusterManifest, read_cluster

# How files are read; MANIFESTS_SPEC has the files, too.
READING_SPEC: dict[str, t.Any] = {
    "providers": {"type": "dict", "default": {}},
    "unknown_documents": {"type": "str", "choices": list(unmanaged.CHOICES), "default": unmanaged.REPORT},
}
MANIFESTS_SPEC: dict[str, t.Any] = {"manifests": {"type": "list", "elements": "path", "default": []}, **READING_SPEC}


def read_manifest(
    arguments: t.Mapping[str, t.Any],
    files: t.Optional[t.Sequence[str]] = None,
    contents: t.Optional[t.Mapping[str, str]] = None,
) -> ClusterManifest:
    """Return the cluster that an action's arguments name.

    Args:
        arguments: the action's, with its cluster and READING_SPEC.
        files: the files, those of the argument ``manifests`` by default.
        contents: the text of files that are read as if they were changed already.

    Raises:
        ManifestError: every violation.
    """
    return read_cluster(
        arguments["manifests"] if files is None else files,
        arguments["namespace"],
        arguments["cluster"],
        arguments["providers"] or None,
        contents,
        arguments["unknown_documents"],
    )


def unmanaged_result(manifest: ClusterManifest) -> dict[str, t.Any]:
    """Return what a task's result says of documents that are left alone."""
    return {"unmanaged": [each.as_data() for each in manifest.unmanaged]}
