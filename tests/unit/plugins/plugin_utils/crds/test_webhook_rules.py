# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which rules an API server is given: by what it can evaluate."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.crds import definitions, webhook_rules

KINDS = {kind.name: kind for kind in definitions.KINDS}


def spec_of(kind: str, minor: int) -> dict[str, Any]:
    (version,) = definitions.definition(KINDS[kind], minor)["spec"]["versions"]
    spec: dict[str, Any] = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return spec


@pytest.mark.parametrize(("minor", "there"), [(0, False), (20, False), (24, False), (25, True), (34, True)])
def test_rules_over_several_fields_only_where_they_can_be_evaluated(minor: int, there: bool) -> None:
    """An older API server would drop them, and find a difference each time."""
    assert ("x-kubernetes-validations" in spec_of("KubeadmControlPlane", minor)) is there


def test_only_two_specs_have_them() -> None:
    """A template has no replicas to judge."""
    for kind in KINDS:
        found = spec_of(kind, webhook_rules.CEL_SINCE_MINOR)
        assert ("x-kubernetes-validations" in str(found)) is (kind in ("KubeadmControlPlane", "ClusterResourceSet"))


def test_every_field_that_a_rule_names_is_described() -> None:
    """An API server refuses a definition whose rule names a field that the schema doesn't have."""
    spec = spec_of("KubeadmControlPlane", webhook_rules.CEL_SINCE_MINOR)
    named = {
        path
        for rule in spec["x-kubernetes-validations"]
        for word in rule["rule"].replace("(", " ").replace(")", " ").replace("!", " ").split()
        if word.startswith("self.")
        for path in [word.partition(".")[2]]
    }
    assert "kubeadmConfigSpec.clusterConfiguration.etcd.external" in named
    for path in named:
        schema = spec
        for name in path.split("."):
            schema = schema["properties"][name]


def test_one_rule_does_not_change_the_next_definition() -> None:
    first = spec_of("KubeadmControlPlane", 30)
    first["x-kubernetes-validations"].clear()
    first["properties"]["replicas"]["minimum"] = 7
    second = spec_of("KubeadmControlPlane", 30)
    assert len(second["x-kubernetes-validations"]) == 3 and second["properties"]["replicas"]["minimum"] == 1
