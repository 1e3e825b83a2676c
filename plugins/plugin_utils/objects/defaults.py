# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Create-time defaults of hub objects (docs/reference/cluster_api.md, "Admission rules")."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...module_utils.common.kubernetes_versions import with_v
from . import kinds
from .convert import failure_domains

DEFAULT_FORMAT = "cloud-config"
REPLICAS = "spec.replicas"
ROLLOUT_AFTER = "spec.rollout.after"
VERSION = "spec.version"
WORKER_VERSION = "spec.template.spec.version"


def left_out(control_plane: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the fields whose stored value stays if a manifest omits them.

    They are fields of a KubeadmControlPlane that is not defaulted yet. Others may set them: `scale` and `rollout`, an
    autoscaler. As with `kubectl apply`, a null is the same as nothing.
    """
    spec = control_plane["spec"]
    found = []
    if spec.get("replicas") is None:
        found.append(REPLICAS)
    if (spec.get("rollout") or {}).get("after") is None:
        found.append(ROLLOUT_AFTER)
    return tuple(found)


def default_control_plane(control_plane: dict[str, Any]) -> None:
    """Set the defaults of a KubeadmControlPlane, in place.

    They are replicas 1, `v` before the version, RollingUpdate with maxSurge 1, and the format.

    A maxSurge written as text ("1") becomes the number, as Kubernetes treats both alike.
    """
    spec = control_plane["spec"]
    spec.setdefault("replicas", 1)
    version = spec.get("version")
    if isinstance(version, str):
        spec["version"] = with_v(version)
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
    """Set the defaults of an infrastructure cluster, in place.

    A failure domain may hold control plane machines unless it has controlPlane: false.
    """
    declared = infrastructure["spec"].get("failureDomains")
    if infrastructure.get("kind") in kinds.OWN_INFRASTRUCTURE or failure_domains.of_contract(declared):
        for domain in declared or []:
            domain.setdefault("controlPlane", True)
