# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Backups of a control plane of one machine, and the modules for playbooks of one's own on its node."""

from __future__ import annotations

import hashlib
import json
import re
import stat
from pathlib import Path

import yaml
from machines import Machines
from workspace import Workspace

from .conftest import NAME


def test_a_backup_is_verified_brought_home_and_for_its_owner_alone(workspace: Workspace, machines: Machines) -> None:
    """Of two, the newest is kept; each has its facts beside it."""
    path = workspace.backup(NAME, "-e", "control_plane_backup_keep=1")
    facts = json.loads(path.with_suffix(".json").read_text())
    assert facts["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert facts["verified_by"] in ("etcdctl", "etcdutl") and facts["revision"] > 1
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    workspace.backup(NAME, "-e", "control_plane_backup_keep=1")
    kept = sorted(each.name for each in path.parent.iterdir())
    assert len([name for name in kept if name.endswith(".db")]) == 1 and len(kept) == 2 and path.name not in kept


def test_the_standalone_modules_run_on_a_node_as_their_page_shows_them(
    workspace: Workspace, machines: Machines
) -> None:
    """Every task of docs/standalone_modules.md that needs nothing but a node, in check mode; what only reads and the snapshot for real."""
    [name] = machines.names()
    page = (Path(__file__).parents[3] / "docs" / "standalone_modules.md").read_text()
    blocks = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    tasks = [task for block in blocks for task in yaml.safe_load(block)]
    tasks = [{**task, "check_mode": True, "diff": True} for task in tasks if "debug" not in str(list(task))]
    for task in tasks:
        for module in ("preflight", "node_drain", "etcd_leader"):
            options = task.get(f"kubeadm.control_plane.{module}")
            if options and "version" in options:
                # The node carries a cluster already, and no such endpoint exists: a report.
                options.update(control_plane_endpoint="", report_only=True)
            elif options and module != "preflight":
                options["name"] = name
    results = machines.play(tasks)
    assert len(results) == len(tasks)
    failed = [each.get("msg") for each in results if each.get("failed")]
    # It has one voter: no other can lead, and nobody can be promoted. All else is accepted.
    expected = ("etcd has no member named cp-3", "no healthy voter to move to")
    assert len(failed) <= 2 and all(any(words in str(text) for words in expected) for text in failed), failed
    report, snapshot = machines.play(
        [
            {"kubeadm.control_plane.preflight": {"existing": True, "ignore": ["Mem", "NumCPU"]}},
            {"kubeadm.control_plane.etcd_snapshot": {"name": "figure", "keep": 1}},
        ],
    )
    assert report["fit"] and {each["name"] for each in report["checks"]} >= {
        "ControlPlane",
        "Port-2379",
        "CgroupVersion",
    }
    assert snapshot["verified_by"] in ("etcdctl", "etcdutl")
