# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The address pool."""

from __future__ import annotations

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn import addresses
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.errors import NspawnError

NETWORK = addresses.network_of("kcp0", "10.222.0.0/24", "10.223.0.0/16")


def test_the_bridge_has_the_first_address():
    assert NETWORK.gateway == "10.222.0.1"


def test_addresses_are_given_out_in_order_and_never_twice():
    taken = {}
    for number in range(5):
        taken[addresses.allocate(NETWORK, taken)] = f"machine {number}"
    assert list(taken) == [f"10.222.0.{number}" for number in range(10, 15)]


def test_a_freed_address_is_given_out_again():
    assert addresses.allocate(NETWORK, {"10.222.0.10": "a", "10.222.0.12": "b"}) == "10.222.0.11"


def test_the_pool_ends_before_the_broadcast_address():
    taken = {f"10.222.0.{number}": "someone" for number in range(10, 255)}
    with pytest.raises(NspawnError, match=r"no address is left in 10\.222\.0\.0/24"):
        addresses.allocate(NETWORK, taken)


def test_an_address_asked_for_is_given():
    assert addresses.allocate(NETWORK, {}, "10.222.0.5") == "10.222.0.5"


def test_a_taken_address_names_its_holder():
    with pytest.raises(NspawnError, match=r"10\.222\.0\.5 is taken by machine demo-1"):
        addresses.allocate(NETWORK, {"10.222.0.5": "machine demo-1"}, "10.222.0.5")


@pytest.mark.parametrize("wanted", ["10.222.0.0", "10.222.0.1", "10.222.0.255", "10.222.1.5", "127.0.0.1"])
def test_an_address_that_no_machine_can_have_is_refused(wanted):
    with pytest.raises(NspawnError, match="not a usable address"):
        addresses.allocate(NETWORK, {}, wanted)


def test_every_machine_address_has_pods_of_its_own_outside_the_machines_subnet():
    found = [NETWORK.pods_of(str(address)) for address in NETWORK.subnet]
    assert len(set(found)) == 256
    assert all(each.subnet_of(NETWORK.pod_subnet) and not each.overlaps(NETWORK.subnet) for each in found)


def test_the_defaults_keep_clear_of_kubeadms_service_subnet():
    default = addresses.network_of(addresses.DEFAULT_BRIDGE, addresses.DEFAULT_SUBNET, addresses.DEFAULT_POD_SUBNET)
    for other in ("10.96.0.0/12", "10.128.0.0/12", "10.244.0.0/16", "192.168.0.0/16", "172.16.0.0/12"):
        network = addresses.ipaddress.IPv4Network(other)
        assert not default.subnet.overlaps(network)
        assert not default.pod_subnet.overlaps(network)


@pytest.mark.parametrize(
    ("bridge", "subnet", "pods", "message"),
    [
        ("kcp0", "10.222.0.0/24", "10.222.0.0/16", "overlap"),
        ("kcp0", "10.222.0.7/24", "10.223.0.0/16", "not an IPv4 network"),
        ("kcp0", "fd00::/64", "10.223.0.0/16", "not an IPv4 network"),
        ("kcp0", "10.222.0.0/29", "10.223.0.0/16", "too small"),
        ("kcp0", "10.222.0.0/24", "10.223.0.0/20", "too few /24 ranges"),
        ("kcp0", "10.222.0.0/24", "10.223.0.0/25", "too few /24 ranges"),
        ("a-bridge-with-a-long-name", "10.222.0.0/24", "10.223.0.0/16", "interface name"),
    ],
)
def test_a_network_that_cannot_work_is_refused(bridge, subnet, pods, message):
    with pytest.raises(NspawnError, match=message):
        addresses.network_of(bridge, subnet, pods)


def test_routes_that_lead_the_subnet_elsewhere_are_found():
    routes = [
        {"dst": "default", "dev": "eth0"},
        {"dst": "10.222.0.0/24", "dev": "kcp0"},
        {"dst": "10.0.0.0/8", "dev": "tun0"},
        {"dst": "192.168.1.0/24", "dev": "eth0"},
        {"dst": "10.222.0.77", "dev": "eth1"},
    ]
    assert addresses.overlapping_routes(NETWORK, routes) == ["10.0.0.0/8 through tun0", "10.222.0.77/32 through eth1"]
