# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Preflight checks of a control plane machine for a Kubernetes version.

It is to become a control plane node, or to be one. All checks are made at once, and only read.

What fitness.py refuses a host of a pool for is asked by the same code here. Names are those of kubeadm's own
preflight checks where it has one (cmd/kubeadm/app/preflight); limits and severities are kubeadm's then.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import sys
import typing as t
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from ...common import guard, kubernetes_facts, settings
from ...common.kubernetes_versions import read_version
from ..bootstrap import etcd_folders, image_check, leftovers, script
from ..components import kubelet
from . import cgroup_drivers, fitness, host_facts, missing_images
from .external_etcd import ExternalEtcd, look
from .host_facts import HostPlaces

ERROR, WARNING = "error", "warning"
MINIMUM_PYTHON = (3, 9)
MINIMUM_CPUS, MINIMUM_MEMORY_MB = 2, 1700
# etcd's default quota; below the second, its log alone (64 MB a file) has no room.
ETCD_BYTES, ETCD_LEAST_BYTES = 2 << 30, script.LEAST_ROOM_BYTES
# The kubelet evicts pods below this share of the disk (nodefs.available).
KUBELET_SHARE = 0.10
CONTROLLERS = ("cpu", "cpuset", "memory", "pids")
HOLDERS = {
    kubernetes_facts.DEFAULT_BIND_PORT: "kube-apiserver",
    settings.KUBELET_PORT: "kubelet",
    **{port: name for name, port in settings.HEALTH_PORTS.items()},
    **dict.fromkeys(settings.ETCD_PORTS, "etcd"),
}
# RFC 1123 as Kubernetes wants it of a Node's name.
_NODE_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_COMM_LENGTH = 15


@dataclass(frozen=True)
class Check:
    """Outcome of one preflight check.

    ``message`` is what was found, ``remedy`` what to do ("" where it is healthy).
    """

    name: str
    ok: bool
    severity: str
    message: str = ""
    remedy: str = ""

    def document(self) -> dict[str, t.Any]:
        """Return the check with JSON names."""
        return {
            "name": self.name,
            "ok": self.ok,
            "severity": self.severity,
            "message": self.message,
            "remedy": self.remedy,
        }


@dataclass(frozen=True)
class Wanted:
    """Role of the machine that the checks evaluate.

    Args:
        version: of Kubernetes; "" for that of its own kubeadm.
        existing: it is a control plane node already, so that what it runs is no obstacle but has to be there.
        node_name: the Node's name; "" for the host's.
        endpoint: ``host:port`` of the control plane, which has to answer; "" to leave that out.
        etcd: an external etcd that has to serve; None for a stacked one.
        image_repository: where kubeadm gets its images; "" for its default.
        now: the controller's time, seconds since the epoch; None to leave that out.
        cgroup_driver: the kubelet's, as the manifest has it; "" for that of an existing node, or kubeadm's default.
        cri_socket, ports, ignore: as kubeadm knows them; what is ignored is a warning.
    """

    version: str = ""
    existing: bool = False
    node_name: str = ""
    endpoint: str = ""
    etcd: t.Optional[ExternalEtcd] = None
    image_repository: str = ""
    now: t.Optional[float] = None
    cgroup_driver: str = ""
    cri_socket: str = ""
    ports: t.Sequence[int] = fitness.DEFAULT_PORTS
    ignore: t.Sequence[str] = ()
    timeout: float = 1.0


def look_at(wanted: Wanted, places: t.Optional[HostPlaces] = None) -> list[Check]:
    """Return every check with its outcome, in a stable order."""
    where = places or HostPlaces()
    version = wanted.version or host_facts.version_of([where.node.kubeadm, "version", "-o", "short"])
    # No etcd of its own listens where etcd is external.
    ports = tuple(port for port in wanted.ports if not (wanted.etcd and HOLDERS.get(port) == "etcd"))
    wanted = replace(wanted, version=version, ports=ports)
    # Each group waits for programs or for other hosts: together they take as long as the slowest.
    groups: list[t.Callable[[], list[Check]]] = [
        lambda: [_python(), *_fitness(wanted, where)],
        lambda: _whose(wanted, where),
        lambda: _cgroups(wanted, where) + _size(where) + _disks(where) + _names(wanted),
        lambda: [] if wanted.existing else _images(wanted, where),
        lambda: [_endpoint(wanted)] if wanted.endpoint else [],
        lambda: [] if wanted.etcd is None else [_external_etcd(wanted.etcd, wanted.timeout)],
    ]
    with ThreadPoolExecutor(max_workers=len(groups)) as pool:
        found = [check for checks in pool.map(lambda group: group(), groups) for check in checks]
    ignored = {name.lower() for name in wanted.ignore}
    return [replace(each, severity=WARNING) if _ignored(each, ignored) else each for each in found]


def _ignored(check: Check, ignored: set[str]) -> bool:
    return check.name.lower() in ignored or "all" in ignored


def _ok(name: str, message: str = "", severity: str = ERROR) -> Check:
    return Check(name, True, severity, message)


def _python() -> Check:
    has = ".".join(str(number) for number in sys.version_info[:3])
    if sys.version_info[:2] < MINIMUM_PYTHON:
        least = ".".join(str(number) for number in MINIMUM_PYTHON)
        return Check(
            "Python", False, ERROR, f"Python is {has}, and {least} is needed", "Set ansible_python_interpreter."
        )
    return _ok("Python", has)


def _fitness(wanted: Wanted, where: HostPlaces) -> list[Check]:
    """Return the checks that a pool's host has to pass, too."""
    own = host_facts.ca_cert_hash(where) if wanted.existing else ""
    asked = fitness.Wanted(
        version=wanted.version,
        ports=wanted.ports,
        cri_socket=wanted.cri_socket or (kubelet.cri_socket(where.kubelet_state) if wanted.existing else ""),
        towards=wanted.endpoint.rpartition(":")[0].strip("[]"),
        now=wanted.now,
        ca_cert_hash=own or ("none" if wanted.existing else ""),
    )
    missing = {each.check: each for each in fitness.lacks(asked, where)}
    if wanted.existing:
        # Its Node has one already, which may be the one that addressVariable names.
        missing.pop("Address", None)
    names = [
        "IsPrivilegedUser",
        "MachineID",
        "KubeadmVersion",
        "KubeletVersion",
        fitness.KUBECTL,
        "CRI",
    ]
    names += ["ClockSkew"] if wanted.now is not None else []
    if not wanted.existing:
        names += ["Address", fitness.RUNTIMES, "Swap", *(f"Port-{port}" for port in sorted(set(wanted.ports)))]
    found = [_ok(name) for name in names if name not in missing]
    for each in missing.values():
        message = each.message
        if each.check.startswith("Port-"):
            holder = _holder(int(each.check[len("Port-") :]), where)
            message = f"{holder} listens on port {each.check[len('Port-') :]}" if holder else message
        found.append(Check(each.check, False, ERROR, message, each.fix))
    return sorted(found, key=lambda each: each.name)


def _whose(wanted: Wanted, where: HostPlaces) -> list[Check]:
    """Check for traces of a cluster, or a control plane node's components.

    A node's components have to run and to hold their ports.
    """
    if not wanted.existing:
        found = host_facts.evidence(where)
        if not found:
            return [_ok("Leftovers")]
        authority = host_facts.ca_cert_hash(where)
        whose = f" (its CA is {authority})" if authority else ""
        fix = f"Find out whose it is. Never wipe it where its etcd is still a member. If it is no longer needed, wipe it: {leftovers.WIPE}."
        return [
            Check(
                "Leftovers",
                False,
                ERROR,
                f"the machine carries a cluster{whose}, or what one left: {', '.join(found)}",
                fix,
            )
        ]
    checks = []
    running = host_facts.running(where)
    wants = [name for name in kubernetes_facts.STATIC_PODS if name != "etcd" or wanted.etcd is None]
    silent = [name for name in wants if name not in running]
    if silent:
        fix = "Look at the kubelet's journal and at the manifests in /etc/kubernetes/manifests."
        checks.append(Check("ControlPlane", False, ERROR, f"{', '.join(silent)} does not run", fix))
    else:
        checks.append(_ok("ControlPlane", ", ".join(running)))
    taken = host_facts.listening(where)
    for port in sorted(set(wanted.ports)):
        wants_it, name = HOLDERS.get(port, ""), f"Port-{port}"
        holder = _holder(port, where) if port in taken else ""
        if port not in taken:
            checks.append(
                Check(name, False, ERROR, f"nothing listens on port {port}", f"Look why {wants_it} does not.")
            )
        elif holder and wants_it and holder.partition(" ")[0] != wants_it[:_COMM_LENGTH]:
            text = f"{holder} listens on port {port}, which is {wants_it}'s"
            checks.append(Check(name, False, ERROR, text, "Stop it: the control plane needs the port."))
        else:
            checks.append(_ok(name, holder))
    return checks


def _holder(port: int, where: HostPlaces) -> str:
    """Return the program and process that listen on a port.

    "" where that can't be seen.
    """
    inodes = set()
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(OSError), open(os.path.join(where.proc, "net", name), encoding="ascii") as table:
            for line in table:
                fields = line.split()
                if len(fields) > 9 and fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                    inodes.add(f"socket:[{fields[9]}]")
    for entry in os.listdir(where.proc) if inodes else ():
        if not entry.isdigit():
            continue
        folder = os.path.join(where.proc, entry, "fd")
        try:
            links = (os.readlink(os.path.join(folder, name)) for name in os.listdir(folder))
            if any(link in inodes for link in links):
                return f"{guard.read_text(os.path.join(where.proc, entry, 'comm'))} (process {entry})"
        except OSError:
            continue
    return ""


def _cgroups(wanted: Wanted, where: HostPlaces) -> list[Check]:
    version = wanted.version
    known = read_version(version) is not None
    root = os.path.join(os.path.dirname(where.proc.rstrip("/")) or "/", "sys", "fs", "cgroup")
    unified = guard.read_text(os.path.join(root, "cgroup.controllers"))
    fix = "Boot with systemd.unified_cgroup_hierarchy=1, or use an operating system that has cgroup v2."
    if unified:
        checks = [_ok("CgroupVersion", "v2")]
        has = set(unified.split())
    else:
        table = guard.read_text(os.path.join(where.proc, "cgroups")).splitlines()[1:]
        has = {line.split()[0] for line in table if line.split()[-1:] == ["1"]}
        said = kubernetes_facts.cgroup_v1(version) if known else ""
        if said == "refused":
            text = f"cgroup v1, which the kubelet of {version} refuses by default"
            checks = [Check("CgroupVersion", False, ERROR, text, fix)]
        elif said:
            text = f"cgroup v1, which is in maintenance mode with the kubelet of {version}"
            checks = [Check("CgroupVersion", False, WARNING, text, fix)]
        else:
            checks = [_ok("CgroupVersion", "v1")]
    missing = [name for name in CONTROLLERS if name not in has]
    if missing:
        text = f"the kernel's cgroup controllers lack {', '.join(missing)}"
        checks.append(
            Check("SystemVerification", False, ERROR, text, "Switch them on (kernel configuration, cgroup_enable=).")
        )
    else:
        checks.append(_ok("SystemVerification"))
    # A kubelet that is there has what it was given; kubeadm's default is for a new one, and for one without any.
    named = wanted.cgroup_driver or (kubelet.cgroup_driver(where.kubelet_state) if wanted.existing else "")
    differ = cgroup_drivers.differ(version, named, where.containerd)
    if differ:
        checks.append(Check("CgroupDriver", False, WARNING, differ, cgroup_drivers.FIX))
    return checks


def _size(where: HostPlaces) -> list[Check]:
    cpus = os.cpu_count() or 0
    found = re.search(r"^MemTotal:\s+(\d+) kB", guard.read_text(os.path.join(where.proc, "meminfo")), re.MULTILINE)
    memory = int(found.group(1)) // 1024 if found else 0
    checks = []
    for name, has, needs, unit in (
        ("NumCPU", cpus, MINIMUM_CPUS, "CPUs"),
        ("Mem", memory, MINIMUM_MEMORY_MB, "MB of memory"),
    ):
        text = f"{has} {unit}"
        fix = "Give the machine more."
        checks.append(
            _ok(name, text) if has >= needs else Check(name, False, ERROR, f"{text}, fewer than {needs}", fix)
        )
    return checks


def _disks(where: HostPlaces) -> list[Check]:
    checks = []
    data, state = etcd_folders.current(where.node), where.kubelet_state
    free, _total = _room(data)
    text = f"{free >> 20} MiB free for {data}"
    if free < ETCD_BYTES:
        least = f"{text}; etcd's default quota is {ETCD_BYTES >> 20} MiB"
        severity = ERROR if free < ETCD_LEAST_BYTES else WARNING
        checks.append(Check("EtcdDisk", False, severity, least, "Free some space, or give etcd a disk of its own."))
    else:
        checks.append(_ok("EtcdDisk", text, WARNING))
    free, total = _room(state)
    text = f"{free >> 20} of {total >> 20} MiB free for {state}"
    if total and free < KUBELET_SHARE * total:
        fix = f"Free some space: below {KUBELET_SHARE:.0%} the kubelet evicts pods."
        checks.append(Check("KubeletDisk", False, WARNING, text, fix))
    else:
        checks.append(_ok("KubeletDisk", text, WARNING))
    return checks


def _room(path: str) -> tuple[int, int]:
    while not os.path.isdir(path):
        path = os.path.dirname(path) or "/"
    found = os.statvfs(path)
    return found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize


def _names(wanted: Wanted) -> list[Check]:
    name = wanted.node_name or socket.gethostname().strip().lower()
    checks = [_ok("NodeName", name)]
    if not _NODE_NAME.fullmatch(name):
        text = f"{name!r} can't be the name of a Node: lower case letters, digits, '-' and '.' (RFC 1123), at most 253"
        checks = [Check("NodeName", False, ERROR, text, "Rename the host, or set nodeRegistration.name.")]
    try:
        socket.getaddrinfo(name, None)
        checks.append(_ok("Hostname", severity=WARNING))
    except OSError as error:
        text = f"the name {name} does not resolve: {error.strerror or error}"
        checks.append(Check("Hostname", False, WARNING, text, "Add it to DNS or /etc/hosts."))
    return checks


def _images(wanted: Wanted, where: HostPlaces) -> list[Check]:
    """Check whether kubeadm would have to pull images, and whether it could.

    It finds nothing where that is unknown (Docker, no kubeadm).
    """
    places = missing_images.ImagePlaces(kubeadm=where.node.kubeadm)
    asked = image_check.Images(
        wanted.version, wanted.image_repository, external_etcd=bool(wanted.etcd), socket=wanted.cri_socket
    )
    lacking = missing_images.missing(asked, places=places)
    if not lacking:
        return [_ok("ImagePull", "no image has to be pulled, as far as is known", WARNING)]
    text = f"{len(lacking)} images have to be pulled: {', '.join(lacking)}"
    why = missing_images.out_of_reach(lacking, places=places)
    if why:
        fix = "Load them: kubeadm config images pull where the registry can be reached, then ctr -n k8s.io images export and import."
        return [Check("ImagePull", False, ERROR, f"{text}; {why}", fix)]
    fix = "Pull them before, so that the join takes no longer: kubeadm config images pull."
    return [Check("ImagePull", False, WARNING, text, fix)]


def _endpoint(wanted: Wanted) -> Check:
    host, _colon, port = wanted.endpoint.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), wanted.timeout):
            return _ok("ControlPlaneEndpoint", wanted.endpoint)
    except (OSError, ValueError) as error:
        text = f"the control plane endpoint {wanted.endpoint} does not answer: {error}"
        return Check("ControlPlaneEndpoint", False, ERROR, text, "Check address, load balancer, routes and firewalls.")


def _external_etcd(etcd: ExternalEtcd, timeout: float) -> Check:
    found = look(etcd, timeout)
    if found["reachable"]:
        ends = f", the client certificate ends {found['certificateNotAfter']}" if found["certificateNotAfter"] else ""
        return _ok("ExternalEtcd", f"{len(found['endpoints'])} endpoints serve{ends}")
    return Check(
        "ExternalEtcd",
        False,
        ERROR,
        str(found["message"]),
        "kubeadm refuses to work while one endpoint does not serve.",
    )
