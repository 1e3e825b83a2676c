# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Colours of lines: Ansible's own, as it is configured."""

from __future__ import annotations

import typing as t

from ansible import constants as C

from .progress_lines import BAD, CHANGED, GOOD, WAITING


def color_of(kind: str) -> t.Optional[str]:
    """Return the colour of a line's kind, None where it has none."""
    found: dict[str, t.Any] = {
        GOOD: C.COLOR_OK,
        BAD: C.COLOR_ERROR,
        WAITING: C.COLOR_VERBOSE,
        CHANGED: C.COLOR_CHANGED,
    }
    color: t.Optional[str] = found.get(kind)
    return color
