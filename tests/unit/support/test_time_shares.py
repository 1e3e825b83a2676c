# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shares of a run's time: what `make profile` prints is added up correctly."""

from __future__ import annotations

import json
import typing as t

import pytest
import time_shares
from time_shares import BETWEEN, KINDS, Span

LABELS = dict(KINDS)


def event(at: float, what: str, host: str = "c1", task: str = "") -> str:
    """A line of the callback."""
    return json.dumps({"at": at, "event": what, "host": host, "task": task, "action": ""})


def nonzero(found: t.Mapping[str, float]) -> dict[str, float]:
    """The kinds that took time."""
    return {label: seconds for label, seconds in found.items() if seconds}


def test_tasks_of_several_hosts_end_with_their_own_results() -> None:
    """Tasks of two hosts overlap, and neither ends the other's."""
    lines = [event(1, "start", "c1", "a"), event(2, "start", "c2", "a"), event(4, "end", "c1"), event(7, "end", "c2")]
    found = time_shares.tasks(lines, 10)
    assert [(each.who, each.begin, each.end) for each in found] == [("c1", 1, 4), ("c2", 2, 7)]


def test_a_task_without_a_result_lasts_until_the_next_one_or_the_end() -> None:
    """Included files have no result in some releases of ansible-core."""
    lines = [event(1, "start", task="include"), event(3, "start", task="last"), json.dumps({"at": 9, "event": "main"})]
    assert [(each.name, each.begin, each.end) for each in time_shares.tasks(lines, 10)] == [
        ("include", 1, 3),
        ("last", 3, 10),
    ]


@pytest.mark.parametrize(
    ("task", "kind"),
    [
        ("kubeadm.control_plane.machine_nspawn : Create", "provider"),
        ("/somewhere/roles/machine_acme : Create", "provider"),
        ("kubeadm.control_plane.control_plane : Start the run", "task"),
        ("Check the selection", "task"),
    ],
)
def test_tasks_of_a_providers_role_are_a_kind_of_their_own(task: str, kind: str) -> None:
    """A role of a provider begins with machine_, in a collection or a folder."""
    [found] = time_shares.tasks([event(1, "start", task=task), event(2, "end")], 2)
    assert found.kind == kind


def test_points_of_a_trace_become_calls_actions_and_writes() -> None:
    """Points are paired within their process, whatever another one does meanwhile."""
    trace = """\
10.000 7 decide: before action
10.500 7 join > decide: before node node_observe
10.600 8 decide: before node node_observe
11.500 7 join > decide: after node node_observe
11.600 7 join > decide: before node node_observe (2)
12.600 7 join > decide: after node node_observe (2)
12.700 7 decide: before store write Machine
12.800 7 decide: after store write Machine
13.000 7 decide: after action
14.600 8 decide: after node node_observe
15.000 9 before lock take
no point at all
"""
    found = [(each.kind, each.name, each.who, round(each.seconds, 3)) for each in time_shares.points(trace)]
    assert found == [
        ("action", "decide", "7", 3.0),
        ("call", "node_observe", "7", 1.0),
        ("call", "node_observe", "8", 4.0),
        ("call", "node_observe", "7", 1.0),
        ("store", "store write Machine", "7", 0.1),
    ]


def test_each_moment_is_counted_once_and_all_of_them_are_the_whole() -> None:
    """Of what is under way at the same time only the first kind counts, also where tasks of two hosts overlap."""
    spans = [
        Span(2, 10, "task", "work", "c1"),
        Span(4, 12, "task", "work", "c2"),
        Span(3, 9, "action", "act", "7"),
        Span(4, 8, "call", "node_bootstrap", "7"),
        Span(5, 7.5, "ssh", "10.0.0.1", "7"),
        Span(6, 7, "kubeadm", "kubeadm", "m1"),
        Span(14, 15, "provider", "machine", "c1"),
    ]
    found = time_shares.shares(spans, 0, 20)
    assert sum(found.values()) == pytest.approx(20)
    assert nonzero(found) == {
        LABELS["start"]: 2,
        LABELS["task"]: 4,
        LABELS["action"]: 2,
        LABELS["call"]: 1.5,
        LABELS["ssh"]: 1.5,
        LABELS["kubeadm"]: 1,
        LABELS["provider"]: 1,
        LABELS["stop"]: 5,
        BETWEEN: 2,
    }


def test_a_run_without_tasks_is_all_before_the_first() -> None:
    """A playbook that ends before it does anything has no other kind of time."""
    assert nonzero(time_shares.shares([], 5, 8)) == {LABELS["start"]: 3}


def test_kubeadms_phases_add_up_to_its_run() -> None:
    """A phase that prints several lines is one, and another bootstrap in the same file is another run."""
    lines = ["1 begin", "2 [init", "3 [certs", "4 [certs", "6 [kubelet-start", "9 end", "20 begin", "21 end"]
    found = time_shares.phases(lines, "m1")
    assert [(each.kind, each.name, each.seconds) for each in found] == [
        ("phase", "start", 1),
        ("phase", "init", 1),
        ("phase", "certs", 3),
        ("phase", "kubelet-start", 3),
        ("kubeadm", "kubeadm", 8),
        ("phase", "start", 1),
        ("kubeadm", "kubeadm", 1),
    ]


def test_rows_have_the_largest_sum_first() -> None:
    """One row for a name, with its number, its sum and the longest of it."""
    spans = [Span(0, 1, "task", "a"), Span(1, 3, "task", "b"), Span(3, 6, "task", "a")]
    assert time_shares.sums(spans) == [
        {"name": "a", "count": 2, "seconds": 4, "longest": 3},
        {"name": "b", "count": 1, "seconds": 2, "longest": 2},
    ]


def test_small_rows_are_folded_into_one_without_losing_seconds() -> None:
    """What is left out of a table by name is in its last row; a single small row keeps its name."""
    spans = [Span(0, 5, "task", "a"), Span(5, 6, "task", "b"), Span(6, 8, "task", "c"), Span(8, 8.5, "task", "b")]
    rows = time_shares.sums(spans)
    assert time_shares.folded(rows, 3) == [rows[0], {"name": "2 others", "count": 3, "seconds": 3.5, "longest": 2}]
    assert time_shares.folded(rows, 2) == rows


CALLS = [
    Span(0, 4, "call", "node_observe", "7"),
    *time_shares.ssh(["1 3 7 10.0.0.1", "1 3 8 10.0.0.2", "half a line"]),
    Span(5, 7, "call", "node_observe", "7"),
    # A trace's times are rounded: ssh seems to have started before the call.
    Span(4.9996, 6, "ssh", "10.0.0.2", "7"),
    Span(5, 9, "unit", "unit", "m2"),
    Span(6, 8, "kubeadm", "kubeadm", "m2"),
]


def test_what_a_call_took_in_ssh_is_that_of_its_own_process() -> None:
    """Another process's ssh at the same time is another call's."""
    [row] = time_shares.calls(CALLS)
    assert (row["count"], row["seconds"], row["within_ssh"]) == (2, 6, pytest.approx(3.0004))


def test_machines_are_told_apart_by_the_address_that_a_call_went_to() -> None:
    """Calls and bootstrap of a machine are in one row; an address without a name stands for itself."""
    assert time_shares.machines(CALLS, {"10.0.0.2": "m2"}) == [
        {"name": "10.0.0.1", "calls": 1, "seconds": 4, "unit": 0, "kubeadm": 0},
        {"name": "m2", "calls": 1, "seconds": 2, "unit": 4, "kubeadm": 2},
    ]


def test_a_table_is_aligned() -> None:
    """The first column to the left, the others to the right."""
    assert time_shares.table(("name", "seconds"), [("a long one", "1"), ("b", "100.25")]).splitlines() == [
        "  name        seconds",
        "  a long one        1",
        "  b            100.25",
    ]


def test_a_share_of_nothing_is_no_number() -> None:
    """A run of no length has no shares."""
    assert (time_shares.share(1, 3), time_shares.share(1, 0)) == ("33 %", "-")
