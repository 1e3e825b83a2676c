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
from typing import Any

from ...documents.names import typed_name
from ...objects import kinds
from ...objects.conditions import ROLLING_OUT, SCALING_DOWN
from .. import terms
from ..outcome import Outcome, block, reason
from ..snapshot.typed_snapshot import View

ACTION_UNFINISHED = "ActionUnfinished"
ROTATION_UNFINISHED = "RotationUnfinished"


def beside_actions(view: View, outcome: Outcome) -> Outcome:
    """Return the outcome, or the refusal because of an Action.

    An Action that is under way, or a certificate rotation that one left unfinished, refuses steps. A deletion of the
    whole cluster continues; an outcome that waits or is refused anyway stays unchanged.
    """
    if view.deleting or view.paused:
        return outcome
    if view.raw.get("unfinishedAction"):
        return _beside_action(view, outcome)
    return _amid_rotation(view, outcome) if view.raw.get("unfinishedRotation") else outcome


def _beside_action(view: View, outcome: Outcome) -> Outcome:
    """Return the outcome while an Action is under way.

    No step is taken: the Action would pause, and the step would run on nodes that are changed in part.
    """
    action = view.raw["unfinishedAction"]
    text = f"{action['name']} has not ended ({action.get('phase') or 'under way'})"
    name = typed_name(str(action["name"]).rpartition(" ")[2])
    fix = (
        f"Finish it (kubeadm.control_plane.action -e operator_action={name}) or give it up "
        f"(kubeadm.control_plane.abort -e operator_action={name}) first."
    )
    return _told(outcome, ACTION_UNFINISHED, text, fix, held=outcome.acts)


def _amid_rotation(view: View, outcome: Outcome) -> Outcome:
    """Return the outcome while a certificate rotation is unfinished.

    No machine is made: it would get one authority alone, where others still show, or already show, another one's
    certificates.

    A failed machine is removed all the same: a rotation needs every Node, and could never be completed with a dead one.
    """
    rotation = view.raw["unfinishedRotation"]
    text = f"{rotation_told(view.name, rotation)}; a machine that joins now would not trust the others, or they not it"
    fix = f"Complete the rotation: {rotation_completed(view.name, rotation, len(view.live))}."
    return _told(
        outcome,
        ROTATION_UNFINISHED,
        text,
        fix,
        held=outcome.acts and not (_takes_out(outcome) or outcome.action == terms.APPLY_RESOURCE_SETS),
    )


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


def _told(outcome: Outcome, name: str, text: str, fix: str, held: bool) -> Outcome:
    if not held:
        return replace(outcome, reasons=[*outcome.reasons, reason(name, text)])
    what = f"; what would follow: {outcome.reasons[0]['message']}" if outcome.reasons else ""
    return block(name, text + what, fix)
