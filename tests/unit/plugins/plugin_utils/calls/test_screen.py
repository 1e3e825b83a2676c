# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines on the screen: in colours where there is a terminal, and never in Ansible's log."""

from __future__ import annotations

import logging
import signal
import threading

import pytest
from ansible.utils import color, display

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls import screen
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.calls.screen import Screen, fitted
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.progress.progress_lines import BAD, PLAIN, Line

LINES = [Line("CLUSTER a\x1b[2J", BAD), Line("", BAD), Line("  phase  x", PLAIN)]
TEXT = "CLUSTER a\\x1b[2J\n\n  phase  x"


@pytest.mark.parametrize("is_coloured", [True, False])
def test_colours_are_for_a_terminal_alone(
    is_coloured: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(color, "ANSIBLE_COLOR", is_coloured)
    monkeypatch.setattr(display, "logger", logging.getLogger("ansible"))
    with caplog.at_level(logging.INFO):
        Screen().display_lines(LINES)
    painted = "\x1b[0;31mCLUSTER a\\x1b[2J\x1b[0m\n\n  phase  x"
    assert capsys.readouterr().out == f"{painted if is_coloured else TEXT}\n"
    assert [each.message for each in caplog.records] == [TEXT]


def test_a_page_is_drawn_in_place_of_another_where_there_is_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """What is none, and the log, gets what has changed; nothing where nothing has."""
    monkeypatch.setattr(display, "logger", logging.getLogger("ansible"))
    changes = [Line("changed\x1b[2J", BAD)]
    with caplog.at_level(logging.INFO):
        for given in (changes, []):
            Screen().redraw(LINES, given)
        assert capsys.readouterr().out == "changed\\x1b[2J\n"
        monkeypatch.setattr(screen, "IS_TERMINAL", True)
        for given in (changes, []):
            Screen().redraw(LINES, given)
    assert capsys.readouterr().out == f"\x1b[2J\x1b[H{TEXT}\n" * 2
    assert [each.message for each in caplog.records] == ["changed\\x1b[2J"] * 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_waits_until_a_text_is_shown(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What Display does on the way, such as to hold the lock of the workers' queue, comes to its end; then it ends."""
    shown: list[str] = []

    def interrupted(_self: display.Display, text: str, **_options: object) -> None:
        signal.raise_signal(number)
        shown.append(text)

    def ends(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ansible.utils.display.Display.display", interrupted)
    before = signal.signal(number, ends)
    try:
        with pytest.raises(KeyboardInterrupt):
            Screen().display("line")
        assert shown == ["line"] and signal.getsignal(number) is ends
    finally:
        signal.signal(number, before)


def test_a_thread_shows_texts(capsys: pytest.CaptureFixture[str]) -> None:
    """Only the main thread can have signals wait."""
    thread = threading.Thread(target=Screen().display, args=("line",))
    thread.start()
    thread.join()
    assert capsys.readouterr().out == "line\n"


@pytest.mark.parametrize(
    ("rows", "shown"),
    [
        (0, ["a" * 25, "b", "c"]),
        (6, ["a" * 25, "b", "c"]),
        (5, ["a" * 25, "... 2 more lines; --limit CLUSTER shows one"]),
        (4, ["... 3 more lines; --limit CLUSTER shows one"]),
        (1, ["... 3 more lines; --limit CLUSTER shows one"]),
    ],
)
def test_a_page_is_cut_to_a_terminals_height(rows: int, shown: list[str]) -> None:
    """A line that is wider than the terminal takes three rows of it here; the cursor has a row of its own."""
    assert [each.text for each in fitted([Line("a" * 25), Line("b"), Line("c")], 10, rows)] == shown
