# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real Prometheus with the shipped rules beside three real machines, of which one dies; what it says is done by a person, or by a rulebook."""

from __future__ import annotations

import datetime
import json
import shlex
import typing as t
from pathlib import Path

import pytest
from etcd_cluster import until
from machines import Machines
from prometheus import Monitoring
from rulebooks import RUN_SECONDS, Alertmanager, Rulebook, Started, alertmanager_of_rulebook
from workspace import Workspace

from .conftest import NAME

pytestmark = pytest.mark.full
FOLDER = "metrics"
METRICS = ("-e", f"control_plane_metrics_directory={FOLDER}")
alertmanager = alertmanager_of_rulebook
ALERT = "ControlPlaneEtcdNoFailureTolerance"
# There is no backup, and etcd has no alarm.
NOTHING_SAID = {"Age of the last backup and snapshot A", "Leader, endpoint, alarms C"}


@pytest.fixture
def monitoring(workspace: Workspace, three: Machines, tmp_path: Path) -> t.Iterator[Monitoring]:
    """Prometheus and node_exporter at work, over what was observed of the three."""
    assert len(three.names()) == 3
    made = Monitoring(tmp_path, metrics_of(workspace))
    yield made
    made.end()


def metrics_of(workspace: Workspace) -> Path:
    """The folder of the runs' metrics."""
    folder = workspace.folder / FOLDER
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def rulebook(workspace: Workspace, tmp_path: Path) -> t.Iterator[Rulebook]:
    """The rulebook ``alerts``, whose runs write metrics."""
    inventory = {"manifests": [f"{workspace.folder}/clusters/*.yaml"], "store": {"path": str(workspace.store)}}
    variables = {"control_plane_metrics_directory": str(metrics_of(workspace))}
    made = Rulebook("alerts", inventory, variables, {}, tmp_path / "rulebook")
    yield made.wait_ready()
    made.end()


@pytest.fixture
def alarming(workspace: Workspace, alertmanager: Alertmanager, tmp_path: Path) -> t.Iterator[Monitoring]:
    """Prometheus and node_exporter at work, which tell the Alertmanager of the one alert."""
    (folder := tmp_path / "prometheus").mkdir()
    made = Monitoring(folder, metrics_of(workspace), alertmanager.address, ALERT)
    yield made
    made.end()


def silent_seconds(machines: Machines, name: str) -> float:
    """Since when a Node has not been heard of; 0 while it is Ready."""
    conditions = json.loads(machines.kubectl("get", "node", name, "-o", "json"))["status"]["conditions"]
    [ready] = [each for each in conditions if each["type"] == "Ready"]
    if ready["status"] == "True":
        return 0.0
    since = datetime.datetime.fromisoformat(ready["lastTransitionTime"].replace("Z", "+00:00"))
    return (datetime.datetime.now(datetime.timezone.utc) - since).total_seconds()


def test_an_alert_fires_when_a_machines_power_is_cut_and_clears_when_another_is_there(
    workspace: Workspace, three: Machines, monitoring: Monitoring
) -> None:
    """The dashboard's questions have answers before. The commands are those of the alert, as it fires."""
    workspace.playbook("reconcile", *METRICS).succeeded()
    monitoring.until_value("kubeadm_control_plane_etcd_failure_tolerance", "1")
    monitoring.until_answered(but=NOTHING_SAID)
    assert ALERT not in monitoring.alerts()

    before, victim = three.names(), three.etcd_leader()
    three.cut_power(victim)
    workspace.playbook("metrics", *METRICS).succeeded()
    fired = monitoring.until_alerts("the alert fires", lambda alerts: alerts.get(ALERT))
    assert fired["labels"]["cluster_name"] == NAME and fired["labels"]["store"] == str(workspace.store)
    assert monitoring.value("kubeadm_control_plane_etcd_healthy_voters") == "2"
    assert "ControlPlaneEtcdQuorumLost" not in monitoring.alerts()

    *_others, remedy = fired["annotations"]["to_type"].replace("\\\n", "").splitlines()
    # Local machines need no inventory of hosts.
    typed = shlex.split(remedy.replace("MACHINE", victim).replace("-i hosts.yml ", ""))
    Workspace.run([*typed, *METRICS], workspace.folder).succeeded()
    monitoring.until_alerts("the alert clears", lambda alerts: ALERT not in alerts)
    assert monitoring.value("kubeadm_control_plane_etcd_healthy_voters") == "3"
    assert victim not in three.names() and len(three.names()) == len(before)
    assert monitoring.value("node_textfile_scrape_error") == "0"


def test_a_rulebook_replaces_a_machine_whose_power_is_cut_and_is_not_moved_by_a_second_alert(
    workspace: Workspace, three: Machines, rulebook: Rulebook, alertmanager: Alertmanager, alarming: Monitoring
) -> None:
    """From Prometheus by the Alertmanager to ansible-rulebook, with nobody who types anything."""
    limit = f"{NAME},default.{NAME},&control_planes"
    workspace.playbook("reconcile", *METRICS).succeeded()
    alarming.until_value("kubeadm_control_plane_etcd_failure_tolerance", "1")
    before, victim = three.names(), three.etcd_leader()
    three.cut_power(victim)
    # The alert itself waits a quarter of an hour, by which the health check's timeouts are over.
    until("the Node is silent for longer than its health check allows", lambda: silent_seconds(three, victim) > 6, 240)
    workspace.playbook("metrics", *METRICS).succeeded()
    fired = alarming.until_alerts("the alert fires", lambda alerts: alerts.get(ALERT))

    assert rulebook.until_started(1)[0] == Started("health_check", limit)
    told = alertmanager.told()
    alertmanager.fire({**fired["labels"], "instance": "another"})
    until("the second alert was sent", lambda: alertmanager.told() > told)
    until("the machine is replaced", lambda: victim not in three.names() and len(three.names()) == 3, RUN_SECONDS)
    until("the run is over", lambda: alarming.value("kubeadm_control_plane_etcd_healthy_voters") == "3", RUN_SECONDS)
    now = three.names()
    assert len(set(now) - set(before)) == 1
    assert three.ready_nodes() == now and [each["name"] for each in three.etcd_members()] == now

    # What is told of another cluster is told after all that came before.
    alertmanager.fire({"alertname": ALERT, "cluster_namespace": "default", "cluster_name": "lab-other"})
    until(
        "another one's runs are started",
        lambda: len([1 for each in rulebook.started() if "lab-other" in each.limit]) == 2,
        RUN_SECONDS,
    )
    of_this = [each for each in rulebook.started() if each.limit == limit]
    assert of_this == [Started("health_check", limit), Started("remediate", limit)]
