# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Work on many items in a few processes, or each in one of its own."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import typing as t
from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes import identity
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes.forked import (
    MOST_BYTES,
    beside_each_other,
    spread,
)

LONG = 3600.0


def worked(work: t.Callable[[int], str], count: int, processes: int = 3) -> dict[int, str]:
    """What came of the items, by number."""
    found = list(spread(work, count, processes, LONG))
    texts = dict(each for each in found if each is not None)
    assert len(texts) == len(found)
    return texts


@pytest.mark.parametrize(("count", "processes"), [(0, 3), (1, 3), (2, 1), (3, 5), (50, 3), (50, 1)])
def test_every_item_is_worked_on_once(count: int, processes: int) -> None:
    """However many items and processes there are; texts keep all that is no line break."""
    wanted = {number: f"item {number}: ä" for number in range(count)}
    assert worked(lambda number: f"item {number}: ä", count, processes) == wanted
    assert worked(lambda number: "a\nb", count, processes) == dict.fromkeys(range(count), "a b") | (
        {0: "a\nb"} if count else {}
    )


def test_neighbours_share_a_process_and_what_the_first_item_has_read() -> None:
    """The first one is worked on here."""
    read: list[int] = []

    def work(number: int) -> str:
        read.append(number)
        return f"{os.getpid()} {read[0]} {len(read)}"

    found = {number: text.split() for number, text in worked(work, 7).items()}
    assert int(found[0][0]) == os.getpid()
    assert {each[1] for each in found.values()} == {"0"}
    assert [found[number][2] for number in range(7)] == ["1", "2", "3", "2", "3", "2", "3"]
    assert len({each[0] for each in found.values()}) == 4


def test_an_error_is_of_its_item_alone() -> None:
    """Also of the first."""

    def work(number: int) -> str:
        if number % 3 == 0:
            raise RuntimeError(number)
        return "x" * 2 * MOST_BYTES

    found = worked(work, 9)
    assert sorted(found) == [1, 2, 4, 5, 7, 8] and len(found[1]) < MOST_BYTES


def test_a_killed_process_takes_its_other_items_with_it_and_nobody_elses() -> None:
    """They are missing, and nothing waits for them."""

    def work(number: int) -> str:
        if number == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        return ""

    assert sorted(worked(work, 10)) == [0, 1, 2, 3, 7, 8, 9]


def test_who_stops_reading_leaves_no_process(capfd: pytest.CaptureFixture[str]) -> None:
    """Each ends with its next item, though there are many more; nothing is told of it."""
    begun = spread(lambda number: str(os.getpid()), 10**7, 2, LONG)
    found = [next(begun) for _each in range(2)]
    begun.close()
    assert found[1] is not None
    with pytest.raises(ProcessLookupError):
        os.kill(int(found[1][1]), 0)
    assert capfd.readouterr() == ("", "")


def test_a_pause_is_told() -> None:
    """To whom wants to say how far it is: here the second item is finished only after that."""
    reader, writer = os.pipe()
    found = spread(lambda number: "first" if number == 0 else os.read(reader, 9).decode(), 2, 1, 0.01)
    assert next(found) == (0, "first")
    assert next(found) is None
    os.write(writer, b"second")
    assert [each for each in found if each is not None] == [(1, "second")]
    for each in (reader, writer):
        os.close(each)


@pytest.mark.parametrize(("count", "at_once"), [(0, 3), (1, 3), (2, 1), (3, 5), (20, 4)])
def test_each_has_a_process_of_its_own_and_no_more_than_allowed_are_there(count: int, at_once: int) -> None:
    """Texts are of any length, and keep line breaks."""
    own = os.getpid()

    def work(number: int) -> str:
        return f"{os.getpid()} {len(identity.descendants(own)) - 1} {number}\n" + "x" * 100_000

    found = [str(each).split() for each in beside_each_other(work, count, at_once)]
    assert [each[2:] for each in found] == [[str(number), "x" * 100_000] for number in range(count)]
    assert len({own, *(int(each[0]) for each in found)}) == count + 1
    assert all(int(each[1]) <= at_once for each in found)


def test_one_that_waits_holds_up_no_other() -> None:
    """The first one ends after the last one, whose turn comes while it waits."""
    reader, writer = os.pipe()

    def work(number: int) -> str:
        return os.read(reader, 9).decode() if number == 0 else str(os.write(writer, b"last") if number == 4 else number)

    assert beside_each_other(work, 5, 2) == ["last", "1", "2", "3", "4"]
    for each in (reader, writer):
        os.close(each)


def test_what_came_of_one_that_failed_or_was_killed_is_none() -> None:
    """Also where it had begun to send it."""

    def work(number: int) -> str:
        if number == 1:
            raise RuntimeError(number)
        if number == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return str(number)

    assert beside_each_other(work, 4, 2) == ["0", None, None, "3"]


def ends(pid: int) -> bool:
    """Whether a process has ended, or does within a minute."""
    try:
        held = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([held], [], [], 60)[0])
    finally:
        os.close(held)


def test_what_ends_this_ends_all_of_its_processes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """As a task's own timeout does; what they have started ends with them."""

    class Ended(Exception):
        pass

    def end(_number: int, _frame: t.Any) -> None:
        raise Ended

    def work(number: int) -> str:
        with subprocess.Popen(["sleep", "100000"]) as started:
            (tmp_path / f"{number}").write_text(f"{os.getpid()} {started.pid}")
            os.write(writer, b"x")
            if number == 2:
                for _each in range(3):
                    os.read(reader, 1)
                os.kill(os.getppid(), signal.SIGUSR1)
        return ""

    reader, writer = os.pipe()
    before = signal.signal(signal.SIGUSR1, end)
    try:
        with pytest.raises(Ended):
            beside_each_other(work, 5, 3)
    finally:
        signal.signal(signal.SIGUSR1, before)
        os.close(reader)
        os.close(writer)
    known = [int(pid) for path in tmp_path.iterdir() for pid in path.read_text().split()]
    assert len(known) == 6
    assert [pid for pid in known if not ends(pid)] == []
    assert capfd.readouterr() == ("", "")
