# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Infrastructure of other providers: any group and version, and fields of shapes of their own."""

from __future__ import annotations

import copy
from typing import Any, Callable

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import Violation
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.convert import failure_domains
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import ClusterManifest

Documents = list[dict[str, Any]]
PROVIDERS = {"AcmeCluster": "acme.cloud.machine", "AcmeMachineTemplate": "acme.cloud.machine"}
GROUP = "infra.acme.example"
API_VERSIONS = [
    *(f"infrastructure.cluster.x-k8s.io/{each}" for each in ("v1alpha1", "v1alpha3", "v1alpha7", "v1beta2", "v1beta3")),
    *(f"{GROUP}/{each}" for each in ("v1", "v1alpha5", "v1beta1")),
]


def acme(documents: Documents, api_version: str) -> Documents:
    """The documents with an infrastructure of that apiVersion."""
    made = copy.deepcopy(documents)
    group = api_version.partition("/")[0]
    for document in made:
        if document["kind"].startswith("Nspawn"):
            document.update(apiVersion=api_version, kind=document["kind"].replace("Nspawn", "Acme"))
    machines = made[1]["spec"]["machineTemplate"]
    for holder in (made[0]["spec"], machines if "infrastructureRef" in machines else machines["spec"]):
        reference = holder["infrastructureRef"]
        reference["kind"] = reference["kind"].replace("Nspawn", "Acme")
        key = "apiGroup" if "apiGroup" in reference else "apiVersion"
        reference[key] = group if key == "apiGroup" else f"{group}/v1beta9"
    return made


@pytest.mark.parametrize("api_version", API_VERSIONS)
@pytest.mark.parametrize("form", ["documents", "classic"])
def test_the_documents_own_group_and_version_are_kept(
    request: pytest.FixtureRequest, read: Callable[..., ClusterManifest], form: str, api_version: str
) -> None:
    found = read(acme(request.getfixturevalue(form), api_version), providers=PROVIDERS)
    assert {found.infrastructure_cluster["apiVersion"], found.machine_template["apiVersion"]} == {api_version}
    references = (
        found.cluster["spec"]["infrastructureRef"],
        found.control_plane["spec"]["machineTemplate"]["spec"]["infrastructureRef"],
    )
    assert {each["apiGroup"] for each in references} == {api_version.partition("/")[0]}


@pytest.mark.parametrize("api_version", ["v1", "apps/v1", f"{GROUP}/1", f"{GROUP}/v0", f"{GROUP}/v1gamma1", "a_b.c/v1"])
def test_what_is_no_group_and_version(
    documents: Documents, refused: Callable[..., list[Violation]], api_version: str
) -> None:
    made = acme(documents, f"{GROUP}/v1")
    made[3]["apiVersion"] = api_version
    paths = [(each.path, each.value) for each in refused(made, providers=PROVIDERS)]
    assert ("apiVersion", api_version) in paths


@pytest.mark.parametrize(
    ("index", "path"), [(0, "spec.infrastructureRef"), (1, "spec.machineTemplate.spec.infrastructureRef")]
)
@pytest.mark.parametrize("group", ["infra.acme.exampel", "apps"])
def test_references_are_compared_by_group(
    documents: Documents, refused: Callable[..., list[Violation]], index: int, path: str, group: str
) -> None:
    made = acme(documents, f"{GROUP}/v1")
    spec = made[index]["spec"]
    (spec if index == 0 else spec["machineTemplate"]["spec"])["infrastructureRef"]["apiGroup"] = group
    found = refused(made, providers=PROVIDERS)
    assert {(each.path, each.value) for each in found} == {(f"{path}.apiGroup", group)}
    assert f"is of the group {GROUP}" in "".join(each.rule for each in found)


def test_two_providers_have_a_kind_of_one_name(documents: Documents, read: Callable[..., ClusterManifest]) -> None:
    """The reference's group decides, whatever their order."""
    one, other = acme(documents, f"{GROUP}/v1"), acme(documents, "infra.other.example/v1")
    found = read([other[2], *one], providers=PROVIDERS)
    assert found.machine_template["apiVersion"] == f"{GROUP}/v1"
    assert [(each.group, each.count) for each in found.unmanaged] == [("infra.other.example", 1)]


def test_own_kinds_are_of_one_group(documents: Documents, refused: Callable[..., list[Violation]]) -> None:
    documents[2]["apiVersion"] = f"{GROUP}/v1"
    documents[0]["spec"]["infrastructureRef"]["apiGroup"] = GROUP
    paths = {each.path for each in refused(documents)}
    assert {"apiVersion", "spec.infrastructureRef.apiGroup"} <= paths


def test_a_kind_without_a_provider_is_told_once_with_what_to_do(
    documents: Documents, refused: Callable[..., list[Violation]]
) -> None:
    made = acme(documents, f"{GROUP}/v1")
    workers = [{**made[2], "metadata": {"name": f"workers-{number}"}} for number in range(3)]
    found = refused([*made, *workers])
    assert [(each.path, each.value) for each in found] == [
        ("spec.infrastructureRef.kind", "AcmeCluster"),
        ("spec.machineTemplate.spec.infrastructureRef.kind", "AcmeMachineTemplate"),
    ]
    assert "control_plane_more_providers: {AcmeCluster: NAMESPACE.COLLECTION.ROLE}" in found[0].fix
    assert "InventoryMachineTemplate" in found[1].fix


OF_CONTRACT = [
    (
        {"a": {"controlPlane": True}, "b": None},
        [{"name": "a", "controlPlane": True}, {"name": "b", "controlPlane": True}],
    ),
    (
        [{"name": "a", "controlPlane": False}, {"name": "b"}],
        [{"name": "a", "controlPlane": False}, {"name": "b", "controlPlane": True}],
    ),
]
OF_THE_PROVIDER: list[Any] = [
    ["a", "b"],
    "a",
    5,
    [{"zone": "a"}],
    {"a": 5},
    [{"name": "a", "zone": "z"}],
    [{"name": 5}],
    [None],
]


@pytest.mark.parametrize(("written", "kept"), [*OF_CONTRACT, *((each, each) for each in OF_THE_PROVIDER)])
def test_failure_domains_of_another_shape_are_the_providers(
    documents: Documents, read: Callable[..., ClusterManifest], written: Any, kept: Any
) -> None:
    made = acme(documents, f"{GROUP}/v1")
    made[3]["spec"]["failureDomains"] = written
    assert read(made, providers=PROVIDERS).infrastructure_cluster["spec"]["failureDomains"] == kept


@pytest.mark.parametrize("written", OF_THE_PROVIDER)
def test_what_has_not_the_contracts_shape_is_ignored(written: Any) -> None:
    assert failure_domains.of_contract(written) == []
