# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is noted beside a lock, and whom it keeps out; the number that is left for the next holder."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock import file_lock, marks
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock.any_store import FileLocks

AT = ("default", "prod")


@pytest.fixture
def locks(tmp_path: Path) -> FileLocks:
    """The locks of a store."""
    return FileLocks(str(tmp_path / "store"))


@pytest.mark.parametrize("state", marks.STATES)
def test_a_mark_is_read_as_it_was_written(locks: FileLocks, state: str) -> None:
    locks.take(*AT)
    assert locks.mark(*AT) is None
    mark = marks.Mark(state, "a1", "/srv/other", paused=False, before=(marks.MOVED, "/srv/third"))
    locks.set_mark(*AT, mark)
    assert locks.mark(*AT) == mark
    locks.set_mark(*AT, None)
    assert locks.mark(*AT) is None


@pytest.mark.parametrize(
    ("state", "purpose", "gets"),
    [
        (marks.MOVING, marks.WORK, False),
        (marks.ARRIVING, marks.WORK, False),
        (marks.MOVED, marks.WORK, False),
        (marks.EXPORT, marks.WORK, False),
        (marks.EXPORT, marks.USE_EXPORT, True),
        (marks.MOVED, marks.USE_EXPORT, False),
        (marks.ARRIVING, marks.MOVE, True),
    ],
)
def test_whom_a_mark_keeps_out(locks: FileLocks, state: str, purpose: str, gets: bool) -> None:
    """Who is kept out leaves the lock free; an export that is worked with is one no more."""
    locks.take(*AT)
    locks.set_mark(*AT, marks.Mark(state, "a1", "/srv/other"))
    locks.release_own(*AT)
    if gets:
        locks.acquire(*AT, purpose=purpose)
        assert (locks.mark(*AT) is None) is (state == marks.EXPORT)
    else:
        with pytest.raises(marks.Marked, match="/srv/other"):
            locks.acquire(*AT, purpose=purpose)
        assert locks.holder(*AT) is None and locks.mark(*AT) is not None


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"state": "new", "move": "a", "other": "b"}', '{"state": "moved"}', "null"]
)
def test_one_that_can_not_be_read_keeps_everybody_out(text: str) -> None:
    found = marks.parse(text)
    assert found is not None and found.state == marks.ARRIVING


def test_a_number_that_is_left(locks: FileLocks, tmp_path: Path) -> None:
    """The next holder gets a higher one; it never falls, and nobody's lock is taken away."""
    where = (str(tmp_path / "store"), *AT)
    file_lock.leave_number(*where, 7)
    assert locks.take(*AT).fencing == 8
    with pytest.raises(file_lock.Held):
        file_lock.leave_number(*where, 20)
    locks.release_own(*AT)
    file_lock.leave_number(*where, 3)
    assert locks.take(*AT).fencing == 9


def test_a_raised_number_is_the_same_holders(locks: FileLocks) -> None:
    taken = locks.take(*AT)
    raised = locks.raise_above(*AT, 41)
    assert raised == (42, taken.run) and locks.own(*AT) == raised
    assert locks.raise_above(*AT, 5) == raised
    assert locks.check(*AT, taken.fencing) == locks.check(*AT, 42) == 42


def test_a_run_that_lost_its_lock_marks_nothing(locks: FileLocks) -> None:
    """It is compared in the very write."""
    taken = locks.take(*AT)
    mark = marks.Mark(marks.MOVED, "a1", "/srv/other")
    locks.set_mark(*AT, mark, taken.fencing)
    locks.release_own(*AT)
    locks.take(*AT)
    with pytest.raises(file_lock.LostLock):
        locks.set_mark(*AT, None, taken.fencing)
    assert locks.mark(*AT) == mark
