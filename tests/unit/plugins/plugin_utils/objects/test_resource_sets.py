# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ClusterResourceSets in a manifest, and what is in the ConfigMaps and Secrets that they name."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
from typing import Any, Callable

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import Violation
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import (
    ClusterManifest,
    list_clusters,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.resource_sets import contents

Object = dict[str, Any]
Documents = list[Object]
Read = Callable[..., ClusterManifest]
Refused = Callable[..., list[Violation]]
TYPE = "addons.cluster.x-k8s.io/resource-set"
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"
ACCOUNT = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: shop, namespace: shop}\n"


def resource_set(version: str = "v1beta2", **changes: Any) -> Object:
    """A set that selects the label cni of a Cluster."""
    spec = {
        "clusterSelector": {"matchLabels": {"cni": "flannel"}},
        "resources": [{"kind": "ConfigMap", "name": "cni"}, {"kind": "Secret", "name": "ccm"}],
    }
    metadata = {"name": "cni", "namespace": "default"}
    api_version = f"addons.cluster.x-k8s.io/{version}"
    return {"apiVersion": api_version, "kind": "ClusterResourceSet", "metadata": metadata, "spec": {**spec, **changes}}


def config_map(**data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cni", "namespace": "default"}, "data": data}


def secret(kind: str = TYPE, **data: str) -> Object:
    metadata = {"name": "ccm", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": kind, "stringData": data}


@pytest.fixture
def labelled(documents: Documents) -> Documents:
    """The example's cluster, which has the label."""
    documents[0]["metadata"].setdefault("labels", {})["cni"] = "flannel"
    return documents


@pytest.mark.parametrize("version", ["v1alpha3", "v1alpha4", "v1beta1", "v1beta2"])
def test_a_set_comes_with_what_it_names(read: Read, labelled: Documents, version: str) -> None:
    """Every version has the same fields; nothing of it is a stranger any more."""
    found = read([*labelled, resource_set(version), config_map(a=NAMESPACE), secret(b=ACCOUNT)])
    [read_set] = found.resource_sets
    assert read_set["apiVersion"] == "addons.cluster.x-k8s.io/v1beta2" and read_set["spec"]["strategy"] == "ApplyOnce"
    assert [(each["kind"], each["metadata"]["name"]) for each in found.resources] == [
        ("ConfigMap", "cni"),
        ("Secret", "ccm"),
    ]
    assert base64.b64decode(found.resources[1]["data"]["b"]).decode() == ACCOUNT
    assert found.unmanaged == ()


def test_what_it_names_may_be_in_the_store_already(read: Read, labelled: Documents) -> None:
    assert read([*labelled, resource_set()]).resources == ()


def test_a_set_of_others_is_left_alone(read: Read, documents: Documents) -> None:
    """Its labels select no Cluster of the files, or it is in another namespace."""
    elsewhere = copy.deepcopy(resource_set())
    elsewhere["metadata"]["namespace"] = "b"
    found = read([*documents, resource_set(), elsewhere, config_map(a="{{ not: ours"), secret(b=ACCOUNT)])
    assert found.resource_sets == found.resources == ()
    assert [(each.kind, each.count) for each in found.unmanaged] == [
        ("ClusterResourceSet", 2),
        ("ConfigMap", 1),
        ("Secret", 1),
    ]


def test_a_config_map_that_no_set_names_is_left_alone(read: Read, labelled: Documents) -> None:
    """Whatever is in it, and where it is named by a set of other clusters alone."""
    unnamed: list[Object] = [
        {
            **config_map(a="kind: List\n"),
            "binaryData": {"b": "AA=="},
            "metadata": {"name": name, "namespace": "default"},
        }
        for name in ("other", "theirs")
    ]
    of_others = resource_set(
        clusterSelector={"matchLabels": {"cni": "none"}}, resources=[{"kind": "ConfigMap", "name": "theirs"}]
    )
    of_others["metadata"]["name"] = "of-others"
    found = read([*labelled, resource_set(), of_others, *unnamed])
    assert found.resources == () and ("ConfigMap", 2) in [(each.kind, each.count) for each in found.unmanaged]


@pytest.mark.parametrize("changes", [{"binaryData": {"b": "AA=="}}, {"data": {"a": "kind: List\napiVersion: v1\n"}}])
def test_a_config_map_that_a_set_names_is_read(refused: Refused, labelled: Documents, changes: Object) -> None:
    assert len(refused([*labelled, resource_set(), {**config_map(a=NAMESPACE), **changes}])) == 1


def test_a_file_of_its_own_belongs_to_the_cluster(tmp_path: Any, labelled: Documents) -> None:
    paths = []
    for name, documents in (("cluster", labelled), ("cni", [resource_set()]), ("map", [config_map(a=NAMESPACE)])):
        path = tmp_path / f"{name}.json"
        path.write_text("\n---\n".join(map(json.dumps, documents)))
        paths.append(str(path))
    [entry] = list_clusters(paths)
    assert sorted(entry.paths) == sorted(paths)


@pytest.mark.parametrize(
    ("changes", "path", "says"),
    [
        ({"strategy": "Always"}, "spec.strategy", "no such strategy"),
        ({"resources": []}, "spec.resources", "nothing that could be applied"),
        (
            {"resources": [{"kind": "Deployment", "name": "a"}]},
            "spec.resources[0].kind",
            "ConfigMaps and Secrets alone",
        ),
        ({"resources": [{"kind": "Secret"}]}, "spec.resources[0].name", "has no name"),
        ({"resources": [{"kind": "Secret", "name": "x"}] * 2}, "spec.resources[1].name", "twice"),
        ({"clusterSelector": {"matchLabels": {"cni": "flannel"}, "x": 1}}, "spec.clusterSelector.x", "no such field"),
    ],
)
def test_a_set_that_can_not_be(
    refused: Refused, labelled: Documents, changes: dict[str, Any], path: str, says: str
) -> None:
    found = refused([*labelled, resource_set(**changes)])
    assert [each.path for each in found] == [path] and says in found[0].text()


def test_contents_that_can_not_be_applied_are_told_before_anything_is_made(
    refused: Refused, labelled: Documents
) -> None:
    """By key and line of the value, and without the value."""
    broken = "apiVersion: v1\nkind: Namespace\nmetadata: {}\n---\nkind: s3cr3t\n"
    found = refused([*labelled, resource_set(), config_map(a=broken), secret(b="a: [s3cr3t")])
    texts = [each.text() for each in found]
    assert [each.path for each in found] == ["data.a", "data.a", "data.b"]
    assert "line 1 of this value: the Namespace has no metadata.name" in texts[0] and "line 5" in texts[1]
    assert "s3cr3t" not in texts[2]


@pytest.mark.parametrize(
    "text", ["a: *s3cr3t", "a: !s3cr3t x", "{s3cr3t: 1, s3cr3t: 2}", "apiVersion: v1\nkind: s3cr3tList\nitems: []"]
)
def test_what_breaks_the_rules_in_a_secret_is_not_quoted(text: str) -> None:
    """A password that begins with '!' or '*' is a tag or an alias to YAML."""
    encoded = {**secret(), "data": {"b": base64.b64encode(text.encode()).decode()}}
    assert "s3cr3t" in contents.documents(config_map(b=text))[1][0].text()
    [violation] = contents.documents(encoded)[1]
    assert "s3cr3t" not in violation.text() and violation.path == "data.b"


def test_a_list_that_python_can_not_follow_is_a_violation() -> None:
    [violation] = contents.documents(config_map(a="[" * 100_000))[1]
    assert "not a list in JSON" in violation.rule


def test_a_secret_of_another_type_is_no_set_s(refused: Refused, labelled: Documents) -> None:
    [violation] = refused([*labelled, resource_set(), secret("Opaque", b=ACCOUNT)])
    assert violation.path == "type" and TYPE in violation.fix


def test_binary_data_and_namesakes_are_refused(refused: Refused, labelled: Documents) -> None:
    found = refused([*labelled, resource_set(), {**config_map(a=NAMESPACE), "binaryData": {"b": "AA=="}}])
    assert [each.path for each in found] == ["binaryData"]
    found = refused([*labelled, resource_set(), config_map(a=NAMESPACE), config_map(a=ACCOUNT)])
    assert "two objects of this kind and name" in found[0].text()


def test_documents_come_in_an_order_that_works() -> None:
    """Several in a value, several values, a list in JSON; namespaces and definitions before what needs them."""
    definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.b}\n"
    custom = "apiVersion: b/v1\nkind: A\nmetadata: {name: x}\n"
    listed = json.dumps([{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}])
    found, violations = contents.documents(
        config_map(a=f"{custom}---\n{ACCOUNT}", b=f"{definition}---\n{NAMESPACE}", c=listed)
    )
    assert violations == []
    order = [each["kind"] for each in found]
    assert order == ["Namespace", "CustomResourceDefinition", "ServiceAccount", "Pod", "A"]


def test_the_hash_is_cluster_apis() -> None:
    """Over the values by their keys' order, a Secret's decoded; so a cluster taken over is not applied to anew."""
    expected = "sha256:" + hashlib.sha256(b"onetwo").hexdigest()
    assert contents.content_hash(config_map(b="two", a="one")) == expected
    data = {key: base64.b64encode(value).decode() for key, value in (("a", b"one"), ("b", b"two"))}
    assert contents.content_hash({"kind": "Secret", "data": data}) == expected


@pytest.mark.parametrize(
    ("resource", "state"),
    [
        (None, "missing"),
        ({"kind": "ConfigMap", "data": {"a": "b"}}, "present"),
        ({"kind": "ConfigMap"}, "unreadable"),
        ({"kind": "Secret", "type": TYPE, "data": {"a": "YQ=="}}, "present"),
        ({"kind": "Secret", "type": TYPE, "data": {"a": "%"}}, "unreadable"),
        ({"kind": "Secret", "type": "Opaque", "data": {"a": "YQ=="}}, "wrongType"),
    ],
)
def test_whether_a_stored_resource_can_be_applied(resource: Any, state: str) -> None:
    assert contents.state_of(resource) == state
