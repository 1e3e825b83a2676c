# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""RBAC objects of kubeadm that a rollout must create (docs/reference/kubeadm.md, "RBAC").

Source: docs/reference/cluster_api.md, "Rollout".
"""

from __future__ import annotations

import typing as t

from ...module_utils.common import kubernetes_facts
from ...module_utils.workload_api import bootstrap_token, compare_and_swap
from .writes import Change, Objects, Plan, WorkloadError, resource_version

GROUP = "rbac.authorization.k8s.io"
RBAC = f"/apis/{GROUP}/v1"
NODES_GROUP = "system:nodes"
BOOTSTRAPPERS_GROUP = bootstrap_token.GROUP

KUBELET_CLIENT = "kubeadm:apiserver-kubelet-client"
KUBELET_CLIENT_PATH = f"{RBAC}/clusterrolebindings/{KUBELET_CLIENT}"
KUBELET_CLIENT_READS = (compare_and_swap.Read(KUBELET_CLIENT_PATH, ("roleRef", "subjects")),)
ROLE_KEEP, BINDING_KEEP = ("rules",), ("roleRef", "subjects")

_Object = t.Mapping[str, t.Any]
Step = tuple[tuple[compare_and_swap.Write, ...], tuple[Change, ...]]


def kubelet_client_plan(objects: Objects, version: t.Optional[str]) -> Plan:
    """Return the plan for ClusterRoleBinding kubeadm:apiserver-kubelet-client.

    Without it, API servers of 1.37 and newer can't reach kubelets.

    It is made only where it is missing, and not for 1.38 and newer.

    Raises:
        ValueError: ``version`` is no Kubernetes version.
    """
    item = objects[KUBELET_CLIENT_PATH]
    wanted = {"apiGroup": GROUP, "kind": "ClusterRole", "name": "system:kubelet-api-admin"}
    if item is not None:
        role = (item.get("roleRef") or {}).get("name")
        warnings: tuple[str, ...] = ()
        if role != wanted["name"]:
            warnings = (
                f"ClusterRoleBinding {KUBELET_CLIENT} is bound to {role}, not to {wanted['name']}; it was left alone.",
            )
        return Plan(f"ClusterRoleBinding {KUBELET_CLIENT} exists", warnings=warnings)
    if version and kubernetes_facts.makes_kubelet_client_binding(version):
        return Plan(f"Kubernetes {version}: kubeadm makes ClusterRoleBinding {KUBELET_CLIENT} itself")
    user = {"apiGroup": GROUP, "kind": "User", "name": "kube-apiserver-kubelet-client"}
    document = _object("ClusterRoleBinding", {"name": KUBELET_CLIENT}, roleRef=wanted, subjects=[user])
    write = compare_and_swap.Write(f"{RBAC}/clusterrolebindings", compare_and_swap.CREATE, document)
    change = Change(
        f"ClusterRoleBinding {KUBELET_CLIENT}", "", f"User {user['name']} -> ClusterRole {wanted['name']}\n"
    )
    return Plan(f"ClusterRoleBinding {KUBELET_CLIENT} created", (write,), (change,))


def role_allows(role: t.Optional[_Object], path: str, name: str, rule: _Object, namespace: str = "") -> Step:
    """Return the writes that add ``rule`` to a Role or ClusterRole.

    Rules that are there stay.
    """
    kind = "Role" if namespace else "ClusterRole"
    shown = f"{kind} {namespace + '/' if namespace else ''}{name}"
    after = f"{_rule_text(rule)}\n"
    if role is None:
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        write = compare_and_swap.Write(path, compare_and_swap.CREATE, _object(kind, metadata, rules=[dict(rule)]))
        return (write,), (Change(shown, "", after),)
    rules = list(role.get("rules") or [])
    if any(_covers(each, rule) for each in rules):
        return (), ()
    before = "".join(f"{_rule_text(each)}\n" for each in rules)
    write = compare_and_swap.Write(
        f"{path}/{name}", compare_and_swap.MERGE, {"rules": [*rules, dict(rule)]}, resource_version(role)
    )
    return (write,), (Change(shown, before, before + after),)


def groups_bound(binding: t.Optional[_Object], path: str, namespace: str, role: str, groups: t.Sequence[str]) -> Step:
    """Return the writes that add groups to a Role's RoleBinding.

    The RoleBinding is named as its Role; subjects that are there stay.

    Raises:
        WorkloadError: a RoleBinding of that name is bound to another Role, which the API never allows to change.
    """
    shown = f"RoleBinding {namespace}/{role}"
    subjects = [{"apiGroup": GROUP, "kind": "Group", "name": name} for name in groups]
    reference = {"apiGroup": GROUP, "kind": "Role", "name": role}
    if binding is None:
        document = _object("RoleBinding", {"name": role, "namespace": namespace}, roleRef=reference, subjects=subjects)
        change = Change(shown, "", "".join(f"Group {name} -> Role {role}\n" for name in groups))
        return (compare_and_swap.Write(path, compare_and_swap.CREATE, document),), (change,)
    bound = binding.get("roleRef") or {}
    if (bound.get("kind"), bound.get("name")) != ("Role", role):
        raise WorkloadError(
            f"{shown} is bound to {bound.get('kind')} {bound.get('name')}, not to Role {role}, and the API lets no user change that; "
            f"nothing was written. Find out who made it, then delete it: kubectl -n {namespace} delete rolebinding {role}"
        )
    there = list(binding.get("subjects") or [])
    names = {each.get("name") for each in there if each.get("kind") == "Group"}
    missing = [each for each in subjects if each["name"] not in names]
    if not missing:
        return (), ()
    before = "".join(f"{each.get('kind')} {each.get('name')} -> Role {role}\n" for each in there)
    write = compare_and_swap.Write(
        f"{path}/{role}", compare_and_swap.MERGE, {"subjects": [*there, *missing]}, resource_version(binding)
    )
    after = before + "".join(f"Group {each['name']} -> Role {role}\n" for each in missing)
    return (write,), (Change(shown, before, after),)


def _covers(rule: _Object, wanted: _Object) -> bool:
    """Return whether a rule of a Role allows all that another allows."""
    for name in ("apiGroups", "resources", "verbs"):
        allowed = rule.get(name) or []
        if "*" not in allowed and not set(wanted[name]) <= set(allowed):
            return False
    names = rule.get("resourceNames") or []
    return not names or set(wanted.get("resourceNames") or ["*"]) <= set(names)


def _rule_text(rule: _Object) -> str:
    names = ", ".join(rule.get("resourceNames") or [])
    return f"{', '.join(rule.get('verbs') or [])} {', '.join(rule.get('resources') or [])} {names}".rstrip()


def _object(kind: str, metadata: _Object, **content: t.Any) -> dict[str, t.Any]:
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": dict(metadata), **content}
