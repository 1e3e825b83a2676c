# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Readers of values from hosts, clocks and objects.

The values: times, one-line texts, the host of a URL, conditions, annotations.
"""

from __future__ import annotations

import calendar
import re
import time
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Optional

from .legible import one_line

Object = dict[str, Any]
_EMPTY: Object = {}
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d)")
_LONGEST_TIME = 64


def parse_time(text: Any) -> Optional[int]:
    """Return an RFC 3339 time in seconds since the epoch, or None."""
    return _parse_time(text) if isinstance(text, str) and len(text) < _LONGEST_TIME else None


@lru_cache(maxsize=4096)
def _parse_time(text: str) -> Optional[int]:
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    if not (year >= 1 and 1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60 and second < 61):
        return None
    zone = match.group(7)
    offset = 0 if zone == "Z" else (int(zone[1:3]) * 3600 + int(zone[4:6]) * 60) * (1 if zone[0] == "+" else -1)
    return calendar.timegm((year, month, day, hour, minute, second, 0, 0, 0)) - offset


def format_time(seconds: int) -> str:
    """Return seconds since the epoch as an RFC 3339 time in UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def now_rfc3339() -> str:
    """Return this host's time, RFC 3339 in UTC with seconds."""
    return format_time(int(time.time()))


def clip(text: Any, limit: int = 240) -> str:
    """Return a host's text as one line of at most `limit` characters.

    Such text is never trusted to be short or plain.
    """
    line = one_line(text if isinstance(text, str) else "").strip()
    return line if len(line) <= limit else line[: limit - 1] + "…"


def host_of(url: str) -> str:
    """Return the host of a URL, "" where there is none.

    For example of https://10.0.0.1:2380 or https://[fd00::1]:2380.
    """
    rest = url.partition("://")[2].partition("/")[0]
    if rest.startswith("["):
        return rest[1:].partition("]")[0]
    return rest.rpartition(":")[0] if ":" in rest else rest


def shortened(texts: Sequence[str], most: int) -> str:
    """Return the first `most` texts and the number of the others."""
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def condition_of(obj: Object, kind: str) -> Object:
    """Return the object's condition of a type, {} where there is none."""
    for condition in (obj.get("status") or _EMPTY).get("conditions") or ():
        if condition.get("type") == kind:
            found: Object = condition
            return found
    return {}


def annotations_of(obj: Object) -> Object:
    """Return an object's annotations."""
    found: Object = (obj.get("metadata") or _EMPTY).get("annotations") or _EMPTY
    return found
