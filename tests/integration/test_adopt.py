# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook adopt as a user types it, where nothing can be adopted: what is missing is said, and nothing is written."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import yaml
from workspace import Run, Workspace

NAMED = ("-e", "control_plane_adopt=prod", "-e", "control_plane_adopt_group=hosts")
LOCAL = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
# TEST-NET-1: no host has it; the option makes ssh give up at once.
NOBODY = {"ansible_host": "192.0.2.1", "ansible_ssh_common_args": "-o ProxyCommand=/bin/false"}


@pytest.fixture
def user(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "user")


def adopt(user: Workspace, hosts: dict[str, dict[str, str]], *arguments: str) -> Run:
    """Run adopt with an inventory of these hosts."""
    document = {"all": {"children": {"hosts": {"hosts": hosts}}}}
    (user.folder / "hosts.yml").write_text(yaml.safe_dump(document))
    run = user.playbook("adopt", "-i", "hosts.yml", *arguments).failed()
    assert not list((user.folder / "clusters").iterdir())
    assert not [each for each in user.store.rglob("*.yaml") if each.name != "store.yaml"]
    return run


@pytest.mark.parametrize("arguments", [(), NAMED[:2], (*NAMED, "--limit", "one")])
def test_what_is_to_be_adopted_must_be_named(user: Workspace, arguments: tuple[str, ...]) -> None:
    run = adopt(user, {"one": LOCAL}, *arguments)
    assert "Name the cluster and the inventory group of its control plane hosts, and give no --limit" in run.text


def test_a_group_that_the_inventory_does_not_have(user: Workspace) -> None:
    run = adopt(user, {"one": LOCAL}, *NAMED[:2], "-e", "control_plane_adopt_group=others")
    assert "the inventory has no group others" in run.text


def test_a_host_that_the_inventory_does_not_have(user: Workspace) -> None:
    run = adopt(user, {"one": LOCAL}, *NAMED, "-e", '{"control_plane_adopt_hosts": ["two"]}')
    assert "the inventory has no host two" in run.text


def test_a_name_that_a_host_has(user: Workspace) -> None:
    """To Ansible the cluster would be that host."""
    run = adopt(user, {"prod": LOCAL}, *NAMED)
    assert "the inventory has a host named prod, and the cluster is to be an inventory host of that name" in run.text


def test_everything_that_speaks_against_it_is_told_at_once(user: Workspace) -> None:
    """One host carries no control plane, the other can't be reached."""
    run = adopt(user, {"one": LOCAL, "two": NOBODY}, *NAMED)
    assert "prod was not adopted, and nothing was written:" in run.text
    assert "NotAControlPlane: one: it carries no control plane" in run.text
    assert "HostUnreachable: two: " in run.text


def test_a_manifest_that_has_no_place(user: Workspace) -> None:
    """Told before any host is asked."""
    run = adopt(user, {"two": NOBODY}, *NAMED, "-e", "control_plane_adopt_manifest=missing/prod.yaml")
    assert "missing, in which the manifest of prod is to be written, does not exist; nothing was done" in run.text
    inventory = user.folder / "inventory.clusters.yml"
    inventory.write_text(
        inventory.read_text().replace("  - clusters/*.yaml\n", "").replace("manifests:", "manifests: []")
    )
    run = adopt(user, {"two": NOBODY}, *NAMED)
    assert "where the manifest of prod is to be written is not known; nothing was done" in run.text
