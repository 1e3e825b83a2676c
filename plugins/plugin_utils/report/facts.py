# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts that a run leaves in the journal, for its report.

A report has nothing but the journal, so that it can be made of a run that was killed (docs/report.md).
"""

from __future__ import annotations

import contextlib
import typing as t

from ...module_utils.common import quorum
from ...module_utils.common.values import clip, format_time, now_rfc3339, parse_time
from ..decision import decision_text, terms
from ..decision.rollout.uptodate import expiry_of
from ..decision.snapshot.typed_snapshot import read_snapshot
from ..store.base import StoreError
from ..store.journal import Journal

Object = dict[str, t.Any]
# Steps of a plan that are named; a plan has at most as many as a run may take.
_PLANNED = 60
_NAME = 60
_LONGEST = 86400


def state(snapshot: Object) -> Object:
    """Return what an observation says of etcd, the endpoint and the replicas.

    Args:
        snapshot: passed check_snapshot.

    Returns:
        Details of the journal, scalars. What is not known is left out: of an external etcd the figures.
    """
    workload = snapshot["workload"]
    control_plane = snapshot.get("controlPlane") or {}
    found: Object = {"replicas": len(snapshot["machines"])}
    wanted = (control_plane.get("spec") or {}).get("replicas")
    if wanted is not None:
        found["wanted"] = wanted
    etcd = workload.get("etcd") or {}
    if etcd.get("reachable") and "members" in etcd:
        figures = quorum.figures(quorum.member_states(etcd)).document()
        found.update({key: figures[key] for key in ("voters", "healthy", "quorum")})
        names = {each["id"]: each["name"] for each in etcd["members"]}
        leader = names.get(etcd.get("leader") or "")
        if leader:
            found["leader"] = leader
    answers = (workload.get("endpoint") or {}).get("answers")
    if answers is not None:
        found["endpoint"] = bool(answers)
    return found


def certificates(snapshot: Object) -> list[list[str]]:
    """Return when certificates end, as [name, RFC 3339], soonest first.

    The journal takes no more than so many.

    Of a machine that was not asked the recorded end of apiserver.crt alone.

    Args:
        snapshot: passed check_snapshot.
    """
    found: dict[str, str] = {}
    for name, facts in (snapshot.get("certificates") or {}).items():
        if (facts or {}).get("notAfter"):
            found[name] = facts["notAfter"]
    told = snapshot["workload"].get("machineCertificates") or {}
    for machine in read_snapshot(snapshot).known:
        recorded = expiry_of(machine)
        ends = told.get(machine.name) or ({"apiserver.crt": format_time(recorded)} if recorded is not None else {})
        found.update({f"{machine.name} {file}": end for file, end in ends.items()})
    return [[name, end] for name, end in sorted(found.items(), key=lambda each: (each[1], each[0]))]


def record_end(journal: Journal, run: str, said: str, snapshot: Object) -> None:
    """Record what was seen where a run takes no more steps.

    For people alone, as all facts: a journal that can't be written keeps no cluster from its end, and hides no reason.

    Args:
        journal: the cluster's journal.
        run: the run's id.
        said: the decision in words.
        snapshot: passed check_snapshot.
    """
    with contextlib.suppress(StoreError):
        journal.fact("state", run, said, details={**state(snapshot), "certificates": certificates(snapshot)})


def step(decision: Object, snapshot: Object, plan: t.Optional[t.Sequence[t.Mapping[str, t.Any]]]) -> Object:
    """Return the details of a step's intent.

    They say what was seen, and what the step changes.

    Args:
        decision: the step.
        snapshot: what it was decided on.
        plan: with a run's first step, all steps of the plan that begins with it.
    """
    found = state(snapshot)
    voters = decision_text.voters(decision)
    if voters:
        found.update(votersBefore=voters[0], votersAfter=voters[1])
    deployments = (decision.get("target") or {}).get("deployments")
    if deployments:
        found["name"] = ", ".join(deployments)
    if plan:
        found["plan"] = " ".join(str(each["action"]) for each in plan[:_PLANNED])
    return found


class Wait:
    """Wait of a pass, recorded in the journal.

    When it begins, when its reason changes, and when it ends. True once there was one.

    Args:
        journal: the cluster's journal.
        run: the run's id.
    """

    def __init__(self, journal: Journal, run: str) -> None:
        self._journal, self._run = journal, run
        self._reason: t.Optional[str] = None
        self._entry = ""

    def __bool__(self) -> bool:
        return bool(self._entry)

    def look(self, decision: Object) -> None:
        """Record what a decision says of the wait."""
        reason = None
        if decision["action"] == terms.WAIT:
            reason = str((decision.get("blockedOn") or [{}])[0].get("reason") or "")
        if reason == self._reason:
            return
        self._reason = reason
        # A journal that can't be written ends no wait.
        with contextlib.suppress(StoreError):
            if reason is not None:
                said = decision_text.describe(decision)
                self._entry = self._journal.fact("wait", self._run, said, details={"reason": reason})
            else:
                self._journal.fact("waited", self._run, identifier=self._entry)


class PhaseFacts:
    """Phases of kubeadm on a machine, recorded as they become known.

    For people alone: a journal that can't be written fails no bootstrap.

    Args:
        journal: the cluster's journal.
        run: the run's id; without one nothing is recorded.
        machine: the machine's name.
    """

    def __init__(self, journal: Journal, run: str, machine: str) -> None:
        self._journal, self._run, self._machine = journal, run, machine
        self._known: set[str] = set()

    def look(self, result: t.Mapping[str, t.Any]) -> None:
        """Record what is new among the phases of a result of node_bootstrap.

        It is of a machine: whatever has not its shape is left out.
        """
        now = parse_time(now_rfc3339()) or 0
        found = []
        for each in result.get("phases") or () if self._run else ():
            name, ago = (each.get("name"), each.get("secondsAgo")) if isinstance(each, dict) else (None, None)
            if (
                isinstance(name, str)
                and isinstance(ago, (int, float))
                and 0 <= ago < _LONGEST
                and name not in self._known
            ):
                self._known.add(name)
                found.append([clip(name, _NAME), format_time(now - ago)])
        if found:
            with contextlib.suppress(StoreError):
                self._journal.fact("phases", self._run, target=self._machine, details={"phases": found})
