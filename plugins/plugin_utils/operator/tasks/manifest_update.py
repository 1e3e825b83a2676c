# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Update of the cluster's manifest after an Action's changes.

The change is written, or printed where the user is to write it (as scaling does).
"""

from __future__ import annotations

import json
import os
import typing as t

from ....module_utils.common.kubernetes_versions import is_newer
from ....module_utils.common.violations import ManifestError
from ...calls.failure import ControlPlaneFailure
from ...objects import defaults
from ...records import control_plane_fields, in_place_changes


def follow_version(arguments: t.Mapping[str, t.Any], version: str, deployment: str = "") -> str:
    """Set the version in the manifest and return the result as text.

    It is the control plane's, or that of a MachineDeployment; one that is newer there stays. The text states what was done, or what the
    user has to do.
    """
    manifests = arguments.get("manifests") or []
    names = (manifests, arguments["namespace"], arguments["cluster"])
    document, field, owner = None, defaults.VERSION, "KubeadmControlPlane"
    if deployment:
        field, owner = defaults.WORKER_VERSION, f"MachineDeployment {deployment}"
    if manifests and deployment:
        document = control_plane_fields.deployment_document(*names, deployment)
    elif manifests:
        document = control_plane_fields.control_plane_document(*names)
    if document is None:
        return f"there is no manifest of the {owner}: the stored one says the version now"
    try:
        control_plane_fields.refuse_template(document, field)
        edit, raw = control_plane_fields.edited(document, field, version)
        if edit.before != edit.after:
            control_plane_fields.refuse_lost(edit)
    except (ManifestError, ControlPlaneFailure) as error:
        return f"set {field} to {version} in the manifest yourself ({owner}), before the next reconcile: {error}"
    place = f"{edit.file}:{edit.line}: {edit.path}"
    if edit.before == edit.after:
        return f"{place} is {version} already"
    stated = edit.old.strip("'\"")
    if is_newer(stated, version):
        return f"{place} is {stated}, {in_place_changes.newer_stays(version)}"
    tree = control_plane_fields.work_tree(edit.file)
    if tree is not None:
        name = os.path.relpath(os.path.realpath(edit.file), tree.root)
        patch = edit.diff(f"a/{name}", f"b/{name}")
        return (
            f"{place} is to become {version}, but the file lies in a {tree.system} work tree, {tree.root}: NOTHING WAS WRITTEN. Make this "
            f"change there before the next reconcile, which refuses the old version until then:\n\n{patch}"
        )
    control_plane_fields.write(edit, raw)
    return f"{place} was set to {version}"


def configuration_to_follow(arguments: t.Mapping[str, t.Any], patch: t.Mapping[str, t.Any]) -> str:
    """Return the ClusterConfiguration change that the user brings into the manifest.

    It is a text; "" where there is no manifest.
    """
    if not arguments.get("manifests"):
        return ""
    text = json.dumps(patch, indent=2, sort_keys=True)
    return (
        "bring this change into the manifest's spec.kubeadmConfigSpec.clusterConfiguration before the next reconcile, which refuses the "
        f"old configuration until then (null: take it away):\n{text}"
    )
