# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stored ClusterResourceSets, what they name, and the binding of a cluster.

A set belongs to every Cluster of its namespace that it selects. The binding, which has the cluster's name, says what was
applied to it. Source: docs/reference/cluster_api.md, "ClusterResourceSets".
"""

from __future__ import annotations

import typing as t

from ....module_utils.common import settings
from ....module_utils.common.values import parse_time
from ....module_utils.common.violations import Violation
from ...decision.removal.deleted_control_plane import deleted_control_plane, keeps_its_etcd
from ...decision.rollout import resource_sets as rules
from ...objects import kinds
from ...objects.conditions import set_condition
from ...objects.manifest.reader import ClusterManifest
from ...objects.resource_sets import cluster_resource_set, contents
from ...objects.user_annotations import FROM_MANIFEST
from ...store.base import Store
from ..cluster_objects import CLUSTER, CLUSTER_LABEL, SECRET, ClusterObjects, Object, delete_finally

RESOURCE_SET = (kinds.GROUP_ADDONS, kinds.CLUSTER_RESOURCE_SET)
BINDING = (kinds.GROUP_ADDONS, kinds.CLUSTER_RESOURCE_SET_BINDING)
CONFIG_MAP = ("", kinds.CONFIG_MAP)
_REFS = {kinds.SECRET: SECRET, kinds.CONFIG_MAP: CONFIG_MAP}
# The reasons of the older contract, by those of v1beta2.
_OLDER = {
    rules.NOT_APPLIED: "ApplyFailed",
    rules.WRONG_SECRET_TYPE: "WrongSecretType",
    rules.INTERNAL_ERROR: "RetrievingResourceFailed",
}


def of_cluster(store: Store, cluster: Object) -> list[Object]:
    """Return the sets that select a stored Cluster, by name.

    Those that are being deleted are none of it any more.
    """
    found = [
        each
        for each in store.list(RESOURCE_SET, _namespace(cluster))
        if cluster_resource_set.selects(each, cluster) and not each["metadata"].get("deletionTimestamp")
    ]
    return sorted(found, key=lambda each: str(each["metadata"]["name"]))


def resource(store: Store, namespace: str, kind: str, name: str) -> t.Optional[Object]:
    """Return a ConfigMap or Secret of a set's namespace, None without one."""
    return store.get(_REFS[kind], namespace, name)


def facts(store: Store, cluster: Object, gone: bool = False) -> list[Object]:
    """Return the ``resourceSets`` of a snapshot.

    What is to be applied, by hash, and what was. No value of a ConfigMap or Secret is in it. `gone`: whether all that was applied is gone.
    """
    sets = of_cluster(store, cluster)
    if not sets:
        return []
    namespace, name = _namespace(cluster), str(cluster["metadata"]["name"])
    bound = {} if gone else _bound(store.get(BINDING, namespace, name))
    return [
        {
            "name": str(each["metadata"]["name"]),
            "strategy": str(each["spec"].get("strategy") or cluster_resource_set.APPLY_ONCE),
            "paused": kinds.is_flagged(each, kinds.ANNOTATION_PAUSED),
            "message": _refusal(each, cluster),
            "resources": [
                _resource_facts(store, namespace, key, bound.get((str(each["metadata"]["name"]), *key), {}))
                for key in cluster_resource_set.references(each)
            ],
        }
        for each in sets
    ]


def went_with_etcd(objects: ClusterObjects) -> bool:
    """Return whether what was applied is gone with its etcd.

    By the deletion of its control plane. The binding is the Cluster's, which stays (docs/store.md).
    """
    control_plane = objects.control_plane or {}
    if keeps_its_etcd(objects.cluster, control_plane):
        return False
    return deleted_control_plane(objects.cluster, control_plane, bool(objects.machines)) is not None


def forget_applied(store: Store, cluster: Object, since: str = "") -> None:
    """Forget what was applied to an etcd that is gone.

    So that it is applied again. ``since``: RFC 3339; what was applied before is still there. Clocks may differ. "" for all.
    """
    namespace, name = _identity(cluster)
    if store.get(BINDING, namespace, name) is None:
        return
    start = (parse_time(since) or 0) - settings.CLOCK_SKEW_SECONDS

    def write(stored: Object) -> None:
        kept = []
        for entry in stored["spec"].get("bindings") or []:
            times = [(each, parse_time(each.get("lastAppliedTime"))) for each in entry.get("resources") or []]
            left = [each for each, time in times if time is not None and time < start]
            kept += [{**entry, "resources": left}] if left else []
        stored["spec"]["bindings"] = kept

    store.modify(BINDING, namespace, name, write)


def _resource_facts(store: Store, namespace: str, key: tuple[str, str], bound: Object) -> Object:
    found = resource(store, namespace, *key)
    state = contents.state_of(found)
    return {
        "kind": key[0],
        "name": key[1],
        "state": state,
        "hash": contents.content_hash(found) if found is not None and state == contents.PRESENT else "",
        "applied": bound.get("applied") is True,
        "appliedHash": str(bound.get("hash") or ""),
        **({"lastAppliedTime": bound["lastAppliedTime"]} if bound.get("lastAppliedTime") else {}),
    }


def _refusal(resource_set: Object, cluster: Object) -> str:
    """Return why a resource was refused for this cluster."""
    condition = _condition(resource_set)
    if condition.get("reason") != rules.NOT_APPLIED:
        return ""
    title, _colon, said = str(condition.get("message") or "").partition(": ")
    return said if title == _title(cluster) else ""


def _bound(binding: t.Optional[Object]) -> dict[tuple[str, str, str], Object]:
    return {
        (str(entry.get("clusterResourceSetName")), str(each.get("kind")), str(each.get("name"))): each
        for entry in ((binding or {}).get("spec") or {}).get("bindings") or []
        for each in entry.get("resources") or []
    }


def own(store: Store, resource_set: Object, found: t.Sequence[Object]) -> None:
    """Make a set an owner of what it names.

    As Cluster API does.

    What names no owner would be left behind by ``clusterctl move``, and by a deletion of the set in an API.
    """
    reference = _owner(resource_set)
    for each in found:
        if reference in (each["metadata"].get("ownerReferences") or []):
            continue

        def add(stored: Object) -> None:
            _add_owner(stored, reference)

        store.modify(_REFS[each["kind"]], str(each["metadata"]["namespace"]), str(each["metadata"]["name"]), add)


def record(store: Store, cluster: Object, resource_set: Object, resources: t.Sequence[Object]) -> None:
    """Write into the cluster's binding what was tried.

    Args:
        store: the store.
        cluster: the stored Cluster.
        resource_set: the stored set.
        resources: ``kind``, ``name``, ``hash``, ``applied`` and ``lastAppliedTime`` of each.
    """
    namespace, name = _namespace(cluster), str(cluster["metadata"]["name"])
    set_name = str(resource_set["metadata"]["name"])
    if store.get(BINDING, namespace, name) is None:
        store.create(
            {
                "apiVersion": kinds.API_ADDONS,
                "kind": kinds.CLUSTER_RESOURCE_SET_BINDING,
                "metadata": {
                    "name": name,
                    "namespace": namespace,
                    "labels": {CLUSTER_LABEL: name},
                    "ownerReferences": [_owner(resource_set)],
                },
                "spec": {"clusterName": name, "bindings": []},
            }
        )
    new = {(each["kind"], each["name"]): dict(each) for each in resources}

    def write(stored: Object) -> None:
        _add_owner(stored, _owner(resource_set))
        bindings = stored["spec"].setdefault("bindings", [])
        entry = next((each for each in bindings if each.get("clusterResourceSetName") == set_name), None)
        if entry is None:
            entry = {"clusterResourceSetName": set_name, "resources": []}
            bindings.append(entry)
        kept = [each for each in entry.get("resources") or [] if (each.get("kind"), each.get("name")) not in new]
        entry["resources"] = [*kept, *new.values()]

    store.modify(BINDING, namespace, name, write)


def write_status(store: Store, cluster: Object, conditions: t.Mapping[str, Object], now: str) -> None:
    """Write the condition of each set of a cluster, in both contracts.

    What another cluster that the set selects lacks is not overwritten by this one's success.

    Args:
        store: the store.
        cluster: the stored Cluster.
        conditions: by the set's name, as a decision has them.
        now: since when, where it is new.
    """
    for name, condition in conditions.items():
        message = f"{_title(cluster)}: {condition['message']}" if condition["message"] else ""

        if condition["status"] == "True" and _is_anothers(store, cluster, name):
            continue

        def write(stored: Object, condition: Object = condition, message: str = message) -> None:
            kind, status = cluster_resource_set.CONDITION, condition["status"]
            set_condition(stored, kind, status, condition["reason"], message, now)
            _write_older(stored, status, condition["reason"], message)
            if isinstance(stored["metadata"].get("generation"), int):
                stored["status"]["observedGeneration"] = stored["metadata"]["generation"]

        store.modify(RESOURCE_SET, _namespace(cluster), name, write)


def _is_anothers(store: Store, cluster: Object, name: str) -> bool:
    """Return whether a set's condition tells what another Cluster lacks.

    It stays until that one has it, or is not selected any more. Otherwise each of a fleet's settled clusters would find it to be
    written in every run.
    """
    stored = store.get(RESOURCE_SET, _namespace(cluster), name) or {}
    title = str(_condition(stored).get("message") or "").partition(": ")[0]
    other = title.rpartition("/")[2]
    if not other or title == _title(cluster) or title != f"Cluster {_namespace(cluster)}/{other}":
        return False
    found = store.get(CLUSTER, _namespace(cluster), other)
    return found is not None and cluster_resource_set.selects(stored, found)


def _condition(resource_set: Object) -> Object:
    listed = (resource_set.get("status") or {}).get("conditions") or []
    return next((each for each in listed if each.get("type") == cluster_resource_set.CONDITION), {})


def _write_older(stored: Object, status: str, reason: str, message: str) -> None:
    current = next(each for each in stored["status"]["conditions"] if each["type"] == cluster_resource_set.CONDITION)
    older: Object = {
        "type": cluster_resource_set.CONDITION,
        "status": status,
        "lastTransitionTime": current["lastTransitionTime"],
    }
    if status != "True":
        older.update(severity="Warning", reason=_OLDER.get(reason, reason), message=message)
    stored["status"].setdefault("deprecated", {}).setdefault("v1beta1", {})["conditions"] = [older]


def update_violations(store: Store, manifest: ClusterManifest) -> list[Violation]:
    """Return violations for changes of what a set keeps for good.

    Source: docs/reference/cluster_api.md, "ClusterResourceSets".
    """
    violations: list[Violation] = []
    for desired in manifest.resource_sets:
        metadata = desired["metadata"]
        stored = store.get(RESOURCE_SET, str(metadata["namespace"]), str(metadata["name"]))
        before = (stored or {}).get("spec") or {}
        for field in ("clusterSelector", "strategy") if before else ():
            default = cluster_resource_set.APPLY_ONCE if field == "strategy" else None
            if (before.get(field) or default) != desired["spec"].get(field):
                report = manifest.report(desired)
                shown = desired["spec"].get(field) if field == "strategy" else None
                report.add(f"spec.{field}", shown, "this can't be changed", "Give the set another name.")
                violations += report.violations
    return violations


def delete_others(store: Store, manifest: ClusterManifest) -> list[str]:
    """Delete the sets that left the manifest; return the changes in words.

    Only those that a manifest gave, and that select no other Cluster. What they have applied stays in the workload cluster.
    """
    wanted = {str(each["metadata"]["name"]) for each in manifest.resource_sets}
    stored = store.get(CLUSTER, *_identity(manifest.cluster)) or manifest.cluster
    return _delete(store, stored, lambda each: str(each["metadata"]["name"]) not in wanted)


def delete_with_cluster(store: Store, cluster: Object) -> list[str]:
    """Delete a deleted Cluster's binding, and its manifest's own sets."""
    namespace, name = _identity(cluster)
    changes = _delete(store, cluster, lambda _each: True)
    if delete_finally(store, BINDING, namespace, name):
        changes.append(f"delete {BINDING[1]} {name}")
    return changes


def for_alone(store: Store, cluster: Object) -> list[Object]:
    """Return the sets that select this Cluster and no other one."""
    return _alone(store, cluster, of_cluster(store, cluster))


def _alone(store: Store, cluster: Object, sets: list[Object]) -> list[Object]:
    """Return those of a Cluster's sets that select no other one.

    The other Clusters are read only where there is something to ask of them: a fleet's glance comes here for each.
    """
    if not sets:
        return []
    others = [
        each
        for each in store.list(CLUSTER, _namespace(cluster))
        if each["metadata"]["name"] != cluster["metadata"]["name"]
    ]
    return [each for each in sets if not any(cluster_resource_set.selects(each, other) for other in others)]


def _delete(store: Store, cluster: Object, gone: t.Callable[[Object], bool]) -> list[str]:
    namespace, name = _identity(cluster)
    leaving = _alone(store, cluster, [each for each in of_cluster(store, cluster) if _given(each) and gone(each)])
    changes = []
    for each in leaving:
        own_name = str(each["metadata"]["name"])
        _forget(store, namespace, name, own_name)
        delete_finally(store, RESOURCE_SET, namespace, own_name)
        changes.append(f"delete {RESOURCE_SET[1]} {namespace}/{own_name}")
    if not leaving:
        return changes
    named = {key for each in store.list(RESOURCE_SET, namespace) for key in cluster_resource_set.references(each)}
    for key in dict.fromkeys(key for each in leaving for key in cluster_resource_set.references(each)):
        found = resource(store, namespace, *key)
        if found is not None and key not in named and _given(found):
            delete_finally(store, _REFS[key[0]], namespace, key[1])
            changes.append(f"delete {key[0]} {namespace}/{key[1]}")
    return changes


def _forget(store: Store, namespace: str, cluster: str, resource_set: str) -> None:
    if store.get(BINDING, namespace, cluster) is None:
        return

    def write(stored: Object) -> None:
        bindings = stored["spec"].get("bindings") or []
        stored["spec"]["bindings"] = [each for each in bindings if each.get("clusterResourceSetName") != resource_set]
        owners = stored["metadata"].get("ownerReferences") or []
        stored["metadata"]["ownerReferences"] = [each for each in owners if each.get("name") != resource_set]

    store.modify(BINDING, namespace, cluster, write)


def _given(obj: Object) -> bool:
    """Return whether a manifest gave an object."""
    return FROM_MANIFEST in (obj["metadata"].get("annotations") or {})


def _add_owner(stored: Object, reference: Object) -> None:
    owners = stored["metadata"].get("ownerReferences") or []
    if reference not in owners:
        others = [
            each for each in owners if (each.get("kind"), each.get("name")) != (reference["kind"], reference["name"])
        ]
        stored["metadata"]["ownerReferences"] = [*others, reference]


def _owner(resource_set: Object) -> Object:
    metadata = resource_set["metadata"]
    return {
        "apiVersion": kinds.API_ADDONS,
        "kind": kinds.CLUSTER_RESOURCE_SET,
        "name": str(metadata["name"]),
        "uid": str(metadata["uid"]),
    }


def _namespace(cluster: Object) -> str:
    return str(cluster["metadata"].get("namespace") or "default")


def _identity(cluster: Object) -> tuple[str, str]:
    return _namespace(cluster), str(cluster["metadata"]["name"])


def _title(cluster: Object) -> str:
    return "Cluster {}/{}".format(*_identity(cluster))
