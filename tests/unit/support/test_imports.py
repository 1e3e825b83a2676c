# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which tests run with every ansible-core, and which start servers: none is left out that has to do with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from imports import BORDER, reached, reaches_ansible, reaches_server

UNIT = Path(__file__).parents[1]
INTEGRATION = UNIT.parent / "integration"


@pytest.mark.parametrize(
    ("file", "reaches"),
    [
        # Itself, through an action plugin, through a module utility, through a fixture, by a name made up at run time.
        ("plugins/filter/test_kubeadm.py", True),
        ("plugins/action/test_plan.py", True),
        ("plugins/plugin_utils/calls/test_machine_connection.py", True),
        ("plugins/module_utils/nspawn/test_images.py", True),
        ("test_collection.py", True),
        ("plugins/plugin_utils/decision/test_decide.py", False),
        ("support/test_availability.py", False),
        # A program's name in a text that is shown; a package that is looked for and not imported.
        ("plugins/plugin_utils/store/lock/test_holding.py", False),
        ("plugins/plugin_utils/reconcile/metrics/test_text.py", False),
        # By files that have tests of their own; which a test that imports one of them is.
        ("plugins/plugin_utils/records/test_deleted_machines.py", False),
        ("plugins/plugin_utils/records/test_bootstrap_tokens.py", True),
    ],
)
def test_what_reaches_ansible(file: str, reaches: bool) -> None:
    assert reaches_ansible(UNIT / file) is reaches


@pytest.mark.parametrize(("file", "test"), BORDER.items(), ids=lambda path: path.stem)
def test_what_asks_ansible_behind_the_border_is_tested_with_each(file: Path, test: Path) -> None:
    assert reaches_ansible(test) and file in reached(test)


@pytest.mark.parametrize(
    ("file", "reaches"),
    [
        # Through a fixture of its folder, itself, through another module of the tests; on stand-ins.
        ("store/test_playbooks.py", True),
        ("test_watcher.py", True),
        ("test_kubelet_configuration.py", True),
        ("test_node_configuration.py", True),
        ("test_operator.py", False),
        ("test_killed_runs.py", False),
    ],
)
def test_what_starts_a_server(file: str, reaches: bool) -> None:
    assert reaches_server(INTEGRATION / file) is reaches
