# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A provider at work, in the order of a machine's life: two clusters at once, everything twice, and a run killed at every task.

Every test leaves what the next one begins with; a failure in the middle leaves machines, which the provider's own means remove.
"""

from __future__ import annotations

from itertools import count, takewhile

import pytest

from provider_kit import rules
from provider_kit.kit import Kit


@pytest.fixture(autouse=True)
def stop_at_the_first_failure(request: pytest.FixtureRequest) -> None:
    """What follows a failure says nothing."""
    if getattr(request.session, "testsfailed", 0):
        pytest.skip("an earlier step failed")


def test_endpoint_is_made_and_recorded(kit: Kit) -> None:
    """Both clusters get their infrastructure in one run; what the contract wants is recorded."""
    kit.call("endpoint").succeeded()
    endpoints = []
    for name in kit.clusters:
        infrastructure, cluster = kit.stored(kit.provider.cluster_kind, name), kit.stored("Cluster", name)
        assert infrastructure is not None and cluster is not None
        problems = rules.cluster_problems(infrastructure, cluster)
        assert not problems, f"{name}: " + "; ".join(problems)
        endpoints.append(str(infrastructure["spec"]["controlPlaneEndpoint"]))
    assert len(set(endpoints)) == len(endpoints), f"two clusters have the same endpoint: {endpoints}"


def test_endpoint_again_changes_nothing(kit: Kit) -> None:
    """A second call finds everything as it is wanted."""
    run = kit.call("endpoint").succeeded()
    assert {name: run.recap(name)["changed"] for name in kit.clusters} == dict.fromkeys(kit.clusters, 0), run.output


def test_observe_before_anything_was_made(kit: Kit) -> None:
    """No machines is no error."""
    kit.call("observe").succeeded()


def test_create_killed_at_every_task_makes_one_machine(kit: Kit) -> None:
    """The run is killed as soon as the provider has recorded something, and where each of its tasks begins; the last call completes it."""
    cluster = kit.clusters[0]
    recorded = kit.call_and_kill_when_recorded("create", cluster)
    killed = list(takewhile(lambda number: kit.call_and_kill("create", cluster, number), count(1)))
    assert recorded or killed, "the role ran no task of its own"
    kit.call("create", [cluster]).succeeded()
    machine = kit.stored("Machine", kit.machine_name(cluster))
    problems = rules.machine_problems(kit.infrastructure_machine(cluster), machine)
    assert not problems, "; ".join(problems)


def test_create_again_changes_nothing(kit: Kit) -> None:
    """The same machine, and nothing is written."""
    cluster = kit.clusters[0]
    before = kit.infrastructure_machine(cluster)
    run = kit.call("create", [cluster]).succeeded()
    assert run.recap(cluster)["changed"] == 0, run.output
    assert kit.infrastructure_machine(cluster) == before


def test_two_clusters_at_once_get_machines_of_their_own(kit: Kit) -> None:
    """One run makes a second machine for one cluster and a first for the other; no two of the three are the same."""
    kit.call("create", [kit.clusters[1]]).succeeded()
    kit.call("create", kit_number="2").succeeded()
    found = [
        kit.infrastructure_machine(cluster, number)
        for cluster, number in ((kit.clusters[0], 1), (kit.clusters[0], 2), (kit.clusters[1], 1), (kit.clusters[1], 2))
    ]
    for field in (
        [each["spec"]["providerID"] for each in found],
        [each["status"]["machineID"] for each in found],
        [str(each["status"]["connection"]) for each in found],
        [str(each["status"]["addresses"][0]) for each in found],
    ):
        assert len(set(field)) == len(found), field


def test_endpoint_follows_the_machines(kit: Kit) -> None:
    """With servers behind it, it keeps its address; the second call changes nothing."""
    before = [kit.stored("Cluster", name) for name in kit.clusters]
    kit.call("endpoint").succeeded()
    run = kit.call("endpoint").succeeded()
    assert {name: run.recap(name)["changed"] for name in kit.clusters} == dict.fromkeys(kit.clusters, 0), run.output
    after = [kit.stored("Cluster", name) for name in kit.clusters]
    assert [each and each["spec"] for each in after] == [each and each["spec"] for each in before]


def test_observe_says_that_they_run(kit: Kit) -> None:
    """Every machine that was made is running."""
    kit.call("observe").succeeded()
    for cluster in kit.clusters:
        for number in (1, 2):
            assert kit.infrastructure_machine(cluster, number)["status"].get("state") == "running"


def test_delete_killed_is_completed_and_harms_no_other(kit: Kit) -> None:
    """A deletion killed at its first task is completed by the next call; the other machines are as they were."""
    cluster = kit.clusters[0]
    others = [kit.infrastructure_machine(*each) for each in ((cluster, 2), (kit.clusters[1], 1))]
    assert kit.call_and_kill("delete", cluster, 1), "the role ran no task of its own"
    kit.call("delete", [cluster]).succeeded()
    assert kit.left(cluster) == "", f"left of {kit.machine_name(cluster)}: {kit.left(cluster)}"
    kit.call("observe").succeeded()
    assert [kit.infrastructure_machine(*each) for each in ((cluster, 2), (kit.clusters[1], 1))] == others


def test_delete_again_finds_nothing(kit: Kit) -> None:
    """What is gone is fine."""
    run = kit.call("delete", [kit.clusters[0]]).succeeded()
    assert run.recap(kit.clusters[0])["changed"] == 0, run.output


def test_observe_says_that_it_is_missing(kit: Kit) -> None:
    """A deleted machine whose objects are still there is missing; the others run."""
    kit.call("observe").succeeded()
    assert kit.infrastructure_machine(kit.clusters[0])["status"].get("state") == "missing"
    assert kit.infrastructure_machine(kit.clusters[1])["status"].get("state") == "running"


def test_everything_is_deleted_at_once(kit: Kit) -> None:
    """Both clusters in one run: machines, then the endpoints; and once more, when all is gone."""
    for _again in range(2):
        for number in ("1", "2"):
            kit.call("delete", kit_number=number).succeeded()
        kit.call("endpoint", kit_state="absent", kit_number="0").succeeded()
    left = [kit.left(cluster, number) for cluster in kit.clusters for number in (1, 2)]
    assert left == ["", "", "", ""]
