# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pause of a namespace's clusters: a ConfigMap (docs/eda.md)."""

from __future__ import annotations

from ...module_utils.common.values import clip
from ..objects import kinds
from .base import Store

NAME = "kubeadm-control-plane-pause"
_LONGEST_REASON = 200


def paused_because(store: Store, namespace: str) -> str:
    """Return why all clusters of a namespace are paused, or ""."""
    found = store.get(("", kinds.CONFIG_MAP), namespace, NAME)
    if found is None:
        return ""
    data = found.get("data")
    # It pauses by being there, whatever a file of the store has in it.
    reason = clip(data.get("reason"), _LONGEST_REASON) if isinstance(data, dict) else ""
    return f"the ConfigMap {NAME} of the namespace {namespace} is there" + (f": {reason}" if reason else "")
