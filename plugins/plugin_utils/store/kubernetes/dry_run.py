# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Dry run of a write, for what an API server would refuse."""

from __future__ import annotations

import re
import typing as t

from ....module_utils.common.legible import one_line
from .dropped_fields import first_missing
from .requests import FIELD_MANAGER, KubernetesApi, refusal

# What an API server says of a field: the type of the fault, the value, and what is asked of it.
_OF_VALUE = re.compile(
    r"""(?P<fault>Invalid|Unsupported|Duplicate) value: (?:"(?:[^"\\]|\\.)*"|-?[0-9.]+|true|false|null)(?P<asked>(?:: .*)?)""",
    re.DOTALL,
)
_WITHOUT_VALUE = re.compile(r"(?:Required value|Forbidden|Too long|Too many).*", re.DOTALL)
# How an API server refuses any dry run: it can't ask a webhook that may write something itself.
_NO_DRY_RUN = "does not support dry run"
_LONGEST = 300


def refused_fields(api: KubernetesApi, path: str, own_path: str, obj: t.Mapping[str, t.Any]) -> list[str]:
    """Return what the API server would refuse of an object: "field: why".

    Nothing is written. No value is shown, which may be secret. One with a resourceVersion is tried as an update, in which the server may
    let stay what was there. A field that would be dropped is refused like one that is beyond a limit: storing the object ends at either.
    Empty where a webhook there takes no dry run, so that only the write itself can tell.

    Args:
        api: the API.
        path: of the objects of its kind.
        own_path: the object's own.
        obj: the object.
    """
    # When it was made is the server's own, which may be another time than the store tells.
    metadata = {key: value for key, value in obj["metadata"].items() if key != "creationTimestamp"}
    verb, where = ("update", own_path) if metadata.get("resourceVersion") else ("create", path)
    answer = api.send(
        verb,
        where,
        {**obj, "metadata": metadata},
        {"fieldManager": FIELD_MANAGER, "dryRun": "All"},
        accepted=(400, 404, 409, 422),
    )
    if answer.status == 400 and _NO_DRY_RUN not in answer.message:
        raise refusal(api.host, verb, where, answer)
    if answer.status // 100 == 2:
        dropped = first_missing(obj.get("spec"), answer.document.get("spec"), "spec")
        why = "the CustomResourceDefinition there doesn't know the field: run kubeadm.control_plane.install of this release, or have the provider's describe it"
        return [f"{dropped}: {why}"] if dropped else []
    if answer.status != 422:
        return []
    causes = (answer.document.get("details") or {}).get("causes") or [{}]
    return [one_line(f"{each.get('field') or 'the object'}: {_why(str(each.get('message')))}") for each in causes]


def _why(message: str) -> str:
    found = _OF_VALUE.fullmatch(message)
    if found:
        return f"{found['fault']} value{found['asked']}"[:_LONGEST]
    return message[:_LONGEST] if _WITHOUT_VALUE.fullmatch(message) else "its value is refused"
