# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Action that the user requests: from a file, variables, or the store."""

from __future__ import annotations

import typing as t

from ....module_utils.common.violations import ManifestError, Violation
from ...calls.failure import ControlPlaneFailure
from ...documents.yaml_files import Document, read_files
from ...filters.kubeadm import plain
from ...objects import actions, kinds
from ...objects.actions import FieldError
from ...records.cluster_objects import Object
from .. import freeze, validate
from .progress import Executions


def wanted(arguments: t.Mapping[str, t.Any], executions: Executions) -> Object:
    """Return the valid object that the user requests.

    It is the stored object where the store has it, else the object to be stored.

    Raises:
        ManifestError: every mistake in it. ControlPlaneFailure: the request names no object, or the stored one differs
        from it.
    """
    given = [name for name in ("manifest", "spec") if arguments.get(name)]
    name = str(arguments.get("name") or "")
    if len(given) > 1:
        raise ControlPlaneFailure(
            "an Action is given by a manifest and by a spec at once; nothing was done. Give one of them."
        )
    if not given:
        return _as_stored(executions, executions.needed(name))
    if given == ["manifest"]:
        obj = _from_file(str(arguments["manifest"]))
        if name and obj["metadata"]["name"] != name:
            raise ControlPlaneFailure(
                f"{arguments['manifest']} has {actions.label(obj)}, and asked for is {name}; nothing was done. Give one name."
            )
    else:
        obj = _from_spec(plain(arguments["spec"]), name, str(arguments.get("mode") or ""), executions)
    _with_mode(obj, str(arguments.get("mode") or ""))
    _check_cluster(obj, executions)
    return _matched(obj, executions)


def _as_stored(executions: Executions, stored: Object) -> Object:
    """Return a stored object, its spec converted to the hub form.

    It may have been applied with kubectl in another API version. A started object stays unchanged.
    """
    if actions.started(stored):
        return stored
    hub, errors = actions.to_hub(stored)
    _refuse(errors or validate.validate(hub), actions.label(stored))
    return stored if hub["spec"] == stored["spec"] else executions.put_spec(stored, hub["spec"])


def _from_file(path: str) -> Object:
    documents, problems = read_files([path])
    if problems:
        raise ManifestError(problems)
    found = [each for each in documents if actions.is_operator_object(each.data)]
    if len(found) != 1 or len(documents) != 1:
        have = ", ".join(each.label for each in documents) or "nothing"
        raise ControlPlaneFailure(
            f"{path} must hold exactly one Action, TaskGroup or Task of {actions.API_VERSION}, and holds {have}; nothing was done. "
            "One cluster has one Action at a time: put each into a file of its own."
        )
    obj, errors = actions.to_hub(found[0].data)
    if not errors:
        errors = validate.validate(obj)
    _refuse(errors, found[0].label, found[0])
    return obj


def _from_spec(spec: t.Any, name: str, mode: str, executions: Executions) -> Object:
    data = {"apiVersion": actions.API_VERSION, "kind": actions.ACTION, "metadata": {"name": name}, "spec": spec}
    obj, errors = actions.to_hub(data)
    if not errors:
        _with_mode(obj, mode)
        if not name:
            obj["metadata"]["name"] = _name(obj, executions)
        errors = validate.validate(obj)
    _refuse(errors, f"{actions.ACTION} {name}".strip())
    return obj


def _name(obj: Object, executions: Executions) -> str:
    """Return the name of the Action for a spec without a name.

    It is that of the unfinished Action with the same request, which the same command resumes; else a new name.
    """
    same = [each for each in executions.unfinished() if freeze.request_hash(each) == freeze.request_hash(obj)]
    return str(same[0]["metadata"]["name"]) if same else executions.new_name(actions.what(obj))


def _refuse(errors: t.Sequence[FieldError], name: str, document: t.Optional[Document] = None) -> None:
    if errors:
        raise ManifestError(
            [
                Violation(
                    name, each.path, each.value, each.rule, each.fix, document.locate(each.path) if document else ""
                )
                for each in errors
            ]
        )


def _with_mode(obj: Object, mode: str) -> None:
    if mode and obj["spec"].setdefault("executionMode", mode) != mode:
        raise ControlPlaneFailure(
            f"{actions.label(obj)} says executionMode {obj['spec']['executionMode']}, and asked for is {mode}; nothing was done. "
            "Leave one of them out."
        )


def _check_cluster(obj: Object, executions: Executions) -> None:
    owner = (obj["metadata"].get("labels") or {}).get(kinds.LABEL_CLUSTER_NAME, executions.cluster)
    namespace = obj["metadata"].get("namespace") or executions.namespace
    if owner != executions.cluster or namespace != executions.namespace:
        raise ControlPlaneFailure(
            f"{actions.label(obj)} is of the cluster {namespace}/{owner}, and this run is for "
            f"{executions.namespace}/{executions.cluster}; nothing was done. Choose the cluster with --limit."
        )


def _matched(obj: Object, executions: Executions) -> Object:
    """Return the stored object of that name, else the given one.

    A stored object must have the same request. Raises ControlPlaneFailure.
    """
    stored = executions.find(str(obj["metadata"]["name"]))
    if stored is None:
        return obj
    if stored["kind"] != obj["kind"]:
        raise ControlPlaneFailure(
            f"the store has a {stored['kind']} named {obj['metadata']['name']}, and asked for is a {obj['kind']} of that name; nothing "
            "was done. Give it another name."
        )
    if freeze.request_hash(stored) != freeze.request_hash(obj):
        state = "has ended" if actions.finished(stored) else "has begun" if actions.started(stored) else "is waiting"
        raise ControlPlaneFailure(
            f"{actions.label(obj)} is in the store, {state}, and asks for something else than what is given now: an Action can't be "
            "edited. Nothing was done. Give the new one another name; give up one that has begun with kubeadm.control_plane.abort."
        )
    return stored
