# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every command that a Task may have can be run, and by one function only (kubeadm.md A3.1 #13)."""

from __future__ import annotations

from collections import Counter

from ansible_collections.kubeadm.control_plane.plugins.module_utils.operator import (
    catalogue,
    catalogue_certificates,
    catalogue_configuration,
    catalogue_custom,
    catalogue_rotation,
    catalogue_upgrade,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils import operator_commands
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.operator_commands import (
    certificates,
    configuration,
    custom,
    rotation,
    upgrade,
)


def test_there_is_no_command_that_succeeds_because_nobody_wrote_it() -> None:
    assert set(catalogue.COMMANDS) == set(operator_commands.REGISTRY)


def test_no_name_is_given_twice() -> None:
    """The second would silently take the first one's place."""
    families = (
        catalogue_custom,
        catalogue_upgrade,
        catalogue_certificates,
        catalogue_rotation,
        catalogue_configuration,
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
