# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Glance at a cluster: whether a playbook would find nothing to do.

Without a lock, and nothing is written: a run is gone through on a store that keeps its writes in memory, and any write but one that
changes nothing is something to do. So is whatever a glance can't tell (docs/fleet.md, "At a glance").
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import typing as t
from dataclasses import replace

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ...module_utils.common import settings
from ...module_utils.common.values import now_rfc3339
from ..base_classes.control_plane_action import CLUSTER_SPEC
from ..calls import role_variables
from ..calls.failure import ControlPlaneFailure
from ..calls.machine_connection import REFUSED
from ..decision.checks.api_connection import LAST_PROBE_SUCCESS
from ..decision.creation.foundation import KUBECONFIG_ENDS_SOON
from ..decision.decide import decide
from ..decision.decision_text import describe
from ..decision.remediation import unhealthy_machines
from ..decision.removal.left_behind import LEFT_BEHIND
from ..decision.rollout.in_place import ACTION_UNFINISHED, ROTATION_UNFINISHED
from ..decision.snapshot.typed_snapshot import check_snapshot
from ..objects.manifest.unmanaged import summary_line
from ..observe import certificate_expiry
from ..observe.observation import observe
from ..records import stored_cluster, stored_desired_state, stored_health_checks
from ..records.cluster_objects import ClusterObjects, Object
from ..records.manifest_arguments import MANIFESTS_SPEC, read_manifest
from ..records.status.status_writer import write_status
from ..store import opening
from ..store.base import Conflict, Store
from ..store.overlay import OverlayStore
from ..store.read_once import OF_NAMESPACE
from . import join_tokens, plan_and_reconcile, run_outcomes
from .deleted import deleted_machines
from .foreseeing import ForeseeingAction
from .metrics.files import MetricsFiles
from .nodes import node_sync
from .one_pass import Seen, is_settled, was_settled

Variables = dict[str, t.Any]
SPEC: dict[str, t.Any] = {
    **CLUSTER_SPEC,
    **MANIFESTS_SPEC,
    "replace": plan_and_reconcile.POLICY_SPEC,
    "consent": plan_and_reconcile.CONSENT_SPEC,
    "metrics_directory": {"type": "path", "default": ""},
    "backup_directory": {"type": "path", "default": ""},
}
# Which entry point of the role a playbook runs.
ENTRY_POINTS = {
    "reconcile": "main",
    "plan": "plan",
    "health_check": "health_check",
    "metrics": "metrics",
}
# A file that is to be written or followed, and what another run left behind: each is more than a glance tells.
FILES = ("plan_file", "snapshot", "snapshot_file", "kubeconfig", "use_export")
# Of a cluster without a MachineHealthCheck, in which health_check finds nothing to do.
UNCHECKED = "no MachineHealthCheck, so no machine is checked"
# With nothing to do all the same, and to be told: a glance shows no line.
_TOLD = {"Paused", LEFT_BEHIND, ACTION_UNFINISHED, ROTATION_UNFINISHED}
_ROLE = os.path.dirname(os.path.dirname(role_variables.ARGUMENT_SPECS))


class Silent:
    """Screen that shows nothing; the full way does."""

    def display(self, text: str) -> None:
        """Show nothing."""

    def warning(self, text: str) -> None:
        """Raise: who is to be warned goes the full way."""
        raise ControlPlaneFailure(text)


class Glance(ForeseeingAction):
    """Glances at clusters, one after another, in one process.

    The objects of a namespace are read once, at its first cluster; a store of files by the first process.
    """

    PATIENCE_SECONDS = 0.0
    CALL_SECONDS: float = settings.GLANCE_CALL_SECONDS
    SHARED_CONNECTIONS = False

    def begin(self, hostvars: t.Any) -> None:
        """Prepare for looking at clusters.

        Args:
            hostvars: the variables of the inventory's hosts, as tasks have them.
        """
        # The task's facts are the controller's; its calls are the machines'.
        self._task: t.Any = copy.copy(self._task)
        self._task.delegate_to = None
        self.check_mode = True
        self.display = Silent()  # type: ignore[assignment]
        self._hostvars = hostvars
        self.warnings: list[str] = []
        self._left_alone = ""
        self._noted = []
        self._fences = {}
        self._views = contextlib.ExitStack()
        self._stores: dict[str, Store] = {}
        self._role: Variables = {}
        for each in ("defaults", "vars"):
            path = os.path.join(_ROLE, each, "main.yml")
            self._role.update(self._loader.load_from_file(path, trusted_as_template=True))

    def settled(self, playbook: str, host: str) -> str:
        """Return a line about a cluster with nothing to do, else "".

        "" is for one that goes the full way. What a run would warn of it is in ``warnings`` then.

        Args:
            playbook: one of ENTRY_POINTS.
            host: the cluster's host.

        Raises:
            Exception: whatever keeps the cluster from being observed; the full way reports it.
        """
        self.warnings, self._left_alone = [], ""
        try:
            arguments = self.enter(host, ENTRY_POINTS[playbook], SPEC)
        except ControlPlaneFailure:
            return ""
        variables = self._task_vars
        if any(self._templar.template(variables.get(f"control_plane_{each}")) for each in FILES):
            return ""
        given = "control_plane_plan" in variables
        approved = self._templar.template(variables["control_plane_plan"]) if given else {}
        if playbook == "reconcile" and not (isinstance(approved, dict) and host not in approved):
            # Its plan is followed, or an empty value refused; a cluster of which none was approved may have nothing to do.
            return ""
        return "" if self._is_taken(arguments) else _LOOKS[playbook](self, arguments)

    def enter(self, host: str, entry_point: str, spec: Variables) -> dict[str, t.Any]:
        """Take a host's variables for those of the task; return the arguments.

        Args:
            host: the cluster's host.
            entry_point: the role's entry point, by whose specification the variables are checked.
            spec: the arguments, whose values are those of the role's variables of their names.

        Raises:
            ControlPlaneFailure: nothing may be done with the host, or a variable is wrong.
        """
        variables = {**self._role, **self._hostvars.raw_get(host)}
        if variables.get(REFUSED):
            raise ControlPlaneFailure(str(variables[REFUSED]))
        self._task_vars = {**variables, "hostvars": self._hostvars}
        self._templar: t.Any = self._templar.copy_with_new_env(available_variables=variables)
        problem = role_variables.problem(self, variables)
        problems = [problem] if problem else []
        problems += role_variables.argument_problems(self._templar, variables, entry_point)
        if problems:
            raise ControlPlaneFailure("\n".join(problems))
        named = {name: f"control_plane_{name}" for name in spec}
        given = {name: variables[each] for name, each in named.items() if each in variables}
        checked = ArgumentSpecValidator(spec).validate(self._templar.template(given))
        if checked.error_messages:
            raise ControlPlaneFailure("\n".join(checked.error_messages))
        arguments = dict(checked.validated_parameters)
        self._home = (arguments["namespace"], arguments["cluster"])
        return arguments

    def open_store(self, arguments: dict[str, t.Any]) -> OverlayStore:
        """Open the store, with writes kept in memory.

        What it has of a namespace is read once.
        """
        return OverlayStore(self._base(arguments), now_rfc3339())

    def _base(self, arguments: dict[str, t.Any]) -> Store:
        """Return the store of the cluster's namespace, which this process has opened."""
        options = arguments["store"]
        # Of files a process has what its parent has read; a connection to an API is its own.
        process = os.getpid() if opening.is_kubernetes(options) else 0
        key = json.dumps(
            [opening.connection(options), options["path"], arguments["namespace"], process], sort_keys=True
        )
        if key not in self._stores:
            _encrypt, decrypt = self.ciphers()
            self.refuse_beforehand(arguments)
            store = opening.open_store(options, None, decrypt, self.PATIENCE_SECONDS)
            # Neighbours are of one namespace: what was read of another one is not needed again.
            self._views, self._stores = contextlib.ExitStack(), {key: store}
            self._views.enter_context(store.view(OF_NAMESPACE))
        return self._stores[key]

    def _is_taken(self, arguments: dict[str, t.Any]) -> bool:
        """Return whether the lock is not free, or a copy is kept.

        Not free: held by another run, left by a killed one, or marked.
        """
        locks = self.open_locks(arguments)
        of_cluster = (arguments["namespace"], arguments["cluster"])
        return bool(
            opening.export_directory(arguments["store"])
            or locks.holder(*of_cluster) is not None
            or locks.mark(*of_cluster) is not None
        )

    def wanted(self, arguments: dict[str, t.Any], store: Store) -> t.Optional[ClusterObjects]:
        """Return the cluster's objects, None where the manifest differs.

        Args:
            arguments: what ``enter`` returned.
            store: of ``open_store``. The manifest is applied to it; what that warns of goes to ``warnings``.
        """
        changes: t.Optional[list[str]]
        if arguments["manifests"]:
            manifest = read_manifest(arguments)
            self.warnings += manifest.warnings
            self._left_alone = summary_line(manifest.unmanaged)
            changes = stored_cluster.apply_manifest(store, manifest, self.warnings.append)
        else:
            changes = stored_desired_state.settle_in_api(store, arguments, self.warnings.append)
        # A warning of what is as it was stays for good: it is given, and is nothing to do.
        if changes or changes is None:
            return None
        objects = self.open_objects(arguments, store)
        return None if deleted_machines.restore(objects) else objects

    def _seen(
        self, arguments: dict[str, t.Any], objects: ClusterObjects, policy: t.Optional[Object] = None
    ) -> t.Optional[Seen]:
        """Observe and decide; None where anything is to do or say."""
        if not was_settled(objects) or opening.keeps_itself(objects.store, objects.cluster):
            return None
        caller = self.machine_caller(arguments, objects)
        snapshot = observe(objects, caller, now_rfc3339(), policy=policy, settle=False, detached=False)
        plan_and_reconcile.refuse_contradictions(check_snapshot(snapshot))
        certificate_expiry.record_expiry(objects, caller, snapshot)
        decision = decide(snapshot)
        said = {each["reason"] for each in decision["reasons"]}
        if not is_settled(decision) or said & _TOLD or objects.going:
            return None
        return Seen(objects=objects, caller=caller, snapshot=snapshot, decision=decision)

    def _is_written(self, arguments: dict[str, t.Any], store: OverlayStore) -> bool:
        """Return whether the store has everything already.

        But for the time at which the workload cluster answered last, which is renewed here: as an update of what was read, so that
        whoever works on the cluster meanwhile is not disturbed.
        """
        changes = store.changes()
        if not all(before and after and _but_for_probe(before) == _but_for_probe(after) for before, after in changes):
            return False
        if changes and not self._task.check_mode:
            # Beside the view, which a write would end.
            writer = opening.open_store(arguments["store"], None, None, self.PATIENCE_SECONDS)
            for _before, after in changes:
                with contextlib.suppress(Conflict):
                    writer.update(t.cast(Object, after))
        return True

    def _reconcile(self, arguments: dict[str, t.Any]) -> str:
        store = self.open_store(arguments)
        objects = self.wanted(arguments, store)
        seen = self._seen(arguments, objects, plan_and_reconcile.policy(arguments, approved=False)) if objects else None
        if seen is None or node_sync.differing(seen.objects, seen.snapshot) or join_tokens.used(seen.objects):
            return ""
        write_status(seen.objects, seen.decision, seen.snapshot["now"], begins=False)
        if not self._is_written(arguments, store):
            return ""
        self._write_metrics(arguments, seen, "reconcile")
        return self._told(seen)

    def _plan(self, arguments: dict[str, t.Any]) -> str:
        objects = self.wanted(arguments, self.open_store(arguments))
        seen = self._seen(arguments, objects, plan_and_reconcile.policy(arguments, approved=False)) if objects else None
        return self._told(seen) if seen and not node_sync.evictions(seen.objects, seen.snapshot) else ""

    def _health_check(self, arguments: dict[str, t.Any]) -> str:
        store = self.open_store(arguments)
        seen = self._seen(arguments, self.open_objects(arguments, store))
        if seen is None:
            return ""
        found = stored_health_checks.check_health(seen.objects, seen.snapshot)
        well = all(each.finding.state == unhealthy_machines.HEALTHY for each in found.verdicts.values())
        told = any(each.skipped or not each.findings for each in found.results)
        if not well or told or not self._is_written(arguments, store):
            return ""
        self._write_metrics(arguments, seen, "health_check")
        return self._line(seen) if found.results else UNCHECKED

    def _metrics(self, arguments: dict[str, t.Any]) -> str:
        seen = self._seen(arguments, self.open_objects(arguments)) if arguments["metrics_directory"] else None
        if seen is None:
            return ""
        self._write_metrics(arguments, seen, "")
        return self._line(seen)

    def _told(self, seen: Seen) -> str:
        """Return the line; warn of what a person must do in time."""
        reasons = seen.decision["reasons"]
        self.warnings += [each["message"] for each in reasons if each["reason"] == KUBECONFIG_ENDS_SOON]
        others = [each for each in reasons if each["reason"] != KUBECONFIG_ENDS_SOON]
        return self._line(replace(seen, decision={**seen.decision, "reasons": others}))

    def _line(self, seen: Seen) -> str:
        """Return what the decision and what the manifest says."""
        return "; ".join(filter(None, (describe(seen.decision), self._left_alone)))

    def _write_metrics(self, arguments: dict[str, t.Any], seen: Seen, playbook: str) -> None:
        """Write the metrics where they are wanted.

        With the end of a playbook's run if one is named.
        """
        if arguments["metrics_directory"] and not self._task.check_mode:
            files = MetricsFiles(arguments["metrics_directory"], arguments)
            files.write_state(seen.snapshot, seen.decision)
            if playbook:
                files.write_run(playbook, run_outcomes.NOTHING)


_LOOKS: dict[str, t.Callable[[Glance, dict[str, t.Any]], str]] = {
    "reconcile": Glance._reconcile,
    "plan": Glance._plan,
    "health_check": Glance._health_check,
    "metrics": Glance._metrics,
}


def _but_for_probe(stored: Object) -> Object:
    status = {key: value for key, value in (stored.get("status") or {}).items() if key != LAST_PROBE_SUCCESS}
    return {**stored, "status": status}
