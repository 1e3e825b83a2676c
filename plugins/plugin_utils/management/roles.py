# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Roles and bindings in a management cluster (docs/store.md, "In a Kubernetes API").

Source: the control plane contract, "All resources: API group".

The Role of a runner has the verbs that a run sends and no other one; a test lets a run live on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...module_utils.common.violations import SECRET_KEYS
from ..crds import crd_names, definitions
from ..documents.schema import ListOf, MapOf, Needed, Refused
from ..objects import actions as operator
from ..objects import kinds

Object = dict[str, Any]

API = "rbac.authorization.k8s.io/v1"
RBAC_GROUP = "rbac.authorization.k8s.io"
RUNNER = "kubeadm-control-plane-runner"
MANAGER_ROLE = "kubeadm-control-plane-manager"
EDIT_ROLE = "kubeadm-control-plane-edit"
ACTIONS_ROLE = "kubeadm-control-plane-actions"
VIEW_ROLE = "kubeadm-control-plane-view"
# The contract's label: Cluster API's own manager, where there is one, gets what it has.
AGGREGATE_TO_MANAGER = "cluster.x-k8s.io/aggregate-to-manager"
# Kubernetes' own roles, which people have in their namespaces.
AGGREGATE_TO = "rbac.authorization.k8s.io/aggregate-to-"

READ = ("get", "list", "watch")
WRITE = ("create", "delete", "patch", "update")
RUN = ("create", "delete", "get", "list", "update")


class ForeignKind(NamedTuple):
    """Kind of a provider's own definition: its group, name in paths, status."""

    group: str
    kind: str
    plural: str
    status: bool


def cluster_roles(found: Sequence[definitions.Kind]) -> list[Object]:
    """Return the ClusterRoles to install.

    The contract's for Cluster API's manager, what adds the kinds to view, edit and admin, and that for Actions.

    The author of an Action has programs run as root on the nodes and roles on the controller, so that role is
    aggregated to no other.

    What may hold secrets is not added to view.

    Args:
        found: the kinds that are installed.
    """
    of_actions = [kind for kind in found if definitions.group_of(kind.name) == operator.GROUP]
    edited = [kind for kind in found if kind not in of_actions]
    templates = [kind for kind in edited if kind.name.endswith("Template")]
    others = [kind for kind in edited if kind not in templates]
    manager = [*_rules(others, (*READ, *WRITE)), *_rules(templates, (*READ, "patch", "update"))]
    made = [
        _role("ClusterRole", MANAGER_ROLE, manager, {AGGREGATE_TO_MANAGER: "true"}),
        _role(
            "ClusterRole",
            EDIT_ROLE,
            [*_rules(edited, (*READ, *WRITE)), *_rules(_scaled(edited), ("get", "patch", "update"), "scale")],
            {f"{AGGREGATE_TO}edit": "true", f"{AGGREGATE_TO}admin": "true"},
        ),
        _role("ClusterRole", ACTIONS_ROLE, _rules(of_actions, (*READ, *WRITE)), {}),
        _role(
            "ClusterRole",
            VIEW_ROLE,
            _rules([kind for kind in found if not holds_secrets(kind)], READ),
            {f"{AGGREGATE_TO}view": "true"},
        ),
    ]
    # The API server keeps no empty list: such a role would be found changed for ever.
    return [role for role in made if role["rules"]]


def holds_secrets(kind: definitions.Kind) -> bool:
    """Return whether objects of a kind may hold secrets.

    File contents, passwords or tokens; Kubernetes' own view reads no Secret either.

    What a Task runs is described nowhere: its commands may carry anything, and its outputs what they said.
    """
    return kind.name in operator.KINDS or _has_secret_field(kind.spec)


def _has_secret_field(description: Any) -> bool:
    if isinstance(description, (MapOf, ListOf, Needed)):
        return _has_secret_field(description.value)
    if isinstance(description, list):
        return _has_secret_field(description[0])
    if not isinstance(description, Mapping):
        return False
    return any(
        name in SECRET_KEYS or _has_secret_field(field)
        for name, field in description.items()
        if not isinstance(field, Refused)
    )


_OWNERS = (kinds.KUBEADM_CONTROL_PLANE, kinds.MACHINE_DEPLOYMENT, kinds.MACHINE_SET)


def runner_role(namespace: str, found: Sequence[definitions.Kind], foreign: Sequence[ForeignKind] = ()) -> Object:
    """Return the Role that a run needs in a namespace.

    A namespace with clusters; the Role grants nothing beyond that need.

    Args:
        namespace: the namespace.
        found: the kinds that are installed.
        foreign: kinds of providers that have brought their own definitions. A Role can't be aggregated, so it names them.
    """
    with_status = [kind for kind in found if kind.status is not None]
    # What a machine template gives to them is written by server-side apply.
    applied = [kind for kind in found if kind.name.endswith("Machine") or kind.name == kinds.KUBEADM_CONFIG]
    # Owner references that block their owner's deletion need this where OwnerReferencesPermissionEnforcement is on.
    owners = [kind for kind in found if kind.name in _OWNERS]
    rules = [
        *_rules(found, RUN),
        *_rules(with_status, ("update",), "status"),
        *_rules(_scaled(found), ("get", "update"), "scale"),
        *_rules(applied, ("patch",)),
        *_rules(owners, ("update",), "finalizers"),
        *_foreign_rules(foreign),
        {"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": list(RUN)},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "get", "update"]},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create", "get", "update"]},
    ]
    role = _role("Role", RUNNER, rules, {})
    role["metadata"]["namespace"] = namespace
    return role


def runner_binding(namespace: str, runners: Sequence[Mapping[str, Any]]) -> Object:
    """Return the RoleBinding that grants the runner's Role to its runners.

    Args:
        namespace: the Role's namespace.
        runners: who: ``kind`` (User, Group or ServiceAccount), ``name``, and a ServiceAccount's ``namespace``.
    """
    return {
        "apiVersion": API,
        "kind": "RoleBinding",
        "metadata": {"name": RUNNER, "namespace": namespace, "labels": {definitions.MANAGED_BY: definitions.MANAGER}},
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": "Role", "name": RUNNER},
        "subjects": [_subject(each, namespace) for each in runners],
    }


def _subject(runner: Mapping[str, Any], namespace: str) -> Object:
    if runner["kind"] == "ServiceAccount":
        return {"kind": "ServiceAccount", "name": runner["name"], "namespace": runner.get("namespace") or namespace}
    return {"apiGroup": RBAC_GROUP, "kind": runner["kind"], "name": runner["name"]}


def _scaled(found: Sequence[definitions.Kind]) -> list[definitions.Kind]:
    return [kind for kind in found if kind.scale]


def _rules(found: Sequence[definitions.Kind], verbs: Sequence[str], subresource: str = "") -> list[Object]:
    """Return one rule for each API group."""
    resources: dict[str, list[str]] = {}
    for kind in found:
        resource = crd_names.plural(kind.name) + (f"/{subresource}" if subresource else "")
        resources.setdefault(definitions.group_of(kind.name), []).append(resource)
    return [
        {"apiGroups": [group], "resources": sorted(named), "verbs": sorted(verbs)}
        for group, named in sorted(resources.items())
    ]


def _foreign_rules(foreign: Sequence[ForeignKind]) -> list[Object]:
    rules: list[Object] = []
    for each in foreign:
        verbs = [*RUN, "patch"] if each.kind.endswith("Machine") else RUN
        rules.append({"apiGroups": [each.group], "resources": [each.plural], "verbs": sorted(verbs)})
        if each.status:
            rules.append({"apiGroups": [each.group], "resources": [f"{each.plural}/status"], "verbs": ["update"]})
    return rules


def _role(kind: str, name: str, rules: Sequence[Object], labels: Mapping[str, str]) -> Object:
    return {
        "apiVersion": API,
        "kind": kind,
        "metadata": {"name": name, "labels": {definitions.MANAGED_BY: definitions.MANAGER, **labels}},
        "rules": list(rules),
    }
