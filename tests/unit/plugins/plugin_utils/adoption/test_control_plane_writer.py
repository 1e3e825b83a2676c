# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects of an adopted control plane: complete, nothing outdated, and harmless at whatever write a run is killed."""

from __future__ import annotations

import json
import stat
import subprocess
import typing as t
from pathlib import Path

import pytest
from adoption_by_hand import Adoption, killed_anywhere
from hand_made import VERSION, HandMade

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.adoption.control_plane_writer import (
    is_adopted,
    other_cluster,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.failure import ControlPlaneFailure
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

Object = dict[str, t.Any]


@pytest.fixture
def adoption(tmp_path: Path) -> Adoption:
    return Adoption(tmp_path)


def test_nothing_is_left_to_do(adoption: Adoption) -> None:
    """What a run decides from the objects and the machines: no step, nobody outdated."""
    adoption.run()
    decision = decide(adoption.snapshot())
    assert decision["action"] == "none", decision
    assert decision["status"]["controlPlane"]["upToDateReplicas"] == 3
    assert is_adopted(adoption.objects(), adoption.hand.hosts())
    assert {name: each["metadata"]["name"] for name, each in adoption.objects().infrastructure_machines.items()} == {
        f"cp-{number}": f"cp-{number}" for number in (1, 2, 3)
    }


def test_a_second_time_changes_nothing(adoption: Adoption) -> None:
    adoption.run()
    before = adoption.contents()
    assert adoption.run() == [] and adoption.contents() == before


def test_the_keys_are_kept_and_readable_by_their_owner_alone(adoption: Adoption) -> None:
    adoption.run()
    secrets = sorted((adoption.path / "default" / "secret").glob("*.yaml"))
    assert [each.stem for each in secrets] == ["prod-ca", "prod-etcd", "prod-kubeconfig", "prod-proxy", "prod-sa"]
    assert {stat.S_IMODE(each.stat().st_mode) for each in secrets} == {0o600}


@pytest.mark.parametrize("purpose", ["ca", "sa"])
def test_another_cluster_of_that_name(adoption: Adoption, purpose: str) -> None:
    adoption.run()
    store, cluster = FileStore(str(adoption.path)), adoption.objects().cluster
    assert other_cluster(store, cluster, adoption.hand.hosts()) == ""
    adoption.hand.pairs = {**adoption.hand.pairs, purpose: HandMade(1).pairs[purpose]}
    assert other_cluster(store, cluster, adoption.hand.hosts()) == f"prod-{purpose}"


def test_killed_before_any_write(tmp_path: Path) -> None:
    """Nothing that is there then is taken for a machine of nobody, no step is taken, and the next run completes it."""
    assert killed_anywhere(Adoption, tmp_path) > 15


def test_a_host_that_can_not_be_claimed(adoption: Adoption) -> None:
    """The run says which, and the next goes on with the same claim."""
    adoption.refusing = "cp-2"
    with pytest.raises(
        ControlPlaneFailure, match="host host-2 could not be claimed for machine cp-2: the disk is full"
    ):
        adoption.run()
    begun = (adoption.objects().infrastructure_machines["cp-2"]["status"])["claim"]
    adoption.refusing = ""
    adoption.run()
    assert adoption.claimed["cp-2"] == begun["id"]
    assert adoption.objects().infrastructure_machines["cp-2"]["status"]["claim"]["state"] == "Claimed"


def test_failure_domains_are_those_of_the_hosts(adoption: Adoption) -> None:
    adoption.run(domains={"host-1": "a", "host-2": "b", "host-3": "c"})
    objects = adoption.objects()
    assert [each["spec"]["failureDomain"] for each in objects.machines] == ["a", "b", "c"]
    assert objects.infrastructure_cluster is not None
    assert [each["name"] for each in objects.infrastructure_cluster["status"]["failureDomains"]] == ["a", "b", "c"]
    assert decide(adoption.snapshot())["action"] == "none"


def test_a_version_in_the_middle_of_an_upgrade(adoption: Adoption) -> None:
    """One machine is a minor version ahead by hand: it is shown as what it is, not as what the manifest wants."""
    adoption.hand.nodes["host-1"]["status"]["nodeInfo"]["kubeletVersion"] = "v1.19.9"
    adoption.run()
    versions = {each["metadata"]["name"]: each["spec"]["version"] for each in adoption.objects().machines}
    assert versions == {"cp-1": "v1.19.9", "cp-2": VERSION, "cp-3": VERSION}


def test_a_machine_of_its_hosts_name_is_no_host_of_our_making(adoption: Adoption) -> None:
    """How it is reached is known in the user's inventory alone: where that is missing, the machine must not look reachable."""
    adoption.hand = HandMade(prefix="cp")
    adoption.run()
    folder = adoption.path.parent
    (folder / "inventory.clusters.yml").write_text("plugin: kubeadm.control_plane.clusters\nstore: {path: store}\n")
    (folder / "hosts.yml").write_text("all: {hosts: {cp-1: {ansible_host: 10.0.0.1}, cp-2: {}}}\n")

    def listed(*sources: str) -> Object:
        command = ["ansible-inventory", "--list", *(word for each in sources for word in ("-i", each))]
        return dict(json.loads(subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout))

    alone = listed("inventory.clusters.yml")
    assert sorted(alone["_meta"]["hostvars"]) == ["prod"]
    both = listed("hosts.yml", "inventory.clusters.yml")
    assert both["prod_machines"]["hosts"] == ["cp-1", "cp-2"]
    assert both["_meta"]["hostvars"]["cp-1"]["ansible_host"] == "10.0.0.1"
