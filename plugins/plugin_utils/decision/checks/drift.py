# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Flags of static pods that were edited by hand.

Reported, never acted upon.
"""

from __future__ import annotations

from typing import Any

from ....module_utils.common.values import clip
from ..outcome import reason
from ..snapshot.typed_snapshot import View

Object = dict[str, Any]
_WORDS = {
    "added": "is neither kubeadm's own nor in the spec; a new machine would not have it",
    "changed": "has another value than kubeadm or the spec gives it; a new machine would have theirs",
    "missing": "is in the spec, and the component runs without it; a new machine would have it",
}


def static_pod_drift(view: View) -> list[Object]:
    """Return a reason for each flag of static pods unlike the spec.

    On whatever Nodes there still are.
    No step follows from it: a rollout brings a machine to the spec anyway, and a user's flag is not removed for its own
    sake.
    """
    nodes = {node["name"] for node in view.workload.get("nodes") or ()}
    grouped: dict[tuple[str, str, str], list[str]] = {}
    for each in view.workload.get("staticPodDrift") or ():
        if each["node"] in nodes:
            grouped.setdefault((each["component"], each["flag"], each["kind"]), []).append(clip(each["node"], 80))
    return [
        reason("StaticPodDrift", f"{clip(component, 80)} of {', '.join(sorted(of))}: --{clip(flag, 80)} {_WORDS[kind]}")
        for (component, flag, kind), of in sorted(grouped.items())
    ]
