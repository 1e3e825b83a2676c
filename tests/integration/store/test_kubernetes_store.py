# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a store in a Kubernetes API does beyond what every store promises: how often it asks, and what it says of an API that isn't ready."""

from __future__ import annotations

import typing as t
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from api_proxy import ApiProxy
from api_server import ApiServer
from etcd_cluster import until
from management_workspace import DEFINITIONS
from store_objects import MACHINE, SECRET, machine, secret

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.crds import definitions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import (
    AlreadyExists,
    Conflict,
    NotFound,
    StoreError,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.layout import kind_path
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.requests import (
    ApiUnavailable,
    KubernetesApi,
    Refused,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import PAGE, KubernetesStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.read_once import OF_ALL, OF_NAMESPACE

LABELS = {"cluster.x-k8s.io/cluster-name": "prod"}
CONTROL_PLANE = ("controlplane.cluster.x-k8s.io", "KubeadmControlPlane")


@pytest.fixture
def other(server: ApiServer) -> KubernetesStore:
    """Somebody else, at work in the same API."""
    return KubernetesStore(KubernetesApi({"kubeconfig": server.kubeconfig}))


def asked(store: KubernetesStore, call: t.Callable[[], t.Any]) -> int:
    """How many requests a call takes."""
    before = store.api.requests
    call()
    return store.api.requests - before


def where(name: str = "m-1") -> tuple[tuple[str, str], str, str]:
    return MACHINE, "default", name


def test_within_a_view_everything_is_asked_for_once(kubernetes_store: KubernetesStore) -> None:
    store = kubernetes_store
    store.create(machine(labels=LABELS))
    store.create({**secret(), "metadata": {"name": "prod-ca", "namespace": "default", "labels": LABELS}})

    def read() -> None:
        store.list(MACHINE, "default", LABELS)
        store.get(*where())
        store.get(*where("m-2"))
        store.ahead(SECRET, "default", LABELS)
        store.get(SECRET, "default", "prod-ca")

    assert asked(store, read) == 4
    with store.view():
        assert asked(store, read) == 3
        assert asked(store, read) == 0
        with store.view():
            assert asked(store, read) == 0, "one within another is that other one"
        store.look_again()
        assert asked(store, read) == 3
    assert asked(store, read) == 4


def test_a_view_sees_what_is_written_through_the_same_store(kubernetes_store: KubernetesStore) -> None:
    store = kubernetes_store
    with store.view():
        assert store.list(MACHINE, "default", LABELS) == []
        created = store.create(machine(labels=LABELS, finalizers=["example.org/a"]))
        assert store.list(MACHINE, "default", LABELS) == [created]
        changed = store.modify(*where(), lambda found: found.update(status={"phase": "Running"}))
        assert store.get(*where()) == changed and store.list(MACHINE, "default", LABELS) == [changed]
        assert asked(store, lambda: store.modify(*where(), lambda found: found["spec"].get("version"))) == 0
        marked = store.delete(*where())
        assert store.get(*where()) == marked
        store.modify(*where(), lambda found: found["metadata"].pop("finalizers"))
        assert store.get(*where()) is None and store.list(MACHINE, "default", LABELS) == []


def test_somebody_who_was_faster_ends_a_view(kubernetes_store: KubernetesStore, other: KubernetesStore) -> None:
    store = kubernetes_store
    store.create(machine(labels=LABELS))
    store.create(machine("m-2", labels=LABELS))
    with store.view():
        store.list(MACHINE, "default", LABELS)
        other.modify(*where(), lambda found: found["metadata"].update(annotations={"theirs": "1"}))
        other.modify(*where("m-2"), lambda found: found["metadata"].update(annotations={"theirs": "2"}))
        assert "annotations" not in store.get(*where())["metadata"]  # type: ignore[index]
        written = store.modify(*where(), lambda found: found.update(status={"phase": "Running"}))
        assert written["metadata"]["annotations"] == {"theirs": "1"} and written["status"] == {"phase": "Running"}
        assert store.get(*where("m-2"))["metadata"]["annotations"] == {"theirs": "2"}  # type: ignore[index]
        other.delete(*where("m-2"))
        with pytest.raises(NotFound):
            store.modify(*where("m-2"), lambda found: found.update(status={"phase": "Running"}))
        assert store.get(*where("m-2")) is None


def test_scale_by_the_subresource(kubernetes_store: KubernetesStore, other: KubernetesStore) -> None:
    store = kubernetes_store
    reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "NspawnMachineTemplate", "name": "prod"}
    spec = {"replicas": 3, "version": "v1.20.2", "machineTemplate": {"spec": {"infrastructureRef": reference}}}
    plane = {
        "apiVersion": f"{CONTROL_PLANE[0]}/v1beta2",
        "kind": CONTROL_PLANE[1],
        "spec": {**spec, "kubeadmConfigSpec": {}},
    }
    store.create({**plane, "metadata": {"name": "prod", "namespace": "default"}})
    store.scale(CONTROL_PLANE, "default", "prod", 5)
    assert store.get(CONTROL_PLANE, "default", "prod")["spec"]["replicas"] == 5  # type: ignore[index]
    with pytest.raises(NotFound):
        store.scale(CONTROL_PLANE, "default", "nobody", 5)
    assert not issubclass(NotFound, Conflict)


def test_null_is_nothing(kubernetes_store: KubernetesStore) -> None:
    store = kubernetes_store
    created = store.create({**machine(), "status": {"phase": None, "conditions": [{"type": "A", "message": ""}]}})
    assert created["status"] == {"conditions": [{"type": "A", "message": ""}]}
    assert asked(store, lambda: store.update({**created, "status": {**created["status"], "nodeRef": None}})) == 0


@pytest.mark.parametrize("foreign", [PAGE + 1, pytest.param(5000, marks=pytest.mark.full)])
def test_foreign_objects(kubernetes_store: KubernetesStore, other: KubernetesStore, foreign: int) -> None:
    """One's own are found by one request; who wants all reads them page by page."""
    store = kubernetes_store
    store.create(machine(labels=LABELS))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: other.create(machine(f"foreign-{number:04}", labels={"k": "1"})), range(foreign)))
    assert asked(store, lambda: store.list(MACHINE, "default", LABELS)) == 1
    assert [each["metadata"]["name"] for each in store.list(MACHINE, "default", LABELS)] == ["m-1"]
    pages = foreign // PAGE + 1
    assert asked(store, lambda: store.list(MACHINE)) == pages
    assert len({each["metadata"]["name"] for each in store.list(MACHINE, "default")}) == foreign + 1
    for whole, namespace in ((OF_ALL, None), (OF_NAMESPACE, "default")):
        with store.view(whole):
            assert asked(store, lambda: store.list(MACHINE, "default", LABELS)) == pages
            assert asked(store, lambda: store.get(*where("foreign-0001"))) == 0
            assert asked(store, lambda: store.get(*where("nobody"))) == 0
            assert (asked(store, lambda: store.list(MACHINE, "a")) == 0) is (namespace is None)
    options = {"apiVersion": "v1", "kind": "DeleteOptions"}
    path = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/machines"
    store.api.send("delete", path, options, {"labelSelector": "k=1"})
    assert len(store.list(MACHINE)) == 1


def test_a_short_outage_is_waited_out(kubernetes_store: KubernetesStore, server: ApiServer, tmp_path: Path) -> None:
    """By whoever has the patience."""
    proxy = ApiProxy(server, tmp_path)
    store = KubernetesStore(KubernetesApi({"kubeconfig": proxy.kubeconfig}, patience_seconds=30.0))
    hasty = KubernetesStore(KubernetesApi({"kubeconfig": proxy.kubeconfig}))
    try:
        store.create(machine())
        proxy.fails(0, 503, 0, 429, 504, 500)
        assert store.get(*where()) is not None
        proxy.fails(500, 0, 0, 0, 0)
        assert store.modify(*where(), lambda found: found.update(status={"phase": "A"}))["status"] == {"phase": "A"}
        proxy.fails(429, 503)
        store.create(machine("m-2"))
        proxy.fails(*[0] * 4)
        with pytest.raises(ApiUnavailable, match=r"did not answer \(get "):
            hasty.get(*where())
        assert hasty.get(*where()) is not None
    finally:
        proxy.end()


@pytest.mark.parametrize("failure", [0, 500, 504])
def test_a_creation_whose_answer_is_lost(
    kubernetes_store: KubernetesStore, server: ApiServer, tmp_path: Path, failure: int
) -> None:
    """Nobody knows whether it arrived: it is looked for, sent again where it isn't there, and never taken for somebody else's."""
    proxy = ApiProxy(server, tmp_path)
    store = KubernetesStore(KubernetesApi({"kubeconfig": proxy.kubeconfig}))
    made = {**machine("m-3", labels=LABELS), "status": {"phase": "Running"}}
    try:
        proxy.fails(failure)
        assert store.create(machine("m-1"))["metadata"]["uid"], "it had not arrived"
        proxy.loses("POST .*/machines", failure)
        assert store.create(made)["status"] == {"phase": "Running"}, "it had arrived"
        for name, theirs in (("m-1", {}), ("m-3", {"theirs": "1"})):
            proxy.fails(failure)
            with pytest.raises(AlreadyExists):
                store.create(machine(name, labels={**theirs, "other": "1"}))
        proxy.goes_down_at("POST .*/machines")
        with pytest.raises(ApiUnavailable, match=r"did not answer .*Run again when the API answers"):
            store.create(machine("m-4"))
    finally:
        proxy.end()
    assert sorted(each["metadata"]["name"] for each in kubernetes_store.list(MACHINE)) == ["m-1", "m-3"]


def test_an_object_that_somebody_writes_to_before_it_has_its_status(
    kubernetes_store: KubernetesStore, other: KubernetesStore, server: ApiServer, tmp_path: Path
) -> None:
    """Which is a request of its own."""
    proxy = ApiProxy(server, tmp_path)
    store = KubernetesStore(KubernetesApi({"kubeconfig": proxy.kubeconfig}))
    proxy.before(
        "PUT .*/machines/m-1/status",
        lambda: other.modify(*where(), lambda found: found["metadata"].update(annotations={"theirs": "1"})),
    )
    try:
        created = store.create({**machine(), "status": {"phase": "Running"}})
    finally:
        proxy.end()
    assert created["status"] == {"phase": "Running"} and created["metadata"]["annotations"] == {"theirs": "1"}


def test_a_namespace_that_is_not_there(kubernetes_store: KubernetesStore) -> None:
    with pytest.raises(StoreError, match=r"Machine nowhere/m-1 can't be made.*kubectl create namespace nowhere"):
        kubernetes_store.create(machine(namespace="nowhere"))


def test_a_namespace_that_somebody_deleted(kubernetes_store: KubernetesStore, server: ApiServer) -> None:
    """No Role helps there; what does is said."""
    name = {"metadata": {"name": "going"}}
    server.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", **name})
    kubernetes_store.api.send("delete", "/api/v1/namespaces/going")

    path = f"{kind_path(MACHINE, 'going')}?dryRun=All"

    def closed() -> bool:
        with server.client() as client:
            return client.send("POST", path, machine(namespace="going")).status == 403

    until("the part of the server that has our kinds knows it, by a watch of its own", closed)
    with pytest.raises(Refused, match="being terminated") as caught:
        kubernetes_store.create(machine("prod-a", namespace="going"))
    assert "from a backup" in caught.value.fix and "docs/store.md" in caught.value.fix


def test_kinds_of_another_group_that_have_a_name_of_ours(server: ApiServer) -> None:
    """They have versions of their own; a group that is not there is named, and what is needed."""
    api = KubernetesApi({"kubeconfig": server.kubeconfig})
    store = KubernetesStore(api)
    with pytest.raises(StoreError, match=r"list /apis/nobody.example.org.*kubeadm\.control_plane\.install"):
        store.list(("nobody.example.org", "Machine"), "default")
    name = "machines.other.example.org"
    definition = definitions.definition(definitions.infrastructure_kinds("Acme")[1])
    definition["metadata"]["name"] = name
    definition["spec"].update(group="other.example.org", names={"kind": "Machine", "plural": "machines"})
    definition["spec"]["versions"][0]["name"] = "v1alpha9"
    server.create(DEFINITIONS, definition)
    try:
        server.until_served("/apis/other.example.org/v1alpha9/namespaces/default/machines")
        assert store.list(("other.example.org", "Machine"), "default") == []
        assert store.get(("other.example.org", "Machine"), "default", "x") is None
    finally:
        api.send("delete", f"{DEFINITIONS}/{name}", {})
