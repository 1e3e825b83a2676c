# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rulebook of extensions/eda at work: a real ansible-rulebook, Alertmanager and API server; machines are stand-ins."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from api_server import ApiServer
from etcd_cluster import until
from management_workspace import ManagementWorkspace
from rulebooks import RUN_SECONDS, Alertmanager, Rulebook, Started

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import MACHINE

pytestmark = pytest.mark.full
NAME = "prod"
LIMIT = f"{NAME},default.{NAME},&control_planes"
HEALING = [Started("health_check", LIMIT), Started("remediate", LIMIT)]


@pytest.fixture
def workspace(server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ManagementWorkspace:
    """A user's folder with a cluster of three machines that answer."""
    made = ManagementWorkspace.over(server, tmp_path / "workspace", monkeypatch)
    made.manifest(NAME, replicas=3)
    made.playbook("reconcile").succeeded()
    return made


@pytest.fixture
def rulebook(workspace: ManagementWorkspace, tmp_path: Path) -> t.Iterator[Rulebook]:
    """The rulebook ``store``."""
    made = Rulebook("store", workspace, tmp_path / "rulebook")
    yield made.wait_ready()
    made.end()


@pytest.fixture
def alertmanager(rulebook: Rulebook, tmp_path: Path) -> t.Iterator[Alertmanager]:
    """An Alertmanager that tells the rulebook."""
    made = Alertmanager(tmp_path / "alertmanager", rulebook.port)
    yield made.wait_ready()
    made.end()


def alert(number: int, cluster: str = NAME, name: str = "ControlPlaneEtcdNoFailureTolerance") -> dict[str, str]:
    """The labels of one of many alerts."""
    return {"alertname": name, "cluster_namespace": "default", "cluster_name": cluster, "instance": str(number)}


def names(workspace: ManagementWorkspace) -> set[str]:
    """The names of the machines."""
    return {each["metadata"]["name"] for each in workspace.objects("Machine")}


def test_a_storm_of_alerts_makes_one_run_and_a_marked_machine_is_replaced(
    workspace: ManagementWorkspace, rulebook: Rulebook, alertmanager: Alertmanager
) -> None:
    """The rules are throttled by cluster; what an alert is called otherwise leads to nothing."""
    before = names(workspace)
    victim = sorted(before)[0]
    annotation = {"cluster.x-k8s.io/remediate-machine": ""}
    workspace.objects_store.modify(
        MACHINE, "default", victim, lambda found: found["metadata"].update(annotations=annotation)
    )
    alertmanager.fire(*(alert(number) for number in range(100)))
    hostile = ("all", "control_planes", "{{ lookup('pipe', 'false') }}", "prod:!prod", "")
    alertmanager.fire(*(alert(number, each) for number, each in enumerate(hostile)), alert(0, name="Other"))
    until("the machine is replaced", lambda: victim not in names(workspace), RUN_SECONDS)
    until("there are three again", lambda: len(names(workspace)) == 3, RUN_SECONDS)
    until("the run is over", lambda: not workspace.locked(NAME), RUN_SECONDS)
    assert workspace.world()["violations"] == [] and len(names(workspace) - before) == 1

    # Another cluster has a run of its own, and its end comes after all that came before.
    alertmanager.fire(alert(0, "stage"))
    until(
        "the other one's runs are started",
        lambda: len([each for each in rulebook.started() if "stage" in each.limit]) == 2,
        RUN_SECONDS,
    )
    assert [each for each in rulebook.started() if each in HEALING] == HEALING
    assert {each.limit for each in rulebook.started()} == {LIMIT, LIMIT.replace(NAME, "stage")}
