# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The address that a host has in a cluster: real interfaces in a network namespace of the test's own."""

from __future__ import annotations

import json
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest

ASK = """
import json, sys
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host import host_facts
print(json.dumps(host_facts.own_address(*sys.argv[1:])))
"""
NEEDS = """
import json, sys
from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host.machine_preflight import Wanted, look_at
found = look_at(Wanted("v1.31.0", ports=(), node_name="localhost", endpoint=sys.argv[1], timeout=0.1))
print(json.dumps([each.name for each in found if not each.ok and "-proc-sys-" in each.name]))
"""
NO_FORWARDING = "for each in ipv4/ip_forward ipv6/conf/default/forwarding; do echo 0 > /proc/sys/net/$each; done"
ONE = "ip address add 198.51.100.5/24 dev eth0; ip route add default via 198.51.100.1"
# The API server's address of another network, and the way out by the first.
TWO = f"{ONE}; ip address add 203.0.113.5/24 dev eth1"
VIRTUAL = f"{ONE}; ip address add 198.51.100.100/32 dev eth0"
SIX = "ip address add 2001:db8:5::5/64 dev eth0 nodad; ip route add default via 2001:db8:5::1 dev eth0"
BOTH = f"{ONE}; {SIX}"
# The kernel makes an address beside it that ends after a day, and prefers that one.
CONF = "/proc/sys/net/ipv6/conf/eth0"
PRIVACY = f"echo 0 > {CONF}/accept_dad; echo 2 > {CONF}/use_tempaddr; {SIX.replace('nodad', 'nodad mngtmpaddr')}"
# A host's own names, and one that stands for three hosts.
NAMES = "198.51.100.5 own.example\n198.51.100.5 all.example\n198.51.100.6 all.example\n198.51.100.7 all.example\n2001:db8:5::5 six.example\n"


@pytest.fixture(scope="module")
def network() -> list[str]:
    """The words that run a program in a network of its own."""
    words = ["unshare", "--net", "--mount"]
    if subprocess.run(
        [*words, "ip", "link", "add", "eth0", "type", "veth"], capture_output=True, check=False
    ).returncode:
        pytest.skip("a network of its own needs root")
    return words


def answer(network: list[str], folder: Path, commands: str, program: str, *arguments: str) -> t.Any:
    (folder / "hosts").write_text(NAMES)
    made = (
        f"mount --bind {folder}/hosts /etc/hosts; ip link set lo up; ip link add eth0 type veth peer eth1; "
        f'ip link set eth0 up; ip link set eth1 up; {commands}; exec "$@"'
    )
    words = [*network, "sh", "-ec", made, "sh", sys.executable, "-c", program, *arguments]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def asked(network: list[str], folder: Path, commands: str, wanted: str, towards: str) -> tuple[str, str]:
    address, problem = answer(network, folder, commands, ASK, wanted, towards)
    return address, problem


@pytest.mark.parametrize(
    ("commands", "towards", "address"),
    [
        (ONE, "", "198.51.100.5"),
        (ONE, "233.252.0.9", "198.51.100.5"),
        (TWO, "203.0.113.9", "203.0.113.5"),
        # The endpoint is the host's own address, its only one on that interface.
        (ONE, "198.51.100.5", "198.51.100.5"),
        (ONE, "own.example", "198.51.100.5"),
        (ONE, "all.example", "198.51.100.5"),
        ("ip address add 198.51.100.5/24 dev eth0", "198.51.100.5", "198.51.100.5"),
        # An IPv6 address beside it is of no use to a cluster whose endpoint has an IPv4 one.
        (BOTH, "198.51.100.5", "198.51.100.5"),
        (BOTH, "2001:db8:5::5", "2001:db8:5::5"),
        (SIX, "six.example", "2001:db8:5::5"),
        (SIX, "198.51.100.9", "2001:db8:5::5"),
        (PRIVACY, "2001:db8:6::9", "2001:db8:5::5"),
        (PRIVACY, "2001:db8:5::5", "2001:db8:5::5"),
        # A virtual address that is here at the moment is not to be advertised.
        (VIRTUAL, "198.51.100.100", "198.51.100.5"),
        # Of two networks the one of the way out, as without an endpoint.
        (TWO, "203.0.113.5", "198.51.100.5"),
    ],
)
def test_the_address_is_the_one_towards_the_endpoint(
    network: list[str], tmp_path: Path, commands: str, towards: str, address: str
) -> None:
    assert asked(network, tmp_path, commands, "", towards) == (address, "")


@pytest.mark.parametrize(
    ("commands", "towards", "problem"),
    [
        # Which is the virtual one?
        (
            f"{ONE}; ip address add 198.51.100.100/24 dev eth0",
            "198.51.100.5",
            "beside 198.51.100.100: which is its own",
        ),
        (
            "ip address add 198.51.100.5/24 dev eth0; ip address add 198.51.100.9/32 dev eth0",
            "198.51.100.9",
            "beside 198.51.100.5",
        ),
        (f"{SIX}; ip address add 2001:db8:5::9/64 dev eth0 nodad", "2001:db8:5::9", "beside 2001:db8:5::5"),
        (f"{ONE}; PATH=", "198.51.100.5", "doesn't list"),
        ("ip address add 198.51.100.5/24 dev eth0", "", "no route outside"),
    ],
)
def test_what_can_not_be_told_is_asked_for(
    network: list[str], tmp_path: Path, commands: str, towards: str, problem: str
) -> None:
    address, said = asked(network, tmp_path, commands, "", towards)
    assert address == "" and problem in said


# As load balancers set it, for an address that another host has at the moment.
NOT_ONLY_LOCAL = "echo 1 > /proc/sys/net/ipv4/ip_nonlocal_bind; echo 1 > /proc/sys/net/ipv6/ip_nonlocal_bind"


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        ("198.51.100.5", ""),
        ("198.51.100.6", ""),
        ("2001:db8:5::5", ""),
        *((each, "no other reaches it there") for each in ("127.0.0.1", "127.0.0.9", "::1")),
        *(
            (each, "not an address of this host")
            for each in ("0.0.0.0", "::", "224.0.0.1", "ff02::1", "255.255.255.255")
        ),
        *((each, "not an address of this host") for each in ("192.0.2.77", "2001:db8:7::7")),
    ],
)
def test_an_address_that_was_chosen_is_the_hosts_own(
    network: list[str], tmp_path: Path, wanted: str, problem: str
) -> None:
    """A socket takes all of them."""
    commands = f"{BOTH}; ip address add 198.51.100.6/24 dev eth0; {NOT_ONLY_LOCAL}"
    address, said = asked(network, tmp_path, commands, wanted, "")
    assert address == ("" if problem else wanted)
    assert problem in said and (said != "") == (problem != "")


def test_addresses_that_can_not_be_listed_say_nothing_about_one(network: list[str], tmp_path: Path) -> None:
    address, said = asked(network, tmp_path, f"{BOTH}; PATH={tmp_path}", "198.51.100.5", "")
    assert (address, said) == ("", "this host's addresses can't be listed (ip -json address show, of iproute2)")


@pytest.mark.parametrize(
    ("endpoint", "setting"),
    [
        ("198.51.100.9:6443", "ipv4-ip_forward"),
        ("[2001:db8:6::9]:6443", "ipv6-conf-default-forwarding"),
        ("six.example:6443", "ipv6-conf-default-forwarding"),
        ("", "ipv4-ip_forward"),
    ],
)
def test_preflight_asks_for_what_the_endpoints_family_needs(
    network: list[str], tmp_path: Path, endpoint: str, setting: str
) -> None:
    """The host has addresses of both, and a cluster with that endpoint uses one of them."""
    found = answer(network, tmp_path, f"{BOTH}; {NO_FORWARDING}", NEEDS, endpoint)
    assert found == [f"FileContent--proc-sys-net-{setting}"]
