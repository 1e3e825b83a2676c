# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""YAML scalars as Kubernetes reads them, and durations as Go writes them.

kubectl and kubeadm turn YAML into JSON with a YAML 1.1 reader of Go's: `0644` is the number 420, `yes` is true, `1e3` is a number and
a date is text. PyYAML differs in several of these; what a manifest means must not depend on who reads it.
"""

from __future__ import annotations

import math
import re
from typing import Any

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"})
_FALSE = frozenset({"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"})
_INT = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_DURATION = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
# Longer ones do not fit 64 bits in any base; int() of a megabyte of digits would take minutes.
_LONGEST_INTEGER = 80
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


def resolve_plain(text: str) -> Any:
    """Return the JSON value of an unquoted scalar.

    Raises ValueError for infinity and not-a-number, which JSON does not have.
    """
    if text in _NULLS:
        return None
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    if text[0] not in "+-.0123456789":
        return text
    bare = text.replace("_", "")
    if len(bare) <= _LONGEST_INTEGER and _INT.fullmatch(bare):
        number = _integer(bare)
        if -(2**63) <= number < 2**64:
            return number
    if _FLOAT.fullmatch(bare):
        value = float(bare)
        if math.isinf(value):
            raise ValueError("the number is too large")
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if _SPECIAL.fullmatch(bare):
        raise ValueError("JSON has no infinity and no not-a-number")
    return text


def _integer(text: str) -> int:
    sign, digits = (-1, text[1:]) if text[0] == "-" else (1, text.lstrip("+"))
    if len(digits) > 1 and digits[0] == "0" and digits[1] in "01234567":
        return sign * int(digits, 8)
    return sign * int(digits, 0)


def parse_duration(text: str) -> float | None:
    """Return the seconds of a Go duration ("1h30m", "90s", "0").

    None when the text is not one.
    """
    if text in ("0", "+0", "-0"):
        return 0.0
    sign = -1.0 if text.startswith("-") else 1.0
    body = text[1:] if text[:1] in ("+", "-") else text
    position, seconds = 0, 0.0
    while position < len(body):
        match = _DURATION.match(body, position)
        if match is None or body[position] in "+-":
            return None
        seconds += float(match.group(1)) * _UNITS[match.group(3)]
        position = match.end()
    return sign * seconds if position else None


def format_duration(seconds: int) -> str:
    """Return whole seconds as Go prints a duration.

    240 -> "4m0s", 86400 -> "24h0m0s".
    """
    hours, rest = divmod(int(seconds), 3600)
    minutes, left = divmod(rest, 60)
    if hours:
        return f"{hours}h{minutes}m{left}s"
    return f"{minutes}m{left}s" if minutes else f"{left}s"
