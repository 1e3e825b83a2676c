# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Application of a manifest or a deletion to the store."""

from __future__ import annotations

import typing as t

from ...module_utils.common.values import now_rfc3339
from ..calls.failure import ControlPlaneFailure
from ..decision import terms
from ..decision.decide import decide
from ..decision.removal import whole_control_plane
from ..documents.names import label_value
from ..objects.manifest.reader import ClusterManifest
from ..records import stored_cluster, stored_deletion, stored_desired_state
from ..records.cluster_objects import CLUSTER, ClusterObjects, Object
from ..records.journal_entries import close_intents
from ..records.manifest_arguments import MANIFESTS_SPEC
from ..records.workers import managed
from ..store import opening
from ..store.base import Store, StoreError
from ..store.overlay import OverlayStore
from . import plan_and_reconcile, provider_roles
from .deleted import deleted_machines
from .foreseeing import ForeseeingAction

MANIFEST_SPEC: dict[str, t.Any] = {
    **MANIFESTS_SPEC,
    "ignore_worker_nodes": {"type": "bool", "default": False},
    "plan_file": {"type": "path"},
    "plan": {"type": "raw"},
}


class ApplyingAction(ForeseeingAction):
    """Action that brings what the user wants into the store."""

    def apply(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Apply the manifest, mark the cluster for deletion, or drop its objects.

        State present applies the manifest; absent sets deletionTimestamp; absent with the infrastructure gone removes
        what is left.

        Args:
            arguments: those of the module kubeadm.control_plane.cluster, with its defaults.

        Returns: ``changed``, ``changes`` in words, ``exists``, ``checked_beforehand`` and with ``--diff`` ``diff``
            (both with a manifest).

        Raises:
            ControlPlaneFailure: the manifest can't be applied; nothing was stored.
            ManifestError: the manifest is not valid.
            StoreError: the store failed.
        """
        if arguments["state"] == "present":
            if not arguments["manifests"]:
                return self._from_the_store(arguments)
            manifest = self.manifest(arguments)
            store = self.open_store(arguments)
            plan = plan_and_reconcile.followed(arguments, self.host_of(arguments["cluster"]), store)
            if plan is not None:
                self._check_plan(plan, store, manifest, arguments)
            new = not self.check_mode and store.get(CLUSTER, arguments["namespace"], arguments["cluster"]) is None
            if new:
                self._refuse_new(store, manifest, arguments)
            try:
                changes = stored_cluster.apply_manifest(store, manifest, self.display.warning, self.manifest_diff.add)
            except StoreError:
                self.note("store objects of the manifest, not all of them")
                raise
            changes += deleted_machines.restore(self.open_objects(arguments, store))
            told = self._told(arguments, changes)
            if self._task.diff:
                told["diff"] = self.manifest_diff.result()
            return {**told, "checked_beforehand": new}
        store = self.open_store(arguments)
        if store.get(CLUSTER, arguments["namespace"], arguments["cluster"]) is None:
            self._close_last_step(arguments)
            return {
                "changed": False,
                "changes": [],
                "exists": False,
                "msg": f"there is no Cluster {arguments['cluster']} in the store",
            }
        objects = self.open_objects(arguments, store)
        deployment = str(arguments.get("deployment") or "")
        if not deployment and (arguments["infrastructure_deleted"] or stored_deletion.is_last_record(objects)):
            deleted = stored_deletion.delete_marked(objects)
            for change in deleted:
                self.note(change)
            self._close_last_step(arguments)
            return {"changed": bool(deleted), "changes": deleted, "exists": False}
        if not deployment:
            self._refuse_to_delete_itself(objects)
        if arguments["providers"]:
            provider_roles.require(self, objects, arguments["providers"], _workers(objects, deployment))
        changes = stored_deletion.mark_deleting(objects, arguments["ignore_worker_nodes"], deployment)
        for change in changes:
            self.note(change)
        return {"changed": bool(changes), "changes": changes, "exists": True}

    @staticmethod
    def _refuse_to_delete_itself(objects: ClusterObjects) -> None:
        """Refuse to delete a cluster whose own API holds its objects.

        With its last machine the record of what is left to do would be lost.
        """
        if opening.keeps_itself(objects.store, objects.cluster):
            raise ControlPlaneFailure(
                f"{whole_control_plane.in_itself(f'{objects.namespace}/{objects.name}', objects.going)}. Nothing was done. {whole_control_plane.MOVE_OUT}"
            )

    def _told(self, arguments: dict[str, t.Any], changes: list[str]) -> dict[str, t.Any]:
        for change in changes:
            self.note(change)
            if self.check_mode:
                self.progress(arguments["cluster"], f"would {change}")
        return {"changed": bool(changes), "changes": changes, "exists": True, **self.said_of_manifest}

    def _from_the_store(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Default and validate a cluster whose objects were applied to the API.

        They are what a manifest would be.
        """
        store = self.open_store(arguments)
        changes = stored_desired_state.settle_in_api(store, arguments, self.display.warning)
        if changes is None:
            raise ControlPlaneFailure(
                f"no manifest names the cluster {arguments['namespace']}/{arguments['cluster']}; nothing was done. "
                "Give the files in the inventory (plugin kubeadm.control_plane.clusters, option manifests) or as control_plane_manifests."
            )
        return self._told(arguments, changes + deleted_machines.restore(self.open_objects(arguments, store)))

    def _close_last_step(self, arguments: dict[str, t.Any]) -> None:
        # Elsewhere the next decision closes a step; after the last one there is nothing to decide on.
        if self.check_mode:
            return
        lease = self.open_locks(arguments).own(arguments["namespace"], arguments["cluster"])
        if lease is not None:
            close_intents(self.journal(arguments), lease.run, "succeeded", "the cluster's objects are deleted")

    def _refuse_new(self, store: Store, manifest: ClusterManifest, arguments: dict[str, t.Any]) -> None:
        """Fail before storing a new cluster whose first machine can't be made."""
        decision = decide(self.observed_as_if(arguments, store, manifest))
        if decision["action"] == terms.BLOCKED:
            lines = [f"  {each['message']} ({each['reason']}). To do: {each['fix']}" for each in decision["blockedOn"]]
            title = f"{arguments['namespace']}/{arguments['cluster']}"
            raise ControlPlaneFailure("\n".join([f"{title} can't be made:", *lines, "Nothing was stored."]))

    def _check_plan(
        self,
        plan: plan_and_reconcile.FollowedPlan,
        store: Store,
        manifest: ClusterManifest,
        arguments: dict[str, t.Any],
    ) -> None:
        """Fail before storing anything where the plan is of another manifest."""
        as_if = OverlayStore(store if opening.exists(arguments["store"]) else None, now_rfc3339())
        stored_cluster.apply_manifest(as_if, manifest)
        plan_and_reconcile.check_spec(plan, plan_and_reconcile.wanted_parts(self.open_objects(arguments, as_if)))


def _workers(objects: ClusterObjects, deployment: str) -> list[Object]:
    """Return the Machines of a MachineDeployment's workers.

    Of all workers where none is named.
    """
    label = label_value(deployment)
    return [each for each in objects.workers if not deployment or managed.deployment_label(each) == label]
