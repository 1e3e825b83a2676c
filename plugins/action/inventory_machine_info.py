# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""State of machines that are inventory hosts, as the hosts report it."""

from __future__ import annotations

import typing as t

from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.calls.machine_connection import Machine, MachineCaller
from ..plugin_utils.providers import inventory_pool
from ..plugin_utils.providers.inventory_pool import CLAIMED, MACHINE, RELEASED
from ..plugin_utils.records.cluster_objects import ClusterObjects, Object

RUNNING, MISSING = "running", "missing"


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.inventory_machine_info; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {"names": {"type": "list", "elements": "str", "required": True}}

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Read each machine's ownership claim from its host."""
        objects = self.open_objects(arguments)
        caller = self.machine_caller(arguments, objects)
        machines, warnings = [], []
        for name in arguments["names"]:
            infrastructure = objects.store.get(MACHINE, objects.namespace, name)
            if infrastructure is None:
                continue
            state, message = self._look(objects, caller, infrastructure)
            host = str((infrastructure.get("status", {}).get("claim") or {}).get("inventoryHost") or "")
            host = inventory_pool.host_of(infrastructure) or host
            machines.append({"name": name, "inventory_host": host, "state": state, "message": message})
            if message:
                warnings.append(f"machine {name}: {message}")
        return {"changed": False, "machines": machines, **({"warnings": warnings} if warnings else {})}

    def _look(self, objects: ClusterObjects, caller: MachineCaller, infrastructure: Object) -> tuple[str, str]:
        """Return the machine's state and a message to the user.

        The state is "" where there is no evidence, the message "" where there is nothing to tell.
        """
        status = infrastructure.get("status") or {}
        claim = status.get("claim") or {}
        host = inventory_pool.host_of(infrastructure)
        if not host:
            return (MISSING if claim.get("state") == RELEASED else ""), ""
        if host not in self._task_vars["hostvars"]:
            return "", (
                f"its inventory host {host} is not in this run's inventory. That says nothing about the machine; it can't be reached until the host "
                "is back (an AWX job slice or a partial inventory can hide it)."
            )
        group = str(infrastructure["spec"].get("group") or "")
        note = ""
        if group and host not in self._task_vars["groups"].get(group, []):
            note = f"its inventory host {host} has left the group {group}. The machine stays as it is; take it out by deleting it."
        machine = Machine(f"{infrastructure['metadata']['name']} (host {host})", None, {"inventoryHost": host})
        answer = inventory_pool.call_host(caller, machine, "host_claim_info", {})
        if answer.failed:
            # Neither a host that doesn't answer nor one that can't be asked is evidence that the machine is gone.
            return "", note
        state, found = judge(claim, status.get("machineID"), host, answer.result)
        return state, " ".join(each for each in (found, note) if each)


def judge(
    claim: t.Mapping[str, t.Any], machine_id: t.Optional[str], host: str, answer: t.Mapping[str, t.Any]
) -> tuple[str, str]:
    """Return a machine's state from its host's answer, and a message.

    Args:
        claim: ``status.claim`` of the machine; empty for one that was adopted.
        machine_id: the machine-id recorded for it.
        host: the host's name.
        answer: the result of host_claim_info.
    """
    if machine_id and answer["machineID"] != machine_id:
        return "", (
            f"the inventory host {host} answers as another machine: its machine-id is {answer['machineID'] or 'missing'}, and the machine's is "
            f"{machine_id}. Either the name leads to another host now, or the host was installed again. Nothing is done on it."
        )
    theirs = answer["claim"]
    if theirs and theirs["id"] != claim.get("id"):
        return MISSING, f"the inventory host {host} is machine {theirs['machine']} of cluster {theirs['cluster']} now."
    if not theirs and claim.get("state") == CLAIMED and not answer["traces"]:
        return (
            MISSING,
            f"the inventory host {host} carries neither its claim nor anything of the cluster any more: it was wiped.",
        )
    return RUNNING, ""
