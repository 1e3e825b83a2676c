# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for a cloud's command line, for the provider in examples/provider_skeleton: machines are entries of a file.

Usage: stand_in_cloud.py FOLDER [--account NAME] machine ensure|delete NAME …, machine list …, balancer ensure|delete CLUSTER …
"""

from __future__ import annotations

import argparse
import fcntl
import json
import sys
import uuid
from pathlib import Path
from typing import Any

State = dict[str, Any]
IMPOSSIBLE = "impossible"


def parser() -> argparse.ArgumentParser:
    """The options of the command line that the skeleton calls."""
    made = argparse.ArgumentParser()
    made.add_argument("folder", type=Path)
    made.add_argument("noun", choices=["machine", "balancer"])
    made.add_argument("verb", choices=["ensure", "delete", "list"])
    made.add_argument("name", nargs="?", default="")
    for option in ("account", "cluster", "zone", "kubernetes", "size", "ssh-key", "wait", "servers"):
        made.add_argument(f"--{option}", default="")
    return made


def machine(state: State, options: argparse.Namespace) -> Any:
    """Make, find, remove or list machines."""
    machines = state["machines"]
    own = {name: each for name, each in machines.items() if each["account"] == options.account}
    if options.verb == "list":
        return [each for each in own.values() if each["cluster"] == options.cluster]
    if options.verb == "delete":
        if options.name not in own:
            return {"changed": False}
        if machines.get(options.name, {}).get("stuck"):
            sys.exit(f"the host of {options.name} does not answer")
        return {"changed": machines.pop(options.name, None) is not None}
    known = machines.get(options.name)
    if options.size == IMPOSSIBLE:
        sys.exit(f"no quota for machines of size {IMPOSSIBLE}")
    if known is None:
        state["made"] += 1
        known = machines[options.name] = {
            "name": options.name,
            "account": options.account,
            "cluster": options.cluster,
            "id": str(uuid.uuid4()),
            "address": f"198.51.100.{state['made']}",
            "machineID": uuid.uuid4().hex,
            "hostKeys": ["ssh-ed25519 STANDIN"],
            "state": "running",
        }
        return {**known, "changed": True}
    return {**known, "changed": False}


def balancer(state: State, options: argparse.Namespace) -> Any:
    """Make, change or remove a balancer."""
    balancers = state["balancers"]
    if options.verb == "delete":
        return {"changed": balancers.pop(options.name, None) is not None}
    before = balancers.get(options.name)
    state["made"] += 0 if before else 1
    host = before["host"] if before else f"198.51.100.{state['made']}"
    balancers[options.name] = {"host": host, "servers": json.loads(options.servers or "[]")}
    return {**balancers[options.name], "changed": balancers[options.name] != before}


def main() -> None:
    """Do one thing under a lock, and write everything or nothing."""
    options = parser().parse_args()
    with open(options.folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        file = options.folder / "cloud.json"
        state = json.loads(file.read_text()) if file.exists() else {"machines": {}, "balancers": {}, "made": 0}
        answer = (machine if options.noun == "machine" else balancer)(state, options)
        partial = options.folder / "cloud.partial"
        partial.write_text(json.dumps(state))
        partial.rename(file)
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
