# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filters in a real playbook: their documentation is shown, their examples hold, and their errors have no traceback."""

from __future__ import annotations

import ast
import typing as t
from pathlib import Path

import pytest
import yaml
from workspace import Workspace

ROOT = Path(__file__).parents[2]
FILTERS = sorted(path for path in (ROOT / "plugins" / "filter").glob("*.py") if path.stem != "__init__")


def examples(path: Path) -> list[t.Any]:
    """The tasks of a filter's examples."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "EXAMPLES":
            return list(yaml.safe_load(ast.literal_eval(node.value)))
    raise AssertionError(f"{path.name} has no examples")


def play(folder: Path, tasks: t.Sequence[t.Any]) -> t.Any:
    """Run tasks on localhost."""
    plays = [{"name": "Test", "hosts": "localhost", "gather_facts": False, "tasks": list(tasks)}]
    (folder / "play.yml").write_text(yaml.safe_dump(plays, sort_keys=False))
    return Workspace.run(["ansible-playbook", "-i", "localhost,", "-c", "local", "play.yml"], folder)


@pytest.mark.parametrize("path", FILTERS, ids=lambda path: path.stem)
def test_the_examples_hold(tmp_path: Path, path: Path) -> None:
    """Every example runs and its assertions hold."""
    run = play(tmp_path, examples(path))
    run.succeeded()
    assert "WARNING" not in run.output


def test_the_documentation_is_shown(tmp_path: Path) -> None:
    """ansible-doc knows each filter by its full name."""
    names = [f"kubeadm.control_plane.{path.stem}" for path in FILTERS]
    run = Workspace.run(["ansible-doc", "-t", "filter", *names], tmp_path).succeeded()
    told = run.output.split("> FILTER ")[1:]
    assert {each.split()[0] for each in told} == set(names) and all("EXAMPLES" in each for each in told)


def test_errors_are_for_people(tmp_path: Path) -> None:
    """Every problem with its path in one message; no traceback; a secret's value nowhere."""
    config = {
        "initConfiguration": {"nodeRegistration": {"criSocket": "tcp://x"}, "bootstrapTokens": [{"token": "s3cret!"}]},
        "clusterConfiguration": {"proxy": {"disabled": True}},
    }
    task = {
        "name": "Convert",
        "ansible.builtin.debug": {"msg": "{{ config | kubeadm.control_plane.to_kubeadm('v1.30.0') }}"},
        "vars": {"config": config},
    }
    run = play(tmp_path, [task]).failed()
    for words in (
        "3 problems",
        "criSocket",
        "bootstrapTokens[0].token",
        "clusterConfiguration.proxy.disabled",
        "v1beta3",
    ):
        assert words in run.text, run.output
    assert "Traceback" not in run.output
    assert "s3cret!" not in run.output
