# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Planning functions that plan and reconcile share.

A plan made and shown, a plan followed, a manifest taken as if it were applied.
"""

from __future__ import annotations

import json
import os
import typing as t

from ..calls.failure import ControlPlaneFailure
from ..decision import terms
from ..decision.decision_text import verb
from ..decision.plan.document import changed_spec
from ..decision.plan.follow import Departure, Position, departure, position
from ..decision.plan.text import headline
from ..decision.snapshot.public import public_snapshot
from ..decision.snapshot.spec_hash import spec_parts
from ..decision.snapshot.state_fingerprint import fingerprint, state_of
from ..decision.snapshot.typed_snapshot import Problem
from ..documents import names
from ..objects import kinds
from ..objects.manifest.reader import ClusterManifest
from ..observe.maintenance_window import maintenance
from ..observe.readiness_gates import Gates
from ..records import stored_cluster
from ..records.cluster_objects import ClusterObjects, Object
from ..records.machine_objects import new_name, prepared_matches
from ..records.plans import kept_plans
from ..records.resource_sets import stored_resource_sets
from ..store.base import Store
from ..store.overlay import OverlayStore
from . import plan_files, worker_obstacles

POLICY_SPEC: dict[str, t.Any] = {"type": "str", "default": "allow", "choices": ["allow", "ask", "never"]}
CONSENT_SPEC: dict[str, t.Any] = {"type": "list", "elements": "str", "default": []}
CONSENTS = (terms.RECOVER_SINGLE_VOTER, terms.GIVE_UP_BOOTSTRAP, terms.INITIALIZE)
OPTIONS = "control_plane_plan and control_plane_plan_file"
_SHOWN = 20


def policy(arguments: t.Mapping[str, t.Any], approved: bool) -> Object:
    """Return the run's policy in the snapshot's form.

    Fails where a consent names nothing that can be consented to.
    """
    consent = [each.strip() for each in arguments["consent"] if each.strip()]
    for each in consent:
        action, colon, name = each.partition(":")
        if action not in CONSENTS or not colon or not name.strip():
            raise ControlPlaneFailure(
                f"control_plane_consent: {each!r} is nothing that can be consented to; nothing was done. What there is: "
                f"{terms.RECOVER_SINGLE_VOTER}:MACHINE, where MACHINE is the machine that is lost with it; {terms.GIVE_UP_BOOTSTRAP}:MACHINE, which is off "
                f"and stays off; and {terms.INITIALIZE}:…, as the run says it that is blocked because a control plane was deleted."
            )
    return {"replace": arguments["replace"], "approved": approved, **({"consent": consent} if consent else {})}


def wanted_parts(objects: ClusterObjects) -> dict[str, str]:
    """Return the hashes of a cluster's desired state, by path.

    The same for a live cluster and for a saved snapshot.
    """
    wanted: Object = {
        "cluster": objects.cluster,
        "controlPlane": objects.control_plane,
        "infrastructureCluster": objects.infrastructure_cluster,
        "machineTemplate": objects.machine_template,
        "machines": [],
    }
    return spec_parts(public_snapshot(wanted))


def check_spec(plan: FollowedPlan, parts: t.Mapping[str, str]) -> None:
    """Refuse a plan that was made for another manifest."""
    document = plan.document
    if document["specHash"] == fingerprint(dict(parts)):
        return
    paths = changed_spec(document["spec"], parts)
    raise ControlPlaneFailure(
        f"the plan {plan.title} was made for another manifest of {document['namespace']}/{document['cluster']}: these fields differ from the manifest's: "
        f"{', '.join(paths[:_SHOWN])}. Nothing was changed. Put the manifest back, or make a new plan: "
        f"{plan.renewal}.",
        specHash={"expected": document["specHash"], "observed": fingerprint(dict(parts))},
    )


def with_manifest(snapshot: Object, manifest: ClusterManifest) -> Object:
    """Return a saved snapshot with this manifest applied.

    Nothing else of it changes.

    What hosts had been asked for the other manifest is left out: this one may want more of them, or other versions.
    """
    store = OverlayStore(None, str(snapshot["now"]))
    desired = {
        "cluster": manifest.cluster,
        "controlPlane": manifest.control_plane,
        "infrastructureCluster": manifest.infrastructure_cluster,
        "machineTemplate": manifest.machine_template,
    }
    for key, template in desired.items():
        stored = snapshot.get(key)
        if stored is not None:
            namespace = template["metadata"].get("namespace") or "default"
            metadata = {"namespace": namespace, **(stored.get("metadata") or {})}
            store.create(
                {"apiVersion": template["apiVersion"], "kind": template["kind"], **stored, "metadata": metadata}
            )
    stored_cluster.apply_manifest(store, manifest)
    metadata = snapshot["cluster"]["metadata"]
    objects = t.cast(
        ClusterObjects, ClusterObjects.read(store, metadata.get("namespace") or "default", metadata["name"])
    )
    changed: Object = {"maintenance": maintenance(objects.control_plane, str(snapshot["now"]))}
    if _gates_of(objects.control_plane) != _gates_of(snapshot.get("controlPlane")):
        # Their objects are in the cluster, which is not asked.
        changed["readinessGates"] = Gates(objects.control_plane).results(
            None, "a saved snapshot has no answer to a new gate"
        )
    sets = _resource_sets(store, objects, snapshot)
    return {
        **{key: value for key, value in snapshot.items() if key not in ("hosts", "pool", "obstacles", "resourceSets")},
        **({"resourceSets": sets} if sets else {}),
        **changed,
        "cluster": objects.cluster,
        "controlPlane": objects.control_plane,
        "infrastructureCluster": objects.infrastructure_cluster,
        "machineTemplate": objects.machine_template,
    }


def _resource_sets(store: Store, objects: ClusterObjects, snapshot: Object) -> list[Object]:
    """Return the manifest's resource sets, as applied as the snapshot says."""
    known = {
        (each["name"], entry["kind"], entry["name"]): entry
        for each in snapshot.get("resourceSets") or []
        for entry in each["resources"]
    }
    found = stored_resource_sets.facts(store, objects.cluster)
    for each in found:
        for entry in each["resources"]:
            before = known.get((each["name"], entry["kind"], entry["name"]), {})
            entry.update({key: before[key] for key in ("applied", "appliedHash", "lastAppliedTime") if before.get(key)})
    return found


def _gates_of(control_plane: t.Optional[Object]) -> t.Any:
    annotations = ((control_plane or {}).get("metadata") or {}).get("annotations") or {}
    return annotations.get(kinds.ANNOTATION_READINESS_GATES)


class NewNames:
    """Names for a plan's new machines: fitting prepared ones, else generated.

    New names follow the naming template. The same state and manifest get the same ones, so that a plan made twice has one digest.
    """

    def __init__(self, snapshot: Object) -> None:
        machines = snapshot["machines"]
        prepared = snapshot.get("preparedMachines") or []
        entries = [each["infrastructureMachine"] for each in machines if each.get("infrastructureMachine")]
        self._objects = ClusterObjects(
            store=t.cast(Store, None),
            namespace=str(snapshot["cluster"]["metadata"].get("namespace") or "default"),
            name=str(snapshot["cluster"]["metadata"]["name"]),
            cluster=snapshot["cluster"],
            control_plane=snapshot["controlPlane"],
            infrastructure_cluster=snapshot.get("infrastructureCluster"),
            machine_template=snapshot.get("machineTemplate"),
            machines=[each["machine"] for each in machines],
            infrastructure_machines={str(each["metadata"]["name"]): each for each in [*entries, *prepared]},
        )
        self._taken: set[str] = set()
        metadata = snapshot["controlPlane"]["metadata"]
        seed = [metadata.get("uid"), metadata.get("generation"), spec_parts(snapshot), state_of(snapshot)]
        suffixes = names.suffixes(json.dumps([self._objects.namespace, self._objects.name, *seed], sort_keys=True))
        self._suffix = lambda: next(suffixes)

    def __call__(self, failure_domain: str) -> str:
        """Return a name for the next new machine."""
        for each in self._objects.prepared_machines():
            name = str(each["metadata"]["name"])
            if name not in self._taken and prepared_matches(self._objects, each, failure_domain):
                break
        else:
            name = new_name(self._objects, self._suffix)
            while name in self._taken:
                name = new_name(self._objects, self._suffix)
        self._taken.add(name)
        return name


class FollowedPlan:
    """Plan that is being carried out.

    `title` names it in messages, its file or its digest; `renewal` says how another one is made. `digest` is "" for that of a file.
    """

    def __init__(self, document: Object, title: str, renewal: str, digest: str = "") -> None:
        self.document = document
        self.title = title
        self.renewal = renewal
        self._digest = digest

    def begins_step(self, objects: ClusterObjects, now: str) -> None:
        """Count the plan as used, so that the next step finds it."""
        if self._digest:
            kept_plans.note_use(objects.store, objects.namespace, objects.name, self._digest, now)

    def where(self, objects: ClusterObjects, snapshot: Object, decision: Object, begins: bool = False) -> Position:
        """Return the cluster's position in the plan.

        Fails where the cluster has left the plan, and shows the difference. Where a run begins its whole plan is made again, and has to be what is left
        of this one.
        """
        check_spec(self, wanted_parts(objects))
        found = position(self.document, snapshot, decision)
        if found.step is None and not found.ended and decision["action"] not in terms.ENDINGS:
            raise self._left(objects, found, decision, worker_obstacles.failed(snapshot))
        if begins and found.step is not None:
            leaves = departure(self.document, found.step, snapshot, decision)
            if leaves is not None:
                raise self._other(objects, leaves)
        return found

    def accepted(self, place: Position) -> str:
        """Return how much of this plan an accepting run would do."""
        count = len(self.document["steps"])
        if place.step is None:
            return f"the plan {self.title} would be accepted, and none of its {count} steps would be taken now"
        return f"the plan {self.title} would be accepted, and carried out from step {place.step['step']} of {count} on"

    def _other(self, objects: ClusterObjects, leaves: Departure) -> ControlPlaneFailure:
        approved, now = (headline(each) if each else "nothing, the plan ends" for each in (leaves.approved, leaves.now))
        return ControlPlaneFailure(
            f"{objects.title} would not be carried to the end of the plan {self.title}, so nothing was done.\n"
            f"  step {leaves.number}, approved: {approved}\n  step {leaves.number}, now: {now}\n{self._what_to_type()}"
        )

    def _what_to_type(self) -> str:
        return (
            f"What to type: make a new plan ({self.renewal}). To continue without a plan, reconcile without {OPTIONS}."
        )

    def _left(self, objects: ClusterObjects, found: Position, decision: Object, failed: str) -> ControlPlaneFailure:
        nearest = t.cast(Object, found.nearest)
        stop = f"before step {nearest['step']} ({headline(nearest)})" if "step" in nearest else "at the plan's end"
        lines = [f"{objects.title} is not as the plan {self.title} expects, so nothing more was done."]
        if found.next_differs:
            lines.append(
                f"Its state is as {stop}, but what follows from it now is: {verb(decision)} "
                f"({decision['reasons'][0]['reason']})."
            )
        else:
            lines.append(f"What is observed is nearest to what the plan expects {stop}, and differs from that in:")
            lines += [f"  {_line(each)}" for each in found.differences[:_SHOWN]]
            if len(found.differences) > _SHOWN:
                lines.append(f"  and {len(found.differences) - _SHOWN} more")
        # The workers that this run could not remove are no difference of the state, and may be the cause.
        lines += [failed.strip()] if failed else []
        lines.append(self._what_to_type())
        return ControlPlaneFailure("\n".join(lines), difference=list(found.differences))


def followed(arguments: t.Mapping[str, t.Any], host: str, store: Store) -> t.Optional[FollowedPlan]:
    """Return the plan that a run carries out, None without one.

    Args:
        arguments: ``plan`` (as kept_plans.chosen() takes it) and ``plan_file``.
        host: the cluster's inventory name.
        store: the cluster's store, where a plan is read by its digest.

    Raises:
        ControlPlaneFailure: it is not known, can't be followed, or is another cluster's; or there are two.
    """
    digest, file = kept_plans.chosen(arguments["plan"], host), arguments["plan_file"]
    if digest and file:
        raise ControlPlaneFailure(
            "control_plane_plan and control_plane_plan_file both name a plan, and one can be carried out. Nothing was done. Give one of them."
        )
    of_cluster = (arguments["namespace"], arguments["cluster"])
    make, then = "playbook kubeadm.control_plane.plan with -e", "read it, then reconcile with"
    if digest:
        document = kept_plans.read(store, *of_cluster, digest)
        renewal = f"{make} control_plane_keep_plan=true, {then} -e control_plane_plan=ITS DIGEST"
        return FollowedPlan(document, digest, renewal, digest)
    if file:
        document = plan_files.read_plan_file(file, *of_cluster)
        return FollowedPlan(document, file, f"{make} control_plane_plan_file={file}, {then} it")
    return None


def _line(each: t.Mapping[str, t.Any]) -> str:
    return f"{each['path']}: expected {each['expected']}, observed {each['observed']}"


def refuse_contradictions(problems: t.Sequence[Problem]) -> None:
    """Refuse a fresh snapshot that contradicts itself."""
    if problems:
        raise ControlPlaneFailure(
            "the snapshot contradicts itself, so nothing is decided on it: " + "; ".join(map(str, problems))
        )


def absolute(path: t.Optional[str]) -> t.Optional[str]:
    """Return a file's absolute path, None where none is given."""
    return os.path.abspath(os.path.expanduser(path)) if path else None
