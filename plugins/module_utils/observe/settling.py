# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting for the control plane of a machine that has just joined.

It is one call instead of an observation every second.
"""

from __future__ import annotations

import os
import time
import typing as t
from dataclasses import dataclass, field

from ..common.guard import NodeError
from ..common.https import Unreachable
from ..node.components.component_health import HEALTH_PORTS, component_health
from ..workload_api.api import ADMIN_KUBECONFIG, MANIFESTS_DIRECTORY, ApiAccess, ApiClient, own_server, read_access

# How long the controller manager and the scheduler get once the API server is up: their health ports may be other than usual.
COMPONENTS_SECONDS = 2.0
_REQUEST_SECONDS = 1.0
_POLL_SECONDS = 0.25


@dataclass(frozen=True)
class Own:
    """Paths and ports of a machine's own control plane; tests use others."""

    kubeconfig: str = ADMIN_KUBECONFIG
    manifests: str = MANIFESTS_DIRECTORY
    kubectl: str = "kubectl"
    ports: t.Mapping[str, int] = field(default_factory=lambda: HEALTH_PORTS)


def wait_until_up(
    seconds: float,
    own: t.Optional[Own] = None,
    clock: t.Callable[[], float] = time.monotonic,
    pause: t.Callable[[float], None] = time.sleep,
) -> bool:
    """Wait until this machine's control plane is up, at most ``seconds``.

    Up means: the API server is ready and the other components report that they are healthy. Only the observation that
    follows has the details. Returns False where there is no control plane here, or where it was not up in time.
    """
    own = own or Own()
    manifests = [each for each in own.ports if os.path.exists(os.path.join(own.manifests, f"{each}.yaml"))]
    if not os.path.exists(os.path.join(own.manifests, "kube-apiserver.yaml")):
        return False
    try:
        access = read_access(own.kubeconfig, own.kubectl)
    except NodeError:
        return False
    server = own_server(own.manifests) or access.server
    deadline = clock() + seconds
    since: t.Optional[float] = None
    while True:
        if _ready(access, server):
            if all(component_health(manifests, own.ports).values()):
                return True
            since = clock() if since is None else since
            if clock() - since >= COMPONENTS_SECONDS:
                return False
        if clock() >= deadline:
            return False
        pause(_POLL_SECONDS)


def _ready(access: ApiAccess, server: str) -> bool:
    try:
        with ApiClient(access, server, _REQUEST_SECONDS) as client:
            return client.send("GET", "/readyz").status == 200
    except (Unreachable, ValueError):
        return False
