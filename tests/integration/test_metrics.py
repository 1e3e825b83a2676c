# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real Prometheus with the alert rules as they are shipped, over a real node_exporter that reads what the playbooks write."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from acme_workspace import AcmeWorkspace
from prometheus import Monitoring

# There is no backup and no snapshot; the stand-in's etcd has no alarm, and tells no size.
NOTHING_SAID = {
    "Age of the last backup and snapshot A",
    "Age of the last backup and snapshot B",
    "Leader, endpoint, alarms C",
    "Size of etcd's databases A",
}


@pytest.fixture
def workspace(one_machine: AcmeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AcmeWorkspace:
    """A cluster of one stand-in machine, and a folder for metrics."""
    copied = one_machine.copied(tmp_path / "workspace").answering(monkeypatch)
    (copied.folder / "metrics").mkdir()
    return copied


@pytest.fixture
def monitoring(workspace: AcmeWorkspace, tmp_path: Path) -> t.Iterator[Monitoring]:
    """Both programs, at work."""
    made = Monitoring(tmp_path, workspace.folder / "metrics")
    yield made
    made.end()


def cut(workspace: AcmeWorkspace, so: bool) -> None:
    """Cut all machines off, or end that."""
    file = workspace.folder / "cloud" / "cloud.json"
    cloud = json.loads(file.read_text())
    for machine in cloud["machines"].values():
        machine["cut"] = so
    file.write_text(json.dumps(cloud))


def test_alerts_fire_during_a_fault_and_clear_after_it(workspace: AcmeWorkspace, monitoring: Monitoring) -> None:
    """A machine is cut off and a run fails; it is back and the next run ends well. The commands are those of the alerts."""
    folder = ("-e", "control_plane_metrics_directory=metrics")
    manifest = workspace.folder / "clusters" / "prod.yaml"
    good = manifest.read_text()
    cut(workspace, True)
    manifest.write_text(good.replace("replicas: 1", "replicas: 2"))
    workspace.playbook("reconcile", *folder).failed()
    wanted = {"ControlPlaneUnreachable", "ControlPlaneRunFailed"}
    found = monitoring.until_alerts("both alerts fire", lambda alerts: wanted <= set(alerts) and alerts)
    labels, notes = found["ControlPlaneUnreachable"]["labels"], found["ControlPlaneUnreachable"]["annotations"]
    assert labels["store"] == str(workspace.store) and labels["severity"] == "critical"
    first = notes["to_type"].splitlines()[0]
    assert first == "ansible-playbook -i hosts.yml -i inventory.clusters.yml kubeadm.control_plane.status --limit prod"
    assert "default/prod" in notes["summary"] and not monitoring.value("kubeadm_control_plane_etcd_voters")
    assert monitoring.value("node_textfile_scrape_error") == "0"

    cut(workspace, False)
    workspace.playbook("metrics", *folder).succeeded()
    monitoring.until_value("kubeadm_control_plane_etcd_voters", "1")
    monitoring.until_answered(but=NOTHING_SAID)
    monitoring.until_alerts("the run's alert alone is left", lambda alerts: set(alerts) == {"ControlPlaneRunFailed"})

    manifest.write_text(good)
    workspace.playbook("reconcile", *folder).succeeded()
    monitoring.until_alerts("no alert is left", lambda alerts: not alerts)
    assert monitoring.value("kubeadm_control_plane_last_run_timestamp_seconds")
