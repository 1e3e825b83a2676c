# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kube-vip on a control plane host, as a static pod.

The kube-vips of a cluster elect, by a lease in its API, the host that has the address. Each asks the API server of its own host.
Source: kube-vip 1.2 (cmd/kube-vip-manifests.go, pkg/kubevip/config_generator.go, pkg/manager/manager.go).
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import re
import time
import typing as t
from dataclasses import dataclass, field, replace

from ...common import settings, timed_command
from ...common.guard import PARKED_MANIFESTS, NodeError, exclusive, read_text, sync_directory, write_atomically
from ..bootstrap import bootstrap_unit
from ..certificates.certificate_changes import changed_at
from ..components import pod_processes
from ..host import missing_images
from . import virtual_address

MARK = "# Written by kubeadm.control_plane: changes are overwritten."
NAME = "kube-vip"
# A registry, a path and a tag or a digest: it becomes a line of YAML.
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:-]{0,254}(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127}|@sha256:[0-9a-f]{64})\Z")
_ADDRESS = re.compile(r"- name: address\n\s+value: \"([0-9a-fA-F.:]+)\"")
_KUBECONFIG = re.compile(r"^ +path: /etc/kubernetes/((super-)?admin\.conf)$", re.MULTILINE)
_PAUSE_SECONDS = 0.2
_NOTHING = "Nothing was changed on this host."


@dataclass(frozen=True)
class Wanted:
    """Desired kube-vip.

    ``interface`` may be "": it follows from the address. ``super_admin`` says that this is the host of a ``kubeadm init`` that makes
    super-admin.conf; ``alone`` that no other host may have the address yet, and ``unused`` not even this one.
    """

    address: str
    port: int
    image: str
    interface: str = ""
    super_admin: bool = False
    alone: bool = False
    unused: bool = False


@dataclass(frozen=True)
class Host:
    """Paths and programs of a host; tests use other ones."""

    bootstrap: bootstrap_unit.Places = field(default_factory=bootstrap_unit.Places)
    images: missing_images.ImagePlaces = field(default_factory=missing_images.ImagePlaces)
    runner: virtual_address.Runner = timed_command.run
    proc: str = "/proc"
    pod_logs: str = "/var/log/pods"
    end: t.Callable[[t.Collection[pod_processes.Instance]], None] = pod_processes.end
    ends_seconds: float = settings.KUBE_VIP_ENDS_SECONDS

    def processes(self) -> set[pod_processes.Instance]:
        """Return the static pod's processes.

        A kube-vip for Services, a DaemonSet's, is none of them.
        """
        return pod_processes.instances(NAME, self.proc, self.pod_logs, hashed=True)

    @property
    def path(self) -> str:
        """Path of the manifest where the kubelet reads it."""
        return os.path.join(self.bootstrap.kubernetes, "manifests", f"{NAME}.yaml")

    @property
    def parked(self) -> str:
        """Path of a manifest whose pod is ending.

        What is left to be done outlives a killed run.
        """
        return os.path.join(self.bootstrap.kubernetes, PARKED_MANIFESTS, f"{NAME}.yaml")


def manifest(wanted: Wanted, interface: str, kubeconfig: str) -> str:
    """Return the pod's manifest.

    It is that of ``kube-vip manifest pod --controlplane --arp --leaderElection --leaseDuration 5 --leaseRenewDuration 3 --leaseRetry 1``.
    """
    length = ipaddress.ip_address(wanted.address).max_prefixlen
    variables = {
        "vip_arp": "true",
        "port": str(wanted.port),
        "vip_interface": interface,
        "vip_subnet": str(length),
        "dns_mode": "first",
        "cp_enable": "true",
        "cp_namespace": "kube-system",
        "vip_leaderelection": "true",
        "vip_leasename": "plndr-cp-lock",
        # kube-vip's defaults, 15 s, 10 s and 2 s, would leave the cluster without its address three times as long when a host dies.
        "vip_leaseduration": "5",
        "vip_renewdeadline": "3",
        "vip_retryperiod": "1",
        "address": wanted.address,
        "prometheus_server": ":2112",
    }
    environment = "".join(f'    - name: {name}\n      value: "{value}"\n' for name, value in variables.items())
    return f"""{MARK}
apiVersion: v1
kind: Pod
metadata:
  name: {NAME}
  namespace: kube-system
spec:
  containers:
  - name: {NAME}
    image: "{wanted.image}"
    imagePullPolicy: IfNotPresent
    args: ["manager"]
    env:
{environment}    - name: vip_nodename
      valueFrom:
        fieldRef:
          fieldPath: spec.nodeName
    securityContext:
      capabilities:
        add: ["NET_ADMIN", "NET_RAW"]
        drop: ["ALL"]
    volumeMounts:
    - name: kubeconfig
      mountPath: /etc/kubernetes/admin.conf
  hostNetwork: true
  # By this name kube-vip asks the API server of its own host, whose certificate has it.
  hostAliases:
  - ip: 127.0.0.1
    hostnames: ["kubernetes"]
  volumes:
  - name: kubeconfig
    hostPath:
      path: {kubeconfig}
"""


def present(
    wanted: Wanted, *, check: bool, host: t.Optional[Host] = None
) -> tuple[dict[str, str], dict[str, str], str]:
    """Bring this host's kube-vip to what is wanted.

    Returns what there was and what there is now, each as texts by a name for people, and the interface.

    Raises:
        NodeError: the address can't be this interface's, or another host has it; the image can't be had; there is a kube-vip of another
            origin; a changed one doesn't start.
    """
    where = host or Host()
    _check(wanted)
    # As the kernel writes it.
    wanted = replace(wanted, address=str(ipaddress.ip_address(wanted.address)))
    interface = virtual_address.interface_of(wanted.address, wanted.interface, where.runner)
    found = _own(where)
    virtual_address.require_free(
        wanted.address,
        interface,
        f"kube-vip of this host, {where.path}" if found or os.path.exists(where.parked) else "",
        alone=wanted.alone,
        unused=wanted.unused,
        runner=where.runner,
    )
    text = manifest(wanted, interface, _kubeconfig(wanted, where))
    before, after = {where.path: found}, {where.path: text}
    if before == after:
        return before, after, interface
    _require_image(wanted.image, where)
    if check:
        return before, after, interface
    running = where.processes()
    with exclusive(where.bootstrap.state):
        os.makedirs(os.path.dirname(where.path), mode=0o700, exist_ok=True)
        write_atomically(where.path, text.encode())
        _unlink(where.parked)
    if found and running:
        _wait_for_another(running, wanted, where)
    return before, after, interface


def absent(*, check: bool, host: t.Optional[Host] = None) -> bool:
    """Take this host's kube-vip away; return whether changed.

    The address goes with it. A kube-vip of another origin stays.

    Raises:
        NodeError: it doesn't end.
    """
    where = host or Host()
    ours = bool(read_text(where.path).startswith(MARK) or os.path.exists(where.parked))
    if check or not ours:
        return ours
    with exclusive(where.bootstrap.state):
        running = where.processes()
        if read_text(where.path).startswith(MARK):
            os.makedirs(os.path.dirname(where.parked), mode=0o700, exist_ok=True)
            os.rename(where.path, where.parked)
            sync_directory(os.path.dirname(where.path))
        _wait_for_the_end(running, where)
        address = _ADDRESS.search(read_text(where.parked))
        if address:
            # One that was killed has left it on its interface.
            virtual_address.remove(address.group(1), where.runner)
        _unlink(where.parked)
    return True


def reread(*, check: bool, host: t.Optional[Host] = None) -> bool:
    """End a kube-vip that is older than its kubeconfig; return whether changed.

    It reads the file only when it starts: with a certificate that has ended it would lose the address for ever. The kubelet starts it
    again, so that no API is needed. A kube-vip of another origin runs on.

    Source: kube-vip 1.2 (pkg/manager/manager.go, New); docs/reference/kubeadm.md, "Certificates".

    Raises:
        NodeError: it doesn't end.
    """
    where = host or Host()
    text = read_text(where.path)
    named = _KUBECONFIG.search(text)
    if not text.startswith(MARK) or named is None:
        return False
    written = changed_at(os.path.join(where.bootstrap.kubernetes, named.group(1)))
    old = {each for each in where.processes() if pod_processes.since_epoch(each[1]) <= written}
    if old and not check:
        where.end(old)
        _wait_for_the_end(old, where)
    return bool(old)


def _check(wanted: Wanted) -> None:
    # They become lines of a manifest. An IPv6 address may have any text after a "%".
    try:
        valid = "%" not in wanted.address and bool(ipaddress.ip_address(wanted.address))
    except ValueError:
        valid = False
    if not valid:
        raise NodeError(f"{wanted.address!r} is no IP address.", f"{_NOTHING} Give an IP address.")
    if not _IMAGE.match(wanted.image):
        raise NodeError(
            f"{wanted.image!r} is no image's name with a tag.",
            f"{_NOTHING} Give kube-vip's image with its tag, such as ghcr.io/kube-vip/kube-vip:v1.2.3.",
        )


def _own(where: Host) -> str:
    """Return the text of this collection's manifest, "" without one."""
    try:
        with open(where.path, encoding="utf-8", errors="replace") as file:
            found = file.read()
    except FileNotFoundError:
        return ""
    if not found.startswith(MARK):
        raise NodeError(
            f"{where.path} is not this collection's: this host has a kube-vip of another origin.",
            f"{_NOTHING} Take the file out of the manifest's files, and away from the host, or take another host.",
        )
    return found


def _kubeconfig(wanted: Wanted, where: Host) -> str:
    # admin.conf has no rights until kubeadm init has bound its group, which it does through this very address.
    initializing = (
        wanted.super_admin and bootstrap_unit.read_state(where.bootstrap)["state"] != bootstrap_unit.SUCCEEDED
    )
    return f"/etc/kubernetes/{'super-admin' if initializing else 'admin'}.conf"


def _require_image(image: str, where: Host) -> None:
    there = missing_images.present(places=where.images)
    if there is None or image in there:
        return
    why = missing_images.out_of_reach([image], places=where.images)
    if why:
        raise NodeError(
            f"kube-vip's image {image} is not there, and {why}.",
            f"{_NOTHING} Load it, name one of a registry that this host reaches in endpoint_kube_vip_image, or let the host reach that one.",
        )


def _wait_for_another(before: set[pod_processes.Instance], wanted: Wanted, where: Host) -> None:
    """Wait until a restarted kube-vip has come up.

    Where it is the only one it has the address then.
    """
    ends = time.monotonic() + settings.KUBE_VIP_TAKES_SECONDS
    while True:
        now = where.processes()
        if now and not now & before and (not wanted.alone or virtual_address.is_here(wanted.address, where.runner)):
            return
        if time.monotonic() > ends:
            raise NodeError(
                f"kube-vip was changed, and has not come up with {wanted.address} within {settings.KUBE_VIP_TAKES_SECONDS:g} s.",
                f"Look at its log in /var/log/pods and at journalctl -u kubelet. {where.path} is as it should be.",
            )
        time.sleep(_PAUSE_SECONDS)


def _wait_for_the_end(running: set[pod_processes.Instance], where: Host) -> None:
    asked, patience = False, time.monotonic() + where.ends_seconds
    while pod_processes.alive(running, where.proc):
        if time.monotonic() > patience:
            if asked:
                raise NodeError(
                    "kube-vip does not end.",
                    "Look at journalctl -u kubelet and at the container runtime, and run it again.",
                )
            # The kubelet is dead, or has missed that the manifest went (static_pod.py).
            where.end(running)
            asked, patience = True, time.monotonic() + settings.GRACE_SECONDS
        time.sleep(_PAUSE_SECONDS)


def _unlink(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
