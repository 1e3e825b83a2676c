# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Generated objects of all kinds that are converted, from the descriptions that manifests are checked against."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.violations import child, item
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.documents.schema import (
    ListOf,
    MapOf,
    Needed,
    Number,
    Refused,
    Text,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import machine_health_check, structures
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.convert import whole_objects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.equivalence import ABSENT
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.workers import machine_deployment

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
    "MachineDeployment": {
        **dict.fromkeys(("selector", "phase"), "string"),
        **dict.fromkeys(("replicas", "observedGeneration"), "integer"),
        **CURRENT,
        "versions": [{"version": "string", "replicas": "integer"}],
        "conditions": CONDITIONS,
        "deprecated": {"v1beta1": {"conditions": CONDITIONS, "availableReplicas": "integer", **COUNTERS}},
    },
    "MachineSet": {
        "selector": "string",
        **dict.fromkeys(("replicas", "observedGeneration"), "integer"),
        **CURRENT,
        "conditions": CONDITIONS,
        "deprecated": {"v1beta1": {**LEGACY, "fullyLabeledReplicas": "integer", "readyReplicas": "integer"}},
    },
    "KubeadmConfigTemplate": {},
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
    "KubeadmConfigTemplate": machine_deployment.CONFIG_TEMPLATE_SPEC["hub"],
    "MachineDeployment": machine_deployment.SPEC["hub"],
    "MachineSet": machine_deployment.SET_SPEC["hub"],
    "MachineHealthCheck": machine_health_check.SPEC["hub"],
}
GROUP = {
    "Cluster": "cluster.x-k8s.io",
    "Machine": "cluster.x-k8s.io",
    "KubeadmControlPlane": "controlplane.cluster.x-k8s.io",
    "KubeadmConfig": "bootstrap.cluster.x-k8s.io",
    "KubeadmConfigTemplate": "bootstrap.cluster.x-k8s.io",
    "MachineDeployment": "cluster.x-k8s.io",
    "MachineSet": "cluster.x-k8s.io",
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
