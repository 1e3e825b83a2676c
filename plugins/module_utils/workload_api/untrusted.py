# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Typed readers of the untrusted fields that a node sent.

A field of another type than expected counts as missing, and a text is never more than text.
"""

from __future__ import annotations

import base64
import binascii
import typing as t

Object = dict[str, t.Any]
MAX_TEXT = 4096


def mapping(value: t.Any) -> Object:
    """Return a mapping, {} for anything else."""
    return value if isinstance(value, dict) else {}


def sequence(value: t.Any) -> list[t.Any]:
    """Return a list, [] for anything else."""
    return value if isinstance(value, list) else []


def mappings(value: t.Any) -> list[Object]:
    """Return the mappings in a list."""
    return [item for item in sequence(value) if isinstance(item, dict)]


def text(value: t.Any, limit: int = MAX_TEXT) -> str:
    """Return a text of at most `limit` characters, "" for anything else."""
    return value[:limit] if isinstance(value, str) else ""


def texts(value: t.Any, limit: int = MAX_TEXT) -> dict[str, str]:
    """Return a mapping of texts, each of at most `limit` characters."""
    return {text(name): text(each, limit) for name, each in mapping(value).items() if isinstance(name, str)}


def text_list(value: t.Any) -> list[str]:
    """Return the texts in a list."""
    return [item[:MAX_TEXT] for item in sequence(value) if isinstance(item, str)]


def integer(value: t.Any) -> int:
    """Return a number, 0 for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def identifier(value: t.Any) -> t.Optional[str]:
    """Return an etcd ID as 16 hexadecimal digits, or None."""
    found = text(value).lower()
    if not 1 <= len(found) <= 16 or any(letter not in "0123456789abcdef" for letter in found):
        return None
    return found.rjust(16, "0")


def base64_text(value: t.Any) -> str:
    """Return the text in a base64 value, "" for anything else."""
    try:
        return base64.b64decode(str(value or "")).decode()
    except (ValueError, binascii.Error):
        return ""
