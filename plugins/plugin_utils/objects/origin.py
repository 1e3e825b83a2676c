# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Origin of a moved object: its first store's uid and time (docs/move.md).

An API server gives every object a uid and a time of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...module_utils.common.values import utc_time
from . import kinds

ORIGINAL_UID = kinds.ANNOTATION_PREFIX + "original-uid"
ORIGINAL_CREATION = kinds.ANNOTATION_PREFIX + "original-creation"


def uid(obj: Mapping[str, Any]) -> str:
    """Return an object's uid in the store that it was made in.

    What is named after the uid, on nodes too, keeps that name for good. "" where it has none.
    """
    metadata = obj.get("metadata") or {}
    return str((metadata.get("annotations") or {}).get(ORIGINAL_UID) or metadata.get("uid") or "")


def created(metadata: Mapping[str, Any]) -> str | None:
    """Return a moved object's original creation time (RFC 3339, UTC).

    None where it never was moved.
    """
    return utc_time(str((metadata.get("annotations") or {}).get(ORIGINAL_CREATION) or ""))


def notes(obj: Mapping[str, Any]) -> dict[str, str]:
    """Return the annotations that identify an object's copy in another store."""
    metadata = obj["metadata"]
    return {ORIGINAL_UID: uid(obj), ORIGINAL_CREATION: str(metadata["creationTimestamp"])}
