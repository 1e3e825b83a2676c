# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A mistyped variable of a role is told from a user's own, and the list of names is what roles, playbooks and inventory have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls import role_variables
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.machine_connection import REFUSED
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.role_variables import (
    INTERNAL,
    SETTINGS,
    refused,
)

ROOT = Path(__file__).resolve().parents[5]
NAME = re.compile(r"(?<![\w./])((?:control_plane|machine_inventory|machine_nspawn|operator)_[a-z0-9_]+)")
# Of playbooks alone, and the one that is made of two of the role's.
OF_PLAYBOOKS = {
    "control_plane_adopt",
    "control_plane_install_namespaces",
    "control_plane_install_runners",
    "control_plane_output",
    "control_plane_output_file",
    "control_plane_providers",
    "control_plane_serial",
    "control_plane_until",
    "control_plane_watch_seconds",
    "control_plane_watch_timeout",
}
# Named in Python alone.
OF_RESULTS = ("changed", "failed", "held", "not_reached", "nothing", "waits", "would_change")
OF_STATISTICS = {
    *(f"control_plane_plan_{each}" for each in ("blocked", "clusters", "risks", "steps")),
    *(f"control_plane_run_{each}" for each in ("clusters", "steps", *OF_RESULTS)),
}
OF_THE_PLUGINS = {"control_plane_inventory_errors", "control_plane_inventory_host", REFUSED, *OF_STATISTICS}


def test_what_may_be_set_is_what_the_roles_document() -> None:
    options: set[str] = set()
    for file in ROOT.glob("roles/*/meta/argument_specs.yml"):
        for entry in yaml.safe_load(file.read_text())["argument_specs"].values():
            options |= {name for name in entry.get("options") or {} if NAME.fullmatch(name)}
    assert options | OF_PLAYBOOKS == SETTINGS


def test_what_tasks_set_themselves_is_known() -> None:
    files = [file for pattern in ("roles/*/[tdv]*/**/*.yml", "playbooks/*.yml") for file in ROOT.glob(pattern)]
    assert len(files) > 80
    named = {name for file in files for name in NAME.findall(file.read_text())}
    inventory = {name for file in ROOT.glob("plugins/inventory/*.py") for name in NAME.findall(file.read_text())}
    assert (named | inventory) - SETTINGS == INTERNAL - OF_THE_PLUGINS
    assert not INTERNAL & SETTINGS


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("control_plane_replce", "control_plane_replace"),
        ("control_plane_replicsa", "control_plane_replicas"),
        ("control_plane_machine_s", "control_plane_machines"),
        ("machine_inventory_consent_wip", "machine_inventory_consent_wipe"),
        ("machine_nspawn_mirrors", "machine_nspawn_mirror"),
        ("operator_mod", "operator_mode"),
        ("operator_manifst", "operator_manifest"),
        # The prefix itself.
        ("controlplane_replace", "control_plane_replace"),
        ("control_plan_serial", "control_plane_serial"),
        ("machine_inventry_timeout", ""),
        ("control_plane_", ""),
    ],
)
def test_a_mistyped_name_is_refused_with_the_nearest(name: str, nearest: str) -> None:
    found = refused([name, "ansible_user", "inventory_hostname", "control_plane_replace"], ())
    assert found == ({name: nearest} if nearest or name.startswith(role_variables.PREFIXES) else {})
    said = role_variables.message(found) if found else ""
    assert (f"{name} (did you mean {nearest}?)" if nearest else "") in said


@pytest.mark.parametrize(
    "name",
    ["operator_email", "operator_name", "operator_sdk_version", "plan", "control_center", "zone", "machine_inventory"],
)
def test_other_names_are_the_users(name: str) -> None:
    assert refused([name], ()) == {}


def test_a_name_that_is_said_to_be_the_users_own_is_left_alone() -> None:
    assert refused(["control_plane_ips", "control_plane_vip"], ["control_plane_ips"]) == {"control_plane_vip": ""}


def test_every_name_that_there_is_passes() -> None:
    assert refused([*SETTINGS, *INTERNAL], ()) == {}
