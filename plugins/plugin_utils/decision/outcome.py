# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Outcome of a decision, and the computed facts for it.

The outcome is the chosen action before it becomes a document.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from ...module_utils.common.kubernetes_facts import DEFAULT_CERTIFICATES_DIR, certificates_dir
from ...module_utils.common.values import condition_in, parse_time
from ..objects import kinds
from ..objects.advice import AUTHORITY_ENDED
from ..objects.conditions import HEALTH_CHECK_SUCCEEDED, OWNER_REMEDIATED, ROLLING_OUT
from . import terms
from .checks.trouble import CERTIFICATES_AVAILABLE, PACE_CHECKS, Trouble
from .conditions.control_plane import Facts
from .conditions.machine import machine_conditions
from .rollout.placement import place_next
from .rollout.uptodate import Desired, outdated
from .snapshot.typed_snapshot import MachineView, View, condition_of

Object = dict[str, Any]
CERTIFICATES_EXPIRED = "CertificatesExpired"
CERTIFICATES_NOT_AVAILABLE = "CertificatesNotAvailable"
PUT_BACK = "Put back the Secrets of this cluster (from a backup, or from certificatesDir of a control plane machine)."
AUTHORITIES = (kinds.PURPOSE_CA, kinds.PURPOSE_ETCD, kinds.PURPOSE_PROXY, kinds.PURPOSE_SERVICE_ACCOUNT)
# One of the certificates that kubeadm has each authority sign for a control plane machine.
_SIGNED = {
    kinds.PURPOSE_CA: "apiserver.crt",
    kinds.PURPOSE_ETCD: "etcd/server.crt",
    kinds.PURPOSE_PROXY: "front-proxy-client.crt",
}


@dataclass
class Outcome:
    """Chosen action with its reasons.

    The page for every field: docs/reference/decision.md.
    """

    action: str
    reasons: list[Object] = field(default_factory=list)
    target: Optional[Object] = None
    blocked_on: list[Object] = field(default_factory=list)
    preflight: list[Object] = field(default_factory=list)
    quorum: Optional[Object] = None
    prepare: list[str] = field(default_factory=list)
    leadership: Optional[Object] = None
    remediation: Optional[Object] = None
    prerequisites: list[Object] = field(default_factory=list)
    deletion: tuple[str, str] = ("", "")

    @property
    def acts(self) -> bool:
        """Return whether the action is a step to carry out now."""
        return self.action not in terms.ENDINGS


class Context:
    """Snapshot with the facts that several rules read, computed once."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.desired = Desired(view)
        self.outdated = {machine.name: outdated(view, self.desired, machine) for machine in view.machines}
        self.machines = {each.name: machine_conditions(view, each, self.outdated[each.name]) for each in view.machines}
        certificates = view.raw.get("certificates") or {}
        self.missing = [name for name in AUTHORITIES if not (certificates.get(name) or {}).get("present")]
        self.certificates: Object = certificates
        self.old = [machine for machine in view.live if self.outdated[machine.name]]
        self.rollout = _rollout_size(view, bool(self.old))

    @property
    def replicas(self) -> int:
        """Return the desired number of machines now.

        A rollout under way is finished at the size at which it started.
        """
        return self.view.replicas if self.rollout is None else self.rollout

    @property
    def most(self) -> int:
        """Return the number of machines that may exist for a while.

        It is one more than the desired number in a rollout with maxSurge 1.
        """
        return self.replicas + (max_surge(self.view) if self.rollout is not None else 0)

    def removed_conditions(self) -> dict[str, list[str]]:
        """Return the types of stored conditions that no longer hold.

        By machine: OwnerRemediated of machines that are healthy again.
        Source: docs/reference/cluster_api.md, "Remediation", step 1.
        """
        return {
            machine.name: [OWNER_REMEDIATED]
            for machine in self.view.live
            if _healthy_again(machine) and not condition_in(self.machines[machine.name], OWNER_REMEDIATED)
        }

    def facts(self, outcome: Outcome) -> Facts:
        """Return the facts for the control plane's conditions."""
        held_back = (
            []
            if outcome.action not in (terms.WAIT, terms.POSTPONED, terms.BLOCKED)
            else [each["message"] for each in outcome.blocked_on]
        )
        secrets = [kinds.secret_name(self.view.name, purpose) for purpose in self.missing]
        # Another step does not begin a rollout that is held back: it must not keep the scaling waiting.
        rolls = any(each["reason"] == ROLLING_OUT for each in outcome.reasons)
        return Facts(
            self.machines,
            self.outdated,
            secrets,
            held_back,
            outcome.deletion,
            self.rollout if rolls or _recorded_size(self.view) is not None else None,
            tuple(self.removed_conditions()),
        )

    def certificate_troubles(self) -> list[Trouble]:
        """Return the problems with certificate authorities: missing, expired, without a key.

        They are never generated again once a control plane exists.
        Source: docs/reference/cluster_api.md, "Certificates".
        """
        view, found = self.view, []
        if self.missing:
            secrets = ", ".join(f"Secret {kinds.secret_name(view.name, purpose)}" for purpose in self.missing)
            text = f"{secrets}: missing, and never generated again once a control plane may exist"
            found.append(Trouble(CERTIFICATES_AVAILABLE, CERTIFICATES_NOT_AVAILABLE, text, PUT_BACK, False))
        for purpose in AUTHORITIES:
            end = parse_time((self.certificates.get(purpose) or {}).get("notAfter"))
            if end is not None and end <= view.now:
                text = f"the certificate in Secret {kinds.secret_name(view.name, purpose)} has expired"
                found.append(
                    Trouble(
                        CERTIFICATES_AVAILABLE,
                        CERTIFICATES_EXPIRED,
                        text,
                        AUTHORITY_ENDED,
                        False,
                    )
                )
        return found + self._keys_needed()

    def _keys_needed(self) -> list[Trouble]:
        """Return the authorities without a key whose certificates nothing brings.

        kubeadm makes no control plane machine then; the machines that there are work on. What commands bring can't be known: it may be all.
        """
        config, found = self.desired.config, []
        folder = certificates_dir(config.get("clusterConfiguration") or {})
        brought = {each.get("path") for each in config.get("files") or ()}
        for purpose, name in _SIGNED.items():
            facts = self.certificates.get(purpose) or {}
            if not facts.get("present") or facts.get("hasKey") is not False or f"{folder}/{name}" in brought:
                continue
            if config.get("preKubeadmCommands") or (purpose == kinds.PURPOSE_ETCD and not self.view.managed_etcd):
                continue
            text = (
                f"Secret {kinds.secret_name(self.view.name, purpose)} has no tls.key, and neither files nor preKubeadmCommands bring the certificates "
                f"that it signs, such as {folder}/{name}: kubeadm makes no control plane machine without them"
            )
            fix = "Put tls.key back into the Secret, or have files or preKubeadmCommands of spec.kubeadmConfigSpec bring these certificates to each machine"
            # A machine with certificates in the default folder is refused; what an image has elsewhere can't be known.
            fix += (
                "."
                if folder == DEFAULT_CERTIFICATES_DIR
                else '. Where its image has them, preKubeadmCommands: ["true"] says so, and has every machine replaced.'
            )
            found.append(Trouble(CERTIFICATES_AVAILABLE, CERTIFICATES_NOT_AVAILABLE, text, fix, False, gates=False))
        return found

    def domains(self, count: int, without: str = "") -> list[str]:
        """Return the failure domains of the next `count` machines.

        The machine `without` is not counted.
        """
        placed = [
            (machine.failure_domain, not machine.deleting and not self.outdated[machine.name])
            for machine in self.view.machines
            if machine.name != without
        ]
        return place_next(self.view.failure_domains, placed, count)


def _healthy_again(machine: MachineView) -> bool:
    remediated = condition_of(machine.machine, OWNER_REMEDIATED)
    if not remediated or kinds.is_flagged(machine.machine, kinds.ANNOTATION_REMEDIATE_MACHINE):
        return False
    checked = condition_of(machine.machine, HEALTH_CHECK_SUCCEEDED).get("status")
    # Without a health check the mark was the annotation's, which is gone; a mark that waits for remediation is left to
    # the one who set it.
    return checked == terms.TRUE or (checked is None and remediated.get("reason") != "WaitingForRemediation")


def max_surge(view: View) -> int:
    """Return the rollout's maxSurge, 0 or 1.

    It is the number of machines above the desired number that a rollout may make (docs/reference/cluster_api.md,
    "Rollout").
    """
    rolling = ((view.spec.get("rollout") or {}).get("strategy") or {}).get("rollingUpdate") or {}
    return 0 if str(rolling.get("maxSurge")) == "0" else 1


def _rollout_size(view: View, outdated: bool) -> Optional[int]:
    """Return the size at which a rollout continues.

    None where none is under way or it has to wait for the scaling before it.

    Scaling and rollouts never mix (docs/reference/cluster_api.md, "Rollout"): a rollout keeps the size that was
    recorded when it started, and one that did not start yet waits until the desired number of machines exists.
    """
    if not outdated:
        return None
    return _recorded_size(view) or (view.replicas if len(view.live) == view.replicas else None)


def _recorded_size(view: View) -> Optional[int]:
    record = (view.control_plane.get("status") or {}).get("rollout")
    size = record.get("replicas") if isinstance(record, dict) else None
    return size if isinstance(size, int) and not isinstance(size, bool) and size > 0 else None


def first_that_acts(outcomes: Iterable[Outcome]) -> Optional[Outcome]:
    """Return the first outcome that can be carried out now.

    Else the first of all; None where there is none.

    A refusal for one machine must not hold up another one, without which it may stay refused for ever.
    """
    first: Optional[Outcome] = None
    for each in outcomes:
        if each.acts:
            return each
        first = first or each
    return first


def reason(name: str, message: str) -> Object:
    """Return one entry of `reasons`."""
    return {"reason": name, "message": message}


def block(name: str, message: str, fix: str) -> Outcome:
    """Return a blocked outcome, which needs the user.

    `fix` is the remedy.
    """
    return Outcome(
        terms.BLOCKED, [reason(name, message)], blocked_on=[{"reason": name, "message": message, "fix": fix}]
    )


def held(troubles: Sequence[Trouble], extra: Sequence[Object] = ()) -> Outcome:
    """Return the outcome of problems: blocked, postponed or wait.

    Blocked as soon as one of them needs the user, else wait. `extra` blocks and comes first.

    Postponed where the user's policy lets nothing start now and only the user's own gates are not met: nothing is wrong
    then, and waiting for a gate would be in vain.
    """
    blocking = [each.document() for each in troubles if not each.waits and not each.postpones]
    postponing = [each.document() for each in troubles if each.postpones]
    gates = [each.document() for each in troubles if each.waits and each.check in PACE_CHECKS]
    waiting = [each.document() for each in troubles if each.waits and each.check not in PACE_CHECKS]
    action = terms.WAIT
    if blocking or extra:
        action = terms.BLOCKED
    elif postponing and not waiting:
        action = terms.POSTPONED
    listed = [*extra, *blocking, *waiting, *postponing, *gates]
    return Outcome(action, [reason(each["reason"], each["message"]) for each in listed[:1]], blocked_on=listed)


def target(
    machine: Optional[MachineView], domain: Optional[str] = None, resume: bool = False, member: Optional[str] = None
) -> Object:
    """Return the `target` of an action on one machine.

    `machine` is None for a new machine; `domain` is the failure domain of a new one.
    """
    name = machine.name if machine is not None else None
    placed = (machine.failure_domain if machine is not None else domain) or None
    return {"machine": name, "failureDomain": placed, "resume": resume, "memberID": member, "name": None}
