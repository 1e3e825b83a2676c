# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rule of the etcd snapshot before a membership change.

One is kept before a member is removed, and before a second voter joins: from then on etcd needs both
(docs/second_voter.md). The user can waive it.
"""

from __future__ import annotations

import typing as t

from ...module_utils.common import settings
from ..calls.failure import ControlPlaneFailure
from ..decision import terms
from ..objects import advice, kinds
from ..objects.etcd_member import cluster_argument
from ..records.cluster_objects import ClusterObjects, Object

MODULE = "etcd_snapshot"
NAME = "before-change"


def precedes_join(decision: Object) -> bool:
    """Return whether the decision's new machine needs a snapshot first."""
    quorum = decision.get("quorum")
    if decision["action"] != terms.JOIN or quorum is None:
        return False
    return bool(quorum["before"]["voters"] == 1 and quorum["after"]["voters"] == 2)


def is_waived(objects: ClusterObjects) -> bool:
    """Return whether the user's annotation waives the snapshot."""
    return kinds.is_flagged(objects.control_plane, kinds.ANNOTATION_SKIP_ETCD_SNAPSHOT)


def call_of(objects: ClusterObjects, name: str = NAME, keep: int = settings.SNAPSHOTS_KEPT) -> dict[str, t.Any]:
    """Return the arguments of the module that takes the snapshot.

    A machine that a restore gave up may run the etcd of before: another cluster, or one without a leader.
    """
    call = {"name": f"{objects.name}-{name}", "keep": keep, "require_leader": True}
    return {**call, **cluster_argument(objects.control_plane)}


def not_taken(why: str, consequence: str) -> ControlPlaneFailure:
    """Return the failure where no machine took the snapshot.

    Args:
        why: what each machine answered.
        consequence: what is not done without it, and what was not done.
    """
    return ControlPlaneFailure(
        f"no etcd snapshot could be taken and verified ({why}), and {consequence} Mend that; where etcd only elects a leader, run again. "
        f"To waive the snapshot, {advice.annotate(kinds.KUBEADM_CONTROL_PLANE, kinds.ANNOTATION_SKIP_ETCD_SNAPSHOT)}."
    )
