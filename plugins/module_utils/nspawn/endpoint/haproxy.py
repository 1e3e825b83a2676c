# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configuration of haproxy for an endpoint, and its admin commands. Pure."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from ..errors import NspawnError

BACKEND = "control-plane"
# /readyz is what kubeadm's own load balancer advice checks: an API server that can't reach its etcd is not ready.
HEALTH_PATH = "/readyz"
CHECK = "check check-ssl verify none inter 500ms fastinter 250ms downinter 500ms rise 1 fall 2"
SERVER_NAME = re.compile(r"^[A-Za-z0-9._-]{1,63}\Z")


@dataclass(frozen=True, order=True)
class Server:
    """One API server behind the endpoint."""

    name: str
    address: str
    port: int = 6443


def servers_of(items: t.Iterable[t.Mapping[str, t.Any]]) -> list[Server]:
    """Return checked servers, sorted by name.

    Raises:
        NspawnError: a name or an address is missing, malformed or there twice.
    """
    found: dict[str, Server] = {}
    for item in items:
        name, address = str(item.get("name") or ""), str(item.get("address") or "")
        if not SERVER_NAME.match(name):
            raise NspawnError(
                f"servers: {name!r} is not a server's name. Nothing was changed. Use 1 to 63 letters, digits, '.', '_', '-'."
            )
        if not re.match(r"^\d{1,3}(\.\d{1,3}){3}\Z", address):
            raise NspawnError(
                f"servers: {name} has the address {address!r}, which is no IPv4 address. Nothing was changed. Correct it."
            )
        if name in found:
            raise NspawnError(f"servers: {name} is there twice. Nothing was changed. Name each once.")
        found[name] = Server(name, address, int(item.get("port") or 6443))
    return sorted(found.values())


def configuration(host: str, port: int, servers: t.Iterable[Server], socket: str) -> str:
    """Return the text of haproxy's configuration file."""
    lines = "".join(f"    server {each.name} {each.address}:{each.port} {CHECK}\n" for each in servers)
    return f"""# Written by kubeadm.control_plane: changes are overwritten.
global
    maxconn 4096
    stats socket {socket} mode 600 level admin expose-fd listeners
    hard-stop-after 30s

defaults
    mode tcp
    # A server that refuses a connection before a check has noticed costs no client a failure.
    retries 3
    option redispatch 1
    timeout connect 2s
    timeout client 24h
    timeout server 24h
    timeout check 2s
    timeout tunnel 24h

frontend endpoint
    bind {host}:{port}
    default_backend {BACKEND}

backend {BACKEND}
    balance roundrobin
    option httpchk GET {HEALTH_PATH}
    http-check expect status 200
    default-server on-marked-down shutdown-sessions
{lines}"""


def add_commands(server: Server) -> list[str]:
    """Return the admin commands that add a server.

    It takes traffic when its first check has passed.
    """
    name = f"{BACKEND}/{server.name}"
    # The admin socket doesn't apply default-server.
    added = f"add server {name} {server.address}:{server.port} {CHECK} on-marked-down shutdown-sessions"
    return [added, enable_command(server.name)]


def enable_command(name: str) -> str:
    """Return the admin command that enables a server.

    It takes traffic from its next good check on.
    """
    server = f"{BACKEND}/{name}"
    # Enabling says that it is up, until its first checks fail; a machine that is about to join has no API server yet.
    return f"enable health {server}; set server {server} state ready; set server {server} health down"


def drain_command(name: str) -> str:
    """Return the admin command that drains a server.

    It gets no new connections, while those that it is answering continue.
    """
    return f"set server {BACKEND}/{name} state drain"


def remove_commands(name: str) -> list[str]:
    """Return the admin commands that remove a drained server.

    Its last connections, such as watches, are ended before.
    """
    server = f"{BACKEND}/{name}"
    return [f"set server {server} state maint", f"shutdown sessions server {server}", f"del server {server}"]


def young_sessions(answer: str, names: t.Iterable[str], seconds: int) -> int:
    """Return the number of the servers' sessions below an age in seconds.

    ``answer`` is the one to ``show sess``; ``names`` are the servers'.

    A request is over in a moment; what lasts longer is a watch, which never ends by itself and whose client connects again.
    """
    wanted = set(names)
    found = 0
    for line in answer.splitlines():
        row = dict(word.split("=", 1) for word in line.split() if "=" in word)
        # An age is written as 7s, 3m12s, 1h5m, 2d4h.
        age = re.match(r"^(\d+)s\Z", row.get("age", ""))
        if row.get("be") == BACKEND and row.get("srv") in wanted and age and int(age.group(1)) < seconds:
            found += 1
    return found


# Words of the admin socket that mean success; everything else that it prints is a refusal.
SUCCESS = ("New server registered.", "Server deleted.")


def refusal(answer: str) -> str:
    """Return the admin socket's complaint, "" where there is none."""
    text = answer.strip()
    return "" if not text or text in SUCCESS else text


def parse_servers(answer: str) -> dict[str, tuple[Server, str]]:
    """Return the servers in the answer to ``show servers state``: name → (server, state).

    The state is ``up``, ``down`` or ``maint``.
    """
    lines = [line for line in answer.splitlines() if line.strip()]
    header = next((line for line in lines if line.startswith("#")), "")
    columns = header.lstrip("# ").split()
    found = {}
    for line in lines:
        if line.startswith("#") or len(line.split()) < len(columns) or not columns:
            continue
        row = dict(zip(columns, line.split()))
        if row["be_name"] != BACKEND:
            continue
        admin, operation = int(row["srv_admin_state"], 0), int(row["srv_op_state"])
        state = "maint" if admin & 0x3F else ("up" if operation == 2 else "down")
        found[row["srv_name"]] = (Server(row["srv_name"], row["srv_addr"], int(row["srv_port"])), state)
    return found
