# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fencing numbers that machines and their cluster keep, as workload/fencing.py and node/guard.py do, in the small world of stand_in_machine.py."""

from __future__ import annotations

from typing import Any, Optional

Object = dict[str, Any]


class Fencing:
    """What the world does with a run's number."""

    state: Object
    here: Optional[Object]
    alive: dict[str, Object]

    def refused(self, arguments: Object) -> Optional[Object]:
        """The refusal of a run whose number is smaller than another's that was here, or that the cluster has seen, or the same by another; else None."""
        assert self.here is not None
        name, number = self.here["name"], arguments.get("fencing")
        if number is None:
            return None
        kept: Object = self.state["fencing"]
        # With kubeadm's admin.conf, or with the token that a machine is to join with.
        asks = self._answers() and (name in self.state["nodes"] or arguments.get("lease_access"))
        highest = max(kept.get(name, 0), self.state.get("lease", 0) if asks else 0)
        kept[name] = max(number, highest)
        run, holder = arguments.get("run", ""), self.state.get("lease_run", "")
        own = asks and name in self.state["nodes"]
        other = own and number == self.state.get("lease", 0) and run and holder and holder != run
        if number < highest or other:
            return {"failed": True, "msg": f"this run's number is {number}, and {highest} was seen", "fenced": highest}
        if own and (run or number > self.state.get("lease", 0)):
            self.state.update(lease=number, lease_run=run)
        return None

    def _answers(self) -> bool:
        silent = self.state.get("silent", [])
        return any(name in self.alive and name not in silent for name in self.state["nodes"])
