# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Workload part of a snapshot for a cluster that gave no answer."""

from __future__ import annotations

from typing import Any, Optional


def unreached(message: str, endpoint_answers: Optional[bool], endpoint_message: str = "") -> dict[str, Any]:
    """Return the workload part without an answer of any machine.

    Args:
        message: why there is none.
        endpoint_answers: whether the endpoint answers; None where it was not asked.
        endpoint_message: what the endpoint's probe gave.
    """
    return {
        "reachable": False,
        "via": None,
        "message": message,
        "endpoint": {"answers": endpoint_answers, "message": endpoint_message},
        "initialized": None,
        "kubeadmConfig": {"clusterConfiguration": None, "clusterStatus": None},
        "nodes": [],
        "pods": {},
        "etcd": None,
        "addons": {},
        "workerNodes": [],
    }
