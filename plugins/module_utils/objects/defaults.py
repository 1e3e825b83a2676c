# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Create-time defaults of hub objects (kcp-behaviour.md §1.18)."""

from __future__ import annotations

import re
from typing import Any

DEFAULT_FORMAT = "cloud-config"


def default_control_plane(control_plane: dict[str, Any]) -> None:
    """Defaults of a KubeadmControlPlane, in place: replicas 1, `v` before the version, RollingUpdate with maxSurge 1, format.

    A maxSurge written as text ("1") becomes the number, as Kubernetes treats both alike.
    """
    spec = control_plane["spec"]
    spec.setdefault("replicas", 1)
    version = spec.get("version")
    if isinstance(version, str) and version[:1].isdigit():
        spec["version"] = "v" + version
    strategy = spec.setdefault("rollout", {}).setdefault("strategy", {})
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        surge = rolling.setdefault("maxSurge", 1)
        if isinstance(surge, str) and re.fullmatch(r"\d{1,4}", surge):
            rolling["maxSurge"] = int(surge)
    config = spec.setdefault("kubeadmConfigSpec", {})
    if not config.get("format"):
        config["format"] = DEFAULT_FORMAT


def default_infrastructure_cluster(infrastructure: dict[str, Any]) -> None:
    """Defaults of an infrastructure cluster, in place: a failure domain may hold control plane machines unless it says no."""
    for domain in infrastructure["spec"].get("failureDomains") or []:
        domain.setdefault("controlPlane", True)
