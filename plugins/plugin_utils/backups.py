# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Backups on the controller: snapshots brought home from machines whole or not at all, and sent back. For their owner alone."""

from __future__ import annotations

import json
import os
import re
import typing as t

from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.snapshot import matches_its_hash
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.snapshot_file import (
    PIECE_BYTES,
    digest,
    pack,
    unpack,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node import sealed
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.guard import write_atomically
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.sealed import SealError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.pki.redact import redact
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.action_base import ControlPlaneFailure
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.cluster_objects import ClusterObjects
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.machine_connection import Machine
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observation import Caller

MODULE = "etcd_snapshot_file"
_STAMP = r"-\d{8}T\d{6}Z(-\d+)?\.(db|json)"


def folder_of(directory: str, namespace: str, cluster: str) -> str:
    """Return where a cluster's backups are: names of two clusters never meet."""
    return os.path.join(directory, namespace, cluster)


def fetch(caller: Caller, machine: Machine, snapshot: t.Mapping[str, t.Any], folder: str) -> str:
    """Bring a snapshot home and return its path.

    Args:
        caller: reaches machines.
        machine: the one that keeps it.
        snapshot: the result of etcd_snapshot.
        folder: made, for its owner alone, where it does not exist.

    Raises:
        ControlPlaneFailure: it did not come whole; nothing of it is kept.
    """
    os.makedirs(folder, mode=0o700, exist_ok=True)
    name = os.path.basename(str(snapshot["path"]))
    path, partial = os.path.join(folder, name), os.path.join(folder, f".{name}.partial")
    key, offset, size = sealed.new_key(), 0, 1
    try:
        with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb") as file:
            while offset < size:
                answer = caller.call(machine, MODULE, {"name": name, "offset": offset, "transport_key": key})
                if answer.failed:
                    raise ControlPlaneFailure(_not_fetched(machine, name, redact(answer.message)))
                file.write(unpack(str(answer.result["content"]), key))
                size, before, offset = int(answer.result["bytes"]), offset, int(answer.result["next"])
                if offset <= before:
                    raise ControlPlaneFailure(_not_fetched(machine, name, "the file became shorter meanwhile"))
            file.flush()
            os.fsync(file.fileno())
        if digest(partial) != snapshot["sha256"] or not matches_its_hash(partial):
            raise ControlPlaneFailure(_not_fetched(machine, name, "its hash is not the one of what was taken"))
        facts = {key: snapshot[key] for key in _FACTS if key in snapshot}
        text = json.dumps({**facts, "machine": machine.name, "path": path}, indent=2, sort_keys=True) + "\n"
        write_atomically(f"{path[: -len('.db')]}.json", text.encode())
        os.rename(partial, path)
    except (OSError, SealError, ValueError) as error:
        raise ControlPlaneFailure(_not_fetched(machine, name, str(error))) from error
    finally:
        if os.path.exists(partial):
            os.unlink(partial)
    return path


_FACTS = (
    "taken_at",
    "bytes",
    "sha256",
    "verified_by",
    "verify_note",
    "revision",
    "cluster_id",
    "member_id",
    "etcd_version",
)


def _not_fetched(machine: Machine, name: str, why: str) -> str:
    return (
        f"the snapshot {name} is whole on machine {machine.name}, but was not brought home: {why}."
        " Nothing of it was kept here, and no older one was removed."
    )


def prune(folder: str, prefix: str, keep: int) -> list[str]:
    """Remove the oldest backups beyond ``keep`` of those whose name begins with ``prefix``; return what was removed."""
    pattern = re.compile(re.escape(prefix) + _STAMP)
    names = [name for name in sorted(os.listdir(folder)) if name.endswith(".db") and pattern.fullmatch(name)]
    removed = [os.path.join(folder, name) for name in names[: -max(1, keep)]]
    for path in removed:
        os.unlink(path)
    for name in os.listdir(folder):
        facts = os.path.join(folder, name)
        if pattern.fullmatch(name) and name.endswith(".json") and not os.path.exists(f"{facts[: -len('.json')]}.db"):
            os.unlink(facts)
    return removed


def send(caller: Caller, machine: Machine, path: str) -> str:
    """Send a backup to a machine's folder of snapshots and return its name there. Sending it again replaces it.

    Raises:
        ControlPlaneFailure: it did not arrive whole; nothing of it is kept there.
    """
    name, key, offset = os.path.basename(path), sealed.new_key(), 0
    whole, size = digest(path), os.path.getsize(path)
    with open(path, "rb") as file:
        while offset < size:
            piece = file.read(PIECE_BYTES)
            call = {"state": "written", "name": name, "offset": offset, "content": pack(piece, key)}
            call["sha256"] = whole if offset + len(piece) >= size else ""
            answer = caller.call(machine, MODULE, {**call, "transport_key": key})
            if answer.failed:
                raise ControlPlaneFailure(
                    f"the backup {path} did not reach machine {machine.name}: {redact(answer.message)}. Nothing was stopped."
                )
            offset += len(piece)
    return str(answer.result["path"])


def refuse_external(objects: ClusterObjects, what: str) -> None:
    """Refuse a cluster whose etcd somebody else runs. Raises ControlPlaneFailure."""
    control_plane = objects.control_plane or {}
    configuration = control_plane.get("spec", {}).get("kubeadmConfigSpec", {}).get("clusterConfiguration") or {}
    if (configuration.get("etcd") or {}).get("external") is not None:
        raise ControlPlaneFailure(
            f"etcd of {objects.title} is external and can't be {what} from here. Nothing was done. That is done where it runs."
        )
