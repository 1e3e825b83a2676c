# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Identity of a Node: a given machine's, or another's."""

from __future__ import annotations

import typing as t

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
            The machine-id, which the kubelet reads from the host, counts before the providerID, which is only stated.
    """
    known = identity or {}
    name = f"Node {node['metadata']['name']}"
    uid = node["metadata"].get("uid")
    if known.get("uid") and uid and known["uid"] != uid:
        return f"{name} is another one than the machine's, of the same name"
    machine = ((node.get("status") or {}).get("nodeInfo") or {}).get("machineID")
    if known.get("machine_id") and machine:
        return "" if known["machine_id"] == machine else f"{name} is another host's: it has another machine-id"
    provider = (node.get("spec") or {}).get("providerID")
    if known.get("provider_id") and provider and known["provider_id"] != provider:
        return f"{name} is another machine's: it has another providerID"
    return ""
