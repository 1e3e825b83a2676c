# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Events for rulebooks: what objects and alerts ask for, and that nothing of others' text is in them."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.events import cluster_events

Object = dict[str, t.Any]
UNHEALTHY, DRIFT = ["Broken"], ["Missing"]


def marks(*false: str, **metadata: t.Any) -> Object:
    """A Machine with these conditions False."""
    conditions = [{"type": each, "status": "False"} for each in false]
    return {
        "metadata": {"name": "prod-1", "namespace": "default", **metadata},
        "spec": {"clusterName": "prod"},
        "status": {"conditions": conditions},
    }


def check(expected: t.Any, healthy: t.Any, allowed: t.Any) -> Object:
    """A MachineHealthCheck with that status."""
    status = {"expectedMachines": expected, "currentHealthy": healthy, "remediationsAllowed": allowed}
    return {"metadata": {"name": "check", "namespace": "default"}, "spec": {"clusterName": "prod"}, "status": status}


def control_plane(generation: int, observed: int, **metadata: t.Any) -> Object:
    """A KubeadmControlPlane whose spec a run has seen in that generation."""
    labels = {"cluster.x-k8s.io/cluster-name": "prod"}
    return {
        "metadata": {"name": "cp", "namespace": "default", "labels": labels, "generation": generation, **metadata},
        "status": {"observedGeneration": observed},
    }


def asks(found: Object | None) -> str:
    """What an event asks for."""
    return "" if found is None else "+".join(each for each in ("unhealthy", "drift") if found[each])


@pytest.mark.parametrize(
    ("kind", "obj", "wanted"),
    [
        ("Machine", marks(), ""),
        ("Machine", marks("HealthCheckSucceeded"), ""),
        ("Machine", marks("OwnerRemediated"), ""),
        ("Machine", marks("HealthCheckSucceeded", "OwnerRemediated"), "unhealthy"),
        ("Machine", marks(annotations={"cluster.x-k8s.io/remediate-machine": ""}), "unhealthy"),
        (
            "Machine",
            marks("HealthCheckSucceeded", "OwnerRemediated", deletionTimestamp="2026-01-01T00:00:00Z"),
            "drift",
        ),
        ("MachineHealthCheck", check(3, 3, 1), ""),
        ("MachineHealthCheck", check(3, 2, 1), "unhealthy"),
        ("MachineHealthCheck", check(3, 1, 0), ""),
        ("MachineHealthCheck", check("3", None, "{{ 1 }}"), ""),
        ("KubeadmControlPlane", control_plane(2, 2), ""),
        ("KubeadmControlPlane", control_plane(2, 1), "drift"),
        ("KubeadmControlPlane", control_plane(3, 2, deletionTimestamp="2026-01-01T00:00:00Z"), ""),
    ],
)
def test_what_objects_ask_for(kind: str, obj: Object, wanted: str) -> None:
    assert asks(cluster_events.of_object(obj, kind)) == wanted


def test_a_machine_of_no_cluster_has_no_event() -> None:
    machine = {**marks("HealthCheckSucceeded", "OwnerRemediated"), "spec": {}}
    assert cluster_events.of_object(machine, "Machine") is None
    owned = {**machine, "metadata": {**machine["metadata"], "ownerReferences": [{"kind": "Cluster", "name": "prod"}]}}
    assert (cluster_events.of_object(owned, "Machine") or {})["cluster"] == "prod"


def alert(cluster: t.Any = "prod", name: t.Any = "Broken", status: str = "firing", **others: t.Any) -> Object:
    """An alert as an Alertmanager sends it."""
    labels = {"alertname": name, "cluster_namespace": "default", "cluster_name": cluster, **others}
    return {"status": status, "labels": labels, "annotations": {"summary": "{{ 6 * 7 }}"}, "meta": {"hosts": "all"}}


def told(*alerts: t.Any) -> list[str]:
    """What is told of alerts: the clusters, each with what is asked for."""
    found, _without = cluster_events.of_alerts({"alerts": list(alerts)}, UNHEALTHY, DRIFT)
    return [f"{each['namespace']}/{each['cluster']} {asks(each)}" for each in found]


def test_alerts_are_told_once_a_cluster() -> None:
    storm = [alert(instance=str(number)) for number in range(100)]
    assert told(*storm, alert("stage"), alert(name="Missing"), alert(name="Other"), alert(status="resolved")) == [
        "default/prod unhealthy",
        "default/stage unhealthy",
        "default/prod drift",
    ]
    assert told() == [] and cluster_events.of_alerts("text", UNHEALTHY, DRIFT) == ([], 0)
    # As ansible.eda.alertmanager cuts them.
    assert len(cluster_events.of_alerts(alert(), UNHEALTHY, DRIFT)[0]) == 1


@pytest.mark.parametrize(
    "cluster",
    [
        "all",
        "ungrouped",
        "localhost",
        "control_planes",
        "{{ 6 * 7 }}",
        "prod:!prod",
        "prod,stage",
        "~.*",
        "*",
        "",
        None,
        3,
        ["a"],
        "a" * 254,
        "prod\n",
    ],
)
def test_what_is_no_cluster_s_name_selects_nothing(cluster: t.Any) -> None:
    assert cluster_events.of_alerts({"alerts": [alert(cluster)]}, UNHEALTHY, DRIFT) == ([], 1)
    assert (
        told(alert(cluster_namespace=cluster) if cluster not in cluster_events._NO_CLUSTERS else alert(cluster)) == []
    )


def test_an_event_has_no_text_of_others() -> None:
    hostile = "{{ lookup('pipe', 'id') }}"
    machine = marks(
        "HealthCheckSucceeded", "OwnerRemediated", name=hostile, annotations={"a": hostile}, labels={"b": hostile}
    )
    machine["status"]["conditions"][0]["message"] = hostile
    found = [
        cluster_events.of_object(machine, "Machine"),
        *cluster_events.of_alerts({"alerts": [alert(instance=hostile)]}, UNHEALTHY, DRIFT)[0],
    ]
    assert "{{" not in json.dumps(found) and all(found)
    assert [each and each["meta"] for each in found] == [{"hosts": "prod,default.prod,&control_planes"}] * 2


def test_a_notification_is_bounded() -> None:
    many = [alert(f"c-{number}") for number in range(cluster_events.MOST_ALERTS + 5)]
    assert len(told(*many)) == cluster_events.MOST_ALERTS
