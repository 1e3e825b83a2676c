# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The name of a machine's Node, by its KubeadmConfig, before anything of it was observed."""

from __future__ import annotations

from typing import Any, Optional

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.instance_data.node_names import (
    expected_node_name,
    is_certain_name,
)

MACHINE = {"metadata": {"name": "m2"}, "spec": {}}
INFRASTRUCTURE = {"status": {"addresses": [{"type": "InternalIP", "address": "192.0.2.2"}]}}


def config(name: Optional[str], kind: str = "join") -> dict[str, Any]:
    """A KubeadmConfig with a Node's name, None for none."""
    registration = {} if name is None else {"name": name}
    return {"spec": {f"{kind}Configuration": {"nodeRegistration": registration}}}


@pytest.mark.parametrize("kind", ["init", "join"])
@pytest.mark.parametrize(
    ("written", "name", "certain"),
    [
        (None, "m2", True),
        ("", "m2", True),
        ("{{ ds.meta_data.local_hostname }}", "m2", True),
        (" CP-{{ ds.meta_data.local_hostname }} ", "cp-m2", True),
        ("ip-{{ ds.meta_data.local_ipv4 }}", "ip-192.0.2.2", False),
        # Its provider has not recorded it.
        ("{{ ds.meta_data.instance_id }}", "m2", False),
        ("{{ nonsense }}", "m2", False),
        ("{{ broken", "m2", False),
    ],
)
def test_the_name(kind: str, written: Optional[str], name: str, certain: bool) -> None:
    assert expected_node_name(MACHINE, config(written, kind), INFRASTRUCTURE) == name
    assert is_certain_name(config(written, kind)) is certain


def test_without_a_kubeadm_config_nothing_is_certain() -> None:
    assert expected_node_name(MACHINE, None, None) == "m2"
    assert not is_certain_name(None)
