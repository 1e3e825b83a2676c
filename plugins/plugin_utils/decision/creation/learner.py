# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Learners among the members of joining machines, and who adds them.

Source: docs/reference/kubeadm.md, "Joining". Why: docs/decisions/104-member-joins-as-learner.md.
"""

from __future__ import annotations

from ....module_utils.common import kubernetes_facts, quorum
from ..snapshot.typed_snapshot import View

GATE = "EtcdLearnerMode"
# Who adds it: kubeadm in its join, or this collection before kubeadm is started.
BY_KUBEADM, BEFORE_KUBEADM = "kubeadm", "before kubeadm"


def added_as_learner(view: View) -> str:
    """Return who adds the next machine's member as a learner.

    "" where kubeadm adds it as a voter. A gate that is off because the spec says so is the user's word against learners.
    """
    configuration = (view.spec.get("kubeadmConfigSpec") or {}).get("clusterConfiguration") or {}
    gates = configuration.get("featureGates") or {}
    if not view.managed_etcd:
        return ""
    try:
        if kubernetes_facts.gate_on(view.version, GATE, gates):
            return BY_KUBEADM
        found = kubernetes_facts.finds_etcd_member(view.version)
    except ValueError:
        return ""
    return BEFORE_KUBEADM if found and gates.get(GATE) is not False and quorum.has_learners(view.etcd) else ""
