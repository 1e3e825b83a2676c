# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans that are kept in the store, by their digest.

Each is a ConfigMap beside the cluster's objects, so that another run, on another controller, can carry it out (docs/plan.md, "A plan in the store").
"""

from __future__ import annotations

import contextlib
import json
import re
import typing as t

from ....module_utils.common import settings
from ....module_utils.common.values import clip, format_time, parse_time
from ...calls.failure import ControlPlaneFailure
from ...decision.plan.document import digest
from ...decision.plan.validate import check_plan
from ...objects import kinds
from ...store.base import AlreadyExists, NotFound, Store
from ..cluster_objects import CLUSTER, CLUSTER_LABEL, Object, delete_finally
from ..resource_sets.stored_resource_sets import CONFIG_MAP

CONTENT = "plan.json"
NEW_PLAN = (
    "Nothing was done. Make a plan with the playbook kubeadm.control_plane.plan and -e control_plane_keep_plan=true (in an AWX job it is kept "
    "without that), read it, then reconcile with the digest that it prints."
)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
# So much of the digest is in the object's name and label.
_SHORT = slice(len("sha256:"), len("sha256:") + 16)


def chosen(given: t.Any, host: str) -> t.Optional[str]:
    """Return the digest of the plan for a cluster's run.

    None where the run was given no plan.

    Args:
        given: a digest, or digests by the clusters' inventory names, as plan hands them on; None where there is no plan. "" is none that got lost: what
            a shell or a survey makes of a value that isn't there.
        host: the cluster's inventory name.

    Raises:
        ControlPlaneFailure: it is none of these, or names no plan of this cluster.
    """
    if given is None:
        return None
    if given == "":
        raise ControlPlaneFailure(
            f"control_plane_plan is given and empty, so no plan of {host} was approved. {NEW_PLAN} To reconcile without a plan, leave the variable away."
        )
    if isinstance(given, t.Mapping):
        if host not in given:
            approved = ", ".join(clip(each, 80) for each in sorted(map(str, given))) or "no cluster"
            raise ControlPlaneFailure(
                f"no plan of {host} was approved: control_plane_plan has plans of {clip(approved, 400)}. {NEW_PLAN}"
            )
        given = given[host]
    if not isinstance(given, str) or not _DIGEST.fullmatch(given):
        raise ControlPlaneFailure(
            f"control_plane_plan is {clip(given, 100)!r}, which is no digest of a plan (sha256: and 64 hexadecimal digits). Several clusters' digests are "
            f'given by their names: -e \'{{"control_plane_plan": {{"{host}": "sha256:…"}}}}\'. {NEW_PLAN}'
        )
    return str(given)


def keep(store: Store, document: Object) -> str:
    """Keep a plan and return its digest; the oldest are dropped.

    Args:
        store: the cluster's store.
        document: a plan whose new machines have names.

    Raises:
        StoreError: it can't be written.
    """
    value, namespace, cluster = digest(document), str(document["namespace"]), str(document["cluster"])
    owner = store.get(CLUSTER, namespace, cluster)
    others = _others(store, namespace, cluster, value)
    reference = owner and {
        **{key: owner[key] for key in ("apiVersion", "kind")},
        **{key: owner["metadata"][key] for key in ("name", "uid")},
    }
    made: Object = {
        "apiVersion": "v1",
        "kind": CONFIG_MAP[1],
        "metadata": {
            "name": _name(cluster, value),
            "namespace": namespace,
            "labels": {CLUSTER_LABEL: cluster, kinds.LABEL_PLAN: value[_SHORT]},
            "annotations": {kinds.ANNOTATION_PLANNED_AT: _after(others, document["createdAt"])},
            "ownerReferences": [reference] if reference else [],
        },
        "data": {CONTENT: json.dumps(document, separators=(",", ":"), ensure_ascii=False)},
    }

    def renew(stored: Object) -> None:
        stored["data"] = made["data"]
        stored["metadata"].update({key: made["metadata"][key] for key in ("labels", "annotations", "ownerReferences")})

    try:
        store.create(made)
    except AlreadyExists:
        store.modify(CONFIG_MAP, namespace, _name(cluster, value), renew)
    for each in sorted(others, key=_made_at, reverse=True)[settings.PLANS_KEPT - 1 :]:
        with contextlib.suppress(NotFound):
            store.delete(CONFIG_MAP, namespace, each["metadata"]["name"])
    return value


def read(store: Store, namespace: str, cluster: str, value: str) -> Object:
    """Return the kept plan of a digest.

    Raises:
        ControlPlaneFailure: there is none, it is another cluster's, or its content is not what the digest was made of.
    """
    stored = store.get(CONFIG_MAP, namespace, _name(cluster, value))
    if stored is None:
        others = store.list(CONFIG_MAP, namespace, {kinds.LABEL_PLAN: value[_SHORT]})
        named = sorted(str((each["metadata"].get("labels") or {}).get(CLUSTER_LABEL)) for each in others)
        why = (
            f"it is a plan of {namespace}/{clip(named[0], 80)}, not of {namespace}/{cluster}"
            if named
            else f"the store has no such plan of {namespace}/{cluster}; the last {settings.PLANS_KEPT} that were kept are there"
        )
        raise ControlPlaneFailure(f"the plan {value} is not known: {why}. {NEW_PLAN}")
    try:
        document = json.loads((stored.get("data") or {}).get(CONTENT) or "")
    except (TypeError, ValueError):
        document = None
    whose = (namespace, cluster, value)
    if check_plan(document) or (document["namespace"], document["cluster"], digest(document)) != whose:
        raise ControlPlaneFailure(
            f"the plan {value} of {namespace}/{cluster} was changed in the store (ConfigMap {stored['metadata']['name']}) after it was kept. {NEW_PLAN}"
        )
    return t.cast(Object, document)


def note_use(store: Store, namespace: str, cluster: str, value: str, now: str) -> None:
    """Count a plan that is carried out among the newest.

    Else plans that are made while a long run is at work would push it out, and the run would end in the middle.

    Args:
        store: the cluster's store.
        namespace: the cluster's.
        cluster: its name.
        value: the plan's digest.
        now: RFC 3339.
    """

    newest = _after(_others(store, namespace, cluster, value), now)

    def note(stored: Object) -> None:
        stored["metadata"].setdefault("annotations", {})[kinds.ANNOTATION_PLANNED_AT] = newest

    with contextlib.suppress(NotFound):
        store.modify(CONFIG_MAP, namespace, _name(cluster, value), note)


def of_cluster(store: Store, namespace: str, cluster: str) -> list[Object]:
    """Return the ConfigMaps of a cluster's kept plans."""
    found = store.list(CONFIG_MAP, namespace, {CLUSTER_LABEL: cluster})
    return [each for each in found if is_one(each)]


def is_one(obj: Object) -> bool:
    """Return whether an object is a kept plan."""
    return obj["kind"] == CONFIG_MAP[1] and kinds.LABEL_PLAN in (obj["metadata"].get("labels") or {})


def delete_with_cluster(store: Store, namespace: str, cluster: str) -> None:
    """Delete a deleted cluster's kept plans."""
    for each in of_cluster(store, namespace, cluster):
        delete_finally(store, CONFIG_MAP, namespace, each["metadata"]["name"])


def _name(cluster: str, value: str) -> str:
    return f"{cluster}-plan-{value[_SHORT]}"


def _others(store: Store, namespace: str, cluster: str, value: str) -> list[Object]:
    own = _name(cluster, value)
    return [each for each in of_cluster(store, namespace, cluster) if each["metadata"]["name"] != own]


def _after(others: t.Iterable[Object], now: str) -> str:
    """Return a time that is after these plans'.

    It is now, or a second after the newest. They may be of other controllers, whose clocks are ahead.
    """
    times = [parse_time(_made_at(each)[0]) for each in others]
    return format_time(max([parse_time(now) or 0, *(each + 1 for each in times if each is not None)]))


def _made_at(stored: Object) -> tuple[str, str]:
    annotations = stored["metadata"].get("annotations") or {}
    return str(annotations.get(kinds.ANNOTATION_PLANNED_AT) or ""), str(stored["metadata"]["name"])
