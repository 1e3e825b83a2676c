# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who may do what: the contract's roles, and a runner's, which is as narrow as the requests of a run."""

from __future__ import annotations

from typing import Any

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.crds import definitions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.management import installation, roles

KINDS = installation.kinds_for({"AcmeMachineTemplate": "acme.machine"})


def rules_of(name: str) -> list[dict[str, Any]]:
    (found,) = [each for each in roles.cluster_roles(KINDS) if each["metadata"]["name"] == name]
    return list(found["rules"])


def test_the_managers_role_is_the_contracts_example() -> None:
    """Templates are neither made nor deleted by Cluster API's manager."""
    rules = rules_of(roles.MANAGER_ROLE)
    whole = ["create", "delete", "get", "list", "patch", "update", "watch"]
    assert {
        "apiGroups": ["controlplane.cluster.x-k8s.io"],
        "resources": ["kubeadmcontrolplanes"],
        "verbs": whole,
    } in rules
    template = ["get", "list", "patch", "update", "watch"]
    resources = ["kubeadmcontrolplanetemplates"]
    assert {"apiGroups": ["controlplane.cluster.x-k8s.io"], "resources": resources, "verbs": template} in rules


def test_viewers_view_every_kind_that_holds_no_secrets() -> None:
    """File contents, passwords and tokens are in a KubeadmConfigSpec wherever one is, and in what an Action does and said."""
    rules = rules_of(roles.VIEW_ROLE)
    assert {verb for rule in rules for verb in rule["verbs"]} == {"get", "list", "watch"}
    viewed = {each for rule in rules for each in rule["resources"]}
    written = [*rules_of(roles.EDIT_ROLE), *rules_of(roles.ACTIONS_ROLE)]
    every = {each for rule in written for each in rule["resources"] if "/" not in each}
    assert every - viewed == {
        *("kubeadmcontrolplanes", "kubeadmcontrolplanetemplates", "kubeadmconfigs", "kubeadmconfigtemplates"),
        *("actions", "taskgroups", "tasks"),
    }
    assert {"clusters", "machines", "machinehealthchecks", "acmemachines"} <= viewed
    assert not any("/" in each or each == "secrets" for each in viewed)


def test_only_a_role_that_is_bound_by_hand_writes_actions() -> None:
    """They run programs on nodes and roles on the controller; edit and admin of a namespace are given for less."""
    writers = {}
    for role in roles.cluster_roles(KINDS):
        if any(set(rule["verbs"]) & set(roles.WRITE) for rule in role["rules"] if "actions" in rule["resources"]):
            writers[role["metadata"]["name"]] = [key for key in role["metadata"]["labels"] if "aggregate" in key]
    assert writers == {roles.ACTIONS_ROLE: []}
    (rule,) = rules_of(roles.ACTIONS_ROLE)
    assert rule["resources"] == ["actions", "taskgroups", "tasks"]
    edited = {each for rule in rules_of(roles.EDIT_ROLE) for each in rule["resources"]}
    assert {"kubeadmcontrolplanes", "clusters"} <= edited and not edited & set(rule["resources"])


def test_a_runner_has_no_wildcard_and_no_verb_too_many() -> None:
    role = roles.runner_role("team-a", KINDS)
    assert role["metadata"]["namespace"] == "team-a"
    for rule in role["rules"]:
        assert "*" not in [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]
        assert not {"watch", "deletecollection", "escalate", "bind", "impersonate"} & set(rule["verbs"])
    patched = {each for rule in role["rules"] if "patch" in rule["verbs"] for each in rule["resources"]}
    assert patched == {"machines", "kubeadmconfigs", "acmemachines", "inventorymachines", "nspawnmachines"}
    resources = {
        each: rule["verbs"] for rule in role["rules"] if rule["verbs"] != ["patch"] for each in rule["resources"]
    }
    assert resources["acmemachines"] == sorted(roles.RUN) and resources["acmemachines/status"] == ["update"]
    assert "acmemachinetemplates/status" not in resources
    assert resources["events"] == ["create", "get", "update"] and resources["leases"] == ["create", "get", "update"]
    assert resources["kubeadmcontrolplanes/scale"] == ["get", "update"]


def test_who_is_bound() -> None:
    """A ServiceAccount without a namespace is the Role's namespace's."""
    runners = [
        {"kind": "User", "name": "alice", "namespace": None},
        {"kind": "Group", "name": "ops", "namespace": None},
        {"kind": "ServiceAccount", "name": "awx", "namespace": "tower"},
        {"kind": "ServiceAccount", "name": "own", "namespace": None},
    ]
    assert roles.runner_binding("team-a", runners)["subjects"] == [
        {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"},
        {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "ops"},
        {"kind": "ServiceAccount", "name": "awx", "namespace": "tower"},
        {"kind": "ServiceAccount", "name": "own", "namespace": "team-a"},
    ]


def test_a_providers_kinds_are_three_whatever_it_is_registered_for() -> None:
    for registered in (["AcmeCluster"], ["AcmeMachineTemplate"], ["AcmeCluster", "AcmeMachineTemplate"]):
        found = installation.kinds_for(dict.fromkeys(registered, "acme.machine"))
        assert [kind.name for kind in found[len(definitions.KINDS) :]] == [
            "AcmeCluster",
            "AcmeMachine",
            "AcmeMachineTemplate",
        ]
