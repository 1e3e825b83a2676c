# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The static part of the provider kit: every provider of this collection passes, and each rule notices when it is broken."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from provider_kit import rules
from provider_kit.kit import read_provider

ROOT = Path(__file__).resolve().parents[3]
SKELETON = ROOT / "examples" / "provider_skeleton"
MACHINE = {
    "spec": {"providerID": "acme:///1"},
    "status": {
        "initialization": {"provisioned": True},
        "addresses": [{"type": "InternalIP", "address": "198.51.100.1"}],
        "connection": {"host": "198.51.100.1", "hostKeys": ["ssh-ed25519 A"]},
        "machineID": "0" * 32,
    },
}
FOLLOWED = {"status": {"addresses": MACHINE["status"]["addresses"], "machineID": "0" * 32}}


@pytest.mark.parametrize("role", ["machine_nspawn", "machine_inventory"])
def test_this_collection_s_providers_keep_the_rules(role: str) -> None:
    assert rules.role_problems(ROOT / "roles" / role) == []


def test_the_provider_to_copy_keeps_the_rules() -> None:
    assert rules.role_problems(read_provider(SKELETON / "provider.yml").folder) == []


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        (
            "tasks/create.yml",
            "- name: Make the machine\n",
            "- name: Make the machine\n  run_once: true\n",
            "uses run_once",
        ),
        ("tasks/create.yml", "ansible.builtin.command:", "ansible.builtin.add_host:", "uses add_host"),
        ("tasks/observe.yml", "- name: Record what changed\n", "- name: R\n  throttle: 1\n", "uses throttle"),
        (
            "tasks/delete.yml",
            "- name: Remove",
            "- name: F\n  ansible.builtin.set_fact:\n    x: 1\n- name: Remove",
            "uses set_fact",
        ),
        ("tasks/delete.yml", "register: machine_acme_removed", "register: removed", "has the variable removed"),
        ("tasks/observe.yml", "loop_var: machine_acme_each", "label: x", "has the variable item"),
        ("tasks/create.yml", "infrastructure_status", "machine", "tasks/create.yml records nothing"),
        ("defaults/main.yml", "machine_acme_timeout", "timeout", "timeout does not begin with machine_acme_"),
        (
            "meta/argument_specs.yml",
            "infrastructure_machines:",
            "machines:",
            "observe has no option infrastructure_machines",
        ),
    ],
)
def test_a_broken_rule_is_noticed(tmp_path: Path, name: str, old: str, new: str, says: str) -> None:
    role = tmp_path / "machine_acme"
    shutil.copytree(SKELETON / "roles" / "machine_acme", role)
    text = (role / name).read_text()
    assert old in text
    (role / name).write_text(text.replace(old, new))
    assert any(says in problem for problem in rules.role_problems(role)), rules.role_problems(role)


def test_a_missing_task_file_is_noticed(tmp_path: Path) -> None:
    role = tmp_path / "machine_acme"
    shutil.copytree(SKELETON / "roles" / "machine_acme", role)
    (role / "tasks" / "delete.yml").unlink()
    assert any("tasks/delete.yml is missing" in problem for problem in rules.role_problems(role))


def test_what_is_recorded_is_checked() -> None:
    assert rules.machine_problems(MACHINE, FOLLOWED) == []
    assert any("did not take" in each for each in rules.machine_problems(MACHINE, None))
    for path, value, says in (
        (("spec", "providerID"), "", "providerID"),
        (("status", "initialization"), {}, "provisioned"),
        (("status", "addresses"), [], "InternalIP"),
        (("status", "connection"), {"host": "h"}, "hostKeys"),
        (("status", "connection"), {"inventoryHost": "h", "user": "u"}, "own variables"),
        (
            ("status", "connection"),
            {"host": "h", "hostKeys": ["k"], "private_key_file": "/k"},
            "never go into the store",
        ),
        (("status", "machineID"), "host-1", "no machine-id"),
        (("status", "state"), "missing", "create ended well"),
    ):
        section, key = path
        broken = {**MACHINE, section: {**MACHINE[section], key: value}}
        assert any(says in each for each in rules.machine_problems(broken, FOLLOWED)), says


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("role: a.b.c", "clusterKind is missing"),
        ("{role: a.b.c, clusterKind: A, templateKind: B, version: v1, typo: 1}", "typo is not known"),
        ("{role: a.b.c, clusterKind: A, templateKind: B, version: v1}", "end with Template"),
        ("{role: ./none, clusterKind: A, templateKind: BTemplate, version: v1}", "is not in"),
        ("[]", "no mapping"),
    ],
)
def test_a_wrong_provider_file_is_explained(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "provider.yml"
    path.write_text(text)
    with pytest.raises(ValueError, match=says):
        read_provider(path)
