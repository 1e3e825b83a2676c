# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a line runs, and which package knows which: the tables of docs/architecture.md are what the imports say."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = ROOT / "plugins"
PACKAGE = ("ansible_collections", "kubeadm", "control_plane")
PREFIX = ".".join((*PACKAGE, "plugins", ""))
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
HALVES = {"on a machine": "module_utils", "on the controller": "plugin_utils"}
LARGEST_FOLDER = 15


def table(half: str) -> dict[str, set[str]]:
    """The packages of one half, each with those that it may import."""
    rows = PAGE.partition(f"| {half} | holds | imports |\n")[2].partition("\n\n")[0].splitlines()[1:]
    cells = [row.strip("|").split("|") for row in rows]
    return {cell[0].strip(" `"): set(re.findall(r"`(\w+)`", cell[2])) for cell in cells}


def imported(file: Path) -> set[str]:
    """The packages of this collection that a file imports, as "plugin_utils.store"."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            above = (*PACKAGE, *file.relative_to(ROOT).parts[: -node.level]) if node.level else ()
            names = [".".join((*above, *filter(None, (node.module, each.name)))) for each in node.names]
        elif isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        else:
            continue
        found |= {".".join(name[len(PREFIX) :].split(".")[:2]) for name in names if name.startswith(PREFIX)}
    return found


def packages(half: str) -> dict[str, set[str]]:
    """The packages of one half, each with those that it imports."""
    folders = [each for each in (PLUGINS / half).iterdir() if each.is_dir() and any(each.glob("*.py"))]
    return {
        each.name: {name for file in each.rglob("*.py") for name in imported(file)} - {f"{half}.{each.name}"}
        for each in folders
    }


@pytest.mark.parametrize("half", HALVES)
def test_the_table_is_what_the_imports_say(half: str) -> None:
    found = {name: {each.partition(".")[2] for each in others} for name, others in packages(HALVES[half]).items()}
    # The controller's own observe reads what the machine's observe sent: each half has one, and neither imports the other's.
    assert found == table(half)


def test_what_runs_on_a_machine_imports_nothing_of_the_controller() -> None:
    ours = {each.stem for each in (PLUGINS / "action").glob("*.py")}
    modules = [each for each in (PLUGINS / "modules").glob("*.py") if each.stem not in ours]
    files = [*modules, *(PLUGINS / "module_utils").rglob("*.py")]
    assert len(files) > 100
    assert [file for file in files if any(not name.startswith("module_utils.") for name in imported(file))] == []


def test_no_two_packages_import_each_other_however_far_around() -> None:
    edges = {f"{half}.{name}": others for half in HALVES.values() for name, others in packages(half).items()}
    while edges:
        free = [name for name, others in edges.items() if not others & edges.keys()]
        assert free, f"these import each other: {sorted(edges)}"
        for name in free:
            del edges[name]


def test_no_folder_is_a_hall() -> None:
    """But those that Ansible wants flat."""
    counts = {
        folder.relative_to(PLUGINS).as_posix(): len([each for each in folder.glob("*.py") if each.stem != "__init__"])
        for half in HALVES.values()
        for folder in (PLUGINS / half).rglob("*")
        if folder.is_dir()
    }
    assert {name: count for name, count in counts.items() if count > LARGEST_FOLDER} == {}
    top = [*(PLUGINS / "module_utils").glob("*.py"), *(PLUGINS / "plugin_utils").glob("*.py")]
    assert [each for each in top if each.stem != "__init__"] == []
