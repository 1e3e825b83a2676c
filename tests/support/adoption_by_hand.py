# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An adoption of a cluster made by hand into a store, with stand-ins for its hosts; it can be killed before each write."""

from __future__ import annotations

import shutil
import typing as t
from pathlib import Path

import yaml
from hand_made import NOW, HandMade
from mortal_store import Killed, MortalStore

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.values import now_rfc3339
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.adoption import manifest as adoption_manifest
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.adoption.control_plane_writer import (
    Writer,
    is_adopted,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.adoption.workers import worker_survey
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.adoption.workers.worker_survey import Survey
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.adoption.workers.worker_writer import to_adopt
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
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.deleted import (
    deleted_machines,
    deleted_workers,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import ClusterObjects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.machine_objects import stale_prepared
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

Object = dict[str, t.Any]
TEMPLATES: dict[str, Object] = {"workers": {"group": "w_hosts"}}


class Adoption:
    """A store, the hosts of a cluster made by hand, and what they were told."""

    def __init__(self, folder: Path, hosts: int = 3) -> None:
        self.hand = HandMade(hosts)
        self.hub = self.hand.hub()
        self.name = "prod"
        self.path = folder / "store"
        self.draft = folder / "prod.yaml"
        self.claimed: dict[str, str] = {}
        self.refusing = ""
        self.refused: list[str] = []
        # The hosts whose workers are adopted, and what a user writes otherwise into the manifest, by kind.
        self.workers: list[str] = []
        self.change: t.Callable[[dict[str, Object]], None] = lambda specs: None

    def manifest(self) -> ClusterManifest:
        """What adopt writes."""
        documents, _notes = adoption_manifest.documents_of(
            self.hub, self.hand.hosts(), self.name, "default", len(self.hand.names), {"group": "prod_hosts"}
        )
        if self.workers:
            documents += worker_survey.documents(self.survey(), self.name, "default", TEMPLATES)
            self.change({each["kind"]: each["spec"] for each in documents[4:]})
        self.draft.write_text(yaml.safe_dump_all(documents))
        return read_cluster([str(self.draft)], "default", self.name)

    def survey(self) -> Survey:
        """What the workers' hosts tell."""
        objects = ClusterObjects.read(FileStore(str(self.path)), "default", self.name)
        groups = {"w_hosts": self.workers}
        return worker_survey.survey(
            TEMPLATES if self.workers else {},
            groups,
            self.hand.hosts()[0],
            objects,
            lambda name: Answer(True, self.hand.result(name, "00" * 32)),
        )

    def run(self, writes: int = 10_000, domains: t.Optional[dict[str, str]] = None) -> list[str]:
        """Adopt; the run is killed before one write more than these. Returns what was done."""
        store = MortalStore(str(self.path))
        store.left = writes
        found, hosts = self.survey(), self.hand.hosts()
        objects = ClusterObjects.read(FileStore(str(self.path)), "default", self.name)
        lacking = to_adopt(objects, found.hosts)
        manifest, wrong, _notes = worker_survey.checked(self.manifest(), lacking, objects, lambda _host, _variable: "")
        assert wrong == []
        writer, adopted = Writer(store, manifest, hosts, NOW, self.claim), is_adopted(objects, hosts)
        new = [*([] if adopted else hosts), *(each for name in lacking for each in lacking[name])]
        self.refused = [str(each) for each in writer.unfit(new, lacking)]
        if not self.refused:
            writer.write(domains or {}, lacking, adopted)
        return writer.changes

    def claim(self, machine: Machine, call: Object) -> Answer:
        """Stands in for a host with the module host_claim."""
        if machine.name == self.refusing:
            return Answer(True, {"failed": True, "msg": "the disk is full"})
        assert self.claimed.setdefault(machine.name, call["id"]) == call["id"], "a host was claimed twice"
        return Answer(True, {"changed": True})

    def objects(self) -> ClusterObjects:
        """What the store holds."""
        found = ClusterObjects.read(FileStore(str(self.path)), "default", self.name)
        assert found is not None
        return found

    def call(self, machine: Machine, module: str, arguments: Object) -> Answer:
        """Stands in for a machine that is observed."""
        if not machine.connection:
            return Answer(False, {"failed": True, "msg": "how it is reached is not known"})
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


def harmless(adoption: Adoption) -> None:
    """What a reconcile would make of it: no machine goes, none is made, and no cluster is initialized anew."""
    objects = ClusterObjects.read(FileStore(str(adoption.path)), "default", "prod")
    if objects is None:
        return
    assert not [each for each in deleted_machines.restore(objects) if "for deletion" in each or "remove" in each]
    assert not [each for each in deleted_workers.restore_workers(objects) if "to remove" in each]
    assert objects.prepared_machines() == [] and stale_prepared(objects) == []
    if objects.control_plane is not None and objects.endpoint():
        decision = decide(adoption.snapshot())
        assert decision["action"] in ("blocked", "wait", "none", "createInfrastructure", "createCertificates"), decision


def killed_anywhere(adoption: t.Callable[[Path], Adoption], folder: Path) -> int:
    """Kill adoptions before each write in turn, and look at what is there; returns how many writes there are.

    `adoption` returns one in a folder; the first one's hosts are everybody's, and so is what its store holds already.
    """
    folder.mkdir(exist_ok=True)
    (folder / "whole").mkdir()
    whole = adoption(folder / "whole")
    if whole.path.exists():
        shutil.copytree(whole.path, folder / "before")
    whole.run()
    writes, completed = 0, False
    while not completed:
        own = folder / str(writes)
        own.mkdir()
        tried = Adoption(own)
        tried.hand, tried.workers = whole.hand, whole.workers
        if (folder / "before").exists():
            shutil.copytree(folder / "before", tried.path)
        try:
            tried.run(writes)
            completed = True
        except Killed:
            pass
        if not completed:
            harmless(tried)
            tried.run()
        assert is_adopted(tried.objects(), tried.hand.hosts())
        assert sorted(tried.contents()) == sorted(whole.contents())
        assert not [each for each in tried.contents().values() if "cluster.x-k8s.io/paused" in each]
        assert decide(tried.snapshot())["action"] == "none"
        writes += 1
    return writes
