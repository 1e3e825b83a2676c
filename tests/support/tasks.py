# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tasks run by a real ansible-playbook on this host, as somebody's own playbook runs them on a node."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import typing as t
from dataclasses import dataclass
from pathlib import Path

PREFIX = "kubeadm.control_plane."


@dataclass(frozen=True)
class Task:
    """One task: the module's name without the collection's, its options, and how it is run."""

    module: str
    options: t.Mapping[str, t.Any]
    check: bool = False
    diff: bool = True


@dataclass(frozen=True)
class Results:
    """What each task returned, in their order, and what the run printed."""

    items: tuple[dict[str, t.Any], ...]
    output: str

    def __getitem__(self, index: int) -> dict[str, t.Any]:
        return self.items[index]

    def __iter__(self) -> t.Iterator[dict[str, t.Any]]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


class Playbook:
    """Runs tasks on this host with the connection local."""

    def __init__(
        self, folder: Path, kubeconfig: str, kubectl: str, hosts: t.Optional[t.Mapping[str, t.Any]] = None
    ) -> None:
        self._folder = folder
        self.kubeconfig = kubeconfig
        self._path = f"{os.path.dirname(kubectl)}:{os.environ['PATH']}"
        self._hosts = hosts or {"node": {}}

    def run(self, *tasks: Task, kubeconfig: t.Optional[str] = None) -> Results:
        """Run the tasks one after another, on the first host; their failures are results."""
        steps: list[dict[str, t.Any]] = []
        for index, task in enumerate(tasks):
            options = {"kubeconfig": kubeconfig or self.kubeconfig, **task.options}
            steps.append(
                {
                    "name": f"{task.module} {index}",
                    PREFIX + task.module: options,
                    "check_mode": task.check,
                    "diff": task.diff,
                    "register": f"result_{index}",
                    "ignore_errors": True,
                }
            )
        names = "[" + ", ".join(f"result_{index}" for index in range(len(tasks))) + "]"
        found = self._folder / "results.json"
        copy = {"content": "{{ " + names + " | to_json }}", "dest": str(found), "mode": "0600"}
        output = self.play([*steps, {"name": "Keep the results", "ansible.builtin.copy": copy, "diff": False}])
        return Results(tuple(json.loads(found.read_text())), re.sub(r"\s+", " ", output))

    def play(self, steps: t.Sequence[t.Mapping[str, t.Any]]) -> str:
        """Run tasks as they are written, on the first host, to their end without failure; returns what the run printed."""
        common = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        hosts = {name: {**common, **variables} for name, variables in self._hosts.items()}
        inventory = self._folder / "inventory.json"
        inventory.write_text(json.dumps({"all": {"hosts": hosts}}))
        play = {"name": "Tasks", "hosts": next(iter(hosts)), "gather_facts": False, "tasks": list(steps)}
        playbook = self._folder / "playbook.json"
        playbook.write_text(json.dumps([play]))
        environment = {
            **os.environ,
            "PATH": self._path,
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_LOCALHOST_WARNING": "false",
            "ANSIBLE_HOME": str(self._folder / "ansible"),
        }
        done = subprocess.run(
            ["ansible-playbook", "-i", str(inventory), str(playbook)],
            cwd=self._folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-6000:]
        assert "Traceback" not in done.stdout, done.stdout[-6000:]
        return done.stdout
