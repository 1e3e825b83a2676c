# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes without a network plugin, as their kubelets say."""

from __future__ import annotations

from typing import Any

from ....module_utils.common.values import clip
from .. import terms

Object = dict[str, Any]

NO_NETWORK_PLUGIN = "NoNetworkPlugin"
WAY_OUT = (
    "Install a network plugin: put its manifests into a ConfigMap and name that in a ClusterResourceSet of the manifest (docs/resource_sets.md), "
    "or apply them with kubectl."
)


def lacks_plugin(node: Object) -> bool:
    """Return whether a Node isn't Ready since it has no network plugin."""
    return node.get("networkReady") is False and node.get("ready") != terms.TRUE


def why_not_ready(node: Object) -> str:
    """Return why a Node isn't Ready, for people.

    The kubelet's own reason is the same whatever of the runtime is missing.
    """
    said = clip(node.get("readyReason"), 80) or "no reason given"
    return f"no network plugin: {said}" if lacks_plugin(node) else said
