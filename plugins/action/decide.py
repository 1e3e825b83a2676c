# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decision of a cluster's next step; waits for changes under way."""

from __future__ import annotations

import typing as t

from ..module_utils.common import settings
from ..module_utils.common.values import now_rfc3339
from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.decision import decision_text, terms
from ..plugin_utils.decision.creation.foundation import KUBECONFIG_ENDS_SOON
from ..plugin_utils.decision.decide import decide
from ..plugin_utils.decision.plan.document import acting_steps, make_plan
from ..plugin_utils.decision.plan.follow import Position
from ..plugin_utils.decision.plan.text import plan_text
from ..plugin_utils.decision.removal import whole_control_plane
from ..plugin_utils.decision.removal.left_behind import LEFT_BEHIND
from ..plugin_utils.decision.snapshot.public import public_snapshot
from ..plugin_utils.decision.snapshot.typed_snapshot import check_snapshot
from ..plugin_utils.move import export
from ..plugin_utils.observe import certificate_expiry, external_etcd_preflight
from ..plugin_utils.observe.observation import add_detached, observe
from ..plugin_utils.pki import secrets
from ..plugin_utils.reconcile import join_tokens, plan_and_reconcile, snapshot_before_change, worker_obstacles
from ..plugin_utils.reconcile.creation_preflight import look_beforehand
from ..plugin_utils.reconcile.deleted import deleted_machines
from ..plugin_utils.reconcile.nodes import node_sync
from ..plugin_utils.reconcile.one_pass import (
    Pass,
    Seen,
    is_check_due,
    is_settled,
    versions,
    was_settled,
    with_fixed_names,
)
from ..plugin_utils.records import (
    stored_cluster,
    stored_deletion,
    stored_desired_state,
    stored_health_checks,
)
from ..plugin_utils.records.cluster_objects import ClusterObjects, Object
from ..plugin_utils.records.journal_entries import close_step, steps_of
from ..plugin_utils.records.manifest_arguments import MANIFESTS_SPEC, read_manifest
from ..plugin_utils.records.status import decision_events
from ..plugin_utils.records.status.status_writer import write_status
from ..plugin_utils.report import facts
from ..plugin_utils.store import opening
from ..plugin_utils.store.base import Store

# What a task registers of a decision: conditions and status are in the store and in the status playbook, big facts are never returned.
_PRIVATE = ("conditions", "status", "annotations", "removedConditions")
# Between two observations, each of which takes about half a second itself.
PAUSE_SECONDS = 0.5
# So often a step is decided on anew because somebody keeps editing; what a run itself needs is checked by its steps.
EDITS = 3
# What a glance answers where it takes more to tell: the infrastructure is observed, and the next call decides.
OBSERVE_FIRST: t.Final[dict[str, t.Any]] = {
    "changed": False,
    "act": False,
    "next": "observe_infrastructure.yml",
    "decision": {},
    "msg": "the machines' infrastructure is observed first",
    "prepare": [],
    "prepare_names": [],
    "snapshot_first": False,
}


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.decide; see its documentation."""

    ONE_VIEW = True
    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "wait_timeout": {"type": "int", "default": settings.WAIT_SECONDS},
        "run": {"type": "str", "default": ""},
        "infrastructure_observed": {"type": "bool", "default": True},
        "checked_beforehand": {"type": "bool", "default": False},
        "step_limit": {"type": "int", "default": settings.STEP_LIMIT},
        "failed_workers": {"type": "list", "elements": "dict", "default": []},
        **MANIFESTS_SPEC,
        "delete": {"type": "bool", "default": False},
        "deployment": {"type": "str", "default": ""},
        "ignore_worker_nodes": {"type": "bool", "default": False},
        "remediate": {"type": "list", "elements": "str", "default": []},
        "check_health": {"type": "bool", "default": False},
        "replace": plan_and_reconcile.POLICY_SPEC,
        "consent": plan_and_reconcile.CONSENT_SPEC,
        "plan_file": {"type": "path"},
        "plan": {"type": "raw"},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Return the decision; ``act`` is whether the role has something to do."""
        return {**self._decided(arguments), "run": arguments["run"]}

    def _decided(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        this = self._begin(arguments)
        if this.glance and not was_settled(self.open_objects(arguments, this.store)):
            return OBSERVE_FIRST
        seen = self._wait_for_decision(this)
        if seen is None:
            return OBSERVE_FIRST
        if self.check_mode:
            return self._show_plan(seen, this.plan)
        place = self._record(this, seen)
        if place is not None and place.ended and seen.acts:
            return self._plan_ended(seen, t.cast(plan_and_reconcile.FollowedPlan, this.plan))
        return self._answer(this, seen, place)

    def _begin(self, arguments: dict[str, t.Any]) -> Pass:
        """Close the step before this one; keep a copy after it."""
        store = self.open_store(arguments)
        journal = self.journal(arguments)
        begun = steps_of(journal, arguments["run"])
        if self.check_mode:
            self._as_if(store, arguments)
        else:
            self.display.send("done", result=close_step(journal, arguments["run"], begun, arguments["failed_workers"]))
        plan = plan_and_reconcile.followed(arguments, self.host_of(arguments["cluster"]), store)
        policy = plan_and_reconcile.policy(arguments, approved=plan is not None)
        if begun and not self.check_mode:
            export.keep_copy(self, arguments)
        return Pass(
            arguments=arguments,
            store=store,
            journal=journal,
            plan=plan,
            policy=policy,
            steps=tuple(str(each["action"]) for each in begun),
            glance=not (arguments["infrastructure_observed"] or self.check_mode),
        )

    def _wait_for_decision(self, this: Pass) -> t.Optional[Seen]:
        """Observe and decide until there is nothing to wait for.

        None where a glance can't tell: the infrastructure is to be observed first.
        """
        waiting = None
        self._waited = facts.Wait(this.journal, this.arguments["run"])
        edits = 0
        while True:
            seen = self._decide_once(this)
            if seen is None or self.check_mode:
                return seen
            if this.plan is None or this.begun:
                self._tidy_up(seen)
            self._waited.look(seen.decision)
            if seen.action != terms.WAIT:
                if not seen.acts or edits == EDITS or not self._edited(seen.objects, this.arguments):
                    return seen
                edits += 1
                edited = "the cluster's objects were edited while it was observed: observing again"
                self.progress(seen.objects.name, edited)
                continue
            write_status(seen.objects, seen.decision, seen.snapshot["now"], begins=False)
            if waiting is None:
                waiting = self.waiting(seen.objects.name, this.arguments["wait_timeout"])
                self._waits_for(seen)
            if not waiting.again(decision_text.describe(seen.decision), PAUSE_SECONDS):
                raise ControlPlaneFailure(
                    f"waited {waiting.elapsed:.0f} s and it has not come: {decision_text.describe(seen.decision)}. Nothing was changed meanwhile. "
                    f"{decision_text.way_out(seen.decision)}Look at what it waits for (playbook kubeadm.control_plane.status) and run reconcile again.",
                    decision=_public(seen.decision),
                )

    def _waits_for(self, seen: Seen) -> None:
        said = decision_text.describe(seen.decision)
        if not self.display.send("doing", text=said):
            self.progress(seen.objects.name, said)

    def _decide_once(self, this: Pass) -> t.Optional[Seen]:
        """Observe once and decide; None where a glance can't tell."""
        this.store.look_again()
        objects = self.open_objects(this.arguments, this.store)
        self.tell(objects.name, deleted_machines.restore(objects))
        caller = self.machine_caller(this.arguments, objects)
        snapshot = self._observe(this, objects, caller)
        certificate_expiry.record_expiry(objects, caller, snapshot)
        decision = decide(snapshot)
        if this.glance and objects.all_machines and not is_settled(decision):
            return None
        if decision["action"] not in terms.ENDINGS and not self.check_mode and add_detached(objects, snapshot):
            decision = decide(snapshot)
        if is_check_due(decision, this.steps, this.arguments["checked_beforehand"]) and look_beforehand(
            self, this.arguments, objects, caller, snapshot, whole=self.check_mode
        ):
            decision = decide(snapshot)
        return Seen(objects=objects, caller=caller, snapshot=snapshot, decision=decision)

    def _observe(self, this: Pass, objects: ClusterObjects, caller: t.Any) -> Object:
        """Return the snapshot without outlived marks; check mode sets new ones."""
        check = self.check_mode
        snapshot = observe(objects, caller, now_rfc3339(), policy=this.policy, settle=not check, detached=check)
        worker_obstacles.add_failed(snapshot, this.arguments["failed_workers"])
        plan_and_reconcile.refuse_contradictions(check_snapshot(snapshot))
        if check and this.arguments["check_health"]:
            # The marks are in the store of check mode; who is asked as a second witness depends on them.
            stored_health_checks.check_health(objects, snapshot)
            return observe(objects, caller, now_rfc3339(), policy=this.policy)
        if not this.glance:
            snapshot, taken_back = stored_health_checks.take_back(objects, snapshot)
            self.tell(objects.name, taken_back)
        return snapshot

    def _tidy_up(self, seen: Seen) -> None:
        """Delete used tokens and bring Machines' labels and taints to Nodes.

        While something is under way only taints: Pods come to a Node from its first minute on.
        """
        under_way = seen.acts or seen.action == terms.WAIT
        if not seen.acts:
            join_tokens.delete_used(seen.objects, seen.caller)
        for change in node_sync.sync(seen.objects, seen.caller, seen.snapshot, tainted=under_way):
            self.progress(seen.objects.name, change)

    def _record(self, this: Pass, seen: Seen) -> t.Optional[Position]:
        """Write the status, and return the place in the plan.

        Before a step the keys and a copy of the objects are kept.
        """
        place = None
        begins = False
        try:
            if this.plan is not None:
                place = this.plan.where(seen.objects, seen.snapshot, seen.decision, begins=not this.begun)
            taken = seen.acts and (place is None or place.step is not None)
            if taken:
                self._keep_keys(seen.objects, seen.decision)
            # Not before the keys are kept: what a step begins with is recorded with it.
            if taken and not this.begun:
                # A run that was killed leaves no copy after its last step, and the step may take the API away.
                export.keep_copy(self, this.arguments)
            begins = taken
            if this.plan is not None and not this.begun:
                # Not before the cluster is known to be as the plan expects.
                self._tidy_up(seen)
        finally:
            write_status(seen.objects, seen.decision, seen.snapshot["now"], begins=begins)
        return place

    def _keep_keys(self, objects: ClusterObjects, decision: Object) -> None:
        """Give a new control plane the deleted one's keys and external etcd."""
        control_plane = objects.control_plane
        if control_plane is not None and decision["annotations"].get("cluster"):
            kept = secrets.hand_over(objects.store, objects.cluster, objects.cluster, control_plane)
            self.tell(objects.name, (*kept, *external_etcd_preflight.take_over(objects)))

    def _edited(self, objects: ClusterObjects, arguments: dict[str, t.Any]) -> bool:
        """Return whether a step's objects were changed since they were read.

        Observing the machines takes seconds, in which the user can edit them.
        """
        objects.store.look_again()
        return versions(self.open_objects(arguments, objects.store)) != versions(objects)

    def _as_if(self, store: Store, arguments: dict[str, t.Any]) -> None:
        # The store of check mode keeps this in memory; the run's own tasks before this one wrote nothing either.
        if arguments["manifests"]:
            stored_cluster.apply_manifest(store, read_manifest(arguments))
        elif not (arguments["delete"] or arguments["remediate"] or arguments["check_health"]):
            stored_desired_state.settle_in_api(store, arguments)
        if arguments["delete"]:
            objects = self.open_objects(arguments, store)
            stored_deletion.mark_deleting(objects, arguments["ignore_worker_nodes"], arguments["deployment"])
        if arguments["remediate"]:
            objects = self.open_objects(arguments, store)
            stored_health_checks.annotate(objects, [each for each in arguments["remediate"] if objects.machine(each)])

    def _answer(self, this: Pass, seen: Seen, place: t.Optional[Position]) -> dict[str, t.Any]:
        """Note the step in the journal, and return it.

        Without a step: why there is none.
        """
        objects, decision = seen.objects, seen.decision
        said = decision_text.describe(decision)
        if not opening.export_directory(this.arguments["store"]) and opening.keeps_itself(
            objects.store, objects.cluster
        ):
            self.display.warning(
                f"the cluster {objects.title} keeps its own objects, and without the store's option export there is no copy of them. Where its API "
                "is lost, it can't be restored with this collection, because its machines and its keys can't be read any more."
            )
        if not seen.acts:
            if this.begun or self._waited or seen.action == terms.BLOCKED:
                facts.record_end(this.journal, this.arguments["run"], said, seen.snapshot)
            return self._ended(seen, said)
        self._check_step_limit(this, seen, said)
        ahead: list[str] = []
        place_in_plan = ""
        step = place.step if place is not None else None
        if this.plan is not None and step is not None:
            decision, ahead = with_fixed_names(this.plan, step, decision)
            this.plan.begins_step(objects, seen.snapshot["now"])
            place_in_plan = f"step {step['step']} of {len(this.plan.document['steps'])}: "
            said = place_in_plan + decision_text.describe(decision)
        target = decision.get("target") or {}
        machine = str(target.get("machine") or target.get("name") or "")
        title = place_in_plan + decision_text.verb(decision)
        voters = decision_text.voters(decision)
        if not self.begin_step(this.journal, decision["action"], title, machine=machine, voters=voters):
            self.progress(objects.name, said)
        this.journal.intent(
            decision["action"],
            machine,
            this.arguments["run"],
            {"message": said, **facts.step(decision, seen.snapshot, self._planned(this, seen))},
        )
        decision_events.record_decision(objects, decision, said)
        return {
            **_result(decision, said),
            "act": True,
            "step": len(this.steps) + 1,
            "next": f"act/{decision['action']}.yml",
            "prepare_names": ahead,
        }

    @staticmethod
    def _planned(this: Pass, seen: Seen) -> list[Object]:
        """Return the plan's steps where this is a run's first one."""
        if this.begun:
            return []
        steps: list[Object] = (this.plan.document if this.plan else make_plan(seen.snapshot, now_rfc3339()))["steps"]
        return steps

    def _ended(self, seen: Seen, said: str) -> dict[str, t.Any]:
        """Return why no step follows; fail where that needs the user."""
        objects, decision = seen.objects, seen.decision
        decision_events.record_decision(objects, decision, said)
        if seen.action == terms.NONE and whole_control_plane.is_completed(decision["reasons"]):
            for change in stored_deletion.delete_marked(objects):
                self.note(change)
        if seen.action == terms.BLOCKED:
            raise ControlPlaneFailure(f"{objects.title} is blocked: {said}", decision=_public(decision))
        for each in decision["reasons"]:
            if each["reason"] in (LEFT_BEHIND, KUBECONFIG_ENDS_SOON):
                self.progress(objects.name, each["message"])
        if seen.action == terms.POSTPONED or decision["reasons"][0]["reason"] == "Paused":
            # A run that ends well and did nothing of what the manifest wishes must say so.
            self.progress(objects.name, said)
        return _result(decision, said)

    @staticmethod
    def _check_step_limit(this: Pass, seen: Seen, said: str) -> None:
        limit = this.arguments["step_limit"]
        if len(steps_of(this.journal, this.arguments["run"])) >= limit:
            raise ControlPlaneFailure(
                f"{seen.objects.title} was still not done after {limit} steps, the most that a run takes; the next would be: {said}."
                f"{worker_obstacles.failed(seen.snapshot)} Look at the journal in the store for steps that repeat, then run it again: it continues there."
            )

    def _plan_ended(self, seen: Seen, plan: plan_and_reconcile.FollowedPlan) -> dict[str, t.Any]:
        said = (
            f"the plan {plan.title} has no step left. What would follow now is not part of it: {decision_text.describe(seen.decision)}."
            f"{worker_obstacles.failed(seen.snapshot)} Make a new plan for that, or reconcile without one."
        )
        self.progress(seen.objects.name, said)
        return {**_result(seen.decision, said), "prepare": []}

    def _show_plan(self, seen: Seen, plan: t.Optional[plan_and_reconcile.FollowedPlan]) -> dict[str, t.Any]:
        """Show the plan of check mode."""
        document = make_plan(public_snapshot(seen.snapshot), now_rfc3339())
        self.display.display("\n" + plan_text(document))
        acts = bool(acting_steps(document, approved=plan is not None))
        if plan is not None:
            place = plan.where(seen.objects, seen.snapshot, seen.decision, begins=True)
            self.progress(seen.objects.name, plan.accepted(place))
            acts = place.step is not None
        said = decision_text.describe(seen.decision)
        if seen.action == terms.BLOCKED:
            raise ControlPlaneFailure(f"{seen.objects.title} is blocked: {said}", decision=_public(seen.decision))
        return {
            **_result(seen.decision, said),
            "changed": acts,
            "plan": [*document["steps"], document["end"]],
            "prepare": [],
        }


def _public(decision: Object) -> Object:
    return {key: value for key, value in decision.items() if key not in _PRIVATE}


def _result(decision: Object, said: str) -> dict[str, t.Any]:
    """Return the result of the module without a step."""
    return {
        "changed": False,
        "act": False,
        "next": "",
        "decision": _public(decision),
        "msg": said,
        "prepare": [domain or "" for domain in decision.get("prepare") or []],
        "prepare_names": [],
        "snapshot_first": snapshot_before_change.precedes_join(decision),
    }
