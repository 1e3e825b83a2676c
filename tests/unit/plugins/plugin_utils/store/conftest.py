# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real processes and real file systems for the store's tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# Kills the process at the n-th call that touches the store, given as the first argument: before the call is made.
KILLED_AT_STEP = """
import os, signal, sys
left = int(sys.argv[1])
watched = {"open", "os.rename", "os.remove", "os.link", "os.mkdir", "os.chmod", "os.truncate", "os.listdir", "fcntl.flock"}
def hook(event, arguments):
    global left
    if event in watched and (event == "fcntl.flock" or sys.argv[2] in str(arguments[0])):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(hook)
"""

# Has run what is the same for many processes, and forks for each of them.
FORKS = """
import json, os, sys, tempfile
exec(sys.argv[1])
for line in sys.stdin:
    code, *sys.argv[1:] = json.loads(line)
    files = [tempfile.TemporaryFile("w+") for _ in range(2)]
    child = os.fork()
    if not child:
        for descriptor, file in enumerate(files, 1):
            os.dup2(file.fileno(), descriptor)
        break
    returncode = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    for file in files:
        file.seek(0)
    print(json.dumps([returncode, *(file.read() for file in files)]), flush=True)
else:
    sys.exit()
exec(code)
"""


class Python:
    """Starts Python processes that can import the collection."""

    def start(self, code: str, *arguments: object, prefix: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        environment = dict(os.environ, PYTHONPATH=os.pathsep.join(each for each in sys.path if each))
        command = [*prefix, sys.executable, "-c", code, *map(str, arguments)]
        return subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def run(self, code: str, *arguments: object, prefix: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        process = self.start(code, *arguments, prefix=prefix)
        out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def forks(self, beginning: str) -> Forks:
        return Forks(self.start(FORKS, beginning))

    def run_on_tmpfs(self, code: str, folder: Path, size: str) -> subprocess.CompletedProcess[str]:
        """Run with a small file system of its own on ``folder``; nothing of it is seen outside."""
        folder.mkdir(exist_ok=True)
        mount = f'mount -t tmpfs -o size={size} tmpfs "{folder}" && exec "$@"'
        return self.run(code, folder, prefix=("unshare", "--mount", "sh", "-c", mount, "sh"))


class Forks:
    """Runs processes that begin alike: each is a fork of one that has imported what they need."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __enter__(self) -> Forks:
        return self

    def __exit__(self, *raised: object) -> None:
        self._process.communicate()

    def run(self, code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps([code, *map(str, arguments)]) + "\n")
        self._process.stdin.flush()
        return subprocess.CompletedProcess(self._process.args, *json.loads(self._process.stdout.readline()))


@pytest.fixture(scope="session")
def python() -> Python:
    return Python()


@pytest.fixture(scope="session")
def mounts_allowed() -> None:
    tried = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    if tried.returncode:
        pytest.skip("mounting a file system of its own needs root")


@pytest.fixture(scope="session")
def killed_at_step() -> str:
    return KILLED_AT_STEP
