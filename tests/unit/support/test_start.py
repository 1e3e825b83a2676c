# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests' runs keep between them: no archive of a module is used again once any file that may be in it has changed."""

from __future__ import annotations

from pathlib import Path

import pytest
import sitecustomize
from ansible.executor import module_common


def contents(module: Path) -> tuple[bytes, str, str]:
    given = {
        "module_path": str(module),
        "b_module_data": module.read_bytes(),
        "module_compression": "ZIP_DEFLATED",
    }
    found: tuple[bytes, str, str] = sitecustomize.contents(module_common, given)
    return found


def written(root: Path, collection: str) -> tuple[Path, Path]:
    plugins = root / "ansible_collections" / collection / "plugins"
    module, used = plugins / "modules" / "thing.py", plugins / "module_utils" / "deep" / "used.py"
    for file in (module, used):
        file.parent.mkdir(parents=True)
        file.write_text("pass\n")
    return module, used


@pytest.mark.parametrize("which", [0, 1])
def test_another_file_is_another_archive(tmp_path: Path, which: int) -> None:
    files = written(tmp_path, "kubeadm/control_plane")
    before = contents(files[0])
    assert before[0] and before == contents(files[0])
    files[which].write_text("pass  # changed\n")
    assert contents(files[0])[0] != before[0]


def test_a_module_that_may_import_anything_is_packed_each_time(tmp_path: Path) -> None:
    assert contents(written(tmp_path, "other/collection")[0])[0] == b""
    role = tmp_path / "role" / "library" / "thing.py"
    role.parent.mkdir(parents=True)
    role.write_text("pass\n")
    assert contents(role)[0] == b""
