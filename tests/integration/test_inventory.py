# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory of clusters: what patterns and --limit pick from it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml
from stored_cluster import stored_cluster

MACHINES = ["m1", "m2", "m3"]


class Inventory:
    """An inventory of the cluster prod, which has three machines."""

    def __init__(self, folder: Path) -> None:
        stored_cluster(folder / "store", "v1.20.2", {}, {}, dict.fromkeys(MACHINES, "localhost"))
        self.path = folder / "inventory.clusters.yml"
        source = {"plugin": "kubeadm.control_plane.clusters", "store": {"path": str(folder / "store")}}
        self.path.write_text(yaml.safe_dump(source))
        self.said = ""

    def hosts(self, pattern: str, *arguments: str) -> list[str]:
        """The hosts that `ansible` picks."""
        words = ["ansible", "-i", str(self.path), pattern, "--list-hosts", *arguments]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=60)
        self.said = done.stderr
        return sorted(line.strip() for line in done.stdout.splitlines()[1:])


@pytest.fixture(name="inventory")
def _inventory(tmp_path: Path) -> Inventory:
    return Inventory(tmp_path)


def test_a_clusters_name_picks_the_cluster_and_not_its_machines(inventory: Inventory) -> None:
    """`--limit prod` would else leave the playbooks, which run on clusters, without any."""
    assert inventory.hosts("prod") == ["prod"]
    assert inventory.hosts("control_planes", "--limit", "prod") == ["prod"]
    assert "same name" not in inventory.said


def test_machines_are_hosts_in_a_group_of_their_cluster(inventory: Inventory) -> None:
    assert inventory.hosts("prod_machines") == inventory.hosts("control_plane_machines") == MACHINES
