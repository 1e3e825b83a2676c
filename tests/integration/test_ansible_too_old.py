# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The project for AWX in an image whose ansible-core is too old: a real one, 2.16."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from prometheus import DEFAULT_CACHE

pytestmark = pytest.mark.full
ROOT = Path(__file__).parents[2]
CACHE = Path(os.environ.get("KUBEADM_CONTROL_PLANE_CACHE") or os.path.expanduser(DEFAULT_CACHE))
PROGRAM = CACHE / "venv-too-old" / "bin" / "ansible-playbook"
# Of the tests' own Ansible, with which this one has nothing to do.
NOT_PASSED = ("PYTHON", "ANSIBLE_", "VIRTUAL_ENV")


@pytest.mark.skipif(not PROGRAM.exists(), reason="no ansible-core 2.16: tests/tools/full.sh gets it for the full suite")
@pytest.mark.parametrize("verb", ["plan", "reconcile", "status"])
def test_it_is_refused_with_one_line(tmp_path: Path, verb: str) -> None:
    """Before anything of the collection runs."""
    project = shutil.copytree(ROOT / "extensions" / "awx", tmp_path / "project")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(NOT_PASSED)}
    environment["ANSIBLE_COLLECTIONS_PATH"] = str(ROOT.parents[2])
    done = subprocess.run(
        [str(PROGRAM), "-i", "localhost,", "control_plane.yml", "-e", f"verb={verb}"],
        cwd=project,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
    assert done.returncode != 0 and errors == [
        "ERROR! Collection kubeadm.control_plane does not support Ansible version 2.16.19"
    ]
    assert "TASK" not in done.stdout
