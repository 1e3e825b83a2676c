# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Show the steps until a cluster is what its manifest says; keep them as a plan. Changes nothing."""

from __future__ import annotations

import typing as t

from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision import names as stable
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.plan_document import (
    acting_steps,
    make_plan,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.plan_text import plan_text
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.public import public_snapshot
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.snapshot import check_snapshot
from ansible_collections.kubeadm.control_plane.plugins.module_utils.objects.manifest import read_cluster
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils import (
    cluster_records,
    machine_restore,
    plan_files,
    planning,
    stored_wishes,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.action_base import (
    STORE_SPEC,
    ControlPlaneAction,
    ControlPlaneFailure,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.cluster_objects import CLUSTER, Object
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observation import now_rfc3339, observe


class ActionModule(ControlPlaneAction):
    """See the documentation of the module kubeadm.control_plane.plan."""

    ONE_VIEW = True
    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "store": {**STORE_SPEC, "required": False},
        "manifests": {"type": "list", "elements": "path", "default": []},
        "providers": {"type": "dict", "default": {}},
        "replace": planning.POLICY_SPEC,
        "consent": planning.CONSENT_SPEC,
        "snapshot": {"type": "path"},
        "plan_file": {"type": "path"},
        "snapshot_file": {"type": "path"},
        "show": {"type": "bool", "default": True},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Observe or read a snapshot, plan, show and keep."""
        write = not self.check_mode
        # Whatever is done below, the store is one that can't be written.
        self.check_mode = True
        policy = planning.policy(arguments, approved=False)
        snapshot = self._what_if(arguments, policy) if arguments["snapshot"] else self._observed(arguments, policy)
        names = planning.NewNames(snapshot) if arguments["plan_file"] and snapshot.get("controlPlane") else None
        document = make_plan(snapshot, now_rfc3339(), names)
        result: dict[str, t.Any] = {"changed": False}
        for key, content, keep in (
            ("plan_file", document, plan_files.write_plan_file),
            ("snapshot_file", snapshot, plan_files.write_snapshot_file),
        ):
            if arguments[key]:
                result["changed"] = True
                result[key] = keep(arguments[key], content) if write else planning.absolute(arguments[key])
        if arguments["show"]:
            self.display.display("\n" + plan_text(document, result.get("plan_file")))
        return {**result, **plan_result(document)}

    def _observed(self, arguments: dict[str, t.Any], policy: Object) -> Object:
        if not arguments["store"]:
            raise ControlPlaneFailure(
                "a plan needs a store, to observe the cluster, or a snapshot, to plan without one; neither was given. Nothing was done."
            )
        store = self.open_store(arguments)
        if store.get(CLUSTER, arguments["namespace"], arguments["cluster"]) is None:
            # A manifest alone would make a plan for a new cluster of it.
            self.refuse_beforehand(arguments)
        manifest = None
        if arguments["manifests"]:
            manifest = read_cluster(
                arguments["manifests"], arguments["namespace"], arguments["cluster"], arguments["providers"] or None
            )
            for warning in manifest.warnings:
                self.display.warning(warning)
        elif store.get(CLUSTER, arguments["namespace"], arguments["cluster"]) is None:
            raise ControlPlaneFailure(
                f"neither a manifest nor the store names the cluster {arguments['namespace']}/{arguments['cluster']}; nothing was planned. "
                "Give the files in the inventory (plugin kubeadm.control_plane.clusters, option manifests) or as control_plane_manifests."
            )
        changes: t.Optional[list[str]]
        if manifest is not None:
            changes = cluster_records.apply_manifest(store, manifest)
        else:
            # Reconcile begins with this, and ends there where the objects can't be.
            changes = stored_wishes.settle_in_api(store, arguments)
        in_place = [change for change in changes or () if cluster_records.IN_PLACE in change]
        objects = self.open_objects(arguments, store)
        in_place += machine_restore.restore(objects)
        for change in in_place:
            self.progress(arguments["cluster"], f"reconcile would {change}")
        caller = self.machine_caller(arguments, objects)
        snapshot = observe(objects, caller, now_rfc3339(), policy=policy)
        planning.refuse_contradictions(check_snapshot(snapshot))
        self.look_at_hosts(objects, caller, snapshot, decide(snapshot))
        return public_snapshot(snapshot)

    def _what_if(self, arguments: dict[str, t.Any], policy: Object) -> Object:
        snapshot = plan_files.read_snapshot_file(arguments["snapshot"], arguments["namespace"], arguments["cluster"])
        snapshot = {**snapshot, "policy": policy}
        if arguments["manifests"]:
            manifest = read_cluster(
                arguments["manifests"], arguments["namespace"], arguments["cluster"], arguments["providers"] or None
            )
            snapshot = planning.with_manifest(snapshot, manifest)
        return public_snapshot(snapshot)


def plan_result(document: Object) -> dict[str, t.Any]:
    """Return what a task registers of a plan: everything but the states, which are large."""

    def brief(step: Object) -> Object:
        return {**step, "expects": step["expects"]["fingerprint"]}

    acting = acting_steps(document)
    end = document["end"]
    return {
        "steps": [brief(step) for step in document["steps"]],
        "end": brief(end),
        "acting": len(acting),
        "blocked": end["action"] == stable.BLOCKED,
        "specHash": document["specHash"],
        "observedHash": document["observedHash"],
        "msg": f"{len(document['steps'])} steps, then {end['action']}: {end['reasons'][0]['message']}",
    }
