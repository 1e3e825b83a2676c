# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kubeadm asks of a host, by its version."""

from __future__ import annotations

import pytest

from ansible_collections.kubeadm.control_plane.plugins.module_utils.node.host import requirements


@pytest.mark.parametrize(("minor", "there"), [(17, False), (18, True), (31, True), (32, False)])
def test_conntrack_is_asked_for_by_some_versions(minor: int, there: bool) -> None:
    assert ("conntrack" in requirements.host_programs(f"v1.{minor}.0")) is there


@pytest.mark.parametrize(
    ("version", "address", "networks", "wanted"),
    [
        ("v1.26.0", "2001:db8::1", ["2001:db8:1::/64"], "ipv4 iptables ipv6 ip6tables"),
        ("v1.26.0", "192.0.2.1", ["2001:db8:1::/64"], "ipv4 iptables"),
        ("v1.27.0", "2001:db8::1", ["2001:db8:1::/64"], "ipv6 ip6tables"),
        ("v1.30.0", "2001:db8::1", ["10.0.0.0/16"], "ipv4 ipv6"),
        ("v1.30.0", "192.0.2.1", ["2001:db8:1::/64"], "ipv4 ipv6"),
        ("v1.34.0", "192.0.2.1", [], "ipv4"),
        ("v1.34.0", "", [], "ipv4"),
    ],
)
def test_settings_of_the_kernel_by_the_address_and_the_networks(
    version: str, address: str, networks: list[str], wanted: str
) -> None:
    paths = {
        "ipv4": "net/ipv4/ip_forward",
        "iptables": "net/bridge/bridge-nf-call-iptables",
        "ipv6": "net/ipv6/conf/default/forwarding",
        "ip6tables": "net/bridge/bridge-nf-call-ip6tables",
    }
    assert requirements.host_sysctls(version, address, networks) == tuple(paths[name] for name in wanted.split())
