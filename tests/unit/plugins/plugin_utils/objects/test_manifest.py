# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import pathlib
from typing import Any, Callable

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import ManifestError, Violation
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import (
    ClusterManifest,
    list_clusters,
    read_cluster,
)

Documents = list[dict[str, Any]]
Refused = Callable[..., list[Violation]]
Read = Callable[..., ClusterManifest]


def secret(name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, **more}


def test_the_same_cluster_in_every_form_is_equal(examples: pathlib.Path) -> None:
    found = [
        read_cluster([str(examples / f"cluster-{form}.yaml")], "default", "my-cluster")
        for form in ("v1alpha3", "v1beta1", "v1beta2")
    ]
    assert found[0] == found[1] == found[2]
    assert found[0].control_plane["spec"]["replicas"] == 3
    assert found[0].machine_template["spec"] == {"template": {"spec": {"image": "kubernetes-v1.20.2"}}}
    assert found[0].machine_template["apiVersion"] == "infrastructure.cluster.x-k8s.io/v1beta1"
    assert found[0].warnings == ()


def test_the_proposal_as_printed_is_refused_with_its_real_faults(examples: pathlib.Path) -> None:
    path = str(examples / "seed-as-printed.yaml")
    with pytest.raises(ManifestError) as error:
        read_cluster([path], "default", "my-cluster")
    found = {(violation.object, violation.path): violation for violation in error.value.violations}
    cluster, control_plane = "Cluster default/my-cluster", "KubeadmControlPlane default/my-control-plane"
    reference = found[cluster, "spec.controlPlaneRef.name"]
    assert reference.value == "my-controlplane"
    assert reference.fix == "Did you mean my-control-plane?"
    assert reference.source.startswith(path + ":")
    kind = found[cluster, "spec.infrastructureRef.kind"]
    assert kind.rule == "there is no provider for AcmeCluster; known kinds: InventoryCluster, NspawnCluster"
    template = found[control_plane, "spec.infrastructureTemplate.kind"]
    assert "no provider for AcmeProviderMachineTemplate" in template.rule
    providers = [violation for violation in error.value.violations if violation.path.endswith("cloud-provider")]
    assert len(providers) == 4
    assert len(error.value.violations) == 7


def test_other_providers_are_an_input(examples: pathlib.Path) -> None:
    providers = {"AcmeCluster": "acme.infra.machines", "AcmeProviderMachineTemplate": "acme.infra.machines"}
    with pytest.raises(ManifestError) as error:
        read_cluster([str(examples / "seed-as-printed.yaml")], "default", "my-cluster", providers)
    assert not [violation for violation in error.value.violations if "no provider" in violation.rule]


def test_everything_is_reported_at_once(documents: Documents, refused: Refused) -> None:
    documents[0]["spec"]["clusterNetwork"]["pods"]["cidrBlocks"] = ["300.0.0.0/16"]
    documents[1]["spec"].update(replicas=2, version="v1.20")
    documents[1]["spec"]["kubeadmConfigSpec"]["ntp"] = {"enabled": True}
    documents[2]["spec"]["template"] = {}
    documents[3]["spec"]["failureDomains"] = [{"name": "a"}, {"name": "a"}]
    assert {violation.path for violation in refused(documents)} == {
        "spec.clusterNetwork.pods.cidrBlocks",
        "spec.replicas",
        "spec.version",
        "spec.kubeadmConfigSpec.ntp",
        "spec.template.spec",
        "spec.failureDomains[1].name",
    }


@pytest.mark.parametrize(
    ("index", "path", "words"),
    [
        (0, "metadata.name", "no Cluster of this name"),
        (1, "spec.controlPlaneRef.name", "no KubeadmControlPlane of this name"),
        (2, "spec.machineTemplate.spec.infrastructureRef.name", "no NspawnMachineTemplate of this name"),
        (3, "spec.infrastructureRef.name", "no NspawnCluster of this name"),
    ],
)
def test_a_missing_document_is_named(documents: Documents, refused: Refused, index: int, path: str, words: str) -> None:
    del documents[index]
    found = {violation.path: violation.rule for violation in refused(documents)}
    assert words in found[path]


def test_two_objects_of_one_name(documents: Documents, refused: Refused) -> None:
    found = refused([*documents, documents[1]])
    assert [(violation.path, violation.value) for violation in found] == [("metadata.name", "my-control-plane")]
    assert "manifest.yaml:" in found[0].fix


def test_other_clusters_in_the_same_file_are_left_alone(documents: Documents, read: Read) -> None:
    other: Documents = [
        {**document, "metadata": {"name": "o-" + document["metadata"]["name"]}} for document in documents
    ]
    other[0] = {
        **other[0],
        "spec": {
            "controlPlaneRef": {**documents[0]["spec"]["controlPlaneRef"], "name": "o-my-control-plane"},
            "infrastructureRef": {**documents[0]["spec"]["infrastructureRef"], "name": "o-my-nspawncluster"},
        },
    }
    template = {
        "infrastructureRef": {"apiGroup": "x", "kind": "NspawnMachineTemplate", "name": "o-my-nspawnmachinetemplate"}
    }
    other[1] = {**other[1], "spec": {"version": "broken", "machineTemplate": {"spec": template}}}
    assert read([*documents, *other]).cluster["metadata"]["name"] == "my-cluster"


def test_secrets_are_found_and_folded(documents: Documents, read: Read) -> None:
    data = base64.b64encode(b"x").decode()
    documents[1]["spec"]["kubeadmConfigSpec"]["files"] = [
        {"path": "/a", "contentFrom": {"secret": {"name": "used", "key": "k"}}}
    ]
    labelled = secret("labelled", stringData={"a": "why"})
    labelled["metadata"]["labels"] = {"cluster.x-k8s.io/cluster-name": "my-cluster"}
    manifest = read(
        [*documents, secret("my-cluster-ca", data={"tls.crt": data}), secret("used", stringData={"k": "x"}), labelled]
    )
    assert [(found["metadata"]["name"], found["data"], found["type"]) for found in manifest.secrets] == [
        ("my-cluster-ca", {"tls.crt": data}, "Opaque"),
        ("used", {"k": data}, "Opaque"),
        ("labelled", {"a": base64.b64encode(b"why").decode()}, "Opaque"),
    ]


def test_a_secret_with_a_typing_error_in_its_name_is_told(documents: Documents, refused: Refused) -> None:
    found = refused([*documents, secret("my-clutser-ca", stringData={"tls.key": "s3cr3t"})])
    assert [(violation.path, violation.value) for violation in found] == [("metadata.name", "my-clutser-ca")]
    assert "my-cluster-ca" in found[0].fix


def test_no_violation_shows_a_secret(documents: Documents, refused: Refused) -> None:
    config = documents[1]["spec"]["kubeadmConfigSpec"]
    config["users"] = [{"name": "root", "passwd": "$6$s3cr3t:s3cr3t"}]
    config["files"] = [{"path": "/a", "content": "s3cr3t!", "encoding": "base64"}]
    config["initConfiguration"]["bootstrapTokens"] = [{"token": "s3cr3t"}]
    config["joinConfiguration"]["discovery"] = {"tlsBootstrapToken": "s3cr3t"}
    found = refused(
        [*documents, secret("my-cluster-ca", data={"tls.key": "s3cr3t!"}, stringData={"x": 5}, extra="s3cr3t")]
    )
    paths = {violation.path for violation in found}
    assert {'data["tls.key"]', "stringData.x", "extra"} <= paths
    assert len(found) == 7
    assert "s3cr3t" not in "\n".join(violation.text() for violation in found)


def test_status_and_server_metadata_are_ignored(documents: Documents, read: Read) -> None:
    plain = read(documents)
    for document in documents:
        document["status"] = {"ready": True}
        document["metadata"].update(uid="1", resourceVersion="5", generation=2, managedFields=[], finalizers=["a/b"])
    assert read(documents) == plain


def test_newer_than_known_is_a_warning(documents: Documents, read: Read) -> None:
    documents[1]["spec"]["version"] = "v1.99.0"
    assert "kubeadm.k8s.io/v1beta4 is written" in read(documents).warnings[0]


def test_list_clusters(tmp_path: pathlib.Path, examples: pathlib.Path) -> None:
    text = (examples / "cluster-v1beta2.yaml").read_text(encoding="utf-8")
    parts = text.split("---\n")
    whole, head, tail, broken, half = (
        tmp_path / name for name in ("w.yaml", "h.yaml", "t.yaml", "bad.yaml", "half.yaml")
    )
    whole.write_text(text.replace("my-", "a-"), encoding="utf-8")
    head.write_text(parts[1], encoding="utf-8")
    tail.write_text("---\n".join(parts[2:]), encoding="utf-8")
    broken.write_text("a: [", encoding="utf-8")
    half.write_text(text.replace("my-", "c-") + "---\n- 1\n", encoding="utf-8")
    found = list_clusters([str(path) for path in (whole, head, tail, broken, half)])
    assert [(entry.namespace, entry.name, entry.paths, entry.error is not None) for entry in found] == [
        ("default", "a-cluster", (str(whole),), False),
        ("default", "bad", (str(broken),), True),
        ("default", "c-cluster", (str(half),), True),
        ("default", "my-cluster", (str(head), str(tail)), False),
    ]
    assert read_cluster(found[3].paths, "default", "my-cluster").warnings == ()


def test_list_clusters_survives_odd_shapes(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "odd.yaml"
    path.write_text(
        "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: a, labels: 5}\nspec: [1]\n---\n"
        "apiVersion: v1\nkind: KubeadmControlPlane\nmetadata: {name: a}\nspec: {machineTemplate: 5, infrastructureTemplate: x}\n",
        encoding="utf-8",
    )
    assert [entry.name for entry in list_clusters([str(path)])] == ["a"]
    with pytest.raises(ManifestError, match="spec: this must be a mapping"):
        read_cluster([str(path)], "default", "a")


def test_an_unreadable_file_is_a_violation_with_its_line(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("kind: Cluster\nkind: Cluster\n", encoding="utf-8")
    with pytest.raises(ManifestError) as error:
        read_cluster([str(path)], "default", "a")
    assert error.value.violations[0].source == f"{path}:2"
    assert str(error.value).startswith("2 problems, nothing was changed:\n  1. ")
