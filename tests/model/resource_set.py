# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A world's ClusterResourceSet as a snapshot shows it."""

from __future__ import annotations

from typing import Any

from builders import at

from model.world import APPLIED, REFUSED

Object = dict[str, Any]


def resource_set(state: str) -> Object:
    """The set in that state; what was refused was so a moment ago."""
    resource: Object = {
        "kind": "ConfigMap",
        "name": "network",
        "state": "present",
        "hash": "h",
        "applied": state == APPLIED,
    }
    if state in (APPLIED, REFUSED):
        resource.update(appliedHash="h", lastAppliedTime=at(1))
    return {"name": "network", "strategy": "ApplyOnce", "paused": False, "message": "", "resources": [resource]}
