# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A watch of clusters ends where they are as wanted, or by its bound, and says only what has changed."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

import pytest
from builders import Builder, healthy

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.decision.decide import decide
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.progress.progress_lines import Line
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.status.data import status_data
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.status.fleet import not_observed
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.reconcile.status.watch import Clock, watch

Object = dict[str, t.Any]


class Hours(Clock):
    """A clock on which each sleep passes at once."""

    def __init__(self) -> None:
        self.passed = 0.0

    def seconds(self) -> float:
        return self.passed

    def now(self) -> str:
        return f"T+{self.passed:.0f}"

    def sleep(self, seconds: float) -> None:
        self.passed += seconds


class Drawn:
    """What a watch has shown."""

    def __init__(self) -> None:
        self.pages: list[list[str]] = []
        self.changes: list[str] = []

    def redraw(self, page: Sequence[Line], changes: Sequence[Line]) -> None:
        self.pages.append([each.text for each in page])
        self.changes += [each.text for each in changes]


def status(builder: Builder) -> Object:
    """A cluster's status."""
    snapshot = builder.build()
    return status_data(snapshot, decide(snapshot))


FINE, OLD, SICK = status(healthy(3)), status(healthy(3, replicas=5)), status(healthy(3).sick_member("m2"))
LOST = not_observed("prod", "default", "prod", "no route")


def watched(seen: list[Object], until: str = "", bound: int = 60) -> tuple[Object, Drawn]:
    """The end of a watch that sees one status after another, and the last again and again; and what it has shown."""
    drawn, left = Drawn(), list(seen)

    def observe() -> list[Object]:
        return [left.pop(0) if len(left) > 1 else left[0]]

    return watch(observe, drawn, 10, bound, until, Hours()), drawn


@pytest.mark.parametrize(
    ("until", "seen", "after"),
    [("healthy", [LOST, SICK, OLD, FINE], 20), ("settled", [SICK, OLD, OLD, FINE], 30), ("healthy", [FINE], 0)],
)
def test_it_ends_when_the_clusters_are_as_wanted(until: str, seen: list[Object], after: int) -> None:
    result, drawn = watched(seen, until)
    assert result == {"msg": f"{until} after {after} s"}
    assert len(drawn.pages) == after / 10 + 1 and drawn.pages[-1][0].startswith(
        f"T+{after}   every 10 s, until {until}"
    )


def test_what_did_not_come_fails_with_what_is_lacking() -> None:
    result, drawn = watched([OLD], "settled")
    assert result["failed"] and result["msg"].splitlines() == [
        "not settled within 60 s:",
        "prod is outdated (3 of 5 machines exist)",
    ]
    assert len(drawn.pages) == 7
    assert "prod could not be observed: no route" in watched([LOST], "healthy")[0]["msg"]


def test_without_a_state_it_ends_well() -> None:
    assert watched([SICK])[0] == {"msg": "watched for 60 s"}


def test_a_line_is_a_change() -> None:
    """Each observation is a page, and only what differs from the one before a line."""
    _result, drawn = watched([FINE, FINE, SICK, SICK, LOST, FINE])
    assert [line.split(": ")[0:2] for line in drawn.changes] == [
        ["T+0 prod", "HEALTHY"],
        ["T+20 prod", "UNHEALTHY"],
        ["T+40 prod", "NOT OBSERVED"],
        ["T+50 prod", "HEALTHY"],
    ]
    assert len(drawn.pages) == 7 and drawn.pages[2][2].startswith("CLUSTER default/prod   UNHEALTHY")
