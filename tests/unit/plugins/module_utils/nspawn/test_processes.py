# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes, told from the text of /proc and from real sockets."""

from __future__ import annotations

import os
import socket

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn import network, processes
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.errors import NspawnError

TCP = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0A00DE0A:192B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 111 1 0 100 0 0 10 0
   1: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 222 1 0 100 0 0 10 0
   2: 0A00DE0A:1F91 0B00DE0A:C000 01 00000000:00000000 00:00000000 00000000     0        0 333 1 0 100 0 0 10 0
"""


@pytest.mark.parametrize(
    ("address", "port", "inodes"),
    [
        ("10.222.0.10", 6443, ["111"]),
        ("10.222.0.11", 6443, []),
        ("10.222.0.11", 8080, ["222"]),
        ("10.222.0.10", 8081, []),
    ],
)
def test_who_listens_is_read_from_the_kernels_table(address, port, inodes):
    assert processes.listening_inodes(TCP, address, port) == inodes


def test_a_real_listener_is_found_with_its_process():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        assert processes.listeners("127.0.0.1", port) == [os.getpid()]
    assert processes.listeners("127.0.0.1", port) is None


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("Name:\tsystemd\nNSpid:\t4711\t1\n", True),
        ("Name:\tsystemd\nNSpid:\t1\n", False),
        ("Name:\tsshd\nNSpid:\t4712\t63\n", False),
        ("Name:\tpause\nNSpid:\t4713\t80\t1\n", True),
        ("", False),
    ],
)
def test_an_init_is_the_first_process_of_its_own_namespace(status, expected):
    assert processes.is_namespace_init(status) is expected


def test_this_process_is_alive_and_is_no_machine():
    assert processes.is_alive(os.getpid())
    assert os.getpid() not in processes.machine_inits().values()


def test_waiting_ends_with_what_was_waited_for():
    with pytest.raises(NspawnError, match="the moon did not happen within 0 s"):
        processes.wait_until(lambda: False, 0, "the moon")


def test_a_machines_interface_is_found_under_its_full_name():
    links = [
        {"ifname": "vb-demo-1"},
        {"ifname": "vb-my-clusttn47", "altnames": ["vb-my-cluster-control-plane-x7k2p"]},
        {"ifname": "eth1"},
    ]
    found = network.machine_interfaces(links)
    assert found["demo-1"] == "vb-demo-1"
    assert found["my-cluster-control-plane-x7k2p"] == "vb-my-clusttn47"
    assert "eth1" not in found.values()
