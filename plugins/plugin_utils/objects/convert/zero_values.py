# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Zero values of fields that mean the same as no value.

Cluster API's types are Go's: an empty text, list, map or structure and a port of 0 are "not set", in every API version. v1alpha3's types
even write them out, so every object that such a controller stored has them; v1beta2's schemas refuse them. Fields whose
zero value says something else than none are named here and in the tables of fields: in Go they are pointers.

Source: docs/reference/cluster_api.md, "Zero values".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...documents.schema import Ignored, MapOf, Refused, bare
from ...kubeadm.configuration import fields

# Counts, times and switches are pointers: replicas 0, a timeout of 0 and false are values. These numbers are not.
_NUMBERS_BESIDE_KUBEADM = frozenset({"apiServerPort", "port"})
# Structures with required fields: an empty one is incomplete, and not the same as none.
_KEPT_BESIDE_KUBEADM = frozenset(
    {
        "contentFrom",
        "passwdFrom",
        "secret",
        # Without a name a Machine waits for its data; with an empty one it does without.
        "dataSecretName",
    }
)


def _table(struct: fields.Struct) -> Iterator[fields.Field]:
    for field in struct.fields:
        yield field
        if field.struct is not None:
            yield from _table(field.struct)


_TABLE = tuple(
    field for struct in (*fields.KINDS.values(), *fields.ENTRIES.values()) for field in _table(struct) if field.hub
)
KEPT = _KEPT_BESIDE_KUBEADM | {field.hub_name for field in _TABLE if field.zero}
NUMBERS = _NUMBERS_BESIDE_KUBEADM | {
    field.hub_name for field in _TABLE if field.type in (fields.INTEGER, fields.DAYS) and not field.zero
}


def without_zeros(value: Any, description: Any) -> Any:
    """Return a value without the fields whose zero value means none.

    `description` is the value's, as in documents/schema.py. What does not fit it is unchanged, and so is what has no description:
    labels, feature gates, kubelet configurations. Entries of lists and of maps stay, whatever they hold.
    """
    description = bare(description)
    if isinstance(value, list):
        inner = description[0] if isinstance(description, list) else getattr(description, "value", None)
        return [without_zeros(entry, inner) for entry in value]
    if not isinstance(value, dict):
        return value
    if isinstance(description, MapOf):
        return {key: without_zeros(entry, description.value) for key, entry in value.items()}
    if not isinstance(description, Mapping):
        return without_zeros(value, description.value) if hasattr(description, "value") else value
    found = {}
    for key, entry in value.items():
        if key in description:
            entry = without_zeros(entry, description[key])
            if _is_zero(entry, bare(description[key]), key):
                continue
        found[key] = entry
    return found


def _is_zero(value: Any, description: Any, key: str) -> bool:
    if isinstance(description, Refused):
        # An empty structure may be an instruction (ntp: {}); it is refused like a full one.
        return value in ("", [])
    if key in KEPT:
        return False
    if isinstance(value, (bool, int, float)):
        return value == 0 and not isinstance(value, bool) and key in NUMBERS
    # A zero value of another type is a mistake, which the check of the structure reports.
    if value == "":
        return description == "string" or not isinstance(description, (str, list, Mapping, MapOf))
    if value == []:
        return not isinstance(description, (str, Mapping, MapOf))
    return value == {} and not isinstance(description, (str, list, Ignored))
