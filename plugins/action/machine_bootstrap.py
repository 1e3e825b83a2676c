# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bootstrap of a booted machine: kubeadm init or join through node_bootstrap."""

from __future__ import annotations

import contextlib
import copy
import functools
import typing as t

from ..module_utils.common import settings
from ..module_utils.common.redact import redact
from ..module_utils.common.values import format_time, now_rfc3339, parse_time
from ..module_utils.common.violations import ManifestError
from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction, Waiting
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.calls.machine_connection import Answer, MachineCaller
from ..plugin_utils.move import export
from ..plugin_utils.objects import advice, etcd_member
from ..plugin_utils.objects.bootstrap_data import init_data, join_data, worker_data
from ..plugin_utils.objects.instance_data import machine_data
from ..plugin_utils.objects.instance_data.machine_configuration import machine_configuration
from ..plugin_utils.objects.instance_data.node_names import expected_node_name
from ..plugin_utils.observe import external_etcd_preflight
from ..plugin_utils.pki.certificates import ca_cert_hash
from ..plugin_utils.pki.secrets import read_certificates
from ..plugin_utils.providers.contract import first_address
from ..plugin_utils.reconcile import join_tokens
from ..plugin_utils.reconcile.learner_join import LearnerJoin
from ..plugin_utils.records import machine_objects
from ..plugin_utils.records.cluster_objects import CONTROL_PLANE_LABEL, MACHINE, ClusterObjects, Object
from ..plugin_utils.records.secret_values import secret_value
from ..plugin_utils.report.facts import PhaseFacts


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.machine_bootstrap; see its documentation."""

    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "name": {"type": "str", "required": True},
        "fencing": {"type": "int", "required": True},
        "learner": {"type": "bool", "default": False},
        "wait": {"type": "bool", "default": True},
        "timeout": {"type": "int", "default": settings.BOOTSTRAP_SECONDS},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Start or find the bootstrap, and wait for its end.

        An earlier run may have started it.
        """
        objects = self.open_objects(arguments)
        self._name: str = arguments["name"]
        machine = objects.machine(self._name)
        if machine is None:
            raise ControlPlaneFailure(
                f"the store has no Machine {objects.namespace}/{self._name}; nothing was started. "
                "Check which store is given, or run reconcile, which makes it."
            )
        if self.check_mode:
            return {"changed": machine.get("status", {}).get("bootstrap", {}).get("state") != "Succeeded"}
        known = machine.get("status", {}).get("bootstrap", {})
        self._ends_at = str(known.get("endsAt") or "")
        caller = self.machine_caller(arguments, objects)
        learner = self._learner(arguments, objects, caller, str(known.get("learnerPeerURL") or ""))
        self._call: dict[str, t.Any] = {"step": f"bootstrap-{self._name}", "fencing": arguments["fencing"]}
        answer = self._reach(objects, caller, arguments, dict(self._call, wait=0))
        if answer.result["state"] == "Absent":
            if known.get("state") == "Running":
                # A run was killed between noting the start and starting. What was checked then may not hold any more:
                # the next pass decides anew whether the machine may be started, with etcd as it was before that start.
                if learner is not None:
                    learner.take_back()
                self._record(objects, "", "")
                return {"changed": False, "state": "Absent"}
            self.check_lock(arguments)
            config = objects.kubeadm_configs.get(self._name) or {}
            if not _is_worker(machine):
                external_etcd_preflight.require(
                    objects, caller, self._name, "joinConfiguration" not in (config.get("spec") or {})
                )
            limit = max(settings.BOOTSTRAP_BOUND, 2 * arguments["timeout"])
            data, joins = self._data(objects, caller, machine, limit)
            machine_objects.note_start(objects, self._name)
            peer_url = self._peer_url(objects, machine) if arguments["learner"] and data["kind"] == "join" else ""
            self._record(objects, "Running", "kubeadm is at work", limit, peer_url)
            # A join can take the quorum away, and with it the API that this machine is noted in. Not before it is noted that it was
            # started: from a copy that says otherwise it would be removed as one that carries nothing.
            export.keep_copy(self, arguments)
            learner = self._learner(arguments, objects, caller, peer_url)
            if learner is not None:
                members = learner.add()
                infrastructure = objects.infrastructure_machines.get(self._name)
                node = expected_node_name(machine, config, infrastructure)
                data = etcd_member.with_member_named(data, node, members)
            answer = self._reach(
                objects,
                caller,
                arguments,
                dict(
                    self._call,
                    data=data,
                    **joins,
                    limit=limit,
                    wait=0 if not arguments["wait"] else settings.WAITING_CALL_SECONDS,
                ),
            )
            if not answer.result.get("state"):
                # Refused, or the call ended after it had started kubeadm. Only the machine's own word that nothing was started counts.
                found = self._reach(objects, caller, arguments, dict(self._call, wait=0))
                answer = answer if found.result["state"] == "Absent" else found
            if learner is not None and not answer.result.get("state"):
                # The machine refused, and nothing was started there: etcd is as it was again. Where that fails the member goes with the machine.
                with contextlib.suppress(ControlPlaneFailure):
                    learner.take_back()
            if answer.failed and answer.result.get("reason") == "CarriesAnother":
                # What it carries is not ours, and may work: noted as a bootstrap that failed it would be removed, and so reset.
                self._record(objects, "", "")
                raise ControlPlaneFailure(
                    f"kubeadm was not started on machine {self._name}: {redact(answer.message)} No run removes it for this alone, since that would "
                    "reset it; one that is too many, outdated or unhealthy by a MachineHealthCheck (nodeStartupTimeoutSeconds) is removed all the same. If "
                    "what it carries is not needed, have it replaced "
                    f"{advice.replace(self._name)}; else mend that and run again."
                )
        if _is_worker(machine) and answer.result.get("state") != "Running":
            return self._end_of_worker(objects, answer)
        if not arguments["wait"] and not answer.failed:
            return {"changed": True, "state": answer.result.get("state")}
        return self._finish(objects, caller, arguments, answer, learner)

    def _reach(
        self, objects: ClusterObjects, caller: MachineCaller, arguments: dict[str, t.Any], call: dict[str, t.Any]
    ) -> Answer:
        """Return the machine's answer; one to a question has a state.

        A failure without a state says nothing of kubeadm there (the module was killed, or the disk is full): the machine is asked again.
        """
        waiting = self.waiting(objects.name, 60 if arguments["timeout"] > 60 else arguments["timeout"])
        while True:
            answer = caller.call(objects.reach(self._name), "node_bootstrap", call)
            if answer.reached and (answer.result.get("state") or "data" in call):
                return answer
            if answer.reached and answer.result.get("reason") == "CarriesAnother":
                # Nothing of this machine's. Why a start is refused there is told by the start.
                return Answer(True, {"state": "Absent"})
            why, remedy = answer.message, "Look at the machine (is it running, does sshd answer?)"
            if answer.reached:
                said = redact(answer.message).rstrip(".")
                why = f"machine {self._name} was reached and did not say whether kubeadm runs there: {said}"
                remedy = "Mend that"
            if not waiting.again(why):
                raise ControlPlaneFailure(
                    f"{why}. It was tried for {waiting.elapsed:.0f} s. Every other machine was left as it was. "
                    f"{remedy} and run reconcile again: it continues where this run stopped. "
                    f"{self._ways_out()}"
                )

    def _finish(
        self,
        objects: ClusterObjects,
        caller: MachineCaller,
        arguments: dict[str, t.Any],
        answer: Answer,
        learner: t.Optional[LearnerJoin],
    ) -> dict[str, t.Any]:
        if answer.result.get("state") == "Running":
            # kubeadm takes its time: what those that joined before have left is done meanwhile. This one's own token is the next's turn.
            join_tokens.delete_used(objects, caller)
        waiting = self.waiting(objects.name, arguments["timeout"])
        phases = PhaseFacts(self.journal(arguments), self.run_id(arguments), self._name)
        phases.look(answer.result)
        while answer.result.get("state") == "Running" and not answer.result.get("failed"):
            stage = answer.result.get("stage") or "at work"
            if not waiting.again(f"machine {self._name}: {stage}", pause_seconds=0.0):
                raise ControlPlaneFailure(
                    f"the bootstrap of machine {self._name} did not end within {arguments['timeout']} s and continues there (now: {stage}). "
                    f"Nothing else was done. On the machine, journalctl -u kubelet and crictl ps -a tell what it waits for. Run reconcile again to "
                    f"wait for it further. {self._ways_out()}"
                )
            # The machine's API server needs the vote of its own etcd: that is waited for, not kubeadm's end.
            unpromoted = learner is not None and learner.promote(settings.WAITING_CALL_SECONDS) != ""
            seconds = 0 if unpromoted else settings.WAITING_CALL_SECONDS
            answer = self._reach(objects, caller, arguments, dict(self._call, wait=seconds))
            phases.look(answer.result)
        if answer.result.get("state") == "Succeeded" and learner is not None:
            self._require_vote(objects, arguments, waiting, learner)
        state, message = self._record_end(objects, answer)
        if state == "Succeeded":
            return {"changed": True, "state": state}
        raise ControlPlaneFailure(
            f"the bootstrap of machine {self._name} failed: {message}",
            output=redact(str(answer.result.get("output", ""))),
        )

    def _end_of_worker(self, objects: ClusterObjects, answer: Answer) -> dict[str, t.Any]:
        """Record how a worker's bootstrap ended.

        One that failed does not end the run: other workers are served, and the decision after them says what failed.
        """
        state, message = self._record_end(objects, answer)
        if state != "Succeeded":
            self.progress(objects.name, f"the bootstrap of machine {self._name} failed: {message}")
        return {"changed": True, "state": state}

    def _record_end(self, objects: ClusterObjects, answer: Answer) -> tuple[str, str]:
        state, message = str(answer.result.get("state") or "Failed"), ""
        if state != "Succeeded":
            message = redact(answer.message)
        if state in ("Succeeded", "Failed"):
            first = message.splitlines()[0] if message else "bootstrap failed"
            self._record(objects, state, "" if state == "Succeeded" else first)
        return state, message

    def _require_vote(
        self, objects: ClusterObjects, arguments: dict[str, t.Any], waiting: Waiting, learner: LearnerJoin
    ) -> None:
        while why := learner.promote(settings.WAITING_CALL_SECONDS):
            if not waiting.again(f"machine {self._name}: kubeadm has joined it, and its etcd member does not vote yet"):
                raise ControlPlaneFailure(
                    f"kubeadm has joined machine {self._name}, and its etcd member was not promoted from a learner to a voter within "
                    f"{arguments['timeout']} s: {why} Everything else works as before. Run reconcile again: it resumes where this run stopped. "
                    "Nothing else is done before that, and no other machine is replaced. If it can't get its vote, because another voter is lost for good, "
                    f"say, have it replaced {advice.replace(self._name)}: without a vote nothing is lost with it."
                )

    def _learner(
        self, arguments: dict[str, t.Any], objects: ClusterObjects, caller: MachineCaller, peer_url: str
    ) -> t.Optional[LearnerJoin]:
        return LearnerJoin(self, arguments, objects, caller, peer_url) if peer_url else None

    def _peer_url(self, objects: ClusterObjects, machine: Object) -> str:
        config, infrastructure = objects.kubeadm_configs[self._name], objects.infrastructure_machines.get(self._name)
        values = machine_data.machine_values(machine, infrastructure)
        found = etcd_member.peer_url(config, values, first_address(infrastructure))
        if not found:
            text = "the address that its etcd will have is not known beforehand, so kubeadm adds its member itself, as a voter"
            self.progress(objects.name, f"machine {self._name}: {text}")
        return found

    def _record(self, objects: ClusterObjects, state: str, message: str, limit: int = 0, peer_url: str = "") -> None:
        now = now_rfc3339()
        if limit:
            self._ends_at = format_time((parse_time(now) or 0) + limit + settings.BOOTSTRAP_START_SECONDS)

        def record(stored: Object) -> None:
            bootstrap = stored.setdefault("status", {}).setdefault("bootstrap", {})
            bootstrap.update(state=state, message=message)
            if limit:
                bootstrap.update(startedAt=now, endsAt=self._ends_at)
                if peer_url:
                    bootstrap["learnerPeerURL"] = peer_url
                return
            bootstrap.pop("learnerPeerURL", None)
            if not state:
                # What was noted never came to be: the next start has a time of its own.
                for key in ("startedAt", "endsAt"):
                    bootstrap.pop(key, None)
            else:
                bootstrap.setdefault("startedAt", now)

        objects.store.modify(MACHINE, objects.namespace, self._name, record)

    def _ways_out(self) -> str:
        """Return the user's remedies for a machine that does not answer.

        They hold also for a bootstrap that does not end.
        """
        bound = f"At {self._ends_at} at the latest kubeadm has ended there, well or not. " if self._ends_at else ""
        return f"{bound}If the machine is gone for good, or is not to be waited for, have it replaced {advice.replace(self._name)}."

    def _data(
        self, objects: ClusterObjects, caller: MachineCaller, machine: Object, limit: int
    ) -> tuple[dict[str, t.Any], dict[str, t.Any]]:
        """Return node_bootstrap's data, and a join's fencing query.

        ``limit`` is after how many seconds the machine ends its bootstrap.
        With the query the joining machine asks the cluster for the run's fencing number.
        """
        config = objects.kubeadm_configs.get(self._name)
        if config is None or objects.control_plane is None:
            raise ControlPlaneFailure(
                f"machine {self._name} has no KubeadmConfig in the store; nothing was started on it. "
                "Run reconcile, which makes one."
            )
        endpoint = objects.endpoint()
        if endpoint is None:
            raise ControlPlaneFailure(
                f"the cluster {objects.title} has no control plane endpoint yet; nothing was started on {self._name}. "
                "Run reconcile, which makes it."
            )
        infrastructure = objects.infrastructure_machines.get(self._name) or {}
        certificates = read_certificates(objects.store, objects.cluster)
        config = self._with_image_needs(objects, config, infrastructure)
        resolve_secret = functools.partial(secret_value, objects.store, objects.namespace)
        version = str(objects.control_plane["spec"]["version"])
        try:
            # Before anything is made for it: no token for a join that can't be.
            configuration = machine_configuration(config, machine, infrastructure, resolve_secret, version)
        except ManifestError as error:
            raise ControlPlaneFailure(self._incomplete(str(error))) from error
        common: dict[str, t.Any] = {
            "cluster": objects.cluster,
            "control_plane": objects.control_plane,
            "configuration": configuration,
            "machine": machine,
            "endpoint": endpoint,
            "advertise_address": first_address(infrastructure),
            "certificates": certificates,
        }
        if "joinConfiguration" not in config["spec"]:
            return init_data(**common), {}
        token = join_tokens.mint(objects, caller, self._name, limit)
        authority = str(certificates["ca"]["crt"])
        host = f"[{endpoint['host']}]" if ":" in str(endpoint["host"]) else endpoint["host"]
        access = {"server": f"{host}:{endpoint['port']}", "token": token, "ca_cert": authority}
        hashes = [ca_cert_hash(authority)]
        if _is_worker(machine):
            data = worker_data(objects.cluster, configuration, machine, endpoint, token, hashes)
            return data, {"lease_access": access}
        return join_data(**common, token=token, ca_cert_hashes=hashes), {"lease_access": access}

    def _incomplete(self, problems: str) -> str:
        return (
            f"kubeadm was not started on machine {self._name}, and nothing was changed there. {problems}\n"
            "Correct that and run reconcile again. It resumes with this machine and asks its provider again; where the manifest was corrected it "
            f"makes the machine again. To have it replaced anyway: {advice.replace(self._name)}."
        )

    def _with_image_needs(self, objects: ClusterObjects, config: Object, infrastructure: Object) -> Object:
        # What a machine's image lacks is the image's business: a manifest need not know of it (docs/provider_contract.md).
        needs = infrastructure.get("status", {}).get("kubeadm") or {}
        phases, errors = needs.get("skipPhases") or [], needs.get("ignorePreflightErrors") or []
        if not phases and not errors:
            return config
        self.progress(
            objects.name,
            f"machine {self._name}: its image asks kubeadm to skip {', '.join(phases) or 'nothing'} "
            f"and to ignore the preflight errors {', '.join(errors) or 'none'}: {needs.get('reason', 'no reason given')}",
        )
        config = copy.deepcopy(config)
        kind = "joinConfiguration" if "joinConfiguration" in config["spec"] else "initConfiguration"
        configuration = config["spec"].setdefault(kind, {})
        # A join has no add-on phases.
        if kind == "initConfiguration" and phases:
            configuration["skipPhases"] = sorted({*(configuration.get("skipPhases") or []), *phases})
        registration = configuration.setdefault("nodeRegistration", {})
        registration["ignorePreflightErrors"] = sorted({*(registration.get("ignorePreflightErrors") or []), *errors})
        return config


def _is_worker(machine: Object) -> bool:
    return CONTROL_PLANE_LABEL not in (machine["metadata"].get("labels") or {})
