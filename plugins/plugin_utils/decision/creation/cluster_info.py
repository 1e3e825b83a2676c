# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""API server that ConfigMap kube-public/cluster-info names.

kubeadm join connects to that server, whatever endpoint it was given.
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
    """Return the corrections of cluster-info before a machine joins.

    [] unless cluster-info is known to name another server than the control plane endpoint.
    """
    named, wanted = _named(view.workload), _wanted(view)
    if not named or not wanted or named == wanted:
        return []
    text = f"ConfigMap kube-public/cluster-info names {wanted}; it names {clip(named, 200)}, where a join would look for the API in vain"
    return [{"name": PREREQUISITE, "message": text}]


def corrected(snapshot: Object) -> Object:
    """Return the snapshot after a join or a removal corrected cluster-info."""
    wanted = _wanted(read_snapshot(snapshot))
    if wanted and _named(snapshot["workload"]) not in ("", wanted):
        addons = dict(snapshot["workload"]["addons"])
        addons["bootstrap"] = {**addons["bootstrap"], "clusterInfoServer": wanted}
        snapshot["workload"] = {**snapshot["workload"], "addons": addons}
    return snapshot


def _named(workload: Object) -> str:
    return str(((workload.get("addons") or {}).get("bootstrap") or {}).get("clusterInfoServer") or "")


def _wanted(view: View) -> str:
    """Return the server that kubeadm was configured with, as a URL.

    The user's own controlPlaneEndpoint comes before the Cluster's; "" where neither is known.
    """
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
