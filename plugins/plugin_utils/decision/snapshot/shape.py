# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shape of a snapshot (docs/reference/snapshot.md).

docs/reference/snapshot.schema.json is made from it.
"""

from __future__ import annotations

from ...objects.resource_sets import cluster_resource_set, contents
from .. import terms
from .json_shape import Boolean, HexID, Integer, Number, OneOf, Sequence, Struct, Table, Text, Time
from .object_shape import (
    CLUSTER,
    CONTROL_PLANE,
    INFRASTRUCTURE_CLUSTER,
    INFRASTRUCTURE_MACHINE,
    KUBEADM_CONFIG,
    MACHINE,
    MACHINE_DEPLOYMENT,
    MACHINE_SET,
    OBJECT,
    TEXTS,
    THREE,
)

BOOTSTRAP_UNIT = Struct(
    {
        "answers!": Boolean(),
        "state": Text(note="Absent, Running, Succeeded or Failed, as the machine reports."),
        "message": Text(note="Why it does not answer, or its report of its bootstrap."),
    },
    "bootstrapUnit",
    "A machine's report of a bootstrap that is not known to have ended; absent: it was not asked.",
)
CERTIFICATE = Struct({"present!": Boolean(), "hasKey": Boolean(), "notAfter": Time()}, "certificate")

POD = Struct(
    {
        "phase": Text(),
        "ready": Boolean(),
        "answers": Boolean("The component's own answer; absent: it was not asked."),
        "waitingReason": Text(),
        "terminated": Boolean(),
        "lastExitCode": Integer(),
        "image": Text(),
        "creationTimestamp": Text(),
    },
    "pod",
)
NODE = Struct(
    {
        "name!": Text(1),
        "uid": Text(),
        "providerID": Text(),
        "kubeletVersion": Text(),
        "labels": TEXTS,
        "taints": Sequence(Struct({"key": Text(), "value": Text(), "effect": Text()})),
        "unschedulable": Boolean(),
        "ready!": OneOf(*THREE),
        "readyReason": Text(),
        "networkReady": Boolean(
            "False: its kubelet says that there is no network plugin; absent: it says nothing of it."
        ),
        "conditions": Sequence(
            Struct({"type!": Text(1), "status!": OneOf(*THREE), "reason": Text(), "lastTransitionTime": Time()}),
            "All that the Node reports, by the workload cluster's own clock.",
        ),
        "internalIP": Text(),
        "machineID": Text(),
        "nodeInfo": Struct({}, note="The Node's status.nodeInfo; it becomes the Machine's and decides nothing."),
        "creationTimestamp": Text(),
        "annotations": TEXTS,
    },
    "node",
)
MEMBER = Struct(
    {
        "id!": HexID(),
        "name!": Text(note="Empty: the member was added and never started."),
        "peerURLs": Sequence(Text()),
        "clientURLs": Sequence(Text()),
        "isLearner": Boolean(),
    },
    "member",
)
STORED_MEMBER = Struct(
    {
        "id!": HexID(),
        "name": Text(note="Empty for most that were added later: the database does not keep it."),
        "peerURLs": Sequence(Text()),
        "clientURLs": Sequence(Text()),
        "isLearner": Boolean(),
        "listens": Boolean("Whether something took connections at its addresses, tried from the asked machine."),
    },
    "storedMember",
)
MEMBER_STATUS = Struct(
    {
        "healthy!": Boolean("True only where the member answered, knows a leader and served a linearizable read."),
        "looks": Integer(0, "The number of observations for this snapshot."),
        "failedLooks": Integer(0, "The number of these observations in which it seemed dead."),
        "version": Text(),
        "dbSize": Integer(),
        "dbSizeInUse": Integer(),
        "raftTerm": Integer(),
        "raftIndex": Integer(),
        "leader": HexID(),
        "isLearner": Boolean(),
        "errors": Sequence(Text()),
        "message": Text(),
    },
    "memberStatus",
)
ETCD = Struct(
    {
        "reachable!": Boolean(),
        "message": Text(),
        "members": Sequence(MEMBER),
        "memberListAgrees": Boolean("null: fewer than two members gave a list."),
        "leader": HexID(),
        "clusterID": HexID(),
        "alarms": Sequence(
            Struct({"memberID": HexID(), "alarm!": Text(note="NOSPACE, CORRUPT, or one that a newer etcd has.")})
        ),
        "statuses": Table(MEMBER_STATUS, ids=True),
    },
    "etcd",
)
WITNESS = Struct(
    {
        "machine!": Text(1),
        "reachable!": Boolean("Whether it gave a view of its own."),
        "message": Text(),
        "etcd": ETCD,
    },
    "witness",
    "A second machine's view of etcd.",
)
RECOVERY = Struct(
    {
        "state!": OneOf("Running", "Interrupted", "Succeeded", "Failed"),
        "memberID": HexID(),
        "lost": Text(note="The name of the machine whose member was lost."),
        "stage": Text(),
        "message": Text(),
    },
    "recovery",
    "A recovery of etcd from the loss of its second voter, as the asked machine records it; null: none, or one that was acknowledged.",
)
_ADDON = Struct(
    {
        "present!": Boolean(),
        "desired": Integer(),
        "ready": Integer(),
        "updated": Integer(note="The number of pods of the newest template."),
        "image": Text(note='Of the container of the add-on\'s name; "" where it has none.'),
        "corefile": Boolean("dns: ConfigMap kube-system/coredns exists."),
        "corefileKey": Text(
            note='dns: the key of that ConfigMap that it reads as its Corefile; "" where that is not known.'
        ),
    },
    "addon",
)

WORKLOAD = Struct(
    {
        "reachable!": Boolean("The API server answered on a machine."),
        "via": Text(),
        "message": Text(),
        "endpoint": Struct(
            {
                "answers": Boolean(
                    "Whether the endpoint leads to this cluster's API (before any machine: to any Kubernetes API); null: could not be asked."
                ),
                "message": Text(),
            }
        ),
        "initialized": Boolean("ConfigMap kube-system/kubeadm-config exists; null: could not be asked."),
        "clockSkewSeconds": Number("Optional: the largest difference between the clocks that were compared."),
        "kubeadmConfig": Struct(
            {
                "clusterConfiguration": Text(),
                "clusterStatus": Text(),
                "asWanted": Boolean(
                    "Optional: whether clusterConfiguration says what the KubeadmControlPlane says, as joins need it; null: not known."
                ),
            }
        ),
        "nodes": Sequence(NODE),
        "pods": Table(Struct({component: POD for component, _condition, _title in terms.COMPONENTS})),
        "etcd": ETCD,
        "witnesses": Sequence(WITNESS),
        "storedMembers": Sequence(
            STORED_MEMBER,
            note="The members in the database of the asked machine's etcd, where that etcd does not answer.",
        ),
        "recovery": RECOVERY,
        "addons": Struct(
            {
                "kubeProxy": _ADDON,
                "dns": _ADDON,
                "bootstrap": Struct(
                    {
                        "clusterInfo": Boolean(),
                        "clusterInfoServer": Text(
                            note='The server that cluster-info names; "" where that is not known.'
                        ),
                        "bootstrapTokenRBAC": Boolean(),
                        "message": Text(),
                    }
                ),
            }
        ),
        "machineCertificates": Table(
            Table(Time()),
            note="When the certificates on the disks of the machines that were asked end: by machine, by file.",
        ),
        "staticPodDrift": Sequence(
            Struct(
                {
                    "node!": Text(),
                    "component!": Text(),
                    "flag!": Text(1),
                    "kind!": OneOf("added", "changed", "missing"),
                },
                note="A flag by which a static pod differs from what kubeadm and its machine's spec account for.",
            )
        ),
        "workerNodes": Sequence(Text()),
        "leftBehind": Sequence(NODE, "Nodes with the names of machines that were removed and replaced."),
        "workerVersions": Table(Integer(1), note="The number of worker Nodes by their kubelet's version."),
        "workers": Sequence(
            NODE, "The worker Nodes; absent: there are no MachineDeployments, or they were not asked for."
        ),
    },
    "workload",
)

MACHINE_ENTRY = Struct(
    {
        "machine!": MACHINE,
        "infrastructureMachine": INFRASTRUCTURE_MACHINE,
        "kubeadmConfig": KUBEADM_CONFIG,
        "bootstrapUnit": BOOTSTRAP_UNIT,
    }
)
WORKERS = Struct(
    {
        "deployments!": Sequence(
            Struct(
                {
                    "machineDeployment!": MACHINE_DEPLOYMENT,
                    "machineSets!": Sequence(MACHINE_SET),
                    "configTemplate": Boolean("Whether the KubeadmConfigTemplate that it names exists."),
                    "machineTemplate": Boolean("Whether the machine template that it names exists."),
                    "obstacles": Sequence(
                        Struct({"reason!": Text(1), "message!": Text(1), "fix!": Text(1), "machine": Text()}),
                        "What keeps any new machine of it from being made, or the named one from being resumed in this run.",
                    ),
                },
                "deployment",
            )
        ),
        "machines!": Sequence(MACHINE_ENTRY, "The Machines whose controller is one of these MachineSets."),
    },
    "workers",
    "The cluster's MachineDeployments with what is theirs; absent: there are none.",
)

SNAPSHOT = Struct(
    {
        "snapshotVersion!": OneOf(terms.SNAPSHOT_VERSION),
        "now!": Time(),
        "observedAt": Time("The controller's clock when this observation began."),
        "lastAction": Struct(
            {"at!": Time(), "action!": Text(), "target": Text(), "outcome": Text(note="null: none is known yet.")},
            note="The journal's newest step.",
        ),
        "unfinishedAction": Struct(
            {"name!": Text(1), "phase": Text()},
            "unfinishedAction",
            "The Action (docs/actions.md) that changes the cluster's running nodes and has not ended; absent where there is none.",
        ),
        "unfinishedRotation": Struct(
            {"action!": Text(), "authorities!": Sequence(Text(1))},
            "unfinishedRotation",
            "A rotation of certificate authorities (docs/rotate_certificate_authorities.md) that is not over, whether or not an Action is "
            "at it; absent where there is none.",
        ),
        "policy": Struct(
            {
                "replace": OneOf(terms.REPLACE_ALLOW, terms.REPLACE_ASK, terms.REPLACE_NEVER),
                "approved": Boolean("This run carries out a plan that the user has seen."),
                "consent": Sequence(Text(1)),
            },
            note="The run's own rules. Absent: allow.",
        ),
        "readinessGates": Sequence(
            Struct({"name!": Text(1), "status!": OneOf(*THREE), "message": Text()}, "readinessGate")
        ),
        "maintenance": Struct(
            {
                "open": Boolean("null: the annotation can't be read; message says why."),
                "message": Text(),
                "opensAt": Time(),
                "closesAt": Time(),
            },
            note="null: no maintenance window is set.",
        ),
        "resourceSets": Sequence(
            Struct(
                {
                    "name!": Text(1),
                    "strategy!": OneOf(*cluster_resource_set.STRATEGIES),
                    "paused": Boolean(),
                    "message": Text(note="What the API server said when it refused a document of it last."),
                    "resources!": Sequence(
                        Struct(
                            {
                                "kind!": OneOf(*cluster_resource_set.RESOURCE_KINDS),
                                "name!": Text(1),
                                "state!": OneOf(*contents.STATES),
                                "hash": Text(
                                    note="Of the values that are stored now; empty where there are none to apply."
                                ),
                                "applied": Boolean(),
                                "appliedHash": Text(note="Of the values that were tried last."),
                                "lastAppliedTime": Time(),
                            }
                        )
                    ),
                },
                "resourceSet",
            ),
            note="The ClusterResourceSets that select the Cluster, without what they apply; absent: there are none.",
        ),
        "pause": Text(note="Why all clusters of the namespace are paused; absent: they are not."),
        "keepsItself": Boolean("The objects are in the cluster's own API; absent: they are not."),
        "sharedWith": Text(note="Of a deletion: another Cluster that names the same objects; absent: there is none."),
        "cluster!": CLUSTER,
        "controlPlane": CONTROL_PLANE,
        "infrastructureCluster": INFRASTRUCTURE_CLUSTER,
        "machineTemplate": OBJECT,
        "certificates": Struct(dict.fromkeys(("ca", "etcd", "proxy", "sa", "kubeconfig"), CERTIFICATE)),
        "machines!": Sequence(MACHINE_ENTRY),
        "workers": WORKERS,
        "preparedMachines": Sequence(INFRASTRUCTURE_MACHINE),
        "hosts": Sequence(
            Struct(
                {
                    "name!": Text(1),
                    "failureDomain": Text(),
                    "machine": Text(note="The machine of this cluster that uses the host; empty: it is free."),
                    "missing": Sequence(Struct({"check!": Text(1), "message": Text(), "fix": Text()})),
                },
                "host",
            ),
            note="Existing hosts that were asked before machines are made of them, and what each lacks.",
        ),
        "pool": Struct(
            {"group": Text(), "failureDomains": Sequence(Text(1))},
            note="The inventory group of these hosts. Absent: machines are not made of existing hosts, or no host was asked.",
        ),
        "obstacles": Sequence(
            Struct({"reason!": Text(1), "message!": Text(1), "fix!": Text(1)}),
            note="Problems on the controller or on hosts that keep any machine from being made.",
        ),
        "workload!": WORKLOAD,
    },
    note="Everything that a decision reads about one cluster, as one document. See snapshot.md.",
)
