# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for a kubelet and the components that it runs from static pod manifests: their processes, logs and health.

A component whose command line has a flag that is not known ends at once and is started again, as a real one.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import os
import shutil
import ssl
import threading
import typing as t
from pathlib import Path

import yaml

BAD_FLAG = "--no-such-flag"


class _Healthy(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Answer as a component that is well."""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, format: str, *args: t.Any) -> None:
        """Say nothing."""


class StandInComponents:
    """Runs what stands in ``manifests``; ``proc`` and ``logs`` are folders as a machine has them.

    ``starts`` tells every command line that was started, in its order; ``looks`` how often somebody has looked through ``proc``.
    """

    def __init__(self, manifests: Path, proc: Path, logs: Path, certificate: Path, key: Path) -> None:
        self.manifests, self.proc, self.logs = manifests, proc, logs
        self.starts: list[list[str]] = []
        # Components whose manifests are there and are not run.
        self.ignored: set[str] = set()
        # Manifests that it knows and does not start.
        self.held: set[str] = set()
        # While they linger, what is to end runs and serves beside what has come after it, which can't serve.
        self.lingering = False
        self._left: list[tuple[t.Optional[http.server.ThreadingHTTPServer], t.Optional[int]]] = []
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate, key)
        self._running: dict[str, str] = {}
        self._pids: dict[str, int] = {}
        self._servers: dict[str, http.server.ThreadingHTTPServer] = {}
        self._next = 100
        self.looks = 0
        self._watch = self.proc / "1" / "comm"
        self._watch.parent.mkdir()
        os.mkfifo(self._watch)
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._count_looks, daemon=True)
        self._watcher.start()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def outlive(self, component: str, pid: int) -> None:
        """Have a real process in place of a component's, which nothing here ends."""
        self._take_away(None, self._pids[component])
        (self.proc / str(pid)).symlink_to(f"/proc/{pid}")
        self._pids[component] = pid

    def stop(self) -> None:
        """End it and all that it runs."""
        self._ended.set()
        self._thread.join()
        self._watcher.join()
        self.lingering = False
        for each in self._left:
            self._take_away(*each)
        for component in list(self._running):
            self._end(component)

    def _work(self) -> None:
        while not self._ended.wait(0.02):
            wanted = {each.stem: each.read_text() for each in self._manifests()}
            if self._left and not self.lingering:
                while self._left:
                    self._take_away(*self._left.pop())
                for component in [each for each in self._pids if each not in self._servers]:
                    self._end(component)
            for component in {*wanted, *self._running}:
                text = wanted.get(component, "")
                if text != self._running.get(component, ""):
                    self._end(component)
                    if text and text not in self.held:
                        self._start(component, text)
                elif component not in self._pids and text not in self.held:
                    self._start(component, text)

    def _count_looks(self) -> None:
        """Be a process that is nothing's: whoever looks for one reads its name, once for each look."""
        while not self._ended.wait(0.01):
            try:
                writer = os.open(self._watch, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                # Nobody reads just now.
                continue
            # The next reader finds a new one: it can't be taken for this one, nor this one for two.
            new = self._watch.with_name("new")
            os.mkfifo(new)
            new.rename(self._watch)
            self.looks += 1
            with contextlib.suppress(BrokenPipeError):
                os.write(writer, b"init\n")
            os.close(writer)
        self._watch.unlink()

    def _manifests(self) -> list[Path]:
        return [each for each in self.manifests.glob("*.yaml") if each.stem not in self.ignored]

    def _start(self, component: str, text: str) -> None:
        self._running[component] = text
        words = yaml.safe_load(text)["spec"]["containers"][0]["command"]
        bad = any(word.startswith(BAD_FLAG) for word in words)
        server: t.Optional[http.server.ThreadingHTTPServer] = None
        if not bad and not self.lingering:
            port = next(int(word.partition("=")[2]) for word in words if word.startswith("--secure-port="))
            try:
                server = http.server.ThreadingHTTPServer(("127.0.0.1", port), _Healthy)
            except OSError:
                # Something else on this machine has the port for a moment: it is tried again.
                return
        uid = hashlib.sha256(text.encode()).hexdigest()[:32]
        folder = self.logs / f"kube-system_{component}-node_{uid}" / component
        folder.mkdir(parents=True, exist_ok=True)
        number = len(list(folder.iterdir()))
        self.starts.append(words)
        said = f"Error: unknown flag: {BAD_FLAG}" if bad else "I1121 10:00:00.000000       1 serving"
        (folder / f"{number}.log").write_text(f"2026-11-21T10:00:00.000000000Z stderr F {said}\n")
        if bad:
            return
        self._next += 1
        entry = self.proc / str(self._next)
        entry.mkdir()
        (entry / "comm").write_text(f"{component[:15]}\n")
        (entry / "cgroup").write_text(f"0::/kubepods/pod{uid}/1\n")
        (entry / "cmdline").write_bytes("\0".join(words).encode() + b"\0")
        (entry / "stat").write_text(f"{self._next} ({component}) S {' '.join(['1'] * 18)} {self._next} 0\n")
        self._pids[component] = self._next
        if server is not None:
            server.socket = self._context.wrap_socket(server.socket, server_side=True)
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
            self._servers[component] = server

    def _end(self, component: str) -> None:
        ended = self._servers.pop(component, None), self._pids.pop(component, None)
        if self.lingering:
            self._left.append(ended)
            # As kubelets do with the logs of a pod that is no more, whether or not its process still ends.
            for each in self.logs.glob(f"kube-system_{component}-*"):
                shutil.rmtree(each)
        else:
            self._take_away(*ended)
        self._running.pop(component, None)

    def _take_away(self, server: t.Optional[http.server.ThreadingHTTPServer], pid: t.Optional[int]) -> None:
        if server is not None:
            server.shutdown()
            server.server_close()
        if pid is not None and not (self.proc / str(pid)).is_symlink():
            for each in (self.proc / str(pid)).iterdir():
                each.unlink()
            with contextlib.suppress(OSError):
                (self.proc / str(pid)).rmdir()
