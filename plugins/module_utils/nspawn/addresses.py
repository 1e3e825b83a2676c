# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Address pool of machines, endpoints and the machines' pods. Pure."""

from __future__ import annotations

import hashlib
import ipaddress
import typing as t
from dataclasses import dataclass

from .errors import NspawnError

DEFAULT_BRIDGE = "kcp0"
# Outside kubeadm's default service subnet (10.96.0.0/12), the usual pod subnets (10.244.0.0/16, 192.168.0.0/16) and Docker's.
DEFAULT_SUBNET = "10.222.0.0/24"
DEFAULT_POD_SUBNET = "10.223.0.0/16"
# Interface names are limited to 15 characters by the kernel (IFNAMSIZ).
BRIDGE_NAME_LIMIT = 15
POD_PREFIX = 24
# Where clouds tell a machine about itself. Kubelets ask there as they start, and wait for seconds where nobody refuses.
DEFAULT_UNREACHABLE = ("169.254.169.254/32",)
# Below it are the bridge itself and room for what a user may put there by hand.
FIRST_INDEX = 10


@dataclass(frozen=True)
class Network:
    """Bridge, machines' subnet, and the subnet that their pods share."""

    bridge: str
    subnet: ipaddress.IPv4Network
    pod_subnet: ipaddress.IPv4Network

    @property
    def gateway(self) -> str:
        """The bridge's own address, the first of the subnet."""
        return str(self.subnet[1])

    def pods_of(self, address: str) -> ipaddress.IPv4Network:
        """Return a machine's /24 of pod addresses, by the machine's address."""
        index = int(ipaddress.IPv4Address(address)) - int(self.subnet.network_address)
        first = int(self.pod_subnet.network_address) + (index << (32 - POD_PREFIX))
        return ipaddress.IPv4Network((first, POD_PREFIX))

    def record(self) -> dict[str, str]:
        """Return the network's JSON form, which ``network_of`` reads."""
        return {"bridge": self.bridge, "subnet": str(self.subnet), "podSubnet": str(self.pod_subnet)}


def network_of(bridge: str, subnet: str, pod_subnet: str) -> Network:
    """Return a checked network.

    Raises:
        NspawnError: a subnet isn't one, the two overlap, or there are fewer pod /24 ranges than machine addresses.
    """
    if not bridge or len(bridge) > BRIDGE_NAME_LIMIT or "/" in bridge or " " in bridge:
        raise NspawnError(
            f"bridge {bridge!r} is no interface name: give 1 to {BRIDGE_NAME_LIMIT} characters, no '/' and no space."
        )
    machines = _subnet("subnet", subnet)
    pods = _subnet("pod_subnet", pod_subnet)
    if machines.overlaps(pods):
        raise NspawnError(
            f"subnet {machines} and pod_subnet {pods} overlap: a pod would have a machine's address. Choose another one."
        )
    if machines.num_addresses < 2 * FIRST_INDEX:
        raise NspawnError(f"subnet {machines} is too small: the first {FIRST_INDEX} addresses are reserved. Use a /24.")
    if pods.prefixlen > POD_PREFIX or 1 << (POD_PREFIX - pods.prefixlen) < machines.num_addresses:
        raise NspawnError(
            f"pod_subnet {pods} has too few /{POD_PREFIX} ranges: every one of the {machines.num_addresses} addresses in subnet "
            f"{machines} needs its own. Use a /16 for the pods of a /24 of machines."
        )
    return Network(bridge, machines, pods)


def _subnet(option: str, text: str) -> ipaddress.IPv4Network:
    try:
        return ipaddress.IPv4Network(text)
    except ValueError as error:
        raise NspawnError(
            f"{option} {text!r} is not an IPv4 network: {error}. Give one such as 10.222.0.0/24."
        ) from error


def unreachable_networks(network: Network, texts: t.Iterable[str]) -> tuple[ipaddress.IPv4Network, ...]:
    """Return the networks that machines are blocked from.

    A machine's own kernel refuses them at once.

    Args:
        network: where the machines are.
        texts: the networks, such as 169.254.169.254/32.

    Raises:
        NspawnError: one isn't a network, or machines or their pods have addresses in it.
    """
    found = tuple(_subnet("unreachable", text) for text in texts)
    for each in found:
        for name, own in (("subnet", network.subnet), ("pod_subnet", network.pod_subnet)):
            if each.overlaps(own):
                raise NspawnError(
                    f"unreachable {each} overlaps {name} {own}: machines have to reach each other and their pods. Leave it out."
                )
    return found


def allocate(network: Network, taken: t.Mapping[str, str], wanted: t.Optional[str] = None) -> str:
    """Return a free address of the subnet.

    Args:
        network: the network.
        taken: who holds which address (address → a name for messages).
        wanted: this very address, when given.

    Raises:
        NspawnError: the wanted address isn't usable or is taken; or no address is left.
    """
    if wanted:
        address = ipaddress.IPv4Address(wanted)
        if address not in network.subnet or address in (network.subnet[0], network.subnet[1], network.subnet[-1]):
            raise NspawnError(
                f"address {wanted} is not a usable address of {network.subnet} (the bridge itself is {network.gateway}). Choose another one."
            )
        if wanted in taken:
            raise NspawnError(
                f"address {wanted} is taken by {taken[wanted]}. Choose another one, or leave it out to get a free one."
            )
        return wanted
    for index in range(FIRST_INDEX, network.subnet.num_addresses - 1):
        candidate = str(network.subnet[index])
        if candidate not in taken:
            return candidate
    raise NspawnError(
        f"no address is left in {network.subnet} ({len(taken)} taken). Delete machines that are no longer needed, "
        "or use a larger subnet in a directory of its own."
    )


def link_address(name: str) -> str:
    """Return a locally administered link address derived from a name."""
    digest = hashlib.sha256(name.encode()).digest()
    return ":".join(f"{byte:02x}" for byte in (0x02, *digest[:5]))


def overlapping_routes(network: Network, routes: t.Iterable[t.Mapping[str, t.Any]]) -> list[str]:
    """Return the host's routes that lead our addresses away from our bridge.

    Each is text for a message.

    Args:
        network: the network.
        routes: ``ip -json -4 route show`` (``dst``, ``dev``).
    """
    found = []
    for route in routes:
        destination = str(route.get("dst", ""))
        if destination == "default" or route.get("dev") == network.bridge:
            continue
        try:
            other = ipaddress.IPv4Network(destination)
        except ValueError:
            continue
        if other.overlaps(network.subnet):
            found.append(f"{other} through {route.get('dev', 'another interface')}")
    return found
