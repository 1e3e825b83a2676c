# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No API server answers: what etcd says is told with its arithmetic, and nothing is done.

The faults: docs/faults.md, "two of three are down", "every API server is down, etcd is healthy".
"""

from __future__ import annotations

from typing import Any

import pytest
from builders import Builder, healthy, member_id

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide


def down(*answering: str, count: int = 3, served: bool = False) -> Builder:
    """No API server answers; of so many members those answer, and serve reads or have no leader."""
    builder = healthy(count)
    etcd = builder.workload["etcd"]
    builder.unreachable("m1: its API server does not answer")
    for number in range(1, count + 1):
        status: dict[str, Any] = {"healthy": False, "message": "no route to host"}
        if f"m{number}" in answering:
            status = {"healthy": served, "message": "", "version": "3.4.23"}
        etcd["statuses"][member_id(f"m{number}")] = status
    etcd["leader"] = member_id(answering[0]) if served else None
    builder.workload["etcd"] = etcd
    return builder


def told(builder: Builder) -> dict[str, str]:
    decision = decide(builder.build())
    assert decision["action"] == "wait"
    [trouble] = decision["blockedOn"]
    assert trouble["reason"] == "APIUnreachable"
    return dict(trouble)


def test_two_of_three_are_silent() -> None:
    trouble = told(down("m1"))
    assert "etcd has lost its quorum: 3 voters, 1 answers (m1), quorum 2; silent: m2, m3" in trouble["message"]
    assert trouble["fix"].startswith("Bring 1 of them back: power, network, or etcd's container on m2, m3.")
    assert "leave every machine's disk as it is" in trouble["fix"] and "kubeadm.control_plane.restore" in trouble["fix"]
    # The kubelet restarts m1's etcd, which answers nothing then: no snapshot can be taken of it.
    assert "snapshot" not in trouble["fix"]


def test_all_are_silent_that_one_was_known_of() -> None:
    builder = down()
    trouble = told(builder)
    assert "3 voters, 0 answer, quorum 2" in trouble["message"]
    assert "Bring 2 of them back" in trouble["fix"] and "leave every machine's disk as it is" in trouble["fix"]


def test_one_more_is_needed_and_only_one_is_silent() -> None:
    builder = down("m1", count=3)
    etcd = builder.workload["etcd"]
    etcd["members"] = etcd["members"][:2]
    del etcd["statuses"][member_id("m3")]
    assert told(builder)["fix"].startswith("Bring it back: power, network, or etcd's container on m2.")


def test_etcd_is_well() -> None:
    trouble = told(down("m1", "m2", "m3", served=True))
    assert "no machine's API server answers" in trouble["message"]
    assert "etcd answers: 3 voters, 3 answer (m1, m2, m3), quorum 2" in trouble["message"]
    assert "restore" not in trouble["fix"] and "silent" not in trouble["message"]


def test_a_bare_majority_is_enough() -> None:
    trouble = told(down("m1", "m2", served=True))
    assert "etcd answers: 3 voters, 2 answer (m1, m2), quorum 2; silent: m3" in trouble["message"]
    assert "restore" not in trouble["fix"]


@pytest.mark.parametrize(
    ("learners", "listening", "said"),
    [
        ((), (1,), "3 voters, 1 answers (m1), quorum 2; silent: m2, m3"),
        # etcd 3.5.1 to 3.5.19 keep who was promoted as a learner.
        ((2, 3), (1,), "3 voters, 1 answers (m1), quorum 2; silent: m2, m3"),
        ((2, 3), (2,), "3 voters, 1 answers (m2), quorum 2; silent: m1, m3"),
        ((3,), (1, 3), "2 voters, 1 answers (m1), quorum 2; silent: m2"),
        ((1, 2, 3), (2,), "3 voters, 1 answers (m2), quorum 2; silent: m1, m3"),
        # A true learner, or one that was promoted: that of a join that was cut short has no vote.
        ((2,), (1,), "3 voters (m2 may be a learner, which has no vote), 1 answers (m1), quorum 2; silent: m2, m3"),
        ((3,), (3,), "3 voters (m3 may be a learner, which has no vote), 1 answers (m3), quorum 2; silent: m1, m2"),
    ],
)
def test_an_etcd_that_was_started_without_quorum_is_known_by_its_database(
    learners: tuple[int, ...], listening: tuple[int, ...], said: str
) -> None:
    trouble = told(of_database(learners, listening))
    assert "etcd has lost its quorum" in trouble["message"] and said in trouble["message"]


def test_who_may_have_no_vote_is_brought_back_last() -> None:
    """Nor does a quorum rest on it."""
    fix = told(of_database((2,), (1,)))["fix"]
    assert fix.startswith(
        "Bring 1 of them back: power, network, or etcd's container on m3, m2 (m2 last: it may have no vote)."
    )
    fix = told(of_database((3,), (3,)))["fix"]
    assert fix.startswith("Bring them back: power, network, or etcd's container on m1, m2.")
    assert told(of_database((2, 3), (1,)))["fix"].startswith(
        "Bring 1 of them back: power, network, or etcd's container on m2, m3."
    )


def test_a_full_database_is_told_where_it_refuses_the_runs_lease() -> None:
    builder = down("m1", "m2", "m3", served=True)
    full = "mvcc: database space exceeded"
    builder.workload["message"] = full
    builder.workload["etcd"]["alarms"] = [{"memberID": member_id(name), "alarm": "NOSPACE"} for name in ("m1", "m2")]
    decision = decide(builder.build())
    assert decision["action"] == "blocked"
    [trouble] = decision["blockedOn"]
    assert trouble["message"].count("etcd alarm NOSPACE on member m") == 2 and full in trouble["message"]
    assert trouble["fix"].count("-m kubeadm.control_plane.etcd_alarm") == 1
    for name in ("m2", "m3"):
        builder.workload["etcd"]["statuses"][member_id(name)] = {"healthy": False, "message": "silent"}
    assert "etcd has lost its quorum" in told(builder)["message"]


def test_who_holds_up_a_majority_of_the_others_has_a_vote() -> None:
    assert "may be a learner" not in told(of_database((3,), (1, 2)))["message"]


def of_database(learners: tuple[int, ...], listening: tuple[int, ...]) -> Builder:
    """Three members as a database lists them, of which those listen."""
    builder = healthy(3).unreachable("m1: its API server does not answer")
    builder.workload["storedMembers"] = [
        {
            "id": member_id(f"m{number}"),
            "name": "",
            "peerURLs": [f"https://10.0.0.{number}:2380"],
            "clientURLs": [],
            "isLearner": number in learners,
            "listens": number in listening,
        }
        for number in (1, 2, 3)
    ]
    return builder


@pytest.mark.parametrize("external", [True, False])
def test_nothing_is_known_of_etcd(external: bool) -> None:
    builder = healthy(3).unreachable()
    if external:
        builder.spec["kubeadmConfigSpec"] = {"clusterConfiguration": {"etcd": {"external": {"endpoints": ["x"]}}}}
        builder.workload["etcd"] = {"reachable": False, "message": "silent"}
    trouble = told(builder)
    assert "quorum" not in trouble["message"] and "do the static pods run" in trouble["fix"]
