# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How often an API server is asked for the version of another provider's kind."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.requests import Answer
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.kubernetes.served_versions import (
    ServedVersions,
)

KIND = ("infrastructure.example.com", "AcmeMachine")
GROUP = Answer(200, {"versions": [{"version": "v1"}], "preferredVersion": {"version": "v1"}})
SERVED = Answer(200, {"resources": [{"name": "acmemachines"}]})


class Server:
    """API server that gives recorded answers and counts requests."""

    host = "https://api"

    def __init__(self, *answers: Answer) -> None:
        self.answers, self.asked = list(answers), 0

    def send(self, verb: str, path: str, **_options: t.Any) -> Answer:
        """Answer a request."""
        self.asked += 1
        return self.answers[min(self.asked, len(self.answers)) - 1]


@pytest.mark.parametrize(
    ("answers", "version", "requests"),
    [
        ((GROUP, SERVED), "v1", 2),
        ((Answer(403, {}),), "", 1),
        ((GROUP, Answer(403, {})), "", 2),
        ((Answer(404, {}),), "", 3),
    ],
    ids=["served", "group-forbidden", "version-forbidden", "not-installed-yet"],
)
def test_what_is_known_is_not_asked_again(answers: tuple[Answer, ...], version: str, requests: int) -> None:
    server = Server(*answers)
    served = ServedVersions(t.cast(t.Any, server))
    assert [served.of(KIND) for _again in range(3)] == [version] * 3
    assert server.asked == requests


def test_a_group_is_asked_once_for_all_of_its_kinds_and_again_for_one_that_it_lacked() -> None:
    more = Answer(200, {"resources": [{"name": "acmemachines"}, {"name": "acmeclusters"}]})
    server = Server(GROUP, SERVED, GROUP, more)
    served = ServedVersions(t.cast(t.Any, server))
    kinds = [KIND, (KIND[0], "AcmeCluster"), KIND, (KIND[0], "AcmeCluster")]
    assert [served.of(kind) for kind in kinds] == ["v1"] * 4
    assert server.asked == 4
