# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a machine template gives to its machines' objects: by server-side apply, with a field manager that has nothing else."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
import yaml
from api_proxy import ApiProxy
from api_server import ApiServer
from management import Kubectl, Runs, kubeconfig_of
from store_objects import MACHINE, SECRET, machine

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.crds import definitions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.management import installation
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.conditions import set_condition
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import (
    CLUSTER,
    KUBEADM_CONFIG,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store import base
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes import applied
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.layout import object_path
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.requests import (
    KubernetesApi,
    Refused,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.store import KubernetesStore

Object = dict[str, t.Any]
NOW = "2026-01-01T00:00:00Z"
INFRASTRUCTURE = ("infrastructure.cluster.x-k8s.io", "NspawnMachine")
GIVEN = {"labels": {"team": "a", "tier": "gold"}, "annotations": {"example.org/cost": "7"}}


class Life:
    """The cluster prod with its first machine, and a manifest whose machine template is changed."""

    def __init__(self, server: ApiServer, store: KubernetesStore, folder: Path) -> None:
        self.store, self.kubectl = store, Kubectl(server)
        self.runs = Runs(server, folder)
        self.give(GIVEN, {"nodeDrainTimeoutSeconds": 60}, [{"conditionType": "Agent"}])
        self.runs.infrastructure_is_there()
        made = self.runs("machine", kind="init")
        assert not made.get("failed"), made
        [self.name] = [each["metadata"]["name"] for each in store.list(MACHINE, "default")]

    def give(
        self, metadata: Object, deletion: Object, gates: list[Object], taints: t.Sequence[Object] = ()
    ) -> list[str]:
        """Write a machine template and apply it; return what was changed in place."""
        documents = list(yaml.safe_load_all(self.runs.manifest.read_text()))
        template = next(each for each in documents if each["kind"] == "KubeadmControlPlane")["spec"]["machineTemplate"]
        template["metadata"] = metadata
        template["spec"].update(deletion=deletion, readinessGates=gates, taints=list(taints))
        self.runs.manifest.write_text(yaml.safe_dump_all(documents))
        return self.reconcile()

    def reconcile(self) -> list[str]:
        """What a run does first, with the manifest as it is."""
        done = self.runs("cluster", manifests=[str(self.runs.manifest)])
        assert not done.get("failed"), done
        return [each for each in done["changes"] if "in place" in each]

    def raw(self, kind_ref: tuple[str, str] = MACHINE) -> Object:
        """An object as the API server has it."""
        return self.store.api.send("get", object_path(kind_ref, "default", self.name)).document

    def fields(self, kind_ref: tuple[str, str] = MACHINE) -> Object:
        """The fields that the template's manager has."""
        entries = [
            each for each in self.raw(kind_ref)["metadata"]["managedFields"] if each["manager"] == applied.MANAGER
        ]
        assert [each["operation"] for each in entries] in ([], ["Apply"])
        return entries[0]["fieldsV1"] if entries else {}


@pytest.fixture
def life(server: ApiServer, kubernetes_store: KubernetesStore, tmp_path: Path) -> Life:
    return Life(server, kubernetes_store, tmp_path)


def test_its_manager_has_what_the_template_says_and_nothing_else(life: Life) -> None:
    """From the creation on, and nobody else has it: what leaves the template would stay with whoever else has it."""
    metadata = {"f:labels": {"f:team": {}, "f:tier": {}}, "f:annotations": {"f:example.org/cost": {}}}
    for kind_ref in (INFRASTRUCTURE, KUBEADM_CONFIG):
        assert life.fields(kind_ref) == {"f:metadata": metadata}
    spec = life.fields()["f:spec"]
    assert life.fields()["f:metadata"] == metadata and set(spec) == {"f:deletion", "f:readinessGates"}
    assert spec["f:deletion"] == {"f:nodeDrainTimeoutSeconds": {}}
    assert [json.loads(key[2:]) for key in spec["f:readinessGates"]] == [{"conditionType": "Agent"}]
    for kind_ref in (MACHINE, INFRASTRUCTURE, KUBEADM_CONFIG):
        raw = life.raw(kind_ref)
        assert applied.RECORD not in raw["metadata"]["annotations"], "the managed fields say it"
        others = [each for each in raw["metadata"]["managedFields"] if each["manager"] != applied.MANAGER]
        assert others and "f:team" not in json.dumps(others) and "f:nodeDrainTimeoutSeconds" not in json.dumps(others)


@pytest.mark.parametrize("metadata", [GIVEN, {}])
def test_what_a_machine_costs(
    server: ApiServer, kubernetes_store: KubernetesStore, tmp_path: Path, metadata: Object
) -> None:
    """A request for each object, one for the KubeadmConfig's status, and one more for each that the template gives something."""
    proxy = ApiProxy(server, tmp_path)
    try:
        life = Life(server, kubernetes_store, tmp_path)
        life.give(metadata, {}, [])
        life.runs.store["kubeconfig"] = proxy.kubeconfig
        assert not life.runs("machine", kind="join").get("failed")
        sent = [each.method for each in proxy.counted() if each.method != "GET"]
    finally:
        proxy.end()
    assert sorted(sent) == ["PATCH"] * (3 if metadata else 0) + ["POST"] * 3 + ["PUT"]


def test_where_nothing_changes_nothing_is_sent(life: Life) -> None:
    before = [
        life.raw(kind_ref)["metadata"]["resourceVersion"] for kind_ref in (MACHINE, INFRASTRUCTURE, KUBEADM_CONFIG)
    ]
    assert life.reconcile() == []
    after = [
        life.raw(kind_ref)["metadata"]["resourceVersion"] for kind_ref in (MACHINE, INFRASTRUCTURE, KUBEADM_CONFIG)
    ]
    assert after == before
    sent = life.store.api.requests
    life.store.modify(MACHINE, "default", life.name, lambda found: None)
    assert life.store.api.requests == sent + 1, "it was read"


def test_what_leaves_the_template_goes_and_what_others_set_stays(life: Life) -> None:
    """Also a label that somebody else has set to the same value, as Cluster API leaves it."""
    life.kubectl("label", "machine", life.name, "theirs=1", "team=a", "--overwrite")
    mine = {"conditionType": "Mine"}
    life.store.modify(MACHINE, "default", life.name, lambda found: found["spec"]["readinessGates"].append(mine))
    assert life.reconcile() == []
    # kubectl sends no label that is so already; another manager says that it wants it.
    body = {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "metadata": {"name": life.name}}
    body["metadata"]["labels"] = {"team": "a"}
    life.store.api.send("patch", object_path(MACHINE, "default", life.name), body, {"fieldManager": "theirs"})
    life.give({"annotations": {"example.org/cost": "8"}}, {}, [])
    found = life.raw()
    assert found["metadata"]["labels"]["theirs"] == "1" and found["metadata"]["labels"]["team"] == "a"
    assert "tier" not in found["metadata"]["labels"] and found["metadata"]["annotations"]["example.org/cost"] == "8"
    assert "deletion" not in found["spec"] and found["spec"]["readinessGates"] == [mine]
    for kind_ref in (INFRASTRUCTURE, KUBEADM_CONFIG):
        assert not {"team", "tier"} & set(life.raw(kind_ref)["metadata"]["labels"])
        assert life.raw(kind_ref)["metadata"]["labels"]["cluster.x-k8s.io/cluster-name"] == "prod"
    assert life.fields() == {"f:metadata": {"f:annotations": {"f:example.org/cost": {}}}}
    assert life.reconcile() == []
    life.give({}, {}, [])
    assert life.fields() == {} and "example.org/cost" not in life.raw()["metadata"]["annotations"]
    assert life.raw()["metadata"]["labels"]["team"] == "a"
    assert life.reconcile() == []


def test_an_edit_of_what_the_template_gives_is_taken_back(life: Life) -> None:
    """As Cluster API does: forced, so that the field is the template's again and can leave with it."""
    life.kubectl("label", "machine", life.name, "team=mine", "tier-", "--overwrite")
    life.kubectl(
        "patch", "machine", life.name, "--type=merge", "-p", '{"spec":{"deletion":{"nodeDrainTimeoutSeconds":1}}}'
    )
    [change] = life.reconcile()
    assert change.startswith(f"change Machine default/{life.name} in place:")
    found = life.raw()
    assert (found["metadata"]["labels"]["team"], found["metadata"]["labels"]["tier"]) == ("a", "gold")
    assert found["spec"]["deletion"] == {"nodeDrainTimeoutSeconds": 60}
    assert life.reconcile() == []
    life.give({}, {}, [])
    assert not {"team", "tier"} & set(life.raw()["metadata"]["labels"])
    # Kubernetes 1.20 leaves null where an apply takes the last of something away.
    assert not {"deletion", "readinessGates"} & set(life.raw()["spec"])


def test_a_run_that_was_killed_between_a_creation_and_its_apply(life: Life) -> None:
    """The next one gives the objects what they lack, and has it alone."""
    before = [life.fields(kind_ref) for kind_ref in (MACHINE, INFRASTRUCTURE, KUBEADM_CONFIG)]
    for kind_ref in (MACHINE, INFRASTRUCTURE, KUBEADM_CONFIG):
        body = applied.request(life.raw(kind_ref), {}, None)
        query = {"fieldManager": applied.MANAGER, "force": "true"}
        life.store.api.send("patch", object_path(kind_ref, "default", life.name), body, query)
        assert life.fields(kind_ref) == {} and "team" not in life.raw(kind_ref)["metadata"]["labels"]
    assert len(life.reconcile()) == 3
    assert [life.fields(kind_ref) for kind_ref in (MACHINE, INFRASTRUCTURE, KUBEADM_CONFIG)] == before
    assert life.raw()["spec"]["deletion"] == {"nodeDrainTimeoutSeconds": 60} and life.reconcile() == []


def test_a_move_carries_it(life: Life, tmp_path: Path) -> None:
    """To files, which keep it as an annotation, and back, where the manager has the same again."""
    before = [life.fields(kind_ref) for kind_ref in (MACHINE, INFRASTRUCTURE, KUBEADM_CONFIG)]
    # What somebody took away meanwhile can't be the template's.
    life.kubectl("label", "machine", life.name, "tier-")
    itself, files = life.runs.store, {"type": "file", "path": str(tmp_path / "files")}
    assert not life.runs("cluster_move", to=files).get("failed")
    [kept] = FileStore(files["path"]).list(MACHINE, "default")
    record = json.loads(kept["metadata"]["annotations"][applied.RECORD])
    assert record["labels"] == ["team"] and record["readinessGates"] == ["Agent"]
    life.runs.store = files
    moved = life.runs("cluster_move", to=itself)
    assert not moved.get("failed"), moved
    life.runs.store = itself
    assert life.fields()["f:metadata"]["f:labels"] == {"f:team": {}}
    assert len(life.reconcile()) == 1
    assert [life.fields(kind_ref) for kind_ref in (MACHINE, INFRASTRUCTURE, KUBEADM_CONFIG)] == before


def test_one_that_is_gone_is_not_made_by_it(kubernetes_store: KubernetesStore) -> None:
    """An apply makes what isn't there; this one is of one object, by its uid."""
    stored = kubernetes_store.create(machine())
    kubernetes_store.api.send("delete", object_path(MACHINE, "default", "m-1"))
    stored["metadata"].update(labels={"team": "a"}, annotations={applied.RECORD: json.dumps({"labels": ["team"]})})
    with pytest.raises(base.StoreError):
        kubernetes_store.update(stored)
    assert kubernetes_store.list(MACHINE) == []
    again = kubernetes_store.create(machine())
    with pytest.raises(base.Conflict):
        kubernetes_store.update(stored)
    assert kubernetes_store.list(MACHINE) == [again]


def test_a_runner_may(server: ApiServer, life: Life) -> None:
    """With the Role of `install`, which lets nobody apply anything to a Cluster or a Secret."""
    admin = KubernetesApi({"kubeconfig": server.kubeconfig})
    wish = installation.Wish(definitions.KINDS, ["default"], [{"kind": "User", "name": "runner"}])
    installation.carry_out(admin, installation.plan(admin, wish), lambda line: None)
    server.until_allowed("runner", "create", MACHINE[0], "machines")
    runner = KubernetesStore(KubernetesApi({"kubeconfig": kubeconfig_of(server, "runner")}))
    record = {applied.RECORD: json.dumps({"labels": ["team"]})}
    for kind_ref in (MACHINE, INFRASTRUCTURE, KUBEADM_CONFIG):
        runner.modify(kind_ref, "default", life.name, lambda found: found["metadata"]["annotations"].update(record))
        assert life.fields(kind_ref) == {"f:metadata": {"f:labels": {"f:team": {}}}}
    for kind_ref, name in ((CLUSTER, "prod"), (SECRET, "prod-ca")):
        with pytest.raises(Refused, match="may not patch"):
            runner.api.send("patch", object_path(kind_ref, "default", name), {}, {"fieldManager": "x"})


def test_a_condition_that_another_manager_applies_is_one_of_many(life: Life) -> None:
    """What a readiness gate names is set by others, by server-side apply, too: it takes no other condition away, and no run takes it away."""
    machine = life.store.modify(MACHINE, "default", life.name, _condition_of_ours)
    theirs = {"type": "Agent", "status": "True", "reason": "Works", "message": "", "lastTransitionTime": NOW}
    head = {key: machine[key] for key in ("apiVersion", "kind")}
    body = {**head, "metadata": {"name": life.name}, "status": {"conditions": [theirs]}}
    path = object_path(MACHINE, "default", life.name) + "/status"
    life.store.api.send("patch", path, body, query={"fieldManager": "agent"})
    found = {each["type"]: each for each in life.raw()["status"]["conditions"]}
    assert found["Agent"] == theirs and found["Deleting"]["reason"] == "NotDeleting"
    life.runs("decide", run="r1")
    assert {"Agent", "Deleting", "Ready"} <= {each["type"] for each in life.raw()["status"]["conditions"]}


def _condition_of_ours(machine: Object) -> None:
    set_condition(machine, "Deleting", "False", "NotDeleting", "", NOW)


def test_taints_of_the_template_and_of_others(life: Life) -> None:
    """Each has who set it for its manager, by key and effect."""
    mine = {"key": "mine", "effect": "NoExecute", "propagation": "Always"}
    rack = {"key": "example.org/rack", "value": "7", "effect": "NoSchedule", "propagation": "OnInitialization"}
    life.store.modify(MACHINE, "default", life.name, lambda found: found["spec"].update(taints=[mine]))
    life.give(GIVEN, {}, [], taints=[rack])
    assert life.raw()["spec"]["taints"] == [mine, rack]
    [key] = life.fields()["f:spec"]["f:taints"]
    assert json.loads(key[2:]) == {"key": rack["key"], "effect": rack["effect"]}
    life.kubectl("patch", "machine", life.name, "--type=merge", "-p", json.dumps({"spec": {"taints": [mine]}}))
    assert len(life.reconcile()) == 1 and life.raw()["spec"]["taints"] == [mine, rack]
    life.give(GIVEN, {}, [])
    assert life.raw()["spec"]["taints"] == [mine] and life.reconcile() == []
