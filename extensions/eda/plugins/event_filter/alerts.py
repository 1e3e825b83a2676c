# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Event filter: of an Alertmanager's notification, which cluster asks for what."""

from __future__ import annotations

import importlib
import logging
import sys
from pathlib import Path
from typing import Any, Optional

DOCUMENTATION = r"""
---
short_description: Of an Alertmanager's notification, which cluster asks for what.
description:
  - Makes events as the event source kubeadm.control_plane.store has them of a notification that eda.builtin.webhook or
    ansible.eda.alertmanager received, one for each cluster; of the notification nothing else is left. What names no cluster is left out.
options:
  unhealthy:
    description: Names of the alerts for which health checks and remediations are made.
    type: list
    elements: str
    default: []
  drift:
    description: Names of the alerts for which clusters are reconciled.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- eda.builtin.webhook:
    port: 5000
  filters:
    - kubeadm.control_plane.alerts:
        unhealthy: [ControlPlaneEtcdNoFailureTolerance]
"""

_ROOT = str(Path(__file__).absolute().parents[7])


def main(
    event: dict[str, Any], unhealthy: Optional[list[str]] = None, drift: Optional[list[str]] = None
) -> list[dict[str, Any]]:
    """Return the events of a notification."""
    if _ROOT not in sys.path:
        sys.path.append(_ROOT)
    library = importlib.import_module(
        "ansible_collections.kubeadm.control_plane.plugins.plugin_utils.events.cluster_events"
    )
    found, without = library.of_alerts(event.get("alert", event.get("payload")), unhealthy or [], drift or [])
    if without:
        logging.getLogger("kubeadm.control_plane.alerts").warning(
            "%d alerts name no cluster in their labels cluster_namespace and cluster_name, and were left out", without
        )
    return list(found)
