# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubelet restarted and asked: its health port is a real server's, systemctl is a stand-in."""

from __future__ import annotations

import http.server
import subprocess
import threading
import typing as t
from pathlib import Path

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.components import kubelet


class Healthz(http.server.BaseHTTPRequestHandler):
    """Says what the test wants: first the earlier answers, then the last one for ever."""

    answers: t.ClassVar[list[int]] = [200]

    def do_GET(self) -> None:
        """Answer."""
        self.send_response(self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])
        self.end_headers()

    def log_message(self, format: str, *args: t.Any) -> None:
        """Say nothing."""


@pytest.fixture(name="config", params=["", "127.0.0.2", "0.0.0.0"])
def _config(request: pytest.FixtureRequest, tmp_path: Path) -> t.Iterator[str]:
    """The kubelet's configuration, with the address, if it names one, and the port of a server that answers."""
    server = http.server.ThreadingHTTPServer((request.param or "127.0.0.1", 0), Healthz)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    path = tmp_path / "config.yaml"
    address = f"healthzBindAddress: {request.param}\n" if request.param else ""
    path.write_text(f"kind: KubeletConfiguration\n{address}healthzPort: {server.server_address[1]}\n")
    try:
        yield str(path)
    finally:
        server.shutdown()
        server.server_close()


def test_it_is_waited_for(config: str) -> None:
    """What answers at last is well."""
    Healthz.answers = [500, 500, 200]
    kubelet.wait_until_well(30.0, config)
    assert Healthz.answers == [200]


def test_one_that_is_never_well(config: str) -> None:
    """It says what the kubelet said, and where to look."""
    Healthz.answers = [500]
    with pytest.raises(NodeError, match=r"unhealthy after 0 s: it says HTTP 500.*journalctl"):
        kubelet.wait_until_well(0.0, config)


def test_one_that_nobody_can_ask(tmp_path: Path) -> None:
    """Port 0 is no port: its configuration says that it answers nobody."""
    path = tmp_path / "config.yaml"
    path.write_text("healthzPort: 0\n")
    kubelet.wait_until_well(0.0, str(path))


def test_a_restart() -> None:
    """With the unit's files read anew; what systemd refuses is told."""
    words: list[str] = []

    def systemctl(command: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        words.append(" ".join(command))
        return subprocess.CompletedProcess(list(command), int(len(words) > 2), "", "no such unit")

    kubelet.restart(systemctl)
    assert words == ["systemctl daemon-reload", "systemctl restart kubelet.service"]
    with pytest.raises(NodeError, match="no such unit"):
        kubelet.restart(systemctl)
