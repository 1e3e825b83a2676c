# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shape of the objects in a snapshot (docs/reference/snapshot.md).

They are Cluster API's, in their newest form.
"""

from __future__ import annotations

from .. import terms
from .json_shape import Boolean, HexID, Integer, OneOf, Sequence, Shape, Struct, Table, Text, Time

THREE = (terms.TRUE, terms.FALSE, terms.UNKNOWN)
TEXTS = Table(Text())

METADATA = Struct(
    {
        "name!": Text(1),
        "namespace": Text(),
        "creationTimestamp": Time(),
        "deletionTimestamp": Time(),
        "labels": TEXTS,
        "annotations": TEXTS,
        "ownerReferences": Sequence(Struct({"kind": Text(), "name": Text(), "controller": Boolean()})),
    },
    "metadata",
)
CONDITION = Struct(
    {"type!": Text(1), "status!": OneOf(*THREE), "reason": Text(), "message": Text(), "lastTransitionTime": Time()},
    "condition",
)
ADDRESSES = Sequence(Struct({"type": Text(), "address": Text()}))
_REFERENCE = Struct({"apiGroup": Text(), "kind": Text(), "name": Text()})


def _object(
    spec: dict[str, Shape], status: dict[str, Shape], name: str = "", note: str = "", strict: bool = False
) -> Struct:
    fields: dict[str, Shape] = {
        "apiVersion": Text(),
        "kind": Text(),
        "metadata!": METADATA,
        "spec!" if strict else "spec": Struct(spec),
        "status": Struct({"conditions": Sequence(CONDITION), **status}),
    }
    return Struct(fields, name, note)


_INITIALIZATION = Struct({"provisioned": Boolean(), "controlPlaneInitialized": Boolean()})
_ENDPOINT = Struct({"host": Text(), "port": Integer()})
_NODE_REGISTRATION = Struct({"taints": Sequence(Struct({"key": Text(), "value": Text(), "effect": Text()}))})
_KUBEADM_CONFIG: dict[str, Shape] = {
    "files": Sequence(Struct({"path": Text()})),
    "clusterConfiguration": Struct({"etcd": Struct({"external": Struct({})}), "featureGates": Table(Boolean())}),
    "initConfiguration": Struct({"nodeRegistration": _NODE_REGISTRATION, "timeouts": Struct({})}),
    "joinConfiguration": Struct(
        {"nodeRegistration": _NODE_REGISTRATION, "timeouts": Struct({}), "controlPlane": Struct({})}
    ),
}
_CONTROL_PLANE_SPEC: dict[str, Shape] = {
    "replicas": Integer(),
    "version": Text(),
    "machineTemplate": Struct({"spec": Struct({"infrastructureRef": _REFERENCE})}),
    "kubeadmConfigSpec": Struct(_KUBEADM_CONFIG),
    "rollout": Struct(
        {
            "after": Time(),
            "before": Struct({"certificatesExpiryDays": Integer()}),
            "strategy": Struct({"rollingUpdate": Struct({})}),
        }
    ),
    "remediation": Struct(
        {"maxRetry": Integer(), "retryPeriodSeconds": Integer(), "minHealthyPeriodSeconds": Integer()}
    ),
}

OBJECT = _object({}, {}, "object", "An object in the internal form: Cluster API v1beta2, infrastructure kinds v1beta1.")
CLUSTER = _object(
    {
        "controlPlaneEndpoint": _ENDPOINT,
        "paused": Boolean(),
        "infrastructureRef": _REFERENCE,
        "topology": Struct({"version": Text()}),
    },
    {"initialization": _INITIALIZATION, "lastProbeSuccessTime": Time()},
    "cluster",
)
CONTROL_PLANE = _object(
    _CONTROL_PLANE_SPEC,
    {
        "initialization": _INITIALIZATION,
        "strayMembers": Sequence(Struct({"id!": HexID(), "since!": Time()}), "etcd members of no machine."),
    },
    "controlPlane",
)
INFRASTRUCTURE_CLUSTER = _object(
    {"controlPlaneEndpoint": _ENDPOINT},
    {"initialization": _INITIALIZATION, "endpointIsUnused": Boolean()},
    "infrastructureCluster",
)
INFRASTRUCTURE_MACHINE = _object(
    {}, {"initialization": _INITIALIZATION, "machineID": Text(), "addresses": ADDRESSES}, "infrastructureMachine"
)
KUBEADM_CONFIG = _object(_KUBEADM_CONFIG, {}, "kubeadmConfig")
MACHINE = _object(
    {"version": Text(), "failureDomain": Text(), "providerID": Text()},
    {
        "nodeRef": Struct({"name!": Text()}),
        "machineID": Text(),
        "addresses": ADDRESSES,
        "bootstrap": Struct(
            {
                "state": OneOf("", terms.RUNNING, terms.SUCCEEDED, terms.FAILED),
                "message": Text(),
                "startedAt": Time(),
                "endsAt": Time("When the machine itself has ended it, even if no run waits for it."),
                "learnerPeerURL": Text(note="The peer URL of its etcd member, added as a learner before kubeadm."),
            }
        ),
    },
    "machine",
    strict=True,
)
# The fields by which machines of a template are outdated, and those by which a deployment's numbers are counted.
_MACHINE_TEMPLATE = Struct(
    {"spec": Struct({"version": Text(), "failureDomain": Text(), "infrastructureRef": _REFERENCE})}
)
MACHINE_DEPLOYMENT = _object(
    {
        "replicas": Integer(0),
        "paused": Boolean(),
        "rollout": Struct({"after": Time(), "strategy": Struct({"type": Text(), "rollingUpdate": Struct({})})}),
        "template": _MACHINE_TEMPLATE,
        "deletion": Struct({"order": Text()}),
    },
    {},
    "machineDeployment",
    strict=True,
)
MACHINE_SET = _object({"template": _MACHINE_TEMPLATE}, {}, "machineSet", strict=True)
