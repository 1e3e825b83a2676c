# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requirements of kubeadm's preflight checks on a host, by Kubernetes version.

A table has the minor of 1.x from which each is asked for, and the one before which. A pre-release counts as its minor.

Source: cmd/kubeadm/app/preflight/checks.go and checks_linux.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...common.kubernetes_versions import parse

_ALWAYS = (0, 1000)
_HOST_PROGRAMS: dict[str, tuple[int, int]] = {
    "ip": _ALWAYS,
    "iptables": _ALWAYS,
    "mount": _ALWAYS,
    "nsenter": _ALWAYS,
    "conntrack": (18, 32),
    "crictl": (0, 31),
}
_IPV4_SYSCTLS: dict[str, tuple[int, int]] = {
    "net/ipv4/ip_forward": _ALWAYS,
    "net/bridge/bridge-nf-call-iptables": (0, 30),
}
_IPV6_SYSCTLS: dict[str, tuple[int, int]] = {
    "net/ipv6/conf/default/forwarding": _ALWAYS,
    "net/bridge/bridge-nf-call-ip6tables": (0, 30),
}
# Before, IPv4's were asked for always, and IPv6's by the host's own address alone (kubernetes/kubernetes#115420).
_SYSCTLS_BY_NETWORKS_SINCE = 27


def host_programs(version: str) -> tuple[str, ...]:
    """Return the host programs that kubeadm's preflight checks require."""
    return _within(_HOST_PROGRAMS, version)


def host_sysctls(version: str, address: str = "", networks: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the kernel settings that kubeadm requires to be 1 (paths below /proc/sys).

    Args:
        version: kubeadm's.
        address: the host's own, "" where it isn't known.
        networks: CIDR blocks of the cluster's pods and services.
    """
    by_networks = parse(version).at_least(_SYSCTLS_BY_NETWORKS_SINCE)
    known = [each for each in (address, *(networks if by_networks else ())) if each]
    ipv6 = any(":" in each for each in known)
    ipv4 = not by_networks or not known or not all(":" in each for each in known)
    return (*(_within(_IPV4_SYSCTLS, version) if ipv4 else ()), *(_within(_IPV6_SYSCTLS, version) if ipv6 else ()))


def _within(table: Mapping[str, tuple[int, int]], version: str) -> tuple[str, ...]:
    at = parse(version)
    return tuple(name for name, (since, gone) in table.items() if at.at_least(since) and not at.at_least(gone))
