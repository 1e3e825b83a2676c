# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Second machine's view of etcd, asked when needed (docs/architecture.md, "Two witnesses").

Needed: the first machine's view gives cause.
"""

from __future__ import annotations

import typing as t

from ...module_utils.common.quorum import member_states
from ...module_utils.common.values import condition_of
from ..objects.conditions import HEALTH_CHECK_SUCCEEDED
from ..records.cluster_objects import ClusterObjects, Object
from ..records.machine_objects import node_name

# How many machines are tried, at most, until one answers: each that is dead costs a connection's timeout.
MOST_ASKED = 3


class Ask(t.Protocol):
    """Call to one machine, returning ``(workload part or None, why not)``."""

    def __call__(self, name: str, look_again: bool) -> tuple[t.Optional[Object], str]: ...


def witnesses(objects: ClusterObjects, found: Object, ask: Ask) -> list[Object]:
    """Return other joined machines' views of etcd, [] where none is needed.

    Args:
        objects: the cluster's objects.
        found: the ``workload`` part as the first machine (its ``via``) gave it.
        ask: asks one machine for its own view.

    It is called for where a member does not count as healthy (an alarm of its own included), the members' lists don't agree, or a
    joined Machine is marked: by a failed health check or for deletion. Machines that nothing is suspected of are asked
    first, and those that something is suspected of only where there are no others.
    """
    etcd = found.get("etcd")
    if etcd is None or "members" not in etcd or not found.get("reachable"):
        # An external etcd, which no machine is a witness of; or no API server, without which nothing is changed.
        return []
    joined = [str(machine["metadata"]["name"]) for machine in objects.bootstrapped_machines()]
    suspected = _dead(objects, etcd) | _marked(objects)
    if not suspected and etcd.get("reachable") and etcd.get("memberListAgrees") is True and _all_count(etcd):
        return []
    others = [name for name in reversed(joined) if name != found.get("via")]
    candidates = [name for name in others if name not in suspected] or others
    answers: list[Object] = []
    for name in candidates[:MOST_ASKED]:
        answers.append(_witness(name, etcd, ask))
        if answers[-1]["reachable"]:
            break
    return answers


def _witness(name: str, etcd: Object, ask: Ask) -> Object:
    workload, why = ask(name, look_again=False)
    theirs = (workload or {}).get("etcd")
    if theirs and theirs.get("reachable") and _states(theirs) != _states(etcd):
        # One look is no proof that they differ: it is given as many as the first machine had.
        workload, why = ask(name, look_again=True)
        theirs = (workload or {}).get("etcd")
    if theirs is None:
        return {"machine": name, "reachable": False, "message": why or "it says nothing of etcd", "etcd": None}
    reachable = bool(theirs.get("reachable"))
    message = "" if reachable else str(theirs.get("message") or "its etcd does not answer")
    return {"machine": name, "reachable": reachable, "message": message, "etcd": theirs}


def _states(etcd: Object) -> dict[str, bool]:
    return {member.id: member.counts for member in member_states(etcd)}


def _all_count(etcd: Object) -> bool:
    return all(member.counts for member in member_states(etcd))


def _dead(objects: ClusterObjects, etcd: Object) -> set[str]:
    """Return the joined machines whose member is unhealthy or not listed."""
    if not etcd.get("reachable"):
        return set()
    healthy = {member.name for member in member_states(etcd) if member.counts}
    found = set()
    for machine in objects.bootstrapped_machines():
        name = str(machine["metadata"]["name"])
        if node_name(objects, machine) not in healthy:
            found.add(name)
    return found


def _marked(objects: ClusterObjects) -> set[str]:
    found = set()
    for machine in objects.bootstrapped_machines():
        failed = condition_of(machine, HEALTH_CHECK_SUCCEEDED).get("status") == "False"
        if failed or machine["metadata"].get("deletionTimestamp"):
            found.add(str(machine["metadata"]["name"]))
    return found
