# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an object was in the store that it was moved from: an API server gives every object a uid and a time of its own (docs/move.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..documents.schema import timestamp
from . import kinds

ORIGINAL_UID = kinds.ANNOTATION_PREFIX + "original-uid"
ORIGINAL_CREATION = kinds.ANNOTATION_PREFIX + "original-creation"


def uid(obj: Mapping[str, Any]) -> str:
    """The uid of an object in the store that it was made in: what is named after it, on nodes too, is named so for good. "" where it has none."""
    metadata = obj.get("metadata") or {}
    return str((metadata.get("annotations") or {}).get(ORIGINAL_UID) or metadata.get("uid") or "")


def created(metadata: Mapping[str, Any]) -> str | None:
    """When an object that was moved was made (RFC 3339, UTC); None where it never was moved."""
    return timestamp(str((metadata.get("annotations") or {}).get(ORIGINAL_CREATION) or ""))


def notes(obj: Mapping[str, Any]) -> dict[str, str]:
    """The annotations by which a copy of an object in another store is known to be the same."""
    metadata = obj["metadata"]
    return {ORIGINAL_UID: uid(obj), ORIGINAL_CREATION: str(metadata["creationTimestamp"])}
