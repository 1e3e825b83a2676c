# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Phases that kubeadm names in its output, with their times."""

from __future__ import annotations

import re
import typing as t

_PHASE = re.compile(r"^\[([a-z0-9-]+)\]", re.MULTILINE)
# More than kubeadm has; some are named again and again.
MOST = 60


def phases(output: str) -> list[str]:
    """Return the phases of an output in their order, each once.

    kubeadm names one with each line: the same one comes back after another.
    """
    return list(dict.fromkeys(_PHASE.findall(output)))[:MOST]


def latest(output: str) -> str:
    """Return the phase that an output has named last, or ""."""
    found = _PHASE.findall(output)
    return str(found[-1]) if found else ""


class PhaseTimes:
    """Phases of a unit that is waited for, with their times.

    A phase's time is that of the first call that saw it in the output.

    Args:
        clock: seconds that never jump.
    """

    def __init__(self, clock: t.Callable[[], float]) -> None:
        self._clock = clock
        self._seen: dict[str, float] = {}

    def look(self, output: str) -> None:
        """Note the phases that are new in the output."""
        for name in phases(output):
            self._seen.setdefault(name, self._clock())

    def document(self) -> list[dict[str, t.Any]]:
        """Return each phase with the seconds since it was seen, oldest first."""
        now = self._clock()
        return [{"name": name, "secondsAgo": round(max(0.0, now - seen), 1)} for name, seen in self._seen.items()]
