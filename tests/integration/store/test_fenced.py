# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes of a run that lost its lock, in each store: none is made, of whatever kind, and none is tried again."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from api_proxy import ApiProxy
from api_server import ApiServer
from store_objects import MACHINE, machine, secret

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import kinds
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store import base
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import Object, Store
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.requests import KubernetesApi
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import KubernetesStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock import file_lock
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock.any_store import FileLocks, Locks
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock.lease_lock import LeaseLocks

AT = ("default", "fenced")
WHERE = (MACHINE, "default", "m-1")
CONTROL_PLANE = ("controlplane.cluster.x-k8s.io", "KubeadmControlPlane")


@pytest.fixture
def locks(store: Store, server: ApiServer) -> t.Iterator[Locks]:
    """The locks of that store."""
    if isinstance(store, FileStore):
        yield FileLocks(store.directory)
        return
    options = {"kubeconfig": server.kubeconfig}
    made = LeaseLocks(KubernetesApi(options), options)
    yield made
    made.release_own(*AT)


def another_has_it(locks: Locks) -> None:
    """The run's lock ends, and it gets another one: a later holder has a greater number."""
    locks.release_own(*AT)
    locks.take(*AT)


def control_plane() -> Object:
    """One that can be scaled."""
    spec = {
        "replicas": 1,
        "version": "v1.20.2",
        "machineTemplate": {
            "spec": {
                "infrastructureRef": {
                    "apiGroup": "infrastructure.cluster.x-k8s.io",
                    "kind": "NspawnMachineTemplate",
                    "name": "x",
                }
            }
        },
        "kubeadmConfigSpec": {},
    }
    metadata = {"name": "cp", "namespace": "default"}
    return {"apiVersion": f"{CONTROL_PLANE[0]}/v1beta2", "kind": CONTROL_PLANE[1], "metadata": metadata, "spec": spec}


def labelled(stored: Object) -> None:
    """A change of what a machine template gives, which an API is told by an apply of its own."""
    stored["metadata"].setdefault("annotations", {})[kinds.ANNOTATION_PREFIX + "x"] = "y"


WRITES: dict[str, t.Callable[[Store], t.Any]] = {
    "create": lambda store: store.create(machine("m-2")),
    "create a Secret": lambda store: store.create(secret()),
    "update the spec": lambda store: store.modify(*WHERE, lambda found: found["spec"].update(version="v1.21.0")),
    "update the status": lambda store: store.modify(*WHERE, lambda found: found.update(status={"phase": "Running"})),
    "update metadata": lambda store: store.modify(*WHERE, labelled),
    "delete": lambda store: store.delete(*WHERE),
    "scale": lambda store: store.scale(CONTROL_PLANE, "default", "cp", 3),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_run_that_lost_its_lock_writes_nothing(store: Store, locks: Locks, write: t.Callable[[Store], t.Any]) -> None:
    """What it reads it may go on reading; the run that has the lock by now writes."""
    for each in (machine(), control_plane()):
        store.create(each)
    number = locks.take(*AT).fencing
    store.fenced_by(lambda: locks.check(*AT, number))
    store.modify(*WHERE, lambda found: found["spec"].update(clusterName="other"))
    before = everything(store)
    another_has_it(locks)
    with pytest.raises(file_lock.LostLock, match=f"fencing number {number}, newest {number + 1}"):
        write(store)
    assert everything(store) == before
    store.fenced_by(lambda: locks.check(*AT, number + 1))
    write(store)
    assert everything(store) != before


def everything(store: Store) -> list[Object]:
    """All objects."""
    return [each for kind in (MACHINE, CONTROL_PLANE, ("", "Secret")) for each in store.list(kind, "default")]


def test_a_request_that_is_sent_again_is_compared_again(
    kubernetes_store: KubernetesStore, server: ApiServer, tmp_path: Path
) -> None:
    """The API was overloaded when it was sent first, and the lock was lost while the run waited to send it again."""
    proxy = ApiProxy(server, tmp_path)
    try:
        kubernetes_store.create(machine())
        options = {"kubeconfig": server.kubeconfig}
        locks = LeaseLocks(KubernetesApi(options), options)
        number = locks.take(*AT).fencing
        store = KubernetesStore(KubernetesApi({"kubeconfig": proxy.kubeconfig}, patience_seconds=30))
        found = store.get(*WHERE)
        sent: list[int] = []

        def fence() -> None:
            if sent:
                another_has_it(locks)
            sent.append(locks.check(*AT, number))

        store.fenced_by(fence)
        proxy.fails(503)
        assert found is not None
        with pytest.raises(file_lock.LostLock):
            store.update({**found, "spec": {**found["spec"], "version": "v1.21.0"}})
        assert sent == [number] and kubernetes_store.get(*WHERE) == found
        locks.release_own(*AT)
    finally:
        proxy.end()


def test_an_object_that_the_next_run_has_written_stays_as_it_left_it(kubernetes_store: KubernetesStore) -> None:
    """An API compares objects alone: what was on its way when the lock was lost is refused where the next run has changed the object."""
    created = kubernetes_store.create(machine())
    kubernetes_store.modify(*WHERE, lambda found: found["spec"].update(version="v1.21.0"))
    with pytest.raises(base.Conflict):
        kubernetes_store.update({**created, "spec": {**created["spec"], "version": "v1.22.0"}})
