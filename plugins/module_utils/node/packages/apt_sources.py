# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of apt's source files.

Source: sources.list(5).
"""

from __future__ import annotations

import re

# Of the files that have stanzas; others have lines.
ENDING = "sources"
_STANZAS = re.compile(r"((?:^[ \t]*\S.*\n?)+)", re.MULTILINE)
_OFF = re.compile(r"^enabled:\s*(?:no|false|without|off|disable|0)\s*$", re.MULTILINE | re.IGNORECASE)


def entries(name: str, text: str) -> list[str]:
    """Return a file's lines, or its stanzas with what is between them.

    The ending of the file's ``name`` decides which of the two it has.
    """
    return _STANZAS.split(text) if name.endswith(f".{ENDING}") else text.splitlines(keepends=True)


def is_off(entry: str) -> bool:
    """Return whether apt passes over a stanza, as it says Enabled: no."""
    return _OFF.search(entry) is not None
