# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Control plane endpoint of a cluster: one haproxy on its own address.

The address is on the machines' bridge.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import typing as t
from dataclasses import dataclass

from ...common import settings
from ...common.guard import write_atomically
from .. import network as bridges
from .. import pool, processes
from ..addresses import Network, allocate
from ..errors import NspawnError
from ..file_operations import locked, read_json, remove_tree, write_json
from ..layout import EndpointLayout, Layout
from ..programs import environment, run
from . import haproxy
from .haproxy import Server


@dataclass(frozen=True)
class Wanted:
    """Desired state of an endpoint.

    Without a host it gets a free address; without servers those it has stay.
    """

    namespace: str
    cluster: str
    host: t.Optional[str]
    port: int
    servers: t.Optional[list[Server]]


def ensure(layout: Layout, network: Network, wanted: Wanted) -> tuple[dict[str, t.Any], bool]:
    """Start or update the endpoint; return it and whether anything changed.

    Its address is there, haproxy runs, and its servers are the wanted ones.

    Raises:
        NspawnError: the address or the port is taken; or haproxy doesn't start.
    """
    paths = layout.endpoint(wanted.namespace, wanted.cluster)
    with locked(layout.lock(f"endpoint-{os.path.basename(paths.path)}"), settings.LOCAL_LOCK_SECONDS):
        record = read_json(paths.record)
        if record is not None and (record["port"] != wanted.port or (wanted.host and record["host"] != wanted.host)):
            raise NspawnError(
                f"the endpoint of cluster {wanted.namespace}/{wanted.cluster} is {record['host']}:{record['port']}, asked for is "
                f"{wanted.host or record['host']}:{wanted.port}. It can't move: certificates and kubeconfigs name it. "
                "Delete the cluster, or ask for the old one."
            )
        with locked(layout.lock(pool.LOCK), settings.LOCAL_LOCK_SECONDS):
            pool.open_network(layout, network)
            changed = record is None
            if record is None:
                record = _register(layout, paths, network, wanted)
            changed |= _ensure_address(record)
        servers = wanted.servers if wanted.servers is not None else haproxy.servers_of(record["servers"])
        changed |= _apply(paths, record, servers)
    return describe(paths, record), changed


def _register(layout: Layout, paths: EndpointLayout, network: Network, wanted: Wanted) -> dict[str, t.Any]:
    held = bridges.addresses()
    if wanted.host and held.get(wanted.host) not in (None, network.bridge):
        # An address of the host's own: machines reach it through the bridge, and it isn't ours to add or remove.
        host, interface = wanted.host, ""
    else:
        host, interface = allocate(network, pool.taken(layout), wanted.host), network.bridge
    _check_free(host, wanted.port)
    remove_tree(paths.path)
    os.makedirs(paths.path, mode=0o700)
    record = {
        "namespace": wanted.namespace,
        "cluster": wanted.cluster,
        "host": host,
        "port": wanted.port,
        "interface": interface,
        "servers": [],
    }
    write_json(paths.record, record)
    return record


def _ensure_address(record: t.Mapping[str, t.Any]) -> bool:
    return bool(record["interface"]) and bridges.ensure_address(record["interface"], f"{record['host']}/32")


def _check_free(host: str, port: int) -> None:
    pids = processes.listeners(host, port)
    if pids is None:
        return
    who = (
        ", ".join(f"{processes.name_of(pid)} (process {pid})" for pid in pids)
        or "a process that can't be seen from here"
    )
    raise NspawnError(
        f"the endpoint {host}:{port} is taken: {who} listens there. Nothing was started. End that process, or give the infrastructure "
        "cluster another controlPlaneEndpoint port."
    )


def _apply(paths: EndpointLayout, record: dict[str, t.Any], servers: list[Server]) -> bool:
    text = haproxy.configuration(record["host"], record["port"], servers, paths.socket)
    stored = [{"name": each.name, "address": each.address, "port": each.port} for each in servers]
    changed = bool(record["servers"] != stored)
    if changed:
        record["servers"] = stored
        write_json(paths.record, record)
    if _read(paths.config) != text:
        # First the file: whatever starts haproxy later starts the wanted one.
        write_atomically(paths.config, text.encode())
        changed = True
    pids = running(paths)
    if not pids:
        _check_free(record["host"], record["port"])
        _start(paths, [])
        return True
    current = _current(paths)
    if current is None:
        # It runs and doesn't answer on its socket: a new process takes over the listening address.
        _start(paths, pids)
        return True
    # A server in maintenance is one whose coming or going a killed run left half done.
    serving = {name: server for name, (server, state) in current.items() if state != "maint"}
    if serving == {each.name: each for each in servers} and len(current) == len(serving):
        return changed
    if not _change_live(paths, {name: server for name, (server, _state) in current.items()}, serving, servers):
        _start(paths, pids)
    return True


def _change_live(
    paths: EndpointLayout,
    current: t.Mapping[str, Server],
    serving: t.Mapping[str, Server],
    servers: t.Sequence[Server],
) -> bool:
    """Add and remove servers without a reload; return False where haproxy refuses.

    A reload then does it.
    """
    wanted = {each.name: each for each in servers}
    leaving = [name for name, server in current.items() if wanted.get(name) != server]
    coming = [each for name, each in wanted.items() if current.get(name) != each]
    halves = [name for name in current if name in wanted and name not in serving and name not in leaving]
    if not _tell_all(paths, [haproxy.enable_command(name) for name in halves]):
        return False
    # A server that is replaced under its own name can't be added before it has gone; every other comes first.
    for server in [each for each in coming if each.name not in leaving]:
        if not _tell_all(paths, haproxy.add_commands(server)):
            return False
    if leaving and not (_drain(paths, leaving) and all(_take_out(paths, name) for name in leaving)):
        return False
    return all(_tell_all(paths, haproxy.add_commands(each)) for each in coming if each.name in leaving)


def _drain(paths: EndpointLayout, names: t.Sequence[str]) -> bool:
    """Drain servers, and wait for the end of their requests.

    They get no new connections meanwhile.
    """

    def answered() -> bool:
        sessions = tell(paths, "show sess")
        return sessions is None or haproxy.young_sessions(sessions, names, settings.BALANCER_DRAIN_SECONDS) == 0

    def others_serve() -> bool:
        staying = [state for name, (_server, state) in (_current(paths) or {}).items() if name not in names]
        return not staying or "up" in staying

    # The others' first checks may still be on their way; where no other serves at all, waiting longer helps nobody.
    with contextlib.suppress(NspawnError):
        processes.wait_until(others_serve, settings.BALANCER_CHECK_SECONDS, "an answer of the servers that stay")
    if not _tell_all(paths, [haproxy.drain_command(name) for name in names]):
        return False
    # Nothing new comes, so that what is there ends or grows old: a second more than the bound, as ages are whole seconds.
    with contextlib.suppress(NspawnError):
        processes.wait_until(
            answered, settings.BALANCER_DRAIN_SECONDS + 1, "the end of the requests on servers that leave"
        )
    return True


def _take_out(paths: EndpointLayout, name: str) -> bool:
    try:
        processes.wait_until(
            lambda: _tell_all(paths, haproxy.remove_commands(name)),
            settings.BALANCER_REMOVE_SECONDS,
            f"the end of connections to {name}",
        )
    except NspawnError:
        return False
    return True


def _tell_all(paths: EndpointLayout, commands: t.Iterable[str]) -> bool:
    for command in commands:
        answer = tell(paths, command)
        if answer is None or haproxy.refusal(answer):
            return False
    return True


def tell(paths: EndpointLayout, command: str) -> t.Optional[str]:
    """Return haproxy's answer to an admin command, None if there is none."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(2)
            connection.connect(paths.socket)
            connection.sendall(f"{command}\n".encode())
            answer = b""
            while True:
                block = connection.recv(65536)
                if not block:
                    return answer.decode(errors="replace")
                answer += block
    except OSError:
        return None


def _current(paths: EndpointLayout) -> t.Optional[dict[str, tuple[Server, str]]]:
    answer = tell(paths, f"show servers state {haproxy.BACKEND}")
    return None if answer is None else haproxy.parse_servers(answer)


def running(paths: EndpointLayout) -> list[int]:
    """Return the haproxy processes of this endpoint."""
    return [
        pid
        for pid in processes.find_by_arguments("-f", paths.config)
        if processes.name_of(pid) == "haproxy" and processes.is_alive(pid)
    ]


def _start(paths: EndpointLayout, old: t.Sequence[int]) -> None:
    """Start haproxy, which takes over from the old processes.

    Those end when their connections have.
    """
    run(["haproxy", "-c", "-f", paths.config])
    command = ["haproxy", "-db", "-f", paths.config]
    if old:
        command += ["-sf", *(str(pid) for pid in old)]
    with contextlib.suppress(FileNotFoundError):
        if not old:
            os.unlink(paths.socket)
    log = os.open(paths.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        # No AnsibleModule is at hand, and haproxy outlives the module.
        process = subprocess.Popen(  # pylint: disable=ansible-bad-function
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=environment(),
            start_new_session=True,
        )
    finally:
        os.close(log)

    def answers() -> bool:
        if process.poll() is not None:
            raise NspawnError(
                f"haproxy ended with exit code {process.returncode}: {(_read(paths.log) or 'it said nothing').strip()}"
            )
        answer = tell(paths, "show info")
        return answer is not None and f"Pid: {process.pid}\n" in answer

    processes.wait_until(answers, settings.BALANCER_START_SECONDS, f"an answer of haproxy on {paths.socket}")


def _read(path: str) -> t.Optional[str]:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None


def describe(paths: EndpointLayout, record: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return an endpoint's facts for the user and the provider's role."""
    current = _current(paths) or {}
    servers = [
        {**each, "state": current[each["name"]][1] if each["name"] in current else "unknown"}
        for each in record["servers"]
    ]
    return {
        "namespace": record["namespace"],
        "cluster": record["cluster"],
        "host": record["host"],
        "port": record["port"],
        "pids": sorted(running(paths)),
        "servers": servers,
        "directory": paths.path,
    }


def look(layout: Layout, namespace: str, cluster: str) -> t.Optional[dict[str, t.Any]]:
    """Return a cluster's endpoint now, or None where it has none."""
    paths = layout.endpoint(namespace, cluster)
    record = read_json(paths.record)
    return None if record is None else describe(paths, record)


def remove(layout: Layout, namespace: str, cluster: str) -> bool:
    """Remove a cluster's endpoint; return whether there was one.

    Its processes, its address and its folder are removed.
    """
    paths = layout.endpoint(namespace, cluster)
    if not os.path.isdir(layout.directory):
        return False
    lock = layout.lock(f"endpoint-{os.path.basename(paths.path)}")
    with locked(lock, settings.LOCAL_LOCK_SECONDS):
        pids = running(paths)
        if pids:
            processes.end(pids, signal.SIGKILL)
            processes.wait_until(
                lambda: not running(paths),
                settings.BALANCER_START_SECONDS,
                f"the end of haproxy ({', '.join(map(str, pids))})",
            )
        record = read_json(paths.record)
        there = bool(pids) or os.path.isdir(paths.path)
        if record is not None and record["interface"]:
            bridges.remove_address(record["interface"], record["host"])
        remove_tree(paths.path)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(lock)
    pool.close_network(layout)
    return there
