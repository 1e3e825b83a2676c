# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Clusters of the inventory, and those that a play has selected."""

from __future__ import annotations

import typing as t

from .machine_connection import CLUSTERS_GROUP


def all_clusters(variables: t.Mapping[str, t.Any]) -> list[str]:
    """Return the clusters' hosts, whether a play has selected them or not."""
    return [str(each) for each in (variables.get("groups") or {}).get(CLUSTERS_GROUP) or ()]


def selected_clusters(variables: t.Mapping[str, t.Any]) -> list[str]:
    """Return the clusters' hosts that are among those of the task's play."""
    selected = {str(each) for each in variables.get("ansible_play_hosts_all") or ()}
    return [each for each in all_clusters(variables) if each in selected]
