# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ClusterResourceSets: what is to be applied to the workload cluster now.

As soon as its API answers, and before anything that may wait for a Node: a network plugin is what Nodes wait for.
Source: docs/reference/cluster_api.md, "ClusterResourceSets".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Optional

from ....module_utils.common import settings
from ....module_utils.common.values import clip, parse_time
from ...objects.conditions import condition
from ...objects.resource_sets import cluster_resource_set, contents
from .. import terms
from ..outcome import Outcome, reason, target
from ..snapshot.typed_snapshot import View

Object = dict[str, Any]
NOT_APPLIED_YET = "ResourcesNotAppliedYet"
RESOURCE_UNUSABLE = "ResourceUnusable"
RESOURCE_REFUSED = "ResourceRefused"
# Reasons of the condition ResourcesApplied (Cluster API's).
APPLIED, NOT_APPLIED, WRONG_SECRET_TYPE, INTERNAL_ERROR = "Applied", "NotApplied", "WrongSecretType", "InternalError"
_WHY_UNUSABLE = {
    contents.MISSING: (
        "the store has none of this name",
        "Add it to the manifest, in the namespace of the set, or correct the name.",
    ),
    contents.WRONG_TYPE: (
        "its type is another one",
        "Make the Secret again with the type addons.cluster.x-k8s.io/resource-set: no other one is applied.",
    ),
    contents.UNREADABLE: (
        "it has no data that could be applied",
        "Write the documents under data, in a Secret as base64.",
    ),
}


def apply_resource_sets(view: View, again: bool = False) -> Optional[Outcome]:
    """Return the step that applies what is due; None where nothing is.

    Args:
        view: the snapshot.
        again: whether what was refused counts, too: it is tried again where no other step can be taken.
    """
    listed_sets = list(_sets(view))
    rests = resting(listed_sets, _controllers_now(view))
    found = [(each, due(each, rests)) for each in listed_sets]
    if not again and not any(not _refused(each) for _set, listed in found for each in listed):
        return None
    found = [(each, listed) for each, listed in found if listed]
    if not found:
        return None
    text = "; ".join(f"{_title(each)}: {', '.join(map(_named, listed))}" for each, listed in found)
    outcome = Outcome(terms.APPLY_RESOURCE_SETS, [reason(NOT_APPLIED_YET, text)])
    outcome.target = {**target(None), "resourceSets": [each["name"] for each, _listed in found]}
    return outcome


def due(resource_set: Object, rests: bool) -> list[Object]:
    """Return the resources of a set that are to be applied.

    What the API server has refused is tried again when it was changed, or unless it `rests`: it may need what comes meanwhile.
    """
    if resource_set.get("paused"):
        return []
    return [each for each in wanted(resource_set) if not (rests and _refused(each))]


def resting(sets: Iterable[Object], now: Optional[int]) -> bool:
    """Return whether what was refused rests at `now`.

    All of a cluster's refused resources rest from the latest attempt at one of them: where all attempts together take longer than the
    rest, the first would otherwise be due again when the last has ended.

    Args:
        sets: all sets of a cluster.
        now: the controller's clock, by which the attempts were recorded; that of the workload API may differ.
    """
    refused = [each for found in sets for each in found["resources"] if _refused(each)]
    tried = [time for each in refused if (time := parse_time(each.get("lastAppliedTime"))) is not None]
    return bool(tried) and now is not None and 0 <= now - max(tried) < settings.RESOURCE_SET_RETRY


def wanted(resource_set: Object) -> list[Object]:
    """Return the resources of a set that are not applied so."""
    again = resource_set["strategy"] == cluster_resource_set.RECONCILE
    return [
        each
        for each in resource_set["resources"]
        if each["state"] == contents.PRESENT
        and (not each.get("applied") or (again and each.get("appliedHash") != each.get("hash")))
    ]


def not_applied(view: View) -> Optional[Outcome]:
    """Return the end of a cluster with resources that can't be applied.

    None where there are none. Nothing else is held up by it.
    """
    found: list[Object] = []
    for each in _sets(view):
        if each.get("paused"):
            continue
        for bad in each["resources"]:
            if bad["state"] != contents.PRESENT:
                why, fix = _WHY_UNUSABLE[bad["state"]]
                text = f"{_title(each)} names {_named(bad)}, and {why}"
                found.append({"reason": RESOURCE_UNUSABLE, "message": text, "fix": fix})
        if any(map(_refused, wanted(each))):
            text = f"{_title(each)} is not applied: {clip(each.get('message'), 1000) or 'the API server refused it'}"
            fix = "Correct what the API server names, in the manifest; or, where it needs what has come meanwhile, run this again in a minute."
            found.append({"reason": RESOURCE_REFUSED, "message": text, "fix": fix})
    if not found:
        return None
    return Outcome(terms.BLOCKED, [reason(found[0]["reason"], found[0]["message"])], blocked_on=found)


def conditions(view: View) -> Object:
    """Return the condition ResourcesApplied of each set, by its name.

    None of a set that is paused, or whose cluster was not asked yet.
    """
    return {each["name"]: found for each in _sets(view) if (found := _condition(each)) is not None}


def states(view: View) -> dict[str, list[str]]:
    """Return what is not applied of each set, for a plan's state.

    Each resource is with its hash.

    A plan is for the contents that it was made for.
    """
    return {
        each["name"]: [f"{_named(left)} {clip(left.get('hash'), 80)}" for left in wanted(each)] for each in _sets(view)
    }


def applied(resource_set: Object, now: str) -> Object:
    """Return a snapshot's set as it is after the step."""
    return {
        **resource_set,
        "resources": [
            {**each, "applied": True, "appliedHash": each["hash"], "lastAppliedTime": now}
            if each["state"] == contents.PRESENT
            else each
            for each in resource_set["resources"]
        ],
    }


def _condition(resource_set: Object) -> Optional[Object]:
    kind, states_found = cluster_resource_set.CONDITION, {each["state"] for each in resource_set["resources"]}
    if resource_set.get("paused"):
        return None
    if contents.WRONG_TYPE in states_found:
        return condition(kind, terms.FALSE, WRONG_SECRET_TYPE, _of(resource_set, contents.WRONG_TYPE))
    for state in (contents.MISSING, contents.UNREADABLE):
        if state in states_found:
            return condition(kind, terms.FALSE, INTERNAL_ERROR, _of(resource_set, state))
    left = wanted(resource_set)
    if not left:
        return condition(kind, terms.TRUE, APPLIED)
    if any(map(_refused, left)):
        return condition(kind, terms.FALSE, NOT_APPLIED, clip(resource_set.get("message"), 1000))
    return None


def _of(resource_set: Object, state: str) -> str:
    named = ", ".join(_named(each) for each in resource_set["resources"] if each["state"] == state)
    return f"{named}: {_WHY_UNUSABLE[state][0]}"


def _refused(resource: Object) -> bool:
    """Return whether a resource was tried as it is now, and refused."""
    return bool(
        not resource.get("applied")
        and resource.get("lastAppliedTime")
        and resource.get("appliedHash") == resource.get("hash")
    )


def _controllers_now(view: View) -> Optional[int]:
    return parse_time(view.raw.get("observedAt") or view.raw.get("now"))


def _sets(view: View) -> Iterator[Object]:
    yield from view.raw.get("resourceSets") or ()


def _title(resource_set: Object) -> str:
    return f"ClusterResourceSet {clip(resource_set['name'], 80)}"


def _named(resource: Object) -> str:
    return f"{resource['kind']} {clip(resource['name'], 80)}"
