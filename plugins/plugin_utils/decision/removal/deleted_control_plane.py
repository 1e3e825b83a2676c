# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deleted KubeadmControlPlane of a Cluster that stays (docs/store.md).

Another KubeadmControlPlane can take its place.

In Cluster API nothing follows such a deletion: the Cluster stays initialized for ever, so that the first machine of a
new KubeadmControlPlane would have to join a control plane that is gone. Here the deletion leaves a record on the
Cluster when it is completed. With the record, and with the user's consent that names it, a new control plane is made.
Without the record a deletion can't be distinguished from a loss: ``ControlPlaneLost``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Optional

from ....module_utils.common.bounded_yaml import read_json
from ....module_utils.common.values import clip
from ...documents.names import typed_name
from ...objects import kinds
from .. import terms

Object = dict[str, Any]
# Cluster API's reason for the Cluster's conditions.
CONTROL_PLANE_DELETED = "ControlPlaneDeleted"
END_CLUSTER = "To end the cluster, run the playbook delete."
MISSING_FIX = f"Add it to the manifest, or correct the Cluster's spec.controlPlaneRef. {END_CLUSTER}"
_CONSENT = "afterDeletionOf"
_SHORT = 8
_EMPTY: Object = {}


@dataclass(frozen=True)
class ExternalEtcd:
    """External etcd of a KubeadmControlPlane.

    `endpoints` are sorted; below `prefix` are the data.
    """

    endpoints: tuple[str, ...]
    prefix: str


@dataclass(frozen=True)
class Deleted:
    """Record of a deleted KubeadmControlPlane, kept on its Cluster.

    `name` and `uid` are the KubeadmControlPlane's; `time` is when its deletion was completed (RFC 3339); `etcd` is the
    external etcd that holds its data, None where it had none or the record is of an earlier release.
    """

    name: str
    uid: str
    time: str
    etcd: Optional[ExternalEtcd] = None

    @property
    def title(self) -> str:
        """Return the event as a text for messages."""
        return f"the KubeadmControlPlane {clip(self.name, 80)} of this cluster was deleted at {clip(self.time, 40)}"

    def consent(self, namespace: str, cluster: str) -> str:
        """Return the user's consent to a new control plane.

        It fits this deletion and no later one.
        """
        return f"{terms.INITIALIZE}:{namespace}/{cluster}:{_CONSENT}:{self.uid[:_SHORT]}"


def record(control_plane: Mapping[str, Any], now: str) -> str:
    """Return the record of a deletion that is completed at ``now``.

    It is the text of the annotation ``kinds.ANNOTATION_DELETED_CONTROL_PLANE``; ``now`` is RFC 3339.
    """
    metadata = control_plane["metadata"]
    document = {"name": metadata["name"], "uid": metadata["uid"], "time": now}
    etcd = external_etcd(control_plane)
    return json.dumps({**document, **({"etcd": asdict(etcd)} if etcd else {})}, sort_keys=True)


def external_etcd(control_plane: Mapping[str, Any]) -> Optional[ExternalEtcd]:
    """Return a KubeadmControlPlane's external etcd, None where etcd runs on the machines."""
    spec = (control_plane.get("spec") or _EMPTY).get("kubeadmConfigSpec") or _EMPTY
    configuration = spec.get("clusterConfiguration") or _EMPTY
    external = (configuration.get("etcd") or _EMPTY).get("external")
    if not external:
        return None
    arguments = (configuration.get("apiServer") or _EMPTY).get("extraArgs") or ()
    prefixes = [str(each.get("value")) for each in arguments if each.get("name") == "etcd-prefix"]
    return ExternalEtcd(tuple(sorted(external.get("endpoints") or ())), prefixes[-1] if prefixes else "/registry")


def recorded(cluster: Mapping[str, Any]) -> Optional[Deleted]:
    """Return the record on a Cluster, None without a legible one."""
    text = ((cluster.get("metadata") or _EMPTY).get("annotations") or _EMPTY).get(
        kinds.ANNOTATION_DELETED_CONTROL_PLANE
    )
    try:
        found = read_json(text)
    except ValueError:
        return None
    if not isinstance(found, dict) or not all(isinstance(found.get(key), str) for key in ("name", "uid", "time")):
        return None
    if not found["uid"]:
        return None
    return Deleted(found["name"], found["uid"], found["time"], _etcd_of(found.get("etcd")))


def _etcd_of(document: Any) -> Optional[ExternalEtcd]:
    if not isinstance(document, dict):
        return None
    endpoints, prefix = document.get("endpoints"), document.get("prefix")
    if (
        not isinstance(prefix, str)
        or not isinstance(endpoints, list)
        or not all(isinstance(each, str) for each in endpoints)
    ):
        return None
    return ExternalEtcd(tuple(endpoints), prefix)


def keeps_its_etcd(cluster: Mapping[str, Any], control_plane: Mapping[str, Any]) -> bool:
    """Return whether a KubeadmControlPlane names the deleted one's external etcd.

    By the Cluster's record. Other endpoints or another prefix may hold another cluster's data.
    """
    found = recorded(cluster)
    return found is not None and found.etcd is not None and found.etcd == external_etcd(control_plane)


def deleted_control_plane(cluster: Object, control_plane: Object, has_machines: bool) -> Optional[Deleted]:
    """Return the deleted control plane that the Cluster's latch is about.

    The latch is "initialized once"; None where no such control plane was deleted. None, too, as soon as the store has
    an object that the record doesn't cover: a machine, a KubeadmControlPlane that was itself initialized, or the very
    one that the record names.
    """
    found = recorded(cluster)
    if found is None or has_machines or latched(control_plane) or not latched(cluster):
        return None
    return found if (control_plane.get("metadata") or _EMPTY).get("uid") != found.uid else None


def latched(obj: Mapping[str, Any]) -> bool:
    """Return whether an object's status has the latch "initialized once".

    The object is a Cluster or a KubeadmControlPlane.
    """
    status = obj.get("status") or _EMPTY
    return bool((status.get("initialization") or _EMPTY).get("controlPlaneInitialized") or status.get("initialized"))


def is_begun_anew(cluster: Object) -> bool:
    """Return whether the Cluster's latch was removed and the record was not.

    A run was killed between the two: the record is still there, and its consent must not count any more.
    """
    return recorded(cluster) is not None and not latched(cluster)


def consented(found: Deleted, snapshot: Mapping[str, Any]) -> bool:
    """Return whether the user consented to a new control plane.

    The consent is in the snapshot's policy and fits the given deletion.
    """
    return _consent_of(found, snapshot) in ((snapshot.get("policy") or _EMPTY).get("consent") or ())


def begin_anew(cluster_status: Object) -> Object:
    """Remove the latch from the Cluster's status, and return the annotations.

    The status is changed in place: it is that of a cluster that was never initialized. The annotations remove the
    record.

    Both are written before the step is taken: from then on only the new control plane's own latch counts, whether the
    step succeeds or not.
    """
    cluster_status["initialization"] = {**cluster_status["initialization"], "controlPlaneInitialized": False}
    return {kinds.ANNOTATION_DELETED_CONTROL_PLANE: None}


def what(found: Deleted, managed_etcd: bool) -> str:
    """Return the problem as a text for messages."""
    data = "and etcd's data with them" if managed_etcd else "but not the data, which are in the external etcd"
    return f"{found.title}: all of its machines are gone, {data}"


def way_out(found: Deleted, snapshot: Mapping[str, Any], managed_etcd: bool) -> str:
    """Return the remedy as a text for messages."""
    made = (
        "To have a new and empty one"
        if managed_etcd
        else "To have a new one, which serves the data of that external etcd"
    )
    mistake = (
        " If the deletion was a mistake, do the same, and then restore a backup of etcd (playbook restore with control_plane_restore_snapshot)."
        if managed_etcd
        else ""
    )
    return (
        f"{made}, with the endpoint and the keys that the Cluster has kept, reconcile with -e control_plane_consent={_typed_consent(found, snapshot)} "
        f"(it fits no later deletion).{mistake} "
        f"Worker Nodes that were left running take orders from it, and stop what it doesn't know. {END_CLUSTER}"
    )


def _typed_consent(found: Deleted, snapshot: Mapping[str, Any]) -> str:
    typed = replace(found, uid=typed_name(found.uid[:_SHORT], "UID"))
    return typed.consent(*(typed_name(each) for each in _home(snapshot)))


def _consent_of(found: Deleted, snapshot: Mapping[str, Any]) -> str:
    return found.consent(*_home(snapshot))


def _home(snapshot: Mapping[str, Any]) -> tuple[str, str]:
    metadata = (snapshot.get("cluster") or _EMPTY).get("metadata") or _EMPTY
    return str(metadata.get("namespace") or "default"), str(metadata.get("name") or "")
