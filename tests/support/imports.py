# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a file of the tests imports, directly or through the collection and the tests' own modules; told from its text alone."""

from __future__ import annotations

import ast
import functools
import typing as t
from pathlib import Path

ROOT = Path(__file__).parents[2]
COLLECTION = "ansible_collections.kubeadm.control_plane."
# Where a module without a package is looked for, as pyproject.toml has it for pytest.
PLACES = (ROOT / "tests" / "support", ROOT / "tests")

# Of importlib: what imports something, and what may be there to use the rest.
_LOADERS = ("import_module", "exec_module", "module_from_spec", "reload")
_LOOKS = {"importlib", "importlib.util"}


# Files of plugins/plugin_utils through which much comes to Ansible that asks nothing of it by itself, and the tests of what they ask.
# Of the tests that come there by other files only, each asks once more what these have asked.
BORDER = {
    ROOT / "plugins" / "plugin_utils" / f"{file}.py": ROOT
    / "tests"
    / "unit"
    / "plugins"
    / "plugin_utils"
    / f"{test}.py"
    for file, test in {
        "calls/inventory_connection": "calls/test_machine_connection",
        "calls/machine_connection": "calls/test_machine_connection",
        "calls/recorded_connection": "calls/test_machine_connection",
        "observe/maintenance_window": "observe/test_maintenance_window",
        "observe/readiness_gates": "observe/test_readiness_gates",
        "operator/kinds": "operator/test_registry",
        "progress/channel": "progress/test_channel",
        "progress/colors": "calls/test_screen",
        "providers/inventory_pool": "providers/test_inventory_pool",
        "store/opening": "store/test_opening",
    }.items()
}

# Those of the tests' own modules that start a server: etcd, an API server, sshd, systemd, Prometheus.
SERVERS = {"etcd_cluster", "api_server", "newer_api_server", "sshd", "systemd", "namespaced_node", "prometheus"}


def reaches_ansible(path: Path) -> bool:
    """Return whether a test file, its fixtures, or anything that these import asks for ansible-core or runs one of its programs.

    What is asked behind the border counts where the test file itself imports that.
    """
    outside = set(BORDER) - set(_read(path)[1])
    return any(_read(each)[0] for each in reached(path) if each not in outside)


def reaches_server(path: Path) -> bool:
    """Return whether a test file, its fixtures, or anything that these import starts a server."""
    return any(each.stem in SERVERS for each in reached(path))


def reached(path: Path) -> t.Iterator[Path]:
    """Yield a test file, its fixtures and all that these import of the collection and of the tests' own modules."""
    found: set[Path] = set()
    tests = ROOT / "tests"
    fixtures = (folder / "conftest.py" for folder in path.parents if tests in folder.parent.parents)
    waiting = [path, *(each for each in fixtures if each.is_file())]
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            yield each
            waiting.extend(_read(each)[1])


@functools.cache
def _read(path: Path) -> tuple[bool, tuple[Path, ...]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = set(_names(tree, path))
    # A text with more than a program's name is what somebody types, where nothing is run.
    programs = any(
        isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value.startswith("ansible-")
        for each in ast.walk(tree)
        if "subprocess" in names or " " not in str(getattr(each, "value", ""))
    )
    # What is imported by a name that is made up at run time may be anything; what is only looked for isn't imported.
    loads = any(isinstance(each, ast.Attribute) and each.attr in _LOADERS for each in ast.walk(tree))
    anything = {name for name in names if name.partition(".")[0] == "importlib"} - (set() if loads else _LOOKS)
    asks = programs or bool(anything) or any(name.partition(".")[0] == "ansible" for name in names)
    return asks, tuple(file for name in names if (file := _file_of(name)) is not None)


def _names(tree: ast.Module, path: Path) -> t.Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            # Only the collection itself has relative imports.
            above = (COLLECTION[:-1], *path.relative_to(ROOT).parts[: -node.level]) if node.level else ()
            package = ".".join((*above, *filter(None, (node.module,))))
            yield package
            # What is imported from a package may be a module of it.
            yield from (f"{package}.{each.name}" for each in node.names)


def _file_of(name: str) -> t.Optional[Path]:
    if name.startswith(COLLECTION):
        places, parts = (ROOT,), name.removeprefix(COLLECTION).split(".")
    else:
        places, parts = PLACES, name.split(".")
    for place in places:
        stem = place.joinpath(*parts)
        for file in (stem.with_suffix(".py"), stem / "__init__.py"):
            if file.is_file():
                return file
    return None
