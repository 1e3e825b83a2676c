# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan of the steps to a cluster's desired state; changes nothing."""

from __future__ import annotations

import typing as t

from ..module_utils.common.legible import untemplated
from ..module_utils.common.values import clip, now_rfc3339
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.decision import decision_text, terms
from ..plugin_utils.decision.plan.document import acting_steps, digest, make_plan
from ..plugin_utils.decision.plan.text import plan_text
from ..plugin_utils.decision.snapshot.public import public_snapshot
from ..plugin_utils.processes.identity import this_awx_job
from ..plugin_utils.reconcile import plan_and_reconcile, plan_files
from ..plugin_utils.reconcile.foreseeing import ForeseeingAction
from ..plugin_utils.records.cluster_objects import Object
from ..plugin_utils.records.manifest_arguments import MANIFESTS_SPEC
from ..plugin_utils.records.plans import kept_plans
from ..plugin_utils.store import opening
from ..plugin_utils.store.base import StoreError


class ActionModule(ForeseeingAction):
    """Action plugin of the module kubeadm.control_plane.plan; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "store": {**opening.STORE_SPEC, "required": False},
        **MANIFESTS_SPEC,
        "replace": plan_and_reconcile.POLICY_SPEC,
        "consent": plan_and_reconcile.CONSENT_SPEC,
        "snapshot": {"type": "path"},
        "plan_file": {"type": "path"},
        "snapshot_file": {"type": "path"},
        "keep": {"type": "bool"},
        "show": {"type": "bool", "default": True},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Observe or read a snapshot, make the plan, show and keep it."""
        write = not self.check_mode
        policy = plan_and_reconcile.policy(arguments, approved=False)
        snapshot = self._what_if(arguments, policy) if arguments["snapshot"] else self._observed(arguments, policy)
        names = plan_and_reconcile.NewNames(snapshot) if snapshot.get("controlPlane") else None
        document = make_plan(snapshot, now_rfc3339(), names)
        result: dict[str, t.Any] = {"changed": False, "unmanaged": [], "kept": False}
        if write and self._is_kept(arguments):
            result["kept"] = self._keep(arguments, document)
        for key, content, keep in (
            ("plan_file", document, plan_files.write_plan_file),
            ("snapshot_file", snapshot, plan_files.write_snapshot_file),
        ):
            if arguments[key]:
                result["changed"] = True
                result[key] = keep(arguments[key], content) if write else plan_and_reconcile.absolute(arguments[key])
        if self._task.diff:
            result["diff"] = self.manifest_diff.result()
            if not result["changed"] and result["diff"]:
                # Ansible shows the diff of a task that changed something.
                self.display.display("\n" + self.manifest_diff.text())
        if arguments["show"]:
            self.display.display("\n" + plan_text(document, result.get("plan_file"), result["kept"]))
        stats = plan_stats(document, self.host_of(arguments["cluster"]))
        return {**result, **self.said_of_manifest, **plan_result(document), **stats, **self._refusal(document)}

    @staticmethod
    def _is_kept(arguments: dict[str, t.Any]) -> bool:
        """Return whether the plan is kept in the store.

        Of an AWX job nothing but the store reaches the next one.
        """
        wanted = arguments["keep"]
        return not arguments["snapshot"] and (bool(this_awx_job()) if wanted is None else bool(wanted))

    def _keep(self, arguments: dict[str, t.Any], document: Object) -> bool:
        """Keep the plan, and return whether it is kept.

        Where it can't be, that is an error for who asked for it, and a warning for others.
        """
        try:
            opening.require_writable(arguments["store"], arguments["namespace"], self.PATIENCE_SECONDS)
            encrypt, decrypt = self.ciphers()
            kept_plans.keep(opening.open_store(arguments["store"], encrypt, decrypt, self.PATIENCE_SECONDS), document)
        except StoreError as error:
            if arguments["keep"]:
                raise
            self.display.warning(f"the plan is not kept in the store, so no run can be given its digest: {error}")
            return False
        return True

    @staticmethod
    def _refusal(document: Object) -> dict[str, t.Any]:
        """Return the task's failure where reconcile would fail before its first step."""
        if document["steps"] or document["end"]["action"] != terms.BLOCKED:
            return {}
        title = f"{document['namespace']}/{document['cluster']}"
        return {"failed": True, "msg": f"{title} is blocked: {decision_text.describe(document['end'])}"}

    def _observed(self, arguments: dict[str, t.Any], policy: Object) -> Object:
        if not arguments["store"]:
            raise ControlPlaneFailure(
                "a plan needs a store, to observe the cluster, or a snapshot, to plan without one; neither was given. Nothing was done. Give one of them."
            )
        return public_snapshot(self.foresee(arguments, policy)[1])

    def _what_if(self, arguments: dict[str, t.Any], policy: Object) -> Object:
        snapshot = plan_files.read_snapshot_file(arguments["snapshot"], arguments["namespace"], arguments["cluster"])
        snapshot = {**snapshot, "policy": policy}
        if arguments["manifests"]:
            snapshot = plan_and_reconcile.with_manifest(snapshot, self.manifest(arguments))
        return public_snapshot(snapshot)


def plan_stats(document: Object, host: str) -> dict[str, t.Any]:
    """Return what set_stats would set of a plan.

    Ansible merges the clusters' dictionaries and adds up their numbers. In a workflow of AWX they are the next jobs' extra variables: control_plane_plan is
    what reconcile takes.
    """
    steps, end, value = document["steps"], document["end"], digest(document)
    risks = [untemplated(f"step {step['step']}: {said}") for step in steps if (said := decision_text.risk(step))]
    blocked = (
        [clip(untemplated(each["message"])) for each in end["blockedOn"]] if end["action"] == terms.BLOCKED else []
    )
    told = {"digest": value, "steps": len(steps), "risks": risks, "blocked": blocked}
    data = {
        "control_plane_plan": {host: value},
        "control_plane_plan_clusters": {host: told},
        "control_plane_plan_steps": len(steps),
        "control_plane_plan_risks": len(risks),
        "control_plane_plan_blocked": int(bool(blocked)),
    }
    return {"ansible_stats": {"data": data, "per_host": False, "aggregate": True}}


def plan_result(document: Object) -> dict[str, t.Any]:
    """Return a plan's result for the task, without the large states."""

    def brief(step: Object) -> Object:
        return {**step, "expects": step["expects"]["fingerprint"]}

    acting = acting_steps(document)
    end = document["end"]
    return {
        "steps": [brief(step) for step in document["steps"]],
        "end": brief(end),
        "acting": len(acting),
        "blocked": end["action"] == terms.BLOCKED,
        "digest": digest(document),
        "specHash": document["specHash"],
        "observedHash": document["observedHash"],
        "msg": f"{len(document['steps'])} steps, then {end['action']}: {end['reasons'][0]['message']}",
    }
