# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents of a manifest that belong to no cluster of it: the table of docs/manifest.md, "Documents of others"."""

from __future__ import annotations

import pathlib
import sys
from typing import Any, Callable, Optional

import pytest
import yaml

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import Violation
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import (
    ClusterManifest,
    list_clusters,
    read_cluster,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.unmanaged import (
    REFUSE,
    SHOWN_KINDS,
    SHOWN_NAMES,
    summary_line,
)

Documents = list[dict[str, Any]]
Refused = Callable[..., list[Violation]]
Read = Callable[..., ClusterManifest]

CAPI, ADDONS = "cluster.x-k8s.io/v1beta1", "addons.cluster.x-k8s.io/v1beta1"
RESOURCE_SET = {"resources": [{"kind": "Secret", "name": "csi-secret"}, {"kind": "ConfigMap", "name": "cni"}]}
WORKERS = {"template": {"spec": {"infrastructureRef": {"kind": "NspawnMachineTemplate", "name": "workers"}}}}


def other(api_version: str, kind: str, name: str = "other", **more: Any) -> dict[str, Any]:
    metadata = {"name": name, **more.pop("metadata", {})}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **more}


def secret(name: str, **more: Any) -> dict[str, Any]:
    return other("v1", "Secret", name, **more)


# What a provider's template has beside the control plane.
TEMPLATE: Documents = [
    other(CAPI, "MachineDeployment", "md-0", spec=WORKERS),
    other(CAPI, "MachineDeployment", "md-1", spec=WORKERS),
    other(CAPI, "MachinePool"),
    other(CAPI, "MachineSet"),
    other(CAPI, "ClusterClass"),
    other("bootstrap.cluster.x-k8s.io/v1beta1", "KubeadmConfigTemplate"),
    other("controlplane.cluster.x-k8s.io/v1beta1", "KubeadmControlPlaneTemplate"),
    other("infrastructure.cluster.x-k8s.io/v1beta1", "NspawnMachineTemplate", "workers"),
    other("infrastructure.cluster.x-k8s.io/v1beta2", "AWSMachineTemplate"),
    other("infrastructure.cluster.x-k8s.io/v1beta1", "AzureClusterIdentity", spec={"clientSecret": {"name": "azure"}}),
    other(ADDONS, "ClusterResourceSet", spec=RESOURCE_SET),
    other("addons.cluster.x-k8s.io/v1alpha1", "HelmChartProxy"),
    other("v1", "ConfigMap", "cni", data={"cni.yaml": "apiVersion: v1\nkind: Secret\n"}),
    other("v1", "Namespace"),
    secret("csi-secret", stringData={"a": "b"}),
    secret("azure", stringData={"clientSecret": "s3cr3t"}),
    secret("addon", type="addons.cluster.x-k8s.io/resource-set"),
    secret("something-else"),
    # Other software has kinds of these names.
    other("postgresql.cnpg.io/v1", "Cluster"),
    other("machine.openshift.io/v1beta1", "MachineHealthCheck"),
]


def test_a_template_as_it_is_is_read(documents: Documents, read: Read) -> None:
    found = read([*TEMPLATE, *documents])
    assert found == read(documents)
    assert sum(each.count for each in found.unmanaged) == len(TEMPLATE)
    assert [each.as_data() for each in found.unmanaged if each.kind == "MachineDeployment"] == [
        {"group": "cluster.x-k8s.io", "kind": "MachineDeployment", "count": 2, "names": ["md-0", "md-1"]}
    ]
    line = summary_line(found.unmanaged)
    assert line.startswith("not managed by this collection: 1 AWSMachineTemplate, 1 AzureClusterIdentity, 1 Cluster, ")
    assert "2 MachineDeployment," in line
    assert "4 Secret" in line


def test_nothing_beside_is_no_line(documents: Documents, read: Read) -> None:
    assert summary_line(read(documents).unmanaged) == ""


def test_the_same_document_twice_is_no_matter_here(documents: Documents, read: Read) -> None:
    assert [each.count for each in read([*documents, TEMPLATE[0], TEMPLATE[0]]).unmanaged] == [2]


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (secret("my-clutser-ca"), "metadata.name"),
        (secret("mycluster-etcd"), "metadata.name"),
        (secret("my-cluster-kubeconfg"), "metadata.name"),
        (secret("my-cluster-ac"), "metadata.name"),
        # The right name in another namespace.
        (secret("my-cluster-ca", metadata={"namespace": "other"}), "metadata.name"),
        (secret("some", type="cluster.x-k8s.io/secret"), "metadata.name"),
        (secret("some", metadata={"labels": {"cluster.x-k8s.io/cluster-name": "my-clusetr"}}), "metadata.labels"),
        # Nearly what files of the control plane refer to.
        (secret("audit-polcy"), "metadata.name"),
        ({**secret("audit-policy"), "metadata": {"name": "audit-policy", "namespace": "other"}}, "metadata.namespace"),
        (other("controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane"), "metadata.name"),
        (other("infrastructure.cluster.x-k8s.io/v1beta1", "NspawnCluster"), "metadata.name"),
        (other("cluster.x-k8s.io/v1beta2", "MachineHealthCheck", spec={"clusterName": "prod"}), "spec.clusterName"),
        (other("cluster.x-k8s.io/v1beta2", "MachineHealthChek"), "kind"),
        (other("v1", "Secert", "my-cluster-ca"), "kind"),
        # Of another group of Cluster API's, or in other letters.
        (other("infrastructure.cluster.x-k8s.io/v1beta1", "MachineHealthCheck"), "spec.clusterName"),
        (other("bootstrap.cluster.x-k8s.io/v1beta1", "MachineHealthChek"), "kind"),
        (other("cluster.x-k8s.io/v1beta2", "machinehealthcheck"), "kind"),
        (other("v1", "SECRET", "my-cluster-ca"), "kind"),
        (other("cluster.x-k8s.io/v1beta1", "Secret", "my-cluster-ac"), "metadata.name"),
        (other("operator.kubeadm.x-k8s.io/v1alpha1", "Action"), "kind"),
    ],
    ids=lambda value: f"{value['kind']}-{value['metadata']['name']}" if isinstance(value, dict) else "",
)
def test_what_nearly_is_the_clusters_own_is_refused(
    documents: Documents, refused: Refused, document: dict[str, Any], path: str
) -> None:
    source = {"secret": {"name": "audit-policy", "key": "k"}}
    documents[1]["spec"]["kubeadmConfigSpec"]["files"] = [{"path": "/a", "contentFrom": source}]
    found = refused([*documents, document])
    name = f"{document['kind']} {document['metadata'].get('namespace', 'default')}/{document['metadata']['name']}"
    assert [(violation.object, violation.path.partition("[")[0]) for violation in found] == [(name, path)]


@pytest.mark.parametrize(
    "name", ["my-cluster", "my-cluster-azure-json", "my-cluster-md-0-kubeconfig", "ca", "other-ca"]
)
def test_other_secrets_are_left_alone(documents: Documents, read: Read, name: str) -> None:
    assert [each.names for each in read([*documents, secret(name)]).unmanaged] == [[name]]


@pytest.mark.parametrize("kind", ["VSphereClusterIdentity", "ClusterResourceSet"])
def test_a_secret_that_another_document_refers_to_is_meant_so(documents: Documents, read: Read, kind: str) -> None:
    user = other("example.com/v1", kind, spec={"deep": [{"secretName": "my-cluster-cs"}]})
    assert len(read([*documents, secret("my-cluster-cs"), user]).unmanaged) == 2


def test_a_misspelt_template_is_told_once(documents: Documents, refused: Refused) -> None:
    documents[2]["metadata"]["name"] = "my-nspawnmachinetemplte"
    found = refused([*documents, *TEMPLATE])
    assert [violation.path for violation in found] == ["spec.machineTemplate.spec.infrastructureRef.name"]
    assert found[0].fix == "Did you mean my-nspawnmachinetemplte?"


def test_the_strict_mode_refuses_each_kind_once(documents: Documents, refused: Refused) -> None:
    found = refused([*documents, *TEMPLATE], unknown_documents=REFUSE)
    of_kinds = [violation for violation in found if violation.path == "kind"]
    kinds = [violation.value for violation in of_kinds]
    assert len(kinds) == len(set(kinds))
    assert "MachineDeployment" in kinds
    several = next(each for each in of_kinds if each.value == "MachineDeployment")
    assert "MachineDeployment is not a kind that is managed here" in several.rule
    assert several.fix.startswith("Move the 2 documents of this kind to a file that is not among the manifests")
    # Of kinds that are managed, each.
    named = {violation.object for violation in found} - {violation.object for violation in of_kinds}
    secrets = {f"Secret default/{name}" for name in ("csi-secret", "azure", "addon", "something-else")}
    assert named == {"NspawnMachineTemplate default/workers", *secrets}


@pytest.mark.parametrize(
    ("kind", "shown"), [("A\x1b[2J", "A\\x1b[2J"), ("K" * 500, "K" * 80), ("A\nB", "A B"), ("{{ 1 }}", "{{ 1 }}")]
)
def test_what_is_shown_is_bounded_and_legible(documents: Documents, read: Read, kind: str, shown: str) -> None:
    found = read([*documents, other("v1", kind)]).unmanaged
    assert summary_line(found) == f"not managed by this collection: 1 {shown}"


def test_many_kinds_and_names_are_counted(documents: Documents, read: Read) -> None:
    many = [other("v1", f"Kind{number:02}") for number in range(SHOWN_KINDS + 3)]
    found = read([*documents, *many, *(other("v1", "AKind", f"n{number}") for number in range(SHOWN_NAMES + 5))])
    line = summary_line(found.unmanaged)
    assert line.startswith(f"not managed by this collection: {SHOWN_NAMES + 5} AKind, 1 Kind00, ")
    assert line.endswith(", 4 of 4 other kinds")
    assert len(found.unmanaged[0].names) == SHOWN_NAMES


@pytest.mark.parametrize("api_version", [None, "example.com/v1"])
def test_a_cluster_of_another_group(documents: Documents, refused: Refused, api_version: Optional[str]) -> None:
    wanted = documents[0].copy()
    if api_version is not None:
        documents[0]["apiVersion"] = api_version
        assert [(each.path, each.value) for each in refused(documents)] == [("apiVersion", api_version)]
    else:
        assert refused([*documents, {**wanted, "apiVersion": "example.com/v1"}]) == []


def test_the_work_grows_with_the_documents_alone(documents: Documents, tmp_path: pathlib.Path) -> None:
    """Twice the documents and clusters are twice the calls of functions, not four times."""

    def calls(count: int) -> int:
        path, made = tmp_path / f"{count}.yaml", 0
        many = [secret(f"foreign-{number}") for number in range(count)]
        many += [other("v1", "ConfigMap", f"foreign-{number}") for number in range(count)]
        many += [other("cluster.x-k8s.io/v1beta2", "Cluster", f"c-{number}", spec={}) for number in range(count)]
        path.write_text(yaml.dump_all([*documents, *many]), encoding="utf-8")

        def count_calls(_frame: Any, event: str, _argument: Any) -> None:
            nonlocal made
            made += event == "call"

        sys.setprofile(count_calls)
        try:
            found = read_cluster([str(path)], "default", "my-cluster")
            clusters = list_clusters([str(path)])
        finally:
            sys.setprofile(None)
        assert [(each.kind, each.count) for each in found.unmanaged] == [("ConfigMap", count), ("Secret", count)]
        assert len(clusters) == count + 1
        return made

    few, many = calls(100), calls(200)
    assert many < 2.5 * few
