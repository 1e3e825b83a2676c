# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who goes first of several that are to go: what is refused for the first one is asked of the next.

Without that one, what holds the first one up may hold it up for ever.
"""

from __future__ import annotations

from builders import healthy
from rules import REMEDIATE_MACHINE, condition, dead, etcd_version, in_progress, victim, walk, witness

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide


def test_a_second_dead_machine_goes_before_a_marked_one_that_works() -> None:
    """An etcd that adds nothing beside a silent voter: the replacement of the first one waits for the second one's end."""
    builder = etcd_version(healthy(4, replicas=5), "3.4.23")
    builder = in_progress(dead(builder, "m4"), "gone").marked("m4").annotate(REMEDIATE_MACHINE, "", "m1")
    assert victim(witness(builder, "m3")) == "m4"


def test_a_marked_one_that_works_stays_where_the_quorum_needs_it_and_the_dead_one_goes() -> None:
    builder = dead(healthy(3), "m3").marked("m3").annotate(REMEDIATE_MACHINE, "", "m2")
    decision = decide(witness(builder, "m2").build())
    assert (decision["action"], decision["target"]["machine"]) == ("remove", "m3")
    told = condition(decision, "OwnerRemediated", "m2")
    assert (told["reason"], told["status"]) == ("CannotBeRemediated", "False")


def test_nor_does_one_whose_retries_are_used_up() -> None:
    builder = healthy(5).marked("m2", "m4").wants(remediation={"maxRetry": 0})
    record = '{"machine": "earlier", "timestamp": "2026-01-31T11:50:00Z", "retryCount": 0}'
    assert victim(builder.annotate("controlplane.cluster.x-k8s.io/remediation-for", record, "m2")) == "m4"


def test_of_deleted_machines_the_dead_one_goes_first() -> None:
    """The older mark is the healthy machine's, whose removal would take the quorum while the other one is dead."""
    builder = dead(healthy(3), "m3").deleting("m2", "m3")
    builder.entry("m2")["machine"]["metadata"]["deletionTimestamp"] = "2026-01-31T11:00:00Z"
    assert victim(witness(builder, "m2")) == "m3"


def test_of_failed_bootstraps_the_one_that_may_be_tried_again() -> None:
    builder = healthy(3, replicas=5).machine("m4", "Failed", age=60).machine("m5", "Failed", age=30)
    builder.wants(remediation={"maxRetry": 0})
    record = '{"machine": "earlier", "timestamp": "2026-01-31T11:50:00Z", "retryCount": 0}'
    assert victim(builder.annotate("controlplane.cluster.x-k8s.io/remediation-for", record, "m4")) == "m5"


def test_one_at_a_time_it_stays() -> None:
    """Where the replacement can join, the next one waits for it."""
    builder = in_progress(healthy(4, replicas=5), "gone").marked("m1", "m2")
    assert walk(builder)[0] == "+"
