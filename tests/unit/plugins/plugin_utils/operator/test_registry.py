# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every command that a Task may have can be run, and by one function only.

Source: docs/reference/kubeadm_operator.md, "Defects".
"""

from __future__ import annotations

import os
import typing as t
from collections import Counter
from pathlib import Path

import pytest
from operator_cases import facts, node
from task_context import CommandRun, StandInAction

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects import actions
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator import catalogue, kinds
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks import registry as operator_commands
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks.context import CommandFailure

OPERATOR = Path(kinds.__file__).parent


def test_every_folder_is_a_kind_of_action_that_objects_know() -> None:
    """A folder without its line in ACTIONS would be code that no Action reaches."""
    folders = {each.parent.name for each in OPERATOR.glob("*/__init__.py")} - {"tasks"}
    assert folders == {kinds.folder_of(each) for each in actions.ACTIONS}


def test_there_is_no_command_that_succeeds_because_nobody_wrote_it() -> None:
    assert set(catalogue.COMMANDS) == set(operator_commands.REGISTRY)


def test_no_name_is_given_twice() -> None:
    """The second would silently take the first one's place."""
    names = Counter(each.name for module in kinds.modules("commands") for each in module.COMMANDS)
    runs = Counter(name for module in kinds.modules("run") for name in module.REGISTRY)
    assert {name: count for name, count in (names | runs).items() if count > 1} == {}


def test_every_default_is_valid_where_it_is_written_out() -> None:
    for command in catalogue.COMMANDS.values():
        for name, parameter in command.parameters.items():
            if parameter.default is not None:
                assert parameter.errors(parameter.default, name) == [], f"{command.name}.{name}"


PASSWORD = {"ansible_become": True, "ansible_become_password": "correct horse"}


@pytest.mark.parametrize(
    ("name", "reached_by", "variables", "said"),
    [
        ("w-1", PASSWORD, {}, "ansible_become_password would be written to a file"),
        ("-w", {}, {}, "'-w' is no Node's name"),
        ("w-1", {}, {"ansible_sudo_exe": "a"}, "would change how the Node is reached"),
    ],
)
def test_a_role_that_is_not_started(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    reached_by: dict[str, t.Any],
    variables: dict[str, str],
    said: str,
) -> None:
    """Where a system has no files in memory, a password would be in one on a disk; a plan in a store may hold any name."""
    monkeypatch.delattr(os, "memfd_create")
    action = StandInAction(lambda *_call: None)
    action.reached_by = reached_by
    command = {"role": {"name": "acme.own.mark", "vars": variables}}
    run = CommandRun(tmp_path, facts(node(name, "", machine="")), name, command, action)
    with pytest.raises(CommandFailure) as failed:
        run.run()
    assert said in str(failed.value) and "the role was not started" in str(failed.value)
