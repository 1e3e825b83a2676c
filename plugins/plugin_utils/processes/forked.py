# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Work on many items, spread over a few forked processes.

No pool of the standard library: its processes outlive a parent that is killed.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import os
import select
import signal
import sys
import typing as t

from . import identity

# A write of so many bytes to a pipe is one piece, whoever else writes (pipe(7), PIPE_BUF).
MOST_BYTES = 4096

Work = t.Callable[[int], str]


def spread(work: Work, count: int, processes: int, pause_seconds: float) -> t.Iterator[t.Optional[tuple[int, str]]]:
    """Yield each item's number and text, as they come.

    None is yielded where nothing came for a while. The first item is worked on in this process, so that the others find what it has
    read; then each process has neighbouring items. An item is missing where its work raised an error, or where its process ended before.

    Args:
        work: returns the text of an item, of at most MOST_BYTES.
        count: how many items there are; they are numbered from 0.
        processes: at most so many processes beside this one.
        pause_seconds: after so many seconds without an item, None is yielded.
    """
    text = _text(work, 0) if count else None
    if text is not None:
        yield 0, text
    # What was read so far stays shared memory: a collection in each process would write to all of it.
    gc.freeze()
    reader, writer = os.pipe()
    children = []
    share = -(-(count - 1) // max(1, min(processes, count - 1)))
    try:
        for first in range(1, count, max(1, share)):
            child = os.fork()
            if child == 0:
                os.close(reader)
                _do(work, range(first, min(first + share, count)), writer)
            children.append(child)
        os.close(writer)
        writer = -1
        yield from _read(reader, pause_seconds)
    finally:
        # A process that nobody reads from any more ends with its next item.
        os.close(reader)
        if writer >= 0:
            os.close(writer)
        for child in children:
            os.waitpid(child, 0)
        gc.unfreeze()


def beside_each_other(work: Work, count: int, at_once: int) -> list[t.Optional[str]]:
    """Return items' texts, each made in its own process.

    None for an item whose work raised an error, or whose process ended before. An item that takes long has one of the processes and holds up
    no other item. No process is left, whatever error ends this; where this process is killed, each ends with its item.

    Args:
        work: returns the text of an item.
        count: how many items there are; they are numbered from 0.
        at_once: at most so many processes beside this one.
    """
    found: list[t.Optional[str]] = [None] * count
    waiting = iter(range(count))
    # By the end of the pipe that is read: item, process, what it has sent.
    running: dict[int, tuple[int, int, bytearray]] = {}
    try:
        while True:
            for number in itertools.islice(waiting, at_once - len(running)):
                reader, child = _begin(work, number)
                running[reader] = (number, child, bytearray())
            if not running:
                return found
            for reader in select.select(list(running), [], [])[0]:
                number, child, text = running[reader]
                piece = os.read(reader, 65536)
                text += piece
                if not piece:
                    del running[reader]
                    os.close(reader)
                    if os.waitpid(child, 0)[1] == 0:
                        found[number] = text.decode()
    finally:
        for reader, (_number, child, _text) in running.items():
            os.close(reader)
            _end(child)


def _begin(work: Work, number: int) -> tuple[int, int]:
    """Start an item's process; return the pipe to read, and the id."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        return reader, child
    status = 1
    try:
        # Not a kill: it may hold a lock that it shares with this run's other processes.
        signal.signal(signal.SIGTERM, lambda *_unused: sys.exit(1))
        text = _text(work, number)
        if text is not None:
            with os.fdopen(writer, "wb") as stream:
                stream.write(text.encode())
            status = 0
    finally:
        os._exit(status)


def _end(child: int) -> None:
    """End a process and what it has started."""
    _child, *started = identity.descendants(child)
    for each, number in ((child, signal.SIGTERM), *((pid, signal.SIGKILL) for pid in started)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, number)
    os.waitpid(child, 0)


def _text(work: Work, number: int) -> t.Optional[str]:
    # Whatever is wrong with one item is not the others' concern.
    with contextlib.suppress(Exception):
        return work(number)
    return None


def _do(work: Work, numbers: t.Iterable[int], writer: int) -> t.NoReturn:
    """Work on the items of one process, and end it."""
    try:
        for number in numbers:
            text = _text(work, number)
            if text is not None:
                line = f"{number} {text}".encode("utf-8", "replace").replace(b"\n", b" ")
                os.write(writer, line[: MOST_BYTES - 1] + b"\n")
    finally:
        os._exit(0)


def _read(reader: int, pause_seconds: float) -> t.Iterator[t.Optional[tuple[int, str]]]:
    rest = b""
    while True:
        if not select.select([reader], [], [], pause_seconds)[0]:
            yield None
            continue
        found = os.read(reader, 65536)
        if not found:
            return
        *lines, rest = (rest + found).split(b"\n")
        for line in lines:
            number, _space, text = line.partition(b" ")
            yield int(number), text.decode("utf-8", "replace")
