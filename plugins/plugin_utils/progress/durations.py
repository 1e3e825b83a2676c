# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Expected duration of a step, from earlier runs."""

from __future__ import annotations

import statistics
import typing as t

from ...module_utils.common.values import parse_time

# Seconds, where the journal has no step of the kind yet: three local machines on two cores (docs/measured.md).
USUAL: t.Final[dict[str, int]] = {
    "createInfrastructure": 5,
    "createCertificates": 2,
    "initialize": 40,
    "join": 35,
    "remove": 15,
    "removeMember": 5,
    "removeNode": 5,
    "updateAddons": 5,
    "adopt": 3,
    "recoverSingleVoter": 30,
    "deleteMachines": 10,
    "deleteInfrastructure": 3,
}
# So many of the newest count: machines and versions change.
NEWEST = 5


def expected_seconds(entries: t.Sequence[t.Mapping[str, t.Any]], action: str, named: str = "") -> t.Optional[int]:
    """Return how long a step usually takes, in seconds.

    It is the median of the newest steps of the kind that succeeded, else the usual duration, else None.

    Args:
        entries: the journal's entries, oldest first.
        action: the step's action.
        named: how the names of the Tasks begin that are comparable; "" where the action says enough.
    """
    begun: dict[str, int] = {}
    took: list[int] = []
    for each in entries:
        time = parse_time(each.get("time"))
        if time is None:
            continue
        name = str((each.get("details") or {}).get("name") or "")
        if each.get("event") == "intent" and each.get("action") == action and name.startswith(named):
            begun[str(each["id"])] = time
        elif each.get("event") == "outcome" and each.get("result") == "succeeded" and each.get("id") in begun:
            took.append(max(0, time - begun[str(each["id"])]))
    return round(statistics.median(took[-NEWEST:])) if took else USUAL.get(action)
