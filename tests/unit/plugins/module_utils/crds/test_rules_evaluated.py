# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules over several fields, evaluated by Google's implementation of CEL, on which the one of API servers is modelled.

Every field is ``dyn`` here, as an int-or-string is in an API server. What an API server's own compiler says of the rules, with the types of
the schema, is asked of one in tests/integration/store/test_newer_api_server.py.
"""

from __future__ import annotations

from typing import Any

import pytest
from cel_expr_python import cel
from rule_cases import CASES, ODD, SURGE

from ansible_collections.kubeadm.control_plane.plugins.module_utils.crds import definitions, rules

(KIND,) = [kind for kind in definitions.KINDS if kind.name == "KubeadmControlPlane"]


def refusals(spec: dict[str, Any]) -> frozenset[str]:
    """The messages of the rules that a spec breaks."""
    (version,) = definitions.definition(KIND, rules.CEL_SINCE_MINOR)["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    environment = cel.NewEnv(variables={"self": cel.Type.DYN})
    said = set()
    for rule in schema["x-kubernetes-validations"]:
        answer = environment.compile(rule["rule"]).eval(data={"self": spec})
        assert answer.type() == cel.Type.BOOL, f"{rule['rule']}: {answer}"
        if not answer.value():
            said.add(rule["message"])
    return frozenset(said)


@pytest.mark.parametrize(("spec", "refused"), CASES.values(), ids=CASES.keys())
def test_each_rule_refuses_what_it_must_and_nothing_else(spec: dict[str, Any], refused: frozenset[str]) -> None:
    said = refusals(spec)
    assert len(said) == len(refused)
    assert all(any(part in message for message in said) for part in refused)


def test_a_spec_without_anything_is_admitted() -> None:
    """In an API server replicas has its default before the rules are asked; elsewhere it may be missing."""
    assert refusals({}) == frozenset()
    assert refusals({"rollout": {"strategy": {"rollingUpdate": {"maxSurge": 0}}}}) == frozenset()


def test_both_rules_have_their_cases() -> None:
    for rule in (ODD, SURGE):
        assert any(refused == {rule} for _spec, refused in CASES.values())
