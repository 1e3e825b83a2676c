# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ClusterResourceSets name reaches a real API server: in order, once or again, and with its own words where it refuses."""

from __future__ import annotations

import base64
import typing as t
from pathlib import Path

import pytest
import yaml
from stored_cluster import stored_cluster
from tasks import Playbook, Task

from ansible_collections.kubeadm.control_plane.plugins.module_utils.workload_api.apply import FIELD_MANAGER, apply
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.rollout import resource_sets as rules
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.resource_sets import contents
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import CLUSTER
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.resource_sets import stored_resource_sets
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

from .conftest import Workload

Object = dict[str, t.Any]
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.shop.example.org}
spec:
  group: shop.example.org
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
"""
GADGET = """
apiVersion: shop.example.org/v1
kind: Gadget
metadata: {name: first, namespace: sets}
size: 1
"""
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: sets}\n"
SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME, namespace: sets}\ndata: {color: COLOR}\n"
SETTING = "/api/v1/namespaces/sets/configmaps"


def setting(name: str, color: str) -> str:
    """A ConfigMap for the workload cluster."""
    return SETTINGS.replace("NAME", name).replace("COLOR", color)


def applied(workload: Workload, *texts: str, once: bool = False, private: bool = False) -> list[tuple[str, str]]:
    """What became of each document."""
    documents = [each for text in texts for each in yaml.safe_load_all(text)]
    with workload.server.client() as client:
        return [(each.done, each.message) for each in apply(client, documents, once, private)]


def test_a_kind_is_waited_for_that_was_defined_just_before(workload: Workload) -> None:
    resource = {
        "kind": "ConfigMap",
        "metadata": {"name": "a"},
        "data": {"1": GADGET + "---\n" + NAMESPACE, "2": DEFINITION},
    }
    documents, violations = contents.documents(resource)
    assert violations == []
    with workload.server.client() as client:
        done = apply(client, documents, create_only=True, private=False)
    assert [each.done for each in done] == ["created"] * 3, done
    gadget = workload.there("/apis/shop.example.org/v1/namespaces/sets/gadgets/first")
    assert [each["manager"] for each in gadget["metadata"]["managedFields"]] == [FIELD_MANAGER]


def test_once_leaves_what_is_there_and_again_takes_only_what_it_says(workload: Workload) -> None:
    assert applied(workload, NAMESPACE, setting("a", "red"))[1:] == [("created", "")]
    workload.patch(f"{SETTING}/a", {"data": {"color": "blue", "mine": "x"}})
    assert applied(workload, setting("a", "red"), once=True) == [("kept", "")]
    assert workload.there(f"{SETTING}/a")["data"] == {"color": "blue", "mine": "x"}
    assert applied(workload, setting("a", "green")) == [("changed", "")]
    assert workload.there(f"{SETTING}/a")["data"] == {"color": "green", "mine": "x"}
    assert applied(workload, setting("a", "green")) == [("unchanged", "")]


def test_what_takes_too_long_ends_with_what_was_done(workload: Workload, monkeypatch: pytest.MonkeyPatch) -> None:
    """The controller would end the call, and nobody would know of it."""
    monkeypatch.setattr(
        "ansible_collections.kubeadm.control_plane.plugins.module_utils.common.settings.APPLY_SECONDS", 0.0
    )
    [(done, message)] = applied(workload, setting("late", "red"))
    assert done == "refused" and message.startswith("not tried")
    assert workload.get(f"{SETTING}/late") is None


def test_a_refusal_is_the_api_servers_and_ends_nothing(workload: Workload) -> None:
    """Of what may be secret only the reason and the fields."""
    bad = "apiVersion: v1\nkind: Service\nmetadata: {name: bad, namespace: sets}\nspec: {ports: [{port: 80, protocol: s3cr3t}]}\n"
    nothing = "apiVersion: nothing.example.org/v1\nkind: Nothing\nmetadata: {name: x}\n"
    done = applied(workload, NAMESPACE, bad, nothing, setting("after", "red"))
    assert [each for each, _message in done][1:] == ["refused", "refused", "created"]
    assert 'Unsupported value: "s3cr3t"' in done[1][1] and "HTTP 422" in done[1][1]
    [(_done, told)] = applied(workload, bad, private=True)
    assert "s3cr3t" not in told and "Invalid in spec.ports[0].protocol" in told
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: bad, namespace: sets}\ndata: {a: s3cr3t!}\n"
    [(done_of_secret, told)] = applied(workload, secret)
    assert done_of_secret == "refused" and "s3cr3t" not in told


def test_the_step_applies_records_and_leaves_nothing_to_do(workload: Workload, tmp_path: Path) -> None:
    """Through a machine of the cluster, as a run does it; what is refused is recorded and fails nothing."""
    folder = tmp_path / "store"
    stored_cluster(folder, "v1.31.0", {}, {}, machines={"m1": "node"})
    store = FileStore(str(folder))
    store.modify(CLUSTER, "default", "prod", lambda stored: stored["metadata"].update(labels={"cni": "x"}))
    resources = [{"kind": "ConfigMap", "name": "good"}, {"kind": "Secret", "name": "bad"}]
    spec = {"clusterSelector": {"matchLabels": {"cni": "x"}}, "resources": resources, "strategy": "Reconcile"}
    _create(store, "addons.cluster.x-k8s.io/v1beta2", "ClusterResourceSet", "cni", spec=spec)
    _create(store, "v1", "ConfigMap", "good", data={"a": NAMESPACE + "---\n" + setting("step", "red")})
    broken = base64.b64encode(setting("step", "{a: s3cr3t}").encode()).decode()
    secret = {"type": "addons.cluster.x-k8s.io/resource-set", "data": {"a": broken}}
    _create(store, "v1", "Secret", "bad", **secret)
    playbook = Playbook(tmp_path, workload.server.kubeconfig, workload.server.kubectl, {"prod": {}, "node": {}})
    common = {"cluster": "prod", "store": {"path": str(folder)}}
    foreseen, first, second = playbook.run(
        Task("resource_sets", common, check=True), Task("resource_sets", common), Task("resource_sets", common)
    )
    assert foreseen["changed"] and not workload.get(f"{SETTING}/unknown")
    assert first["applied"] == ["ClusterResourceSet cni, ConfigMap good"], first
    [refused] = first["refused"]
    assert refused.startswith("ClusterResourceSet cni, Secret bad: ConfigMap sets/step") and "s3cr3t" not in refused
    assert not second["changed"], "what was refused just now is not tried again at once"
    assert workload.there(f"{SETTING}/step")["data"] == {"color": "red"}
    cluster = store.get(CLUSTER, "default", "prod")
    assert cluster is not None
    [facts] = stored_resource_sets.facts(store, cluster)
    assert [each["name"] for each in rules.wanted(facts)] == ["bad"] and "ConfigMap sets/step" in facts["message"]
    assert [each["applied"] for each in facts["resources"]] == [True, False]
    owners = (store.get(("", "ConfigMap"), "default", "good") or {})["metadata"]["ownerReferences"]
    assert [each["kind"] for each in owners] == ["ClusterResourceSet"]


def _create(store: FileStore, api_version: str, kind: str, name: str, **content: t.Any) -> None:
    store.create(
        {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "default"}, **content}
    )
