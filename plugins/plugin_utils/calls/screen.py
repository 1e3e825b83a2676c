# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Display of texts on the controller's terminal.

It is the only place that has Ansible's Display.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import typing as t

from ansible.utils.color import stringc
from ansible.utils.display import Display

from ...module_utils.common.legible import one_line, visible
from ..progress import channel
from ..progress.colors import color_of
from ..progress.progress_lines import WAITING, Line

# A worker has no terminal. The inventory plugin imports this in Ansible's main process, before there are workers.
IS_TERMINAL = sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"
_TERMINAL = os.ttyname(sys.stdout.fileno()) if IS_TERMINAL else ""
_ENDING = (signal.SIGINT, signal.SIGTERM)
_CLEARED = "\x1b[2J\x1b[H"


def fitted(page: t.Sequence[Line], columns: int, rows: int) -> list[Line]:
    """Return what fits of a page; the last line counts what doesn't.

    Args:
        page: the lines, of which a long one takes several rows.
        columns: the terminal's width, 0 where it is not known.
        rows: its height, one of which the cursor takes; 0 where it is not known.
    """
    taken = [max(1, -(-len(one_line(each.text)) // columns)) if columns else 1 for each in page]
    if not rows or sum(taken) < rows:
        return list(page)
    shown = 0
    while shown < len(page) and sum(taken[: shown + 1]) < rows - 1:
        shown += 1
    more = len(page) - shown
    return [*page[:shown], Line(f"... {more} more line{'' if more == 1 else 's'}; --limit CLUSTER shows one", WAITING)]


def _terminal_size() -> tuple[int, int]:
    """Return the terminal's columns and rows of now; 0, 0 without one."""
    try:
        terminal = os.open(_TERMINAL, os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return 0, 0
    try:
        size = os.get_terminal_size(terminal)
        return size.columns, size.lines
    except OSError:
        return 0, 0
    finally:
        os.close(terminal)


@contextlib.contextmanager
def _in_one_piece() -> t.Iterator[None]:
    """Let SIGINT and SIGTERM wait until a text is shown.

    A worker hands it to Ansible's main process through a queue. A worker that ends while it holds the queue's lock keeps it: the main
    process then waits for the lock without an end (StrategyBase.cleanup of ansible-core 2.19 to 2.21).
    """
    came: list[int] = []
    try:
        before = {each: signal.signal(each, lambda number, _frame: came.append(number)) for each in _ENDING}
    except ValueError:
        # A thread has no handlers of its own.
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for interrupt in came:
            signal.raise_signal(interrupt)


def _show(method: str, text: str, **options: t.Any) -> None:
    """Call a method of Ansible's Display."""
    with _in_one_piece():
        getattr(Display(), method)(text, **options)


def _plain(lines: t.Sequence[Line]) -> str:
    return "\n".join(one_line(each.text) for each in lines)


def _painted(lines: t.Sequence[Line]) -> str:
    """Return lines as text, in the colours of their kinds."""
    shown = [(one_line(each.text), color_of(each.kind)) for each in lines]
    return "\n".join(stringc(text, color) if color and text else text for text, color in shown)


class Screen:
    """Ansible's Display for texts from hosts, manifests and Actions.

    Args:
        host: the inventory's name of the task's cluster, for the callback ``progress``.
    """

    def __init__(self, host: str = "") -> None:
        self._host = host

    def display(self, text: str) -> None:
        """Show lines."""
        if not self.send("text", text=text):
            _show("display", visible(text))

    def display_lines(self, lines: t.Sequence[Line]) -> None:
        """Show lines, in a terminal in the colours of their kinds.

        In one piece, and without colours in Ansible's log.
        """
        if self.send("lines", lines=[(each.text, each.kind) for each in lines]):
            return
        plain, painted = _plain(lines), _painted(lines)
        if painted == plain:
            _show("display", plain)
            return
        _show("display", painted, screen_only=True)
        _show("display", plain, log_only=True)

    def redraw(self, page: t.Sequence[Line], changes: t.Sequence[Line]) -> None:
        """Show a page in place of the last, cut to the terminal.

        Ansible's log, and what is no terminal, gets the changes alone.
        """
        if not IS_TERMINAL:
            if changes:
                self.display_lines(changes)
            return
        _show("display", f"{_CLEARED}{_painted(fitted(page, *_terminal_size()))}", screen_only=True)
        if changes:
            _show("display", _plain(changes), log_only=True)

    def send(self, event: str, /, **fields: t.Any) -> bool:
        """Send an event to the callback ``progress``; False without it."""
        return channel.send(event, {"host": self._host, **fields})

    def warning(self, text: str) -> None:
        """Show a warning."""
        _show("warning", visible(text))

    def error(self, text: str) -> None:
        """Show an error, once and in one piece."""
        _show("error", visible(text), wrap_text=False)
