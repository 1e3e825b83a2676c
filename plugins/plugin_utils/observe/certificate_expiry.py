# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Expiry of kubeadm's certificates: read from machines, kept with their KubeadmConfig.

Read once from each machine.

Source: docs/reference/cluster_api.md, "Certificates".
"""

from __future__ import annotations

import typing as t

from ..decision.snapshot.typed_snapshot import MachineView, read_snapshot
from ..objects import kinds
from ..records.cluster_objects import KUBEADM_CONFIG, ClusterObjects, Object
from .observation import Caller
from .parse import machine_facts

CERTIFICATE = "apiserver.crt"


def record_expiry(objects: ClusterObjects, caller: Caller, snapshot: Object) -> None:
    """Record certificate expiry on the KubeadmConfig of each machine where unknown.

    In the store and in the snapshot.

    A machine that was observed has reported it already; another one is asked, once. One that doesn't report it is
    left for the next time: what is not known makes no machine outdated. What an observed machine reports takes the
    place of what was recorded, as after kubeadm certs renew; to have another one read again, take the annotation
    away.
    """
    view = read_snapshot(snapshot)
    if view.paused or view.deleting or not view.reachable:
        return
    key = kinds.ANNOTATION_CERTIFICATES_EXPIRY
    entries = {entry["machine"]["metadata"]["name"]: entry for entry in snapshot["machines"]}
    for machine in view.live:
        config = entries[machine.name].get("kubeadmConfig")
        if config is None or not machine.joined or key in _annotations(machine.machine):
            continue
        told = _told(snapshot["workload"], machine.name)
        if key in _annotations(config):
            end = told if told != _annotations(config).get(key) else ""
        else:
            end = told or _asked(objects, caller, machine)
        if end:
            entries[machine.name]["kubeadmConfig"] = objects.kubeadm_configs[machine.name] = objects.store.modify(
                KUBEADM_CONFIG, objects.namespace, str(config["metadata"]["name"]), _annotate(key, end)
            )


def _told(workload: Object, name: str) -> str:
    """Return the certificate expiry of an observed machine, else ""."""
    return str(((workload.get("machineCertificates") or {}).get(name) or {}).get(CERTIFICATE) or "")


def _asked(objects: ClusterObjects, caller: Caller, machine: MachineView) -> str:
    if machine.node is None or machine.node.get("ready") != "True":
        return ""
    answer = caller.call(objects.reach(machine.name), "node_observe", {"look_again": False})
    facts = {} if answer.failed else machine_facts(answer.result.get("observation"))
    return str((facts.get("certificates") or {}).get(CERTIFICATE) or "")


def _annotations(item: Object) -> Object:
    return item.get("metadata", {}).get("annotations") or {}


def _annotate(key: str, end: str) -> t.Callable[[Object], None]:
    def change(stored: Object) -> None:
        stored["metadata"].setdefault("annotations", {})[key] = end

    return change
