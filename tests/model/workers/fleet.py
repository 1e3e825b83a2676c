# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The world of a MachineDeployment: its workers, what it wants, and how its control plane is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

# How far a worker's bootstrap came; ENDED and SPOILT: kubeadm is done there, and nobody has recorded it.
NEW, RUNNING, ENDED, SPOILT, FAILED, JOINED = "new", "running", "ended", "spoilt", "failed", "joined"
# What a health check or a person asks for.
MARKED, REMEDIATE = "marked", "remediate"
# The control plane: all is done, one machine is to be repaired, no or one machine has the new
# version, no API answers.
WELL, ILL, BEHIND, BETWEEN, DARK = "well", "ill", "behind", "between", "dark"


class Worker(NamedTuple):
    """One worker: the template that it was made from, how far it came, and whether its Node is Ready.

    `mute`: it lost its power in kubeadm join; `stuck`: this run could not remove it.
    """

    template: int = 0
    boot: str = JOINED
    ready: bool = True
    mark: str = ""
    deleting: bool = False
    mute: bool = False
    stuck: bool = False

    @property
    def available(self) -> bool:
        """Whether Pods may be counted on there."""
        return self.boot == JOINED and self.ready and not self.deleting and self.mark != MARKED


class Fleet(NamedTuple):
    """A deployment as it is. `wanted`: replicas; `template`: the one that it has now; `version`: the control plane's newest; `window`: it may be rolled."""

    workers: tuple[Worker, ...] = ()
    wanted: int = 2
    template: int = 0
    version: int = 0
    control: str = WELL
    window: bool = True
    paused: bool = False
    beside: bool = False
    faults: int = 2

    @property
    def live(self) -> list[Worker]:
        """The workers that aren't being deleted."""
        return [each for each in self.workers if not each.deleting]

    @property
    def lowest(self) -> int:
        """The lowest version of a control plane machine."""
        return self.version - (self.control in (BEHIND, BETWEEN))


@dataclass(frozen=True, eq=False)
class Rollout:
    """One exploration, as Configuration is one of a control plane.

    `versions`: the two templates differ in the Kubernetes version; `flight`: remediation.maxInFlight; `ask`: machines are replaced with consent alone.
    """

    name: str
    replicas: tuple[int, ...] = (2,)
    surge: int = 1
    unavailable: int = 0
    strategy: str = "RollingUpdate"
    faults: tuple[str, ...] = ()
    budget: int = 2
    versions: bool = False
    flight: int = -1
    ask: bool = False
    limit: int = 0
    merged: bool = False

    @property
    def most(self) -> tuple[int, int]:
        """maxSurge and maxUnavailable as they count."""
        return (0, 0) if self.strategy == "OnDelete" else (self.surge, self.unavailable)

    def starts(self) -> list[Fleet]:
        """Nothing yet, and the first number of workers, all well."""
        wanted = self.replicas[0]
        well = Fleet((Worker(),) * wanted, wanted, faults=self.budget)
        return [well._replace(workers=()), well]


def describe(fleet: Fleet) -> str:
    """A world in one line for people."""
    parts = []
    for number, each in enumerate(fleet.workers, 1):
        words = [f"template {each.template}", each.boot, each.mark]
        words += ["" if each.ready or each.boot != JOINED else "not Ready"]
        words += [word for word in ("deleting", "mute", "stuck") if getattr(each, word)]
        parts.append(f"w{number}({', '.join(filter(None, words))})")
    said = [f"wanted {fleet.wanted} of template {fleet.template}", f"control plane {fleet.control} at {fleet.version}"]
    said += [word for word, told in (("held", not fleet.window), ("paused", fleet.paused)) if told]
    return f"{' '.join(parts) or 'no worker'} | {', '.join([*said, *(['an Action'] if fleet.beside else [])])}"


def canonical(fleet: Fleet) -> Fleet:
    """The one world that stands for all that differ in names alone."""
    workers = (
        each._replace(mute=each.mute and each.boot == RUNNING, ready=each.ready and each.boot == JOINED)
        for each in fleet.workers
    )
    return fleet._replace(workers=tuple(sorted(workers)))
