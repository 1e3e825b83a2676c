# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Leases of elected components against a real API server; the tests play the components."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import settings
from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload_api import component_leases
from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload_api.api import ApiError
from ansible_collections.kubeadm.control_plane.plugins.modules import workload_node

from .conftest import SYSTEM, Workload

NODES = "/api/v1/nodes"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
MANAGER, SCHEDULER = component_leases.ELECTED
LABEL = "kubernetes.io/hostname"


class Election:
    """Who leads on which host, a machine that is gone, and a clock that the test turns."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.seconds = 0.0
        # What happens while a Lease is watched: once, after so many seconds.
        self.meanwhile: t.Optional[t.Callable[[], None]] = None
        for name in ("cp-1", "cp-2"):
            self.node(name, name)
        for component in component_leases.ELECTED:
            self.lead(component, "cp-1_8f2a")

    def node(self, name: str, host: str) -> None:
        """A Node whose host calls itself so."""
        self.workload.put(NODES, {"metadata": {"name": name, "labels": {LABEL: host}}})

    def lead(self, component: str, holder: str) -> None:
        """Who was elected."""
        spec = {"holderIdentity": holder, "leaseDurationSeconds": 15}
        self.workload.put(LEASES, {"metadata": {"name": component}, "spec": spec})

    def renew(self, component: str) -> None:
        """What a holder that lives does every two seconds."""
        spec = {"renewTime": f"2026-01-31T12:00:{int(self.seconds):02}.000000Z"}
        self.workload.patch(f"{LEASES}/{component}", {"spec": spec})

    def holder(self, component: str) -> str:
        """Who leads now."""
        return str(self.workload.there(f"{LEASES}/{component}")["spec"]["holderIdentity"])

    def _pause(self, seconds: float) -> None:
        self.seconds += seconds
        if self.meanwhile is not None and self.seconds >= 2:
            self.meanwhile()
            self.meanwhile = None

    def take(self, node: str = "cp-1") -> list[str]:
        """Take what ran on a machine's Node; nothing is waited for in earnest."""
        with self.workload.server.client() as client:
            return component_leases.take(
                client, component_leases.hosts_of(client, node), lambda: self.seconds, self._pause
            )


@pytest.fixture
def election(workload: Workload) -> t.Iterator[Election]:
    """Both components lead on cp-1."""
    yield Election(workload)
    for name in ("cp-1", "cp-2"):
        workload.delete(f"{NODES}/{name}")


def test_what_is_not_renewed_any_more_is_free_to_take(election: Election) -> None:
    assert election.take() == [MANAGER, SCHEDULER]
    assert election.holder(MANAGER) == election.holder(SCHEDULER) == ""
    assert election.seconds >= settings.LEASE_SILENT_SECONDS, "a holder that lives had the time to say so"


def test_who_renews_lives_and_keeps_it(election: Election) -> None:
    election.meanwhile = lambda: election.renew(MANAGER)
    assert election.take() == [SCHEDULER]
    assert election.holder(MANAGER) == "cp-1_8f2a"


def test_others_keep_theirs_and_nothing_is_waited_for(election: Election) -> None:
    assert election.take("cp-2") == []
    assert election.seconds == 0 and election.holder(MANAGER) == "cp-1_8f2a"


def test_the_holders_name_is_its_hosts(election: Election) -> None:
    election.node("cp-1", "host-a")
    election.lead(MANAGER, "host-a_77c1")
    election.lead(SCHEDULER, "host-b_77c1")
    assert election.take() == [MANAGER]


def test_hosts_of_one_name_can_not_be_told_apart(election: Election) -> None:
    for name in ("cp-1", "cp-2"):
        election.node(name, "localhost")
    election.lead(MANAGER, "localhost_77c1")
    election.lead(SCHEDULER, "localhost_12ab")
    assert election.take() == []


def test_an_election_that_is_kept_in_two_places_is_left_alone(election: Election) -> None:
    """As up to Kubernetes 1.19: who finds the two different waits from then on."""
    annotation = {"control-plane.alpha.kubernetes.io/leader": '{"holderIdentity":"cp-1_8f2a"}'}
    election.workload.put(f"{SYSTEM}/endpoints", {"metadata": {"name": MANAGER, "annotations": annotation}})
    try:
        assert election.take() == [SCHEDULER]
    finally:
        election.workload.delete(f"{SYSTEM}/endpoints/{MANAGER}")


def test_nothing_is_taken_in_check_mode(election: Election) -> None:
    with election.workload.server.client() as client:
        hosts = component_leases.hosts_of(client, "cp-1")
        node = client.get(f"{NODES}/cp-1")
        assert workload_node.delete_node(client, "cp-1", node, check=True)
        assert workload_node.take_leases(client, hosts, check=True) == [MANAGER, SCHEDULER]
    assert election.workload.get(f"{NODES}/cp-1") is not None and election.holder(MANAGER) == "cp-1_8f2a"


def test_the_node_goes_first_and_a_run_that_was_killed_after_that_goes_on(election: Election) -> None:
    with election.workload.server.client() as client:
        node = client.get(f"{NODES}/cp-1")
        with pytest.raises(ApiError):
            workload_node.delete_node(client, "cp-1", {"metadata": {"uid": "another one"}}, check=False)
        assert workload_node.delete_node(client, "cp-1", node, check=False)
        assert not workload_node.delete_node(client, "cp-1", None, check=False)
    assert election.take() == [MANAGER, SCHEDULER]
