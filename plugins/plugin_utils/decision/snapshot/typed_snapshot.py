# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""View of a snapshot: typed access to the document of decisions.

The page: docs/reference/snapshot.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Optional

from ....module_utils.common import settings
from ....module_utils.common.quorum import MemberState, member_states
from ....module_utils.common.values import annotations_of, clip, condition_of, host_of, parse_time
from ...objects import kinds
from ...objects.instance_data.node_names import expected_node_name
from .. import ownership, terms
from ..removal.deleted_control_plane import Deleted, deleted_control_plane, latched
from .validate import Problem, check_snapshot

__all__ = ["MachineView", "Problem", "View", "annotations_of", "check_snapshot", "condition_of", "read_snapshot"]

Object = dict[str, Any]
_EMPTY: Object = {}
_LOST = ("missing", "gone", "terminated", "deleted")
_GONE = ("dead", *_LOST)


@dataclass
class MachineView:
    """Control plane Machine with everything that belongs to it.

    The table "Ages of a machine" in docs/reference/decision.md has the age that each rule reads: `created` is that of
    the Machine object, `started` that of its bootstrap (of its Node, where the machine was adopted), `began` the
    earliest known one. `node` and `member` are None both where there is none and where no API or etcd answered: check
    View.reachable and View.etcd_known first. `node_lost` is True where a Node that this machine had is gone from an
    answering API, `node_unlabelled` where it exists without kubeadm's label for control planes, `node_labelled` where a
    worker's has that label. `ends_at`: when the machine itself has ended a bootstrap that was started there. `unit` is
    what it reports of that now, {} where it was not asked.
    """

    name: str
    machine: Object
    infrastructure: Optional[Object]
    config: Optional[Object]
    created: int
    deleting: bool
    version: str
    failure_domain: str
    bootstrap: str
    bootstrap_message: str
    started: Optional[int]
    ends_at: int
    addresses: tuple[str, ...]
    unit: Object = field(default_factory=dict)
    node: Optional[Object] = None
    node_lost: bool = False
    node_unlabelled: bool = False
    node_labelled: bool = False
    impostor: str = ""
    member: Optional[MemberState] = None
    pods: Object = field(default_factory=dict)

    @property
    def order(self) -> tuple[int, str]:
        """Return the sort key: the oldest first, among equals by name."""
        return (self.created, self.name)

    @property
    def began(self) -> int:
        """Return the earliest time at which the machine is known to exist."""
        node = parse_time((self.node or _EMPTY).get("creationTimestamp"))
        return min(each for each in (self.created, self.started, node) if each is not None)

    @property
    def adopted(self) -> bool:
        """Return whether the machine is older than its object, so was adopted."""
        return self.created - self.began > settings.ADOPTED_AFTER

    @property
    def node_name(self) -> str:
        """Return the Node's name: observed, else recorded, else the expected one."""
        seen = (self.node or _EMPTY).get("name")
        return str(seen or expected_node_name(self.machine, self.config, self.infrastructure))

    @property
    def node_known(self) -> bool:
        """Return whether the Node's name is known, observed or recorded."""
        return self.node is not None or bool((self.machine.get("status") or _EMPTY).get("nodeRef"))

    @property
    def without_trace(self) -> bool:
        """Return whether it has neither bootstrap state, Node nor etcd member."""
        return not self.bootstrap and not self.node_known and self.member is None

    @property
    def silent(self) -> bool:
        """Return whether the machine was asked about its bootstrap without an answer."""
        return bool(self.unit) and not self.unit.get("answers")

    @property
    def provisioned(self) -> bool:
        """Return whether the provider reported the infrastructure as provisioned."""
        status = (self.infrastructure or _EMPTY).get("status") or _EMPTY
        return bool((status.get("initialization") or _EMPTY).get("provisioned") or status.get("ready"))

    @property
    def infrastructure_gone(self) -> str:
        """Return the provider's state of a dead or missing machine, else ""."""
        status = (self.infrastructure or _EMPTY).get("status") or _EMPTY
        state = str(status.get("state") or status.get("instanceState") or "").lower()
        if state in _GONE:
            return state
        failure = status.get("failureReason")
        return clip(failure) if failure else ""

    @property
    def infrastructure_lost(self) -> bool:
        """Return whether the provider reports the machine as non-existent, not only dead."""
        return self.infrastructure_gone in _LOST

    @property
    def joined(self) -> bool:
        """Return whether its bootstrap succeeded: it carries a control plane."""
        return self.bootstrap == terms.SUCCEEDED

    @property
    def is_join(self) -> Optional[bool]:
        """Return whether its KubeadmConfig joins; None without a KubeadmConfig."""
        if self.config is None:
            return None
        return "joinConfiguration" in (self.config.get("spec") or _EMPTY)


@dataclass
class View:
    """Snapshot with its machines, Nodes and members brought together.

    Pure data; built by read_snapshot. `machines` are those of this control plane; `others` carry its labels and have
    another controller (ownership.py): they are never changed, and their members are no strays. `latched`: the control
    plane was initialized once, by what is stored. `deleted`: the earlier control plane that was deleted.
    """

    raw: Object
    now: int
    cluster: Object
    control_plane: Object
    machines: list[MachineView]
    workload: Object
    reachable: bool
    managed_etcd: bool
    etcd: Object
    members: list[MemberState]
    latched: bool
    initialized: Optional[bool]
    endpoint_answers: Optional[bool]
    deleted: Optional[Deleted] = None
    others: list[MachineView] = field(default_factory=list)

    @property
    def spec(self) -> Object:
        """Return the KubeadmControlPlane's spec."""
        spec: Object = self.control_plane.get("spec") or _EMPTY
        return spec

    @property
    def name(self) -> str:
        """Return the Cluster's name."""
        return str((self.cluster.get("metadata") or _EMPTY).get("name") or "")

    @property
    def replicas(self) -> int:
        """Return the desired number of machines."""
        value = self.spec.get("replicas")
        return value if isinstance(value, int) else 1

    @property
    def version(self) -> str:
        """Return the desired Kubernetes version."""
        return str(self.spec.get("version") or "")

    @property
    def endpoint(self) -> str:
        """Return the control plane endpoint as host:port, "" without one."""
        endpoint = (self.cluster.get("spec") or _EMPTY).get("controlPlaneEndpoint") or _EMPTY
        return f"{endpoint['host']}:{endpoint.get('port', 6443)}" if endpoint.get("host") else ""

    @property
    def etcd_known(self) -> bool:
        """Return whether etcd's member list is known."""
        return bool(self.members)

    @property
    def leader(self) -> Optional[MemberState]:
        """Return the leader among the members, None where it is unknown."""
        identity = self.etcd.get("leader")
        return next((member for member in self.members if member.id == identity), None)

    @property
    def leader_title(self) -> Optional[str]:
        """Return the leader as messages name it, None where it is unknown."""
        return self.leader.title if self.leader is not None else None

    @property
    def deleting(self) -> bool:
        """Return whether the Cluster or its KubeadmControlPlane is marked for deletion."""
        return _marked(self.cluster) or _marked(self.control_plane)

    @property
    def live(self) -> list[MachineView]:
        """Return the machines that are not marked for deletion."""
        return [machine for machine in self.machines if not machine.deleting]

    @property
    def known(self) -> list[MachineView]:
        """Return every machine of the cluster, whoever controls it."""
        return [*self.machines, *self.others]

    @property
    def paused(self) -> list[str]:
        """Return the reasons why the cluster is paused, [] without any."""
        found = ["Cluster spec.paused is true"] if (self.cluster.get("spec") or _EMPTY).get("paused") else []
        found += [text for obj in (self.cluster, self.control_plane) if (text := kinds.pause_of(obj, self.deleting))]
        return [*found, str(self.raw["pause"])] if self.raw.get("pause") else found

    @property
    def failure_domains(self) -> list[str]:
        """Return the failure domains that take control plane machines, sorted.

        The provider's list, else the Cluster's.
        """
        for obj in (self.raw.get("infrastructureCluster") or _EMPTY, self.cluster):
            listed = (obj.get("status") or _EMPTY).get("failureDomains")
            if isinstance(listed, dict):
                listed = [{"name": name, **(value or {})} for name, value in listed.items()]
            if isinstance(listed, list) and listed:
                known = [each for each in listed if isinstance(each, dict) and isinstance(each.get("name"), str)]
                return sorted({each["name"] for each in known if each.get("controlPlane")})
        return []

    @property
    def infrastructure_ready(self) -> bool:
        """Return whether the infrastructure cluster is reported as provisioned."""
        status = (self.raw.get("infrastructureCluster") or _EMPTY).get("status") or _EMPTY
        return bool((status.get("initialization") or _EMPTY).get("provisioned") or status.get("ready"))

    @property
    def settling(self) -> bool:
        """Return whether a machine is bootstrapping, or was started very recently."""
        return any(
            (machine.bootstrap == terms.RUNNING and self.now < machine.ends_at)
            or (machine.started is not None and self.now - machine.started < settings.SETTLING)
            for machine in self.machines
        )

    def held(self, obj: Object, kind: str, status: str) -> Optional[int]:
        """Return the seconds since a condition took `status`, None for another."""
        condition = condition_of(obj, kind)
        since = parse_time(condition.get("lastTransitionTime"))
        if condition.get("status") != status or since is None:
            return None
        return max(0, self.now - since)

    def lasting(self, obj: Object, kind: str, polarity: str = terms.TRUE) -> bool:
        """Return whether the stored condition has lasted for PATIENCE seconds.

        With another status than `polarity`: more than one sample.
        """
        condition = condition_of(obj, kind)
        since = parse_time(condition.get("lastTransitionTime"))
        return (
            bool(condition)
            and condition.get("status") != polarity
            and since is not None
            and self.now - since >= settings.PATIENCE
        )


def _marked(obj: Object) -> bool:
    return bool((obj.get("metadata") or _EMPTY).get("deletionTimestamp"))


def read_snapshot(raw: Object) -> View:
    """Return the view of a snapshot, with machines, Nodes and members matched.

    The document must have passed check_snapshot. Nothing in it is changed.
    """
    cluster = raw["cluster"]
    control_plane = raw.get("controlPlane") or {}
    workload = raw.get("workload") or {}
    configuration = ((control_plane.get("spec") or _EMPTY).get("kubeadmConfigSpec") or _EMPTY).get(
        "clusterConfiguration"
    )
    managed = ((configuration or _EMPTY).get("etcd") or _EMPTY).get("external") is None
    etcd = workload.get("etcd") or {}
    listed = sorted((machine_view(entry) for entry in raw.get("machines") or ()), key=lambda each: each.order)
    machines, others = ownership.part(listed, lambda each: each.machine, cluster, control_plane)
    deleted = deleted_control_plane(cluster, control_plane, bool(listed))
    reachable = workload.get("reachable") is True
    initialized = workload.get("initialized")
    view = View(
        raw=raw,
        now=parse_time(raw.get("now")) or 0,
        cluster=cluster,
        control_plane=control_plane,
        machines=machines,
        workload=workload,
        reachable=reachable,
        managed_etcd=managed,
        etcd=etcd,
        members=member_states(etcd) if managed else [],
        # The Cluster's latch of a deleted control plane is no evidence about a new one.
        latched=latched(control_plane) or (deleted is None and latched(cluster)),
        initialized=initialized if reachable and isinstance(initialized, bool) else None,
        endpoint_answers=(workload.get("endpoint") or _EMPTY).get("answers"),
        deleted=deleted,
        others=others,
    )
    _match_nodes(view)
    _match_members(view)
    return view


def machine_view(entry: Object) -> MachineView:
    """Return the view of a machine's entry, without its Node and member."""
    machine = entry["machine"]
    infrastructure = entry.get("infrastructureMachine")
    metadata, status = machine["metadata"], machine.get("status") or _EMPTY
    bootstrap = status.get("bootstrap") or _EMPTY
    created, started = parse_time(metadata.get("creationTimestamp")) or 0, parse_time(bootstrap.get("startedAt"))
    listed = status.get("addresses") or ((infrastructure or _EMPTY).get("status") or _EMPTY).get("addresses") or ()
    return MachineView(
        name=metadata["name"],
        machine=machine,
        infrastructure=infrastructure,
        config=entry.get("kubeadmConfig"),
        created=created,
        deleting=bool(metadata.get("deletionTimestamp")),
        version=str(machine["spec"].get("version") or ""),
        failure_domain=str(machine["spec"].get("failureDomain") or ""),
        bootstrap=str(bootstrap.get("state") or ""),
        bootstrap_message=clip(bootstrap.get("message")),
        started=started,
        ends_at=parse_time(bootstrap.get("endsAt")) or (started or created) + settings.BOOTSTRAP_BOUND,
        unit=entry.get("bootstrapUnit") or {},
        addresses=tuple(str(each["address"]) for each in listed if each.get("address")),
    )


def _match_nodes(view: View) -> None:
    nodes = {node["name"]: node for node in view.workload.get("nodes") or ()}
    taken = set()
    for machine in view.known:
        status = machine.machine.get("status") or _EMPTY
        recorded = (status.get("nodeRef") or _EMPTY).get("name")
        identity = status.get("machineID") or ((machine.infrastructure or _EMPTY).get("status") or _EMPTY).get(
            "machineID"
        )
        provider = machine.machine["spec"].get("providerID")
        node = nodes.get(machine.node_name)
        if node is not None and identity and node.get("machineID") and node["machineID"] != identity:
            # A reinstalled or foreign host under the same name is no evidence about this machine
            # (docs/faults.md, "a host was installed again under its name and address").
            machine.impostor, node = str(node["name"]), None
        elif node is None and not recorded:
            node = identified_node(nodes, identity, provider)
        if node is not None and node["name"] not in taken:
            taken.add(node["name"])
            machine.node = node
            machine.pods = (view.workload.get("pods") or _EMPTY).get(node["name"]) or {}
        gone = bool(recorded) and machine.node is None and view.reachable
        machine.node_unlabelled = gone and recorded in (view.workload.get("workerNodes") or ())
        machine.node_lost = gone and not machine.node_unlabelled


def identified_node(nodes: dict[str, Object], identity: Any, provider: Any) -> Optional[Object]:
    """Return the Node with a machine-id or providerID, None without one."""
    for node in nodes.values():
        if (identity and node.get("machineID") == identity) or (provider and node.get("providerID") == provider):
            return node
    return None


def _match_members(view: View) -> None:
    by_name = {member.name: member for member in view.members if member.name}
    urls = {member["id"]: member.get("peerURLs") or () for member in view.etcd.get("members") or ()}
    for machine in view.known:
        machine.member = by_name.get(machine.node_name)
    matched = {machine.member.id for machine in view.known if machine.member is not None}
    loose = [member for member in view.members if member.id not in matched]
    for machine in view.known:
        if machine.member is None:
            # A member has its Node's name. Where the Node is not known yet, or the host was renamed beneath its etcd, the
            # address identifies the member: no two members have the same.
            hosts = {host_of(url): member for member in loose for url in urls.get(member.id, ())}
            machine.member = next((hosts[address] for address in machine.addresses if address in hosts), None)
