# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the tests' runs keep between them: nothing is used again once the text that it was made of has changed."""

from __future__ import annotations

import os
import subprocess
import sys
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


PROGRAM = """
import dataclasses, re

@dataclasses.dataclass(frozen=True, order=True)
class Pair:
    one: int
    two: str = "DEFAULT"

found = re.compile("(?P<word>EXPRESSION)|([0-9]+)", re.IGNORECASE).match("Abc 12")
print(Pair(1), Pair(1) < Pair(2), hash(Pair(1)) == hash(Pair(1)), found and found.groupdict())
print(re.compile(b"[^a]+").findall(b"xay"), re.split("(?x) , # a comment", "a,b"), re.compile("a", re.I | re.A).flags)
"""


def test_what_was_compiled_before_does_the_same(tmp_path: Path) -> None:
    """A program says the same with nothing kept, with what its last run kept, and with a file that is none; and another text is another."""
    program, kept = tmp_path / "program.py", tmp_path / "cache"

    def said(default: str, expression: str) -> str:
        program.write_text(PROGRAM.replace("DEFAULT", default).replace("EXPRESSION", expression))
        environment = {
            **os.environ,
            "PYTHONPATH": str(Path(sitecustomize.__file__).parent),
            "PYTHONPYCACHEPREFIX": str(kept),
        }
        return subprocess.run(
            [sys.executable, str(program)], env=environment, stdout=subprocess.PIPE, text=True, check=True
        ).stdout

    first = said("two", "[a-z]+")
    assert first.splitlines() == [
        "Pair(one=1, two='two') True True {'word': 'Abc'}",
        "[b'x', b'y'] ['a', 'b'] 258",
    ]
    [file] = (kept / "kept" / "compiled").iterdir()
    written = file.read_bytes()
    assert said("two", "[a-z]+") == first and file.read_bytes() == written, "all of it was kept"
    assert said("other", "x") == first.replace("two='two'", "two='other'").replace("{'word': 'Abc'}", "None")
    file.write_bytes(b"no such thing")
    assert said("two", "[a-z]+") == first
