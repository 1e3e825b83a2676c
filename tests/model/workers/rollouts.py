# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is explored of MachineDeployments."""

from __future__ import annotations

from model.workers.fleet import Rollout

_NODES = ("Node turns", "health check marks", "health check unmarks")
_BOOTSTRAPS = ("kubeadm fails", "worker falls silent")
_WISHES = ("user asks to remediate", "user deletes a Machine", "replicas change")
_CONTROL = ("control plane falls ill", "control plane is to be upgraded", "no API answers", "the API answers")
_STUCK = ("user deletes a Machine", "removal fails")
_ROLL = "template flips"

# Short: part of every unit run.
BOUNDED: tuple[Rollout, ...] = (
    Rollout("workers", (2, 1), budget=1, faults=(_ROLL, *_NODES, *_WISHES)),
    Rollout("workers, maxSurge 0", (2,), 0, 1, faults=(_ROLL, *_NODES)),
    Rollout("workers, OnDelete", (1, 0), strategy="OnDelete", faults=(_ROLL, *_WISHES)),
    Rollout("workers that fail to join", (1,), faults=(_ROLL, *_BOOTSTRAPS, "health check marks")),
    Rollout("workers, one remediated at a time", (2,), flight=1, faults=("health check marks",)),
    Rollout("workers beside their control plane", (1,), 0, 1, versions=True, faults=(_ROLL, *_CONTROL, "window turns")),
    Rollout(
        "workers beside their control plane, marked",
        (1,),
        faults=("health check marks", "control plane is to be upgraded", "window turns"),
        budget=3,
    ),
    Rollout(
        "workers with consent",
        (1, 2),
        ask=True,
        faults=(_ROLL, "window turns", "replicas change", "health check marks"),
    ),
    Rollout("workers that can't be removed", (2,), faults=(_ROLL, *_STUCK)),
    Rollout("workers beside Actions", (1,), faults=(_ROLL, "Action turns", "pause turns", "health check marks")),
)
# With more faults and more workers.
FULL: tuple[Rollout, ...] = (
    Rollout("workers, three faults", (2, 1), 1, 1, budget=3, faults=(_ROLL, *_NODES, *_WISHES, *_BOOTSTRAPS)),
    Rollout("workers, two at a time", (3, 0), 2, 1, faults=(_ROLL, *_NODES, *_WISHES)),
    Rollout(
        "workers, OnDelete, three faults", (2, 1), strategy="OnDelete", budget=3, faults=(_ROLL, "Node turns", *_WISHES)
    ),
    Rollout(
        "workers, all of the control plane",
        (2,),
        versions=True,
        budget=3,
        faults=(_ROLL, *_CONTROL, "window turns", *_NODES),
    ),
    Rollout(
        "workers that can't be removed, three faults", (2, 1), budget=3, faults=(_ROLL, "replicas change", *_STUCK)
    ),
    *BOUNDED,
)
