# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts of a control plane node for deciding on a restore.

Reads only.
"""

from __future__ import annotations

import json
import os
import typing as t

from ...common.guard import NodeError
from ..snapshot import revision
from ..snapshot.log import stored_cluster_id
from ..snapshot.take import DIRECTORY
from ..types import to_hex
from .restore_unit import ABSENT, Unit, fence_folder, own_data

MOST_SNAPSHOTS = 100


def gather(unit: t.Optional[Unit] = None, directory: str = DIRECTORY) -> dict[str, t.Any]:
    """Return this node's etcd, data, snapshots, and restore.

    ``etcd`` (who answers, leads and listens), ``data`` (its revision and cluster, also where it is fenced), ``snapshots`` (newest first), ``restore`` (None
    without one) and ``stopped``, whether this machine's etcd is fenced.
    """
    found = unit or Unit()
    places = found.restore.places
    kept = os.path.join(fence_folder(found.restore), "manifests", "etcd.yaml")
    report = found.look()
    return {
        "etcd": _etcd(found),
        "data": _data(found),
        "snapshots": snapshots(directory),
        "restore": None if report.state == ABSENT else found.document(report),
        "stopped": os.path.exists(kept) and not os.path.exists(places.manifest),
    }


def _etcd(unit: Unit) -> dict[str, t.Any]:
    try:
        seen = unit.membership()
    except NodeError as error:
        nothing: dict[str, t.Any] = {
            "answers": False,
            "leader": None,
            "memberID": None,
            "clusterID": None,
            "members": [],
        }
        return {**nothing, "message": str(error)}
    listening = unit.listening(seen)
    return {
        "answers": seen.answered,
        "leader": to_hex(seen.leader) if seen.leader else None,
        "memberID": to_hex(seen.own) if seen.own else None,
        "clusterID": to_hex(seen.cluster_id) if seen.cluster_id else None,
        "members": [{**each.document(), "listens": listening.get(each.id, "")} for each in seen.members],
        "message": "" if seen.answered else "it does not answer; this is what its database holds",
    }


def _data(unit: Unit) -> dict[str, t.Any]:
    try:
        _manifest, member = own_data(unit.restore)
        found = revision.revision(os.path.join(member, "snap", "db"))
        return {"revision": found, "clusterID": stored_cluster_id(member), "message": ""}
    except NodeError as error:
        return {"revision": None, "clusterID": "", "message": str(error)}


def snapshots(directory: str) -> list[dict[str, t.Any]]:
    """Return a folder's snapshots, highest revision first.

    Of each its path, revision, cluster, time, size and hash. One that can't be read has a message and no revision.
    """
    names = sorted(os.listdir(directory), reverse=True) if os.path.isdir(directory) else []
    found = [snapshot(os.path.join(directory, name)) for name in names if name.endswith(".db")]
    return sorted(found[:MOST_SNAPSHOTS], key=lambda each: -(each["revision"] or 0))


def snapshot(path: str) -> dict[str, t.Any]:
    """Return one snapshot's path, revision, cluster, time, size and hash."""
    facts: dict[str, t.Any] = {}
    try:
        with open(f"{path[: -len('.db')]}.json", encoding="utf-8") as file:
            read = json.load(file)
        facts = read if isinstance(read, dict) else {}
    except (OSError, ValueError):
        # The facts are beside it for people; the file tells the rest itself.
        facts = {}
    answer: dict[str, t.Any] = {
        "path": path,
        "bytes": os.path.getsize(path),
        "taken_at": str(facts.get("taken_at") or ""),
        "cluster_id": str(facts.get("cluster_id") or ""),
        "sha256": str(facts.get("sha256") or ""),
        "revision": None,
        "message": "",
    }
    try:
        answer["revision"] = revision.revision(path)
    except NodeError as error:
        answer["message"] = str(error)
    return answer
