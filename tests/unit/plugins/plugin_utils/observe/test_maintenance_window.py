# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Maintenance windows: open exactly when the zone's clock says so, also where it is put forward and back."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
import typing as t

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observe.maintenance_window import maintenance

KEY = "kubeadm.control-plane/maintenance-window"


def control_plane(text: t.Optional[str]) -> dict[str, t.Any]:
    annotations = {} if text is None else {KEY: text}
    return {"kind": "KubeadmControlPlane", "metadata": {"name": "prod", "namespace": "ns", "annotations": annotations}}


def window(schedule: str, duration: str, now: str, zone: str = "Europe/Berlin") -> dict[str, t.Any]:
    text = json.dumps({"schedule": schedule, "duration": duration, "timeZone": zone})
    found = maintenance(control_plane(text), now)
    assert found is not None
    return found


def told(schedule: str, duration: str, now: str, zone: str = "Europe/Berlin") -> tuple[t.Any, t.Any, t.Any]:
    found = window(schedule, duration, now, zone)
    return found["open"], found["opensAt"], found["closesAt"]


SATURDAY = ("2026-01-31T01:00:00Z", "2026-01-31T05:00:00Z")


@pytest.mark.parametrize(
    ("now", "opened"),
    [
        ("2026-01-31T00:59:59Z", False),
        ("2026-01-31T01:00:00Z", True),
        ("2026-01-31T04:59:59Z", True),
    ],
)
def test_a_window_opens_and_closes_on_the_zones_clock(now: str, opened: bool) -> None:
    assert told("0 2 * * 6", "4h", now) == (opened, *SATURDAY)


def test_when_it_has_closed_the_next_one_is_told() -> None:
    expected = (False, "2026-02-07T01:00:00Z", "2026-02-07T05:00:00Z")
    assert told("0 2 * * 6", "4h", "2026-01-31T05:00:00Z") == expected
    assert window("0 2 * * 6", "4h", "2026-01-31T05:00:00Z")["message"] == "0 2 * * 6 Europe/Berlin for 4 h"


# The night of 29 March 2026: 2:00 to 3:00 does not exist in Berlin; 1:00 UTC is 3:00 there.
@pytest.mark.parametrize(
    ("schedule", "duration", "now", "expected"),
    [
        # A time that is left out opens the window when the clock goes on.
        ("30 2 * * *", "1h", "2026-03-29T00:59:59Z", (False, "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z")),
        ("30 2 * * *", "1h", "2026-03-29T01:00:00Z", (True, "2026-03-29T01:00:00Z", "2026-03-29T02:00:00Z")),
        ("30 2 * * *", "1h", "2026-03-29T02:00:00Z", (False, "2026-03-30T00:30:00Z", "2026-03-30T01:30:00Z")),
        # The duration is elapsed time: 4 hours from 1:00 end at 6:00.
        ("0 1 * * *", "4h", "2026-03-29T03:59:59Z", (True, "2026-03-29T00:00:00Z", "2026-03-29T04:00:00Z")),
        ("0 1 * * *", "4h", "2026-03-29T04:00:00Z", (False, "2026-03-29T23:00:00Z", "2026-03-30T03:00:00Z")),
        # The evening after, the same time on the clock is an hour earlier in UTC.
        ("0 22 * * *", "1h", "2026-03-28T21:00:00Z", (True, "2026-03-28T21:00:00Z", "2026-03-28T22:00:00Z")),
        ("0 22 * * *", "1h", "2026-03-29T20:00:00Z", (True, "2026-03-29T20:00:00Z", "2026-03-29T21:00:00Z")),
    ],
)
def test_the_night_in_which_the_clock_is_put_forward(schedule: str, duration: str, now: str, expected: t.Any) -> None:
    assert told(schedule, duration, now) == expected


# The night of 25 October 2026: 2:00 to 3:00 comes twice in Berlin, from 0:00 and from 1:00 UTC.
@pytest.mark.parametrize(
    ("schedule", "duration", "now", "expected"),
    [
        ("30 2 * * *", "30m", "2026-10-25T00:29:59Z", (False, "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z")),
        ("30 2 * * *", "30m", "2026-10-25T00:30:00Z", (True, "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z")),
        # It opens once, not at the second 2:30.
        ("30 2 * * *", "30m", "2026-10-25T01:00:00Z", (False, "2026-10-26T01:30:00Z", "2026-10-26T02:00:00Z")),
        ("30 2 * * *", "30m", "2026-10-25T01:30:00Z", (False, "2026-10-26T01:30:00Z", "2026-10-26T02:00:00Z")),
        ("30 2 * * *", "30m", "2026-10-25T01:45:00Z", (False, "2026-10-26T01:30:00Z", "2026-10-26T02:00:00Z")),
        # Elapsed time again: 2 hours from the first 2:30 end at the clock's 3:30.
        ("30 2 * * *", "2h", "2026-10-25T02:29:59Z", (True, "2026-10-25T00:30:00Z", "2026-10-25T02:30:00Z")),
        ("30 2 * * *", "2h", "2026-10-25T02:30:00Z", (False, "2026-10-26T01:30:00Z", "2026-10-26T03:30:00Z")),
    ],
)
def test_the_night_in_which_the_clock_is_put_back(schedule: str, duration: str, now: str, expected: t.Any) -> None:
    assert told(schedule, duration, now) == expected


def test_without_a_zone_the_times_are_utc() -> None:
    found = maintenance(control_plane("{schedule: '0 2 * * *', duration: 1h}"), "2026-03-29T02:30:00Z")
    assert found is not None and found["open"] is True and found["opensAt"] == "2026-03-29T02:00:00Z"


def test_windows_that_touch_are_one() -> None:
    assert told("0 0-2 * * *", "1h", "2026-01-31T00:30:00Z", "UTC") == (
        True,
        "2026-01-31T00:00:00Z",
        "2026-01-31T03:00:00Z",
    )
    assert window("* * * * *", "1h", "2026-01-31T00:30:30Z")["open"] is True


@pytest.mark.parametrize(
    "text", ["", "[", "{}", "{schedule: x, duration: 1h}", "{schedule: '0 0 31 2 *', duration: 1h}"]
)
def test_a_window_that_can_not_be_read_is_neither_open_nor_closed(text: str) -> None:
    found = maintenance(control_plane(text), "2026-01-31T00:30:00Z")
    assert found is not None and found["open"] is None
    assert f'KubeadmControlPlane ns/prod: metadata.annotations["{KEY}"]' in found["message"]


def test_no_annotation_is_no_window() -> None:
    assert maintenance(control_plane(None), "2026-01-31T00:30:00Z") is None
    assert maintenance(None, "2026-01-31T00:30:00Z") is None


@settings(max_examples=150)
@given(
    minutes=st.integers(0, 525600),
    schedule=st.sampled_from(
        ["30 2 * * *", "*/20 * * * *", "0 */6 * * *", "15 1,2,3 * * 0", "0 0 1 1 *", "45 2 29 2 *"]
    ),
    duration=st.integers(1, 600),
)
def test_open_is_the_same_as_being_between_the_two_times(minutes: int, schedule: str, duration: int) -> None:
    day, minute = divmod(minutes, 1440)
    moment = datetime.datetime(2026, 1, 1) + datetime.timedelta(days=day, minutes=minute)
    now = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    opened, opens, closes = told(schedule, f"{duration}m", now)
    assert opened is (opens <= now) and now < closes


def test_a_missing_library_is_named() -> None:
    code = (
        "import sys; sys.modules['cronsim'] = None\n"
        "from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.observe.maintenance_window import maintenance\n"
        "print(maintenance(eval(sys.argv[1]), '2026-01-31T00:30:00Z'))"
    )
    argument = repr(control_plane('{"schedule": "0 2 * * 6", "duration": "4h"}'))
    done = subprocess.run([sys.executable, "-c", code, argument], capture_output=True, text=True, check=True)
    assert "'open': None" in done.stdout and "(cronsim)" in done.stdout and KEY in done.stdout
