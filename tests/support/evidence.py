# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a failed test on machines shows of its cluster: its status, the journal's last steps, and what the machine's unit printed."""

from __future__ import annotations

import json
import re
import subprocess
import typing as t
from pathlib import Path

from workspace import Workspace

MOST_LINES = 60
STATUS_LINES, STEPS, UNIT_LINES = 24, 10, 20
WIDTH = 160
STATUS_SECONDS = 120
MACHINES = Path("/var/lib/kubeadm-control-plane/nspawn/machines")
# What bootstraps, removals and commands of Actions print on a machine is kept below this folder.
STATE = Path("upper/var/lib/kubeadm-control-plane")
KEPT = "**/*output"


def evidence(workspace: Workspace, machines: Path = MACHINES) -> list[str]:
    """Return at most 60 lines about the cluster that the workspace's last step was about; a workspace without one has none."""
    journals = sorted(workspace.store.glob("*/journal/*.jsonl"), key=lambda path: path.stat().st_mtime)
    if not journals:
        return []
    cluster = journals[-1].stem
    steps = [json.loads(line) for line in journals[-1].read_text(encoding="utf-8").splitlines()]
    lines = [f"== status of {cluster}", *_status(workspace, cluster)]
    lines += [f"== the last steps of {len(steps)} in its journal", *map(_step, steps[-STEPS:])]
    named = [str(each["target"]) for each in reversed(steps) if each.get("target")]
    lines += _unit(workspace, named[:1], machines)
    return [line[:WIDTH] for line in lines][:MOST_LINES]


def _status(workspace: Workspace, cluster: str) -> list[str]:
    try:
        text = workspace.playbook(
            "status", *workspace.more_inventories, "--limit", cluster, timeout=STATUS_SECONDS
        ).output
    except subprocess.TimeoutExpired:
        return [f"it did not come within {STATUS_SECONDS} s"]
    # Banners and timings of tasks say nothing of the cluster; conditions are told by each machine's line.
    text = text.partition("PLAY RECAP")[0]
    left_out = r"(PLAY|TASK|ok:|skipping:|included:|\s*[{}]$|\* |\s+\S+: \S+ (False|Unknown): Waiting)"
    lines = [line for line in text.splitlines() if line.strip() and not re.match(left_out, line)]
    return lines[:STATUS_LINES]


def _step(entry: t.Mapping[str, t.Any]) -> str:
    named = (str(entry.get(key) or "") for key in ("time", "event", "action", "target", "result", "message"))
    return " ".join(filter(None, named))


def _unit(workspace: Workspace, named: list[str], machines: Path) -> list[str]:
    """The end of what was printed last on the machine, or on any where that one has nothing; read from disks, as machines may be dead."""
    claims = {
        each["metadata"]["name"]: ((each.get("status") or {}).get("claim") or {}).get("inventoryHost")
        for each in workspace.objects("InventoryMachine")
    }
    for names in (named, [each["metadata"]["name"] for each in workspace.objects("Machine")]):
        folders = [machines / (claims.get(name) or name) / STATE for name in names]
        outputs = [path for folder in folders for path in folder.glob(KEPT) if path.is_file()]
        if outputs:
            newest = max(outputs, key=lambda path: path.stat().st_mtime)
            text = newest.read_text(encoding="utf-8", errors="replace")
            return [f"== the end of {newest.relative_to(machines)}", *text.splitlines()[-UNIT_LINES:]]
    return ["== no unit has printed anything on any of its machines"]
