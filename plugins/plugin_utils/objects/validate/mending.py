# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mending of a stored KubeadmControlPlane's values that no manifest may have.

An earlier release stored them, or whoever writes to the API. Why: docs/decisions/111-refused-values-are-mended.md.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from typing import Any

from ....module_utils.common.violations import Report, steps
from .control_plane import validate_control_plane

Object = Mapping[str, Any]


def unkeepable(stored: Object, desired: Object, changed: Collection[str]) -> set[str]:
    """Return the changed paths whose stored values are refused.

    They are tried in the desired object: what is refused only beside another stored value can be kept.
    """
    if not changed:
        return set()
    kept: dict[str, Any] = copy.deepcopy(dict(desired))
    for path in changed:
        _keep(path, stored, kept)
    found = Report("")
    validate_control_plane(kept, None, found)
    invalid = {each.path for each in found.violations}
    return {path for path in changed if any(_within(path, each) or _within(each, path) for each in invalid)}


def _keep(path: str, stored: Object, kept: dict[str, Any]) -> None:
    """Put the stored value of a path into an object, in place."""
    old: Any = stored
    *outer, last = steps(path)
    for key in outer:
        old = (old or {}).get(key)
        if not isinstance(kept.get(key), dict):
            kept[key] = {}
        kept = kept[key]
    if old and last in old:
        kept[last] = copy.deepcopy(old[last])
    else:
        kept.pop(last, None)


def _within(path: str, outer: str) -> bool:
    return path == outer or path.startswith((f"{outer}.", f"{outer}["))
