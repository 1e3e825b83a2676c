# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of the stand-in for machines that runs programs and keeps files."""

from __future__ import annotations

import hashlib
import re
import sys
from datetime import datetime, timezone
from typing import Any, Optional

Object = dict[str, Any]


def now() -> datetime:
    """The time on every machine."""
    return datetime.now(timezone.utc)


def rfc3339() -> str:
    """The time as objects have it."""
    return now().strftime("%Y-%m-%dT%H:%M:%SZ")


def asked_for_passwords(command: str) -> list[str]:
    """The password that sudo got where the command has it ask for one, none where it doesn't."""
    prompt = re.search(r"\[sudo via ansible, key=(\w+)\] password:", command)
    if not prompt:
        return []
    sys.stdout.write(prompt.group(0))
    sys.stdout.flush()
    password = sys.stdin.readline().rstrip("\n")
    sys.stdout.write(f"BECOME-SUCCESS-{prompt.group(1)}\n")
    sys.stdout.flush()
    return [password]


class Programs:
    """What a machine has run, and its files."""

    state: Object
    here: Optional[Object]

    def node_command(self, arguments: Object) -> Object:
        """A program runs until it is asked for the second time. One that is called false fails; each is started once by its name."""
        assert self.here is not None
        known = self.state.setdefault("commands", {}).setdefault(self.here["name"], {})
        answer: Object = {"changed": False, "actual_machine_id": self.here["machineID"], "exit_status": None, "size": 0}
        answer |= dict.fromkeys(("started_at", "ended_at", "head", "tail", "sha256", "log_path", "said"), "")
        found = known.get(arguments["name"])
        if found is None:
            if not arguments.get("argv"):
                return {**answer, "state": "Absent"}
            found = known[arguments["name"]] = {"argv": arguments["argv"], "polls": 0, "at": rfc3339()}
            self.state.setdefault("started", []).append([self.here["name"], *arguments["argv"]])
            answer["changed"] = True
        elif arguments.get("argv"):
            found["polls"] += 1
        answer |= {"started_at": found["at"], "log_path": f"/commands/{arguments['name']}/output"}
        if not found["polls"]:
            return {**answer, "state": "Running"}
        output = f"this is {' '.join(found['argv'])}\n"
        digest = hashlib.sha256(output.encode()).hexdigest()
        rc = int(found["argv"][0] == "false")
        ended = {"state": "Ended", "exit_status": rc, "ended_at": found["at"], "head": output, "size": len(output)}
        return {**answer, **ended, "sha256": digest}

    def node_file(self, arguments: Object) -> Object:
        """A file is what was written last."""
        assert self.here is not None
        files = self.state.setdefault("files", {}).setdefault(self.here["name"], {})
        wanted = arguments.get("content") if arguments.get("state", "present") == "present" else None
        changed = files.get(arguments["path"]) != wanted
        files[arguments["path"]] = wanted
        return {"changed": changed, "sha256": ""}

    def lineinfile(self, arguments: Object) -> Object:
        """A file is its last line."""
        assert self.here is not None
        self.state.setdefault("files", {}).setdefault(self.here["name"], {})[arguments["path"]] = arguments["line"]
        return {"changed": True}

    def setup(self, arguments: Object) -> Object:
        """Facts are what a test has put there, one mapping for each time that it is asked: a machine may say anything."""
        del arguments
        assert self.here is not None
        facts = self.state.get("facts", {}).get(self.here["name"], [])
        return {"ansible_facts": facts.pop(0) if facts else {}}
