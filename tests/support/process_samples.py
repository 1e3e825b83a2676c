# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every process of this host shows of itself, ten times a second, as ``ps`` would: local machines' processes are among them."""

from __future__ import annotations

import threading
import time
import typing as t
from pathlib import Path

INTERVAL_SECONDS = 0.1

# A process, whatever number it has: two with the same number began at different times.
Identity = tuple[int, int]


class Samples:
    """Looks at command lines and environments from the beginning of a ``with`` block to its end.

    ``texts`` are all that was seen, each once, with where it was: ``cmdline`` or ``environ`` and the command's name.
    """

    def __init__(self) -> None:
        self.texts: dict[bytes, str] = {}
        self.taken = 0
        self._lives: dict[Identity, tuple[bytes, float, float]] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look_on, daemon=True)
        self._failure: t.Optional[Exception] = None

    def __enter__(self) -> Samples:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._ended.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def lifetimes(self, program: str, argument: str) -> list[float]:
        """For how many seconds each process of a program with this argument was seen."""
        found = []
        for command, first, last in self._lives.values():
            words = [word.decode(errors="replace") for word in command.split(b"\0")]
            if words[0].rpartition("/")[2] == program and argument in words[1:]:
                found.append(round(last - first, 2))
        return found

    def _look_on(self) -> None:
        try:
            while not self._ended.is_set():
                begun = time.monotonic()
                self._look(begun)
                self.taken += 1
                self._ended.wait(max(0.0, begun + INTERVAL_SECONDS - time.monotonic()))
        except Exception as error:
            self._failure = error

    def _look(self, now: float) -> None:
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            try:
                command = (folder / "cmdline").read_bytes()
                if not command:
                    continue
                name, _paren, rest = (folder / "stat").read_text(errors="replace").rpartition(")")
                identity = (int(folder.name), int(rest.split()[19]))
                known = self._lives.get(identity)
                if known is None or known[0] != command:
                    # What a process is started with doesn't change until it runs another program.
                    where = name.partition("(")[2]
                    self.texts.setdefault(command, f"cmdline of {where}")
                    self.texts.setdefault((folder / "environ").read_bytes(), f"environ of {where}")
            except OSError:
                continue
            self._lives[identity] = (command, known[1] if known else now, now)
