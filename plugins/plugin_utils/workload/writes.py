# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Planned writes to a workload cluster, computed from what was read.

The controller's half of compare-and-swap.
"""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

from ...module_utils.workload_api.compare_and_swap import Write

# Objects by their paths; None where there is none.
Objects = t.Mapping[str, t.Optional[t.Mapping[str, t.Any]]]


class WorkloadError(Exception):
    """Error of a state that can't be brought to the desired state.

    What is wrong, where, and the remedy. Nothing was written for it.
    """


@dataclass(frozen=True)
class Change:
    """Change of one object, shown to the user without secrets.

    Which object, and its text before and after.
    """

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class Plan:
    """Plan of writes, with changes, message, warnings and facts.

    The writes in their order, what they change, one sentence for the user, and what the module returns besides.
    """

    message: str
    writes: tuple[Write, ...] = ()
    changes: tuple[Change, ...] = ()
    warnings: tuple[str, ...] = ()
    facts: t.Mapping[str, t.Any] = field(default_factory=dict)


def resource_version(item: t.Mapping[str, t.Any]) -> str:
    """Return an object's resourceVersion."""
    return str((item.get("metadata") or {}).get("resourceVersion") or "")
