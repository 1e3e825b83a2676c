# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a machine has to load for the calls that each creation makes many times: nothing that only a removal, or the controller, needs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

PACKAGE = "ansible_collections.kubeadm.control_plane.plugins"
LOADED = f"""
import json, sys
import {PACKAGE}.modules.%s
print(json.dumps([name.removeprefix("{PACKAGE}.module_utils.") for name in sys.modules]))
"""
REMOVAL = {"node.bootstrap.reset", "node.endpoint.balancer", "node.packages.packages", "etcd.gateway", "etcd.view"}


@pytest.mark.parametrize(
    ("module", "without"),
    [("host_claim", REMOVAL), ("node_bootstrap", REMOVAL), ("node_observe", set()), ("etcd_member", set())],
)
def test_what_a_call_loads(module: str, without: set[str]) -> None:
    done = subprocess.run([sys.executable, "-c", LOADED % module], capture_output=True, text=True, check=True)
    loaded = set(json.loads(done.stdout))
    assert {"node.machine_module", "common.guard"} <= loaded
    assert loaded & {"yaml", *without} == set()
