# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Registration of a machine's Node: nodeRegistration and its taints."""

from __future__ import annotations

from typing import Any

from ....module_utils.common import kubernetes_facts
from ....module_utils.common.values import clip
from ..snapshot.typed_snapshot import MachineView, View

Object = dict[str, Any]


def configuration(view: View, machine: MachineView) -> Object:
    """Return a machine's KubeadmConfigSpec, else the control plane's."""
    return (machine.config.get("spec") if machine.config else view.spec.get("kubeadmConfigSpec")) or {}


def registered_taints(config: Object, version: str) -> list[Object]:
    """Return the taints that kubeadm gives a Node with this KubeadmConfigSpec.

    kubeadm's own have no effect here: they count with any. Raises ValueError for what is no Kubernetes version.
    """
    part = config.get("joinConfiguration") or config.get("initConfiguration") or {}
    asked: list[Object] | None = (part.get("nodeRegistration") or {}).get("taints")
    return [{"key": key} for key in kubernetes_facts.default_taint_keys(version)] if asked is None else asked


def taint_title(taint: Object) -> str:
    """Return a taint as kubectl writes it, "key=value:effect"."""
    value = f"={clip(taint['value'], 80)}" if taint.get("value") else ""
    return f"{clip(taint.get('key'), 120)}{value}:{clip(taint.get('effect'), 40) or 'NoSchedule'}"


def same_taint(one: Object, other: Object) -> bool:
    """Return whether a Node's taint `other` is the desired taint `one`.

    Compared as by the API server, by key and effect; a desired taint without an effect fits each.
    """
    return one.get("key") == other.get("key") and one.get("effect") in (None, "", other.get("effect"))
