# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The event source of extensions/eda, over a real API server: what it tells, and what it survives."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from api_proxy import ApiProxy
from api_server import ApiServer
from etcd_cluster import until
from event_sources import RunningSource
from store_objects import MACHINE, machine

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import Object, StoreError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.object_watch import (
    LISTED,
    PAUSES_SECONDS,
    Watch,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.requests import KubernetesApi
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import KubernetesStore

LABELS = {"cluster.x-k8s.io/cluster-name": "prod", "cluster.x-k8s.io/control-plane": ""}
HEALTH_CHECK = ("cluster.x-k8s.io", "MachineHealthCheck")
CONTROL_PLANE = ("controlplane.cluster.x-k8s.io", "KubeadmControlPlane")
KINDS = ("machines", "machinehealthchecks", "kubeadmcontrolplanes")
MARKS = [
    {
        "type": each,
        "status": "False",
        "reason": "Test",
        "message": "{{ 6 * 7 }}",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    for each in ("HealthCheckSucceeded", "OwnerRemediated")
]


@pytest.fixture
def proxy(empty_server: ApiServer, tmp_path: Path) -> t.Iterator[ApiProxy]:
    """A way to the API that can be cut."""
    made = ApiProxy(empty_server, tmp_path)
    yield made
    made.end()


@pytest.fixture
def store(empty_server: ApiServer) -> KubernetesStore:
    """Who changes the objects."""
    return KubernetesStore(KubernetesApi({"kubeconfig": empty_server.kubeconfig}))


def made(store: KubernetesStore, name: str, namespace: str = "default") -> None:
    """Make a control plane machine."""
    store.create(machine(name, namespace, labels=LABELS))


def marked(store: KubernetesStore, name: str, namespace: str = "default") -> None:
    """Mark a machine as a health check does."""
    store.modify(MACHINE, namespace, name, lambda found: found.update(status={"conditions": MARKS}))


def event(name: str, kind: str = "Machine", drift: bool = False, namespace: str = "default") -> Object:
    """What is told of an object of prod."""
    return {
        "kind": kind,
        "name": name,
        "namespace": namespace,
        "cluster": "prod",
        "unhealthy": not drift,
        "drift": drift,
        "meta": {"hosts": f"prod,{namespace}.prod,&control_planes"},
    }


def watching(proxy: ApiProxy) -> None:
    """Wait until all kinds are watched."""
    until("all kinds are watched", lambda: proxy.watches == len(KINDS))


def test_it_tells_what_objects_ask_for(store: KubernetesStore, proxy: ApiProxy) -> None:
    made(store, "before")
    marked(store, "before")
    made(store, "healthy")
    store.create({**machine("worker"), "status": {"conditions": MARKS}})
    with RunningSource("store", {"kubeconfig": proxy.kubeconfig}) as source:
        assert source.next() == event("before")
        watching(proxy)
        made(store, "after")
        marked(store, "after")
        assert source.next() == event("after")
        # What changes nothing of what is asked for is not told again.
        store.modify(MACHINE, "default", "after", lambda found: found["status"].update(phase="Running"))
        store.modify(
            MACHINE, "default", "healthy", lambda found: found["metadata"].update(finalizers=["example.org/a"])
        )
        store.delete(MACHINE, "default", "healthy")
        assert source.next() == event("healthy", drift=True)
        assert source.silent


def test_health_checks_and_control_planes_too(store: KubernetesStore, proxy: ApiProxy) -> None:
    with RunningSource("store", {"kubeconfig": proxy.kubeconfig}) as source:
        watching(proxy)
        check = {"clusterName": "prod", "selector": {"matchLabels": LABELS}}
        status = {"expectedMachines": 3, "currentHealthy": 1, "remediationsAllowed": 0}
        store.create(_object(HEALTH_CHECK, "cluster.x-k8s.io/v1beta2", "check", check, status))
        store.modify(
            HEALTH_CHECK,
            "default",
            "check",
            lambda found: found["status"].update(currentHealthy=2, remediationsAllowed=1),
        )
        assert source.next() == event("check", "MachineHealthCheck")
        owner = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "name": "prod", "uid": "1"}
        store.create(
            _object(CONTROL_PLANE, "controlplane.cluster.x-k8s.io/v1beta2", "cp", _control_plane(), {}, [owner])
        )
        assert source.next() == event("cp", "KubeadmControlPlane", drift=True)
        assert source.silent


def test_an_api_that_goes_away_is_taken_up_where_it_was(store: KubernetesStore, proxy: ApiProxy) -> None:
    made(store, "m-1")
    made(store, "m-2")
    with RunningSource("store", {"kubeconfig": proxy.kubeconfig}) as source:
        watching(proxy)
        proxy.goes_down()
        marked(store, "m-1")
        proxy.counted()
        proxy.comes_back()
        assert source.next() == event("m-1")
        watching(proxy)
        assert all("watch=true" in each.path for each in proxy.counted()), "it went on from the version that it knew"
        marked(store, "m-2")
        assert source.next() == event("m-2")
        assert source.silent


def test_a_version_that_is_gone_is_listed_again(store: KubernetesStore, proxy: ApiProxy) -> None:
    made(store, "m-1")
    with RunningSource("store", {"kubeconfig": proxy.kubeconfig}) as source:
        watching(proxy)
        for each in KINDS:
            proxy.loses(rf"/{each}\?.*watch=true", 410)
        proxy.break_watches()
        marked(store, "m-1")
        assert source.next() == event("m-1")
        watching(proxy)
        assert sum("watch=true" not in each.path for each in proxy.counted()) == 2 * len(KINDS)


def test_an_api_that_never_knows_its_version_is_asked_with_growing_pauses(
    store: KubernetesStore, proxy: ApiProxy
) -> None:
    """What one API server behind a balancer lists another one may not know; each list is answered all the same."""
    made(store, "m-1")
    said: list[str] = []
    pauses: list[float] = []

    def wait(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) > len(PAUSES_SECONDS):
            proxy.refuses("", 0)
            proxy.before("watch=true", lambda: marked(store, "m-1"))

    proxy.refuses("watch=true", 410)
    watch = Watch(KubernetesApi({"kubeconfig": proxy.kubeconfig}), MACHINE, None, 600.0, say=said.append, wait=wait)
    seen = []
    for change, _obj in watch.changes():
        seen.append(change)
        if change != LISTED:
            break
    assert pauses == [*PAUSES_SECONDS, PAUSES_SECONDS[-1]]
    # Once more than there were pauses, as a version may have ended by itself; and at the beginning.
    assert seen == [LISTED] * (len(pauses) + 2) + ["MODIFIED"]
    assert len(said) == 2 and "410 Gone" in said[0] and "answers again" in said[1]


def test_what_still_asks_is_told_again(store: KubernetesStore, proxy: ApiProxy) -> None:
    """As what it led to may have ended early. Only of its namespaces."""
    made(store, "m-1", "a")
    marked(store, "m-1", "a")
    made(store, "m-2", "b")
    marked(store, "m-2", "b")
    arguments = {"kubeconfig": proxy.kubeconfig, "namespaces": ["a"], "resync_seconds": 1}
    with RunningSource("store", arguments) as source:
        assert source.next() == event("m-1", namespace="a")
        watching(proxy)
        # A watch is not ended for it.
        proxy.break_watches()
        assert source.next() == event("m-1", namespace="a")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"namespace": "a"}, "namespace"),
        ({"namespaces": "a"}, "namespaces"),
        ({"resync_seconds": 0}, "resync_seconds"),
        ({"api_key": "wrong"}, "credentials"),
    ],
)
def test_what_can_not_be_ends_it(proxy: ApiProxy, arguments: Object, said: str) -> None:
    with RunningSource("store", {"kubeconfig": proxy.kubeconfig, **arguments}) as source:
        error = source.end()
    assert isinstance(error, StoreError) and said in str(error)


def _object(
    kind_ref: tuple[str, str], version: str, name: str, spec: Object, status: Object, owners: t.Sequence[Object] = ()
) -> Object:
    metadata = {"name": name, "namespace": "default", **({"ownerReferences": list(owners)} if owners else {})}
    return {"apiVersion": version, "kind": kind_ref[1], "metadata": metadata, "spec": spec, "status": status}


def _control_plane() -> Object:
    reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "AcmeMachineTemplate", "name": "a"}
    return {
        "replicas": 1,
        "version": "v1.20.2",
        "machineTemplate": {"spec": {"infrastructureRef": reference}},
        "kubeadmConfigSpec": {},
    }
