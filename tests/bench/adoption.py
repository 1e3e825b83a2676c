# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What adopting a control plane of three machines takes, which plain kubeadm made; prints JSON. About three minutes, as root."""

from __future__ import annotations

import json
import sys
import tempfile
import time
import typing as t
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from host_pool import HostPool
from kubeadm_by_hand import ByHand
from workspace import Workspace

NAME, GROUP = "bench-adopt", "bench_hosts"


def timed(user: Workspace, playbook: str, *arguments: str) -> tuple[float, dict[str, int]]:
    """Run a playbook; return its seconds and the recap of the controller."""
    begin = time.monotonic()
    run = user.playbook(playbook, *arguments).succeeded()
    host = NAME if playbook == "plan" else "localhost"
    return round(time.monotonic() - begin, 1), run.recap(host)


def main() -> None:
    """Make the cluster by hand, adopt it, adopt it again, plan; print the figures."""
    figures: dict[str, t.Any] = {}
    with tempfile.TemporaryDirectory(prefix="kubeadm-control-plane-bench-") as folder:
        pool = HostPool(Path(folder), "bench")
        hand = ByHand(pool, NAME, [])
        try:
            hand.hosts = pool.make(3)
            hand.make()
            user = Workspace(Path(folder) / "user")
            inventory = ("-i", str(pool.inventory(GROUP)))
            wanted = ("-e", f"control_plane_adopt={NAME}", "-e", f"control_plane_adopt_group={GROUP}")
            figures["adopt_seconds"], _recap = timed(user, "adopt", *inventory, *wanted)
            figures["second_adopt_seconds"], recap = timed(user, "adopt", *inventory, *wanted)
            figures["second_adopt_changed"] = recap["changed"]
            figures["plan_seconds"], _recap = timed(user, "plan", *inventory, "--limit", NAME)
        finally:
            hand.remove()
            pool.remove()
    print(json.dumps({**figures, "asked_for_at_most": {"adopt_seconds": 10}}, indent=2))


if __name__ == "__main__":
    main()
