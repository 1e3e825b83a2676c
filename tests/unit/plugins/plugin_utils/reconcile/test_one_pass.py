# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a run checks what machines are made of: never later than before the first change, and for each new machine."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.one_pass import is_check_due

NEW: dict[str, t.Any] = {"machine": None, "name": None}
BEGUN = {"machine": "m1", "name": None}
FOUNDATION = ("createInfrastructure", "createCertificates")


@pytest.mark.parametrize(
    ("action", "target", "steps", "checked", "due"),
    [
        ("createInfrastructure", None, (), False, True),
        ("createInfrastructure", None, (), True, False),
        ("initialize", BEGUN, (), False, True),
        ("initialize", NEW, FOUNDATION, False, False),
        ("initialize", NEW, (), True, False),
        # Hosts were released meanwhile, or another machine has failed on one.
        ("initialize", NEW, (*FOUNDATION, "initialize", "remove"), True, True),
        ("join", NEW, (*FOUNDATION, "initialize"), True, True),
        ("join", NEW, FOUNDATION, True, True),
        ("join", BEGUN, ("join",), False, False),
        ("remove", BEGUN, ("join",), False, False),
        ("none", None, (), False, True),
    ],
)
def test_what_machines_are_made_of_is_checked_once_for_each(
    action: str, target: t.Optional[dict[str, t.Any]], steps: tuple[str, ...], checked: bool, due: bool
) -> None:
    assert is_check_due({"action": action, "target": target}, steps, checked) is due
