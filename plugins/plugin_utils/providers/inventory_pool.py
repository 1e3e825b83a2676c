# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pool of existing hosts behind an InventoryMachineTemplate.

Its hosts, their failure domains, and which of them are taken.
"""

from __future__ import annotations

import contextlib
import ipaddress
import time
import typing as t
from dataclasses import dataclass, field

from ansible.errors import AnsibleError

from ...module_utils.common import settings
from ..calls import not_reached
from ..calls.machine_connection import ANOTHER_NAME, CLUSTER_OF_THAT_NAME, Answer, Machine, MachineCaller, is_cluster
from ..documents.names import is_label_value
from ..objects import kinds
from ..objects.bootstrap_data import bind_port, image_facts
from ..objects.equivalence import cluster_values
from ..objects.instance_data import machine_data
from ..objects.validate.control_plane import managed_etcd
from ..objects.validate.inventory import variable_problem
from ..records.cluster_objects import ClusterObjects
from ..store.base import Store, StoreError

Object = dict[str, t.Any]
MACHINE = (kinds.GROUP_INFRASTRUCTURE, kinds.INVENTORY_MACHINE)
FORBIDDEN = 403
# The operator's variable with the groups that machine templates may name.
PERMITTED = "machine_inventory_groups"

CLAIMING, CLAIMED, RELEASING, RELEASED = "Claiming", "Claimed", "Releasing", "Released"


class PoolError(Exception):
    """Error of an inventory that doesn't match the machine template.

    ``what`` is wrong, and the remedy (``fix``).
    """

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(f"{what}. Nothing was done. {fix}")
        self.what = what
        self.fix = fix


@dataclass(frozen=True)
class Pool:
    """Hosts of a group that a machine may be made of.

    ``hosts`` are those that the selector takes, by name; ``left_out`` names the others of the group, each with the reason.
    """

    group: str
    hosts: tuple[str, ...]
    domains: t.Mapping[str, str] = field(default_factory=dict)
    left_out: t.Mapping[str, str] = field(default_factory=dict)

    @property
    def failure_domains(self) -> list[str]:
        """Failure domains of the pool's hosts, by name."""
        return sorted({domain for domain in self.domains.values() if domain})

    def in_domain(self, failure_domain: str) -> list[str]:
        """Return the hosts of a failure domain, all without a domain."""
        return [each for each in self.hosts if not failure_domain or self.domains.get(each) == failure_domain]


def read_pool(
    spec: t.Mapping[str, t.Any],
    groups: t.Mapping[str, t.Sequence[str]],
    hostvars: t.Mapping[str, t.Any],
    permitted: t.Sequence[str] = (),
) -> Pool:
    """Return the host pool that an InventoryMachine's or template's spec describes.

    The author of a template may not be the operator: no value of a host's variable is in a message.

    Args:
        spec: ``group``, ``selector``, ``failureDomainVariable``, ``addressVariable``.
        groups: the inventory's groups.
        hostvars: the inventory's variables by host name, templated.
        permitted: the groups that a template may name; any where it is empty.

    Raises:
        PoolError: there is no such group, or it isn't permitted; a variable isn't to be read; a host that the selector takes has no
            proper failure domain or is a cluster as well.
    """
    group = str(spec["group"])
    if permitted and group not in permitted:
        raise PoolError(
            f"the machine template names the inventory group {group}, and {PERMITTED} has only {', '.join(sorted(permitted))}",
            f"Name one of them in spec.template.spec.group, or have the operator add the group to {PERMITTED}.",
        )
    if group not in groups:
        raise PoolError(
            f"the inventory has no group {group}, which the machine template names as the pool of hosts",
            "Give the inventory that has it (several -i may be given), or correct spec.template.spec.group.",
        )
    _require_readable(spec)
    variable = spec.get("failureDomainVariable") or ""
    hosts, domains, left_out = [], {}, {}
    for host in sorted(groups[group]):
        variables = hostvars[host]
        reason = _not_selected(spec.get("selector") or {}, variables)
        if reason:
            left_out[host] = reason
            continue
        if is_cluster(variables):
            raise PoolError(
                f"host {host} of the group {group} can't be a machine, for {CLUSTER_OF_THAT_NAME}", ANOTHER_NAME
            )
        if variable:
            domain = str(variables.get(variable) or "")
            if not domain or not is_label_value(domain):
                found = "another value" if domain else "none"
                raise PoolError(
                    f"host {host} of the group {group} has no failure domain: its variable {variable} must be a label value, and it has {found}",
                    f"Set {variable} for the host, or leave failureDomainVariable out of the machine template.",
                )
            domains[host] = domain
        hosts.append(host)
    return Pool(group, tuple(hosts), domains, left_out)


def _require_readable(spec: t.Mapping[str, t.Any]) -> None:
    """Refuse variables that no template may read.

    An object in an API may not have come from a manifest that was validated.
    """
    named = {each: spec[each] for each in ("failureDomainVariable", "addressVariable") if spec.get(each)}
    named.update(
        {f"selector.matchVariables.{each}": each for each in (spec.get("selector") or {}).get("matchVariables") or {}}
    )
    for path, name in sorted(named.items()):
        problem = variable_problem(name)
        if problem:
            raise PoolError(
                f"spec.template.spec.{path} of the machine template is {name!r}: {problem}", "Name another variable."
            )


def address_of(spec: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> tuple[str, str]:
    """Return a host's address in the cluster and the fault found.

    "" where the host is to choose its address.

    Args:
        spec: as for :func:`read_pool`, which has accepted it.
        variables: the host's, templated.
    """
    name = spec.get("addressVariable")
    if not name:
        return "", ""
    address = str(variables.get(name) or "")
    try:
        return str(ipaddress.ip_address(address)), ""
    except ValueError:
        return "", f"its variable {name} is {'no IP address' if address else 'not set'}"


def endpoint_hosts(
    objects: ClusterObjects, pool: Pool, spec: t.Mapping[str, t.Any], hostvars: t.Mapping[str, t.Any], port: int
) -> list[str]:
    """Return the pool's hosts that the endpoint is an address of.

    By their names in the inventory, ``ansible_host`` and ``addressVariable``: kubeadm init, which goes through the endpoint, ends well on no
    other host. [] where the endpoint is something else, also where it has another port than the API server: a load balancer's on a host.

    Args:
        objects: the cluster's objects.
        pool: the hosts.
        spec: as for :func:`read_pool`, which has accepted it.
        hostvars: the inventory's variables by host name, templated.
        port: the API server's.
    """
    endpoint = objects.wanted_endpoint() or {}
    if endpoint.get("port") != port:
        return []
    names = ["ansible_host", *filter(None, [spec.get("addressVariable")])]
    wanted = _plain(endpoint["host"])
    return [host for host in pool.hosts if wanted in map(_plain, [host, *_values(hostvars[host], names)])]


def _values(variables: t.Mapping[str, t.Any], names: t.Sequence[str]) -> t.Iterator[t.Any]:
    for name in names:
        # One that can't be templated is said where the host is asked.
        with contextlib.suppress(AnsibleError):
            yield variables.get(name)


def _plain(address: t.Any) -> str:
    """Return the usual form of a name or an address."""
    text = str(address or "").rstrip(".").lower()
    with contextlib.suppress(ValueError):
        return str(ipaddress.ip_address(text))
    return text


def instance_data_of(variables: t.Mapping[str, t.Any]) -> dict[str, str]:
    """Return the instance data in a host's variables.

    "" for what they don't have.

    Args:
        variables: the host's, templated.
    """
    return {key: _text(variables.get(name)) for key, name in machine_data.VARIABLES.items()}


def _not_selected(selector: t.Mapping[str, t.Any], variables: t.Mapping[str, t.Any]) -> str:
    for name, wanted in (selector.get("matchVariables") or {}).items():
        found = _text(variables.get(name))
        if found != _text(wanted):
            return f"the selector wants {name}={_text(wanted)}, and it has {'another value' if found else 'none'}"
    return ""


def _text(value: t.Any) -> str:
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def host_of(infrastructure: t.Mapping[str, t.Any]) -> str:
    """Return an InventoryMachine's inventory host, had or about to be claimed.

    "" where it has none.
    """
    status = infrastructure.get("status") or {}
    claim = status.get("claim") or {}
    if claim.get("state") == RELEASED:
        return ""
    return str(claim.get("inventoryHost") or (status.get("connection") or {}).get("inventoryHost") or "")


def is_claimed(infrastructure: t.Mapping[str, t.Any]) -> bool:
    """Return whether the store records the host as claimed.

    Not only that a run was about to claim it.
    """
    status = infrastructure.get("status") or {}
    state = (status.get("claim") or {}).get("state")
    return bool(host_of(infrastructure)) and state != CLAIMING


def _machines_of_everybody(store: Store, besides: t.Mapping[str, t.Any]) -> list[t.Any]:
    try:
        return store.list(MACHINE)
    except StoreError as error:
        if getattr(error, "status", None) != FORBIDDEN:
            raise
        # Whoever has rights in one namespace only learns of the others' hosts from the claim that is on each host itself.
        return store.list(MACHINE, str(besides["metadata"]["namespace"]))


def no_machine(namespace: str) -> Object:
    """Return a placeholder that excludes no machine.

    For the argument ``besides`` of :func:`taken` and :func:`known_machine_ids`.
    """
    return {"metadata": {"uid": None, "namespace": namespace}}


def taken(store: Store, besides: t.Mapping[str, t.Any]) -> dict[str, str]:
    """Return the hosts claimed for other machines, with those machines' names.

    Claimed in this store, for whatever cluster.
    """
    found = {}
    for each in _machines_of_everybody(store, besides):
        if each["metadata"].get("uid") != besides["metadata"].get("uid") and is_claimed(each):
            cluster = (each["metadata"].get("labels") or {}).get(kinds.LABEL_CLUSTER_NAME, "")
            found[host_of(each)] = (
                f"cluster {each['metadata']['namespace']}/{cluster}, machine {each['metadata']['name']}"
            )
    return found


def known_machine_ids(store: Store, besides: t.Mapping[str, t.Any]) -> dict[str, str]:
    """Return the machine-ids of other machines' hosts, with the hosts' names."""
    found = {}
    for each in _machines_of_everybody(store, besides):
        status = each.get("status") or {}
        identity = status.get("machineID") or (status.get("claim") or {}).get("machineID")
        if identity and host_of(each) and each["metadata"].get("uid") != besides["metadata"].get("uid"):
            found[str(identity)] = host_of(each)
    return found


def none_fits(name: str, version: str, pool: Pool, failure_domain: str, reasons: t.Mapping[str, str]) -> str:
    """Return the message of a pool without a fitting host.

    It names every host of the group with what keeps it from being used.
    """
    where = f" in the failure domain {failure_domain}" if failure_domain else ""
    everything = {**pool.left_out, **reasons}
    lines = "".join(f"\n  {host}: {everything[host]}" for host in sorted(everything))
    return (
        f"no host of the inventory group {pool.group}{where} can become machine {name} (Kubernetes {version}):"
        f"{lines or ' the group has no hosts.'}\n"
        "No host was changed. Prepare one of these, add a host to the group, or release one that isn't needed, and run reconcile again."
    )


def question(
    objects: ClusterObjects, spec: t.Mapping[str, t.Any], version: str, configuration: t.Mapping[str, t.Any], kind: str
) -> dict[str, t.Any]:
    """Return the arguments of host_claim that all candidate hosts share.

    Args:
        objects: the cluster's objects.
        spec: the InventoryMachine's spec, or its template's.
        version: the Kubernetes version that the host must have.
        configuration: the KubeadmConfigSpec of the machine.
        kind: what the host is for, ``init``, ``join`` or ``worker``.
    """
    part = configuration.get("initConfiguration" if kind == "init" else "joinConfiguration") or {}
    found: dict[str, t.Any] = {
        "state": "present",
        "cluster": objects.name,
        "namespace": objects.namespace,
        "kubernetes_version": version,
        "endpoint": str((objects.wanted_endpoint() or {}).get("host") or ""),
        "ignore_checks": (spec.get("kubeadm") or {}).get("ignorePreflightErrors") or [],
        # A worker gets no static pod: neither their images nor their ports are asked for.
        "ports": [settings.KUBELET_PORT],
    }
    if kind != "worker":
        external = not managed_etcd(objects.control_plane or {})
        port = bind_port(objects.cluster, configuration, kind)
        found["images"] = {**image_facts(configuration, kind), "externalEtcd": external}
        found["ports"] = [
            port,
            settings.KUBELET_PORT,
            *settings.HEALTH_PORTS.values(),
            *(() if external else settings.ETCD_PORTS),
        ]
    # kubeadm asks no joining worker for what these networks need; prepare learns them by the control plane's machines.
    if kind != "worker" or not objects.initialized:
        written = (configuration.get("clusterConfiguration") or {}).get("networking") or {}
        values = cluster_values(objects.cluster)
        found["cluster_network"] = {
            name: [each for each in (written.get(key) or values["networking", key] or "").split(",") if each]
            for name, key in (("pods", "podSubnet"), ("services", "serviceSubnet"))
        }
        # They can be another's only before there is a control plane; a cluster that runs has its hosts as it is.
        found["cluster_network"]["in_use"] = objects.initialized
    socket = (part.get("nodeRegistration") or {}).get("criSocket")
    return {**found, "cri_socket": socket} if socket else found


def ask(
    call: t.Callable[[dict[str, t.Any]], Answer],
    question: t.Mapping[str, t.Any],
    spec: t.Mapping[str, t.Any],
    variables: t.Mapping[str, t.Any],
) -> Answer:
    """Call host_claim on a host: check whether it fits, or claim it.

    Args:
        call: calls host_claim on the host.
        question: the call's arguments, without what is the host's own.
        spec: the InventoryMachine's spec, or its template's.
        variables: the host's variables in the inventory.
    """
    address, wrong = address_of(spec, variables)
    if wrong:
        fix = "Set it for the host, or correct addressVariable in the machine template."
        return Answer(True, {"failed": True, "missing": [{"check": "Address", "message": wrong, "fix": fix}]})
    # The host compares its clock with the moment at which it is asked: others may have been waited for before it.
    return call({**question, "address": address, "controller_time": time.time()})


@contextlib.contextmanager
def in_check_mode(task: t.Any, check: bool) -> t.Iterator[None]:
    """Set the check mode of a task's calls meanwhile, whatever the run's."""
    before, task.check_mode = task.check_mode, check
    try:
        yield
    finally:
        task.check_mode = before


def call_host(caller: MachineCaller, machine: Machine, module: str, call: dict[str, t.Any]) -> Answer:
    """Call a module on a host; connection errors become its answer.

    Errors that Ansible itself finds, a missing become password say.
    """
    try:
        return caller.call(machine, module, call)
    except AnsibleError as error:
        why = not_reached.why(str(error), machine.connection)
        return Answer(False, {"msg": f"machine {machine.name} was not reached: {why}"})
