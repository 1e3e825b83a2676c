# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Health of this machine's control plane components, from their own ports.

A static pod's Ready condition is the kubelet's word, and it can be a minute old: before 1.21 a kubelet writes it only
with its next full sync where a container has no readiness probe, as the controller manager's and the scheduler's
haven't. What a component answers on its own health port is nearer.
"""

from __future__ import annotations

import ssl
import typing as t

from ...common import settings
from ...common.https import HttpClient, Unreachable
from ...common.settings import HEALTH_PORTS


def component_health(manifests: t.Collection[str], ports: t.Optional[t.Mapping[str, int]] = None) -> dict[str, t.Any]:
    """Ask each component that has a manifest here for its health.

    Returns:
        True (it says that it is healthy), False (it says that it is not) or None (nothing answered on its usual port,
        which its flags may have moved) by component.
    """
    return {name: _ask(port) for name, port in (ports or HEALTH_PORTS).items() if name in manifests}


def _ask(port: int) -> t.Optional[bool]:
    # The component made this certificate itself: there is nothing to check it against, and nothing secret is sent.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with HttpClient(f"https://127.0.0.1:{port}", context, settings.LOCAL_ANSWER_SECONDS) as client:
            return client.request("GET", "/healthz", None, {}).status == 200
    except (Unreachable, OSError):
        return None
