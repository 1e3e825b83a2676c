# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Departure of a host from its endpoint, whatever holds that."""

from __future__ import annotations

from . import balancer, kube_vip


def leave(*, check: bool) -> bool:
    """Take this host out of its endpoint; return whether changed.

    Raises:
        NodeError: what holds the address doesn't end.
    """
    left = [balancer.absent(check=check), kube_vip.absent(check=check)]
    return any(left)
