# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run that is stopped, loses its lock to another one and wakes: from then on it changes nothing, wherever it was stopped.

Real playbooks and both stores, stand-ins for a cloud and its machines. A suspended host is stopped with all its processes, the helper that
renews the lock included, and can't be seen by whoever takes over.
"""

from __future__ import annotations

import fcntl
import json
import shutil
import typing as t
from pathlib import Path

import pytest
from acme_workspace import AcmeWorkspace
from api_server import ApiServer
from killed_runs import KilledRuns, locks_held, orphans
from management_workspace import KINDS, LEASES, ManagementWorkspace
from stopped_runs import LOST, SECONDS, StoppedRuns, take_over_files
from workspace import Run

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock.lease_lock import (
    HOLDER_ANNOTATION,
    LeaseLocks,
    lease_name,
)

NAME = "prod"
AT = ("default", NAME)
ANOTHER_SPEC = {"preKubeadmCommands": ["true"]}
# Where a run holds the file store's own lock nobody can take anything from it.
WRITING = r"store (write|remove)"
OUTSIDE_OF_WRITES = rf"^(?!.*{WRITING})"
# Right before what can't be undone: an object, a machine's join, a member's removal, a machine's end.
FEW = r"join > machine_bootstrap: before node node_bootstrap \(2\)|remove > .*before node etcd_member|after task machine_acme: Remove"
FEW_WRITES = r"join > machine: before store write Machine|remove > .*before node etcd_member"


class Taking:
    """Takes the lock from runs that are stopped, and looks at everything that they could change."""

    def __init__(self, workspace: AcmeWorkspace) -> None:
        self.workspace = workspace

    def take_over(self) -> None:
        """As a run elsewhere does that sees no sign of life, and has ended since."""
        raise NotImplementedError

    def held(self) -> bool:
        """Whether a run holds the lock."""
        raise NotImplementedError

    def objects(self) -> t.Any:
        """What the store has, byte by byte or with its versions."""
        raise NotImplementedError

    def look(self) -> t.Any:
        """The store, the cloud's machines, what they carry; not which calls were refused, and what they were refused by.

        What a provider does elsewhere is not compared with any number: the servers of a balancer may be those of before (docs/store.md).
        """
        unseen = ("calls", "fencing", "lease", "lease_run")
        world = {key: each for key, each in self.workspace.world().items() if key not in unseen}
        return self.objects(), self.workspace.cloud()["machines"], world


class TakingFiles(Taking):
    """From a file store."""

    def take_over(self) -> None:
        take_over_files(self.workspace.store, NAME)

    def held(self) -> bool:
        return locks_held(self.workspace.store) != []

    def objects(self) -> t.Any:
        return {path: path.read_bytes() for path in self.workspace.store.rglob("*.yaml")}


class TakingLeases(Taking):
    """From a Kubernetes API."""

    workspace: ManagementWorkspace

    def take_over(self) -> None:
        api, path = self.workspace.api, f"{LEASES}/{lease_name(NAME)}"
        lease = api.send("get", path, accepted=(404,)).document
        notes = (lease.get("metadata") or {}).get("annotations") or {}
        if HOLDER_ANNOTATION in notes:
            notes[HOLDER_ANNOTATION] = json.dumps({**json.loads(notes[HOLDER_ANNOTATION]), "pid_namespace": "pid:[1]"})
            api.send("update", path, lease)
        locks = LeaseLocks(api, self.workspace.connection, observe_seconds=SECONDS)
        locks.acquire(*AT)
        assert locks.release_own(*AT)

    def held(self) -> bool:
        return self.workspace.locked(NAME)

    def objects(self) -> t.Any:
        return {kind.name: self.workspace.objects(kind.name) for kind in KINDS}


@pytest.fixture(params=["file", "kubernetes"])
def taking(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Taking:
    """A cluster of one machine, in each store."""
    if request.param == "file":
        one: AcmeWorkspace = request.getfixturevalue("one_machine")
        workspace = one.copied(tmp_path / "workspace").answering(monkeypatch)
        return TakingFiles(workspace)
    server: ApiServer = request.getfixturevalue("server")
    made = ManagementWorkspace.over(server, tmp_path / "workspace", monkeypatch)
    made.manifest(NAME, replicas=1)
    made.playbook("reconcile").succeeded()
    return TakingLeases(made)


def replaced(taking: Taking, first: list[str]) -> None:
    """The one machine was replaced by another, in order."""
    world, cloud = taking.workspace.world(), taking.workspace.cloud()
    names = [each["metadata"]["name"] for each in taking.workspace.objects("Machine")]
    assert world["violations"] == [] and not taking.held()
    assert orphans(taking.workspace, "AcmeMachine") == []
    assert len(names) == 1 and names != first
    assert list(cloud["machines"]) == [each["name"] for each in world["members"]] == list(world["nodes"]) == names


def taken_over(taking: Taking, folder: Path, only: str) -> list[tuple[str, Run]]:
    """The machine is replaced by runs of which each is taken over from by the next one; returns where each was stopped and how it ended."""
    first = [each["metadata"]["name"] for each in taking.workspace.objects("Machine")]
    taking.workspace.manifest(NAME, replicas=1, kubeadm=ANOTHER_SPEC)
    runs = StoppedRuns(taking.workspace, taking.workspace.command("reconcile"), folder, only)
    *woken, (_nowhere, last) = runs.until_taken_over(taking.take_over, taking.look)
    last.succeeded()
    replaced(taking, first)
    return woken


@pytest.mark.parametrize("taking", [pytest.param("file", marks=pytest.mark.full), "kubernetes"], indirect=True)
def test_a_run_that_wakes_has_lost_its_lock(taking: Taking, tmp_path: Path) -> None:
    """Before what can't be undone; it ends with the reason."""
    woken = taken_over(taking, tmp_path / "runs", FEW if isinstance(taking, TakingFiles) else FEW_WRITES)
    assert len(woken) == (3 if isinstance(taking, TakingFiles) else 2), [point for point, _run in woken]
    for point, run in woken:
        assert run.returncode != 0 and LOST.format(cluster=NAME) in run.text, f"{point}:\n{run.output[-3000:]}"


@pytest.mark.full
def test_a_run_that_wakes_anywhere_changes_nothing(taking: Taking, tmp_path: Path) -> None:
    """Every point; of a file store those at which a run writes are below."""
    woken = taken_over(taking, tmp_path / "runs", OUTSIDE_OF_WRITES if isinstance(taking, TakingFiles) else "")
    assert len(woken) > 60
    ended_well = [point for point, run in woken if run.returncode == 0]
    # Nothing was left for it to do.
    assert all(" > " not in point for point in ended_well), ended_well


@pytest.mark.parametrize(
    "point",
    ["join > machine: before store write Machine", pytest.param("after store write Machine", marks=pytest.mark.full)],
)
def test_nobody_takes_a_file_store_from_a_run_that_is_stopped_while_it_writes(
    one_machine: AcmeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    """Not even its lock: whoever wants it is told who is busy there; and the run goes on where it was."""
    workspace = one_machine.copied(tmp_path / "workspace").answering(monkeypatch)
    taking = TakingFiles(workspace)
    first = [each["metadata"]["name"] for each in workspace.objects("Machine")]
    workspace.manifest(NAME, replicas=1, kubeadm=ANOTHER_SPEC)
    runs = StoppedRuns(workspace, workspace.command("reconcile"), tmp_path / "runs", point)

    def busy() -> None:
        with (workspace.store / ".lock").open("w") as stream, pytest.raises(BlockingIOError):
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)

    runs.stopped_and_woken(busy).succeeded()
    replaced(taking, first)


@pytest.mark.parametrize("taking", ["file", pytest.param("kubernetes", marks=pytest.mark.full)], indirect=True)
def test_a_store_that_was_restored_gets_a_number_above_all_others(taking: Taking, tmp_path: Path) -> None:
    """Its lock counts from an old number; what the cluster and its machines have seen is higher, and the same run goes on with a higher one."""
    first = [each["metadata"]["name"] for each in taking.workspace.objects("Machine")]
    world = taking.workspace.world()
    # As after 40 runs that the store knows nothing of.
    taking.workspace.put_world({**world, "lease": 41, "fencing": dict.fromkeys(world["fencing"], 42)})
    taking.workspace.manifest(NAME, replicas=1, kubeadm=ANOTHER_SPEC)
    taking.workspace.playbook("reconcile").succeeded()
    replaced(taking, first)
    world = taking.workspace.world()
    [name] = world["nodes"]
    assert world["lease"] == world["fencing"][name] == 43
    # The next one that takes the lock counts on from there.
    taking.workspace.playbook("health_check").succeeded()
    assert taking.workspace.world()["lease"] == 44


@pytest.mark.parametrize(
    "point",
    [
        r"join > machine_bootstrap: before node node_bootstrap \(2\)",
        pytest.param("join > machine_bootstrap: before node bootstrap_token", marks=pytest.mark.full),
    ],
)
def test_two_stores_with_one_cluster_never_act_on_the_same_observation(
    one_machine: AcmeWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    """A copy of a store has a lock of its own. A run whose observation another one's has made old is refused, though it holds its lock.

    Also on a machine that nobody has called yet: it asks the cluster.
    """
    workspace = one_machine.copied(tmp_path / "workspace").answering(monkeypatch)
    workspace.manifest(NAME, replicas=1, kubeadm=ANOTHER_SPEC)
    shutil.copytree(workspace.store, workspace.folder / "copy")
    text = (workspace.folder / "inventory.clusters.yml").read_text()
    (workspace.folder / "other.clusters.yml").write_text(text.replace("path: store", "path: copy"))
    runs = StoppedRuns(workspace, workspace.command("reconcile"), tmp_path / "runs", point)
    plan = workspace.command("reconcile")
    plan[plan.index("inventory.clusters.yml")] = "other.clusters.yml"

    # It is killed when it has observed, before any step; the first time it was refused, and took a greater number.
    other = KilledRuns(workspace, plan, tmp_path / "other", only=r"after node node_observe \(2\)")
    ended = runs.stopped_and_woken(other.stopped_at_first).failed()
    assert "another run took over cluster default/prod since it was observed" in ended.text
    assert "two stores have this cluster" in ended.text
    assert workspace.world()["violations"] == []
