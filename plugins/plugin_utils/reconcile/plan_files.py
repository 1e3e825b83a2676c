# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan and snapshot files: JSON, private to their owner, checked when read.

A wrong field is refused with its path.
"""

from __future__ import annotations

import json
import os
import typing as t

from ..calls.failure import ControlPlaneFailure
from ..decision.plan.validate import check_plan
from ..decision.snapshot.typed_snapshot import Problem, check_snapshot
from ..records.cluster_objects import Object
from ..store.file import disk

NEW_PLAN = "Make a plan with the playbook kubeadm.control_plane.plan and -e control_plane_plan_file=FILE."
NEW_SNAPSHOT = "Save one with the playbook kubeadm.control_plane.plan and -e control_plane_snapshot_file=FILE."
LARGEST_FILE = 64 * 1024 * 1024
_SHOWN = 12


def read_plan_file(path: str, namespace: str, cluster: str) -> Object:
    """Return the plan document of a file.

    Fails where it isn't a plan that can be followed, or is another cluster's.
    """
    document = _read_json(path, "the plan file", NEW_PLAN)
    problems = check_plan(document)
    if not problems and (document["namespace"], document["cluster"]) != (namespace, cluster):
        theirs = f"{document['namespace']}/{document['cluster']}"
        problems = [Problem("cluster", f"it is a plan of the cluster {theirs}, not of {namespace}/{cluster}")]
    _refuse(problems, f"the plan file {path} is refused", f"Nothing was done. {NEW_PLAN}")
    return t.cast(Object, document)


def read_snapshot_file(path: str, namespace: str, cluster: str) -> Object:
    """Return the snapshot of a file.

    Fails where it breaks its schema, contradicts itself, or is another cluster's.
    """
    document = _read_json(path, "the snapshot file", NEW_SNAPSHOT)
    problems = check_snapshot(document)
    if not problems:
        metadata = document["cluster"]["metadata"]
        theirs = (metadata.get("namespace") or "default", metadata.get("name"))
        if theirs != (namespace, cluster):
            text = f"it is a snapshot of the cluster {theirs[0]}/{theirs[1]}, not of {namespace}/{cluster}"
            problems = [Problem("cluster.metadata.name", text)]
    _refuse(problems, f"the snapshot file {path} is refused", f"Nothing was planned. {NEW_SNAPSHOT}")
    return t.cast(Object, document)


def write_plan_file(path: str, document: Object) -> str:
    """Write a plan file (mode 0600) and return its absolute path.

    Whole or not at all; another cluster's plan is never overwritten.
    """

    def same(stored: t.Any) -> bool:
        return isinstance(stored, dict) and "planVersion" in stored and _of(stored) == _of(document)

    return _write(path, document, same, "plan", "control_plane_plan_file")


def write_snapshot_file(path: str, snapshot: Object) -> str:
    """Write a snapshot file (mode 0600) and return its absolute path.

    Whole or not at all; another cluster's is never overwritten.
    """

    def of(document: Object) -> t.Any:
        metadata = (document.get("cluster") or {}).get("metadata") or {}
        return metadata.get("namespace"), metadata.get("name")

    def same(stored: t.Any) -> bool:
        return isinstance(stored, dict) and "snapshotVersion" in stored and of(stored) == of(snapshot)

    return _write(path, snapshot, same, "snapshot", "control_plane_snapshot_file")


def _of(document: Object) -> tuple[t.Any, t.Any]:
    return document.get("namespace"), document.get("cluster")


def _write(path: str, document: Object, same: t.Callable[[t.Any], bool], what: str, variable: str) -> str:
    path = os.path.abspath(os.path.expanduser(path))
    data = (json.dumps(document, indent=1, sort_keys=False, ensure_ascii=False) + "\n").encode("utf-8", "replace")
    if disk.write_file_exclusively(path, data, disk.SECRET_FILE_MODE):
        return path
    try:
        stored = json.loads((disk.read_file(path) or b"").decode("utf-8"))
    except ValueError:
        stored = None
    if not same(stored):
        raise ControlPlaneFailure(
            f"the file {path} exists and is no {what} of this cluster, so it was not overwritten. Name another file; for several clusters "
            f"give each its own: -e {variable}='{{{{ inventory_hostname }}}}.{what}.json'."
        )
    disk.write_file(path, data, disk.SECRET_FILE_MODE)
    return path


def _read_json(path: str, what: str, fix: str) -> t.Any:
    try:
        if os.path.getsize(path) > LARGEST_FILE:
            raise ControlPlaneFailure(f"{what} {path} is larger than {LARGEST_FILE} bytes, so it was not read. {fix}")
        with open(path, encoding="utf-8") as stream:
            return json.load(stream)
    except OSError as error:
        raise ControlPlaneFailure(f"{what} {path} can't be read ({error.strerror}); nothing was done. {fix}") from error
    except ValueError as error:
        raise ControlPlaneFailure(f"{what} {path} is not JSON ({error}); nothing was done. {fix}") from error


def _refuse(problems: t.Sequence[Problem], what: str, consequence: str) -> None:
    if problems:
        listed = [f"  {problem}" for problem in problems[:_SHOWN]]
        if len(problems) > _SHOWN:
            listed.append(f"  and {len(problems) - _SHOWN} more")
        raise ControlPlaneFailure("\n".join([f"{what}:", *listed, consequence]))
