# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Providers' roles that a run is going to call."""

from __future__ import annotations

import os
import typing as t

from ansible.errors import AnsibleError
from ansible.playbook.role.definition import RoleDefinition

from ..base_classes.control_plane_action import ControlPlaneAction
from ..calls.failure import ControlPlaneFailure
from ..objects import kinds
from ..providers.contract import machine_role, provider_role
from ..records.cluster_objects import ClusterObjects, Object

# What a provider's role must have (docs/provider_contract.md).
ENTRY_POINTS = ("create", "delete", "observe", "endpoint")
# What is called for a machine that there is.
_OF_A_MACHINE = ("delete", "observe")
# What is called of the cluster's role as a machine or the cluster goes, and all that the role of a load balancer must have.
ENDPOINT_ENTRY_POINTS = ("endpoint",)
# A role's variable; without it, the endpoint is one that exists already.
ENDPOINT_ROLE = "machine_inventory_endpoint_role"
FIX = "Install the collection or the role, or correct its name in control_plane_more_providers or machine_inventory_endpoint_role."


def require(
    action: ControlPlaneAction,
    objects: ClusterObjects,
    providers: t.Mapping[str, str],
    workers: t.Iterable[Object] = (),
) -> None:
    """Fail where a role or task file that deletions call is missing.

    Before anything is changed: a machine that can't be deleted must not be marked for deletion and drained.

    Args:
        action: the action at work.
        objects: the cluster's objects; all of its own control plane's machines are checked, with those prepared ahead, and its endpoint.
        providers: the providers' roles by kind.
        workers: the Machines of the workers that are checked, too.

    Raises:
        ControlPlaneFailure: a role or a task file is missing.
    """
    found = [objects.infrastructure_machines.get(each["metadata"]["name"]) for each in (*objects.machines, *workers)]
    machines = [each for each in (*found, *objects.unowned_machines()) if each is not None]
    called: dict[str, tuple[str, ...]] = {machine_role(each, providers): _OF_A_MACHINE for each in machines}
    cluster, template = objects.infrastructure_cluster, objects.template_reference()
    if template.get("kind"):
        # What gives a step the machines' roles asks for this one as well (infrastructure_info).
        provider_role(template["kind"], providers)
    if cluster is not None:
        for role in filter(None, (provider_role(cluster["kind"], providers), endpoint_role(action, objects))):
            called[role] = (*called.get(role, ()), *ENDPOINT_ENTRY_POINTS)
    for role, entry_points in sorted(called.items()):
        problem = role_problem(action, role, entry_points)
        if problem:
            raise ControlPlaneFailure(f"{problem}. {FIX}")


def endpoint_role(action: ControlPlaneAction, objects: ClusterObjects) -> str:
    """Return the role that makes existing hosts' endpoint, "" without one."""
    if (objects.infrastructure_cluster or {}).get("kind") != kinds.INVENTORY_CLUSTER:
        return ""
    return str(action._templar.template(action._task_vars.get(ENDPOINT_ROLE)) or "")


def role_problem(action: ControlPlaneAction, role: str, entry_points: t.Sequence[str]) -> str:
    """Return what is missing of a role, "" where it is complete."""
    definition = RoleDefinition(loader=action._loader)
    try:
        # As include_role finds it.
        definition.preprocess_data(role)
    except AnsibleError as error:
        return str(error.message)
    path = definition.get_role_path()
    missing = [
        each
        for each in entry_points
        if not any(
            os.path.exists(os.path.join(path, "tasks", f"{each}{end}")) for end in (".yml", ".yaml", ".json", "")
        )
    ]
    return f"the role {role} has no task file {', '.join(missing)}" if missing else ""
