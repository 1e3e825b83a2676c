# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects of one cluster, read from the store together."""

from __future__ import annotations

import base64
import contextlib
import typing as t
from dataclasses import dataclass, field

from ...module_utils.common import kubernetes_facts
from ...module_utils.common.values import controller_of
from ..calls.machine_connection import Machine
from ..decision import ownership
from ..documents import names
from ..objects import defaults, kinds
from ..objects.validate import limits
from ..store.base import NotFound, Store
from ..store.pause import paused_because
from .workers import managed

Object = dict[str, t.Any]

CLUSTER = (kinds.GROUP_CLUSTER, kinds.CLUSTER)
MACHINE = (kinds.GROUP_CLUSTER, kinds.MACHINE)
CONTROL_PLANE = (kinds.GROUP_CONTROL_PLANE, kinds.KUBEADM_CONTROL_PLANE)
KUBEADM_CONFIG = (kinds.GROUP_BOOTSTRAP, kinds.KUBEADM_CONFIG)
MACHINE_DEPLOYMENT = (kinds.GROUP_CLUSTER, kinds.MACHINE_DEPLOYMENT)
MACHINE_SET = (kinds.GROUP_CLUSTER, kinds.MACHINE_SET)
SECRET = ("", kinds.SECRET)
# Written by this collection: on an InfraMachine, whether kubeadm was ever started there ("true", "false"); on an object, that it was
# made anew from what was left of a machine.
BOOTSTRAP_STARTED_ANNOTATION = kinds.ANNOTATION_PREFIX + "bootstrap-started"
RESTORED_ANNOTATION = kinds.ANNOTATION_PREFIX + "restored"
# Written on a KubeadmConfig before kubeadm join is started with that bootstrap token, and taken off when the join was seen to have succeeded
# and the token was deleted.
BOOTSTRAP_TOKEN_ANNOTATION = kinds.ANNOTATION_PREFIX + "bootstrap-token-id"
_FOLLOWED_STATUS = ("addresses", "failureDomain", "machineID", "connection")
CLUSTER_LABEL = kinds.LABEL_CLUSTER_NAME
CONTROL_PLANE_LABEL = kinds.LABEL_CONTROL_PLANE
FINALIZERS = {
    CLUSTER: kinds.FINALIZER_CLUSTER,
    CONTROL_PLANE: kinds.FINALIZER_CONTROL_PLANE,
    MACHINE: kinds.FINALIZER_MACHINE,
    MACHINE_DEPLOYMENT: kinds.FINALIZER_MACHINE_DEPLOYMENT,
    MACHINE_SET: kinds.FINALIZER_MACHINE_SET,
}


def kind_of(reference: t.Mapping[str, t.Any]) -> tuple[str, str]:
    """Return the (apiGroup, kind) that a contract reference names."""
    return str(reference["apiGroup"]), str(reference["kind"])


def machine_kind_of_template(reference: t.Mapping[str, t.Any]) -> tuple[str, str]:
    """Return the (apiGroup, kind) of the machines that a machine template makes.

    The kind less ``Template``: the InfraMachine contract (docs/reference/cluster_api.md, "Proposals and contract").
    """
    group, kind = kind_of(reference)
    return group, kind[: -len("Template")] if kind.endswith("Template") else kind


@dataclass
class ClusterObjects:
    """Stored objects of one cluster.

    ``control_plane`` may be missing only while a deletion is finishing.

    ``machines`` are those of this control plane: it controls them, or may adopt them. ``others`` carry the labels of
    the cluster's control plane, and something else controls them: they are observed, and nothing is ever written to
    them. ``workers`` are the Machines of its MachineSets. ``infrastructure_machines`` and ``kubeadm_configs`` are those of
    all, and go by their Machine's name, whatever their own is.
    """

    store: Store
    namespace: str
    name: str
    cluster: Object
    control_plane: t.Optional[Object]
    infrastructure_cluster: t.Optional[Object]
    machine_template: t.Optional[Object]
    machines: list[Object] = field(default_factory=list)
    others: list[Object] = field(default_factory=list)
    workers: list[Object] = field(default_factory=list)
    infrastructure_machines: dict[str, Object] = field(default_factory=dict)
    kubeadm_configs: dict[str, Object] = field(default_factory=dict)
    # Why all clusters of the namespace are paused, "" where they are not.
    pause: str = ""

    @classmethod
    def read(cls, store: Store, namespace: str, name: str) -> t.Optional[ClusterObjects]:
        """Read the cluster's objects; None where there is no such Cluster."""
        cluster = store.get(CLUSTER, namespace, name)
        if cluster is None:
            return None
        spec = cluster.get("spec", {})
        control_plane = None
        if spec.get("controlPlaneRef"):
            control_plane = _defaulted(store.get(CONTROL_PLANE, namespace, spec["controlPlaneRef"]["name"]))
        infrastructure = spec.get("infrastructureRef")
        objects = cls(
            store=store,
            namespace=namespace,
            name=name,
            cluster=cluster,
            control_plane=control_plane,
            infrastructure_cluster=store.get(kind_of(infrastructure), namespace, infrastructure["name"])
            if infrastructure
            else None,
            machine_template=None,
            pause=paused_because(store, namespace),
        )
        listed = sorted(
            store.list(MACHINE, namespace, {CLUSTER_LABEL: name}), key=lambda each: str(each["metadata"]["name"])
        )
        found = [each for each in listed if CONTROL_PLANE_LABEL in (each["metadata"].get("labels") or {})]
        for machine in found:
            kinds.record_bootstrap(machine)
        objects.workers = [each for each in listed if each not in found and _is_of_set(each)]
        objects.machines, objects.others = ownership.part(found, lambda each: each, cluster, control_plane)
        objects.kubeadm_configs = _by_name(store.list(KUBEADM_CONFIG, namespace, {CLUSTER_LABEL: name}))
        kinds_of_machines = {kind_of(machine["spec"]["infrastructureRef"]) for machine in found}
        reference = objects.template_reference()
        if reference:
            objects.machine_template = store.get(kind_of(reference), namespace, reference["name"])
            kinds_of_machines.add(machine_kind_of_template(reference))
        workers = managed.workers_of(store, namespace, name, objects.workers, reference, kinds_of_machines)
        kinds_of_machines |= {kind_of(machine["spec"]["infrastructureRef"]) for machine in workers}
        for kind in sorted(kinds_of_machines):
            objects.infrastructure_machines.update(_by_name(store.list(kind, namespace, {CLUSTER_LABEL: name})))
        for machine in [*found, *workers]:
            own, spec = str(machine["metadata"]["name"]), machine["spec"]
            _call_by_machine(objects.kubeadm_configs, own, (spec.get("bootstrap") or {}).get("configRef"))
            _call_by_machine(objects.infrastructure_machines, own, spec["infrastructureRef"])
        return objects

    def template_reference(self) -> Object:
        """Return the control plane's reference to its machine template."""
        if self.control_plane is None:
            return {}
        reference: Object = self.control_plane["spec"]["machineTemplate"]["spec"]["infrastructureRef"]
        return reference

    def endpoint(self) -> t.Optional[Object]:
        """Return the cluster's control plane endpoint ``{host, port}``, None without one."""
        endpoint: t.Optional[Object] = self.cluster.get("spec", {}).get("controlPlaneEndpoint")
        return endpoint if endpoint and endpoint.get("host") else None

    def wanted_endpoint(self) -> t.Optional[Object]:
        """Return the recorded endpoint, else the infrastructure cluster's, else None."""
        wanted = ((self.infrastructure_cluster or {}).get("spec") or {}).get("controlPlaneEndpoint") or {}
        asked = {"port": kubernetes_facts.DEFAULT_BIND_PORT, **wanted} if wanted.get("host") else None
        return self.endpoint() or asked

    @property
    def initialized(self) -> bool:
        """Initialization of the control plane, as recorded once it succeeded.

        On the Cluster or its KubeadmControlPlane.
        """
        statuses = [each.get("status") or {} for each in (self.cluster, self.control_plane) if each]
        return any((each.get("initialization") or {}).get("controlPlaneInitialized") for each in statuses)

    @property
    def title(self) -> str:
        """Name of the cluster in messages: NAMESPACE/NAME.

        Another namespace may have a cluster of the same name.
        """
        return f"{self.namespace}/{self.name}"

    @property
    def going(self) -> bool:
        """Deletion mark of the Cluster or its KubeadmControlPlane."""
        return any(each["metadata"].get("deletionTimestamp") for each in (self.cluster, self.control_plane) if each)

    @property
    def paused(self) -> bool:
        """Pause of the cluster: its field, an annotation, or its namespace's."""
        paused = bool((self.cluster.get("spec") or {}).get("paused") or self.pause)
        return paused or any(
            kinds.is_flagged(each, kinds.ANNOTATION_PAUSED) for each in (self.cluster, self.control_plane)
        )

    @property
    def all_machines(self) -> list[Object]:
        """All control plane Machines of the cluster, whoever controls them, by name.

        They can all be asked, and all their names are taken.
        """
        return sorted([*self.machines, *self.others], key=lambda each: str(each["metadata"]["name"]))

    def unowned_machines(self) -> list[Object]:
        """Return InfraMachines without a Machine that may be this control plane's."""
        return [
            each
            for name, each in sorted(self.infrastructure_machines.items())
            if not self.has_machine(name) and self.may_be_own(each)
        ]

    def controls(self, machine: Object) -> bool:
        """Return whether the cluster's control plane controls a Machine."""
        owner = controller_of(machine)
        name = ownership.control_plane_name(self.cluster, self.control_plane)
        return owner is not None and ownership.is_own(owner, name)

    def may_be_own(self, obj: Object) -> bool:
        """Return whether an object without a Machine may be this control plane's.

        Its labels state so and nothing else controls it.

        Where the Cluster is deleted, everything of its control planes is deleted with it.
        """
        labels = obj["metadata"].get("labels") or {}
        if CONTROL_PLANE_LABEL not in labels:
            return False
        if self.cluster["metadata"].get("deletionTimestamp"):
            return True
        name = ownership.control_plane_name(self.cluster, self.control_plane)
        owner = controller_of(obj)
        if owner is not None and owner.get("kind") == kinds.KUBEADM_CONTROL_PLANE:
            return ownership.is_own(owner, name)
        # Of what Cluster API has made, a Machine is the controller: the label tells by which control plane that was made.
        return bool(labels.get(kinds.LABEL_CONTROL_PLANE_NAME, names.label_value(name)) == names.label_value(name))

    def prepared_machines(self) -> list[Object]:
        """Return the InfraMachines prepared ahead: without a Machine, kubeadm never started.

        The decision does not see them. Missing evidence counts as started: the Machine may have been deleted from the store. Where the whole cluster
        goes, its infrastructure goes with it, started or not.
        """
        return [
            each
            for each in self.unowned_machines()
            if self.going or not self.may_have_started(each["metadata"]["name"])
        ]

    def may_have_started(self, name: str) -> bool:
        """Return whether kubeadm may have been started on a machine.

        True unless something recorded states that it was not.
        """
        config = self.kubeadm_configs.get(name)
        secret = ((config or {}).get("status") or {}).get("initialization", {}).get("dataSecretCreated")
        infrastructure = self.infrastructure_machines.get(name) or {"metadata": {}}
        noted = (infrastructure["metadata"].get("annotations") or {}).get(BOOTSTRAP_STARTED_ANNOTATION)
        if noted == "true" or secret is True:
            return True
        if noted == "false" or secret is False:
            return False
        # Made by a release that noted nothing. Before there was a control plane, the KubeadmConfig tells: it is made later.
        return self.initialized or config is not None

    def machine(self, name: str) -> t.Optional[Object]:
        """Return the Machine or worker of that name, or None."""
        return next((each for each in [*self.machines, *self.workers] if each["metadata"]["name"] == name), None)

    def has_machine(self, name: str) -> bool:
        """Return whether the cluster has a Machine of that name.

        It may be this control plane's or another controller's, or a worker.
        """
        return any(each["metadata"]["name"] == name for each in [*self.all_machines, *self.workers])

    def reach(self, name: str) -> Machine:
        """Return the connection details of a machine."""
        status = self.infrastructure_machines.get(name, {}).get("status", {})
        claim = status.get("claim") or {}
        # One that is being given up may have gone already.
        identity = str(claim.get("id") or "") if claim.get("state") == "Claimed" else ""
        return Machine(name, status.get("machineID"), status.get("connection") or {}, identity)

    def ask_for_secrets(self) -> None:
        """Read the cluster's Secrets ahead, in one request.

        Only for a store where each Secret would be a request of its own.
        """
        self.store.ahead(SECRET, self.namespace, {CLUSTER_LABEL: self.name})

    def ssh_private_key(self) -> t.Optional[bytes]:
        """Return the cluster's SSH private key (secret), None without one."""
        secret = self.store.get(SECRET, self.namespace, f"{self.name}-ssh")
        if secret is None:
            return None
        return base64.b64decode(secret["data"]["ssh-privatekey"])

    def bootstrapped_machines(self) -> list[Object]:
        """Return the machines whose bootstrap succeeded, oldest first.

        They can be asked about the cluster.
        """
        return _with_bootstrap(self.all_machines, "Succeeded")

    def bootstrapped_workers(self) -> list[Object]:
        """Return the workers whose bootstrap succeeded, oldest first."""
        return _with_bootstrap(self.workers, "Succeeded")

    def failed_machines(self) -> list[Object]:
        """Return the machines whose bootstrap failed, oldest first.

        An API server may answer on them all the same.
        """
        return _with_bootstrap(self.all_machines, "Failed")


def _with_bootstrap(machines: t.Sequence[Object], state: str) -> list[Object]:
    found = [each for each in machines if each.get("status", {}).get("bootstrap", {}).get("state") == state]
    return sorted(found, key=lambda each: (each["metadata"].get("creationTimestamp", ""), each["metadata"]["name"]))


def follow_infrastructure(machine: Object, infrastructure: Object) -> None:
    """Copy status and providerID of an InfraMachine to its Machine, in place.

    The Machine stays reachable when the InfraMachine is lost later.
    """
    status = machine.setdefault("status", {})
    if (infrastructure.get("spec") or {}).get("providerID"):
        machine["spec"]["providerID"] = infrastructure["spec"]["providerID"]
    known = infrastructure.get("status") or {}
    follow_provisioned(status, known)
    status.update(followed_status(known))


def followed_status(known: Object) -> Object:
    """Return what a Machine's status keeps of its InfraMachine's.

    An API server refuses a Machine with another failure domain than a short text, and another provider's status may have anything there.
    """
    return {
        key: known[key]
        for key in _FOLLOWED_STATUS
        if known.get(key) and (key != "failureDomain" or is_failure_domain(known[key]))
    }


def is_failure_domain(value: t.Any) -> bool:
    """Return whether a value can be a Machine's failure domain, or none."""
    return isinstance(value, str) and len(value) <= (limits.SHORT.most or 0)


def follow_provisioned(status: Object, infrastructure: Object) -> None:
    """Set infrastructureProvisioned in a status, in place, once and for good.

    That it never becomes false again is Cluster API's contract.
    """
    told = bool((infrastructure.get("initialization") or {}).get("provisioned"))
    before = status.get("initialization") or {}
    once = bool(before.get("infrastructureProvisioned"))
    status["initialization"] = {**before, "infrastructureProvisioned": once or told}


def delete_finally(store: Store, reference: tuple[str, str], namespace: str, name: str) -> bool:
    """Remove an object's finalizers and delete it; return whether it existed."""
    stored = store.get(reference, namespace, name)
    if stored is None:
        return False
    if stored["metadata"].get("finalizers"):

        def release(current: Object) -> None:
            current["metadata"]["finalizers"] = []

        with contextlib.suppress(NotFound):
            store.modify(reference, namespace, name, release)
    # In a Kubernetes API its garbage collector may be faster, once an owner is gone.
    with contextlib.suppress(NotFound):
        if store.get(reference, namespace, name) is not None:
            store.delete(reference, namespace, name)
    return True


def _is_of_set(machine: Object) -> bool:
    """Return whether a MachineSet controls a Machine."""
    return (controller_of(machine) or {}).get("kind") == kinds.MACHINE_SET


def _call_by_machine(objects: dict[str, Object], machine: str, reference: t.Optional[Object]) -> None:
    """Key a Machine's KubeadmConfig or InfraMachine by the Machine's name, in place.

    Cluster API may have given the object another name.
    """
    name = (reference or {}).get("name")
    if name in objects and machine not in objects:
        objects[machine] = objects.pop(name)


def _defaulted(control_plane: t.Optional[Object]) -> t.Optional[Object]:
    """Return a KubeadmControlPlane with defaults set, in place.

    The user may apply it again to an API while a run is active; the defaults make that no change.
    """
    if control_plane is not None:
        defaults.default_control_plane(control_plane)
    return control_plane


def _by_name(objects: t.Iterable[Object]) -> dict[str, Object]:
    return {str(each["metadata"]["name"]): each for each in objects}
