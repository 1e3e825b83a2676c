# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Replicas or rollout time of machines, set by the user.

It is set in the manifest where that states it, else in the store.
"""

from __future__ import annotations

import os
import typing as t

from ..module_utils.common import legible
from ..module_utils.common.values import now_rfc3339, utc_time
from ..module_utils.common.violations import ManifestError, Report
from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.documents.edit import Edit
from ..plugin_utils.documents.yaml_files import Document
from ..plugin_utils.objects import defaults
from ..plugin_utils.objects.manifest.cluster_manifest import ClusterManifest
from ..plugin_utils.objects.validate import update
from ..plugin_utils.objects.workers import rules
from ..plugin_utils.records import control_plane_fields, stored_cluster
from ..plugin_utils.records.cluster_objects import CLUSTER, CONTROL_PLANE, MACHINE_DEPLOYMENT, Object
from ..plugin_utils.records.manifest_arguments import MANIFESTS_SPEC, read_manifest
from ..plugin_utils.store import lasting, opening
from ..plugin_utils.store.base import Store, kind_ref_of
from ..plugin_utils.store.overlay import OverlayStore

NOW = "now"
_NEXT = "No machine was touched. The playbook kubeadm.control_plane.plan shows the steps, kubeadm.control_plane.reconcile carries them out."


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.control_plane_spec; see its documentation."""

    ONE_VIEW = True
    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "replicas": {"type": "int"},
        "rollout_after": {"type": "str"},
        "deployment": {"type": "str", "default": ""},
        **MANIFESTS_SPEC,
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Edit the manifest, print the edit, or write the stored object.

        The edit is only printed where the manifest is in a work tree.
        """
        field, value = _wanted(arguments)
        if arguments["manifests"]:
            document = _document(arguments)
            if document is not None:
                control_plane_fields.refuse_template(document, field)
            manifest = read_manifest(arguments)
            spec, left_out = _stated(manifest, arguments["deployment"])
            if document is not None and spec is not None and field not in left_out:
                current = _get(spec, field)
                return self._in_manifest(arguments, document, field, current, value)
        return self._in_store(arguments, field, value)

    def _in_manifest(
        self, arguments: dict[str, t.Any], document: Document, field: str, current: t.Any, value: t.Any
    ) -> dict[str, t.Any]:
        edit, raw = control_plane_fields.edited(document, field, value)
        result = {"where": "manifest", "file": edit.file, "line": edit.line, "field": edit.path}
        result.update(before=current, after=value, changed=False, written=False)
        place = f"{edit.file}:{edit.line}: {edit.path}"
        if current == value:
            return {**result, "msg": self._say(arguments, f"{place} is {value} already. {_NEXT}")}
        self._check_edited(arguments, edit)
        control_plane_fields.refuse_lost(edit)
        tree = control_plane_fields.work_tree(edit.file)
        if tree is not None:
            name = os.path.relpath(os.path.realpath(edit.file), tree.root)
            patch = edit.diff(f"a/{name}", f"b/{name}")
            said = (
                f"{place} is to become {value} instead of {current}, but the file lies in a {tree.system} work tree, {tree.root}, "
                "whose changes are reviewed first: NOTHING WAS WRITTEN. Make this change there, the way your changes are made "
                f"(edit the line, or: patch -p1 in {tree.root}), then plan and reconcile:"
            )
            self._say(arguments, said)
            self.display.display("\n".join(["", *legible.lines(patch)]))
            return {**result, "patch": patch, "msg": said}
        if not self.check_mode:
            control_plane_fields.write(edit, raw)
        verb = "would change" if self.check_mode else "was changed"
        said = self._say(arguments, f"{place} {verb} from {current} to {value}. {_NEXT}")
        diff = {"prepared": edit.diff(edit.file, edit.file)}
        return {**result, "changed": True, "written": not self.check_mode, "diff": diff, "msg": said}

    def _check_edited(self, arguments: dict[str, t.Any], edit: Edit) -> None:
        """Fail where the edited manifest would be refused.

        It is checked by itself and against the stored objects.
        """
        manifest = read_manifest(arguments, contents={edit.file: edit.after})
        store = self.open_store(arguments) if opening.exists(arguments["store"]) else None
        stored_cluster.apply_manifest(OverlayStore(store, now_rfc3339()), manifest)

    def _in_store(self, arguments: dict[str, t.Any], field: str, value: t.Any) -> dict[str, t.Any]:
        store = self.open_store(arguments)
        lasting.require(arguments["store"])
        namespace, name = arguments["namespace"], arguments["cluster"]
        cluster = store.get(CLUSTER, namespace, name) or {}
        owner = _owner(store, cluster, namespace, arguments["deployment"])
        if owner is None:
            what = f"MachineDeployment {arguments['deployment']}" if arguments["deployment"] else "control plane"
            raise ControlPlaneFailure(
                f"neither a manifest of {namespace}/{name} states {field}, nor has the store {opening.describe(arguments['store'])} a {what} "
                f"in which to keep it. Nothing was written. Write {field} in the manifest, or run reconcile first, which makes the {what}."
            )
        if cluster["metadata"].get("deletionTimestamp") or owner["metadata"].get("deletionTimestamp"):
            raise ControlPlaneFailure(
                f"{namespace}/{name} is being deleted, so {field} means nothing any more; nothing was written. "
                "Run kubeadm.control_plane.delete to the end; for a new cluster of this name, reconcile then."
            )
        if field == defaults.REPLICAS:
            report = Report(f"{owner['kind']} {namespace}/{owner['metadata']['name']}")
            if arguments["deployment"]:
                rules.validate_replicas(value, report)
            else:
                update.validate_scale(owner, value, report)
            if report.violations:
                raise ManifestError(report.violations)
        current = _get(owner["spec"], field)
        result = {"where": "store", "field": field, "before": current, "after": value, "written": False}
        place = f"{owner['kind']} {namespace}/{owner['metadata']['name']}: {field}"
        if current == value:
            return {**result, "changed": False, "msg": self._say(arguments, f"{place} is {value} already. {_NEXT}")}
        kind, own_name = kind_ref_of(owner), str(owner["metadata"]["name"])
        if field == defaults.REPLICAS:
            store.scale(kind, namespace, own_name, value)
        else:
            store.modify(kind, namespace, own_name, lambda stored: _set(stored["spec"], field, value))
        verb = "would change" if self.check_mode else "was changed"
        said = self._say(
            arguments, f"{place} {verb} in the store, since no manifest states it, from {current} to {value}. {_NEXT}"
        )
        lines = f"--- {place} (store)\n+++ {place} (store)\n-{current}\n+{value}\n"
        return {**result, "changed": True, "written": not self.check_mode, "diff": {"prepared": lines}, "msg": said}

    def _say(self, arguments: dict[str, t.Any], text: str) -> str:
        self.progress(arguments["cluster"], text)
        return text


def _document(arguments: dict[str, t.Any]) -> t.Optional[Document]:
    names = (arguments["manifests"], arguments["namespace"], arguments["cluster"])
    if arguments["deployment"]:
        return control_plane_fields.deployment_document(*names, arguments["deployment"])
    return control_plane_fields.control_plane_document(*names)


def _stated(manifest: ClusterManifest, deployment: str) -> tuple[t.Optional[Object], t.Collection[str]]:
    """Return the manifest's spec, and the fields that it leaves out.

    Raises:
        ControlPlaneFailure: the manifest has MachineDeployments, and none of that name.
    """
    if not deployment:
        return manifest.control_plane["spec"], manifest.left_out
    listed = {str(each["metadata"]["name"]): each for each in manifest.machine_deployments}
    if listed and deployment not in listed:
        raise ControlPlaneFailure(
            f"the manifest has no MachineDeployment {deployment} that is managed here; nothing was written. Give one that it has: {', '.join(sorted(listed))}."
        )
    found = listed.get(deployment)
    return (found["spec"] if found else None), manifest.workers_left_out.get(deployment, ())


def _owner(store: Store, cluster: Object, namespace: str, deployment: str) -> t.Optional[Object]:
    if deployment:
        found = store.get(MACHINE_DEPLOYMENT, namespace, deployment)
        own = found is not None and found["spec"].get("clusterName") == (cluster.get("metadata") or {}).get("name")
        return found if own else None
    reference = (cluster.get("spec") or {}).get("controlPlaneRef") or {}
    return store.get(CONTROL_PLANE, namespace, reference["name"]) if reference else None


def _wanted(arguments: dict[str, t.Any]) -> tuple[str, t.Any]:
    """Return the field and its new value."""
    replicas, after = arguments["replicas"], arguments["rollout_after"]
    if (replicas is None) == (after is None):
        raise ControlPlaneFailure("give one of replicas and rollout_after; nothing was done.")
    if replicas is not None:
        return defaults.REPLICAS, int(replicas)
    moment = now_rfc3339() if after == NOW else utc_time(after)
    if moment is None:
        raise ControlPlaneFailure(
            f"rollout_after is {after!r}, which is neither '{NOW}' nor an RFC 3339 time such as 2026-01-31T10:00:00Z; nothing was done. "
            "Give one of these."
        )
    return defaults.ROLLOUT_AFTER, moment


def _get(spec: Object, field: str) -> t.Any:
    found: t.Any = spec
    for key in field.split(".")[1:]:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _set(spec: Object, field: str, value: t.Any) -> None:
    *parents, last = field.split(".")[1:]
    for key in parents:
        spec = spec.setdefault(key, {})
    spec[last] = value
