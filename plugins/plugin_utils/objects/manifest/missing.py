# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""References to objects that a manifest does not hold."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from ....module_utils.common.violations import Report, child


def _nearest(name: str, candidates: Iterable[str]) -> str:
    names = sorted(candidates)
    if not names:
        return "The manifest holds none; add it"
    near = difflib.get_close_matches(name, names, 1, 0.6)
    return f"Did you mean {near[0]}?" if near else f"The manifest holds: {', '.join(names)}"


def report_missing(report: Report, path: str, reference: Mapping[str, Any], candidates: Iterable[str]) -> None:
    """Report a reference to an object that the manifest does not hold."""
    kind, name = str(reference["kind"]), str(reference["name"])
    rule = f"there is no {kind} of this name in the manifest"
    fix = _nearest(name, candidates)
    report.add(child(path, "name"), name, rule, fix if fix.endswith("?") else fix + ".")
