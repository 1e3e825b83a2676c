# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fingerprint of an object: a hash over its meaning.

It has no timestamps, no resource versions, no order of keys.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

# Written by stores and by observation; they change without the object meaning anything else.
_VOLATILE = frozenset(
    {
        "resourceVersion",
        "generation",
        "observedGeneration",
        "creationTimestamp",
        "lastTransitionTime",
        "lastHeartbeatTime",
        "managedFields",
        "selfLink",
    }
)


def normalise(value: Any) -> Any:
    """Return `value` without volatile fields and nulls.

    Empty lists stay, because taints [] and none differ.
    """
    if isinstance(value, dict):
        kept = {key: entry for key, entry in value.items() if key not in _VOLATILE and entry is not None}
        return {key: normalise(entry) for key, entry in kept.items()}
    if isinstance(value, (list, tuple)):
        return [normalise(entry) for entry in value]
    return value


def fingerprint(value: Any) -> str:
    """Return the SHA-256 fingerprint of the normalised JSON of `value`.

    It has 64 hex digits and is equal for values that mean the same.
    """
    text = json.dumps(normalise(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
