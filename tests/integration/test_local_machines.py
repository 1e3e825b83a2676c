# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Local machines of another directory: a process that looks like one, on an overlay over an image of the cache."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import typing as t
import uuid
from pathlib import Path

import pytest
from tasks import Playbook

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="local machines are root's")


class Bench:
    """A machine that runs, and its image."""

    def __init__(self, folder: Path) -> None:
        self.identity = uuid.uuid4().hex
        self.image = folder / "cache" / "images" / "golden@1"
        self.directory = folder / "theirs"
        machine = self.directory / "machines" / "m1"
        base = folder / "cache" / "bases" / "bookworm-1"
        for each in (base, self.image / "rootfs", *(machine / name for name in ("root", "upper", "work"))):
            each.mkdir(parents=True)
        (self.image / "image.json").write_text(json.dumps({"name": "golden", "base": "bookworm-1"}))
        options = f"lowerdir={self.image}/rootfs:{base},upperdir={machine}/upper,workdir={machine}/work"
        started = f"mount -t overlay -o {options} overlay {machine}/root && echo && exec cat"
        named = [f"--directory={machine}/root", "--machine=m1", f"--uuid={uuid.UUID(self.identity)}"]
        self._process = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", started, "systemd-nspawn", *named],
            env={**os.environ, "container_uuid": self.identity},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None and self._process.stdout.readline()
        self._playbook = Playbook(folder, "", "")
        self._cache = str(folder / "cache")

    def end(self) -> None:
        """End the machine."""
        self._process.communicate()

    def observe(self, directory: Path) -> str:
        """Have the provider's role look for two machines, one of which was never made; return what was said."""
        found = [{"name": "m1", "object": {"status": {"machineID": self.identity}}}, {"name": "m2", "object": {}}]
        cluster = {"cluster": {"name": "prod", "namespace": "default"}}
        role: dict[str, t.Any] = {"name": "kubeadm.control_plane.machine_nspawn", "tasks_from": "observe"}
        given = {
            "infrastructure_cluster": cluster,
            "infrastructure_machines": found,
            "machine_nspawn_directory": str(directory),
        }
        step = {"name": "Observe", "ansible.builtin.include_role": role, "vars": given}
        rescued = {"name": "Go on", "ansible.builtin.meta": "noop"}
        return re.sub(r"\s+", " ", self._playbook.play([{"name": "Look", "block": [step], "rescue": [rescued]}]))

    def remove_image(self, check: bool) -> str:
        """Remove the image, with another directory than the machine's; return what was said."""
        options = {"name": "golden", "state": "absent", "cache": self._cache, "directory": f"{self.directory}-not"}
        step = {"name": "Remove", "kubeadm.control_plane.nspawn_image": options}
        return self._playbook.play([{**step, "check_mode": check, "ignore_errors": True}])


@pytest.fixture
def bench() -> t.Iterator[Bench]:
    """See the class."""
    # A machine's folder has a short name.
    with tempfile.TemporaryDirectory() as folder:
        made = Bench(Path(folder))
        yield made
        made.end()


def test_a_machine_that_runs_in_another_directory_is_not_missing(bench: Bench) -> None:
    """Marked so, it would be removed and replaced though it is well: the directory of a lost variable has none of them."""
    ours = Path(f"{bench.directory}-not")
    for directory in (ours, ours.parent):
        said = bench.observe(directory)
        assert f"machine m1 runs on this host in {bench.directory}, and {directory} has no such machine." in said
        assert f"Set machine_nspawn_directory to {bench.directory}." in said
    assert "fatal" not in bench.observe(bench.directory)
    bench.end()
    assert "fatal" not in bench.observe(ours)


def test_the_image_of_a_machine_that_runs_in_another_directory_stays(bench: Bench) -> None:
    """The cache is the user's, and so one for all directories: the machine would lose kubelet and systemd."""
    for check in (True, False):
        assert "image golden is in use by a running machine of another directory (process " in bench.remove_image(check)
        assert bench.image.is_dir()
    bench.end()
    assert "changed=1" in bench.remove_image(check=True) and bench.image.is_dir()
    assert "changed=1" in bench.remove_image(check=False) and not bench.image.exists()
