# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Address pool, read from the records of machines and endpoints.

So nothing can get out of step.
"""

from __future__ import annotations

import os
import typing as t

from ..common import settings
from . import network as bridges
from .addresses import Network
from .errors import NspawnError
from .file_operations import locked, read_json, write_json
from .layout import Layout

LOCK = "pool"


def machine_records(layout: Layout) -> dict[str, dict[str, t.Any]]:
    """Return every machine's record by name.

    A machine without one (cut off at its very start) has an empty record.
    """
    return {
        name: read_json(os.path.join(layout.machines, name, "machine.json")) or {} for name in _folders(layout.machines)
    }


def endpoint_records(layout: Layout) -> dict[str, dict[str, t.Any]]:
    """Return every endpoint's record by ``namespace_cluster``."""
    return {
        name: read_json(os.path.join(layout.endpoints, name, "endpoint.json")) or {}
        for name in _folders(layout.endpoints)
    }


def _folders(path: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(path) if os.path.isdir(os.path.join(path, name)))
    except FileNotFoundError:
        return []


def taken(layout: Layout) -> dict[str, str]:
    """Return the taken addresses with the names of their holders."""
    found = {
        str(record["address"]): f"machine {name}"
        for name, record in machine_records(layout).items()
        if record.get("address")
    }
    for name, record in endpoint_records(layout).items():
        if record.get("host"):
            found[str(record["host"])] = f"the endpoint of cluster {name.replace('_', '/')}"
    return found


def open_network(layout: Layout, network: Network) -> None:
    """Make the directory and the bridge.

    Call it with the pool's lock held.

    Raises:
        NspawnError: the directory's machines use another network.
    """
    os.makedirs(layout.directory, mode=0o700, exist_ok=True)
    known = read_json(layout.network)
    if known is not None and known != network.record() and (machine_records(layout) or endpoint_records(layout)):
        raise NspawnError(
            f"the machines in {layout.directory} use bridge {known.get('bridge')}, subnet {known.get('subnet')} and pod subnet "
            f"{known.get('podSubnet')}; asked for are {network.bridge}, {network.subnet} and {network.pod_subnet}. "
            "Use the same network, another directory, or delete the machines first."
        )
    bridges.ensure_bridge(network, layout.directory)
    if known != network.record():
        write_json(layout.network, network.record())


def close_network(layout: Layout) -> bool:
    """Remove the bridge without machines and endpoints; return whether it was removed."""
    with locked(layout.lock(LOCK), settings.LOCAL_LOCK_SECONDS):
        known = read_json(layout.network)
        if known is None or machine_records(layout) or endpoint_records(layout):
            return False
        bridges.remove_bridge(str(known["bridge"]), layout.directory)
        os.unlink(layout.network)
    return True
