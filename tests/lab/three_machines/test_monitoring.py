# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real Prometheus with the shipped rules beside three real machines, of which one dies."""

from __future__ import annotations

import shlex
import typing as t
from pathlib import Path

import pytest
from machines import Machines
from prometheus import Monitoring
from workspace import Workspace

from .conftest import NAME

pytestmark = pytest.mark.full
FOLDER = "metrics"
METRICS = ("-e", f"control_plane_metrics_directory={FOLDER}")
ALERT = "ControlPlaneEtcdNoFailureTolerance"
# There is no backup, and etcd has no alarm.
NOTHING_SAID = {"Age of the last backup and snapshot A", "Leader, endpoint, alarms C"}


@pytest.fixture
def monitoring(workspace: Workspace, three: Machines, tmp_path: Path) -> t.Iterator[Monitoring]:
    """Prometheus and node_exporter at work, over what was observed of the three."""
    assert len(three.names()) == 3
    metrics = workspace.folder / FOLDER
    metrics.mkdir()
    made = Monitoring(tmp_path, metrics)
    yield made
    made.end()


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
