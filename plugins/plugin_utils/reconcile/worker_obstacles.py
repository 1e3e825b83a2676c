# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Obstacles of workers, added to a snapshot by a run."""

from __future__ import annotations

import typing as t

from ...module_utils.common.redact import redact
from ...module_utils.common.values import controller_of
from ..decision.workers.held_back import NOT_MADE, NOT_REMOVED
from ..records.cluster_objects import Object

_FIX = "Mend what the message names, and run reconcile again."


def add_failed(snapshot: Object, failed: t.Sequence[t.Mapping[str, t.Any]]) -> None:
    """Add a run's failed workers to a snapshot in place.

    `failed` has ``{name, message, removal}`` of each, the last of them whether its removal failed.

    As obstacles of their deployment: the others are made, removed and waited for meanwhile.
    """
    workers = snapshot.get("workers") or {}
    told = {
        (str(each.get("name")), bool(each.get("removal"))): redact(str(each.get("message") or "no reason given"))
        for each in failed
    }
    owner = {
        str(entry["machine"]["metadata"]["name"]): str((controller_of(entry["machine"]) or {}).get("name"))
        for entry in workers.get("machines") or ()
    }
    for deployment in workers.get("deployments") or ():
        sets = {str(each["metadata"]["name"]) for each in deployment["machineSets"]}
        found = [
            {
                "reason": NOT_REMOVED if removal else NOT_MADE,
                "message": f"machine {name} could not be {'removed' if removal else 'made'}: {text}",
                "fix": _FIX,
                "machine": name,
            }
            for (name, removal), text in sorted(told.items())
            if owner.get(name) in sets
        ]
        _add(deployment, found)


def failed(snapshot: Object) -> str:
    """Return a sentence for each of a run's failed workers (:func:`add_failed`)."""
    deployments = (snapshot.get("workers") or {}).get("deployments") or ()
    told = [each for deployment in deployments for each in deployment.get("obstacles") or ()]
    return "".join(f" In this run {each['message']}." for each in told if each["reason"] in (NOT_MADE, NOT_REMOVED))


def add(snapshot: Object, name: str, obstacles: t.Sequence[Object]) -> None:
    """Add obstacles of a MachineDeployment's new machines to a snapshot in place.

    Each is ``{reason, message, fix}``.
    """
    for deployment in (snapshot.get("workers") or {}).get("deployments") or ():
        if deployment["machineDeployment"]["metadata"]["name"] == name:
            _add(deployment, obstacles)


def _add(deployment: Object, obstacles: t.Sequence[Object]) -> None:
    if obstacles:
        deployment["obstacles"] = [*(deployment.get("obstacles") or ()), *obstacles]
