# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that make a machine of an image. Pure.

They are its name, address, keys and pod network.
"""

from __future__ import annotations

import ipaddress
import json
import typing as t
from dataclasses import dataclass

from ..addresses import Network, link_address


@dataclass(frozen=True)
class Guest:
    """Properties of one machine: name, address, keys and network."""

    name: str
    address: str
    machine_id: str
    authorized_key: str
    host_key: str
    host_public_key: str
    network: Network
    unreachable: tuple[ipaddress.IPv4Network, ...] = ()


def guest_files(guest: Guest) -> t.Iterator[tuple[str, str, int]]:
    """Yield path, text and mode of each of a machine's own files.

    The others are its image's.
    """
    yield "/etc/hostname", f"{guest.name}\n", 0o644
    yield (
        "/etc/hosts",
        f"127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n{guest.address} {guest.name}\n",
        0o644,
    )
    yield "/etc/machine-id", f"{guest.machine_id}\n", 0o444
    yield "/etc/resolv.conf", RESOLV_CONF, 0o644
    yield "/etc/systemd/network/10-host0.network", networkd_unit(guest), 0o644
    # systemd-networkd of Debian 13 no longer does it for an interface (IPForward=).
    yield "/etc/sysctl.d/60-forwarding.conf", "net.ipv4.ip_forward = 1\n", 0o644
    yield "/etc/cni/net.d/10-bridge.conflist", cni_conflist(guest), 0o644
    yield "/etc/ssh/ssh_host_ed25519_key", guest.host_key, 0o600
    yield "/etc/ssh/ssh_host_ed25519_key.pub", guest.host_public_key, 0o644
    if guest.authorized_key:
        yield "/root/.ssh/authorized_keys", f"{guest.authorized_key.strip()}\n", 0o600


# Machines have no way out of their bridge: without a name server a look-up fails at once instead of after a timeout.
RESOLV_CONF = "# No name server: this machine reaches only its own bridge.\n"


def networkd_unit(guest: Guest) -> str:
    """Return systemd-networkd's file for the machine's interface.

    The kubelet insists on a default route. Pods of other machines are found on the same link: each machine answers ARP for its
    own pods, so that neither the host nor the other machines need a route per machine.

    The link address belongs to the IP address. An address that was given up is soon another machine's, and whoever remembers the
    link address of the one before (up to 45 seconds as a fact, then through three vain probes) would not reach the new one meanwhile.

    What is unreachable is refused by the machine's own kernel, so that no program waits for an answer that can't come.
    """
    network = guest.network
    refused = "".join(f"\n[Route]\nDestination={each}\nType=unreachable\n" for each in guest.unreachable)
    return f"""[Match]
Name=host0

[Link]
MACAddress={link_address(guest.address)}

[Network]
Address={guest.address}/{network.subnet.prefixlen}
Gateway={network.gateway}
IPv4ProxyARP=yes
LinkLocalAddressing=no
IPv6AcceptRA=no

[Route]
Destination={network.pod_subnet}
Scope=link
{refused}"""


def cni_conflist(guest: Guest) -> str:
    """Return the CNI configuration of the machine's pod network.

    It has a bridge in the machine, addresses from the machine's own /24, and the plugins that Debian ships.
    """
    network = guest.network
    pods = network.pods_of(guest.address)
    ipam = {"type": "host-local", "ranges": [[{"subnet": str(pods)}]], "routes": [{"dst": "0.0.0.0/0"}]}
    # Without masquerading pods keep their addresses on the way to other machines and their pods; there is no way further out.
    bridge = {"type": "bridge", "bridge": "cni0", "isGateway": True, "ipMasq": False, "hairpinMode": True, "ipam": ipam}
    portmap = {"type": "portmap", "capabilities": {"portMappings": True}}
    conflist = {"cniVersion": "0.4.0", "name": "bridge", "plugins": [bridge, portmap]}
    return json.dumps(conflist, indent=2) + "\n"
