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
CLUSTER_ADMINS = "kubeadm:cluster-admins"
_BINDINGS = f"{RBAC}/clusterrolebindings"
KUBELET_CLIENT_PATH, CLUSTER_ADMINS_PATH = f"{_BINDINGS}/{KUBELET_CLIENT}", f"{_BINDINGS}/{CLUSTER_ADMINS}"
BINDINGS_READS = tuple(
    compare_and_swap.Read(path, ("roleRef", "subjects")) for path in (KUBELET_CLIENT_PATH, CLUSTER_ADMINS_PATH)
)
ROLE_KEEP, BINDING_KEEP = ("rules",), ("roleRef", "subjects")

_Object = t.Mapping[str, t.Any]
Step = tuple[tuple[compare_and_swap.Write, ...], tuple[Change, ...]]


def bindings_plan(objects: Objects, version: t.Optional[str]) -> Plan:
    """Return the plan for ClusterRoleBindings that no join makes.

    Without kubeadm:apiserver-kubelet-client, API servers of 1.37 and newer can't reach kubelets. Without kubeadm:cluster-admins,
    the admin.conf that kubeadm makes from 1.29 on has no rights, and `kubeadm join` of a control plane machine fails.

    Each is made only where it is missing, the former not for 1.38 and newer. The latter grants everything to a group, and is made
    for 1.29 and newer alone.

    Raises:
        ValueError: ``version`` is no Kubernetes version.
    """
    plans = [_kubelet_client(objects, version)]
    if version and kubernetes_facts.has_super_admin(version):
        group = {"apiGroup": GROUP, "kind": "Group", "name": CLUSTER_ADMINS}
        plans.append(_bound(objects[CLUSTER_ADMINS_PATH], CLUSTER_ADMINS, "cluster-admin", group))
    return Plan(
        "; ".join(each.message for each in plans),
        tuple(write for each in plans for write in each.writes),
        tuple(change for each in plans for change in each.changes),
        tuple(warning for each in plans for warning in each.warnings),
    )


def _kubelet_client(objects: Objects, version: t.Optional[str]) -> Plan:
    item = objects[KUBELET_CLIENT_PATH]
    if item is None and version and kubernetes_facts.makes_kubelet_client_binding(version):
        return Plan(f"Kubernetes {version}: kubeadm makes ClusterRoleBinding {KUBELET_CLIENT} itself")
    user = {"apiGroup": GROUP, "kind": "User", "name": "kube-apiserver-kubelet-client"}
    return _bound(item, KUBELET_CLIENT, "system:kubelet-api-admin", user)


def _bound(item: t.Optional[_Object], name: str, role: str, subject: t.Mapping[str, str]) -> Plan:
    """Return the plan for one ClusterRoleBinding; an existing one stays."""
    if item is not None:
        bound = (item.get("roleRef") or {}).get("name")
        warning = f"ClusterRoleBinding {name} is bound to {bound}, not to {role}; it was left alone."
        return Plan(f"ClusterRoleBinding {name} exists", warnings=() if bound == role else (warning,))
    wanted = {"apiGroup": GROUP, "kind": "ClusterRole", "name": role}
    document = _object("ClusterRoleBinding", {"name": name}, roleRef=wanted, subjects=[dict(subject)])
    write = compare_and_swap.Write(_BINDINGS, compare_and_swap.CREATE, document)
    after = f"{subject['kind']} {subject['name']} -> ClusterRole {role}\n"
    change = Change(f"ClusterRoleBinding {name}", "", after)
    return Plan(f"ClusterRoleBinding {name} created", (write,), (change,))


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
