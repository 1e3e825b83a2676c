# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers of machines in a MachineDeployment: whole numbers and percentages.

Source: Kubernetes' intstr, and Cluster API's mdutil (docs/reference/cluster_api.md, "MachineDeployments").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Optional

from . import machine_deployment

_PERCENTAGE = re.compile(r"([0-9]{1,9})%")


def scaled(value: Any, total: int, up: bool) -> Optional[int]:
    """Return a number of machines, from a number or a percentage.

    The percentage is of `total`.

    `up`: whether a percentage is rounded up. None where it is neither, or below 0.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if value >= 0 else None
    match = _PERCENTAGE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    product = total * int(match.group(1))
    return -(-product // 100) if up else product // 100


def fenceposts(spec: Mapping[str, Any], replicas: int) -> tuple[int, int]:
    """Return (maxSurge, maxUnavailable) of a MachineDeployment's spec, in machines.

    maxSurge is rounded up, maxUnavailable down. Where both come to 0, maxUnavailable is 1: nothing would ever move. It is
    never more than `replicas`. With OnDelete both are 0.
    """
    strategy = (spec.get("rollout") or {}).get("strategy") or {}
    if strategy.get("type", machine_deployment.ROLLING_UPDATE) != machine_deployment.ROLLING_UPDATE:
        return 0, 0
    rolling = strategy.get("rollingUpdate") or {}
    surge = scaled(rolling.get("maxSurge", 1), replicas, up=True) or 0
    unavailable = scaled(rolling.get("maxUnavailable", 0), replicas, up=False) or 0
    if not surge and not unavailable:
        unavailable = 1
    return surge, min(unavailable, replicas)


def most_in_flight(spec: Mapping[str, Any], replicas: int) -> Optional[int]:
    """Return the number of remediations at once, None for any."""
    return scaled((spec.get("remediation") or {}).get("maxInFlight"), replicas, up=True)
