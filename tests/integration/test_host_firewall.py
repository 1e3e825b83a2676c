# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Firewall of a host: the module with the real nft, in a network namespace and folders of the test's own."""

from __future__ import annotations

import os
import re
import shutil
import typing as t
from pathlib import Path

import pytest
from private_host import NetworkedHost

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="mounts need root"),
    pytest.mark.skipif(
        not all(map(shutil.which, ("nft", "ip"))),
        reason="no nft or no ip: tests/tools/setup.sh gets it where there is apt-get",
    ),
]
CHAIN = """flush ruleset
table inet filter {{
  chain input {{
    type filter hook input priority filter; policy {policy};
    iif lo accept
    tcp dport {{ 22, 6000-6999 }} accept
  }}
}}
"""
SYSTEMCTL = """#!/bin/sh
case "$1" in
  is-enabled) echo {enabled} ;;
  is-active) echo {firewalld} ;;
esac
"""
FILES = "sha256sum /etc/nftables.conf; ls /etc/kubeadm-control-plane*"
API, ETCD, VRRP = (
    {"what": "6443"},
    {"what": "2379-2380", "sources": ["192.0.2.7/24", "2001:db8::/32"]},
    {"what": "vrrp"},
)
Object = dict[str, t.Any]


class Host(NetworkedHost):
    """A host with a network of its own."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "firewall")
        self.runs()

    def runs(self, enabled: str = "enabled", firewalld: str = "inactive") -> None:
        """Have a systemctl that says this of nftables.service and firewalld.service."""
        text = SYSTEMCTL.format(enabled=enabled, firewalld=firewalld)
        self.write("/usr/local/bin/systemctl", text)
        self.run("chmod", "755", "/usr/local/bin/systemctl")

    def write(self, path: str, text: str) -> None:
        """Write a file of the host."""
        self.run("sh", "-c", f"mkdir -p {os.path.dirname(path)} && printf '%s' '{text}' > {path}")

    def has(self, text: str) -> None:
        """Boot with this configuration of nftables."""
        self.write("/etc/nftables.conf", text)
        self.boot()

    def boot(self) -> None:
        """Load the configuration, as nftables.service does."""
        self.run("nft", "--file", "/etc/nftables.conf")

    def open(self, *openings: Object, **more: t.Any) -> Object:
        """Run the module."""
        return self.module("host_firewall", openings=list(openings), **more)

    def rules(self) -> list[str]:
        """The chain's rules."""
        listed = self.run("nft", "list", "chain", "inet", "filter", "input").splitlines()
        return [each.strip() for each in listed if "accept" in each]


@pytest.fixture(name="host")
def _host(tmp_path: Path) -> t.Iterator[Host]:
    with Host(tmp_path) as made:
        yield made


def test_what_is_lacking_is_opened_now_and_at_boot(host: Host) -> None:
    """A port that the host's own rules accept needs nothing; a second call changes nothing, and what is named no more is closed."""
    host.has(CHAIN.format(policy="drop"))
    own = host.rules()
    lacking = ["tcp 2379-2380 from 192.0.2.0/24", "tcp 2379-2380 from 2001:db8::/32", "vrrp"]
    asked = host.open(API, ETCD, VRRP, state="asked")
    assert (asked["changed"], asked["firewall"], asked["closed"]) == (False, "nftables", lacking)
    foreseen = host.open(API, ETCD, VRRP, _ansible_check_mode=True, _ansible_diff=True)
    assert foreseen["changed"] and "ip saddr 192.0.2.0/24 tcp dport 2379-2380 accept" in foreseen["diff"]["after"]
    assert host.rules() == own
    assert host.open(API, ETCD, VRRP)["closed"] == lacking
    opened = host.rules()
    assert sorted(opened[-2:]) == sorted(own) and len(opened) == 5 and "tcp dport 6443" not in "".join(opened)
    again = host.open(API, ETCD, VRRP)
    assert (again["changed"], again["closed"]) == (False, [])
    host.boot()
    assert sorted(host.rules()) == sorted(opened) and not host.open(API, ETCD, VRRP)["changed"]
    assert host.open(VRRP)["changed"] and len(host.rules()) == 3
    # Whoever loads the ruleset without what is included has it closed: it is noticed.
    host.run("nft", "flush", "chain", "inet", "filter", "input")
    assert host.open(VRRP)["closed"] == ["vrrp"] and len(host.rules()) == 1
    assert host.open()["changed"] and host.rules() == [] and not host.open()["changed"]
    host.boot()
    assert host.rules() == own


@pytest.mark.parametrize(
    ("main", "included"),
    [
        ('flush ruleset\ninclude "/etc/nftables.d/*.nft"\n', CHAIN.format(policy="drop")),
        ('include "/etc/nftables.d/*.nft"\n' + CHAIN.format(policy="drop"), ""),
        (CHAIN.format(policy="drop") + 'include "/etc/nftables.d/*.nft"\n', ""),
    ],
    ids=["all of it is there", "before the chain", "after the chain"],
)
def test_a_host_with_a_folder_of_rules_boots_with_all_of_them(host: Host, main: str, included: str) -> None:
    """The own rules are not among those that the configuration includes, wherever it does: they would come before the chain, or twice."""
    host.write("/etc/nftables.d/rules.nft", included)
    host.has(main)
    assert host.open(API, ETCD)["changed"]
    opened = host.rules()
    host.boot()
    assert sorted(host.rules()) == sorted(opened) and not host.open(API, ETCD)["changed"]


def test_what_was_loaded_twice_is_closed_as_a_whole(host: Host) -> None:
    """A configuration that flushes nothing leaves each rule there once more."""
    host.has(CHAIN.format(policy="drop").replace("flush ruleset\n", ""))
    own = host.rules()
    host.open(VRRP)
    host.boot()
    assert "".join(host.rules()).count("l4proto vrrp") == 2
    assert host.open()["changed"] and set(host.rules()) == set(own)


def test_what_the_next_boot_would_not_open_is_refused(host: Host) -> None:
    """nftables.service doesn't load it, or could not. Nothing is changed then, and check mode refuses the former, too."""
    host.has(CHAIN.format(policy="drop"))
    own, before = host.rules(), host.run("sh", "-c", FILES, check=False)
    host.runs(enabled="disabled")
    for more in ({}, {"_ansible_check_mode": True}):
        said = host.open(API, ETCD, **more)["msg"]
        assert "nftables.service is disabled, not enabled" in said and "systemctl enable nftables.service" in said
    host.runs()
    assert host.run("sh", "-c", FILES, check=False) == before
    host.has('include "/etc/*.nft"\n' + CHAIN.format(policy="drop"))
    before = host.run("sh", "-c", FILES, check=False)
    assert "nft refuses the rules for inet filter input" in host.open(ETCD)["msg"]
    assert host.run("sh", "-c", FILES, check=False) == before
    host.boot()
    assert host.rules() == own


def test_a_host_that_keeps_nothing_out_is_left_alone(host: Host) -> None:
    """Without a rule, and where the chain's policy is to accept."""
    assert host.open(API, ETCD)["firewall"] == ""
    host.has(CHAIN.format(policy="accept"))
    found = host.open(API, ETCD)
    assert (found["changed"], found["firewall"], found["closed"]) == (False, "", [])


def test_what_cannot_be_opened_is_refused_with_the_commands(host: Host) -> None:
    """No configuration, or one without the chain; another firewall. Nothing is changed then."""
    host.has(CHAIN.format(policy="drop"))
    own = host.rules()
    host.run("sh", "-c", "echo 'flush ruleset' > /etc/nftables.conf")
    assert "nft refuses the rules for inet filter input" in host.open(ETCD)["msg"]
    host.run("rm", "/etc/nftables.conf")
    assert "would be closed after the next boot" in host.open(ETCD)["msg"]
    host.run("sh", "-c", "mkdir -p /etc/ufw && echo ENABLED=yes > /etc/ufw/ufw.conf")
    assert "ufw allow proto tcp from 192.0.2.0/24 to any port 2379:2380;" in host.open(ETCD)["msg"]
    host.runs(firewalld="active")
    said = host.open(API, ETCD)["msg"]
    assert "firewall-cmd --permanent --add-port=6443/tcp;" in said and said.count("firewall-cmd --reload") == 1
    assert "rule family=ipv6 source address=2001:db8::/32 port port=2379-2380 protocol=tcp accept" in said
    assert host.open(API, state="asked")["closed"] == ["tcp 6443"]
    assert host.rules() == own


IPV4, IPV6 = "-s 192.0.2.0/24 -p tcp --dport 2379:2380 -j ACCEPT", "-s 2001:db8::/32 -p tcp --dport 2379:2380 -j ACCEPT"


@pytest.mark.parametrize(
    ("chains", "said"),
    [
        (
            ["ip filter INPUT"],
            f"by hand, and where the rules are loaded at boot: iptables -I INPUT {IPV4}; iptables -I INPUT -p vrrp -j ACCEPT. Then",
        ),
        (["ip6 filter INPUT"], f": ip6tables -I INPUT {IPV6}; ip6tables -I INPUT -p vrrp -j ACCEPT. Then"),
        (
            ["inet myfw in", "arp filter INPUT"],
            "name it in host_firewall_chain of this host: inet myfw in. Else open it by hand, and where",
        ),
        (["ip myfw in"], "name it in host_firewall_chain of this host: ip myfw in. Else open it by hand, and where"),
        (
            ["inet filter input", "ip myfw in", "ip6 filter INPUT"],
            "by hand, in each chain, since it may drop what another one accepts, and where the rules are loaded at boot: "
            "nft insert rule inet filter input ip saddr 192.0.2.0/24 tcp dport 2379-2380 accept; "
            "nft insert rule inet filter input ip6 saddr 2001:db8::/32 tcp dport 2379-2380 accept; "
            "nft insert rule inet filter input meta l4proto 112 accept; "
            "nft insert rule ip myfw in ip saddr 192.0.2.0/24 tcp dport 2379-2380 accept; "
            f"nft insert rule ip myfw in meta l4proto 112 accept; ip6tables -I INPUT {IPV6}; ip6tables",
        ),
    ],
    ids=["iptables", "ip6tables", "the only one", "the only one, of IPv4", "several"],
)
def test_another_chain_is_opened_by_its_own_commands(host: Host, chains: list[str], said: str) -> None:
    """An accept in one chain keeps no other one from dropping. A chain that could be opened here is to be named; nft takes the commands."""
    for chain in chains:
        host.run("nft", f"add table {chain.rpartition(' ')[0]}")
        host.run("nft", f"add chain {chain} {{ type filter hook input priority 0; policy drop; }}")
    for more in ({}, {"_ansible_check_mode": True}):
        refused = host.open(ETCD, VRRP, **more)["msg"]
        assert said in refused and "Nothing was changed" in refused
    for command in re.findall(r"nft (insert rule [^;]+ accept)", refused):
        host.run("nft", command)
    # What comes from IPv4 alone is no matter of a chain for IPv6.
    if chains == ["ip6 filter INPUT"]:
        assert host.open({"what": "10250", "sources": ["192.0.2.0/24"]})["firewall"] == ""


@pytest.mark.parametrize(("family", "opened"), [("inet", 3), ("ip", 2)])
def test_the_chain_that_is_named_is_opened(host: Host, family: str, opened: int) -> None:
    """Of any name; what comes from IPv6 is no matter of one for IPv4."""
    table = f"{family} myfw"
    host.has(CHAIN.format(policy="drop").replace("inet filter", table).replace("chain input", "chain in"))
    assert f"name it in host_firewall_chain of this host: {table} in." in host.open(ETCD, VRRP)["msg"]
    assert len(host.open(ETCD, VRRP, chain=f"{table} in")["closed"]) == opened
    assert host.run("nft", "list", "chain", *table.split(), "in").count("kubeadm.control_plane: ") == opened
    assert not host.open(ETCD, VRRP, chain=f"{table} in")["changed"]


@pytest.mark.parametrize(
    ("opening", "chain", "said"),
    [
        ({"what": "0"}, "inet filter input", "'0' is neither a TCP port"),
        ({"what": "2380-2379"}, "inet filter input", "neither a TCP port"),
        ({"what": "65536"}, "inet filter input", "neither a TCP port"),
        ({"what": "1", "sources": ["example.org"]}, "inet filter input", "'example.org' is no network"),
        (API, "inet filter input; flush ruleset", "is no chain such as"),
    ],
)
def test_words_that_are_none_are_refused(host: Host, opening: Object, chain: str, said: str) -> None:
    """None of them reaches nft."""
    assert said in host.open(opening, chain=chain)["msg"]
