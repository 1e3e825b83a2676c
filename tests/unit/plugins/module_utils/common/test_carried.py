# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Code that is carried along runs by itself, without the collection that brought it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import carried, guard


def test_the_program_needs_nothing_but_python(tmp_path: Path) -> None:
    code, kept = tmp_path / "code", tmp_path / "kept"
    (code / "left").mkdir(parents=True)
    program = carried.carry(str(code), "common.guard", "read_text", str(kept))
    assert not (code / "left").exists()
    done = subprocess.run([sys.executable, "-I", program], cwd="/", env={}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert guard.__name__ in sys.modules
    assert {path.stat().st_mode & 0o777 for path in code.rglob("*") if path.is_file()} == {0o600}


def test_what_fails_leaves_its_words_for_root_alone(tmp_path: Path) -> None:
    program = carried.carry(str(tmp_path / "code"), "common.guard", "require_machine", "another", "/dev/null")
    done = subprocess.run([sys.executable, "-I", program], cwd="/", env={}, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and done.stderr == ""
    output = tmp_path / "code" / "output"
    assert "Wrong machine" in output.read_text(encoding="utf-8") and output.stat().st_mode & 0o777 == 0o600
