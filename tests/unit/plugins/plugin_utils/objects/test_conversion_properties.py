# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Round trips of generated objects between Cluster API versions: nothing changes but what a version has no place for.

Objects are generated from the descriptions that manifests are checked against, so that a new field is covered as soon as it is read.
What a version has no place for is written down here a second time, by hand, from Cluster API's types.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.documents.schema import bare
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.convert import whole_objects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.equivalence import (
    canonical,
    keep_equivalent,
    same,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.instance_data.rendering import is_rendered
from ansible_collections.kubeadm.control_plane.tests.support.generated_objects import (
    GROUP,
    KINDS,
    OLDER,
    QUICK,
    SPEC,
    changed,
    generated,
    values,
)

# Patterns of paths, as Cluster API's types have it. Every flag list may hold a repeated flag.
ALWAYS = (
    r"timeouts\.(?!discovery|controlPlaneComponent)\w+",
    # Only one of the two has a field, and only a join's discovery.
    r"(init|join)Configuration\.timeouts\.controlPlaneComponentHealthCheckSeconds",
    r"initConfiguration\.timeouts\.discoverySeconds",
    r"(extraArgs|kubeletExtraArgs)",
    r"spec\.minReadySeconds",
    # A map has no two domains of one name, and no order.
    r"status\.failureDomains.*",
)
BEFORE_V1BETA1 = (
    r"readinessGates",
    r"(spec|machineTemplate\.spec)\.taints",
    r"spec\.checks\.unhealthyMachineConditions",
    r"deletion\.node(VolumeDetach|Deletion)TimeoutSeconds",
    r"spec\.rollout\.before\.certificatesExpiryDays",
    r"spec\.remediation\.\w+",
    r"spec\.machineNaming\.template",
    r"files\[\d\]\.(append|contentFormat)",
    r"users\[\d\]\.passwdFrom\.secret\.(name|key)",
    r"extraEnvs",
    r"(encryptionAlgorithm|certificateValidityPeriodDays|caCertificateValidityPeriodDays)",
    r"nodeRegistration\.imagePull(Policy|Serial)",
    r"(skipPhases|patches\.directory)",
    r"status\.(conditions|(controlPlane|workers)\.\w+|versions|(ready|available|upToDate)Replicas)",
    r"status\.(lastRemediation\.\w+|certificatesExpiryDate)",
)
BEFORE_V1ALPHA4 = (
    r"spec\.machineTemplate\.metadata\..*",
    r"nodeRegistration\.ignorePreflightErrors",
    r"status\.version",
    r"spec\.remediation\.triggerIf\.unhealthyInRange",
)
# A MachineDeployment got with v1beta1, or with v1alpha4, what a KubeadmControlPlane had before.
OF_DEPLOYMENTS: dict[str, tuple[str, ...]] = {"v1beta1": (), "v1alpha4": (r"spec\.rollout\.after",)}
OF_DEPLOYMENTS["v1alpha3"] = (*OF_DEPLOYMENTS["v1alpha4"], r"spec\.deletion\.order")
MAY_BE_LOST = {
    "v1beta1": ALWAYS,
    "v1alpha4": ALWAYS + BEFORE_V1BETA1,
    "v1alpha3": ALWAYS + BEFORE_V1BETA1 + BEFORE_V1ALPHA4,
}


@pytest.mark.parametrize("kind", KINDS)
@QUICK
@given(data=st.data(), version=st.sampled_from(OLDER))
def test_hub_to_an_older_version_and_back_changes_nothing(kind: str, data: st.DataObject, version: str) -> None:
    hub = data.draw(generated(kind))
    before = copy.deepcopy(hub)
    back = whole_objects.object_to_hub(whole_objects.from_hub(hub, version).object)
    assert hub == before
    assert back["apiVersion"] == hub["apiVersion"] and back["kind"] == hub["kind"]
    annotations = {
        key: metadata.pop("annotations", None) or {}
        for key, metadata in (("hub", hub["metadata"]), ("back", back["metadata"]))
    }
    assert annotations["back"] == annotations["hub"]
    assert back["metadata"] == hub["metadata"]
    for section in ("spec", "status"):
        assert same(back.get(section), hub.get(section)), section


@pytest.mark.parametrize("kind", KINDS)
@QUICK
@given(data=st.data(), version=st.sampled_from(OLDER))
def test_only_what_a_version_has_no_place_for_is_lost(kind: str, data: st.DataObject, version: str) -> None:
    hub = data.draw(generated(kind))
    patterns = (*MAY_BE_LOST[version], *(OF_DEPLOYMENTS[version] if kind == "MachineDeployment" else ()))
    allowed = re.compile(rf".*?({'|'.join(patterns)})(\b.*)?")
    for loss in whole_objects.from_hub(hub, version).losses:
        assert allowed.fullmatch(loss.path), loss.text()


@pytest.mark.parametrize("kind", KINDS)
@QUICK
@given(data=st.data(), version=st.sampled_from(OLDER))
def test_an_older_version_to_hub_and_back_is_the_same_object(kind: str, data: st.DataObject, version: str) -> None:
    older = whole_objects.from_hub(data.draw(generated(kind)), version, keep=False).object
    assert canonical(
        whole_objects.from_hub(whole_objects.object_to_hub(older), version, keep=False).object
    ) == canonical(older)


@pytest.mark.parametrize("kind", list(GROUP))
@QUICK
@given(data=st.data())
def test_no_zero_value_is_written_that_a_schema_of_cluster_api_refuses(kind: str, data: st.DataObject) -> None:
    spec = whole_objects.from_hub(data.draw(generated(kind)), "v1beta2").object.get("spec")
    for name, value in (spec or {}).items():
        assert list(zeros(value, SPEC[kind][name], name)) == []
    # The configuration of a machine that kubeadm's defaults are enough for has no spec at all.
    assert spec != {} or kind != "KubeadmConfig"


def zeros(value: Any, description: Any, key: str) -> Iterator[str]:
    """Paths of fields that hold nothing, by Cluster API's v1beta2 types: minLength, minItems, minProperties or minimum 1.

    A field that may be empty is one of these: []: no taint; {}: a control plane's join, an incomplete structure, which is refused
    elsewhere; "": an argument's, a variable's or a taint's value, and a Machine that needs no bootstrap data.
    """
    filled = (
        "taints",
        "controlPlane",
        "value",
        "external",
        "file",
        "contentFrom",
        "passwdFrom",
        "secret",
        "dataSecretName",
    )
    ports = ("bindPort", "port", "apiServerPort", "certificateValidityPeriodDays", "caCertificateValidityPeriodDays")
    description = bare(description)
    if description in ("any", "object"):
        return
    if key.rpartition(".")[2] not in filled and (value in ("", [], {}) or (value == 0 and key.endswith(ports))):
        yield key
    if isinstance(description, list):
        for entry in value:
            # An entry is there, whatever it holds; what is in it is a field again.
            for name, one in entry.items() if isinstance(description[0], dict) else ():
                yield from zeros(one, description[0][name], f"{key}[].{name}")
    elif isinstance(description, dict):
        for name, one in value.items():
            yield from zeros(one, description[name], f"{key}.{name}")


@pytest.mark.parametrize("kind", KINDS)
@QUICK
@given(data=st.data(), way=st.permutations(OLDER))
def test_nothing_is_lost_on_the_way_through_all_versions(kind: str, data: st.DataObject, way: list[str]) -> None:
    hub = data.draw(generated(kind))
    found = hub
    for version in way:
        found = whole_objects.object_to_hub(whole_objects.from_hub(found, version).object)
    assert same(found.get("spec"), hub["spec"]) and same(found.get("status"), hub.get("status"))
    assert found["metadata"].get("annotations", {}) == hub["metadata"].get("annotations", {})


# One field of older versions holds the timeout of init and of join: the other one has it, too, when it comes back.
SHARED = re.compile(r".*(init|join)Configuration\.timeouts\.controlPlaneComponentHealthCheckSeconds")
# A status has the fields of both contracts side by side.
OF_BOTH_CONTRACTS = re.compile(r"status\..*")


@pytest.mark.parametrize("kind", list(GROUP))
@QUICK
@given(data=st.data(), version=st.sampled_from(OLDER))
def test_what_is_lost_without_the_annotation_is_told(kind: str, data: st.DataObject, version: str) -> None:
    """The object that comes back differs nowhere but at the paths of the losses."""
    hub = data.draw(generated(kind))
    converted = whole_objects.from_hub(hub, version, keep=False)
    back = whole_objects.object_to_hub(converted.object)
    told = {loss.path for loss in converted.losses}
    for section in ("spec", "status"):
        for path, added in changed(canonical(hub.get(section)), canonical(back.get(section)), section):
            known = SHARED.fullmatch(path) or OF_BOTH_CONTRACTS.fullmatch(path) if added else None
            assert known or any(path == each or path.startswith((each + ".", each + "[")) for each in told), path


@pytest.mark.parametrize("kind", list(GROUP))
@QUICK
@given(data=st.data())
def test_equal_meaning_is_kept_in_the_stored_words(kind: str, data: st.DataObject) -> None:
    stored, desired = data.draw(values(SPEC[kind])), data.draw(values(SPEC[kind]))
    merged = keep_equivalent(stored, desired)
    assert same(merged, desired)
    assert keep_equivalent(stored, stored) == stored
    assert merged != stored or same(stored, desired)
    # What an earlier release kept unrendered is written as the manifest has it.
    assert merged == stored or not same(stored, desired) or not is_rendered(stored)
    assert keep_equivalent(merged, desired) == merged
