# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A control plane made by hand is adopted into each store: the same objects, nothing left to do, nothing changed by a second time."""

from __future__ import annotations

import typing as t
from pathlib import Path

import yaml
from hand_made import NOW, HandMade

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.values import now_rfc3339
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.adoption import manifest as adoption_manifest
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.adoption.control_plane_writer import (
    Writer,
    is_adopted,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Answer, Machine
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.snapshot.typed_snapshot import (
    check_snapshot,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import read_cluster
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observe.observation import observe
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import ClusterObjects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.status.status_writer import write_status
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import Store


class Hosts:
    """The hosts of a cluster made by hand."""

    def __init__(self) -> None:
        self.hand = HandMade()

    def call(self, machine: Machine, module: str, arguments: dict[str, t.Any]) -> Answer:
        """Stands in for a machine that is observed."""
        observation = self.hand.result(machine.connection["inventoryHost"], "00" * 32)["observation"]
        return Answer(True, {"observation": observation})


def read(store: Store) -> ClusterObjects:
    """The cluster's objects."""
    found = ClusterObjects.read(store, "default", "prod")
    assert found is not None
    return found


def test_adopted(store: Store, tmp_path: Path) -> None:
    """And written to as a pass writes."""
    hosts = Hosts()
    documents, _notes = adoption_manifest.documents_of(
        hosts.hand.hub(), hosts.hand.hosts(), "prod", "default", 3, {"group": "prod_hosts"}
    )
    draft = tmp_path / "prod.yaml"
    draft.write_text(yaml.safe_dump_all(documents))

    def adopt() -> list[str]:
        manifest = read_cluster([str(draft)], "default", "prod")
        adopted = is_adopted(ClusterObjects.read(store, "default", "prod"), hosts.hand.hosts())
        writer = Writer(store, manifest, hosts.hand.hosts(), NOW, lambda machine, call: Answer(True, {"changed": True}))
        writer.write({}, adopted=adopted)
        return writer.changes

    assert len(adopt()) > 10
    assert adopt() == []
    assert is_adopted(read(store), hosts.hand.hosts())
    snapshot = observe(read(store), hosts, now_rfc3339())
    assert check_snapshot(snapshot) == []
    decision = decide(snapshot)
    assert decision["action"] == "none", decision
    write_status(read(store), decision, snapshot["now"])
    after = read(store)
    write_status(after, decision, snapshot["now"])
    assert read(store) == after and len(after.machines) == 3
    assert decide(observe(read(store), hosts, now_rfc3339()))["action"] == "none"
