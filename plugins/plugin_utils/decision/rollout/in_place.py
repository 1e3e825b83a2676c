# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps that are held back while running nodes are changed in place.

The pages: docs/actions.md, docs/rotate_certificate_authorities.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Optional

from ...documents.names import typed_name
from ...objects import kinds
from ...objects.conditions import ROLLING_OUT, SCALING_DOWN
from .. import terms
from ..conditions.control_plane import initialized
from ..outcome import Outcome, block, reason
from ..snapshot.typed_snapshot import View

ACTION_UNFINISHED = "ActionUnfinished"
ROTATION_UNFINISHED = "RotationUnfinished"


def beside_actions(view: View, outcome: Outcome) -> Outcome:
    """Return the outcome, or the refusal because of an Action.

    An Action that is under way, or a certificate rotation that one left unfinished, refuses steps. A deletion of the
    whole cluster continues; an outcome that waits or is refused anyway stays unchanged.
    """
    found = unfinished(view)
    if found is None:
        return outcome
    held = outcome.acts
    if found["reason"] == ROTATION_UNFINISHED:
        # A failed machine is removed all the same: a rotation needs every Node, and could never be completed with a dead one.
        held = held and not (_takes_out(outcome) or outcome.action == terms.APPLY_RESOURCE_SETS)
        # Nor is a first machine held up, where the control plane was deleted amid the rotation: no machine is there that it would not trust, and only
        # with it can the rotation be completed.
        held = held and outcome.action != terms.INITIALIZE and initialized(view)
    return _told(outcome, found, held)


def unfinished(view: View) -> Optional[dict[str, str]]:
    """Return the Action, else the certificate rotation, that has not ended.

    As an entry of `blockedOn`. None where there is neither, or where it is not asked for: the cluster is paused or deleted.
    """
    if view.deleting or view.paused:
        return None
    if view.raw.get("unfinishedAction"):
        return _action(view.raw["unfinishedAction"])
    return _rotation(view) if view.raw.get("unfinishedRotation") else None


def _action(action: Mapping[str, Any]) -> dict[str, str]:
    """Return an Action that has not ended.

    No step is taken beside it: the Action would pause, and the step would run on nodes that are changed in part.
    """
    text = f"{action['name']} has not ended ({action.get('phase') or 'under way'})"
    name = typed_name(str(action["name"]).rpartition(" ")[2])
    fix = (
        f"Let its run end. Where none is at work on it, finish it (kubeadm.control_plane.action -e operator_action={name}; it says so where "
        f"retry is needed) or give it up (kubeadm.control_plane.abort -e operator_action={name})."
    )
    return {"reason": ACTION_UNFINISHED, "message": text, "fix": fix}


def _rotation(view: View) -> dict[str, str]:
    """Return a certificate rotation that is unfinished.

    No machine is made meanwhile: it would get one authority alone, where others still show, or already show, another
    one's certificates.
    """
    rotation = view.raw["unfinishedRotation"]
    text = f"{rotation_told(view.name, rotation)}; a machine that joins now would not trust the others, or they not it"
    fix = f"Complete the rotation: {rotation_completed(view.name, rotation, len(view.live))}."
    return {"reason": ROTATION_UNFINISHED, "message": text, "fix": fix}


def rotation_told(cluster: str, rotation: Mapping[str, Any]) -> str:
    """Return an unfinished rotation (unfinishedRotation) as a text for messages."""
    what = ", ".join(rotation.get("authorities") or ()) or "certificate authorities"
    begun = f", started by the Action {rotation['action']}," if rotation.get("action") else ""
    return f"a rotation of {what}{begun} is not over (Secret {kinds.secret_name(cluster, kinds.PURPOSE_AUTHORITY_ROTATION)})"


def rotation_completed(cluster: str, rotation: Mapping[str, Any], machines: int) -> str:
    """Return the command that completes a rotation.

    It starts an Action of a new name, with the same authorities, and with the consent to an outage where one or two
    machines need it.
    """
    authorities = [each for each in rotation.get("authorities") or () if each.isalnum() and each.isascii()]
    wanted: dict[str, Any] = {"authorities": authorities} if authorities else {}
    if machines == 1 or (machines == 2 and "etcd" in (authorities or ["etcd"])):
        wanted["acceptOutage"] = True
    options = json.dumps({"operator_spec": {"rotateCertificateAuthorities": wanted}})
    return f"kubeadm.control_plane.action --limit {typed_name(cluster, 'CLUSTER')} -e '{options}'"


def _takes_out(outcome: Outcome) -> bool:
    """Return whether a step only removes a failed or deleted object.

    True where nothing is made in its place.
    """
    if outcome.action != terms.REMOVE:
        return outcome.action in (terms.REMOVE_MEMBER, terms.REMOVE_NODE, terms.RECOVER_SINGLE_VOTER)
    return not any(each["reason"] in (ROLLING_OUT, SCALING_DOWN) for each in outcome.reasons)


def _told(outcome: Outcome, found: Mapping[str, str], held: bool) -> Outcome:
    name, text = found["reason"], found["message"]
    if not held:
        return replace(outcome, reasons=[*outcome.reasons, reason(name, text)])
    what = f"; what would follow: {outcome.reasons[0]['message']}" if outcome.reasons else ""
    return block(name, text + what, found["fix"])
