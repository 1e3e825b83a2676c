# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Registration of a machine's Node: nodeRegistration and its taints."""

from __future__ import annotations

from typing import Any

from ....module_utils.common.values import clip
from ..snapshot.typed_snapshot import MachineView, View

Object = dict[str, Any]


def registration(view: View, machine: MachineView) -> Object:
    """Return the nodeRegistration of the machine's Node.

    From the machine's KubeadmConfig, or from the spec where it has none.
    """
    config = (machine.config.get("spec") if machine.config else view.spec.get("kubeadmConfigSpec")) or {}
    found: Object = (config.get("joinConfiguration") or config.get("initConfiguration") or {}).get(
        "nodeRegistration"
    ) or {}
    return found


def taint_title(taint: Object) -> str:
    """Return a taint as kubectl writes it, "key=value:effect"."""
    value = f"={clip(taint['value'], 80)}" if taint.get("value") else ""
    return f"{clip(taint.get('key'), 120)}{value}:{clip(taint.get('effect'), 40) or 'NoSchedule'}"


def same_taint(one: Object, other: Object) -> bool:
    """Return whether a Node's taint `other` is the desired taint `one`.

    Compared as by the API server, by key and effect; a desired taint without an effect fits each.
    """
    return one.get("key") == other.get("key") and one.get("effect") in (None, "", other.get("effect"))
