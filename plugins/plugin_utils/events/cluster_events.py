# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Events for rulebooks: a cluster, and what is asked for (docs/eda.md).

Whoever writes an object or sends an alert is not trusted. ansible-rulebook hands the whole event to the playbook as a variable, where its
texts are templates, and takes the limit of the run from it. So an event is made again, of RFC 1123 names and of words of this file alone.
"""

from __future__ import annotations

import typing as t

from ...module_utils.common.values import annotations_of, condition_of
from ..documents.names import is_dns_label, is_dns_subdomain
from ..objects import conditions, kinds

Object = dict[str, t.Any]
# Ansible's own; every other name of a host or group that clusters don't have selects none (docs/fleet.md).
_NO_CLUSTERS = ("all", "ungrouped", "localhost")
_CLUSTERS = "control_planes"
# Of an Alertmanager's notification; it bundles all alerts of a group.
MOST_ALERTS = 1000
_LONGEST_ALERT_NAME = 100
_SHOWN = 5


def event(namespace: t.Any, cluster: t.Any, of: str, name: str, *, unhealthy: bool, drift: bool) -> Object | None:
    """Return an event, None where the names are no cluster's.

    Args:
        namespace: the Cluster's namespace.
        cluster: the Cluster's name.
        of: the kind of what was seen: an object's, or Alert.
        name: its name; one that is not safe is left out.
        unhealthy: a machine may have to be replaced.
        drift: something else is to be done.
    """
    if not (isinstance(namespace, str) and isinstance(cluster, str)):
        return None
    if not is_dns_label(namespace) or not is_dns_subdomain(cluster) or cluster in _NO_CLUSTERS:
        return None
    return {
        "kind": of,
        "name": name if is_dns_subdomain(name) else "",
        "namespace": namespace,
        "cluster": cluster,
        "unhealthy": unhealthy,
        "drift": drift,
        "meta": {"hosts": _limit(namespace, cluster)},
    }


def _limit(namespace: str, cluster: str) -> str:
    """Return the limit of a cluster's run.

    A cluster is called NAMESPACE.NAME where the inventory has two of that name.
    """
    return f"{cluster},{namespace}.{cluster},&{_CLUSTERS}"


def others_selected(limit: t.Any, selected: t.Mapping[str, tuple[str, str]]) -> str:
    """Return what an event's limit selects besides its cluster, as text.

    It is "" where that is nothing. Ansible takes the name for a group's too, and a cluster's host may be another namespace's.

    Args:
        limit: the run's limit; one that no event has is the user's own, and is not checked.
        selected: the selected clusters' namespaces and names, by host.
    """
    cluster, _comma, rest = str(limit or "").partition(",")
    namespace = rest.partition(".")[0]
    if limit != _limit(namespace, cluster):
        return ""
    others = sorted(host for host, key in selected.items() if key != (namespace, cluster))
    if not others:
        return ""
    shown = ", ".join(others[:_SHOWN]) + (f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else "")
    return (
        f"The limit is that of an event of the cluster {namespace}/{cluster}, and selects {shown}, which is not that one. Nothing was done. Either a group "
        f"of the inventory is called {cluster}, too: give it another name. Or the inventory does not have the cluster: then whoever sent the event is to "
        "be corrected."
    )


def of_object(obj: t.Mapping[str, t.Any], kind: str) -> Object | None:
    """Return a stored object's event, None where it asks for nothing.

    Args:
        obj: a Machine of a control plane, a MachineHealthCheck or a KubeadmControlPlane.
        kind: its kind, which objects in lists don't say.
    """
    metadata = obj.get("metadata") or {}
    unhealthy, drift = _ASKS[kind](dict(obj))
    if not unhealthy and not drift:
        return None
    return event(
        metadata.get("namespace"),
        _cluster_of(obj),
        kind,
        str(metadata.get("name") or ""),
        unhealthy=unhealthy,
        drift=drift,
    )


def of_alerts(payload: t.Any, unhealthy: t.Collection[str], drift: t.Collection[str]) -> tuple[list[Object], int]:
    """Return the events of an Alertmanager's notification, one a cluster.

    Args:
        payload: the notification, or an alert alone.
        unhealthy: names of alerts that ask for health checks and remediation.
        drift: names of alerts that ask for a reconcile.

    Returns:
        The events, and the number of alerts that fire, have one of these names and name no cluster.
    """
    sent = payload.get("alerts", [payload]) if isinstance(payload, dict) else []
    found: dict[tuple[str, str, bool, bool], Object] = {}
    without = 0
    for alert in sent[:MOST_ALERTS] if isinstance(sent, list) else []:
        labels = alert.get("labels") if isinstance(alert, dict) else None
        if not isinstance(labels, dict) or alert.get("status") != "firing":
            continue
        name = labels.get("alertname")
        if not isinstance(name, str) or name not in (*unhealthy, *drift):
            continue
        made = event(
            labels.get("cluster_namespace"),
            labels.get("cluster_name"),
            "Alert",
            "",
            unhealthy=name in unhealthy,
            drift=name in drift,
        )
        if made is None:
            without += 1
            continue
        # The rulebook's own word, as it is in its list.
        made["name"] = name[:_LONGEST_ALERT_NAME]
        found.setdefault((made["namespace"], made["cluster"], made["unhealthy"], made["drift"]), made)
    return list(found.values()), without


def _cluster_of(obj: t.Mapping[str, t.Any]) -> t.Any:
    metadata, spec = obj.get("metadata") or {}, obj.get("spec") or {}
    owners = [each.get("name") for each in metadata.get("ownerReferences") or () if each.get("kind") == kinds.CLUSTER]
    named = (spec.get("clusterName"), (metadata.get("labels") or {}).get(kinds.LABEL_CLUSTER_NAME), *owners)
    return next((each for each in named if each), None)


def _of_machine(machine: Object) -> tuple[bool, bool]:
    """Read a Machine: marked or annotated for replacement; deleted."""
    if (machine.get("metadata") or {}).get("deletionTimestamp"):
        return False, True
    marked = all(
        condition_of(machine, each).get("status") == conditions.FALSE
        for each in (conditions.HEALTH_CHECK_SUCCEEDED, conditions.OWNER_REMEDIATED)
    )
    return marked or kinds.ANNOTATION_REMEDIATE_MACHINE in annotations_of(machine), False


def _of_health_check(check: Object) -> tuple[bool, bool]:
    """Read a MachineHealthCheck: unhealthy machines that it allows to remediate."""
    status = check.get("status") or {}
    expected, healthy, allowed = (
        found if isinstance(found := status.get(each), int) else 0
        for each in ("expectedMachines", "currentHealthy", "remediationsAllowed")
    )
    return healthy < expected and allowed > 0, False


def _of_control_plane(control_plane: Object) -> tuple[bool, bool]:
    """Read a KubeadmControlPlane: a spec that no run has seen.

    A deletion is a schedule's or a person's to carry out.
    """
    metadata, status = control_plane.get("metadata") or {}, control_plane.get("status") or {}
    return False, not metadata.get("deletionTimestamp") and metadata.get("generation") != status.get(
        "observedGeneration"
    )


_ASKS: t.Mapping[str, t.Callable[[Object], tuple[bool, bool]]] = {
    kinds.MACHINE: _of_machine,
    kinds.MACHINE_HEALTH_CHECK: _of_health_check,
    kinds.KUBEADM_CONTROL_PLANE: _of_control_plane,
}
KINDS: tuple[tuple[str, str, str], ...] = (
    (kinds.GROUP_CLUSTER, kinds.MACHINE, kinds.LABEL_CONTROL_PLANE),
    (kinds.GROUP_CLUSTER, kinds.MACHINE_HEALTH_CHECK, ""),
    (kinds.GROUP_CONTROL_PLANE, kinds.KUBEADM_CONTROL_PLANE, ""),
)
