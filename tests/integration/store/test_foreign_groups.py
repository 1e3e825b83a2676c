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
from management import kubeconfig_of
from management_workspace import DEFINITIONS
from stored_manifest import Documents, example

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.crds import crd_names, definitions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.management import installation
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.move.graph import Graph
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import read_cluster
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records import stored_cluster, stored_desired_state
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import ClusterObjects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.machine_objects import (
    create_infrastructure_machine,
    machine_object,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.base import Store, StoreError
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.requests import KubernetesApi
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import KubernetesStore

GROUP, VERSION = "infra.zenith.example", "v1alpha5"
PROVIDERS = {"ZenithCluster": "zenith.cloud.machine", "ZenithMachineTemplate": "zenith.cloud.machine"}
NAMES, MACHINE = ("default", "my-cluster"), "my-control-plane-a"


@pytest.fixture(scope="module")
def zenith(server: ApiServer) -> t.Iterator[None]:
    """The definitions that such a provider brings, of two versions; the older one is not the preferred one."""
    names = []
    for kind in definitions.infrastructure_kinds("Zenith"):
        made = definitions.definition(kind)
        names.append(crd_names.crd_name(GROUP, kind.name))
        made["metadata"] = {"name": names[-1]}
        [served] = made["spec"]["versions"]
        older = {**copy.deepcopy(served), "name": "v1alpha4", "storage": False}
        made["spec"].update(group=GROUP, versions=[{**served, "name": VERSION}, older])
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


@pytest.mark.usefixtures("zenith")
def test_a_served_version_that_is_not_preferred(kubernetes_store: KubernetesStore, tmp_path: Path) -> None:
    """The manifest's version is used, by a new store too; who has no manifest reads the preferred one."""
    for kind in ("ZenithCluster", "ZenithMachineTemplate"):
        for where, name in kubernetes_store.names((GROUP, kind)):
            kubernetes_store.delete((GROUP, kind), where, name)
    assert f"create ZenithCluster {NAMES[0]}/my-nspawncluster" in applied(kubernetes_store, tmp_path, "v1alpha4")
    again = KubernetesStore(kubernetes_store.api)
    assert applied(again, tmp_path, "v1alpha4") == []
    reference = ((GROUP, "ZenithCluster"), "default", "my-nspawncluster")
    found = [each.get(*reference) for each in (again, KubernetesStore(kubernetes_store.api))]
    assert [each and each["apiVersion"] for each in found] == [f"{GROUP}/v1alpha4", f"{GROUP}/{VERSION}"]


@pytest.mark.usefixtures("zenith")
def test_a_version_that_is_not_served(kubernetes_store: KubernetesStore, tmp_path: Path) -> None:
    """What its fields mean only its provider knows: the served versions are said, and nothing is stored."""
    before = kubernetes_store.list((GROUP, "ZenithCluster"))
    with pytest.raises(StoreError, match=f"is of the version v1alpha3.*serves this kind as {VERSION}, v1alpha4"):
        applied(kubernetes_store, tmp_path, "v1alpha3")
    assert kubernetes_store.list((GROUP, "ZenithCluster")) == before


@pytest.mark.usefixtures("zenith")
def test_the_runners_role_has_a_providers_own_kinds(server: ApiServer) -> None:
    """Without definitions beside the provider's; once, and then nothing is missing."""
    api = KubernetesApi({"kubeconfig": server.kubeconfig})
    wish = installation.Wish(installation.kinds_for(PROVIDERS), ["foreign"], [{"kind": "User", "name": "zenith"}])
    changes = installation.plan(api, wish)
    assert not [each.title for each in changes if "zenith" in each.title]
    installation.carry_out(api, changes, lambda line: None)
    assert installation.plan(api, wish) == []
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
    with pytest.raises(StoreError, match=r"infra\.absent\.example"):
        applied(kubernetes_store, tmp_path, group="infra.absent.example")
