# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Event source: what control planes' objects in a Kubernetes store ask for."""

from __future__ import annotations

import asyncio
import importlib
import logging
import sys
from pathlib import Path
from typing import Any

DOCUMENTATION = r"""
---
short_description: What the objects of a Kubernetes store ask for.
description:
  - Watches the control plane Machines, the MachineHealthChecks and the KubeadmControlPlanes in a store's Kubernetes API, from where it has
    seen them last. An API that goes away is asked again until it answers.
  - An event has kind, name, namespace and cluster of what was seen, RFC 1123 names; unhealthy, where a machine may have to be replaced;
    drift, where something else is to be done; and meta.hosts, which limits an action to that cluster. It has no text of the object.
options:
  namespaces:
    description: The namespaces that are watched; all of them by default, which takes a ClusterRole.
    type: list
    elements: str
  resync_seconds:
    description: After how long what still asks for something is told again.
    type: float
    default: 600
  kubeconfig:
    description: The kubeconfig; this and all further options of the connection are those of the inventory's option store.
    type: path
"""

EXAMPLES = r"""
- kubeadm.control_plane.store:
    kubeconfig: /etc/control-planes/store.kubeconfig
    namespaces: [team-a]
"""

# ansible-rulebook runs this file by its path, and knows of no collection's Python.
_ROOT = str(Path(__file__).absolute().parents[7])


async def main(queue: asyncio.Queue[Any], args: dict[str, Any]) -> None:
    """Put events until cancelled."""
    if _ROOT not in sys.path:
        sys.path.append(_ROOT)
    library = importlib.import_module(
        "ansible_collections.kubeadm.control_plane.plugins.plugin_utils.events.store_events"
    )
    args.pop("eda_feedback_queue", None)
    await library.StoreEvents(queue, args, logging.getLogger("kubeadm.control_plane.store").warning).run()
