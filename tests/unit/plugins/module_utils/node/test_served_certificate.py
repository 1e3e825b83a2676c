# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a component serves with a certificate."""

from __future__ import annotations

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.guard import NodeError
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.certificates.served import listener, presented

API_SERVER = ["kube-apiserver", "--advertise-address=10.0.0.1", "--secure-port=7443", "--allow-privileged"]
CLIENTS = "--listen-client-urls=http://127.0.0.1:2381,https://127.0.0.1:2379,https://10.0.0.1:2379"
ETCD = ["etcd", CLIENTS, "--listen-peer-urls=https://[fd00::1]:2380"]


@pytest.mark.parametrize(
    ("name", "words", "expected"),
    [
        ("apiserver", API_SERVER, ("10.0.0.1", 7443)),
        ("apiserver", ["kube-apiserver"], ("127.0.0.1", 6443)),
        ("etcd-server", ETCD, ("127.0.0.1", 2379)),
        ("etcd-peer", ETCD, ("fd00::1", 2380)),
        ("etcd-server", ["etcd"], ("127.0.0.1", 2379)),
        ("apiserver", ["kube-apiserver", "--advertise-address=fd00::1"], ("fd00::1", 6443)),
    ],
)
def test_where_it_is_presented(name: str, words: list[str], expected: tuple[str, int]) -> None:
    assert listener(name, words) == expected


@pytest.mark.parametrize(
    ("name", "flag"),
    [
        ("apiserver", "--secure-port=https"),
        ("apiserver", "--advertise-address=a b"),
        ("etcd-server", "--listen-client-urls=https://127.0.0.1:99999"),
        ("etcd-peer", "--listen-peer-urls=https://["),
    ],
)
def test_flags_without_an_address_are_an_error_in_words(name: str, flag: str) -> None:
    with pytest.raises(NodeError, match="is started to serve at"):
        listener(name, ["component", flag])


def test_nobody_presents_any() -> None:
    assert presented("127.0.0.1", 1, "") is None
