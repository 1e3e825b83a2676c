# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Observation of a cluster as if its manifest were stored.

With what keeps machines from being made. Writes nothing.
"""

from __future__ import annotations

import functools
import typing as t

from ...module_utils.common.values import now_rfc3339
from ..base_classes.control_plane_action import ControlPlaneAction
from ..calls.failure import ControlPlaneFailure
from ..decision.snapshot.typed_snapshot import check_snapshot
from ..objects.manifest.differences import ManifestDiff
from ..objects.manifest.reader import ClusterManifest
from ..objects.manifest.unmanaged import summary_line
from ..observe.observation import observe
from ..records import stored_cluster, stored_desired_state, stored_health_checks
from ..records.cluster_objects import CLUSTER, ClusterObjects, Object
from ..records.manifest_arguments import read_manifest, unmanaged_result
from ..records.propagation import IN_PLACE
from ..store import opening
from ..store.base import Store
from ..store.overlay import OverlayStore
from . import plan_and_reconcile
from .creation_preflight import look_beforehand
from .deleted import deleted_machines
from .nodes import node_sync


class ForeseeingAction(ControlPlaneAction):
    """Action that predicts what a run would find and do."""

    ONE_VIEW = True
    # What the result says of the manifest, once it is read.
    said_of_manifest: t.Mapping[str, t.Any] = {}

    @functools.cached_property
    def manifest_diff(self) -> ManifestDiff:
        """Changes of stored objects by the manifest."""
        return ManifestDiff()

    def foresee(
        self, arguments: dict[str, t.Any], policy: t.Optional[Object] = None, every: bool = False
    ) -> tuple[ClusterObjects, Object]:
        """Return the cluster's objects and snapshot, with the manifest taken as stored.

        Args:
            arguments: the action's, with ``store``, ``manifests`` and ``providers``.
            policy: the run's own rules.
            every: whether every host of the pool is asked.

        Raises:
            ControlPlaneFailure: neither a manifest nor the store names the cluster, or the observation contradicts itself.
        """
        # Whatever is done below, the store is one that can't be written.
        self.check_mode = True
        store = self.open_store(arguments)
        known = store.get(CLUSTER, arguments["namespace"], arguments["cluster"]) is not None
        if known:
            self._warn_of_store(arguments)
        else:
            # A manifest alone would make a plan for a new cluster of it.
            self.refuse_beforehand(arguments)
        changes: t.Optional[list[str]]
        if arguments["manifests"]:
            changes = stored_cluster.apply_manifest(
                store, self.manifest(arguments), self.display.warning, self.manifest_diff.add
            )
        elif not known:
            raise ControlPlaneFailure(
                f"neither a manifest nor the store names the cluster {arguments['namespace']}/{arguments['cluster']}; nothing was planned. "
                "Give the files in the inventory (plugin kubeadm.control_plane.clusters, option manifests) or as control_plane_manifests."
            )
        else:
            # Reconcile begins with this, and ends there where the objects can't be.
            changes = stored_desired_state.settle_in_api(store, arguments, self.display.warning)
        in_place = [change for change in changes or () if IN_PLACE in change]
        objects = self.open_objects(arguments, store)
        in_place += deleted_machines.restore(objects)
        for change in in_place:
            self.progress(arguments["cluster"], f"reconcile would {change}")
        snapshot = self.observed_beforehand(arguments, objects, policy, whole=True, every=every)
        snapshot, taken_back = stored_health_checks.take_back(objects, snapshot)
        for change in (*taken_back, *node_sync.evictions(objects, snapshot)):
            self.progress(arguments["cluster"], f"reconcile would {change}")
        return objects, snapshot

    def observed_as_if(self, arguments: dict[str, t.Any], store: Store, manifest: ClusterManifest) -> Object:
        """Return the snapshot of a cluster that is not stored yet.

        Its manifest is taken as stored.
        """
        as_if = OverlayStore(store, now_rfc3339())
        stored_cluster.apply_manifest(as_if, manifest)
        return self.observed_beforehand(arguments, self.open_objects(arguments, as_if))

    def observed_beforehand(
        self,
        arguments: dict[str, t.Any],
        objects: ClusterObjects,
        policy: t.Optional[Object] = None,
        whole: bool = False,
        every: bool = False,
    ) -> Object:
        """Observe a cluster and run the preflight checks for new machines.

        ``whole`` and ``every`` are those of look_beforehand().
        """
        caller = self.machine_caller(arguments, objects)
        snapshot = observe(objects, caller, now_rfc3339(), policy=policy)
        plan_and_reconcile.refuse_contradictions(check_snapshot(snapshot))
        look_beforehand(self, arguments, objects, caller, snapshot, whole, every)
        return snapshot

    def manifest(self, arguments: t.Mapping[str, t.Any]) -> ClusterManifest:
        """Read the cluster's manifest; show its warnings and what is left alone."""
        manifest = read_manifest(arguments)
        self.said_of_manifest = unmanaged_result(manifest)
        line = summary_line(manifest.unmanaged)
        if line:
            self.progress(arguments["cluster"], line)
        for warning in manifest.warnings:
            self.display.warning(warning)
        return manifest

    def _warn_of_store(self, arguments: t.Mapping[str, t.Any]) -> None:
        problem = opening.unwritable(arguments["store"], arguments["namespace"])
        if problem:
            # Who may only read may plan, too.
            self.display.warning(f"reconcile can't be run from here: {problem}")
