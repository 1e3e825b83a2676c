# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Placement of new machines in failure domains.

Source: docs/reference/cluster_api.md, "Selection of a machine".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Optional


def place(domains: Sequence[str], machines: Iterable[tuple[str, bool]]) -> Optional[str]:
    """Return the failure domain for a new machine.

    None where the cluster has no failure domain that takes control planes.

    `machines` gives for each existing machine its failure domain and whether it counts: it is up to date and not being
    deleted.
    The domain with the fewest that count wins, then the one with the fewest machines overall, then the first by name.
    """
    if not domains:
        return None
    counting = dict.fromkeys(domains, 0)
    overall = dict.fromkeys(domains, 0)
    for domain, counts in machines:
        if domain in overall:
            overall[domain] += 1
            counting[domain] += 1 if counts else 0
    return min(domains, key=lambda domain: (counting[domain], overall[domain], domain))


def place_next(domains: Sequence[str], machines: Iterable[tuple[str, bool]], count: int) -> list[str]:
    """Return the failure domains of the next `count` machines.

    In order; "" for each where there are none.
    """
    known = list(machines)
    chosen: list[str] = []
    for _index in range(count):
        domain = place(domains, known) or ""
        chosen.append(domain)
        known.append((domain, True))
    return chosen
