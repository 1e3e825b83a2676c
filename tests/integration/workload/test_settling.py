# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting for a machine's own control plane, against a real API server, with a clock that the test turns."""

from __future__ import annotations

from pathlib import Path

import pytest
from api_server import ApiServer
from etcd_cluster import free_port

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common import settings
from ansible_collections.kubeadm.control_plane.plugins.module_utils.observe.settling import (
    Own,
    wait_until_up,
)


class Clock:
    """Seconds that pass only where somebody waits."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def pause(self, seconds: float) -> None:
        """Let some pass."""
        self.seconds += seconds

    def wait(self, own: Own, seconds: float = 10) -> bool:
        """Wait as the module does."""
        return wait_until_up(seconds, own, lambda: self.seconds, self.pause)


SCHEDULER = "    - command:\n    - kube-scheduler\n    - --bind-address={address}\n    - --port=0\n{more}"


def own(server: ApiServer, manifests: Path, scheduler: str = "") -> Own:
    """A machine with that API server, and with a scheduler of this manifest that nobody answers for."""
    manifests.mkdir()
    (manifests / "kube-apiserver.yaml").write_text((server.manifests / "kube-apiserver.yaml").read_text())
    if scheduler:
        (manifests / "kube-scheduler.yaml").write_text(scheduler)
    return Own(server.kubeconfig, str(manifests), server.kubectl, {"kube-scheduler": free_port()})


def test_what_is_up_is_not_waited_for(server: ApiServer, tmp_path: Path) -> None:
    clock = Clock()
    assert clock.wait(own(server, tmp_path / "manifests"))
    assert clock.seconds == 0


def test_a_component_that_is_still_starting_is_waited_for(server: ApiServer, tmp_path: Path) -> None:
    """One call instead of an observation of everything again and again."""
    clock = Clock()
    assert not clock.wait(own(server, tmp_path / "manifests", SCHEDULER.format(address="127.0.0.1", more="")))
    assert 10 <= clock.seconds < 11


@pytest.mark.parametrize(("address", "more"), [("127.0.0.1", "    - --secure-port=1\n"), ("192.0.2.1", "")])
def test_a_component_that_serves_elsewhere_is_not_waited_for_to_the_end(
    server: ApiServer, tmp_path: Path, address: str, more: str
) -> None:
    """The observation that follows judges its pod."""
    clock = Clock()
    assert not clock.wait(own(server, tmp_path / "manifests", SCHEDULER.format(address=address, more=more)))
    assert settings.MOVED_PORT_SECONDS <= clock.seconds < settings.MOVED_PORT_SECONDS + 1


def test_an_api_server_that_does_not_come_is_given_up(server: ApiServer, tmp_path: Path) -> None:
    elsewhere = own(server, tmp_path / "manifests")
    annotation = f"kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint: 127.0.0.1:{free_port()}"
    (tmp_path / "manifests" / "kube-apiserver.yaml").write_text(f"metadata:\n  annotations:\n    {annotation}\n")
    clock = Clock()
    assert not clock.wait(elsewhere, 3)
    assert 3 <= clock.seconds < 4


def test_a_machine_without_a_control_plane_is_not_waited_for(server: ApiServer, tmp_path: Path) -> None:
    clock = Clock()
    assert not clock.wait(Own(server.kubeconfig, str(tmp_path), server.kubectl))
    assert clock.seconds == 0
