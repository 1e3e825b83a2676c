# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lifecycle of machines: made, started, listed and removed without a trace.

Each step can be cut off and done again.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import socket
import subprocess
import time
import typing as t
import uuid
from dataclasses import dataclass

from ...common import settings
from .. import pool, processes
from ..addresses import Network, allocate, network_of
from ..errors import NspawnError
from ..file_operations import link_tree, locked, mounts_below, put, read_json, remove_tree, tail, write_json
from ..host import require_inotify_instances
from ..layout import Layout, MachineLayout
from ..network import bridge_members, remove_machine_interface
from ..programs import environment, run
from . import cgroups
from .guest import Guest, guest_files
from .start_command import Start, launch_command, nspawn_environment

# What systemd-nspawn keeps for a machine outside our directory.
PROPAGATE = "/run/systemd/nspawn/propagate"


@dataclass(frozen=True)
class Wanted:
    """Desired state of a machine.

    ``image`` is an image's record (image.find), ``unreachable`` the networks that it is blocked from.
    """

    name: str
    namespace: str
    cluster: str
    image: t.Mapping[str, t.Any]
    authorized_key: str
    address: t.Optional[str] = None
    unreachable: tuple[ipaddress.IPv4Network, ...] = ()


def provider_id(cluster: str, name: str) -> str:
    """Return the machine's providerID."""
    return f"nspawn:///{cluster}/{name}"


def ensure(
    layout: Layout, network: Network, wanted: Wanted, restart: bool, timeout: float
) -> tuple[dict[str, t.Any], bool]:
    """Make and start the machine; return it and whether anything changed.

    Args:
        layout, network: where machines live.
        wanted: the machine.
        restart: also start one that exists and is dead.
        timeout: seconds to wait for SSH to answer in a machine that was started; 0 doesn't wait.
    """
    paths = layout.machine(wanted.name)
    with locked(layout.lock(f"machine-{wanted.name}"), settings.LOCAL_LOCK_SECONDS):
        record = read_json(paths.record)
        if record is not None:
            _check_same(record, wanted)
        inits = processes.machine_inits()
        running = record is not None and record["machineID"] in inits
        if record is not None and record["started"] and (running or not restart):
            return describe(layout, wanted.name, record), False
        if not running:
            require_inotify_instances(wanted.name, len(inits))
        if record is None:
            record = _register(layout, paths, network, wanted)
        else:
            with locked(layout.lock(pool.LOCK), settings.LOCAL_LOCK_SECONDS):
                pool.open_network(layout, network)
        if not running:
            # A launch that was cut off half-way may have left processes.
            _end(paths, record)
            if not record["started"]:
                _fill(paths, record, network, wanted)
            _launch(paths, record, network)
        record = {**record, "started": True}
        if timeout:
            wait_for_ssh(str(record["address"]), timeout, wanted.name, paths.console)
        write_json(paths.record, record)
    return describe(layout, wanted.name, record), True


def _check_same(record: t.Mapping[str, t.Any], wanted: Wanted) -> None:
    theirs = record["cluster"]
    if (theirs["namespace"], theirs["name"]) != (wanted.namespace, wanted.cluster):
        raise NspawnError(
            f"machine {wanted.name} belongs to the cluster {theirs['namespace']}/{theirs['name']}, not to {wanted.namespace}/{wanted.cluster}. "
            "Nothing was done: use another name or another directory."
        )
    if record["image"] != wanted.image["name"]:
        raise NspawnError(
            f"machine {wanted.name} was made from the image {record['image']}, not from {wanted.image['name']}. A machine's image never changes: "
            "make a new machine and delete this one."
        )


def _register(layout: Layout, paths: MachineLayout, network: Network, wanted: Wanted) -> dict[str, t.Any]:
    with locked(layout.lock(pool.LOCK), settings.LOCAL_LOCK_SECONDS):
        pool.open_network(layout, network)
        remove_tree(paths.path)
        os.makedirs(paths.path, mode=0o700)
        address = allocate(network, pool.taken(layout), wanted.address)
        record = {
            "name": wanted.name,
            "cluster": {"namespace": wanted.namespace, "name": wanted.cluster},
            "image": wanted.image["name"],
            "kubernetesVersion": wanted.image["kubernetesVersion"],
            "lower": list(wanted.image["lower"]),
            "containerd": os.path.join(str(wanted.image["path"]), "containerd"),
            "address": address,
            "network": network.record(),
            "machineID": uuid.uuid4().hex,
            "hostKeys": [],
            "started": False,
        }
        write_json(paths.record, record)
    return record


def _fill(paths: MachineLayout, record: dict[str, t.Any], network: Network, wanted: Wanted) -> None:
    """Make the machine's folders and files again, and record its host key."""
    for path in (paths.upper, paths.work, paths.root, paths.containerd, paths.kubelet, paths.etcd):
        remove_tree(path)
    for path, mode in (
        (paths.upper, 0o755),
        (paths.work, 0o755),
        (paths.root, 0o755),
        (paths.kubelet, 0o755),
        (paths.etcd, 0o700),
    ):
        os.mkdir(path)
        os.chmod(path, mode)
    private, public = _host_key(paths, wanted.name)
    keys = (wanted.authorized_key, private, public)
    guest = Guest(wanted.name, record["address"], record["machineID"], *keys, network, wanted.unreachable)
    for path, text, mode in guest_files(guest):
        put(paths.upper, path, text, mode)
    # Databases are written in place; blobs and unpacked layers never are.
    link_tree(record["containerd"], paths.containerd, lambda path: path.endswith(".db"))
    record["hostKeys"] = [" ".join(public.split()[:2])]
    write_json(paths.record, record)


def _host_key(paths: MachineLayout, name: str) -> tuple[str, str]:
    target = os.path.join(paths.path, "host_key")
    for path in (target, f"{target}.pub"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", target])
    with open(target, encoding="utf-8") as file, open(f"{target}.pub", encoding="utf-8") as public:
        pair = (file.read(), public.read())
    for path in (target, f"{target}.pub"):
        os.unlink(path)
    return pair


def _launch(paths: MachineLayout, record: t.Mapping[str, t.Any], network: Network) -> None:
    missing = [path for path in record["lower"] if not os.path.isdir(path)]
    if missing:
        raise NspawnError(
            f"machine {record['name']} can't start: its image {record['image']} is gone from the cache ({', '.join(missing)}). "
            "Delete the machine and make a new one."
        )
    hierarchies = cgroups.detect()
    groups = cgroups.make(hierarchies, record["machineID"])
    start = Start(
        name=record["name"],
        machine_id=record["machineID"],
        bridge=network.bridge,
        layout=paths,
        lower=tuple(record["lower"]),
        cgroup_version=hierarchies.version,
        has_kmsg=os.path.exists("/dev/kmsg"),
    )
    log = os.open(paths.console, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        # No AnsibleModule is at hand, and the machine outlives the module.
        process = subprocess.Popen(  # pylint: disable=ansible-bad-function
            launch_command(start, groups),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            env=environment(nspawn_environment(start)),
            # A session of its own: it outlives this module, and a signal to its process group.
            start_new_session=True,
        )
    finally:
        os.close(log)
    deadline = time.monotonic() + settings.LOCAL_INIT_SECONDS
    while record["machineID"] not in processes.machine_inits():
        if process.poll() is not None or time.monotonic() > deadline:
            ended = (
                f"systemd-nspawn ended with exit code {process.returncode}"
                if process.returncode is not None
                else f"no init after {settings.LOCAL_INIT_SECONDS} s"
            )
            raise NspawnError(
                f"machine {record['name']} did not start: {ended}. The end of its console ({paths.console}):\n{tail(paths.console)}"
            )
        time.sleep(processes.POLL_SECONDS)


def ssh_answers(address: str, timeout: float = 1.0) -> bool:
    """Return whether an SSH server greets at an address."""
    try:
        with socket.create_connection((address, 22), timeout=timeout) as connection:
            connection.settimeout(timeout)
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False


def wait_for_ssh(address: str, timeout: float, name: str, console: str) -> None:
    """Wait until SSH answers.

    Raises:
        NspawnError: it doesn't within ``timeout`` seconds; names the machine and shows the end of its console.
    """
    try:
        processes.wait_until(
            lambda: ssh_answers(address, min(1.0, timeout)),
            timeout,
            f"an answer of SSH from machine {name} ({address})",
        )
    except NspawnError as error:
        raise NspawnError(
            f"{error} The machine was left as it is, so that it can be examined or deleted; running again waits for it again. "
            f"The end of its console ({console}):\n{tail(console)}"
        ) from error


def describe(
    layout: Layout, name: str, record: t.Mapping[str, t.Any], inits: t.Optional[t.Mapping[str, int]] = None
) -> dict[str, t.Any]:
    """Return a machine's facts for the user and the provider's role.

    ``state`` is ``running``, ``dead`` (made, but its init is gone) or ``incomplete`` (its creation was cut off).
    """
    paths = layout.machine(name)
    if not record:
        return {"name": name, "state": "incomplete", "directory": paths.path}
    found = processes.machine_inits() if inits is None else inits
    pid = found.get(str(record["machineID"]))
    state = "incomplete" if not record["started"] else ("running" if pid else "dead")
    network = network_of(record["network"]["bridge"], record["network"]["subnet"], record["network"]["podSubnet"])
    return {
        "name": name,
        "namespace": record["cluster"]["namespace"],
        "cluster": record["cluster"]["name"],
        "state": state,
        "image": record["image"],
        "kubernetes_version": record["kubernetesVersion"],
        "address": record["address"],
        "pod_subnet": str(network.pods_of(record["address"])),
        "pid": pid,
        "machine_id": record["machineID"],
        "provider_id": provider_id(record["cluster"]["name"], name),
        "host_keys": list(record["hostKeys"]),
        "directory": paths.path,
        "console": paths.console,
    }


def look(layout: Layout, name: str) -> t.Optional[dict[str, t.Any]]:
    """Return one machine now, or None if there is none."""
    paths = layout.machine(name)
    return describe(layout, name, read_json(paths.record) or {}) if os.path.isdir(paths.path) else None


def list_machines(
    layout: Layout, namespace: t.Optional[str] = None, cluster: t.Optional[str] = None
) -> list[dict[str, t.Any]]:
    """Return the machines of a cluster, or all of them.

    Each with the host's end of its network interface.

    Args:
        layout: where machines live.
        namespace, cluster: only this cluster's machines; one that was cut off before it had a record belongs to none.
    """
    inits = processes.machine_inits()
    members: dict[str, dict[str, str]] = {}
    found = []
    for name, record in pool.machine_records(layout).items():
        machine = describe(layout, name, record, inits)
        if (namespace and machine.get("namespace") != namespace) or (cluster and machine.get("cluster") != cluster):
            continue
        bridge = record["network"]["bridge"] if record else ""
        if bridge not in members:
            members[bridge] = bridge_members(bridge) if bridge else {}
        machine["interface"] = members[bridge].get(name)
        found.append(machine)
    return found


def using_image(layout: Layout, name: str) -> list[str]:
    """Return the machines that were made from an image."""
    return [machine for machine, record in pool.machine_records(layout).items() if record.get("image") == name]


def remove(layout: Layout, name: str, owner: t.Optional[tuple[str, str]] = None) -> bool:
    """Remove a machine and all its traces; return whether it existed.

    Args:
        layout: where machines live.
        name: the machine.
        owner: (namespace, cluster) that it has to belong to, when given.
    """
    paths = layout.machine(name)
    if not os.path.isdir(layout.directory):
        return False
    lock = layout.lock(f"machine-{name}")
    with locked(lock, settings.LOCAL_LOCK_SECONDS):
        there = os.path.lexists(paths.path)
        if there:
            record = read_json(paths.record)
            if record is not None:
                theirs = (record["cluster"]["namespace"], record["cluster"]["name"])
                if owner is not None and owner != theirs:
                    raise NspawnError(
                        f"machine {name} belongs to the cluster {'/'.join(theirs)}, not to {'/'.join(owner)}. It was not deleted. Name its own."
                    )
                _end(paths, record)
            for point in mounts_below(paths.path):
                run(["umount", "--lazy", point], check=False)
            # The record goes last: until then the address is taken and the machine is listed.
            for entry in sorted(os.listdir(paths.path)):
                target = os.path.join(paths.path, entry)
                if target != paths.record and os.path.isdir(target) and not os.path.islink(target):
                    remove_tree(target)
            remove_tree(paths.path)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(lock)
    pool.close_network(layout)
    return there


def _end(paths: MachineLayout, record: t.Mapping[str, t.Any]) -> None:
    """End a machine's processes, and remove its control groups and interface.

    Nothing stays of what the kernel and systemd-nspawn keep for it.
    """
    groups = cgroups.detect().groups(record["machineID"])

    def left() -> set[int]:
        init = processes.machine_inits().get(record["machineID"])
        found = cgroups.processes(groups) | set(
            processes.find_by_arguments(f"--directory={paths.root}", f"--machine={record['name']}")
        )
        return {pid for pid in found | ({init} if init else set()) if processes.is_alive(pid)}

    def gone() -> bool:
        pids = left()
        processes.end(pids)
        return not pids

    if any(os.path.isdir(group) for group in groups) or left():
        cgroups.thaw(groups)
        processes.wait_until(gone, settings.END_SECONDS, f"the end of all processes of machine {record['name']}")
        processes.wait_until(
            lambda: not cgroups.remove(groups),
            settings.END_SECONDS,
            f"the removal of the control groups of machine {record['name']}",
        )
    remove_machine_interface(record["network"]["bridge"], record["name"])
    for folder in (os.path.join(PROPAGATE, record["name"]), PROPAGATE):
        with contextlib.suppress(OSError):
            os.rmdir(folder)
