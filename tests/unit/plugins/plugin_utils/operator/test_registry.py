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

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator import catalogue
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.change_configuration import commands
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.change_configuration import (
    run as configuration,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.custom import commands as catalogue_custom
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.custom import run as custom
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.renew_certificates import (
    commands as catalogue_certificates,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.renew_certificates import (
    run as certificates,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.rotate_certificate_authorities import (
    commands as catalogue_rotation,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.rotate_certificate_authorities import (
    run as rotation,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks import registry as operator_commands
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.tasks.context import CommandFailure
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.upgrade import (
    commands as catalogue_upgrade,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator.upgrade import run as upgrade


def test_there_is_no_command_that_succeeds_because_nobody_wrote_it() -> None:
    assert set(catalogue.COMMANDS) == set(operator_commands.REGISTRY)


def test_no_name_is_given_twice() -> None:
    """The second would silently take the first one's place."""
    families = (
        catalogue_custom,
        catalogue_upgrade,
        catalogue_certificates,
        catalogue_rotation,
        commands,
    )
    names = Counter(each.name for family in families for each in family.COMMANDS)
    runs = Counter(
        name for family in (custom, upgrade, certificates, rotation, configuration) for name in family.REGISTRY
    )
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
