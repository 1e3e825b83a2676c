# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Existing hosts are looked at before a run's first change: as many as are needed, none that is taken, and nobody else's machines."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from builders import Builder, cluster, healthy
from observed import objects_of

from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils import pool_preflight
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.machine_connection import Answer, Machine

Object = dict[str, t.Any]
LACKS = {"check": "ImagePull", "message": "images are not there", "fix": "Load them."}
HOSTS = ("cp1", "cp2", "cp3", "cp4")


class Pool:
    """Hosts by name, with what they answer; ``asked`` keeps who was asked what."""

    def __init__(self, **missing: t.Any) -> None:
        self.missing = missing
        self.asked: list[tuple[str, Object]] = []

    def ask(self, machine: Machine, call: Object) -> Answer:
        """Answer as host_claim does."""
        host = str(machine.connection["inventoryHost"])
        self.asked.append((host, call))
        missing = self.missing.get(host, [])
        if missing == "silent":
            return Answer(False, {"msg": "it was not reached"})
        return Answer(True, {"failed": True, "missing": missing} if missing else {"claim": {}})

    def look(self, builder: Builder, tmp_path: Path, taken: t.Sequence[str] = ()) -> list[Object]:
        """What is found for what is decided."""
        builder.snapshot["machineTemplate"] = {
            "kind": "InventoryMachineTemplate",
            "metadata": {"name": "prod"},
            "spec": {"template": {"spec": {"group": "pool", "kubeadm": {"ignorePreflightErrors": ["Swap"]}}}},
        }
        snapshot, objects = builder.build(), objects_of(builder, tmp_path / "store")
        for number, host in enumerate(taken):
            objects.store.create(
                {
                    "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1",
                    "kind": "InventoryMachine",
                    "metadata": {"name": f"m{number + 1}", "namespace": "default"},
                    "spec": {"group": "pool"},
                    "status": {"claim": {"inventoryHost": host, "state": "Claimed"}},
                }
            )
        groups, hostvars = {"pool": HOSTS}, {host: {} for host in HOSTS}
        return pool_preflight.look(objects, self.ask, snapshot, decide(snapshot), groups, hostvars)

    @property
    def names(self) -> list[str]:
        """Who was asked, in order."""
        return [host for host, _call in self.asked]


def test_as_many_as_are_needed_are_asked(tmp_path: Path) -> None:
    pool = Pool(cp2=[LACKS])
    found = pool.look(healthy(1, replicas=3), tmp_path, taken=["cp1"])
    assert pool.names == ["cp2", "cp3", "cp4"]
    assert found == [
        {"name": "cp2", "missing": [LACKS]},
        {"name": "cp3", "missing": []},
        {"name": "cp4", "missing": []},
    ]
    call = pool.asked[0][1]
    assert (call["state"], call["kubernetes_version"], call["ignore_checks"]) == ("present", "v1.20.2", ["Swap"])
    assert call["images"]["pull"] is True


def test_before_the_first_machine_too(tmp_path: Path) -> None:
    pool = Pool(cp1="silent")
    found = pool.look(cluster(1).endpoint(False), tmp_path)
    assert pool.names == ["cp1", "cp2"]
    assert found[0]["missing"] == [{"check": "Reachable", "message": "it was not reached", "fix": ""}]


@pytest.mark.parametrize("builder", [healthy(3), healthy(3, replicas=1), healthy(3).unreachable()])
def test_where_no_machine_is_made_nobody_is_asked(tmp_path: Path, builder: Builder) -> None:
    pool = Pool()
    assert pool.look(builder, tmp_path) == [] and pool.names == []


def test_without_surge_the_host_that_is_given_back_counts_too(tmp_path: Path) -> None:
    """Of its own cluster's host only the images are of interest: everything else on it is this cluster."""
    builder = healthy(3).wants(version="v1.20.3")
    builder.spec["rollout"] = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}}}
    claimed = {"check": "Claim", "message": "claimed by this cluster", "fix": ""}
    pool = Pool(cp1=[claimed, LACKS], cp4=[LACKS])
    found = pool.look(builder, tmp_path, taken=["cp1", "cp2", "cp3"])
    assert found[0] == {"name": "cp4", "missing": [LACKS]}
    assert len(found) == 2 and found[1]["name"] in ("cp1", "cp2", "cp3")
    assert found[1]["missing"] == ([LACKS] if found[1]["name"] == "cp1" else [])


def test_a_pool_that_is_not_there_is_the_claims_to_tell(tmp_path: Path) -> None:
    builder = healthy(1, replicas=3)
    builder.snapshot["machineTemplate"] = {
        "kind": "InventoryMachineTemplate",
        "metadata": {"name": "prod"},
        "spec": {"template": {"spec": {"group": "x"}}},
    }
    snapshot = builder.build()
    assert pool_preflight.look(objects_of(builder, tmp_path), Pool().ask, snapshot, decide(snapshot), {}, {}) == []
