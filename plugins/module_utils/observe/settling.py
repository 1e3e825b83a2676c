# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting for the control plane of a machine that has just joined.

It is one call instead of an observation every second.
"""

from __future__ import annotations

import os
import re
import time
import typing as t
from dataclasses import dataclass, field

from ..common import settings
from ..common.guard import NodeError, read_text
from ..common.https import Unreachable
from ..common.settings import HEALTH_PORTS
from ..node.components.component_health import component_health
from ..workload_api.api import ADMIN_KUBECONFIG, MANIFESTS_DIRECTORY, ApiAccess, ApiClient, own_server, read_access

# The addresses on which a component answers to itself.
_LOOPBACK = ("127.0.0.1", "0.0.0.0", "::")
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
    moved = [each for each in manifests if _moved(os.path.join(own.manifests, f"{each}.yaml"), own.ports[each])]
    deadline = clock() + seconds
    since: t.Optional[float] = None
    while True:
        if _ready(access, server):
            answers = component_health(manifests, own.ports)
            if all(answers.values()):
                return True
            since = clock() if since is None else since
            if clock() - since >= settings.MOVED_PORT_SECONDS and all(
                answers[each] for each in manifests if each not in moved
            ):
                return False
        if clock() >= deadline:
            return False
        pause(_POLL_SECONDS)


def _moved(manifest: str, port: int) -> bool:
    """Return whether a component's manifest moves its health port.

    Or the address, so that it does not answer on this host's own.
    """
    text = read_text(manifest)
    ports = re.findall(r"--secure-port=(\d+)", text)
    addresses = re.findall(r"--bind-address=([^\s\"']+)", text)
    return any(int(each) != port for each in ports) or any(each not in _LOOPBACK for each in addresses)


def _ready(access: ApiAccess, server: str) -> bool:
    try:
        with ApiClient(access, server, settings.LOCAL_ANSWER_SECONDS) as client:
            return client.send("GET", "/readyz").status == 200
    except (Unreachable, ValueError):
        return False
