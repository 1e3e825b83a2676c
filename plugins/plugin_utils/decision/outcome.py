# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a decision is made of before it becomes a document: the computed facts it reads, and the chosen action."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from ...module_utils.common.values import condition_in, parse_time
from ..objects import kinds
from ..objects.conditions import HEALTH_CHECK_SUCCEEDED, OWNER_REMEDIATED
from . import terms
from .checks.trouble import CERTIFICATES_AVAILABLE, PACE_CHECKS, Trouble
from .conditions.control_plane import Facts
from .conditions.machine import machine_conditions
from .rollout.placement import place_next
from .rollout.uptodate import Desired, outdated
from .snapshot.typed_snapshot import MachineView, View, condition_of

Object = dict[str, Any]
CERTIFICATES_EXPIRED = "CertificatesExpired"
AUTHORITIES = (kinds.PURPOSE_CA, kinds.PURPOSE_ETCD, kinds.PURPOSE_PROXY, kinds.PURPOSE_SERVICE_ACCOUNT)


@dataclass
class Outcome:
    """The chosen action with its reasons; see docs/reference/decision.md for every field."""

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
        """Whether something is to be done now."""
        return self.action not in terms.ENDINGS


class Context:
    """A snapshot with everything that more than one rule reads, computed once."""

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
        """How many machines count as wanted now: a rollout under way is finished at the size at which it began."""
        return self.view.replicas if self.rollout is None else self.rollout

    @property
    def most(self) -> int:
        """How many machines there may be for a while: one more than wanted in a rollout with maxSurge 1."""
        return self.replicas + (max_surge(self.view) if self.rollout is not None else 0)

    def removed_conditions(self) -> dict[str, list[str]]:
        """Stored conditions that no longer hold: OwnerRemediated of machines that are healthy again.

        Source: docs/reference/cluster_api.md, "Remediation", step 1.
        """
        return {
            machine.name: [OWNER_REMEDIATED]
            for machine in self.view.live
            if _healthy_again(machine) and not condition_in(self.machines[machine.name], OWNER_REMEDIATED)
        }

    def facts(self, outcome: Outcome) -> Facts:
        """The facts that the control plane's conditions are made of."""
        held_back = (
            []
            if outcome.action not in (terms.WAIT, terms.POSTPONED, terms.BLOCKED)
            else [each["message"] for each in outcome.blocked_on]
        )
        secrets = [kinds.secret_name(self.view.name, purpose) for purpose in self.missing]
        return Facts(
            self.machines,
            self.outdated,
            secrets,
            held_back,
            outcome.deletion,
            self.rollout,
            tuple(self.removed_conditions()),
        )

    def certificate_troubles(self) -> list[Trouble]:
        """Missing and expired certificate authorities; they are never generated again once a control plane exists.

        Source: docs/reference/cluster_api.md, "Certificates".
        """
        view, found = self.view, []
        if self.missing:
            secrets = ", ".join(f"Secret {kinds.secret_name(view.name, purpose)}" for purpose in self.missing)
            text = f"{secrets}: missing, and never generated again once a control plane may exist"
            fix = "Put back the Secrets of this cluster (from a backup, or from /etc/kubernetes/pki of a control plane machine)."
            found.append(Trouble(CERTIFICATES_AVAILABLE, "CertificatesNotAvailable", text, fix, False))
        for purpose in AUTHORITIES:
            end = parse_time((self.certificates.get(purpose) or {}).get("notAfter"))
            if end is not None and end <= view.now:
                text = f"the certificate in Secret {kinds.secret_name(view.name, purpose)} has expired"
                found.append(
                    Trouble(
                        CERTIFICATES_AVAILABLE,
                        CERTIFICATES_EXPIRED,
                        text,
                        "Give a valid certificate authority.",
                        False,
                    )
                )
        return found

    def domains(self, count: int, without: str = "") -> list[str]:
        """The failure domains of the next `count` machines; the machine `without` is left out of the counting."""
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
    # Without a health check the mark was the annotation's, which is gone; a mark that waits for us is somebody else's to take back.
    return checked == terms.TRUE or (checked is None and remediated.get("reason") != "WaitingForRemediation")


def max_surge(view: View) -> int:
    """How many machines more than wanted a rollout may make: 0 or 1 (docs/reference/cluster_api.md, "Rollout")."""
    rolling = ((view.spec.get("rollout") or {}).get("strategy") or {}).get("rollingUpdate") or {}
    return 0 if str(rolling.get("maxSurge")) == "0" else 1


def _rollout_size(view: View, outdated: bool) -> Optional[int]:
    """The size at which a rollout goes on, None where none is under way or it has to wait for the scaling before it.

    Scaling and rollouts never mix (docs/reference/cluster_api.md, "Rollout"): a rollout keeps the size that was
    recorded when it began, and one that did not begin yet waits until there are as many machines as wanted.
    """
    if not outdated:
        return None
    record = (view.control_plane.get("status") or {}).get("rollout")
    recorded = record.get("replicas") if isinstance(record, dict) else None
    if isinstance(recorded, int) and not isinstance(recorded, bool) and recorded > 0:
        return recorded
    return view.replicas if len(view.live) == view.replicas else None


def first_that_acts(outcomes: Iterable[Outcome]) -> Optional[Outcome]:
    """Return the first outcome that can be carried out now, else the first of all; None where there is none.

    What is refused for one machine must not hold up another one, without which it may stay refused for ever.
    """
    first: Optional[Outcome] = None
    for each in outcomes:
        if each.acts:
            return each
        first = first or each
    return first


def reason(name: str, message: str) -> Object:
    """One entry of `reasons`."""
    return {"reason": name, "message": message}


def block(name: str, message: str, fix: str) -> Outcome:
    """An outcome that needs a person."""
    return Outcome(
        terms.BLOCKED, [reason(name, message)], blocked_on=[{"reason": name, "message": message, "fix": fix}]
    )


def held(troubles: Sequence[Trouble], extra: Sequence[Object] = ()) -> Outcome:
    """The outcome of trouble: blocked as soon as one of it needs a person, else wait. `extra` blocks and comes first.

    Postponed where the user wishes that nothing starts now and only the user's own gates are not met: nothing is wrong then,
    and waiting for a gate would be in vain.
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
    """The `target` of an action on one machine; None for a new machine."""
    name = machine.name if machine is not None else None
    placed = (machine.failure_domain if machine is not None else domain) or None
    return {"machine": name, "failureDomain": placed, "resume": resume, "memberID": member, "name": None}
