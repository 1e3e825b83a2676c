# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Times as objects, certificates and HTTP headers have them, and the controller of an object."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any, Optional

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.https import read_date
from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.values import (
    controller_of,
    format_moment,
    format_time,
    parse_time,
    read_moment,
    utc_time,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:10Z", 10),
        ("1970-01-01T00:00:10.5Z", 10),
        ("1970-01-01t00:00:10z", 10),
        ("1970-01-01T01:00:10+01:00", 10),
        ("1969-12-31T23:00:10-01:00", 10),
        ("1969-12-31T23:59:50Z", -10),
        ("1970-01-01T00:00:60Z", 60),
        ("0001-01-01T00:00:00Z", -62135596800),
        ("1970-01-01 00:00:10Z", None),
        ("1970-01-01T00:00:10", None),
        ("1970-02-30T00:00:00Z", None),
        ("1970-02-01T24:00:00Z", None),
        ("1970-01-01T00:00:61Z", None),
        ("0000-01-01T00:00:00Z", None),
        ("0001-01-01T00:00:00+05:00", None),
        ("9999-12-31T23:59:59-05:00", None),
        ("1970-01-01T00:00:10+99:99", None),
        ("١٩٧٠-01-01T00:00:10Z", None),
        (f"1970-01-01T00:00:10.{'0' * 100}Z", None),
        ("", None),
        (None, None),
        (10, None),
    ],
)
def test_a_time_is_read_alike_by_every_reader(text: Any, seconds: Optional[int]) -> None:
    """As seconds, as a moment and as text in UTC; what is no time is none for all three, with no other error."""
    assert parse_time(text) == seconds
    if seconds is None:
        assert utc_time(text) is None
        with pytest.raises(ValueError, match="is no RFC 3339 time"):
            read_moment(text)
    else:
        assert read_moment(text) == datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=seconds)
        assert utc_time(text) == format_time(seconds)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00Z", "1969-12-31T23:59:50Z", "9999-12-31T23:59:59Z"])
def test_what_is_written_reads_back(text: str) -> None:
    """A year has four digits, as RFC 3339 asks."""
    assert format_moment(read_moment(text)) == text
    assert format_time(parse_time(text) or 0) == text


def test_a_moment_is_written_in_utc() -> None:
    """Its own zone is converted; one without a zone is in UTC; a fraction of a second is left out."""
    assert format_moment(datetime(2026, 1, 31, 10, 0, tzinfo=timezone(timedelta(hours=1)))) == "2026-01-31T09:00:00Z"
    assert format_moment(datetime(2026, 1, 31, 10, 0, 0, 999999)) == "2026-01-31T10:00:00Z"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sat, 21 Nov 2026 06:27:06 GMT", "2026-11-21T06:27:06Z"),
        ("Sat, 21 Nov 2026 07:27:06 +0100", "2026-11-21T06:27:06Z"),
        ("Sat, 21 Nov 2026 06:27:06 -0000", None),
        ("Fri, 31 Dec 9999 23:59:59 -0500", None),
        ("Sat, 21 Nov 2026 06:27:06 +99999999999999", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_the_date_of_an_answer_is_read_or_is_none(text: str, expected: Optional[str]) -> None:
    """A server may send anything."""
    moment = read_date(text)
    assert (moment and format_moment(moment)) == expected


def test_the_controller_is_the_owner_that_says_so() -> None:
    """Other owners, and an object without metadata, are no error."""
    owner = {"kind": "DaemonSet", "name": "d", "controller": True}
    other = {"kind": "ConfigMap", "name": "c"}
    assert controller_of({"metadata": {"ownerReferences": [other, {**other, "controller": False}, owner]}}) == owner
    assert controller_of({"metadata": {"ownerReferences": [other]}}) is None
    assert controller_of({"metadata": {"ownerReferences": None}}) is None
    assert controller_of({}) is None
