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
import yaml
from hand_made import NOW, VERSION, HandMade

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.values import now_rfc3339
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.adoption import manifest as adoption_manifest
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.adoption.writer import (
    Writer,
    is_adopted,
    other_cluster,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.failure import ControlPlaneFailure
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Answer, Machine
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.typed_snapshot import (
    check_snapshot,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import (
    ClusterManifest,
    read_cluster,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observe.observation import observe
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.deleted import deleted_machines
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import ClusterObjects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.machine_objects import stale_prepared
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

Object = dict[str, t.Any]


class Killed(BaseException):
    """Stands in for SIGKILL: nothing catches it."""


class MortalStore(FileStore):
    """A store whose user is killed before its n-th write."""

    left = 10_000

    def _counted(self) -> None:
        if self.left <= 0:
            raise Killed
        self.left -= 1

    def create(self, *arguments: t.Any, **options: t.Any) -> t.Any:
        self._counted()
        return super().create(*arguments, **options)

    def modify(self, *arguments: t.Any, **options: t.Any) -> t.Any:
        self._counted()
        return super().modify(*arguments, **options)


class Adoption:
    """A store, the hosts of a cluster made by hand, and what they were told."""

    def __init__(self, folder: Path) -> None:
        self.hand = HandMade()
        self.hub = self.hand.hub()
        self.path = folder / "store"
        self.draft = folder / "prod.yaml"
        self.claimed: dict[str, str] = {}
        self.refusing = ""

    def manifest(self) -> ClusterManifest:
        """What adopt writes."""
        documents, _notes = adoption_manifest.documents_of(
            self.hub, self.hand.hosts(), "prod", "default", 3, {"group": "prod_hosts"}
        )
        self.draft.write_text(yaml.safe_dump_all(documents))
        return read_cluster([str(self.draft)], "default", "prod")

    def run(self, writes: int = 10_000, domains: t.Optional[dict[str, str]] = None) -> list[str]:
        """Adopt; the run is killed before one write more than these. Returns what was done."""
        store = MortalStore(str(self.path))
        store.left = writes
        writer = Writer(store, self.manifest(), self.hand.hosts(), NOW, self.claim)
        writer.write(domains or {})
        return writer.changes

    def claim(self, machine: Machine, call: Object) -> Answer:
        """Stands in for a host with the module host_claim."""
        if machine.name == self.refusing:
            return Answer(True, {"failed": True, "msg": "the disk is full"})
        assert self.claimed.setdefault(machine.name, call["id"]) == call["id"], "a host was claimed twice"
        return Answer(True, {"changed": True})

    def objects(self) -> ClusterObjects:
        """What the store holds."""
        found = ClusterObjects.read(FileStore(str(self.path)), "default", "prod")
        assert found is not None
        return found

    def call(self, machine: Machine, module: str, arguments: Object) -> Answer:
        """Stands in for a machine that is observed."""
        name = machine.connection["inventoryHost"]
        assert module == "node_observe" and machine.machine_id == f"{self.hand.names.index(name) + 1}" * 32
        return Answer(True, {"observation": self.hand.result(name, "00" * 32)["observation"]})

    def snapshot(self) -> Object:
        """What a run observes."""
        snapshot = observe(self.objects(), self, now_rfc3339())
        assert check_snapshot(snapshot) == []
        return snapshot

    def contents(self) -> dict[str, str]:
        """Every object's file."""
        return {str(each.relative_to(self.path)): each.read_text() for each in sorted(self.path.rglob("*.yaml"))}


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
    whole = Adoption(tmp_path / "whole")
    (tmp_path / "whole").mkdir()
    whole.run()
    writes, completed = 0, False
    while not completed:
        folder = tmp_path / str(writes)
        folder.mkdir()
        adoption = Adoption(folder)
        adoption.hand = whole.hand
        try:
            adoption.run(writes)
            completed = True
        except Killed:
            pass
        if not completed:
            harmless(adoption)
            adoption.run()
        assert is_adopted(adoption.objects(), adoption.hand.hosts())
        assert sorted(adoption.contents()) == sorted(whole.contents())
        assert decide(adoption.snapshot())["action"] == "none"
        writes += 1
    assert writes > 15


def harmless(adoption: Adoption) -> None:
    """What a reconcile would make of it: no machine goes, none is made, and no cluster is initialized anew."""
    objects = ClusterObjects.read(FileStore(str(adoption.path)), "default", "prod")
    if objects is None:
        return
    assert not [each for each in deleted_machines.restore(objects) if "for deletion" in each or "remove" in each]
    assert objects.prepared_machines() == [] and stale_prepared(objects) == []
    if objects.control_plane is not None and objects.endpoint():
        decision = decide(adoption.snapshot())
        assert decision["action"] in ("blocked", "wait", "none", "createInfrastructure", "createCertificates"), decision


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
