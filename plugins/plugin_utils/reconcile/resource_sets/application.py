# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Application of a ClusterResourceSet through one of the cluster's machines."""

from __future__ import annotations

import json
import typing as t

from ....module_utils.common.legible import one_line
from ....module_utils.common.redact import redact
from ....module_utils.common.values import clip, now_rfc3339
from ...calls.machine_connection import Answer, Machine
from ...decision.rollout import resource_sets as rules
from ...objects import kinds
from ...objects.conditions import condition
from ...objects.resource_sets import cluster_resource_set, contents
from ...records.cluster_objects import ClusterObjects, Object
from ...records.resource_sets import stored_resource_sets

MODULE = "workload_apply"
# A condition's message holds no more than so many refusals.
_MOST_TOLD = 5
_LONGEST = 1000


class Action(t.Protocol):
    """Interface of :class:`ControlPlaneAction` that applying needs."""

    def check_lock(self, arguments: t.Mapping[str, t.Any]) -> None:
        """Fail where this run no longer holds the cluster's lock."""

    def progress(self, cluster: str, text: str) -> None:
        """Show a line of progress to the user."""


class Caller(t.Protocol):
    """Interface of :class:`MachineCaller` that applying needs."""

    def call(self, machine: Machine, module: str, arguments: dict[str, t.Any]) -> Answer:
        """Run a module of this collection on a machine."""


class Application:
    """Application of sets to one cluster.

    Attributes:
        applied: the resources that were applied, each as set, kind and name.
        refused: those that were not, each with the reason.
    """

    def __init__(self, action: Action, arguments: dict[str, t.Any], objects: ClusterObjects, caller: Caller) -> None:
        self._action, self._arguments, self._objects, self._caller = action, arguments, objects, caller
        # Machines that were not reached: not asked again for each further resource.
        self._unreached: dict[str, str] = {}
        self.applied: list[str] = []
        self.refused: list[str] = []

    def apply(self, resource_set: Object, due: t.Sequence[Object]) -> None:
        """Apply the due resources of a set, and record each.

        Nothing fails for what is refused: a control plane's repair may be the next step.

        Args:
            resource_set: as the snapshot has it.
            due: those of its resources that are to be applied.
        """
        store, namespace = self._objects.store, self._objects.namespace
        stored = store.get(stored_resource_sets.RESOURCE_SET, namespace, resource_set["name"])
        if stored is None:
            return
        told: list[str] = []
        for each in due:
            found = stored_resource_sets.resource(store, namespace, each["kind"], each["name"])
            if found is None or contents.state_of(found) != contents.PRESENT:
                continue
            self._action.check_lock(self._arguments)
            stored_resource_sets.own(store, stored, [found])
            wrong = self._send(resource_set, found)
            entry = {
                "kind": each["kind"],
                "name": each["name"],
                "hash": contents.content_hash(found),
                "applied": not wrong,
                "lastAppliedTime": now_rfc3339(),
            }
            stored_resource_sets.record(store, self._objects.cluster, stored, [entry])
            title = f"{kinds.CLUSTER_RESOURCE_SET} {resource_set['name']}, {each['kind']} {each['name']}"
            if wrong:
                told += wrong
                self.refused.append(f"{title}: {'; '.join(wrong)}")
            else:
                self.applied.append(title)
            said = f"refused: {'; '.join(wrong)}" if wrong else "applied"
            self._action.progress(self._objects.name, f"{title}: {said}")
        if told:
            self._tell(resource_set["name"], told)

    def _tell(self, name: str, told: t.Sequence[str]) -> None:
        more = f" (and {len(told) - _MOST_TOLD} more)" if len(told) > _MOST_TOLD else ""
        message = clip("; ".join(told[:_MOST_TOLD]), _LONGEST) + more
        refused = condition(cluster_resource_set.CONDITION, "False", rules.NOT_APPLIED, message)
        stored_resource_sets.write_status(self._objects.store, self._objects.cluster, {name: refused}, now_rfc3339())

    def _send(self, resource_set: Object, resource: Object) -> list[str]:
        """Return what was refused of a resource's documents, [] for nothing."""
        documents, violations = contents.documents(resource)
        if violations:
            return [one_line(each.text()) for each in violations]
        call: dict[str, t.Any] = {
            "kubeconfig": self._arguments["kubeconfig"],
            "documents": json.dumps(documents),
            "create_only": resource_set["strategy"] == cluster_resource_set.APPLY_ONCE,
            "private": resource["kind"] == kinds.SECRET,
        }
        if self._arguments["fencing"] is not None:
            call["fencing"] = self._arguments["fencing"]
        failures = []
        # The newest first, and those that are going away last.
        machines = list(reversed(self._objects.bootstrapped_machines()))
        machines.sort(key=lambda each: bool(each["metadata"].get("deletionTimestamp")))
        for machine in machines:
            name = str(machine["metadata"]["name"])
            if name in self._unreached:
                failures.append(self._unreached[name])
                continue
            answer = self._caller.call(self._objects.reach(name), MODULE, call)
            if not answer.failed:
                return _refusals(answer.result)
            failures.append(f"machine {name}: {redact(answer.message)}")
            if not answer.reached:
                self._unreached[name] = failures[-1]
        return [one_line(clip("; ".join(failures), _LONGEST)) or "no machine has been bootstrapped"]


def _refusals(result: t.Mapping[str, t.Any]) -> list[str]:
    listed = result.get("documents")
    return [
        one_line(redact(f"{clip(each.get('title'), 320)}: {clip(each.get('message'), _LONGEST)}"))
        for each in (listed if isinstance(listed, list) else [])
        if isinstance(each, dict) and each.get("done") == "refused"
    ]
