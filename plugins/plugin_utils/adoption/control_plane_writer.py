# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writer of the objects of a hand-made control plane.

They are written to the store so that a killed run is completed by the next.
"""

from __future__ import annotations

import typing as t

from ..calls.failure import ControlPlaneFailure
from ..objects import kinds
from ..objects.manifest.reader import ClusterManifest
from ..pki import secrets
from ..pki.certificates import PkiError, ca_cert_hash
from ..pki.kubeconfig import ensure_kubeconfig
from ..records import machine_objects, stored_cluster
from ..records.cluster_objects import CLUSTER, CONTROL_PLANE, ClusterObjects, Object, kind_of
from ..store import pause
from ..store.base import Store, kind_ref_of
from ..store.overlay import OverlayStore
from . import evidence
from .evidence import Host
from .host_problems import Problem
from .machine_writer import Claim, MachineWriter, is_complete, node_name
from .workers.worker_evidence import WorkerHost
from .workers.worker_writer import WorkerWriter

PURPOSES = (*secrets.AUTHORITIES, secrets.SERVICE_ACCOUNT, secrets.ETCD_CLIENT)


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

    Everything that belongs to the Machine must be there, too, and the adoption's pause be over.
    """
    if objects is None or objects.control_plane is None or kinds.is_paused_by_adoption(objects.control_plane):
        return False
    known = {
        str(((each.get("status") or {}).get("nodeRef") or {}).get("name")): str(each["metadata"]["name"])
        for each in objects.bootstrapped_machines()
    }
    names = [known.get(str(host.node["name"])) if host.node is not None else None for host in hosts]
    return all(name is not None and is_complete(objects, name) for name in names)


def marked_for_deletion(
    store: Store, manifest: ClusterManifest, objects: t.Optional[ClusterObjects], workers: t.Collection[str]
) -> list[Problem]:
    """Return the problem with stored objects that are marked for deletion.

    What is adopted into them is deleted with them. `workers` names MachineDeployments.
    """
    wanted = [manifest.cluster, manifest.control_plane]
    wanted += [each for each in manifest.machine_deployments if each["metadata"]["name"] in workers]
    stored = [
        store.get(kind_ref_of(each), str(each["metadata"].get("namespace") or "default"), str(each["metadata"]["name"]))
        for each in wanted
    ]
    # The stored Cluster may name another KubeadmControlPlane than the manifest.
    stored.append(objects.control_plane if objects is not None else None)
    return marks_of_deletion(stored)


def marks_of_deletion(stored: t.Iterable[t.Optional[t.Mapping[str, t.Any]]]) -> list[Problem]:
    """Return the problem with those that are marked for deletion."""
    marked = dict.fromkeys(
        kinds.label_of(each) for each in stored if each and each["metadata"].get("deletionTimestamp")
    )
    if not marked:
        return []
    text = f"the store has a mark of deletion on {', '.join(marked)}: machines that were adopted now would be deleted with it"
    fix = 'To start again: docs/adoption.md, "Marked for deletion".'
    return [Problem("MarkedForDeletion", "", text, fix)]


class Writer:
    """Writer of what is missing, in a safe order.

    Any prefix of it does no harm; ``changes`` lists in words what was written.

    The manifest's objects come first, then the authorities, then each machine, whose Machine object alone says everything that
    can't be read again. Until all are there the control plane is paused: an API server takes a new Machine without its status, and a reconcile in between would
    start another machine in its place. Workers come last; their MachineDeployment is paused likewise.
    """

    def __init__(
        self, store: Store, manifest: ClusterManifest, hosts: t.Sequence[Host], now: str, claim: Claim
    ) -> None:
        self._store = store
        self._manifest = manifest
        self._hosts = hosts
        self._now = now
        self._namespace = str(manifest.cluster["metadata"].get("namespace") or "default")
        self._name = str(manifest.cluster["metadata"]["name"])
        ca = t.cast(t.Any, evidence.material(hosts, secrets.AUTHORITIES[0]))[0]
        self._machines = MachineWriter(store, self._namespace, self._name, ca_cert_hash(ca), now, claim)
        self._workers = WorkerWriter(store, self._machines)
        self.unfit = self._machines.unfit
        self.changes = self._machines.changes

    def write(
        self,
        failure_domains: t.Mapping[str, str],
        workers: t.Optional[t.Mapping[str, t.Sequence[WorkerHost]]] = None,
        adopted: bool = False,
    ) -> None:
        """Write everything.

        Args:
            failure_domains: those of the control plane's hosts, by the host's name.
            workers: the hosts of each MachineDeployment that workers are to be added to.
            adopted: whether the control plane has its machines already.
        """
        added = workers or {}
        self._workers.hold(self._namespace, added)
        self.changes += stored_cluster.apply_manifest(self._store, self._manifest, held=added)
        if not adopted:
            self._control_plane(failure_domains)
        for deployment, hosts in sorted(added.items()):
            self._workers.write(self.objects(), deployment, hosts)

    def _control_plane(self, failure_domains: t.Mapping[str, str]) -> None:
        self._infrastructure(sorted(set(failure_domains.values())))
        objects = self.objects()
        self._initialized(objects)
        self._secrets(objects)
        for number, host in enumerate(sorted(self._hosts, key=_age)):
            kind, domain = "init" if number == 0 else "join", failure_domains.get(host.name, "")
            self._machines.write(host, *self._made(self.objects(), node_name(host), kind, domain))
        control_plane = t.cast(Object, self.objects().control_plane)
        if kinds.is_paused_by_adoption(control_plane):
            name = str(control_plane["metadata"]["name"])
            self._store.modify(CONTROL_PLANE, self._namespace, name, pause.release)
            self.changes.append(f"end the pause of {kinds.KUBEADM_CONTROL_PLANE} {self._namespace}/{name}")

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
        """Mark the control plane as initialized, and pause it.

        It is done at once: no run may ever initialize another one here.
        """

        def latch(stored: Object) -> None:
            status = stored.setdefault("status", {})
            status["initialization"] = {**status.get("initialization", {}), "controlPlaneInitialized": True}
            pause.hold(stored)

        control_plane = t.cast(Object, objects.control_plane)
        self._store.modify(CONTROL_PLANE, self._namespace, str(control_plane["metadata"]["name"]), latch)

    def _secrets(self, objects: ClusterObjects) -> None:
        control_plane = t.cast(Object, self.objects().control_plane)
        for purpose in PURPOSES:
            pair = evidence.material(self._hosts, purpose)
            if pair is not None and secrets.read_secret(self._store, objects.cluster, purpose) is None:
                values = {"tls.crt": pair[0], "tls.key": pair[1]}
                self._machines.create(secrets.new_secret(objects.cluster, control_plane, purpose, values))
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

    def _made(
        self, objects: ClusterObjects, name: str, kind: str, failure_domain: str
    ) -> tuple[Object, Object, Object]:
        """Return InfraMachine, KubeadmConfig and Machine as a run would have made them."""
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
        machine = t.cast(Object, staged.machine(name))
        return staged.infrastructure_machines[name], staged.kubeadm_configs[name], machine


def _age(host: Host) -> tuple[str, str]:
    node = t.cast(Object, host.node)
    return (str(node.get("creationTimestamp") or ""), str(node["name"]))


__all__ = ["Writer", "host_of_machine", "is_adopted", "marked_for_deletion", "marks_of_deletion", "other_cluster"]
