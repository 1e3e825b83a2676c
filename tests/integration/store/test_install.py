# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `install` makes of a bare API server, what it leaves alone, and whom it refuses; a real kube-apiserver answers."""

from __future__ import annotations

import copy
import json
import typing as t
from pathlib import Path

import pytest
import yaml
from actions import run_action
from api_server import ApiServer
from etcd_cluster import until
from newer_api_server import start_api_server
from store_objects import MACHINE, machine
from workspace import Workspace, cluster_documents

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.crds import definitions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.management import installation, recognition, roles
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes import dropped_fields
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.requests import (
    KubernetesApi,
    Refused,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import (
    KubernetesStore,
    kind_path,
)

Object = dict[str, t.Any]
WISH = installation.Wish(
    installation.kinds_for({"AcmeCluster": "acme.machine", "AcmeMachineTemplate": "acme.machine"}),
    ["default", "team-a"],
    [{"kind": "User", "name": "runner"}, {"kind": "ServiceAccount", "name": "awx", "namespace": "awx"}],
)
# As good for what is about one definition, and quicker.
FEW = installation.Wish(definitions.KINDS[:3], ["default"])
CLUSTER = ("cluster.x-k8s.io", "Cluster")
CLUSTERS = f"{installation.DEFINITIONS}/clusters.cluster.x-k8s.io"
OURS = {definitions.MANAGED_BY: definitions.MANAGER}


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[ApiServer]:
    """An API server that nobody installed anything in."""
    server = start_api_server(tmp_path_factory.mktemp("bare"))
    try:
        server.wait_ready()
        api = KubernetesApi({"kubeconfig": server.kubeconfig})
        # It makes its own namespaces a moment after it serves.
        until(
            "the namespace default",
            lambda: api.send("get", "/api/v1/namespaces/default", accepted=(404,)).status == 200,
        )
        yield server
    finally:
        server.end()


@pytest.fixture
def api(bare: ApiServer) -> t.Iterator[KubernetesApi]:
    """The API, from which each test's definitions and roles are taken away."""
    api = KubernetesApi({"kubeconfig": bare.kubeconfig})
    yield api
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    owned = [
        f"{rbac}/namespaces/{namespace}/{kind}" for namespace in WISH.namespaces for kind in ("roles", "rolebindings")
    ]
    for parent in (installation.DEFINITIONS, f"{rbac}/clusterroles", *owned):
        for each in api.send("get", parent).document["items"]:
            if parent == installation.DEFINITIONS or each["metadata"]["name"].startswith("kubeadm-control-plane"):
                api.send("delete", f"{parent}/{each['metadata']['name']}")
    until("the definitions are gone", lambda: not api.send("get", installation.DEFINITIONS).document["items"])


def install(api: KubernetesApi, wish: installation.Wish = FEW) -> list[str]:
    said: list[str] = []
    installation.carry_out(api, installation.plan(api, wish), said.append)
    return said


def clusters_of_somebody(labels: Object, **spec: t.Any) -> Object:
    """A definition of the kind Cluster with these labels."""
    made = definitions.definition(definitions.KINDS[0])
    assert made["spec"]["names"]["kind"] == "Cluster"
    made["metadata"].update(labels=labels, annotations={})
    made["spec"].update(spec)
    return made


def test_what_was_made_meanwhile(api: KubernetesApi) -> None:
    """Two runs at once: what the other one made is as wanted. What somebody else made under that name is not written over."""
    changes = installation.plan(api, FEW)
    installation.carry_out(api, changes, lambda line: None)
    installation.carry_out(api, changes, lambda line: None)
    assert installation.plan(api, FEW) == []
    [role] = [each for each in changes if each.title.startswith("Role ")]
    theirs = {**role.after, "rules": []}
    api.send("delete", role.path)
    api.send("create", role.path.rpartition("/")[0], theirs)
    with pytest.raises(Refused, match="already exists"):
        installation.carry_out(api, changes, lambda line: None)
    assert not api.send("get", role.path).document["rules"]


def test_everything_is_made_and_the_second_time_nothing(api: KubernetesApi) -> None:
    said = install(api, WISH)
    made = [line for line in said if line.startswith("create CustomResourceDefinition ")]
    assert len(made) == len(WISH.kinds) == len(definitions.KINDS) + 3
    assert "create CustomResourceDefinition acmemachinetemplates.infrastructure.cluster.x-k8s.io" in said
    assert said[len(made) :] == [
        "create ClusterRole kubeadm-control-plane-manager",
        "create ClusterRole kubeadm-control-plane-edit",
        "create ClusterRole kubeadm-control-plane-actions",
        "create ClusterRole kubeadm-control-plane-view",
        "create Role default/kubeadm-control-plane-runner",
        "create RoleBinding default/kubeadm-control-plane-runner",
        "create Namespace team-a",
        "create Role team-a/kubeadm-control-plane-runner",
        "create RoleBinding team-a/kubeadm-control-plane-runner",
    ]
    for kind in WISH.kinds:
        path = kind_path((definitions.group_of(kind.name), kind.name), "team-a")
        assert api.send("list", path).document["items"] == []
    assert install(api, WISH) == []


def test_looking_writes_nothing(api: KubernetesApi) -> None:
    """What check mode does."""
    assert len(installation.plan(api, WISH)) > len(WISH.kinds)
    assert api.send("get", installation.DEFINITIONS).document["items"] == []


def test_what_was_changed_by_hand_is_put_right_and_what_others_added_stays(api: KubernetesApi) -> None:
    install(api)
    changed = api.send("get", CLUSTERS).document
    changed["metadata"]["labels"]["team"] = "platform"
    del changed["metadata"]["labels"][definitions.PROVIDER_LABEL]
    changed["spec"]["versions"][0]["additionalPrinterColumns"].pop()
    changed["spec"]["names"]["shortNames"] = ["cl", "clu"]
    api.send("update", CLUSTERS, changed)
    role = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles/kubeadm-control-plane-runner"
    wider = api.send("get", role).document
    wider["rules"].append({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]})
    api.send("update", role, wider)
    first, second = changes = installation.plan(api, FEW)
    before, after = (
        each["spec"]["versions"][0]["additionalPrinterColumns"] for each in (first.before or {}, first.after)
    )
    assert len(before) == len(after) - 1
    assert second.before is not None and len(second.before["rules"]) == len(second.after["rules"]) + 1
    # Whatever the API server itself notes between the two is no conflict.
    noted = api.send("get", CLUSTERS).document
    moment = "2026-01-01T00:00:00Z"
    noted["status"]["conditions"].append({"type": "Noted", "status": "True", "lastTransitionTime": moment})
    api.send("update", f"{CLUSTERS}/status", noted)
    installation.carry_out(api, changes, lambda line: None)
    labels = api.send("get", CLUSTERS).document["metadata"]["labels"]
    assert labels["team"] == "platform" and labels[definitions.PROVIDER_LABEL] == "cluster-api"
    assert install(api) == []


def test_what_somebody_writes_meanwhile_is_not_written_over(api: KubernetesApi) -> None:
    install(api)
    changed = api.send("get", CLUSTERS).document
    changed["spec"]["names"]["shortNames"] = ["clu"]
    api.send("update", CLUSTERS, changed)
    changes = installation.plan(api, FEW)
    mine = api.send("get", CLUSTERS).document
    mine["metadata"]["labels"]["team"] = "platform"
    api.send("update", CLUSTERS, mine)
    with pytest.raises(Refused, match="the object has been modified"):
        installation.carry_out(api, changes, lambda line: None)
    assert api.send("get", CLUSTERS).document["metadata"]["labels"]["team"] == "platform"


def test_a_half_done_installation_is_gone_on_with(api: KubernetesApi) -> None:
    installation.carry_out(api, installation.plan(api, FEW)[:2], lambda line: None)
    said = install(api)
    assert len([line for line in said if line.startswith("create CustomResourceDefinition ")]) == 1
    assert install(api) == []


def test_objects_survive_definitions_of_an_older_release(api: KubernetesApi) -> None:
    """An upgrade of the collection: its definitions have a field more than those that are there."""
    older = definitions.definition(next(kind for kind in definitions.KINDS if kind.name == "Machine"))
    del older["metadata"]["annotations"]
    del older["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["failureDomain"]
    api.send("create", installation.DEFINITIONS, older)
    install(api)
    machines = kind_path(("cluster.x-k8s.io", "Machine"), "default")

    def kept() -> bool:
        # An API server takes a moment until it goes by a definition that it has stored.
        made = {**machine("m"), "metadata": {"generateName": "m-"}}
        made["spec"]["failureDomain"] = "a"
        return "failureDomain" in api.send("create", machines, made).document["spec"]

    until("the new definition is gone by", kept)


CLUSTER_APIS: dict[str, Object] = {
    "its own label": {"cluster.x-k8s.io/provider": "cluster-api", "cluster.x-k8s.io/v1beta1": "v1beta1"},
    "its own contract label": {"cluster.x-k8s.io/v1beta1": "v1beta1"},
}


@pytest.mark.parametrize("labels", CLUSTER_APIS.values(), ids=CLUSTER_APIS.keys())
def test_cluster_apis_controllers_are_not_fought(api: KubernetesApi, labels: Object) -> None:
    api.send("create", installation.DEFINITIONS, clusters_of_somebody(labels))
    with pytest.raises(recognition.ManagedElsewhere, match="Cluster API's own controllers") as caught:
        install(api)
    assert "clusters.cluster.x-k8s.io are Cluster API's" in str(caught.value)
    assert "Nothing was changed" in caught.value.fix
    assert len(api.send("get", installation.DEFINITIONS).document["items"]) == 1


def test_cluster_api_that_was_applied_over_ours_is_recognised(api: KubernetesApi) -> None:
    """kubectl apply merges: our label stays, and the conversion is a webhook's."""
    webhook = {
        "strategy": "Webhook",
        "webhook": {
            "conversionReviewVersions": ["v1"],
            "clientConfig": {
                "service": {"name": "capi-webhook-service", "namespace": "capi-system", "path": "/convert"}
            },
        },
    }
    labels = {**OURS, "cluster.x-k8s.io/provider": "cluster-api"}
    api.send("create", installation.DEFINITIONS, clusters_of_somebody(labels, conversion=webhook))
    with pytest.raises(recognition.ManagedElsewhere):
        install(api)


def machine_pools() -> installation.Change:
    """The definition of Cluster API's MachinePools, to be made."""
    sets = copy.deepcopy(clusters_of_somebody({}))
    sets["metadata"]["name"] = "machinepools.cluster.x-k8s.io"
    sets["spec"]["names"] = {"kind": "MachinePool", "plural": "machinepools", "listKind": "MachinePoolList"}
    return installation.Change("x", None, sets, f"{installation.DEFINITIONS}/machinepools.cluster.x-k8s.io")


def test_cluster_apis_other_kinds_give_it_away(api: KubernetesApi) -> None:
    """Its MachinePools are served beside our own definitions: whoever may ask what is served can tell, a runner too."""
    installation.carry_out(api, [machine_pools()], lambda line: None)
    with pytest.raises(recognition.ManagedElsewhere, match="machinepools are Cluster API's"):
        install(api)


def test_no_run_begins_beside_cluster_api(bare: ApiServer, api: KubernetesApi, tmp_path: Path) -> None:
    """Also where nobody ran install: it was found by a kubeconfig of the wrong cluster, say."""
    store = {"type": "kubernetes", "kubeconfig": bare.kubeconfig, "path": str(tmp_path / "journal")}
    install(api)
    taken = run_action("run", cluster="prod", store=store)
    assert not taken.get("failed"), taken
    run_action("run", cluster="prod", store=store, state="absent")
    installation.carry_out(api, [machine_pools()], lambda line: None)
    manifest = tmp_path / "prod.yaml"
    manifest.write_text(yaml.safe_dump_all(cluster_documents("prod")))
    for refused in (
        run_action("run", cluster="prod", store=store),
        run_action("run", True, cluster="prod", store=store),
        run_action("plan", cluster="prod", store=store, manifests=[str(manifest)]),
    ):
        assert refused["failed"] and "Cluster API's own controllers manage these kinds" in refused["msg"]


def test_a_field_that_the_definition_does_not_know_is_no_silent_loss(api: KubernetesApi) -> None:
    """Definitions of another release: an API server drops what it doesn't know, and a run would write it for ever."""
    older = definitions.definition(next(kind for kind in definitions.KINDS if kind.name == "Machine"))
    del older["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["failureDomain"]
    change = installation.Change("x", None, older, f"{installation.DEFINITIONS}/machines.cluster.x-k8s.io")
    installation.carry_out(api, [change], lambda line: None)
    store = KubernetesStore(api)
    made = machine("m-1")
    made["spec"]["failureDomain"] = "a"
    with pytest.raises(dropped_fields.FieldDropped, match=r"dropped spec\.failureDomain of a Machine") as caught:
        store.create(made)
    assert "kubeadm.control_plane.install" in caught.value.fix
    found = store.get(MACHINE, "default", "m-1")
    assert found is not None and "failureDomain" not in found["spec"]
    with pytest.raises(dropped_fields.FieldDropped):
        store.modify(MACHINE, "default", "m-1", lambda stored: stored["spec"].update(failureDomain="b"))
    store.modify(MACHINE, "default", "m-1", lambda stored: stored["spec"].update(version="v1.21.0", readinessGates=[]))
    store.delete(MACHINE, "default", "m-1")


def test_definitions_of_somebody_else_are_left_alone(api: KubernetesApi) -> None:
    api.send("create", installation.DEFINITIONS, clusters_of_somebody({}))
    with pytest.raises(recognition.OtherDefinitions, match=r"belong to another software: clusters\.cluster"):
        install(api)
    assert "labels" not in api.send("get", CLUSTERS).document["metadata"]


def test_definitions_of_a_newer_release_are_left_alone(api: KubernetesApi) -> None:
    install(api)
    newer = api.send("get", CLUSTERS).document
    newer["metadata"]["annotations"][definitions.REVISION] = str(definitions.REVISION_NUMBER + 1)
    api.send("update", CLUSTERS, newer)
    with pytest.raises(recognition.OtherDefinitions, match="by a newer release of this collection"):
        install(api)


def test_objects_that_are_kept_in_another_version(api: KubernetesApi) -> None:
    """The API server itself would refuse the definition that gives up the version. A run says what is served, and what is needed."""
    old = clusters_of_somebody(OURS)
    old["spec"]["versions"][0]["name"] = "v1beta1"
    installation.carry_out(api, [installation.Change("x", None, old, CLUSTERS)], lambda line: None)
    with pytest.raises(recognition.OtherDefinitions, match="kept in the versions v1beta1"):
        install(api)
    store = KubernetesStore(api)
    for ask in (lambda: store.list(CLUSTER, "default"), lambda: store.get(CLUSTER, "default", "x")):
        with pytest.raises(Refused, match=r"served there in the version v1beta1.*keeps its objects in v1beta2"):
            ask()


def test_names_that_are_taken_are_told(api: KubernetesApi) -> None:
    """Somebody's kind has our short name: the API server serves ours without it, and says so."""
    taken = clusters_of_somebody({})
    taken["metadata"]["name"] = "others.cluster.x-k8s.io"
    taken["spec"]["names"] = {"kind": "Other", "listKind": "OtherList", "plural": "others", "shortNames": ["cl"]}
    path = f"{installation.DEFINITIONS}/others.cluster.x-k8s.io"
    installation.carry_out(api, [installation.Change("x", None, taken, path)], lambda line: None)
    with pytest.raises(installation.NotServed, match="NamesAccepted"):
        install(api)


def test_kinds_for_a_provider_that_serves_the_collections_own_kinds() -> None:
    assert installation.kinds_for({"InventoryCluster": "mine", "NspawnMachineTemplate": "mine"}) == list(
        definitions.KINDS
    )


def test_everybodys_roles_are_aggregated(api: KubernetesApi) -> None:
    """The contract's label, and Kubernetes' own roles."""
    install(api)
    labels = {
        each["metadata"]["name"]: each["metadata"]["labels"]
        for each in api.send("get", "/apis/rbac.authorization.k8s.io/v1/clusterroles").document["items"]
        if each["metadata"]["name"].startswith("kubeadm-control-plane")
    }
    assert labels[roles.MANAGER_ROLE]["cluster.x-k8s.io/aggregate-to-manager"] == "true"
    assert labels[roles.VIEW_ROLE]["rbac.authorization.k8s.io/aggregate-to-view"] == "true"
    assert labels[roles.EDIT_ROLE]["rbac.authorization.k8s.io/aggregate-to-edit"] == "true"


@pytest.fixture
def workspace(bare: ApiServer, api: KubernetesApi, tmp_path: Path) -> Workspace:
    """A folder with the manifest of a cluster in team-a and an inventory whose store is the bare API server."""
    made = Workspace(tmp_path / "user")
    source = {
        "plugin": "kubeadm.control_plane.clusters",
        "manifests": ["clusters/*.yaml"],
        "store": {"type": "kubernetes", "kubeconfig": bare.kubeconfig, "path": "journal"},
    }
    (made.folder / "inventory.clusters.yml").write_text(yaml.safe_dump(source))
    text = made.manifest("prod", replicas=1).read_text()
    made.write("prod", text.replace("namespace: default", "namespace: team-a"))
    return made


def test_the_playbook(api: KubernetesApi, workspace: Workspace) -> None:
    """Before anything is installed the inventory knows the manifest's clusters; check mode and diff show it all."""
    runners = json.dumps({"control_plane_install_runners": [{"kind": "Group", "name": "awx"}]})
    shown = workspace.playbook("install", "--check", "--diff", "-e", runners).succeeded()
    assert shown.recap("localhost")["changed"] == 1
    assert "+kind: CustomResourceDefinition" in shown.output
    assert api.send("get", installation.DEFINITIONS).document["items"] == []
    done = workspace.playbook("install", "-e", runners).succeeded()
    assert done.recap("localhost")["changed"] == 1
    assert "create Role team-a/kubeadm-control-plane-runner" in done.output
    assert "create Role default/" not in done.output
    again = workspace.playbook("install", "-e", runners).succeeded()
    assert again.recap("localhost")["changed"] == 0


def test_a_limit_that_hides_the_controller_is_no_success(workspace: Workspace) -> None:
    assert "give no --limit" in workspace.playbook("install", "--limit", "prod").failed().text


def test_the_playbook_without_a_store(workspace: Workspace) -> None:
    """And with one that needs no installation."""
    (workspace.folder / "inventory.clusters.yml").unlink()
    assert "Nothing was done. Name the API server" in workspace.playbook("install").failed().text
    store = json.dumps({"control_plane_store": {"type": "file", "path": "store"}})
    refused = workspace.playbook("install", "-e", store).failed()
    assert "the store is of the type file, which needs no installation" in refused.text
    assert "Traceback" not in refused.output
