# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster on infrastructure of another group and version, in both stores: from its manifest to a copy in the other one."""

from __future__ import annotations

import copy
import re
import typing as t
from pathlib import Path

import pytest
import yaml
from api_server import ApiServer
from etcd_cluster import until
from management import kubeconfig_of
from management_workspace import DEFINITIONS
from stored_manifest import Documents, example

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.crds import crd_names, definitions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.management import installation
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.move.copied_objects import Copies
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.move.graph import Graph
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import read_cluster
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records import stored_cluster, stored_desired_state
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import ClusterObjects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.machine_objects import (
    create_infrastructure_machine,
    machine_object,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import Store, StoreError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.requests import (
    ApiUnavailable,
    KubernetesApi,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import KubernetesStore

GROUP, VERSION = "infra.zenith.example", "v1alpha5"
OLDER = {
    "ZenithCluster": ("v1alpha4", "v1alpha3", "v1alpha2"),
    "ZenithMachine": ("v1alpha4",),
    "ZenithMachineTemplate": ("v1alpha4", "v1alpha2"),
}
PROVIDERS = {"ZenithCluster": "zenith.cloud.machine", "ZenithMachineTemplate": "zenith.cloud.machine"}
NAMES, MACHINE = ("default", "my-cluster"), "my-control-plane-a"


@pytest.fixture(scope="module")
def zenith(server: ApiServer) -> t.Iterator[None]:
    """The definitions that such a provider brings. v1alpha5 is the preferred version; not all kinds have those before v1alpha4."""
    names = []
    for kind in definitions.infrastructure_kinds("Zenith"):
        made = definitions.definition(kind)
        names.append(crd_names.crd_name(GROUP, kind.name))
        made["metadata"] = {"name": names[-1], "labels": {"cluster.x-k8s.io/v1beta2": VERSION}}
        [served] = made["spec"]["versions"]
        versions = [{**served, "name": VERSION}]
        versions += [{**copy.deepcopy(served), "name": each, "storage": False} for each in OLDER[kind.name]]
        # A definition may have a status without the subresource.
        versions[1].pop("subresources", None)
        made["spec"].update(group=GROUP, versions=versions)
        server.create(DEFINITIONS, made)
    for kind in definitions.infrastructure_kinds("Zenith"):
        server.until_served(f"/apis/{GROUP}/{VERSION}/namespaces/default/{crd_names.plural(kind.name)}")
    yield
    api = KubernetesApi({"kubeconfig": server.kubeconfig})
    for name in names:
        api.send("delete", f"{DEFINITIONS}/{name}", {})


def documents(version: str, group: str) -> Documents:
    text = yaml.safe_dump_all(example("v1beta2")).replace("Nspawn", "Zenith")
    text = text.replace("apiGroup: infrastructure.cluster.x-k8s.io", f"apiGroup: {group}")
    text = text.replace("apiVersion: infrastructure.cluster.x-k8s.io/v1beta1", f"apiVersion: {group}/{version}")
    return [each for each in yaml.safe_load_all(text) if each]


def applied(store: Store, folder: Path, version: str = VERSION, group: str = GROUP) -> list[str]:
    path = folder / "manifest.yaml"
    path.write_text(yaml.safe_dump_all(documents(version, group)), encoding="utf-8")
    return stored_cluster.apply_manifest(store, read_cluster([str(path)], *NAMES, PROVIDERS))


@pytest.mark.usefixtures("zenith")
def test_a_cluster_of_another_group(store: Store, tmp_path: Path) -> None:
    """Stored once, read back, machines made, settled without a manifest, and carried away whole."""
    assert f"create ZenithCluster {NAMES[0]}/my-nspawncluster" in applied(store, tmp_path)
    assert applied(store, tmp_path) == []
    objects = ClusterObjects.read(store, *NAMES)
    assert objects is not None
    made = create_infrastructure_machine(objects, MACHINE, "")
    store.create(machine_object(objects, t.cast("dict[str, t.Any]", objects.control_plane), MACHINE, ""))
    assert (made["apiVersion"], made["kind"]) == (f"{GROUP}/{VERSION}", "ZenithMachine")
    again = ClusterObjects.read(store, *NAMES)
    assert again is not None and list(again.infrastructure_machines) == [MACHINE]
    store.modify((GROUP, "ZenithMachine"), "default", MACHINE, provisioned)
    assert stored_desired_state.settle(store, *NAMES, PROVIDERS) is not None
    kinds = {kind for (group, kind), _name in Graph(store, *NAMES).by_key() if group == GROUP}
    assert kinds == {"ZenithCluster", "ZenithMachine", "ZenithMachineTemplate"}


def provisioned(stored: dict[str, t.Any]) -> None:
    stored["status"] = {"initialization": {"provisioned": True}}


@pytest.fixture
def none_yet(kubernetes_store: KubernetesStore, zenith: None) -> KubernetesStore:
    """A store in the API without an object of the provider's."""
    for kind in OLDER:
        for where, name in kubernetes_store.names((GROUP, kind)):
            kubernetes_store.delete((GROUP, kind), where, name)
    return kubernetes_store


def test_a_served_version_that_is_not_preferred(none_yet: KubernetesStore, tmp_path: Path) -> None:
    """The manifest's version is used by all tasks of a run, for the machines too; only who never had one reads the preferred one."""
    api = none_yet.api
    assert f"create ZenithCluster {NAMES[0]}/my-nspawncluster" in applied(none_yet, tmp_path, "v1alpha4")
    assert applied(KubernetesStore(api), tmp_path, "v1alpha4") == []
    later = ClusterObjects.read(KubernetesStore(api), *NAMES)
    assert later is not None and later.infrastructure_cluster is not None and later.machine_template is not None
    made = create_infrastructure_machine(later, MACHINE, "")
    seen = (later.infrastructure_cluster, later.machine_template, made)
    assert [each["apiVersion"] for each in seen] == 3 * [f"{GROUP}/v1alpha4"]
    graph = Graph(KubernetesStore(api), *NAMES)
    assert {each["apiVersion"] for each in graph.objects if each["kind"] in OLDER} == {f"{GROUP}/v1alpha4"}
    found = KubernetesStore(api).get((GROUP, "ZenithMachine"), "default", MACHINE)
    assert found is not None and found["apiVersion"] == f"{GROUP}/{VERSION}"


def test_a_manifest_of_another_version_than_before(none_yet: KubernetesStore, tmp_path: Path) -> None:
    """What is stored is converted and compared; only the Cluster's note of the version changes."""
    applied(none_yet, tmp_path, "v1alpha4")
    [changed] = applied(KubernetesStore(none_yet.api), tmp_path)
    assert changed.startswith(f"change Cluster {NAMES[0]}/{NAMES[1]}: metadata.annotations")
    later = ClusterObjects.read(KubernetesStore(none_yet.api), *NAMES)
    assert later is not None and (later.machine_template or {})["apiVersion"] == f"{GROUP}/{VERSION}"


def test_a_move_keeps_the_version(none_yet: KubernetesStore, tmp_path: Path) -> None:
    """From files, which have each object in its own version; a second time nothing is changed."""
    files = FileStore(str(tmp_path / "store"))
    applied(files, tmp_path, "v1alpha4")
    graph = Graph(files, *NAMES)
    for changes in (len(graph.objects), 0):
        store = KubernetesStore(none_yet.api)
        copies = Copies(store, NAMES[0], "the API")
        assert len(copies.bring(graph)) == changes
        copies.verify(graph)
    there = Graph(KubernetesStore(none_yet.api), *NAMES).objects
    assert {each["apiVersion"] for each in there if each["kind"] in OLDER} == {f"{GROUP}/v1alpha4"}


def test_a_move_of_machines_in_two_versions(none_yet: KubernetesStore, tmp_path: Path) -> None:
    """Files keep machines in the version in which they were made, also when the manifest has another one since."""
    files = FileStore(str(tmp_path / "store"))
    versions = {"old": "v1alpha4", "new": VERSION, "older": "v1alpha4"}
    for name, version in versions.items():
        applied(files, tmp_path, version)
        objects = ClusterObjects.read(files, *NAMES)
        assert objects is not None
        create_infrastructure_machine(objects, name, "")
    graph = Graph(files, *NAMES)
    for changes in (len(graph.objects), 0):
        copies = Copies(KubernetesStore(none_yet.api), NAMES[0], "the API")
        copies.refuse_foreign(graph)
        copies.refuse_beyond_limits(graph)
        assert len(copies.bring(graph)) == changes
        copies.verify(graph)


def test_a_version_that_does_not_answer(none_yet: KubernetesStore, tmp_path: Path) -> None:
    """An aggregated API without its server: kinds that other versions have are read and written all the same."""
    path, broken = "/apis/apiregistration.k8s.io/v1/apiservices", f"v1beta1.{GROUP}"
    spec = {"group": GROUP, "version": "v1beta1", "groupPriorityMinimum": 1000, "versionPriority": 100}
    service = {"namespace": "default", "name": "none"}
    made = {"metadata": {"name": broken}, "spec": {**spec, "insecureSkipTLSVerify": True, "service": service}}
    send = none_yet.api.send
    send("create", path, {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", **made})
    try:
        until(
            "the version is aggregated",
            lambda: (
                send("get", f"/apis/{GROUP}/v1beta1", accepted=(404, 503)).status == 503
                and send("get", f"/apis/{GROUP}").document["preferredVersion"]["version"] == "v1beta1"
            ),
        )
        assert applied(none_yet, tmp_path)
        with pytest.raises(ApiUnavailable, match=f"{GROUP}/v1beta1"):
            applied(KubernetesStore(none_yet.api), tmp_path, "v1beta1")
    finally:
        send("delete", f"{path}/{broken}", {})


def test_a_status_without_a_subresource(none_yet: KubernetesStore) -> None:
    """It is written with the rest; in a version that has the subresource, apart."""
    machine = (GROUP, "ZenithMachine")
    for version in ("v1alpha4", VERSION):
        store = KubernetesStore(none_yet.api)
        what = {"apiVersion": f"{GROUP}/{version}", "kind": machine[1], "spec": {}, "status": {"machineID": version}}
        store.create({**what, "metadata": {"name": version, "namespace": "default"}})
        stored = store.modify(machine, "default", version, provisioned)
        assert stored["status"] == {"initialization": {"provisioned": True}}
        assert KubernetesStore(none_yet.api).get(machine, "default", version) == {
            **stored,
            "apiVersion": f"{GROUP}/{VERSION}",
        }


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (
            "v1alpha1",
            f"ZenithCluster default/my-nspawncluster is of the version v1alpha1 .* {VERSION}, v1alpha4, v1alpha3, v1alpha2",
        ),
        (
            "v1alpha3",
            f"ZenithMachineTemplate default/my-.* of the version v1alpha3 .* as {VERSION}, v1alpha4, v1alpha2,",
        ),
        ("v1alpha2", f"ZenithMachine is of the version v1alpha2 .* this kind as {VERSION}, v1alpha4,"),
    ],
)
def test_a_version_that_is_not_served(none_yet: KubernetesStore, tmp_path: Path, version: str, said: str) -> None:
    """Of the infrastructure cluster, the template or the machines: the served versions are named, and nothing at all is stored."""
    with pytest.raises(
        StoreError, match=f"{said}.*It was not written. .*manifest apiVersion {GROUP}/{VERSION} can be written"
    ):
        applied(none_yet, tmp_path, version)
    assert not any(none_yet.list((GROUP, kind)) for kind in OLDER)
    assert none_yet.get(("cluster.x-k8s.io", "Cluster"), *NAMES) is None


@pytest.mark.usefixtures("zenith")
def test_the_runners_role_has_a_providers_own_kinds(server: ApiServer) -> None:
    """Without definitions beside the provider's, nor rights for other software's kinds; once, and then nothing is missing."""
    api = KubernetesApi({"kubeconfig": server.kubeconfig})
    wish = installation.Wish(installation.kinds_for(PROVIDERS), ["foreign"], [{"kind": "User", "name": "zenith"}])
    changes = installation.plan(api, wish)
    assert not [each.title for each in changes if "zenith" in each.title]
    installation.carry_out(api, changes, lambda line: None)
    assert installation.plan(api, wish) == []
    server.until_allowed("zenith", "create", GROUP, "zenithmachines", namespace="foreign")
    as_runner = KubernetesStore(KubernetesApi({"kubeconfig": kubeconfig_of(server, "zenith")}))
    what = {"apiVersion": f"{GROUP}/{VERSION}", "kind": "ZenithMachine", "spec": {}}
    as_runner.create({**what, "metadata": {"name": "a", "namespace": "foreign"}})
    as_runner.modify((GROUP, "ZenithMachine"), "foreign", "a", provisioned)
    assert as_runner.delete((GROUP, "ZenithMachine"), "foreign", "a") is None
    stranger = KubernetesStore(KubernetesApi({"kubeconfig": kubeconfig_of(server, "stranger")}))
    rule = f'apiGroups: ["{GROUP}"], resources: ["zenithmachines"], verbs: ["list"]'
    with pytest.raises(StoreError, match=re.escape(rule)):
        stranger.list((GROUP, "ZenithMachine"), "foreign")


def test_a_provider_that_is_not_installed(kubernetes_store: KubernetesStore, tmp_path: Path) -> None:
    with pytest.raises(
        StoreError, match=r"no kind ZenithCluster in the group infra\.absent\.example.*Install the provider's"
    ):
        applied(kubernetes_store, tmp_path, group="infra.absent.example")
