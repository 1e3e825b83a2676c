# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What chaos is made in: real machines on this host with a watcher, or the stand-ins for a cloud and its machines."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import typing as t
from pathlib import Path

from acme_workspace import AcmeWorkspace
from aftermath import overlaps, problems
from killed_runs import locks_held, orphans, under_way
from machines import Machines
from stand_in_machine import POLLS
from traces import traces
from watcher import Watch
from workspace import Workspace

Object = dict[str, t.Any]
DOMAINS = ("a", "b", "c")


class Takeable(t.Protocol):
    """Machines that can be taken away and given back."""

    def names(self) -> list[str]:
        """The names of the cluster's Machines."""

    def cut_power(self, name: str) -> None:
        """Everything that runs on the machine is gone at once; its disk stays."""

    def restore_power(self, name: str) -> None:
        """Start it again."""

    def cut_network(self, name: str) -> str:
        """It runs and reaches nobody; returns what :meth:`mend_network` wants."""

    def mend_network(self, name: str, link: str) -> None:
        """It reaches everybody again."""


class Watching(t.Protocol):
    """A watch that is under way."""

    def stop(self) -> Object:
        """End it; ``quorum`` and ``endpoint`` of what it returns have ``longest_gap_seconds``."""


class Lab(t.Protocol):
    """One cluster in one user's folder."""

    workspace: Workspace
    machines: Takeable
    infrastructure_kind: str
    # How long a run waits for what may come back by itself.
    wait_seconds: int

    def problems(self, size: int) -> list[str]:
        """What isn't as it must be when a run has reached its end."""

    def watch(self, folder: Path) -> contextlib.AbstractContextManager[Watching]:
        """Watch etcd and the endpoint from now on."""

    def left(self, names: t.Sequence[str]) -> list[str]:
        """What is left of machines after everything was deleted."""


class RealLab:
    """Machines in systemd-nspawn, with kubeadm and etcd."""

    infrastructure_kind = "NspawnMachine"
    wait_seconds = 45

    def __init__(self, folder: Path, name: str) -> None:
        self.workspace = Workspace(folder)
        self.machines: Takeable = Machines(self.workspace, name)
        self._name = name

    def problems(self, size: int) -> list[str]:
        """By etcd's own words, the API's, and this host's processes."""
        return problems(self.workspace, t.cast(Machines, self.machines), self._name, size)

    def watch(self, folder: Path) -> contextlib.AbstractContextManager[Watching]:
        """A process of its own that asks four times a second."""
        return Watch(self.workspace.store, self._name, folder)

    def left(self, names: t.Sequence[str]) -> list[str]:
        """Processes, mounts, links, control groups and folders."""
        return traces(*names)


class StandInLab:
    """No machine at all: what schedules, runs and the record do is tried without root, in seconds a step."""

    infrastructure_kind = "AcmeMachine"
    wait_seconds = 5

    def __init__(self, folder: Path, name: str) -> None:
        self._acme = AcmeWorkspace(folder)
        self.workspace: Workspace = self._acme
        self.machines: Takeable = StandInMachines(self._acme)
        self._name = name
        os.environ.update(self._acme.machines_answer())

    def problems(self, size: int) -> list[str]:
        """By the stand-ins' own records; what must never happen is noted there when it happens, lost quorum too."""
        names = self.machines.names()
        world, cloud = self._acme.world(), self._acme.cloud()
        found = [] if len(names) == size else [f"{len(names)} machines instead of {size}: {names}"]
        found += orphans(self.workspace, self.infrastructure_kind)
        for what, have in (
            ("etcd's members", [each["name"] for each in world["members"]]),
            ("the Nodes", world["nodes"]),
            ("the cloud's machines", cloud["machines"]),
        ):
            found += [] if sorted(have) == names else [f"{what} are {sorted(have)} and not {names}"]
        found += [f"the lock of {each} is held" for each in locks_held(self.workspace.store)]
        found += [f"the journal has an open step {each}" for each in under_way(self.workspace.store, self._name)]
        return found + overlaps(self.workspace, self._name) + world["violations"]

    @contextlib.contextmanager
    def watch(self, folder: Path) -> t.Iterator[Watching]:
        """The world itself notes a lost quorum."""
        del folder
        yield _NoGaps()

    def left(self, names: t.Sequence[str]) -> list[str]:
        """The cloud's machines."""
        return [each for each in self._acme.cloud()["machines"] if each in names]


class _NoGaps:
    def stop(self) -> Object:
        """Nothing was timed."""
        return {what: {"longest_gap_seconds": 0.0} for what in ("quorum", "endpoint")}


class StandInMachines:
    """The stand-in cloud's machines, taken away and given back in its file."""

    def __init__(self, workspace: AcmeWorkspace) -> None:
        self._workspace = workspace
        self._folder = workspace.folder / "cloud"

    def names(self) -> list[str]:
        """The names of the cluster's Machines, sorted."""
        return sorted(each["metadata"]["name"] for each in self._workspace.objects("Machine"))

    def cut_power(self, name: str) -> None:
        """The cloud says that it is dead, and nobody answers."""
        self._change(name, state="dead")

    def restore_power(self, name: str) -> None:
        """A bootstrap that it was cut off in has failed."""
        with self._file("world.lock", "world.json") as world:
            bootstrap = world["bootstraps"].get(name)
            if bootstrap is not None and bootstrap["polls"] < POLLS:
                bootstrap["interrupted"] = True
        self._change(name, state="running")

    def cut_network(self, name: str) -> str:
        """The cloud says that it runs, and nobody answers."""
        self._change(name, cut=True)
        return name

    def mend_network(self, name: str, link: str) -> None:
        """It answers again, if it is still there."""
        del link
        self._change(name, cut=False)

    def _change(self, name: str, **fields: t.Any) -> None:
        with self._file("lock", "cloud.json") as cloud:
            if name in cloud["machines"]:
                cloud["machines"][name].update(fields)

    @contextlib.contextmanager
    def _file(self, lock: str, name: str) -> t.Iterator[Object]:
        """A file's content, which is written when it was changed, under the stand-ins' own lock."""
        with open(self._folder / lock, "w") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            content = json.loads((self._folder / name).read_text())
            yield content
            partial = self._folder / f"{name}.mine"
            partial.write_text(json.dumps(content))
            partial.rename(self._folder / name)
