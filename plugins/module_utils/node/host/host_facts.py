# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Facts of an existing host: versions, swap, ports, addresses, kubeadm's traces.

The traces are what kubeadm left on it or runs there.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import ipaddress
import json
import os
import re
import shlex
import shutil
import socket
import stat
import typing as t
from dataclasses import dataclass, field

from ...common import guard, timed_command
from ...common.guard import NodeError
from ...common.kubernetes_facts import STATIC_PODS
from ...etcd import data_dir
from ...etcd.certificates_dir import certificates_dir
from ..bootstrap import certificate_folders, etcd_folders, leftovers
from ..bootstrap.bootstrap_unit import Places
from ..certificates.der import element
from .cgroup_drivers import CONTAINERD_CONFIG

# kubeadm's own list of container runtimes (docs/reference/kubeadm.md, "Container runtime").
CRI_SOCKETS = ("/run/containerd/containerd.sock", "/var/run/crio/crio.sock", "/var/run/cri-dockerd.sock")
# Where systemd looks for programs, and so the units that run kubeadm.
PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
# The kernel shows 15 characters of a program's name.
_COMM_LENGTH = 15
_MANIFESTS = ("manifests", guard.PARKED_MANIFESTS)
_LISTEN = "0A"
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----(.+?)-----END CERTIFICATE-----", re.DOTALL)
_AUTHORITY = re.compile(r"^\s*certificate-authority-data:\s*([A-Za-z0-9+/=]+)", re.MULTILINE)
# Without what follows it in JSON.
_VERSION = re.compile(r"v\d+\.\d+\.\d+[-+.0-9A-Za-z]*")
_PROBES = (("192.0.2.1", socket.AF_INET), ("2001:db8::1", socket.AF_INET6))
# linux/in6.h: IPV6_ADDR_PREFERENCES and IPV6_PREFER_SRC_PUBLIC. A privacy address (RFC 8981) is gone after some days, and etcd's peer URL with it.
_SOURCE_PREFERENCES, _PREFER_LASTING = 72, 2


@dataclass(frozen=True)
class HostPlaces:
    """Paths and programs on a host; tests use other ones."""

    node: Places = field(default_factory=Places)
    machine_id: str = guard.MACHINE_ID_FILE
    kubelet_state: str = "/var/lib/kubelet"
    proc: str = "/proc"
    kubelet: str = "kubelet"
    kubectl: str = "kubectl"
    containerd: str = CONTAINERD_CONFIG
    cri_sockets: tuple[str, ...] = CRI_SOCKETS
    path: tuple[str, ...] = PATH

    @property
    def claim(self) -> str:
        """File of this host's ownership claim."""
        return os.path.join(self.node.state, "claim.json")


def traces(places: HostPlaces) -> list[str]:
    """Return the paths that a cluster left on this host.

    They are kubeadm's and the kubelet's files, etcd's data, and what tasks of this collection left. Empty folders don't count.
    """
    kubernetes = places.node.kubernetes
    found = [os.path.join(kubernetes, "manifests", f"{name}.yaml") for name in STATIC_PODS]
    found += [
        os.path.join(kubernetes, name) for name in ("admin.conf", "kubelet.conf", "bootstrap-kubelet.conf", "pki")
    ]
    found += [*etcd_folders.data(places.node), os.path.join(places.kubelet_state, "config.yaml")]
    found += [places.node.record, data_dir.note(places.node.state)]
    found += leftovers.present(kubernetes, places.node.state)
    found += certificate_folders.elsewhere(places.node)
    return [path for path in found if os.path.isfile(path) or (os.path.isdir(path) and _holds_files(path))]


def _holds_files(path: str) -> bool:
    return any(files for _folder, _folders, files in os.walk(path))


def evidence(places: HostPlaces) -> list[str]:
    """Return a cluster's traces on this host, and its components at work."""
    return [*traces(places), *(f"a running {name}" for name in running(places))]


def running(places: HostPlaces) -> list[str]:
    """Return the control plane components that run on this host.

    They may run in containers or not.
    """
    return sorted({name for name, _process in _at_work(places)})


def _at_work(places: HostPlaces) -> t.Iterator[tuple[str, str]]:
    """Yield each control plane component at work: name, and folder below /proc."""
    wanted = {name[:_COMM_LENGTH]: name for name in STATIC_PODS}
    for entry in sorted(filter(str.isdigit, os.listdir(places.proc)), key=int):
        name = guard.read_text(os.path.join(places.proc, entry, "comm"))
        if name in wanted:
            yield wanted[name], os.path.join(places.proc, entry)


def other_etcd(places: HostPlaces, *, consent: bool = False) -> tuple[str, str]:
    """Return which etcd kubeadm did not make here, and the remedy.

    Both are "" without one. It is the external one that the cluster uses, perhaps, or any other of the user's. Whoever gave a consent to lose what is
    here means data, too, that nothing explains; but not those beside an API server, which may be its etcd's, and never an etcd at work.
    """
    node = places.node
    unproved = not etcd_folders.made_by_kubeadm(node)
    servers = [os.path.join(node.kubernetes, each, "kube-apiserver.yaml") for each in _MANIFESTS]
    beside = unproved and any(map(os.path.lexists, servers))
    if unproved:
        # What runs in a pod goes with the pods.
        found = [path for name, path in _at_work(places) if name == "etcd"]
        found = [path for path in found if "kubepods" not in guard.read_text(os.path.join(path, "cgroup"))]
        if found:
            number = os.path.basename(found[0])
            fix = f"Move that etcd to another host first (systemctl status {number} names its unit)."
            return f"an etcd runs on this host outside of Kubernetes' pods (process {number})", fix
        consent = consent and not beside
    data = [] if consent else etcd_folders.unexplained(node)
    if not data:
        return "", ""
    fix = f"If it is needed, move it to another host first; if it is not, delete it yourself (rm -r {shlex.quote(data[0])})."
    if beside:
        fix += " If it is kubeadm's, put its manifest etcd.yaml back."
    return f"an etcd's data are on this host ({data[0]})", fix


def carried(places: HostPlaces) -> list[str]:
    """Return evidence that this host carries a cluster, or once did.

    Traces, components at work, and a kubelet's folder of pods: any distribution's kubelet has them there.
    """
    found = evidence(places)
    pods = os.path.join(places.kubelet_state, "pods")
    return [*found, pods] if os.path.isdir(pods) and os.listdir(pods) else found


def ca_cert_hash(places: HostPlaces) -> str:
    """Return kubeadm's hash of this host's cluster CA, "" without one.

    It is ``sha256:…`` of the CA's public key.
    """
    return next(iter(ca_cert_hashes(places)), "")


def ca_cert_hashes(places: HostPlaces) -> list[str]:
    """Return the hashes of all CAs of this host's cluster.

    While authorities are rotated, there are two; the first one signs. The public key is cut out of the certificate by hand: a node has no
    library that reads one.
    """
    kubernetes = places.node.kubernetes
    folder = certificates_dir(kubernetes, places.node.state, places.kubelet_state)
    try:
        # A worker has the CA where caCertPath says; what kubeadm has made for its kubelet has the CA in any case.
        text = guard.read_text(os.path.join(folder, "ca.crt")) or _embedded(kubernetes)
        keys = [_public_key_info(base64.b64decode(found)) for found in _CERTIFICATE.findall(text)]
        return [f"sha256:{hashlib.sha256(key).hexdigest()}" for key in keys]
    except (ValueError, IndexError):
        return ["unreadable"]


def _embedded(kubernetes: str) -> str:
    found = _AUTHORITY.search(guard.read_text(os.path.join(kubernetes, "kubelet.conf")))
    return base64.b64decode(found.group(1)).decode(errors="replace") if found else ""


def _public_key_info(certificate: bytes) -> bytes:
    _tag, signed, _after = element(certificate)
    _tag, rest, _after = element(signed)
    skipped = 0
    while True:
        tag, _content, after = element(rest)
        # [0] version is optional; serial, signature, issuer, validity and subject come before the key.
        if tag != 0xA0:
            if skipped == 5:
                return rest[: len(rest) - len(after)]
            skipped += 1
        rest = after


def version_of(words: t.Sequence[str]) -> str:
    """Return the version that a Kubernetes program reports.

    "" where it is missing or reports none.
    """
    try:
        done = timed_command.run(words)
    except NodeError:
        return ""
    found = _VERSION.search(done.stdout)
    return found.group() if done.returncode == 0 and found else ""


def program(name: str, places: HostPlaces) -> str:
    """Return the path of a program, "" if it is missing.

    It is also found where root's own folders are not in this process's PATH.
    """
    return shutil.which(name, path=os.pathsep.join(places.path)) or ""


def sysctl(name: str, places: HostPlaces) -> str:
    """Return a kernel setting by its path, "" if it is missing (``net/ipv4/ip_forward``)."""
    return guard.read_text(os.path.join(places.proc, "sys", name))


def swap_devices(places: HostPlaces) -> list[str]:
    """Return this host's swap devices."""
    lines = guard.read_text(os.path.join(places.proc, "swaps")).splitlines()[1:]
    return [line.split()[0] for line in lines if line.split()]


def listening(places: HostPlaces) -> set[int]:
    """Return the TCP ports that are listened on, on any address."""
    ports = set()
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(FileNotFoundError), open(os.path.join(places.proc, "net", name), "rb") as table:
            for line in table:
                fields = line.decode(errors="replace").split()
                if len(fields) > 3 and fields[3] == _LISTEN:
                    ports.add(int(fields[1].rpartition(":")[2], 16))
    return ports


def runtime_problem(places: HostPlaces, wanted: str = "") -> str:
    """Return the reason why no container runtime answers, "" if one does.

    It is asked on its socket.
    """
    candidates = [wanted.replace("unix://", "")] if wanted else list(places.cri_sockets)
    reasons = []
    for path in candidates:
        problem = _silence(path)
        if not problem:
            return ""
        reasons.append(problem)
    return "; ".join(reasons)


def runtimes(places: HostPlaces) -> list[str]:
    """Return the container runtimes' sockets that answer, of those that kubeadm knows."""
    return [path for path in places.cri_sockets if not _silence(path)]


def _silence(path: str) -> str:
    """Return the reason why a socket doesn't answer, "" if it does."""
    try:
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            return f"{path} is no socket"
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(3)
            connection.connect(path)
        return ""
    except OSError as error:
        return f"{path}: {error.strerror or error}"


def own_address(wanted: str = "", towards: str = "") -> tuple[str, str]:
    """Return this host's address for a cluster, and why without one.

    One of the two is "". The address is the one that this host would talk to the endpoint from, or else the default route's. An endpoint's
    address that is this host's own may be a virtual one, which another host will hold: it is taken only where its interface has no other
    address of that family.

    Args:
        wanted: the address that the user chose, as the kernel writes it; it must be this host's own, and others must reach it.
        towards: the endpoint's host, a name or an address.
    """
    if wanted:
        problem = _problem(wanted)
        return "" if problem else wanted, problem
    endpoints: list[tuple[str, int]] = []
    with contextlib.suppress(OSError):
        endpoints = [
            (str(found[4][0]), found[0]) for found in socket.getaddrinfo(towards, 6443, type=socket.SOCK_DGRAM)
        ]
    families = {family for _address, family in endpoints}
    sources = [_source(*each) for each in [*endpoints, *(probe for probe in _PROBES if probe[1] in families)]]
    theirs = {address for address, _family in endpoints}
    for source in sources:
        if source and source not in theirs:
            return source, ""
    for source in filter(None, sources):
        others = _beside(source)
        if not others:
            return source, ""
        return (
            "",
            f"the endpoint's address {source} is on this host, beside {', '.join(others)}: which is its own is not known",
        )
    source = next(filter(None, (_source(*each) for each in _PROBES)), "")
    return source, "" if source else "the host has no route outside"


def _beside(address: str) -> list[str]:
    """Return the other lasting addresses of an interface, by one of them.

    Of the same family. Where they can't be listed, words that say so.
    """
    family = "inet6" if ":" in address else "inet"
    for addresses in _interfaces():
        found = [each for each in addresses if each.get("family") == family]
        if any(each.get("local") == address for each in found):
            lasting = [each for each in found if each.get("scope") == "global" and not each.get("temporary")]
            return [str(each.get("local")) for each in lasting if each.get("local") != address]
    return ["others that ip -json address doesn't list"]


def _source(target: str, family: int) -> str:
    # Connecting a datagram socket sends nothing: the kernel only looks up the route.
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            if family == socket.AF_INET6:
                probe.setsockopt(socket.IPPROTO_IPV6, _SOURCE_PREFERENCES, _PREFER_LASTING)
            probe.connect((target, 6443))
            address = str(probe.getsockname()[0])
    except OSError:
        return ""
    return "" if address.startswith("127.") or address == "::1" else address


def _problem(address: str) -> str:
    """Return why a cluster can't use an address, "" if it can."""
    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(address).is_loopback:
            return f"{address} is this host's own, and no other reaches it there"
    # With net.ipv4.ip_nonlocal_bind, which load balancers set, a socket takes any address.
    known = [each.get("local") for found in _interfaces() for each in found]
    if not known:
        return "this host's addresses can't be listed (ip -json address show, of iproute2)"
    return "" if address in known else f"{address} is not an address of this host (ip address show)"


def _interfaces() -> list[list[t.Any]]:
    """Return the addresses of each interface, [] where they can't be listed."""
    try:
        links = json.loads(timed_command.run(["ip", "-json", "address", "show"]).stdout)
        return [[each for each in link.get("addr_info", ()) if isinstance(each, dict)] for link in links]
    except (NodeError, ValueError, TypeError, AttributeError):
        return []
