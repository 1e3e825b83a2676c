# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The provider kit on this collection's own providers, on real machines."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from host_pool import GROUP, HostPool
from lab_kubernetes import VERSION

pytestmark = pytest.mark.full

KIT = Path(__file__).resolve().parents[1] / "provider_kit"
CLAIM = "/var/lib/kubeadm-control-plane/claim.json"


def run_kit(provider: Path, folder: Path) -> None:
    """Run the kit as a provider's author does, and let it pass."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", str(KIT), "--provider", str(provider), f"--basetemp={folder}"],
        cwd=KIT.parents[1],
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-8000:]
    assert "13 passed" in done.stdout


def test_machine_nspawn_passes(tmp_path: Path) -> None:
    """Local machines."""
    run_kit(KIT / "providers" / "machine_nspawn.yml", tmp_path / "kit")


def test_machine_inventory_passes(tmp_path: Path) -> None:
    """Four existing hosts; the lab's load balancer stands for the one that a user of existing hosts has."""
    pool = HostPool(tmp_path, "kit-host")
    try:
        hosts = pool.make(4)
        inventory = pool.inventory()
        ssh = f"ssh -i {tmp_path}/kit-host.key {pool.ssh_arguments}"
        document = {
            "role": "kubeadm.control_plane.machine_inventory",
            "clusterKind": "InventoryCluster",
            "templateKind": "InventoryMachineTemplate",
            "version": VERSION,
            "templateSpec": {"group": GROUP, "kubeadm": pool.needs},
            "variables": {"machine_inventory_endpoint_role": "kubeadm.control_plane.machine_nspawn"},
            "inventory": [str(inventory)],
            "leftovers": "; ".join(
                f"{ssh} root@{pool.addresses[host]} grep -s -w $KIT_MACHINE {CLAIM} </dev/null" for host in hosts
            ),
        }
        provider = tmp_path / "provider.yml"
        provider.write_text(yaml.safe_dump(document))
        run_kit(provider, tmp_path / "kit")
        for host in hosts:
            assert pool.ssh(host, f"ls {CLAIM} 2>/dev/null || true") == "", host
    finally:
        pool.remove()
