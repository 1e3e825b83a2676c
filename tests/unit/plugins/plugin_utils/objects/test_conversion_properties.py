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
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import child, item
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.documents.schema import (
    ListOf,
    MapOf,
    Needed,
    Number,
    Refused,
    Text,
    bare,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import machine_health_check, structures
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.convert import whole_objects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.equivalence import (
    ABSENT,
    canonical,
    keep_equivalent,
    same,
)

Object = dict[str, Any]
OLDER = ("v1alpha3", "v1alpha4", "v1beta1")
QUICK = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

WORDS = st.sampled_from(["a", "b-c", "v1.20.2", "10.0.0.0/16", "{{ x }}", "0644", "yes", "1e3", "ä"])
TEXTS = st.one_of(st.just(""), WORDS)
GROUPS = st.sampled_from(
    ["infrastructure.cluster.x-k8s.io", "controlplane.cluster.x-k8s.io", "bootstrap.cluster.x-k8s.io"]
)
TIMES = st.sampled_from(["2026-01-31T10:00:00Z", "1999-12-31T23:59:59Z"])
SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "string": TEXTS,
    "integer": st.integers(0, 2**31 - 1),
    "seconds": st.integers(0, 2**31 - 1),
    "days": st.integers(0, 2**31 - 1),
    "boolean": st.booleans(),
    "intOrString": st.one_of(st.integers(0, 1), st.sampled_from(["0", "1"])),
    "timestamp": TIMES,
    "any": st.just({"free": ["form", "", None, []]}),
    "object": st.just({"free": {"form": [1, "", []]}}),
}
REFERENCE = {"apiGroup", "kind", "name"}


def values(description: Any) -> st.SearchStrategy[Any]:
    """Values that fit a description of documents/schema.py."""
    if isinstance(description, str):
        return SCALARS[description]
    if isinstance(description, MapOf):
        return st.dictionaries(WORDS, values(description.value), max_size=2)
    if isinstance(description, Needed):
        return values(description.value)
    if isinstance(description, Text):
        return texts(description)
    if isinstance(description, Number):
        return st.integers(description.least, description.most or 2**31 - 1)
    if isinstance(description, list):
        return st.lists(values(description[0]), max_size=2)
    if isinstance(description, ListOf) and description.unique:
        named = {key: values(value) for key, value in description.value.items()}
        named[description.unique] = WORDS
        return st.lists(st.fixed_dictionaries(named), max_size=3, unique_by=lambda each: each[description.unique])
    if isinstance(description, ListOf):
        return st.lists(values(description.value), max_size=2)
    if set(description) == REFERENCE:
        name = texts(description["name"].value).filter(bool)
        return st.fixed_dictionaries({"apiGroup": GROUPS, "kind": st.sampled_from(["Acme", "b-c"]), "name": name})
    known = {key: values(value) for key, value in description.items() if not isinstance(value, Refused)}
    return st.fixed_dictionaries({}, optional=known)


def texts(description: Text) -> st.SearchStrategy[str]:
    """Texts within their limits, the empty one among them."""
    if description.one_of:
        return st.sampled_from(["", *description.one_of])
    if description.pattern:
        return st.one_of(
            st.just(""), st.from_regex(description.pattern, fullmatch=True).filter(lambda each: len(each) < 32)
        )
    return TEXTS


CONDITIONS = [{"type": "string", "status": "string", "reason": "string", "lastTransitionTime": "timestamp"}]
LEGACY = {"conditions": CONDITIONS, "failureReason": "string", "failureMessage": "string"}
COUNTERS = dict.fromkeys(("updatedReplicas", "readyReplicas", "unavailableReplicas"), "integer")
CURRENT = dict.fromkeys(("readyReplicas", "availableReplicas", "upToDateReplicas"), "integer")
STATUS: dict[str, Any] = {
    "Cluster": {
        "phase": "string",
        "observedGeneration": "integer",
        "initialization": {"infrastructureProvisioned": "boolean", "controlPlaneInitialized": "boolean"},
        "failureDomains": [{"name": "string", "controlPlane": "boolean", "attributes": MapOf("string")}],
        "controlPlane": {"desiredReplicas": "integer", "replicas": "integer", **CURRENT},
        "workers": {"desiredReplicas": "integer"},
        "conditions": CONDITIONS,
        "deprecated": {"v1beta1": LEGACY},
    },
    "KubeadmControlPlane": {
        **dict.fromkeys(("selector", "version"), "string"),
        **dict.fromkeys(("replicas", "observedGeneration"), "integer"),
        **CURRENT,
        "versions": [{"version": "string", "replicas": "integer"}],
        "initialization": {"controlPlaneInitialized": "boolean"},
        "lastRemediation": {"machine": "string", "time": "timestamp", "retryCount": "integer"},
        "conditions": CONDITIONS,
        "deprecated": {"v1beta1": {**LEGACY, **COUNTERS}},
    },
    "Machine": {
        "nodeRef": {"name": "string"},
        "addresses": [{"type": "string", "address": "string"}],
        "phase": "string",
        "certificatesExpiryDate": "timestamp",
        "initialization": {"infrastructureProvisioned": "boolean", "bootstrapDataSecretCreated": "boolean"},
        "conditions": CONDITIONS,
        "deprecated": {"v1beta1": LEGACY},
    },
    "KubeadmConfig": {
        "dataSecretName": "string",
        "initialization": {"dataSecretCreated": "boolean"},
        "conditions": CONDITIONS,
        "deprecated": {"v1beta1": LEGACY},
    },
    "MachineHealthCheck": {
        **dict.fromkeys(("expectedMachines", "currentHealthy", "remediationsAllowed", "observedGeneration"), "integer"),
        "targets": ["string"],
        "conditions": CONDITIONS,
        "deprecated": {"v1beta1": {"conditions": CONDITIONS}},
    },
}
SPEC = {
    "Cluster": structures.CLUSTER_SPEC["hub"],
    "KubeadmControlPlane": structures.CONTROL_PLANE_SPEC["hub"],
    "Machine": structures.MACHINE_SPEC["hub"],
    "KubeadmConfig": structures.KUBEADM_CONFIG_SPEC["hub"],
    "MachineHealthCheck": machine_health_check.SPEC["hub"],
}
GROUP = {
    "Cluster": "cluster.x-k8s.io",
    "Machine": "cluster.x-k8s.io",
    "KubeadmControlPlane": "controlplane.cluster.x-k8s.io",
    "KubeadmConfig": "bootstrap.cluster.x-k8s.io",
    "MachineHealthCheck": "cluster.x-k8s.io",
}
METADATA = st.fixed_dictionaries(
    {"name": WORDS, "namespace": st.sampled_from(["default", "team"])},
    optional={
        "labels": st.dictionaries(WORDS, TEXTS, max_size=2),
        "annotations": st.dictionaries(WORDS, TEXTS, max_size=2),
        "uid": WORDS,
        "finalizers": st.lists(WORDS, max_size=1),
        "deletionTimestamp": TIMES,
    },
)


def objects(kind: str) -> st.SearchStrategy[Object]:
    """Hub objects of a kind, with metadata and status."""
    head = {"apiVersion": st.just(f"{GROUP[kind]}/v1beta2"), "kind": st.just(kind), "metadata": METADATA}
    return st.fixed_dictionaries({**head, "spec": values(SPEC[kind])}, optional={"status": values(STATUS[kind])})


def infrastructure(kind: str) -> st.SearchStrategy[Object]:
    """Infrastructure objects of this collection's own kinds."""
    free = st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), TEXTS),
        lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(WORDS, inner, max_size=2)),
        max_leaves=6,
    )
    spec = st.dictionaries(WORDS, free, max_size=3)
    if kind.endswith("Template"):
        spec = st.fixed_dictionaries({"template": st.fixed_dictionaries({"spec": spec})})
    api_version = st.just("infrastructure.cluster.x-k8s.io/v1beta1")
    status = st.fixed_dictionaries(
        {}, optional={"initialization": st.fixed_dictionaries({"provisioned": st.booleans()})}
    )
    return st.fixed_dictionaries(
        {"apiVersion": api_version, "kind": st.just(kind), "metadata": METADATA, "spec": spec},
        optional={"status": status},
    )


KINDS = [*GROUP, "NspawnCluster", "NspawnMachine", "NspawnMachineTemplate"]


def generated(kind: str) -> st.SearchStrategy[Object]:
    """Objects of any kind that is converted, in the normal form: an endpoint without host and port is none."""
    return (objects(kind) if kind in GROUP else infrastructure(kind)).map(whole_objects.object_to_hub)


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
    allowed = re.compile(rf".*?({'|'.join(MAY_BE_LOST[version])})(\b.*)?")
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


def changed(first: Any, second: Any, path: str) -> Iterator[tuple[str, bool]]:
    """The deepest fields that differ: (path, whether the first has none)."""
    if first is ABSENT and isinstance(second, dict):
        first = {}
    if second is ABSENT and isinstance(first, dict):
        second = {}
    if isinstance(first, dict) and isinstance(second, dict):
        for name in first.keys() | second.keys():
            yield from changed(first.get(name, ABSENT), second.get(name, ABSENT), child(path, name))
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for index, (one, other) in enumerate(zip(first, second)):
            yield from changed(one, other, item(path, index))
    elif first is not second and first != second:
        yield path, first is ABSENT


@pytest.mark.parametrize("kind", list(GROUP))
@QUICK
@given(data=st.data())
def test_equal_meaning_is_kept_in_the_stored_words(kind: str, data: st.DataObject) -> None:
    stored, desired = data.draw(values(SPEC[kind])), data.draw(values(SPEC[kind]))
    merged = keep_equivalent(stored, desired)
    assert same(merged, desired)
    assert keep_equivalent(stored, stored) == stored
    assert (merged == stored) == same(stored, desired)
    assert keep_equivalent(merged, desired) == merged
