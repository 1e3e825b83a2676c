# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Endpoint of a cluster on the hosts of its machines."""

from __future__ import annotations

import ipaddress
import typing as t
from dataclasses import replace

from ..module_utils.common import kubernetes_facts
from ..module_utils.common.guard import GIVEN_BACK
from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.calls.machine_connection import Answer, Machine, MachineCaller
from ..plugin_utils.objects.bootstrap_data import bind_port
from ..plugin_utils.providers import inventory_pool
from ..plugin_utils.providers.inventory_pool import PoolError
from ..plugin_utils.records.cluster_objects import ClusterObjects, Object

# A variable of a host, by what holds the address.
INTERFACES = {"keepalived": "endpoint_keepalived_interface", "kube-vip": "endpoint_kube_vip_interface"}
SERVER = {"name": {"type": "str", "required": True}, "address": {"type": "str", "required": True}}


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.inventory_endpoint; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "servers": {"type": "list", "elements": "dict", "options": SERVER, "required": True},
        "router_id": {"type": "int", "default": 0},
        "kube_vip_image": {"type": "str", "default": ""},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Bring the servers' hosts behind the address.

        Hosts of other machines leave it.
        """
        objects = self.open_objects(arguments)
        caller = self.machine_caller(arguments, objects)
        holder = "kube-vip" if arguments["kube_vip_image"] else "keepalived"
        version = str((objects.control_plane or {}).get("spec", {}).get("version") or "")
        call = _address(objects, holder)
        if holder == "kube-vip":
            _require_joins(objects.title, version)
            call["kube_vip_image"] = arguments["kube_vip_image"]
        else:
            call["router_id"] = arguments["router_id"]
        # A worker's host was never behind it, and must not be waited for.
        workers = {str(each["metadata"]["name"]) for each in objects.workers}
        found = objects.infrastructure_machines.items()
        hosts = {name: inventory_pool.host_of(each) for name, each in found if name not in workers}
        servers = [each for each in arguments["servers"] if hosts.get(each["name"])]
        if not any(hosts.values()):
            self._require_unused(objects, caller, call, INTERFACES[holder])
            return {"changed": False, "unused": True}
        port = _api_port(objects)
        call["servers"] = [{**each, "port": port} for each in servers]
        # The first machine: whoever has the address by now is another cluster, perhaps.
        call["alone"] = len(servers) == 1 and not objects.initialized
        if holder == "kube-vip" and call["alone"]:
            call["super_admin"] = kubernetes_facts.has_super_admin(version)
        answers = {}
        for each in servers:
            wanted = {**call, "interface": self._interface(hosts[each["name"]], INTERFACES[holder])}
            answers[each["name"]] = inventory_pool.call_host(
                caller, objects.reach(each["name"]), "host_endpoint", wanted
            )
        named = {each["name"] for each in servers}
        # Afterwards: its address goes to a host that leads to the others.
        for name in sorted(set(filter(hosts.get, hosts)) - named):
            if objects.reach(name).connection:
                # Whatever became of its release: the host may be another cluster's by now, behind an endpoint of that one's.
                claim = (objects.infrastructure_machines[name].get("status") or {}).get("claim") or {}
                machine = replace(objects.reach(name), claim=str(claim.get("id") or ""))
                answer = inventory_pool.call_host(caller, machine, "host_endpoint", {"state": "absent"})
                if answer.result.get("reason") != GIVEN_BACK:
                    answers[name] = answer
        return result(objects.title, answers, hosts, named)

    def _require_unused(self, objects: ClusterObjects, caller: MachineCaller, call: Object, variable: str) -> None:
        """Refuse an address that no host can have, or that is taken."""
        spec = ((objects.machine_template or {}).get("spec") or {}).get("template", {}).get("spec") or {}
        try:
            pool = inventory_pool.read_pool(
                spec, self._task_vars["groups"], self._task_vars["hostvars"], self.pool_groups()
            )
        except PoolError as error:
            raise ControlPlaneFailure(f"cluster {objects.title}: {error}") from error
        held = inventory_pool.taken(objects.store, inventory_pool.no_machine(objects.namespace))
        asked, wrong = False, []
        for host in (each for each in pool.hosts if each not in held):
            # All are of one network: it is asked once, which takes seconds.
            wanted = {**call, "interface": self._interface(host, variable), "alone": not asked}
            machine = Machine(f"on the host {host}", None, {"inventoryHost": host})
            with inventory_pool.in_check_mode(self._task, True):
                answer = inventory_pool.call_host(caller, machine, "host_endpoint", wanted)
            asked |= answer.reached and not answer.failed
            if answer.reached and answer.failed:
                wrong.append(f"{host}: {answer.message}")
        if wrong or not asked:
            told = (
                "; ".join(wrong)
                or f"no free host of the inventory group {pool.group} answers, so that it is unknown who has it"
            )
            raise ControlPlaneFailure(
                f"cluster {objects.title}: the control plane endpoint {call['address']} can't be made on existing hosts: {told} "
                "Mend that, and run reconcile again."
            )

    def _interface(self, host: str, variable: str) -> str:
        variables = self._task_vars["hostvars"]
        return str(variables[host].get(variable) or "") if host in variables else ""


def _require_joins(cluster: str, version: str) -> None:
    if version and not kubernetes_facts.joins_beside_static_pods(version):
        raise ControlPlaneFailure(
            f"cluster {cluster}: kube-vip is a static pod, and kubeadm join of {version} takes none beside its own; it does from "
            f"1.{kubernetes_facts.JOINS_BESIDE_STATIC_PODS_SINCE} on. Nothing was done. Name the role endpoint_keepalived in machine_inventory_endpoint_role."
        )


def _address(objects: ClusterObjects, holder: str) -> Object:
    """Return the virtual address and its port. Raises ControlPlaneFailure."""
    endpoint = objects.wanted_endpoint() or {}
    where = "spec.controlPlaneEndpoint of the infrastructure cluster"
    try:
        address = str(ipaddress.ip_address(str(endpoint.get("host") or "")))
    except ValueError as error:
        raise ControlPlaneFailure(
            f"cluster {objects.title}: {where} has {endpoint.get('host') or 'no address'}, and {holder} takes an IP address. Nothing was done. "
            "Write a free address of the hosts' network there."
        ) from error
    port = _api_port(objects)
    if holder == "kube-vip" and endpoint["port"] != port:
        raise ControlPlaneFailure(
            f"cluster {objects.title}: {where} has the port {endpoint['port']}, and the host that holds kube-vip's address answers on its API server's. "
            f"Nothing was done. Give the endpoint the port {port}."
        )
    if holder == "keepalived" and endpoint["port"] == port:
        raise ControlPlaneFailure(
            f"cluster {objects.title}: {where} has the port {endpoint['port']}, on which the API servers listen on the same hosts. Nothing was done. "
            "Give the endpoint another port, such as 8443."
        )
    return {"address": address, "port": endpoint["port"]}


def _api_port(objects: ClusterObjects) -> int:
    configuration = (objects.control_plane or {}).get("spec", {}).get("kubeadmConfigSpec") or {}
    ports = {bind_port(objects.cluster, configuration, kind) for kind in ("init", "join")}
    if len(ports) > 1:
        raise ControlPlaneFailure(
            f"cluster {objects.title}: localAPIEndpoint.bindPort of initConfiguration and of joinConfiguration.controlPlane differ, and haproxy has "
            "one port for all API servers. Nothing was done. Write the same one to both."
        )
    return ports.pop()


def _elsewhere(answers: t.Mapping[str, Answer], servers: t.Collection[str]) -> bool:
    """Return whether the address is on none of the servers' hosts.

    Not where one of them said nothing, or a host has just left that may have had it.
    """
    stay = [answer for name, answer in answers.items() if name in servers]
    left = any(answer.result.get("changed") for name, answer in answers.items() if name not in servers)
    known = bool(stay) and not left and not any(answer.failed for answer in stay)
    return known and not any(answer.result.get("holds") for answer in stay)


def result(
    cluster: str, answers: t.Mapping[str, Answer], hosts: t.Mapping[str, str], servers: t.Collection[str]
) -> dict[str, t.Any]:
    """Return the result of what hosts answered, by their machines' names.

    Args:
        cluster: the cluster's name, for messages.
        answers: of host_endpoint.
        hosts: the hosts' own names.
        servers: the machines behind the endpoint; the others leave it.

    Raises:
        ControlPlaneFailure: a server's host is not as it should be, the address is on one that doesn't leave, or the run lost its lock.
    """
    told = {name: f"{name} (host {hosts[name]}): {answer.message}" for name, answer in answers.items()}
    wrong = [
        told[name]
        for name, answer in answers.items()
        if answer.reached and answer.failed and (name in servers or "fenced" in answer.result)
    ]
    if wrong:
        raise ControlPlaneFailure(
            f"cluster {cluster}: its endpoint is not as it should be. {'; '.join(wrong)} Mend that, and run reconcile again. "
            "Hosts that are not named are in order."
        )
    silent = [told[name] for name, answer in answers.items() if answer.failed and name not in servers]
    if silent and _elsewhere(answers, servers):
        raise ControlPlaneFailure(
            f"cluster {cluster}: the endpoint's address is on none of the hosts that stay, so that it may be on one that did not leave: "
            f"{'; '.join(silent)} Nothing was removed: once its API server ends, the cluster could not be reached. Stop keepalived or kube-vip there, or "
            "power the host off, and run reconcile again."
        )
    # A dead machine must keep nobody from replacing it, nor a broken one from leaving; it has its part again, or none, with the next change.
    warnings = [f"the endpoint was left as it is on {told[name]}" for name, answer in answers.items() if answer.failed]
    holders = sorted(f"{name} (host {hosts[name]})" for name, answer in answers.items() if answer.result.get("holds"))
    if len(holders) > 1:
        warnings.append(
            f"the address of the endpoint is held by several hosts at once: {', '.join(holders)}. keepalived: they don't hear one another, so let IP "
            "protocol 112 (VRRP) through among them. kube-vip: on one of them it was killed, so have it run again, or remove the address there"
        )
    changed = any(answer.result.get("changed") for answer in answers.values())
    return {"changed": changed, "unused": False, **({"warnings": warnings} if warnings else {})}
