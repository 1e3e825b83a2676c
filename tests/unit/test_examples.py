# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The examples in the modules' documentation are tasks that the modules accept."""

from __future__ import annotations

import ast
import re
import typing as t
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
MODULES = sorted(path for path in (ROOT / "plugins" / "modules").glob("*.py") if path.stem != "__init__")
PREFIX = "kubeadm.control_plane."


def documents(path: Path) -> dict[str, t.Any]:
    """The YAML documents of a module's source by their names."""
    found = {}
    for node in ast.parse(path.read_text()).body:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Constant)
        ):
            name = node.targets[0].id
            if name in ("DOCUMENTATION", "EXAMPLES"):
                found[name] = yaml.safe_load(str(node.value.value))
    return found


def options(document: dict[str, t.Any]) -> dict[str, t.Any]:
    """A module's options, those of its documentation fragments included: what was said of an option first stands."""
    found: dict[str, t.Any] = dict(document.get("options") or {})
    for reference in document.get("extends_documentation_fragment") or []:
        fragment, _separator, attribute = reference[len(PREFIX) :].partition(".")
        source = (ROOT / "plugins" / "doc_fragments" / f"{fragment}.py").read_text()
        wanted = attribute.upper() or "DOCUMENTATION"
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == wanted:
                assert isinstance(node.value, ast.Constant)
                for name, option in (yaml.safe_load(str(node.value.value)).get("options") or {}).items():
                    found[name] = {**option, **found.get(name, {})}
    return found


def test_a_store_that_need_not_be_given_has_the_same_options() -> None:
    """A fragment named before the store's says so, and leaves what a store is to the store's."""
    needed = options({"extends_documentation_fragment": [f"{PREFIX}_store"]})["store"]
    read = [documents(path)["DOCUMENTATION"] for path in MODULES]
    users = [each for each in read if f"{PREFIX}_workload" in (each.get("extends_documentation_fragment") or [])]
    assert needed["required"] is True and users
    for each in users:
        store = options(each)["store"]
        assert store["required"] is False and store["suboptions"] == needed["suboptions"]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_examples_fit_the_options(path: Path) -> None:
    """Every option that an example gives exists, and every required one is given."""
    found = documents(path)
    known = options(found["DOCUMENTATION"])
    used = [task[PREFIX + path.stem] or {} for task in found["EXAMPLES"] if PREFIX + path.stem in task]
    assert used, "no example uses the module itself"
    for given in used:
        assert set(given) <= set(known)
        assert {name for name, option in known.items() if option.get("required")} <= set(given)


@pytest.mark.parametrize("name", ["standalone_modules.md", "etcd_snapshots.md"])
def test_examples_of_a_page_fit_the_options(name: str) -> None:
    """The tasks that a page shows are such that the modules accept them."""
    text = (ROOT / "docs" / name).read_text()
    found = [
        entry
        for block in re.findall(r"^```yaml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        for entry in yaml.safe_load(block)
    ]
    tasks = [task for entry in found for task in entry.get("tasks", [entry])]
    used = [(key[len(PREFIX) :], task[key] or {}) for task in tasks for key in task if key.startswith(PREFIX)]
    assert used, "the page shows no module"
    for module, given in used:
        known = options(documents(ROOT / "plugins" / "modules" / f"{module}.py")["DOCUMENTATION"])
        assert set(given) <= set(known), module
        assert {key for key, option in known.items() if option.get("required")} <= set(given), module
