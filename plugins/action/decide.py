# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Decision of a cluster's next step; waits for changes under way."""

from __future__ import annotations

import typing as t

from ..module_utils.common.values import now_rfc3339
from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.decision import names, text
from ..plugin_utils.decision.conditions.control_plane import settled
from ..plugin_utils.decision.decide import decide
from ..plugin_utils.decision.plan.document import acting_steps, make_plan
from ..plugin_utils.decision.plan.follow import Position, fixed_name, names_ahead
from ..plugin_utils.decision.plan.text import plan_text
from ..plugin_utils.decision.removal import whole_control_plane
from ..plugin_utils.decision.removal.left_behind import LEFT_BEHIND
from ..plugin_utils.decision.snapshot.public import public_snapshot
from ..plugin_utils.decision.snapshot.view import check_snapshot
from ..plugin_utils.move import export
from ..plugin_utils.objects.manifest.cluster import read_cluster
from ..plugin_utils.observe import certificate_expiry
from ..plugin_utils.observe.observation import add_detached, observe
from ..plugin_utils.pki import secrets
from ..plugin_utils.reconcile import deleted_machines, join_tokens, node_labels, plan_files, planning
from ..plugin_utils.reconcile.beforehand import look_beforehand
from ..plugin_utils.records import cluster, events, health_checks, stored_wishes
from ..plugin_utils.records.journal_entries import close_intents, steps_of
from ..plugin_utils.records.objects import ClusterObjects, Object
from ..plugin_utils.records.status import write_status
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
}


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.decide; see its documentation."""

    ONE_VIEW = True
    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "wait_timeout": {"type": "int", "default": 600},
        "run": {"type": "str", "default": ""},
        "infrastructure_observed": {"type": "bool", "default": True},
        "step_limit": {"type": "int", "default": 60},
        "manifests": {"type": "list", "elements": "path", "default": []},
        "providers": {"type": "dict", "default": {}},
        "delete": {"type": "bool", "default": False},
        "remediate": {"type": "list", "elements": "str", "default": []},
        "check_health": {"type": "bool", "default": False},
        "replace": planning.POLICY_SPEC,
        "consent": planning.CONSENT_SPEC,
        "plan_file": {"type": "path"},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Return the decision; ``act`` is whether the role has something to do."""
        store = self.open_store(arguments)
        journal = self.journal(arguments)
        if self.check_mode:
            self._as_if(store, arguments)
        else:
            close_intents(journal, arguments["run"], "succeeded", "the step's tasks ended without an error")
        plan = self._plan_file(arguments)
        policy = planning.policy(arguments, approved=plan is not None)
        waiting = None
        # A run's steps are noted below, when the waiting is over.
        begun = self._begun(journal, arguments)
        if begun and not self.check_mode:
            export.keep_copy(self, arguments)
        glance = not (arguments["infrastructure_observed"] or self.check_mode)
        if glance and not _was_settled(self.open_objects(arguments, store)):
            return OBSERVE_FIRST
        edits = 0
        while True:
            store.look_again()
            objects = self.open_objects(arguments, store)
            for change in deleted_machines.restore(objects):
                self.progress(objects.name, change)
                self.note(change)
            caller = self.machine_caller(arguments, objects)
            snapshot = observe(
                objects, caller, now_rfc3339(), policy=policy, settle=not self.check_mode, detached=self.check_mode
            )
            planning.refuse_contradictions(check_snapshot(snapshot))
            if self.check_mode and arguments["check_health"]:
                # The marks are in the store of check mode; who is asked as a second witness depends on them.
                health_checks.check_health(objects, snapshot)
                snapshot = observe(objects, caller, now_rfc3339(), policy=policy)
            certificate_expiry.record_expiry(objects, caller, snapshot)
            decision = decide(snapshot)
            if glance and objects.all_machines and not _is_settled(decision):
                return OBSERVE_FIRST
            if decision["action"] not in names.ENDINGS and not self.check_mode and add_detached(objects, snapshot):
                decision = decide(snapshot)
            if (not begun or _makes_another(decision)) and look_beforehand(
                self, arguments, objects, caller, snapshot, whole=self.check_mode
            ):
                decision = decide(snapshot)
            if self.check_mode:
                return self._foresee(objects, snapshot, decision, plan)
            if decision["action"] in names.ENDINGS:
                join_tokens.delete_used(objects, caller)
                for change in node_labels.sync(objects, caller, snapshot):
                    self.progress(objects.name, change)
            if decision["action"] != names.WAIT:
                if decision["action"] in names.ENDINGS or edits == EDITS or not self._edited(objects, arguments):
                    break
                edits += 1
                self.progress(
                    objects.name, "somebody edited the cluster's objects while it was observed: looking again"
                )
                continue
            write_status(objects, decision, snapshot["now"], begins=False)
            if waiting is None:
                waiting = self.waiting(objects.name, arguments["wait_timeout"])
                self.progress(objects.name, text.describe(decision))
            if not waiting.again(text.describe(decision), PAUSE_SECONDS):
                raise ControlPlaneFailure(
                    f"waited {waiting.elapsed:.0f} s and it has not come: {text.describe(decision)}. Nothing was changed meanwhile. "
                    f"{text.way_out(decision)}Look at what it waits for (playbook kubeadm.control_plane.status) and run reconcile again.",
                    decision=_public(decision),
                )
        place = None
        begins = False
        try:
            if plan is not None:
                place = plan.where(objects, snapshot, decision)
            acts = decision["action"] not in names.ENDINGS
            taken = acts and (place is None or place.step is not None)
            if taken:
                self._keep_keys(objects, decision)
            # Not before the keys are kept: what a step begins with is recorded with it.
            if taken and not begun:
                # A run that was killed leaves no copy after its last step, and the step may take the API away.
                export.keep_copy(self, arguments)
            begins = taken
        finally:
            write_status(objects, decision, snapshot["now"], begins=begins)
        if place is not None and place.ended and decision["action"] not in names.ENDINGS:
            return self._plan_ended(objects, decision, t.cast(planning.FollowedPlan, plan))
        return self._answer(objects, journal, decision, arguments, plan, place)

    def _keep_keys(self, objects: ClusterObjects, decision: Object) -> None:
        """Give a new control plane the keys that the Cluster kept.

        It replaces a control plane that was deleted; nothing else is done before.
        """
        control_plane = objects.control_plane
        if control_plane is not None and decision["annotations"].get("cluster"):
            for change in secrets.hand_over(objects.store, objects.cluster, objects.cluster, control_plane):
                self.progress(objects.name, change)
                self.note(change)

    def _edited(self, objects: ClusterObjects, arguments: dict[str, t.Any]) -> bool:
        """Return whether a step's objects were changed since they were read.

        Observing the machines takes seconds, in which the user can edit them.
        """
        objects.store.look_again()
        return _versions(self.open_objects(arguments, objects.store)) != _versions(objects)

    def _as_if(self, store: Store, arguments: dict[str, t.Any]) -> None:
        # The store of check mode keeps this in memory; the run's own tasks before this one wrote nothing either.
        if arguments["manifests"]:
            manifest = read_cluster(
                arguments["manifests"], arguments["namespace"], arguments["cluster"], arguments["providers"] or None
            )
            cluster.apply_manifest(store, manifest)
        elif not (arguments["delete"] or arguments["remediate"] or arguments["check_health"]):
            stored_wishes.settle_in_api(store, arguments)
        if arguments["delete"]:
            cluster.mark_deleting(self.open_objects(arguments, store), False)
        if arguments["remediate"]:
            objects = self.open_objects(arguments, store)
            health_checks.annotate(objects, [each for each in arguments["remediate"] if objects.machine(each)])

    @staticmethod
    def _plan_file(arguments: dict[str, t.Any]) -> t.Optional[planning.FollowedPlan]:
        if not arguments["plan_file"]:
            return None
        document = plan_files.read_plan_file(arguments["plan_file"], arguments["namespace"], arguments["cluster"])
        return planning.FollowedPlan(document, arguments["plan_file"])

    def _answer(
        self,
        objects: ClusterObjects,
        journal: t.Any,
        decision: Object,
        arguments: dict[str, t.Any],
        plan: t.Optional[planning.FollowedPlan],
        place: t.Optional[Position],
    ) -> dict[str, t.Any]:
        said = text.describe(decision)
        if not opening.export_directory(arguments["store"]) and opening.keeps_itself(objects.store, objects.cluster):
            self.display.warning(
                f"the cluster {objects.title} keeps its own objects, and without the store's option export there is no copy of them. Where its API "
                "is lost, it can't be restored with this collection, because nobody can ask it for its machines and its keys."
            )
        if decision["action"] in names.ENDINGS:
            events.record_decision(objects, decision, said)
        if decision["action"] == names.NONE and _is_deleted(decision):
            for change in cluster.delete_marked(objects):
                self.note(change)
        if decision["action"] == names.BLOCKED:
            raise ControlPlaneFailure(f"{objects.title} is blocked: {said}", decision=_public(decision))
        act = decision["action"] not in names.ENDINGS
        ahead: list[str] = []
        if act:
            self._check_step_limit(objects, journal, arguments, said)
            step = place.step if place is not None else None
            if plan is not None and step is not None:
                decision, ahead = _with_fixed_names(plan, step, decision)
                said = f"step {step['step']} of {len(plan.document['steps'])}: {text.describe(decision)}"
            self.progress(objects.name, said)
            target = decision.get("target") or {}
            journal.intent(
                decision["action"],
                target.get("machine") or target.get("name") or "",
                arguments["run"],
                {"message": said},
            )
            events.record_decision(objects, decision, said)
        else:
            for each in decision["reasons"]:
                if each["reason"] == LEFT_BEHIND:
                    self.progress(objects.name, each["message"])
        if not act and (decision["action"] == names.POSTPONED or decision["reasons"][0]["reason"] == "Paused"):
            # A run that ends well and did nothing of what the manifest wishes must say so.
            self.progress(objects.name, said)
        return {
            "changed": False,
            "act": act,
            "next": f"act/{decision['action']}.yml" if act else "",
            "decision": _public(decision),
            "msg": said,
            "prepare": [domain or "" for domain in decision.get("prepare") or []],
            "prepare_names": ahead,
        }

    @staticmethod
    def _begun(journal: t.Any, arguments: dict[str, t.Any]) -> bool:
        """Return whether this run has taken a step already.

        What machines are made of is checked before a run's first step.
        """
        return bool(steps_of(journal, arguments["run"], 4 * arguments["step_limit"]))

    @staticmethod
    def _check_step_limit(objects: ClusterObjects, journal: t.Any, arguments: dict[str, t.Any], said: str) -> None:
        limit = arguments["step_limit"]
        if len(steps_of(journal, arguments["run"], 4 * limit)) >= limit:
            raise ControlPlaneFailure(
                f"{objects.title} was still not done after {limit} steps of this run; the next would be: {said}. "
                "No plan needs as many, so the run stopped. Look at the journal in the store, then run it again."
            )

    def _plan_ended(self, objects: ClusterObjects, decision: Object, plan: planning.FollowedPlan) -> dict[str, t.Any]:
        said = (
            f"the plan {plan.file} has no step left. What would follow now is not part of it: {text.describe(decision)}. "
            "Make a new plan for that, or reconcile without one."
        )
        self.progress(objects.name, said)
        return {
            "changed": False,
            "act": False,
            "next": "",
            "decision": _public(decision),
            "msg": said,
            "prepare": [],
            "prepare_names": [],
        }

    def _foresee(
        self, objects: ClusterObjects, snapshot: Object, decision: Object, plan: t.Optional[planning.FollowedPlan]
    ) -> dict[str, t.Any]:
        document = make_plan(public_snapshot(snapshot), now_rfc3339())
        self.display.display("\n" + plan_text(document))
        if plan is not None:
            plan.where(objects, snapshot, decision)
        if decision["action"] == names.BLOCKED:
            raise ControlPlaneFailure(
                f"{objects.title} is blocked: {text.describe(decision)}", decision=_public(decision)
            )
        return {
            "changed": bool(acting_steps(document, approved=plan is not None)),
            "act": False,
            "next": "",
            "decision": _public(decision),
            "plan": [*document["steps"], document["end"]],
            "msg": text.describe(decision),
            "prepare": [],
            "prepare_names": [],
        }


def _was_settled(objects: ClusterObjects) -> bool:
    """Return whether the stored cluster has nothing under way.

    Also one without a machine, of which no infrastructure can be observed. A wrong answer costs an observation, and changes no decision.
    """
    if not objects.all_machines and not objects.unowned_machines():
        return True
    if objects.control_plane is None or objects.unowned_machines():
        return False
    status = objects.control_plane.get("status") or {}
    states = {(each.get("status") or {}).get("state") for each in objects.infrastructure_machines.values()}
    return (
        status.get("observedGeneration") == objects.control_plane["metadata"].get("generation")
        and states <= {None, names.RUNNING.lower()}
        and settled(status.get("conditions") or ())
    )


def _is_deleted(decision: Object) -> bool:
    return any(each["reason"] == whole_control_plane.COMPLETED for each in decision["reasons"])


def _is_settled(decision: Object) -> bool:
    return decision["action"] == names.NONE and settled(decision["conditions"]["controlPlane"])


def _makes_another(decision: Object) -> bool:
    """Return whether the step makes a new machine.

    Its possible hosts, released meanwhile or in another failure domain, were not asked yet.
    """
    return decision["action"] in (names.INITIALIZE, names.JOIN) and not (decision["target"] or {}).get("machine")


def _with_fixed_names(plan: planning.FollowedPlan, step: Object, decision: Object) -> tuple[Object, list[str]]:
    """Return the decision with the plan's machine name, and names made ahead.

    The plan's name is for a new machine; the other names are of the machines that are made ahead meanwhile.
    """
    target = decision.get("target") or {}
    if not target.get("machine") and fixed_name(step):
        decision = {**decision, "target": {**target, "name": fixed_name(step)}}
    ahead = []
    for (name, domain), wanted in zip(names_ahead(plan.document, step), decision.get("prepare") or []):
        if domain != (wanted or ""):
            break
        ahead.append(name)
    # Only machines whose names are fixed are made ahead: another one would never be used.
    decision = {**decision, "prepare": (decision.get("prepare") or [])[: len(ahead)]}
    return decision, ahead


def _public(decision: Object) -> Object:
    return {key: value for key, value in decision.items() if key not in _PRIVATE}


def _versions(objects: ClusterObjects) -> dict[tuple[str, str], str]:
    everything = [objects.cluster, *([objects.control_plane] if objects.control_plane else []), *objects.machines]
    return {(each["kind"], each["metadata"]["name"]): each["metadata"]["resourceVersion"] for each in everything}
