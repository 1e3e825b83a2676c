# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host whose folders are its own: this machine's stay as they are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "support" / "private_system.py"
MODULES = "ansible_collections.kubeadm.control_plane.plugins.modules"


class PrivateHost:
    """What it changes lies in a folder, and is there again for the next program."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # Debian's rpm has its database in the home, which is to be the host's own, too.
        own = {"HOME": "/var/tmp", "PYTHONPATH": self._collections(), "PYTHONDONTWRITEBYTECODE": "1"}
        self._environment = {**os.environ, **own}

    def __enter__(self) -> t.Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.end()

    def end(self) -> None:
        """Take away what is not in its folder."""

    @staticmethod
    def _collections() -> str:
        first = os.environ.get("ANSIBLE_COLLECTIONS_PATH", "").partition(os.pathsep)[0]
        return first or str(ROOT.parents[2])

    def run(self, *words: str, check: bool = True) -> str:
        """Run a program in it and return what it printed."""
        # Other tests' processes are none of this host's.
        apart = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        own = ["setpriv", "--pdeathsig", "KILL", *apart, sys.executable, str(PROGRAM)]
        done = subprocess.run(
            [*own, str(self.folder / "system"), *words],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if check:
            assert done.returncode == 0, f"{' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout

    def forget_packages(self, *names: str) -> None:
        """Have no sources of packages, and know of no package.

        What this machine has of these names is gone there alone; of the others apt and dpkg would read all at each start.
        """
        lists = " ".join(f"/var/lib/dpkg/{each}" for each in ("status", "triggers/File", "triggers/Unincorp"))
        words = (
            f"dpkg --purge --force-all {' '.join(names)}",
            f"for each in {lists}; do : > $each; done",
            "rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/*",
            # Nobody but root may look into the tests' folder.
            "echo 'APT::Sandbox::User \"root\";' > /etc/apt/apt.conf.d/99-sandbox",
        )
        self.run("sh", "-c", "; ".join(words))

    def module(self, name: str, **arguments: t.Any) -> dict[str, t.Any]:
        """Run a module and return its result."""
        path = self.folder / "arguments.json"
        path.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": {**arguments, "_ansible_remote_tmp": "/tmp"}}))
        said = self.run(sys.executable, "-m", f"{MODULES}.{name}", str(path), check=False)
        return dict(json.loads(said.splitlines()[-1]))


class NetworkedHost(PrivateHost):
    """One with a network namespace of its own, too."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__(folder)
        self.name = f"{name}-{os.getpid()}"
        subprocess.run(["ip", "netns", "add", self.name], check=True)

    def end(self) -> None:
        """See the base class."""
        subprocess.run(["ip", "netns", "delete", self.name], check=True)

    def run(self, *words: str, check: bool = True) -> str:
        """See the base class."""
        return super().run("ip", "netns", "exec", self.name, *words, check=check)

    def ip(self, words: str) -> str:
        """Run ip in the host's network."""
        done = subprocess.run(["ip", "-n", self.name, *words.split()], check=True, capture_output=True, text=True)
        return done.stdout
