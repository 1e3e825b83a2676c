# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules over several fields, evaluated by Google's implementation of CEL, on which the one of API servers is modelled.

Every field is ``dyn`` here, as an int-or-string is in an API server. What an API server's own compiler says of the rules, with the types of
the schema, is asked of one in tests/integration/store/test_newer_api_server.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from cel_expr_python import cel
from rule_cases import CASES, CHANGES, ETCD, ODD, SAME, SURGE

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.crds import definitions, webhook_rules

Object = dict[str, Any]
KINDS = {kind.name: kind for kind in definitions.KINDS}


def refusals(spec: Object, before: Object | None = None, kind: str = "KubeadmControlPlane") -> frozenset[str]:
    """The messages of the rules that a spec breaks, or its change from the one that was there ``before``."""
    (version,) = definitions.definition(KINDS[kind], webhook_rules.CEL_SINCE_MINOR)["spec"]["versions"]
    return frozenset(_refusals(version["schema"]["openAPIV3Schema"]["properties"]["spec"], spec, before))


def _refusals(schema: Object, found: Any, before: Any) -> Iterator[str]:
    """As an API server goes through an object: a rule about what was there before is asked only where there was something."""
    environment = cel.NewEnv(variables={"self": cel.Type.DYN, "oldSelf": cel.Type.DYN})
    for rule in schema.get("x-kubernetes-validations", ()):
        if "oldSelf" in rule["rule"] and before is None:
            continue
        answer = environment.compile(rule["rule"]).eval(data={"self": found, "oldSelf": before})
        assert answer.type() == cel.Type.BOOL, f"{rule['rule']}: {answer}"
        if not answer.value():
            yield rule["message"]
    for name, child in schema.get("properties", {}).items():
        if isinstance(found, dict) and name in found:
            yield from _refusals(child, found[name], before.get(name) if isinstance(before, dict) else None)


@pytest.mark.parametrize(("spec", "refused"), CASES.values(), ids=CASES.keys())
def test_each_rule_refuses_what_it_must_and_nothing_else(spec: dict[str, Any], refused: frozenset[str]) -> None:
    said = refusals(spec)
    assert len(said) == len(refused)
    assert all(any(part in message for message in said) for part in refused)


@pytest.mark.parametrize(("before", "spec", "refused"), CHANGES.values(), ids=CHANGES.keys())
def test_what_was_there_before_is_compared(before: Object, spec: Object, refused: frozenset[str]) -> None:
    said = refusals(spec, before)
    assert len(said) == len(refused) and all(any(part in message for message in said) for part in refused)
    assert refusals(spec) == frozenset(), "nothing was there before"


def test_a_spec_without_anything_is_admitted() -> None:
    """In an API server replicas has its default before the rules are asked; elsewhere it may be missing."""
    assert refusals({}) == frozenset()
    assert refusals({"rollout": {"strategy": {"rollingUpdate": {"maxSurge": 0}}}}) == frozenset()


def test_each_rule_has_its_cases() -> None:
    for rule in (ODD, SURGE):
        assert any(refused == {rule} for _spec, refused in CASES.values())
    for rule in (ETCD, SAME):
        assert any(refused == {rule} for _before, _spec, refused in CHANGES.values())


ONE, OTHER = {"matchLabels": {"a": "1"}}, {"matchLabels": {"a": "2"}}


@pytest.mark.parametrize(
    ("before", "spec", "refused"),
    [
        ({"clusterSelector": ONE}, {"clusterSelector": ONE}, False),
        ({"clusterSelector": ONE}, {"clusterSelector": OTHER}, True),
        ({"clusterSelector": ONE, "strategy": "Reconcile"}, {"clusterSelector": ONE, "strategy": "Reconcile"}, False),
        ({"clusterSelector": ONE, "strategy": "Reconcile"}, {"clusterSelector": ONE, "strategy": "ApplyOnce"}, True),
    ],
)
def test_what_a_resource_set_keeps_for_good(before: Object, spec: Object, refused: bool) -> None:
    """An API server gives the strategy its default before the rules are asked."""
    assert bool(refusals(spec, before, "ClusterResourceSet")) is refused
