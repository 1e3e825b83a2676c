# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ownership of a definition in Cluster API's group for infrastructure, in each state that it can be in."""

from __future__ import annotations

import copy
import typing as t

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.crds import crd_names, definitions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.management import recognition
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.requests import FIELD_MANAGER

Object = dict[str, t.Any]
KINDS = definitions.infrastructure_kinds("Acme")
DESCRIBED = {"type": "object", "properties": {"size": {"type": "string"}}}
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def schema_of_spec(definition: Object) -> Object:
    """Return the schema around what the provider checks."""
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    if definition["spec"]["names"]["kind"].endswith("Template"):
        schema = schema["spec"]["properties"]["template"]["properties"]
    return t.cast(Object, schema)


def as_made(_definition: Object) -> None:
    """Leave the versions."""


def without_columns(definition: Object) -> None:
    """As another revision has them."""
    definition["spec"]["versions"][0]["additionalPrinterColumns"] = []


def described(definition: Object) -> None:
    """The provider's, of the same name."""
    schema_of_spec(definition)["spec"] = DESCRIBED


def renamed(definition: Object) -> None:
    """The provider's, which describes nothing."""
    definition["spec"]["versions"][0]["name"] = "v1"


def second(definition: Object) -> None:
    """The provider's beside what was there."""
    definition["spec"]["versions"].append({"name": "v1", "served": True, "storage": False})


def without_schema(definition: Object) -> None:
    """A schema that says nothing at all."""
    definition["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": OPEN}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize(
    ("labelled", "manager", "versions", "providers"),
    [
        (True, FIELD_MANAGER, as_made, False),
        (True, FIELD_MANAGER, without_columns, False),
        (True, FIELD_MANAGER, described, False),
        (True, "velero-server", as_made, False),
        (True, "velero-server", without_columns, False),
        (True, "kubectl-client-side-apply", as_made, False),
        (True, None, as_made, False),
        (True, "kubectl-client-side-apply", described, True),
        (True, "helm", renamed, True),
        (True, "helm", second, True),
        (True, "helm", without_schema, True),
        (True, None, described, True),
        (False, "velero-server", described, True),
        (False, FIELD_MANAGER, as_made, True),
    ],
    ids=[
        "made",
        "made-by-another-revision",
        "made-by-a-revision-that-described-more",
        "restored",
        "restored-of-another-revision",
        "applied-unchanged",
        "without-managers",
        "theirs-over-ours",
        "theirs-of-another-version",
        "theirs-beside-ours",
        "theirs-that-say-nothing",
        "theirs-without-managers",
        "theirs",
        "our-label-removed",
    ],
)
def test_whose_a_definition_is(
    kind: definitions.Kind,
    labelled: bool,
    manager: t.Optional[str],
    versions: t.Callable[[Object], None],
    providers: bool,
) -> None:
    found = copy.deepcopy(definitions.definition(kind))
    versions(found)
    if not labelled:
        del found["metadata"]["labels"][definitions.MANAGED_BY]
    if manager is not None:
        entry = {"manager": manager, "operation": "Update", "fieldsV1": {"f:spec": {"f:versions": {}}}}
        found["metadata"]["managedFields"] = [entry]
    assert recognition.is_providers(found) is providers


def test_what_install_defines_is_no_sign_of_cluster_api() -> None:
    """Nobody else's kinds are served there; a run after install would otherwise never begin."""
    served = [{"name": crd_names.plural(each.name)} for each in definitions.KINDS]
    assert recognition.serves_cluster_api({"resources": served}) == []
    assert recognition.serves_cluster_api({"resources": [*served, {"name": "machinepools"}]}) == ["machinepools"]
