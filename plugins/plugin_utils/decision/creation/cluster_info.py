# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The server that ConfigMap kube-public/cluster-info names: kubeadm join goes there, whatever it was told.

The fault: docs/faults.md, "`cluster-info` names a machine that is gone".
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from ....module_utils.common.values import clip
from ..snapshot.typed_snapshot import View, read_snapshot

Object = dict[str, Any]
PREREQUISITE = "clusterInfo"
_DEFAULT_PORT = 6443


def prerequisites(view: View) -> list[Object]:
    """What is to be corrected before a machine joins: cluster-info, where it is known to name another server than the endpoint."""
    named, wanted = _named(view.workload), _wanted(view)
    if not named or not wanted or named == wanted:
        return []
    text = f"ConfigMap kube-public/cluster-info names {wanted}; it names {clip(named, 200)}, where a join would look for the API in vain"
    return [{"name": PREREQUISITE, "message": text}]


def corrected(snapshot: Object) -> Object:
    """The snapshot after a join or a removal, both of which correct it."""
    wanted = _wanted(read_snapshot(snapshot))
    if wanted and _named(snapshot["workload"]) not in ("", wanted):
        addons = dict(snapshot["workload"]["addons"])
        addons["bootstrap"] = {**addons["bootstrap"], "clusterInfoServer": wanted}
        snapshot["workload"] = {**snapshot["workload"], "addons": addons}
    return snapshot


def _named(workload: Object) -> str:
    return str(((workload.get("addons") or {}).get("bootstrap") or {}).get("clusterInfoServer") or "")


def _wanted(view: View) -> str:
    """As kubeadm was told: the user's own controlPlaneEndpoint, else the Cluster's; "" where neither can be told."""
    configuration = (view.spec.get("kubeadmConfigSpec") or {}).get("clusterConfiguration") or {}
    own = configuration.get("controlPlaneEndpoint")
    if isinstance(own, str) and own:
        try:
            parts = urlsplit(f"//{own}")
            host, port = parts.hostname or "", parts.port or _DEFAULT_PORT
        except ValueError:
            return ""
    else:
        endpoint = (view.cluster.get("spec") or {}).get("controlPlaneEndpoint") or {}
        host, port = str(endpoint.get("host") or ""), int(endpoint.get("port") or _DEFAULT_PORT)
    return f"https://{f'[{host}]' if ':' in host else host}:{port}" if host else ""
