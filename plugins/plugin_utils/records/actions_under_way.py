# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mutual exclusion of Actions and reconcile's operations.

A rollout under way refuses an Action, and the decision refuses the reverse.
"""

from __future__ import annotations

import base64
import typing as t

from ...module_utils.common.bounded_yaml import read_json
from ..decision import ownership
from ..decision.rollout.in_place import rotation_completed, rotation_told
from ..kubeadm.certificate_files import AUTHORITIES
from ..objects import actions, kinds, restore_note
from .cluster_objects import SECRET, ClusterObjects, Object

ROTATION = "rotateCertificateAuthorities"
# Each writes certificates or manifests as kubeadm makes them: that undoes what a stage of a rotation has on the nodes.
_UNDO_A_ROTATION = ("upgrade", "renewCertificates", "changeConfiguration")
# What they change nodes and records with: a custom workflow, a TaskGroup or a Task may have these commands as well.
COMMANDS = (
    "upgradeKubeadm",
    "kubeadmUpgradeApply",
    "kubeadmUpgradeNode",
    "upgradeKubeletAndKubectl",
    "kubeadmRenewCertificates",
    "renewKubeletClientCertificate",
    "bootstrapKubeletAgain",
    "renewKubeconfigSecret",
    "changeControlPlaneConfiguration",
    "recordClusterConfiguration",
    "changeKubeletConfiguration",
    "changeKubeProxyConfiguration",
)


def unfinished_rotation(objects: ClusterObjects) -> t.Optional[Object]:
    """Return the unfinished rotation of certificate authorities, None without one.

    {action: who started it, authorities}.
    """
    name = kinds.secret_name(objects.name, kinds.PURPOSE_AUTHORITY_ROTATION)
    secret = objects.store.get(SECRET, objects.namespace, name)
    if secret is None:
        return None
    data = secret.get("data") or {}
    try:
        action = str(read_json(base64.b64decode(data["rotation"]))["action"])
    except (KeyError, TypeError, ValueError):
        action = ""
    return {"action": action, "authorities": [each for each in AUTHORITIES if f"{each}.new.crt" in data]}


def amid_rotation(objects: ClusterObjects, root: Object) -> str:
    """Return why an unfinished rotation refuses an Action, else "".

    The Action may be a TaskGroup or a Task by itself. The rotation was given up in the middle; the text ends with the remedy.
    """
    rotation, kind = unfinished_rotation(objects), actions.what(root)
    undoes = kind if kind in _UNDO_A_ROTATION else next((each for each in _commands(root) if each in COMMANDS), "")
    if rotation is None or not undoes:
        return ""
    return (
        f"{rotation_told(objects.name, rotation)}, and {undoes} would take away from the nodes what it needs there. Nothing was started. "
        f"Complete the rotation first ({rotation_completed(objects.name, rotation, len(objects.machines))}), then run this again."
    )


def _commands(root: Object) -> list[str]:
    """Return the names of the commands that the user wrote."""
    spec = root["spec"]
    groups = [each["spec"] for each in (spec.get(actions.CUSTOM) or {}).get("workflow") or ()] or [spec]
    descriptors = [
        each for group in groups for each in ((group.get("template") or {}).get("spec") or group).get("commands") or ()
    ]
    return [name for each in descriptors for name in each]


def left_behind(objects: ClusterObjects) -> str:
    """Return the sentence on an unfinished rotation and its remedy, else ""."""
    rotation = unfinished_rotation(objects)
    if rotation is None:
        return ""
    return (
        f" But {rotation_told(objects.name, rotation)}. Until it is, reconcile makes no machine, and certificates, configuration and version are "
        f"not changed. To complete it: {rotation_completed(objects.name, rotation, len(objects.machines))}"
    )


def under_way(objects: ClusterObjects, what: str = "", *, ended: bool = False) -> str:
    """Return what reconcile has under way with the machines, else "".

    Started and not finished, in words.

    A rollout or a remediation that waits for a rotation to be completed is not in the way of ``what`` completes it. Where certificates have ``ended`` on a
    control plane machine, reconcile begins no join, and nothing of this is in the way of what renews them. A join that a run left behind on its machine
    may be disturbed by it: at worst its bootstrap fails. The members' quorum is kept by each restart itself.
    """
    if objects.going:
        return "the cluster is being deleted"
    if objects.control_plane is None:
        return "the store has no KubeadmControlPlane of it"
    if objects.others:
        return f"{ownership.controlled(objects.others)}: two must never manage one control plane"
    if not objects.initialized:
        return "its control plane was not initialized yet"
    if restore_note.started(objects.control_plane):
        return "a restore of etcd was started and is not done (the playbook restore resumes or ends it)"
    if ended:
        return ""
    waits = what == ROTATION and unfinished_rotation(objects) is not None
    status = objects.control_plane.get("status") or {}
    if not waits and (status.get("rollout") or {}).get("replicas") is not None:
        return "a rollout is under way (status.rollout)"
    annotations = objects.control_plane["metadata"].get("annotations") or {}
    if not waits and kinds.ANNOTATION_REMEDIATION_IN_PROGRESS in annotations:
        return "a remediation is under way"
    for machine in objects.machines:
        name = str(machine["metadata"]["name"])
        if machine["metadata"].get("deletionTimestamp"):
            return f"machine {name} is being removed"
        state = ((machine.get("status") or {}).get("bootstrap") or {}).get("state")
        if state != "Succeeded":
            return f"machine {name} is being made" if state != "Failed" else f"the bootstrap of machine {name} failed"
    return ""
