# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writer of one adopted machine's objects, with its host's claim."""

from __future__ import annotations

import time
import typing as t
import uuid

from ..calls.failure import ControlPlaneFailure
from ..calls.machine_connection import Answer, Machine
from ..objects import kinds, origin
from ..providers.inventory_pool import CLAIMED, CLAIMING
from ..records.cluster_labels import cluster_of
from ..records.cluster_objects import (
    BOOTSTRAP_STARTED_ANNOTATION,
    CLUSTER,
    KUBEADM_CONFIG,
    MACHINE,
    MACHINE_DEPLOYMENT,
    ClusterObjects,
    Object,
)
from ..records.status.status_writer import annotate
from ..store.base import Store, kind_ref_of
from ..store.interrupted_creation import complete_status
from .host_problems import AnyHost, Problem, machine_id, unfit

INFRASTRUCTURE_MACHINE = (kinds.GROUP_INFRASTRUCTURE, kinds.INVENTORY_MACHINE)
_IN_A_NAMESPACE = "Adopt this cluster in a namespace of its own: -e control_plane_namespace=NAME."
_OWN = ("uid", "resourceVersion", "generation", "creationTimestamp")
# Claims a host, or in check mode says whether it could be.
Claim = t.Callable[[Machine, dict[str, t.Any]], Answer]


def node_name(host: AnyHost) -> str:
    """Return the name of a host's Node, which its Machine has too."""
    return str(t.cast(Object, host.node)["name"])


def is_complete(objects: ClusterObjects, name: str) -> bool:
    """Return whether a Machine has everything that belongs to it."""
    status = (objects.infrastructure_machines.get(name) or {}).get("status") or {}
    provisioned = bool((status.get("initialization") or {}).get("provisioned"))
    claimed = (status.get("claim") or {}).get("state") not in (None, CLAIMING)
    return name in objects.kubeadm_configs and provisioned and claimed


class MachineWriter:
    """Writer of a machine's objects; ``changes`` lists in words what was written.

    `ca_cert_hash` is the cluster's, by which a host says that it carries it.
    """

    def __init__(self, store: Store, namespace: str, cluster: str, ca_cert_hash: str, now: str, claim: Claim) -> None:
        self._store = store
        self._namespace = namespace
        self._name = cluster
        self._ca_cert_hash = ca_cert_hash
        self._now = now
        self._claim = claim
        self._new_claims: dict[str, str] = {}
        self.changes: list[str] = []

    def write(self, host: AnyHost, infrastructure: Object, config: Object, machine: Object) -> None:
        """Write a machine's objects as after its bootstrap, the Machine first.

        An InfraMachine without one would seem prepared ahead, or left by a Machine that the user deleted.
        """
        for taken in self._taken([host], ()):
            raise ControlPlaneFailure(f"{host.name} was not adopted: {taken}")
        _bootstrapped(host, infrastructure, config, machine)
        self.create(machine)
        self.create(infrastructure)
        self._claim_host(host, node_name(host))
        self.create(config)

    def unfit(self, hosts: t.Sequence[AnyHost], deployments: t.Iterable[str]) -> list[Problem]:
        """Return problems with new hosts, and with their MachineDeployments' names."""
        return [*self._taken(hosts, deployments), *unfit(hosts, self._claim_id)]

    def _taken(self, hosts: t.Sequence[AnyHost], deployments: t.Iterable[str]) -> list[Problem]:
        """Return the problem with each name of another cluster's object."""
        found = []
        for host in hosts:
            for kind in (MACHINE, INFRASTRUCTURE_MACHINE, KUBEADM_CONFIG):
                text = self._owned_by_another(kind, node_name(host))
                if text:
                    fix = (
                        f"{_IN_A_NAMESPACE} One that is managed already: leave this host out, and make another worker."
                    )
                    found.append(Problem("NameTaken", host.name, f"{text}, and a machine is called as its Node", fix))
                    break
        for name in deployments:
            text = self._owned_by_another(MACHINE_DEPLOYMENT, name)
            if text:
                fix = f"Name another MachineDeployment in control_plane_adopt_workers. Or: {_IN_A_NAMESPACE}"
                found.append(Problem("NameTaken", "", text, fix))
        return found

    def _owned_by_another(self, kind: tuple[str, str], name: str) -> str:
        """Return in words whose the stored object of this name is.

        "" where there is none, or it is this cluster's.
        """
        stored = self._store.get(kind, self._namespace, name)
        if stored is None or cluster_of(stored) == self._name:
            return ""
        return f"the store has {kinds.label_of(stored)} of another cluster ({cluster_of(stored) or 'none is named'})"

    def _claim_host(self, host: AnyHost, name: str) -> None:
        """Record the host's claim in the store, then on the host.

        No other cluster takes the host from its pool then.
        """
        stored = self._store.get(INFRASTRUCTURE_MACHINE, self._namespace, name) or {}
        claim = (stored.get("status") or {}).get("claim") or {}
        if claim.get("state") not in (None, CLAIMING):
            return
        if not claim:
            claim = {"inventoryHost": host.name, "id": self._claim_id(host), "state": CLAIMING, "claimedAt": self._now}
            self._record_claim(name, claim)
        machine = Machine(name, machine_id(host), {"inventoryHost": host.name})
        answer = self._claim(machine, self._claim_call(host, claim["id"]))
        if answer.failed:
            raise ControlPlaneFailure(
                f"host {host.name} could not be claimed for machine {name}: {answer.message}. What was written so far does no harm; "
                "put that right and run adopt again: it continues where this run stopped."
            )
        self._record_claim(name, {**claim, "state": CLAIMED, "machineID": machine_id(host)})
        self.changes.append(f"claim host {host.name} for machine {name}")

    def _record_claim(self, name: str, claim: Object) -> None:
        def record(stored: Object) -> None:
            stored["status"] = {**(stored.get("status") or {}), "claim": claim}

        self._store.modify(INFRASTRUCTURE_MACHINE, self._namespace, name, record)

    def _claim_id(self, host: AnyHost) -> str:
        """Return an earlier run's claim ID for this host, or another one.

        Another one is new, drawn once for each machine. A claim of another cluster is none of ours.
        """
        name = node_name(host)
        stored = self._store.get(INFRASTRUCTURE_MACHINE, self._namespace, name)
        own = stored if stored is not None and cluster_of(stored) == self._name else {}
        known = ((own.get("status") or {}).get("claim") or {}).get("id")
        return str(known or self._new_claims.setdefault(name, str(uuid.uuid4())))

    def _claim_call(self, host: AnyHost, identity: str) -> dict[str, t.Any]:
        """Return the arguments with which the host is claimed.

        It carries this cluster already, by its CA.
        """
        node = t.cast(Object, host.node)
        return {
            "state": "present",
            "id": identity,
            "cluster": self._name,
            "namespace": self._namespace,
            "cluster_id": origin.uid(self._store.get(CLUSTER, self._namespace, self._name) or {}),
            "machine": str(node["name"]),
            "kubernetes_version": str(node["kubeletVersion"]),
            "address": str(node.get("internalIP") or ""),
            "controller_time": time.time(),
            "ca_cert_hash": self._ca_cert_hash,
        }

    def create(self, desired: Object) -> None:
        """Create an object, or complete one whose creation was interrupted."""
        kind, name = kind_ref_of(desired), str(desired["metadata"]["name"])
        stored = self._store.get(kind, self._namespace, name)
        if stored is not None:
            if complete_status(self._store, stored, desired) is not None:
                self.changes.append(f"complete {desired['kind']} {self._namespace}/{name}")
            return
        metadata = {key: value for key, value in desired["metadata"].items() if key not in _OWN}
        self._store.create({**desired, "metadata": metadata})
        self.changes.append(f"create {desired['kind']} {self._namespace}/{name}")


def _bootstrapped(host: AnyHost, infrastructure: Object, config: Object, machine: Object) -> None:
    """Set what a machine's objects have after its bootstrap, in place."""
    node, name = t.cast(Object, host.node), node_name(host)
    addresses = [{"type": "InternalIP", "address": node["internalIP"]}] if node.get("internalIP") else []
    addresses.append({"type": "Hostname", "address": name})
    provider = str(node.get("providerID") or f"inventory:///{host.name}/{name}")
    connection = {"inventoryHost": host.name}
    infrastructure["spec"]["providerID"] = provider
    # Without its Machine it is never to be taken for a machine prepared ahead, which nobody needs.
    annotate(infrastructure, {BOOTSTRAP_STARTED_ANNOTATION: "true"})
    config["status"] = {"initialization": {"dataSecretCreated": True}}
    infrastructure["status"] = {
        "initialization": {"provisioned": True},
        "addresses": addresses,
        "connection": connection,
        "machineID": machine_id(host),
        "state": "running",
    }
    machine["spec"].update(providerID=provider, version=str(node["kubeletVersion"]))
    machine["status"] = {
        "nodeRef": {"name": name, "uid": str(node.get("uid") or "")},
        "machineID": machine_id(host),
        "addresses": addresses,
        "connection": connection,
        "phase": "Running",
        "initialization": {"infrastructureProvisioned": True, "bootstrapDataSecretCreated": True},
        "bootstrap": {"state": "Succeeded", "message": "adopted", "startedAt": node["creationTimestamp"]},
    }
