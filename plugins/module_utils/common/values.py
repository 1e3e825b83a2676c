# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Readers of values from hosts, clocks and objects.

The values: times, one-line texts, the host of a URL, conditions, annotations, the controller reference.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Any, Optional, cast

from .legible import one_line

Object = dict[str, Any]
_EMPTY: Object = {}
# RFC 3339 §5.6; "t" and "z" may be small letters.
_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))",
    re.ASCII | re.IGNORECASE,
)
_LONGEST_TIME = 64
_WRITTEN_TIME = "%04d-%02d-%02dT%02d:%02d:%02dZ"


def read_moment(text: Any) -> datetime:
    """Return the time of an RFC 3339 text, in UTC.

    A fraction of a second is left out.

    Raises:
        ValueError: the value is no such text, or no time of the years 1 to 9999 in UTC.
    """
    moment = _moment(text) if isinstance(text, str) and len(text) < _LONGEST_TIME else None
    if moment is None:
        raise ValueError(f"{clip(text, _LONGEST_TIME)!r} is no RFC 3339 time such as 2026-01-31T10:00:00Z")
    return moment


def parse_time(text: Any) -> Optional[int]:
    """Return an RFC 3339 time in seconds since the epoch, or None."""
    moment = _moment(text) if isinstance(text, str) and len(text) < _LONGEST_TIME else None
    return None if moment is None else int(moment.timestamp())


def utc_time(text: Any) -> Optional[str]:
    """Return an RFC 3339 time, written in UTC with seconds, or None."""
    try:
        return format_moment(read_moment(text))
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def _moment(text: str) -> Optional[datetime]:
    match = _TIME.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in match.groups()[:6])
    ahead = timedelta(hours=int(match.group(8) or 0), minutes=int(match.group(9) or 0))
    # A leap second is the next minute's first here: no clock of Python's has one.
    leap = second == 60
    try:
        local = datetime(year, month, day, hour, minute, 59 if leap else second, tzinfo=timezone.utc)
        return local + timedelta(seconds=int(leap)) - (-ahead if match.group(7) == "-" else ahead)
    except (ValueError, OverflowError):
        return None


def format_moment(moment: datetime) -> str:
    """Return a time as RFC 3339 in UTC with seconds.

    A time without a zone counts as UTC.

    Raises:
        OverflowError: in UTC it is not of the years 1 to 9999.
    """
    return _WRITTEN_TIME % moment.utctimetuple()[:6]


def format_time(seconds: float) -> str:
    """Return seconds since the epoch as an RFC 3339 time in UTC."""
    return _WRITTEN_TIME % time.gmtime(seconds)[:6]


def now_rfc3339() -> str:
    """Return this host's time, RFC 3339 in UTC with seconds."""
    return format_time(time.time())


def now_microtime() -> str:
    """Return this host's time in UTC with microseconds, for a Lease.

    Source: MicroTime of k8s.io/apimachinery/pkg/apis/meta/v1.
    """
    return f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%S.%fZ}"


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


def condition_of(obj: Mapping[str, Any], kind: str) -> Object:
    """Return the object's condition of a type, {} where there is none."""
    return condition_in((obj.get("status") or _EMPTY).get("conditions"), kind)


def condition_in(conditions: Optional[Iterable[Mapping[str, Any]]], kind: str) -> Object:
    """Return the condition of a type in a list, or {}."""
    for condition in conditions or ():
        if condition.get("type") == kind:
            return cast(Object, condition)
    return {}


def annotations_of(obj: Object) -> Object:
    """Return an object's annotations."""
    found: Object = (obj.get("metadata") or _EMPTY).get("annotations") or _EMPTY
    return found


def controller_of(obj: Mapping[str, Any]) -> Optional[Object]:
    """Return the owner reference of an object's controller, or None.

    An object has at most one (docs/reference/decision.md, "Whose machines they are").
    """
    owners = (obj.get("metadata") or _EMPTY).get("ownerReferences") or ()
    found: Optional[Object] = next((each for each in owners if each.get("controller")), None)
    return found
