# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Work on many items in a few processes."""

from __future__ import annotations

import os
import signal
import typing as t

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes.forked import MOST_BYTES, spread

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
