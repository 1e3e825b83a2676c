# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Detection of fields that an API server dropped from a stored object.

Fields that its definition of the kind doesn't know are dropped without a message.
"""

from __future__ import annotations

import typing as t

from ...crds import definitions
from .. import base


class FieldDropped(base.StoreError):
    """Loss of a field that the API server's definition doesn't know.

    Its CustomResourceDefinition is another release's, or it was changed.
    """


def refuse_loss(kind_ref: base.KindRef, host: str, sent: base.Object, stored: base.Object, part: str) -> None:
    """Raise FieldDropped where an object's ``spec`` or ``status`` lost a field."""
    missing = first_missing(sent.get(part), stored.get(part), part)
    if missing is None:
        return
    fix = "Run the playbook kubeadm.control_plane.install of this release, then run this again."
    whose = "another release's"
    if not definitions.is_own(kind_ref):
        whose = "its provider's, which must know what this collection and the provider's role record (docs/provider_contract.md)"
        fix = (
            "Have the definition describe the field, or keep what it doesn't describe (x-kubernetes-preserve-unknown-fields). Where the playbook "
            f"kubeadm.control_plane.install made it: {fix[0].lower()}{fix[1:]}"
        )
    raise FieldDropped(
        f"the store's Kubernetes API dropped {missing} of a {kind_ref[1]}",
        host,
        f"its CustomResourceDefinition doesn't know the field: it is {whose}, or it was changed. What a run wants and what it finds would never "
        "be the same",
        f"The rest of the object was stored. {fix}",
    )


def first_missing(sent: t.Any, stored: t.Any, path: str) -> str | None:
    """Return the path of the first field that was not stored.

    None where all were; an empty field doesn't count.
    """
    if isinstance(sent, dict):
        found = stored if isinstance(stored, dict) else {}
        for key, value in sent.items():
            own = f"{path}.{key}"
            if key not in found:
                if value not in (None, {}, []):
                    return own
                continue
            missing = first_missing(value, found[key], own)
            if missing is not None:
                return missing
    elif isinstance(sent, list):
        entries = stored if isinstance(stored, list) else []
        for index, value in enumerate(sent):
            missing = first_missing(value, entries[index] if index < len(entries) else None, f"{path}[{index}]")
            if missing is not None:
                return missing
    return None
