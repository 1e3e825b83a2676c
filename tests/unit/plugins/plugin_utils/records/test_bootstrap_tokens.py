# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A join's token: noted before it exists, written through a machine that answers, deleted once its machine has joined."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from stored_cluster import stored_cluster

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.failure import ControlPlaneFailure
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import Answer, Machine
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile import join_tokens
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CLUSTER,
    KUBEADM_CONFIG,
    MACHINE,
    ClusterObjects,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

NOTE = "kubeadm.control-plane/bootstrap-token-id"
Object = dict[str, t.Any]


class Machines:
    """Machines of which some do not answer; what the others were asked is kept."""

    def __init__(self) -> None:
        self.silent: set[str] = set()
        self.calls: list[tuple[str, Object]] = []

    def call(self, machine: Machine, module: str, arguments: Object) -> Answer:
        """Answer well, or not at all."""
        assert module == "bootstrap_token"
        self.calls.append((machine.name, arguments))
        return Answer(machine.name not in self.silent, {"msg": "it was asked"})


class Kept:
    """m1 and m2 carry the control plane; m3 is to join."""

    def __init__(self, folder: Path) -> None:
        stored_cluster(folder, "v1.20.2", {}, {}, dict.fromkeys(("m1", "m2", "m3"), "localhost"))
        self.store = FileStore(str(folder))
        self.machines = Machines()
        self.joins("m3", "")
        for name in ("m1", "m2", "m3"):
            metadata = {"name": name, "namespace": "default", "labels": {"cluster.x-k8s.io/cluster-name": "prod"}}
            config = {"apiVersion": "bootstrap.cluster.x-k8s.io/v1beta2", "kind": "KubeadmConfig", "metadata": metadata}
            self.store.create({**config, "spec": {}})

    def joins(self, name: str, state: str) -> None:
        """Tell how far a machine's bootstrap is."""
        self.store.modify(MACHINE, "default", name, lambda stored: stored["status"].update(bootstrap={"state": state}))

    def objects(self) -> ClusterObjects:
        """The cluster's objects, just read."""
        found = ClusterObjects.read(self.store, "default", "prod")
        assert found is not None
        return found

    def noted(self, name: str) -> t.Optional[str]:
        """The ID of the token that is noted for a machine."""
        config = self.store.get(KUBEADM_CONFIG, "default", name) or {}
        return t.cast("t.Optional[str]", (config["metadata"].get("annotations") or {}).get(NOTE))


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    """Three machines."""
    return Kept(tmp_path)


def test_a_token_is_noted_and_written_through_the_first_that_answers(kept: Kept) -> None:
    """It lives longer than the machine's bootstrap may take."""
    kept.machines.silent = {"m1"}
    token = join_tokens.mint(kept.objects(), kept.machines, "m3", 1800)
    assert [name for name, _call in kept.machines.calls] == ["m1", "m2"]
    assert kept.machines.calls[-1][1] == {"state": "present", "token": token, "ttl": 1800 + 900}
    assert kept.noted("m3") == token[:6]


def test_no_machine_that_could_write_it_is_a_failure_without_the_token(kept: Kept) -> None:
    kept.machines.silent = {"m1", "m2"}
    with pytest.raises(
        ControlPlaneFailure, match="no control plane machine could make a bootstrap token for m3"
    ) as raised:
        join_tokens.mint(kept.objects(), kept.machines, "m3", 1800)
    token = kept.machines.calls[0][1]["token"]
    assert token not in str(raised.value) and token[7:] not in str(raised.value)


def test_the_token_of_a_join_that_is_under_way_stays(kept: Kept) -> None:
    join_tokens.mint(kept.objects(), kept.machines, "m3", 1800)
    kept.joins("m3", "Running")
    kept.machines.calls = []
    join_tokens.delete_used(kept.objects(), kept.machines)
    assert kept.machines.calls == [] and kept.noted("m3")


def test_it_is_deleted_once_when_the_machine_has_joined(kept: Kept) -> None:
    token = join_tokens.mint(kept.objects(), kept.machines, "m3", 1800)
    kept.joins("m3", "Succeeded")
    kept.machines.calls = []
    objects = kept.objects()
    for _unused in range(2):
        join_tokens.delete_used(objects, kept.machines)
    assert [call for _name, call in kept.machines.calls] == [{"state": "absent", "token_id": token[:6]}]
    assert kept.noted("m3") is None


def test_nothing_is_done_while_the_cluster_is_paused(kept: Kept) -> None:
    join_tokens.mint(kept.objects(), kept.machines, "m3", 1800)
    kept.joins("m3", "Succeeded")
    kept.machines.calls = []
    kept.store.modify(CLUSTER, "default", "prod", lambda stored: stored["spec"].update(paused=True))
    join_tokens.delete_used(kept.objects(), kept.machines)
    assert kept.machines.calls == [] and kept.noted("m3")


def test_one_that_nobody_can_delete_is_forgotten(kept: Kept) -> None:
    """It ends by itself; asking for it in every run would be in vain."""
    join_tokens.mint(kept.objects(), kept.machines, "m3", 1800)
    kept.joins("m3", "Succeeded")
    kept.machines.silent = {"m1", "m2", "m3"}
    join_tokens.delete_used(kept.objects(), kept.machines)
    assert kept.noted("m3") is None
