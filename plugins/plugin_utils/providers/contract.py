# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Contract variables between a pass and an infrastructure provider's role (docs/provider_contract.md)."""

from __future__ import annotations

import typing as t

from ..calls.failure import ControlPlaneFailure
from ..decision.removal import hooks
from ..objects import kinds
from ..records.cluster_objects import ClusterObjects, Object


def provider_role(kind: str, providers: t.Mapping[str, str]) -> str:
    """Return the role that serves an infrastructure kind.

    Its name is looked up by the template's and the cluster's kind.
    """
    role = providers.get(kind)
    if not role:
        raise ControlPlaneFailure(
            f"no infrastructure provider for the kind {kind}. "
            f"Known kinds: {', '.join(sorted(providers))}. Add the provider's role to control_plane_more_providers."
        )
    return role


def machine_role(infrastructure: Object, providers: t.Mapping[str, str]) -> str:
    """Return the role that serves an infrastructure machine, by its own kind.

    The template may make machines of another provider's kind by now.
    """
    return provider_role(f"{infrastructure['kind']}Template", providers)


def machine_for_provider(infrastructure: Object, machine: t.Optional[Object]) -> Object:
    """Return the contract variable infrastructure_machine of one machine."""
    spec = machine["spec"] if machine else infrastructure.get("metadata", {}).get("annotations", {})
    return {
        "name": infrastructure["metadata"]["name"],
        "failureDomain": machine["spec"].get("failureDomain", "")
        if machine
        else spec.get(kinds.ANNOTATION_PREPARED_FAILURE_DOMAIN, ""),
        "version": machine["spec"]["version"] if machine else spec.get(kinds.ANNOTATION_PREPARED_VERSION, ""),
        "object": infrastructure,
    }


def described_worker(objects: ClusterObjects, name: str, providers: t.Mapping[str, str]) -> Object:
    """Return a worker as the tasks of a step need it.

    ``name``, the provider's ``role``, whether it is ``provisioned``, and ``infrastructure_machine``; without one the role is "".
    """
    infrastructure = objects.infrastructure_machines.get(name)
    if infrastructure is None:
        return {"name": name, "role": "", "provisioned": False, "infrastructure_machine": {}}
    return {
        "name": name,
        "role": machine_role(infrastructure, providers),
        "provisioned": is_provisioned(infrastructure),
        "infrastructure_machine": machine_for_provider(infrastructure, objects.machine(name)),
    }


def endpoint_servers(objects: ClusterObjects) -> list[dict[str, str]]:
    """Return the machines behind the endpoint.

    Every one that has an address and whose deletion has not started.
    """
    servers = []
    for machine in objects.all_machines:
        name = machine["metadata"]["name"]
        address = first_address(objects.infrastructure_machines.get(name))
        # One whose deletion a pre-drain hook holds still does its work.
        held = hooks.hooks(machine, kinds.HOOK_PRE_DRAIN) and not hooks.drained(machine)
        if address and (held or not machine["metadata"].get("deletionTimestamp")):
            servers.append({"name": name, "address": address})
    return servers


def first_address(infrastructure: t.Optional[Object]) -> str:
    """Return an infrastructure machine's internal address, "" while it has none."""
    addresses = (infrastructure or {}).get("status", {}).get("addresses") or []
    internal = [each["address"] for each in addresses if each.get("type") == "InternalIP"]
    return str(internal[0]) if internal else ""


def is_provisioned(infrastructure: Object) -> bool:
    """Return whether a machine was made and is still there.

    As far as its provider knows.
    """
    status = infrastructure.get("status", {})
    return bool(status.get("initialization", {}).get("provisioned")) and status.get("state") not in (
        "missing",
        "incomplete",
    )
