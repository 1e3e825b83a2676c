# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What users are told to do can be done with either kind of store."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import advice, kinds
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.file.store import FileStore

PLUGINS = Path(advice.__file__).parents[2]
# Whoever says these words tells a user to edit an object; advice.py says them for everybody.
IMPERATIVE = re.compile(
    r"annotate (it|its|the)\b|(with|say so with|put|set|take|correct) the annotation|(or|then|first) delete the Machine\b",
    re.I,
)
# Standalone modules on a node, local machines, and validation of an annotation where a manifest has it: none of them knows a store.
OWN_WORDS = {
    "module_utils/nspawn/machine/lifecycle.py",
    "plugin_utils/workload/coredns.py",
    "plugin_utils/workload/kube_proxy.py",
    "plugin_utils/objects/validate/cluster.py",
}


def texts(path: Path) -> Iterator[str]:
    """Every text of a file that is no docstring and no module documentation."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    documentation = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.value


def test_nobody_else_tells_users_to_edit_objects() -> None:
    files = [
        path
        for folder in ("module_utils", "plugin_utils", "action", "inventory")
        for path in sorted((PLUGINS / folder).rglob("*.py"))
        if path.relative_to(PLUGINS).as_posix() not in {*OWN_WORDS, "plugin_utils/objects/advice.py"}
    ]
    assert len(files) > 100
    found = [
        (path.relative_to(PLUGINS).as_posix(), text)
        for path in files
        for text in texts(path)
        if IMPERATIVE.search(text)
    ]
    # What follows the words names the object and where it is.
    assert [each for each in found if not each[1].rstrip().endswith("take the annotation")] == []


@pytest.mark.parametrize("kind", [kinds.MACHINE, kinds.CLUSTER, kinds.KUBEADM_CONTROL_PLANE])
def test_the_file_that_is_named_is_the_stores(kind: str, tmp_path: Path) -> None:
    version, metadata = kinds.api_version(kind), {"name": "x", "namespace": "staging"}
    FileStore(str(tmp_path)).create({"apiVersion": version, "kind": kind, "metadata": dict(metadata), "spec": {}})
    typed, _, named = advice.edit(kind, metadata).partition("; in a store of files, ")
    assert typed.endswith(" x -n staging") and (tmp_path / named).is_file()


def test_several_machines_are_one_command() -> None:
    assert advice.replace("m1", "m2").endswith("-e control_plane_machines=m1,m2)")
    deleted = advice.delete(*({"name": each, "namespace": "staging"} for each in ("m1", "m2")))
    assert (
        "delete machine m1 m2 -n staging --wait=false;" in deleted and "namespace=staging and state=absent" in deleted
    )
