# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Name of a machine's Node and etcd member, recorded or expected.

Source: docs/reference/kubeadm.md, "Joining".
"""

from __future__ import annotations

from typing import Any, Optional

from ....module_utils.common.violations import Report
from . import rendering
from .machine_data import BY_NAME, Object, machine_values
from .reader import read


def expected_node_name(machine: Object, kubeadm_config: Optional[Object], infrastructure: Optional[Object]) -> str:
    """Return the name of a machine's Node and etcd member.

    It is the recorded one, else the one that kubeadm gives it: the machine's own where its KubeadmConfig names no other one, or one that can't be filled in.

    Args:
        machine: the Machine.
        kubeadm_config: its KubeadmConfig.
        infrastructure: its infrastructure machine, as its provider has recorded it.
    """
    recorded = ((machine.get("status") or {}).get("nodeRef") or {}).get("name")
    if recorded:
        return str(recorded)
    values, report = machine_values(machine, infrastructure), Report("")
    written = _written(kubeadm_config)
    found = rendering.render(written, values, infrastructure or {}, "", report) if isinstance(written, str) else ""
    return (found.strip().lower() if not report.violations else "") or values["hostname"]


def is_certain_name(kubeadm_config: Optional[Object]) -> bool:
    """Return whether the expected name of a machine's Node is certain.

    It is where it is made of the machine's own name alone. Everything else is filled in from what the provider records, which may have
    changed since kubeadm read it.
    """
    written = _written(kubeadm_config) or ""
    if kubeadm_config is None or not isinstance(written, str):
        return False
    template = read(written)
    return not template.problems and all(BY_NAME.get(each.name) == "hostname" for each in template.references)


def _written(kubeadm_config: Optional[Object]) -> Any:
    spec = (kubeadm_config or {}).get("spec") or {}
    part = spec.get("joinConfiguration") or spec.get("initConfiguration") or {}
    return (part.get("nodeRegistration") or {}).get("name")
