# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One API server for all tests of observing: starting one takes ten seconds."""

from __future__ import annotations

import typing as t

import pytest
from api_server import ApiServer, find_binary
from filled_api import fill


@pytest.fixture(name="server", scope="session")
def _server(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[ApiServer]:
    """An API server that every test finds with the same objects."""
    binaries = [find_binary(name) for name in ("kube-apiserver", "kubectl")]
    if not all(binaries):
        pytest.skip("no kube-apiserver and kubectl: set KUBERNETES_BINARIES, or build a machine image first")
    server = ApiServer(tmp_path_factory.mktemp("api"), *t.cast("list[str]", binaries))
    try:
        fill(server.wait_ready())
        yield server
    finally:
        server.end()
