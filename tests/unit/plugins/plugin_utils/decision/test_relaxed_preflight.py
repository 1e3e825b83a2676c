# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The replacement of a machine that was remediated may join beside other trouble.

Source: docs/reference/cluster_api.md, "Preflight checks", row 7.
"""

from __future__ import annotations

from typing import Optional

import pytest
from builders import Builder, healthy, member_id
from decisions import Change, changed
from rules import NEW_VERSION, check, dead, etcd_version, in_progress, lasting, outdate, reasons, walk, witness

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide


def replacement(count: int, wanted: int, change: Change, recorded: bool = True) -> str:
    """What is done about a machine that is missing, after the change; seen by two machines."""
    builder = lasting(changed(etcd_version(healthy(count, replicas=wanted), "3.6.11"), change))
    if recorded:
        in_progress(builder, "gone")
    if builder.workload["etcd"] and builder.workload["etcd"]["reachable"]:
        witness(builder, f"m{count}")
    return str(decide(builder.build())["action"])


RELAXED: list[tuple[str, Change]] = [
    ("a scheduler fails", lambda b: b.pod("m2", "kube-scheduler", phase="Failed")),
    ("an API server is gone", lambda b: b.pod("m2", "kube-apiserver")),
    ("a kubelet is silent", lambda b: b.node("m2", ready="Unknown")),
    ("a Node is gone", lambda b: b.workload["nodes"].pop(1)),
    ("an etcd pod fails", lambda b: b.pod("m2", "etcd", phase="Failed")),
    ("a member fails", lambda b: b.sick_member("m2")),
    ("all but one fail", lambda b: [b.pod(f"m{number}", "kube-scheduler") for number in (2, 3, 4)]),
]


@pytest.mark.parametrize(("what", "change"), RELAXED, ids=[case[0] for case in RELAXED])
class TestWithARecord:
    def test_it_joins(self, what: str, change: Change) -> None:
        assert replacement(4, 5, change) == "join"

    def test_only_with_one(self, what: str, change: Change) -> None:
        assert replacement(4, 5, change, recorded=False) in ("wait", "blocked")


REFUSED: list[tuple[str, int, Change]] = [
    ("no control plane works", 4, lambda b: [b.pod(f"m{number}", "kube-scheduler") for number in (1, 2, 3, 4)]),
    ("two members fail", 4, lambda b: b.sick_member("m2").sick_member("m3")),
    ("one of two members fails", 2, lambda b: b.sick_member("m2")),
    ("a learner", 4, lambda b: b.member("m2", learner=True)),
    ("an unnamed member", 4, lambda b: b.member("stray", unnamed=True)),
    ("no member list", 4, lambda b: b.workload["etcd"].update(reachable=False)),
    ("lists differ", 4, lambda b: b.workload["etcd"].update(memberListAgrees=False)),
    ("no leader", 4, lambda b: b.workload["etcd"].update(leader=None)),
    ("no authority", 4, lambda b: b.snapshot["certificates"]["sa"].update(present=False)),
    ("the endpoint fails", 4, lambda b: b.endpoint(False)),
    ("clocks differ", 4, lambda b: b.workload.update(clockSkewSeconds=31)),
    ("another etcd cluster", 4, lambda b: b.snapshot["controlPlane"]["status"].update(etcdClusterID="dd")),
    (
        "two alarms",
        4,
        lambda b: b.workload["etcd"]["alarms"].extend(
            {"memberID": member_id(name), "alarm": "CORRUPT"} for name in ("m2", "m3")
        ),
    ),
    ("nobody answers", 4, lambda b: b.unreachable().stored("RemoteConnectionProbe", "False", 900, "cluster")),
]


@pytest.mark.parametrize(("what", "count", "change"), REFUSED, ids=[case[0] for case in REFUSED])
def test_it_does_not_join(what: str, count: int, change: Change) -> None:
    expected = ("removeMember",) if what == "an unnamed member" else ("wait", "blocked")
    assert replacement(count, 3 if count == 2 else 5, change) in expected


@pytest.mark.parametrize(
    ("version", "action"),
    [
        ("3.5.29", "blocked"),
        ("3.5.30", "join"),
        ("3.6.0", "blocked"),
        ("3.6.10", "blocked"),
        ("3.6.11", "join"),
        ("3.7.0", "join"),
        ("4.0.0", "join"),
        ("3.4.99", "blocked"),
        ("", "blocked"),
        (None, "blocked"),
        ("newest", "blocked"),
    ],
)
def test_an_older_etcd_adds_nobody_beside_a_member_that_fails(version: Optional[str], action: str) -> None:
    """Until 3.5.30 and 3.6.11 any voter that is not connected blocked it.

    Why: docs/reference/invariants.md, "A silent voter blocks an addition".
    """
    builder = in_progress(lasting(etcd_version(healthy(4, replicas=5).sick_member("m2"), version)), "gone")
    assert decide(witness(builder, "m4").build())["action"] == action


def test_one_old_member_is_enough_for_that() -> None:
    builder = etcd_version(etcd_version(healthy(4, replicas=5).sick_member("m2"), "3.6.11"), "3.5.29", "m3")
    assert decide(witness(in_progress(lasting(builder), "gone"), "m4").build())["action"] == "blocked"


def test_the_checks_that_were_relaxed_are_still_shown() -> None:
    builder = in_progress(lasting(healthy(4, replicas=5).pod("m2", "kube-scheduler")), "gone")
    decision = decide(builder.build())
    assert decision["action"] == "join"
    assert check(decision, "ControlPlaneComponentsHealthy") == "fail"
    assert check(decision, "EtcdQuorum") == "pass"


def test_there_is_a_quorum_even_if_the_new_member_never_works() -> None:
    builder = in_progress(lasting(dead(healthy(3, replicas=5), "m2")), "gone")
    assert decide(witness(builder, "m3").build())["action"] in ("wait", "blocked")


@pytest.mark.parametrize("old", [(), ("m1", "m2", "m3")])
def test_it_is_made_to_the_spec_of_now(old: tuple[str, ...]) -> None:
    builder: Builder = in_progress(outdate(healthy(2, replicas=3), *old[:2]), "gone")
    assert walk(builder)[0] == "+"


def test_a_removal_is_never_relaxed() -> None:
    builder = in_progress(lasting(healthy(5, replicas=3).pod("m5", "kube-scheduler")), "gone")
    decision = decide(builder.build())
    assert decision["action"] in ("wait", "blocked")
    assert "ComponentMissing" in reasons(decision)


def test_two_replacements_of_another_version_are_checked_for_skew_too() -> None:
    builder = in_progress(healthy(2, replicas=3).wants(version="v1.23.0"), "gone")
    assert "VersionSkew" in reasons(decide(builder.build()))
    assert decide(builder.wants(version=NEW_VERSION).build())["action"] == "join"
