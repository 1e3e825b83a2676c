# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rulebooks of extensions/eda by a real ansible-rulebook; one at work over a real Alertmanager and API server, machines are stand-ins."""

from __future__ import annotations

import os
import subprocess
import typing as t
from pathlib import Path

import pytest
import yaml
from api_server import ApiServer
from etcd_cluster import until
from management_workspace import ManagementWorkspace
from rulebooks import RUN_SECONDS, TOKEN, Alertmanager, Rulebook, Started, alertmanager_of_rulebook, program

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.records.cluster_objects import MACHINE

pytestmark = pytest.mark.full
ROOT = Path(__file__).parents[3]
NAME, GROUP = "prod", "eu"
LIMIT = f"{NAME},default.{NAME},&control_planes"
alertmanager = alertmanager_of_rulebook
PAUSED = "paused: the ConfigMap kubeadm-control-plane-pause of the namespace default is there"
HEALING = [Started("health_check", LIMIT), Started("remediate", LIMIT)]


@pytest.fixture
def workspace(server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ManagementWorkspace:
    """A user's folder with a cluster of three machines that answer."""
    made = ManagementWorkspace.over(server, tmp_path / "workspace", monkeypatch)
    made.manifest(NAME, replicas=3)
    made.playbook("reconcile").succeeded()
    return made


@pytest.fixture(params=["store", "alerts"])
def rulebook(workspace: ManagementWorkspace, tmp_path: Path, request: pytest.FixtureRequest) -> t.Iterator[Rulebook]:
    """A rulebook at work: one that hears of the objects, too, and one of alerts alone."""
    store = {"type": "kubernetes", "path": str(workspace.store), **workspace.connection}
    variables = yaml.safe_load((workspace.folder / "variables.yml").read_text())
    given = {"control_plane_store_kubeconfig": workspace.connection["kubeconfig"]}
    # A group that is called like no cluster, and has one.
    inventory = {"store": store, "groups": {GROUP: f"control_plane_cluster == '{NAME}'"}}
    made = Rulebook(request.param, inventory, variables, given, tmp_path / "rulebook")
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
    """The rules are throttled by cluster; what an alert is called otherwise leads to nothing. A pause of all clusters holds what a rulebook starts, too."""
    before = names(workspace)
    pause = ("", "ConfigMap"), "default", "kubeadm-control-plane-pause"
    workspace.objects_store.create(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": pause[2], "namespace": pause[1]}}
    )
    alertmanager.fire(alert(0, name="ControlPlaneReplicasMissing"))
    until("a run says why it does nothing", lambda: PAUSED in rulebook.log.read_text(), RUN_SECONDS)
    assert rulebook.started() == [Started("reconcile", LIMIT)] and names(workspace) == before
    workspace.objects_store.delete(*pause)

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

    # Another cluster has runs of its own, which come after all that came before. It is a group here, and they do nothing.
    alertmanager.fire(alert(0, GROUP))
    until(
        "the other one's runs are started",
        lambda: len([each for each in rulebook.started() if GROUP in each.limit]) == 2,
        RUN_SECONDS,
    )
    assert [each for each in rulebook.started() if each in HEALING] == HEALING
    assert {each.limit for each in rulebook.started()} == {LIMIT, LIMIT.replace(NAME, GROUP)}
    refused = f"event of the cluster default/{GROUP}, and selects {NAME}"
    until("both say why", lambda: rulebook.log.read_text().count(refused) >= 2, RUN_SECONDS)


@pytest.mark.parametrize(
    ("argument", "said"), [("include_events", "needs controller url and token"), ("events", "'events'")]
)
def test_the_rulebook_for_awx_is_read_up_to_where_an_awx_is_needed(tmp_path: Path, argument: str, said: str) -> None:
    """Its form, conditions, actions and their arguments, of which a wrong one is refused. No job is launched: there is no AWX in the tests."""
    shipped = ROOT / "extensions" / "eda" / "rulebooks" / "awx.yml"
    path, variables = tmp_path / "awx.yml", tmp_path / "variables.yml"
    path.write_text(shipped.read_text().replace("include_events:", f"{argument}:"))
    variables.write_text(yaml.safe_dump({"control_plane_webhook_token": TOKEN}))
    command = [program("ansible-rulebook"), "--rulebook", str(path), "-e", str(variables)]
    environment = {each: value for each, value in os.environ.items() if not each.startswith(("EDA_", "PYTHONPATH"))}
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0 and said in done.stdout + done.stderr, done.stdout + done.stderr
