# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text of decisions for people, one line each."""

from __future__ import annotations

from typing import Any, Optional

from ...module_utils.common.legible import one_line
from ...module_utils.common.values import clip, shortened
from . import terms

Object = dict[str, Any]


def describe(decision: Object) -> str:
    """Return a decision in one line.

    As "join a new machine in failure domain b: 2 of 3 replicas; etcd 2 voters, quorum 2 → 3 voters, quorum 2".
    """
    action = decision["action"]
    if action in (terms.WAIT, terms.POSTPONED, terms.BLOCKED):
        return _held(decision)
    said = "; ".join(each["message"] for each in decision.get("reasons") or ())
    if action == terms.NONE:
        return _one_line(f"nothing to do: {said}" if said else "nothing to do")
    line = f"{verb(decision)}: {said}" if said else verb(decision)
    return _one_line(line + etcd_change(decision))


RISK = "both are needed from then on"
# The steps that etcd's membership is changed by.
_OF_MEMBERS = (terms.INITIALIZE, terms.JOIN, terms.REMOVE, terms.RECOVER_SINGLE_VOTER)


def voters(decision: Object) -> Optional[list[int]]:
    """Return etcd's voters before and after a step.

    None where it is not about a member.
    """
    quorum = decision.get("quorum")
    if not quorum or decision["action"] not in _OF_MEMBERS:
        return None
    return [quorum["before"]["voters"], quorum["after"]["voters"]]


def etcd_change(decision: Object) -> str:
    """Return the step's change of etcd's quorum as text.

    It begins with "; "; "" where the step changes nothing of it.
    """
    quorum = decision.get("quorum")
    if not quorum or decision["action"] not in _OF_MEMBERS:
        return ""
    before, after = quorum["before"], quorum["after"]
    if before == after:
        return "; etcd unchanged"
    text = f"; etcd {_figures(before)} → {_figures(after)}" if before["voters"] else f"; etcd {_figures(after)}"
    return text + (f" (risk: {RISK})" if _is_second_voter(decision) else "")


def risk(decision: Object) -> str:
    """Return a step's risk to etcd's quorum, "" for most steps."""
    if _is_second_voter(decision):
        return f"etcd gets its second voter: {RISK}"
    return "etcd is started as its only member" if decision["action"] == terms.RECOVER_SINGLE_VOTER else ""


def _is_second_voter(decision: Object) -> bool:
    return voters(decision) == [1, 2]


def _figures(figures: Object) -> str:
    return f"{figures['voters']} voter{'' if figures['voters'] == 1 else 's'}, quorum {figures['quorum']}"


def verb(decision: Object) -> str:
    """Return the action of a decision in words, without its reasons.

    Only for a step, as "join a new machine in failure domain b".
    """
    target = decision.get("target") or {}
    machine, domain = target.get("machine"), target.get("failureDomain")
    where = f" in failure domain {clip(domain, 80)}" if domain else ""
    on = f"machine {machine}" if machine else "a new machine"
    resume = bool(target.get("resume"))
    verbs = {
        terms.CREATE_INFRASTRUCTURE: "create the cluster's infrastructure and endpoint",
        terms.CREATE_CERTIFICATES: "create certificate authorities, keys and the kubeconfig",
        terms.INITIALIZE: f"{'resume initializing' if resume else 'initialize the control plane on'} {on}{where}",
        terms.JOIN: f"{'resume joining' if resume else 'join'} {on}{where}",
        terms.REMOVE: f"{'resume removing' if resume else 'remove'} {on}{where}",
        terms.REMOVE_MEMBER: f"remove etcd member {clip(str(target.get('memberID')), 40)}",
        terms.REMOVE_NODE: f"delete Node {clip(str(target.get('node')), 80)}",
        terms.UPDATE_ADDONS: f"update {' and '.join(terms.ADDON_TITLES.get(each, 'an add-on') for each in target.get('addons') or ())}",
        terms.APPLY_RESOURCE_SETS: f"apply {_listed('ClusterResourceSet', target.get('resourceSets'))} to the cluster",
        terms.RECOVER_SINGLE_VOTER: f"{'resume recovering' if resume else 'recover'} etcd on {on} as the only voter",
        terms.JOIN_WORKERS: f"join {_workers(target)}",
        terms.REMOVE_WORKERS: f"remove {_workers(target)}",
        terms.DELETE_WORKERS: "delete all workers",
        terms.ADOPT: f"adopt {', '.join(target.get('machines') or ())}",
        terms.DELETE_MACHINES: "delete the control plane",
        terms.DELETE_INFRASTRUCTURE: "delete the infrastructure",
    }
    return verbs[decision["action"]]


def _workers(target: Object) -> str:
    """Return a step's workers in words, as "2 new workers"."""
    entries = target.get("workers") or ()
    new = sum(1 for each in entries if not each.get("machine"))
    known = [clip(each["machine"], 80) for each in entries if each.get("machine")]
    told = [f"{new} new worker{'' if new == 1 else 's'}"] if new else []
    told += [f"worker{'' if len(known) == 1 else 's'} {shortened(known, 10)}"] if known else []
    told += [_listed("MachineDeployment", target["deployments"])] if target.get("deployments") else []
    return " and ".join(told)


def _listed(kind: str, names: Any) -> str:
    found = [clip(each, 80) for each in names or ()]
    return f"{kind}{'' if len(found) == 1 else 's'} {', '.join(found)}"


def _held(decision: Object) -> str:
    first, *rest = decision["blockedOn"]
    text = first["message"] + (f" (and {len(rest)} more)" if rest else "")
    if decision["action"] == terms.WAIT:
        return _one_line(f"waiting: {text}")
    if decision["action"] == terms.POSTPONED:
        text = f"postponed: {text}"
    return _one_line(text + (f". To do: {first['fix']}" if first.get("fix") else ""))


def way_out(decision: Object) -> str:
    """Return the remedy for the reason that is waited for.

    A sentence with a space after it; "" where the user can only wait.
    """
    fix = next((each["fix"] for each in decision.get("blockedOn") or () if each.get("fix")), "")
    return _one_line(f"To do, if it does not come by itself: {fix}") + " " if fix else ""


def _one_line(text: str) -> str:
    return one_line(" ".join(text.split()))
