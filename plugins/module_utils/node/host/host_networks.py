# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses of a host on the networks that it shares with others.

A network of pods or services that has such an address takes what is meant for that host.
"""

from __future__ import annotations

import ipaddress
import json
import typing as t

from ...common import timed_command
from ...common.guard import NodeError

# ip-link(8): what carries a host's own networks. Bridges, veths, tunnels and dummies are mostly a container runtime's or a pod network's.
_KINDS = ("", "vlan", "bond", "team", "macvlan", "ipvlan")
_DEFAULT_ROUTES = (["ip", "-json", "-4", "route", "show", "default"], ["ip", "-json", "-6", "route", "show", "default"])


def own_addresses() -> dict[str, str]:
    """Return this host's addresses on networks of hosts, each with its interface.

    They are those of real interfaces, and of whatever interface has a default route. {} where they can't be listed.
    """
    outside = {str(each.get("dev")) for words in _DEFAULT_ROUTES for each in _listed(words)}
    found = {}
    for link in _listed(["ip", "-details", "-json", "address", "show"]):
        name, kind = str(link.get("ifname")), str((link.get("linkinfo") or {}).get("info_kind") or "")
        if link.get("link_type") == "loopback" or (kind not in _KINDS and name not in outside):
            continue
        for each in link.get("addr_info") or ():
            if each.get("scope") == "global" and "local" in each:
                found[str(each["local"])] = name
    return found


def within(addresses: t.Iterable[str], blocks: t.Iterable[str]) -> list[tuple[str, str]]:
    """Return the addresses that are in CIDR blocks, each with its block.

    Raises:
        NodeError: a block is none.
    """
    try:
        networks = [(each, ipaddress.ip_network(each, strict=False)) for each in blocks]
    except ValueError as error:
        raise NodeError(f"cluster_network: {error}.", "Give CIDR blocks such as 10.244.0.0/16.") from error
    return [
        (address, block)
        for address in sorted(addresses)
        for block, network in networks
        if ipaddress.ip_address(address) in network
    ]


def _listed(words: t.Sequence[str]) -> list[dict[str, t.Any]]:
    try:
        found = json.loads(timed_command.run(words).stdout or "[]")
    except (NodeError, ValueError):
        return []
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
