# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Identity of the Node that a module is asked about."""

from __future__ import annotations

import typing as t

from ..common.nodes import identity as identities

ARGUMENT: dict[str, t.Any] = {
    "identity": {
        "type": "dict",
        "options": {
            "machine_id": {"type": "str", "default": ""},
            "provider_id": {"type": "str", "default": ""},
            "uid": {"type": "str", "default": ""},
        },
    }
}


def foreign(node: t.Mapping[str, t.Any], identity: t.Optional[t.Mapping[str, t.Any]]) -> str:
    """Return why a Node is another machine's, "" where nothing says so.

    Args:
        node: as an API server has it.
        identity: ``machine_id`` and ``provider_id`` of the machine and the Node's ``uid``, each "" where it is not known; None: any Node is meant.
    """
    metadata, status = node["metadata"], node.get("status") or {}
    told = identities.Identity(
        (status.get("nodeInfo") or {}).get("machineID"),
        (node.get("spec") or {}).get("providerID"),
        metadata.get("uid"),
    )
    why = identities.foreign(told, identities.Identity(**(identity or {})))
    return f"Node {metadata['name']} {why}" if why else ""
