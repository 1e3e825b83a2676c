# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Failure domains of infrastructure clusters, in the contract's shape.

Other providers have fields of this name in shapes of their own, such as a list of zones. They are the provider's: what hasn't the
contract's shape is ignored, as Cluster API does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_TYPES: Mapping[str, type] = {"name": str, "controlPlane": bool, "attributes": dict}


def of_contract(value: Any) -> list[dict[str, Any]]:
    """Return failure domains as a list of {name, controlPlane, attributes}.

    A map by name is read as well. Nothing is returned of a value with any other shape.
    """
    if isinstance(value, Mapping):
        value = [
            {"name": name, **(value[name] or {})} if isinstance(value[name] or {}, Mapping) else None
            for name in sorted(value)
        ]
    if not isinstance(value, list) or not all(_is_domain(each) for each in value):
        return []
    return [dict(each) for each in value]


def _is_domain(value: Any) -> bool:
    return (
        isinstance(value, Mapping)
        and isinstance(value.get("name"), str)
        and all(key in _TYPES and isinstance(each, _TYPES[key]) for key, each in value.items())
    )
