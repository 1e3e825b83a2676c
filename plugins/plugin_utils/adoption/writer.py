# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writer of the objects of a hand-made control plane.

They are written to the store so that a killed run is completed by the next.
"""

from __future__ import annotations

import time
import typing as t
import uuid

from ..calls.failure import ControlPlaneFailure
from ..calls.machine_connection import Answer, Machine
from ..objects import kinds, origin
from ..objects.manifest.reader import ClusterManifest
from ..pki import secrets
from ..pki.certificates import PkiError, ca_cert_hash
from ..pki.kubeconfig import ensure_kubeconfig
from ..providers.inventory_pool import CLAIMED, CLAIMING
from ..records import machine_objects, stored_cluster
from ..records.cluster_objects import (
    BOOTSTRAP_STARTED_ANNOTATION,
    CLUSTER,
    CONTROL_PLANE,
    ClusterObjects,
    Object,
    kind_of,
)
from ..records.status.status_writer import annotate
from ..store.base import Store, kind_ref_of
from ..store.overlay import OverlayStore
from . import evidence
from .evidence import Host

PURPOSES = (*secrets.AUTHORITIES, secrets.SERVICE_ACCOUNT, secrets.ETCD_CLIENT)
INFRASTRUCTURE_MACHINE = (kinds.GROUP_INFRASTRUCTURE, kinds.INVENTORY_MACHINE)
_OWN = ("uid", "resourceVersion", "generation", "creationTimestamp")
# Claims a host, or in check mode says whether it could be.
Claim = t.Callable[[Machine, dict[str, t.Any]], Answer]


def host_of_machine(objects: t.Optional[ClusterObjects]) -> dict[str, str]:
    """Return the recorded machine-id of each inventory host of the cluster."""
    found = {}
    for each in objects.infrastructure_machines.values() if objects is not None else ():
        status = each.get("status") or {}
        host = (status.get("connection") or {}).get("inventoryHost")
        if host and status.get("machineID"):
            found[str(host)] = str(status["machineID"])
    return found


def other_cluster(store: Store, cluster: Object, hosts: t.Sequence[Host]) -> str:
    """Return the Secret of an authority that isn't the hosts', or "".

    The store keeps it for this cluster's name.
    """
    for purpose in (*secrets.AUTHORITIES, secrets.SERVICE_ACCOUNT):
        stored = secrets.read_pair(store, cluster, purpose)
        pair = evidence.material(hosts, purpose)
        if stored is not None and pair is not None and stored.crt.strip() != pair[0].strip():
            return secrets.secret_name(cluster, purpose)
    return ""


def is_adopted(objects: t.Optional[ClusterObjects], hosts: t.Sequence[Host]) -> bool:
    """Return whether every host's Node has a bootstrapped Machine.

    Everything that belongs to the Machine must be there, too.
    """
    if objects is None or objects.control_plane is None:
        return False
    known = {
        str(((each.get("status") or {}).get("nodeRef") or {}).get("name")): str(each["metadata"]["name"])
        for each in objects.bootstrapped_machines()
    }
    names = [known.get(str(host.node["name"])) if host.node is not None else None for host in hosts]
    return all(name is not None and name in objects.kubeadm_configs and _claimed(objects, name) for name in names)


def _claimed(objects: ClusterObjects, name: str) -> bool:
    status = (objects.infrastructure_machines.get(name) or {}).get("status") or {}
    return (status.get("claim") or {}).get("state") not in (None, CLAIMING)


class Writer:
    """Writer of what is missing, in a safe order.

    Any prefix of it does no harm; ``changes`` lists in words what was written.

    The manifest's objects come first, then the authorities, then each machine, whose Machine object alone says everything that
    can't be read again. A reconcile in between finds control plane Nodes that belong to no machine, and changes nothing.
    """

    def __init__(
        self, store: Store, manifest: ClusterManifest, hosts: t.Sequence[Host], now: str, claim: Claim
    ) -> None:
        self._store = store
        self._manifest = manifest
        self._hosts = hosts
        self._now = now
        self._claim = claim
        self._namespace = str(manifest.cluster["metadata"].get("namespace") or "default")
        self._name = str(manifest.cluster["metadata"]["name"])
        self._new_claims: dict[str, str] = {}
        self.changes: list[str] = []

    def write(self, failure_domains: t.Mapping[str, str]) -> None:
        """Write everything; ``failure_domains`` are by the host's name."""
        self.changes += stored_cluster.apply_manifest(self._store, self._manifest)
        self._infrastructure(sorted(set(failure_domains.values())))
        objects = self.objects()
        self._initialized(objects)
        self._secrets(objects)
        for number, host in enumerate(sorted(self._hosts, key=_age)):
            self._machine(self.objects(), host, "init" if number == 0 else "join", failure_domains.get(host.name, ""))

    def objects(self) -> ClusterObjects:
        """Return the cluster's objects as they are now."""
        return t.cast(ClusterObjects, ClusterObjects.read(self._store, self._namespace, self._name))

    def _infrastructure(self, failure_domains: t.Sequence[str]) -> None:
        desired = self._manifest.infrastructure_cluster
        endpoint = desired["spec"].get("controlPlaneEndpoint") or self._manifest.cluster["spec"]["controlPlaneEndpoint"]
        domains = [{"name": each, "controlPlane": True} for each in failure_domains if each]

        def provisioned(stored: Object) -> None:
            stored["spec"]["controlPlaneEndpoint"] = dict(endpoint)
            status = stored.setdefault("status", {})
            status["initialization"] = {"provisioned": True}
            if domains:
                status["failureDomains"] = domains

        def follow(stored: Object) -> None:
            stored["spec"]["controlPlaneEndpoint"] = dict(endpoint)
            status = stored.setdefault("status", {})
            status["initialization"] = {**status.get("initialization", {}), "infrastructureProvisioned": True}

        reference = self._manifest.cluster["spec"]["infrastructureRef"]
        self._store.modify(kind_of(reference), self._namespace, str(reference["name"]), provisioned)
        self._store.modify(CLUSTER, self._namespace, self._name, follow)

    def _initialized(self, objects: ClusterObjects) -> None:
        """Mark the control plane as initialized.

        It is done at once: no run may ever initialize another one here.
        """

        def latch(stored: Object) -> None:
            status = stored.setdefault("status", {})
            status["initialization"] = {**status.get("initialization", {}), "controlPlaneInitialized": True}

        control_plane = t.cast(Object, objects.control_plane)
        self._store.modify(CONTROL_PLANE, self._namespace, str(control_plane["metadata"]["name"]), latch)

    def _secrets(self, objects: ClusterObjects) -> None:
        control_plane = t.cast(Object, self.objects().control_plane)
        for purpose in PURPOSES:
            pair = evidence.material(self._hosts, purpose)
            if pair is not None and secrets.read_secret(self._store, objects.cluster, purpose) is None:
                values = {"tls.crt": pair[0], "tls.key": pair[1]}
                self._create(secrets.new_secret(objects.cluster, control_plane, purpose, values))
        try:
            made = ensure_kubeconfig(
                self._store, self.objects().cluster, control_plane, self.objects().endpoint(), self._now
            )
        except PkiError as error:
            raise ControlPlaneFailure(f"the kubeconfig of {self._name} could not be made: {error}") from error
        if made.changed:
            self.changes.append(
                f"create Secret {self._namespace}/{secrets.secret_name(objects.cluster, secrets.KUBECONFIG)}"
            )

    def _machine(self, objects: ClusterObjects, host: Host, kind: str, failure_domain: str) -> None:
        """Write the machine's objects, the Machine first.

        An InfraMachine without one would seem prepared ahead, or left by a Machine that the user deleted.
        """
        name = str(t.cast(Object, host.node)["name"])
        infrastructure, config, machine = self._made(objects, host, kind, failure_domain)
        self._create(machine)
        self._create(infrastructure)
        self._claim_host(host, name)
        self._create(config)

    def _made(
        self, objects: ClusterObjects, host: Host, kind: str, failure_domain: str
    ) -> tuple[Object, Object, Object]:
        """Return the machine's three objects as after its bootstrap.

        They are as a run would have made them.
        """
        node = t.cast(Object, host.node)
        name = str(node["name"])
        staged = ClusterObjects(
            store=OverlayStore(None, self._now),
            namespace=objects.namespace,
            name=objects.name,
            cluster=objects.cluster,
            control_plane=objects.control_plane,
            infrastructure_cluster=objects.infrastructure_cluster,
            machine_template=objects.machine_template,
        )
        # A record of a remediation is handed on to a new machine; these are none.
        staged.store.create(t.cast(Object, objects.control_plane))
        machine_objects.create_machine(staged, kind, name, failure_domain)
        infrastructure, config, machine = (
            staged.infrastructure_machines[name],
            staged.kubeadm_configs[name],
            t.cast(Object, staged.machine(name)),
        )
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
            "machineID": host.machine_id,
            "state": "running",
        }
        machine["spec"].update(providerID=provider, version=str(node["kubeletVersion"]))
        machine["status"] = {
            "nodeRef": {"name": name, "uid": str(node.get("uid") or "")},
            "machineID": host.machine_id,
            "addresses": addresses,
            "connection": connection,
            "phase": "Running",
            "initialization": {"infrastructureProvisioned": True, "bootstrapDataSecretCreated": True},
            "bootstrap": {"state": "Succeeded", "message": "adopted", "startedAt": node["creationTimestamp"]},
        }
        return infrastructure, config, machine

    def _claim_host(self, host: Host, name: str) -> None:
        """Record the host's claim in the store, then on the host.

        No other cluster takes the host from its pool then.
        """
        stored = self._store.get(INFRASTRUCTURE_MACHINE, self._namespace, name) or {}
        claim = (stored.get("status") or {}).get("claim") or {}
        if claim.get("state") not in (None, CLAIMING):
            return
        if not claim:
            claim = {"inventoryHost": host.name, "id": self.claim_id(host), "state": CLAIMING, "claimedAt": self._now}
            self._record_claim(name, claim)
        machine = Machine(name, host.machine_id, {"inventoryHost": host.name})
        answer = self._claim(machine, self._claim_call(host, claim["id"]))
        if answer.failed:
            raise ControlPlaneFailure(
                f"host {host.name} could not be claimed for machine {name}: {answer.message}. What was written so far does no harm; "
                "put that right and run adopt again: it continues where this run stopped."
            )
        self._record_claim(name, {**claim, "state": CLAIMED, "machineID": host.machine_id})
        self.changes.append(f"claim host {host.name} for machine {name}")

    def _record_claim(self, name: str, claim: Object) -> None:
        def record(stored: Object) -> None:
            stored["status"] = {**(stored.get("status") or {}), "claim": claim}

        self._store.modify(INFRASTRUCTURE_MACHINE, self._namespace, name, record)

    def claim_id(self, host: Host) -> str:
        """Return an earlier run's claim ID for this host, or another one.

        Another one is new, drawn once for each machine.
        """
        name = str(t.cast(Object, host.node)["name"])
        stored = self._store.get(INFRASTRUCTURE_MACHINE, self._namespace, name) or {}
        known = ((stored.get("status") or {}).get("claim") or {}).get("id")
        return str(known or self._new_claims.setdefault(name, str(uuid.uuid4())))

    def _claim_call(self, host: Host, identity: str) -> dict[str, t.Any]:
        """Return the arguments with which the host is claimed.

        It carries this cluster already, by its CA.
        """
        node = t.cast(Object, host.node)
        ca = t.cast(t.Any, evidence.material(self._hosts, "ca"))[0]
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
            "ca_cert_hash": ca_cert_hash(ca),
        }

    def _create(self, desired: Object) -> None:
        kind, name = kind_ref_of(desired), str(desired["metadata"]["name"])
        if self._store.get(kind, self._namespace, name) is not None:
            return
        metadata = {key: value for key, value in desired["metadata"].items() if key not in _OWN}
        self._store.create({**desired, "metadata": metadata})
        self.changes.append(f"create {desired['kind']} {self._namespace}/{name}")


def _age(host: Host) -> tuple[str, str]:
    node = t.cast(Object, host.node)
    return (str(node.get("creationTimestamp") or ""), str(node["name"]))


__all__ = ["Writer", "host_of_machine", "is_adopted", "other_cluster"]
