# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Interface of a virtual address, and who holds the address.

By the kernel's own tables of addresses and neighbours.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import socket
import time
import typing as t

from ...common import settings, timed_command
from ...common.guard import NodeError

Runner = t.Callable[[t.Sequence[str]], t.Any]
# The kernel asks three times, a second apart, before it says that none answers.
_PAUSE_SECONDS = 0.2
_DISCARD = 9
_NOTHING = "Nothing was changed on this host."


def interface_of(address: str, wanted: str = "", runner: Runner = timed_command.run) -> str:
    """Return a virtual address's interface.

    Args:
        address: the virtual one.
        wanted: the interface that the user chose; "" for the one whose network has the address.
        runner: runs ``ip``.

    Raises:
        NodeError: there is no such interface, or none with that network.
    """
    virtual = ipaddress.ip_address(address)
    networks: dict[str, list[t.Any]] = {}
    for link in _read(runner(["ip", "-json", "address", "show"])):
        own = [f"{each['local']}/{each['prefixlen']}" for each in link.get("addr_info") or () if "local" in each]
        networks[str(link.get("ifname"))] = [ipaddress.ip_interface(each) for each in own]
    if wanted and wanted not in networks:
        raise NodeError(
            f"There is no interface {wanted} on this host; it has {', '.join(sorted(networks))}.",
            f"{_NOTHING} Correct this host's variable endpoint_keepalived_interface or endpoint_kube_vip_interface, whichever role it is.",
        )
    candidates = {wanted: networks[wanted]} if wanted else networks
    for name, addresses in candidates.items():
        # The virtual one itself, where this host holds it, is a network of its own.
        if any(each.ip != virtual and virtual in each.network for each in addresses):
            return name
    shown = "; ".join(f"{name}: {', '.join(map(str, found)) or 'none'}" for name, found in sorted(candidates.items()))
    raise NodeError(
        f"{address} is on no network of {f'the interface {wanted}' if wanted else 'this host'} ({shown}).",
        f"{_NOTHING} A virtual address must be of the network that the control plane's hosts share: correct the endpoint, or the interface.",
    )


def is_here(address: str, runner: Runner = timed_command.run) -> bool:
    """Return whether this host holds an address now."""
    links = _read(runner(["ip", "-json", "address", "show", "to", address]))
    return any(each.get("local") == address for link in links for each in link.get("addr_info") or ())


def remove(address: str, runner: Runner = timed_command.run) -> None:
    """Remove an address from this host's interfaces.

    No error where none has it.

    Raises:
        NodeError: it can't be removed.
    """
    for link in _read(runner(["ip", "-json", "address", "show", "to", address])):
        for each in link.get("addr_info") or ():
            if each.get("local") == address:
                words = ["ip", "address", "delete", f"{address}/{each['prefixlen']}", "dev", str(link["ifname"])]
                done = runner(words)
                if done.returncode != 0:
                    raise NodeError(f"{' '.join(words)} failed: {done.stderr.strip()[:300]}", "Run it by hand.")


def require_free(
    address: str, interface: str, ours: str, *, alone: bool, unused: bool, runner: Runner = timed_command.run
) -> None:
    """Refuse an address that this host or its network has already.

    Args:
        address: the virtual one.
        interface: its interface.
        ours: what of this collection's would hold it on this host, "" for nothing.
        alone: whether no other host may have it; the network is asked.
        unused: whether with ``alone`` not even this one may have it.
        runner: runs ``ip``.

    Raises:
        NodeError: it is held.
    """
    here = is_here(address, runner)
    if here and not ours:
        raise NodeError(
            f"{address} is this host's own address.", f"{_NOTHING} Take an address for the endpoint that no host has."
        )
    if not alone:
        return
    if here and unused:
        # Before the first machine: a cluster's whose store isn't this one.
        other = ours
    else:
        found = "" if here else holder(address, interface, runner)
        other = found and f"another host on the network of {interface} (link-layer address {found})"
    if other:
        raise NodeError(
            f"{address} is held by {other}.",
            f"{_NOTHING} Take a free address for the endpoint; or, where a control plane is behind it, give its store.",
        )


def holder(address: str, interface: str, runner: Runner = timed_command.run) -> str:
    """Return the link-layer address of an address's holder.

    "" where no neighbour holds it.

    The kernel asks the network (ARP, or neighbour discovery), which a firewall on the holder doesn't hide.
    """
    at = ["to", address, "dev", interface]
    # What it remembers may be gone by now.
    runner(["ip", "neighbour", "flush", *at])
    with contextlib.suppress(OSError), _datagram(address) as probe:
        probe.sendto(b"", (address, _DISCARD))
    ends = time.monotonic() + settings.VIRTUAL_ADDRESS_SECONDS
    while time.monotonic() < ends:
        for each in _read(runner(["ip", "-json", "neighbour", "show", *at])):
            if each.get("lladdr"):
                return str(each["lladdr"])
            if "FAILED" in (each.get("state") or ()):
                return ""
        time.sleep(_PAUSE_SECONDS)
    return ""


def _datagram(address: str) -> socket.socket:
    return socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)


def _read(done: t.Any) -> list[dict[str, t.Any]]:
    try:
        found = json.loads(done.stdout or "[]")
    except ValueError:
        found = None
    if done.returncode != 0 or not isinstance(found, list):
        raise NodeError(f"ip says nothing of this host's network: {done.stderr.strip()[:300]}", "Run it by hand.")
    return [each for each in found if isinstance(each, dict)]
