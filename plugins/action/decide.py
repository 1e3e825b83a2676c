# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Observe a cluster and decide its next step; wait for what changes by itself."""

from __future__ import annotations

import typing as t

from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision import names, text
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.plan import plan
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.snapshot import check_snapshot
from ansible_collections.kubeadm.control_plane.plugins.module_utils.objects.manifest import read_cluster
from ansible_collections.kubeadm.control_plane.plugins.module_utils.store.base import Store
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils import cluster_records
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.action_base import (
    ControlPlaneAction,
    ControlPlaneFailure,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.cluster_objects import ClusterObjects, Object
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.journal_entries import close_intents
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observation import now_rfc3339, observe
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.status_writer import write_status


class ActionModule(ControlPlaneAction):
    """See the documentation of the module kubeadm.control_plane.decide."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "wait_timeout": {"type": "int", "default": 600},
        "run": {"type": "str", "default": ""},
        "step_limit": {"type": "int", "default": 60},
        "manifests": {"type": "list", "elements": "path", "default": []},
        "providers": {"type": "dict", "default": {}},
        "delete": {"type": "bool", "default": False},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Return the decision; ``act`` says whether the role has something to do now."""
        store = self.open_store(arguments)
        journal = self.journal(arguments)
        if self.check_mode:
            self._as_if(store, arguments)
        else:
            close_intents(journal, arguments["run"], "succeeded", "the step's tasks ended without an error")
        waiting = None
        while True:
            objects = self.open_objects(arguments, store)
            caller = self.machine_caller(arguments, objects)
            snapshot = observe(objects, caller, now_rfc3339())
            problems = check_snapshot(snapshot)
            if problems:
                raise ControlPlaneFailure(
                    "the snapshot contradicts itself, so nothing is decided on it: " + "; ".join(map(str, problems))
                )
            decision = decide(snapshot)
            if self.check_mode:
                return self._plan(objects, snapshot, decision)
            write_status(objects, decision, snapshot["now"])
            if decision["action"] != "wait":
                break
            if waiting is None:
                waiting = self.waiting(objects.name, arguments["wait_timeout"])
                self.progress(objects.name, text.describe(decision))
            if not waiting.again(text.describe(decision)):
                raise ControlPlaneFailure(
                    f"waited {waiting.elapsed:.0f} s and it has not come: {text.describe(decision)}. Nothing was changed meanwhile. "
                    "Look at what it waits for (playbook kubeadm.control_plane.status) and run reconcile again.",
                    decision=_public(decision),
                )
        return self._answer(objects, journal, decision, arguments)

    def _as_if(self, store: Store, arguments: dict[str, t.Any]) -> None:
        # The store of check mode keeps this in memory; the run's own tasks before this one wrote nothing either.
        if arguments["manifests"]:
            manifest = read_cluster(
                arguments["manifests"], arguments["namespace"], arguments["cluster"], arguments["providers"] or None
            )
            cluster_records.apply_manifest(store, manifest)
        if arguments["delete"]:
            cluster_records.mark_deleting(self.open_objects(arguments, store), False)

    def _answer(
        self, objects: ClusterObjects, journal: t.Any, decision: Object, arguments: dict[str, t.Any]
    ) -> dict[str, t.Any]:
        said = text.describe(decision)
        if decision["action"] == "blocked":
            raise ControlPlaneFailure(f"{objects.name} is blocked: {said}", decision=_public(decision))
        act = decision["action"] not in names.ENDINGS
        if act:
            run = arguments["run"]
            if (
                run
                and sum(1 for entry in journal.entries(4 * arguments["step_limit"]) if entry.get("run") == run)
                >= arguments["step_limit"]
            ):
                raise ControlPlaneFailure(
                    f"{objects.name} was still not done after {arguments['step_limit']} steps of this run; the next would be: {said}. "
                    "No plan needs as many, so the run stopped. Look at the journal in the store, then run it again."
                )
            self.progress(objects.name, said)
            target = (decision.get("target") or {}).get("machine") or ""
            journal.intent(decision["action"], target, run, {"message": said})
        return {
            "changed": False,
            "act": act,
            "decision": _public(decision),
            "msg": said,
            "prepare": [domain or "" for domain in decision.get("prepare") or []],
        }

    def _plan(self, objects: ClusterObjects, snapshot: Object, decision: Object) -> dict[str, t.Any]:
        steps = plan(snapshot)
        for number, step in enumerate(steps, start=1):
            self.progress(objects.name, f"step {number}: {text.describe(step)}")
        if decision["action"] == "blocked":
            raise ControlPlaneFailure(
                f"{objects.name} is blocked: {text.describe(decision)}", decision=_public(decision)
            )
        return {
            "changed": any(step["action"] not in names.ENDINGS for step in steps),
            "act": False,
            "decision": _public(decision),
            "plan": [_public(step) for step in steps],
            "msg": text.describe(decision),
            "prepare": [],
        }


def _public(decision: Object) -> Object:
    # Conditions and status are in the store and in the status playbook; big facts are never returned.
    return {key: value for key, value in decision.items() if key not in ("conditions", "status")}
