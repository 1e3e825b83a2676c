# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""keepalived and haproxy on a host behind a virtual address.

Both are the distribution's. keepalived has the address on one of the hosts, haproxy on each of them leads to the API servers that are ready.
Source: kubeadm's "Options for Software Load Balancing" (kubernetes/kubeadm, docs/ha-considerations.md).
"""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
import json
import os
import re
import time
import typing as t
from dataclasses import dataclass, field, replace

from ...common import settings, timed_command
from ...common.guard import STATE_DIRECTORY, NodeError, exclusive, read_text, remedy, write_atomically
from ..host import host_facts
from ..packages.packages import Apt
from ..packages.packages import run as run_packages
from . import virtual_address

Runner = t.Callable[[t.Sequence[str]], t.Any]
MARK = "# Written by kubeadm.control_plane: changes are overwritten."
# The one that takes the address away goes first, and comes last.
SERVICES = ("keepalived", "haproxy")
# keepalived watches haproxy with pgrep, which a small Debian lacks.
_PACKAGES = (*SERVICES, "procps")
_SERVER_NAME = re.compile(r"^[A-Za-z0-9._-]{1,63}\Z")
# Three advertisements, and what keepalived takes to start.
_PAUSE_SECONDS = 0.2
_ADDRESS = re.compile(r"virtual_ipaddress \{\s*(\S+)")
_NOTHING = "Nothing was changed on this host."


@dataclass(frozen=True)
class Wanted:
    """Desired endpoint; ``servers`` are names, addresses and ports of the API servers.

    ``alone`` says that no other host may have the address yet, and without servers not even this one: whoever answers there is a
    stranger. ``interface`` may be "" and ``router_id`` 0: both follow from the address.
    """

    address: str
    port: int
    servers: tuple[tuple[str, str, int], ...]
    interface: str = ""
    router_id: int = 0
    alone: bool = False


@dataclass(frozen=True)
class Host:
    """Paths and programs of a host; tests use other ones."""

    etc: str = "/etc"
    state: str = STATE_DIRECTORY
    runner: Runner = timed_command.run
    packages: Runner = run_packages
    places: host_facts.HostPlaces = field(default_factory=host_facts.HostPlaces)

    def configuration(self, name: str) -> str:
        """Path of a service's configuration."""
        return os.path.join(self.etc, name, {"keepalived": "keepalived.conf", "haproxy": "haproxy.cfg"}[name])

    @property
    def loaded(self) -> str:
        """Path of the record of what the services have read."""
        return os.path.join(self.state, "endpoint.json")


def haproxy_configuration(wanted: Wanted) -> str:
    """Return the text of haproxy's configuration.

    It listens on all addresses: a host that doesn't hold the virtual one couldn't bind it.
    """
    bind = f"[::]:{wanted.port} v6only" if ":" in wanted.address else f"0.0.0.0:{wanted.port}"
    servers = "".join(
        f"    server {name} {f'[{address}]' if ':' in address else address}:{port}\n"
        for name, address, port in sorted(wanted.servers)
    )
    return f"""{MARK}
global
    log /dev/log local0 notice
    user haproxy
    group haproxy
    maxconn 4096
    # A change of servers must not cut what goes to those that stay, such as a kubeadm join; the last watches are ended.
    hard-stop-after 10m

defaults
    mode tcp
    log global
    # A server that refuses a connection, or a dead host, costs no client a failure before a check has noticed.
    retries 3
    option redispatch 1
    timeout connect 1s
    timeout client 24h
    timeout server 24h
    timeout tunnel 24h

frontend control-plane
    bind {bind}
    default_backend control-plane

backend control-plane
    balance roundrobin
    option httpchk GET /readyz
    http-check expect status 200
    # No "timeout check": then a check's TLS handshake isn't bounded by "timeout connect", and all of it may take "inter". New connections
    # don't wait for checks; they decide whose connections are cut, which slow answers, or an election in etcd, must not.
    default-server check check-ssl verify none inter 3s downinter 500ms rise 1 fall 3 on-marked-down shutdown-sessions
{servers}"""


def keepalived_configuration(wanted: Wanted, interface: str) -> str:
    """Return the text of keepalived's configuration.

    It is the same on all hosts, and stays when others come and go. The last byte of the address is the virtual router's ID where none
    is given: no two addresses of a network of 254 hosts have the same.
    """
    router = wanted.router_id or ipaddress.ip_address(wanted.address).packed[-1] or 255
    # Not pidof, which is a link: keepalived runs what it leads to by its own name, and that is killall5. systemd has started the service's
    # haproxy; one of a pod has its container's shim for a parent.
    return f"""{MARK}
global_defs {{
    enable_script_security
    script_user daemon
}}
vrrp_script haproxy {{
    script "/usr/bin/pgrep --exact --parent 1 haproxy"
    interval 1
    fall 2
    rise 1
}}
vrrp_instance control_plane_endpoint {{
    state BACKUP
    nopreempt
    interface {interface}
    virtual_router_id {router}
    priority 100
    advert_int 1
    virtual_ipaddress {{
        {wanted.address}
    }}
    track_script {{
        haproxy
    }}
}}
"""


def present(
    wanted: Wanted, *, check: bool, host: t.Optional[Host] = None
) -> tuple[dict[str, str], dict[str, str], str]:
    """Bring this host's services to what is wanted.

    Returns what there was and what there is now, each as texts by a name for people, and the interface.

    Raises:
        NodeError: the address can't be this interface's, or another host has it; the port, or a configuration, is another service's; a
            package can't be installed; a service doesn't start.
    """
    where = host or Host()
    _check(wanted, where)
    # As the kernel writes it.
    wanted = replace(wanted, address=str(ipaddress.ip_address(wanted.address)))
    interface = virtual_address.interface_of(wanted.address, wanted.interface, where.runner)
    _require_free(wanted, interface, where)
    texts = {"keepalived": keepalived_configuration(wanted, interface), "haproxy": haproxy_configuration(wanted)}
    apt = Apt(where.packages)
    missing = [name for name in _PACKAGES if not apt.has(name)]
    found = {name: _read(where.configuration(name)) for name in SERVICES}
    before = {where.configuration(name): found[name] for name in SERVICES}
    after = {where.configuration(name): texts[name] for name in SERVICES}
    running = {name: name not in missing and _runs(name, texts[name], where) for name in SERVICES}
    before.update({name: "runs" if running[name] else "" for name in SERVICES})
    after.update(dict.fromkeys(SERVICES, "runs"))
    if check:
        return before, after, interface
    with exclusive(where.state) if before != after else contextlib.nullcontext():
        if missing:
            apt.refresh()
            apt.add(missing)
        for name in reversed(SERVICES):
            if found[name] != texts[name]:
                write_atomically(where.configuration(name), texts[name].encode(), 0o644)
            if not running[name] or found[name] != texts[name]:
                _start(name, texts[name], where)
    if wanted.alone:
        _wait_for(wanted.address, interface, where)
    return before, after, interface


def absent(*, check: bool, host: t.Optional[Host] = None) -> bool:
    """Take this host out of its endpoint; return whether changed.

    The packages stay, and so does a keepalived or a haproxy that was configured otherwise.

    Raises:
        NodeError: a service doesn't end, or its address can't be removed.
    """
    where = host or Host()
    ours = [name for name in SERVICES if _is_ours(_read(where.configuration(name)))]
    if check or not ours:
        return bool(ours)
    with exclusive(where.state):
        for name in ours:
            done = where.runner(["systemctl", "disable", "--now", f"{name}.service"])
            if done.returncode != 0 and _systemctl(where, "is-active", name):
                raise NodeError(f"{name}.service does not end: {done.stderr.strip()[:300]}", "Run it again.")
            address = _ADDRESS.search(_read(where.configuration(name)))
            if address and _is_address(address.group(1)):
                # A keepalived that was killed has left it on its interface, and clients would be refused here.
                virtual_address.remove(address.group(1), where.runner)
            _remove(where.configuration(name))
        _remove(where.loaded)
    return True


def _check(wanted: Wanted, where: Host) -> None:
    if where.packages(["dpkg", "--version"]).returncode != 0:
        raise NodeError(
            "This host has no dpkg: keepalived and haproxy are configured as Debian and Ubuntu have them.",
            f"{_NOTHING} Take such hosts, or a load balancer of your own.",
        )
    # They become lines of a configuration. An IPv6 address may have any text after a "%".
    for address in (wanted.address, *(each for _name, each, _port in wanted.servers)):
        if "%" in address or not _is_address(address):
            raise NodeError(f"{address!r} is no IP address.", f"{_NOTHING} Give an IP address.")
    for name, _address, _port in wanted.servers:
        if not _SERVER_NAME.match(name):
            raise NodeError(
                f"servers: {name!r} is no server's name.", f"{_NOTHING} Use letters, digits, '.', '_', '-'."
            )


def _is_address(text: str) -> bool:
    try:
        return bool(ipaddress.ip_address(text))
    except ValueError:
        return False


def _require_free(wanted: Wanted, interface: str, where: Host) -> None:
    texts = {name: _read(where.configuration(name)) for name in SERVICES}
    for name, text in texts.items():
        if text and not _is_ours(text) and not _is_of_the_package(name, where):
            raise NodeError(
                f"{where.configuration(name)} is not this collection's: this host has a {name} of its own.",
                f"{_NOTHING} Take another host, or move that {name} elsewhere and remove the file.",
            )
    if not _is_ours(texts["haproxy"]) and wanted.port in host_facts.listening(where.places):
        raise NodeError(
            f"Port {wanted.port} is taken on this host.",
            f"{_NOTHING} Stop what listens there, or give the endpoint another port.",
        )
    virtual_address.require_free(
        wanted.address,
        interface,
        f"keepalived of this host, {where.configuration('keepalived')}" if _is_ours(texts["keepalived"]) else "",
        alone=wanted.alone,
        unused=not wanted.servers,
        runner=where.runner,
    )


def _start(name: str, text: str, where: Host) -> None:
    for words in (["enable", f"{name}.service"], ["reload-or-restart", f"{name}.service"]):
        done = where.runner(["systemctl", *words])
        if done.returncode != 0:
            raise NodeError(
                f"systemctl {' '.join(words)} failed: {done.stderr.strip()[:300]}",
                f"journalctl -u {name} says why. Run it again.",
            )
    write_atomically(where.loaded, json.dumps({**_loaded(where), name: _digest(text)}, sort_keys=True).encode(), 0o644)


def _runs(name: str, text: str, where: Host) -> bool:
    # One that a killed run left unread counts as not running.
    read = _loaded(where).get(name) == _digest(text)
    return read and _systemctl(where, "is-enabled", name) and _systemctl(where, "is-active", name)


def _wait_for(address: str, interface: str, where: Host) -> None:
    ends = time.monotonic() + settings.BALANCER_TAKES_SECONDS
    while not virtual_address.is_here(address, where.runner):
        if time.monotonic() > ends:
            raise NodeError(
                f"keepalived has not taken {address} on {interface} within {settings.BALANCER_TAKES_SECONDS:g} s.",
                "Look at journalctl -u keepalived: another virtual router of the same ID on this network, perhaps (endpoint_keepalived_router_id).",
            )
        time.sleep(_PAUSE_SECONDS)


def _loaded(where: Host) -> dict[str, t.Any]:
    try:
        found = json.loads(read_text(where.loaded) or "{}")
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {}


def _systemctl(where: Host, word: str, name: str) -> bool:
    return bool(where.runner(["systemctl", word, "--quiet", f"{name}.service"]).returncode == 0)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def _remove(path: str) -> None:
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    except OSError as error:
        raise NodeError(f"{path} can't be removed: {error.strerror}.", remedy(path, error)) from error


def _is_ours(text: str) -> bool:
    return text.startswith(MARK)


def _is_of_the_package(name: str, where: Host) -> bool:
    # keepalived's package brings no configuration.
    changed = where.packages(["dpkg", "--verify", name]).stdout
    return name == "haproxy" and Apt(where.packages).has(name) and where.configuration(name) not in changed


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
