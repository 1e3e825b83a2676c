# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The bridge that machines and endpoints share, made and removed with iproute2."""

from __future__ import annotations

import json
import os
import typing as t

from .addresses import Network, link_address, overlapping_routes
from .errors import NspawnError
from .programs import run

ALIAS = "kubeadm.control_plane"


def show(*arguments: str) -> list[dict[str, t.Any]]:
    """Return the JSON of an ``ip`` command, [] for a missing object."""
    done = run(["ip", "-json", *arguments], check=False)
    text = done.stdout.strip()
    return list(json.loads(text)) if done.returncode == 0 and text else []


def owner(bridge: str) -> t.Optional[str]:
    """Return the directory of one of our bridges, None for another bridge."""
    try:
        with open(f"/sys/class/net/{bridge}/ifalias", encoding="utf-8") as file:
            name, _separator, directory = file.read().strip().partition(" ")
    except OSError:
        return None
    return directory if name == ALIAS else None


def ensure_bridge(network: Network, directory: str) -> bool:
    """Make the bridge with its address if needed; return whether anything changed.

    Raises:
        NspawnError: the interface exists and isn't ours, another directory uses it, or the host routes our subnet elsewhere.
    """
    bridge = network.bridge
    exists = os.path.exists(f"/sys/class/net/{bridge}")
    if exists:
        theirs = owner(bridge)
        if theirs is None:
            raise NspawnError(
                f"interface {bridge} exists and was not made by this collection. Set another bridge (machine_nspawn_bridge); nothing was changed."
            )
        if theirs != directory and os.path.isdir(theirs):
            raise NspawnError(
                f"bridge {bridge} belongs to the machines in {theirs}, so that addresses given out here could clash with theirs. "
                f"Use that directory, or give {directory} a bridge, a subnet and a pod subnet of its own."
            )
    clash = overlapping_routes(network, show("-4", "route", "show"))
    if clash:
        raise NspawnError(
            f"this host routes the machines' subnet {network.subnet} elsewhere ({'; '.join(clash)}). "
            "Choose another one (machine_nspawn_subnet); nothing was changed."
        )
    changed = False
    if not exists:
        # An address of its own: a bridge without one takes over its lowest port's, so that it would change, and every
        # neighbour entry with it, whenever a machine comes or goes.
        run(["ip", "link", "add", bridge, "address", link_address(bridge), "type", "bridge"])
        changed = True
    if owner(bridge) != directory:
        run(["ip", "link", "set", bridge, "alias", f"{ALIAS} {directory}"])
        changed = True
    return ensure_address(bridge, f"{network.gateway}/{network.subnet.prefixlen}") | _up(bridge) | changed


def _up(bridge: str) -> bool:
    links = show("link", "show", "dev", bridge)
    if links and "UP" in links[0].get("flags", []):
        return False
    run(["ip", "link", "set", bridge, "up"])
    return True


def addresses() -> dict[str, str]:
    """Return this host's IPv4 addresses: address → interface."""
    return {
        info["local"]: link["ifname"]
        for link in show("-4", "address", "show")
        for info in link.get("addr_info", [])
        if "local" in info
    }


def ensure_address(interface: str, address: str) -> bool:
    """Add an address (``a.b.c.d/prefix``) to an interface; return whether anything changed."""
    if addresses().get(address.partition("/")[0]) == interface:
        return False
    run(["ip", "address", "replace", address, "dev", interface])
    return True


def remove_address(interface: str, address: str) -> bool:
    """Remove an address from an interface; return whether it had it."""
    if addresses().get(address.partition("/")[0]) != interface:
        return False
    run(["ip", "address", "delete", address, "dev", interface])
    return True


def remove_bridge(bridge: str, directory: str) -> bool:
    """Remove this directory's bridge; return whether it was there.

    Another directory's bridge stays.
    """
    if owner(bridge) != directory:
        return False
    run(["ip", "link", "delete", bridge])
    return True


def machine_interfaces(links: t.Iterable[t.Mapping[str, t.Any]]) -> dict[str, str]:
    """Return the host's ends of machines' network interfaces, by machine name.

    systemd-nspawn calls them ``vb-`` and the machine's name; where that is longer than the kernel allows, it is an alternative name.

    Args:
        links: ``ip -json link show master BRIDGE``.
    """
    found: dict[str, str] = {}
    for each in links:
        for name in (each["ifname"], *each.get("altnames", [])):
            if name.startswith("vb-"):
                found.setdefault(name[len("vb-") :], each["ifname"])
    return found


def bridge_members(bridge: str) -> dict[str, str]:
    """Return the machine interfaces that are on the bridge now."""
    return machine_interfaces(show("link", "show", "master", bridge))


def remove_machine_interface(bridge: str, machine: str) -> bool:
    """Remove the host's end of a machine's interface; return whether it existed.

    It would go by itself, but only when the last half-closed connection in the machine has timed out, and meanwhile a new
    machine of the same name could not start.
    """
    interface = bridge_members(bridge).get(machine)
    if interface is None:
        return False
    run(["ip", "link", "delete", "dev", interface], check=False)
    return True
