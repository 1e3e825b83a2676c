# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connection to the workload cluster's API.

When it answered last, and when what was seen before no longer counts.
"""

from __future__ import annotations

from typing import Any, Optional

from ....module_utils.common import settings
from ....module_utils.common.values import format_time, parse_time
from ...objects.conditions import REMOTE_CONNECTION_PROBE
from .. import terms
from ..snapshot.typed_snapshot import View, condition_of

Object = dict[str, Any]
CONNECTION_DOWN = "ConnectionDown"
# The Cluster's status: when its API answered last.
LAST_PROBE_SUCCESS = "lastProbeSuccessTime"


def connection_down(view: View) -> Optional[Object]:
    """Return the reason and message that replace conditions of unreachable machines.

    For the time that the workload cluster does not answer; None while the machines' old conditions are kept. Down for
    less than the grace period: the conditions stay unchanged. It counts from the last answer, which is recorded at most
    once in such a period; where none is, from the first observation that found no answer.
    """
    last = parse_time((view.cluster.get("status") or {}).get(LAST_PROBE_SUCCESS))
    held = view.held(view.cluster, REMOTE_CONNECTION_PROBE, terms.FALSE)
    if last is not None and view.now - last >= 2 * settings.CONNECTION_GRACE:
        since = format_time(last)
    elif held is not None and held >= settings.CONNECTION_GRACE:
        since = condition_of(view.cluster, REMOTE_CONNECTION_PROBE).get("lastTransitionTime", "")
    else:
        return None
    return {
        "reason": CONNECTION_DOWN,
        "message": f"Remote connection down: the workload cluster has not answered since {since}",
    }


def last_probe_success(view: View) -> Optional[str]:
    """Return the time of the workload cluster's last answer (RFC 3339).

    For the Cluster's status; None where none is known. Renewed once in a grace period, for a write costs a request.
    """
    stored = (view.cluster.get("status") or {}).get(LAST_PROBE_SUCCESS)
    last = parse_time(stored)
    if view.reachable and (last is None or not 0 <= view.now - last < settings.CONNECTION_GRACE):
        return format_time(view.now)
    return stored if last is not None else None
