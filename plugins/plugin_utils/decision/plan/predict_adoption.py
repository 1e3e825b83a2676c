# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Desired spec after an adoption, for the prediction. Pure."""

from __future__ import annotations

from typing import Any

from ...kubeadm.configuration.rebuild import has_configuration, rebuild

Object = dict[str, Any]


def with_rebuilt_spec(snapshot: Object) -> Object:
    """Set the control plane's KubeadmConfigSpec from its machines' KubeadmConfigs.

    Only where it has none; returns the snapshot.

    Source: docs/reference/cluster_api.md, "Adoption".
    """
    spec = snapshot["controlPlane"].get("spec") or {}
    own = spec.get("kubeadmConfigSpec") or {}
    if not has_configuration(own):
        ordered = sorted(snapshot["machines"], key=lambda each: _age(each["machine"]))
        rebuilt = rebuild([(each.get("kubeadmConfig") or {}).get("spec") or {} for each in ordered])
        snapshot["controlPlane"] = {
            **snapshot["controlPlane"],
            "spec": {**spec, "kubeadmConfigSpec": {**own, **rebuilt}},
        }
    return snapshot


def _age(machine: Object) -> tuple[str, str]:
    metadata = machine["metadata"]
    return (str(metadata.get("creationTimestamp", "")), str(metadata["name"]))
