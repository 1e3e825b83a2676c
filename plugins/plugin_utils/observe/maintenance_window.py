# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Maintenance window of the user: cron expression, duration and time zone."""

from __future__ import annotations

import typing as t
import zoneinfo
from datetime import datetime, timedelta, timezone

from ansible.module_utils.basic import missing_required_lib

from ...module_utils.common.values import format_moment, read_moment
from ...module_utils.common.violations import Report
from ..objects import kinds, user_annotations
from ..objects.user_annotations import MaintenanceWindow

try:
    from cronsim import CronSim, CronSimError

    HAS_CRONSIM = True
except ImportError:
    HAS_CRONSIM = False

Object = dict[str, t.Any]
# Windows that touch are one; a chain of so many is not followed to its end.
_LONGEST_CHAIN = 1000


def maintenance(control_plane: t.Optional[Object], now: str) -> t.Optional[Object]:
    """Return the maintenance window's state, None where no window is set.

    ``{open, message, opensAt, closesAt}``.

    ``open`` is None where the annotation can't be read; ``message`` states why. ``opensAt`` and ``closesAt`` (RFC
    3339 in UTC) are of the window that is open, else of the next one; None where there is none.

    A window lasts its duration of elapsed time from each time that the cron expression names on the zone's clock. Where
    that clock is put forward, a time that is left out opens the window when the clock resumes; where it is put back, a
    time that comes twice opens it once, at the first (Debian's cron, for expressions with a fixed hour and minute).

    Args:
        control_plane: the stored KubeadmControlPlane.
        now: RFC 3339 in UTC with seconds.
    """
    metadata = (control_plane or {}).get("metadata") or {}
    text = (metadata.get("annotations") or {}).get(kinds.ANNOTATION_MAINTENANCE_WINDOW)
    if control_plane is None or text is None:
        return None
    report = Report(kinds.label_of(control_plane))
    path = user_annotations.annotation_path(kinds.ANNOTATION_MAINTENANCE_WINDOW)
    window = user_annotations.read_maintenance_window(str(text), path, report)
    if window is None:
        return _unknown("; ".join(violation.text() for violation in report.violations))
    if not HAS_CRONSIM:
        return _unknown(
            missing_required_lib("cronsim", reason=f"for the annotation {kinds.ANNOTATION_MAINTENANCE_WINDOW}")
        )
    try:
        zone = zoneinfo.ZoneInfo(window.time_zone)
    except (KeyError, ValueError, OSError):
        return _unknown(
            f"the time zone {window.time_zone} is not known here: the controller has no time zone database. "
            "Install the Python package tzdata, or the system's tzdata."
        )
    moment = read_moment(now)
    try:
        return _evaluated(window, zone, moment)
    except (CronSimError, OverflowError) as error:
        return _unknown(f"the cron expression {window.schedule!r} can't be evaluated: {error}")


def _unknown(message: str) -> Object:
    return {"open": None, "message": message, "opensAt": None, "closesAt": None}


def _evaluated(window: MaintenanceWindow, zone: zoneinfo.ZoneInfo, now: datetime) -> Object:
    length = timedelta(seconds=window.seconds)
    openings = _openings(window.schedule, zone, now - length)
    first = next(openings, None)
    said = f"{window.schedule} {window.time_zone} for {_words(window.seconds)}"
    if first is None:
        return {"open": False, "message": f"{said}: no window will ever open", "opensAt": None, "closesAt": None}
    closes = first + length
    for number, following in enumerate(openings):
        if following > closes or number == _LONGEST_CHAIN:
            break
        closes = following + length
    return {"open": first <= now, "message": said, "opensAt": format_moment(first), "closesAt": format_moment(closes)}


def _openings(schedule: str, zone: zoneinfo.ZoneInfo, after: datetime) -> t.Iterator[datetime]:
    """Yield the times of a cron expression after an instant, in UTC."""
    for local in CronSim(schedule, after.astimezone(zone)):
        found = local.astimezone(timezone.utc)
        # Begun in the second of two equal hours, the iteration names times of the first once more.
        if found > after:
            yield found


def _words(seconds: int) -> str:
    hours, minutes = seconds // 3600, seconds % 3600 // 60
    parts = [
        f"{hours} h" if hours else "",
        f"{minutes} min" if minutes else "",
        f"{seconds % 60} s" if seconds % 60 else "",
    ]
    return " ".join(part for part in parts if part)
