# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Preflight check of the existing hosts for new machines (docs/machine_inventory.md).

The hosts are asked beforehand what each of them lacks.

Only existing hosts can be asked: a machine that a provider makes has what the provider gives it.
"""

from __future__ import annotations

import functools
import typing as t
from dataclasses import dataclass, field

from ...module_utils.common.guard import SAME_MACHINE_ID, SAME_MACHINE_ID_FIX
from ..calls.machine_connection import Answer, Machine
from ..decision import terms
from ..decision.creation.existing_hosts import ENDPOINT_HOST_UNFIT, HOST_POOL_INVALID, hosts_needed
from ..decision.outcome import Context
from ..decision.snapshot.typed_snapshot import read_snapshot
from ..objects import kinds
from ..observe import external_etcd_preflight
from ..records.cluster_objects import ClusterObjects, Object
from . import inventory_pool
from .inventory_pool import Pool, PoolError

# No machine's claim: what is asked is never made.
NO_CLAIM = "none"
# What is no check of host_claim.
REACHABLE, ANSWERS, SELECTOR, CLAIM, MACHINE_ID = "Reachable", "Answers", "Selector", "Claim", "MachineID"
# What a host of this cluster loses when it is given back.
_OF_ITS_CLUSTER = (CLAIM, "ForeignCluster", "Port-")


class Asks(t.Protocol):
    """Calls of modules on hosts in check mode, changing nothing."""

    def one(self, machine: Machine, module: str, call: dict[str, t.Any]) -> Answer:
        """Call a module on a host."""

    def each(self, calls: t.Sequence[t.Callable[[], Answer]]) -> list[Answer]:
        """Make calls of different hosts at once, each by ``one``."""


@dataclass
class Survey:
    """Survey of hosts: those to be asked, and their answers.

    ``domains`` are the failure domains ("" for any) of the machines for which a host is still to be found; ``every``: also hosts that
    are not needed are asked.
    """

    asks: Asks
    question: t.Mapping[str, t.Any]
    spec: Object
    pool: Pool
    hostvars: t.Mapping[str, t.Any]
    known: dict[str, str]
    domains: list[str]
    every: bool = False
    found: list[Object] = field(default_factory=list)

    def free(self, hosts: t.Sequence[str]) -> None:
        """Ask free hosts in their order, until enough were found."""
        answers: dict[str, Answer] = {}
        while True:
            domains, known = list(self.domains), dict(self.known)
            needed: dict[str, list[Object]] = {}
            for host in hosts:
                domain = self.pool.domains.get(host, "")
                fitting = next((each for each in domains if each in ("", domain)), None)
                if fitting is None and not self.every:
                    continue
                # A host that was not asked counts as one that fits, so that no more are asked than one after another.
                needed[host] = self._missing(answers[host], known, host) if host in answers else []
                if not needed[host] and fitting is not None:
                    domains.remove(fitting)
            unasked = [host for host in needed if host not in answers]
            if not unasked:
                break
            answers.update(self._asked(unasked))
        for host, missing in needed.items():
            self.note(host, missing)
        self.domains, self.known = domains, known

    def used(self, hosts: t.Mapping[str, str]) -> None:
        """Ask hosts of machines, by name, what they will lack once released.

        Of machines of this cluster; released: given back.
        """
        answers = self._asked(list(hosts))
        for host, machine in hosts.items():
            missing = self._missing(answers[host], self.known, host)
            self.note(host, [each for each in missing if not each["check"].startswith(_OF_ITS_CLUSTER)], machine)

    def note(self, host: str, missing: list[Object], machine: str = "") -> None:
        """Record what a host lacks."""
        domain = self.pool.domains.get(host, "")
        self.found.append({"name": host, "failureDomain": domain, "machine": machine, "missing": missing})

    def first_fit(self) -> str:
        """Return the first host that lacks nothing, "" without one."""
        return next((each["name"] for each in self.found if not each["missing"] and not each["machine"]), "")

    def _asked(self, hosts: t.Sequence[str]) -> dict[str, Answer]:
        def ask(host: str) -> Answer:
            known = _without(self.known, host)
            call = {**self.question, "id": NO_CLAIM, "machine": NO_CLAIM, "known_machine_ids": known}
            one = functools.partial(self.asks.one, _machine(host), "host_claim")
            return inventory_pool.ask(one, call, self.spec, self.hostvars[host])

        answers = self.asks.each([functools.partial(ask, host) for host in hosts])
        return dict(zip(hosts, answers))

    @staticmethod
    def _missing(answer: Answer, known: dict[str, str], host: str) -> list[Object]:
        """Return what a host lacks by its answer.

        One that lacks nothing is added to ``known``, by its machine-id.
        """
        found = _missing(answer)
        claim = answer.result.get("claim")
        identity = str((claim if isinstance(claim, dict) else answer.result).get("machineID") or "")
        other = known.get(identity, host)
        if other != host and not any(each["check"] == MACHINE_ID for each in found):
            # It was asked at the same time as the other.
            text = SAME_MACHINE_ID.format(other=other)
            found.append({"check": MACHINE_ID, "message": text, "fix": SAME_MACHINE_ID_FIX})
        if not found and identity:
            known[identity] = host
        return found


def _missing(answer: Answer) -> list[Object]:
    if not answer.failed:
        return []
    missing = answer.result.get("missing")
    if isinstance(missing, list) and missing:
        return [{key: str(each.get(key) or "") for key in ("check", "message", "fix")} for each in missing]
    if answer.reached:
        fix = "Mend what the message names, or take the host out of the group."
        return [{"check": ANSWERS, "message": answer.message, "fix": fix}]
    fix = "Make it answer (ansible HOST -m ping with the inventory's variables), or take it out of the group."
    return [{"check": REACHABLE, "message": answer.message, "fix": fix}]


def survey(
    objects: ClusterObjects,
    asks: Asks,
    snapshot: Object,
    ahead: t.Sequence[Object],
    groups: t.Mapping[str, t.Sequence[str]],
    hostvars: t.Mapping[str, t.Any],
    permitted: t.Sequence[str] = (),
    whole: bool = False,
    every: bool = False,
) -> Object:
    """Return a snapshot's ``pool``, ``hosts`` and ``obstacles`` of existing hosts.

    {} where machines are not made of existing hosts.

    Hosts are asked in their order until as many as are needed lack nothing, those that are needed beside each other.

    Args:
        objects: the cluster's objects.
        asks: asks hosts.
        snapshot: what was observed.
        ahead: the plan's steps that make a machine for which there is no host yet (decision/plan/steps.py).
        groups: the inventory's groups.
        hostvars: the inventory's variables by host name, templated.
        permitted: the groups that the operator lets machine templates name, all where it is empty.
        whole: for every step of the plan, not only for those that come before a host is given back.
        every: whether all hosts are asked.
    """
    spec = ((objects.machine_template or {}).get("spec") or {}).get("template", {}).get("spec") or {}
    if (objects.machine_template or {}).get("kind") != kinds.INVENTORY_MACHINE_TEMPLATE or not spec.get("group"):
        return {}
    try:
        pool = inventory_pool.read_pool(spec, groups, hostvars, permitted)
    except PoolError as error:
        return {"obstacles": [{"reason": HOST_POOL_INVALID, "message": error.what, "fix": error.fix}]}
    found: Object = {"pool": {"group": pool.group, "failureDomains": pool.failure_domains}}
    besides = inventory_pool.no_machine(objects.namespace)
    version = str(((objects.control_plane or {}).get("spec") or {}).get("version") or "")
    configuration = ((objects.control_plane or {}).get("spec") or {}).get("kubeadmConfigSpec") or {}
    kind = "join" if objects.initialized else "init"
    run = Survey(
        asks,
        inventory_pool.question(objects, spec, version, configuration, kind),
        spec,
        pool,
        hostvars,
        inventory_pool.known_machine_ids(objects.store, besides),
        _domains({**snapshot, **found}, ahead, whole),
        every,
    )
    own = _hosts_of_machines(objects)
    removed = {name for each in (ahead if whole else ahead[:1]) for name in each["after"]}
    held = inventory_pool.taken(objects.store, besides)
    first = ahead[0] if ahead and ahead[0]["action"] == terms.INITIALIZE else None
    port = run.question["ports"][0]
    leads = inventory_pool.endpoint_hosts(objects, pool, spec, hostvars, port) if first else []
    ordered = sorted(pool.hosts, key=lambda each: each not in leads)
    run.free([host for host in ordered if host not in held and host not in own])
    if run.domains or every:
        given_back = {
            host: name for host, name in sorted(own.items()) if host in pool.hosts and (every or name in removed)
        }
        run.used(given_back)
        note_others(run, pool, {host: who for host, who in held.items() if host not in own})
    found["hosts"] = run.found
    others = {host: who for host, who in held.items() if not first or own.get(host) not in first["after"]}
    domain = next(iter(_needed({**snapshot, **found}, first)), "") if first else ""
    problems = [
        _endpoint_host(objects, run, leads, domain, others) if leads else None,
        _external_etcd(objects, run) if not objects.initialized else None,
    ]
    obstacles = [each for each in problems if each]
    return {**found, "obstacles": obstacles} if obstacles else found


def _domains(snapshot: Object, ahead: t.Sequence[Object], whole: bool) -> list[str]:
    if whole:
        return sorted((str((each["target"] or {}).get("failureDomain") or "") for each in ahead), reverse=True)
    return sorted(_needed(snapshot, ahead[0] if ahead else {}), reverse=True)


def _needed(snapshot: Object, first: Object) -> list[str]:
    """Return the failure domains that need a free host now.

    That of the next machine is the first.
    """
    domain = str((first.get("target") or {}).get("failureDomain") or "")
    return hosts_needed(Context(read_snapshot(snapshot)), [domain])


def _machine(host: str) -> Machine:
    return Machine(f"on the host {host}", None, {"inventoryHost": host})


def _without(known: t.Mapping[str, str], host: str) -> dict[str, str]:
    return {identity: name for identity, name in known.items() if name != host}


def _hosts_of_machines(objects: ClusterObjects) -> dict[str, str]:
    machines = {str(each["metadata"]["name"]) for each in objects.machines}
    found = {
        inventory_pool.host_of(each): name for name, each in objects.infrastructure_machines.items() if name in machines
    }
    return {host: name for host, name in found.items() if host}


def note_others(run: Survey, pool: Pool, held: t.Mapping[str, str]) -> None:
    """Record the hosts that can't become a machine of this cluster.

    So that the user sees, where hosts are missing, why these are no help.
    """
    for host in pool.hosts:
        if host in held:
            fix = "Take another host, or delete that machine in its own cluster."
            run.note(host, [{"check": CLAIM, "message": f"claimed by {held[host]}", "fix": fix}])
    for host, reason in sorted(pool.left_out.items()):
        fix = "Correct the host's variable, or selector.matchVariables in the machine template."
        run.note(host, [{"check": SELECTOR, "message": reason, "fix": fix}])


def _endpoint_host(
    objects: ClusterObjects, run: Survey, leads: t.Sequence[str], domain: str, held: t.Mapping[str, str]
) -> t.Optional[Object]:
    """Return what keeps the first machine from the endpoint's hosts.

    It goes to the failure domain `domain`. None where one of them fits.
    """
    reasons = []
    for host in leads:
        lacking = [lack for each in run.found if each["name"] == host for lack in each["missing"]]
        if host in held:
            reasons.append(f"{host} is claimed by {held[host]}")
        elif host not in run.pool.in_domain(domain):
            reasons.append(f"{host} is in the failure domain {run.pool.domains.get(host)}, and it goes to {domain}")
        elif lacking:
            reasons.append(f"{host}: {'; '.join(each['message'] for each in lacking)}")
        else:
            return None
    endpoint = objects.wanted_endpoint() or {}
    return {
        "reason": ENDPOINT_HOST_UNFIT,
        "message": f"the control plane endpoint {endpoint['host']} is an address of {' and '.join(leads)}, and kubeadm init, which goes through it, "
        f"can end well nowhere else; the first machine can't be made there: {'; '.join(reasons)}",
        "fix": "Make that host fit (check_hosts says how), let the template's group or selector have it alone where it is in another failure domain, or "
        "write the address of a load balancer, or a virtual address, to spec.controlPlaneEndpoint of the InventoryCluster.",
    }


def _external_etcd(objects: ClusterObjects, run: Survey) -> t.Optional[Object]:
    """Return what keeps the first machine from an external etcd, else None.

    As a host that fits sees it; None, too, where no host fits.
    """
    host = run.first_fit()
    if not host:
        return None

    def ask(module: str, call: dict[str, t.Any]) -> Answer:
        return run.asks.one(_machine(host), module, call)

    return external_etcd_preflight.obstacle(objects, ask, f"host {host}")
