# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Snapshots of an etcd that isn't there, for the stand-in for machines: whole files, handed out as the real module does."""

from __future__ import annotations

import hashlib
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from etcd_database import snapshot


def taken(folder: Path, prefix: str, number: int) -> dict[str, Any]:
    """Make a file as etcd's are, and say what etcd_snapshot says of it."""
    moment = datetime.now(timezone.utc)
    content = snapshot(number)
    name = f"{prefix}-{moment.strftime('%Y%m%dT%H%M%SZ')}.db"
    (folder / name).write_bytes(content)
    return {
        "changed": True,
        "msg": f"snapshot {name} was taken and verified",
        "path": str(folder / name),
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
        "revision": number,
        "verified_by": "sha256",
        "taken_at": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def piece(folder: Path, arguments: dict[str, Any]) -> dict[str, Any]:
    """Hand out a piece of a file, sealed as etcd_snapshot_file does."""
    # Seldom asked for, and every answer of a machine would wait for it.
    from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.snapshot.transfer import read_piece

    offset = arguments.get("offset") or 0
    found = read_piece(arguments["name"], offset, arguments["transport_key"], directory=str(folder))
    return {"changed": False, "path": str(folder / arguments["name"]), **found}
