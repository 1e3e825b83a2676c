# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that a restore, a recovery and a restart leave.

Those of a completed task count, too: they hold data of its cluster, and records that the next cluster's tasks would take for their own.
"""

from __future__ import annotations

import os

from ...common.guard import PARKED_MANIFESTS
from ...common.kubernetes_facts import STATIC_PODS
from ...etcd.restore import task_files

# How a host that carries remnants of a cluster is wiped, with a claim or without one. kubeadm reset leaves most of them there.
WIPE = "the module host_claim with state=absent, machine=any and consent_wipe=true"
# Reason of a refusal to reset a host for an etcd that kubeadm did not make: no consent helps.
OTHER_ETCD = "OtherEtcd"


def present(kubernetes: str, state: str) -> list[str]:
    """Return the files and folders that are there.

    In the order in which they can be deleted: they are manifests that a restart has moved out, and what a restore and a recovery of etcd keep.
    kube-vip's manifest in the same folder isn't among them: it tells which address the host has still to hand over.
    """
    parked = [os.path.join(kubernetes, PARKED_MANIFESTS, f"{name}.yaml") for name in STATIC_PODS]
    return [*filter(os.path.lexists, parked), *task_files.present(state)]
