# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files that make a machine."""

from __future__ import annotations

import dataclasses
import ipaddress
import json
from pathlib import Path

import pytest
import yaml

from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn import addresses, errors
from ansible_collections.kubeadm.control_plane.plugins.module_utils.nspawn.machine import guest

DEFAULTS = Path(__file__).resolve().parents[5] / "roles" / "machine_nspawn" / "defaults" / "main.yml"
NETWORK = addresses.network_of("kcp0", "10.222.0.0/24", "10.223.0.0/16")


def make(address="10.222.0.10", key="ssh-ed25519 AAAA user"):
    return guest.Guest("demo-1", address, "a" * 32, key, "PRIVATE\n", "ssh-ed25519 BBBB demo-1\n", NETWORK)


def files(**overrides):
    return {path: (text, mode) for path, text, mode in guest.guest_files(make(**overrides))}


def test_private_keys_and_who_may_log_in_are_for_root_alone():
    found = files()
    assert found["/etc/ssh/ssh_host_ed25519_key"] == ("PRIVATE\n", 0o600)
    assert found["/root/.ssh/authorized_keys"] == ("ssh-ed25519 AAAA user\n", 0o600)


def test_without_a_key_nobody_may_log_in():
    assert "/root/.ssh/authorized_keys" not in files(key="")


def test_the_machine_knows_its_name_address_and_id():
    found = files()
    assert found["/etc/hostname"][0] == "demo-1\n"
    assert "10.222.0.10 demo-1\n" in found["/etc/hosts"][0]
    assert found["/etc/machine-id"][0] == "a" * 32 + "\n"


def test_the_interface_has_a_default_route_and_the_way_to_all_pods():
    text = guest.networkd_unit(make())
    assert "Address=10.222.0.10/24\n" in text
    assert "Gateway=10.222.0.1\n" in text
    assert "Destination=10.223.0.0/16\n" in text
    # By the kernel's own setting: systemd-networkd of Debian 13 doesn't know it of an interface.
    assert files()["/etc/sysctl.d/60-forwarding.conf"][0] == "net.ipv4.ip_forward = 1\n" and "IPForward" not in text


def test_what_is_unreachable_is_refused_by_the_machine_itself():
    plain = make()
    told = dataclasses.replace(plain, unreachable=addresses.unreachable_networks(NETWORK, ["169.254.169.254/32"]))
    assert guest.networkd_unit(told).endswith("[Route]\nDestination=169.254.169.254/32\nType=unreachable\n")
    assert "unreachable" not in guest.networkd_unit(plain)


def test_the_role_makes_machines_like_the_module_and_the_bench():
    """Where the two halves of the bench refuse other networks, the kubelets of one of them wait 6 seconds at each start."""
    assert yaml.safe_load(DEFAULTS.read_text())["machine_nspawn_unreachable"] == list(addresses.DEFAULT_UNREACHABLE)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("10.222.0.128/25", "overlaps subnet 10.222.0.0/24"),
        ("10.0.0.0/8", "overlaps"),
        ("10.223.1.0/24", "overlaps pod_subnet"),
        ("metadata", "unreachable 'metadata' is not an IPv4 network"),
    ],
)
def test_machines_and_pods_are_never_unreachable(text, said):
    with pytest.raises(errors.NspawnError, match=said):
        addresses.unreachable_networks(NETWORK, ["169.254.169.254/32", text])


def test_who_gets_an_address_gets_its_link_address_too():
    def link_address(address: str, name: str) -> str:
        given = guest.Guest(name, address, "b" * 32, "", "", "", NETWORK)
        [line] = [each for each in guest.networkd_unit(given).splitlines() if each.startswith("MACAddress=")]
        return line.partition("=")[2]

    first = link_address("10.222.0.10", "demo-1")
    assert first == link_address("10.222.0.10", "demo-2") != link_address("10.222.0.11", "demo-1")
    assert int(first.split(":")[0], 16) & 3 == 2, "locally administered, of one machine"


@pytest.mark.parametrize("address", ["10.222.0.10", "10.222.0.254"])
def test_pods_have_addresses_of_their_machine_alone(address):
    plugins = json.loads(guest.cni_conflist(make(address=address)))["plugins"]
    subnet = ipaddress.ip_network(plugins[0]["ipam"]["ranges"][0][0]["subnet"])
    assert subnet == NETWORK.pods_of(address)
