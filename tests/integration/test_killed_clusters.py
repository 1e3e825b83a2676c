# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A control plane's whole life with its runs killed, on stand-ins for a cloud and its machines: the real playbooks, no real kubeadm."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import pytest
from acme_workspace import AcmeWorkspace
from killed_runs import KilledRuns, Record, locks_held, orphans, under_way

NAME = "prod"
CONSENT = ("-e", f"control_plane_delete={NAME}")
ANOTHER_SPEC = {"preKubeadmCommands": ["true"]}
# What an outward call leaves behind: of each call within an action the first two, of three steps of a kind one.
OUTWARD = r"(join|remove) > .*after (node|task)"


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AcmeWorkspace:
    """A user's folder with machines that answer."""
    return AcmeWorkspace.with_machines(tmp_path / "workspace", monkeypatch)


def whole(workspace: AcmeWorkspace, count: int) -> list[str]:
    """As many machines as wanted, each a voter and a Node, nobody else's; nothing has happened that must not. Returns their names."""
    names = sorted(each["metadata"]["name"] for each in workspace.objects("Machine"))
    world, cloud = workspace.world(), workspace.cloud()
    assert world["violations"] == []
    assert len(names) == count and orphans(workspace, "AcmeMachine") == []
    assert not any(each.get("learner") for each in world["members"])
    assert (
        sorted(cloud["machines"])
        == sorted(each["name"] for each in world["members"])
        == sorted(world["nodes"])
        == names
    )
    [balancer] = cloud["balancers"].values()
    assert sorted(each["name"] for each in balancer["servers"]) == names
    assert locks_held(workspace.store) == [] and under_way(workspace.store, NAME) == []
    return names


@pytest.fixture
def one(one_machine: AcmeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AcmeWorkspace:
    """A cluster of one machine."""
    return one_machine.copied(tmp_path / "workspace").answering(monkeypatch)


def stopped(workspace: AcmeWorkspace, folder: Path, how: str, only: str, *playbook: str) -> Record:
    """A playbook until it comes through, every run before it stopped at its next point."""
    record = KilledRuns(workspace, workspace.command(*playbook), folder, how, only).until_converged()
    assert record.missed(only) == [], "a point at which no run was stopped"
    return record


@pytest.mark.full
@pytest.mark.parametrize("how", ["kill", "kill-main", "terminate"])
def test_a_whole_life_with_every_run_stopped_at_its_next_point(
    workspace: AcmeWorkspace, tmp_path: Path, how: str
) -> None:
    """Three machines are made, replaced, and become one; then everything is deleted. Every run is stopped, every point met."""
    workspace.manifest(NAME, replicas=3)
    records = [stopped(workspace, tmp_path / "create", how, "", "reconcile")]
    first = whole(workspace, 3)
    workspace.manifest(NAME, replicas=3, kubeadm=ANOTHER_SPEC)
    records.append(stopped(workspace, tmp_path / "roll", how, "", "reconcile"))
    assert not set(whole(workspace, 3)) & set(first)
    workspace.manifest(NAME, replicas=1, kubeadm=ANOTHER_SPEC)
    records.append(stopped(workspace, tmp_path / "shrink", how, "", "reconcile"))
    whole(workspace, 1)
    records.append(stopped(workspace, tmp_path / "delete", how, "", "delete", *CONSENT))
    assert workspace.cloud()["machines"] == {} and workspace.cloud()["balancers"] == {}
    assert [path for path in workspace.store.rglob("*.yaml") if path.name != "store.yaml"] == []
    assert sum(len(each.points) for each in records) > 300
    if how == "kill":
        assert [point for each in records for point in each.failures] == [], "a rerun failed instead of going on"


@pytest.mark.full
def test_a_machine_joins_and_another_goes_with_every_run_killed(one: AcmeWorkspace, tmp_path: Path) -> None:
    """One machine is replaced by another; each run is killed after the next call of a machine, or task of the provider."""
    [first] = whole(one, 1)
    one.manifest(NAME, replicas=1, kubeadm=ANOTHER_SPEC)
    record = stopped(one, tmp_path / "roll", "kill", OUTWARD, "reconcile")
    assert whole(one, 1) != [first] and record.failures == []
    for needed in (
        "join > machine_bootstrap: after node etcd_member learner",
        "join > machine_bootstrap: after node node_bootstrap (2)",
        "join > machine_bootstrap: after node etcd_member promoted",
        "join > after task machine_acme: Make the machine",
        "remove > machine_removal: after node etcd_member absent",
        "remove > after task machine_acme: Remove the machine",
    ):
        assert needed in record.points, record.points


@pytest.mark.full
def test_an_undisturbed_rollout_meets_every_call(one: AcmeWorkspace, tmp_path: Path) -> None:
    """What a run does on machines, by the machines' own count, is what its trace has."""
    one.manifest(NAME, replicas=1, kubeadm=ANOTHER_SPEC)
    before = len(one.world()["calls"])
    points, _seconds, run = KilledRuns(one, one.command("reconcile"), tmp_path / "roll").undisturbed()
    run.succeeded()
    calls = [each.split()[2] for each in one.world()["calls"][before:]]
    assert modules(points, "before") == modules(points, "after") == calls
    assert set(calls) >= {
        "node_observe",
        "node_bootstrap",
        "bootstrap_token",
        "node_drain",
        "etcd_leader",
        "etcd_snapshot",
    }
    assert set(calls) >= {"etcd_member", "workload_node", "workload_objects"}


def modules(points: t.Sequence[str], when: str) -> list[str]:
    """The modules that were called on machines, in their order."""
    return [found.group(1) for each in points if (found := re.search(rf"{when} node (\w+)", each))]
