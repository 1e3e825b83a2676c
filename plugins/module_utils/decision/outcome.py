# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a decision is made of before it becomes a document: the computed facts it reads, and the chosen action."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision import names
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.conditions import Facts
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.health import machine_conditions
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.placement import place_next
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.snapshot import MachineView, View
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.trouble import (
    CERTIFICATES_AVAILABLE,
    Trouble,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.uptodate import Desired, outdated
from ansible_collections.kubeadm.control_plane.plugins.module_utils.decision.values import parse_time
from ansible_collections.kubeadm.control_plane.plugins.module_utils.objects import kinds

Object = dict[str, Any]
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
    deletion: tuple[str, str] = ("", "")


class Context:
    """A snapshot with everything that more than one rule reads, computed once."""

    def __init__(self, view: View) -> None:
        self.view = view
        desired = Desired(view)
        self.outdated = {machine.name: outdated(view, desired, machine) for machine in view.machines}
        self.machines = {each.name: machine_conditions(view, each, self.outdated[each.name]) for each in view.machines}
        certificates = view.raw.get("certificates") or {}
        self.missing = [name for name in AUTHORITIES if not (certificates.get(name) or {}).get("present")]
        self.certificates: Object = certificates

    def facts(self, outcome: Outcome) -> Facts:
        """The facts that the control plane's conditions are made of."""
        held_back = (
            []
            if outcome.action not in (names.WAIT, names.BLOCKED)
            else [each["message"] for each in outcome.blocked_on]
        )
        secrets = [kinds.secret_name(self.view.name, purpose) for purpose in self.missing]
        return Facts(self.machines, self.outdated, secrets, held_back, outcome.deletion)

    def certificate_troubles(self) -> list[Trouble]:
        """Missing and expired certificate authorities; they are never generated again once a control plane exists (§1.3)."""
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
                        "CertificatesExpired",
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


def reason(name: str, message: str) -> Object:
    """One entry of `reasons`."""
    return {"reason": name, "message": message}


def block(name: str, message: str, fix: str) -> Outcome:
    """An outcome that needs a person."""
    return Outcome(
        names.BLOCKED, [reason(name, message)], blocked_on=[{"reason": name, "message": message, "fix": fix}]
    )


def held(troubles: Sequence[Trouble], extra: Sequence[Object] = ()) -> Outcome:
    """The outcome of trouble: blocked as soon as one of it needs a person, else wait. `extra` blocks and comes first."""
    blocking = [each.document() for each in troubles if not each.waits]
    waiting = [each.document() for each in troubles if each.waits]
    action = names.BLOCKED if blocking or extra else names.WAIT
    listed = [*extra, *blocking, *waiting]
    return Outcome(action, [reason(each["reason"], each["message"]) for each in listed[:1]], blocked_on=listed)


def target(
    machine: Optional[MachineView], domain: Optional[str] = None, resume: bool = False, member: Optional[str] = None
) -> Object:
    """The `target` of an action on one machine; None for a new machine."""
    name = machine.name if machine is not None else None
    placed = (machine.failure_domain if machine is not None else domain) or None
    return {"machine": name, "failureDomain": placed, "resume": resume, "memberID": member}
