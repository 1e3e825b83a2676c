# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which machines are behind the control plane's endpoint while one of them goes."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from stored_cluster import INFRASTRUCTURE, stored_cluster

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.providers.contract import endpoint_servers
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    MACHINE,
    ClusterObjects,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

HOOK = "pre-drain.delete.hook.machine.cluster.x-k8s.io/backup"
LATE_HOOK = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/backup"


@pytest.fixture(name="store")
def _store(tmp_path: Path) -> FileStore:
    """Three machines with addresses, one of which is marked for deletion."""
    stored_cluster(tmp_path, "v1.20.2", {}, {}, dict.fromkeys(("m1", "m2", "m3"), "localhost"))
    store = FileStore(str(tmp_path))
    for number in (1, 2, 3):
        addresses = [{"type": "InternalIP", "address": f"10.0.0.{number}"}]
        store.modify(
            (INFRASTRUCTURE, "NspawnMachine"),
            "default",
            f"m{number}",
            lambda stored, a=addresses: stored["status"].update(addresses=a),
        )
    change(store, lambda stored: stored["metadata"].update(finalizers=["machine.cluster.x-k8s.io"]))
    store.delete(MACHINE, "default", "m1")
    return store


def change(store: FileStore, how: t.Callable[[dict[str, t.Any]], t.Any]) -> None:
    """Change the Machine that goes."""
    store.modify(MACHINE, "default", "m1", lambda stored: t.cast(None, how(stored)))


def behind(store: FileStore) -> list[str]:
    """The names behind the endpoint."""
    objects = ClusterObjects.read(store, "default", "prod")
    assert objects is not None
    return [each["name"] for each in endpoint_servers(objects)]


def test_a_machine_that_goes_is_not_behind_the_endpoint(store: FileStore) -> None:
    assert behind(store) == ["m2", "m3"]


def test_one_that_a_pre_drain_hook_holds_goes_on_serving(store: FileStore) -> None:
    change(store, lambda stored: stored["metadata"].update(annotations={HOOK: ""}))
    assert behind(store) == ["m1", "m2", "m3"]
    change(store, lambda stored: stored["metadata"].update(annotations={}))
    assert behind(store) == ["m2", "m3"]


def test_nothing_else_keeps_it_there(store: FileStore) -> None:
    change(store, lambda stored: stored["metadata"].update(annotations={LATE_HOOK: ""}))
    assert behind(store) == ["m2", "m3"]
    drained = {
        "type": "Deleting",
        "status": "True",
        "reason": "WaitingForPreTerminateHook",
        "lastTransitionTime": "2026-01-31T12:00:00Z",
    }
    change(store, lambda stored: stored["metadata"].update(annotations={HOOK: ""}))
    change(store, lambda stored: stored["status"].update(conditions=[drained]))
    assert behind(store) == ["m2", "m3"], "its drain is over: the hook came too late"
