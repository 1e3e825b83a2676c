# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Claim of an inventory host for a machine, and its release.

The store is written first, then the host, so that a killed run finds its claim.
"""

from __future__ import annotations

import typing as t
import uuid

from ..module_utils.common import settings
from ..module_utils.common.values import now_rfc3339
from ..module_utils.node.bootstrap.leftovers import OTHER_ETCD
from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.calls.machine_connection import Answer, Machine
from ..plugin_utils.objects import advice, origin
from ..plugin_utils.pki.certificates import ca_cert_hash
from ..plugin_utils.pki.secrets import read_certificates
from ..plugin_utils.providers import inventory_pool
from ..plugin_utils.providers.inventory_pool import (
    CLAIMED,
    CLAIMING,
    MACHINE,
    RELEASED,
    RELEASING,
    Pool,
    PoolError,
    call_host,
)
from ..plugin_utils.records.cluster_objects import CONTROL_PLANE_LABEL, Object

CONSENT = "machine_inventory_consent_wipe"
FORGET = "machine_inventory_consent_forget"
# What a host_claim's result has that refused the claim, and made none.
REFUSED = "machineID"


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.inventory_machine; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "state": {"type": "str", "default": "present", "choices": ["present", "absent"]},
        "name": {"type": "str", "required": True},
        "kubernetes_version": {"type": "str"},
        "failure_domain": {"type": "str", "default": ""},
        "timeout": {"type": "int", "default": settings.MACHINE_SECONDS},
        "consent_wipe": {"type": "list", "elements": "str", "default": []},
        "consent_forget": {"type": "list", "elements": "str", "default": []},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Claim or release the machine's host."""
        objects = self.open_objects(arguments)
        self._arguments = arguments
        self._name: str = arguments["name"]
        infrastructure = objects.store.get(MACHINE, objects.namespace, self._name)
        if infrastructure is None:
            if arguments["state"] == "absent":
                return {"changed": False, "msg": f"the store has no InventoryMachine {self._name}: nothing to release"}
            raise ControlPlaneFailure(
                f"the store has no InventoryMachine {objects.namespace}/{self._name}; no host was claimed. "
                "Check which store is given, or run reconcile, which makes it."
            )
        if self.check_mode:
            return {"changed": True}
        self._objects = objects
        self._caller = self.machine_caller(arguments, objects)
        try:
            return self._absent(infrastructure) if arguments["state"] == "absent" else self._present(infrastructure)
        except PoolError as error:
            raise ControlPlaneFailure(f"machine {self._name}: {error}") from error

    # ---- claim

    def _present(self, infrastructure: Object) -> dict[str, t.Any]:
        if not self._arguments["kubernetes_version"]:
            raise ControlPlaneFailure("state=present needs kubernetes_version; no host was claimed.")
        groups, hostvars = self._task_vars["groups"], self._task_vars["hostvars"]
        pool = inventory_pool.read_pool(infrastructure["spec"], groups, hostvars, self.pool_groups())
        reasons: dict[str, str] = {}
        earlier = inventory_pool.host_of(infrastructure)
        if earlier:
            answer = self._resume(infrastructure, earlier)
            if not answer.failed:
                return self._claimed(earlier, answer)
            reasons[earlier] = self._why(answer)
        failure_domain = self._arguments["failure_domain"]
        held = inventory_pool.taken(self._objects.store, infrastructure)
        leads = self._endpoint_hosts(infrastructure["spec"], pool)
        for host in pool.hosts:
            if host in reasons:
                continue
            if leads and host not in leads:
                reasons[host] = (
                    f"the first machine can only be {' or '.join(leads)}, which the endpoint is an address of"
                )
            elif host not in pool.in_domain(failure_domain):
                reasons[host] = f"it is in the failure domain {pool.domains.get(host)}"
            elif host in held:
                reasons[host] = f"claimed by {held[host]}"
            else:
                answer = self._try(infrastructure, host)
                if not answer.failed:
                    return self._claimed(host, answer)
                reasons[host] = self._why(answer)
        self._record({"claim": {}})
        raise ControlPlaneFailure(self._too_small(pool, reasons))

    def _endpoint_hosts(self, spec: Object, pool: Pool) -> list[str]:
        """Return the hosts that the endpoint leads to.

        Of the first machine alone; [] where it may be made of any.
        """
        config = (self._objects.kubeadm_configs.get(self._name) or {}).get("spec")
        # One that is prepared ahead of its turn has no configuration, and will join.
        if config is None or config.get("joinConfiguration") or self._objects.initialized:
            return []
        port = self._question(spec)["ports"][0]
        return inventory_pool.endpoint_hosts(self._objects, pool, spec, self._task_vars["hostvars"], port)

    def _too_small(self, pool: Pool, reasons: t.Mapping[str, str]) -> str:
        version, failure_domain = self._arguments["kubernetes_version"], self._arguments["failure_domain"]
        return inventory_pool.none_fits(self._name, version, pool, failure_domain, reasons)

    def _resume(self, infrastructure: Object, host: str) -> Answer:
        """Resume with the host that an earlier run chose.

        It is given up only where the host itself says that it has no claim of this machine's.
        """
        self._require_known(
            host,
            f"If the host is lost for good, have another machine made in its place {advice.replace(self._name)}, with -e {FORGET}={host} as well.",
        )
        claim = infrastructure["status"].get("claim") or {}
        waiting = self.waiting(self._objects.name, self._arguments["timeout"])
        while True:
            answer = self._ask(infrastructure, host, claim)
            if answer.reached:
                break
            if not waiting.again(f"machine {self._name}: {answer.message}"):
                raise ControlPlaneFailure(
                    f"machine {self._name} has claimed the inventory host {host}, which was not reached for {waiting.elapsed:.0f} s: "
                    f"{answer.message}. Nothing else was done: whether the host carries the claim is known only there. Make it reachable and run "
                    f"again; or have another machine made in its place {advice.replace(self._name)}."
                )
        if answer.failed and claim.get("state") == CLAIMING:
            self._require_unclaimed(infrastructure, host, claim, answer)
        elif answer.failed:
            raise ControlPlaneFailure(
                f"machine {self._name} is the inventory host {host}, but {answer.message} Nothing was done. "
                "Look whether the name still leads to the same host. If that machine is gone for good, have it replaced "
                f"{advice.replace(self._name)}."
            )
        return answer

    def _try(self, infrastructure: Object, host: str) -> Answer:
        claim = {"inventoryHost": host, "id": str(uuid.uuid4()), "state": CLAIMING, "claimedAt": now_rfc3339()}
        answer = self._ask(infrastructure, host, claim, check=True)
        if answer.failed:
            return answer
        # Before the host is touched: a run killed in between, or one that loses the connection, looks there first.
        self._record({"claim": claim})
        answer = self._ask(infrastructure, host, claim)
        if not answer.reached:
            raise ControlPlaneFailure(
                f"machine {self._name}: the connection to the inventory host {host} was lost while it was claimed ({answer.message}). "
                "Nothing else was done. Run again: it resumes with this host."
            )
        if answer.failed:
            self._require_unclaimed(infrastructure, host, claim, answer)
        return answer

    def _require_unclaimed(
        self, infrastructure: Object, host: str, claim: t.Mapping[str, t.Any], answer: Answer
    ) -> None:
        """Refuse to give up a host that may have the claim.

        It says itself that it has none. Any other failure may be of one that has written it, and no store would know that claim once the next
        host's is recorded.
        """
        if REFUSED in answer.result:
            return
        found = self._ask(infrastructure, host, claim, check=True)
        if REFUSED in found.result or (not found.failed and found.result.get("changed")):
            return
        raise ControlPlaneFailure(
            f"machine {self._name} was about to claim the inventory host {host}, and whether the host carries the claim is not known: "
            f"{self._why(answer)} Nothing else was done. Mend that and run again, which resumes with this host; "
            f"or have another machine made in its place {advice.replace(self._name)}."
        )

    def _ask(self, infrastructure: Object, host: str, claim: t.Mapping[str, t.Any], check: bool = False) -> Answer:
        spec = infrastructure["spec"]
        call = {
            **self._question(spec),
            "id": claim.get("id") or "",
            "cluster_id": origin.uid(self._objects.cluster),
            "machine": self._name,
            "known_machine_ids": inventory_pool.known_machine_ids(self._objects.store, infrastructure),
        }
        if not call["id"]:
            # Adopted: the machine has a host that this provider never claimed.
            call.update(id=str(uuid.uuid4()), ca_cert_hash=self._ca_cert_hash())
        identity = infrastructure["status"].get("machineID") if claim.get("state") in (CLAIMED, None) else None
        variables = self._task_vars["hostvars"][host]
        answer = inventory_pool.ask(lambda asked: self._call(host, identity, asked, check), call, spec, variables)
        if answer.failed or check:
            return answer
        found = answer.result["claim"]
        claimed = {"inventoryHost": host, "id": found["id"], "state": CLAIMED, "machineID": found["machineID"]}
        self._record({"claim": {**claim, **claimed}})
        return answer

    def _question(self, spec: Object) -> dict[str, t.Any]:
        """Return the question to a host, from the machine's own configuration.

        That may be older than the control plane's.
        """
        control_plane: Object = self._objects.control_plane or {}
        wanted: Object = control_plane.get("spec", {}).get("kubeadmConfigSpec") or {}
        stored: Object = (self._objects.kubeadm_configs.get(self._name) or {}).get("spec") or wanted
        kind = "join" if stored.get("joinConfiguration") else "init"
        labels = (self._objects.infrastructure_machines.get(self._name) or {}).get("metadata", {}).get("labels")
        if labels is not None and CONTROL_PLANE_LABEL not in labels:
            kind = "worker"
        return inventory_pool.question(self._objects, spec, self._arguments["kubernetes_version"], stored, kind)

    def _claimed(self, host: str, answer: Answer) -> dict[str, t.Any]:
        claim = answer.result["claim"]
        if answer.result.get("changed"):
            self.note(f"claim the host {host} for machine {self._name}")
        return {
            "changed": bool(answer.result.get("changed")),
            "machine": {
                "inventory_host": host,
                "provider_id": f"inventory:///{host}/{self._name}",
                "address": answer.result["address"],
                "hostname": answer.result["hostname"],
                "machine_id": claim["machineID"],
                "instance_data": inventory_pool.instance_data_of(self._task_vars["hostvars"][host]),
            },
        }

    @staticmethod
    def _why(answer: Answer) -> str:
        missing = answer.result.get("missing")
        if missing:
            found = "; ".join(f"{each['message']} ({each['check']})" for each in missing)
            return " ".join([f"{found}.", *dict.fromkeys(str(each["fix"]) for each in missing)])
        return answer.message

    # ---- release

    def _absent(self, infrastructure: Object) -> dict[str, t.Any]:
        host = inventory_pool.host_of(infrastructure)
        if not host:
            return {"changed": False, "msg": f"machine {self._name} has no host"}
        status = infrastructure["status"]
        claim = dict(status.get("claim") or {})
        wipes = claim.pop("wipes", None)
        forget, consent = host in self._arguments["consent_forget"], host in self._arguments["consent_wipe"]
        if forget:
            return self._forgotten(host, claim)
        self._require_known(host, f"To delete the machine and give a lost host up unwiped: -e {FORGET}={host}.")
        # Before the host was asked, it is not known whether it carries the claim: another cluster's then is no contradiction.
        begun = claim.get("state") in (RELEASING, CLAIMING)
        if not begun:
            # A consent is for what is there now: by the next call the host may be another cluster's.
            wipes = self._claim_on(host) if consent else None
        bound = {} if wipes is None else {"wipes": wipes}
        self.check_lock(self._arguments)
        self._record({"claim": {**claim, "inventoryHost": host, "state": RELEASING, **bound}})
        call: dict[str, t.Any] = {
            "state": "absent",
            "id": claim.get("id") or "",
            "cluster_id": origin.uid(self._objects.cluster),
            "machine": self._name,
            "ca_cert_hash": self._ca_cert_hash(),
            "released_before": begun,
            "whole_cluster": self._objects.going,
            "consent_wipe": consent,
            **({} if wipes is None else {"consent_claim": wipes}),
        }
        answer = self._reached(host, None if consent else status.get("machineID"), "host_claim", call)
        if answer.failed:
            # Where a call was begun whose answer never came, the host may be another cluster's by now, as the next run has to know.
            if not call["released_before"]:
                self._record({"claim": {**claim, "inventoryHost": host, "state": claim.get("state") or CLAIMED}})
            # The host says itself where no consent helps.
            helpless = consent or answer.result.get("reason") == OTHER_ETCD
            wipe = "" if helpless else f"If what the host carries may be lost, run again with -e {CONSENT}={host}. "
            raise ControlPlaneFailure(
                f"machine {self._name} was not deleted: its inventory host {host} was not released. {answer.message} "
                f"{wipe}If the host is to be left as it is, -e {FORGET}={host} gives it up unwiped."
            )
        self._released(host, claim)
        return {
            "changed": bool(answer.result.get("changed")),
            "msg": f"host {host}: {answer.result.get('message', '')}",
        }

    def _claim_on(self, host: str) -> str:
        """Return the id of the claim that is on the host.

        "" where there is none, or none that can be read.
        """
        answer = self._reached(host, None, "host_claim_info", {})
        if answer.failed and "machineID" not in answer.result:
            raise ControlPlaneFailure(
                f"machine {self._name} was not deleted: what its inventory host {host} carries could not be read. {answer.message} Nothing was changed."
            )
        return str((answer.result.get("claim") or {}).get("id") or "")

    def _reached(self, host: str, identity: t.Optional[str], module: str, call: dict[str, t.Any]) -> Answer:
        """Return the host's answer, and wait for it.

        A release's ``call`` says afterwards whether an earlier one may have released the host.
        """
        waiting = self.waiting(self._objects.name, self._arguments["timeout"])
        while True:
            answer = self._call(host, identity, call, module=module)
            if answer.reached:
                return answer
            if "released_before" in call:
                call["released_before"] = True
            if not waiting.again(f"machine {self._name}: {answer.message}"):
                raise ControlPlaneFailure(
                    f"machine {self._name} was not deleted: its inventory host {host} was not reached for {waiting.elapsed:.0f} s, so that what "
                    f"kubeadm made there can't be wiped ({answer.message}). Every other machine was left as it was. Make the host reachable and run "
                    f"again; or, if it is lost or will never come back, give it up unwiped with -e {FORGET}={host}: its claim stays on its disk, "
                    "so that no cluster takes it before it was wiped."
                )

    def _forgotten(self, host: str, claim: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        self._released(host, claim)
        return {
            "changed": True,
            "msg": f"host {host} was given up unwiped; before it serves again, wipe it: kubeadm.control_plane.host_claim "
            f"with state=absent, machine={self._name} and id={claim.get('id', '')}",
        }

    def _released(self, host: str, claim: t.Mapping[str, t.Any]) -> None:
        self.note(f"release the host {host} of machine {self._name}")
        # Nobody may take the next machine on this host for this one.
        claim = {**claim, "inventoryHost": host, "state": RELEASED}
        connection = {"inventoryHost": host, "released": True}
        self._record({"claim": claim, "connection": connection, "state": "missing"})

    def _ca_cert_hash(self) -> str:
        certificate = (read_certificates(self._objects.store, self._objects.cluster).get("ca") or {}).get("crt")
        return ca_cert_hash(str(certificate)) if certificate else ""

    # ---- both

    def _require_known(self, host: str, lost: str) -> None:
        if host not in self._task_vars["hostvars"]:
            raise ControlPlaneFailure(
                f"machine {self._name} is the inventory host {host}, which this run's inventory does not have. Nothing was done: its connection "
                "settings are known only there. Add the host to the inventory (an AWX job slice or a partial inventory can hide it) and run again. "
                f"{lost}"
            )

    def _call(
        self,
        host: str,
        identity: t.Optional[str],
        call: dict[str, t.Any],
        check: bool = False,
        module: str = "host_claim",
    ) -> Answer:
        machine = Machine(f"{self._name} (host {host})", identity, {"inventoryHost": host})
        with inventory_pool.in_check_mode(self._task, check):
            return call_host(self._caller, machine, module, call)

    def _record(self, status: dict[str, t.Any]) -> None:
        def record(stored: Object) -> None:
            stored["status"] = {**stored.get("status", {}), **status}

        self._objects.store.modify(MACHINE, self._objects.namespace, self._name, record)
